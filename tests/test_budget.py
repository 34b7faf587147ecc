"""Steps that take no longer than asked: cut short by a clock, which here is told what to say."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from systems import chain, rope
from thinned import thinned

from stiffly import InputError, StiffWarning, integrators, scenes, simulate
from stiffly.bodies import Gravity, Rayleigh, SecondOrder, Springs, System
from stiffly.integrators import Bdf1, LocalGlobal, integrator, options
from stiffly.integrators.time_budget import FIRST, Ration, smoother
from stiffly.matfun.operators import DenseOperator
from stiffly.matfun.reduced import MOST, grow
from stiffly.meshes import lattice
from stiffly.solvers.settings import Pace

EXPONENTIAL = ("exprb2", "exprb32", "exprb42", "pexprb43", "epirk4s3", "ceti", "neti")


class Ticking:
    """A clock that goes on by `tick` whenever somebody looks."""

    def __init__(self, tick: float = 0.0) -> None:
        self.now, self.tick = 0.0, tick

    def __call__(self) -> float:
        self.now += self.tick
        return self.now


class Slow:
    """A system whose forces and energies take time by the clock."""

    def __init__(self, system, clock, force: float, energy: float) -> None:
        self._system, self._clock, self._costs = system, clock, (force, energy)

    def __getattr__(self, name):
        return getattr(self._system, name)

    def force(self, s):
        self._clock.now += self._costs[0]
        return self._system.force(s)

    def mean_force(self, s0, s1):
        self._clock.now += self._costs[0]
        return self._system.mean_force(s0, s1)

    def energy(self, s):
        self._clock.now += self._costs[1]
        return self._system.energy(s)


def forever() -> bool:
    return True


def never() -> bool:
    return False


# ------------------------------------------------------------------ the clock


def test_pieces_go_on_while_there_is_time_for_another():
    """Pieces of one second each in 4.5 seconds: after the fourth, half a second is left."""
    clock = Ticking()
    pace = Pace(4.5, clock)
    done = 0
    while True:
        clock.now += 1.0
        done += 1
        if not pace.more():
            break
    assert done == 4 and pace.left() == pytest.approx(0.5)


def test_a_piece_that_comes_once_is_no_measure_of_the_next():
    clock = Ticking()
    pace = Pace(10.0, clock)
    clock.now += 6.0  # a factorisation
    pace.once()
    clock.now += 1.0
    assert pace.more()  # three seconds are left, and pieces take one


def test_without_a_budget_no_clock_is_looked_at():
    def broken():
        raise AssertionError

    pace = Pace(None, broken)
    assert pace.more() and pace.left() == np.inf
    pace.once()


# ------------------------------------------------------------------ local/global iterations


def step_of(method, system, state, h=0.02):
    return method.step(system, state, h, method.start(system, state))


@pytest.mark.parametrize("accelerate", [False, True])
@pytest.mark.parametrize("budget, made", [(0.5, 1), (1.0, 1), (3.0, 3), (6.9, 6), (99.0, 10)])
def test_iterations_stop_when_the_time_is_up(accelerate, budget, made):
    """Every iteration evaluates one force, which takes a second; A is factorised already."""
    clock = Ticking()
    bound, state = rope(1e4)
    system = Slow(bound, clock, force=1.0, energy=0.0)
    method = Bdf1(solver=LocalGlobal(10, accelerate))
    memory = method.step(system, state, 0.02, method.start(system, state)).memory
    method = Bdf1(solver=replace(method.solver, budget=budget, clock=clock))
    before = clock.now
    taken = method.step(system, state, 0.02, memory)
    assert taken.notes["iterations"] == made and taken.work.factorizations == 0
    assert clock.now - before <= max(budget, 1.0)


def test_a_cut_solve_is_a_solve_with_that_many_iterations():
    system, state = rope(1e4)
    clock = Ticking(1.0)
    cut = step_of(Bdf1(solver=LocalGlobal(10, budget=4.0, clock=clock)), system, state)
    same = step_of(Bdf1(solver=LocalGlobal(cut.notes["iterations"])), system, state)
    assert 1 <= cut.notes["iterations"] < 10
    assert np.array_equal(cut.state.x, same.state.x) and cut.notes == same.notes


@pytest.mark.parametrize("name", ["projective", "projective-energy-momentum", "realtime"])
def test_no_budget_and_more_time_than_needed_are_the_same_to_the_last_bit(name):
    scene = scenes.load("cloth", resolution=7, duration=0.5)
    runs = [
        simulate(scene, integrator=integrator(name, budget=budget)).positions
        for budget in (None, 1e9)
    ]
    assert np.array_equal(*runs)
    assert integrator(name) == integrator(name, budget=None)


# ------------------------------------------------------------------ the stabiliser


def run_slowly(budget: float, steps: int, name: str = "realtime-midpoint"):
    """Seconds by the clock and notes of every step, for a crumpled cloth that jumps about undamped:
    forces take a second, energies half of one."""
    scene = scenes.load("cloth", resolution=9, stiffness=2e3, damping=0.0, shake=0.0)
    bumps = 0.2 * np.random.default_rng(1).standard_normal(scene.x0.shape)
    bound, state = scene.system.bind(0.7 * scene.x0 + bumps, scene.v0)
    clock = Ticking()
    slow = Slow(bound, clock, force=1.0, energy=0.5)
    method = replace(integrator(name), budget=budget, clock=clock)
    memory, spent, notes = method.start(slow, state), [], []
    for _ in range(steps):
        before = clock.now
        taken = method.step(slow, state, 0.033, memory)
        state, memory = taken.state, taken.memory
        spent.append(clock.now - before)
        notes.append(taken.notes)
    return np.array(spent), notes


@pytest.mark.parametrize("budget", [9.0, 14.0, 30.0])
@pytest.mark.parametrize("name", ["realtime", "realtime-midpoint"])
def test_a_stabilised_step_keeps_to_its_budget(name, budget):
    """Beyond it goes at most what cannot be divided: one iteration of backward Euler, with a second
    force where it has to go back, and the energies around it."""
    spent, notes = run_slowly(budget, 60, name)
    assert sum(note["alpha"] > 0.0 for note in notes) > 5  # there was something to correct
    assert np.median(spent) <= budget
    assert spent.max() <= budget + 2.0 + 4 * 0.5
    assert min(note["iterations"] for note in notes) >= 1


@pytest.mark.parametrize("looks", thinned([8, 3, 12]))
@pytest.mark.parametrize("name", ["realtime", "realtime-midpoint"])
def test_however_little_time_there_is_no_energy_is_invented(name, looks):
    """A heap of contacts; the time is up after so many looks at the clock.  Allowed are the 1 % of
    tolerance and as much again."""
    scene = scenes.load("hippo", small=True, step=0.01, duration=1.5)
    method = replace(integrator(name), budget=1.0, clock=Ticking(1.0 / looks))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StiffWarning)  # little time, poor solves
        energy = simulate(scene, integrator=method).energy
    assert energy.numerical.max() <= 0.02 * energy.exchanged


def test_more_time_is_spent_on_more_iterations():
    iterations = [
        np.mean([note["iterations"] for note in run_slowly(budget, 40)[1]])
        for budget in (6.0, 10.0, 60.0)
    ]
    assert iterations[0] < iterations[1] < iterations[2] <= 20.0  # ten, and ten from elsewhere


# ------------------------------------------------------------------ small spaces of vectors


def block(side=5, squeeze=0.0):
    """A mass-spring lattice, held at one side, and a state in motion."""
    mesh = lattice(side, side, side, spacing=0.1, diagonals=True)
    rng = np.random.default_rng(2)
    system = System(
        np.full(len(mesh.positions), 0.02),
        [Springs(mesh.edges, 1e4), Gravity()],
        fixed=mesh.positions[:, 0] == 0.0,
        rest=mesh.positions,
    )
    v = 0.1 * rng.standard_normal(mesh.positions.shape) * (mesh.positions[:, :1] > 0.0)
    x = mesh.positions * [1.0 - squeeze, 1.0, 1.0]
    return system.bind(x, v)


def linearised_energy(A, v, a, dx, dv) -> float:
    """|v + dv|^2/2 + dx.K dx/2 - dx.M a."""
    return 0.5 * A.dot(v + dv, v + dv) + 0.5 * A.dot(dx, A.apply(dx)) - A.dot(dx, a)


@pytest.mark.parametrize("squeeze", [0.0, 0.2])
def test_the_linearised_energy_stays_with_no_time_at_all(squeeze):
    """Also where compressed springs make the tangent indefinite."""
    system, state = block(squeeze=squeeze)
    A, a = system.tangent(state).stiffness, system.acceleration(state)
    method = replace(integrator("exprb2"), budget=1e-9, clock=Ticking(1.0))
    taken = step_of(method, system, state, h=0.02)
    assert taken.notes["vectors"] == 6  # v and a, and each smoothed twice
    dx, dv = taken.state.x - state.x, taken.state.v - state.v
    before = 0.5 * A.dot(state.v, state.v)
    after = linearised_energy(A, state.v, a, dx, dv)
    size = before + abs(A.dot(dx, a)) + 0.5 * abs(A.dot(dx, A.apply(dx)))
    assert abs(after - before) <= 1e-12 * size
    assert np.linalg.norm(dx) > 0.0


def test_a_linear_body_keeps_its_energy_for_long():
    """Two hundred steps far beyond the stability limit of explicit methods."""
    rng = np.random.default_rng(5)
    B = rng.standard_normal((80, 80))
    A = B @ B.T * 1e4
    body = SecondOrder(stiffness=A, force=lambda x: np.ones(80), jacobian=0,
                       potential=lambda x: -float(np.sum(x)))  # fmt: skip
    method = replace(integrator("exprb2"), budget=1e-9, clock=Ticking(1.0))
    run = simulate(body, rng.standard_normal(80), integrator=method, step=0.02, duration=4.0)
    assert np.abs(run.energy.numerical).max() <= 1e-9 * run.energy.total[0]


@pytest.mark.parametrize("name", EXPONENTIAL)
def test_all_the_time_gives_the_step_without_a_budget(name):
    """A small body's space is complete after a few blocks: nothing is left out."""
    system, state = rope(1e3, links=4)
    h = 0.003
    exact = step_of(integrator(name), system, state, h)
    taken = step_of(integrator(name, budget=1e9), system, state, h)
    moved = np.abs(exact.state.x - state.x).max(), np.abs(exact.state.v - state.v).max()
    assert np.abs(taken.state.x - exact.state.x).max() <= 1e-9 * moved[0]
    assert np.abs(taken.state.v - exact.state.v).max() <= 1e-8 * moved[1]
    assert taken.notes["action_error"] <= 1e-8


