"""Arrays in main memory, one rank: compiled kernels, sums where they are made."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..contracts import Array, Pairs
from ..errors import InputError
from ..kernels import cpu as _compiled
from ..kernels.cpu import compiled as compiled
from ..kernels.cpu.compiled import announce as announce  # a first run says that it compiles
from ..kernels.cpu.jit import processor as processor  # which checkpoints name


class Kernels:
    """The kernels of a backend by name; one that it lacks is named."""

    def __init__(self, backend: str, module: Any) -> None:
        self._backend, self._module = backend, module

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(self._module, name, None)
        if found is None:
            raise InputError(
                f"the backend {self._backend} has no kernel {name}: add it, or compute on the CPU"
            )
        setattr(self, name, found)  # asked for once
        return found


class CpuBackend:
    name = "cpu"
    precision = "double"
    xp = np
    kernels = Kernels("cpu", _compiled)
    shared = False
    iterates = False
    at_once = 5e8

    def announce(self) -> None:
        announce()

    def put(self, a: Any) -> Array:
        return np.ascontiguousarray(a, dtype=np.float64)

    def host(self, a: Array) -> Array:
        return a

    def dots(self, pairs: Pairs, weight: Array | None = None) -> list[Any]:
        dot = self.kernels.column_dot
        return [dot(a, b, weight) for a, b in pairs]

    def project(self, V: Array, b: Array) -> Array:
        return V @ b

    def halo(self, x: Array) -> Array:
        return x

    def agree(self, value: float) -> float:
        return value

    def every(self, true: bool) -> bool:
        return true

    def largest(self, *values: float) -> list[float]:
        return list(values)

    def sums(self, values: Array) -> Array:
        return values

    def count(self, size: int) -> int:
        return size

    def random(self, seed: int, size: int) -> Array:
        return np.random.default_rng(seed).standard_normal(size)

    def owned(self, rows: int) -> int:
        return rows


CPU = CpuBackend()
