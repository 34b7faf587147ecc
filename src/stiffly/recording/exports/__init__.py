"""Recordings for other programs, one file per format.

A format is a module with ENDINGS, the first being the one it gives its files, and either

    write(recording, path, progress)             one file
    write_frame(path, positions, velocities, motion)   one file of a sequence
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from ...errors import InputError, unknown_name
from .frames import motion
from .writing import replacing, replacing_frames

FORMATS = ("usd", "vtkhdf", "ply", "obj", "gltf", "npz")
DIGITS = 4  # frame_0000.ply; more where there are more frames

Progress = Callable[[int, int], None]  # frames done, frames in all


def export(
    recording: Any,
    to: str,
    out: str | Path | None = None,
    *,
    force: bool = False,
    progress: Progress | None = None,
) -> list[Path]:
    """Write a recording in the format `to` (one of FORMATS); returns the files written.

    recording: a Recording, or anything with its attributes.  out: a file, or a folder; ply and
    obj, which have one file per frame, take a folder; default: in the recording's own folder.
    What exists is overwritten with `force` only.  progress(done, total) counts frames.
    """
    if to not in FORMATS:
        raise unknown_name("export format", to, FORMATS)
    module = import_module(f".{to}", __name__)
    if hasattr(module, "write_frame"):
        folder = Path(out) if out is not None else _home(recording) / to
        return _write_sequence(recording, module, folder, force, progress)
    path = _file(recording, module.ENDINGS, out)
    with replacing(path, force) as partial:
        module.write(recording, partial, progress)
    return [path]


def _write_sequence(
    recording: Any, module: Any, folder: Path, force: bool, progress: Progress | None
) -> list[Path]:
    ending = module.ENDINGS[0]
    shown = motion(recording)
    digits = max(DIGITS, len(str(len(shown) - 1)))
    names = [f"frame_{i:0{digits}d}{ending}" for i in range(len(shown))]
    with replacing_frames(folder, ending, force) as partial:
        for i, x, v in shown.frames(progress):
            module.write_frame(partial / names[i], x, v, shown)
    return [folder / name for name in names]


def _file(recording: Any, endings: tuple[str, ...], out: str | Path | None) -> Path:
    name = re.sub(r"[^\w.-]+", "_", str(getattr(recording, "name", ""))) or "recording"
    path = _home(recording) if out is None else Path(out)
    if out is None or path.is_dir():
        path = path / f"{name}{endings[0]}"
    if path.suffix.lower() not in endings:
        kinds = " or ".join(endings)
        raise InputError(f"{path.name}: this format is written to a file that ends in {kinds}")
    own = getattr(recording, "folder", None)
    if own is not None and path.resolve() == (Path(own) / "recording.vtkhdf").resolve():
        raise InputError(f"{path} is the recording itself: name another file")
    return path


def _home(recording: Any) -> Path:
    folder = getattr(recording, "folder", None)
    if folder is None:
        raise InputError("out is missing: this run has no folder of its own, name a file")
    return Path(folder)


__all__ = ["FORMATS", "export"]
