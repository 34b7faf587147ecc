"""Does integrator="auto" find what the best method and step would cost? Over scenes and accuracies.

Auto is asked for an accuracy and its whole time counts, all runs of its ladder.  The best is the
fastest of METHODS at the largest step of a ladder that meets the same error against the same
reference: a judge who knows the answer beforehand.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from stiffly import Run, scenes, simulate
from stiffly.errors import SimulationFailure
from stiffly.recording.plots import BLUE, GREEN, ORANGE
from stiffly.scenes import Scene

from . import figures, parallel, references, rivals
from .bench import Bench
from .equal_error import cheapest
from .equal_error_all import LEVELS, REFERENCE_LIMIT, problem_of
from .harness import Method, Record, measure
from .methods import IntegratorMethod
from .references import Reference
from .report import UNTESTED, Claim, Report, verdict
from .trial import in_time, time_limit, timed

METHODS = (
    "verlet", "symplectic-euler", "rk4", "rkn6", "rkn86", "dop853", "exprb2", "exprb32", "exprb42",
    "pexprb43", "epirk4s3", "vimex", "energy-momentum", "midpoint", "newmark", "bdf2",
    "projective-midpoint", "realtime", "realtime-midpoint", "fast-projection",
)  # every family that auto can choose from, and the usual winners  # fmt: skip
Case = tuple[str, float, dict[str, Any]]  # scene, level, both records
NEAR, MOST = 3.0, 0.8  # wanted: so near in this share of the longer cases
CLOSE = 1.2  # what a clock tells
LIMIT, OWN_LIMIT = 2.0, 6.0  # seconds of one run: of a method, as in equal-error, and of auto
BEHIND = 3.0  # a method that takes so many times the best so far need not be followed
SHORT = 0.1  # [s]: below, most of a run is Python's
QUICK_SCENES = {"rope": 0.3, "foil": 0.1, "bar": 0.8, "squats": 0.5}
QUICK_METHODS = ("verlet", "rk4", "exprb42", "energy-momentum")
QUICK_LEVELS = (0.01,)
QUICK_REFERENCE_LIMIT = 20.0


def run(bench: Bench) -> Report:
    names = list(QUICK_SCENES) if bench.quick else list(scenes.NAMES)
    found = parallel.rows(bench, {name: (rows_of, (name, bench.quick)) for name in names})
    return report_of(found, bench.quick)


def rows_of(name: str, quick: bool) -> dict[str, Any]:
    """One scene: for every level what the best method costs, and what auto does."""
    problem = _problem(name, quick)
    levels = QUICK_LEVELS if quick else LEVELS
    limit = QUICK_REFERENCE_LIMIT if quick else REFERENCE_LIMIT
    try:
        reference = references.solution(problem, Bench(quick=quick), limit_s=limit)
    except SimulationFailure as failure:
        return {"why": str(failure)}
    best = _best(problem, reference, levels, quick)
    rows = {}
    for level in levels:
        if best[level] is not None:
            repeats = 1 if quick else 3
            own = _outcome(problem, reference, level, repeats)
            again = _again(problem, best[level], reference, repeats)
            rows[f"{level:g}"] = {"best": best[level], "auto": own, "again": again}
    return {"rows": rows}


def _again(problem: Scene, best: Any, reference: Reference, repeats: int) -> float | None:
    """Seconds of the best run, timed once more: how well a time can be told at all."""
    exact = reference.x, reference.v
    record, _ = measure(problem, _method(problem, best["method"]), best["step"], exact, repeats)
    return record.seconds


def _method(problem: Scene, name: str) -> Method:
    return rivals.verlet(problem) if name == rivals.VERLET else IntegratorMethod(name)


def _problem(name: str, quick: bool) -> Scene:
    if quick:
        return scenes.load(name, small=True, duration=QUICK_SCENES[name])
    return problem_of(name, quick)


def _best(
    problem: Scene, reference: Reference, levels: Sequence[float], quick: bool
) -> dict[float, dict[str, Any] | None]:
    """The fastest record by level, as JSON can hold it; None where nobody meets it."""
    best: dict[float, Record | None] = dict.fromkeys(levels)
    refused = rivals.refused(problem)
    for name in QUICK_METHODS if quick else METHODS:
        if name in refused:
            continue
        known = [r.seconds for r in best.values() if r is not None and r.seconds]
        limit = BEHIND * max(known) + 0.2 if len(known) == len(levels) else LIMIT
        method = _method(problem, name)
        options = {"repeats": 1 if quick else 3, "limit_s": min(limit, LIMIT)}
        for level, r in cheapest(Bench(), problem, method, reference, levels, **options).items():
            old = best[level]
            if r.seconds and (old is None or r.seconds < (old.seconds or np.inf)):
                best[level] = r
    return {level: None if r is None else asdict(r) for level, r in best.items()}


def _outcome(problem: Scene, reference: Reference, level: float, repeats: int) -> dict[str, Any]:
    """The same as `_auto`; a defect is a case of its own, and must not end the others."""
    try:
        return _auto(problem, reference, level, repeats)
    except Exception as defect:
        return {"failure": f"{type(defect).__name__}: {defect}", "warned": False, "defect": True}


def _auto(problem: Scene, reference: Reference, level: float, repeats: int) -> dict[str, Any]:
    """A run of auto; its seconds are the median of some, after one that nobody times."""
    # frames limit the steps: as few as tell an energy error
    options = {"rtol": level, "every": 0.5 * problem.duration, "progress": in_time}
    try:
        with time_limit(OWN_LIMIT * (repeats + 1)):
            _quietly(problem, **options)
            (result, said), seconds = timed(lambda: _quietly(problem, **options), repeats)
    except SimulationFailure as failure:
        return {"failure": str(failure), "warned": True}
    off_x = np.linalg.norm(result.positions[-1] - reference.x) / reference.scale_x
    off_v = np.linalg.norm(result.velocities[-1] - reference.v) / reference.scale_v
    stats = result.stats
    return {
        "seconds": seconds,
        "relative": float(max(off_x, off_v)),
        "compared": stats["compared_error"],
        "warned": bool(said),
        "force_evaluations": stats["force_evaluations"],
        "operator_products": stats["operator_products"],
        "steps": stats["steps"],
        "line": stats["auto"][0],
        "runs": len(stats["auto"]),
        "said": said,
    }


def _quietly(problem: Scene, **options: Any) -> tuple[Run, list[str]]:
    """The run, and what it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = simulate(problem, integrator="auto", **options)
    return result, [str(w.message) for w in caught]


