"""Substeps, the Lagrange multiplier for the energy, and velocities scaled to an energy budget."""

from __future__ import annotations

import numpy as np
import pytest
import systems
from hypothesis import given
from hypothesis import strategies as st
from systems import march
from thinned import drawn, thinned

from stiffly import simulate
from stiffly.bodies import (
    Drag,
    Gravity,
    MomentumDamping,
    Rayleigh,
    SecondOrder,
    Springs,
    System,
    Wind,
    cloth_springs,
)
from stiffly.contracts import Integrator, Settled, State, Step, Work
from stiffly.errors import InputError, NotConverged
from stiffly.integrators.energy_steered import EnergyBudget, EnergyLagrange
from stiffly.integrators.explicit import Verlet
from stiffly.integrators.halving import Substeps
from stiffly.integrators.stage import Bdf1, Midpoint, Newmark
from stiffly.meshes import cloth
from stiffly.solvers.local_global import LocalGlobal
from stiffly.solvers.newton import Newton

STEERED = [EnergyLagrange(), EnergyBudget()]
# of the energy exchanged; velocities that are scaled change the work that the budget was made for
ALLOWED = {"energy-lagrange": 1e-8, "energy-budget": 1e-5}


def by_name(methods):
    return pytest.mark.parametrize("method", methods, ids=lambda m: m.name)


def energies(system, states):
    return np.array([sum(system.energy(s).values()) for s in states])


def hanging_cloth(stiffness, side=7):
    mesh = cloth(side, side, spacing=1.0 / (side - 1))
    parts = [*cloth_springs(mesh, stiffness, stiffness, stiffness / 100.0), Gravity()]
    system = System(1.0 / side**2, parts, fixed=[0, side - 1], rest=mesh.positions)
    return system.bind(mesh.positions)


# ------------------------------------------------------------------ substeps


@by_name([Midpoint(), Bdf1(), Verlet(), Midpoint(solver=LocalGlobal(3))])
def test_substeps_are_the_steps_of_their_base(method):
    system, state = hanging_cloth(100.0, side=4)
    many, work, _ = march(method, system, state, [0.01 / 5] * 15)
    few, whole, _ = march(Substeps(method, 5), system, state, [0.01] * 3)
    assert whole == work
    for a, b in zip(many[5::5], few[1:], strict=True):
        assert np.array_equal(a.x, b.x) and np.array_equal(a.v, b.v)
        assert a.t == pytest.approx(b.t, rel=1e-14)


class Talking:
    """A base whose k-th step says what it is told."""

    name, order, adaptive, dissipative = "talking", 2, False, True

    def __init__(self, notes):
        self.notes = notes

    def start(self, system, state):
        return 0

    def step(self, system, state, h, memory):
        new = State(state.t + h, state.x, state.v)
        return Step(new, memory + 1, Work(linear_solves=1), notes=self.notes[memory])


def test_substeps_report_the_worst_and_the_sum():
    base = Talking([
        {"residual": 1e-3, "under_solved": False, "halvings": 2, "alpha": 0.5},
        {"residual": 2.0, "under_solved": True, "halvings": 1, "alpha": 0.25},
        {"residual": 1e-5, "under_solved": False, "halvings": 0, "alpha": 0.0},
    ])  # fmt: skip
    method = Substeps(base, 3)
    system, state = systems.linear()
    step = method.step(system, state, 0.3, 0)
    assert step.notes == {"residual": 2.0, "under_solved": True, "halvings": 3, "alpha": 0.5}
    assert step.work.linear_solves == 3 and step.memory == 3
    assert (method.name, method.order, method.dissipative) == ("talking x 3", 2, True)
    assert method.resume(None, step.state, 3, Settled(step.state)) == 0  # the base starts again


def test_substeps_end_on_the_very_time():
    method = Substeps(Verlet(), 7)
    system, state = systems.linear()
    states, _, _ = march(method, system, state, [0.1] * 10)
    t = 0.0
    for s in states[1:]:
        t += 0.1
        assert s.t == t