@pytest.mark.parametrize("damping", [Rayleigh(0.5, 0.0), Rayleigh(0.0, 1e-3), "matrix"])
@pytest.mark.parametrize("name", ["exprb2", "pexprb43"])
def test_damping_and_driving_are_reduced_with_the_rest(name, damping):
    """Four pendulums: their space holds all there is."""
    D = np.diag([0.1, 0.3, 0.2, 0.4]) if damping == "matrix" else damping
    system, state = chain(5.0, damping=D, drive=0.7)
    exact = step_of(integrator(name), system, state, 0.1)
    taken = step_of(integrator(name, budget=1e9), system, state, 0.1)
    assert np.allclose(taken.state.x, exact.state.x, rtol=0.0, atol=1e-8)
    assert np.allclose(taken.state.v, exact.state.v, rtol=0.0, atol=1e-7)


def test_a_body_at_rest_stays_where_it_is():
    mesh = lattice(3, 3, 3, spacing=0.1)
    system, state = System(0.1, [Springs(mesh.edges, 1e4)], rest=mesh.positions).bind(
        mesh.positions
    )
    for name in EXPONENTIAL:
        taken = step_of(integrator(name, budget=1e-3), system, state, 0.01)
        assert np.array_equal(taken.state.x, state.x) and not taken.state.v.any()


