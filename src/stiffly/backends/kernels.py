"""What a part takes from its backend: its kernels by name, all of them when it is prepared."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ..contracts import Backend
from ..errors import InputError


def take(backend: Backend, part: str, *names: str) -> Any:
    """The kernels called `names` as attributes, and no others; a missing one names the part."""
    taken = SimpleNamespace()
    for name in names:
        try:
            setattr(taken, name, getattr(backend.kernels, name))
        except (AttributeError, InputError):
            raise InputError(
                f"{part} needs the kernel {name}, which the backend {backend.name} lacks: "
                "add it, or compute on the CPU"
            ) from None
    return taken
