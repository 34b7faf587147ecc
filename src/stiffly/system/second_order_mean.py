"""What implicit methods ask of M x'' + D x' + A x = g(t, x): mean forces, and a constant matrix.

The stiffness A is quadratic, so its force at the middle does the right work.  The force of a user's
potential U is corrected as in discrete_gradient.py (Gonzalez 1996), for the body as a whole,

    F = g(xm) + c dx,   c |dx|^2 = U(x0) - U(x1) - g(xm).dx

and where g depends on time too, what is not -grad U of it acts as at the middle of the step: grad U
along dx is then a difference of U, good to ten digits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..contracts import Array, State
from ..errors import InputError
from ..parts.user_functions import directional_derivative
from .discrete_gradient import gap_correction
from .implicit import middle
from .tangent import LinearTangent

if TYPE_CHECKING:
    from .second_order import SecondOrder


def mean_force(system: SecondOrder, s0: State, s1: State) -> Array:
    """F (n,) with F.(x1 - x0) = E(x0) - E(x1), save for the work of damping and forcing."""
    centre = middle(s0, s1)
    f = system.force(centre)
    U: Any = system._potential
    if U is None:
        if not system.energetic:
            raise InputError(
                "energy-momentum needs the potential: give SecondOrder(..., potential=U)"
            )
        return f
    dx = s1.x - s0.x
    if system.time_dependent:
        slope = float(directional_derivative(U, centre.x, dx))
    else:
        slope = -float(np.dot(system._g(centre.t, centre.x), dx))  # type: ignore[misc]  # not None
    return f - gap_correction(slope, float(U(s0.x)), float(U(s1.x)), dx)


class HalfTangent(LinearTangent):
    """Derivative by the second state of a force taken at the middle: half of everything.

    The correction for the potential is left out: it is of first order in x1 - x0.
    """

    def matrix(self, m: float, k: float, d: float) -> Any:
        return super().matrix(m, 0.5 * k, 0.5 * d)


def mean_tangent(system: SecondOrder, s0: State, s1: State) -> HalfTangent:
    """K = -dF/dx1, D = -dF/dv1."""
    t = system.tangent(middle(s0, s1))
    return HalfTangent(t.stiffness, t.damping, t.constant and t.symmetric, t.constant)


def global_matrix(system: SecondOrder, alpha: float, beta: float) -> sp.csc_matrix:
    """M + alpha A + beta D (n, n): a local/global solver takes g for soft beside the stiffness."""
    if system._A is None:
        raise InputError(
            "force has no local step: give the stiff linear part as stiffness=A, or use "
            "energy-momentum or stabilised"
        )
    return sp.csc_matrix(system.linear_part().tangent.matrix(1.0, alpha, beta))
