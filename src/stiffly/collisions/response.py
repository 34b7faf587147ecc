"""Contact that acts between the steps: what has gone in is put back onto the surface, or what
touches sticks to it until it is pulled off."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..backends.kernels import take
from ..contracts import Array, Power
from ..errors import InputError
from ..parts.attachments import PointTies
from ..parts.checks import as_number
from ..parts.part import Arranged
from ..parts.terms import HoldTerm, ProjectTerm
from .friction import rubbed, slide
from .shapes import KERNELS, Frame, OfShapes, OnShapes, Surface


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
        return PreparedProjection(self, particles)


class PreparedProjection(OnShapes):
    moves = True  # settle displaces particles

    def __init__(self, config: ProjectedContact, particles: Arranged) -> None:
        self._choose(config, particles)
        self._kernels = take(particles.pattern.backend, "ProjectedContact", *KERNELS)
        self._touched = self._deepest = 0.0  # of the last step

    def memory(self) -> dict[str, Array]:
        return {"touched": np.array(self._touched), "deepest": np.array(self._deepest)}

    def having(self, memory: Mapping[str, Array]) -> PreparedProjection:
        new = copy.copy(self)
        new._touched, new._deepest = float(memory["touched"]), float(memory["deepest"])
        return new

    def terms(self) -> list[ProjectTerm] | None:
        """None where a shape moves or has no formula."""
        config = self._config
        if not self._still:
            return None
        return [ProjectTerm(self._own, config.shapes, config.friction)]

    def by_row(self) -> Array:
        """What it remembers, (m, 6) as in Sides of kernels/names.py: nothing of single ones."""
        return np.zeros((self._own.size, 6))

    def caught(self, rows: Array, t: float) -> None:
        """What steps that end at t have made of it."""
        self._deepest, self._touched = float(rows[:, 4].max(initial=0.0)), float(rows[:, 5].sum())

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
        return rubbed(self._mass[rows], old, v[particles], motion).booked()

    def diagnostics(self, x: Array, v: Array) -> dict[str, float]:
        """Of the last step: how deep particles were before they were put back, and how many."""
        return {"penetration": self._deepest, "contacts": self._touched}


class Held(OfShapes):
    """Particles that touch are tied to where they touched, E = sum k/2 |x - p|^2.

    Michels, Sobottka, Weber 2014, Sec. 5.3 (bouncing tori): a particle that comes close to the
    floor is held fixed there; the body is compressed and throws itself off.  Here a particle that
    is closer than `margin` [m] to a shape after a step, and moves towards it, is tied to the point
    p where it is then, so that nothing is stored at first.  It is released after the step in which
    the tie has begun to pull it back, (x - p).n > 0, on its way out.  What the tie has stored along
    the normal by then is given back as velocity, as if it had let go at p; what it stores along the
    surface is dissipated.  stiffness k [N/m]: one number, or None for the paper's letter: what
    touches is put back to p after every step and has the velocity of the shape there, exactly,
    until a step has taken it out.  Nothing is stored then, and what was in its motion is
    dissipated.  particles: indices or a mask, default all.  The points move along with their shape,
    which is counted as added.
    """

    name = "contact"

    def __init__(
        self, shapes: Any, stiffness: float | None, particles: Any = None, *, margin: float = 0.0
    ) -> None:
        super().__init__(shapes, particles)
        self.stiffness = stiffness
        if stiffness is not None:
            self.stiffness = as_number("contact stiffness", stiffness, above=0.0)
        self.margin = as_number("contact margin", margin, least=0.0)

    def prepare(self, particles: Arranged) -> PreparedHeld:
        return (PreparedFixed if self.stiffness is None else PreparedHeld)(self, particles)


class PreparedHeld(PointTies, OnShapes):
    """Which of its particles are tied, to which shape, and where in that shape's own frame."""

    passing = True  # comes and goes: no share in the linearisation about the rest shape

    def __init__(self, config: Held, particles: Arranged) -> None:
        super().__init__(config.stiffness or 0.0, particles.pattern, linear=False)
        self._choose(config, particles)
        self._kernels = take(particles.pattern.backend, "Held", *KERNELS)
        self.changed = False  # by the last settle
        self._holder = np.full(self._own.size, -1)  # index of the shape, -1 where free
        self._home = np.zeros((self._own.size, 3))
        self._deepest = 0.0  # how far particles were inside of shapes, after the last step

    def terms(self) -> list[HoldTerm] | None:  # type: ignore[override]
        """None where a shape moves or has no formula."""
        config = self._config
        if not self._still:
            return None
        return [HoldTerm(self._own, config.shapes, config.margin, config.stiffness)]

    def by_row(self) -> Array:
        """What it remembers, (m, 6) as in Sides of kernels/names.py."""
        rest = np.full(self._own.size, self._deepest), np.zeros(self._own.size)
        return np.column_stack([self._home, self._holder, *rest])

    def caught(self, rows: Array, t: float) -> None:
        """What steps that end at t have made of it."""
        self._home, self._holder = rows[:, :3].copy(), rows[:, 3].astype(np.int64)
        self._deepest = float(rows[:, 4].max(initial=0.0))
        self._tie_held([shape.frame(t) for shape in self._config.shapes])

    def memory(self) -> dict[str, Array]:
        held = {"holder": self._holder, "home": self._home, "points": self.points}
        return {**held, "deepest": np.array(self._deepest)}

    def having(self, memory: Mapping[str, Array]) -> PreparedHeld:
        new = copy.copy(self)
        new._holder, new._home = memory["holder"].copy(), memory["home"].copy()
        new._deepest = float(memory["deepest"])
        new.retie(self._own[new._tied()], memory["points"])
        return new

    def _tied(self) -> np.ndarray:
        """Those of its particles that have a tie."""
        return np.flatnonzero(self._holder >= 0)

    def begin(self, t: float, x: Array, v: Array) -> None:
        self._holder, self._home = self._holder.copy(), self._home.copy()
        surfaces = self._see(t, x)
        self._catch(surfaces, x, v, np.ones(self._own.size, dtype=bool))
        self._tie_held([surface.frame for surface in surfaces])

    def settle(self, t: float, h: float, x: Array, v: Array) -> Power:
        surfaces, free, old = self._see(t, x), self._holder < 0, (self.particles, self.points)
        stored, returned = self._let_go(surfaces, x, v)
        before = self.energy(x) - stored
        self._catch(surfaces, x, v, free)  # not what has just been let go
        self._tie_held([shape.frame(t + 0.5 * h) for shape in self._config.shapes])
        self.changed = not all(map(np.array_equal, old, (self.particles, self.points)))
        added = self.energy(x) - before - returned  # the System will see it come back as motion
        return Power(added=added, dissipated=stored - returned)

    def _see(self, t: float, x: Array) -> list[Surface]:
        own = x[self._own]
        surfaces = [shape.surface(t, own).on(self._kernels) for shape in self._config.shapes]
        self._deepest = float(max(-s.distances(own).min(initial=0.0) for s in surfaces))
        return surfaces

    def _let_go(self, surfaces: list[Surface], x: Array, v: Array) -> tuple[float, float]:
        """Frees the particles that leave; energies [J] that their ties had stored, and that
        these particles got back: m/2 u^2 grows by k/2 s^2, u and s along the normal."""
        own, stored, returned = x[self._own], 0.0, 0.0
        energies = np.zeros(self._own.size)
        energies[self._holder >= 0] = self.energies(x)  # ties are in the order of own
        for index, surface in enumerate(surfaces):
            rows, n, s, u = self._leaving(index, surface, own, v)
            faster = np.sqrt(u * u + self._stiffness * s * s / self._mass[rows])
            v[self._own[rows]] += (faster - u)[:, None] * n
            stored += float(energies[rows].sum())
            returned += 0.5 * self._stiffness * float(s @ s)
            self._holder[rows] = -1
        return stored, returned

    def _leaving(self, index: int, surface: Surface, own: Array, v: Array) -> tuple[Array, ...]:
        """Whom this shape holds no longer: rows, normals, distances from p and velocities along
        these."""
        rows = np.flatnonzero(self._holder == index)
        n, relative = surface.normals(own, rows), self._relative(surface, own, rows, v)
        s = np.einsum("ij,ij->i", own[rows] - surface.frame.points(self._home[rows]), n)
        u = np.einsum("ij,ij->i", relative, n)
        leaves = (s > 0.0) & (u >= 0.0)
        return rows[leaves], n[leaves], s[leaves], u[leaves]

    def _relative(self, surface: Surface, own: Array, rows: np.ndarray, v: Array) -> Array:
        """Velocities (k, 3) of those particles seen from the surface."""
        return v[self._own[rows]] - surface.velocities(own, rows)

    def _catch(self, surfaces: list[Surface], x: Array, v: Array, free: np.ndarray) -> None:
        own, margin = x[self._own], self._config.margin
        for index, surface in enumerate(surfaces):
            rows = np.flatnonzero(free & (self._holder < 0) & (surface.distances(own) < margin))
            relative = self._relative(surface, own, rows, v)
            inward = np.einsum("ij,ij->i", relative, surface.normals(own, rows)) <= 0.0
            rows = rows[inward]
            self._holder[rows] = index
            self._home[rows] = surface.frame.home(own[rows])

    def _tie_held(self, frames: list[Frame]) -> None:
        """Ties for what is held now, their points where the shapes' frames have taken them."""
        held = self._tied()
        points = np.zeros((held.size, 3))
        for index, frame in enumerate(frames):
            mine = self._holder[held] == index
            points[mine] = frame.points(self._home[held[mine]])
        self.retie(self._own[held], points)

    def diagnostics(self, x: Array, v: Array) -> dict[str, float]:
        """penetration [m]; contacts: particles that are held."""
        return {"penetration": self._deepest, "contacts": float(np.sum(self._holder >= 0))}


class PreparedFixed(PreparedHeld):
    """Held without ties: what a step does to it, h^2/2 of its acceleration, is undone."""

    moves = True  # settle displaces particles

    def _tied(self) -> np.ndarray:
        return np.empty(0, dtype=np.int64)

    def settle(self, t: float, h: float, x: Array, v: Array) -> Power:
        surfaces, free, own = self._see(t, x), self._holder < 0, x[self._own]
        for index, surface in enumerate(surfaces):
            self._holder[self._leaving(index, surface, own, v)[0]] = -1
        self._catch(surfaces, x, v, free)
        total = Power()
        for index, surface in enumerate(surfaces):
            rows = np.flatnonzero(self._holder == index)
            particles, motion = self._own[rows], surface.velocities(own, rows)
            total += rubbed(self._mass[rows], v[particles], motion, motion).booked()
            x[particles], v[particles] = surface.frame.points(self._home[rows]), motion
        return total
