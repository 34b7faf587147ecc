"""What users hand to a System, checked: parts, masses, rest shape, damping, supports."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..contracts import Array, Mass, Rayleigh
from ..errors import InputError
from .checks import as_indices, as_numbers
from .mass import ConsistentMass, LumpedMass, as_mass
from .part import Part


def as_parts(parts: Any) -> list[Part]:
    if hasattr(parts, "prepare"):
        raise InputError(f"parts must be a list: write parts=[{type(parts).__name__}(...)]")
    flat: list[Part] = []
    for part in parts:
        if isinstance(part, (list, tuple)):  # what builders such as cloth(...) return
            flat += as_parts(part)
        elif hasattr(part, "prepare"):
            flat.append(part)
        else:
            raise InputError(f"{part!r} is no part: give objects such as Springs(...), Gravity()")
    return flat


def as_rest(rest: Any) -> Array:
    rest = as_numbers("rest", rest)
    if rest.ndim != 2 or rest.shape[1] != 3:
        raise InputError(f"rest has shape {rest.shape}, but (N, 3) is needed")
    return rest


def as_damping(damping: Any) -> Rayleigh | None:
    if damping is None or damping == Rayleigh():
        return None
    if not isinstance(damping, Rayleigh):
        raise InputError(f"damping must be None or Rayleigh(alpha, beta), not {damping!r}")
    for name, value in (("alpha", damping.alpha), ("beta", damping.beta)):
        if not (np.isfinite(value) and value >= 0.0):
            raise InputError(f"damping {name} = {value}: it must be finite and not negative")
    return damping


def as_supports(supports: Any, count: int) -> list[tuple[Any, np.ndarray]]:
    """(support, its particles), each particle in one support only."""
    if hasattr(supports, "place"):
        supports = [supports]
    checked = []
    taken = np.zeros(count, dtype=bool)
    for support in supports:
        if not hasattr(support, "place"):
            raise InputError(
                f"{support!r} is no support: give Keyframes(...), Rotation(...) or Moving(...)"
            )
        particles = as_indices("support", support.particles, count)
        if particles.size == 0:
            raise InputError("a support holds no particle: name at least one")
        if taken[particles].any():
            twice = particles[taken[particles]][0]
            raise InputError(f"particle {twice} is moved by two supports: leave it in one")
        taken[particles] = True
        checked.append((support, particles))
    return checked


def particle_mass(mass: Any, rest: Array | None) -> tuple[int, Any]:
    """Number of particles, and their masses (N,) or sparse (N, N), checked."""
    count = None if rest is None else len(rest)
    if not sp.issparse(mass):
        mass = as_numbers("mass", mass)
        if mass.ndim == 0:
            if count is None:
                raise InputError(
                    "one mass for all particles needs their number: give an array (N,) or rest=X"
                )
            mass = np.full(count, float(mass))
    n = mass.shape[0]
    if mass.shape not in ((n,), (n, n)) or (count is not None and n != count):
        raise InputError(
            f"mass has shape {mass.shape}: give (N,) or sparse (N, N), one row for each of the "
            f"{'N' if count is None else count} particles"
        )
    return n, mass if mass.ndim == 1 else sp.csr_matrix(mass)


def free_mass(masses: Any, free: np.ndarray) -> Mass:
    if not sp.issparse(masses):
        LumpedMass(masses)  # names a bad particle, fixed ones included
        return as_mass(np.repeat(masses[free], 3), 3 * free.size)
    ConsistentMass(masses)
    return ConsistentMass(masses[free][:, free], copies=3)