def test_substeps_keep_the_factorisation_through_events():
    system, state = hanging_cloth(100.0, side=4)
    method = Substeps(Midpoint(solver=LocalGlobal(3)), 4)
    step = method.step(system, state, 0.01, method.start(system, state))
    memory = method.resume(system, step.state, step.memory, Settled(step.state, dissipated=1.0))
    assert step.work.factorizations == 1
    assert method.step(system, step.state, 0.01, memory).work.factorizations == 0


@pytest.mark.parametrize("count", [0, -2, 1.5, "three"])
def test_substeps_refuse_a_count_that_is_none(count):
    with pytest.raises(InputError, match="whole number"):
        Substeps(Midpoint(), count)
    with pytest.raises(InputError, match="no integrator"):
        Substeps("midpoint", 3)  # type: ignore[arg-type]


# ------------------------------------------------------------------ steered by the energy


@by_name(STEERED)
def test_protocol_and_no_trace_of_a_rejected_step(method):
    assert isinstance(method, Integrator)
    system, state = systems.chain()
    states, _, memory = march(method, system, state, [0.05] * 3)
    method.step(system, states[-1], 0.4, memory)
    once = method.step(system, states[-1], 0.05, memory).state
    again = method.step(system, states[-1], 0.05, memory).state
    assert np.array_equal(once.x, again.x) and np.array_equal(once.v, again.v)


@by_name(STEERED)
def test_second_order(method):
    system, state = systems.chain(9.0)
    X, V = systems.reference(system, state, [1.0])
    errors = []
    for n in (40, 80, 160):
        end = march(method, system, state, [1.0 / n] * n)[0][-1]
        errors.append([abs(end.x - X[-1]).max(), abs(end.v - V[-1]).max()])
    for column in np.transpose(errors):
        slope = -np.polyfit(np.log((40, 80, 160)), np.log(column), 1)[0]
        assert slope == pytest.approx(2.0, abs=0.2)


@by_name(STEERED)
def test_energy_is_what_it_was_where_midpoint_loses_it(method):
    system, state = systems.chain(9.0)
    steered = energies(system, march(method, system, state, [0.3] * 50)[0])
    free = energies(system, march(Midpoint(), system, state, [0.3] * 50)[0])
    assert np.ptp(free) > 1e-3 * free[0]
    assert abs(steered - steered[0]).max() < 1e-8 * steered[0]


@by_name(STEERED)
@pytest.mark.parametrize("kind", ["damped", "driven"])
def test_the_target_follows_forcing_and_damping(method, kind):
    """The energy ends where it belongs, more closely the shorter the steps, and to the ledger."""
    options = {"damping": Rayleigh(0.3, 0.02)} if kind == "damped" else {"drive": 2.0}
    system, state = systems.chain(9.0, **options)
    X, V = systems.reference(system, state, [2.0])
    exact = energies(system, [State(2.0, X[-1], V[-1])])[0]
    errors = []
    for h in (0.05, 0.025):
        run = simulate(system, state.x, state.v, integrator=method, step=h, duration=2.0)
        errors.append(abs(run.energy.total[-1] - exact))
        assert np.abs(run.energy.numerical).max() < ALLOWED[method.name] * run.energy.exchanged
    assert abs(exact - run.energy.total[0]) > 0.1 * run.energy.total[0]
    assert errors[0] < 0.02 * abs(exact) and errors[1] < errors[0] / 3.0  # second order


TETRAHEDRON = np.array([[0.0, 0, 0], [1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]])
EDGES = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
AROUND = {
    "springs alone": ([], {}),
    "viscous": ([], {"damping": Rayleigh(0.0, 1e-3)}),
    "drag": ([Drag(2.0)], {}),
    "gusts": ([Gravity(), Wind([[0, 1, 2]], lambda t: (30 * np.sin(40 * t), 0, 0))], {}),
}


