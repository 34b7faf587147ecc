"""Everybody's price at the same error: the run times of three papers, row by row.

Michels, Luan & Tokman 2017, Table 1; Luan & Michels 2018, Table 2, and 2021, Table 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from math import inf, isfinite
from typing import Any, NamedTuple

import numpy as np

from stiffly import scenes
from stiffly.errors import SimulationFailure
from stiffly.scenes import Scene

from . import equal_error, figures, references, report, rivals
from .bench import Bench, Row
from .equal_error import EXTRAPOLATED, TRUST, Error, by_order, position_error, relative_error
from .harness import Record
from .methods import IntegratorMethod
from .parallel import today, when
from .references import coarse_reference, fingerprint, own_reference
from .report import Claim, Report
from .rivals import LOST, Limits, is_late, race
from .tight import Reference
from .trial import time_limit

TABLE_2017, TABLE_2018, TABLE_2021 = (
    "Michels 2017, Table 1",
    "Luan 2018, Table 2",
    "Luan 2021, Table 2",
)
MINUTE, HOUR = 60.0, 3600.0
FINE = 0.057 / 64  # [s]
LARGER = {"vertices": 200, "duration": 1.14}  # of bunnies


@dataclass(frozen=True, eq=False)
class RosenbrockCase:
    """A row: who it belongs to, what the paper measured [s], and how much of it we can afford.

    methods: the paper's columns by our names, the paper's own method first; level: the error that
    all have to meet, by `error`; N: the paper's unknowns; simulated: its seconds, of which
    `duration` are computed.  small: parameters beside those of the scene's small variant; larger:
    instead of those and of `duration` in the full experiment.  full: instead of both, parameters of
    the scene at its full size, where that can be afforded, with the seconds, the first step tried
    and the seconds for a run.  fine: step of a reference by exprb42 where others have none;
    settled_s: seconds for a run of one by Verlet, where something acts between the steps.
    """

    name: str
    items: tuple[str, ...]
    N: int
    methods: Mapping[str, float]
    scene: str
    simulated: float
    duration: float
    level: float
    small: Mapping[str, Any] = field(default_factory=dict)
    larger: Mapping[str, Any] = field(default_factory=dict)
    full: Full | None = None
    error: Error = relative_error
    fine: float | None = None
    settled_s: float = 10.0
    remark: str = ""

    @property
    def leader(self) -> str:
        return next(iter(self.methods))

    def build(self, quick: bool) -> Scene:
        if self.full is not None and not quick:
            return scenes.load(self.scene, **self.full.given, duration=self.full.lasts)
        given = {**self.small, "duration": self.duration, **({} if quick else self.larger)}
        return scenes.load(self.scene, small=True, **given)


class Full(NamedTuple):
    """A row at the paper's size: parameters, seconds of it, the first step, seconds for a run."""

    given: Mapping[str, Any]
    lasts: float
    longest: float
    limit_s: float = 8.0

    def steps(self) -> list[float]:
        """From `longest` down by sqrt(2) each; whole numbers of them make up the seconds."""
        first = max(2.0, self.lasts / self.longest)
        counts = dict.fromkeys(round(first * 2.0 ** (0.5 * k)) for k in range(48))
        return [self.lasts / n for n in counts]


def _stiff(
    name: str,
    N: int,
    seconds: tuple[float, float, float],
    scene: str,
    lasts: tuple[float, float],
    gautschi: str = "eti",
    level: float = 0.1,
    **more: Any,
) -> RosenbrockCase:
    """A row of 2017: stiffly accurate, Gautschi-type, Newton-Raphson (BDF-1)."""
    methods = dict(zip(("epirk4s3", gautschi, "bdf1"), seconds, strict=True))
    return RosenbrockCase(name, (TABLE_2017,), N, methods, scene, *lasts, level, **more)


