"""Who wins where: every main method on a family of small bodies, at equal error.

The family (family.py) has a knob for each thing that decides between integrators; slices through
its base point turn two of them at a time.  In every cell every method looks for its largest step
that meets the error; several cells at once where parallel.py is told so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log10, prod
from typing import Any

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from . import map_cells, parallel
from .bench import Bench, Row
from .equal_error import share
from .family import Member
from .figures import panels
from .map_cells import BASE, Slice
from .map_reading import KINDS, NOISE, Found, by_count, read, rules
from .methods import CvodeMethod
from .report import UNTESTED, Claim, Report, number, table, verdict

# blues: exponential; reds and browns: explicit; greens: implicit
COLOURS = {
    "exprb42": "#1f77b4",
    "pexprb43": "#6baed6",
    "epirk4s3": "#b5d4ec",
    "eti": "#3b3b98",
    "ceti": "#8c8ccf",
    "neti": "#17becf",
    "verlet": "#e07b53",
    "rkn6": "#a63d2f",
    "rkn86 (rtol)": "#c9622e",
    "dop853 (rtol)": "#e8943a",
    "SciPy DOP853": "#f2b48c",
    "CVODE Adams": "#d9a6c2",
    "energy-momentum": "#2e8b57",
    "midpoint": "#74c476",
    "bdf2": "#c7e9c0",
    "bdf1": "#dfe8a8",
    "realtime": "#bcbd22",
    "SciPy Radau": "#a3a380",
    "CVODE BDF": "#d9d9a0",
}
SHORT = {
    "rkn86 (rtol)": "rkn86",
    "dop853 (rtol)": "dop853",
    "SciPy DOP853": "DOP853",
    "SciPy Radau": "Radau",
    "CVODE Adams": "Adams",
    "CVODE BDF": "CV-BDF",
    "energy-momentum": "en-mom",
}
NOBODY = "#eeeeee"
Winners = Mapping[tuple[Member, float], Found]


def figure(slices: Sequence[Slice], levels: Sequence[float], winners: Winners) -> Figure:
    """First row: accuracy against the first slice's axis, and the legend; then a row per slice."""
    title = "Who is the fastest at equal error, by how much, and how much faster than Verlet (V)"
    rows, columns = 1 + len(slices), len(levels)
    drawn, axes = panels(columns, title, rows=rows)
    drawn.set_size_inches(5.4 * columns, 2.9 * rows)
    _draw_accuracy(axes[0, 0], slices[0], levels, winners)
    for spare in axes[0, 1:]:
        spare.axis("off")
    seen = {f.win.method for f in winners.values() if f.win}
    _draw_legend(axes[0, 1], [m for m in COLOURS if m in seen], slices[0])
    for line, cut in zip(axes[1:], slices, strict=True):
        for axis, level in zip(line, levels, strict=True):
            _draw_slice(axis, cut, level, winners)
        line[0].set_ylabel(cut.down.label, fontsize=9)
    return drawn


def _draw_slice(axis: Any, cut: Slice, level: float, winners: Winners) -> None:
    grid = [
        [_found(winners, cut.member(down, across), level) for across in cut.across.values]
        for down in cut.down.values
    ]
    _draw_grid(axis, grid)
    axis.set_title(f"error {100 * level:g} %: {cut.name}", fontsize=10)
    _ticks(axis, cut)
    axis.set_yticks(range(len(cut.down.values)), [label(v) for v in cut.down.values], fontsize=8)


def _draw_accuracy(axis: Any, cut: Slice, levels: Sequence[float], winners: Winners) -> None:
    base = getattr(cut.base, cut.down.knob)
    members = [cut.member(base, across) for across in cut.across.values]
    _draw_grid(axis, [[_found(winners, m, level) for m in members] for level in levels])
    axis.set_title("accuracy, all else at the base point", fontsize=10)
    _ticks(axis, cut)
    axis.set_yticks(range(len(levels)), [f"{100 * e:g} %" for e in levels], fontsize=8)
    axis.set_ylabel("wanted error", fontsize=9)


def _found(winners: Winners, member: Member | None, level: float) -> Found | None:
    return None if member is None else winners.get((member, level))


