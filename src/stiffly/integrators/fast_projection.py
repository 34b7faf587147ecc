"""Fast projection: springs that do not stretch. First order, and it loses energy.

    v0 = v + h a(t, x, v),   x0 = x + h v0,          a without the springs that are kept as rods
    G_j dl_j = C(x_j),   x_(j+1) = x_j - M^-1 dC(x_j)^T dl_j,   G = dC M^-1 dC^T
    v+ = (x+ - x)/h                                  when every |strain| <= `strain`

with C = |d|^2/l - l for every rod d of length l.  Goldenthal, Harmon, Fattal, Bercovier, Grinspun,
Efficient Simulation of Inextensible Cloth, ACM TOG 26(3), 2007, Algorithm 2; their h^2 dl is dl
here, since h^2 only scales the multipliers.  One projection is made in any case: where short steps
stray by less than the strain permitted, rods would creep up to it and snap back.  Strain that is
there at the start is mended in the first step without counting as motion: over h it would be a
large velocity.

The price of a step depends on how far the predictor strays, not on a stiffness.  Rods pull along
where they end, not along where they were: momentum is kept to rounding, but like backward Euler
this takes from energy and angular momentum at first order in h (a rod that spins at the rate w
slows down as w' = -h w^3), and the ledger shows how much.
The springs' own energy stays in the ledger, as if what strain is left were theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..contracts import Array, State, Step, System, Work
from ..errors import InputError, NotConverged
from ..solvers.failures import FactorisationError
from ..solvers.linear import factorise
from ..solvers.settings import check_count, check_tolerance


class FastProjectionMemory(NamedTuple):
    """The rods, and what the first step moves (n,) [m] to mend their strain at the start."""

    rods: Projector
    mended: Any = 0.0


@dataclass(frozen=True)
class FastProjection:
    """strain: |L/l - 1| that is permitted; parts: names of the springs that are rods, () for all.

    No rod's length may follow from the others': those of ropes, trees and the warp and weft of a
    cloth do not; with shear springs among them they do.
    """

    strain: float = 1e-3
    parts: tuple[str, ...] = ()
    most: int = 200  # projections in a step

    name: ClassVar[str] = "fast-projection"
    order: ClassVar[int] = 1
    adaptive: ClassVar[bool] = False
    dissipative: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_tolerance("fast-projection, strain", self.strain)
        check_count("fast-projection", "most", self.most)

    def start(self, system: System, state: State) -> FastProjectionMemory:
        if not hasattr(system, "rods"):
            raise InputError(
                "fast-projection keeps the lengths of springs, and this system has none: give a "
                "System with Springs, or use bdf1"
            )
        rods = Projector(system.rods(state, self.parts))  # type: ignore[attr-defined]  # optional
        try:
            mended = rods.correction(rods.spans(rods.body.row_positions(state)))
        except FactorisationError:
            raise InputError(
                f"fast-projection: the lengths of these {len(rods.lengths)} springs depend on each "
                "other; name independent ones with FastProjection(parts=...), or use "
                "energy-momentum"
            ) from None
        return FastProjectionMemory(rods, mended.ravel()[: state.x.size])

    def step(self, system: System, state: State, h: float, memory: FastProjectionMemory) -> Step:
        rods, x = memory.rods, state.x + memory.mended
        v = state.v + h * rods.body.acceleration(state)
        ahead = state.moved(state.t + h, x + h * v, v)
        y, count, strain = self._project(rods, rods.body.row_positions(ahead), state.t)
        end = y.ravel()[: x.size]  # free particles come first
        new = state.moved(ahead.t, end, (end - x) / h)
        work = Work(
            force_evaluations=1, factorizations=count, linear_solves=count, newton_iterations=count
        )
        return Step(new, FastProjectionMemory(rods), work, notes={"strain": strain})

    def _project(self, rods: Projector, y: Array, t: float) -> tuple[Array, int, float]:
        """Positions (N, 3) that are strained as permitted, the projections it took, the strain."""
        count, d = 0, rods.spans(y)
        strain = rods.strain(d)
        while count == 0 or not strain <= self.strain:
            if count == self.most:
                raise self._failure(strain, count, t)
            try:
                y = y + rods.correction(d)
            except FactorisationError:  # rods of no length, or not finite
                raise self._failure(strain, count, t) from None
            count, d = count + 1, rods.spans(y)
            strain = rods.strain(d)
        return y, count, strain

    def _failure(self, strain: float, count: int, t: float) -> NotConverged:
        return NotConverged(
            f"fast-projection left a strain of {strain:.2g} after {count} projections at "
            f"t = {t:.4g} s, more than {self.strain:g}: try a smaller step"
        )


class Projector:
    """Newton's corrections of rods (see bodies.rods), with the layout of G made once.

    body: what moves under all other forces; lengths (m,) [m].
    """

    made_anew = True  # by its method: no part of what a checkpoint holds

    def __init__(self, rods: Any) -> None:
        self.body = rods.body
        self._i, self._j = rods.edges.T
        self.lengths, self._weights = rods.lengths, rods.weights
        # Every pair (a, b) of rod ends at one free particle adds w g_a.g_b to G, g = +-2 d/l.
        first, second = _meetings(rods.edges.ravel(), len(rods.weights))
        free = rods.weights[rods.edges.ravel()[first]] > 0.0
        first, second = first[free], second[free]
        sign = np.where((first ^ second) & 1, -1.0, 1.0)  # opposite ends: +g against -g
        self._a, self._b = first // 2, second // 2
        self._factor = sign * rods.weights[rods.edges.ravel()[first]]
        m = len(rods.edges)
        keys, self._slots = np.unique(self._a * m + self._b, return_inverse=True)
        self._indices = (keys % m).astype(np.int32)
        self._indptr = np.searchsorted(keys, np.arange(m + 1) * m).astype(np.int32)

    def spans(self, y: Array) -> Array:
        """d (m, 3) from positions (N, 3)."""
        return y[self._j] - y[self._i]

    def strain(self, d: Array) -> float:
        """The largest |L/l - 1|; NaN where positions are not finite."""
        return float(np.abs(np.sqrt(np.einsum("ij,ij->i", d, d)) / self.lengths - 1.0).max())

    def gram(self, d: Array) -> sp.csc_matrix:
        """G = dC M^-1 dC^T (m, m)."""
        g = (2.0 / self.lengths)[:, None] * d
        terms = self._factor * np.einsum("ij,ij->i", g[self._a], g[self._b])
        data = np.bincount(self._slots, terms, minlength=self._indices.size)
        m = len(d)
        return sp.csc_matrix((data, self._indices, self._indptr), shape=(m, m))  # symmetric

    def correction(self, d: Array) -> Array:
        """-M^-1 dC^T G^-1 C (N, 3)."""
        C = np.einsum("ij,ij->i", d, d) / self.lengths - self.lengths
        multipliers = factorise(self.gram(d)).solve(C)
        pull = (2.0 * multipliers / self.lengths)[:, None] * d
        out = np.zeros((len(self._weights), 3))
        np.add.at(out, self._i, pull)
        np.subtract.at(out, self._j, pull)
        return out * self._weights[:, None]


def _meetings(owner: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """All ordered pairs of entries of owner (k,), indices below count, that are equal."""
    order = np.argsort(owner, kind="stable")
    degree = np.bincount(owner, minlength=count)
    start = np.cumsum(degree) - degree
    times = degree[owner]
    first = np.repeat(np.arange(owner.size), times)
    offset = np.arange(first.size) - np.repeat(np.cumsum(times) - times, times)
    return first, order[start[owner[first]] + offset]
