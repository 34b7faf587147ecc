"""Fibers that touch each other, along their axes.

A fiber is a chain of cuboids that may be much wider than itself (docs/fibers.md), so its springs
are no surface to touch.  What touches are the axes: point p of a centreline is the mean of the four
particles of its square, y = W x.  Whatever is known of contact among points holds for particles,
E(W x) with the gradient W^T dE/dy and the tangent W^T H W, and a guard of y guards the fibers.
Both momenta stay: four equal shares of a force have its sum and its moment about the mean.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from ..backends.kernels import take
from ..contracts import Array, Power
from ..errors import InputError
from ..parts.checks import as_number
from ..parts.fibers import FiberBody
from ..parts.part import NO_PAIRS, Arranged, Particles
from .repulsion import NearPairs, PreparedRepulsion, Repulsion

ROUNDS = 8  # of impulses, one pair after the other: each may undo a little of the one before
RECOVERED = 0.1  # of the overlap, in a step (Bridson, Fedkiw, Anderson 2002, Sec. 7.2)
KERNELS = ("stop_crossings", "barrier_contacts", "pair_impulses")
NO_FACES = np.empty((0, 3), dtype=np.int64)


class AmongFibers:
    """What parts share in which fibers touch: the first 4 P particles of the System are those of
    the body."""

    name = "contact"

    def __init__(self, body: FiberBody, thickness: float) -> None:
        if not isinstance(body, FiberBody):
            raise InputError(f"contact among fibers: {type(body).__name__} is no fibers(...)")
        self.points, self.edges, self.faces = int(body.start[-1]), body.segments, NO_FACES
        self.thickness = as_number("fiber thickness", thickness, above=0.0)

    def couples(self, particles: Particles) -> np.ndarray:
        if particles.count < 4 * self.points:
            raise InputError(
                f"contact among fibers of {4 * self.points} particles in a System of "
                f"{particles.count}: give it all particles of the fibers, and these first"
            )
        return NO_PAIRS  # who touches whom changes


class FiberRepulsion(AmongFibers):
    """Repulsion of the axes of fibers: see collisions/repulsion.py.

    body: what `fibers` made; thickness [m]: distance of two axes at which the force begins, a
    diameter; stiffness k [N/m], friction: as of Repulsion.
    """

    def __init__(
        self, body: FiberBody, *, thickness: float, stiffness: float, friction: float = 0.0
    ) -> None:
        super().__init__(body, thickness)
        self.among = Repulsion(
            edges=self.edges, thickness=thickness, stiffness=stiffness, friction=friction
        )

    def prepare(self, particles: Arranged) -> PreparedFiberRepulsion:
        lines = Centrelines(self.points, particles)
        kind = RubbingFiberRepulsion if self.among.friction > 0.0 else PreparedFiberRepulsion
        return kind(lines, self.among.prepare(lines.arranged))


class FiberImpulses(AmongFibers):
    """Correction impulses between fibers, after the step (Bridson, Fedkiw, Anderson 2002).

    What would pass through something in the next step, were it not for forces, gets an impulse at
    the two points that would meet; what is closer than the thickness [m], and approaches, likewise;
    it leaves with `restitution` (0 to 1) of the speed.  What overlaps recovers a tenth of that in a
    step.  Impulses keep both momenta.  What they take is dissipated; what the recovery gives is
    invented, and the ledger says so.

    Nothing is stored, so bodies stay independent within a step, however many touch.  The price:
    what presses all through a step is met only after it, so fibers give way to each other by what
    elastic forces move them in a step, and pass, where that is more than the thickness.
    """

    def __init__(self, body: FiberBody, *, thickness: float, restitution: float = 0.0) -> None:
        super().__init__(body, thickness)
        self.restitution = as_number("restitution", restitution, least=0.0)
        if self.restitution > 1.0:
            raise InputError(f"restitution = {self.restitution:g}: a share of the speed, 0 to 1")

    def prepare(self, particles: Arranged) -> PreparedFiberImpulses:
        return PreparedFiberImpulses(self, Centrelines(self.points, particles))


class Centrelines:
    """Points, free ones first, each the mean of the four particles of its square."""

    def __init__(self, points: int, particles: Arranged) -> None:
        squares = particles.rows[np.arange(4 * points).reshape(-1, 4)]
        moving = particles.pattern.moves[squares]
        free = moving.all(axis=1)
        bad = np.flatnonzero(moving.any(axis=1) & ~free)
        if bad.size:
            raise InputError(
                f"point {bad[0]} of the fibers is held by some of its four particles: contact "
                "among fibers wants all of them held, or none"
            )
        order = np.argsort(~free, kind="stable")
        rows = np.empty_like(order)
        rows[order] = np.arange(points)
        mass = particles.mass[: 4 * points].reshape(-1, 4).sum(axis=1)
        rest = particles.rest
        if rest is not None:
            rest = rest[: 4 * points].reshape(-1, 4, 3).mean(axis=1)
        every = (points, mass, rest, particles.lumped, rows, order, int(free.sum()))
        self.arranged = Arranged(*every, particles.pattern)
        self.squares = squares[order]

    def points(self, x: Array) -> Array:
        """(P, 3) of particles x (N, 3); of velocities as well."""
        return x[self.squares].mean(axis=1)

    def shift(self, by: Array, x: Array) -> None:
        """Moves all particles of each point by its row of by (P, 3)."""
        x[self.squares] += by[:, None]

    def share(self, force: Array, out: Array) -> None:
        """Adds forces (P, 3) on points to out (N, 3), a quarter to each particle."""
        out[self.squares] += 0.25 * force[:, None]

    def entries(
        self, rows: np.ndarray, columns: np.ndarray, values: Array
    ) -> tuple[np.ndarray, np.ndarray, Array]:
        """W^T H W: entries (m,) or blocks (m, 3, 3) of particles from those of points."""
        i, j = (self.squares[points] for points in (rows, columns))
        every = np.repeat(values / 16.0, 16, axis=0)
        return np.repeat(i, 4, axis=1).ravel(), np.tile(j, (1, 4)).ravel(), every


class PreparedFiberRepulsion:
    """A MatrixFreePart: that of the points, through the means."""

    external = True
    passing = True

    def __init__(self, lines: Centrelines, among: PreparedRepulsion) -> None:
        self._lines, self._among = lines, among
        self._seen: tuple[Any, Any] = (None, None)

    def advice(self, h: float) -> str | None:
        return self._among.advice(h)

    def begin(self, t: float, x: Array, v: Array) -> None:
        self._among = copy.copy(self._among)
        _begin(self._among, t, self._lines, x, v)

    def energy(self, x: Array) -> float:
        return self._among.energy(self._lines.points(x))

    def add_gradient(self, x: Array, out: Array) -> None:
        self._add(self._among.add_gradient, out, self._lines.points(x))

    def add_product(self, x: Array, b: Array, out: Array) -> None:
        if self._seen[0] is not x:  # the same array again and again, for many b
            self._seen = x, self._lines.points(x)
        self._add(self._among.add_product, out, self._seen[1], self._lines.points(b))

    def add_mean_gradient(self, x0: Array, x1: Array, out: Array) -> None:
        ends = self._lines.points(x0), self._lines.points(x1)
        self._add(self._among.add_mean_gradient, out, *ends)

    def _add(self, add: Any, out: Array, *points: Array) -> None:
        force = np.zeros_like(points[0])
        add(*points, force)
        self._lines.share(force, out)

    def triplets(self, x: Array) -> tuple[np.ndarray, np.ndarray, Array]:
        return self._lines.entries(*self._among.triplets(self._lines.points(x)))

    def mean_triplets(self, x0: Array, x1: Array) -> tuple[np.ndarray, np.ndarray, Array]:
        ends = self._lines.points(x0), self._lines.points(x1)
        return self._lines.entries(*self._among.mean_triplets(*ends))

    def clear_share(self, x: Array, move: Array) -> float:
        return self._among.clear_share(self._lines.points(x), self._lines.points(move))

    def stays_clear(self, x0: Array, x1: Array) -> bool:
        return self._among.stays_clear(self._lines.points(x0), self._lines.points(x1))

    def pressed(self, x: Array) -> bool:
        return self._among.pressed(self._lines.points(x))

    def layout(self, x0: Array, x1: Array, old: Any, begins: bool) -> tuple[np.ndarray, Array]:
        return self._among.layout(self._lines.points(x0), self._lines.points(x1), old, begins)

    def laplacian(self, layout: Any = None) -> tuple[np.ndarray, np.ndarray, Array]:
        return self._lines.entries(*self._among.laplacian(layout))

    def diagnostics(self, x: Array, v: Array) -> dict[str, float]:
        return self._among.diagnostics(self._lines.points(x), v)


class RubbingFiberRepulsion(PreparedFiberRepulsion):
    """With friction, which acts between the steps."""

    between = True
    changed = False

    def settle(self, t: float, h: float, x: Array, v: Array) -> Power:
        old = self._lines.points(v)
        new = old.copy()
        self._among.settle(t, h, self._lines.points(x), new)  # type: ignore[attr-defined]  # rubs
        self._lines.shift(new - old, v)
        return Power()


class PreparedFiberImpulses:
    """A SettlingPart without a memory."""

    between = True  # it passes momentum, also from what a support leads
    changed = False

    def __init__(self, config: FiberImpulses, lines: Centrelines) -> None:
        self._restitution, self._lines = config.restitution, lines
        self._near = NearPairs(config, lines.arranged)
        backend = lines.arranged.pattern.backend
        self._kernels = take(backend, "FiberImpulses", *KERNELS)
        self._inverse_mass = 1.0 / lines.arranged.mass[lines.arranged.order]
        self._inverse_mass[lines.arranged.free :] = 0.0

    def begin(self, t: float, x: Array, v: Array) -> None:
        self._near = copy.copy(self._near)
        _begin(self._near, t, self._lines, x, v)

    def settle(self, t: float, h: float, x: Array, v: Array) -> Power:
        if np.isfinite(x).all() and np.isfinite(v).all():  # else the run has diverged
            points, old = self._lines.points(x), self._lines.points(v)
            new = self._parted(points, self._stopped(points, old, h), h)
            if not np.array_equal(new, old):
                self._lines.shift(new - old, v)
        return Power()

    def _stopped(self, x: Array, v: Array, h: float) -> Array:
        """Velocities (P, 3) that lead nothing through anything in the next h seconds."""
        move = h * v
        for _ in range(ROUNDS):
            pairs = self._near.near(x, x + move)
            shares = np.ones(len(pairs.stencil))
            terms = pairs.kinds, pairs.stencil, pairs.reach, self._restitution
            self._kernels.stop_crossings(x, move, self._inverse_mass, *terms, shares)
            if not np.any(shares < 1.0):
                break
            v = move / h
        return v

    def _parted(self, x: Array, v: Array, h: float) -> Array:
        """Velocities with which nothing that is close approaches any more."""
        pairs = self._near.close(x)
        m = len(pairs.stencil)
        if m == 0:
            return v
        weights, normals, ignored = np.empty((m, 4)), np.empty((m, 3)), np.empty(m)
        self._kernels.barrier_contacts(x, *pairs.terms, 1.0, weights, normals, ignored)
        speed = np.einsum("mc,mca,ma->m", weights, v[pairs.stencil], normals)
        apart = RECOVERED * (pairs.reach - pairs.distances(x)) / h
        least = np.maximum(-self._restitution * speed, apart)
        v = v.copy()
        for _ in range(ROUNDS):
            self._kernels.pair_impulses(
                v, self._inverse_mass, pairs.stencil, weights, normals, least
            )
        return v

    def diagnostics(self, x: Array, v: Array) -> dict[str, float]:
        """contacts: pairs closer than the thickness."""
        return {"contacts": float(len(self._near.close(self._lines.points(x)).stencil))}


def _begin(among: NearPairs, t: float, lines: Centrelines, x: Array, v: Array) -> None:
    try:
        among.begin(t, lines.points(x), lines.points(v))
    except InputError as problem:
        raise InputError(f"points of centrelines, not particles: {problem}") from None
