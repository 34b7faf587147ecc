"""A user's own equations: forces, tangents, energy and power for every kind of matrix."""

import warnings

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

from stiffly import contracts
from stiffly.bodies import Rayleigh, SecondOrder
from stiffly.contracts import State
from stiffly.errors import InputError, StiffWarning
from stiffly.matfun.operators import DenseOperator, MatvecOperator, SparseOperator

N = 6
RNG = np.random.default_rng(7)
A = np.diag(np.arange(1.0, N + 1)) + 0.3 * (np.eye(N, k=1) + np.eye(N, k=-1))
M = np.diag(np.linspace(2.0, 3.0, N)) + 0.2 * (np.eye(N, k=1) + np.eye(N, k=-1))
D = RNG.uniform(0.0, 0.1, (N, N)) + 0.3 * np.eye(N)  # not symmetric, and v.D v > 0
X, V = RNG.standard_normal((2, N))
KINDS = {"dense": np.asarray, "sparse": sp.csr_array, "operator": aslinearoperator}


def g(x):
    return -(x**3)


def dg(x):
    return np.diag(-3.0 * x**2)


def U(x):
    return 0.25 * np.sum(x**4)


def twisted(x):
    """A force without a potential."""
    return np.roll(x, 1) ** 2


def d_twisted(x):
    return np.roll(np.diag(2.0 * x), 1, axis=0)


def jacobian(function, x, e=1e-6):
    return np.stack(
        [(function(x + e * d) - function(x - e * d)) / (2 * e) for d in np.eye(x.size)], axis=1
    )


def tangent_of(system, s):
    """K and D seen by an implicit solver, as arrays."""
    tangent = system.tangent(s)
    return [np.asarray(sp.csr_array(tangent.matrix(*w)).toarray()) for w in ((0, 1, 0), (0, 0, 1))]


@pytest.mark.parametrize("rayleigh", [False, True])
@pytest.mark.parametrize("of_g", [*KINDS, "none"])
@pytest.mark.parametrize("of_a", [*KINDS, "none"])
def test_every_combination_of_matrices(of_a, of_g, rayleigh):
    if of_a == of_g == "none":
        return
    options = {"mass": KINDS.get(of_a, np.asarray)(M)}
    if of_a != "none":
        options["stiffness"] = KINDS[of_a](A)
    if of_g != "none":
        options |= {"force": g, "potential": U, "jacobian": lambda x: KINDS[of_g](dg(x))}
    damping = Rayleigh(0.1, 0.0 if of_a == "none" else 0.2)
    options["damping"] = damping if rayleigh else KINDS.get(of_a, np.asarray)(D)
    system, s = SecondOrder(**options).bind(X, V)

    f = -(0.1 * M + 0.2 * A if rayleigh and of_a != "none" else 0.1 * M if rayleigh else D) @ V
    f = f - (A @ X if of_a != "none" else 0.0) + (g(X) if of_g != "none" else 0.0)
    np.testing.assert_allclose(system.force(s), f, atol=1e-12)
    np.testing.assert_allclose(M @ system.acceleration(s), f, atol=1e-10)

    K, damper = tangent_of(system, s)
    np.testing.assert_allclose(K, -jacobian(lambda x: system.force(State(0, x, V)), X), atol=1e-7)
    np.testing.assert_allclose(
        damper, -jacobian(lambda v: system.force(State(0, X, v)), V), atol=1e-7
    )
    tangent = system.tangent(s)
    b = np.stack([X, V], axis=1)
    np.testing.assert_allclose(M @ tangent.stiffness.apply(b), K @ b, atol=1e-9)
    if not isinstance(tangent.damping, Rayleigh):
        np.testing.assert_allclose(M @ tangent.damping.apply(V), damper @ V, atol=1e-10)
    assert system.power(s).dissipated == pytest.approx(V @ damper @ V)


def test_it_is_a_system_and_tells_what_it_is():
    plain = SecondOrder(stiffness=A)
    assert isinstance(plain, contracts.System)
    assert plain.conservative and not plain.time_dependent and not plain.velocity_dependent
    assert SecondOrder(stiffness=A, force=g, potential=U).conservative
    assert not SecondOrder(stiffness=A, force=g).conservative
    assert not SecondOrder(stiffness=A, damping=Rayleigh(1.0)).conservative
    assert SecondOrder(stiffness=A, damping=Rayleigh()).conservative
    driven = SecondOrder(stiffness=A, force=lambda t, x: g(x), potential=U)
    assert driven.time_dependent and not driven.conservative


