"""A body of particles in space: the sum of its parts, with some particles held fixed."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..backends.cpu import CPU
from ..contracts import Array, Energies, LinearPart, Mass, Power, Rayleigh, State
from ..errors import InputError
from ..matfun.operators import BlockOperator, SparseOperator
from .checks import as_indices, as_numbers
from .mass import ConsistentMass, LumpedMass, as_mass
from .part import Part, Particles
from .pattern import BlockPattern, unique_pairs
from .rotations import Stars
from .tangent import LinearTangent


class System:
    """M x'' = -dE/dx - D x', E the sum of the parts' energies (see contracts.System).

    mass: (N,) per particle [kg], a number (with rest), or sparse (N, N) consistent mass.
    parts: Springs, Gravity, ... (see bodies.part).
    fixed: particle indices or a boolean mask (N,); held where `bind` is given them.
    rest: (N, 3) rest positions [m], for springs without rest lengths, eti and ceti.
    damping: Rayleigh(alpha, beta), D = alpha M + beta K0 with K0 the stiffness at rest.
    """

    backend = CPU
    time_dependent = False

    def __init__(
        self,
        mass: Any,
        parts: Sequence[Part],
        fixed: Any = (),
        rest: Any = None,
        damping: Rayleigh | None = None,
    ) -> None:
        self.rest = None if rest is None else _as_rest(rest)
        self.particles, masses = _particle_mass(mass, self.rest)
        self.fixed = as_indices("fixed", fixed, self.particles)
        self.free = np.setdiff1d(np.arange(self.particles), self.fixed)
        if self.free.size == 0:
            raise InputError("every particle is fixed: leave at least one free")
        self._movable = np.repeat(np.isin(np.arange(self.particles), self.free), 3)
        self.size = 3 * self.free.size
        self.mass: Mass = _free_mass(masses, self.free)
        self.damping = _as_damping(damping)
        self.velocity_dependent = self.damping is not None
        self.conservative = not self.velocity_dependent
        self._prepare(_as_parts(parts), masses)
        self._frame = self.rest  # all positions: the fixed rows are read, the free ones replaced
        self._linear: LinearPart | None = None
        self._damper: SparseOperator | None = None
        self._stars: Stars | None = None

    def _prepare(self, parts: Sequence[Part], masses: Any) -> None:
        sparse = sp.issparse(masses)
        sums = np.asarray(masses.sum(axis=1)).ravel() if sparse else masses
        particles = Particles(self.particles, sums, self.rest)
        ties = [_none(), *(part.couples(particles) for part in parts)]
        self._edges = unique_pairs(np.concatenate(ties), self.particles)
        coupled = [self._edges]
        if sparse:  # a consistent mass couples accelerations: same body, even without a spring
            coupled.append(np.stack(masses.nonzero(), axis=1))
        self._pattern = BlockPattern(np.concatenate(coupled), self.free, self.particles)
        self._parts = [(part.name, part.prepare(particles, self._pattern)) for part in parts]
        self._is_linear = all(part.linear for _, part in self._parts)

    def bind(self, x0: Any, v0: Any = None) -> tuple[System, State]:
        """This system with its fixed particles held at x0 (N, 3), and the state at t = 0."""
        shape = (self.particles, 3)
        x0 = as_numbers("x0", x0, shape)
        v0 = np.zeros(shape) if v0 is None else as_numbers("v0", v0, shape)
        moving = self.fixed[np.any(v0[self.fixed] != 0.0, axis=1)]
        if moving.size:
            raise InputError(
                f"v0 moves particle {moving[0]}, which is fixed: set its velocity to zero"
            )
        bound = copy.copy(self)
        bound._frame = x0
        if self.rest is None:  # what was linearised about other positions is stale
            bound._linear = bound._damper = None
        return bound, State(0.0, x0[self.free].ravel(), v0[self.free].ravel())

    # ------------------------------------------------------------------ what users see

    def positions(self, x: Array) -> Array:
        """All particles (N, 3), fixed ones included."""
        if self.fixed.size == 0:
            return x.reshape(-1, 3)
        if self._frame is None:
            raise InputError("fixed particles have no positions yet: use system.bind(x0, v0)")
        full = self._frame.copy()
        full.ravel()[self._movable] = x  # a flat mask: six times faster than full[self.free]
        return full

    def velocities(self, v: Array) -> Array:
        """All particles (N, 3); zero where fixed."""
        full = np.zeros((self.particles, 3))
        full.ravel()[self._movable] = v
        return full

    # ------------------------------------------------------------------ forces

    def force(self, s: State) -> Array:
        x = self.positions(s.x)
        gradient = np.zeros((self.particles, 3))
        for _, part in self._parts:
            part.add_gradient(x, gradient)
        np.negative(gradient, out=gradient)
        f = gradient.ravel()
        if self.fixed.size:
            f = f[self._movable]
        if self.damping is not None:
            f -= self._damping_force(s.v)
        return f

    def acceleration(self, s: State) -> Array:
        return self.mass.solve(self.force(s))

    def acceleration_rate(self, s: State) -> Array:
        return np.zeros(self.size)

    def _damping_force(self, v: Array) -> Array:
        """D v."""
        assert self.damping is not None
        if self.damping.beta == 0.0:
            return self.damping.alpha * self.mass.apply(v)
        return self._damping_operator().K @ v

    def _damping_operator(self) -> SparseOperator:
        """D = alpha M + beta K0: a constant, assembled once."""
        if self._damper is None:
            assert self.damping is not None
            K0: Any = self._linear_stiffness().tosparse()
            M: Any = self.mass
            D = self.damping.alpha * M.matrix() + self.damping.beta * K0
            self._damper = SparseOperator(D, self.mass, constant=True)
        return self._damper

    # ------------------------------------------------------------------ tangents

    def tangent(self, s: State) -> LinearTangent:
        if self._is_linear and self._linear is not None:
            return self._linear.tangent  # type: ignore[return-value]  # ours
        if self._is_linear:
            return self._constant_tangent(self.positions(s.x))
        stiffness = self._stiffness(self.positions(s.x), constant=False)
        damping = self.damping
        if damping is not None and damping.beta != 0.0:
            damping = self._damping_operator()  # K0 and K(x) do not commute: not Rayleigh
        return LinearTangent(stiffness, damping, symmetric=True, constant=False)

    def linear_part(self) -> LinearPart:
        """The tangent at the rest shape (without one: at the positions given to `bind`)."""
        if self._linear is None:
            self._constant_tangent(self._reference())
        assert self._linear is not None
        return self._linear

    def _constant_tangent(self, x: Array) -> LinearTangent:
        """Where the stiffness is constant, D = alpha M + beta K is Rayleigh damping proper."""
        tangent = LinearTangent(
            self._stiffness(x, constant=True), self.damping, symmetric=True, constant=True
        )
        reference = x if self.rest is None and self._frame is None else self._reference()
        self._linear = LinearPart(tangent, reference[self.free].ravel())
        return tangent

    def _linear_stiffness(self) -> BlockOperator:
        return self.linear_part().tangent.stiffness

    def _reference(self) -> Array:
        reference = self.rest if self.rest is not None else self._frame
        if reference is None:
            raise InputError("there is no rest shape: give System(..., rest=X) or use bind(x0, v0)")
        return reference

    def _stiffness(self, x: Array, constant: bool) -> BlockOperator:
        pattern = self._pattern
        blocks = np.zeros((pattern.nnz, 3, 3))
        pressed = np.zeros(self.particles)
        for _, part in self._parts:
            part.add_blocks(x, blocks, pressed)
        return BlockOperator(
            pattern.indptr,
            pattern.indices,
            blocks,
            self.mass,
            constant=constant,
            low=self._lower_bound(pressed[self.free]),
            pairwise=True,  # every part so far acts between two particles
            labels=pattern.labels,
        )

    def _lower_bound(self, pressed: Array) -> float | None:
        """Proven lower bound of the spectrum of M^-1 K, or None.

        The parts prove u^T K u >= -2 sum_i p_i |u_i|^2 (see PreparedSprings).  With a lumped
        mass that is >= -2 max_i(p_i / m_i) u^T M u.
        """
        if not all(part.bounded for _, part in self._parts):
            return None
        if not pressed.any():
            return 0.0
        if isinstance(self.mass, ConsistentMass):
            return None
        diagonal = getattr(self.mass, "diagonal", None)
        return -2.0 * float(np.max(pressed if diagonal is None else pressed / diagonal[::3]))

    def rotations(self, s: State) -> Array:
        if self.rest is None:
            raise InputError("ceti needs a rest shape: give System(..., rest=X), or use eti")
        if self._stars is None:
            self._stars = Stars(self._edges, self.rest, self.free)
        return self._stars.rotations(self.positions(s.x))

    # ------------------------------------------------------------------ energy

    def energy(self, s: State) -> Energies:
        x = self.positions(s.x)
        parts = {"kinetic": 0.5 * float(self.mass.dot(s.v, s.v))}
        for name, part in self._parts:
            parts[name] = parts.get(name, 0.0) + part.energy(x)
        return parts

    def power(self, s: State) -> Power:
        if self.damping is None:
            return Power()
        return Power(dissipated=float(s.v @ self._damping_force(s.v)))


def _as_parts(parts: Any) -> list[Part]:
    if hasattr(parts, "prepare"):
        raise InputError(f"parts must be a list: write parts=[{type(parts).__name__}(...)]")
    for part in parts:
        if not hasattr(part, "prepare"):
            raise InputError(f"{part!r} is no part: give objects such as Springs(...), Gravity()")
    return list(parts)


def _none() -> np.ndarray:
    return np.empty((0, 2), dtype=np.int64)


def _as_rest(rest: Any) -> Array:
    rest = as_numbers("rest", rest)
    if rest.ndim != 2 or rest.shape[1] != 3:
        raise InputError(f"rest has shape {rest.shape}, but (N, 3) is needed")
    return rest


def _as_damping(damping: Any) -> Rayleigh | None:
    if damping is None or damping == Rayleigh():
        return None
    if not isinstance(damping, Rayleigh):
        raise InputError(f"damping must be None or Rayleigh(alpha, beta), not {damping!r}")
    for name, value in (("alpha", damping.alpha), ("beta", damping.beta)):
        if not (np.isfinite(value) and value >= 0.0):
            raise InputError(f"damping {name} = {value}: it must be finite and not negative")
    return damping


def _particle_mass(mass: Any, rest: Array | None) -> tuple[int, Any]:
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


def _free_mass(masses: Any, free: np.ndarray) -> Mass:
    if not sp.issparse(masses):
        LumpedMass(masses)  # names a bad particle, fixed ones included
        return as_mass(np.repeat(masses[free], 3), 3 * free.size)
    ConsistentMass(masses)
    return ConsistentMass(masses[free][:, free], copies=3)
