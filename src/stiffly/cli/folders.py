"""Where results go: checked before anything is computed, made only when it is needed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError

if TYPE_CHECKING:
    from ..recording.recording import Recording


def require_folder(out: Path, option: str = "--out") -> None:
    """A folder to write into, made if missing: better found out before a minute of computing."""
    check_folder(out, option)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"{option} {out}: {problem.strerror}; name another folder") from None


def check_folder(out: Path, option: str = "--out") -> None:
    """A folder could be made or written to at `out`; nothing is made yet."""
    nearest = next(p for p in (out, *out.absolute().parents) if p.exists() or p.is_symlink())
    if not nearest.is_dir():
        raise InputError(f"{option} {out}: {nearest} is a file; name a folder")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise InputError(f"{option} {out}: {nearest} cannot be written to; name another folder")


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
