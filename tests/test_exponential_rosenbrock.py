"""Exponential Rosenbrock methods: stiff order conditions, exactness, and the FPUT study."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st
from systems import march, reference
from thinned import drawn

import stiffly
from stiffly.bodies import Rayleigh, SecondOrder
from stiffly.contracts import State
from stiffly.errors import InputError, NotConverged
from stiffly.integrators import ExponentialRosenbrock
from stiffly.integrators.exponential_rosenbrock import weights
from stiffly.matfun import phi

EXPRB2, EXPRB32, EXPRB42 = (), (1.0,), (3 / 4,)
PEXPRB43, EPIRK4S3 = (1 / 3, 3 / 4), (1 / 8, 1 / 9)
NODES = [EXPRB2, EXPRB32, EXPRB42, PEXPRB43, (1 / 2, 1.0), EPIRK4S3]
by_nodes = pytest.mark.parametrize("nodes", NODES, ids=str)
two_nodes = st.tuples(st.floats(0.05, 1.0), st.floats(0.05, 1.0)).filter(
    lambda c: abs(c[0] - c[1]) > 0.01
)
arguments = st.one_of(st.floats(-1e6, 0.0), st.floats(-20.0, 20.0), st.just(0.0))


# ------------------------------------------------------------------ stiff order conditions


def moment(nodes, power, z):
    """sum_i b_i(z) c_i^power and the sum of the terms' sizes."""
    terms = [
        b * phi(k, z) * c**power
        for c, own in zip(nodes, weights(nodes).coefficients, strict=True)
        for k, b in own.items()
    ]
    return sum(terms), sum(map(abs, terms))


@drawn(100)
@given(st.one_of(two_nodes, st.sampled_from([PEXPRB43, (1 / 2, 1.0), EPIRK4S3])), arguments)
def test_two_nodes_meet_both_conditions_in_their_strong_form(nodes, z):
    for power, exact in ((2, 2 * phi(3, z)), (3, 6 * phi(4, z))):
        total, size = moment(nodes, power, z)
        assert abs(total - exact) <= 1e-13 * size


@drawn(50)
@given(st.floats(0.05, 1.0), arguments)
def test_one_node_meets_the_first_condition(c, z):
    total, _ = moment((c,), 2, z)
    assert total == pytest.approx(2 * phi(3, z), rel=1e-13)


def test_the_second_condition_of_one_node():
    """exprb42 meets sum b c^3 = 6 phi_4 at z = 0 only; exprb32 not even there."""
    assert moment(EXPRB42, 3, 0.0)[0] == pytest.approx(6 * phi(4, 0.0), rel=1e-14)
    assert moment(EXPRB42, 3, -10.0)[0] != pytest.approx(6 * phi(4, -10.0), rel=0.05)
    assert moment(EXPRB32, 3, 0.0)[0] != pytest.approx(6 * phi(4, 0.0), rel=0.05)


def test_epirk4s3_has_the_printed_weights():
    b2, b3 = weights(EPIRK4S3).coefficients
    assert b2 == pytest.approx({3: -1024.0, 4: 27648.0}, rel=1e-12)
    assert b3 == pytest.approx({3: 1458.0, 4: -34992.0}, rel=1e-12)


@pytest.mark.parametrize("nodes, order", list(zip(NODES, [2, 3, 4, 4, 4, 4], strict=True)))
def test_declared_order(nodes, order):
    method = ExponentialRosenbrock(nodes)
    assert (method.order, method.adaptive) == (order, len(nodes) > 0)


@pytest.mark.parametrize("nodes", [(0.0,), (1.2,), (-0.5,), (0.5, 0.5), (0.2, 0.4, 0.6)], ids=str)
def test_impossible_nodes_are_refused(nodes):
    with pytest.raises(InputError, match="nodes") as caught:
        ExponentialRosenbrock(nodes)
    assert "\n" not in str(caught.value)


# ------------------------------------------------------------------ exact on linear problems

OMEGA = np.array([0.5, 3.0, 40.0, 1e4])
Q = scipy.linalg.qr(np.random.default_rng(1).standard_normal((4, 4)))[0]
MASS = np.array([1.0, 4.0, 0.25, 16.0])
U0 = np.random.default_rng(2).standard_normal((2, 4)) / [OMEGA, np.ones(4)]


def linear_system(damping=None, force=None):
    """Four oscillators of frequencies OMEGA, mixed, with unequal masses; modes of motion (4, 4)."""
    root = np.sqrt(MASS)
    A = root[:, None] * ((Q * OMEGA**2) @ Q.T) * root
    options = {} if force is None else {"force": force, "jacobian": 0}
    system = SecondOrder(stiffness=0.5 * (A + A.T), mass=MASS, damping=damping, **options)
    modes = Q / root[:, None]
    return *system.bind(modes @ U0[0], modes @ U0[1]), np.linalg.inv(modes)


