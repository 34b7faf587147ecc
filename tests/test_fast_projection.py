"""Fast projection: rods keep their lengths, momentum stays, a pendulum swings at first order."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import systems
from runs_to_record import through_json
from scipy.special import ellipj, ellipk

import stiffly
from stiffly.bodies import Gravity, Keyframes, SecondOrder, Springs, System, cloth_springs
from stiffly.contracts import State
from stiffly.errors import InputError, NotConverged
from stiffly.integrators import FastProjection, integrator

G = 9.81


def chain(links, stiffness=1e6, fixed=(), gravity=True, **options):
    """1 m and 1 kg, bent in a quarter of a circle, so that no two rods are parallel."""
    angle = np.linspace(0.0, np.pi / 2, links + 1)
    rest = np.stack([np.sin(angle), np.zeros(links + 1), np.cos(angle)], axis=1) / (np.pi / 2)
    edges = np.stack([np.arange(links), np.arange(1, links + 1)], axis=1)
    parts = [Springs(edges, stiffness, **options)] + [Gravity((0.0, 0.0, -G))] * gravity
    return System(np.linspace(1.0, 2.0, links + 1), parts, fixed=fixed, rest=rest), rest


def bound_chain(links):
    system, x0 = chain(links, fixed=[0])
    return system.bind(x0)


def largest_strain(system, positions):
    """Of Springs with the rest lengths of the rest shape."""
    i, j = system.given.parts[0].edges.T
    lengths = np.linalg.norm(positions[:, j] - positions[:, i], axis=-1)
    return np.abs(lengths / np.linalg.norm(system.rest[j] - system.rest[i], axis=-1) - 1.0).max()


# ------------------------------------------------------------------ what it promises


@pytest.mark.parametrize("strain", [1e-2, 1e-5, 1e-10])
@pytest.mark.parametrize("h", [0.02, 0.002])
def test_no_rod_is_strained_by_more_than_permitted(strain, h):
    system, x0 = chain(12, fixed=[0])
    method = FastProjection(strain=strain)
    run = stiffly.simulate(system, x0, integrator=method, step=h, duration=0.4, every=h)
    assert largest_strain(system, run.positions) <= strain * (1.0 + 1e-6)
    assert run.diagnostics["strain"].max() <= strain
    assert np.abs(run.positions[-1] - x0).max() > 0.1  # it fell


def test_the_price_does_not_depend_on_the_stiffness():
    counts = []
    for stiffness in (1e2, 1e10):
        system, x0 = chain(12, stiffness, fixed=[0])
        run = stiffly.simulate(system, x0, integrator="fast-projection", step=0.01, duration=0.2)
        counts.append((run.stats["newton_iterations"], run.positions[-1]))
    assert counts[0][0] == counts[1][0] > 0
    assert np.array_equal(counts[0][1], counts[1][1])  # rods have no force at all


def test_momentum_of_a_free_chain_is_kept():
    system, x0 = chain(8, gravity=False)
    v0 = np.random.default_rng(1).standard_normal(x0.shape)
    bound, state = system.bind(x0, v0)
    states, _, _ = systems.march(FastProjection(), bound, state, [0.01] * 100)
    momenta = np.array([bound.mass.apply(s.v).reshape(-1, 3).sum(axis=0) for s in states])
    assert np.abs(momenta - momenta[0]).max() < 1e-12 * np.abs(momenta[0]).max()
    mass = np.linspace(1.0, 2.0, 9)
    centre = mass @ states[-1].x.reshape(-1, 3) / mass.sum()
    assert centre == pytest.approx(mass @ (x0 + v0 * states[-1].t) / mass.sum(), abs=1e-12)


# ------------------------------------------------------------------ against known answers


def pendulum(angle):
    """One rod of 1 m, released at rest."""
    x0 = np.array([[0.0, 0.0, 0.0], [np.sin(angle), 0.0, -np.cos(angle)]])
    parts = [Springs([(0, 1)], 1e3), Gravity((0.0, 0.0, -G))]
    return System([1.0, 0.7], parts, fixed=[0], rest=x0).bind(x0)


def test_a_pendulum_has_its_analytic_period_at_first_order():
    angle, errors, counts = 1.2, [], (200, 400, 800)
    quarter = ellipk(np.sin(angle / 2) ** 2) / np.sqrt(G)  # when it hangs straight down
    for n in counts:
        h = 1.2 * quarter / n
        states, _, _ = systems.march(FastProjection(strain=1e-10), *pendulum(angle), [h] * n)
        x, t = np.array([s.x[0] for s in states]), np.array([s.t for s in states])
        after = int(np.argmax(x < 0.0))
        crossing = np.interp(0.0, x[[after, after - 1]], t[[after, after - 1]])
        errors.append(abs(crossing - quarter))
    assert -np.polyfit(np.log(counts), np.log(errors), 1)[0] == pytest.approx(1.0, abs=0.2)
    assert errors[-1] < 2e-3 * quarter


def test_declared_order():
    """Positions and velocities at ten times, against the elliptic functions."""
    angle, omega, counts = 1.2, np.sqrt(G), (200, 400, 800)
    m = np.sin(angle / 2) ** 2
    errors = np.zeros((2, len(counts)))
    for i, n in enumerate(counts):
        states, _, _ = systems.march(FastProjection(strain=1e-10), *pendulum(angle), [1 / n] * n)
        for s in states[n // 10 :: n // 10]:
            sn, cn, _, _ = ellipj(ellipk(m) - omega * s.t, m)
            theta = 2.0 * np.arcsin(np.sin(angle / 2) * sn)
            speed = -2.0 * omega * np.sin(angle / 2) * cn
            x = np.array([np.sin(theta), 0.0, -np.cos(theta)])
            v = speed * np.array([np.cos(theta), 0.0, np.sin(theta)])
            errors[0, i] = max(errors[0, i], np.abs(s.x - x).max())
            errors[1, i] = max(errors[1, i], np.abs(s.v - v).max())
    slopes = [-np.polyfit(np.log(counts), np.log(e), 1)[0] for e in errors]
    assert slopes == pytest.approx([integrator("fast-projection").order] * 2, abs=0.2)


def test_a_spinning_rod_loses_energy_as_the_formula_says():
    """One rod about a held end: its end goes from x to 2x - x-, then straight back to the circle.

    So a step's angle obeys tan(b+) = sin b/(2 - cos b), b - b^3 + ..., and the rate w' = -h w^3:
    kinetic energy falls as 1/(1 + 2 w^2 h t).
    """
    h, omega, n = 1e-3, 5.0, 400
    x0 = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    system = System([1.0, 2.0], [Springs([(0, 1)], 1e3)], fixed=[0], rest=x0)
    run = stiffly.simulate(
        system,
        x0,
        np.array([[0.0, 0.0, 0.0], [0.0, omega, 0.0]]),
        integrator=FastProjection(strain=1e-13),
        step=h,
        duration=n * h,
        every=h,
    )
    steps = [np.arctan(h * omega)]
    for _ in range(n - 1):
        steps.append(np.arctan2(np.sin(steps[-1]), 2.0 - np.cos(steps[-1])))
    turned = np.unwrap(np.arctan2(run.positions[:, 1, 1], run.positions[:, 1, 0]))
    assert np.diff(turned) == pytest.approx(np.array(steps), rel=1e-8)
    lost = 1.0 - 1.0 / (1.0 + 2.0 * omega**2 * h * run.times[-1])
    assert -run.energy.numerical[-1] == pytest.approx(lost * omega**2, rel=0.05)


def test_strain_at_the_start_is_mended_without_becoming_motion():
    """1 mm over a step of 0.1 ms would be 10 m/s."""
    x0 = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, -1.001]])
    system = System([1.0, 0.7], [Springs([(0, 1)], 1e3, rest=1.0)], fixed=[0])
    bound, state = system.bind(x0, np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]]))
    _, *states = systems.march(FastProjection(), bound, state, [1e-4] * 10)[0]
    for s in states:
        assert np.linalg.norm(s.x) == pytest.approx(1.0, abs=1e-6)
        assert np.linalg.norm(s.v) == pytest.approx(2.0, abs=1e-2)


def test_short_steps_approach_the_motion_of_stiff_springs():
    rods, x0 = chain(12, fixed=[0])
    springs, _ = chain(12, 1e8, fixed=[0])  # 1e-6 of strain
    stiff = stiffly.simulate(springs, x0, integrator="energy-momentum", step=1e-3, duration=0.5)
    gaps = []
    for h in (2e-3, 1e-3, 5e-4):
        run = stiffly.simulate(rods, x0, integrator="fast-projection", step=h, duration=0.5)
        gaps.append(np.abs(run.positions[-1] - stiff.positions[-1]).max())
    assert gaps[2] < 0.65 * gaps[1] < 0.65**2 * gaps[0]


# ------------------------------------------------------------------ the linear algebra


def branched():
    """A tree of rods, one particle held, one rod between two held ones, unequal masses."""
    edges = np.array([(0, 1), (1, 2), (1, 3), (4, 1), (3, 5), (5, 6), (6, 0)])
    rest = np.random.default_rng(2).standard_normal((7, 3))
    system = System(np.arange(1.0, 8.0), [Springs(edges, 1.0)], fixed=[0, 6], rest=rest)
    return system, edges[:-1], rest


def dense_correction(system, edges, rest, y):
    """The same by a dense Jacobian over all coordinates, and numpy's solver."""
    J = np.zeros((len(edges), 7, 3))
    C = np.zeros(len(edges))
    for row, (i, j) in enumerate(edges):
        length = np.linalg.norm(rest[j] - rest[i])
        d = y[j] - y[i]
        C[row] = d @ d / length - length
        J[row, i], J[row, j] = -2 * d / length, 2 * d / length
    J = J.reshape(len(edges), -1)
    inverse = np.repeat(np.where(np.isin(np.arange(7), system.fixed), 0.0, 1 / np.arange(1, 8)), 3)
    gram = J @ (inverse[:, None] * J.T)
    return gram, (-inverse * (J.T @ np.linalg.solve(gram, C))).reshape(-1, 3)


