"""Symmetric operators A = M^-1 K: one interface over dense, sparse, 3x3-block and matvec-only K.

Every operator is self-adjoint in its own inner product `dot(a, b) = a^T M b`; no square root of
M (or of A) is ever formed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from math import sqrt
from typing import Any

import numpy as np

from ..contracts import Array, Bounds, Mass, Pairs
from ..errors import InputError, NotConverged
from ..kernels.names import NO_WEIGHT
from .components import MEMORY, Components
from .masses import UnitMass
from .untyped import linalg, sp

# no n x n array above this size unless the user asks for one: an eigenproblem has K, its scaled
# copy, which becomes the eigenvectors, and twice that for LAPACK's work
DENSE_LIMIT = int(sqrt(MEMORY / (4 * 8)))

_GLANCE = 64  # blocks that show already that a matrix is no multiple of the identity


def _eigh(K: Array) -> tuple[Array, Array]:
    """Symmetric eigenproblem, K is lost; LAPACK directly, since wrappers cost more than a 6 x 6
    problem, and by columns, since it would copy rows."""
    lam, Q, info = linalg.lapack.dsyevd(K.T, overwrite_a=1)
    if info:
        raise NotConverged(
            "the tangent has no eigenbasis: it holds NaN or infinite entries, so the motion has "
            "diverged; try a smaller step"
        )
    return lam, Q


def scalar(blocks: Array) -> bool:
    """Whether all of them (m, 3, 3) are multiples of the identity."""
    return not np.any(blocks != blocks[:, :1, :1] * np.eye(3))


class BaseOperator:
    """What the concrete operators share. Subclasses give `_stiffness(b)` = K b."""

    bodies: Any = None  # Components, where there are at least two independent bodies

    def __init__(self, size: int, mass: Mass | None, constant: bool) -> None:
        self.size = size
        self.mass: Mass = mass if mass is not None else UnitMass(size)
        self.backend = self.mass.backend  # that of its system; a user's matrix is on the CPU
        self.constant = constant
        self.unit_mass = isinstance(self.mass, UnitMass)
        self.cache: dict[Any, Any] = {}  # what evaluators compute once and keep

    @property
    def kernels(self) -> Any:
        return self.backend.kernels

    def _stiffness(self, b: Array) -> Array:
        raise NotImplementedError  # every subclass overrides this

    def todense(self) -> Array:
        """K as an array; refuses above DENSE_LIMIT unless the operator is already dense."""
        if self.size > DENSE_LIMIT:
            raise InputError(
                f"a dense {self.size} x {self.size} matrix was asked for (limit {DENSE_LIMIT}): "
                "use a Krylov or Chebyshev evaluator, or integrator option method='auto'"
            )
        return self._entries()

    def _entries(self) -> Array:
        return self._stiffness(np.eye(self.size))

    @property
    def core(self) -> BaseOperator:
        """The operator whose eigenbasis is that of A, column by column: A itself, or K' where
        K = K' (x) I_3, so that x, y and z move by the same n/3 equations."""
        return self

    @property
    def diagonalised(self) -> bool:
        return "_eigenbasis" in self.__dict__

    @cached_property
    def lumped(self) -> Array | None:
        """(n,), the diagonal of M; None where M has more than that."""
        return np.ones(self.size) if self.unit_mass else getattr(self.mass, "diagonal", None)

    def apply(self, b: Array) -> Array:
        return self.backend.halo(self.mass.solve(self._stiffness(b)))

    def _in_turn(
        self, kernel: Callable[..., tuple[Array, Array]], x: Array, z: Array, c: Array, out: Array
    ) -> tuple[Array, Array]:
        """kernel(x, z, c, out), the recurrence of `chebyshev` with coefficients c: all terms in one
        call, or one after the other where ranks have to hear of each other's rows in between."""
        if not self.backend.shared:
            return kernel(x, z, c, out)
        for k in range(len(c)):
            x, z = kernel(x, z, c[k : k + 1], out)
            self.backend.halo(x)
        self.backend.halo(out)
        return x, z

    def dot(self, a: Array, b: Array) -> Any:
        return self.mass.dot(a, b)

    def dots(self, pairs: Pairs) -> list[Any]:
        return self.mass.dots(pairs)

    def norms(self, *vectors: Array) -> Array:
        """Of vectors (n,): all in one synchronisation."""
        return np.sqrt(self.dots([(b, b) for b in vectors]))

    def chebyshev(
        self, s: float, t: float, x: Array, z: Array, coefficients: Array, out: Array
    ) -> tuple[Array, Array]:
        """T_(k+1) = (s A + t) T_k - T_(k-1) from x = T_k, z = T_(k-1) (n, p), as many times as
        there are coefficients (m, n_out, p), each summed up: out (n, n_out) += T c^T.

        In place; returns the last two, the newer one first.
        """
        for c in coefficients:
            z[:] = s * self.apply(x) + t * x - z
            out += z @ c.T
            x, z = z, x
        return x, z

    def lanczos(self, V: list[Array], alpha: list[Array], beta: list[Array], count: int) -> None:
        """A V_k = beta_(k-1) V_(k-1) + alpha_k V_k + beta_k V_(k+1), by columns: V (n, p).

        `count` vectors more, appended with their coefficients (p,), or until all columns have
        invariant spaces; such a column goes on as zero, with beta = 0.
        """
        for _ in range(count):
            v = V[-1]
            w = self.apply(v)
            if alpha:
                w -= beta[-1] * V[-2]
            a = self.dot(w, v)
            w -= a * v
            b = np.sqrt(self.dot(w, w))
            alive = b > 1e-14 * (np.abs(alpha[0] if alpha else a) + b)
            V.append(w * np.where(alive, 1.0 / np.where(alive, b, 1.0), 0.0))
            alpha.append(a)
            beta.append(np.where(alive, b, 0.0))
            if not alive.any():
                return

    def bounds(self) -> Bounds | None:
        return self._bounds

    @cached_property
    def _bounds(self) -> Bounds | None:
        return None  # a subclass may know cheap ones

    def components(self) -> Array | None:
        """Label of each coordinate's independent body, None where there is only one."""
        if self.bodies is None:
            return None
        return np.repeat(self.bodies.labels, self.size // self.bodies.labels.size)

    def diagonal(self) -> Array | None:
        """Diagonal of K, where it is known without products."""
        return None

    def eigenbasis(self) -> tuple[Array, Array, Array]:
        """lam, U, W = U^T M with K U = M U lam: computed once, kept with the operator."""
        return self._eigenbasis

    @cached_property
    def _eigenbasis(self) -> tuple[Array, Array, Array]:
        K = self.todense()
        if self.unit_mass:
            lam, U = _eigh(K.copy())
            return lam, U, U.T
        if self.lumped is not None:
            root = np.sqrt(self.lumped)
            scaled = K / root
            scaled /= root[:, None]
            lam, Q = _eigh(scaled)
            return lam, Q / root[:, None], Q.T * root
        M = self.mass.apply(np.eye(self.size))
        lam, V = linalg.eigh(K, M)
        return lam, V, V.T @ M


class DenseOperator(BaseOperator):
    """K as an (n, n) array."""

    def __init__(self, K: Array, mass: Mass | None = None, *, constant: bool = False) -> None:
        super().__init__(K.shape[0], mass, constant)
        self.K = K

    def _stiffness(self, b: Array) -> Array:
        return self.K @ b

    def todense(self) -> Array:
        return self.K

    def diagonal(self) -> Array | None:
        return self.K.diagonal()


class SparseOperator(BaseOperator):
    """K as a SciPy sparse matrix (kept as CSR)."""

    def __init__(
        self, K: Any, mass: Mass | None = None, *, constant: bool = False, low: float | None = None
    ) -> None:
        """low: a proven lower bound of the spectrum of M^-1 K [1/s^2], if one is known."""
        super().__init__(K.shape[0], mass, constant)
        self.K = sp.csr_matrix(K)
        self.low = low

    def _stiffness(self, b: Array) -> Array:
        return self.kernels.csr_apply(self.K.indptr, self.K.indices, self.K.data, b)

    @cached_property
    def scaled(self) -> Any:
        """M^-1 K for a lumped or unit mass, None for a consistent one."""
        if self.unit_mass or self.lumped is None:
            return self.K if self.unit_mass else None
        return sp.csr_matrix(sp.diags(1.0 / self.lumped) @ self.K)

    def chebyshev(
        self, s: float, t: float, x: Array, z: Array, coefficients: Array, out: Array
    ) -> tuple[Array, Array]:
        """Also with x, z, out of three times as many rows, as K (x) I_3."""
        A = self.scaled
        if A is None:
            return super().chebyshev(s, t, x, z, coefficients, out)
        kernel = partial(self.kernels.csr_chebyshev, A.indptr, A.indices, A.data, s, t)
        return self._in_turn(kernel, x, z, coefficients, out)

    def _entries(self) -> Array:
        return self.K.toarray()

    @cached_property
    def _bounds(self) -> Bounds | None:
        """Gershgorin: row sums of |M^-1 K| bound the spectrum; exact rows, no products."""
        diagonal = self.lumped
        if diagonal is None:
            return None
        own = slice(self.backend.owned(self.size))
        centre = (self.K.diagonal() / diagonal)[own]
        radius = (np.asarray(abs(self.K).sum(axis=1)).ravel() / diagonal)[own] - np.abs(centre)
        low = float((centre - radius).min()) if self.size else 0.0
        high = float((centre + radius).max()) if self.size else 0.0
        low, high = self.backend.largest(-low, high)
        low = -low
        if self.low is not None:
            low = max(low, self.low)
        return Bounds(low, high, True)

    def diagonal(self) -> Array | None:
        return self.scaled.diagonal() if self.scaled is not None else None

    @cached_property
    def bodies(self) -> Components | None:
        count, labels = sp.csgraph.connected_components(self.K, directed=False)
        return Components(labels) if count > 1 else None


class BlockOperator(BaseOperator):
    """K in 3x3 blocks, block row i holding blocks[indptr[i]:indptr[i+1]] (a full BSR matrix)."""

    def __init__(
        self,
        indptr: Array,
        indices: Array,
        blocks: Array,
        mass: Mass,
        *,
        constant: bool = False,
        low: float | None = None,
        pairwise: bool = False,
        bodies: Components | None = None,
    ) -> None:
        """low: a proven lower bound of the spectrum [1/s^2], K = K+ - K- with M^-1 K- <= -low;
        pairwise: K+ is a sum of terms between two particles, each positive semidefinite;
        bodies: the independent ones, where the system has found them already."""
        super().__init__(3 * (len(indptr) - 1), mass, constant)
        self.indptr, self.indices, self.blocks = indptr, indices, blocks
        self.low, self.pairwise, self.bodies = low, pairwise, bodies

    @property
    def entries(self) -> int:
        """Of all blocks: what a product takes as long as, whether they are stored or not."""
        return 9 * self.indices.size

    @property
    def _owned(self) -> int:
        """Block rows that are no copies of another rank's."""
        return self.backend.owned(len(self.indptr) - 1)

    @cached_property
    def _weight(self) -> Array:
        """(N,): 1/mass of each particle, where masses are lumped: the rows of K times it."""
        return NO_WEIGHT if self.unit_mass or self.lumped is None else 1.0 / self.lumped[::3]

    @property
    def core(self) -> BaseOperator:
        return self._third or self

    @cached_property
    def _third(self) -> SparseOperator | None:
        """K' where every block is a multiple of the identity, and masses are those of particles."""
        masses = None if self.lumped is None else self.lumped.reshape(-1, 3)
        if masses is None or np.any(masses != masses[:, :1]):
            return None
        if not self.backend.every(scalar(self.blocks[:_GLANCE]) and scalar(self.blocks)):
            return None
        mass: Any = self.mass
        m = self.size // 3
        third = UnitMass(m) if self.unit_mass else type(mass)(mass.diagonal[::3], mass.backend)
        K = sp.csr_matrix((self.blocks[:, 0, 0].copy(), self.indices, self.indptr), shape=(m, m))
        return SparseOperator(K, third, constant=self.constant, low=self.low)

    def apply(self, b: Array) -> Array:
        if self._third is not None:
            A = self._third.scaled
            return self.backend.halo(self.kernels.csr_apply(A.indptr, A.indices, A.data, b))
        product = self._product(b, self._weight)
        return self.backend.halo(self.mass.solve(product) if self.lumped is None else product)

    def _stiffness(self, b: Array) -> Array:
        return self._product(b, NO_WEIGHT)

    def _product(self, b: Array, weight: Array) -> Array:
        return self.kernels.block_apply(self.indptr, self.indices, self.blocks, b, weight)

    def chebyshev(
        self, s: float, t: float, x: Array, z: Array, coefficients: Array, out: Array
    ) -> tuple[Array, Array]:
        rest = x, z, coefficients, out
        if self.lumped is None:
            return super().chebyshev(s, t, *rest)
        if self._third is not None:
            return self._third.chebyshev(s, t, *rest)
        return self._in_turn(partial(self._recurrence, s, t), *rest)

    def _recurrence(self, *rest: Any) -> tuple[Array, Array]:
        matrix = self.indptr, self.indices, self.blocks
        return self.kernels.block_chebyshev(*matrix, *rest, self._weight)

    def tosparse(self) -> Any:
        return sp.bsr_matrix((self.blocks, self.indices, self.indptr), shape=(self.size, self.size))

    @cached_property
    def K(self) -> Any:
        """CSR, for sums with other matrices."""
        return sp.csr_matrix(self.tosparse())

    def _entries(self) -> Array:
        count = self.size // 3
        full, rows = np.zeros((count, 3, count, 3)), np.repeat(range(count), np.diff(self.indptr))
        full[rows, :, self.indices, :] += self.blocks
        return full.reshape(self.size, self.size)

    @cached_property
    def _bounds(self) -> Bounds | None:
        if self.lumped is None or self.size == 0:
            return None
        low, high, diagonal = self.backend.largest(*self._gershgorin())
        low = -low
        if self.low is not None:
            low = max(low, self.low)
            if self.pairwise:
                # (a - b)^2 <= 2 a^2 + 2 b^2 for every term: K+ <= 2 diag(K+), and
                # diag(K+) <= diag(K) + diag(K-) with M^-1 diag(K-) <= -low
                high = min(high, 2.0 * (diagonal - low))
        margin = 1e-7 * abs(high)  # what the closed-form 3x3 eigenvalues may lose at double roots
        return Bounds(low if low >= 0.0 else low - margin, high + margin, True)

    def _gershgorin(self) -> tuple[float, float, float]:
        """Of the rows that are this rank's own: -low, high, and the largest of a diagonal block."""
        matrix = self.indptr[: self._owned + 1], self.indices, self.blocks
        low, high, diagonal = self.kernels.block_gershgorin(*matrix, self._weight)
        return -low, high, diagonal

    @property
    def tight_bounds(self) -> bool:
        """The proven bounds are good enough to do without a Lanczos estimate."""
        return self.pairwise and self.low is not None

    def diagonal(self) -> Array | None:
        if self.lumped is None:
            return None
        rows = np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))
        own = self.blocks[rows == self.indices]
        return own[:, [0, 1, 2], [0, 1, 2]].ravel() / self.lumped


