"""Every evaluator of matrix functions against dense linear algebra.

A Hadamard matrix H has entries +-1 and H H = n I, so A = H diag(lam) H / n with integers lam is
EXACT in double precision and so is its eigenbasis: what is tested here is the evaluator's error,
never that of an eigensolver.  Other matrices are held against scipy.linalg.eigh(K, M).
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.linalg import LinearOperator
from thinned import drawn, thinned

from stiffly.bodies import ConsistentMass, LumpedMass, Springs, System
from stiffly.errors import InputError, NotConverged
from stiffly.matfun import SecondOrderOperator, StumpffMap, Term, evaluate, phi_action, stumpff
from stiffly.matfun.chooser import choose
from stiffly.matfun.operators import DENSE_LIMIT, BlockOperator
from stiffly.matfun.scalar import PhiTerm, RayleighMap
from stiffly.matfun.symmetric import as_symmetric
from stiffly.meshes import lattice

N = 128
HADAMARD = scipy.linalg.hadamard(N).astype(float)
STEPS = np.arange(N) / N


@dataclass(frozen=True)
class Case:
    """A = U lam W; make() gives a fresh operator, M is its mass."""

    make: object
    lam: np.ndarray
    U: np.ndarray
    W: np.ndarray
    M: np.ndarray

    def norms(self, rows):
        """M-norms of rows (k, n), safe from overflow."""
        size = np.maximum(np.abs(rows).max(axis=1), 1e-300)
        rows = rows / size[:, None]
        return size * np.sqrt(np.einsum("jn,nm,jm->j", rows, self.M, rows))

    def exact(self, functions, columns):
        F = functions(self.lam)
        return np.einsum("nm,jim,im->jn", self.U, F, columns @ self.W.T)

    def errors(self, action, functions, columns, tol):
        """|error_j| / (tol |output_j| + 1e-13 sum_i sup|f_ji| |b_i|): at most 1 is promised."""
        exact = self.exact(functions, columns)
        sup = np.abs(functions(self.lam)[:, :, self.lam >= 0.0]).max(axis=2)
        floor = 1e-13 * (sup @ self.norms(columns))
        return self.norms(action.value - exact) / (tol * self.norms(exact) + floor)


def hadamard(lam, wrap=np.asarray, root=None):
    """A exact case; root (n,): powers of two, square roots of a lumped mass (exact as well)."""
    lam = np.round(lam)
    A = (HADAMARD * lam) @ HADAMARD / N
    if root is None:
        return Case(lambda: as_symmetric(wrap(A)), lam, HADAMARD / N, HADAMARD, np.eye(N))
    K, mass = root[:, None] * A * root, LumpedMass(root**2)
    U, W = HADAMARD / N / root[:, None], HADAMARD * root
    return Case(lambda: as_symmetric(wrap(K), mass), lam, U, W, mass.dense)


def alike(lam, root=None):
    """x, y and z of N particles by the same equations, K = K' (x) I_3: exact as well."""
    one = hadamard(lam, root=root)
    K = np.diag(one.M)[:, None] * (one.U * one.lam) @ one.W
    three = sp.kron(sp.csr_matrix(K), sp.identity(3), "csr")
    mass = None if root is None else LumpedMass(np.repeat(root**2, 3))
    U, W, M = (np.kron(a, np.eye(3)) for a in (one.U, one.W, one.M))
    return Case(lambda: as_symmetric(three, mass), np.repeat(one.lam, 3), U, W, M)


def product_only(A):
    return LinearOperator(A.shape, matvec=lambda b: A @ b, dtype=np.float64)


def dense_case(make, K, M):
    lam, U = scipy.linalg.eigh(K, M)
    return Case(make, lam, U, U.T @ M, M)


def chain(stiffness):
    """Particles in a row, held at both ends by the outer springs."""
    k = np.asarray(stiffness, dtype=float)
    return sp.csr_matrix(sp.diags([k[:-1] + k[1:], -k[1:-1], -k[1:-1]], [0, 1, -1]))


def fresh():
    """The same random numbers whichever case is made first."""
    return np.random.default_rng(20)


def chain_case(mass=None):
    K = chain(10.0 ** fresh().uniform(0, 3, N + 1))
    return dense_case(
        lambda: as_symmetric(K, mass), K.toarray(), np.eye(N) if mass is None else mass.dense
    )


def element_mass(n):
    return sp.diags([np.full(n, 4 / 6), np.full(n - 1, 1 / 6), np.full(n - 1, 1 / 6)], [0, 1, -1])


