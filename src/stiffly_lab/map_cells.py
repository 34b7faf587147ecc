"""The cells of the map: members of the family, and what every method costs on each of them.

A cell is independent of all others and known by its name, so that cells can be measured in any
order and by several processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

from stiffly.errors import SimulationFailure
from stiffly.scenes import Scene

from . import rivals
from .bench import Row
from .equal_error import granted_time
from .family import Member, build
from .family_reference import reference
from .harness import Method, Record
from .methods import AdaptiveMethod, CvodeMethod, IntegratorMethod, ScipyMethod
from .tight import Reference
from .trial import seconds_left, time_limit

LEVELS = (0.1, 0.01, 1e-4)
EXPONENTIAL = ("exprb42", "pexprb43", "epirk4s3", "eti", "ceti", "neti")
PAIRS = ("dop853", "rkn86")  # with steps of their own choice
EXPLICIT = (
    *("verlet", "rkn6", *(AdaptiveMethod(name).name for name in PAIRS)),
    *("SciPy DOP853", "CVODE Adams"),
)
IMPLICIT = ("energy-momentum", "midpoint", "bdf2", "bdf1", "realtime", "SciPy Radau", "CVODE BDF")
# likely winners first: whoever is far behind them is not followed to the end
ORDER = ("exprb42", *EXPLICIT[1:], "verlet", "energy-momentum", "epirk4s3")
ORDER_STIFF = (
    *("exprb42", "energy-momentum", "epirk4s3", "midpoint", "neti", "bdf2", "SciPy Radau"),
    *("pexprb43", *EXPLICIT, "realtime", "CVODE BDF", "bdf1"),
)
QUICK_METHODS = ("exprb42", "SciPy DOP853", "verlet", "energy-momentum")
RUN_S, METHOD_S, CELL_S = 4.0, 6.0, 45.0  # seconds of a run, of a method, of a cell
BRIEF, LOST = 0.3, 2.5  # a run may take so many seconds, or times as long as the best so far
VERLET_LOST = 10.0  # the honest baseline is followed further: by how much it loses is asked for
REFERENCE_S = 45.0
FACTORED = ("energy-momentum", "midpoint", "bdf2", "bdf1", "SciPy Radau")
FACTOR_UP_TO = 20_000  # coordinates: beyond, a single factorisation of a solid takes a run's time
QUICK_S = 10.0  # of a run of the reduced variant, whose runs take a tenth of a second
MANY = 1e4  # radians that the stiffest spring swings: explicit methods are late, others go first

BASE = Member()
RATIOS = (1.0, 1e2, 1e4, 1e6, 1e8, 1e10)
MIDDLE = (1e2, 1e4, 1e6)


@dataclass(frozen=True)
class Axis:
    """A knob of the family, its values, and how a figure names them."""

    knob: str
    values: tuple
    label: str


@dataclass(frozen=True)
class Slice:
    """Two knobs are turned, all others stay at the base point; `skipped`: too much for the map."""

    name: str
    down: Axis
    across: Axis
    base: Member = BASE
    skipped: tuple = ()

    def member(self, down: Any, across: Any) -> Member | None:
        if (down, across) in self.skipped:
            return None
        return self.base.but(**{self.down.knob: down, self.across.knob: across})

    def members(self) -> list[Member]:
        grid = [self.member(d, a) for d in self.down.values for a in self.across.values]
        return [m for m in grid if m is not None]


@dataclass(frozen=True)
class Cell:
    member: Member
    quick: bool = False

    @property
    def name(self) -> str:
        return self.member.name

    @property
    def effort(self) -> float:
        """A guess at how long it takes: the longest ones should begin first."""
        return self.member.omega_max * self.member.dof * self.member.cost**0.5


def _ratios(values: tuple[float, ...]) -> Axis:
    return Axis("ratio", values, "stiffness ratio")


SIZES = ((2, 2, 2), (4, 4, 4), (8, 8, 8), (16, 16, 16), (32, 32, 32))
SLICES = (
    Slice(
        "rotation",
        Axis("rotation", (0.0, 0.01, 0.1, 1.0), "turns per soft period"),
        _ratios(RATIOS),
    ),
    Slice(
        "energy share",
        Axis("share", (0.0, 1e-5, 1e-3, 0.3), "share of energy in stiff modes"),
        _ratios(RATIOS),
    ),
    Slice(
        "size",
        Axis("shape", SIZES, "coordinates"),
        _ratios(MIDDLE),
        skipped=((SIZES[3], 1e6), (SIZES[4], 1e4), (SIZES[4], 1e6)),
    ),
    Slice("force cost", Axis("cost", (1, 10, 100), "work per force"), _ratios(MIDDLE)),
    Slice("outliers", Axis("outliers", (0, 1, 4), "springs 1e4 times stiffer"), _ratios(MIDDLE)),
)
QUICK_BASE = Member(shape=(2, 2, 2))
QUICK_RATIOS = (1.0, 1e2, 1e4)
QUICK_SLICES = (
    Slice(
        "rotation",
        Axis("rotation", (0.0, 0.1), "turns per soft period"),
        _ratios(QUICK_RATIOS),
        base=QUICK_BASE,
    ),
)


def slices(quick: bool) -> tuple[Slice, ...]:
    return QUICK_SLICES if quick else SLICES


def levels(quick: bool) -> tuple[float, ...]:
    return LEVELS[:2] if quick else LEVELS


def cells(quick: bool = False) -> list[Cell]:
    """Every cell once, though slices share some; those that take longest first."""
    members = dict.fromkeys(m for s in slices(quick) for m in s.members())
    return sorted((Cell(m, quick) for m in members), key=lambda cell: (-cell.effort, cell.name))


def methods(cell: Cell, problem: Scene, exact: Reference) -> list[Method]:
    """All that can run, in the order in which they are measured."""
    root = exact.x.size**0.5
    sizes = (exact.scale_x / root, exact.scale_v / root)
    known: dict[str, Method] = {
        name: IntegratorMethod(name)
        for name in (*EXPONENTIAL, *IMPLICIT)
        if " " not in name  # those of other packages have two words
    }
    known["verlet"] = rivals.verlet(problem)
    own: list[Method] = [IntegratorMethod("rkn6"), *map(AdaptiveMethod, PAIRS)]
    outside: list[Method] = [ScipyMethod(name, sizes=sizes) for name in ("DOP853", "Radau")]
    if CvodeMethod.available():
        outside += [CvodeMethod(formula, sizes=sizes) for formula in ("Adams", "BDF")]
    known.update({method.name: method for method in (*own, *outside)})
    if cell.quick:
        return [known[name] for name in QUICK_METHODS]
    stiff = cell.member.omega_max * problem.duration > MANY
    first = [name for name in (ORDER_STIFF if stiff else ORDER) if name in known]
    return [known[name] for name in dict.fromkeys([*first, *known])]


def measure(cell: Cell) -> Row:
    """Every method's cheapest run at every level, as JSON can hold it."""
    began = perf_counter()
    problem = build(cell.member)
    found: Row = {"member": asdict(cell.member), "omega_max": cell.member.omega_max}
    try:
        exact = reference(cell.member, problem, REFERENCE_S)
    except SimulationFailure as failure:
        return {**found, "no_reference": str(failure), "records": {}}
    found["reference"] = {"error": exact.error, "how": exact.how, "spent": perf_counter() - began}
    records = {f"{level:g}": [] for level in levels(cell.quick)}
    best = None
    with time_limit(CELL_S):
        for method in methods(cell, problem, exact):
            most = QUICK_S if cell.quick else RUN_S
            lost = VERLET_LOST if method.name == "verlet" else LOST
            limit = most if best is None else min(most, max(BRIEF, lost * best))
            own = _costs(problem, method, exact, cell.quick, limit, seconds_left())
            for level, record in own.items():
                records[f"{level:g}"].append(asdict(record))
            finest = own[min(own)]
            if finest.failure is None and finest.seconds:
                best = min(best or finest.seconds, finest.seconds)
    return {**found, "records": records, "spent": perf_counter() - began}


def _costs(
    problem: Scene, method: Method, exact: Reference, quick: bool, limit_s: float, left_s: float
) -> dict[float, Record]:
    wanted: Sequence[float] = levels(quick)
    why = "not tried: the cell's time was over" if left_s <= 0.0 else ""
    if method.name in FACTORED and problem.x0.size > FACTOR_UP_TO:
        why = f"not tried: factorisations of {problem.x0.size} coordinates take too long"
    if why:
        return dict.fromkeys(wanted, Record(method.name, 0.0, method.kind, failure=why))
    granted = min(METHOD_S, left_s)
    return granted_time(granted, problem, method, exact, wanted, 1 if quick else 3, limit_s)
