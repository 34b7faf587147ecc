"""SciPy's own driver with an exponential Rosenbrock method: the Brusselator with diffusion.

python examples/stiff_ode_with_scipy.py
"""

import numpy as np
import scipy.sparse as sp
from scipy.integrate import solve_ivp

import stiffly.scipy

n = 100
spacing = 1.0 / (n + 1)
grid = np.linspace(spacing, 1.0 - spacing, n)
laplace = 0.02 * sp.diags([1.0, -2.0, 1.0], [-1, 0, 1], shape=(n, n)) / spacing**2
edge = np.zeros(n)
edge[[0, -1]] = 0.02 / spacing**2


def f(t, y):
    u, w = y[:n], y[n:]
    react = u * u * w
    return np.concatenate(
        [1.0 + react - 4.0 * u + laplace @ u + edge, 3.0 * u - react + laplace @ w + 3.0 * edge]
    )


def jacobian(t, y):
    u, w = y[:n], y[n:]
    uw, uu = sp.diags(2.0 * u * w), sp.diags(u * u)
    eye = sp.identity(n)
    return sp.bmat([[uw - 4.0 * eye + laplace, uu], [3.0 * eye - uw, laplace - uu]]).tocsr()


y0 = np.concatenate([1.0 + np.sin(2.0 * np.pi * grid), np.full(n, 3.0)])
options = {"rtol": 1e-5, "atol": 1e-7, "jac": jacobian}
ours = solve_ivp(f, (0, 10), y0, method=stiffly.scipy.ExponentialRosenbrock, **options)
exact = solve_ivp(f, (0, 10), y0, method="Radau", rtol=1e-10, atol=1e-12, jac=jacobian)
error = np.abs(ours.y[:, -1] - exact.y[:, -1]).max()
print(f"{ours.t.size - 1} steps, error {error:.1e} at t = 10 (asked for 1e-5)")
assert error < 1e-4
