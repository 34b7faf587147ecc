"""What users type, turned into what the library takes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError, unknown_name
from ..recording.folder import check_writable

if TYPE_CHECKING:
    from ..recording.recording import Recording

DEVICES = ("cpu", "gpu")

# options that several commands have
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the run.")]
Step = Annotated[float | None, typer.Option(metavar="H", help="Step [s]. [default: scene's]")]
Small = Annotated[bool, typer.Option("--small", help="The scene's small variant: seconds to run.")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A parameter, e.g. vertices=800; repeatable."),
]


def check_choice(option: str, value: str | None, known: tuple[str, ...]) -> None:
    if value is not None and value not in known:
        raise unknown_name(option, value, known)


def check_device(device: str) -> None:
    check_choice("--device", device, DEVICES)
    if device == "gpu":
        raise InputError(
            "--device gpu is not available in this version; leave it out to compute on the CPU"
        )


def check_positive(option: str, value: float | None, example: str) -> None:
    if value is not None and not (isfinite(value) and value > 0.0):
        raise InputError(f"{option} must be positive, got {value:g}: try {option} {example}")


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


def pairs(assignments: list[str] | None) -> dict[str, str]:
    """['vertices=800', ...] -> {'vertices': '800', ...}."""
    found: dict[str, str] = {}
    for text in assignments or []:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not (key and equals and value):
            raise InputError(f"--set {text}: give key=value, e.g. --set vertices=800")
        if key in found:
            raise InputError(f"--set {text}: {key} is given twice; keep one")
        found[key] = value
    return found


def fitting(defaults: Mapping[str, Any], name: str, given: Mapping[str, str]) -> dict[str, Any]:
    """The values of --set as the kinds that the scene's parameters have."""
    from ..scenes import RUN_OPTIONS
    from ..scenes.files import as_value

    values: dict[str, Any] = {}
    for written, text in given.items():
        key = written.replace("-", "_")
        if key in RUN_OPTIONS:
            raise InputError(f"--set {key}={text}: this has its own option; give --{key} {text}")
        if key not in defaults:
            raise unknown_name(f"parameter of {name}:", written, defaults)
        values[key] = _as_kind_of(defaults[key], f"--set {key}={text}", as_value(text))
    return values


def _as_kind_of(default: Any, where: str, value: Any) -> Any:
    """A whole number where one belongs, even if it was written 1e4; InputError for other kinds."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise InputError(f"{where}: give true or false")
    elif isinstance(default, int):
        if not (is_number and isfinite(value) and value == int(value)):
            raise InputError(f"{where}: give a whole number, as the default {default}")
        return int(value)
    elif isinstance(default, float):
        if not (is_number and isfinite(value)):
            raise InputError(f"{where}: give a number, as the default {default:g}")
        return float(value)
    return value


def require_folder(out: Path, option: str = "--out") -> None:
    """A folder to write into, made if missing: better found out before a minute of computing."""
    check_writable(out, option)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"{option} {out}: {problem.strerror}; name another folder") from None


def open_run(folder: Path) -> Recording:
    """The recording in that folder; InputError where there is none, or a damaged one."""
    from ..recording.recording import Recording

    try:
        return Recording(folder)
    except InputError:
        raise
    except Exception as problem:  # HDF5 has every kind of error for a damaged file
        said = " ".join(str(problem).split())
        raise InputError(f"the recording in {folder} is damaged ({said}); run it again") from None
