"""The local/global solver: Projective Dynamics to the last digit, safe and named where it is not.

The reference projects every constraint and solves Eqs. 28 and 30 of Dinev, Liu, Kavan 2018 with
dense matrices; it shares nothing with the package but the numbers that describe the body.
"""

from __future__ import annotations

import warnings
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
import systems
from hypothesis import given
from hypothesis import strategies as st
from runs_to_record import through_json
from systems import march
from thinned import drawn

from stiffly import simulate
from stiffly.bodies import (
    Gravity,
    Potential,
    Rayleigh,
    SecondOrder,
    Springs,
    System,
    Tetrahedra,
    cloth_springs,
)
from stiffly.bodies import lumped_mass as tet_mass
from stiffly.collisions import Contact, Plane
from stiffly.contracts import Settled, State
from stiffly.errors import InputError, NotConverged, StiffWarning
from stiffly.integrators.stabilised import Stabilised
from stiffly.integrators.stage import Bdf1, Bdf2, Midpoint, Newmark, StageEquation, StageMemory
from stiffly.meshes import bar, cloth, lattice
from stiffly.solvers.local_global import UNDER_SOLVED, LocalGlobal, factorised
from stiffly.solvers.newton import Newton
from stiffly.solvers.secants import PAIRS, Secants

G = 9.81
METHODS = [Bdf1, Bdf2, Midpoint, Newmark]


# ------------------------------------------------------------------ a plain reference


class Springlike:
    """w/2 |x_i - x_j - p|^2, p on the sphere of the rest length."""

    def __init__(self, i, j, weight, length):
        self.rows, self.weight, self.length = {i: 1.0, j: -1.0}, weight, length

    def project(self, Gx):
        size = np.linalg.norm(Gx)
        return self.length * Gx / size if self.length else 0.0 * Gx


class Tetlike:
    """w/2 |F - p|^2, p the nearest rotation; G x is F transposed."""

    def __init__(self, corners, rest, weight):
        self.corners, self.weight = corners, weight
        edges = (rest[corners[1:]] - rest[corners[0]]).T
        self.inverse = np.linalg.inv(edges)

    def project(self, Ft):
        U, _, Vt = np.linalg.svd(Ft)
        turn = np.diag([1.0, 1.0, np.sign(np.linalg.det(U @ Vt))])
        return U @ turn @ Vt


def operator_rows(constraint, n):
    """G of one constraint: rows (r, n), so that G x is (r, 3)."""
    if isinstance(constraint, Springlike):
        row = np.zeros((1, n))
        for i, sign in constraint.rows.items():
            row[0, i] = sign
        return row
    rows = np.zeros((3, n))
    for k, corner in enumerate(constraint.corners[1:]):
        rows[:, corner] += constraint.inverse[k]
        rows[:, constraint.corners[0]] -= constraint.inverse[k]
    return rows


class Projective:
    """Particles (N, 3) with masses, constraints, held particles and gravity."""

    def __init__(self, mass, constraints, held):
        self.n = len(mass)
        self.M, self.constraints = np.diag(mass), constraints
        self.rows = [operator_rows(c, self.n) for c in constraints]
        self.L = sum(c.weight * R.T @ R for c, R in zip(constraints, self.rows, strict=True))
        self.free = np.setdiff1d(np.arange(self.n), held)
        self.push = np.outer(mass, [0.0, 0.0, -G])

    def Jp(self, x):
        """The local step: project everything at x (N, 3)."""
        total = np.zeros((self.n, 3))
        for c, R in zip(self.constraints, self.rows, strict=True):
            p = c.project(R @ x)
            total += c.weight * R.T @ p
        return total

    def globally(self, A, b, x):
        """A x = b for the free particles, with the held ones where they are in x."""
        f = self.free
        held = np.setdiff1d(np.arange(self.n), f)
        new = x.copy()
        new[f] = np.linalg.solve(A[np.ix_(f, f)], b[f] - A[np.ix_(f, held)] @ x[held])
        return new

    def backward_euler(self, x0, v0, h, iterations):
        x = x0 + h * v0
        y = self.M @ x + h * h * self.push
        for _ in range(iterations):  # Eq. 28
            x = self.globally(self.M + h * h * self.L, h * h * self.Jp(x) + y, x)
        return x, (x - x0) / h

    def midpoint(self, x0, v0, h, iterations):
        x = x0 + h * v0
        y = self.M @ x + 0.5 * h * h * self.push
        for _ in range(iterations):  # Eq. 30
            b = y + 0.5 * h * h * self.Jp(0.5 * (x + x0)) - 0.25 * h * h * self.L @ x0
            x = self.globally(self.M + 0.25 * h * h * self.L, b, x)
        return x, 2.0 * (x - x0) / h - v0