def block_case(squeeze=1.0, fixed=()):
    mesh, rng = lattice(4, 3, 3, spacing=0.1), fresh()
    mass = 10.0 ** rng.uniform(-1, 1, len(mesh.positions))
    springs = Springs(mesh.edges, 10.0 ** rng.uniform(3, 5, len(mesh.edges)))
    system, state = System(mass, [springs], fixed, mesh.positions).bind(squeeze * mesh.positions)
    A = system.tangent(state).stiffness
    return dense_case(lambda: system.tangent(state).stiffness, A.todense(), A.mass.dense)


def bodies_case():
    sizes, rng = [5] * 12 + [14] * 4 + [1] * 12, fresh()
    K = sp.block_diag([chain(rng.uniform(1, 1e3, n + 1) * ([0] + [1] * n)) for n in sizes])
    order = rng.permutation(N)  # coordinates of one body lie anywhere
    K, mass = sp.csr_matrix(K)[order][:, order], LumpedMass(10.0 ** rng.uniform(-1, 1, N))
    return dense_case(lambda: as_symmetric(K, mass), K.toarray(), mass.dense)


CASES = {
    "dense": lambda: hadamard(1e4**STEPS),
    "sparse": chain_case,
    "products only": lambda: hadamard(1e4**STEPS, product_only),
    "lumped mass": lambda: hadamard(1e4**STEPS, root=2.0 ** fresh().integers(-3, 4, N)),
    "consistent mass": lambda: chain_case(ConsistentMass(element_mass(N))),
    "blocks": lambda: block_case(fixed=[0, 1, 2, 4]),
    "blocks, compressed": lambda: block_case(squeeze=0.9, fixed=[0, 1, 2, 4]),
    "blocks, unsupported": block_case,
    "omega 1e4": lambda: hadamard(np.append(1e8**STEPS, 1e8)[1:]),
    "omega 1e4, even": lambda: hadamard(1e8 * (1 + np.arange(N)) / N, sp.csr_matrix),
    "indefinite": lambda: hadamard(np.append(1e4 ** STEPS[5:], [-50, -30, -20, -8, -1])),
    "outliers": lambda: hadamard(np.append(100 * STEPS[3:], [1e8, 1.5e8, 2e8])),
    "singular": lambda: hadamard(np.append(1e4 ** STEPS[6:], np.zeros(6)), sp.csr_matrix),
    "bodies": bodies_case,
    "three alike": lambda: alike(1e4**STEPS, root=2.0 ** fresh().integers(-3, 4, N)),
    "three alike, omega 1e4": lambda: alike(np.append(1e8**STEPS, 1e8)[1:]),
    "three alike, indefinite": lambda: alike(np.append(1e4 ** STEPS[5:], [-50, -30, -20, -8, -1])),
}
cached = cache(lambda name: CASES[name]())
METHODS = ["dense", "lanczos", "chebyshev", "auto"]


def request(h):
    """Three columns into five outputs: every k, three times, and products with A."""
    return StumpffMap(
        5,
        3,
        (
            *(Term(0, 0, 0, h), Term(0, 1, 1, h, h)),
            *(Term(1, 0, 1, h, -h, 1), Term(1, 1, 0, h)),
            *(Term(2, 1, 1, 0.75 * h, 0.75 * h), Term(2, 0, 2, 0.75 * h, 0.5)),
            *(Term(3, 2, 4, h, h * h), Term(3, 0, 5, h, -h)),
            *(Term(4, 2, 3, h, h), Term(4, 1, 6, 0.3 * h, 2.0)),
        ),
    )


def step(case, phase):
    """h with h omega_max = phase."""
    return phase / np.sqrt(case.lam.max())


@pytest.mark.parametrize("tol", [1e-3, 1e-6, 1e-10])
@pytest.mark.parametrize(
    "name, method", [(c, m) for c in CASES for m in METHODS] + [("bodies", "batched")]
)
def test_true_error_is_within_the_tolerance(name, method, tol):
    case = cached(name)
    columns = np.random.default_rng(1).standard_normal((3, case.lam.size))
    for phase in (3.0, 10.0, -100.0):
        functions = request(step(case, phase))
        action = evaluate(case.make(), functions, list(columns), tol=tol, method=method)
        assert case.errors(action, functions, columns, tol).max() <= 1.0, phase


@drawn(60)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(METHODS),
    st.sampled_from(["dense", "lumped mass", "indefinite", "outliers", "singular", "omega 1e4"]),
    st.lists(st.booleans(), min_size=1, max_size=4),
    st.floats(0.0, 100.0),
    st.sampled_from([1e-4, 1e-7, 1e-9]),
)
def test_any_columns_some_of_them_zero(seed, method, name, alive, phase, tol):
    rng, case = np.random.default_rng(seed), cached(name)
    columns = rng.standard_normal((len(alive), N)) * np.array(alive)[:, None]
    h = step(case, phase)
    terms = tuple(
        Term(row, c, int(rng.integers(7)), h * rng.uniform(-1, 1), rng.standard_normal())
        for row in range(2)
        for c in range(len(alive))
    )
    functions = StumpffMap(2, len(alive), terms)
    action = evaluate(case.make(), functions, list(columns), tol=tol, method=method)
    if any(alive):
        assert case.errors(action, functions, columns, tol).max() <= 1.0
    else:
        assert not action.value.any()


