"""What a system is, as far as the choice of a method depends on it."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import Any

import numpy as np

from ...contracts import Array, Rayleigh, State, System
from ...matfun.bounds import estimate

PRODUCTS = 16  # for the largest frequency: Lanczos or power steps
SEED = 20140101  # fixed: the same run gives the same numbers


@dataclass(frozen=True)
class Look:
    """omega: largest frequency [1/s]; limit: Verlet's largest stable step [s]; constant:
    the stiffness is."""

    size: int
    omega: float
    limit: float
    constant: bool


def look(system: System, state: State) -> Look:
    """At this state: a tangent and a few products."""
    tangent = system.tangent(state)
    stiffness, damping = tangent.stiffness, tangent.damping
    if tangent.symmetric and hasattr(stiffness, "dot"):
        omega = sqrt(max(estimate(stiffness, PRODUCTS)[0].high, 0.0))
    else:
        omega = sqrt(_largest(stiffness, system.size))
    if isinstance(damping, Rayleigh):
        rate = abs(damping.alpha) + abs(damping.beta) * omega**2
    else:
        rate = 0.0 if damping is None else _largest(damping, system.size)
    # forces of velocity are taken at a predicted one: half the limit of an oscillator
    limit = min(2.0 / omega if omega > 0.0 else inf, 1.0 / rate if rate > 0.0 else inf)
    return Look(system.size, omega, limit, bool(tangent.constant))


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
