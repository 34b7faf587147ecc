"""What a system is, as far as the choice of a method depends on it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import inf, sqrt
from typing import Any

import numpy as np

from ...contracts import Array, Rayleigh, State, System, Tangent
from ...matfun.bounds import estimate

PRODUCTS = 16  # for the largest frequency: Lanczos or power steps
SEED = 20140101  # fixed: the same run gives the same numbers

_KNOWN: set[tuple[type, type]] = set()  # systems and operators that have been looked at before


@dataclass(frozen=True)
class Look:
    """omega: largest frequency [1/s]; limit: Verlet's largest stable step [s]; constant:
    the stiffness is; settles: something happens between steps; damped: forces depend on velocities,
    which mostly brake; falling: fastest growth of an
    instability [1/s], as far as a few Lanczos steps see it; product: seconds of a product with
    the stiffness."""

    size: int
    omega: float
    limit: float
    constant: bool
    settles: bool = False
    damped: bool = False
    falling: float = 0.0
    product: float = 0.0
    seconds: float = 0.0  # of looking


def look(system: System, state: State) -> Look:
    """At this state: a tangent and a few products."""
    began = time.perf_counter()
    tangent = system.tangent(state)
    assembled = time.perf_counter() - began
    damping = tangent.damping
    omega, falling, product = 0.0, 0.0, inf
    kind = type(system), type(tangent.stiffness)
    for _ in range(1 if kind in _KNOWN else 2):  # the first in a process loads what it needs
        began = time.perf_counter()
        omega, falling = _extremes(tangent, system.size)
        product = min(product, (time.perf_counter() - began) / PRODUCTS)
    _KNOWN.add(kind)
    if isinstance(damping, Rayleigh):
        rate = abs(damping.alpha) + abs(damping.beta) * omega**2
    else:
        rate = 0.0 if damping is None else _largest(damping, system.size)
    # forces of velocity are taken at a predicted one: half the limit of an oscillator
    limit = min(2.0 / omega if omega > 0.0 else inf, 1.0 / rate if rate > 0.0 else inf)
    constant = bool(tangent.constant)
    given = system.settles, system.velocity_dependent
    seconds = assembled + PRODUCTS * product
    return Look(system.size, omega, limit, constant, *given, falling, product, seconds)


def _extremes(tangent: Tangent, size: int) -> tuple[float, float]:
    """The largest frequency, and the fastest growth [1/s]."""
    if tangent.symmetric and hasattr(tangent.stiffness, "dot"):
        bounds = estimate(tangent.stiffness, PRODUCTS)[0]
        return sqrt(max(bounds.high, 0.0)), sqrt(max(-bounds.low, 0.0))
    return sqrt(_largest(tangent.stiffness, size)), 0.0


def _largest(operator: Any, size: int) -> float:
    """The largest |eigenvalue|, by power iteration."""
    b: Array = np.random.default_rng(SEED).standard_normal(size)
    found = 0.0
    for _ in range(PRODUCTS):
        norm = float(np.linalg.norm(b))
        if not norm > 0.0 or not np.isfinite(norm):
            return found
        found, b = norm, np.asarray(operator.apply(b / norm))
    return max(found, float(np.linalg.norm(b)))