def test_a_projection_equals_the_dense_formula():
    system, edges, rest = branched()
    bound, state = system.bind(rest)
    projector = FastProjection().start(bound, state).rods
    y = rest + 0.1 * np.random.default_rng(3).standard_normal(rest.shape)
    gram, correction = dense_correction(system, edges, rest, y)
    order = system.numbering.order
    d = projector.spans(y[order])
    assert projector.gram(d).toarray() == pytest.approx(gram, rel=1e-12)
    assert projector.correction(d) == pytest.approx(correction[order], rel=1e-9, abs=1e-12)


def test_one_step_is_the_predictor_and_dense_projections():
    system, edges, rest = branched()
    v0 = np.random.default_rng(4).standard_normal(rest.shape)
    v0[system.fixed] = 0.0
    bound, state = system.bind(rest, v0)
    method, h = FastProjection(strain=1e-9), 0.02
    taken = method.step(bound, state, h, method.start(bound, state))
    y = rest + h * v0  # no other force acts
    for _ in range(taken.work.newton_iterations):
        y = y + dense_correction(system, edges, rest, y)[1]
    assert bound.positions(taken.state) == pytest.approx(y, abs=1e-12)
    assert taken.state.v == pytest.approx((taken.state.x - state.x) / h)
    assert taken.work.factorizations == taken.work.newton_iterations > 1


