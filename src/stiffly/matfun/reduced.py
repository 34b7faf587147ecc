"""Functions of A in a small space of vectors: as many as there is time for.

    f(A) b ~ V f(T) V^T M b,   T = V^T K V,   V^T M V = I

V holds the columns b themselves.  So, whatever else V is, the motion computed in it is that of a
smaller mechanical system: with columns v and a, the step d'' = a - A d taken in V conserves the
linearised energy |d'|^2/2 + d.K d/2 - d.M a to rounding, with four vectors as with forty.  Skew
Lanczos (skew.py) does so too, but in spaces of polynomials of A, which are too poor before their
degree reaches h omega_max: cut short, a stiff body keeps its energy and moves in slow motion
(docs/stability.md).  Here the next vectors are

    smooth(M w),   smooth ~ (M + (h/2)^2 K)^-1

(shift and invert: van den Eshof, Hochbruck, Preconditioning Lanczos approximations to the matrix
exponential, 2006), and with v, a and each of them smoothed twice, slow motions are right.  The
matrix may be that of another shape, such as the rest shape: the space is then less good, and
conserves as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from ..contracts import Array, SpectralMap
from .eigenbasis import dense
from .operators import BaseOperator, DenseOperator
from .tolerance import lengths, require_finite

MOST = 10  # blocks of vectors: further ones hardly improve anything that is smooth
LEAST = 3  # the columns, and what became of them twice: with less, slow motions come to a stop
DEPENDENT = 1e-10  # what is left of a vector that lies in the space already

Smooth = Callable[[Array], Array]  # (n, p) -> (n, p)
More = Callable[[], bool]  # a block is done: is there time for another


class Space:
    """V as rows (N, n), with A V beside it."""

    def __init__(self, A: BaseOperator, columns: int) -> None:
        self.A = A
        self._V, self._AV = np.empty((2, MOST * columns, A.size))  # pages come when they are used
        self.sizes = [0]  # N before the first block, and after every one

    @property
    def size(self) -> int:
        return self.sizes[-1]

    @property
    def V(self) -> Array:
        return self._V[: self.size]

    @cached_property
    def T(self) -> Array:
        """V M A V^T (N, N), when the space is complete."""
        weighed = self.A.mass.apply(np.ascontiguousarray(self.V.T))
        return (self._AV[: self.size] @ weighed).T

    def add(self, block: Array) -> Array:
        """Rows (p, n), made orthonormal to what is there; returns those that were new."""
        first = end = self.size
        for row in block:
            row = self._orthonormal(row, end)
            if row is not None:
                self._V[end] = row
                end += 1
        new = self._V[first:end]
        if len(new):
            self._AV[first:end] = self.A.apply(np.ascontiguousarray(new.T)).T
        self.sizes.append(end)
        return new

    def _orthonormal(self, row: Array, count: int) -> Array | None:
        """Against the first `count` vectors; None where nothing is left."""
        (length,) = self.A.norms(row)
        require_finite(length)
        V = self._V[:count]
        for _ in range(2):  # twice is enough (Kahan)
            row = row - self.A.backend.project(V, self.A.mass.apply(row)) @ V
        (left,) = self.A.norms(row)
        return row / left if left > DEPENDENT * length else None

    def coordinates(self, b: Array) -> Array:
        """(N,) of a vector (n,)."""
        return self.A.backend.project(self.V, self.A.mass.apply(b))

    def vectors(self, y: Array) -> Array:
        """(..., n) from coordinates (..., N)."""
        return y @ self.V

    def operator(self, size: int, symmetric: bool = True) -> DenseOperator:
        """The leading part of T: A in the space as it was when it had that size."""
        T = self.T[:size, :size]
        return DenseOperator(0.5 * (T + T.T) if symmetric else T)


def grow(
    A: BaseOperator,
    columns: Sequence[Array],
    smooth: Smooth | None,
    more: More,
    least: int = LEAST,
) -> Space:
    """The space of these columns, of `least` blocks or more; without `smooth` a Krylov space."""
    space = Space(A, len(columns))
    block = np.array(columns)
    while True:
        block = space.add(block)
        time_left, done = more(), len(space.sizes) - 1
        if not len(block) or done >= MOST or (done >= least and not time_left):
            return space
        last = np.ascontiguousarray(block.T)
        block = (A.apply(last) if smooth is None else smooth(A.mass.apply(last))).T


def change(now: Array, before: Array, sizes: Array) -> float:
    """Largest change of outputs (j, N) against those of a smaller space (j, N'), relative to sizes
    (j,)."""
    difference = now.copy()
    difference[:, : before.shape[1]] -= before
    ratio = lengths(difference) / np.where(sizes > 0.0, sizes, 1.0)
    return float(ratio.max(initial=0.0))


def reduced(space: Space, functions: SpectralMap, columns: Sequence[Array]) -> tuple[Array, Array]:
    """Outputs as coordinates (n_out, N), from coordinates (N,) of the columns; and the same from
    the space without its last block (n_out, N')."""
    if space.size == 0:
        nothing = np.zeros((functions.n_out, 0))
        return nothing, nothing
    now, before = (
        dense(space.operator(size), functions, [b[:size] for b in columns], tol=1.0).value
        for size in space.sizes[:-3:-1]
    )
    return now, before
