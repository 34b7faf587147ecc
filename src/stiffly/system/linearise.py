"""Tangents: blocks of a body's parts, products of those that have no blocks, loads; and the
matrices that implicit solvers ask of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..contracts import Array, Mass, Rayleigh, State
from ..matfun.composite import SumOperator
from ..matfun.operators import BaseOperator, BlockOperator, SparseOperator
from ..parts.pattern import BlockPattern
from .mass import ConsistentMass

if TYPE_CHECKING:
    from .assembly import Assembly
    from .system import System


@dataclass(slots=True, eq=False)
class LinearTangent:
    """M^-1 K and M^-1 D at one state (see contracts.Tangent)."""

    stiffness: BaseOperator
    damping: BaseOperator | Rayleigh | None
    symmetric: bool
    constant: bool

    def matrix(self, m: float, k: float, d: float) -> Any:
        """m M + k K + d D: a dense array where K is dense or matvec-only, else SciPy csc."""
        K = _entries(self.stiffness)
        dense = isinstance(K, np.ndarray)
        damping = self.damping
        if isinstance(damping, Rayleigh):
            m, k, damping = m + d * damping.alpha, k + d * damping.beta, None
        mass: Any = self.stiffness.mass
        total = k * K + m * (mass.dense if dense else mass.matrix())
        if damping is not None and d != 0.0:
            D = _entries(damping)
            if dense and sp.issparse(D):
                D = D.toarray()
            total = total + d * D
        return total if dense or isinstance(total, np.ndarray) else sp.csc_matrix(total)


def _entries(operator: BaseOperator) -> Any:
    """The matrix of an operator without its mass: a dense array, or SciPy sparse."""
    if isinstance(operator, SparseOperator):
        return operator.K
    if hasattr(operator, "tosparse"):
        return operator.tosparse().tocsc()  # type: ignore[attr-defined]  # just asked
    return operator.todense()


def stiffness(
    system: System,
    parts: Assembly,
    x: Array,
    *,
    constant: bool = False,
    more: Array | None = None,
) -> BaseOperator:
    """M^-1 K at x (N, 3); more: blocks of the loads, about whose signs nothing is known."""
    pattern = system.pattern
    blocks, pressed = parts.blocks(x, pattern)
    known = more is None
    if more is not None:
        blocks += more
    operator = block_operator(
        pattern,
        blocks,
        system.mass,
        constant=constant,
        low=_lower_bound(system, pressed[: system.numbering.free]) if known else None,
        pairwise=known and parts.pairwise,
        bodies=pattern.bodies,
    )
    products = matrix_free(system, parts, x)
    return SumOperator([operator, *products], constant=constant) if products else operator


def matrix_free(system: System, parts: Assembly, x: Array) -> list[BaseOperator]:
    """M^-1 K of the parts that have no blocks."""
    return [
        ProductOperator(system, partial(part.add_product, x), partial(part.triplets, x))
        for part in parts.matrix_free
    ]


def _lower_bound(system: System, pressed: Array) -> float | None:
    """Proven lower bound of the spectrum of M^-1 K, or None.

    The parts prove u^T K u >= -2 sum_i p_i |u_i|^2 (see PreparedSprings).  With a lumped mass
    that is >= -2 max_i(p_i / m_i) u^T M u.
    """
    if not system.assembly.bounded:
        return None
    if not pressed.any():
        return 0.0
    if isinstance(system.mass, ConsistentMass):
        return None
    diagonal = getattr(system.mass, "diagonal", None)
    return -2.0 * float(np.max(pressed if diagonal is None else pressed / diagonal[::3]))


def loaded(system: System, s: State, x: Array) -> LinearTangent:
    """With loads: their K and D come in blocks of the same pattern, or as products."""
    v, parts = system.row_velocities(s), system.at(s)
    K, damping = load_blocks(system, parts, s.t, x, v)
    total = stiffness(system, parts, x, more=K if K.any() else None)
    for load in parts.global_loads:
        total = SumOperator([total, _load_product(system, load, s.t, x, v, 0)])
        damping.append(_load_product(system, load, s.t, x, v, 1))
    symmetric = all(load.symmetric for load in parts.loads)
    return LinearTangent(total, summed(damping) if damping else None, symmetric, False)


def load_blocks(
    system: System, parts: Assembly, t: float, x: Array, v: Array
) -> tuple[Array, list[BaseOperator]]:
    """K (nnz, 3, 3) of the loads that have blocks, and all damping there is beside the others."""
    K, D = np.zeros((2, system.pattern.nnz, 3, 3))
    for load in parts.loads:
        if load not in parts.global_loads:
            load.add_tangents(t, x, v, K, D)
    damping: list[BaseOperator] = []
    if D.any():
        damping.append(block_operator(system.pattern, D, system.mass))
    if system.viscosity is not None:
        damping.append(system.viscosity.operator())
    return K, damping


def _load_product(
    system: System, load: Any, t: float, x: Array, v: Array, which: int
) -> ProductOperator:
    """K (which = 0) or D (1) of a load that is known by its products."""

    def product(b: Array, out: Array) -> None:
        wanted = (out, None) if which == 0 else (None, out)
        load.add_products(t, x, v, b, *wanted)

    return ProductOperator(system, product, matrix=lambda: load.matrices(t, x, v)[which])


def summed(operators: list[BaseOperator]) -> BaseOperator:
    """One operator, or the sum of several."""
    return operators[0] if len(operators) == 1 else SumOperator(operators)


class ProductOperator(BaseOperator):
    """A part known by its products over all N particles, restricted to the free ones: the first.

    add_product(b, out): adds K b to out, both (N, 3), None where no solver asks for products; for
    implicit solvers the entries as triplets() -> rows, columns, blocks, or as matrix() -> dense
    (3N, 3N).
    """

    def __init__(
        self,
        system: System,
        add_product: Callable[[Array, Array], None] | None = None,
        triplets: Callable[[], Any] | None = None,
        matrix: Callable[[], Array] | None = None,
    ) -> None:
        super().__init__(system.size, system.mass, constant=False)
        self._add_product, self._triplets, self._matrix = add_product, triplets, matrix
        self._particles = system.particles

    def _stiffness(self, b: Array) -> Array:
        if b.ndim == 2:
            return np.stack([self._stiffness(column) for column in b.T.copy()], axis=1)
        if self._add_product is None:
            raise NotImplementedError("this operator is known by its entries")
        full, out = np.zeros((2, self._particles, 3))
        full.ravel()[: self.size] = b
        self._add_product(full, out)
        return out.ravel()[: self.size]

    def tosparse(self) -> Any:
        if self._matrix is not None:
            return sp.csr_matrix(self._matrix()[: self.size, : self.size])
        assert self._triplets is not None
        rows, columns, blocks = self._triplets()
        three = np.arange(3)
        i = np.repeat(3 * rows[:, None] + three, 3, axis=1)
        j = np.tile(3 * columns[:, None] + three, (1, 3))
        n = 3 * self._particles
        full = sp.csr_matrix((blocks.reshape(-1), (i.ravel(), j.ravel())), shape=(n, n))
        return full[: self.size, : self.size]


def block_operator(
    pattern: BlockPattern, blocks: Array, mass: Mass, **proofs: Any
) -> BlockOperator:
    """A block matrix, with the proofs that a stiffness brings along."""
    return BlockOperator(pattern.indptr, pattern.indices, blocks, mass, **proofs)
