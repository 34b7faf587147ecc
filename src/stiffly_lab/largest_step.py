"""The largest step over the stiffness of a twisted beam, and of a dragon: Figs. 22e and 22f.

Michels, Sobottka & Weber (2014), Sec. 5: 'the maximum possible time step is the one that delivers
the results with an accuracy of 1e-4 compared to the ground truth'; positions are results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np

from stiffly import scenes
from stiffly.integrators import Bdf1, Newton
from stiffly.scenes import Scene

from . import equal_error, figures, references, report
from .bench import Bench, Row
from .equal_error import EXTRAPOLATED, by_order, position_error
from .harness import Record
from .methods import IntegratorMethod
from .report import Claim, Report, judged, number, table
from .step_cost import step_cost
from .tight import stable_step

AFFORDABLE = 400  # steps of a run from which BDF-1's largest step is extrapolated
BOUND = "stability limit"
LIMITS = {"rk4": 2.0**0.5, "verlet": 1.0}  # of Verlet's largest stable step
METHODS = ("neti", "exprb42", "bdf1", "midpoint", "rk4", "verlet")

FINE, COARSE = 1e-4, 1e-2  # the papers, for either figure
ORDERS = 3.0  # of magnitude: the paper's 'at least three'
PRINTED, VERTICES = 100_000, 1500  # of the dragon: the paper's, and what takes minutes
BY_PRODUCTS: Any = Bdf1(Newton(cg=1e-3))
FULL = (1e5, 1e6, 1e7)  # k [N/m] at the paper's size; at 1e4 it collapses as if it fell freely
LONGEST = 4  # rungs of the ladder that are left out there: steps of a quarter second and less
LIMIT_S = 900.0  # of one run there

NOTES = f"""\
Where BDF-1 would take too long, its step is {EXTRAPOLATED} from a run of {AFFORDABLE} steps: first
order. RK4 and Verlet are then given their stability limits.

Seconds of others over those of exprb42, at their largest steps: {{costs}}.

{{table}}
"""

BEAM = f"""\
Accuracy: positions at t = {{duration:g}} s, the beam half turned or less, to {FINE:g} of the
largest excursion, against DOP853 at 1e-11. A step counts if it and half of it meet that.

Exponents d log h / d log k: {{exponents}}. Stability limits RK4 and Verlet to (k/m)^(-1/2) once k
is large; before, and for the other methods, accuracy does: how far the hand turns within a step,
and which of the beam's own swings it sets off.
The stiffer the beam, the more it follows the hand as if it had no mass: BDF-1, which solves for an
equilibrium wherever it is not asked to swing, then needs a handful of steps.

Small systems measure the overhead of Python per step more than arithmetic: see the counts.
{{ladder}}"""

DRAGON = f"""\
Accuracy: positions at t = {{duration:g}} s to {COARSE:g} of the largest excursion, against DOP853
at 1e-11. A step counts if it and half of it meet that. The dragon of formulas stands in for the
scan; its springs are cubic. Exponents d log h / d log k: {{exponents}}. Here everything swings
faster as k grows, slow modes and fast ones alike: (k/m)^(1/2).
{{ladder}}"""

AT_FULL_SIZE = f"""
With {PRINTED:,} vertices neti and BDF-1 alone, and there the claims are judged. The reference is
Verlet, at shorter and shorter steps until two motions differ by {COARSE / 6:.1e}; neti begins with
a quarter second. BDF-1's step follows from a run of {AFFORDABLE} steps by its order, as above, and
its seconds are those of a step so long, the median of some, times their number. Its systems are
solved by conjugate gradients, the best that it can be given (`Newton(cg=1e-3)`): so short a step
takes a few products, where a factorisation takes minutes (`dragon-size`).

