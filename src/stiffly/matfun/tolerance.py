"""One meaning of 'tolerance' for every evaluator.

Output j is good when |error_j| <= tol * scale_j.  The scale is |output_j| unless the caller gives
a larger one (a correction need not be more accurate than what it corrects).  Where an output
nearly cancels, no method can do better than rounding of what was summed, so the scale never falls
below ROUNDING / tol times sum_i sup|f_ji| |b_i|.
"""

from __future__ import annotations

from math import inf

import numpy as np

from ..arrays import real_number
from ..contracts import Array, SpectralMap
from ..errors import InputError, NotConverged

EPS = float(np.finfo(float).eps)
ROUNDING = 1e-13
TOL_MIN = 1e-13
LOST = 1e-3  # where rounding of a general J spoils more than this of a step, it is refused
SPREAD = 4.0  # eps |A|: backward error of an eigensolver or a recurrence


def check_tol(tol: float) -> None:
    tol = real_number("tolerance", tol, "1e-6 is a good start")
    if TOL_MIN <= tol < inf:
        return
    if not (np.isfinite(tol) and tol > 0.0):
        raise InputError(f"tolerance must be a positive number, got {tol}: 1e-6 is a good start")
    raise InputError(
        f"tolerance {tol:g} is below what double precision can promise: ask for >= {TOL_MIN:g}"
    )


def lengths(y: Array) -> Array:
    """2-norms along the last axis: of coefficients, which are few and on the host."""
    return np.sqrt((y * y).sum(axis=-1))


def allowed_error(tol: float, norms: Array, sums: Array, scale: Array | None) -> Array:
    """Largest error each output may have. sums_j = sum_i sup|f_ji| |b_i|."""
    reference = norms if scale is None else np.maximum(norms, scale)
    return np.maximum(tol * reference, ROUNDING * sums)


def relative_error(errors: Array, allowed: Array, tol: float) -> float:
    """Largest estimated error in units of the output's scale."""
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(errors > 0.0, errors / allowed, 0.0)
    return float(tol * ratio.max()) if ratio.size else 0.0


def extrapolated(recent: Array, earlier: Array, noise: Array) -> Array:
    """Error left after a change `recent` that followed a change `earlier` over as many vectors.

    A Krylov basis that crawls (a spectrum spread over many decades) changes little per vector
    and is far from done, so the rate counts: a geometric series with that rate, times 4 to be safe.
    Changes below `noise` are rounding: they have no rate.
    """
    rate = recent / np.maximum(earlier, 1e-300)
    with np.errstate(divide="ignore"):
        rest = np.where(rate < 1.0, 4.0 * rate / np.maximum(1.0 - rate, 1e-300), np.inf)
    return np.where(recent <= noise, recent, recent * np.maximum(rest, 1.0))


def conditioning(functions: SpectralMap, top: float) -> float:
    """Error that rounding of A itself causes: eps |A| moves tau^2 lam by eps tau^2 |A|, and no
    Stumpff function is steeper than 1/2.  Reported, since no evaluator can do anything about it."""
    tau = getattr(functions, "longest", 0.0)
    return 0.5 * EPS * tau * tau * top


def rounding_errors(functions: SpectralMap, lam: Array, norms: Array) -> tuple[Array, Array]:
    """Errors (n_out,) that rounding of A causes, and sums_j = sum_i sup|f_ji| |b_i| (lam >= 0).

    lam (m,): the spectrum, or a sample of it; a backward stable method works with
    lam + SPREAD eps |A|.
    """
    shift = SPREAD * EPS * float(np.abs(lam).max(initial=0.0))
    with np.errstate(all="ignore"):
        values = functions(lam)
        moved = np.maximum(*(np.abs(functions(lam + s) - values) for s in (shift, -shift)))
    require_finite(moved)
    sup, grown = (np.abs(values[:, :, own]).max(axis=2, initial=0.0) for own in (lam >= 0, lam < 0))
    # rounding of b holds what grows, though b may not
    return (moved.max(axis=2, initial=0.0) + SPREAD * EPS * grown) @ norms, sup @ norms


class Overflows(NotConverged):
    """The functions are larger than any floating-point number."""


def lost_to_rounding(error: float) -> NotConverged:
    return NotConverged(
        f"rounding of the operator's own entries is an error of {error:.1e} at this h omega: take "
        "a smaller step or loosen tol"
    )


def require_finite(*arrays: Array) -> None:
    """Functions of an indefinite A grow exponentially: an overflow is a failure with a name."""
    if not all(np.all(np.isfinite(a)) for a in arrays):
        raise overflows()


def overflows() -> Overflows:
    return Overflows(
        "the functions overflow: the tangent is strongly indefinite for this step, or holds "
        "NaN; try a smaller step"
    )