# ------------------------------------------------------------------ the page


def ratio(row: Mapping[str, Any]) -> float:
    """auto's seconds over the best's."""
    return row["auto"]["seconds"] / row["best"]["seconds"]


def ratios(found: Mapping[str, Any]) -> list[tuple[str, float, float]]:
    """(scene, level, ratio) where auto met the level."""
    return [
        (name, float(level), ratio(row))
        for name, scene in found.items()
        for level, row in scene.get("rows", {}).items()
        if _met(row["auto"], float(level))
    ]


def _met(auto: Mapping[str, Any], level: float) -> bool:
    return auto.get("relative", np.inf) <= level


def report_of(found: Mapping[str, Any], quick: bool) -> Report:
    levels = QUICK_LEVELS if quick else LEVELS
    return Report(
        name="auto",
        title="auto against the best method and step that a judge finds afterwards",
        source="not a figure of the papers",
        records=[],
        figure=_figure(found, levels),
        claims=_claims(found),
        notes=_table(found),
        reduced=_reduced(quick),
        data={"levels": levels, "scenes": dict(found)},
    )


def _reduced(quick: bool) -> str:
    if not quick:
        return "every scene in its small variant, some shortened as in equal-error."
    return (
        f"{len(QUICK_SCENES)} short scenes, {len(QUICK_METHODS)} methods to beat, errors "
        "of 1 % only, every run timed once."
    )


def _claims(found: Mapping[str, Any]) -> list[Claim]:
    rows = [
        (name, float(level), row)
        for name, scene in found.items()
        for level, row in scene.get("rows", {}).items()
    ]
    longer = [case for case in rows if case[2]["best"]["seconds"] >= SHORT]
    named = (f"best run of {SHORT:g} s or more", longer), ("all cases", rows)
    return [*(_nearness(*each) for each in named), _silence(rows), _repeatable(rows)]