# ------------------------------------------------------------------ which springs, which bodies


def test_only_the_named_springs_are_rods():
    """The other springs pull: a particle on a soft spring, beside one on a rod."""
    rest = np.array([[0.0, 0, 0], [1.0, 0, 0], [2.0, 0, 0]])
    parts = [
        Springs([(0, 1)], 50.0, name="rod"),
        Springs([(1, 2)], 50.0),
        Gravity((9.81, 0.0, 0.0)),
    ]
    system = System(np.ones(3), parts, fixed=[0], rest=rest)
    options = {"step": 1e-3, "duration": np.pi / np.sqrt(50.0)}  # half a period of the soft one
    run = stiffly.simulate(system, rest, integrator=FastProjection(parts=("rod",)), **options)
    assert run.positions[-1, 1] == pytest.approx([1.0, 0.0, 0.0], abs=1e-9)
    assert run.positions[-1, 2, 0] == pytest.approx(2.0 + 2 * 9.81 / 50.0, rel=1e-2)
    both = stiffly.simulate(system, rest, integrator="fast-projection", **options)
    assert both.positions[-1, 2, 0] == pytest.approx(2.0, abs=2e-3)


def test_rods_follow_springs_that_yield():
    """Of two rods in a row, strained past the yield strain, lengths are those of the springs."""
    system, x0 = chain(4, fixed=[0], yield_strain=1e-6)
    bound, state = system.bind(x0)
    method = FastProjection(strain=1e-2)
    memory = method.start(bound, state)
    for _ in range(5):
        taken = method.step(bound, state, 0.02, memory)
        settled = bound.settle(taken.state, 0.02)
        state, memory = settled.state, method.start(bound, settled.state)
    springs = bound.at(state).parts[0][1]
    original = system.assembly.parts[0][1]
    assert np.abs(springs.rest / original.rest - 1.0).max() > 1e-6
    d = memory.rods.spans(bound.row_positions(state))
    expected = np.abs(np.linalg.norm(d, axis=1) / springs.rest - 1.0).max()
    assert memory.rods.strain(d) == pytest.approx(expected)


