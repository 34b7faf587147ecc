"""What users type, turned into what the library takes."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError, unknown_name
from ..recording.folder import check_writable

if TYPE_CHECKING:
    from ..recording.recording import Recording

# options that several commands have
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the run.")]
Scene = Annotated[
    str,
    typer.Argument(
        metavar="SCENE", help="A built-in scene (see: stiffly scenes) or a scene file (.toml)."
    ),
]
Integrator = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Method (see: stiffly methods). [default: scene's]"),
]
Step = Annotated[
    float | None, typer.Option(metavar="H", help="Length of a step [s]. [default: scene's]")
]
Rtol = Annotated[
    float | None, typer.Option(metavar="R", help="Choose steps by this relative error instead.")
]
Duration = Annotated[
    float | None, typer.Option(metavar="T", help="Seconds to simulate. [default: scene's]")
]
Every = Annotated[
    float | None, typer.Option(metavar="S", help="Seconds between frames. [default: scene's]")
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print warnings and errors only.")]
Small = Annotated[bool, typer.Option("--small", help="The scene's small variant: seconds to run.")]
Device = Annotated[
    str, typer.Option(metavar="cpu|gpu|auto", help="Where to compute; gpu:1: the second card.")
]
Precision = Annotated[
    str | None,
    typer.Option(
        metavar="double|mixed", help="mixed, on a card: springs and tets in single precision."
    ),
]
Engine = Annotated[
    str, typer.Option(metavar="cpu|petsc", help="petsc: one body over all ranks of mpiexec.")
]
Variant = Annotated[
    str | None,
    typer.Option(metavar="paper", help="As in the paper: its authors' own method and step."),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A parameter of the scene, e.g. vertices=800 (see: stiffly scene show); repeatable.",
    ),
]


def check_choice(option: str, value: str | None, known: tuple[str, ...]) -> None:
    if value is not None and value not in known:
        raise unknown_name(option, value, known)


def check_device(device: str, precision: str | None = None) -> None:
    from ..run.devices import check_device, check_precision

    check_device(device)
    if precision is not None:
        check_precision(precision, device)


def check_engine(engine: str, device: str) -> bool:
    """Whether this process is to show anything: of many ranks the first alone is."""
    if engine == "cpu":
        return True
    from ..backends.petsc import silence_others, world
    from ..run.engines import check_engine

    silence_others()
    check_engine(engine, device)
    return world().rank == 0


def on_ranks(engine: str, job: Callable[[], Any]) -> Any:
    """job(), or what is wrong with it on any of the ranks."""
    if engine == "cpu":
        return job()
    from ..backends.petsc import world
    from ..scenes.builder import rank_by_rank

    with rank_by_rank(engine):
        return world().together(job)


def check_positive(option: str, value: float | None, example: str) -> None:
    if value is not None and not (isfinite(value) and value > 0.0):
        raise InputError(f"{option} must be positive, got {value:g}: try {option} {example}")


def check_run(step: float | None, rtol: float | None, duration: float | None) -> None:
    """Of options that every command that runs a scene has."""
    for option, value in (("--step", step), ("--duration", duration), ("--rtol", rtol)):
        check_positive(option, value, "0.01")


def frame_interval(every: float | None, fps: float | None) -> float | None:
    """Seconds between frames from --every or --fps."""
    if every is not None and fps is not None:
        raise InputError("--every and --fps both say when to record; give one of them")
    check_positive("--every", every, "0.05")
    check_positive("--fps", fps, "30")
    return every if fps is None else 1.0 / fps


def picture_size(text: str) -> tuple[int, int]:
    """'1280x720' -> (1280, 720)."""
    match = re.fullmatch(r"(\d{1,6})[xX](\d{1,6})", text.strip())
    if match is None:
        raise InputError(f"--size {text}: give width x height in pixels, e.g. --size 1280x720")
    width, height = map(int, match.groups())
    return width, height


def pairs(assignments: list[str] | None, option: str = "--set") -> dict[str, str]:
    """['vertices=800', ...] -> {'vertices': '800', ...}."""
    found: dict[str, str] = {}
    for text in assignments or []:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not (key and equals and value):
            raise InputError(f"{option} {text}: give key=value, e.g. {option} vertices=800")
        if key in found:
            raise InputError(f"{option} {text}: {key} is given twice; keep one")
        found[key] = value
    return found


def require_folder(out: Path, option: str = "--out") -> None:
    """A folder to write into, made if missing: better found out before a minute of computing."""
    check_writable(out, option)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"{option} {out}: {problem.strerror}; name another folder") from None


def open_run(folder: Path) -> Recording:
    """The recording in that folder; what is wrong with its summary is told as a line."""
    from .. import terminal
    from ..recording.recording import Recording

    with terminal.notices():
        return Recording(folder)
