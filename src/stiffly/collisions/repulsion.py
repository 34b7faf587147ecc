"""Bodies that touch each other and themselves: cloth, fibers, meshes of particles."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from ..backends.kernels import take
from ..contracts import Array, Power
from ..errors import InputError
from ..parts.checks import as_elements, as_number, require_below
from ..parts.part import NO_PAIRS, Arranged, Particles
from ..parts.pattern import pair_laplacian
from ..parts.terms import CrowdTerm, Term
from . import broad_phase, near
from .broad_phase import BroadPhase, PairList, find_pairs, load_ipctk
from .start import bounce, require_apart, require_resolvable, require_thin

KERNELS = (
    *("barrier_energy", "barrier_gradient", "barrier_blocks"),
    *("barrier_mean_gradient", "barrier_mean_blocks"),
    *("barrier_contacts", "clear_share", "stays_clear"),
    *broad_phase.KERNELS,
)


class Repulsion:
    """E = sum k/2 (t - d)^4 / d^2 over pairs of a vertex and a triangle, a vertex and a fiber, two
    edges that are closer than t; d [m] is their distance (docs/decisions/0016).

    faces (f, 3): triangles of cloth and meshes; edges (e, 2): fibers (sides of triangles are edges
    by themselves).  All bodies of one System in one Repulsion touch each other and themselves; a
    mesh whose particles are fixed or led is an obstacle.
    thickness t [m]: distance at which the force begins; half of what pairs of one body have at
    rest, where that is less.  stiffness k [N/m]: at d = t/2 a pair stores k/2 (t/2)^2, like a
    spring, and repels with 1.5 k t; without limit as d goes to 0.  friction: Coulomb's, after the
    step (see collisions/friction.py).

    A function of the positions alone, zero and flat where pairs come and go: nothing is chosen, so
    nothing is added.  Steps on whose straight way something would pass through something are cut
    into shorter ones, whatever the method (stepper.py).  At the start nothing may overlap; a
    ledger and a momentum that close are tested, and both momenta stay (kernels barrier).
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
        self.friction = as_number("friction", friction, least=0.0)
        load_ipctk()

    def couples(self, particles: Particles) -> np.ndarray:
        require_below("face", self.faces, particles.count)
        require_below("edge", self.edges, particles.count)
        return NO_PAIRS  # who touches whom changes

    def prepare(self, particles: Arranged) -> PreparedRepulsion:
        kind = RubbingRepulsion if self.friction > 0.0 else PreparedRepulsion
        return kind(self, particles)


class NearPairs:
    """The elements of a Repulsion bound to their particles: which pairs of them are near.  It
    remembers those that it has found, which changes no result."""

    kernels: tuple[str, ...] = broad_phase.KERNELS

    def __init__(self, config: Any, particles: Arranged) -> None:
        """config: with faces, edges, thickness."""
        self._backend, self._order = particles.pattern.backend, particles.order
        self._kernels = take(self._backend, "Repulsion", *self.kernels)
        self._config, self._count = config, particles.count
        self._faces, self._edges = particles.rows[config.faces], particles.rows[config.edges]
        self._fixed, mass = np.arange(particles.free, particles.count), particles.mass[self._order]
        self._thickness = config.thickness
        self._inverse_mass = 1.0 / mass
        self._inverse_mass[self._fixed] = 0.0
        touching = np.unique(np.concatenate([self._faces.ravel(), self._edges.ravel()]))
        self._mass = mass[touching[touching < particles.free]]
        self._rest = None if particles.rest is None else particles.rest[self._order]
        self._broad = None if self._rest is None else self._look(self._rest)
        self._pairs: PairList | None = None

    def _look(self, x: Array) -> BroadPhase:
        require_thin(self._faces, self._edges, x, self._thickness)
        return BroadPhase(x, self._edges, self._faces, self._fixed, backend=self._backend)

    def begin(self, t: float, x: Array, v: Array) -> None:
        if self._rest is None:
            self._rest, self._broad = x.copy(), self._look(x)
        assert self._broad is not None
        require_apart(self._broad.elements, x, self.near(x), self._order)

    def near(self, x: Array, end: Array | None = None) -> PairList:
        """Pairs that may press at x (N, 3), at end, or on the straight way between them."""
        end = x if end is None else end
        if not self._covered(x, end):
            self._pairs = self._found(x, end)
        assert self._pairs is not None
        return self._pairs

    def close(self, x: Array) -> PairList:
        """Those of them that are closer than they reach."""
        pairs = self.near(x)
        return pairs.rows(pairs.distances(x) < pairs.reach)

    def _covered(self, x: Array, end: Array) -> bool:
        return self._pairs is not None and self._pairs.covers(x) and self._pairs.covers(end)

    def _found(self, x: Array, end: Array) -> PairList:
        if self._broad is None:  # without a rest shape, the first positions seen are it
            self._rest, self._broad = x.copy(), self._look(x)
        assert self._rest is not None
        return find_pairs(self._broad, self._rest, x, end, self._thickness)


