"""Every scene with the authors' own method and step: does it hold, and if not, why not.

As `stiffly run SCENE --variant paper` runs it, small and to its end, and at full size for as long
as the experiment grants.  A run holds where nothing stops it and the ledger's numerical error stays
below WITHIN of the energy exchanged, the bound that full-size runs have.
"""

from __future__ import annotations

from typing import Any

from stiffly import scenes

from . import figures, report
from .bench import Bench, Row
from .full_size import WITHIN
from .report import Claim, Report
from .trial import attempt

SMALL_S, FULL_S = 120.0, 60.0  # seconds of computing that a run is granted
QUICK = ("fput", "oscillator-pair", "foil", "bar")  # of the reduced variant
FRAMES = 30  # looks at the energy

NOTES = """\
Each scene as `stiffly run SCENE --variant paper` runs it; *small*: with `--small`, to its end;
*full*: the scene as it stands, for up to {full:g} s of computing. Where a paper prints no step, the
one in the scene's file is meant. A run holds where nothing stops it and its numerical error stays
below {within:g} % of the energy exchanged (the rule of `full-size`); what it says in its own words
when it does not is beside it, and what we know about it in the last column."""


def run(bench: Bench) -> Report:
    """All scenes, small and full."""
    names = QUICK if bench.quick else scenes.NAMES
    sizes = (True,) if bench.quick else (True, False)
    plan = [(name, small) for name in names for small in sizes]
    rows = bench.rows("{}, small: {}", _measured, plan)
    claims = [_claim(name, [r for r in rows if r["scene"] == name]) for name in names]
    return Report(
        title="Every scene with the authors' own method and step",
        source="all five papers",
        figure=_figure(rows),
        claims=claims,
        notes=NOTES.format(full=FULL_S, within=100.0 * WITHIN),
        reduced=f"{len(names)} small scenes instead of all." if bench.quick else "",
        data={"rows": rows},
    )


def _measured(name: str, small: bool) -> Row:
    scene = scenes.load(name, small=small, variant="paper")
    granted = SMALL_S if small else FULL_S
    every = max(scene.step or 0.0, scene.duration / FRAMES)
    run, why = attempt(scene, scene.integrator, limit_s=granted, step=scene.step, every=every)
    told: dict[str, Any] = {} if run is None else run.energy.summary()
    exchanged = told.get("exchanged") or 0.0
    return {
        "scene": name,
        "small": small,
        "method": scene.integrator,
        "step": scene.step,
        "dof": int(scene.x0.size),
        "duration": scene.duration,
        "reached": 0.0 if run is None else float(run.times[-1]),
        "error": told["max_abs_drift"] / exchanged if exchanged else None,
        "late": bool(why and "took longer" in why),
        "why": why,
    }


def holds(row: Row) -> bool:
    """Nothing but the clock stopped it, it moved at all, and its energy is right."""
    stopped = row["why"] is not None and not row["late"]
    return not stopped and row["reached"] > 0.0 and (row["error"] or 0.0) <= WITHIN


def _words(row: Row) -> str:
    error = "" if row["error"] is None else f", energy error {100.0 * row['error']:.2g} %"
    if row["why"] and not row["late"]:
        return f"stops at {row['reached']:.3g} of {row['duration']:g} s: {row['why']}"
    if row["late"] and row["reached"] == 0.0:
        return "not a frame in the time granted"
    way = f"{row['reached']:.3g} of {row['duration']:g} s" if row["late"] else "to its end"
    return way + error


def _claim(name: str, rows: list[Row]) -> Claim:
    first, about = rows[0], scenes.entry(name)
    step = f", step {first['step']:g} s" if first["step"] else ""
    measured = "; ".join(f"{_size(r)}: {_words(r)}" for r in rows)
    tested = [r for r in rows if not (r["late"] and r["reached"] == 0.0)]
    found = report.verdict(*map(holds, tested)) if tested else report.UNTESTED
    return Claim(f"{name}: {first['method']}{step}", measured, found, about.holds, item="")


def _size(row: Row) -> str:
    return f"{'small' if row['small'] else 'full'} ({row['dof']:,})"


def _figure(rows: list[Row]) -> Any:
    """How far each one came, as a share of its duration."""
    names = list(dict.fromkeys(r["scene"] for r in rows))
    figure, axis = figures.panel("With the authors' method and step: how far a run comes", 6.0)
    figure.set_size_inches(6.0, 1.6 + 0.26 * len(names))
    for row in rows:
        place = names.index(row["scene"]) + (-0.2 if row["small"] else 0.2)
        share = row["reached"] / row["duration"]
        color = figures.BLUE if holds(row) else figures.RED
        axis.barh(place, share, height=0.36, color=color, alpha=1.0 if row["small"] else 0.55)
    for color, alpha, label in (
        (figures.BLUE, 1.0, "holds, small"),
        (figures.BLUE, 0.55, "holds, full size"),
        (figures.RED, 1.0, "does not hold"),
    ):
        axis.barh([0.0], [0.0], color=color, alpha=alpha, label=label)
    axis.set_yticks(range(len(names)), names, fontsize=8)
    axis.invert_yaxis()
    figures.finish(axis, f"share of the run (full size: in {FULL_S:g} s of computing)")
    return figure
