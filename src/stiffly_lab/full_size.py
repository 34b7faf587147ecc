"""The papers' headline scenes at full size, each to its end: what they print, what it takes here.

A scene is run as `stiffly run NAME` runs it, with its own method and step, into a folder of its
name beside the results.  Its recording is its journal: one that was cut short goes on from its
checkpoint, one that has ended is read, and nothing is replaced unless `force` says so.  The table
is of all scenes that have run in that folder, those of earlier calls included.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

from stiffly import Recording, resume, scenes, simulate
from stiffly.errors import InputError, SimulationFailure, unknown_name
from stiffly.recording.render import render

from . import figures, report
from .bench import Bench, Row
from .report import Claim, Report

WITHIN = 0.01  # of the energy exchanged: more numerical error than this counts against a run
PICTURE, SIZE = "last.png", (960, 540)
INTERRUPTED = "interrupted"  # a failure that a run recovers from by going on

NOTES = """\
Seconds here are those of computing and recording on this machine, {machine}, without building the
scene; those of the papers are of theirs, Xeons of 3.5 GHz. Energy error: the largest numerical
error in the run, divided by the energy that was exchanged in it. Forces and products: evaluations
of all forces, and products of their derivative with a vector.

{table}

{sources}

{pictures}"""


class Printed(NamedTuple):
    """What a paper prints: seconds of its best method, how many were simulated, where."""

    seconds: float
    simulated: float
    source: str


PRINTED = {
    "coil-spring": Printed(47.0, 60.0, "Luan 2018 and 2021, Table 2, pexprb43"),
    "dragon": Printed(243.0, 10.0, "Luan 2021, Table 2, pexprb43(1/3, 3/4)"),
    "brush": Printed(51.0, 15.0, "Luan 2018 and 2021, Table 2, pexprb43"),
    "crash": Printed(44.0, 2.0, "Luan 2018 and 2021, Table 2, exprb42"),
    "bunny": Printed(126.0, 180.0, "Michels 2017, Table 1 row 0a, stiffly accurate integrator"),
    "flag": Printed(1.0, 6.0, "Michels 2017, Table 1 row 2, stiffly accurate integrator"),
    "tower": Printed(3.0, 12.0, "Michels 2017, Table 1 row 3a, stiffly accurate integrator"),
    "hair": Printed(54 * 60.0, 4.0, "Michels 2017, Table 1 row 4, stiffly accurate integrator"),
}


def run(bench: Bench, chosen: Sequence[str] = (), force: bool = False) -> Report:
    """chosen: scenes of PRINTED, all where none is named; force: run them again from the start."""
    for name in chosen:
        if name not in PRINTED:
            raise unknown_name("full-size scene", name, PRINTED)
    base = bench.folder or Path(mkdtemp(prefix="stiffly-full-size-"))
    folders = {name: base / (f"{name}-small" if bench.quick else name) for name in PRINTED}
    wanted = [name for name in PRINTED if name in (chosen or PRINTED)]
    # all of them are looked at before the first one runs for hours
    begun = {n: None if force else _begun(folders[n], n, bench.quick) for n in wanted}
    for name in wanted:
        _run(bench, folders[name], name, begun[name])
    rows = [_measured(folders[name], name) for name in PRINTED if _ended(_there(folders[name]))]
    return Report(
        title="Headline scenes at full size",
        source="Luan & Michels 2018, 2021, Table 2; Michels, Luan & Tokman 2017, Table 1",
        figure=_figure(rows),
        claims=[_claim(row, bench.quick) for row in rows],
        notes=NOTES.format(
            machine=report.machine(),
            table=table(rows),
            sources="\n".join(f"- {r['scene']}: {PRINTED[r['scene']].source}" for r in rows),
            pictures="\n".join(
                f"![{r['scene']}, the last frame]({r['picture']})" for r in rows if r["picture"]
            ),
        ),
        reduced="small variants instead of the full size." if bench.quick else "",
        data={"rows": rows},
    )


# ------------------------------------------------------------------ one scene


def _run(bench: Bench, folder: Path, name: str, found: Recording | None) -> None:
    """To its end, or on from where it was; found: an earlier run."""

    def progress(told: Any) -> None:
        share = abs(told.numerical) / told.exchanged if told.exchanged else 0.0
        text = f"{name}: {told.t:.3g}/{told.end:.4g} s, energy error {share:.2%}"
        bench.under_way(told.t, told.end, text)

    with suppress(SimulationFailure):  # the recording says so
        if found is None:
            bench.under_way(0.0, 1.0, f"{name}: building")
            simulate(_scene(name, bench.quick), out=folder, force=True, progress=progress)
        elif not _ended(found):
            bench.under_way(0.0, 1.0, f"{name}: going on after {found.times[-1]:.4g} s")
            resume(folder, _scene(name, bench.quick), progress=progress)


def _scene(name: str, quick: bool) -> Any:
    return scenes.load(name, small=quick)


def _begun(folder: Path, name: str, quick: bool) -> Recording | None:
    """An earlier run in that folder; None where there is none, or none to go on with."""
    found = _there(folder)
    if found is None:
        return None
    now = _as_run(name, quick)
    then = {key: found.provenance.get(key) for key in now}
    if then != now:
        raise InputError(
            f"{folder} holds {name} with {then['integrator']} and steps of {then['step']:g} s for "
            f"{then['duration']:g} s, not as it is run now: keep it elsewhere, or give --force"
        )
    return found if _ended(found) or (folder / "checkpoint.npz").exists() else None


def _as_run(name: str, quick: bool) -> dict[str, Any]:
    """Method, step and duration of the scene, known before it is built."""
    entry = scenes.entry(name)
    now = {"integrator": "exprb42", **entry.run, **(entry.small if quick else entry.full)}
    return {key: now[key] for key in ("integrator", "step", "duration")}


def _there(folder: Path) -> Recording | None:
    with suppress(InputError):
        return Recording(folder)
    return None


def _ended(found: Recording | None) -> bool:
    """To its end, or where it failed."""
    return found is not None and (found.complete or found.failure not in (None, INTERRUPTED))


def _measured(folder: Path, name: str) -> Row:
    found = Recording(folder)
    energy, stats = found.energy.summary(), found.stats
    exchanged = energy["exchanged"]
    return {
        "scene": name,
        "dof": _coordinates(found),
        "simulated": float(found.times[-1]),
        "seconds": found.wall_seconds,
        "method": found.integrator,
        "step": stats.get("largest_step", found.step),
        "steps": stats["steps"],
        "forces": stats["force_evaluations"],
        "products": stats["operator_products"],
        "energy_error": energy["max_abs_drift"] / exchanged if exchanged else None,
        "failure": found.failure,
        "picture": _picture(found, folder),
    }


def _coordinates(found: Recording) -> int:
    """That move: particles that are held, or led, have no mass in a recording."""
    if found.mass is None:
        return int(found.positions[0].size)
    return 3 * int((found.mass > 0.0).sum())


def _picture(found: Recording, folder: Path) -> str:
    """Of the last frame; none where the library for pictures is missing."""
    path = folder / PICTURE
    with suppress(InputError):
        if not path.exists() or path.stat().st_mtime < (folder / "summary.json").stat().st_mtime:
            render(found, path, frame=len(found) - 1, size=SIZE)
    return f"{folder.name}/{PICTURE}" if path.exists() else ""


# ------------------------------------------------------------------ what is said of them


def table(rows: Sequence[Row]) -> str:
    head = (
        "scene | dof | simulated | printed | here | method | step | steps | forces | products "
        "| energy error"
    )
    return report.table(head, (_cells(row) for row in rows))


def _cells(row: Row) -> list[str]:
    error = row["energy_error"]
    here = _duration(row["seconds"])
    return [
        row["scene"],
        f"{row['dof']:,}",
        f"{row['simulated']:g} s",
        _duration(PRINTED[row["scene"]].seconds),
        f"{here}, then: {row['failure']}" if row["failure"] else here,
        row["method"],
        f"{row['step']:.2g} s",
        f"{row['steps']:,}",
        f"{row['forces']:,}",
        f"{row['products']:,}",
        "" if error is None else _percent(error),
    ]


def _percent(share: float) -> str:
    return f"{100.0 * share:.2g} %"


def _duration(seconds: float) -> str:
    """47 s, 54 min, 5.2 h."""
    if seconds < 600.0:
        return f"{seconds:.3g} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 7200.0 else f"{seconds / 3600.0:.1f} h"


def _claim(row: Row, quick: bool) -> Claim:
    printed = PRINTED[row["scene"]]
    quicker = row["seconds"] <= printed.seconds and not row["failure"]
    good = row["energy_error"] is not None and row["energy_error"] < WITHIN
    said = f"{row['scene']}: {printed.simulated:g} s in {_duration(printed.seconds)}"
    measured = f"{_duration(row['seconds'])} with {row['method']}, step {row['step']:.2g} s"
    if row["energy_error"] is not None:
        measured += f", energy error {_percent(row['energy_error'])}"
    why = row["failure"] or f"{printed.source}; the machines differ."
    return Claim(
        said,
        f"{measured}, at {row['simulated']:g} s",
        report.UNTESTED if quick else report.verdict(quicker, good),
        why,
        item="",
    )


def _figure(rows: Sequence[Row]) -> Any:
    figure, axis = figures.panel("Headline scenes at full size", 5.4)
    places = range(len(rows))
    for shift, color, label, seconds in (
        (-0.2, figures.ORANGE, "printed", [PRINTED[r["scene"]].seconds for r in rows]),
        (0.2, figures.BLUE, "here", [r["seconds"] for r in rows]),
    ):
        axis.barh([k + shift for k in places], seconds, height=0.38, color=color, label=label)
    axis.set_xscale("log")
    axis.set_yticks(list(places), [r["scene"] for r in rows])
    axis.invert_yaxis()
    figures.finish(axis, "seconds of computing")
    return figure