def spring_body(rng):
    """A small cloth with two held particles, and zero-length springs to one of them."""
    mesh = cloth(4, 3, spacing=0.1)
    n = len(mesh.positions)
    k = rng.uniform(10.0, 1e4, len(mesh.edges))
    length = np.linalg.norm(np.diff(mesh.positions[mesh.edges], axis=1)[:, 0], axis=1)
    mass = rng.uniform(0.01, 0.1, n)
    tied = np.array([[0, 11], [0, 6]])
    parts = [Springs(mesh.edges, k, length), Springs(tied, 300.0, 0.0, name="ties"), Gravity()]
    system = System(mass, parts, fixed=[0, 3], rest=mesh.positions)
    springs = zip(*mesh.edges.T, k, length, strict=True)
    constraints = [Springlike(*spring) for spring in springs]
    constraints += [Springlike(i, j, 300.0, 0.0) for i, j in tied]
    return system, Projective(mass, constraints, [0, 3]), mesh.positions


def tet_body(rng):
    """Poisson's ratio 0: the corotated energy is V mu |F - R|^2, a weight of 2 mu V."""
    mesh = bar(3, (2, 2), length=0.4, side=0.2)
    mass = tet_mass(mesh.positions, mesh.tets, 500.0)
    young = 10.0 ** rng.uniform(3.0, 5.0)
    system = System(
        mass, [Tetrahedra(mesh.tets, young, 0.0), Gravity()], fixed=[0, 1], rest=mesh.positions
    )
    d = mesh.positions[mesh.tets[:, 1:]] - mesh.positions[mesh.tets[:, :1]]
    volume = np.linalg.det(d) / 6.0
    constraints = [
        Tetlike(t, mesh.positions, young * V) for t, V in zip(mesh.tets, volume, strict=True)
    ]
    return system, Projective(mass, constraints, [0, 1]), mesh.positions


BODIES = {"springs": spring_body, "tets": tet_body}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("method", ["backward_euler", "midpoint"])
@drawn(8)
@given(seed=st.integers(0, 2**32 - 1), h=st.sampled_from([0.003, 0.033, 0.1]))
def test_every_iterate_is_that_of_projective_dynamics(body, method, seed, h):
    rng = np.random.default_rng(seed)
    system, reference, rest = BODIES[body](rng)
    x0 = rest + 0.02 * rng.standard_normal(rest.shape)
    v0 = rng.standard_normal(rest.shape)
    v0[np.setdiff1d(np.arange(reference.n), reference.free)] = 0.0
    bound, state = system.bind(x0, v0)
    kind = {"backward_euler": Bdf1, "midpoint": Midpoint}[method]
    for iterations in (1, 2, 3, 6):
        solver = kind(solver=LocalGlobal(iterations))
        step = solver.step(bound, state, h, solver.start(bound, state))
        x, v = getattr(reference, method)(x0, v0, h, iterations)
        # it may stop at a relative residual of 1e-9; else what differs is rounding
        done = step.work.linear_solves == step.work.force_evaluations == iterations
        assert done or (step.work.linear_solves < iterations and step.notes["residual"] <= 1e-9)
        # against the momentum of all; what the lightest particles move by is a hundred times less
        allowed = 1e-10 if done else 1e-7
        moved, speed = np.abs(x - x0).max(), np.abs([v0, v]).max()
        assert np.abs(bound.positions(step.state) - x).max() < allowed * moved
        assert np.abs(bound.velocities(step.state) - v).max() < allowed * (moved / h + speed)


# ------------------------------------------------------------------ factorised once


def hanging_cloth(side=8, stiffness=1e3, **options):
    mesh = cloth(side, side, spacing=1.0 / (side - 1))
    parts = [Springs(mesh.edges, stiffness), Gravity()]
    system = System(1.0 / side**2, parts, fixed=[0, side - 1], rest=mesh.positions, **options)
    return system.bind(mesh.positions)


@pytest.mark.parametrize("kind", METHODS)
def test_one_factorisation_serves_all_steps_and_what_happens_between_them(kind):
    method = kind(solver=LocalGlobal(5))
    system, state = hanging_cloth()
    _, work, memory = march(method, system, state, [0.01] * 12)
    assert work.factorizations == (2 if kind is Bdf2 else 1)  # bdf2 starts as bdf1
    assert work.tangents == 0
    slower = State(state.t, state.x, 0.9 * state.v)
    memory = method.resume(system, slower, memory, Settled(slower, dissipated=1.0))
    h = 0.01 * 2.0 / 3.0 if kind is Bdf2 else 0.01  # bdf2 starts again, with g = h
    assert method.step(system, slower, h, memory).work.factorizations == 0
    assert method.step(system, slower, 0.02, memory).work.factorizations == 1


def test_a_changed_laplacian_is_factorised_again():
    inner, state = hanging_cloth()
    system = Versioned(inner)
    method = Midpoint(solver=LocalGlobal(3))
    step = method.step(system, state, 0.01, method.start(system, state))
    assert method.step(system, step.state, 0.01, step.memory).work.factorizations == 0
    system.layout = ("another",)
    assert method.step(system, step.state, 0.01, step.memory).work.factorizations == 1


class Versioned:
    """Another system, whose Laplacian can be said to have changed."""

    def __init__(self, system):
        self._system, self.layout = system, ("one",)

    def global_layout(self, s0, s1, old, begins):
        return self.layout

    def global_matrix(self, alpha, beta, layout):
        assert layout is self.layout
        return self._system.global_matrix(alpha, beta)

    def __getattr__(self, name):
        return getattr(self._system, name)


@pytest.mark.parametrize("kind", [Bdf1, Midpoint, Newmark])
def test_newton_goes_on_with_its_factorisation_after_an_event(kind):
    system, state = systems.linear()
    method = kind()
    states, _, memory = march(method, system, state, [0.05] * 3)
    slower = State(states[-1].t, states[-1].x, 0.9 * states[-1].v)
    resumed = method.resume(system, slower, memory, Settled(slower, dissipated=1.0))
    kept = method.step(system, slower, 0.05, resumed)
    fresh = method.step(system, slower, 0.05, method.start(system, slower))
    assert (kept.work.factorizations, fresh.work.factorizations) == (0, 1)
    assert np.allclose(kept.state.x, fresh.state.x, rtol=0.0, atol=1e-9)


def test_memory_survives_a_checkpoint_bit_for_bit():
    method = Midpoint(solver=LocalGlobal(4))
    system, state = hanging_cloth()
    states, _, memory = march(method, system, state, [0.01] * 3)
    on = method.step(system, states[-1], 0.01, memory)
    state, memory = through_json((states[-1], memory))
    resumed = method.step(system, state, 0.01, memory)
    assert np.array_equal(on.state.x, resumed.state.x)
    assert np.array_equal(on.state.v, resumed.state.v)


# ------------------------------------------------------------------ where it leads


@pytest.mark.parametrize("kind", METHODS)
def test_many_iterations_reach_the_newton_solution(kind):
    system, state = hanging_cloth(5, 50.0, damping=Rayleigh(0.5, 0.01))
    exact, projective = kind(solver=Newton(1e-12)), kind(solver=LocalGlobal(400))
    a = march(exact, system, state, [0.02] * 5)[0][-1]
    b = march(projective, system, state, [0.02] * 5)[0][-1]
    assert abs(a.x - b.x).max() < 1e-7 * abs(a.x - state.x).max()
    assert abs(a.v - b.v).max() < 1e-7 * abs(a.v).max()


@pytest.mark.parametrize("damping", [None, Rayleigh(2.0, 0.5)], ids=["undamped", "damped"])
def test_a_linear_system_is_solved_by_one_iteration(damping):
    """A is the tangent itself; damping as heavy as this would diverge if A left it out."""
    system, state = systems.linear((1.0, 30.0), damping)
    once, exact = Midpoint(solver=LocalGlobal(1)), Midpoint(solver=Newton(1e-13))
    a, b = (march(m, system, state, [0.1] * 10)[0][-1] for m in (once, exact))
    assert abs(a.x - b.x).max() < 1e-9
    assert abs(a.v - b.v).max() < 1e-8


def test_a_guess_is_where_the_solve_begins():
    system, state = hanging_cloth(5, 50.0)
    exact = Bdf1(solver=Newton(1e-12))
    solution = exact.step(system, state, 0.02, exact.start(system, state)).state
    method = Bdf1(solver=LocalGlobal(5))
    begun = method.step(system, state, 0.02, method.start(system, state), guess=solution)
    assert begun.work.linear_solves == 0  # nothing left to do
    assert abs(begun.state.x - solution.x).max() < 1e-12
    assert abs(begun.state.v - solution.v).max() < 1e-10
    newton = Bdf1().step(system, state, 0.02, StageMemory(), guess=solution)
    assert newton.work.newton_iterations == 0


def test_few_iterations_of_backward_euler_never_gain_energy():
    """They would, if they began from the last acceleration instead of from inertia."""
    system, state = hanging_cloth(8, 1e3)
    method = Bdf1(solver=LocalGlobal(1))
    states = march(method, system, state, [0.033] * 60)[0]
    energy = [sum(system.energy(s).values()) for s in states]
    assert max(energy) <= energy[0]


def test_names_say_the_solver():
    projective = LocalGlobal(2)
    assert [kind(solver=projective).name for kind in METHODS] == [
        "projective", "projective-bdf2", "projective-midpoint", "projective-newmark"
    ]  # fmt: skip
    assert [kind().name for kind in METHODS] == ["bdf1", "bdf2", "midpoint", "newmark"]


# ------------------------------------------------------------------ forces stiffer than L


def stage(system, state, h):
    """Backward Euler's equation."""
    return StageEquation(system, state, h, h, state.x + h * state.v, state.v, (h * h, h))


def potential(system, equation, d):
    """The incremental potential: d M d / 2 + alpha E, whose gradient is the residual."""
    energies = dict(system.energy(equation.state(d)))
    energies.pop("kinetic")
    return 0.5 * d @ system.mass.apply(d) + equation.weights[0] * sum(energies.values())


@pytest.mark.parametrize("stiffness", [1e2, 1e6])
def test_stiffening_springs_that_blow_up_plain_iterations_are_tamed(stiffness):
    """Stretched fourfold, a cubic spring is 28 times stiffer than L says."""
    mesh = lattice(3, 3, 3)
    system = System(0.01, [Springs(mesh.edges, stiffness, law="cubic")], rest=mesh.positions)
    system, state = system.bind(4.0 * mesh.positions)
    equation = stage(system, state, 0.02)
    A, d = factorised(equation, equation.global_layout(0.0, None, True)), 0.0 * state.x
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(10):
            d = d - A.solve(equation.residual(d))
        assert not np.linalg.norm(equation.residual(d)) < 1e3 * np.linalg.norm(
            equation.residual(0.0 * d)
        )
    values = []
    for iterations in range(2, 12):
        result = LocalGlobal(iterations).solve(equation, 0.0 * state.x, None)
        values.append(potential(system, equation, result.x))
    assert all(b <= a * (1 + 1e-9) for a, b in pairwise(values))
    assert result.residual < 1.0
    assert result.work.force_evaluations <= 11 + 5  # a few more than iterations


def test_a_force_that_is_not_finite_everywhere_is_backed_off_from():
    """U = -log(1 - x) - 60 x has a wall at 1, which the first full step would cross."""
    walled = one_particle(lambda x: 60.0 - 1.0 / (1.0 - x) if x[0] < 1.0 else np.array([np.nan]))
    state = State(0.0, np.array([0.5]), np.array([1.0]))
    method, h = Bdf1(solver=LocalGlobal(200)), 0.2
    end = method.step(walled, state, h, method.start(walled, state)).state
    # x = a - h^2/(1 - x) with a = x0 + h v + 60 h^2, that is x^2 - (1 + a) x + a - h^2 = 0
    a = 0.5 + h + 60.0 * h * h
    assert end.x[0] == pytest.approx(min(np.roots([1.0, -1.0 - a, a - h * h])), abs=1e-8)


def one_particle(force):
    """A unit mass on a line, whose Laplacian is zero."""
    return SimpleNamespace(
        mass=SecondOrder(stiffness=np.eye(1)).mass,
        force=lambda s: force(s.x),
        conservative=True,
        global_layout=lambda *_: (),
        global_matrix=lambda alpha, beta, layout: sp.csc_matrix([[1.0]]),
    )


@pytest.mark.parametrize("iterations", [2, 3, 4])
def test_contact_that_begins_in_mid_step_renews_the_matrix(iterations):
    """A stiff floor at 0 that L knows of once it has been touched."""
    floor = Floor(1e6, push=-100.0)
    state = State(0.0, np.array([0.1, 5.0]), np.array([-1.0, 0.0]))  # at the guess: 0.05
    method = Bdf1(solver=LocalGlobal(iterations))
    step = method.step(floor, state, 0.05, method.start(floor, state))
    assert step.work.factorizations == 2
    # x = (x0 + h v + h^2 push) / (1 + h^2 k) below the floor
    assert step.state.x[0] == pytest.approx((0.05 - 0.25) / (1.0 + 0.05**2 * 1e6), rel=1e-9)
    assert step.state.x[1] == pytest.approx(5.0)


@pytest.mark.parametrize("iterations", [1, 2, 4])
def test_contact_found_by_the_first_force_is_in_the_first_matrix(iterations):
    """Also where a factorisation without it was kept: a step of the old matrix would explode."""
    floor, method = Floor(1e6), Bdf1(solver=LocalGlobal(iterations))
    state = State(0.0, np.array([0.6, 5.0]), np.array([-10.0, 0.0]))
    first = method.step(floor, state, 0.05, method.start(floor, state))
    assert first.state.x[0] == pytest.approx(0.1)
    second = method.step(floor, first.state, 0.05, first.memory)
    assert second.work.factorizations == 1
    assert second.state.x[0] == pytest.approx((0.1 - 0.5) / (1.0 + 0.05**2 * 1e6), rel=1e-9)


def test_a_ball_on_a_stiff_floor_bounces():
    system = System(np.ones(1), [Gravity(), Contact(Plane((0, 0, 0), (0, 0, 1)), 1e6)])
    run = simulate(system, [[0.0, 0.0, 1.0]], integrator="stabilised:projective-midpoint",
                   step=0.02, duration=3.0)  # fmt: skip
    z = run.positions[:, 0, 2]
    assert -0.01 < z.min() < 0.0 and 0.9 < z[len(z) // 2 :].max() < 1.1


class Floor:
    """Two unit masses; the first meets a spring of stiffness k below x = 0, and may be pushed."""

    conservative = True

    def __init__(self, k, push=0.0):
        self.k, self.push = k, push
        self.mass = SecondOrder(stiffness=np.eye(2)).mass

    def force(self, s):
        return np.array([self.push - self.k * min(s.x[0], 0.0), 0.0])

    def global_layout(self, s0, s1, old, begins):
        touched = (s1.x[0] < 0.0 or old == (True,),)
        return old if old == touched else touched

    def global_matrix(self, alpha, beta, layout):
        return sp.csc_matrix(np.diag([1.0 + alpha * self.k * layout[0], 1.0]))


# ------------------------------------------------------------------ accelerated


def test_secants_are_those_of_bfgs():
    """Against the dense update of an inverse: H <- (I - s y'/sy) H (I - y s'/sy) + s s'/sy."""
    rng = np.random.default_rng(5)
    B = rng.standard_normal((8, 8))
    J, A = B @ B.T + np.eye(8), np.diag(rng.uniform(20.0, 30.0, 8))
    H, secants, points = np.linalg.inv(A), Secants(), rng.standard_normal((PAIRS + 1, 8))
    for k, d in enumerate(points):
        z = secants.solve(d, J @ d, lambda r: np.linalg.solve(A, r))
        if k > 0:
            s, y = d - points[k - 1], J @ (d - points[k - 1])
            left = np.eye(8) - np.outer(s, y) / (s @ y)
            H = left @ H @ left.T + np.outer(s, s) / (s @ y)
        assert z == pytest.approx(H @ (J @ d), rel=1e-9)
    uphill = Secants()  # y = -s: nothing to learn from
    for d in (np.ones(2), np.zeros(2)):
        assert np.array_equal(uphill.solve(d, 1.0 - d, np.copy), 1.0 - d)


@pytest.mark.parametrize("stiffness", [1e3, 1e6])
def test_accelerated_iterations_do_the_work_of_several(stiffness):
    system, state = hanging_cloth(8, stiffness)
    state = State(0.0, state.x, 0.1 * np.sin(np.arange(state.x.size)))
    equation = stage(system, state, 0.033)

    def left(solver):
        result = solver.solve(equation, 0.0 * state.x, None)
        starts = 2 if solver.accelerate else 1  # from inertia, and from the start of the step
        assert result.work.force_evaluations <= starts * solver.iterations + 3
        return potential(system, equation, result.x)

    lowest = left(LocalGlobal(3000))
    fast = [left(LocalGlobal(n, accelerate=True)) for n in range(2, 14)]
    assert all(b <= a * (1 + 1e-9) for a, b in pairwise(fast))
    assert fast[8] - lowest < left(LocalGlobal(20)) - lowest  # ten iterations


@pytest.mark.parametrize("kind", METHODS)
def test_accelerated_iterations_reach_the_newton_solution(kind):
    system, state = hanging_cloth(5, 50.0, damping=Rayleigh(0.5, 0.01))
    a, b = (
        march(kind(solver=solver), system, state, [0.02] * 5)[0][-1]
        for solver in (Newton(1e-12), LocalGlobal(100, accelerate=True))
    )
    assert abs(a.x - b.x).max() < 1e-7 * abs(a.x - state.x).max()


def test_accelerated_methods_keep_the_energy_inside_a_stabiliser():
    mesh = cloth(12, 12, spacing=1.0 / 11)
    parts = [*cloth_springs(mesh, 1e4, 1e4, 100.0), Gravity()]
    system = System(0.2 / 144, parts, fixed=[0, 11], rest=mesh.positions)
    method = Stabilised(
        Midpoint(solver=LocalGlobal(10, accelerate=True)),
        dissipate=Bdf1(solver=LocalGlobal(3, accelerate=True)),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StiffWarning)  # what is lost is not the point here
        run = simulate(system, mesh.positions, integrator=method, step=1 / 30, duration=4.0)
    assert run.energy.numerical.max() < 0.02 * run.energy.exchanged


# ------------------------------------------------------------------ what it says


def test_a_residual_as_large_as_the_motion_is_reported():
    stiff, state = hanging_cloth(8, 1e7)
    method = Midpoint(solver=LocalGlobal(2))
    step = method.step(stiff, State(0.0, state.x, np.sin(np.arange(state.x.size))), 0.033,
                       StageMemory())  # fmt: skip
    assert step.notes["residual"] > UNDER_SOLVED and step.notes["under_solved"]
    soft, state = hanging_cloth(8, 10.0)
    step = method.step(soft, state, 0.01, StageMemory())
    assert step.notes["residual"] < UNDER_SOLVED and not step.notes["under_solved"]


def test_the_residual_is_that_of_the_last_point_evaluated():
    system, state = hanging_cloth(5, 50.0)
    equation = stage(system, state, 0.02)
    before, after = (LocalGlobal(n).solve(equation, 0.0 * state.x, None) for n in (3, 4))
    r = np.linalg.norm(equation.residual(before.x)) / equation.scale(before.x)
    assert after.residual == pytest.approx(r, rel=1e-9)


def test_a_run_warns_of_steps_left_unsolved():
    mesh = cloth(8, 8, spacing=1.0 / 7)
    system = System(
        1 / 64, [Springs(mesh.edges, 1e6), Gravity()], fixed=[0, 7], rest=mesh.positions
    )
    with pytest.warns(StiffWarning, match=r"not solved well enough.*LocalGlobal\(60\)"):
        simulate(
            system, mesh.positions, integrator=Bdf1(solver=LocalGlobal(1)), step=0.033, duration=0.5
        )


def test_an_indefinite_or_huge_matrix_is_named(capfd):
    system, state = SecondOrder(stiffness=sp.csc_matrix(-np.eye(3))).bind(np.ones(3))
    method = Midpoint(solver=LocalGlobal())
    with pytest.raises(InputError, match=r"M \+ alpha L positive definite.*try a smaller step"):
        method.step(system, state, 4.0, method.start(system, state))
    cloth_system, state = hanging_cloth(3)
    with np.errstate(all="ignore"), pytest.raises(NotConverged, match=r"not finite.*smaller step"):
        method.step(cloth_system, state, 1e160, method.start(cloth_system, state))
    assert capfd.readouterr().out == ""


def test_a_part_without_a_laplacian_is_named():
    wells = Potential(energy=lambda x: 0.5 * np.sum(x**2), gradient=lambda x: x)
    system, state = System(1.0, [wells], rest=np.eye(3)).bind(np.eye(3))
    method = Bdf1(solver=LocalGlobal())
    with pytest.raises(InputError, match=r"^potential has no local step: use "):
        method.step(system, state, 0.1, method.start(system, state))


def test_a_force_that_is_not_finite_is_named():
    walled = one_particle(lambda x: np.sqrt(1.0 - x))
    state = State(0.0, np.array([0.5]), np.array([10.0]))
    method = Bdf1(solver=LocalGlobal())
    with np.errstate(invalid="ignore"), pytest.raises(NotConverged, match="not finite at t = 1 s"):
        method.step(walled, state, 1.0, method.start(walled, state))


@pytest.mark.parametrize("iterations", [0, -1, 2.5, "ten"])
def test_iterations_that_are_no_count_are_refused(iterations):
    with pytest.raises(InputError, match="whole number, 1 or more"):
        LocalGlobal(iterations)
