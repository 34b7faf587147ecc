"""Why errors grow over many steps: a solver's tolerance, and the method itself; see soak.py."""

import numpy as np
import pytest
from scipy.linalg import expm
from soak import LINKS, STIFFNESS, back, rope, soak

import stiffly
from stiffly.integrators import EnergyMomentum, ShiftedNewton

MASS, LENGTH, G = 0.1, 1.0 / LINKS, 9.81


@pytest.mark.parametrize("tolerance, allowed", [(1e-8, 1e-8), (1e-11, 1e-11), (1e-13, 1e-14)])
def test_energy_momentum_drifts_by_less_than_its_tolerance_a_step(tolerance, allowed):
    """And by rounding alone where the tolerance is that of rounding."""
    method = EnergyMomentum(solver=ShiftedNewton(tolerance=tolerance))
    assert soak(method, 5e-3, 400).largest <= 400 * allowed


def test_rk4_loses_with_the_fifth_power_of_the_step():
    """(h omega)^6/72 of a vibration's energy a step: 2^5 = 32 times less at half the step."""
    first, second = (soak("rk4", h, round(5.0 / h)).last for h in (5e-4, 2.5e-4))
    assert first < second < 0.0 and 20.0 < first / second < 50.0


def test_a_step_back_undoes_verlet_and_does_not_undo_neti():
    assert back("verlet", 1e-3) < 1e-12
    assert back("neti", 1e-3) > 1e-8


def links(x):
    return np.diff(np.vstack([np.zeros(3), x.reshape(-1, 3)]), axis=0)


def acceleration(x):
    d = links(x)
    lengths = np.linalg.norm(d, axis=1, keepdims=True)
    pull = STIFFNESS * (lengths - LENGTH) / lengths * d
    return ((np.vstack([pull[1:], np.zeros(3)]) - pull) / MASS - [0.0, 0.0, G]).ravel()


def jacobian(x):
    """(2n, 2n) of u' = (v, a), u = (x, v); of a by complex steps, exact to rounding."""
    n = x.size
    J = np.zeros((2 * n, 2 * n))
    J[:n, n:] = np.eye(n)
    for k in range(n):
        d = links(x + 1e-30j * np.eye(n)[k])
        lengths = np.sqrt((d * d).sum(axis=1, keepdims=True))
        pull = STIFFNESS * (lengths - LENGTH) / lengths * d
        J[n:, k] = ((np.vstack([pull[1:], np.zeros(3)]) - pull) / MASS).imag.ravel() / 1e-30
    return J


def phi(k, A, b):
    """phi_k(A) b from the exponential of a larger matrix."""
    n = len(b)
    W = np.zeros((n + k, n + k))
    W[:n, :n], W[:n, n] = A, b
    W[range(n, n + k - 1), range(n + 1, n + k)] = 1.0
    return expm(W)[:n, -1]


def test_exprb42_loses_what_the_method_loses():
    """The formulas of the method once more, with SciPy's exponential: the same energy is lost."""
    system, rest = rope()
    h, steps, n = 4e-3, 60, 3 * LINKS
    run = stiffly.simulate(system, rest, integrator="exprb42", step=h, duration=steps * h)
    u = np.concatenate([rest[1:].ravel(), np.zeros(n)])
    slope = lambda u: np.concatenate([u[n:], acceleration(u[:n])])  # noqa: E731
    for _ in range(steps):
        J, f = jacobian(u[:n]), slope(u)
        middle = u + 0.75 * h * phi(1, 0.75 * h * J, f)
        rest_of_it = slope(middle) - f - J @ (middle - u)
        u = u + h * phi(1, h * J, f) + h * 2.0 / 0.75**2 * phi(3, h * J, rest_of_it)
    stretch = np.linalg.norm(links(u[:n]), axis=1) - LENGTH
    stored = 0.5 * STIFFNESS * stretch @ stretch + MASS * G * u[:n].reshape(-1, 3)[:, 2].sum()
    lost = 0.5 * MASS * u[n:] @ u[n:] + stored
    assert run.energy.numerical[-1] < -1e-8
    assert run.energy.numerical[-1] == pytest.approx(lost, rel=1e-5)