def _rosenbrock(
    name: str,
    items: tuple[str, ...],
    N: int,
    seconds: tuple[float, ...],
    scene: str,
    lasts: tuple[float, float],
    **more: Any,
) -> RosenbrockCase:
    """A row of 2018 and 2021.  Their only number for an error is 2 %, of the coil's positions."""
    names: tuple[str, ...] = ("exprb42", "pexprb43", "vimex", "rk4", "bdf1")
    methods: dict[str, float] = dict(zip(names, seconds, strict=True))
    return RosenbrockCase(name, items, N, methods, scene, *lasts, 0.02, **more)


BOTH = (TABLE_2018, TABLE_2021)
HEAD_SHAKE = (
    "the paper's Gautschi time is 31 h in the table and about 6 h in the text; 31 h is used"
)
SHELL = {"vertices": 200, "inside": False}
BRUSHED = {"small": {"bristles": 2}, "error": position_error, "fine": 1e-5,
           "full": Full({"object": "teeth", "bristles": 8}, 0.008, 4e-4)}  # fmt: skip
THREE = (180.0, 0.57)  # minutes of the paper in seconds, and those of a small bunny

CASES = (
    _stiff("0a bunny, k_d = 1e8", 24_000, (126, 523, HOUR), "bunny", THREE,
           small={"vertices": 100, "diagonal": 1e8}, full=Full({"diagonal": 1e8}, 2.85, 0.57)),
    _stiff("0b bunny, k_d = 1e10", 24_000, (127, 728, 1.5 * HOUR), "bunny", THREE,
           small={"vertices": 100, "diagonal": 1e10}, larger=LARGER),
    _stiff("0c bunny, k_d = 1e12", 24_000, (127, 946, 2.3 * HOUR), "bunny", THREE,
           small={"vertices": 100, "diagonal": 1e12}, fine=FINE),
    _stiff("1a bunny, k_d = 1e11", 3_000, (8, 56, 7 * MINUTE), "bunny", THREE,
           small={"vertices": 60, "diagonal": 1e11},
           full=Full({"vertices": 1000, "diagonal": 1e11}, 0.57, 0.285)),
    _stiff("1b bunny, k_d = 1e11", 12_000, (58, 269, 43 * MINUTE), "bunny", THREE,
           small={"vertices": 120, "diagonal": 1e11}, fine=FINE),
    _stiff("1c bunny, k_d = 1e11", 24_000, (127, 861, 2 * HOUR), "bunny", THREE,
           small={"vertices": 240, "diagonal": 1e11}, fine=FINE),
    _stiff("2 flag", 10_500, (1, 8, 72), "flag", (6.0, 0.3), small={"resolution": 6}),
    _stiff("3a tower, 1e2 N/m above", 15_000, (3, 26, 5 * MINUTE), "tower", (12.0, 0.1), "ceti",
           small={"upper": 1e2, "speed": 30.0}),
    _stiff("3b tower, 1e4 N/m above", 15_000, (3, 33, 7 * MINUTE), "tower", (12.0, 0.1), "ceti"),
    _stiff("4 head shake", 6_480_000, (54 * MINUTE, 31 * HOUR, 80 * HOUR), "hair", (4.0, 0.1),
           small={"fibers": 2}, remark=HEAD_SHAKE),
    _stiff("5 tooth brushing, 3 min", 90_000, (16 * MINUTE, 6 * HOUR, 18 * HOUR), "brush",
           (180.0, 0.01), level=0.05, **BRUSHED),
    _stiff("6 bacterium", 360, (1, 4, 23), "bacterium", (2.0, 0.05)),
    _rosenbrock("1 coil spring", BOTH, 24_000, (55, 47, 12 * MINUTE, 46 * MINUTE, 62 * MINUTE),
                "coil-spring", (60.0, 2.0), larger={"vertices": 400, "duration": 3.0}),
    _rosenbrock("dragon", (TABLE_2021,), 450_000, (272, 243, 72 * MINUTE, 4 * HOUR, 5 * HOUR),
                "dragon", (10.0, 0.2)),
    _rosenbrock("2 brushing, 15 s", BOTH, 90_000, (52, 51, 11 * MINUTE, 53 * MINUTE, 72 * MINUTE),
                "brush", (15.0, 0.01), **BRUSHED),
    _rosenbrock("3 crash, moderate", BOTH, 360_000, (44, 44, 9 * MINUTE, 47 * MINUTE, 58 * MINUTE),
                "crash", (2.0, 0.05), small={**SHELL, "speed": 2.0}),
    _rosenbrock("4 crash, fast", BOTH, 360_000, (47, 46, 9 * MINUTE, 47 * MINUTE, 59 * MINUTE),
                "crash", (2.0, 0.05), small={**SHELL, "speed": 4.0}),
)  # fmt: skip


