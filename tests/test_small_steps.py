"""Steps of a few coordinates with compiled functions: one compiled loop, the same method."""

import numpy as np
import pytest
import reference
from numba import njit
from scipy.integrate import solve_ivp

import stiffly
from stiffly.bodies import Rayleigh, SecondOrder
from stiffly.contracts import State
from stiffly.integrators import ExponentialRosenbrock
from stiffly.kernels import cpu
from stiffly.scenes.fput import force, fput, jacobian, potential

NODES = {"exprb2": (), "exprb32": (1.0,), "exprb42": (0.75,), "pexprb43": (1 / 3, 3 / 4)}


@njit
def quartic(x):
    return -(x**3)


@njit
def quartic_slope(x):
    return np.diag(-3.0 * x**2)


@njit
def quartic_energy(x):
    return 0.25 * np.sum(x**4)


@njit
def falling(x):
    """A force whose jacobian is stiffly negative: everything grows."""
    return 100.0 * x + x**3


@njit
def falling_slope(x):
    return np.diag(100.0 + 3.0 * x**2)


def stiffness(rng, n, omega):
    """Eigenvalues from -1 to omega^2."""
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    lam = np.concatenate([[-1.0, 0.5], omega ** rng.uniform(0.0, 2.0, n - 3), [omega**2]])
    A = (Q * lam) @ Q.T
    return 0.5 * (A + A.T)


@pytest.mark.parametrize("nodes", NODES.values(), ids=NODES)
@pytest.mark.parametrize("n, omega", [(3, 100.0), (6, 100.0), (20, 1e4), (64, 1e4)])
def test_against_the_plain_twin(n, omega, nodes):
    """To rounding of K, which moves phases by eps h omega^2: masses over two orders, an indefinite
    stiffness, omega_max = 1e4."""
    rng = np.random.default_rng(n)
    A, root = stiffness(rng, n, omega), 10.0 ** rng.uniform(-0.5, 0.5, n)
    table = np.array(rng.standard_normal((len(nodes), 2)), dtype=float).reshape(-1, 2)
    start = 0.01 * rng.standard_normal((2, n))  # what grows stays small
    for h in (0.5 / omega, 30.0 / omega):
        ours, theirs = start.copy(), start.copy()
        rest = A, root, np.array(nodes), table, h, 3
        assert cpu.rosenbrock_steps(quartic, quartic_slope, *rest, *ours) == 3
        assert reference.rosenbrock_steps(quartic, quartic_slope, *rest, *theirs) == 3
        weight = np.array([[omega], [1.0]])
        gap = np.abs(weight * (ours - theirs)).max() / np.abs(weight * theirs).max()
        assert gap <= 1e-11


@pytest.mark.parametrize("name", NODES)
def test_the_same_steps_as_through_python(name):
    """With functions that numba has not compiled there is no other way."""
    scene = fput(omega=50.0)
    slow = SecondOrder(
        stiffness=np.diag([1.0] * 3 + [2500.0] * 3),
        force=force.py_func, jacobian=jacobian.py_func, potential=potential.py_func,
    )  # fmt: skip
    runs = [
        stiffly.simulate(system, scene.x0, scene.v0, integrator=name, step=0.01, duration=0.5)
        for system in (scene.system, slow)
    ]
    assert "compiled" in runs[0].stats["matrix_functions"]
    assert "compiled" not in runs[1].stats["matrix_functions"]
    for counted in ("steps", "force_evaluations", "tangents", "operator_products"):
        assert runs[0].stats[counted] == runs[1].stats[counted]
    np.testing.assert_allclose(runs[0].positions[-1], runs[1].positions[-1], atol=1e-12)
    np.testing.assert_allclose(runs[0].velocities[-1], runs[1].velocities[-1], atol=1e-11)
    assert len(runs[0].times) == len(runs[1].times)


def test_stretches_have_the_bits_of_single_steps():
    """However a run is cut into frames, and wherever it is resumed."""
    scene = fput()
    system, state = scene.system.bind(scene.x0, scene.v0)
    method = ExponentialRosenbrock((0.75,))
    run = stiffly.simulate(scene, integrator="exprb42", step=0.01, duration=1.0, every=0.25)
    for _ in range(100):
        state = method.step(system, state, 0.01, None).state
    assert np.array_equal(run.positions[-1], state.x)
    assert np.array_equal(run.velocities[-1], state.v)


def test_against_dop853():
    scene = fput(omega=20.0)
    system, state = scene.system.bind(scene.x0, scene.v0)

    def rhs(t, y):
        return np.concatenate([y[6:], system.acceleration(State(t, y[:6], y[6:]))])

    y0 = np.concatenate([state.x, state.v])
    exact = solve_ivp(rhs, (0, 2), y0, method="DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    errors = []
    for h in (0.02, 0.01):
        run = stiffly.simulate(scene, integrator="exprb42", step=h, duration=2.0)
        end = np.concatenate([run.positions[-1], run.velocities[-1]])
        errors.append(np.abs(end - exact).max())
    assert errors[1] < 1e-4
    assert 3.5 < np.log2(errors[0] / errors[1]) < 4.5


def test_what_is_not_for_the_compiled_loop():
    """Each is stepped, by the way that it needs."""
    A = np.diag([1.0, 4.0])
    known = {"force": quartic, "jacobian": quartic_slope, "potential": quartic_energy}
    assert SecondOrder(stiffness=A, **known).own is not None
    assert SecondOrder(stiffness=A, mass=np.array([1.0, 2.0]), **known).own is not None
    others = [
        SecondOrder(stiffness=A, damping=Rayleigh(0.1), **known),
        SecondOrder(stiffness=A, mass=np.array([[2.0, 1.0], [1.0, 2.0]]), **known),
        SecondOrder(stiffness=A, force=lambda t, x: -(x**3) + t, jacobian=quartic_slope),
        SecondOrder(stiffness=A, force=quartic, jacobian=quartic_slope),  # symmetric: who knows
        SecondOrder(stiffness=A),
        SecondOrder(stiffness=np.eye(100), **known),
    ]
    for system in others:
        assert system.own is None
        x0 = np.full(system.size, 0.1)
        run = stiffly.simulate(system, x0, integrator="exprb42", step=0.1, duration=0.3)
        assert run.stats["steps"] == 3


@njit
def of_a_matrix(x):
    """Not an array (n, n) of the usual layout."""
    return np.asfortranarray(np.diag(-3.0 * x**2))


def test_functions_of_another_kind_go_through_python():
    system = SecondOrder(
        stiffness=np.eye(2), force=quartic, jacobian=of_a_matrix, potential=quartic_energy
    )
    run = stiffly.simulate(system, [1.0, 0.2], integrator="exprb42", step=0.1, duration=1.0)
    assert "compiled" not in run.stats["matrix_functions"]


def test_no_step_that_is_not_finite_is_taken():
    """What is left then is where the last good step ended."""
    x, v = np.ones(3), np.zeros(3)
    none, nodes = np.zeros((3, 3)), np.array([0.75])
    rest = none, np.ones(3), nodes, np.array([[32 / 9, 0.0]]), 1.0, 50
    done = cpu.rosenbrock_steps(falling, falling_slope, *rest, x, v)
    assert 0 < done < 50 and np.isfinite(x).all() and np.isfinite(v).all()
    far = x.copy()
    assert cpu.rosenbrock_steps(falling, falling_slope, *rest, x, v) == 0
    assert np.array_equal(x, far)
