"""phi functions of general operators: asked accuracy met or refused, whatever J looks like."""

from __future__ import annotations

from functools import cache

import mpmath
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.linalg import LinearOperator, aslinearoperator
from thinned import drawn, thinned

from stiffly.errors import InputError, NotConverged
from stiffly.matfun.arnoldi import arnoldi_phi
from stiffly.matfun.augmented import balance_of
from stiffly.matfun.general import dense_phi, general_phi_actions
from stiffly.matfun.scalar import phi, stumpff

N = 80  # oscillators: J is 160 x 160, larger than any basis


def laplacian(n):
    return sp.diags([np.ones(n - 1), -2.0 * np.ones(n), np.ones(n - 1)], [-1, 0, 1]).tocsr()


def second_order(A):
    return sp.bmat([[None, sp.eye(A.shape[0])], [-A, None]]).tocsr()


@cache
def chain(omega):
    """Chain of N oscillators with largest frequency omega, its J, and the eigenvectors of A."""
    A = -laplacian(N)
    A = A * (omega**2 / np.linalg.eigvalsh(A.toarray())[-1])
    lam, U = np.linalg.eigh(A.toarray())
    return lam, U, second_order(A)


def exact_chain(lam, U, tau, vectors):
    """tau^k phi_k(tau J) v_k summed, mode by mode, with Stumpff functions."""
    x, v = np.zeros(N), np.zeros(N)
    for k, vector in enumerate(vectors):
        if vector is None:
            continue
        p, q = U.T @ vector[:N], U.T @ vector[N:]
        c, c_next = stumpff(k, tau**2 * lam), stumpff(k + 1, tau**2 * lam)
        x += tau**k * (c * p + tau * c_next * q)
        v += tau**k * (-tau * lam * c_next * p + c * q)
    return U @ x, U @ v


def augmented(J, tau, vectors):
    """The same sum from one exponential of the augmented matrix, in J's balanced coordinates."""
    d = balance_of(J)[0]
    n, p = J.shape[0], len(vectors) - 1
    M = np.zeros((n + p, n + p))
    M[:n, :n] = (J.toarray() if sp.issparse(J) else J) * d / d[:, None]
    start = np.zeros(n + p)
    start[:n] = 0.0 if vectors[0] is None else vectors[0] / d
    start[n:] = np.eye(p)[0] if p else 0.0
    for k in range(1, p + 1):
        M[:n, n + k - 1] = 0.0 if vectors[k] is None else vectors[k] / d * tau ** (k - 1)
    M[n + 1 :, n:-1] = np.eye(max(p - 1, 0)) / tau
    return (scipy.linalg.expm(tau * M) @ start)[:n] * d


def with_many_digits(J, tau, vectors):
    """The same sum by mpmath, for small J with large growth, where SciPy's expm loses digits."""
    n, p = J.shape[0], len(vectors) - 1
    with mpmath.workdps(40):
        M = mpmath.zeros(n + p, n + p)
        start = mpmath.zeros(n + p, 1)
        for i in range(n):
            start[i] = 0 if vectors[0] is None else mpmath.mpf(vectors[0][i])
            for j in range(n):
                M[i, j] = mpmath.mpf(J[i, j])
            for k in range(1, p + 1):
                M[i, n + k - 1] = 0 if vectors[k] is None else mpmath.mpf(vectors[k][i])
        for k in range(1, p):
            M[n + k, n + k - 1] = 1
        if p:
            start[n] = 1
        result = mpmath.expm(mpmath.mpf(tau) * M) * start
        return np.array([float(result[i]) for i in range(n)])


def relative(value, exact):
    return np.linalg.norm(value - exact) / np.linalg.norm(exact)


def products_only(J):
    return LinearOperator(J.shape, matvec=lambda b: J @ b, dtype=float)


KINDS = {
    "sparse": lambda J: J,
    "dense": lambda J: J.toarray(),
    "operator": aslinearoperator,  # products with J and with its transpose
    "products": products_only,  # products with J alone
}


