"""Files that appear complete or not at all: written beside their place, then renamed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...errors import InputError


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
    partial = folder.with_name(f".{folder.name}.{os.getpid()}.partial")
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
