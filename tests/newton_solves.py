"""Newton's method on a residual and its tangent alone, for tests without a time step."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

from stiffly.backends.cpu import CPU
from stiffly.solvers.newton import Newton


def newton(
    residual: Any,
    linearise: Any,
    x0: Any,
    *,
    tolerance: float,
    scale: Any,
    origin: Any = 0.0,
    kept: Any = None,
    time: float = math.nan,
    **options: Any,
) -> Any:
    """r(x) = 0 from x0 (n,), x a displacement from origin; options: of `Newton`."""
    equation: Any = SimpleNamespace(
        residual=residual,
        linearise=linearise,
        scale=scale,
        change=scale,
        origin=origin,
        time=time,
        weights=(),
        backend=CPU,
        reach=lambda x, dx: 1.0,
    )
    return Newton(tolerance, **options).solve(equation, x0, kept)
