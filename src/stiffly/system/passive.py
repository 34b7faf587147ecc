"""Damping that only ever takes: v^T D v >= 0 for every v, or the user hears of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import InputError
from ..solvers.failures import FactorisationError
from ..solvers.linear import factorise

ROUNDING = 1e-10  # of a diagonal entry: a lower negative eigenvalue is no pump but rounding


def require_passive(name: str, D: Any, remedy: str) -> None:
    """InputError unless the symmetric part of D (array or SciPy sparse) is positive semidefinite.

    Scaled to a unit diagonal, so that soft parts are judged beside stiff ones.
    """
    symmetric = 0.5 * (D + D.T)
    diagonal = np.asarray(symmetric.diagonal(), dtype=np.float64)
    if np.any(diagonal < 0.0) or not _semidefinite(symmetric, diagonal):
        raise InputError(f"{name} pumps: v.D v < 0 for some velocities v; {remedy}")


def _semidefinite(D: Any, diagonal: Any) -> bool:
    scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    if sp.issparse(D):
        unit = sp.csr_matrix(sp.diags(scale) @ D @ sp.diags(scale))
        off = np.asarray(abs(unit).sum(axis=1)).ravel() - unit.diagonal()
        unit = unit + ROUNDING * sp.identity(len(diagonal))
    else:
        unit = scale[:, None] * D * scale
        off = np.abs(unit).sum(axis=1) - unit.diagonal()
        unit = unit + ROUNDING * np.eye(len(diagonal))
    if np.any(off[diagonal == 0.0] > 0.0):
        return False
    if np.all(off <= 1.0):  # by Gershgorin's discs
        return True
    try:
        factorise(sp.csc_matrix(unit) if sp.issparse(unit) else unit)
    except FactorisationError:
        return False
    return True
