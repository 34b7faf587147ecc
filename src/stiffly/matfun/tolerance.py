"""One meaning of 'tolerance' for every evaluator.

Output j is good when |error_j| <= tol * scale_j.  The scale is |output_j| unless the caller gives
a larger one (a correction need not be more accurate than what it corrects).  Where an output
nearly cancels, no method can do better than rounding of what was summed, so the scale never falls
below ROUNDING / tol times sum_i sup|f_ji| |b_i|.
"""

from __future__ import annotations

import numpy as np

from ..contracts import Array
from ..errors import InputError

ROUNDING = 1e-13
TOL_MIN = 1e-13


def check_tol(tol: float) -> None:
    if not (np.isfinite(tol) and tol > 0.0):
        raise InputError(f"tolerance must be a positive number, got {tol}: 1e-6 is a good start")
    if tol < TOL_MIN:
        raise InputError(
            f"tolerance {tol:g} is below what double precision can promise: ask for >= {TOL_MIN:g}"
        )


def allowed_error(tol: float, norms: Array, sums: Array, scale: Array | None) -> Array:
    """Largest error each output may have. sums_j = sum_i sup|f_ji| |b_i|."""
    reference = norms if scale is None else np.maximum(norms, scale)
    return np.maximum(tol * reference, ROUNDING * sums)


def relative_error(errors: Array, allowed: Array, tol: float) -> float:
    """Largest estimated error in units of the output's scale."""
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(errors > 0.0, errors / allowed, 0.0)
    return float(tol * ratio.max()) if ratio.size else 0.0
