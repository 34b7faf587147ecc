"""What a part takes from its backend: its kernels by name, all of them when it is prepared."""

from __future__ import annotations

from typing import Any

from ..contracts import Backend
from ..errors import InputError


class Taken:
    """The kernels called `names` as attributes, and no others; a missing one names the part."""

    def __init__(self, backend: Backend, part: str, *names: str) -> None:
        self._asked = (backend, part, *names)
        for name in names:
            try:
                kernel = getattr(backend.kernels, name)
            except (AttributeError, InputError):
                raise InputError(
                    f"{part} needs the kernel {name}, which the backend {backend.name} lacks: "
                    "add it, or compute on the CPU"
                ) from None
            setattr(self, name, kernel)

    def __reduce__(self) -> tuple:
        return Taken, self._asked  # compiled functions would travel as code: taken again


def take(backend: Backend, part: str, *names: str) -> Any:
    return Taken(backend, part, *names)