ALIKE = 3.0  # a printed speed-up counts as reproduced from a third of it on
PAPERS_OWN = ("exprb42", "pexprb43")  # both advertised: neither is a rival of the other
TIGHTER, REFERENCE_S = 10.0, 40.0  # times the level: of a reference; seconds for one run of it
QUICK = ("0a bunny, k_d = 1e8", "1 coil spring", "3 crash, moderate")
STILL = "nothing moves"
RANKS = (report.NOT_REPRODUCED, report.PARTLY, report.REPRODUCED)
OUTSIDE = ("verlet", "SciPy's best", "CVODE Adams", "CVODE BDF")
MORE = ("exprb42", "energy-momentum")  # beside the papers' columns, on small bodies
FEW, SHORT_S = 200, 30.0  # steps of a run from which BDF-1's step is extrapolated; its seconds

NOTES = f"""\
Every method at its largest step (outside solvers: largest tolerance) that meets the error, in the
processor's seconds; others than the paper's own are waited for as long as their seconds could
decide: a third of the printed factor, or {LOST:g} times that method's seconds, within the limits of
the row. The papers say 10 % of positions and velocities (2017, Sec. 4.1) and 5 % of positions
(tooth brushing, Sec. 4.4); those of 2018 and 2021 'visually plausible', and 2 % of positions for
the coil spring (footnotes 2 and 1), which is taken for all their rows. Small rows are judged by
positions and velocities throughout, which is more than the papers ask of tower, coil and flag.
Errors are relative to the largest excursion and velocity, at the end. `eti` (tower: `ceti`) is the
Gautschi-type method of 2014, `bdf1` the papers' Newton-Raphson procedure; pexprb43 has the nodes
(1/3, 3/4) of 2021.

Rows of two sizes. *At full size* (0a, 1a; of the brush 8 of 1,500 bristles, which touch the teeth
and not each other): for as many of the paper's seconds as there was time for, on a machine that
others used; the last column says what all of them would take the paper's own method at this step.
(In 1a most of eti's time is its eigenbasis, computed once, which 3 min would share.) Where BDF-1 is
too slow for that, its step is extrapolated from {FEW} steps, being of first order: what that comes
to is a lower bound where errors are large. *Small*: tens to hundreds of particles, which measure
Python's overhead in every step and flatter methods with few and rich steps: cells also have force
evaluations / products / factorisations. (Where products would cost more `eti` takes an eigenbasis,
once.)

{{when}}

Speed-ups over the others, theirs / ours ('>': not in time, '-': the error is not met at all):

{{summary}}

{{tables}}"""

Found = tuple[dict[str, Record], str]  # by method; how it was judged, or why it was not


def run(bench: Bench) -> Report:
    """The three tables: seconds and counts of all methods at equal error, and the ratios."""
    cases = [c for c in CASES if not bench.quick or c.name in QUICK]
    kept = bench.kept("rows")
    rows = {c.name: kept.get(c.name) or today(_row(bench, c)) for c in cases}
    found = {case: _found(rows[case.name]) for case in cases}
    return Report(
        title="Run times of exponential Rosenbrock methods and their rivals",
        source="Michels, Luan & Tokman 2017, Table 1; Luan & Michels 2018 and 2021, Table 2",
        records=[
            replace(record, method=f"{case.name}: {record.method}")
            for case, (records, _) in found.items()
            for record in records.values()
        ],
        figure=_figure(found),
        claims=[claim for case in CASES for claim in _claims(case, found.get(case))],
        notes=NOTES.format(when=when(rows), summary=_summary(found), tables=_tables(found)),
        reduced=_reduced(bench.quick),
        data={"rows": rows},
    )