{{table}}
"""


def largest_steps(
    bench: Bench, load: Callable[..., Scene], stiffness: float, level: float, limit_s: float
) -> list[Record]:
    """One record per method; its `failure` says where no step met the level in limit_s.

    BDF-1 may need more steps than there is time for; being of first order, it is then judged by
    the error of a run that it can afford.  RK4 and Verlet then get the benefit of the doubt, their
    stability limits at the start.  `variant` says so.
    """
    problem = load(stiffness=stiffness)
    reference = references.solution(problem, bench)
    found = []
    for name in METHODS:
        method = IntegratorMethod(name, label=f"{name}, k {stiffness:.0e}")
        options: dict[str, Any] = {"error": position_error, "repeats": 1, "limit_s": limit_s}
        met = equal_error.cheapest(bench, problem, method, reference, (level,), **options)[level]
        if name == "bdf1" and met.failure:
            judged_by = (reference, level, position_error, AFFORDABLE)
            job = partial(_affordable, problem, method, *judged_by)
            met = Record(**bench.row(f"{problem.name}: {method.name}, by its order", job))
        elif name in LIMITS and met.failure:
            met = Record(method.name, LIMITS[name] * stable_step(problem), variant=BOUND)
        found.append(met)
    return found


def _affordable(*given: Any) -> Row:
    return asdict(by_order(*given))


class Ladder:
    """Records by stiffness and method; load(stiffness=k) is the scene."""

    def __init__(
        self,
        bench: Bench,
        load: Callable[..., Scene],
        stiffness: Sequence[float],
        level: float,
        limit_s: float,
    ) -> None:
        self.rows = {k: largest_steps(bench, load, k, level, limit_s) for k in stiffness}
        self.stiffness = np.array(sorted(self.rows))

    @property
    def records(self) -> list[Record]:
        return [record for k in self.stiffness for record in self.rows[k]]

    def record(self, k: float, method: str) -> Record:
        return self.rows[k][METHODS.index(method)]

    def steps(self, method: str) -> np.ndarray:
        """Largest steps [s] by stiffness; nan where none was found in time."""
        own = [self.record(k, method) for k in self.stiffness]
        return np.array([np.nan if r.failure else r.step for r in own])

    def exponential(self) -> np.ndarray:
        """The better of neti, which the paper has, and exprb42."""
        return np.fmax(self.steps("neti"), self.steps("exprb42"))

    def ahead(self, other: str) -> np.ndarray:
        """Orders of magnitude between `exponential` and the largest steps of another method."""
        return np.log10(self.exponential() / self.steps(other))

    def pair(self, k: float) -> tuple[Record, Record]:
        return self.record(k, "neti"), self.record(k, "bdf1")

    def slope(self, method: str) -> float:
        """d log h / d log k, fitted; nan where fewer than two points are known."""
        h = self.steps(method)
        known = np.isfinite(h)
        if known.sum() < 2:
            return float("nan")
        return float(np.polyfit(np.log10(self.stiffness[known]), np.log10(h[known]), 1)[0])

    def exponents(self) -> str:
        """The slopes in words."""
        if len(self.stiffness) < 2:
            return "one value of k tells none"
        return ", ".join(f"{name} {self.slope(name):.2f}" for name in METHODS)

    def costs(self, one: str, other: str) -> str:
        """Seconds of `other` over those of `one` at these steps, stiffness by stiffness."""
        words = []
        for k in self.stiffness:
            a, b = self.record(k, one), self.record(k, other)
            if a.seconds and b.seconds and not (a.failure or b.failure):
                words.append(f"{b.seconds / a.seconds:.2g} at {k:.0e}")
        return ", ".join(words) or "none in common"

    def notes(self, text: str, duration: float) -> str:
        """The text, with {exponents} and as {ladder} costs and steps of all methods."""
        rivals = {"RK4": "rk4", "Verlet": "verlet", "midpoint": "midpoint", "BDF-1": "bdf1"}
        costs = [f"{title} {self.costs('exprb42', name)}" for title, name in rivals.items()]
        more = NOTES.format(costs=";\n".join(costs), table=self.table())
        return text.format(duration=duration, exponents=self.exponents(), ladder=more)

    def table(self) -> str:
        rows = [
            (f"{k:.0e}", *(_cell(self.record(k, name)) for name in METHODS)) for k in self.stiffness
        ]
        head = "Largest steps [s] (steps, forces, products, factorisations; seconds):\n\n"
        return head + table(" | ".join(("k [N/m]", *METHODS)), rows)


def _cell(r: Record) -> str:
    if r.failure or r.variant:
        return r.failure or f"{r.step:.2g} ({r.variant})"
    counts = f"{r.steps:,}, {r.force_evaluations:,}, {r.operator_products:,}, {r.factorizations:,}"
    return f"{r.step:.2g} ({counts}; {number(r.seconds)})"


def words(values: Sequence[float] | np.ndarray) -> str:
    """Orders of magnitude in a row, for a table cell."""
    return ", ".join("?" if np.isnan(v) else f"{v:.1f}" for v in values)


def draw(found: Ladder, title: str) -> Any:
    """The paper's axes: largest step over stiffness, both logarithmic."""
    figure, axis = figures.panel(title, 7.0)
    for method in METHODS:
        steps, (color, marker) = found.steps(method), figures.apart(method)
        axis.loglog(found.stiffness, steps, **figures.marked(method))
        guess = [bool(found.record(k, method).variant) for k in found.stiffness]
        axis.plot(found.stiffness[guess], steps[guess], marker, color=color, mfc="white")
    figures.finish(axis, "stiffness k [N/m]   (hollow: not run, see the table)", "largest step [s]")
    return figure


