"""Names of files and folders that users hand in."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .errors import InputError


def real_path(name: str, value: Any) -> Path:
    """A path; InputError for an empty one, which would be the folder one is in, and for what no
    file can be called."""
    try:
        text = os.fspath(value)
    except TypeError:
        raise InputError(f"{name} must be a path, not {type(value).__name__}: give one") from None
    if isinstance(text, bytes) or not text.strip() or "\0" in text:
        raise InputError(f"{name} {text!r} is no name of a file or folder: give one, as my-run")
    return Path(text)