@by_name(STEERED)
@pytest.mark.parametrize("kind", thinned(AROUND, keep=("springs alone", "gusts")))
def test_stiff_bodies_run_at_large_steps_damped_and_driven(method, kind):
    parts, options = AROUND[kind]
    system = System(1.0, [Springs(EDGES, 1e4), *parts], rest=TETRAHEDRON, **options)
    run = simulate(system, 1.2 * TETRAHEDRON, integrator=method, step=0.02, duration=1.0)
    assert np.abs(run.energy.numerical).max() < ALLOWED[method.name] * run.energy.exchanged


@pytest.mark.parametrize("size, mass", [(1.0, 1.0), (1e-6, 1e-9)])
def test_a_step_from_rest_to_where_springs_relax_is_solved_in_a_few_iterations(size, mass):
    """There both d and h v vanish, and with them the scale of a stage."""
    rest = size * TETRAHEDRON
    system, state = System(mass, [Springs(EDGES, 1e6 * mass)], rest=rest).bind(1.1 * rest)
    method = EnergyLagrange()
    step = method.step(system, state, 1e-3, method.start(system, state))
    assert step.work.newton_iterations < 20 and not step.notes["under_solved"]
    assert abs(step.notes["multiplier"]) < 1e-9  # not the state with its velocity turned round
    assert system.positions(step.state) - system.positions(step.state).mean(axis=0) == (
        pytest.approx(rest - rest.mean(axis=0), abs=1e-9 * size)
    )


@by_name(STEERED)
def test_the_target_follows_what_happens_between_steps(method):
    mesh = cloth(4, 4, spacing=0.3)
    parts = [Springs(mesh.edges, 50.0), Gravity(), MomentumDamping(1.0)]
    system = System(0.05, parts, fixed=[0], rest=mesh.positions)
    run = simulate(system, mesh.positions, integrator=method, step=0.01, duration=0.6)
    assert run.energy.dissipated[-1] > 0.01 * run.energy.exchanged
    assert np.abs(run.energy.numerical).max() < ALLOWED[method.name] * run.energy.exchanged


@by_name(STEERED)
def test_forces_without_a_potential_are_refused(method):
    system = SecondOrder(size=1, force=lambda x: -(x**3), jacobian=lambda x: np.diag(-3 * x**2))
    system, state = system.bind(np.ones(1))
    with pytest.raises(InputError, match="potential=U"):
        method.start(system, state)


# ------------------------------------------------------------------ Lagrange multiplier


def test_the_multiplier_has_nothing_to_do_on_a_linear_system():
    system, state = systems.linear()
    method = EnergyLagrange(tolerance=1e-12)
    free = march(Newmark(solver=Newton(1e-13)), system, state, [0.1] * 20)[0]
    held = march(method, system, state, [0.1] * 20)[0]
    assert max(abs(a.x - b.x).max() for a, b in zip(free, held, strict=True)) < 1e-9
    step = method.step(system, state, 0.1, method.start(system, state))
    assert abs(step.notes["multiplier"]) < 1e-9


def test_the_solution_is_stationary_on_the_energy_surface():
    """r + mu G = 0 by hand: r of the trapezoidal rule, G the gradient of the energy in x+."""
    system, state = systems.chain(9.0)
    h = 0.3
    method = EnergyLagrange(tolerance=1e-12)
    step = method.step(system, state, h, method.start(system, state))
    M, new = systems.CHAIN_MASS, step.state
    mu, a = step.notes["multiplier"], system.acceleration(state)
    d = new.x - (state.x + h * state.v + h * h / 4 * a)
    assert np.allclose(new.v, state.v + h / 2 * a + 2 / h * d, atol=1e-12)
    r = M * d - h * h / 4 * system.force(new)

    def energy(x):
        v = state.v + h / 2 * a + 2 / h * (x - (state.x + h * state.v + h * h / 4 * a))
        return sum(system.energy(State(h, x, v)).values())

    eps = 1e-6
    slope = [(energy(new.x + e) - energy(new.x - e)) / (2 * eps) for e in eps * np.eye(4)]
    assert abs(mu) > 1e-5
    assert np.allclose(r, -mu * h * h / 4 * np.array(slope), atol=1e-9)
    assert step.work.linear_solves == 2 * step.work.factorizations


