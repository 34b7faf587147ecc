"""Where a run comes from: versions, machine, options; and numbers as JSON can hold them."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

PACKAGES = ("stiffly", "numpy", "scipy", "numba")


def versions(*more: str) -> dict[str, str]:
    """Of what decides about the last digits of a run, and of more packages."""
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for package in (*PACKAGES, *more):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def provenance(given: Mapping[str, Any] | None, **known: Any) -> dict[str, Any]:
    """What a recording says about its origin; `given` by the user comes last, and so wins."""
    here = {
        "versions": versions(),
        "platform": platform.platform(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }
    return as_json({**known, **here, **(given or {})})


def as_json(value: Any) -> Any:
    """Plain lists and numbers; what is not finite becomes null, what JSON cannot hold its name."""
    if isinstance(value, Mapping):
        return {str(k): as_json(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [as_json(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, type(None))) else str(value)


def write_json(path: Path, content: Any) -> None:
    """All of it or nothing: a reader never sees half a file."""
    write_atomic(path, (json.dumps(as_json(content), indent=1) + "\n").encode())


def write_atomic(path: Path, *content: bytes) -> None:
    """Beside it first, onto the disk, then renamed in one go."""
    beside = path.with_name(path.name + ".part")
    with open(beside, "wb") as file:
        for piece in content:
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)
