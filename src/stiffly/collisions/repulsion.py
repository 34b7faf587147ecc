"""Bodies that touch each other and themselves: cloth, fibers, meshes of particles."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from ..bodies.checks import as_elements, as_number
from ..bodies.part import Particles
from ..bodies.pattern import BlockPattern
from ..contracts import Array, Power
from ..errors import InputError
from ..kernels import cpu
from .broad_phase import BroadPhase, load_ipctk, require_below
from .friction import as_friction
from .narrow_phase import NONE, Contacts, Sides, apart_at_rest, near
from .pair_laplacian import PairLaplacian

SLACK = 0.25  # of the thickness: how much farther than it contacts are kept, for what accelerates
FIRST_STEP = 1.0 / 30.0  # [s] looked ahead before the first step, whose length is not known
FIRST_WAY = 16.0  # thicknesses: no farther than this, since everything fast would meet everything


class Repulsion:
    """E = sum k/2 min(g - thickness, 0)^2 over pairs of a vertex and a triangle, a vertex and a
    fiber, two edges; g [m] is their gap.  Springs that repel, as in Luan, Michels 2018 (fibers).

    faces (f, 3): triangles of cloth and meshes; edges (e, 2): fibers (sides of triangles are edges
    by themselves).  All bodies of one System in one Repulsion touch each other and themselves; a
    mesh whose particles are fixed or led is an obstacle.
    thickness [m]: gap at which the force begins; stiffness k [N/m]; friction: Coulomb's, after the
    step (see collisions/friction.py).

    Pairs are looked for after every step, among all that come within 1.25 thickness or will at the
    velocity they have (at the start: within 1/30 s, but no farther than 16 thicknesses).  Where
    they touch, and along which normal, is then frozen for one step, so that the step is one of a
    plain potential; what the next choice changes in energy is counted as added.  Points of one
    body that are closer than the thickness at rest never touch.  Triangles and edges that collapse
    are met at what is left of them.
    Limits: within one step two things should not come nearer by more than the thickness, else they
    may pass (see docs/contact-pairs.md); linear momentum is exact, angular momentum is not.
    """

    name = "contact"

    def __init__(
        self,
        faces: Any = None,
        edges: Any = None,
        *,
        thickness: float,
        stiffness: float,
        friction: float = 0.0,
    ) -> None:
        self.faces = as_elements("face", () if faces is None else faces, 3)
        self.edges = as_elements("edge", () if edges is None else edges, 2)
        if len(self.faces) + len(self.edges) == 0:
            raise InputError("repulsion has nothing to collide: give faces=, edges= or both")
        self.thickness = as_number("repulsion thickness", thickness, above=0.0)
        self.stiffness = as_number("repulsion stiffness", stiffness, above=0.0)
        self.friction = as_friction(friction)
        load_ipctk()

    def couples(self, particles: Particles) -> np.ndarray:
        require_below("face", self.faces, particles.count)
        require_below("edge", self.edges, particles.count)
        return np.empty((0, 2), dtype=np.int64)  # who touches whom changes

    def prepare(self, particles: Particles, pattern: BlockPattern) -> PreparedRepulsion:
        return PreparedRepulsion(self, particles, pattern.diagonal == cpu.NO_SLOT)


class PreparedRepulsion:
    """A MatrixFreePart that renews its contacts between the steps."""

    def __init__(self, config: Repulsion, particles: Particles, fixed: np.ndarray) -> None:
        self._config, self._fixed = config, fixed
        self._thickness, self._stiffness = config.thickness, config.stiffness
        self._inverse_mass = np.where(fixed, 0.0, 1.0 / particles.mass)
        self._rest = particles.rest
        self._broad: BroadPhase | None = None
        if self._rest is not None:
            self._broad = self._look(self._rest)
        self.contacts: Contacts = NONE
        self.changed = False  # by the last settle
        self._laplacian = PairLaplacian(particles.count)

    def _look(self, x: Array) -> BroadPhase:
        return BroadPhase(x, self._config.edges, self._config.faces, self._fixed)

    def fresh(self) -> PreparedRepulsion:
        new = copy.copy(self)
        new.contacts, new.changed = NONE, False
        new._laplacian = PairLaplacian(len(self._fixed))
        return new

    # ------------------------------------------------------------------ between the steps

    def take_over(self, old: PreparedRepulsion) -> None:
        """The contacts of an earlier system, which know who is on which side."""
        self.contacts, self._rest, self._broad = old.contacts, old._rest, old._broad

    def begin(self, t: float, x: Array, v: Array) -> None:
        if self._rest is None:
            self._rest, self._broad = x.copy(), self._look(x)
        relative = v - v.mean(axis=0)  # a common motion brings nothing nearer
        speed = float(np.sqrt(np.max(np.sum(relative * relative, axis=1), initial=0.0)))
        way = min(FIRST_WAY * self._thickness, FIRST_STEP * speed)
        self._find(x, (way / speed) * relative if speed > 0.0 else relative, NONE)

    def settle(self, t: float, h: float, x: Array, v: Array) -> Power:
        before = self.energy(x)
        if self._config.friction > 0.0:
            c, most = self.contacts, -self._config.friction * h * self._k * self._depth(x)
            cpu.pair_friction(v, self._inverse_mass, c.stencil, c.weights, c.normals, most)
        if np.isfinite(x).all() and np.isfinite(v).all():  # else the run has diverged
            crossed = self.contacts.rows(self.contacts.gaps(x) < 0.0)
            self._find(x, h * v, crossed)
        after = self.energy(x)
        self.changed = before > 0.0 or after > 0.0  # contacts that do not press exert no force
        return Power(added=after - before)

    def _find(self, x: Array, move: Array, crossed: Contacts) -> None:
        assert self._broad is not None and self._rest is not None  # begin has come first
        found, kinds = near(self._broad, x, move, (1.0 + SLACK) * self._thickness)
        apart = apart_at_rest(self._broad.elements, found, self._rest, self._thickness)
        if not apart.all():
            found, kinds = found.rows(apart), kinds[apart]
        self.contacts = Sides(crossed, len(x)).turn(found, kinds)

    # ------------------------------------------------------------------ the potential

    @property
    def _k(self) -> Array:
        """Stiffness of each contact (m,) [N/m]."""
        return self._stiffness * self.contacts.shares

    def _depth(self, x: Array) -> Array:
        """min(g - thickness, 0) (m,) [m]."""
        return np.minimum(self.contacts.gaps(x) - self._thickness, 0.0)

    def energy(self, x: Array) -> float:
        return 0.5 * float(np.sum(self._k * self._depth(x) ** 2))

    def add_gradient(self, x: Array, out: Array) -> None:
        self.contacts.scatter(self._k * self._depth(x), out)

    def add_product(self, x: Array, b: Array, out: Array) -> None:
        self.contacts.scatter(self._slopes(x) * self.contacts.gaps(b), out)

    def triplets(self, x: Array) -> tuple[np.ndarray, np.ndarray, Array]:
        return _entries(self.contacts, self._slopes(x))

    def _slopes(self, x: Array) -> Array:
        return np.where(self._depth(x) < 0.0, self._k, 0.0)

    def add_mean_gradient(self, x0: Array, x1: Array, out: Array) -> None:
        quotient, _ = self._quotient(x0, x1)
        self.contacts.scatter(quotient, out)

    def mean_triplets(self, x0: Array, x1: Array) -> tuple[np.ndarray, np.ndarray, Array]:
        return _entries(self.contacts, self._quotient(x0, x1)[1])

    def _quotient(self, x0: Array, x1: Array) -> tuple[Array, Array]:
        """[phi(s1) - phi(s0)] / (s1 - s0) (m,) and its derivative by s1, s = g - thickness.

        With phi = k/2 min(s, 0)^2, p = min(s, 0) the quotient is k/2 (p0 + p1) r, where r, the
        part of the way that is pressed, is (p1 - p0) / (s1 - s0), or 1 where both are pressed.
        """
        k = self._k
        s0, s1 = (self.contacts.gaps(x) - self._thickness for x in (x0, x1))
        p0, p1 = np.minimum(s0, 0.0), np.minimum(s1, 0.0)
        one_sided = (s0 < 0.0) != (s1 < 0.0)
        way = np.where(one_sided, s1 - s0, 1.0)  # not zero: the signs differ
        share = np.where(one_sided, (p1 - p0) / way, np.where(s0 < 0.0, 1.0, 0.0))
        quotient = 0.5 * k * (p0 + p1) * share
        return quotient, np.where(one_sided, (k * p1 - quotient) / way, 0.5 * k * share)

    # ------------------------------------------------------------------ for solvers and users

    @property
    def laplacian_version(self) -> int:
        return self._laplacian.cover(self.contacts, self._stiffness)

    def laplacian(self) -> tuple[np.ndarray, np.ndarray, Array]:
        """Springs between the particles of contacts, at least as stiff as these."""
        self._laplacian.cover(self.contacts, self._stiffness)
        return self._laplacian.triplets()

    def diagnostics(self, x: Array, v: Array) -> dict[str, float]:
        """penetration [m]: how far the farthest point has gone through something (not into its
        thickness); contacts: pairs that press."""
        gaps = self.contacts.gaps(x)
        return {
            "penetration": float(-gaps.min(initial=0.0)),
            "contacts": float(np.sum(gaps < self._thickness)),
        }


def _entries(contacts: Contacts, slopes: Array) -> tuple[np.ndarray, np.ndarray, Array]:
    """Rows, columns and blocks of sum_c slope_c (w n)(w n)^T over contacts with a slope."""
    used = np.flatnonzero(slopes)
    c = contacts.rows(used)
    pairs = c.weights[:, :, None] * c.weights[:, None, :]
    outer = slopes[used, None, None] * c.normals[:, :, None] * c.normals[:, None, :]
    blocks = pairs.reshape(-1, 16, 1, 1) * outer[:, None]
    i = c.stencil.astype(np.int64)
    rows, columns = np.repeat(i, 4, axis=1).ravel(), np.tile(i, (1, 4)).ravel()
    return rows, columns, blocks.reshape(-1, 3, 3)
