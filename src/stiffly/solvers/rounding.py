"""How well a residual can be known: forces are evaluated at coordinates of sixteen digits.

r(d) = M d - alpha force(origin + d, ...) keeps all digits of d, but the force sees origin + d,
whose last digits are rounding.  What that does to r is, component by component, about

    noise = eps |alpha K + beta D| |origin + d|

with the absolute values of the entries.  It says nothing about M d: however small an update is
against the coordinates, the velocities need it, so it is always taken.  Component by component: a
particle far out is no excuse for the others.
"""

from __future__ import annotations

import numpy as np

from ..backends.sums import norms
from ..contracts import Array, Backend
from .equation import Linearisation
from .kept import Kept
from .linear import absolute_product

EPS = 2.0**-52
SLACK = 64.0  # several roundings in a row, of elements that share a particle
ROUNDING = SLACK * EPS  # below ROUNDING |x| an update changes nothing but the last digits of x
FAINT = 1e-3  # largest relative residual of an end that only the size of its update explains


def noise(tangent: Linearisation, x: Array) -> Array:
    """(n,): what rounding the coordinates x (n,) does to each component of r."""
    return EPS * absolute_product(tangent.matrix(-1.0), x)


def hopeless(r: float, kept: Kept, x: Array, goal: float, backend: Backend) -> bool:
    """Noise cannot explain |r| = r: a bound that saves its computation far from rounding level.

    | |J| |x| | is at most the Frobenius norm of J times |x|; twice that where a negative stiffness
    nearly cancels the mass on the diagonal.
    """
    (far,) = norms(backend, x)
    return r - 2.0 * ROUNDING * kept.size * far > goal


def beyond(r: Array, noise: Array, backend: Backend) -> float:
    """|r| as far as the noise does not explain it."""
    return norms(backend, np.maximum(np.abs(r) - noise, 0.0))[0]


def relative(size: float, scale: float) -> float:
    """|r| / scale.  Without a scale nothing has moved, and r is the whole force: all is missing."""
    if scale > 0.0:
        return size / scale
    return 0.0 if size == 0.0 else 1.0