def _repeatable(rows: Sequence[Case]) -> Claim:
    """The judge against himself: no choice of a method can be told better than that."""
    said = f"The best method and step, timed again, are within {CLOSE:g}x of themselves."
    twice = [row["again"] / row["best"]["seconds"] for _, _, row in rows if row.get("again")]
    if not twice:
        return Claim(said, "not timed again", UNTESTED)
    close = sum(value <= CLOSE for value in twice)
    return Claim(
        said,
        f"{close} of {len(twice)} ({close / len(twice):.0%}), worst {max(twice):.2g}x",
        verdict(close == len(twice)),
        "the best is the fastest of many runs, and has been lucky; what the clock allows",
    )


def _silence(rows: Sequence[Case]) -> Claim:
    """Misses without a word; and words without a miss, which make the others worth less."""
    missed = [(n, e, r["auto"]) for n, e, r in rows if not _met(r["auto"], e)]
    silent = [f"{n} at {e:g}" for n, e, auto in missed if not auto.get("warned")]
    alarms = sum(_met(r["auto"], e) and r["auto"]["warned"] for _, e, r in rows)
    return Claim(
        "auto never fails in silence.",
        f"{len(missed)} of {len(rows)} missed their accuracy, {len(silent)} of them without a word"
        f"{': ' + ', '.join(silent) if silent else ''}; {alarms} warned in vain",
        verdict(not silent),
        "a failure of the program itself counts as silent; what a run cannot see it cannot warn of",
    )


def _nearness(which: str, cases: Sequence[Case]) -> Claim:
    said = f"{which}: within {NEAR:g}x of the best in {MOST:.0%} of the cases."
    if not cases:
        return Claim(said, "no such case", UNTESTED)
    values = [ratio(r) for _, e, r in cases if _met(r["auto"], e)]
    near, worst = sum(value <= NEAR for value in values), max(values, default=np.inf)
    return Claim(
        said,
        f"{near} of {len(cases)} ({near / len(cases):.0%}), worst of those that met their accuracy "
        f"{worst:.2g}x",
        verdict(near >= MOST * len(cases)),
        "seconds of the whole ladder; a miss is not within",
    )


def _table(found: Mapping[str, Any]) -> str:
    lines = [
        "| scene | error | best | auto | ratio | error met | forces | why |",
        "|" + " --- |" * 8,
    ]
    for name, scene in found.items():
        if "why" in scene:
            lines.append(f"| {name} | | {scene['why']} | | | | | |")
        for level, row in scene.get("rows", {}).items():
            best, auto = row["best"], row["auto"]
            own = f"{best['method']} at {best['step']:.3g} s, {best['seconds']:.3g} s"
            if "failure" in auto:
                lines.append(f"| {name} | {level} | {own} | {auto['failure']} | | | | |")
                continue
            error = f"{auto['relative']:.2g}" + (" (warned)" if auto["warned"] else "")
            forces = f"{auto['force_evaluations']:,} / {best['force_evaluations']:,}"
            cells = (
                f"{auto['seconds']:.3g} s | {ratio(row):.2f} | {error} | {forces} | {auto['line']}"
            )
            lines.append(f"| {name} | {level} | {own} | {cells} |")
    return "\n".join(lines)


def _figure(found: Mapping[str, Any], levels: Sequence[float]) -> Any:
    figure, axes = figures.panels(1, "auto against the best: seconds of the whole ladder", size=9.0)
    axis = axes[0, 0]
    names = [name for name, scene in found.items() if scene.get("rows")]
    cases = ratios(found)
    for level, color, marker in zip(levels, (BLUE, ORANGE, GREEN), "os^", strict=False):
        own = [(names.index(n), value) for n, e, value in cases if e == level]
        if own:
            axis.semilogy(*zip(*own, strict=True), marker, color=color, label=f"error {level:g}")
    for line in (1.0, NEAR):
        axis.axhline(line, color="#999999", linewidth=0.8, linestyle="-" if line == 1.0 else "--")
    axis.set_xticks(range(len(names)), names, rotation=90, fontsize=8)
    axis.set_yticks([0.5, 1.0, 2.0, 3.0, 5.0, 10.0], ["0.5", "1", "2", "3", "5", "10"])
    axis.minorticks_off()
    axis.set_xlabel("no mark: the accuracy was missed, or nobody else met it in time")
    axis.set_ylabel("seconds of auto over seconds of the best")
    if cases:
        axis.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure
