"""Linear systems on a card: conjugate gradients, or BiCGStab where the matrix is not symmetric,
with a preconditioner of two levels (kernels/cuda/solve.cu); and with one matrix that many systems
share, by its factor (kernels/cuda/tree.py)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..contracts import Array, Backend
from ..kernels.cuda.solve import INDEFINITE, SOLVED
from ..kernels.cuda.tree import LEAF, TooWide
from .dissection import eliminated, fronts
from .failures import FactorisationError, NotPositiveDefinite

if TYPE_CHECKING:
    from ..backends.gpu import GpuBackend
    from .linear import Factor

RESIDUAL = 1e-8  # relative: far below what an iteration of Newton's gains in its place
MOST = 2000  # products: a factorisation on the host has begun to pay

log = logging.getLogger("stiffly")


class SavedMatrix(NamedTuple):
    """What a checkpoint holds of a CardFactor: blocks (m, 3, 3), columns (m,), rows (N + 1,)."""

    blocks: Array
    indices: Array
    indptr: Array
    symmetric: bool

    def on(self, backend: Backend) -> Factor | None:
        """The factor there; None where it has none there."""
        from .linear import factorise  # which has CardFactor as one of its kinds

        matrix = sp.bsr_matrix((self.blocks, self.indices, self.indptr))
        try:
            return factorise(matrix, symmetric=self.symmetric, backend=backend)
        except FactorisationError:
            return None


class CardFactor:
    """One matrix that lies on a card.  Where the iterations do not come to an end, the host
    factorises it, and solves from then on."""

    def __init__(self, backend: GpuBackend, matrix: Any, symmetric: bool) -> None:
        """matrix: SciPy sparse (n, n), n = 3N."""
        # of one in blocks the very arrays, of which the card keeps what it has laid out
        in_blocks = isinstance(matrix, sp.bsr_matrix) and matrix.blocksize == (3, 3)
        self._matrix = blocks = matrix if in_blocks else sp.bsr_matrix(matrix, blocksize=(3, 3))
        if not np.isfinite(blocks.data).all():
            raise FactorisationError("the matrix is not finite")
        self._systems, self._symmetric, self.products = backend.kernels.systems, symmetric, 0
        entries = blocks.indptr, blocks.indices, blocks.data
        self._prepared = self._systems.prepared(*entries, backend.points, symmetric)
        self._host: Factor | None = None
        if symmetric and not self._prepared.definite:
            raise NotPositiveDefinite("a diagonal block, or a sum of blocks, is not definite")

    def solve(self, b: Array) -> Array:
        """b (n,) or (n, p)."""
        if b.ndim == 2:
            columns = [self.solve(np.ascontiguousarray(column)) for column in b.T]
            return np.stack(columns, axis=1)
        if self._host is None:
            found = self._systems.solve(self._prepared, b, RESIDUAL, MOST)
            self.products += found.products
            if found.state == INDEFINITE:
                raise NotPositiveDefinite("conjugate gradients met a negative curvature")
            if found.state == SOLVED:
                return found.x
            self._host = self._factorised()
        return self._host.solve(b)

    def _factorised(self) -> Factor:
        from .linear import factorise  # which has this as one of its kinds

        if not self._systems.told:
            self._systems.told = True
            log.warning(
                f"device gpu: a linear system was not solved by up to {MOST} products, and is "
                "factorised by the host, as later ones may be: smaller steps, or --device cpu, may "
                "take less time"
            )
        return factorise(self._matrix, symmetric=self._symmetric)

    def as_saved(self) -> SavedMatrix:
        matrix = self._matrix
        return SavedMatrix(matrix.data, matrix.indices, matrix.indptr, self._symmetric)


class SavedTree(NamedTuple):
    """What a checkpoint holds of a CardTree."""

    matrix: Any

    def on(self, backend: Backend) -> Factor:
        return lasting(self.matrix, backend)


def lasting(matrix: Any, backend: Backend) -> Factor:
    """The factor of a sparse matrix (rows, rows), symmetric and positive definite, with which many
    systems will be solved, for x, y and z alike."""
    from .linear import factorise  # which has CardFactor as one of its kinds

    if not backend.iterates:
        return factorise(matrix)
    systems = backend.kernels.systems
    try:
        return CardTree(backend, matrix)  # type: ignore[arg-type]  # a card's
    except TooWide:
        if not systems.told:
            systems.told = True
            log.warning("device gpu: a factor is too large for the card: the host solves with it")
        return factorise(matrix)


class CardTree:
    """A factor that lies on a card, front by front."""

    products = 0

    def __init__(self, backend: GpuBackend, matrix: Any) -> None:
        self._matrix, self._trees = sp.csc_matrix(matrix), backend.kernels.trees
        if not np.isfinite(self._matrix.data).all():
            raise FactorisationError("the matrix is not finite")
        pattern = sp.csr_matrix(self._matrix)
        key = pattern.indptr.tobytes(), pattern.indices.tobytes(), pattern.indices.dtype
        plan = fronts(*key, 1, LEAF)
        self.tree = self._trees.made(plan, eliminated(self._matrix, plan))

    def solve(self, b: Array) -> Array:
        """b (rows, 3)."""
        return self._trees.solve(self.tree, b)

    def as_saved(self) -> SavedTree:
        return SavedTree(self._matrix)
