"""phi_action's promise: the tolerance is met, or an error with a name says why not."""

import sys
from pathlib import Path

import mpmath
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.linalg import LinearOperator
from thinned import drawn

import stiffly
from stiffly.bodies import Rayleigh, SecondOrder, Springs, System
from stiffly.errors import InputError, NotConverged
from stiffly.integrators import NAMES, integrator, options
from stiffly.matfun import SecondOrderOperator, phi, phi_action
from stiffly.matfun.chooser import evaluate
from stiffly.matfun.first_order import FirstOrderFlow
from stiffly.matfun.scalar import PhiTerm, RayleighMap
from stiffly.matfun.symmetric import as_symmetric

sys.path.insert(0, str(Path(__file__).parent / "attack"))
import trials_phi

N = 200


def chain(omega):
    """N masses held at both ends, K = omega^2/4 tridiag(-1, 2, -1), its frequencies and modes."""
    k, j = omega**2 / 4.0, np.arange(1, N + 1)
    K = sp.csr_matrix(
        sp.diags([np.full(N, 2 * k), np.full(N - 1, -k), np.full(N - 1, -k)], [0, 1, -1])
    )
    w = omega * np.sin(0.5 * np.pi * j / (N + 1))
    return K, w, np.sqrt(2 / (N + 1)) * np.sin(np.pi * np.outer(j, j) / (N + 1))


def moved(w, U, h, x, v):
    """x and v after the time h, mode by mode."""
    p, q = U @ x, U @ v
    c, s = np.cos(h * w), np.sin(h * w)
    return U @ (c * p + s / w * q), U @ (c * q - w * s * p)


def products_only(K):
    return LinearOperator(K.shape, matvec=lambda b: K @ b, dtype=float)


@pytest.mark.parametrize("wrap", [lambda K: K, products_only], ids=["sparse", "products"])
@pytest.mark.parametrize("phase", [7e4, 1e6])
def test_steps_beyond_any_series(phase, wrap):
    """h omega above 65,536 used to be wrong in silence: the series was cut off."""
    K, w, U = chain(phase)
    x, v = np.random.default_rng(0).standard_normal((2, N)) * np.array([[1.0], [phase]])
    action = phi_action(SecondOrderOperator(wrap(K)), 1.0, [np.concatenate([x, v])], tol=1e-6)
    for value, exact in zip(np.split(action.value, 2), moved(w, U, 1.0, x, v), strict=True):
        assert np.linalg.norm(value - exact) <= 1e-6 * np.linalg.norm(exact)


@pytest.mark.parametrize("method", ["lanczos", "chebyshev"])
def test_an_iteration_that_is_too_long_names_its_limit(method):
    K, _, _ = chain(1e3)
    J, u = SecondOrderOperator(K), np.ones(2 * N)
    with pytest.raises(NotConverged, match="max_products") as caught:
        phi_action(J, 1.0, [u], method=method, max_products=100)
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="max_products"):
        phi_action(J, 1.0, [u], max_products=0)


def test_a_chebyshev_series_is_never_cut_off():
    K, _, _ = chain(2e6)  # a million terms, on an operator that may not use more
    with pytest.raises(NotConverged, match="max_products"):
        phi_action(SecondOrderOperator(K), 1.0, [np.ones(2 * N)], method="chebyshev")


def test_rounding_of_the_matrix_is_named():
    """A free body at h omega = 1e8: eps (h omega)^2 is more than one, its drift is noise."""
    A = 1e16 * np.array([[1.0, -1.0], [-1.0, 1.0]]) / 2.0
    with pytest.raises(NotConverged, match="rounding"):
        phi_action(SecondOrderOperator(A), 1.0, [np.arange(4.0)], tol=1e-6)
    system = SecondOrder(stiffness=A)
    with pytest.raises(NotConverged, match="rounding"):
        stiffly.simulate(
            system, x0=np.arange(2.0), v0=np.ones(2), integrator="exprb42", step=1.0, duration=2.0
        )


