"""Diagonal balancing D^-1 J D of a general J: from its entries, or from a few products.

On [[0, I], [-A, 0]] a raw Krylov basis mixes numbers that differ by omega^2 and loses its digits
without a sign of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from ..backends.cpu import CPU
from ..backends.sums import norms
from ..contracts import Array


def balance_of(J: Any) -> tuple[Array, int]:
    """(d, products): d > 0 evens out rows and columns of D^-1 J D, at that many products of J.

    Osborne's iteration on all coordinates at once (hence the damped exponent): with the entries
    of J where there are any, with random vectors where only products are known (Chen & Demmel
    2000).  Powers of four: scaling is exact, and noisy estimates of one number mostly agree.
    """
    n, products = J.shape[0], 0
    d = np.ones(n)
    if isinstance(J, LinearOperator):
        probes = np.random.default_rng(20).standard_normal((2, 3, n))
        products = _balance_by_products(J, probes, d)
    else:
        size = abs(J)
        size = size - (sp.diags(size.diagonal()) if sp.issparse(J) else np.diag(size.diagonal()))
        transposed = size.T.tocsr() if sp.issparse(J) else size.T
        for _ in range(12):
            if _even_out(d, (size @ d) / d, (transposed @ (1.0 / d)) * d, 0.25):
                break
    return np.exp2(2.0 * np.rint(0.5 * np.log2(d))), products


def _balance_by_products(J: LinearOperator, probes: Array, d: Array) -> int:
    """Without J^T only rows can be evened out; kept only where that makes J clearly smaller."""
    count, sizes, two_sided = 0, [], True
    for batch in probes:
        rows = _rms([J.matvec(d * z) / d for z in batch])
        sizes += norms(CPU, rows)
        count += len(batch)
        try:
            columns = _rms([J.rmatvec(z / d) * d for z in batch]) if two_sided else None
        except (NotImplementedError, TypeError, AttributeError):
            two_sided, columns = False, None
        if columns is not None:
            count += len(batch)
            _even_out(d, rows, columns, 0.25)
        elif len(sizes) < len(probes) and rows.any():
            middle = np.exp(np.log(rows[rows > 0.0]).mean())
            _even_out(d, rows, np.full_like(rows, middle), 0.5)
    if not two_sided and not sizes[-1] < 0.5 * sizes[0]:
        d[:] = 1.0
    return count


def _rms(vectors: list[Array]) -> Array:
    return np.sqrt(np.mean(np.square(vectors), axis=0))


def _even_out(d: Array, rows: Array, columns: Array, power: float) -> bool:
    """Move d one step; True where that hardly changed it."""
    alive = (rows > 0.0) & (columns > 0.0)
    ratio = rows[alive] / columns[alive]
    d[alive] *= ratio**power
    return bool(np.all((ratio > 0.5) & (ratio < 2.0)))