@by_nodes
@pytest.mark.parametrize("h", [1e-4, 0.01, 1.0])
@pytest.mark.parametrize("damping", [None, Rayleigh(0.3, 0.0), Rayleigh(0.1, 1e-4)], ids=str)
def test_linear_motion_is_exact_at_any_step(nodes, h, damping):
    system, state, to_modes = linear_system(damping)
    end = march(ExponentialRosenbrock(nodes), system, state, [h] * 5)[0][-1]
    alpha, beta = (0.0, 0.0) if damping is None else (damping.alpha, damping.beta)
    # the remainder of a linear force is rounding, eps |a|, times weights up to 35,000; a stiff mode
    # with velocity v has |a| up to (omega + beta omega^2) |v|
    weight = sum(abs(b) for own in weights(nodes).coefficients for b in own.values())
    noise = 2.0**-52 * weight * h * OMEGA.max() * (1.0 + beta * OMEGA.max())
    for i, w in enumerate(OMEGA):
        R = np.array([[0.0, 1.0], [-(w**2), -(alpha + beta * w**2)]])
        x, v = scipy.linalg.expm(5 * h * R) @ U0[:, i]
        # K is known to eps |K|, so phases of slow modes are known to h eps omega_max^2 / omega
        size = np.hypot(x * w, v) + np.hypot(*U0[:, i] * [w, 1.0])
        allowed = (1e-9 + noise) * size + 1e-13 * (1 + h * 1e4**2 / w) * np.abs(U0[1]).max()
        assert abs((to_modes @ end.x)[i] - x) * w <= allowed
        assert abs((to_modes @ end.v)[i] - v) <= allowed


@by_nodes
def test_forces_linear_in_time_are_exact_at_any_step(nodes):
    """x'' = -w^2 x + a + b t has the particular solution (a + b t) / w^2."""
    w, a, b = np.array([0.7, 50.0]), np.array([1.0, -300.0]), np.array([-2.0, 800.0])
    system = SecondOrder(stiffness=np.diag(w**2), force=lambda t, x: a + b * t, jacobian=0)
    system, state = system.bind((a / w**2) + [0.1, 0.02], (b / w**2) + [0.3, -1.0])
    end = march(ExponentialRosenbrock(nodes), system, state, [0.9] * 3)[0][-1]
    t = 2.7
    x = (a + b * t) / w**2 + np.array([0.1, 0.02]) * np.cos(w * t)
    x += np.array([0.3, -1.0]) * np.sin(w * t) / w
    assert end.x == pytest.approx(x, rel=1e-9)


# ------------------------------------------------------------------ FPUT (Luan & Michels 2021)

STIFF = 100.0
# x and v at T = 100, by DOP853 with rtol = atol = 1e-13 (test_fput_reference)
FPUT_END = np.array(
    [
        -0.00498174317423,
        0.0467394831199,
        1.07288003452,
        -0.00974161396507,
        0.00537691018097,
        0.00241636667034,
        0.0331384076375,
        -0.684685045707,
        0.400088234111,
        0.531521609558,
        0.635009605443,
        -0.170061289143,
    ]
)


def fput():
    """m = 3 stiff springs, U = 1/4 sum of fourth powers of the rows of B x."""
    m = 3
    B = np.zeros((m + 1, 2 * m))
    B[0, [0, m]] = 1, -1
    for i in range(m - 1):
        B[i + 1, [i + 1, m + i + 1, i, m + i]] = 1, -1, -1, -1
    B[m, [m - 1, 2 * m - 1]] = 1
    system = SecondOrder(
        stiffness=np.diag(np.repeat([1.0, STIFF**2], m)),
        force=lambda x: -B.T @ (B @ x) ** 3,
        jacobian=lambda x: -B.T @ (3 * (B @ x)[:, None] ** 2 * B),
        potential=lambda x: 0.25 * float(np.sum((B @ x) ** 4)),
    )
    x0, v0 = np.array([1.0, 0, 0, 1 / STIFF, 0, 0]), np.array([1.0, 0, 0, 1, 0, 0])
    return system.bind(x0, v0)


def test_fput_energy_is_the_printed_one():
    system, state = fput()
    assert sum(system.energy(state).values()) == pytest.approx(2.500300005, rel=1e-12)


@pytest.mark.slow
def test_fput_reference():
    x, v = reference(*fput(), [100.0])
    assert np.concatenate([x[-1], v[-1]]) == pytest.approx(FPUT_END, abs=1e-7)


def fput_error(nodes, h):
    end = march(ExponentialRosenbrock(nodes), *fput(), [h] * round(100 / h))[0][-1]
    return np.abs(np.concatenate([end.x, end.v]) - FPUT_END).max()


# Errors of an independent implementation with a dense eigensolver.
@pytest.mark.parametrize(
    "nodes, error",
    [(EXPRB42, 1.1e-3), ((1 / 2, 1.0), 4.0e-4), (EPIRK4S3, 9.1e-3), (EXPRB2, 1.5e-1)],
    ids=str,
)
def test_fput_errors_at_one_fiftieth_second(nodes, error):
    assert fput_error(nodes, 0.02) == pytest.approx(error, rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "nodes, error",
    [(EXPRB42, 5.7e-5), ((1 / 2, 1.0), 2.7e-5), (EPIRK4S3, 4.7e-4), (EXPRB2, 3.1e-2)],
    ids=str,
)
def test_fput_errors_at_one_hundredth_second(nodes, error):
    assert fput_error(nodes, 0.01) == pytest.approx(error, rel=0.1)