class BarOperator(BlockOperator):
    """K of springs: blocks beside the diagonal are -(a I + e e^T), bars (nnz, 4) holds a and e in
    their slots, own (N, 6) the diagonal blocks: xx, yy, zz, xy, xz, yz.  Masses are lumped.

    Less than half of the memory of blocks, and products a little faster; whoever needs the entries
    gets blocks.
    """

    def __init__(
        self,
        indptr: Array,
        indices: Array,
        bars: Array,
        own: Array,
        mass: Mass,
        *,
        low: float | None = None,
        pairwise: bool = False,
    ) -> None:
        BaseOperator.__init__(self, 3 * len(own), mass, False)
        self.indptr, self.indices, self.bars, self.own = indptr, indices, bars, own
        self.low, self.pairwise, self.bodies = low, pairwise, None

    @cached_property
    def _third(self) -> SparseOperator | None:
        return None  # springs have a direction

    @cached_property
    def blocks(self) -> Array:
        return self.kernels.bar_blocks(self.indptr, self.indices, self.bars, self.own)

    def _product(self, b: Array, weight: Array) -> Array:
        matrix = self.indptr, self.indices, self.bars, self.own
        return self.kernels.bar_apply(*matrix, b, weight)

    def _recurrence(self, *rest: Any) -> tuple[Array, Array]:
        matrix = self.indptr, self.indices, self.bars, self.own
        return self.kernels.bar_chebyshev(*matrix, *rest, self._weight)

    def _gershgorin(self) -> tuple[float, float, float]:
        matrix = self.indptr[: self._owned + 1], self.bars, self.own[: self._owned]
        low, high, diagonal = self.kernels.bar_gershgorin(*matrix, self._weight)
        return -low, high, diagonal

    def diagonal(self) -> Array | None:
        return self.own[:, :3].ravel() / self.lumped


