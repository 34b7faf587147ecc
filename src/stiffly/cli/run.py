"""`stiffly run SCENE`: simulate and record."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from . import inputs
from .follow import AsJson, Quiet, followed
from .request import request

Name = Annotated[
    str, typer.Argument(metavar="SCENE", help="A built-in scene (see: stiffly scenes) or a .toml.")
]
Integrator = Annotated[str | None, typer.Option(metavar="NAME", help="Method. [default: scene's]")]
Step = Annotated[float | None, typer.Option(metavar="H", help="Step [s]. [default: scene's]")]
Rtol = Annotated[
    float | None, typer.Option(metavar="R", help="Choose steps by this relative error instead.")
]
Duration = Annotated[
    float | None, typer.Option(metavar="T", help="Seconds to simulate. [default: scene's]")
]
Every = Annotated[
    float | None, typer.Option(metavar="S", help="Seconds between frames. [default: scene's]")
]
Fps = Annotated[
    float | None, typer.Option(metavar="N", help="Frames per simulated second, instead of --every.")
]
Device = Annotated[str, typer.Option(metavar="cpu", help="Where to compute.")]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A parameter, e.g. vertices=800; repeatable.",
    ),
]
Small = Annotated[bool, typer.Option("--small", help="The scene's small variant: seconds to run.")]
Out = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Folder to write. [default: SCENE-run, new]")
]
Force = Annotated[bool, typer.Option("--force", help="Replace a run that is in --out.")]
Dtype = Annotated[
    str | None,
    typer.Option(metavar="float32|float64", help="Of recorded positions. [default: float32]"),
]
NoVelocities = Annotated[
    bool, typer.Option("--no-velocities", help="Record positions only: half the size.")
]
Checkpoint = Annotated[
    float | None,
    typer.Option(metavar="S", help="Seconds of computing between checkpoints. [default: 10]"),
]


def run(
    scene: Name,
    integrator: Integrator = None,
    step: Step = None,
    rtol: Rtol = None,
    duration: Duration = None,
    every: Every = None,
    fps: Fps = None,
    device: Device = "cpu",
    assignments: Set = None,
    small: Small = False,
    out: Out = None,
    force: Force = False,
    dtype: Dtype = None,
    no_velocities: NoVelocities = False,
    checkpoint: Checkpoint = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Simulate a scene and record it.

    Writes the frames, the energy ledger, a summary, and checkpoints to resume from.

    For example: stiffly run coil-spring --small --integrator exprb42 --set stiffness=1e5
    """
    inputs.check_device(device)
    inputs.check_choice("--dtype", dtype, inputs.DTYPES)
    for option, value in (("--step", step), ("--duration", duration), ("--rtol", rtol)):
        inputs.check_positive(option, value, "0.01")
    given = {
        "integrator": integrator,
        "step": step,
        "rtol": rtol,
        "duration": duration,
        "every": inputs.frame_interval(every, fps),
        "dtype": dtype,
        "keep_velocities": False if no_velocities else None,
        "checkpoint": checkpoint,
    }
    options = {key: value for key, value in given.items() if value is not None}
    sets = inputs.pairs(assignments)
    from .. import terminal
    from ..recording.folder import check, file_name, new_path

    # before the scene is built, which may take a while
    place = None if out is None else check(out, force)
    with terminal.notices(quiet=quiet) as said:
        asked = request(scene, small=small, given=sets, options=options)
        place = place or check(new_path(Path(), f"{file_name(asked.scene.name)}-run"), force)
        origin = {"command": sys.argv[1:], "toml": asked.toml}
        from ..run.simulate import simulate

        with followed(asked.scene, place.folder, said, as_json=as_json, quiet=quiet) as watch:
            watch.recording = simulate(
                asked.scene,
                **asked.options,
                out=place,
                provenance=origin,
                progress=watch.progress,
            )