@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_matrix, products_only])
def test_far_from_normal_and_decayed_is_right_or_refused(wrap):
    """exp of [[-a, b], [0, -c]] in closed form; eps |hJ| says nothing about its error."""
    for a, b, c in [(1.0, 1e8, 1.1), (30.0, 1e12, 31.0), (1e-3, 1e6, 40.0), (60.0, 1.0, 70.0)]:
        J = np.array([[-a, b], [0.0, -c]])
        with mpmath.workdps(50):
            exact = mpmath.expm(mpmath.matrix(J.tolist())) * mpmath.matrix([1.0, 1.0])
            exact = np.array([float(e) for e in exact])
        for tol in (1e-4, 1e-8, 1e-12):
            try:
                value = phi_action(wrap(J), 1.0, [np.ones(2)], tol=tol).value
            except NotConverged:
                continue
            assert np.linalg.norm(value - exact) <= tol * np.linalg.norm(exact), (a, b, c, tol)


@pytest.mark.parametrize("decay", [450.0, 600.0])
def test_what_has_decayed_beyond_the_square_root_of_the_smallest_number(decay):
    """exp(-decay) of an exact eigenvector, beside a mode that decays by 0.9 of that and that
    rounding sets going: no digit is left, which squares of such small numbers do not show."""
    J = -decay * np.array([[0.95, -0.05], [-0.05, 0.95]])
    try:
        value = phi_action(J, 1.0, [np.array([1.0, -1.0])], tol=1e-8).value
    except NotConverged:
        return
    assert np.allclose(value, np.exp(-decay) * np.array([1.0, -1.0]), rtol=1e-8, atol=1e-290)


def test_overdamped_velocities_keep_their_digits():
    """v(h) of x'' + g x' + lam x = 0 with g^2 >> lam: both terms of one formula cancel."""
    g, lam, h = 1e6, 1.0, 2.0
    J = SecondOrderOperator(np.array([[lam]]), Rayleigh(g, 0.0))
    value = phi_action(J, h, [np.array([0.0, 1.0])], tol=1e-10).value
    with mpmath.workdps(50):
        root = mpmath.sqrt(mpmath.mpf(g) ** 2 / 4 - lam)
        slow, fast = -mpmath.mpf(g) / 2 + root, -mpmath.mpf(g) / 2 - root
        e1, e2 = mpmath.exp(slow * h), mpmath.exp(fast * h)
        x, v = (e1 - e2) / (slow - fast), (slow * e1 - fast * e2) / (slow - fast)
    assert value == pytest.approx([float(x), float(v)], rel=1e-10)


def test_long_maps_come_in_pieces():
    functions = RayleighMap(1, 1, 0.1, 0.01, (PhiTerm(0, 0, 1, 0.5, 1.0, 0, 0),))
    lam = np.linspace(0.0, 1e4, 40_000)
    whole, pieces = functions(lam), np.concatenate([functions(p) for p in np.split(lam, 8)], axis=2)
    assert np.array_equal(whole, pieces)


def test_a_high_phi_alone():
    """The first five vectors of its Krylov basis hold nothing of the result."""
    n = 90
    J = 50.0 * sp.diags([np.ones(n - 1), -2.0 * np.ones(n), np.ones(n - 1)], [-1, 0, 1]).tocsr()
    lam, U = np.linalg.eigh(J.toarray())
    v = np.random.default_rng(3).standard_normal(n)
    for k in range(6):
        exact = U @ (phi(k, lam) * (U.T @ v))
        value = phi_action(J, 1.0, [None] * k + [v], tol=1e-9).value
        assert np.linalg.norm(value - exact) <= 1e-9 * np.linalg.norm(exact), k


@pytest.mark.parametrize("rate", [20.0, 40.0, 60.0, 200.0])
def test_what_grows_is_not_missed_because_the_vector_hardly_holds_it(rate):
    """The rounding of one eigenvector grows with the other; a Krylov basis ends before."""
    c, s = np.cos(0.3), np.sin(0.3)
    block = np.array([[c, -s], [s, c]]) @ np.diag([-1.0, rate]) @ np.array([[c, s], [-s, c]])
    J, v = sp.block_diag([block] * 40, format="csr"), np.tile([c, s], 40)
    with mpmath.workdps(150):
        pair = mpmath.expm(mpmath.matrix(block.tolist())) * mpmath.matrix([c, s])
        exact = np.tile([float(e) for e in pair], 40)
    for operator in (J, products_only(J)):
        try:
            value = phi_action(operator, 1.0, [v], tol=1e-6).value
        except NotConverged:
            continue
        assert np.linalg.norm(value - exact) <= 1e-6 * np.linalg.norm(exact)


