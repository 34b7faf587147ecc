"""Tangents: blocks of a body's parts, products of those that have no blocks, loads, Rayleigh
damping; and the matrices that implicit solvers ask of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..backends.sums import dot
from ..contracts import Array, Mass, Power, Rayleigh, State
from ..errors import InputError
from ..matfun.composite import SumOperator
from ..matfun.operators import BarOperator, BaseOperator, BlockOperator, SparseOperator
from ..parts.pattern import BlockPattern
from ..parts.user_functions import directional_derivative
from .mass import ConsistentMass
from .matrices import require_passive

if TYPE_CHECKING:
    from .assembly import Assembly
    from .system import System

COMPRESSED = 1e-9  # of a block's stiffness: less negative stiffness is the rest shape's rounding


@dataclass(slots=True, eq=False)
class LinearTangent:
    """M^-1 K and M^-1 D at one state (see contracts.Tangent)."""

    stiffness: BaseOperator
    damping: BaseOperator | Rayleigh | None
    symmetric: bool
    constant: bool

    def matrix(self, m: float, k: float, d: float) -> Any:
        """m M + k K + d D: a dense array where K is dense or matvec-only, else SciPy csc; for a
        card bsr, where K has blocks."""
        form = self.stiffness
        if form.backend.iterates and isinstance(form, BlockOperator) and form.lumped is not None:
            return _in_blocks(self, form, m, k, d)
        K = _entries(form)
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


def _in_blocks(tangent: LinearTangent, K: BlockOperator, m: float, k: float, d: float) -> Any:
    """m M + k K + d D in the blocks of K: nothing is sorted, and the pattern is that of K."""
    damping = tangent.damping
    if isinstance(damping, Rayleigh):
        m, k, damping = m + d * damping.alpha, k + d * damping.beta, None
    total = k * K.blocks
    if damping is not None and d != 0.0:
        total += d * _blocks_of(damping, K)
    rows = np.repeat(np.arange(len(K.indptr) - 1), np.diff(K.indptr))
    own = np.flatnonzero(rows == K.indices)
    masses: Any = K.lumped
    total[own[:, None], [0, 1, 2], [0, 1, 2]] += m * masses.reshape(-1, 3)
    made = sp.bsr_matrix((total, K.indices, K.indptr), shape=(K.size, K.size))
    # the very arrays, of which a card keeps what it has laid out
    made.indices, made.indptr = K.indices, K.indptr
    return made


def _blocks_of(operator: Any, K: BlockOperator) -> Array:
    """Blocks (nnz, 3, 3) of a damping where K has its own."""
    if isinstance(operator, SumOperator):
        return sum(_blocks_of(term, K) for term in operator.terms)  # type: ignore[return-value]
    if getattr(operator, "indices", None) is K.indices:
        return operator.blocks
    known = operator.cache.get("in blocks")
    if known is None or known[0] is not K.indices:
        known = operator.cache["in blocks"] = K.indices, _spread(_entries(operator), K)
    return known[1]


def _spread(matrix: Any, K: BlockOperator) -> Array:
    """Of a sparse matrix with no blocks where K has none."""
    part = sp.bsr_matrix(matrix, blocksize=(3, 3))
    part.sum_duplicates()
    count, (wanted, given) = (
        len(K.indptr) - 1,
        (np.repeat(np.arange(len(A.indptr) - 1), np.diff(A.indptr)) for A in (K, part)),
    )
    slots = np.searchsorted(count * wanted + K.indices, count * given + part.indices)
    spread = np.zeros((K.indices.size, 3, 3))
    spread[slots] = part.data
    return spread


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
    pattern, free = system.pattern, system.numbering.free
    # what is diagonalised, whole or body by body, is asked for its blocks; for one product each
    # is as fast
    once = not constant and pattern.bodies is None and system.lumped
    if once and more is None and parts.in_bars(pattern):
        bars, own, pressed = parts.bars(x, pattern)
        where = pattern.indptr, pattern.indices
        low = _lower_bound(system, pressed[:free])
        return BarOperator(*where, bars, own, system.mass, low=low, pairwise=parts.pairwise)
    blocks, pressed = parts.blocks(x, pattern)
    known = more is None
    if more is not None:
        blocks += more
    operator = block_operator(
        pattern,
        blocks,
        system.mass,
        constant=constant,
        low=_lower_bound(system, pressed[:free]) if known else None,
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
    if system.backend.every(not pressed.any()):
        return 0.0
    if isinstance(system.mass, ConsistentMass):
        return None
    diagonal = getattr(system.mass, "diagonal", None)
    most = np.max(pressed if diagonal is None else pressed / diagonal[::3])
    return -2.0 * system.backend.largest(float(most))[0]


def loaded(system: System, s: State, x: Array) -> LinearTangent:
    """With loads: their K and D come in blocks of the same pattern, or as products."""
    v, parts = system.row_velocities(s), system.at(s)
    K, damping = load_blocks(system, parts, s.t, x, v)
    still = system.backend.every(not K.any())
    total = stiffness(system, parts, x, more=None if still else K)
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
    if not system.backend.every(not D.any()):
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


class Viscosity:
    """Rayleigh damping D = alpha M + beta K0 of a body, K0 its own stiffness at rest.

    K0 is the convex tangent there: a spring that is compressed in the reference shape has negative
    stiffness across, and beta times that would pump energy instead of taking it.  Parts that cannot
    tell theirs apart (potentials, molecules) are refused where it is negative.

    K0 holds the body's elasticity alone.  Contact of the rest shape with a floor, or an attachment
    to a point in space, would brake the body wherever it flies, against the world instead of
    against its own strain.  Stiffness-proportional damping acts on velocity differences: where
    supports move, their velocities count too (a body carried along rigidly feels nothing).

    Bound to one system; the matrix is a constant, assembled once when it is needed.
    """

    def __init__(self, system: Any, damping: Rayleigh) -> None:
        self._system, self._rayleigh = system, damping
        self._matrix: SparseOperator | None = None
        self._own = system.assembly.own()  # springs that yield keep their K0

    def beside_varying_stiffness(self) -> Rayleigh | BaseOperator:
        """K0 and K(x) do not commute: only alpha M stays Rayleigh damping."""
        return self._rayleigh if self._rayleigh.beta == 0.0 else self.operator()

    def beside(self, assembly: Assembly) -> Rayleigh | BaseOperator:
        """Where the stiffness is K0, constant, this is Rayleigh damping proper; attachments and
        compressed springs make it another."""
        own = assembly.own() is assembly and (self._rayleigh.beta == 0.0 or not self._compressed)
        return self._rayleigh if own else self.beside_varying_stiffness()

    @cached_property
    def _blocks(self) -> tuple[Array, bool]:
        """The convex blocks of K0, and whether that went for every part."""
        return self._own.convex_blocks(self._system.reference(), self._system.pattern)

    @cached_property
    def _compressed(self) -> bool:
        """Something has negative stiffness in the reference shape, which K0 leaves out."""
        exact, _ = self._own.blocks(self._system.reference(), self._system.pattern)
        left_out, size = (np.abs(b).max(axis=(1, 2)) for b in (self._blocks[0] - exact, exact))
        return not self._system.backend.every(not np.any(left_out > COMPRESSED * size))

    def operator(self) -> SparseOperator:
        """D over the free coordinates."""
        if self._matrix is None:
            mass: Any = self._system.mass
            D = self._rayleigh.alpha * mass.matrix()
            if self._rayleigh.beta:
                D = D + self._rayleigh.beta * self._stiffness()
            self._matrix = SparseOperator(D, mass, constant=True)
        return self._matrix

    def _stiffness(self) -> Any:
        """K0, SciPy sparse."""
        body, (blocks, sure) = self._system, self._blocks
        parts = [
            block_operator(body.pattern, blocks, body.mass),
            *matrix_free(body, self._own, body.reference()),
        ]
        K0 = sum(part.tosparse() for part in parts)  # type: ignore[attr-defined]  # both have it
        if not sure:
            remedy = "give alpha or Dashpots instead, or a rest shape in a minimum of its energy"
            require_passive(f"damping beta = {self._rayleigh.beta:g}", K0, remedy)
        if self._system.supports and self._compressed:
            raise InputError(
                "damping beta with supports that move needs a rest shape without compression: "
                "give rest=, or Dashpots instead of beta"
            )
        return K0

    def pairs(self) -> tuple[np.ndarray, Array]:
        """beta K0 for what takes many steps at once: edges (m, 2) by row, also to particles that
        are held or led, and blocks (m, 3, 3) [N s/m], by which v_2 - v_1 pulls the first.

        A shift of the whole body strains nothing: rows of K0 sum to zero."""
        system, reference = self._system, self._system.reference()
        numbering = system.numbering
        if not system.fixed.size:
            pattern, blocks, rows = system.pattern, self._blocks[0], np.arange(len(reference))
        else:  # no matrix has what is not free: those of the same body with all of it free
            made = zip(system.given.parts, system._prepared.parts, strict=True)
            own = [part for part, (_, p) in made if not getattr(p, "external", False)]
            whole = type(system)(system.given.mass, own, rest=system.given.rest)
            pattern, rows = whole.pattern, numbering.rows
            blocks, _ = whole.assembly.convex_blocks(numbering.given(reference), pattern)
        near = np.repeat(np.arange(len(rows)), np.diff(pattern.indptr))
        used = np.flatnonzero((near < pattern.indices) & blocks.any(axis=(1, 2)))
        edges = rows[np.stack([near[used], pattern.indices[used]], axis=1)]
        return edges, -self._rayleigh.beta * blocks[used]

    def force(self, s: State) -> Array:
        """D v, with what moving supports add."""
        alpha, beta = self._rayleigh.alpha, self._rayleigh.beta
        if beta == 0.0:
            return alpha * self._system.mass.apply(s.v)
        f = self.operator().K @ s.v
        if self._system.supports:
            led = self._at_rest(self._system.support_velocities(s.t))
            f = f + beta * led.ravel()[: s.v.size]
        return f

    def _at_rest(self, v: Array) -> Array:
        """K0 v over all particles (N, 3): a difference of gradients, since no matrix has it."""
        return directional_derivative(self._own.gradient, self._system.reference(), v)

    def power(self, s: State) -> Power:
        alpha, beta = self._rayleigh.alpha, self._rayleigh.beta
        if beta == 0.0 or not self._system.supports:
            taken = dot(self._system.backend, s.v, self.force(s))
            return Power(dissipated=max(0.0, taken))  # but for rounding it is
        v, led = self._system.row_velocities(s), self._system.support_velocities(s.t)
        viscous = beta * self._at_rest(v)
        drag = alpha * float(self._system.mass.dot(s.v, s.v))
        taken = max(0.0, float(np.vdot(viscous, v)))
        return Power(added=float(np.vdot(viscous, led)), dissipated=drag + taken)
