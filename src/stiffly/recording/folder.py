"""The folder of a run: what lies in it, what may be replaced, and who may write to it."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from math import ceil, floor, inf, log10
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import InputError
from ..paths import real_path
from .sums import NoRecording

if TYPE_CHECKING:
    from .layout import Plan

try:
    import fcntl
    import resource
except ImportError:  # no such locks, no such limits on this system
    fcntl = resource = None

RECORDING, SUMMARY = "recording.vtkhdf", "summary.json"
CHECKPOINT, SCENE = "checkpoint.npz", "scene.toml"
FILES = (RECORDING, SUMMARY, CHECKPOINT, SCENE)
UNFINISHED = tuple(f"{name}.part" for name in FILES)  # left behind by a kill at the wrong moment
ELSEWHERE = "name another folder"


def file_name(title: str) -> str:
    """The name of a scene as part of a file name: titles of scene files may hold anything."""
    return re.sub(r"[^\w.-]+", "-", title).strip(".-") or "scene"


def new_path(folder: Path, title: str, ending: str = "") -> Path:
    """folder/TITLE.png, or the first of folder/TITLE-2.png, ... that does not exist yet."""
    stem = file_name(title)
    names = (f"{stem}{ending}" if i == 1 else f"{stem}-{i}{ending}" for i in count(1))
    return next(path for path in (folder / name for name in names) if not path.exists())


def check_writable(folder: Path, option: str) -> Path:
    """A folder could be made or written to there; the nearest one that exists."""
    nearest = next(p for p in (folder, *folder.absolute().parents) if os.path.lexists(p))
    if not nearest.is_dir():
        raise InputError(f"{option} {folder}: {nearest} is a file; name a folder")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise InputError(f"{option} {folder}: {nearest} cannot be written to; {ELSEWHERE}")
    return nearest


class Place(NamedTuple):
    """A folder that a run may be written to; force: what is there may be replaced."""

    folder: Path
    force: bool


def check(out: Any, force: bool) -> Place:
    """A run may be written to `out`: an empty or missing folder, or, with force, an earlier run.

    Nothing is written yet.  A Place was checked before, and is taken as it is.
    """
    if isinstance(out, Place):
        return out
    folder = real_path("out", out)
    if check_writable(folder, "out") == folder and any(folder.iterdir()):
        if not force:
            raise InputError(
                f"out {folder} is not empty: {ELSEWHERE}, or replace its run: force=True, --force"
            )
        if not holds_run(folder):
            raise InputError(f"out {folder} holds no run that force could replace: {ELSEWHERE}")
    return Place(folder, force)


def check_space(folder: Path, plan: Plan, *, replaces: bool = True) -> None:
    """The disk has room for a recording of that plan and its checkpoints.  replaces: what is in the
    folder goes first, and counts as free."""
    nearest = next(p for p in (folder, *folder.absolute().parents) if p.is_dir())
    free = shutil.disk_usage(nearest).free
    if replaces:
        free += sum(p.stat().st_blocks * 512 for p in map(folder.joinpath, FILES) if p.is_file())
    needed, frames = plan.bytes + plan.bytes_of_checkpoints, len(plan.times)
    where, limit = "are free", _largest_file()
    if plan.bytes > limit:
        needed, free, where = plan.bytes, limit, "may be in one file (ulimit -f)"
    if needed <= free:
        return
    fitting = frames - ceil((needed - free) / plan.bytes_per_frame)
    remedy = "name another disk"
    if fitting >= 2:
        every = _rounded_up(float(plan.times[-1]) / (fitting - 1))
        remedy = f"every={every} (--every {every}) would fit, or leave velocities out, or {remedy}"
    raise InputError(
        f"out {folder}: the recording of {frames:,} frames needs {_size(needed)}, but only "
        f"{_size(free)} {where}: {remedy}"
    )


def _largest_file() -> float:
    """Bytes that the system allows this process."""
    if resource is None:
        return inf
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    return inf if limit == resource.RLIM_INFINITY else limit


def _rounded_up(seconds: float) -> str:
    """To two digits."""
    unit = 10.0 ** (floor(log10(seconds)) - 1)
    return f"{ceil(seconds / unit) * unit:.6g}"


def _size(count: float) -> str:
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"


def holds_run(folder: Path) -> bool:
    """An earlier run of ours, or what is left of one that never began."""
    names = {path.name for path in folder.iterdir()}
    if RECORDING in names:
        from .layout import open_file

        try:
            with open_file(folder / RECORDING):
                return True
        except NoRecording:
            return False
        except InputError:  # damaged, but ours
            return True
    return bool(names) and names <= {*FILES, *UNFINISHED}


def require_files(folder: Path) -> None:
    """Nothing lies where a run has its files but files."""
    for path in map(folder.joinpath, (*FILES, *UNFINISHED)):
        if os.path.lexists(path) and not path.is_file():
            raise InputError(f"{path} is no file: move it away, then go on")


def clear(folder: Path) -> None:
    """Removes what runs write, and nothing else."""
    for path in (*map(folder.joinpath, (*FILES, *UNFINISHED)), *old_checkpoints(folder)):
        path.unlink(missing_ok=True)


def old_checkpoints(folder: Path) -> list[Path]:
    """Of a stiffly that had another format for them."""
    return [p for p in folder.glob("checkpoint.*") if p.name not in (*FILES, *UNFINISHED)]


@contextmanager
def unread(file: int, patience: float = 0.0) -> Iterator[bool]:
    """True while nobody has the file open with HDF5's own lock; nobody can open it then either."""
    if fcntl is None:
        yield True
        return
    alone, deadline = False, time.monotonic() + patience
    while not alone:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            alone = True
        except OSError:
            if time.monotonic() >= deadline:
                break
            time.sleep(0.01)
    try:
        yield alone
    finally:
        if alone:
            fcntl.flock(file, fcntl.LOCK_UN)


class Lock:
    """Only one process writes to a folder; a killed one lets go by itself.

    The folder is locked, not the file: readers of HDF5 files take locks of their own.
    """

    def __init__(self, folder: Path) -> None:
        self._handle: int | None = None
        if fcntl is None:
            return
        handle = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise InputError(
                f"{folder} is being written by another process: wait for it, or stop it first"
            ) from None
        except OSError:  # file systems without locks
            os.close(handle)
            return
        self._handle = handle

    def release(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