def test_a_spectrum_below_zero():
    lam = -np.linspace(1.0, 4.0, 100)
    u = np.random.default_rng(4).standard_normal(200)
    J = SecondOrderOperator(sp.diags(lam).tocsr())
    w, h = np.sqrt(-lam), 2.0
    exact = np.cosh(h * w) * u[:100] + np.sinh(h * w) / w * u[100:]
    for method in ("chebyshev", "lanczos", "dense", "auto"):
        value = phi_action(J, h, [u], tol=1e-8, method=method).value[:100]
        assert np.linalg.norm(value - exact) <= 1e-8 * np.linalg.norm(exact), method


@pytest.mark.parametrize("method", ["chebyshev", "lanczos", "dense"])
def test_columns_that_cancel(method):
    """Two pairs of columns, added up to a thousandth of either: the sum is what has to be right."""
    K, w, U = chain(50.0)
    x, v, d, e = np.random.default_rng(5).standard_normal((4, N))
    p, q, c, s = U @ x, U @ v, np.cos(w), np.sin(w)
    whole = U @ (s / w * p + (1 - c) / w**2 * q), U @ ((c - 1) * p + s / w * q)  # phi_1 (x, v)
    undone = np.concatenate(moved(w, U, -1.0, *whole))  # phi_0 brings it there, too
    vectors = [1e-3 * np.concatenate([d, e]) - undone, np.concatenate([x, v])]
    value = phi_action(SecondOrderOperator(K), 1.0, vectors, tol=1e-6, method=method).value
    for got, true in zip(np.split(value, 2), moved(w, U, 1.0, d, e), strict=True):
        assert np.linalg.norm(got - 1e-3 * true) <= 1e-6 * np.linalg.norm(1e-3 * true)


# ------------------------------------------------------------------ any small problem


def exact_flow(J, h, vectors):
    """sum_k phi_k(hJ) v_k with fifty digits, from the augmented matrix."""
    n, p = len(J), len(vectors) - 1
    with mpmath.workdps(50):
        M = mpmath.zeros(n + p, n + p)
        for i in range(n):
            for j in range(n):
                M[i, j] = mpmath.mpf(float(J[i, j])) * mpmath.mpf(h)
            for k in range(1, p + 1):
                M[i, n + p - k] = mpmath.mpf(float(vectors[k][i]))
        for k in range(1, p):
            M[n + k - 1, n + k] = 1
        start = mpmath.matrix([*map(float, vectors[0]), *([0] * (p - 1)), *([1] if p else [])])
        w = mpmath.expm(M, method="taylor") * start
        return np.array([float(w[i]) for i in range(n)])


@drawn(60)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 3),
    st.floats(-2.0, 2.5),
    st.sampled_from(["undamped", "rayleigh", "damped", "first order"]),
    st.sampled_from([1e-3, 1e-6, 1e-10]),
)
def test_small_problems_of_every_kind(seed, n, exponent, kind, tol):
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((n, n)) * 10.0 ** rng.uniform(-2, 1, n)
    A, eye, h = 0.5 * (G + G.T), np.eye(n), 10.0**exponent / np.linalg.norm(G, 2) ** 0.5
    D, operator = 0 * eye, None
    if kind == "rayleigh":
        damping = Rayleigh(*(float(d) for d in 10.0 ** rng.uniform(-3, 1, 2)))
        D, operator = damping.alpha * eye + damping.beta * A, SecondOrderOperator(A, damping)
    elif kind == "damped":
        D = rng.standard_normal((n, n))
        D = D @ D.T
    elif kind == "undamped":
        operator = SecondOrderOperator(A)
    J = G if kind == "first order" else np.block([[0 * eye, eye], [-A, -D]])
    vectors = rng.standard_normal((int(rng.integers(1, 4)), len(J)))
    try:
        value = phi_action(J if operator is None else operator, h, list(vectors), tol=tol).value
    except NotConverged as failure:
        assert "\n" not in str(failure)
        return
    exact = exact_flow(J, h, vectors)
    parts = 1 if operator is None else 2
    for got, true in zip(np.split(value, parts), np.split(exact, parts), strict=True):
        summed = np.linalg.norm(vectors) * (1 + h) * (1 + np.linalg.norm(A, 2))
        floor = 0.0 if operator is None else 1e-13 * summed
        assert np.linalg.norm(got - true) <= tol * np.linalg.norm(true) + floor


