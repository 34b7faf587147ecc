"""Every joule is booked where it belongs: damping inside long steps, and what pumps is refused."""

import warnings

import numpy as np
import pytest
import scipy.linalg
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.sparse.linalg import LinearOperator
from thinned import drawn, thinned

from stiffly import scenes, simulate
from stiffly.bodies import (
    Dashpots,
    Drag,
    Keyframes,
    Potential,
    Rayleigh,
    SecondOrder,
    Springs,
    System,
)
from stiffly.contracts import State
from stiffly.errors import Diverged, InputError, StiffWarning
from stiffly.integrators import ExponentialRosenbrock
from stiffly.run.ledger import Balance

ROSENBROCK = ["exprb2", "exprb32", "exprb42", "pexprb43", "epirk4s3"]


def booked(system, x0, v0, name, step, count):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StiffWarning)
        options = {"step": step, "duration": count * step, "every": count * step}
        return simulate(system, x0, v0, integrator=name, **options).energy


# ------------------------------------------------------------------ linear systems


def linear_damped(seed, kind):
    """K, D, x0, v0 of a few oscillators over four decades of frequency; unit masses."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    Q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    omega = 10.0 ** rng.uniform(-2.0, 2.0, n)
    K = Q @ np.diag(omega**2) @ Q.T
    K = 0.5 * (K + K.T)
    if kind == "rayleigh":
        damping = Rayleigh(10.0 ** rng.uniform(-3, 1), 10.0 ** rng.uniform(-5, -1))
        D = damping.alpha * np.eye(n) + damping.beta * K
    else:  # not proportional to anything, with gyroscopic terms
        W, G = rng.standard_normal((2, n, n))
        D = 10.0 ** rng.uniform(-3, 1) * (W @ W.T / n + 0.5 * (G - G.T))
        damping = D
    v0 = rng.standard_normal(n)
    return K, D, damping, v0 / omega.max(), v0, omega.max()


def taken_by(K, D, x, v, T):
    """The integral of v^T D v over [0, T] by Lyapunov's equation: no energy enters it.

    P = int E(t)^T Q E(t) dt, E = exp(J t), solves J^T P + P J = E(T)^T Q E(T) - Q.
    """
    n = len(x)
    J = np.block([[np.zeros((n, n)), np.eye(n)], [-K, -D]])
    Q = np.zeros((2 * n, 2 * n))
    Q[n:, n:] = 0.5 * (D + D.T)
    E = scipy.linalg.expm(T * J)
    P = scipy.linalg.solve_continuous_lyapunov(J.T, E.T @ Q @ E - Q)
    u = np.concatenate([x, v])
    return float(u @ P @ u)


@pytest.mark.parametrize("kind", ["rayleigh", "general"])
@drawn(12)
@given(
    seed=st.integers(0, 2**32 - 1),
    name=st.sampled_from(ROSENBROCK),
    turns=st.floats(-2.0, 2.0),
)
@example(seed=34844, name="exprb2", turns=0.0)  # two rules agree by chance
def test_a_linear_damped_system_closes_its_ledger_at_any_step(kind, seed, name, turns):
    K, D, damping, x0, v0, fastest = linear_damped(seed, kind)
    step = 10.0**turns / fastest
    energy = booked(SecondOrder(stiffness=K, damping=damping), x0, v0, name, step, 5)
    yardstick = max(energy.exchanged, energy.kinetic.max())
    assert abs(energy.numerical[-1]) <= 1e-8 * yardstick
    assert energy.added[-1] == 0.0
    expected = taken_by(K, D, x0, v0, 5 * step)
    assert energy.dissipated[-1] == pytest.approx(expected, rel=1e-6, abs=1e-7 * yardstick)


def test_steps_that_outlast_thousands_of_turns_close_it_too():
    energy = booked(SecondOrder(stiffness=[[1e8]], damping=Rayleigh(0.3)), [0.1], [5.0],
                    "exprb42", 1.7, 4)  # fmt: skip
    assert abs(energy.numerical[-1]) <= 1e-8 * energy.total[0]
    assert energy.dissipated[-1] == pytest.approx(energy.total[0] * -np.expm1(-0.3 * 6.8), rel=1e-3)


def test_hardly_any_damping_takes_hardly_anything():
    """What matrix functions miss is no dissipation: at D = 1e-14 a step can take 1e-13."""
    K = 1e4 * (2.0 * np.eye(40) - np.eye(40, k=1) - np.eye(40, k=-1))
    x0 = np.random.default_rng(0).standard_normal(40)
    energy = booked(SecondOrder(stiffness=K, damping=Rayleigh(1e-14)), x0, None, "exprb42", 0.1, 20)
    assert 0.0 <= energy.dissipated[-1] <= 2e-14 * 2.0 * energy.total[0]


@pytest.mark.parametrize("name", ["midpoint", "newmark", "vimex", "energy-momentum"])
@pytest.mark.parametrize("turns", [0.1, 1.0, 30.0])
def test_methods_of_the_mean_velocity_close_it_for_their_own_motion(name, turns):
    K, _, damping, x0, v0, fastest = linear_damped(3, "rayleigh")
    system = SecondOrder(stiffness=K, damping=damping)
    energy = booked(system, x0, v0, name, turns / fastest, 10)
    assert abs(energy.numerical[-1]) <= 1e-8 * energy.total[0]
    assert 0.0 < energy.dissipated[-1] <= energy.total[0]


@pytest.mark.parametrize("name", ["bdf1", "bdf2"])
def test_what_a_long_step_skips_is_not_booked_as_taken(name):
    """A decay that is over within a step: no more is dissipated than there was."""
    energy = booked(SecondOrder(stiffness=[[1.0]], damping=[1e6]), [0.0], [1.0], name, 0.1, 10)
    assert 0.0 <= energy.dissipated[-1] <= energy.total[0]
    assert energy.numerical.max() <= 1e-9 * energy.total[0]


# ------------------------------------------------------------------ nonlinear damping


def pendulum(parts):
    rest = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
    edges = [[0, 1], [1, 2]]
    system = System(1.0, [Springs(edges, 400.0), *parts(edges)], fixed=[0], rest=rest)
    moved = np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [0.1, 0.2, 0.0]])
    v0 = np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -2.0, 1.0]])
    return system, rest + moved, v0


DAMPED = {
    "dashpots and turbulent": lambda edges: [Dashpots(edges, 2.0), Drag(0.1, 2)],
    "drag": lambda edges: [Drag(0.3)],
    "dashpots": lambda edges: [Dashpots(edges, 2.0)],
    "turbulent": lambda edges: [Drag(0.3, 2)],
}


@pytest.mark.parametrize("kind", thinned(DAMPED, keep=2))
def test_nonlinear_damping_is_booked_with_the_order_of_the_method(kind):
    system, x0, v0 = pendulum(DAMPED[kind])
    fine = booked(system, x0, v0, "rk4", 1e-3, 1000).dissipated[-1]
    for name, order in (("exprb2", 2), ("exprb42", 4)):
        errors = []
        for count in (25, 100):
            energy = booked(system, x0, v0, name, 1.0 / count, count)
            errors.append(max(abs(energy.dissipated[-1] - fine), abs(energy.numerical[-1])))
        assert errors[1] <= 1.1 * errors[0] * 4.0**-order


# ------------------------------------------------------------------ every run is judged


class Leaking(ExponentialRosenbrock):
    """Loses a tenth of the velocity in every step, and estimates no error of it."""

    def step(self, system, state, h, memory):
        taken = super().step(system, state, h, memory)
        lame = State(taken.state.t, taken.state.x, 0.9 * taken.state.v)
        return type(taken)(lame, taken.memory, taken.work, taken.error, taken.notes)


def test_adaptive_runs_are_warned_of():
    system = SecondOrder(stiffness=[[100.0]])
    with pytest.warns(StiffWarning, match=r"numerical error .* of the energy exchanged; try a sma"):
        simulate(system, [1.0], integrator=Leaking(), rtol=1e-3, duration=2.0)


def test_what_happens_between_two_frames_is_seen():
    """The last frame of three periods is like the first, whatever a leak did in between."""
    system = SecondOrder(stiffness=[[1.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        turn = 2.0 * np.pi
        simulate(system, [1.0], integrator="midpoint", step=turn / 400, duration=turn, every=turn)


class Detour(ExponentialRosenbrock):
    """Gains a tenth of the velocity on the way, and gives it back before the end."""

    def step(self, system, state, h, memory):
        taken = super().step(system, state, h, memory)
        share = {60: 1.1, 65: 1.0 / 1.1}.get(round(taken.state.t / h), 1.0)
        off = State(taken.state.t, taken.state.x, share * taken.state.v)
        return type(taken)(off, taken.memory, taken.work, taken.error, taken.notes)


@pytest.mark.parametrize("frames", [1, 3, 400])
def test_what_is_invented_and_given_back_between_two_frames_is_warned_of(frames):
    """0.21 of the kinetic energy, for 5 steps of 400."""
    turn = 2.0 * np.pi
    with pytest.warns(StiffWarning, match=r"numerical error .* of the energy exchanged"):
        simulate(SecondOrder(stiffness=[[1.0]]), [1.0], integrator=Detour(), step=turn / 400,
                 duration=turn, every=turn / frames)  # fmt: skip


@pytest.mark.parametrize("every", [0.05, 2.0, 4.0])
def test_an_explosion_is_one_however_few_frames_are_recorded(every):
    scene = scenes.load("coil-spring", vertices=320)
    with pytest.raises(Diverged) as failure:
        simulate(scene, integrator="vimex", step=0.05, duration=4.0, every=every)
    assert "t = 2.35 s" in str(failure.value)


def test_an_explosion_within_the_first_look_is_noticed():
    """Nothing has moved before, so nothing moved can be the yardstick."""
    rest = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    system, state = System(1.0, [Springs([[0, 1]], 1e4)], rest=rest).bind(rest)
    books = Balance(system)
    assert books.look(state) == 0.0
    nudged = State(1.0, state.x * (1.0 + 1e-13), state.v)
    assert books.look(nudged) == 0.0
    assert books.look(State(2.0, state.x * 1e40, state.v)) > 1e60


# ------------------------------------------------------------------ damping that would pump


@drawn(20)
@given(seed=st.integers(0, 2**32 - 1), cubic=st.booleans())
def test_rayleigh_damping_of_compressed_nets_only_takes(seed, cubic):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1.0, 1.0, (5, 3))
    edges = np.array([(i, j) for i in range(5) for j in range(i + 1, 5)])
    lengths = np.linalg.norm(x[edges[:, 1]] - x[edges[:, 0]], axis=1)
    law = "cubic" if cubic else "linear"
    springs = Springs(edges, 10.0 ** rng.uniform(-3, 7, 10), 1.8 * lengths, law=law)
    system, state = System(np.ones(5), [springs], damping=Rayleigh(0.0, 1e-3)).bind(x)
    D = system.viscosity.operator().K.toarray()
    K = system.tangent(state).stiffness.tosparse().toarray()
    assert np.linalg.eigvalsh(K).min() < 0.0  # beta K itself would pump
    assert np.linalg.eigvalsh(D).min() >= -1e-13 * np.abs(D).max()
    energy = booked(system, x, None, "energy-momentum", 1e-3, 20)
    assert energy.added[-1] == 0.0 and energy.dissipated[-1] >= 0.0
    assert energy.total[-1] <= energy.total[0] * (1.0 + 1e-6)


def pumping(b):
    return -np.asarray(b).ravel()


@pytest.mark.parametrize("given", [
    {"damping": [-1.0, 1.0]},
    {"damping": [[1.0, 3.0], [0.0, 1.0]]},
    {"damping": Rayleigh(0.1, 0.2), "stiffness": np.diag([1.0, -2.0])},
    {"damping": np.diag([1e10, -1e-6])},
], ids=["diagonal", "shear", "rayleigh", "small"])  # fmt: skip
def test_a_matrix_that_pumps_is_refused(given):
    with pytest.raises(InputError, match=r"pumps: v.D v < 0 .*;"):
        SecondOrder(**{"stiffness": np.eye(2), **given})


def test_gyroscopic_terms_and_no_damping_at_all_are_welcome():
    SecondOrder(stiffness=np.eye(2), damping=[[0.0, 5.0], [-5.0, 0.0]])
    SecondOrder(stiffness=np.eye(2), damping=[0.0, 1.0])


def test_an_operator_that_pumps_is_refused_when_it_does():
    system = SecondOrder(stiffness=np.eye(2), damping=LinearOperator((2, 2), matvec=pumping))
    with pytest.raises(InputError, match=r"damping pumps: v\.D v = "):
        simulate(system, [1.0, 0.0], integrator="rk4", step=0.1, duration=1.0)


def saddle(x):
    return -50.0 * float(np.sum(x[1] ** 2))


def test_beta_of_a_potential_with_negative_stiffness_is_refused():
    rest = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        system = System(1.0, [Potential(saddle)], rest=rest, damping=Rayleigh(0.0, 0.1))
        with pytest.raises(InputError, match=r"damping beta = 0\.1 pumps"):
            system.bind(rest)


def test_beta_with_moving_supports_and_compression_is_refused():
    x = np.array([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0]])
    led = Keyframes([0], [0.0, 1.0], [np.zeros(3), np.ones(3)])
    system = System(np.ones(2), [Springs([[0, 1]], 1.0, 1.0)], supports=led,
                    damping=Rayleigh(0.0, 0.1))  # fmt: skip
    with pytest.raises(InputError, match="without compression"):
        system.bind(x)