def _ticks(axis: Any, cut: Slice) -> None:
    names = [label(v) for v in cut.across.values]
    axis.set_xticks(range(len(names)), names, fontsize=8)
    axis.set_xlabel(cut.across.label, fontsize=9)


def _draw_grid(axis: Any, grid: Sequence[Sequence[Found | None]]) -> None:
    colours = [[to_rgb(_colour(found)) for found in line] for line in grid]
    axis.imshow(np.array(colours), aspect="auto")
    for i, line in enumerate(grid):
        for j, found in enumerate(line):
            dark = sum(colours[i][j]) < 1.4
            ink = "white" if dark else "black"
            axis.text(j, i, _words(found), ha="center", va="center", fontsize=7, color=ink)
    axis.tick_params(length=0)
    axis.grid(False)
    for x in range(1, len(grid[0])):
        axis.axvline(x - 0.5, color="white", linewidth=1.5)
    for y in range(1, len(grid)):
        axis.axhline(y - 0.5, color="white", linewidth=1.5)


def _colour(found: Found | None) -> str:
    return NOBODY if found is None or found.win is None else COLOURS[found.win.method]


def _words(found: Found | None) -> str:
    if found is None:
        return "not run"
    if found.win is None:
        return "no reference" if "reference" in found.why else "nobody\nin time"
    win = found.win
    lead = "alone" if win.factor is None else f"{win.factor:.2g}x"
    verlet = "V -" if win.over_verlet is None else f"V {win.over_verlet:.2g}x"
    last = "" if win.method == "verlet" else f"\n{verlet}"
    return f"{SHORT.get(win.method, win.method)}\n{lead}{last}"


def _draw_legend(axis: Any, methods: Sequence[str], cut: Slice) -> None:
    patches = [Patch(color=COLOURS[m], label=m) for m in methods]
    axis.legend(handles=patches, loc="upper left", frameon=False, fontsize=9, ncols=2)
    axis.text(
        0.0,
        0.0,
        f"base point: {cut.base.name}\nsecond line: lead over the next method\n"
        "third line: Verlet's time over the winner's, V -: Verlet not in time",
        fontsize=8,
        va="bottom",
        transform=axis.transAxes,
    )


def label(value: Any) -> str:
    """A value of an axis in a few characters; a shape as its number of coordinates."""
    if isinstance(value, tuple):
        return str(3 * prod(value))
    if value == 0:
        return "0"
    power = log10(value)
    return f"1e{power:.0f}" if abs(power) >= 3 and power == round(power) else f"{value:g}"


BEYOND = "(an expectation, no paper's claim)"
STIFF = 1e6  # the ratio from which on 'stiff' is said in the claims
HEAD = (
    " | winner | seconds | step or rtol | h omega | forces | products | next | lead | "
    "Verlet / winner | fewest forces"
)
MISSING = "\nCVODE is missing: install stiffly[bench] to include it."
NOTES = f"""\
A cell is a body of the family in `family.py`: a lattice of particles, each with one stiff spring,
that turns as a whole, observed for one soft period. Base point: {{base}}. The error is the larger
of positions' and velocities' relative errors at the end, so that wherever the stiff modes hold
more energy than the error allows, their phase counts too. Cost is the median of three runs'
seconds; leads below {NOISE}x are noise. These bodies are small: seconds measure Python's overhead
per step as much as arithmetic, except in the size and force-cost slices, and the counts in
`result.json` (forces, products, factorisations of every run) tell what no machine changes.
Methods that take {map_cells.LOST:g} times as long as the best so far (Verlet:
{map_cells.VERLET_LOST:g} times), or more than {map_cells.RUN_S:g} s a run, are not followed further
('V -': Verlet is one of those). A winner at an accuracy is also the second opinion that the
reference is right to it. Outside solvers and our runs are both given a system whose forces are
prepared; how it is laid out for explicit steps is kept with it from a run before. {{when}}

{{shares}}

{{rules}}

{{tables}}
{{missing}}"""


