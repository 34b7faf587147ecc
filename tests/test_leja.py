"""The rival by Leja points (benchmarks/leja.py) against dense exponentials."""

import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import expm

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import leja

N = 24


def swings(stiffness: float) -> tuple[np.ndarray, float]:
    """M = ((0, omega I), (-A / omega, 0)) with eigenvalues +-i sqrt(lambda), up to i omega."""
    Q, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((N, N)))
    A = (Q * np.geomspace(1.0, stiffness, N)) @ Q.T
    omega = float(np.sqrt(stiffness))
    return np.block([[np.zeros((N, N)), omega * np.eye(N)], [-A / omega, np.zeros((N, N))]]), omega


@pytest.mark.parametrize("tolerance", [1e-4, 1e-8])
@pytest.mark.parametrize("reach", [0.5, 8.0, 50.0, 300.0])
def test_exp_is_that_of_dense_algebra(reach, tolerance):
    M, omega = swings(1e4)
    M *= reach / omega
    v = np.random.default_rng(1).standard_normal(2 * N)
    exact = expm(M) @ v
    found = leja.exp_leja(sp.csr_matrix(M), v, reach, tolerance)
    assert np.linalg.norm(found.value - exact) <= 20.0 * tolerance * np.linalg.norm(exact)
    assert found.products <= 1.6 * reach + 60.0  # one for each radian, and some for the digits


def test_phi_1_solves_for_the_integral():
    M, omega = swings(400.0)
    u = np.random.default_rng(2).standard_normal(2 * N)
    h = 15.0 / omega
    found = leja.phi_leja(M, h, u, omega, 1e-10)
    exact = np.linalg.solve(h * M, (expm(h * M) - np.eye(2 * N)) @ u)
    assert np.linalg.norm(found.value - exact) <= 1e-8 * np.linalg.norm(exact)


def test_points_are_those_that_leja_chose():
    """Each lies where the product of the distances to all before is largest: the end first, then
    the maximum of y |4 - y^2| at 2 / sqrt(3)."""
    y = leja.leja_pairs(40)
    assert y[0] == 2.0 and y[1] == pytest.approx(2.0 / np.sqrt(3.0), abs=1e-3)
    assert len(set(y)) == 40 and y.min() > 0.0
    d = leja.differences(5.0, 40)
    assert abs(d[2::2].imag).max() < 1e-12 and abs(d[-10:]).max() < 1e-12


def test_too_narrow_an_interval_is_told():
    M, omega = swings(1e4)
    with pytest.raises(ArithmeticError, match="wider interval"):
        leja.exp_leja(M * (300.0 / omega), np.ones(2 * N), 30.0, 1e-8)