@pytest.mark.parametrize("kind", thinned(KINDS, keep=("sparse", "products")))
@pytest.mark.parametrize("omega", thinned([1e4, 40.0, 400.0]))
def test_oscillators_meet_the_tolerance_in_both_halves(omega, kind):
    lam, U, J = chain(omega)
    operator = KINDS[kind](J)
    balance = balance_of(operator)[0]
    rng = np.random.default_rng(int(omega))
    for reach in (10.0, 50.0):
        h = reach / omega
        for p in range(5):
            vectors = [rng.standard_normal(2 * N) for _ in range(p + 1)]
            exact = [exact_chain(lam, U, tau, vectors) for tau in (h / 2, h)]
            for tol in (1e-4, 1e-6, 1e-10):
                for window in (None, 2):
                    actions = general_phi_actions(
                        operator, (h / 2, h), vectors, tol, balance=balance, window=window
                    )
                    for action, (x, v) in zip(actions, exact, strict=True):
                        assert relative(action.value[:N], x) <= tol, (reach, p, tol, window)
                        assert relative(action.value[N:], v) <= tol, (reach, p, tol, window)
                        assert action.error <= tol
                        assert action.products <= 2 * reach + 70


def test_product_counts_at_omega_1e4():
    """Near the optimum for a polynomial method: h omega plus a few."""
    _, _, J = chain(1e4)
    vectors = [None, np.random.default_rng(0).standard_normal(2 * N)]
    for reach, most in ((10.0, 30), (50.0, 85)):
        action = general_phi_actions(J, [reach / 1e4], vectors, 1e-6)[0]
        assert action.products <= most, (reach, action)


@pytest.mark.parametrize("omega", [40.0, 400.0, 1e4])
@pytest.mark.parametrize("window", [None, 2])
def test_without_balance_it_is_right_or_refuses(omega, window):
    """The trap: on the raw J an incomplete basis used to report convergence and return garbage."""
    lam, U, J = chain(omega)
    vectors = [np.random.default_rng(1).standard_normal(2 * N)]
    for reach in (10.0, 50.0):
        h = reach / omega
        x, v = exact_chain(lam, U, h, vectors)
        for tol in (1e-4, 1e-10):
            try:
                options = {"tol": tol, "balance": np.ones(2 * N), "window": window}
                action = arnoldi_phi(J.__matmul__, 2 * N, [h], vectors, **options)[0]
            except NotConverged:
                continue
            assert relative(action.value, np.concatenate([x, v])) <= tol
            if window is not None:
                assert "lost orthogonality" in action.method


def general_cases():
    n = 90
    L, D = laplacian(n), sp.diags([-np.ones(n - 1), np.ones(n - 1)], [-1, 1]).tocsr()
    upwind = sp.diags([np.ones(n - 1), -np.ones(n)], [-1, 0]).tocsr()
    grcar = sp.diags([-np.ones(n - 1)] + [np.ones(n - k) for k in range(4)], [-1, 0, 1, 2, 3])
    rng = np.random.default_rng(4)
    scales = np.exp(5.0 * rng.standard_normal(n))
    return {
        "heat": 25.0 * L,
        "stiff heat": 2500.0 * L,  # a transient faster than any coarse sample of the residual
        "advection-diffusion": 5.0 * L + 10.0 * D,
        "advection": 0.5 * L + 20.0 * D,
        "upwind": 60.0 * upwind,
        "grcar": -10.0 * grcar.tocsr(),
        "indefinite stiffness": second_order(-(40.0**2 / 4.0) * laplacian(45) - 100.0 * sp.eye(45)),
        "damped": second_order(-400.0 * laplacian(45)) - sp.diags(np.repeat([0.0, 3.0], 45)),
        "random": sp.csr_matrix(rng.standard_normal((n, n))),
        "scaled": sp.csr_matrix(sp.diags(scales) @ (25.0 * L + D) @ sp.diags(1.0 / scales)),
        "nilpotent": 20.0 * sp.diags([np.ones(n - 1)], [1]).tocsr(),
        "zero": sp.csr_matrix((n, n)),
    }


CASES = general_cases()