def test_more_vectors_bring_slow_motion_closer():
    """A block that begins to fall: the error of the step falls, and so does its estimate."""
    system, state = block(side=7)
    state = replace(state, v=0.0 * state.v)
    h = 0.02
    exact = step_of(integrator("exprb2"), system, state, h)
    errors, estimates = [], []
    for looks in (5, 7, 9):
        clock = iter([*([0.0] * looks), *([1e9] * 99)])
        method = replace(integrator("exprb2"), budget=1.0, clock=lambda c=clock: next(c))
        taken = step_of(method, system, state, h)
        errors.append(np.linalg.norm(taken.state.x - exact.state.x))
        estimates.append(taken.notes["action_error"])
    assert errors[0] > errors[1] > errors[2] > 0.0
    assert estimates[0] > estimates[1] > estimates[2]


def test_smoothing_is_factorised_once_per_step_size():
    system, state = block(side=3)
    method = integrator("exprb42", budget=1e9)
    first = method.step(system, state, 0.01, method.start(system, state))
    second = method.step(system, first.state, 0.01, first.memory)
    third = method.step(system, second.state, 0.005, second.memory)
    assert [t.work.factorizations for t in (first, second, third)] == [1, 0, 1]


def test_spaces_are_orthonormal_and_hold_their_columns():
    rng = np.random.default_rng(0)
    B = rng.standard_normal((40, 40))
    A = DenseOperator(B @ B.T)
    columns = rng.standard_normal((2, 40))
    space = grow(A, columns, lambda b: np.linalg.solve(np.eye(40) + A.K, b), forever)
    V = space.V
    assert len(V) == 2 * MOST
    assert np.allclose(V @ V.T, np.eye(len(V)), atol=1e-12)
    assert np.allclose((columns @ V.T) @ V, columns)
    assert np.allclose(space.T, V @ A.K @ V.T, rtol=1e-10, atol=1e-10)
    few = grow(A, columns, None, never, least=2)
    span = np.linalg.qr(np.concatenate([columns, columns @ A.K]).T)[0]
    assert few.size == 4 and np.allclose(span @ span.T @ few.V.T, few.V.T)


