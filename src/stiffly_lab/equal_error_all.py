"""Every scene, every method, every rival: what 10 %, 1 % and 0.01 % of error cost.

Scene by scene, several at once where parallel.py is told so.  Methods that fall far behind the best
so far are not followed to the end: their cells say how long they had.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import ceil, inf
from time import perf_counter
from typing import Any

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from stiffly import scenes
from stiffly.errors import SimulationFailure
from stiffly.scenes import Scene

from . import parallel, references, report, rivals
from .bench import Bench, Row
from .equal_error import TOLERANCES, cheapest, granted_time, ladder, share, table, winners
from .harness import Method, Record
from .methods import IntegratorMethod
from .report import Claim, Report
from .tight import stable_step

EXPONENTIAL = ("exprb2", "exprb32", "exprb42", "pexprb43", "epirk4s3", "eti", "ceti", "neti")
OTHERS = ("verlet", "SciPy's best", "CVODE Adams", "CVODE BDF")  # not of this package, or no news
Scenes = Mapping[str, Mapping[str, Any]]  # what `rows_of` found, by scene
Rows = dict[str, dict[float, Record]]

NOTES = """\
The error is the larger of |x - x_r|_2 / max|x_r(t) - x_r(0)|_2 and |v - v_r|_2 / max|v_r(t)|_2 at
the end of the run. A cell holds the seconds (median of 3) and how many times the winner's they are,
the largest step or tolerance that meets the error (steps on a ladder of sqrt 2, met again at half
the step; tolerances on powers of ten), force evaluations / operator products / factorisations, the
peak memory of three steps (for tolerances: of a hundredth of the run) as Python sees it, and the
relative errors of energy (E, of what was exchanged) and angular momentum (L). No run was granted
more than {limit:g} s, nor more than ten times what the best so far took at the finest error, and
all runs of a method together no more than three times that limit. The seconds of systems of a few
hundred coordinates are mostly Python's: there the counts say more. SciPy's best is the fastest of
RK45, DOP853, LSODA, Radau and BDF, the last two with the exact sparse Jacobian of bodies; every
outside solver calls our compiled forces through Python, as our own methods do where they go step by
step. {when}

{shares}