def test_memory_survives_a_checkpoint():
    bound, state = bound_chain(6)
    method = FastProjection()
    memory = method.start(bound, state)
    other, _ = bound_chain(6)
    again = through_json(memory, method.start(other, state))
    first = method.step(bound, state, 0.01, memory).state
    second = method.step(other, state, 0.01, again).state
    assert np.array_equal(first.x, second.x) and np.array_equal(first.v, second.v)


# ------------------------------------------------------------------ refusals, failures


def cloth():
    from stiffly.meshes import cloth as mesh

    found = mesh(4, 4)
    parts = cloth_springs(found, structural=1e4, shear=1e3)
    return System(0.1, parts, fixed=[0], rest=found.positions), found.positions


def with_parts(parts, **options):
    rest = np.array([[0.0, 0, 0], [1.0, 0, 0]])
    return System(options.pop("mass", np.ones(2)), parts, rest=rest, **options), rest


ROD = [Springs([(0, 1)], 1.0)]
LED = Keyframes([0], times=[0.0, 1.0], offsets=[[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
CONSISTENT = sp.csc_matrix([[2.0, 1.0], [1.0, 2.0]])


@pytest.mark.parametrize(
    ("make", "cause"),
    [
        (lambda: (SecondOrder(stiffness=np.eye(2)), np.zeros(2)), "this system has none"),
        (lambda: with_parts([Gravity()]), "no springs at all"),
        (lambda: with_parts([Springs([(0, 1)], 1.0, rest=0.0)]), "rest length zero"),
        (lambda: with_parts(ROD, supports=[LED]), "supports that move"),
        (lambda: with_parts(ROD, mass=CONSISTENT), "lumped mass"),
        (cloth, "depend on each other"),
    ],
)
def test_bodies_without_independent_rods_are_refused(make, cause):
    system, x0 = make()
    with pytest.raises(InputError, match=cause) as caught:
        stiffly.simulate(system, x0, integrator="fast-projection", step=0.01, duration=0.1)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "cause"),
    [({"strain": 0.0}, "strain"), ({"strain": "1e-3"}, "strain"), ({"most": 0}, "most")],
)
def test_settings_that_make_no_sense_are_refused(options, cause):
    with pytest.raises(InputError, match=cause):
        FastProjection(**options)


def test_a_part_that_is_not_there_is_named():
    system, x0 = chain(3)
    with pytest.raises(InputError, match="no springs named warp"):
        FastProjection(parts=("warp",)).start(*system.bind(x0))


@pytest.mark.parametrize("speed", [1e3, np.inf])
def test_a_predictor_that_strays_too_far_is_a_failure_by_name(speed):
    bound, state = bound_chain(12)
    v = np.random.default_rng(0).standard_normal(state.v.size) * 1e3
    v[0] = speed
    method = FastProjection(strain=1e-9, most=3)
    with (
        np.errstate(invalid="ignore"),
        pytest.raises(NotConverged, match="smaller step") as caught,
    ):
        method.step(bound, State(0.0, state.x, v), 0.1, method.start(bound, state))
    assert "\n" not in str(caught.value)
