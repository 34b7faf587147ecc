"""Checkpoints: everything that a run needs to go on, in one file that is whole or not there.

    one line of JSON (versions, where the run stood, length and checksum of the rest), then a pickle

Unpickling runs code, so only `resume` reads checkpoints, and only in a folder that the user names.
"""

from __future__ import annotations

import json
import pickle
import zlib
from pathlib import Path
from typing import Any

from ..errors import InputError
from .folder import CHECKPOINT
from .provenance import versions, write_atomic

FORMAT = 1
AGAIN = "run the scene again"


class NotPicklable(Exception):
    """Something in the run cannot be saved; the message says what."""


def write(folder: Path, content: Any, **header: Any) -> None:
    """Replaces the last checkpoint in one go; NotPicklable leaves it alone."""
    try:
        body = pickle.dumps(content, protocol=5)
    except (pickle.PicklingError, TypeError, AttributeError) as problem:
        raise NotPicklable(" ".join(str(problem).split())) from None
    checks = {"format": FORMAT, "versions": versions(), "bytes": len(body), "crc": zlib.crc32(body)}
    head = json.dumps({**header, **checks}).encode() + b"\n"
    write_atomic(folder / CHECKPOINT, head, body)


def read(folder: Path) -> tuple[dict[str, Any], bytes]:
    """The header, and the pickle as bytes, which are those that were written."""
    path = folder / CHECKPOINT
    try:
        head, _, body = path.read_bytes().partition(b"\n")
    except FileNotFoundError:
        raise InputError(
            f"{folder} has no checkpoint to go on from: {AGAIN} (its frames can still be read)"
        ) from None
    except OSError as problem:
        raise InputError(f"{path} cannot be read: {problem.strerror}") from None
    try:
        header = json.loads(head)
        whole = len(body) == header["bytes"] and zlib.crc32(body) == header["crc"]
    except (ValueError, TypeError, KeyError):
        header, whole = {}, False
    if not whole:
        raise InputError(f"{path} is damaged: {AGAIN} (frames recorded so far can still be read)")
    if header["format"] != FORMAT:
        raise InputError(f"{path} was written by another stiffly: use that version, or {AGAIN}")
    return header, body


def restore(folder: Path, body: bytes) -> Any:
    """What was saved.  This runs code from the file."""
    try:
        return pickle.loads(body)
    except Exception as problem:  # whatever classes raise whose code has changed or is missing
        raise InputError(
            f"{folder / CHECKPOINT} cannot be rebuilt ({type(problem).__name__}: {problem}): call "
            f"stiffly.resume from the program that started the run, or {AGAIN}"
        ) from None
