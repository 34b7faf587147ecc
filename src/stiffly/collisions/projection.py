"""Contact by projection: what has gone in is put back onto the surface after the step."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..backends.kernels import take
from ..contracts import Array, Power
from ..errors import InputError
from ..parts.checks import as_number
from ..parts.part import Arranged
from .friction import booked, slide
from .shapes import KERNELS, OfShapes, Surface, free_particles


class ProjectedContact(OfShapes):
    """Particles inside a shape return to its surface and lose their velocity into it.

    Michels, Sobottka, Weber 2014, Sec. 5.4: a textile falls on a half ball.  shapes: one or a list;
    friction: the share, 0 to 1, of the velocity along the surface that a projected particle loses
    in a step (the paper takes 40 %; it is a share per step, so halving the step doubles it);
    particles: indices or a mask, default all.  A particle that is inside two shapes leaves the one
    that is named last; the other one follows in the next step.

    Nothing is stored.  What the impact takes from the motion, and what putting the particles back
    does to the springs, is dissipated, or added, where a moving shape pushes; where it leaves more
    energy than there was although nothing moves, that is invented: a numerical error.
    """

    name = "projection"

    def __init__(self, shapes: Any, friction: float = 0.4, particles: Any = None) -> None:
        super().__init__(shapes, particles)
        self.friction = as_number("friction", friction, least=0.0)
        if self.friction > 1.0:
            raise InputError(f"friction = {self.friction:g}: it is a share per step, 0 to 1")

    def prepare(self, particles: Arranged) -> PreparedProjection:
        own = free_particles("projection", self.particles, particles)
        kernels = take(particles.pattern.backend, "ProjectedContact", *KERNELS)
        return PreparedProjection(self, own, particles.mass[particles.order[own]], kernels)


class PreparedProjection:
    moves = True  # settle displaces particles

    @property
    def drives(self) -> bool:
        return self._config.moving

    def __init__(
        self, config: ProjectedContact, own: np.ndarray, mass: Array, kernels: Any
    ) -> None:
        self._config, self._own, self._mass, self._kernels = config, own, mass, kernels
        self._touched = self._deepest = 0.0  # of the last step

    def memory(self) -> dict[str, Array]:
        return {"touched": np.array(self._touched), "deepest": np.array(self._deepest)}

    def having(self, memory: Mapping[str, Array]) -> PreparedProjection:
        new = copy.copy(self)
        new._touched, new._deepest = float(memory["touched"]), float(memory["deepest"])
        return new

    def settle(self, t: float, h: float, x: Array, v: Array) -> Power:
        self._touched = self._deepest = 0.0
        total = Power()
        for shape in self._config.shapes:
            surface = shape.surface(t, x[self._own]).on(self._kernels)
            total += self._project(surface, x, v)
        return total

    def _project(self, surface: Surface, x: Array, v: Array) -> Power:
        own = x[self._own]
        d = surface.distances(own)
        rows = np.flatnonzero(d < 0.0)
        if rows.size == 0:
            return Power()
        n, particles = surface.normals(own, rows), self._own[rows]
        motion, old = surface.velocities(own, rows), v[particles]
        x[particles] -= d[rows, None] * n
        relative = old - motion
        outward = np.maximum(0.0, np.einsum("ij,ij->i", relative, n))
        along = (1.0 - self._config.friction) * slide(relative, n)
        v[particles] = motion + outward[:, None] * n + along
        self._touched += rows.size
        self._deepest = max(self._deepest, float(-d.min()))
        return booked(self._mass[rows], old, v[particles], motion)

    def diagnostics(self, x: Array, v: Array) -> dict[str, float]:
        """Of the last step: how deep particles were before they were put back, and how many."""
        return {"penetration": self._deepest, "contacts": self._touched}
