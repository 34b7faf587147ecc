"""Where results go: checked before anything is computed, made only when it is needed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from ..recording.folder import check_writable

if TYPE_CHECKING:
    from ..recording.recording import Recording


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