{scenes}"""


def records(scene: Mapping[str, Any]) -> Rows:
    return {
        name: {float(level): Record(**row) for level, row in found.items()}
        for name, found in scene["rows"].items()
    }


def notes(found: Scenes, levels: Sequence[float], limit: float) -> str:
    parts = [_section(name, scene, levels) for name, scene in found.items()]
    shares = [
        f"- Error {100 * e:g} %: {share(dict(winners(records(s), e)) for s in found.values())}"
        for e in levels
    ]
    text = {"scenes": "\n\n".join(parts), "shares": "\n".join(shares)}
    return NOTES.format(limit=limit, when=parallel.when(found), **text)


def _section(name: str, scene: Mapping[str, Any], levels: Sequence[float]) -> str:
    size, duration = scene["coordinates"], scene["duration"]
    head = f"## {name}\n\n{size:,} coordinates, {duration:g} s"
    head += " (shortened)" if scene.get("shortened") else ""
    head += f"; Verlet is stable up to h = {scene['stable_step']:.3g} s at the start"
    if scene["reference"] is None:
        return head + f". Nothing is measured: {scene['why']}."
    head += f" ({_limit_in_words(Record(**scene['at_limit']))}). "
    head += f"Reference: {scene['reference']['how']}, error {scene['reference']['error']:.1e}."
    rows = records(scene)
    lines = [_who_wins(rows, level) for level in levels]
    return "\n\n".join([head, "\n".join(lines), table(rows, levels)])


def _limit_in_words(r: Record) -> str:
    if r.relative is None or r.seconds is None:
        return f"where it fails: {r.failure}"
    return f"there: error {r.relative:.2g}, {r.seconds:.2g} s, {r.force_evaluations:,} forces"


def _who_wins(rows: Rows, level: float) -> str:
    ranked = winners(rows, level)
    text = f"- {100 * level:g} %: "
    if not ranked:
        return text + "nobody meets it in the time granted."
    best, seconds = ranked[0]
    text += f"{best} wins with {seconds:.3g} s"
    if best in OTHERS:
        ours = next((pair for pair in ranked if pair[0] not in OTHERS), None)
        if ours is None:
            return text + "; none of our methods meets it."
        forces = [rows[n][level].force_evaluations for n in (ours[0], best)]
        text += f"; the best of ours, {ours[0]}, takes {ours[1] / seconds:.3g} times as long"
        return text + f" and {forces[0] / max(forces[1], 1):.2g} times the forces."
    theirs = next((pair for pair in ranked if pair[0] in OTHERS), None)
    if theirs is None:
        return text + "; no outside method meets it."
    return text + f"; the best rival, {theirs[0]}, takes {theirs[1] / seconds:.3g} times as long."


def claims(found: Scenes, levels: Sequence[float]) -> list[Claim]:
    return [_claim(found, level) for level in levels]


def _claim(found: Scenes, level: float) -> Claim:
    first = {}
    for name, scene in found.items():
        ranked = winners(records(scene), level)
        if ranked:
            first[name] = ranked[0][0]
    counts = {who: list(first.values()).count(who) for who in first.values()}
    told = sorted(counts.items(), key=lambda pair: -pair[1])
    text = ", ".join(f"{who} in {count}" for who, count in told)
    won = [who in EXPONENTIAL for who in first.values()]
    return Claim(
        f"Exponential integrators are the cheapest at equal error ({100 * level:g} %).",
        f"fastest of {len(first)} scenes: {text}" if first else "no scene was measured",
        report.verdict(*won) if won else report.UNTESTED,
        "Reproduced only if they win every scene that has a reference; partly if they win some.",
    )


def heat_map(found: Scenes, level: float) -> Figure:
    """Seconds over the winner's: scenes down, methods across; blank where the error is not met."""
    names = list(dict.fromkeys(name for scene in found.values() for name in scene["rows"]))
    names = [n for n in names if n not in OTHERS] + [n for n in OTHERS if n in names]
    cost = np.full((len(found), len(names)), np.nan)
    for i, scene in enumerate(found.values()):
        ranked = winners(records(scene), level)
        for name, seconds in ranked:
            cost[i, names.index(name)] = seconds / ranked[0][1]
    size = (2.2 + 0.52 * len(names), 2.2 + 0.36 * len(found))
    figure = Figure(figsize=size, layout="constrained")
    axis = figure.subplots()
    axis.set_facecolor("#dddddd")
    top = max(10.0, float(np.nanmax(cost))) if np.isfinite(cost).any() else 10.0
    image = axis.imshow(cost, norm=LogNorm(1.0, top), cmap="viridis_r", aspect="auto")
    for i, j in np.argwhere(np.isfinite(cost)):
        shade = "white" if np.log(cost[i, j]) > 0.5 * np.log(top) else "black"
        axis.text(
            j,
            i,
            f"{cost[i, j]:.2g}" if cost[i, j] < 99.5 else f"{cost[i, j]:.0f}",
            ha="center",
            va="center",
            fontsize=7,
            color=shade,
        )
    axis.set_xticks(range(len(names)), names, rotation=55, ha="right", fontsize=8)
    axis.set_yticks(range(len(found)), list(found), fontsize=8)
    axis.set_title(
        f"Seconds at {100 * level:g} % error over those of the fastest; grey: not met", fontsize=11
    )
    figure.colorbar(image, ax=axis, label="times the fastest")
    return figure


LEVELS = (0.1, 0.01, 1e-4)
LIMIT, METHOD_LIMIT = 2.0, 6.0  # seconds of one run, and of all runs of a method
BRIEF, LOST = 0.2, 10.0  # a run may take so long, or so many times as long as the best so far
FIRST = ("exprb42", "verlet", "SciPy")  # likely winners, so that others know when they have lost
REFERENCE_LIMIT = 60.0  # seconds of one tight solution
SCENE_LIMIT = 150.0  # seconds of all methods, after which no other is begun
QUICK_LEVELS = (0.1, 0.01)
QUICK_STEPS, QUICK_RTOL = 1024, 1e-7  # no more steps and no smaller tolerance
QUICK_METHODS = ("exprb42", "pexprb43", "eti", "energy-momentum", "midpoint", "bdf1")
QUICK_SCENES: dict[str, dict[str, Any]] = {
    "fput": {"duration": 1.0},
    "pylon": {"duration": 2.0},
    "two-springs": {"duration": 1.0},
}
# [s] of the small variants that are too long: the reference would take hours, or the motion is so
# sensitive that two tight solutions part
SHORTER: dict[str, float] = {
    "oscillator-pair": 0.5,
    "twisting-beam": 0.1,
    "tori": 0.3,
    "textile": 0.2,
    "statue": 0.2,
    "steel-sphere": 0.08,
    "tower": 0.5,
    "brush": 0.066,
    "crash": 0.1,
    "flag": 1.0,
    "hair": 0.4,
    "swinging-bunny": 1.0,
    "dog": 2.0,
    "cactus": 0.1,
    "cloth": 1.0,
    "hippo": 0.3,
    "sliding-bunny": 0.2,
    "bacterium": 0.1,
}


def run(bench: Bench) -> Report:
    names = list(QUICK_SCENES) if bench.quick else list(scenes.NAMES)
    jobs = {name: (rows_of, (name, bench.quick)) for name in names}
    found = parallel.rows(bench, jobs, "scenes")
    return report_of(found, bench.quick)


