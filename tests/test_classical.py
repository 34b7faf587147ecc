"""Order, structure and exact answers of the classical methods."""

from __future__ import annotations

import functools
import re

import numpy as np
import pytest
import scipy.sparse as sp
import systems
from runs_to_record import through_json
from systems import march

from stiffly.bodies import Rayleigh, SecondOrder
from stiffly.contracts import Integrator, State
from stiffly.errors import InputError, NotConverged
from stiffly.integrators.explicit import SymplecticEuler, Verlet
from stiffly.integrators.runge_kutta import ForwardEuler, RungeKutta4
from stiffly.integrators.splitting import BlanesMoan6
from stiffly.integrators.stage import Bdf1, Bdf2, Midpoint, Newmark
from stiffly.integrators.vimex import VImex
from stiffly.solvers.newton import Newton

EXPLICIT = [ForwardEuler(), SymplecticEuler(), Verlet(), RungeKutta4()]
IMPLICIT = [Bdf1(), Bdf2(), Midpoint(), Newmark()]
METHODS = [*EXPLICIT, *IMPLICIT, VImex()]
SECOND_ORDER = [m for m in METHODS if m.order == 2]

PROBLEMS = {
    "soft": (functools.partial(systems.chain, 1.0), 2.0, 1),
    "mildly stiff": (functools.partial(systems.chain, 400.0), 0.5, 4),
    "driven and damped": (
        functools.partial(systems.chain, 9.0, damping=Rayleigh(0.2, 0.02), drive=2.0),
        1.0,
        2,
    ),
}
# Steps per soft problem: an order is only seen where h is small and rounding is not.
STEPS = {1: (400, 800, 1600), 2: (80, 160, 320), 4: (40, 80, 160)}


def by_name(methods):
    return pytest.mark.parametrize("method", methods, ids=lambda m: m.name)


@functools.cache
def answer(problem):
    make, duration, _ = PROBLEMS[problem]
    return systems.reference(*make(), duration * np.array([0.25, 0.5, 0.75, 1.0]))


def slope(steps, errors):
    return -np.polyfit(np.log(steps), np.log(errors), 1)[0]


