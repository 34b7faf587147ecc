"""Contact by stiff repelling forces: a potential, so that every integrator has it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..contracts import Array, Power
from ..parts.checks import as_number, per_element
from ..parts.part import Arranged, Particles
from ..parts.pattern import BlockPattern
from .advice import bounce, require_resolvable
from .friction import as_friction, booked, friction_change
from .motion import same_place
from .near import near
from .shapes import as_shapes, as_stiffness, free_particles
from .touch import FormulaTouch, LocalTouch, Touching


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

    def prepare(self, particles: Arranged) -> PreparedContact:
        own = free_particles("contact", self.particles, particles)
        named = particles.order[own]
        stiffness = per_element("contact stiffness", self.stiffness, particles.count)[named]
        require_resolvable(stiffness, particles.mass[named])
        still = not self.friction and not any(shape.moving for shape in self.shapes)
        kind = PreparedContact if still else SettlingContact
        return kind(self, own, stiffness, particles.mass[named], particles.pattern)


class PreparedContact:
    """Contact with shapes that stand still, without friction: energy is conserved."""

    linear = False
    bounded = True
    pairwise = True
    external = True  # no elasticity of the body's own: Rayleigh damping leaves it out
    passing = True  # and comes and goes: no share in the linearisation about the rest shape

    def __init__(
        self, config: Contact, own: np.ndarray, stiffness: Array, mass: Array, pattern: BlockPattern
    ) -> None:
        self._config, self._own, self._stiffness, self._mass = config, own, stiffness, mass
        self._touches = [
            (LocalTouch if shape.local else FormulaTouch)(
                shape, own, stiffness, config.margin, pattern
            )
            for shape in config.shapes
        ]

    def energy(self, x: Array) -> float:
        return sum(touch.energy(x) for touch in self._touches)

    def add_gradient(self, x: Array, out: Array) -> None:
        for touch in self._touches:
            touch.add_gradient(x, out)

    def add_blocks(self, x: Array, blocks: Array, pressed: Array) -> None:
        for touch in self._touches:
            touch.add_blocks(x, blocks, pressed)

    def add_convex_blocks(self, x: Array, blocks: Array) -> None:
        """Adds d2E/dx2 without the negative stiffness along surfaces that bulge."""
        ignored = np.zeros(len(x))
        for touch in self._touches:
            touch.add_blocks(x, blocks, ignored, convex=True)

    def add_mean_gradient(self, x0: Array, x1: Array, out: Array) -> None:
        for touch in self._touches:
            touch.add_mean_gradient(x0, x1, out)

    def add_mean_blocks(self, x0: Array, x1: Array, blocks: Array) -> None:
        for touch in self._touches:
            touch.add_mean_blocks(x0, x1, blocks)

    def layout(self, x0: Array, x1: Array, old: Any, begins: bool) -> np.ndarray:
        """(shapes, m): the particles that the local/global matrix takes for touching."""
        return near(lambda x: self._distances(x) - self._config.margin, x0, x1, old, begins)

    def laplacian(self, layout: Any = None) -> tuple[np.ndarray, np.ndarray, Array]:
        """k at particles that are near (see near.py)."""
        count = np.zeros(self._own.size) if layout is None else layout.sum(axis=0)
        rows = np.flatnonzero(count)
        return self._own[rows], self._own[rows], count[rows] * self._stiffness[rows]

    def _distances(self, x: Array) -> Array:
        """(shapes, m) [m]."""
        return np.array([touch.distances(x) for touch in self._touches])

    def advice(self, h: float) -> str | None:
        return bounce(h, self._stiffness, self._mass)

    def diagnostics(self, x: Array, v: Array) -> dict[str, float]:
        """penetration [m] into the shapes themselves; contacts: pairs closer than the margin."""
        d = self._distances(x)
        deepest = float(-d.min(initial=0.0))
        return {"penetration": deepest, "contacts": float(np.sum(d < self._config.margin))}


class SettlingContact(PreparedContact):
    """Contact with friction, or with shapes that move."""

    changed = False  # by the last settle

    @property
    def drives(self) -> bool:
        return any(shape.moving for shape in self._config.shapes)

    def settle(self, t: float, h: float, x: Array, v: Array) -> Power:
        total = Power()
        if self._config.friction > 0.0:
            for touch in self._touches:
                total += self._rub(touch.touching(x), h, v)
        self.changed = False
        if not self.drives:
            return total
        before = self.energy(x)
        moved = self._move(t + 0.5 * h)
        after = self.energy(x)
        self.changed = moved and (before > 0.0 or after > 0.0)  # else nothing has felt it
        return total + Power(added=after - before)

    _t = 0.0  # shapes stand where they are at that time

    def memory(self) -> dict[str, Array]:
        return {"t": np.array(self._t)} if self.drives else {}

    def having(self, memory: Mapping[str, Array]) -> SettlingContact:
        new = copy.copy(self)
        new._move(float(memory["t"]))
        return new

    def begin(self, t: float, x: Array, v: Array) -> None:
        self._move(t)

    def _move(self, t: float) -> bool:
        """Puts shapes that move where they are at time t; whether any has moved."""
        shapes = self._config.shapes
        moved = [not same_place(shape.frame(self._t), shape.frame(t)) for shape in shapes]
        pairs = zip(self._touches, moved, strict=True)
        self._touches = [touch.placed(t) if move else touch for touch, move in pairs]
        self._t = t
        return any(moved)

    def _rub(self, touching: Touching, h: float, v: Array) -> Power:
        rows, s, normals, motion = touching
        if rows.size == 0:
            return Power()
        particles, mass = self._own[rows], self._mass[rows]
        old = v[particles]
        most = self._config.friction * h * (-self._stiffness[rows] * s) / mass
        v[particles] += friction_change(old - motion, normals, most)
        return booked(mass, old, v[particles], motion)