@pytest.mark.parametrize("name", CASES)
def test_general_operators_meet_the_tolerance(name):
    J = sp.csr_matrix(CASES[name])
    n = J.shape[0]
    d = balance_of(J)[0]
    rng = np.random.default_rng(5)
    for p in (0, 1, 4):
        vectors = [None if p == 1 and k == 0 else rng.standard_normal(n) for k in range(p + 1)]
        exact = [augmented(J, tau, vectors) for tau in (0.3, 1.0)]
        for tol in (1e-4, 1e-8):
            for window in (None, 2):
                actions = general_phi_actions(J, (0.3, 1.0), vectors, tol, window=window)
                for action, w in zip(actions, exact, strict=True):
                    assert relative(action.value, w) <= tol, (p, tol, window, action)
                    assert relative(action.value / d, w / d) <= tol, (p, tol, window, action)


def test_many_times_cost_one_pass():
    lam, U, J = chain(400.0)
    vectors = [None, np.random.default_rng(6).standard_normal(2 * N)]
    times = np.linspace(0.0, 50.0 / 400.0, 26)[1:]
    actions = general_phi_actions(J, times, vectors, 1e-8)
    alone = general_phi_actions(J, times[-1:], vectors, 1e-8)[0]
    assert actions[-1].products <= alone.products + 5
    for tau, action in zip(times, actions, strict=True):
        assert relative(action.value, np.concatenate(exact_chain(lam, U, tau, vectors))) <= 1e-8


def test_many_substeps():
    lam, U, J = chain(1e4)
    vectors = [np.random.default_rng(7).standard_normal(2 * N) for _ in range(3)]
    action = general_phi_actions(J, [400.0 / 1e4], vectors, 1e-7)[0]
    x, v = exact_chain(lam, U, 400.0 / 1e4, vectors)
    assert "1 substep" not in action.method
    assert max(relative(action.value[:N], x), relative(action.value[N:], v)) <= 1e-7


def test_happy_breakdown_and_trivial_inputs():
    n = 90
    J = laplacian(n)
    mode = np.sin(np.pi * np.arange(1, n + 1) / (n + 1))
    rate = -4.0 * np.sin(np.pi / (2 * (n + 1))) ** 2
    action = general_phi_actions(J, [1.0], [mode], 1e-12)[0]
    assert action.products <= 4
    assert relative(action.value, np.exp(rate) * mode) <= 1e-12

    zero = general_phi_actions(J, [1.0, 2.0], [None, np.zeros(n)], 1e-6)
    assert [a.products for a in zero] == [0, 0] and not zero[1].value.any()

    v = np.random.default_rng(8).standard_normal(n)
    tiny = general_phi_actions(J, [1e-12], [v, v], 1e-10)[0]
    assert relative(tiny.value, v) <= 1e-10 and tiny.products <= 4

    nothing = general_phi_actions(sp.csr_matrix((n, n)), [0.5], [v, v, v], 1e-12)[0]
    assert relative(nothing.value, v * (1.0 + 0.5 + 0.125)) <= 1e-12


def test_error_against_a_given_scale():
    """With norm_scale the error is absolute: a result that decays away needs no relative digits."""
    J = 2500.0 * laplacian(90) - 50.0 * sp.eye(90)
    v = np.random.default_rng(9).standard_normal(90)
    scale = 1e-3 + np.abs(v)
    action = general_phi_actions(J, [1.0], [v, v], 1e-6, norm_scale=scale)[0]
    error = (action.value - augmented(J, 1.0, [v, v])) / scale
    assert np.sqrt(np.mean(error**2)) <= 1e-6
    with pytest.raises(NotConverged, match="norm_scale"):
        arnoldi_phi(J.__matmul__, 90, [1.0], [v], tol=1e-6)


def test_what_has_decayed_keeps_its_digits_in_the_dense_exponential():
    J = (2500.0 * laplacian(90) - 50.0 * sp.eye(90)).toarray()
    lam, U = np.linalg.eigh(J)
    v = np.random.default_rng(9).standard_normal(90)
    exact = U @ (np.exp(lam) * (U.T @ v))
    assert np.linalg.norm(exact) < 1e-20
    for operator in (J, sp.csr_matrix(J), products_only(J)):
        action = general_phi_actions(operator, [1.0], [v], 1e-6)[0]
        assert "dense" in action.method
        assert relative(action.value, exact) <= 1e-8