def test_constant_tangent_is_the_same_object():
    for system in (
        SecondOrder(stiffness=A, damping=Rayleigh(0.1, 0.2)),
        SecondOrder(stiffness=A, force=lambda t, x: np.full(N, np.sin(t)), jacobian=0),
    ):
        first, second = (system.tangent(State(t, X, V)) for t in (0.0, 1.0))
        assert first is second is system.linear_part().tangent
        assert first.constant and first.stiffness.constant and first.symmetric
    varying = SecondOrder(stiffness=A, force=g, jacobian=dg, damping=Rayleigh(0.1, 0.2))
    assert not varying.tangent(State(0.0, X, V)).constant
    assert isinstance(varying.tangent(State(0.0, X, V)).damping, DenseOperator)
    assert isinstance(varying.linear_part().tangent.damping, Rayleigh)


def test_linear_part_is_the_stiffness_about_zero():
    part = SecondOrder(stiffness=A, force=g, jacobian=dg).linear_part()
    np.testing.assert_allclose(part.tangent.stiffness.todense(), A)
    np.testing.assert_array_equal(part.reference, 0.0)
    nothing = SecondOrder(force=g, jacobian=dg, size=N).linear_part()
    np.testing.assert_array_equal(nothing.tangent.stiffness.apply(X), 0.0)


def test_symmetry_is_decided_by_the_jacobian():
    s = State(0.0, X, V)
    for kind in ("dense", "sparse"):
        make = KINDS[kind]
        even = SecondOrder(stiffness=A, force=g, jacobian=lambda x, make=make: make(dg(x)))
        odd = SecondOrder(force=twisted, jacobian=lambda x, make=make: make(d_twisted(x)), size=N)
        assert even.tangent(s).symmetric and not odd.tangent(s).symmetric
    products = {"force": g, "jacobian": lambda x: aslinearoperator(dg(x)), "size": N}
    assert not SecondOrder(**products).tangent(s).symmetric
    assert SecondOrder(**products, potential=U).tangent(s).symmetric


def test_kind_of_operator_follows_the_matrices():
    s = State(0.0, X, V)
    for matrix, returned, kind in (
        (A, dg, DenseOperator),
        (sp.csr_array(A), lambda x: sp.diags(-3 * x**2), SparseOperator),
        (sp.csr_array(A), dg, DenseOperator),
        (A, lambda x: aslinearoperator(dg(x)), MatvecOperator),
    ):
        tangent = SecondOrder(stiffness=matrix, force=g, jacobian=returned).tangent(s)
        assert type(tangent.stiffness) is kind


# ---------------------------------------------------------------------- functions


def test_signatures_and_numba():
    compiled = numba.njit(g)
    timed = numba.njit(lambda t, x: t * x)
    expected = g(X) - A @ X
    assert not SecondOrder(stiffness=A, force=compiled).time_dependent
    np.testing.assert_allclose(
        SecondOrder(stiffness=A, force=compiled).force(State(2.0, X, V)), expected
    )
    np.testing.assert_allclose(SecondOrder(force=timed, size=N).force(State(2.0, X, V)), 2.0 * X)
    assert not SecondOrder(force=lambda x, k=3.0: k * x, size=N).time_dependent
    assert not SecondOrder(force=np.sin, size=N).time_dependent


def test_a_force_that_reuses_its_buffer_is_copied():
    buffer = np.empty(N)
    system = SecondOrder(force=lambda x: np.multiply(x, 2.0, out=buffer), size=N)
    first = system.force(State(0.0, X, V))
    system.force(State(0.0, V, V))
    np.testing.assert_allclose(first, 2.0 * X)


def test_acceleration_rate():
    system = SecondOrder(stiffness=A, force=lambda t, x: np.sin(20 * t) * x, jacobian=0, mass=2.0)
    rate = system.acceleration_rate(State(0.4, X, V), 0.01)
    np.testing.assert_allclose(rate, 10.0 * np.cos(8.0) * X, rtol=1e-7)
    np.testing.assert_array_equal(
        SecondOrder(stiffness=A).acceleration_rate(State(0, X, V), 0.01), 0.0
    )


def test_differences_stand_in_for_the_jacobian_and_warn_once():
    s = State(0.0, X, V)
    system = SecondOrder(stiffness=A, force=g)
    with pytest.warns(StiffWarning, match="jacobian"):
        tangent = system.tangent(s)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        system.tangent(s)
    assert tangent.symmetric
    np.testing.assert_allclose(tangent.stiffness.todense(), A - dg(X), atol=1e-8)
    with pytest.warns(StiffWarning):
        assert not SecondOrder(force=twisted, size=N).tangent(s).symmetric


