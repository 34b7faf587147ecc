"""phi_action: damping, several k at once, skew Lanczos in the energy norm, and bad input."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.linalg import LinearOperator
from thinned import drawn

from stiffly.bodies import ConsistentMass, LumpedMass, Rayleigh
from stiffly.errors import InputError, NotConverged
from stiffly.matfun import SecondOrderOperator, StumpffMap, Term, evaluate, phi_action
from stiffly.matfun.symmetric import as_symmetric

N = 40
rng = np.random.default_rng(11)
MASS = rng.uniform(0.5, 2.0, N)
ELEMENTS = sp.diags([np.full(N, 4 / 6), np.full(N - 1, 1 / 6), np.full(N - 1, 1 / 6)], [0, 1, -1])
MASSES = {"unit": None, "lumped": LumpedMass(MASS), "consistent": ConsistentMass(ELEMENTS)}


def stiffness(low, high, seed=0):
    """K (N, N) with eigenvalues spread over [low, high]."""
    Q = scipy.linalg.qr(np.random.default_rng(seed).standard_normal((N, N)))[0]
    K = (Q * np.linspace(low, high, N)) @ Q.T
    return 0.5 * (K + K.T)


def jacobian(K, M, alpha=0.0, beta=0.0):
    """J = [[0, I], [-M^-1 K, -(alpha + beta M^-1 K)]] as an array."""
    A = K if M is None else np.linalg.solve(M.dense, K)
    eye = np.eye(len(K))
    return np.block([[0 * eye, eye], [-A, -alpha * eye - beta * A]])


def phi_sum(J, h, vectors):
    """sum_k phi_k(hJ) v_k from one exponential of the augmented matrix [[hJ, V], [0, shift]]."""
    n, p = len(J), len(vectors) - 1
    big = np.zeros((n + p, n + p))
    big[:n, :n] = h * J
    big[n:, n:] = np.eye(p, k=1)
    for k, v in enumerate(vectors[1:], 1):
        big[:n, n + p - k] = v
    E = scipy.linalg.expm(big)
    return E[:n, :n] @ vectors[0] + (E[:n, -1] if p else 0.0)


def half_errors(value, exact):
    """Relative errors of the position and of the velocity half."""
    pairs = zip(np.split(value, 2), np.split(exact, 2), strict=True)
    return [np.linalg.norm(a - b) / np.linalg.norm(b) for a, b in pairs]


# omega in [1, 30]: with beta = 2/omega^2 a frequency is damped critically where beta omega = 2
DAMPINGS = {
    "none": (0.0, 0.0),
    "under": (0.3, 0.001),
    "critical in the middle": (0.0, 2 / 15.0),
    "critical at omega = 1": (2.0, 0.0),
    "over": (100.0, 0.0),
    "over, stiffness": (1.0, 3.0),
}


@pytest.mark.parametrize("tol", [1e-3, 1e-6, 1e-10])
@pytest.mark.parametrize("method", ["dense", "lanczos", "chebyshev", "auto"])
@pytest.mark.parametrize("damping", DAMPINGS.values(), ids=DAMPINGS.keys())
def test_damped_flow_against_the_dense_exponential(damping, method, tol):
    K, mass = stiffness(1.0, 900.0), MASSES["lumped"]
    vectors = list(np.random.default_rng(1).standard_normal((3, 2 * N)))
    for h in (0.05, 0.7):
        exact = phi_sum(jacobian(K, mass, *damping), h, vectors)
        J = SecondOrderOperator(K, Rayleigh(*damping) if any(damping) else None, mass=mass)
        action = phi_action(J, h, vectors, tol=tol, method=method)
        assert max(half_errors(action.value, exact)) <= tol


def test_critically_damped_oscillators_of_every_kind():
    """gamma^2 = 4 lam exactly: both roots meet, x(t) = (x0 + (v0 + w x0) t) exp(-w t)."""
    w = np.array([0.25, 1.0, 2.0, 16.0])
    x0, v0 = np.array([1.0, -2.0, 0.5, 1.0]), np.array([0.0, 1.0, -1.0, 3.0])
    h = 0.7
    x = (x0 + (v0 + w * x0) * h) * np.exp(-w * h)
    v = (v0 - w * (v0 + w * x0) * h) * np.exp(-w * h)
    for i in range(4):
        J = SecondOrderOperator(np.diag([w[i] ** 2]), Rayleigh(2.0 * w[i], 0.0))
        action = phi_action(J, h, [np.array([x0[i], v0[i]])], tol=1e-12)
        assert action.value == pytest.approx([x[i], v[i]], rel=1e-13)


@drawn(40)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["dense", "lanczos", "chebyshev", "auto"]),
    st.sampled_from(list(MASSES)),
    st.lists(st.booleans(), min_size=1, max_size=6).filter(any),
    st.floats(-1.0, 1.0),
)
def test_any_set_of_k_and_either_sign_of_h(seed, method, mass, alive, h):
    """None and zero vectors stand for zero; indefinite stiffness included."""
    K, M = stiffness(-20.0, 900.0, seed), MASSES[mass]
    vectors = np.random.default_rng(seed).standard_normal((len(alive), 2 * N))
    vectors *= np.array(alive)[:, None]
    given_vectors = [v if v.any() or k % 2 else None for k, v in enumerate(vectors)]
    J = SecondOrderOperator(sp.csr_matrix(K), mass=M)
    action = phi_action(J, h, given_vectors, tol=1e-8, method=method)
    exact = phi_sum(jacobian(K, M), h, list(vectors))
    assert max(half_errors(action.value, exact)) <= 1e-8


def test_half_size_form_equals_the_general_one():
    K, h = stiffness(1.0, 900.0), 0.6
    vectors = list(np.random.default_rng(6).standard_normal((4, 2 * N)))
    damping = Rayleigh(0.2, 0.01)
    half = phi_action(SecondOrderOperator(K, damping), h, vectors, tol=1e-9)
    J = jacobian(K, None, 0.2, 0.01)
    for whole in (J, sp.csr_matrix(J), LinearOperator(J.shape, lambda u: J @ u, dtype=float)):
        general = phi_action(whole, h, vectors, tol=1e-9)
        assert max(half_errors(general.value, half.value)) <= 4e-9


def test_matvec_is_the_jacobian():
    K, mass = stiffness(1.0, 900.0), MASSES["consistent"]
    u = np.random.default_rng(7).standard_normal(2 * N)
    J = SecondOrderOperator(K, Rayleigh(0.2, 0.01), mass=mass)
    exact = jacobian(K, mass, 0.2, 0.01) @ u
    assert np.abs(J.matvec(u) - exact).max() <= 1e-12 * np.abs(exact).max()


# ------------------------------------------------------------------ skew Lanczos


@pytest.mark.parametrize("basis", [1, 2, 5, 9])
@pytest.mark.parametrize("mass", MASSES)
def test_skew_conserves_the_linear_energy_with_any_basis(mass, basis):
    K, M = stiffness(1.0, 1e8), MASSES[mass]  # omega_max = 1e4
    dense = np.eye(N) if M is None else M.dense
    u = np.random.default_rng(8).standard_normal(2 * N)

    def energy(u):
        return u[:N] @ K @ u[:N] + u[N:] @ dense @ u[N:]

    J = SecondOrderOperator(K, mass=M)
    for h in (1e-4, 0.1, -30.0):
        action = phi_action(J, h, [u], method="skew", basis=basis)
        assert energy(action.value) == pytest.approx(energy(u), rel=1e-12)
        assert action.products <= basis + 1


@pytest.mark.parametrize("tol", [1e-3, 1e-6, 1e-10])
@pytest.mark.parametrize("mass", MASSES)
def test_skew_converges_in_the_energy_norm(mass, tol):
    K, M = stiffness(1.0, 900.0), MASSES[mass]
    dense = np.eye(N) if M is None else M.dense
    vectors = list(np.random.default_rng(9).standard_normal((3, 2 * N)))
    action = phi_action(SecondOrderOperator(K, mass=M), 0.8, vectors, tol=tol, method="skew")
    exact = phi_sum(jacobian(K, M), 0.8, vectors)
    weight = scipy.linalg.block_diag(K, dense)
    error = action.value - exact
    size = sum(
        np.sqrt(part @ weight @ part)
        for part in (phi_sum(jacobian(K, M), 0.8, [0 * v] * k + [v]) for k, v in enumerate(vectors))
    )
    assert np.sqrt(error @ weight @ error) <= tol * size


@pytest.mark.parametrize("zeros", [0, 4], ids=["definite", "singular"])
@pytest.mark.parametrize("seed", range(6))
def test_skew_does_not_call_a_positive_matrix_indefinite(seed, zeros):
    """An exact A with integer eigenvalues up to 1e4; the basis spans the whole space here."""
    n, h = 128, 1.5
    H, generator = scipy.linalg.hadamard(n).astype(float), np.random.default_rng(seed)
    lam = np.round(1e4 * generator.random(n)) + 1.0
    lam[:zeros] = 0.0
    A, u = (H * lam) @ H / n, generator.standard_normal(2 * n)
    action = phi_action(SecondOrderOperator(A), h, [u], tol=1e-8, method="skew")
    w, (x, v) = np.sqrt(lam), u.reshape(2, n) @ H / n
    c, s = np.cos(h * w), h * np.sinc(h * w / np.pi)
    exact = np.concatenate([(c * x + s * v) @ H, (c * v - lam * s * x) @ H])
    assert max(half_errors(action.value, exact)) <= 1e-7


@pytest.mark.parametrize("h", [0.5, 4.0])
@pytest.mark.parametrize("x0, v0", [((0.0, 0.0), (1.0, 0.0)), ((2.0, 0.1), (1.0, 0.3))])
def test_skew_moves_what_has_no_stiffness(x0, v0, h):
    """Rigid motion has no elastic energy, but it is motion: x = x0 + h v0."""
    u = np.array([*x0, *v0])
    action = phi_action(SecondOrderOperator(np.diag([0.0, 1.0])), h, [u], tol=1e-9, method="skew")
    c, s = np.cos(h), np.sin(h)
    exact = [x0[0] + h * v0[0], c * x0[1] + s * v0[1], v0[0], c * v0[1] - s * x0[1]]
    assert action.value == pytest.approx(exact, abs=1e-8)


def test_skew_names_an_indefinite_matrix():
    J = SecondOrderOperator(stiffness(-20.0, 900.0))
    with pytest.raises(NotConverged, match="negative stiffness") as caught:
        phi_action(J, 0.5, [np.ones(2 * N)], method="skew")
    assert "\n" not in str(caught.value)


def test_skew_cannot_damp():
    J = SecondOrderOperator(stiffness(1.0, 9.0), Rayleigh(0.1, 0.0))
    with pytest.raises(InputError, match="cannot damp"):
        phi_action(J, 0.5, [np.ones(2 * N)], method="skew")


# ------------------------------------------------------------------ bad input

GOOD = np.diag([1.0, 2.0, 3.0])
U = np.ones(6)
NAN = float("nan")


def shear():
    B = np.diag([1.0, 2.0, 3.0])
    B[0, 2] = 1.0
    return B


WRONG = {
    "NaN matrix": lambda: SecondOrderOperator(np.diag([1.0, NAN])),
    "NaN sparse matrix": lambda: SecondOrderOperator(sp.csr_matrix(np.diag([1.0, NAN]))),
    "infinite matrix": lambda: SecondOrderOperator(np.diag([1.0, np.inf])),
    "unsymmetric": lambda: SecondOrderOperator(shear()),
    "unsymmetric sparse": lambda: SecondOrderOperator(sp.csr_matrix(shear())),
    "unsymmetric operator": lambda: phi_action(
        SecondOrderOperator(LinearOperator((3, 3), lambda b: shear() @ b, dtype=float)), 0.1, [U]
    ),
    "mass as an array": lambda: SecondOrderOperator(GOOD, mass=np.ones(3)),
    "damping as a number": lambda: SecondOrderOperator(GOOD, 0.1),
    "J a word": lambda: phi_action("J", 0.1, [U]),
    "step a word": lambda: phi_action(SecondOrderOperator(GOOD), "h", [U]),
    "tolerance a word": lambda: phi_action(SecondOrderOperator(GOOD), 0.1, [U], tol="a"),
    "empty basis": lambda: phi_action(SecondOrderOperator(GOOD), 0.1, [U], method="skew", basis=0),
    "basis for lanczos": lambda: phi_action(
        SecondOrderOperator(GOOD), 0.1, [U], method="lanczos", basis=5
    ),
    "not square": lambda: SecondOrderOperator(np.ones((2, 3))),
    "short vector": lambda: phi_action(SecondOrderOperator(GOOD), 0.1, [U[:5]]),
    "column vector": lambda: phi_action(SecondOrderOperator(GOOD), 0.1, [U[:, None]]),
    "NaN vector": lambda: phi_action(SecondOrderOperator(GOOD), 0.1, [NAN * U]),
    "complex vector": lambda: phi_action(SecondOrderOperator(GOOD), 0.1, [1j * U]),
    "no vector": lambda: phi_action(SecondOrderOperator(GOOD), 0.1, []),
    "too many vectors": lambda: phi_action(SecondOrderOperator(GOOD), 0.1, [U] * 7),
    "NaN step": lambda: phi_action(SecondOrderOperator(GOOD), NAN, [U]),
    "unknown method": lambda: phi_action(SecondOrderOperator(GOOD), 0.1, [U], method="lancos"),
    "no times": lambda: phi_action(SecondOrderOperator(GOOD), 0.1, [U], taus=[]),
    "a time of zero": lambda: phi_action(SecondOrderOperator(GOOD), 0.1, [U], taus=[0.0, 1.0]),
    "a time of NaN": lambda: phi_action(GOOD, 0.1, [U[:3]], taus=[NAN]),
    "times in a table": lambda: phi_action(GOOD, 0.1, [U[:3]], taus=[[0.5, 1.0]]),
    "times as words": lambda: phi_action(GOOD, 0.1, [U[:3]], taus=["half"]),
    "no window": lambda: phi_action(GOOD, 0.1, [U[:3]], window=0),
    "half a window": lambda: phi_action(GOOD, 0.1, [U[:3]], window=1.5),
    "a window of its own": lambda: phi_action(SecondOrderOperator(GOOD), 0.1, [U], window=2),
    "method for another J": lambda: phi_action(GOOD, 0.1, [U[:3]], method="lanczos"),
    "batched, one body": lambda: phi_action(
        SecondOrderOperator(GOOD + 1.0), 0.1, [U], method="batched"
    ),
    "long column": lambda: evaluate(as_symmetric(GOOD), COSINE, [np.ones(4)], tol=1e-6),
    "missing column": lambda: evaluate(
        as_symmetric(GOOD), StumpffMap(1, 2, COSINE.terms), [np.ones(3)], tol=1e-6
    ),
}
COSINE = StumpffMap(1, 1, (Term(0, 0, 0, 0.1),))


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_wrong_input_is_named_in_one_line(wrong):
    with pytest.raises(InputError) as caught:
        wrong()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("tol", [0.0, -1.0, NAN, np.inf, 1e-14])
@pytest.mark.parametrize("method", ["auto", "dense", "lanczos", "chebyshev"])
def test_impossible_tolerance(method, tol):
    with pytest.raises(InputError, match="tolerance"):
        phi_action(SecondOrderOperator(GOOD), 0.1, [U], tol=tol, method=method)
    with pytest.raises(InputError, match="tolerance"):
        evaluate(as_symmetric(GOOD), COSINE, [np.ones(3)], tol=tol, method=method)


def test_batched_does_not_ignore_a_mass_that_couples_the_bodies():
    K = sp.block_diag([np.array([[2.0, -1.0], [-1.0, 3.0]])] * (N // 2))
    J = SecondOrderOperator(sp.csr_matrix(K), mass=MASSES["consistent"])
    u = np.random.default_rng(12).standard_normal(2 * N)
    try:
        value = phi_action(J, 0.7, [u], method="batched").value
    except InputError:
        return
    assert max(half_errors(value, phi_action(J, 0.7, [u], method="dense").value)) <= 1e-6


def test_close_name_is_suggested():
    with pytest.raises(InputError, match="did you mean lanczos"):
        phi_action(SecondOrderOperator(GOOD), 0.1, [U], method="lancos")


@pytest.mark.parametrize("method", ["auto", "dense", "lanczos", "chebyshev", "skew"])
def test_products_that_are_not_finite_are_named(method):
    A = LinearOperator((80, 80), matvec=lambda b: NAN * b, dtype=np.float64)
    with pytest.raises((InputError, NotConverged)):
        phi_action(SecondOrderOperator(A), 0.1, [np.ones(160)], method=method)


# ------------------------------------------------------------------ several times at once


TAUS = [1.0, 1 / 3, 0.75, 1 / 3]  # in any order, any of them twice


def rows(J, h, vectors, taus):
    return [phi_sum(J, tau * h, [tau**k * v for k, v in enumerate(vectors)]) for tau in taus]


@pytest.mark.parametrize("h", [0.7, -0.7])
@pytest.mark.parametrize("method", ["dense", "lanczos", "chebyshev", "auto", "skew"])
def test_several_times_of_a_second_order_flow(method, h):
    K = stiffness(1.0, 900.0)
    vectors = list(np.random.default_rng(13).standard_normal((3, 2 * N)))
    J = SecondOrderOperator(K)
    action = phi_action(J, h, vectors, tol=1e-8, taus=TAUS, method=method)
    assert action.value.shape == (4, 2 * N)
    for row, exact in zip(action.value, rows(jacobian(K, None), h, vectors, TAUS), strict=True):
        # skew measures its error in the energy norm
        assert max(half_errors(row, exact)) <= (1e-7 if method == "skew" else 1e-8)


@pytest.mark.parametrize("window", [None, 1, 2, 5])
@pytest.mark.parametrize("h", [0.7, -0.1])
def test_several_times_of_any_flow(h, window):
    K, vectors = stiffness(1.0, 900.0), np.random.default_rng(14).standard_normal((3, 2 * N))
    J = jacobian(K, None, 0.3, 0.01)
    action = phi_action(J, h, list(vectors), tol=1e-8, taus=TAUS, window=window)
    assert action.value.shape == (4, 2 * N)
    for row, exact in zip(action.value, rows(J, h, list(vectors), TAUS), strict=True):
        assert np.linalg.norm(row - exact) <= 1e-8 * np.linalg.norm(exact)


def test_one_time_and_no_vectors_have_their_shapes():
    J = np.diag([1.0, 2.0, 3.0])
    one = phi_action(J, 0.5, [U[:3]]).value
    assert one == pytest.approx(np.exp([0.5, 1.0, 1.5]), rel=1e-12)
    assert np.array_equal(phi_action(J, 0.5, [U[:3]], taus=[1.0]).value, one[None])
    for none in (J, SecondOrderOperator(J)):
        zeros = np.zeros(none.shape[0])
        assert np.array_equal(phi_action(none, 0.5, [None]).value, zeros)
        assert np.array_equal(phi_action(none, 0.5, [None], taus=[1, 2]).value, [zeros, zeros])
    v = U[:3]
    stands = phi_action(J, 0.0, [v, v], taus=[0.5, 2.0]).value  # v_0 + tau v_1
    assert stands == pytest.approx(np.outer([1.5, 3.0], v))


@pytest.mark.parametrize("wrap", [sp.csr_matrix, lambda J: SecondOrderOperator(-J[100:, :100])])
def test_several_times_cost_one_basis(wrap):
    n, omega = 100, 60.0
    K = 0.25 * omega**2 * sp.diags([np.full(n, 2.0), -np.ones(n - 1), -np.ones(n - 1)], [0, 1, -1])
    J = wrap(sp.bmat([[None, sp.identity(n)], [-K, None]], format="csr"))
    u = np.random.default_rng(15).standard_normal(2 * n)
    together = phi_action(J, 0.5, [None, u], taus=[1 / 3, 3 / 4, 1.0]).products
    alone = [phi_action(J, 0.5 * tau, [None, tau * u]).products for tau in (1 / 3, 3 / 4, 1.0)]
    assert together <= 1.3 * alone[-1]
    assert together <= 0.6 * sum(alone)


def test_no_step_leaves_the_sum_over_factorials():
    vectors = [U, 2 * U, 6 * U]
    for J in (SecondOrderOperator(GOOD), np.zeros((6, 6))):
        assert phi_action(J, 0.0, vectors).value == pytest.approx(6.0 * U, rel=1e-15)