def _row(bench: Bench, case: RosenbrockCase) -> Row:
    records, words = _measured(bench, case)
    return {"records": {name: asdict(r) for name, r in records.items()}, "words": words}


def _found(row: Row) -> Found:
    return {name: Record(**r) for name, r in row["records"].items()}, row["words"]


def _reduced(quick: bool) -> str:
    if quick:
        return f"small bodies for a moment; {len(QUICK)} of {len(CASES)} rows, no outside solvers."
    return (
        "rows 0a and 1a at full size, the others of tens to hundreds of particles; fractions of a "
        "second to a few seconds instead of the papers' minutes."
    )


def _reference(case: RosenbrockCase, scene: Scene, bench: Bench) -> Reference:
    large = case.full is not None and not bench.quick
    if case.fine is not None and (large or not scene.system.settles):
        both = case.error is relative_error
        return own_reference(scene, bench, case.fine, check=False, velocities=both)
    if large:
        return coarse_reference(scene, bench, case.level / TIGHTER, REFERENCE_S)
    limit = 10.0 if bench.quick else case.settled_s if scene.system.settles else 150.0
    return references.solution(scene, bench, limit_s=limit)


def _measured(bench: Bench, case: RosenbrockCase) -> Found:
    scene = case.build(bench.quick)
    if motionless(scene):
        return {}, f"{STILL} within {scene.duration:g} s"
    try:
        exact = _reference(case, scene, bench)
    except SimulationFailure as failure:
        return {}, f"no reference: {failure}"
    if exact.error * TRUST > case.level:
        return {}, f"no reference: {exact.how}, which is no judge of {case.level:.0%}"
    full = None if bench.quick else case.full
    if full is None:
        names = (*case.methods, *(() if bench.quick else MORE))
        methods, absent = rivals.contenders(names, scene, exact, bench.quick)
        given: dict[str, Any] = {}
    else:
        methods, absent = rivals.contenders(tuple(case.methods), scene, exact, quick=True)
        methods = [m if m.settings else IntegratorMethod(m.name, full.steps()) for m in methods]
        limits = Limits(full.limit_s, 1.0, full.limit_s)
        given = {"error": case.error, "limits": limits}
    worth = partial(_worth, case)
    met = race(bench, scene, exact, methods, (case.level,), case.leader, worth, **given)
    found = {name: records[case.level] for name, records in met.items()}
    if full is not None and is_late(found["bdf1"]):
        found["bdf1"] = _extrapolated(bench, case, scene, exact, found["bdf1"])
    for name, why in absent.items():
        found.setdefault(name, Record(name, scene.step, failure=why))
    words = f"{len(scene.x0):,} particles, {scene.duration:g} s; reference: {exact.how}"
    return found, words


def _extrapolated(
    bench: Bench, case: RosenbrockCase, scene: Scene, exact: Reference, late: Record
) -> Record:
    """BDF-1 by its order, where it was not in time; as it was where a shorter run is not either."""
    method = IntegratorMethod("bdf1")
    job = partial(by_order, scene, method, exact, case.level, case.error, FEW)

    def granted() -> Row:
        try:
            with time_limit(SHORT_S):
                return asdict(job())
        except SimulationFailure:
            return asdict(late)

    name = f"{scene.name} {fingerprint(scene)[:8]}: bdf1, by its order"
    return Record(**bench.row(name, granted))


def motionless(scene: Scene) -> bool:
    """It starts at rest, and no force acts where it rests, at any step: nothing will move."""
    system, start = scene.system.bind(scene.x0, scene.v0)
    times = np.arange(start.t, scene.duration, scene.step)
    pushed = (system.acceleration(start.moved(t, start.x, start.v)) for t in times)
    return not start.v.any() and not any(a.any() for a in pushed)


def _worth(case: RosenbrockCase, name: str) -> float:
    """Of the leader's seconds: enough to see whether a third of the printed factor is there."""
    printed = case.methods.get(name, 0.0) / case.methods[case.leader]
    return max(LOST, printed / ALIKE)


