"""Who wins where: every main method on a family of small bodies, at equal error.

The family (family.py) has a knob for each thing that decides between integrators; slices through
its base point turn two of them at a time.  In every cell every method looks for its largest step
that meets the error; several cells at once where parallel.py is told so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import map_cells, parallel
from .bench import Bench, Row
from .map_cells import BASE
from .map_figure import figure
from .map_reading import KINDS, NOISE, Found, by_count, read, rules
from .methods import CvodeMethod
from .report import UNTESTED, Claim, Report, number, table, verdict

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
reference is right to it.

{{rules}}

{{tables}}
{{missing}}"""


def run(bench: Bench) -> Report:
    """The map, its figure, and the rules that its numbers give."""
    cells = map_cells.cells(bench.quick)
    rows = parallel.rows(bench, {c.name: (map_cells.measure, (c,)) for c in cells})
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