# ------------------------------------------------------------------ the two figures


def beam(bench: Bench) -> Report:
    """Largest steps for 1e-4 of six methods, k = 1e2 to 1e9 N/m."""
    size: dict[str, Any] = {"along": 9, "across": 3}
    stiffness, duration, limit = [1e2, 1e4, 1e6, 1e8, 1e9], 0.5, 15.0
    if bench.quick:
        size, stiffness, duration, limit = {"along": 5, "across": 2}, [1e3, 1e6], 0.25, 2.0
    load = partial(scenes.load, "twisting-beam", duration=duration, **size)
    found = Ladder(bench, load, stiffness, FINE, limit)
    particles = size["along"] * size["across"] ** 2
    return Report(
        title="Largest step over the stiffness of a twisted beam",
        source="Michels, Sobottka & Weber 2014, Sec. 5.3, Fig. 22e",
        records=found.records,
        figure=draw(found, f"Twisted beam, {particles} particles: largest step for 1e-4"),
        claims=_beam_claims(found),
        notes=found.notes(BEAM, duration),
        reduced=f"{particles} particles instead of 650, {duration:g} s of the twist, "
        f"{len(stiffness)} values of k up to {stiffness[-1]:.0e} instead of 1e10 N/m; a method "
        f"that takes more than {limit:g} s is not run further.",
    )


def _beam_claims(found: Ladder) -> list[Claim]:
    bdf1, rk4, neti = found.ahead("bdf1"), found.ahead("rk4"), found.steps("neti")
    ks = ", ".join(f"{k:.0e}" for k in found.stiffness)
    pairs = [[found.record(k, m).seconds for m in ("rk4", "exprb42")] for k in found.stiffness]
    faster = [theirs > ours for theirs, ours in pairs if theirs and ours]
    return [
        Claim(
            "Steps are at least three orders of magnitude larger than those of BDF-1 or RK4.",
            f"orders at k = {ks}: over BDF-1 {words(bdf1)}; over RK4 {words(rk4)} (the better of "
            f"neti and exprb42; neti itself: h = {', '.join(f'{h:.1g}' for h in neti)} s)",
            report.verdict(bool(np.nanmin(bdf1) >= ORDERS), bool(np.nanmin(rk4) >= ORDERS)),
            "RK4's step falls with the root of k, so that the gain depends on k; BDF-1 is poor "
            "where the beam swings, and good where it follows the hand as if it had no mass.",
        ),
        Claim(
            "The exponential integrator is much better even at the smallest stiffness.",
            f"at k = {found.stiffness[0]:.0e}: {bdf1[0]:.1f} orders over BDF-1, {rk4[0]:.1f} over "
            "RK4",
            report.verdict(bool(bdf1[0] >= 1.0), bool(rk4[0] >= 1.0)),
            "A soft beam is not stiff: an explicit method of fourth order comes close there.",
        ),
        Claim(
            "Rebuilding matrix functions in every step is overcompensated by larger steps.",
            f"seconds of RK4 over those of exprb42: {found.costs('exprb42', 'rk4')}; of Verlet: "
            f"{found.costs('exprb42', 'verlet')}",
            report.verdict(any(faster), bool(faster) and all(faster)),
            "Below 1 the rival is faster. Products per step grow with h sqrt(k), as the number of "
            "RK4's steps does.",
        ),
    ]


def dragon(bench: Bench) -> Report:
    """Largest steps for 1e-2 of six methods over the stiffness; of two at the paper's size."""
    stiffness, duration, limit = [1e4, 1e5, 1e6, 1e7], 2.0, 20.0
    if bench.quick:
        stiffness, duration, limit = [5e4], 0.25, 4.0
    load = partial(scenes.load, "dragon", vertices=VERTICES, law="cubic", duration=duration)
    found = Ladder(bench, load, stiffness, COARSE, limit)
    full = {} if bench.quick else {k: at_full_size(bench, k, duration) for k in FULL}
    notes = found.notes(DRAGON, duration)
    if full:
        notes += AT_FULL_SIZE.format(table=_full_table(full))
    pairs = {k: found.pair(k) for k in found.stiffness}
    claims = _dragon_claims(found, full or pairs)
    if not full:
        claims = [report.capped(c, f"{VERTICES:,} of {PRINTED:,} vertices") for c in claims]
    return Report(
        title="Largest step over the stiffness of a dragon, at an error of 1e-2",
        source="Michels, Sobottka & Weber 2014, Sec. 5.3, Fig. 22f",
        records=[*found.records, *(record for pair in full.values() for record in pair)],
        figure=_dragon_figure(found, full),
        claims=claims,
        notes=notes,
        reduced=f"{VERTICES:,} vertices"
        + (f" instead of {PRINTED:,}" if bench.quick else f" but for neti and BDF-1 ({PRINTED:,})")
        + f", {duration:g} s, {len(stiffness)} value(s) of k; a method that takes more than "
        f"{limit:g} s is not run further.",
    )


