"""f(A) b through eigenbases: of the whole (the reference, the precomputed path, small systems), or
body by body, where A falls apart into independent bodies (hair, brushes, molecules).

Every body up to a few hundred coordinates gets its own eigenbasis, all of them in one threaded
kernel; larger ones share an iteration over their own coordinates.  At large steps (h omega beyond
about 100 for 48 coordinates) a polynomial method needs more products than a body has coordinates,
and one basis for all bodies has to find the eigenvalues of all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite, sqrt
from typing import Any

import numpy as np

from ..contracts import Action, Array, SpectralMap
from ..errors import InputError
from . import cost
from .components import Batch, Layout
from .masses import UnitMass
from .operators import BaseOperator, BlockOperator, SparseOperator
from .scalar import StumpffMap
from .tolerance import EPS, conditioning, require_finite
from .untyped import sp

BODY = 300  # coordinates of a body that is still diagonalised at every step
CONSTANT_BODY = 1000  # ... once, because its stiffness never changes


def rounding_error(size: int) -> float:
    """What is left of the error once the eigenbasis is exact: rounding, growing with size."""
    return EPS * max(10.0, sqrt(size))


def dense(
    A: BaseOperator,
    functions: SpectralMap,
    columns: Sequence[Array],
    *,
    tol: float,
    scale: Array | None = None,
    max_products: int | None = None,
) -> Action:
    """Every output by A = U lam W. Cost n^3 once per operator, n^2 per call, no products."""
    B = np.array(columns)
    if A.size <= cost.SMALL and isinstance(functions, StumpffMap):
        value, lam = _compiled(A, functions, B)
    else:
        basis = A.core.eigenbasis()
        lam = basis[0]
        with np.errstate(all="ignore"):  # an overflow is named below
            value = _through(basis, functions(lam), B)
    low, top = (float(lam[0]), float(lam[-1])) if lam.size else (0.0, 0.0)
    error = max(rounding_error(A.size), conditioning(functions, max(-low, top)))
    if not isfinite(value.sum()):  # cheaper than looking at every entry
        require_finite(value)
    alike = "" if A.core is A else ", x, y and z alike"
    return Action(value, error, 0, f"dense eigenbasis{alike}")


def _through(basis: tuple[Array, Array, Array], F: Array, B: Array) -> Array:
    """sum_i U f_ji(lam) W b_i: F (n_out, n_in, m), B (n_in, n); of x, y and z each where n = 3m."""
    _, U, W = basis
    m = len(U)
    columns = B.reshape(len(B), m, -1).transpose(0, 2, 1)
    modes = (columns.reshape(-1, m) @ W.T).reshape(columns.shape)
    rows = np.einsum("jim,icm->jcm", F, modes)
    value = (rows.reshape(-1, m) @ U.T).reshape(rows.shape)
    return value.transpose(0, 2, 1).reshape(len(F), -1)


def _compiled(A: BaseOperator, functions: StumpffMap, B: Array) -> tuple[Array, Array]:
    """Values and eigenvalues in one call, which beats four of NumPy: a handful of coordinates take
    a few microseconds, so that every layer of Python shows."""
    known = A.__dict__.get("_eigenbasis")
    if known is None and A.unit_mass:
        call = A.kernels.stumpff_eigh_apply
        value, lam, vectors = call(A.todense(), *functions.arrays, functions.n_out, B)
        A.__dict__["_eigenbasis"] = lam, vectors, vectors.T
        return value, lam
    lam, U, W = known or A.eigenbasis()
    return A.kernels.stumpff_apply(U, W, lam, *functions.arrays, functions.n_out, B), lam


def matrix_of(A: BaseOperator) -> tuple[Array, Array, Array] | None:
    """indptr, indices and blocks (nnz, d, d) of K, where it is assembled."""
    if isinstance(A, BlockOperator):
        return A.indptr, A.indices, A.blocks
    if isinstance(A, SparseOperator):
        return A.K.indptr, A.K.indices, A.K.data.reshape(-1, 1, 1)
    return None


def layout_of(A: BaseOperator) -> Layout | None:
    """How the bodies of A are laid out; None where A is one body, as far as is known."""
    bodies = A.bodies
    matrix = None if bodies is None or A.lumped is None else matrix_of(A)
    if matrix is None or bodies is None:
        return None
    indptr, indices, blocks = matrix
    limit = CONSTANT_BODY if A.constant else BODY
    return bodies.layout(indptr, indices, blocks.shape[1], limit)


def body_by_body(A: BaseOperator, functions: SpectralMap) -> bool:
    """Whether there are independent bodies and eigenbases of them cost less than an iteration."""
    layout = layout_of(A)
    matrix = None if layout is None else matrix_of(A)
    if layout is None or matrix is None or layout.count == 0:
        return False
    if "eigenbases" in A.cache:
        return True
    entries = matrix[2]
    share = 1.0 if layout.rest is None else 1.0 - layout.rest.slots.size / len(entries)
    here = np.array([share * cost.entry_cost(A), layout.cube])
    entry, cube = A.backend.sums(here).tolist()  # of all ranks: one decision
    product = cost.CALL + entry
    each = cube / cost.evaluations(A)
    if each <= product * cost.products(0.0):
        return True
    # lam_max within a factor of a few is good enough here: twice the largest entry
    top = 2.0 * max(float(entries.max(initial=0.0)), -float(entries.min(initial=0.0)))
    assert A.lumped is not None  # since there is a layout
    top, lightest = A.backend.largest(top, -float(A.lumped.min()))
    phase = getattr(functions, "longest", 0.0) * sqrt(top / -lightest)
    return each <= product * cost.products(phase)


class _Eigenbases:
    """lam and Q of a batch of bodies, as the kernel body_eigenbases lays them out."""

    def __init__(self, A: BaseOperator, batch: Batch, place: Array) -> None:
        matrix = matrix_of(A)
        assert matrix is not None and A.lumped is not None  # since there is a layout
        width = matrix[2].shape[1]
        self.kernels = A.kernels
        self.batch, self.root = batch, np.sqrt(A.lumped).reshape(-1, width)
        self.lam, self.Q = np.empty(width * batch.members.size), np.empty(batch.entries)
        where = batch.start, batch.members, place, batch.first
        self.kernels.body_eigenbases(*matrix, self.root, *where, self.lam, self.Q)
        require_finite(self.lam)
        self.top = float(np.abs(self.lam).max())

    def apply(self, functions: SpectralMap, B: Array, out: Array) -> None:
        """Fills the rows of all bodies in out (n_out, n)."""
        width, batch = self.root.shape[1], self.batch
        basis = self.root, batch.start, batch.members, batch.first, self.Q
        columns = B.reshape(len(B), -1, width), out.reshape(len(out), -1, width)
        if isinstance(functions, StumpffMap):
            self.kernels.body_stumpff_apply(functions.arrays, self.lam, *basis, *columns)
        else:
            self.kernels.body_apply(functions(self.lam), *basis, *columns)


def _eigenbases(A: BaseOperator, layout: Layout) -> Iterator[_Eigenbases]:
    """Batch by batch; the first is kept with A, the others would take too much memory."""
    if layout.batches and "eigenbases" not in A.cache:
        A.cache["eigenbases"] = _Eigenbases(A, layout.batches[0], layout.place)
    for index, batch in enumerate(layout.batches):
        yield _Eigenbases(A, batch, layout.place) if index else A.cache["eigenbases"]


def _rest_operator(A: BaseOperator, layout: Layout) -> tuple[Any, Array]:
    """A restricted to the bodies that are too large, and their coordinates (m,)."""
    rest = layout.rest
    assert rest is not None
    width = 3 if isinstance(A, BlockOperator) else 1
    own = (width * rest.rows[:, None] + np.arange(width)).ravel()
    mass: Any = A.mass
    mass = UnitMass(own.size) if A.unit_mass else type(mass)(mass.diagonal[own])
    where = rest.indptr, rest.indices
    if isinstance(A, BlockOperator):
        known: Any = {"constant": A.constant, "low": A.low, "pairwise": A.pairwise}
        return BlockOperator(*where, A.blocks[rest.slots], mass, **known), own
    assert isinstance(A, SparseOperator)
    K = sp.csr_matrix((A.K.data[rest.slots], *reversed(where)), shape=(own.size, own.size))
    return SparseOperator(K, mass, constant=A.constant, low=A.low), own


def batched(
    A: BaseOperator,
    functions: SpectralMap,
    columns: Sequence[Array],
    *,
    tol: float,
    scale: Array | None = None,
    max_products: int | None = None,
) -> Action:
    """As `dense`, one eigenbasis per independent body; kept with A for the next call."""
    layout = layout_of(A)
    if layout is None:
        raise InputError(_refusal(A))
    B = np.array(columns)
    value = np.empty((functions.n_out, A.size))
    error, products, method = rounding_error(layout.largest), 0, []
    for bases in _eigenbases(A, layout):
        bases.apply(functions, B, value)
        error = max(error, conditioning(functions, bases.top))
    if layout.count:
        method = [f"batched, {layout.count} bodies of at most {layout.largest} coordinates"]
    if layout.rest is not None:
        from .chooser import iterate  # one floor up

        if "rest" not in A.cache:
            A.cache["rest"] = _rest_operator(A, layout)
        larger, own = A.cache["rest"]
        action = iterate(
            larger, functions, list(B[:, own]), tol=tol, scale=scale, max_products=max_products
        )
        value[:, own] = action.value
        error, products = max(error, action.error), action.products
        method.append(f"{own.size} coordinates of larger bodies by {action.method}")
    require_finite(value)
    return Action(value, error, products, "; ".join(method))


def _refusal(A: BaseOperator) -> str:
    if matrix_of(A) is None:
        return "batched needs an assembled matrix: give a sparse or block operator"
    if A.bodies is None:
        return "batched needs independent bodies, this operator is one body: use auto"
    return "batched needs a lumped mass, this one may couple the bodies: use auto"
