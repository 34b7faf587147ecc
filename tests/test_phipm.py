"""phipm_simul_iom2: the sums that it should give, what it costs, and where it is wrong."""

import re

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator
from test_phi_action import phi_sum, rows

from stiffly.errors import InputError, NotConverged
from stiffly.matfun import SecondOrderOperator, phi_action, phipm_simul_iom2

N = 90
TAUS = [0.75, 1.0, 1 / 3]


def heat(n=N, size=1.0):
    """J u = u'' on a row of points; |J| = 4 size."""
    second = sp.diags([np.full(n, -2.0), np.ones(n - 1), np.ones(n - 1)], [0, 1, -1])
    return size * sp.csr_matrix(second)


def oscillators(n, omega):
    K = -0.25 * omega**2 * heat(n)
    return K, sp.bmat([[None, sp.identity(n)], [-K, None]], format="csr")


def vectors(count, n=N, seed=0):
    return list(np.random.default_rng(seed).standard_normal((count, n)))


@pytest.mark.parametrize("h", [1.0, 40.0])
@pytest.mark.parametrize("present", [[0], [1], [0, 1, 2, 3], [3], [1, 3], [2, 5]], ids=str)
def test_sums_at_several_times(present, h):
    given = [v if k in present else 0 * v for k, v in enumerate(vectors(max(present) + 1))]
    asked = [v if k in present else None for k, v in enumerate(given)]
    J = heat()
    action = phipm_simul_iom2(J, h, asked, 1e-8, taus=TAUS)
    for row, exact in zip(action.value, rows(J.toarray(), h, given, TAUS), strict=True):
        assert np.linalg.norm(row - exact) <= 1e-7
    assert action.error <= 1.4e-8  # what it believes: the tolerance, with the excess it accepts


def test_any_kind_of_operator_and_time_backwards():
    J, given = oscillators(N // 2, 9.0)[1], vectors(2)
    exact = phi_sum(J.toarray(), -0.7, given)
    products = LinearOperator(J.shape, matvec=lambda b: J @ b, dtype=float)
    second = SecondOrderOperator(-J[N // 2 :, : N // 2])
    for same in (J, J.toarray(), products, second):
        value = phipm_simul_iom2(same, -0.7, given, 1e-9).value
        assert value == pytest.approx(exact, abs=1e-8)


def test_no_product_with_what_is_zero():
    """phi_3 alone: w_0 = w_1 = w_2 = 0 in the first substep, so w_3 is v_3 for nothing."""
    counted = []
    J = LinearOperator((N, N), matvec=lambda b: counted.append(b.any()) or heat() @ b, dtype=float)
    action = phipm_simul_iom2(J, 1e-3, [None, None, None, vectors(1)[0]], 1e-6, basis=4)
    assert action.products == len(counted) == 4
    assert all(counted)


def test_times_at_once_cost_less_than_one_by_one():
    J, v = heat(400, 300.0), vectors(1, 400)[0]
    taus = [1 / 3, 3 / 4, 1.0]
    together = phipm_simul_iom2(J, 1.0, [None, v], 1e-8, taus=taus).products
    alone = sum(phipm_simul_iom2(J, tau, [None, tau * v], 1e-8).products for tau in taus)
    assert together <= 0.7 * alone


def test_the_basis_grows_and_substeps_shrink_as_needed():
    v = vectors(1, 600)[0]
    easy = phipm_simul_iom2(heat(600), 0.1, [v], 1e-8)
    hard = phipm_simul_iom2(heat(600, 500.0), 1.0, [v], 1e-8)
    assert "1 substep(s), 0 rejected, basis of 10" in easy.method
    substeps, rejected, basis = map(int, re.findall(r"(\d+)[ ,]", hard.method)[:3])
    assert substeps > 1 and rejected > 0 and basis > 10
    exact = phi_action(heat(600, 500.0), 1.0, [v], 1e-10).value
    assert np.linalg.norm(hard.value - exact) <= 1e-7


def test_it_is_wrong_where_phi_action_is_right():
    """Displaced oscillators of frequencies up to 1e4: J u is shorter than an absolute tolerance
    that is 1e-6 of the velocities to come, so the basis ends before it begins."""
    n, omega = 150, 1e4
    K, J = oscillators(n, omega)
    lam, modes = scipy.linalg.eigh(K.toarray())
    w, h, x = np.sqrt(lam), 100.0 / omega, np.random.default_rng(1).standard_normal(n)
    moved = modes @ (np.cos(h * w) * (modes.T @ x)), modes @ (-w * np.sin(h * w) * (modes.T @ x))
    exact, u = np.concatenate(moved), np.concatenate([x, 0 * x])
    size = np.linalg.norm(exact)
    theirs = phipm_simul_iom2(J, h, [u], 1e-6 * size)
    assert np.linalg.norm(theirs.value - exact) >= 10.0 * size
    ours = phi_action(J, h, [u], 1e-6, window=2)
    assert np.linalg.norm(ours.value - exact) <= 1e-6 * size


WRONG = {
    "tolerance of zero": lambda: phipm_simul_iom2(heat(), 1.0, vectors(1), 0.0),
    "step a word": lambda: phipm_simul_iom2(heat(), "h", vectors(1)),
    "not square": lambda: phipm_simul_iom2(np.ones((2, 3)), 1.0, [np.ones(3)]),
    "J a number": lambda: phipm_simul_iom2(3.0, 1.0, vectors(1)),
    "basis too long": lambda: phipm_simul_iom2(heat(), 1.0, vectors(1), basis=101),
    "no window": lambda: phipm_simul_iom2(heat(), 1.0, vectors(1), window=0),
    "no products": lambda: phipm_simul_iom2(heat(), 1.0, vectors(1), max_products=0),
    "no times": lambda: phipm_simul_iom2(heat(), 1.0, vectors(1), taus=[]),
    "short vector": lambda: phipm_simul_iom2(heat(), 1.0, [np.ones(3)]),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_wrong_input_is_named_in_one_line(wrong):
    with pytest.raises(InputError) as caught:
        wrong()
    assert "\n" not in str(caught.value)


def test_limits_and_overflow_have_names():
    with pytest.raises(NotConverged, match="max_products"):
        phipm_simul_iom2(heat(), 100.0, vectors(1), max_products=20)
    with pytest.raises(NotConverged, match="floating-point"):
        phipm_simul_iom2(LinearOperator((N, N), lambda b: np.nan * b), 1.0, vectors(1))


def test_nothing_moves_nothing():
    assert np.array_equal(phipm_simul_iom2(heat(), 1.0, [None, None]).value, np.zeros(N))
    zero = sp.csr_matrix((N, N))
    v = vectors(2)
    assert phipm_simul_iom2(zero, 1.0, v).value == pytest.approx(v[0] + v[1], rel=1e-14)