class PreparedRepulsion(NearPairs):
    """A MatrixFreePart."""

    external = True  # no elasticity of the body's own: Rayleigh damping leaves it out
    passing = True  # and comes and goes: no share in the linearisation about the rest shape

    kernels = KERNELS

    def __init__(self, config: Repulsion, particles: Arranged) -> None:
        super().__init__(config, particles)
        self._stiffness = config.stiffness
        require_resolvable(self._constant(), self._mass)
        self._blocks: tuple[Any, ...] = (None,)

    def _constant(self) -> Array:
        return np.full(len(self._mass), self._stiffness)

    def terms(self) -> list[Term] | None:
        """None where fibers touch, which have edges without triangles."""
        if self._broad is None:
            return None
        own = self._broad.elements
        if own.loose < len(own.edges.corners):
            return None
        corners = own.vertices.corners[:, 0], own.edges.corners, own.faces.corners
        law = self._thickness, self._stiffness, self._config.friction
        return [CrowdTerm(*corners, own.piece, cast("Array", self._rest), *law)]

    def advice(self, h: float) -> str | None:
        return bounce(h, self._constant(), self._mass)

    # ------------------------------------------------------------------ the potential

    def energy(self, x: Array) -> float:
        if not np.isfinite(x).all():
            return np.inf
        return self._kernels.barrier_energy(x, *self.near(x).terms, self._stiffness)

    def add_gradient(self, x: Array, out: Array) -> None:
        if not np.isfinite(x).all():
            out += np.nan
            return
        self._kernels.barrier_gradient(x, *self.near(x).terms, self._stiffness, out)

    def add_product(self, x: Array, b: Array, out: Array) -> None:
        if self._blocks[0] is not x:  # the same array again and again, for many b
            self._blocks = (x, *self.triplets(x))
        _, rows, columns, blocks = self._blocks
        np.add.at(out, rows, np.einsum("kab,kb->ka", blocks, b[columns]))

    def triplets(self, x: Array) -> tuple[np.ndarray, np.ndarray, Array]:
        return self._entries(self._kernels.barrier_blocks, self.close(x), x)

    def add_mean_gradient(self, x0: Array, x1: Array, out: Array) -> None:
        if not np.isfinite(x1).all():
            out += np.nan
            return
        self._kernels.barrier_mean_gradient(x0, x1, *self.near(x0, x1).terms, self._stiffness, out)

    def mean_triplets(self, x0: Array, x1: Array) -> tuple[np.ndarray, np.ndarray, Array]:
        pairs = self.near(x0, x1)
        pairs = pairs.rows(np.minimum(pairs.distances(x0), pairs.distances(x1)) < pairs.reach)
        return self._entries(self._kernels.barrier_mean_blocks, pairs, x0, x1)

    def _entries(
        self, kernel: Any, pairs: PairList, *x: Array
    ) -> tuple[np.ndarray, np.ndarray, Array]:
        """Rows, columns and blocks (16 m, 3, 3) that the kernel finds for these pairs."""
        blocks = np.empty((len(pairs.stencil), 4, 4, 3, 3))
        kernel(*x, *pairs.terms, self._stiffness, blocks)
        i = pairs.stencil.astype(np.int64)
        rows, columns = np.repeat(i, 4, axis=1).ravel(), np.tile(i, (1, 4)).ravel()
        return rows, columns, blocks.reshape(-1, 3, 3)

    # ------------------------------------------------------------------ nothing passes

    def clear_share(self, x: Array, move: Array) -> float:
        """The share of the way x to x + move (N, 3) on which nothing passes through anything."""
        if not np.isfinite(move).all():
            return 1.0  # the caller will see it
        pairs = self._pairs if self._covered(x, x + move) else self._found(x, x + move)
        assert pairs is not None
        share = self._kernels.clear_share(x, move, pairs.kinds, pairs.stencil)
        if share == 1.0:  # else it led far off, and its pairs are no use for where it is cut
            self._pairs = pairs
        return share

    def stays_clear(self, x0: Array, x1: Array) -> bool:
        """Whether nothing passes through anything on the straight way."""
        pairs = self.near(x0, x1)
        return self._kernels.stays_clear(x0, x1, pairs.kinds, pairs.stencil)

    def pressed(self, x: Array) -> bool:
        """Whether any pair is closer than it reaches."""
        return len(self.close(x).stencil) > 0

    # ------------------------------------------------------------------ for solvers and users

    def _pressed(self, x: Array) -> tuple[PairList, Array, Array, Array]:
        """Pairs that press, their weights (m, 4), normals (m, 3) and forces (m,) [N]."""
        pairs = self.close(x)
        m = len(pairs.stencil)
        found = np.empty((m, 4)), np.empty((m, 3)), np.empty(m)
        self._kernels.barrier_contacts(x, *pairs.terms, self._stiffness, *found)
        return pairs, *found

    def layout(self, x0: Array, x1: Array, old: Any, begins: bool) -> tuple[np.ndarray, Array]:
        """Springs between the particles of contacts, at least as stiff as these."""
        old = near.NONE if old is None else old
        if not np.isfinite(x1).all():
            return old
        return near.covering(old, len(x1), x1, *self._pressed(x1))

    def laplacian(self, layout: Any = None) -> tuple[np.ndarray, np.ndarray, Array]:
        keys, k = near.NONE if layout is None else layout
        return pair_laplacian(np.stack(np.divmod(keys, self._count), axis=1), k)

    def diagnostics(self, x: Array, v: Array) -> dict[str, float]:
        """contacts: pairs that press; nothing is ever inside of anything."""
        return {"penetration": 0.0, "contacts": float(len(self.close(x).stencil))}


class RubbingRepulsion(PreparedRepulsion):
    """With friction, which acts between the steps."""

    kernels = (*KERNELS, "pair_friction")
    between = True  # what a support leads can drive what it rubs
    changed = False  # its forces are those of the positions, before and after

    def settle(self, t: float, h: float, x: Array, v: Array) -> Power:
        if np.isfinite(x).all() and np.isfinite(v).all():  # else the run has diverged
            pairs, weights, normals, forces = self._pressed(x)
            most = self._config.friction * h * forces
            self._kernels.pair_friction(
                v, self._inverse_mass, pairs.stencil, weights, normals, most
            )
        return Power()
