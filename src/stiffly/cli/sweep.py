"""`stiffly sweep SCENE --over KEY=VALUES`: many runs, a table and a plot of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import InputError
from . import inputs
from .run import Interrupted

SHOWN = 10  # failed runs that are named one by one


def sweep(
    scene: inputs.Scene,
    over: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUES",
            help="A parameter (of --set), step, duration, integrator or rtol, and its values: "
            "a:b:log:n, a:b:lin:n or a,b,c; repeatable: all combinations are run.",
        ),
    ] = None,
    integrator: inputs.Integrator = None,
    step: inputs.Step = None,
    rtol: inputs.Rtol = None,
    duration: inputs.Duration = None,
    every: inputs.Every = None,
    assignments: inputs.Set = None,
    small: inputs.Small = False,
    variant: inputs.Variant = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder to write. [default: SCENE-sweep]")
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Record every run, not only its summary.")
    ] = False,
    on: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="Dask scheduler whose processes run it. [default: this machine]"
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", help="Processes here. [default: one per core]")
    ] = None,
    max_runs: Annotated[
        int, typer.Option(metavar="N", help="Most runs; more are refused.")
    ] = 10_000,
    quiet: inputs.Quiet = False,
) -> None:
    """Run a scene with many values: a table, a plot.

    The same command again goes on where it was stopped.

    For example: stiffly sweep pylon --small --over stiffness=1e4:1e8:log:5 --over step=0.01,0.02
    """
    inputs.check_run(step, rtol, duration)
    inputs.check_positive("--every", every, "0.05")
    inputs.check_positive("--max-runs", max_runs, "10000")
    if not over:
        raise InputError("--over is missing: say what to change, --over stiffness=1e3:1e7:log:20")
    asked, sets = inputs.pairs(over, "--over"), inputs.pairs(assignments)
    from .. import terminal
    from ..sweeps.sweep import sweep as run_all

    with terminal.notices(quiet=quiet), terminal.counting_bar(scene, hidden=quiet) as progress:
        try:
            found = run_all(
                scene, asked, parameters=sets, small=small, variant=variant, integrator=integrator,
                step=step, rtol=rtol, duration=duration, every=every, out=out, keep=keep, on=on,
                jobs=jobs, max_runs=max_runs, progress=progress,
            )  # fmt: skip
        except KeyboardInterrupt as stopped:
            raise Interrupted("interrupted; go on with the same command", stopped) from None
    if quiet:
        return
    failed = found.failed
    terminal.out.print(f"{len(found.rows)} runs, {len(failed)} failed")
    for row in failed[:SHOWN]:
        values = ", ".join(f"{key}={row[key]}" for key in found.over)
        terminal.out.print(f"  {values}: {row['status']}: {row['error']}", markup=False)
    if len(failed) > SHOWN:
        terminal.out.print(f"  and {len(failed) - SHOWN} more, in the table")
    terminal.show_files(found.files)