# ------------------------------------------------------------------ hard cases


PLATEAUS = {
    "logarithmic": np.round(1e8 ** (np.arange(N) / (N - 1))),
    "outliers": np.round(np.append(100 * STEPS[3:], [1e8, 1.5e8, 2e8])),
    "indefinite": np.round(np.append(1e6 ** STEPS[5:], [-30, -20, -10, -5, -1])),
}


@pytest.mark.parametrize("tol", thinned([1e-2, 1e-6, 1e-3, 1e-4], keep=2))
@pytest.mark.parametrize("smooth", [True, False], ids=["smooth", "rough"])
@pytest.mark.parametrize(
    "method, phase, name",
    [(m, p, n) for m in ("lanczos", "chebyshev") for p in (30.0, 100.0, 1000.0) for n in PLATEAUS]
    + [("skew", p, n) for p in (100.0, 300.0) for n in ("logarithmic", "outliers")],
)
def test_slow_convergence_is_not_taken_for_convergence(method, phase, name, smooth, tol):
    """A Krylov basis makes little progress here for a long time: it has other values to find."""
    lam = PLATEAUS[name]
    A, h = (HADAMARD * lam) @ HADAMARD / N, phase / np.sqrt(lam.max())
    for seed in range(3):
        x, v = np.random.default_rng(seed).standard_normal((2, N))
        x = x / np.sqrt(np.maximum(lam, 1.0)) if method == "skew" else x
        if smooth:
            x, v = (w * np.where(lam > np.sqrt(lam.max()), 1e-4, 1.0) for w in (x, v))
        u = np.concatenate([x @ HADAMARD, v @ HADAMARD])
        action = phi_action(SecondOrderOperator(A), h, [u], tol=tol, method=method)
        c0, c1 = stumpff(0, h * h * lam), stumpff(1, h * h * lam)
        exact = np.array([c0 * x + h * c1 * v, -h * lam * c1 * x + c0 * v])
        error = action.value.reshape(2, N) @ HADAMARD / N - exact
        if method == "skew":  # promised in the energy norm
            weights = np.sqrt(np.array([lam, np.ones(N)]))
            error, exact = ((weights * w).reshape(1, -1) for w in (error, exact))
        assert np.all(np.linalg.norm(error, axis=1) <= tol * np.linalg.norm(exact, axis=1)), seed


@pytest.mark.parametrize("tol", [1e-3, 1e-6, 1e-10])
@pytest.mark.parametrize("phase", [1e3, 1e4])
@pytest.mark.parametrize("name", ["omega 1e4, even", "outliers"])
@pytest.mark.parametrize("method", METHODS)
def test_huge_steps_are_within_the_tolerance_or_say_so(method, name, phase, tol):
    """Rounding grows with h omega: either the error is named in the record, or NotConverged."""
    case = cached(name)
    columns = np.random.default_rng(2).standard_normal((3, N))
    functions = request(step(case, phase))
    try:
        action = evaluate(case.make(), functions, list(columns), tol=tol, method=method)
    except NotConverged:
        return
    assert case.errors(action, functions, columns, max(tol, 2 * action.error)).max() <= 1.0


@pytest.mark.parametrize("h", [1.0, 3.6, 5.0, 10.0])  # cosh(100), cosh(360), cosh(500), cosh(1000)
@pytest.mark.parametrize("method", METHODS)
def test_strongly_indefinite_is_right_or_named_never_garbage(method, h):
    case = hadamard(np.append(1e4 ** STEPS[3:], [-1e4, -5e3, -100]))
    columns = np.random.default_rng(3).standard_normal((2, N))
    functions = StumpffMap(2, 2, request(h).terms[:4])
    try:
        action = evaluate(case.make(), functions, list(columns), tol=1e-6, method=method)
    except NotConverged as failure:
        assert "\n" not in str(failure)
        return
    assert np.isfinite(action.value).all()
    assert case.errors(action, functions, columns, 1e-6).max() <= 1.0