@pytest.mark.parametrize("seed", range(60))
def test_a_sample_of_the_random_trials(seed):
    outcome = trials_phi.trial(seed, most=150)
    assert not outcome.broken, outcome.story


# ------------------------------------------------------------------ in a run


def test_a_compressed_damped_pair_takes_no_time():
    """Non-Rayleigh damping of two particles used to go through 20,000 products, then fail.

    Compressed, it buckles: rounding across the axis grows by exp(200) in a step of h omega = 300,
    which no step can follow and which is said at once; shorter steps are taken.
    """
    x = np.array([[0.0, 0.0, 0.0], [0.7, 0.0, 0.0]])
    pair = System([1.0, 1.0], [Springs([(0, 1)], [1e4], rest=[1.0])], damping=Rayleigh(0.1, 1e-4))
    omega = np.sqrt(2e4)
    products = []
    apply = FirstOrderFlow._product
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            FirstOrderFlow, "_product", lambda self, u: products.append(0) or apply(self, u)
        )
        with pytest.raises(NotConverged, match="smaller step"):
            stiffly.simulate(
                pair, x0=x, v0=0 * x, integrator="exprb42", step=300 / omega, duration=300 / omega
            )
    assert 0 < len(products) <= 100
    run = stiffly.simulate(
        pair, x0=x, v0=0 * x, integrator="exprb42", step=300 / omega, duration=0.05, rtol=1e-3
    )
    assert "dense" in run.stats["matrix_functions"]
    # along the axis d'' + (0.1 + 1e-4 * 2e4) d' + 2e4 d = 0 for the stretch d, which starts at -0.3
    g, t = 0.5 * (0.1 + 2.0), 0.05
    w = np.sqrt(2e4 - g * g)
    stretch = -0.3 * np.exp(-g * t) * (np.cos(w * t) + g / w * np.sin(w * t))
    got = run.positions[-1][1, 0] - run.positions[-1][0, 0] - 1.0
    assert got == pytest.approx(stretch, abs=1e-3)


@pytest.mark.parametrize("given", [{"rtol": 1e-3}, {}], ids=["adaptive", "fixed"])
def test_runs_beyond_any_series(given):
    K, w, U = chain(7e4)
    x, v = np.random.default_rng(1).standard_normal((2, N)) * np.array([[1.0], [7e4]])
    run = stiffly.simulate(
        SecondOrder(stiffness=K),
        x0=x,
        v0=v,
        integrator="pexprb43",
        step=1.0,
        duration=3.0,
        every=1.0,
        **given,
    )
    exact = moved(w, U, 3.0, x, v)[0]
    error = np.asarray(run.positions[-1]).ravel() - exact
    assert np.linalg.norm(error) <= 1e-5 * np.linalg.norm(exact)


def test_the_limit_is_an_option_of_every_exponential_method():
    limited = {name for name in NAMES if "max_products" in options(name)}
    assert limited == {
        "exprb2",
        "exprb32",
        "exprb42",
        "pexprb43",
        "epirk4s3",
        "exprb53",
        "exprb54",
        "epirk5p1",
        "exprk4",
        "eti",
        "ceti",
        "neti",
    }
    K, _, _ = chain(1e3)
    for name in limited - {"ceti"}:
        with pytest.raises(NotConverged, match="max_products"):
            stiffly.simulate(
                SecondOrder(stiffness=products_only(K)),
                x0=np.ones(N),
                v0=np.zeros(N),
                integrator=integrator(name, max_products=20),
                step=1.0,
                duration=1.0,
            )
    with pytest.raises(InputError, match="max_products"):
        integrator("verlet", max_products=10)
    with pytest.raises(InputError, match="max_products"):
        integrator("exprb42", max_products=0)


def test_evaluate_says_what_rounding_has_spoiled():
    """Integrators go on by their slow modes; phi_action refuses."""
    A = as_symmetric(np.diag([0.0, 1e16]))
    functions = RayleighMap(1, 1, 0.0, 0.0, (PhiTerm(0, 0, 0, 1.0, 1.0, 0, 0),))
    assert evaluate(A, functions, [np.ones(2)], tol=1e-6).error > 1e-3