# ------------------------------------------------------------------ other forms of the same step


class Unsymmetric:
    """A system whose tangent does not admit to being symmetric: takes the full-J path."""

    def __init__(self, system):
        self._system = system

    def __getattr__(self, name):
        return getattr(self._system, name)

    def tangent(self, s):
        t = self._system.tangent(s)
        return SimpleNamespace(
            stiffness=t.stiffness, damping=t.damping, symmetric=False, constant=t.constant
        )


@by_nodes
@pytest.mark.parametrize("h", [0.01, 0.1])
@pytest.mark.parametrize("how", ["dense", "arnoldi"])
def test_half_size_form_equals_the_full_jacobian(nodes, h, how, monkeypatch):
    if how == "arnoldi":  # as if twelve rows were many
        for where in ("first_order.SMALL", "general.SMALL", "general.DENSE_MOST"):
            monkeypatch.setattr(f"stiffly.matfun.{where}", 1)
    system, state = fput()
    method = ExponentialRosenbrock(nodes, tol=1e-11, estimate=True)
    half = method.step(system, state, h, None)
    full = method.step(Unsymmetric(system), state, h, None)
    assert how in full.notes["method"] and "dense eigenbasis" in half.notes["method"]
    assert np.abs(half.state.x - full.state.x).max() <= 1e-10 * np.abs(half.state.x).max()
    assert np.abs(half.state.v - full.state.v).max() <= 1e-10 * np.abs(half.state.v).max()
    assert np.abs(half.error.v - full.error.v).max() <= 1e-9 * np.abs(half.state.v).max()


@pytest.mark.parametrize("method", ["dense", "lanczos", "chebyshev", "skew"])
@by_nodes
def test_every_evaluator_gives_the_same_step(nodes, method):
    system, state = fput()
    plain = ExponentialRosenbrock(nodes, tol=1e-12).step(system, state, 0.05, None).state
    other = ExponentialRosenbrock(nodes, tol=1e-11, method=method).step(system, state, 0.05, None)
    assert np.abs(other.state.x - plain.x).max() <= 1e-9
    assert np.abs(other.state.v - plain.v).max() <= 1e-8


@pytest.mark.parametrize("basis", [4, 6, 12])
def test_skew_with_a_fixed_budget_runs_and_gets_better_with_it(basis):
    system, state = fput()
    method = ExponentialRosenbrock(EXPRB42, method="skew", basis=basis)
    run = stiffly.simulate(system, state.x, state.v, integrator=method, step=0.005, duration=1.0)
    # four evaluations of A per vector and step at the most: two vectors, two functions
    assert run.stats["operator_products"] <= 200 * (2 * (basis + 1) + 2)
    assert run.energy.summary()["max_abs_drift"] <= {4: 0.2, 6: 2e-3, 12: 1e-6}[basis]


def test_skew_names_an_indefinite_tangent():
    system = SecondOrder(
        size=1, force=lambda x: x - x**3, jacobian=lambda x: np.array([[1 - 3 * x[0] ** 2]])
    )
    system, state = system.bind([0.1], [0.0])
    with pytest.raises(NotConverged, match="negative stiffness"):
        ExponentialRosenbrock(EXPRB42, method="skew").step(system, state, 0.1, None)


@pytest.mark.parametrize("nodes, order", [(EXPRB32, 3), (EXPRB42, 3), (PEXPRB43, 4)], ids=str)
def test_embedded_estimate_falls_with_its_order(nodes, order):
    """One node: the whole correction, h phi_3 D = O(h^3); two: the phi_4 part, O(h^4)."""
    system, state = fput()
    state = State(0.0, np.array([0.6, -0.3, 0.2, 0.0, 0.0, 0.0]), np.array([1.0, 0.5, 0, 0, 0, 0]))
    method = ExponentialRosenbrock(nodes, estimate=True)
    sizes = [np.abs(method.step(system, state, h, None).error.v).max() for h in (4e-4, 2e-4)]
    assert np.log2(sizes[0] / sizes[1]) == pytest.approx(order, abs=0.2)


def test_a_step_leaves_its_input_alone_and_forgets_nothing():
    system, state = fput()
    x, v = state.x.copy(), state.v.copy()
    method = ExponentialRosenbrock(PEXPRB43)
    once = method.step(system, state, 0.02, method.start(system, state)).state
    method.step(system, state, 0.5, None)
    again = method.step(system, state, 0.02, None).state
    assert np.array_equal(once.x, again.x) and np.array_equal(once.v, again.v)
    assert np.array_equal(state.x, x) and np.array_equal(state.v, v)