# ------------------------------------------------------------------ ratios


def _ratio(found: Mapping[str, Record], method: str, leader: str, cost: str = "seconds") -> float:
    """What the method pays over what the leader pays; nan where the leader, inf where the method
    does not meet the error; the least that it may be where the method was not in time."""
    own, other = found.get(leader), found.get(method)
    if own is None or own.failure or other is None:
        return float("nan")
    if other.failure and not is_late(other):
        return inf
    paid = float(getattr(own, cost) or 0.0)
    return float(getattr(other, cost) or 0.0) / paid if paid else float("nan")


def _evaluations(found: Mapping[str, Record], method: str, leader: str) -> float:
    """As _ratio, of force evaluations and products together: both pass over all springs once."""
    costs = {n: r.force_evaluations + r.operator_products for n, r in found.items()}
    ratio = _ratio(found, method, leader)
    if not isfinite(ratio) or not costs[leader]:
        return ratio
    if found[method].failure or found[method].variant == EXTRAPOLATED:  # not counted
        return inf
    return costs[method] / costs[leader]


def _words(found: Mapping[str, Record], name: str, leader: str) -> tuple[str, str]:
    """Both ratios as a reader sees them: seconds, counts."""
    seconds, counts = (f(found, name, leader) for f in (_ratio, _evaluations))
    than = ""
    if name in found:
        guess = "about " if found[name].variant == EXTRAPOLATED else ""
        than = "> " if is_late(found[name]) else guess
    return than + _word(seconds), _word(counts)


def _word(ratio: float) -> str:
    return f"{ratio:.2g}" if isfinite(ratio) else "-"


# ------------------------------------------------------------------ what it says


def _claims(case: RosenbrockCase, measured: Found | None) -> list[Claim]:
    leader, own = case.leader, case.methods[case.leader]
    promised = {name: s / own for name, s in case.methods.items() if name != leader}
    paper = f"{case.name}, N = {case.N:,}: {leader} {own:g} s; " + ", ".join(
        f"{name} {p:.3g} times" for name, p in promised.items()
    )
    paper += f" ({case.remark})" if case.remark else ""
    if measured is None:
        text, verdict, why = "not run", report.UNTESTED, "Left out of the reduced variant."
    elif not measured[0]:
        still = measured[1].startswith(STILL)
        why = "There is no motion to compare." if still else "Without a reference nobody can judge."
        text, verdict = measured[1], report.UNTESTED
    else:
        text, verdict, why = _judged(case, measured[0], promised)
    claims = [Claim(paper, text, verdict, why, item) for item in case.items]
    size = measured[1].partition(";")[0] if measured else ""
    cut = f"{size} instead of the paper's {case.N:,} unknowns and {case.simulated:g} s"
    return [report.capped(claim, cut) for claim in claims]


def _whole(case: RosenbrockCase, records: Mapping[str, Record]) -> str:
    """Seconds that the paper's own method would take for all that the paper simulated."""
    own = records.get(case.leader)
    if own is None or own.failure or not own.seconds or not own.steps:
        return "-"
    return f"{own.seconds * case.simulated / (own.steps * own.step):,.0f} s"


