"""phi functions of damped and loaded bodies, body by body: against SciPy's exponentials of each."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from stiffly.bodies import Drag, Gravity, LumpedMass, Rayleigh, Springs, System
from stiffly.errors import NotConverged
from stiffly.integrators import ExponentialRosenbrock
from stiffly.matfun import first_order
from stiffly.matfun.body_exponentials import body_exponentials
from stiffly.matfun.first_order import FirstOrderFlow
from stiffly.matfun.operators import SparseOperator
from stiffly.system.linearise import LinearTangent

SIZES = [3, 7, 3, 1, 12, 7, 3]


def bodies(rng, omega, *, low=0.0, damping=1.0, unsymmetric=0.0, sizes=SIZES):
    """Tangent and, body by body, coordinates, M^-1 K, M^-1 D; coordinates lie anywhere."""
    mass = 10.0 ** rng.uniform(-0.5, 0.5, sum(sizes))
    order = rng.permutation(sum(sizes))
    K, D = np.zeros((2, order.size, order.size))
    own, first = [], 0
    for m in sizes:
        where = np.sort(order[first : first + m])
        root = np.sqrt(mass[where])
        Q = np.linalg.qr(rng.standard_normal((m, m)))[0]
        lam = low + omega ** rng.uniform(0.0, 2.0, m)
        block = (Q * lam) @ Q.T + unsymmetric * rng.standard_normal((m, m))
        drag = rng.standard_normal((m, m))
        K[np.ix_(where, where)] = root[:, None] * block * root
        D[np.ix_(where, where)] = damping * root[:, None] * (drag @ drag.T) * root
        own.append(where)
        first += m
    lumped = LumpedMass(mass)
    stiffness = SparseOperator(sp.csr_matrix(K), lumped)
    tangent = LinearTangent(stiffness, SparseOperator(sp.csr_matrix(D), lumped), False, False)
    A, B = K / mass[:, None], D / mass[:, None]
    return tangent, [(w, A[np.ix_(w, w)], B[np.ix_(w, w)]) for w in own]


def exact(A, D, omega, tau, vectors):
    """sum_k tau^k phi_k(tau J) v_k from one exponential, positions scaled by omega."""
    m, p = len(A), len(vectors) - 1
    J = np.block([[np.zeros((m, m)), omega * np.eye(m)], [-A / omega, -D]])
    big = np.zeros((2 * m + p, 2 * m + p))
    big[: 2 * m, : 2 * m] = J
    scale = np.repeat([omega, 1.0], m)
    for k, v in enumerate(vectors[1:], start=1):
        big[: 2 * m, 2 * m + p - k] = 0.0 if v is None else scale * v
    big[2 * m :, 2 * m :] = np.eye(p, k=1)
    return (scipy.linalg.expm(tau * big)[: 2 * m, -1]) / scale


CASES = {
    "damped": {"damping": 1.0},
    "strongly damped": {"damping": 300.0},
    "undamped": {"damping": 0.0},
    "loaded": {"damping": 0.3, "unsymmetric": 5.0},
    "indefinite": {"damping": 0.3, "low": -40.0},
}


@pytest.mark.parametrize("omega, h", [(10.0, 0.03), (100.0, 0.3), (1e4, 0.02), (1e4, 1.0)])
@pytest.mark.parametrize("name", CASES)
def test_against_exponentials_of_each_body(name, omega, h):
    rng = np.random.default_rng(7)
    tangent, each = bodies(rng, omega, **CASES[name])
    n = sum(SIZES)
    vectors = [None, *rng.standard_normal((4, 2 * n))]
    taus = [h / 9, h / 3, 0.5 * h, 0.75 * h, h]
    found = body_exponentials(tangent, h)
    assert (found.count, found.largest) == (len(SIZES), max(SIZES))
    values = found.actions(taus, vectors)
    for tau, value in zip(taus, values, strict=True):
        for where, A, D in each:
            own = np.concatenate([where, n + where])
            theirs = exact(A, D, omega, tau, [None, *(v[own] for v in vectors[1:])])
            weight = np.repeat([omega, 1.0], len(where))
            sizes = max(np.linalg.norm(weight * w) for w in (theirs, tau * vectors[1][own]))
            gap = np.linalg.norm(weight * (value[own] - theirs)) / sizes
            assert gap <= 4.0 * found.error, (tau, len(where))  # SciPy rounds as well


def test_vectors_may_come_in_any_order():
    """The exponentials are kept: the second answer is that of a fresh start."""
    rng = np.random.default_rng(8)
    tangent, _ = bodies(rng, 100.0)
    first, second = rng.standard_normal((2, 2 * sum(SIZES)))
    kept, fresh = body_exponentials(tangent, 0.1), body_exponentials(tangent, 0.1)
    kept.actions([0.05, 0.1], [None, first])
    again, alone = (e.actions([0.1], [None, None, None, second])[0] for e in (kept, fresh))
    np.testing.assert_array_equal(again, alone)


def test_damping_that_couples_bodies_is_no_case():
    rng = np.random.default_rng(9)
    tangent, _ = bodies(rng, 10.0)
    assert body_exponentials(tangent, 0.1) is not None
    n = sum(SIZES)
    tied = tangent.damping.K + 0.1 * sp.csr_matrix(np.ones((n, n)))
    tangent.damping = SparseOperator(tied, tangent.stiffness.mass)
    assert body_exponentials(tangent, 0.1) is None


def test_overflow_is_named():
    rng = np.random.default_rng(10)
    tangent, _ = bodies(rng, 10.0, low=-1e6)
    with pytest.raises(NotConverged, match="overflow"):
        body_exponentials(tangent, 10.0).actions([10.0], [None, np.ones(2 * sum(SIZES))])


# ------------------------------------------------------------------ in a step


def pendulums(count, damping, loads=(), length=4):
    """Chains of so many particles each, hung up, stretched and moving."""
    rng, all_ = np.random.default_rng(3), length + 1
    x = np.zeros((count, all_, 3))
    x[..., 0] = 0.5 * np.arange(count)[:, None]
    x[..., 2] = -0.102 * np.arange(all_)  # stretched: nothing is compressed
    first = all_ * np.arange(count)[:, None]
    ends = [first + np.arange(length), first + np.arange(1, all_)]
    parts = [Springs(np.stack(ends, axis=2).reshape(-1, 2), 1e5, 0.1), Gravity(), *loads]
    rest = x.reshape(-1, 3)
    system = System(np.full(all_ * count, 0.1), parts, first.ravel(), rest, damping=damping)
    start = rest + 1e-4 * rng.standard_normal(rest.shape)
    start[first.ravel()] = rest[first.ravel()]
    v = 0.3 * rng.standard_normal(rest.shape)
    v[first.ravel()] = 0.0
    return system.bind(start, v)


@pytest.mark.parametrize("nodes", [(0.75,), (1 / 3, 3 / 4)], ids=["exprb42", "pexprb43"])
@pytest.mark.parametrize(
    "damping, loads",
    [
        (Rayleigh(0.5, 1e-4), ()),
        (None, (Drag(0.05),)),
        (Rayleigh(1.0, 1e-5), (Drag(0.05),)),
    ],
    ids=["stiffness-proportional", "drag", "both"],
)
def test_the_step_of_many_is_that_of_arnoldi(monkeypatch, damping, loads, nodes):
    """The same step by one Krylov space of all, to its tolerance; and cheaper, or not taken."""
    system, state = pendulums(20, damping, loads)
    method = ExponentialRosenbrock(nodes, tol=1e-12)
    taken = method.step(system, state, 0.05, None)
    assert "exponentials of 20 bodies" in taken.notes["method"]
    monkeypatch.setattr(first_order, "body_exponentials", lambda tangent, h: None)
    other = method.step(system, state, 0.05, None)
    assert "exponentials" not in other.notes["method"]
    np.testing.assert_allclose(taken.state.x, other.state.x, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(taken.state.v, other.state.v, rtol=0.0, atol=1e-6)
    assert taken.exchanged.dissipated == pytest.approx(other.exchanged.dissipated, rel=1e-6)


def test_small_steps_keep_their_krylov_space():
    """At h omega far below one a few products do."""
    system, state = pendulums(3, Rayleigh(0.5, 1e-4), length=60)
    taken = ExponentialRosenbrock((0.75,)).step(system, state, 1e-5, None)
    assert "arnoldi" in taken.notes["method"]


def test_one_body_alone_has_no_others_to_be_told_from():
    system, state = pendulums(1, Rayleigh(0.5, 1e-4))
    flow = FirstOrderFlow(system.tangent(state), 1e-8)
    assert flow._body_by_body(0.1) is None
