"""What users hand to a System, checked: parts, masses, rest shape, damping, supports."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..contracts import Array, Backend, Mass, Rayleigh
from ..errors import InputError, StiffWarning, require
from ..parts.checks import as_indices, as_number, as_numbers, require_points
from ..parts.part import (
    MatrixFreePart,
    Part,
    PreparedLoad,
    PreparedPart,
    RememberingPart,
    SettlingPart,
)
from .mass import ConsistentMass, LumpedMass, as_mass

# what the ledger itself calls its lines and columns
RESERVED = {"kinetic", "total", "added", "dissipated", "numerical", "exchanged", "times", "parts"}


class Given(NamedTuple):
    """The arguments of a System, in their order: `System(*given._replace(damping=None))`."""

    mass: Any
    parts: tuple[Part, ...]
    fixed: Any
    rest: Any
    damping: Rayleigh | None
    supports: Any
    backend: Backend


def as_parts(parts: Any) -> list[Part]:
    if not isinstance(parts, (list, tuple)):
        if not hasattr(parts, "prepare"):
            raise InputError(f"parts must be a list of parts, got {type(parts).__name__}")
        raise InputError(f"parts must be a list: write parts=[{type(parts).__name__}(...)]")
    flat: list[Part] = []
    for part in parts:
        if isinstance(part, (list, tuple)):  # what builders such as cloth(...) return
            flat += as_parts(part)
        elif isinstance(part, type) and hasattr(part, "prepare"):
            raise InputError(f"parts holds the class {part.__name__}: write {part.__name__}(...)")
        elif hasattr(part, "prepare") or hasattr(part, "couples"):
            require(part, Part, "part")
            if part.name in RESERVED:
                raise InputError(f"a part cannot be named {part.name!r}: the ledger uses that name")
            flat.append(part)  # type: ignore[arg-type]  # has what a part must have
        else:
            raise InputError(f"{type(part).__name__} is no part: {_where_it_belongs(part)}")
    return flat


def prepared(part: Part, made: Any) -> tuple[str, Any]:
    """The part's name, and what its `prepare` made of it: one kind of part.py at least, in full."""
    free = hasattr(made, "add_product") and not hasattr(made, "add_blocks")
    marks = {
        "add_gradient": MatrixFreePart if free else PreparedPart,
        "add_force": PreparedLoad,
        "settle": SettlingPart,
    }
    kinds = [kind for mark, kind in marks.items() if hasattr(made, mark)]
    if not kinds:
        raise InputError(
            f"prepare of part {type(part).__name__} made {type(made).__name__}, which has none of "
            f"{', '.join(marks)}: give it what a potential, a load or a settling part has in "
            f"{Part.__module__}"
        )
    if hasattr(made, "memory") or hasattr(made, "having"):
        kinds.append(RememberingPart)
    for kind in kinds:
        require(made, kind, f"prepared part {part.name}:")
    return part.name, made


def _where_it_belongs(given: Any) -> str:
    if isinstance(given, Rayleigh):
        return "give it as System(..., damping=Rayleigh(...))"
    if hasattr(given, "place"):
        return "give it as System(..., supports=[...])"
    return "give objects such as Springs(...), Gravity()"


def as_rest(rest: Any) -> Array:
    rest = as_numbers("rest", rest)
    require_points("rest", rest)
    return rest


def as_damping(damping: Any) -> Rayleigh | None:
    if damping is None:
        return None
    if not isinstance(damping, Rayleigh):
        kind = type(damping).__name__
        raise InputError(f"damping must be None or Rayleigh(alpha, beta), not {kind}")
    for name, value in (("alpha", damping.alpha), ("beta", damping.beta)):
        as_number(f"damping {name}", value, least=0.0)
    return None if damping == Rayleigh() else damping


def as_supports(supports: Any, count: int) -> list[tuple[Any, np.ndarray]]:
    """(support, its particles), each particle in one support only."""
    if hasattr(supports, "place"):
        supports = [supports]
    if not isinstance(supports, (list, tuple)):
        raise InputError(f"supports must be a list, got {type(supports).__name__}")
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


def all_fixed(held: np.ndarray, supports: list[tuple[Any, np.ndarray]], count: int) -> np.ndarray:
    """Particles of so many that are not free: held, or led by a support, but not both."""
    fixed = np.zeros(count, dtype=bool)
    fixed[held] = True
    for _, led in supports:
        both = led[fixed[led]]
        if both.size:
            raise InputError(f"particle {both[0]} is fixed and led by a support: leave it in one")
        fixed[led] = True
    return np.flatnonzero(fixed)


def warn_of_jump(support: Any, start: Array) -> None:
    """A path that begins elsewhere tears at the body in the first step."""
    jump = float(np.abs(np.asarray(support.place(0.0, start)[0]) - start).max())
    if jump > 1e-9 * (1.0 + float(np.abs(start).max())):
        warnings.warn(
            f"a {type(support).__name__} support is {jump:.3g} m away from x0 at t = 0: its "
            "particles jump there; give x0 to match, or let the motion begin at zero",
            StiffWarning,
            stacklevel=4,
        )


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
    if n == 0:
        raise InputError("there are no particles: mass is empty")
    if mass.shape not in ((n,), (n, n)) or (count is not None and n != count):
        raise InputError(
            f"mass has shape {mass.shape}: give (N,) or sparse (N, N), one row for each of the "
            f"{'N' if count is None else count} particles"
        )
    return n, mass if mass.ndim == 1 else sp.csr_matrix(mass)


def free_mass(masses: Any, free: np.ndarray, backend: Backend) -> Mass:
    if not sp.issparse(masses):
        LumpedMass(masses)  # names a bad particle, fixed ones included
        return as_mass(np.repeat(masses[free], 3), 3 * free.size, backend)
    ConsistentMass(masses)
    return ConsistentMass(masses[free][:, free], 3, backend)
