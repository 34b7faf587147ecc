"""Recordings for other programs, one file per format; files appear complete or not at all.

A format is a module with ENDINGS, the first being the one it gives its files, and either

    write(recording, path, progress, fields)                   one file
    write_frame(path, positions, velocities, motion, fields)   one file of a sequence
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from ...errors import InputError, require_name
from ...paths import real_path
from ..limits import points, require_within
from ..quantities import field
from ..words import FIELDS, FORMATS, MOST_POINTS
from .frames import Fields, Progress, motion, unheard

WITH_FIELDS = ("usd", "vtkhdf", "ply", "npz")
DIGITS = 4  # frame_0000.ply; more where there are more frames


def export(
    recording: Any,
    to: str,
    out: str | Path | None = None,
    *,
    force: bool = False,
    fields: Iterable[str] = (),
    system: Any = None,
    max_points: float = MOST_POINTS,
    progress: Progress = unheard,
) -> list[Path]:
    """Write a recording in the format `to` (one of FORMATS); returns the files written.

    recording: a Recording, or anything with its attributes.  out: a file, or a folder; ply and
    obj, which have one file per frame, take a folder; default: in the recording's own folder.
    What exists is overwritten with `force` only.  fields: "strain", "stress" (`system`, or a scene,
    is what moved) or "contact-force" at every point, in usd, vtkhdf, ply and npz.
    max_points: of all frames together; more are refused.  progress(done, total) counts frames.
    """
    require_name("export format", to, FORMATS)
    module, named = import_module(f".{to}", __name__), _names(fields)
    for name in named:
        require_name("field", name, FIELDS)
    if named and to not in WITH_FIELDS:
        raise InputError(f"{to} files hold no fields: export to {', '.join(WITH_FIELDS)}")
    each = f"{len(recording.times):,} frames of {recording.positions.shape[1]:,} particles"
    require_within("max_points", max_points, points(recording), each, "record fewer frames")
    values: Fields = {name: field(recording, name, system) for name in named}
    if hasattr(module, "write_frame"):
        folder = real_path("out", out) if out is not None else _home(recording) / to
        return _write_sequence(recording, module, folder, force, progress, values)
    path = _file(recording, module.ENDINGS, out)
    with replacing(path, force) as partial:
        module.write(recording, partial, progress, values)
    return [path]


def _write_sequence(
    recording: Any, module: Any, folder: Path, force: bool, progress: Progress, fields: Fields
) -> list[Path]:
    ending = module.ENDINGS[0]
    shown = motion(recording)
    digits = max(DIGITS, len(str(len(shown) - 1)))
    names = [f"frame_{i:0{digits}d}{ending}" for i in range(len(shown))]
    with replacing_frames(folder, ending, force) as partial:
        for i, x, v in shown.frames(progress):
            own = {name: shown.shown(value(i)[:, None])[:, 0] for name, value in fields.items()}
            module.write_frame(partial / names[i], x, v, shown, own)
    return [folder / name for name in names]


def _names(fields: Any) -> list[Any]:
    try:
        return [fields] if isinstance(fields, str) else list(fields)
    except TypeError:
        raise InputError(
            f"fields must be names, not {type(fields).__name__}: choose from {', '.join(FIELDS)}"
        ) from None


def _file(recording: Any, endings: tuple[str, ...], out: str | Path | None) -> Path:
    name = re.sub(r"[^\w.-]+", "_", str(getattr(recording, "name", ""))) or "recording"
    path = _home(recording) if out is None else real_path("out", out)
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


# ------------------------------------------------------------------ written beside, then renamed


@contextmanager
def replacing(path: Path, force: bool) -> Iterator[Path]:
    """A path to write to; it becomes `path` when the block ends well, and is removed when not."""
    if path.exists() and not force:
        raise InputError(
            f"{path} exists: name another file, or overwrite it with --force (force=True)"
        )
    if path.is_dir():
        raise InputError(f"{path} is a folder: name a file in it")
    partial = path.with_name(f".{path.stem}.{os.getpid()}.partial{path.suffix}")
    with _said_plainly(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield partial
            os.replace(partial, path)
        finally:  # also after Ctrl-C
            partial.unlink(missing_ok=True)


@contextmanager
def replacing_frames(folder: Path, ending: str, force: bool) -> Iterator[Path]:
    """A folder to write frame_*.ending into; they move to `folder` when the block ends well.

    Nothing but earlier frames is ever removed from `folder`.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file: name a folder for the frames")
    pattern = f"frame_*{ending}"
    if not force and any(folder.glob(pattern)):
        raise InputError(
            f"{folder} holds frames already: name another folder, or overwrite them with --force "
            "(force=True)"
        )
    partial = folder.parent / f".{folder.name}.{os.getpid()}.partial"  # also of "." and "/"
    with _said_plainly(folder):
        partial.mkdir(parents=True)
        try:
            yield partial
            folder.mkdir(exist_ok=True)
            for old in folder.glob(pattern):
                old.unlink()
            for file in sorted(partial.iterdir()):
                os.replace(file, folder / file.name)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def _said_plainly(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        reason = problem.strerror or problem
        raise InputError(f"cannot write {path}: {reason}; name another place") from None
