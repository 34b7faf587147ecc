"""The stiff Fermi-Pasta-Ulam-Tsingou chain: soft quartic springs alternate with stiff linear ones.

    x'' + A x = -grad U(x),   A = diag(1, ..., 1, omega^2, ..., omega^2)   (m of each)
    U = 1/4 sum_(j=0)^m d_j^4,   d_0 = x_(0,1) - x_(1,1),   d_m = x_(0,m) + x_(1,m),
    d_j = x_(0,j+1) - x_(1,j+1) - x_(0,j) - x_(1,j)   for j = 1, ..., m - 1

x_(0,j) is the position of the j-th stiff spring, x_(1,j) its elongation; x = (x_0, x_1), 2m
coordinates, unit masses, no units.  Luan & Michels (2021), Sec. 5.1, whose sum in Eq. 5.3 must end
at m - 1: only then is the energy of the start 2.500300005 for m = 3, omega = 100.  Unlike in
Hairer, Lubich & Wanner's chain, A has a unit block for the soft part too.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ..bodies import SecondOrder
from .builder import Setup, positive, scene, whole

SUMMARY = "chain of 3 stiff and 4 soft springs, omega = 100: orders and energy of every method"
SOURCE = "Luan & Michels 2021, Sec. 5.1, Figs. 1-4"
SHOWS = "every method keeps its order; exprb42 keeps the energy at steps where RK4 cannot"
SMALL = {"duration": 2.0}
RUN = {"step": 0.01, "duration": 100.0}
PAPER = {"step": 0.01, "duration": 100.0, "integrator": "exprb42"}
PAPER_HOLDS = "holds: exprb42 keeps the energy where RK4 cannot"


@njit(cache=True)
def _elongations(x):
    """d (m + 1,): by how much every soft spring is stretched."""
    m = x.size // 2
    d = np.empty(m + 1)
    d[0] = x[0] - x[m]
    for j in range(1, m):
        d[j] = x[j] - x[m + j] - x[j - 1] - x[m + j - 1]
    d[m] = x[m - 1] + x[2 * m - 1]
    return d


@njit(cache=True)
def potential(x):
    """U(x)."""
    d = _elongations(x)
    return 0.25 * np.sum(d**4)


@njit(cache=True)
def force(x):
    """-grad U (2m,): spring j pulls on the right end of x_j and on the left end of x_(j+1)."""
    m = x.size // 2
    d = _elongations(x)
    g = np.empty(2 * m)
    for j in range(m):
        left, right = d[j] ** 3, d[j + 1] ** 3
        if j == m - 1:
            right = -right  # the last spring is stretched by +x_m, every other one by -x_j
        g[j] = right - left
        g[m + j] = right + left
    return g


@njit(cache=True)
def jacobian(x):
    """-Hess U (2m, 2m) = -sum_j 3 d_j^2 (grad d_j)(grad d_j)^T."""
    m = x.size // 2
    d = _elongations(x)
    J = np.zeros((2 * m, 2 * m))
    for j in range(m + 1):
        slope = np.zeros(2 * m)  # grad d_j
        if j < m:  # left end of the stiff spring j + 1
            slope[j], slope[m + j] = 1.0, -1.0
        if j > 0:  # right end of the stiff spring j
            slope[j - 1] = slope[m + j - 1] = 1.0 if j == m else -1.0
        J -= 3.0 * d[j] ** 2 * np.outer(slope, slope)
    return J


@scene
def fput(
    m: int = whole(3, "stiff springs", least=1),
    omega: float = positive(100.0, "their frequency [1/s]"),
) -> Setup:
    """The first stiff spring starts stretched and moving."""
    A = np.diag(np.repeat([1.0, float(omega) ** 2], m))
    x0, v0 = np.zeros(2 * m), np.zeros(2 * m)
    x0[0] = v0[0] = v0[m] = 1.0
    x0[m] = 1.0 / omega
    system = SecondOrder(stiffness=A, force=force, jacobian=jacobian, potential=potential)
    return Setup(system, x0, v0)