def test_rations_leave_time_for_what_comes_after():
    """10 s; gaps of 1 and 2 s are known: three quarters of the 7 s left for the first space."""
    clock = Ticking()
    ration = Ration(10.0, clock, (1.0, 2.0))
    assert ration.begin().left() == pytest.approx(FIRST * 7.0)
    clock.now += 4.0
    ration.end()
    clock.now += 1.5  # longer than last time
    assert ration.begin().left() == pytest.approx(10.0 - 5.5 - 2.0)
    clock.now += 1.0
    ration.end()
    clock.now += 0.5
    assert ration.gaps() == pytest.approx((1.5, 0.5))


def test_a_body_that_cannot_be_factorised_has_krylov_spaces():
    A = np.diag([-1e6, 1.0, 2.0])
    system, state = SecondOrder(stiffness=A).bind([0.0, 1.0, 1.0])
    assert smoother(system.linear_part().tangent, 1.0) == (None, 1)
    taken = step_of(integrator("exprb2", budget=1e9), system, state, 1e-3)
    assert np.allclose(taken.state.x[1:], np.cos(1e-3 * np.sqrt([1.0, 2.0])))


# ------------------------------------------------------------------ by name


def test_which_methods_have_a_budget():
    with_budget = {name for name in integrators.NAMES if "budget" in options(name)}
    projective = {"projective", "projective-bdf2", "projective-midpoint"}
    projective |= {"projective-energy-momentum"}
    assert with_budget == projective | {"realtime", "realtime-midpoint"} | set(EXPONENTIAL)
    assert "budget" in options("stabilised:projective-midpoint")
    # Newton's method takes as long as it takes
    assert "budget" not in options("stabilised") and "budget" not in options("stabilised:exprb42")


@pytest.mark.parametrize("name", ["projective", "realtime", "exprb42", "ceti", "neti"])
@pytest.mark.parametrize("budget", [0.0, -1.0, "soon", True])
def test_budgets_that_make_no_sense_are_refused(name, budget):
    with pytest.raises(InputError, match="budget"):
        integrator(name, budget=budget)


@pytest.mark.parametrize("linearisation", ["corotated", "tangent"])
def test_the_two_step_form_refuses_a_budget(linearisation):
    with pytest.raises(InputError, match="budget goes with form='one-step'"):
        integrators.Neti(linearisation=linearisation, form="two-step", budget=1.0)


@pytest.mark.parametrize(
    "method",
    [
        integrators.Gautschi(),
        integrators.Neti(linearisation="corotated", form="two-step"),
        integrators.Neti(form="two-step"),
    ],
)
def test_these_have_no_budget(method):
    assert "budget" not in options(method)
    with pytest.raises(InputError, match=r"budget: .* has no such option"):
        integrator(method, budget=1.0)


def test_a_budget_is_a_key_of_scene_files(tmp_path):
    path = tmp_path / "fast.toml"
    path.write_text("scene = 'coil-spring'\n[parameters]\nvertices = 160\n[method]\nbudget = 0.5\n")
    scene = scenes.load(path)
    run = simulate(scene, duration=0.2)
    assert run.diagnostics["vectors"].min() >= 4