def test_refusals_name_cause_and_remedy():
    _, _, J = chain(400.0)
    v = np.ones(2 * N)
    with pytest.raises(NotConverged, match="max_products"):
        arnoldi_phi(J.__matmul__, 2 * N, [0.1], [v], tol=1e-6, balance=v, max_products=10)
    with pytest.raises(NotConverged, match="loosen tol"):
        general_phi_actions(J, [0.1], [v], 1e-17)
    with pytest.raises(NotConverged, match="not finite"):
        arnoldi_phi(lambda b: b * np.nan, 2 * N, [0.1], [v], tol=1e-6, balance=v)
    with pytest.raises(NotConverged, match="overflows"):
        general_phi_actions(np.diag([1e5, 1.0]), [1.0], [np.ones(2)], 1e-6)
    for taus in ([0.2, 0.1], [-1.0], [0.0], [np.nan], []):
        with pytest.raises(InputError, match="times"):
            general_phi_actions(J, taus, [v], 1e-6)
    for bad in (v[1:], v * np.nan, v * 1j):
        with pytest.raises(InputError, match="vector 1"):
            general_phi_actions(J, [0.1], [v, bad], 1e-6)
    with pytest.raises(InputError, match="square"):
        general_phi_actions(np.ones((2, 3)), [0.1], [np.ones(3)], 1e-6)
    with pytest.raises(InputError, match="NaN"):
        general_phi_actions(np.full((2, 2), np.nan), [0.1], [np.ones(2)], 1e-6)
    with pytest.raises(InputError, match="tol"):
        general_phi_actions(J, [0.1], [v], 0.0)


def test_balancing():
    _, _, J = chain(1e4)
    for kind, cost in (("sparse", 0), ("dense", 0), ("operator", 12), ("products", 6)):
        d, products = balance_of(KINDS[kind](J))
        assert products == cost
        ratio = d[N:].mean() / d[:N].mean()
        assert 0.25e4 < ratio < 4e4, kind
    symmetric = laplacian(90) @ sp.diags(np.linspace(1.0, 2.0, 90)) @ laplacian(90)
    for kind in KINDS:  # nothing to gain: leave normal matrices alone
        assert np.ptp(balance_of(KINDS[kind](sp.csr_matrix(symmetric)))[0]) == 0.0, kind
    action = general_phi_actions(products_only(J), [1e-3], [np.ones(2 * N)], 1e-6)[0]
    bare = arnoldi_phi(J.__matmul__, 2 * N, [1e-3], [np.ones(2 * N)], tol=1e-6)[0]
    assert action.products == bare.products and "products only" in action.method


def test_dense_path_says_so_and_is_good_to_rounding():
    lam = -np.logspace(0.0, 6.0, 9)
    Q = np.linalg.qr(np.random.default_rng(10).standard_normal((9, 9)))[0]
    vectors = [Q @ np.ones(9)] * 5
    actions = dense_phi(Q * lam @ Q.T, [0.5, 1.0], vectors)
    for tau, action in zip((0.5, 1.0), actions, strict=True):
        exact = Q @ sum(tau**k * phi(k, tau * lam) for k in range(5))
        assert relative(action.value, exact) <= max(1e-12, action.error)
        assert action.method.startswith("dense: n = 9")


@drawn(60)
@given(st.integers(1, 8), st.integers(0, 4), st.floats(1e-3, 3.0), st.integers(0, 2**31))
def test_random_small_matrices(n, p, tau, seed):
    rng = np.random.default_rng(seed)
    J = rng.standard_normal((n, n)) * np.exp(rng.standard_normal(n))
    vectors = [rng.standard_normal(n) if rng.random() < 0.8 else None for _ in range(p + 1)]
    exact = with_many_digits(J, tau, vectors)
    direct = dense_phi(J, [tau / 2, tau], vectors)[1].value
    size = np.linalg.norm(exact) + 1e-300
    assert np.linalg.norm(direct - exact) <= 1e-11 * size
    try:
        krylov = general_phi_actions(aslinearoperator(J), [tau / 2, tau], vectors, 1e-8)[1].value
        assert np.linalg.norm(krylov - exact) <= 1e-8 * size
    except NotConverged:  # only where the result has decayed to the rounding of the data
        assert np.linalg.norm(exact) < 1e-4 * max(
            np.linalg.norm(v) for v in vectors if v is not None
        )