Pair = tuple[Record, Record]  # of neti, which the paper has, and of BDF-1


def at_full_size(bench: Bench, stiffness: float, duration: float) -> Pair:
    """The largest steps of neti and BDF-1 on the paper's dragon, and what they take."""
    given = {"law": "cubic", "stiffness": stiffness, "duration": duration}
    problem = scenes.load("dragon", vertices=PRINTED, **given)
    reference = references.coarse_reference(problem, bench, COARSE / 6.0, LIMIT_S)
    neti = IntegratorMethod("neti", label=f"neti, k {stiffness:.0e}, {PRINTED:,} vertices")
    options: dict[str, Any] = {"error": position_error, "repeats": 1, "limit_s": LIMIT_S}
    options["settings"] = equal_error.ladder(problem)[LONGEST:]
    ours = equal_error.cheapest(bench, problem, neti, reference, (COARSE,), **options)[COARSE]

    def priced() -> Row:
        label = f"bdf1, k {stiffness:.0e}, {PRINTED:,} vertices"
        method = IntegratorMethod(BY_PRODUCTS, label=label)
        found = by_order(problem, method, reference, COARSE, position_error, AFFORDABLE)
        cost = step_cost(replace(problem, step=found.step), BY_PRODUCTS, LIMIT_S)
        return asdict(replace(found, seconds=cost["seconds"] * found.steps))

    return ours, Record(**bench.row(f"k {stiffness:.0e}: bdf1 of {PRINTED:,} vertices", priced))


def _orders(pair: Pair, value: Callable[[Record], float | None]) -> float:
    """Of magnitude that BDF-1's value is above neti's; nan: not both are known."""
    ours, theirs = (None if r.failure else value(r) for r in pair)
    return float(np.log10(theirs / ours)) if ours and theirs else np.nan


def _dragon_claims(found: Ladder, pairs: dict[float, Pair]) -> list[Claim]:
    """The paper draws steps and speaks of speed: seconds of BDF-1 over the exponential method's."""
    ks = ", ".join(f"{k:.0e}" for k in pairs)
    seconds = [_orders(pair, lambda r: r.seconds) for pair in pairs.values()]
    steps = [-_orders(pair, lambda r: r.step) for pair in pairs.values()]
    known = [orders for orders in seconds if np.isfinite(orders)]
    typical = float(np.median(known)) if known else np.nan
    counted = "Counted as reproduced between 1 and 2 orders, in the median of all k, with neti."
    return [
        judged(
            "At an error of 1e-2 the advantage in speed over BDF-1 shrinks to 1.5 orders of "
            "magnitude.",
            f"orders of magnitude that BDF-1 takes longer than neti at k = {ks}: {words(seconds)}; "
            f"that its largest steps are smaller: {words(steps)}",
            (1.0 <= typical <= 2.0,),
            counted,
            counted,
        ),
        judged(
            "Even at this error BDF-1 is slower than the exponential integrator.",
            "seconds of BDF-1 over those of neti: "
            + ", ".join(f"{10.0**orders:.2g}" for orders in seconds)
            + f"; with {VERTICES:,} vertices, of Verlet: {found.costs('neti', 'verlet')}",
            (bool(known) and min(known) > 0.0,),
            "The paper leaves Verlet out of its comparison, which is faster where k is small.",
            "BDF-1 is faster at some k.",
        ),
    ]


def _full_table(full: dict[float, Pair]) -> str:
    rows = [
        (f"{k:.0e}", f"{ours.step:.2g}", number(ours.seconds), f"{theirs.step:.2g}",
         number(theirs.seconds))
        for k, (ours, theirs) in full.items()
    ]  # fmt: skip
    return table("k [N/m] | neti: largest step [s] | seconds | BDF-1: step [s] | seconds", rows)


def _dragon_figure(found: Ladder, full: dict[float, Pair]) -> Any:
    figure = draw(found, f"Dragon, {VERTICES:,} vertices: largest step for 1e-2")
    axis = figure.axes[0]
    for index, method in enumerate(("neti", "bdf1")):
        points = [(k, pair[index].step) for k, pair in full.items() if not pair[index].failure]
        if points:
            style = figures.marked(method) | {"linestyle": ":", "markersize": 12, "mfc": "none"}
            axis.loglog(*zip(*points, strict=True), **style | {"label": f"{method}, {PRINTED:,}"})
            axis.legend()
    return figure