@pytest.mark.parametrize("phase", [10.0, 50.0, 200.0])
def test_chebyshev_products(phase):
    """Half of h omega and a few more per column, once the bounds are known."""
    J = SecondOrderOperator(chain(np.full(2001, 2.5e7)))  # omega_max = 1e4
    u = np.random.default_rng(4).standard_normal(4000)
    phi_action(J, 1e-6, [None, u], method="chebyshev")
    action = phi_action(J, phase / 1e4, [None, u], tol=1e-6, method="chebyshev")
    assert action.products / 2 <= 1.2 * (phase / 2 + 20)


def test_dense_refuses_what_would_fill_the_memory():
    n = DENSE_LIMIT + 1
    J = SecondOrderOperator(sp.identity(n, format="csr"))
    with pytest.raises(InputError, match=f"{n} x {n}"):
        phi_action(J, 0.1, [np.ones(2 * n)], method="dense")


# ------------------------------------------------------------------ one basis, once


def test_three_alike_are_one_problem_of_a_third_of_the_size():
    """Blocks that are multiples of the identity; one entry beside the diagonal ends it, and so do
    masses that differ along the axes."""
    K = chain(np.arange(1.0, 42.0))
    three = sp.kron(K, sp.identity(3), "csr")
    A = as_symmetric(three, constant=True)
    assert A.core.size == 40 and A.core.constant
    np.testing.assert_array_equal(A.core.todense(), K.toarray())
    bent = three.tolil()
    bent[60, 61] = bent[61, 60] = 1e-9
    assert as_symmetric(bent.tocsr()).core.size == 120
    assert as_symmetric(three, LumpedMass(np.arange(1.0, 121.0))).core.size == 120


def longest(h):
    return StumpffMap(1, 1, (Term(0, 0, 0, h),))


def test_a_constant_operator_is_diagonalised_where_products_cost_more():
    """The price of a basis of 900 coordinates is that of 1000 evaluations at h omega = 1, of 20 at
    1000: one operator that stays is worth it from there on, one that is used once is not."""
    K = chain(np.full(901, 2.5e7))  # omega_max = 1e4
    for constant, phase, expected in (
        (True, 1000.0, "dense"), (True, 1.0, "chebyshev"),
        (False, 1000.0, "chebyshev"), (False, 1e6, "dense"),
    ):  # fmt: skip
        name, reason = choose(as_symmetric(K, constant=constant), longest(phase / 1e4))
        assert name == expected, (constant, phase)
        assert ("constant" in reason) == (constant and name == "dense")


def test_no_basis_where_memory_does_not_hold_it():
    K = chain(np.full(DENSE_LIMIT + 2, 2.5e7))
    assert choose(as_symmetric(K, constant=True), longest(1e6))[0] != "dense"
    alike = sp.kron(chain(np.full(1501, 2.5e7)), sp.identity(3), "csr")  # 4500, but 1500 at a time
    assert choose(as_symmetric(alike, constant=True), longest(1.0))[0] == "dense"


@pytest.mark.parametrize("name", ["three alike", "three alike, omega 1e4"])
@pytest.mark.parametrize("alpha, beta", [(3.0, 0.0), (0.0, 1e-3), (0.5, 1e-2)])
def test_rayleigh_damping_has_the_same_basis(name, alpha, beta):
    case = cached(name)
    h = step(case, 30.0)
    terms = tuple(
        PhiTerm(part, source, 1, h, h, part, source) for part in (0, 1) for source in (0, 1)
    )
    functions = RayleighMap(2, 2, alpha, beta, terms)
    columns = np.random.default_rng(3).standard_normal((2, case.lam.size))
    action = evaluate(case.make(), functions, list(columns), tol=1e-10, method="dense")
    assert case.errors(action, functions, columns, 1e-10).max() <= 1.0


# ------------------------------------------------------------------ a user's own sparse matrix


@pytest.mark.parametrize("form", ["csr", "bsr", "coo", "csc"])
def test_blocks_of_a_users_matrix_are_found(form):
    """And its entries stay what they are, in whatever order, once or in two summands."""
    case = block_case(fixed=[0, 1, 2, 4])
    K = sp.csr_matrix(case.make().K)
    if form == "coo":
        K = K.tocoo()
        twice = (np.tile(0.5 * K.data, 2), (np.tile(K.row, 2), np.tile(K.col, 2)))
        given = sp.coo_matrix(twice, shape=K.shape)
    else:
        given = K.asformat(form)
    A = as_symmetric(given)
    assert isinstance(A, BlockOperator)
    np.testing.assert_allclose(A.todense(), K.toarray(), rtol=1e-15)


def test_matrices_without_blocks_stay_as_they_are():
    for K in (chain(np.ones(301)), chain(np.ones(3001)), sp.identity(301, format="csr")):
        assert not isinstance(as_symmetric(K), BlockOperator)
    full = sp.csr_matrix(np.ones((4, 4)))
    assert not isinstance(as_symmetric(full), BlockOperator)
