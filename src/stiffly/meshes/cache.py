"""Arrays that took long to compute, kept on disk by the content that they were computed from.

A file holds a first line, the SHA-256 of the rest, and the rest: NumPy's .npz.  Its name is the
SHA-256 of everything that the arrays hang on: what is asked, the arrays that it is asked of, and
the library's own sources.  So an entry is never stale: a changed input has another name.
"""

from __future__ import annotations

import hashlib
import io
import os
import sys
import warnings
import zipfile
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import StiffWarning

MARK = b"stiffly cache 1\n"


def folder() -> Path:
    """STIFFLY_CACHE, or stiffly in the user's folder for caches."""
    if own := os.environ.get("STIFFLY_CACHE"):
        return Path(own)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "stiffly"


def key(asked: str, arrays: Iterable[np.ndarray]) -> str:
    """Name of an entry: of a question, the arrays that it is about, and the code that answers."""
    digest = hashlib.sha256(f"{asked}\n{_code()}\n".encode())
    for array in arrays:
        plain = np.ascontiguousarray(array)
        digest.update(f"{plain.dtype.str} {plain.shape}\n".encode())
        digest.update(plain.tobytes())
    return digest.hexdigest()


@cache
def _code() -> str:
    """Of the sources of meshes and kernels, and of the libraries that they compute with."""
    root = Path(__file__).parents[1]
    libraries = [f"{name} {version(name)}" for name in ("numpy", "scipy", "numba")]
    digest = hashlib.sha256("\n".join(libraries).encode())
    for room in ("meshes", "kernels", "kernels/cpu"):
        for path in sorted((root / room).glob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def load(name: str, what: str) -> dict[str, np.ndarray] | None:
    """The arrays of an entry; None where there is none, or with a warning where it is damaged."""
    try:
        path = _path(name)
        content = path.read_bytes()
    except (OSError, RuntimeError):  # RuntimeError: there is no home
        return None
    mark, rest = content[: len(MARK)], content[len(MARK) :]
    digest, payload = rest[:64], rest[65:]
    with suppress(ValueError, KeyError, zipfile.BadZipFile):
        if mark == MARK and hashlib.sha256(payload).hexdigest().encode() == digest:
            with np.load(io.BytesIO(payload)) as found:
                return dict(found)
    warnings.warn(
        f"{what}: what was kept of it in {path} is damaged; it is computed again",
        StiffWarning,
        stacklevel=3,
    )
    return None


def save(name: str, arrays: dict[str, Any]) -> None:
    """Keep an entry: complete, or not at all; a folder that cannot be written to is left alone."""
    data = io.BytesIO()
    np.savez(data, **arrays)
    payload = data.getvalue()
    with suppress(OSError, RuntimeError):
        path = _path(name)
        partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            digest = hashlib.sha256(payload).hexdigest().encode()
            partial.write_bytes(MARK + digest + b"\n" + payload)
            os.replace(partial, path)
        finally:  # also after Ctrl-C
            partial.unlink(missing_ok=True)


def _path(name: str) -> Path:
    return folder() / "meshes" / f"{name}.npz"