class MatvecOperator(BaseOperator):
    """K known only by its products: a SciPy LinearOperator or any callable b (n,) -> (n,)."""

    def __init__(
        self, product: Any, size: int, mass: Mass | None = None, *, constant: bool = False
    ) -> None:
        super().__init__(size, mass, constant)
        self._product = product

    def _stiffness(self, b: Array) -> Array:
        if b.ndim == 1:
            return np.asarray(self._product(b), dtype=np.float64).ravel()
        return np.stack([self._stiffness(column) for column in b.T.copy()], axis=1)

    def require_symmetric(self) -> None:
        """Two products with random vectors: a^T K b = b^T K a where K is symmetric."""
        a, b = np.random.default_rng(0).standard_normal((2, self.size))
        Ka, Kb = self._stiffness(a), self._stiffness(b)
        if not np.all(np.isfinite(Ka) & np.isfinite(Kb)):
            raise InputError(
                "stiffness: a product holds NaN or infinite entries; check the operator"
            )
        aKb, bKa, aa, KbKb = self.backend.dots([(a, Kb), (b, Ka), (a, a), (Kb, Kb)])
        if abs(aKb - bKa) > 1e-8 * sqrt(aa) * sqrt(KbKb):
            raise InputError(
                "stiffness is not symmetric (its products with two random vectors say so): "
                "symmetrise it, or move the unsymmetric part into force= and jacobian="
            )
