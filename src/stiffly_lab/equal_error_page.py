"""The page and the figure of the equal-error experiment, from its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from . import report
from .equal_error import table, winners
from .harness import Record
from .report import Claim

EXPONENTIAL = ("exprb2", "exprb32", "exprb42", "pexprb43", "epirk4s3", "eti", "ceti", "neti")
OTHERS = ("verlet", "SciPy's best", "CVODE Adams", "CVODE BDF")  # not of this package, or no news
Scenes = Mapping[str, Mapping[str, Any]]  # what equal_error_all.rows_of found, by scene
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
outside solver calls our compiled forces through Python, as our own methods do.

{scenes}"""


def records(scene: Mapping[str, Any]) -> Rows:
    return {
        name: {float(level): Record(**row) for level, row in found.items()}
        for name, found in scene["rows"].items()
    }


def notes(found: Scenes, levels: Sequence[float], limit: float) -> str:
    parts = [_section(name, scene, levels) for name, scene in found.items()]
    return NOTES.format(limit=limit, scenes="\n\n".join(parts))


def _section(name: str, scene: Mapping[str, Any], levels: Sequence[float]) -> str:
    size, duration = scene["coordinates"], scene["duration"]
    head = f"## {name}\n\n{size:,} coordinates, {duration:g} s"
    head += " (shortened)" if scene.get("shortened") else ""
    head += f"; Verlet is stable up to h = {scene['stable_step']:.3g} s at the start"
    if scene["reference"] is None:
        return head + f". Nothing is measured: {scene['why']}."
    head += f" ({_at_limit(Record(**scene['at_limit']))}). "
    head += f"Reference: {scene['reference']['how']}, error {scene['reference']['error']:.1e}."
    rows = records(scene)
    lines = [_who_wins(rows, level) for level in levels]
    return "\n\n".join([head, "\n".join(lines), table(rows, levels)])


def _at_limit(r: Record) -> str:
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