def problem_of(name: str, quick: bool) -> Scene:
    """The small variant of a scene, as long as a reference can follow it."""
    options = dict(QUICK_SCENES[name]) if quick else {}
    if name in SHORTER and not quick:
        options["duration"] = SHORTER[name]
    return scenes.load(name, small=True, **options)


def rows_of(name: str, quick: bool) -> Row:
    """One scene: what it is, its reference, and rows[method][level], as JSON can hold them."""
    problem = problem_of(name, quick)
    _, start = problem.system.bind(problem.x0, problem.v0)
    levels = QUICK_LEVELS if quick else LEVELS
    facts: dict[str, Any] = {
        "scene": name,
        "coordinates": start.x.size,
        "duration": problem.duration,
        "shortened": name in SHORTER and not quick,
        "stable_step": stable_step(problem),
        "reference": None,
        "rows": {},
    }
    try:
        reference = references.solution(problem, Bench(quick=quick), limit_s=REFERENCE_LIMIT)
    except SimulationFailure as failure:
        return facts | {"why": str(failure)}
    facts["reference"] = {"how": reference.how, "error": reference.error}
    facts["at_limit"] = asdict(_at_limit(problem, reference))
    facts["rows"] = _rows(problem, reference, levels, quick)
    for who, why in (rivals.refused(problem) | rivals.missing(problem)).items():
        if not quick or who in QUICK_METHODS:
            none = asdict(Record(who, 0.0, failure=f"not for this scene: {why}"))
            facts["rows"][who] = {f"{e:g}": none for e in levels}
    return facts


def _rows(
    problem: Scene, reference: references.Reference, levels: Sequence[float], quick: bool
) -> Row:
    rows: Row = {}
    best, ends = None, inf if quick else perf_counter() + SCENE_LIMIT
    for method in _methods(problem, reference, quick):
        few = _few_settings(problem, method) if quick else None
        limit = LIMIT if quick or best is None else min(LIMIT, max(BRIEF, LOST * best))
        time_s = inf if quick else METHOD_LIMIT
        if perf_counter() > ends:
            over = Record(method.name, 0.0, method.kind, failure="not tried: no time was left")
            found = dict.fromkeys(levels, over)
        else:
            found = granted_time(time_s, problem, method, reference, levels, 3, limit, few)
        rows[method.name] = {f"{e:g}": asdict(r) for e, r in found.items()}
        best = min([s for s in (best, found[min(levels)].seconds) if s], default=None)
    return rows


def _methods(problem: Scene, reference: references.Reference, quick: bool) -> list[Method]:
    ours = [m for m in rivals.ours(problem) if not quick or m.name in QUICK_METHODS]
    found = [*ours, *rivals.outside(problem, reference)]
    return sorted(found, key=lambda m: not m.name.startswith(FIRST))


def _few_settings(problem: Scene, method: Method) -> list[float]:
    """What the reduced variant tries: cut by counts, so that it finds the same everywhere."""
    if method.kind == "rtol":
        return [tol for tol in TOLERANCES if tol > 0.9 * QUICK_RTOL]
    steps = method.settings or ladder(problem)
    return [h for h in steps if problem.duration / h < QUICK_STEPS + 0.5]


def _at_limit(problem: Scene, reference: references.Reference) -> Record:
    """Verlet at the largest step that is stable at the start: what does that give?"""
    h = problem.duration / ceil(problem.duration / stable_step(problem))
    method, anything = IntegratorMethod(rivals.VERLET, [h]), inf
    options: dict[str, Any] = {"repeats": 1, "limit_s": 5.0 * LIMIT}
    return cheapest(Bench(), problem, method, reference, [anything], **options)[anything]


def report_of(found: Mapping[str, Mapping[str, Any]], quick: bool) -> Report:
    """The write-up of what `rows_of` has measured, scene by scene."""
    levels = QUICK_LEVELS if quick else LEVELS
    return Report(
        title="What the same error costs: every scene, every method, every rival",
        source="all five papers; not a figure of theirs",
        figure=heat_map(found, 0.01),
        claims=claims(found, levels),
        notes=notes(found, levels, LIMIT),
        reduced=_reduced(quick),
        data={"levels": levels, "scenes": dict(found)},
    )


def _reduced(quick: bool) -> str:
    if quick:
        return (
            f"{len(QUICK_SCENES)} short scenes, {len(QUICK_METHODS)} of our methods, no "
            f"0.01 % level, at most {QUICK_STEPS} steps and no rtol below {QUICK_RTOL:g}."
        )
    cut = ", ".join(f"{name} {duration:g} s" for name, duration in SHORTER.items())
    return f"every scene in its small variant; shortened so that a reference can follow: {cut}."