@pytest.mark.parametrize("problem", PROBLEMS)
@by_name(METHODS)
def test_order(method, problem):
    make, duration, more = PROBLEMS[problem]
    X, V = answer(problem)
    counts = [more * n for n in STEPS[method.order]]
    errors_x, errors_v = [], []
    for n in counts:
        states, _, _ = march(method, *make(), [duration / n] * n)
        quarters = states[n // 4 :: n // 4]
        errors_x.append(max(abs(s.x - x).max() for s, x in zip(quarters, X, strict=True)))
        errors_v.append(max(abs(s.v - v).max() for s, v in zip(quarters, V, strict=True)))
    assert slope(counts, errors_x) == pytest.approx(method.order, abs=0.2)
    assert slope(counts, errors_v) == pytest.approx(method.order, abs=0.2)


@by_name(SECOND_ORDER)
def test_nonlinear_drag_keeps_second_order(method):
    inner, state = systems.chain(4.0)
    system = systems.CubicDrag(inner, 0.8)
    X, V = systems.reference(system, state, [1.0])
    errors = []
    for n in (100, 200, 400):
        end = march(method, system, state, [1.0 / n] * n)[0][-1]
        errors.append([abs(end.x - X[-1]).max(), abs(end.v - V[-1]).max()])
    for column in np.transpose(errors):
        assert slope((100, 200, 400), column) == pytest.approx(2.0, abs=0.2)


@by_name(SECOND_ORDER)
def test_changing_steps_keep_second_order(method):
    system, state = systems.chain(4.0)
    X, _ = systems.reference(system, state, [1.0])
    pattern = np.array([1.0, 1.0, 0.6, 0.6, 1.1, 0.7])
    errors, counts = [], (20, 40, 80)
    for n in counts:
        steps = np.tile(pattern, n)
        end = march(method, system, state, steps / steps.sum())[0][-1]
        errors.append(abs(end.x - X[-1]).max())
    assert slope(counts, errors) == pytest.approx(2.0, abs=0.2)


def test_newmark_with_damping_parameters_is_first_order():
    method = Newmark(gamma=0.7, beta=0.4)
    assert (method.order, Newmark().order) == (1, 2)
    system, state = systems.chain(1.0)
    X, _ = systems.reference(system, state, [1.0])
    errors = [
        abs(march(method, system, state, [1 / n] * n)[0][-1].x - X[-1]).max() for n in (200, 400)
    ]
    assert slope((200, 400), errors) == pytest.approx(1.0, abs=0.2)


@pytest.mark.parametrize("values", [{"gamma": 0.4}, {"gamma": 1.2}, {"beta": 0.0}, {"beta": 0.6}])
def test_newmark_refuses_unstable_parameters(values):
    with pytest.raises(InputError, match="choose"):
        Newmark(**values)


# ------------------------------------------------------------------ structure


def there_and_back(method, make, h, n):
    """Distance from the start after n steps, a reversal of v, and n steps."""
    system, state = make()
    turn = march(method, system, state, [h] * n)[0][-1]
    end = march(method, system, State(0.0, turn.x, -turn.v), [h] * n)[0][-1]
    return max(abs(end.x - state.x).max(), abs(end.v + state.v).max())


REVERSIBLE = [Verlet(), Midpoint(solver=Newton(1e-13)), Newmark(solver=Newton(1e-13)), VImex()]


@by_name([*REVERSIBLE, BlanesMoan6()])
def test_time_reversible(method):
    assert there_and_back(method, systems.linear, 0.1, 50) < 1e-10
    assert there_and_back(method, systems.chain, 0.1, 50) < 1e-9


@by_name([SymplecticEuler(), RungeKutta4(), Bdf2()])
def test_reversal_shows_what_is_not_reversible(method):
    assert there_and_back(method, systems.linear, 0.1, 50) > 1e-3


def symplectic_defect(method, h):
    """|J^T Omega J - Omega| of one step on the pendulums, by central differences."""
    system, state = systems.chain(9.0)
    n = system.size

    def flow(u):
        s = State(0.0, u[:n], u[n:])
        new = method.step(system, s, h, method.start(system, s)).state
        return np.concatenate([new.x, new.v])

    u0, eps = np.concatenate([state.x, state.v]), 1e-5
    J = np.stack([(flow(u0 + e) - flow(u0 - e)) / (2 * eps) for e in eps * np.eye(2 * n)], axis=1)
    M, zero = np.diag(systems.CHAIN_MASS), np.zeros((n, n))
    omega = np.block([[zero, M], [-M, zero]])
    return abs(J.T @ omega @ J - omega).max()


@by_name([SymplecticEuler(), Verlet(), Midpoint(solver=Newton(1e-14)), VImex(), BlanesMoan6()])
def test_symplectic(method):
    assert symplectic_defect(method, 0.2) < 1e-8


@by_name([ForwardEuler(), RungeKutta4(), Bdf1(solver=Newton(1e-14))])
def test_defect_shows_what_is_not_symplectic(method):
    assert symplectic_defect(method, 0.2) > 1e-5


@by_name([Midpoint(), Newmark()])
def test_linear_energy_is_conserved_far_beyond_the_explicit_limit(method):
    system, state = systems.linear((1.0, 1e3))
    states = march(method, system, state, [0.05] * 200)[0]
    energy = [sum(system.energy(s).values()) for s in states]
    assert np.ptp(energy) < 1e-7 * energy[0]


@by_name([Bdf1(), Bdf2()])
def test_bdf_damps_stiff_oscillation_away(method):
    system, state = systems.linear((1.0, 1e5))
    states, work, _ = march(method, system, state, [0.01] * 50)
    end = states[-1]
    assert work.newton_iterations < 5 * 50  # though rounding keeps the residual above 1e-9
    assert abs(system.acceleration(state)).max() > 1e8
    assert abs(system.acceleration(end)).max() < 10.0  # only the slow motion is left
    assert abs(end.x).max() > 0.1


@pytest.mark.parametrize("h", [0.01, 0.5])  # h omega = 0.4 and 20
def test_vimex_one_step_form_is_the_two_step_form(h):
    system, state = systems.chain(400.0)
    states = march(VImex(), system, state, [h] * 12)[0]
    B = system.linear_part().tangent.matrix(1.0, h * h / 4.0, 0.0)
    for a, b, c in zip(states, states[1:], states[2:], strict=False):
        left = B @ (c.x - 2.0 * b.x + a.x)
        right = h * h * system.force(b)
        assert abs(left - right).max() < 1e-11 * (abs(left).max() + abs(B).max())


# ------------------------------------------------------------------ exact answers

OMEGA, ZETA = 5.0, 0.1


@by_name(SECOND_ORDER)
@pytest.mark.parametrize("kind", ["mass", "stiffness", "operator"])
def test_damped_oscillator_loses_energy_at_the_exact_rate(method, kind):
    c = 2.0 * ZETA * OMEGA
    damping = {
        "mass": Rayleigh(c, 0.0),
        "stiffness": Rayleigh(0.0, c / OMEGA**2),
        "operator": np.diag([c, c]),
    }[kind]
    system = SecondOrder(stiffness=OMEGA**2 * np.eye(2), damping=damping)
    wd = OMEGA * np.sqrt(1.0 - ZETA**2)
    system, state = system.bind(np.array([1.0, 0.0]), np.array([-ZETA * OMEGA, wd]))
    # x = exp(-zeta omega t) (cos, sin)(wd t): a spiral, whose energy falls as exp(-2 zeta omega t)
    end = march(method, system, state, [0.002] * 1000)[0][-1]
    before, after = (sum(system.energy(s).values()) for s in (state, end))
    rate = np.log(before / after) / 2.0
    assert rate == pytest.approx(2.0 * ZETA * OMEGA, rel=2e-4)
    exact = np.exp(-ZETA * OMEGA * 2.0) * np.array([np.cos(wd * 2.0), np.sin(wd * 2.0)])
    assert abs(end.x - exact).max() < 2e-4


@by_name(SECOND_ORDER)
def test_forced_oscillator(method):
    drive, amplitude = 3.0, 2.0
    system = SecondOrder(
        stiffness=np.array([[OMEGA**2]]),
        force=lambda t, x: np.array([amplitude * np.cos(drive * t)]),
        jacobian=0,
    )
    system, state = system.bind(np.zeros(1), np.zeros(1))
    states = march(method, system, state, [0.001] * 2000)[0]
    t = np.array([s.t for s in states])
    exact = amplitude / (OMEGA**2 - drive**2) * (np.cos(drive * t) - np.cos(OMEGA * t))
    assert abs(np.array([s.x[0] for s in states]) - exact).max() < 2e-5


# ------------------------------------------------------------------ memory and work


@by_name(METHODS)
def test_protocol_and_no_trace_of_a_rejected_step(method):
    assert isinstance(method, Integrator)
    system, state = systems.chain()
    states, _, memory = march(method, system, state, [0.05] * 3)
    method.step(system, states[-1], 0.4, memory)
    once = method.step(system, states[-1], 0.05, memory).state
    again = method.step(system, states[-1], 0.05, memory).state
    assert np.array_equal(once.x, again.x) and np.array_equal(once.v, again.v)
    assert once.t == pytest.approx(0.2)


@by_name([Verlet(), Newmark(solver=Newton(1e-13)), Bdf2(solver=Newton(1e-13)), VImex()])
def test_memory_of_another_state_is_not_used(method):
    system, state = systems.chain(damping=Rayleigh(0.1, 0.0))
    states, _, memory = march(method, system, state, [0.05] * 4)
    kicked = State(states[-1].t, states[-1].x, states[-1].v + 1.0)
    with_old = method.step(system, kicked, 0.05, memory).state
    fresh = method.step(system, kicked, 0.05, method.start(system, kicked)).state
    assert abs(with_old.x - fresh.x).max() < 1e-13
    assert abs(with_old.v - fresh.v).max() < 1e-12


@by_name([Verlet(), Newmark(), Bdf2(), VImex()])
def test_rounding_the_time_does_not_restart(method):
    system, state = systems.chain()
    states, _, memory = march(method, system, state, [0.05] * 4)
    end = states[-1]
    rounded = State(np.nextafter(end.t, 1.0), end.x, end.v)
    kept = method.step(system, end, 0.05, memory)
    moved = method.step(system, rounded, 0.05, memory)
    assert abs(kept.state.x - moved.state.x).max() < 1e-14
    assert kept.work.force_evaluations == moved.work.force_evaluations


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
@by_name([*IMPLICIT, VImex()])
def test_constant_tangent_is_factorised_once(method, storage):
    A = np.diag([4.0, 100.0, 1e4]) + 1.0
    system, state = SecondOrder(stiffness=storage(A)).bind([1.0, 0.5, 0.1], [0.0, 1.0, 0.0])
    states, work, memory = march(method, system, state, [0.01] * 100)
    assert work.factorizations == (2 if method.name == "bdf2" else 1)  # bdf2 starts as bdf1
    assert work.linear_solves >= 100
    other = method.step(system, states[-1], 0.02, memory)
    assert other.work.factorizations == 1  # a new h has a matrix of its own
    fresh = method.step(system, states[-1], 0.02, method.start(system, states[-1]))
    if method.name != "bdf2":  # which knows the state before, and is right to use it
        assert abs(other.state.x - fresh.state.x).max() < 1e-9


@by_name([*IMPLICIT, VImex(), Verlet()])
def test_memory_survives_a_checkpoint_bit_for_bit(method):
    system, state = systems.rope(1e4)
    states, _, memory = march(method, system, state, [0.005] * 6)
    like = (state, method.start(system, state))
    saved = through_json((states[-1], memory), like)
    on = method.step(system, states[-1], 0.005, memory).state
    state, memory = saved
    resumed = method.step(system, state, 0.005, memory).state
    assert np.array_equal(on.x, resumed.x) and np.array_equal(on.v, resumed.v)


def test_nonlinear_steps_share_factorisations():
    system, state = systems.chain(9.0)
    _, work, _ = march(Midpoint(), system, state, [0.01] * 200)
    assert work.factorizations == work.tangents < 10
    assert work.linear_solves == work.newton_iterations > 200
    assert work.force_evaluations == work.linear_solves + 200


def test_explicit_methods_count_their_forces():
    system, state = systems.chain()
    counts = {m.name: march(m, system, state, [0.01] * 50)[1].force_evaluations for m in EXPLICIT}
    assert counts == {"forward-euler": 51, "symplectic-euler": 50, "verlet": 51, "rk4": 201}


# ------------------------------------------------------------------ hard and impossible steps


@by_name([Bdf1(), Bdf2(), Midpoint()])
@pytest.mark.parametrize("damping", [None, Rayleigh(0.2, 0.0)], ids=["undamped", "damped"])
def test_swinging_rope_meets_indefinite_tangents_and_converges(method, damping):
    system, state = systems.rope(1e6, damping=damping)
    states, work, _ = march(method, system, state, [0.025] * 12)
    assert work.factorizations > work.tangents  # some had to be corrected
    lengths = np.linalg.norm(np.diff(system.positions(states[-1]), axis=0), axis=1)
    assert abs(lengths - 0.1).max() < 1e-3
    assert states[-1].x[-1] < -0.2  # the free end has fallen


@by_name([Bdf1(), Midpoint(), Newmark()])
def test_stiffness_1e10_reaches_rounding_level_and_says_so(method):
    system, state = systems.rope(1e10)
    memory, rounded = method.start(system, state), []
    for _ in range(20):
        before, step = state, method.step(system, state, 0.002, memory)
        state, memory = step.state, step.memory
        rounded.append(step.notes["rounding"])
        assert step.notes["residual"] < (1e-4 if step.notes["rounding"] else 1e-9)
    assert any(rounded)
    lengths = np.linalg.norm(np.diff(system.positions(state), axis=0), axis=1)
    assert abs(lengths - 0.1).max() < 1e-6
    assert abs(state.x - before.x).max() > 1e-4


@by_name(IMPLICIT)
def test_a_step_without_solution_is_named(method):
    """x'' = 1 + x^2 reaches infinity in finite time: a large implicit step has no solution."""
    system = SecondOrder(size=1, force=lambda x: 1.0 + x**2, jacobian=lambda x: np.diag(2.0 * x))
    system, state = system.bind(np.array([1.0]), np.array([1.0]))
    with pytest.raises(NotConverged) as failure:
        method.step(system, state, 4.0, method.start(system, state))
    text = str(failure.value)
    assert re.search(r"Newton stopped at residual .* \(wanted 1e-09\) after \d+ iterations", text)
    assert re.search(r"at t = \d(\.\d+)? s: try a smaller step$", text)


def test_a_force_that_is_not_finite_is_named():
    system = SecondOrder(
        size=1, force=lambda x: np.sqrt(1.0 - x), jacobian=lambda x: -0.5 / np.sqrt(1.0 - x)[None]
    )
    system, state = system.bind(np.array([0.5]), np.array([10.0]))
    with np.errstate(invalid="ignore"), pytest.raises(NotConverged, match="not finite"):
        Bdf1().step(system, state, 1.0, Bdf1().start(system, state))


def test_vimex_names_a_linear_part_it_cannot_solve():
    system, state = SecondOrder(stiffness=-np.eye(1)).bind(np.ones(1))  # M + h^2/4 K = 0 at h = 2
    with pytest.raises(NotConverged, match=r"M \+ h\^2/4 K"):
        VImex().step(system, state, 2.0, VImex().start(system, state))
