"""Contact by stiff repelling forces: a potential, so that every integrator has it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..bodies.checks import as_number, per_element
from ..bodies.part import Particles
from ..bodies.pattern import BlockPattern
from ..contracts import Array, Power
from ..kernels import cpu
from .friction import as_friction, booked, friction_change
from .near import Near
from .shapes import Shape, Surface, as_shapes, as_stiffness, free_particles, out_of_reach

FIRST_STEP = 1.0 / 30.0  # [s] looked ahead before the first step, whose size is not known yet


class Contact:
    """E = sum k/2 min(d - margin, 0)^2 over particles and shapes, d the distance to the surface.

    Dinev, Liu, Kavan 2018, Eq. 38.  shapes: one or a list (Plane, Sphere, Hemisphere, a mesh);
    stiffness k [N/m]: one number, or (N,) for all particles of the System; particles: indices or a
    mask, default all.  margin [m]: where the force begins, e.g. half the thickness of a cloth.
    friction: k_f >= 0, see collisions/friction.py.  Shapes that move stand still during a step;
    what they do to the body is counted as added.
    """

    name = "contact"

    def __init__(
        self,
        shapes: Any,
        stiffness: Any,
        particles: Any = None,
        *,
        margin: float = 0.0,
        friction: float = 0.0,
    ) -> None:
        self.shapes = as_shapes(shapes)
        self.stiffness, self.particles = as_stiffness("contact stiffness", stiffness), particles
        self.margin = as_number("contact margin", margin, least=0.0)
        self.friction = as_friction(friction)

    def couples(self, particles: Particles) -> np.ndarray:
        return np.empty((0, 2), dtype=np.int64)

    def prepare(self, particles: Particles, pattern: BlockPattern) -> PreparedContact:
        own = free_particles("contact", self.particles, particles.count, pattern)
        stiffness = per_element("contact stiffness", self.stiffness, particles.count)[own]
        still = not any(shape.moving or shape.local for shape in self.shapes)
        kind = PreparedContact if still and not self.friction else SettlingContact
        return kind(self, own, stiffness, particles.mass[own], pattern)


class PreparedContact:
    """Contact with shapes that stand still, without friction: energy is conserved.

    It remembers which particles touch or soon will, for the matrix of the local/global solver
    (`laplacian`), and nothing else.
    """

    linear = False
    bounded = True
    pairwise = True
    external = True  # no elasticity of the body's own: Rayleigh damping leaves it out
    passing = True  # and comes and goes: no share in the linearisation about the rest shape

    def __init__(
        self, config: Contact, own: np.ndarray, stiffness: Array, mass: Array, pattern: BlockPattern
    ) -> None:
        self._shapes, self._friction = config.shapes, config.friction
        self._own, self._stiffness, self._mass = own, stiffness, mass
        self._index = own.astype(np.uint32)
        self._margin, self._diagonal = config.margin, pattern.diagonal
        self._surfaces = [_first(shape, own.size) for shape in self._shapes]
        self._near = [Near(own.size) for _ in self._shapes]
        self.laplacian_version = 0

    def fresh(self) -> PreparedContact:
        new = copy.copy(self)  # what never changes is shared
        new._surfaces = [_first(shape, self._own.size) for shape in self._shapes]
        new._near = [Near(self._own.size) for _ in self._shapes]
        new.laplacian_version = 0
        return new

    def _terms(self) -> Iterator[tuple[Near, tuple[Any, int, Array, Array, float]]]:
        """(near, arguments of the kernels) of each shape."""
        for near, surface in zip(self._near, self._surfaces, strict=True):
            which = (self._index, surface.kind, surface.numbers)
            yield near, (*which, self._stiffness, self._margin)

    def energy(self, x: Array) -> float:
        return sum(cpu.contact_energy(x, *terms) for _, terms in self._terms())

    def add_gradient(self, x: Array, out: Array) -> None:
        for near, terms in self._terms():
            newcomers = cpu.contact_gradient(x, *terms, near.marks, out)
            self._look(near, newcomers, x, terms)

    def add_blocks(self, x: Array, blocks: Array, pressed: Array) -> None:
        for _, terms in self._terms():
            cpu.contact_blocks(x, *terms, self._diagonal, blocks, pressed)

    def add_convex_blocks(self, x: Array, blocks: Array) -> None:
        """Adds d2E/dx2 without the negative stiffness along surfaces that bulge."""
        ignored = np.zeros(len(x))
        for _, terms in self._terms():
            cpu.contact_blocks(x, *terms, self._diagonal, blocks, ignored, cpu.CONVEX)

    def add_mean_gradient(self, x0: Array, x1: Array, out: Array) -> None:
        for near, terms in self._terms():
            newcomers = cpu.contact_mean_gradient(x0, x1, *terms, near.marks, out)
            self._look(near, newcomers, x1, terms)

    def add_mean_blocks(self, x0: Array, x1: Array, blocks: Array) -> None:
        for _, terms in self._terms():
            cpu.contact_mean_blocks(x0, x1, *terms, self._diagonal, blocks)

    def laplacian(self) -> tuple[np.ndarray, np.ndarray, Array]:
        """k at particles that are near (see near.py)."""
        near = np.sum([each.marks > 0 for each in self._near], axis=0)
        rows = np.flatnonzero(near)
        return self._own[rows], self._own[rows], near[rows] * self._stiffness[rows]

    def _look(self, near: Near, newcomers: int, x: Array, terms: Any) -> None:
        _, kind, numbers, _, margin = terms
        surface = Surface(kind, numbers)
        if near.seen(newcomers, lambda: surface.distances(x[self._own]) - margin):
            self.laplacian_version += 1

    def diagnostics(self, x: Array, v: Array) -> dict[str, float]:
        """penetration [m] into the shapes themselves; contacts: pairs closer than the margin."""
        d = np.array([surface.distances(x[self._own]) for surface in self._surfaces])
        deepest = float(-d.min(initial=0.0))
        return {"penetration": deepest, "contacts": float(np.sum(d < self._margin))}


class SettlingContact(PreparedContact):
    """Contact with friction, or with shapes that move or are known near the particles only."""

    changed = False  # by the last settle

    def begin(self, t: float, x: Array, v: Array) -> None:
        self._renew(t, x, FIRST_STEP * _speed(v))

    def settle(self, t: float, h: float, x: Array, v: Array) -> Power:
        total = Power()
        if self._friction > 0.0:
            for surface in self._surfaces:
                total += self._rub(surface, h, x, v)
        before, old = self.energy(x), self._surfaces
        self._renew(t + 0.5 * h, x, 2.0 * h * _speed(v))
        after = self.energy(x)
        moved = any(map(_differ, old, self._surfaces))
        self.changed = moved and (before > 0.0 or after > 0.0)  # else nothing has felt it
        return total + Power(added=after - before)

    def _rub(self, surface: Surface, h: float, x: Array, v: Array) -> Power:
        own = x[self._own]
        s = surface.distances(own) - self._margin
        rows = np.flatnonzero(s < 0.0)
        if rows.size == 0:
            return Power()
        particles, mass = self._own[rows], self._mass[rows]
        motion, old = surface.velocities(own, rows), v[particles]
        most = self._friction * h * (-self._stiffness[rows] * s[rows]) / mass
        v[particles] += friction_change(old - motion, surface.normals(own, rows), most)
        return booked(mass, old, v[particles], motion)

    def _renew(self, t: float, x: Array, travel: float) -> None:
        """travel [m]: how far particles may come in the next step, which may be a longer one."""
        own = x[self._own]
        ahead = float(np.max(self._margin)) + travel
        self._surfaces = [
            shape.surface(t, own, ahead) if shape.moving or shape.local else surface
            for shape, surface in zip(self._shapes, self._surfaces, strict=True)
        ]


def _speed(v: Array) -> float:
    """Of the fastest particle [m/s]."""
    return float(np.sqrt(np.einsum("ij,ij->i", v, v).max(initial=0.0)))


def _differ(one: Surface, two: Surface) -> bool:
    return one is not two and not np.array_equal(one.numbers, two.numbers)


def _first(shape: Shape, count: int) -> Surface:
    """Where a shape is at the start; one that must see the particles first is out of reach."""
    if not shape.local:
        return shape.surface(0.0, np.empty((0, 3)))
    return out_of_reach(count)
