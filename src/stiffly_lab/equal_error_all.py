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

from stiffly import scenes
from stiffly.errors import SimulationFailure
from stiffly.scenes import Scene

from . import equal_error_page as page
from . import parallel, references, rivals
from .bench import Bench, Row
from .equal_error import TOLERANCES, cheapest, granted_time, ladder
from .harness import Method, Record
from .methods import IntegratorMethod
from .report import Report
from .tight import stable_step

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
    found = parallel.rows(bench, {name: (rows_of, (name, bench.quick)) for name in names})
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
        figure=page.heat_map(found, 0.01),
        claims=page.claims(found, levels),
        notes=page.notes(found, levels, LIMIT),
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