def run(bench: Bench) -> Report:
    """The map, its figure, and the rules that its numbers give."""
    cells = map_cells.cells(bench.quick)
    rows = parallel.rows(bench, {c.name: (map_cells.measure, (c,)) for c in cells}, "cells")
    levels = map_cells.levels(bench.quick)
    found = [read(rows[cell.name], level) for level in levels for cell in cells]
    winners = {(f.member, f.level): f for f in found}
    by_level = {level: [f for f in found if f.level == level] for level in levels}
    return Report(
        title="Who wins where: methods over stiffness, rotation, energy, size and cost",
        source="beyond the papers",
        figure=figure(map_cells.slices(bench.quick), levels, winners),
        claims=_claims(found),
        notes=NOTES.format(
            base=map_cells.slices(bench.quick)[0].base.name,
            rules="\n\n".join(_rules(level, own) for level, own in by_level.items()),
            tables="\n\n".join(_table(level, own) for level, own in by_level.items()),
            shares=_shares(by_level),
            when=parallel.when(rows),
            missing="" if CvodeMethod.available() else MISSING,
        ),
        reduced=_reduced(bench.quick),
        data={"cells": rows, "levels": levels, "wins": [_summary(f) for f in found]},
    )


def _reduced(quick: bool) -> str:
    if quick:
        return (
            "six cells of one slice, 24 coordinates, four methods, two accuracies, each "
            "run timed once."
        )
    return (
        "slices through one base point instead of the full grid of seven knobs; cells that would "
        "take longer than two minutes are left out ('not run')."
    )


# ------------------------------------------------------------------ words


def _shares(by_level: Mapping[float, Sequence[Found]]) -> str:
    """Of all levels, as a list."""
    told = {level: share([f.seconds for f in own]) for level, own in by_level.items()}
    return "\n".join(f"- Error {100 * level:g} %: {text}" for level, text in told.items())


def _rules(level: float, found: Sequence[Found]) -> str:
    lines = [f"- {rule}" for rule in rules(found)]
    lines.append(f"- Fewest force evaluations, whatever they cost: {by_count(found)}.")
    return f"## Error {100 * level:g} %\n\n" + "\n".join(lines)


def _table(level: float, found: Sequence[Found]) -> str:
    return table(f"cell, error {100 * level:g} %{HEAD}", map(_cells, found))


def _cells(found: Found) -> list[str]:
    name, win = found.member.name, found.win
    if win is None:
        return [name, found.why]
    r = win.record
    return [
        *(name, r.method, number(r.seconds), number(r.step)),
        number(r.step * found.member.omega_max if r.kind == "step" else None),
        *(f"{r.force_evaluations:,}", f"{r.operator_products:,}", win.runner_up or "nobody"),
        *(number(win.factor), number(win.over_verlet) or "not in time"),
        f"{win.fewest.method} ({win.fewest.force_evaluations:,})",
    ]


def _summary(found: Found) -> Row:
    win = found.win
    summary: dict[str, Any] = {"cell": found.member.name, "level": found.level}
    if win is None:
        return {**summary, "winner": None, "why": found.why}
    return {
        **summary,
        "winner": win.method,
        "relative": win.record.relative,
        "runner_up": win.runner_up,
        "factor": win.factor,
        "over_verlet": win.over_verlet,
        "fewest_forces": win.fewest.method,
    }


def _claims(found: Sequence[Found]) -> list[Claim]:
    """What one would expect of exponential methods; more than half of the cells must agree."""
    won = [f for f in found if f.win is not None]
    return [
        _claim(
            f"Exponential methods are the fastest on stiff bodies (ratio {STIFF:g} or more).",
            [f for f in won if f.member.stiffest >= STIFF],
        ),
        _claim(
            "Exponential methods are the fastest where a few springs are much stiffer.",
            [f for f in won if f.member.outliers],
        ),
        _claim(
            "Exponential methods are the fastest where forces are expensive.",
            [f for f in won if f.member.cost > BASE.cost],
        ),
    ]


def _claim(text: str, cells: Sequence[Found]) -> Claim:
    ours = sum(f.win is not None and f.win.kind == "exponential" for f in cells)
    if not cells:
        return Claim(f"{BEYOND} {text}", "no such cell", UNTESTED, "the reduced variant has none")
    by_kind = ", ".join(
        f"{name} {sum(f.win is not None and f.win.kind == name for f in cells)}" for name in KINDS
    )
    why = "more than half of the cells (each at each accuracy) would count as reproduced"
    agrees = verdict(2 * ours > len(cells), ours > 0)
    return Claim(f"{BEYOND} {text}", f"cells won: {by_kind}", agrees, why)
