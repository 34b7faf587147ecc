"""Checkpoints: everything that a run needs to go on, in one file that is whole or not there.

An .npz archive: `tree` is JSON (run, versions, counters, and a tree of plain data, see trees.py),
the arrays that it refers to lie beside it, each with a checksum.  Reading one runs no code.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..contracts import Array
from ..errors import InputError
from .folder import CHECKPOINT, old_checkpoints
from .provenance import versions, write_atomic
from .trees import Packed, unpacked

FORMAT = 2
AGAIN = "run the scene again"
FRAMES = "plot, export and view still read its frames"


def write(folder: Path, content: dict[str, Any], **header: Any) -> None:
    """Replaces the last checkpoint in one go; NotPlain leaves it alone.

    content: trees by name, which are read back one by one.
    """
    packed = Packed(content)
    head = {**header, "format": FORMAT, "versions": versions(), "tree": packed.code["mapping"]}
    arrays: dict[str, Any] = {f"array-{k}": array for k, array in enumerate(packed.arrays)}
    file = io.BytesIO()
    np.savez(file, tree=np.frombuffer(json.dumps(head).encode(), dtype=np.uint8), **arrays)
    write_atomic(folder / CHECKPOINT, file.getvalue())


@dataclass(frozen=True)
class Checkpoint:
    """What a file holds; header: run, versions, frames, seconds between two, ..."""

    path: Path
    header: dict[str, Any]
    arrays: list[Array]

    @staticmethod
    def read(folder: Path) -> Checkpoint:
        path = folder / CHECKPOINT
        try:
            with np.load(path) as found:
                header = json.loads(found["tree"].tobytes())
                arrays = [found[f"array-{k}"] for k in range(len(found.files) - 1)]
        except FileNotFoundError:
            raise InputError(_missing(folder)) from None
        except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error):
            header, arrays = {}, []
        except OSError as problem:
            raise InputError(f"{path} cannot be read: {problem.strerror or problem}") from None
        if header.get("format", FORMAT) != FORMAT:
            raise InputError(f"{path} was written by a newer stiffly: update it, or {AGAIN}")
        if "tree" not in header:
            raise InputError(f"{path} is damaged: {AGAIN} ({FRAMES})")
        return Checkpoint(path, header, arrays)

    def tree(self, name: str, like: Any = None) -> Any:
        """One of the trees; like: see trees.py."""
        try:
            return unpacked(self.header["tree"][name], self.arrays, like)
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, ImportError) as cause:
            raise InputError(
                f"{self.path}: {name} cannot be rebuilt ({type(cause).__name__}: {cause}): use the "
                f"stiffly that wrote it, or {AGAIN}"
            ) from None


def _missing(folder: Path) -> str:
    if old_checkpoints(folder):
        return (
            f"{folder} was begun with an older stiffly, whose checkpoints are not read any more: "
            f"finish it with that version, or {AGAIN} ({FRAMES})"
        )
    return f"{folder} has no checkpoint to go on from: {AGAIN} ({FRAMES})"
