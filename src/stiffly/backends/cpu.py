"""Arrays in main memory, one rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..contracts import Array
from ..kernels import cpu as cpu_kernels


class CpuBackend:
    xp = np
    kernels = cpu_kernels

    def asarray(self, a: Any) -> Array:
        return np.ascontiguousarray(a, dtype=np.float64)

    def total(self, partial: Any) -> Any:
        return partial


CPU = CpuBackend()
