"""Functions that users hand in: f(x) or f(t, x), plain Python or compiled by numba."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..contracts import Array
from ..errors import InputError

# Central differences lose a third of the digits to truncation and a third to rounding.
STEP = float(np.finfo(np.float64).eps) ** (1.0 / 3.0)


# A step shorter than this part of a coordinate would be mostly rounding.
ROUNDING = 1e-12


def takes_time(name: str, function: Any) -> bool:
    """True for f(t, x), False for f(x); read from the signature."""
    if not callable(function):
        raise InputError(f"{name} must be a function of (x) or (t, x), got {function!r}")
    try:
        parameters = inspect.signature(getattr(function, "py_func", function)).parameters.values()
    except (TypeError, ValueError):  # builtins without a signature, like some ufuncs
        return False
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [p.name for p in parameters if p.kind in kinds and p.default is p.empty]
    if len(needed) == 1:
        return False
    if len(needed) == 2 and needed != ["x", "t"]:
        return True
    raise InputError(f"{name} takes ({', '.join(needed)}), but (x) or (t, x) is needed")


def of_time(name: str, function: Any) -> Callable[[float, Array], Any]:
    """f(t, x), whichever of f(x) and f(t, x) was given."""
    return function if takes_time(name, function) else partial(_timeless, function)


def _timeless(function: Callable[[Array], Any], t: float, x: Array) -> Any:
    return function(x)


def step_for(x: Array) -> float:
    """Difference step: relative to the largest coordinate of x (n,), or to the extent of points
    (N, 3), since a body far from the origin is no larger than near it."""
    largest = float(np.abs(x).max(initial=0.0))
    size = largest if x.ndim == 1 or x.size == 0 else float(np.ptp(x, axis=0).max())
    # where the extent drowns in the coordinates' own rounding, that is the limit
    size = max(size, ROUNDING / STEP * largest)
    return STEP * (size if size > 0.0 else 1.0)


def difference_jacobian(g: Callable[[Array], Array], x: Array) -> Array:
    """dg/dx (n, n) by central differences: 2n calls."""
    e = step_for(x)
    J = np.empty((x.size, x.size))
    for j in range(x.size):
        ahead, behind = x.copy(), x.copy()
        ahead[j] += e
        behind[j] -= e
        # copies: a function may hand out the same buffer twice
        J[:, j] = np.array(g(ahead), dtype=np.float64)
        J[:, j] -= np.asarray(g(behind), dtype=np.float64)
        J[:, j] /= ahead[j] - behind[j]
    return J


def directional_derivative(g: Callable[[Array], Any], x: Array, b: Array) -> Any:
    """(dg/dx) b by a central difference along b: 2 calls."""
    size = float(np.abs(b).max(initial=0.0))
    if size == 0.0:
        return 0.0 * np.asarray(g(x), dtype=np.float64)
    e = step_for(x) / size
    ahead = np.array(g(x + e * b), dtype=np.float64)
    return (ahead - np.asarray(g(x - e * b), dtype=np.float64)) / (2.0 * e)


def time_derivative(g: Callable[[float], Array], t: float, e: float = 1e-5) -> Array:
    """dg/dt from t, t + e and t + 2e, with an error of e^2/3 times the third derivative.

    Never from before t: a run starts at 0, keyframes have kinks, and what counts for a step is
    the side it goes to.
    """
    middle, late = t + e, t + 2.0 * e
    e = 0.5 * (late - t)  # what the rounding of t has left of it
    start = np.array(g(t), dtype=np.float64)  # a copy: g may hand out the same buffer again
    next_ = np.array(g(middle), dtype=np.float64)
    return (4.0 * next_ - 3.0 * start - np.asarray(g(late), dtype=np.float64)) / (2.0 * e)


def step_rate(g: Callable[[float], Array], t: float, h: float) -> Array:
    """dg/dt for a step of h: what varies within the step is what the step can follow."""
    return time_derivative(g, t, max(2e-4 * h, 1e-9 * abs(t)))