@pytest.mark.parametrize("stiffness", [100.0, 1e3])
def test_energy_stays_on_stiff_cloth_at_large_steps(stiffness):
    """Where midpoint and the trapezoidal rule gain energy without bound."""
    system, state = hanging_cloth(stiffness)
    method = EnergyLagrange()
    memory, first = method.start(system, state), energies(system, [state])[0]
    for _ in range(40):
        step = method.step(system, state, 0.033, memory)
        state, memory = step.state, step.memory
        assert not step.notes["under_solved"]
        assert abs(step.notes["energy_error"]) < 1e-7
    assert energies(system, [state])[0] == pytest.approx(first, abs=1e-7)
    assert system.energy(state)["kinetic"] > 0.1  # and it still moves


def test_a_step_without_solution_is_named():
    """x'' = 1 + x^2 runs off to infinity: no state ahead satisfies the equations."""
    system = SecondOrder(
        size=1,
        force=lambda x: np.where(abs(x) < 20.0, 1.0 + x**2, np.nan),
        jacobian=lambda x: np.diag(2.0 * x),
        potential=lambda x: float(-x[0] - x[0] ** 3 / 3.0),
    )
    system, state = system.bind(np.array([19.0]), np.array([100.0]))
    method = EnergyLagrange()
    with np.errstate(invalid="ignore"), pytest.raises(NotConverged, match="try a smaller step"):
        method.step(system, state, 4.0, method.start(system, state))


# ------------------------------------------------------------------ energy budget


@drawn(20)
@given(
    stiffness=st.floats(1.0, 1e4),
    h=st.floats(1e-3, 0.1),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_budget_is_met_or_nothing_is_left_to_take(stiffness, h, seed):
    system, state = hanging_cloth(stiffness, side=4)
    v = np.random.default_rng(seed).standard_normal(state.v.size)
    state = State(0.0, state.x, v)
    method = EnergyBudget(Midpoint(solver=LocalGlobal(5)))  # unsolved on purpose: never fails
    step = method.step(system, state, h, method.start(system, state))
    free = method.midpoint.step(system, state, h, method.midpoint.start(system, state)).state
    assert np.array_equal(step.state.x, free.x)
    error = energies(system, [step.state])[0] - energies(system, [state])[0]
    scale = abs(energies(system, [state, free])).max()
    assert step.notes["energy_error"] == pytest.approx(error, abs=1e-11 * scale)
    if abs(error) > 1e-11 * scale:
        assert error > 0.0 and not step.state.v.any()
    else:
        turn = step.state.v @ free.v / (np.linalg.norm(step.state.v) * np.linalg.norm(free.v))
        assert turn == pytest.approx(1.0, abs=1e-12)  # scaled, not turned


def test_budget_leaves_a_linear_motion_alone_and_a_body_at_rest_at_rest():
    system, state = systems.linear()
    free = march(Midpoint(solver=Newton(1e-13)), system, state, [0.1] * 20)[0][-1]
    held = march(EnergyBudget(Midpoint(solver=Newton(1e-13))), system, state, [0.1] * 20)[0][-1]
    assert abs(free.x - held.x).max() < 1e-12
    still = State(0.0, 0.0 * state.x, 0.0 * state.v)
    step = EnergyBudget().step(system, still, 0.1, EnergyBudget().start(system, still))
    assert not step.state.x.any() and not step.state.v.any()
