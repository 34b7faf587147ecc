"""The linearisation of a body at one state, and the matrices that implicit solvers ask of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..contracts import Rayleigh
from ..matfun.operators import BaseOperator, SparseOperator


class LinearTangent:
    """M^-1 K and M^-1 D at one state (see contracts.Tangent)."""

    __slots__ = ("constant", "damping", "stiffness", "symmetric")

    def __init__(
        self,
        stiffness: BaseOperator,
        damping: BaseOperator | Rayleigh | None,
        symmetric: bool,
        constant: bool,
    ) -> None:
        self.stiffness = stiffness
        self.damping = damping
        self.symmetric = symmetric
        self.constant = constant

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