def _judged(
    case: RosenbrockCase, found: Mapping[str, Record], promised: Mapping[str, float]
) -> tuple[str, str, str]:
    record = found.get(case.leader)
    if record is None or record.failure:
        reason = "it cannot run here" if record is None else record.failure
        best = equal_error.winners({n: {case.level: r} for n, r in found.items()}, case.level)
        first = f"; {best[0][0]} does in {best[0][1]:.2g} s" if best else ""
        text = f"{case.leader} does not meet {case.level:.0%}: {reason}{first}"
        why = "It linearises once per step; contact or fast turning within a step breaks that."
        if "not within" in (reason or ""):
            why = "At steps that meet the error its matrix functions take longer than a run may."
        return text, report.NOT_REPRODUCED, why
    here = {name: _ratio(found, name, case.leader) for name in (*promised, *OUTSIDE)}
    words = ", ".join(
        "{} {} ({})".format(name, *_words(found, name, case.leader))
        for name in here
        if name in found
    )
    text = f"{case.leader} {record.seconds:.2g} s, h = {record.step:.2g}; times, and counts of "
    text += f"forces and products in brackets ('>': not in time, '-': error not met): {words}"
    faster = [name for name in OUTSIDE if isfinite(here[name]) and here[name] < 1.0]
    why = f"Not in the paper and faster here: {', '.join(faster)}. " if faster else ""
    rivals_of_it = {name: p / ALIKE for name, p in promised.items() if name not in PAPERS_OWN}
    short = [name for name, third in rivals_of_it.items() if not here[name] > third]
    unknown = [name for name in short if name in found and is_late(found[name])]
    lost = [name for name in short if name not in unknown]
    why += f"Less than a third of the printed factor over {', '.join(lost)}. " if lost else ""
    why += f"Not waited for a third of the factor over {', '.join(unknown)}. " if unknown else ""
    verdict = report.verdict(*(name not in lost for name in rivals_of_it if name not in unknown))
    if unknown:  # what is not known makes nothing true
        undecided = len(unknown) == len(rivals_of_it)
        verdict = report.UNTESTED if undecided else min(verdict, report.PARTLY, key=RANKS.index)
    why = why.strip() or "Every factor is at least a third of the printed."
    return text, verdict, why


def _summary(found: Mapping[RosenbrockCase, Found]) -> str:
    lines = []
    for case, (records, words) in found.items():
        own = records.get(case.leader)
        printed = {n: f"{t / case.methods[case.leader]:.2g}" for n, t in case.methods.items()}
        cells = [
            f"{name}: {paper} / " + " / ".join(_words(records, name, case.leader))
            for name, paper in {**printed, **dict.fromkeys(OUTSIDE, "(none)")}.items()
            if name != case.leader and name in records
        ]
        step = "-" if own is None or own.failure else f"{own.step:.2g}"
        whole = _whole(case, records)
        lines.append((case.name, case.leader, step, "; ".join(cells) or words, whole))
    head = (
        "row | paper's method | h here | speed-ups: paper / here, seconds / here, counts"
        " | all of the paper's seconds"
    )
    return report.table(head, lines)


def _tables(found: Mapping[RosenbrockCase, Found]) -> str:
    parts = []
    for case, (records, words) in found.items():
        parts.append(f"{case.name}, N = {case.N:,} in the paper: {words}.")
        if records:
            rows = {name: {case.level: record} for name, record in records.items()}
            parts.append(equal_error.table(rows, (case.level,)))
    return "\n\n".join(parts)


def _figure(found: Mapping[RosenbrockCase, Found]) -> Any:
    """Per row of the tables: how many times longer than the paper's method the others take."""
    title = "Times the seconds of the papers' own method (hollow: paper, filled: here)"
    figure, axis = figures.panel(title, 11.0)
    names = dict.fromkeys(n for c, (f, _) in found.items() for n in (*c.methods, *f))
    labels = [case.name for case in found]
    axis.axhline(1.0, color="#aaaaaa", linestyle="--")
    for k, name in enumerate(names):
        color, marker = f"C{k % 10}", "osD^vP*X<>p"[k % 11]
        here, paper = [], []
        for x, (case, (records, _)) in enumerate(found.items()):
            if name != case.leader and name in case.methods:
                paper.append((x, case.methods[name] / case.methods[case.leader]))
            ratio = _ratio(records, name, case.leader)
            met = name in records and records[name].failure is None
            if name != case.leader and met and isfinite(ratio) and ratio > 0.0:
                here.append((x, ratio))
        axis.plot(*np.reshape(here, (-1, 2)).T, marker, color=color, label=name)
        axis.plot(*np.reshape(paper, (-1, 2)).T, marker, color=color, fillstyle="none")
    axis.set_yscale("log")
    axis.set_xticks(range(len(labels)), labels, rotation=60, ha="right", fontsize=8)
    axis.set_ylabel("seconds / seconds of the papers' own method")
    axis.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure
