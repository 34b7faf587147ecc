"""Implicit steps body by body: the same as all bodies together, the same bits however often and on
however many threads, and today's way where a part has no formula."""

import numba
import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from systems import march
from thinned import drawn, thinned

import stiffly
from stiffly.bodies import Dashpots, Field, Gravity, Rayleigh, Springs, System
from stiffly.collisions import Contact, Hemisphere, Plane, Sphere
from stiffly.contracts import BodyProblem
from stiffly.errors import NotConverged
from stiffly.integrators.energy_momentum import EnergyMomentum
from stiffly.integrators.stage import Bdf1, Bdf2, Midpoint, Newmark
from stiffly.kernels import cpu
from stiffly.kernels.names import BODY_COUNTS, BODY_FAILED, BODY_NUMBERS, LANES
from stiffly.solvers.newton import Newton
from stiffly.solvers.shifted_newton import ShiftedNewton
from stiffly.system import bodywise
from stiffly.system.supports import Rotation

SHAPES = {
    "nothing": lambda: [],
    "plane": lambda: [Contact(Plane((0.0, 0.0, -0.3), (0.0, 0.2, 1.0)), 4e2)],
    "ball": lambda: [Contact(Sphere((0.2, 0.0, -1.0), 0.9), 4e2, margin=0.05)],
    "room": lambda: [Contact(Sphere((0.0, 0.0, 0.0), 1.2, inside=True), 4e2)],
    "half ball": lambda: [Contact(Hemisphere((0.3, 0.1, -0.5), 0.4), 4e2)],
    "two": lambda: [
        Contact([Plane((0.0, 0.0, -0.4), (0.0, 0.0, 1.0)), Sphere((0, 0, -0.5), 0.4)], 3e2)
    ],
}
STEP = 0.02


class Together(System):
    """The same system, solved as a whole."""

    def bodywise(self, s):
        return None


def net(rng, size):
    """A connected net: a path, and a few springs more."""
    pairs = {(k, k + 1) for k in range(size - 1)}
    for _ in range(size):
        i, j = sorted(rng.integers(0, size, 2))
        if i < j:
            pairs.add((int(i), int(j)))
    return np.array(sorted(pairs)).reshape(-1, 2)


def little_nets(seed, kind=System, copies=(3, 1, 9), shape="plane", damping=0.0, law="linear"):
    """Bodies of three structures, so many of each, the first particle of every other one held."""
    rng, edges, held, at = np.random.default_rng(seed), [], [], 0
    for count in copies:
        size = int(rng.integers(2, 7))
        own = net(rng, size)
        for k in range(count):
            edges.append(own + at)
            held += [at] if k % 2 and size > 2 else []
            at += size
    rest = rng.uniform(-1.0, 1.0, (at, 3))
    edges, mass = np.concatenate(edges), rng.uniform(0.5, 2.0, at)
    stiffness = 10.0 ** rng.uniform(2.0, 4.0, len(edges))
    parts = [Springs(edges, stiffness, law=law), Gravity(), *SHAPES[shape]()]
    system = kind(
        mass, parts, rest=rest, fixed=held, damping=Rayleigh(damping) if damping else None
    )
    x = rest + 0.05 * rng.standard_normal(rest.shape)
    x[held] = rest[held]
    v = rng.standard_normal(rest.shape)
    v[held] = 0.0
    return system.bind(x, v)


def pair(*arguments, **options):
    """Body by body, and all together."""
    apart, state = little_nets(*arguments, **options)
    whole, same = little_nets(*arguments, kind=Together, **options)
    assert np.array_equal(state.x, same.x)
    assert apart.bodywise(state) is not None
    assert whole.bodywise(state) is None
    return apart, whole, state


def total(system, s):
    return sum(system.energy(s).values())


nets = {
    "seed": st.integers(0, 10**6),
    "shape": st.sampled_from(list(SHAPES)),
    "damping": st.sampled_from([0.0, 3.0]),
    "law": st.sampled_from(["linear", "cubic"]),
}


# ------------------------------------------------------------------ the equations


@drawn(60)
@given(**nets)
def test_a_mean_step_solves_the_systems_own_equations(seed, shape, damping, law):
    """M (v1 - v0) = h F(x0, x1) and x1 - x0 = h (v0 + v1)/2, with the parts' own F, between
    velocities that the damping has reduced by exp(-a h/2), and will once more."""
    system, start = little_nets(seed, shape=shape, damping=damping, law=law)
    undamped, _ = little_nets(seed, shape=shape, law=law)
    taken = EnergyMomentum().step(system, start, STEP, EnergyMomentum().start(system, start))
    end, share = taken.state, np.exp(-0.5 * damping * STEP)
    s0, s1 = start.moved(0.0, start.x, share * start.v), end.moved(end.t, end.x, end.v / share)
    assert taken.notes["solver"] == "body by body"
    if taken.notes["halvings"] == 0:
        left = system.mass.apply(s1.v - s0.v) - STEP * undamped.mean_force(s0, s1)
        scale = np.linalg.norm(system.mass.apply(s0.v)) + np.linalg.norm(system.mass.apply(s1.v))
        assert np.linalg.norm(left) < 1e-9 * scale
        assert np.abs(s1.x - s0.x - 0.5 * STEP * (s0.v + s1.v)).max() < 1e-13
    kinetic = system.energy(start)["kinetic"]
    gained = total(system, end) - total(system, start) + taken.exchanged.dissipated
    assert abs(gained) < 1e-9 * (kinetic + abs(total(system, start)))


@drawn(40)
@given(**nets)
def test_energy_momentum_goes_as_all_bodies_together(seed, shape, damping, law):
    apart, whole, state = pair(seed, shape=shape, damping=damping, law=law)
    method = EnergyMomentum()
    step = [
        method.step(system, state, STEP, method.start(system, state)) for system in (apart, whole)
    ]
    if step[0].notes["halvings"] or step[1].notes["halvings"]:
        return  # bodies halve their own steps: other steps, other states
    ends = [taken.state for taken in step]
    assert np.abs(ends[0].v - ends[1].v).max() < 1e-7 * np.abs(ends[1].v).max()
    taken, wanted = (one.exchanged.dissipated for one in step)
    assert taken == pytest.approx(wanted, rel=1e-7)


@pytest.mark.parametrize("method", [Bdf1(), Bdf2(), Midpoint(), Newmark()], ids=lambda m: m.name)
@drawn(20)
@given(**nets)
def test_other_implicit_methods_go_as_all_bodies_together(method, seed, shape, damping, law):
    apart, whole, state = pair(seed, shape=shape, damping=damping, law=law)
    try:
        ends = [march(method, system, state, [0.2 * STEP] * 3)[0][-1] for system in (apart, whole)]
    except NotConverged:
        return  # said by the solver of all bodies together, which has the last word
    assert np.abs(ends[0].v - ends[1].v).max() < 1e-6 * np.abs(ends[1].v).max()


def test_a_support_that_moves_leads_its_bodies():
    """Both ends of the way that held particles go count in the mean force."""
    rest = np.array([[k % 3, 0.0, 4.0 * (k // 3)] for k in range(12)], dtype=float)
    edges = np.array([(k, k + 1) for k in range(12) if k % 3 < 2])
    ends = []
    for kind in (System, Together):
        turn = Rotation([0, 3, 6, 9], axis=(0, 1, 0), rate=2.0)
        system, s = kind(1.0, [Springs(edges, 1e3)], rest=rest, supports=[turn]).bind(rest)
        states, _, _ = march(EnergyMomentum(), system, s, [0.01] * 10)
        ends.append(states[-1])
    assert np.abs(ends[0].x - rest[[1, 2, 4, 5, 7, 8, 10, 11]].ravel()).max() > 0.05
    assert np.abs(ends[0].x - ends[1].x).max() < 1e-9


# ------------------------------------------------------------------ the kernel


def kernel_arguments(system, state, mean):
    """All but what the kernel writes, caught on its way."""
    caught = []
    bodies = system.bodywise(state)
    bodies._kernels.body_newton = lambda *given: caught.extend(given)
    h = 0.2 * STEP
    alpha, beta = (0.5 * h * h, h) if mean else (h * h, h)
    p, q = state.x + h * state.v, state.v
    d = -h * state.v if mean else 0.0 * state.v
    bodies.solve(BodyProblem(state, h, h, p, q, (alpha, beta), d, mean, 1e-11, 30))
    return caught[:6], caught[6]


def solved(kernel, fixed, guess, bodies):
    d, X, V = guess.copy(), *np.empty((2, *guess.shape))
    report, counts = np.zeros((bodies, BODY_NUMBERS)), np.zeros((bodies, BODY_COUNTS), np.int64)
    kernel(*fixed, d, X, V, report, counts)
    return d, X, V, report, counts


@drawn(20)
@given(mean=st.booleans(), **nets)
def test_the_kernel_and_its_plain_twin_agree(mean, seed, shape, damping, law):
    system, state = little_nets(seed, copies=(2, 1, 3), shape=shape, damping=damping, law=law)
    fixed, guess = kernel_arguments(system, state, mean)
    bodies = system.pattern.bodies.sizes.size
    fast, plain = (solved(k.body_newton, fixed, guess, bodies) for k in (cpu, reference))
    good = (plain[4][:, BODY_FAILED] == 0) & (fast[4][:, BODY_FAILED] == 0)
    assert not fast[4][:, BODY_FAILED].any()
    rows = good[system.pattern.bodies.labels]
    for one, other in zip(fast[:3], plain[:3], strict=True):
        assert np.abs(one - other)[rows].max(initial=0.0) < 1e-5 * np.abs(other).max()
    assert np.allclose(fast[3][good, 1:], plain[3][good, 1:], rtol=1e-4, atol=1e-9)


def many(count):
    """Bodies of three particles that fly about, enough for a team of threads."""
    rng = np.random.default_rng(5)
    rest = np.repeat(3.0 * rng.standard_normal((count, 1, 3)), 3, axis=1)
    rest += rng.standard_normal(rest.shape)
    edges = (3 * np.arange(count)[:, None, None] + [[0, 1], [1, 2], [0, 2]]).reshape(-1, 2)
    parts = [Springs(edges, 500.0), Gravity(), Contact(Plane((0, 0, 0), (0, 0, 1)), 300.0)]
    rest = rest.reshape(-1, 3)
    return System(1.0, parts, rest=rest).bind(rest, rng.standard_normal(rest.shape))


def test_bits_do_not_depend_on_threads():
    system, state = many(600)
    assert system.bodywise(state)._layout.order.size >= 64  # the loop with threads
    before, ends = numba.get_num_threads(), []
    try:
        for threads in (1, before):
            numba.set_num_threads(threads)
            ends.append(march(EnergyMomentum(), system, state, [STEP] * 3)[0][-1])
    finally:
        numba.set_num_threads(before)
    assert np.array_equal(ends[0].x, ends[1].x)
    assert np.array_equal(ends[0].v, ends[1].v)


def test_a_body_goes_the_same_way_in_any_company():
    """Only the number of iterations is shared, and the answer is right to the last digits."""
    system, state = many(3 * LANES)
    alone, first = many(3 * LANES)
    v = state.v.copy()
    v[9:] *= 3.0  # all bodies but the first fly faster
    faster = state.moved(0.0, state.x, v)
    ends = [
        EnergyMomentum().step(s, at, STEP, None).state
        for s, at in ((system, faster), (alone, first))
    ]
    assert np.abs(ends[0].x[:9] - ends[1].x[:9]).max() < 1e-12


def test_every_particle_and_every_spring_has_one_place():
    system, state = little_nets(7, copies=(5, 11, 8))
    layout = system.bodywise(state)._layout
    _, bodies, member_at, members, *_ = layout.arrays
    used = np.repeat(bodies >= 0, np.diff(member_at), axis=0)
    assert np.array_equal(np.sort(members[used]), np.arange(system.numbering.free))
    assert np.array_equal(np.sort(bodies[bodies >= 0]), np.arange(24))
    springs = layout.of_springs([np.arange(len(system.assembly.parts[0][1].edges), dtype=float)])
    used = np.repeat(bodies >= 0, np.diff(layout.pull_at), axis=0)
    moves = (system.assembly.parts[0][1].edges < system.numbering.free).any(axis=1)
    assert np.array_equal(np.sort(springs[used]), np.flatnonzero(moves))


# ------------------------------------------------------------------ runs


@pytest.mark.parametrize("step", thinned([1e-3, 2.5e-4]))
def test_the_books_of_bristles_close_though_bodies_halve_their_steps(step):
    """Friction, a paperweight that moves, damping: all of it is accounted for."""
    scene = stiffly.scenes.load("brush", bristles=9, strokes=4.0)
    with pytest.warns(stiffly.errors.Advice):
        run = stiffly.simulate(scene, step=step, duration=0.125, every=0.005)
    assert run.stats["implicit_solver"] == "body by body"
    assert step < 1e-3 or run.stats["rejected_steps"] > 0
    exchanged = run.energy.added[-1] + run.energy.dissipated[-1]
    assert exchanged > 1e-5
    assert np.abs(run.energy.numerical).max() < 1e-9 * exchanged


def test_a_body_without_a_solution_is_named():
    """One iteration is not enough for bodies that are torn about, however short the step."""
    system, state = little_nets(3, shape="nothing")
    wild = state.moved(0.0, state.x, 1e6 * state.v)
    method = EnergyMomentum(solver=ShiftedNewton(max_iterations=1))
    with pytest.raises(NotConverged, match=r"no solution for the body of particle \d+"):
        method.step(system, wild, 10.0, method.start(system, wild))


def test_where_a_body_fails_all_are_solved_together():
    """Newton's method of bdf and midpoint has no halves to take; it has safeguards of its own."""
    system, state = little_nets(3)
    once = Midpoint(solver=Newton(max_iterations=1))
    with pytest.raises(NotConverged, match="Newton stopped at residual"):
        once.step(system, state, STEP, once.start(system, state))


# ------------------------------------------------------------------ today's way


def test_parts_without_a_formula_take_the_other_way():
    system, state = little_nets(1)
    known = system.given
    for part in (Field((0.0, 1.0, 0.0)), Dashpots([[0, 1]], 1.0)):
        parts = [*known.parts, part]
        other, s = System(known.mass, parts, rest=known.rest).bind(known.rest)
        assert other.bodywise(s) is None
    stiff = System(known.mass, known.parts, rest=known.rest, damping=Rayleigh(0.0, 1e-3))
    assert stiff.bind(known.rest)[0].bodywise(state) is None
    mixed = [*known.parts, Springs([[0, 1]], 10.0, law="cubic")]
    bound, s = System(known.mass, mixed, rest=known.rest).bind(known.rest)
    assert bound.bodywise(s) is None


def test_one_body_and_large_ones_take_the_other_way(monkeypatch):
    chain = np.array([(k, k + 1) for k in range(5)])
    rest = np.arange(18.0).reshape(6, 3)
    system, state = System(1.0, [Springs(chain, 1e2)], rest=rest).bind(rest)
    assert system.bodywise(state) is None
    apart, state = System(1.0, [Springs(chain[[0, 1, 3, 4]], 1e2)], rest=rest).bind(rest)
    assert apart.bodywise(state) is not None
    monkeypatch.setattr(bodywise, "LARGEST_ENVELOPE", 10)
    assert apart.bodywise(state) is None
    run = stiffly.simulate(apart, x0=rest, integrator="energy-momentum", step=0.1, duration=0.2)
    assert "implicit_solver" not in run.stats


def test_springs_that_yield_are_seen_as_they_are():
    """What is kept from step to step is made anew where rest lengths have changed."""
    chain = np.array([(0, 1), (1, 2), (3, 4), (4, 5)])
    rest = np.array([[k % 3, 0.0, 2.0 * (k // 3)] for k in range(6)], dtype=float)
    v = np.zeros((6, 3))
    v[[2, 5], 0] = 4.0
    ends = []
    for kind in (System, Together):
        springs = Springs(chain, 50.0, yield_strain=0.2)
        system = kind(1.0, [springs], rest=rest)
        run = stiffly.simulate(
            system, x0=rest, v0=v, integrator="energy-momentum", step=0.05, duration=1.0
        )
        assert run.energy.dissipated[-1] > 1.0
        assert np.abs(run.energy.numerical).max() < 1e-8
        ends.append(run.positions[-1])
    assert np.abs(ends[0] - ends[1]).max() < 1e-7