def test_large_systems_take_directional_differences():
    n = 400
    x = np.linspace(0.1, 1.0, n)
    system = SecondOrder(stiffness=sp.identity(n, format="csr"), force=g, potential=U)
    with pytest.warns(StiffWarning):
        tangent = system.tangent(State(0.0, x, x))
    assert isinstance(tangent.stiffness, MatvecOperator) and tangent.symmetric
    np.testing.assert_allclose(tangent.stiffness.apply(x), x + 3 * x**3, rtol=1e-8)
    np.testing.assert_array_equal(tangent.stiffness.apply(0 * x), 0.0)


# ---------------------------------------------------------------------- energy


def test_energy_parts():
    system, s = SecondOrder(stiffness=A, force=g, jacobian=dg, potential=U, mass=M).bind(X, V)
    energy = system.energy(s)
    assert energy == {
        "kinetic": pytest.approx(0.5 * V @ M @ V),
        "stiffness": pytest.approx(0.5 * X @ A @ X),
        "potential": pytest.approx(U(X)),
    }
    assert system.power(s) == contracts.Power()


def test_power_counts_what_the_potential_does_not():
    s = State(0.5, X, V)
    push = np.arange(N) * 0.1
    free = SecondOrder(stiffness=A, force=twisted, jacobian=d_twisted)
    assert free.power(s).added == pytest.approx(twisted(X) @ V)
    driven = SecondOrder(stiffness=A, force=lambda t, x: g(x) + t * push, jacobian=dg, potential=U)
    assert driven.power(s).added == pytest.approx(0.5 * push @ V, rel=1e-7)


def test_a_potential_of_another_force_is_noticed():
    wrong = SecondOrder(force=g, jacobian=dg, potential=lambda x: -U(x), size=N)
    with pytest.warns(StiffWarning, match="potential"):
        wrong.bind(X, V)


# ---------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "nothing to move"),
        ({"force": g}, "size=n"),
        ({"force": g, "size": 0}, "size = 0"),
        ({"stiffness": A[:3]}, "shape"),
        ({"stiffness": A, "size": 3}, "shape"),
        ({"stiffness": A + D}, "not symmetric"),
        ({"stiffness": sp.csr_array(A + D)}, "not symmetric"),
        ({"stiffness": np.where(A > 2.0, np.nan, A)}, r"stiffness\[2, 2\] is nan"),
        ({"stiffness": "A", "size": N}, "numbers"),
        ({"stiffness": DenseOperator(A)}, "matrix A itself"),
        ({"stiffness": A, "mass": np.ones(3)}, "mass has shape"),
        ({"stiffness": A, "mass": -np.ones(N)}, r"mass\[0\] = -1"),
        ({"stiffness": A, "damping": D[:2]}, "damping has shape"),
        ({"stiffness": A, "damping": 0.1}, "damping has shape"),
        ({"stiffness": A, "damping": np.full((N, N), np.nan)}, "damping.*nan"),
        ({"stiffness": A, "damping": Rayleigh(-1.0)}, "negative"),
        ({"force": g, "size": N, "damping": Rayleigh(0.0, 1.0)}, "needs stiffness"),
        ({"stiffness": A, "jacobian": dg}, "without force"),
        ({"stiffness": A, "potential": U}, "without force"),
        ({"stiffness": A, "force": 3.0}, "function"),
        ({"stiffness": A, "force": lambda x, t: x}, r"force takes \(x, t\)"),
        ({"stiffness": A, "force": lambda a, b, c: a}, "force takes"),
        ({"stiffness": A, "force": g, "jacobian": 5}, "function"),
        ({"stiffness": A, "force": g, "potential": lambda t, x: 0.0}, r"U\(x\)"),
    ],
)
def test_bad_equations_are_refused_in_one_line(options, words):
    with pytest.raises(InputError, match=words) as caught:
        SecondOrder(**options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "x0", "words"),
    [
        ({}, np.ones(3), "x0 has shape"),
        ({}, np.full(N, np.inf), r"x0\[0\] is inf"),
        ({"force": lambda x: x[:2], "jacobian": dg}, X, "force.*shape"),
        ({"force": lambda x: x / 0.0, "jacobian": dg}, X, "force.*finite"),
        ({"force": g, "jacobian": lambda x: np.ones(N)}, X, "jacobian returned shape"),
        ({"force": g, "jacobian": lambda x: dg(x) + D, "potential": U}, X, "not symmetric"),
        ({"force": g, "jacobian": dg, "potential": lambda x: x}, X, "potential.*shape"),
    ],
)
def test_bad_starts_are_refused_in_one_line(options, x0, words):
    with np.errstate(divide="ignore"), pytest.raises(InputError, match=words) as caught:
        SecondOrder(stiffness=A, **options).bind(x0, V)
    assert "\n" not in str(caught.value)


def test_co_rotation_has_no_meaning_here():
    with pytest.raises(InputError, match="use eti"):
        SecondOrder(stiffness=A).rotations(State(0.0, X, V))
