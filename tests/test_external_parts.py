"""What a body touches or is tied to is not its own elasticity, and is noticed when it moves."""

import numpy as np
import pytest

from stiffly import Gravity, Rayleigh, Springs, System, simulate
from stiffly.bodies import Keyframes
from stiffly.collisions import Contact, Held, Plane, keyframes
from stiffly.meshes import cube
from stiffly.parts.attachments import Attachments

G = 9.81
FLOOR = Plane((0, 0, 0), (0, 0, 1))
MESH = cube(2, side=0.5)
REST = MESH.positions - MESH.positions.mean(axis=0)  # half of it is below the floor
SPRINGS = Springs(MESH.edges, 1e3)
EXTERNAL = {
    "contact": lambda: Contact(FLOOR, 1e4),
    "rough": lambda: Contact(FLOOR, 1e4, friction=0.5),
    "held": lambda: Held(FLOOR, 1e4),
    "hand": lambda: Attachments([], 1e4, live=True),
}


def body(*external, damping=None, **options):
    return System(0.1, [SPRINGS, Gravity(), *external], rest=REST, damping=damping, **options)


# ---------------------------------------------------------------------- Rayleigh damping


@pytest.mark.parametrize("method", ["verlet", "midpoint", "exprb42", "eti", "ceti", "vimex"])
@pytest.mark.parametrize("external", EXTERNAL.values(), ids=EXTERNAL)
def test_a_body_falls_freely_although_its_rest_shape_touches(external, method):
    """K0 and the linear part hold no contact: translation is neither braked nor filtered."""
    system = body(external(), damping=Rayleigh(0.0, 1e-3))
    x0 = REST + np.array([0, 0, 5.0])
    run = simulate(system, x0, integrator=method, step=1e-3, duration=0.2)
    np.testing.assert_allclose(
        run.velocities[-1], np.tile([0, 0, -0.2 * G], (len(x0), 1)), atol=1e-9
    )
    assert run.energy.dissipated[-1] < 1e-12


def test_damping_is_that_of_the_bodys_own_stiffness():
    external = [make() for make in EXTERNAL.values()]
    external += [Attachments([0], 1e4), Attachments([1], 1e4, [[0, 0, 0]])]
    damping = Rayleigh(0.3, 0.02)
    own, _ = body(damping=damping).bind(REST)
    tied, s = body(*external, damping=damping).bind(REST)
    D = own.linear_part().tangent.matrix(0.0, 0.0, 1.0).toarray()
    assert np.abs(D).max() > 1.0
    np.testing.assert_allclose(tied.viscosity.operator().K.toarray(), D, atol=1e-10)
    for tangent in (tied.tangent(s), tied.linear_part().tangent):
        np.testing.assert_allclose(tangent.matrix(0.0, 0.0, 1.0).toarray(), D, atol=1e-10)


def test_ties_alone_are_not_damped_by_beta():
    """A constant tangent, which is not K0 = 0: D = alpha M, and the work goes where it should."""
    parts = [Attachments([0], 100.0, [[0, 0, 0]])]
    system, s = System(np.full(1, 2.0), parts, damping=Rayleigh(0.4, 0.5)).bind([[1.0, 0, 0]])
    tangent = system.tangent(s)
    assert tangent.constant
    np.testing.assert_allclose(tangent.matrix(0.0, 0.0, 1.0).toarray(), 0.8 * np.eye(3))
    np.testing.assert_allclose(tangent.matrix(0.0, 1.0, 0.0).toarray(), 100.0 * np.eye(3))
    run = simulate(system, [[1.0, 0, 0]], integrator="exprb42", step=0.05, duration=1.0)
    w = np.sqrt(50.0 - 0.04)  # x'' = -50 x - 0.4 x'
    exact = np.exp(-0.2) * (np.cos(w) + 0.2 / w * np.sin(w))
    assert run.positions[-1, 0, 0] == pytest.approx(exact, abs=1e-7)


@pytest.mark.parametrize("method", ["verlet", "midpoint", "exprb42"])
def test_ties_where_it_starts_beside_a_damped_support(method):
    """Their points are unknown before the run begins; K0 does not ask for them."""
    lift = Keyframes([0], [0.0, 0.2], [[0, 0, 0], [0, 0, 0.05]])
    system = body(Attachments([5], 200.0), damping=Rayleigh(0.1, 1e-3), supports=[lift])
    run = simulate(system, REST, integrator=method, step=1e-3, duration=0.2)
    assert np.isfinite(run.positions).all() and run.energy.added[-1] > 0.0
    assert abs(run.energy.numerical).max() < 1e-3 * run.energy.exchanged


# ---------------------------------------------------------------------- the linear part


def test_the_linear_part_keeps_ties_and_leaves_contact_out():
    plain, _ = body().bind(REST)
    tied, _ = body(Attachments([0, 3], 70.0), *(m() for m in EXTERNAL.values())).bind(REST + 1.0)
    K = plain.linear_part().tangent.matrix(0.0, 1.0, 0.0).toarray()
    k = np.zeros((len(REST), 3))
    k[[0, 3]] = 70.0
    ours = tied.linear_part().tangent.matrix(0.0, 1.0, 0.0).toarray()
    np.testing.assert_allclose(ours, K + np.diag(k.ravel()), atol=1e-10)


@pytest.mark.parametrize("method", ["eti", "vimex"])
@pytest.mark.parametrize("points", [None, [[0.2, 0, 0]]])
def test_stiff_ties_are_in_the_linear_part(method, points):
    """h omega = 30: explicit treatment would explode; eti is exact, vimex stable."""
    rest = np.array([[0.2, 0, 0], [0.5, 0, 0]])
    system = System(1.0, [Springs([[0, 1]], 1.0), Attachments([0], 9e4, points)], rest=rest)
    v0 = np.array([[0.3, 0, 0], [0, 0, 0]])
    run = simulate(system, rest, v0, integrator=method, step=0.1, duration=5.0)
    assert abs(run.energy.numerical).max() < 0.05 * run.energy.kinetic[0]


# ---------------------------------------------------------------------- forces that change


METHODS = ["verlet", "newmark", "eti", "vimex", "midpoint", "exprb42", "energy-momentum"]


def between(left, right=(1.0, 0, 0)):
    """A particle at 0 and a hand on either side."""
    hand = Attachments([0], 10.0, [left], live=True)
    return hand, System(np.ones(1), [hand, Attachments([0], 10.0, [right], name="other")])


@pytest.mark.parametrize("method", METHODS)
def test_a_move_that_stores_nothing_is_felt_at_once(method):
    """From the left to the right: the energy is the same, the force is not, and no step is lost."""
    options = {"integrator": method, "step": 0.05, "every": 0.05}
    hand, system = between((-1.0, 0, 0))

    def order(report):
        if report.t < 0.07:
            hand.move([[1.0, 0, 0]])

    run = simulate(system, np.zeros((1, 3)), duration=0.25, progress=order, **options)
    # ordered after the first frame, carried out after the step that follows; before it where the
    # steps to a frame are taken in one call
    first = 1 if run.stats["loop"].startswith("compiled stretches") else 2
    assert not run.positions[: first + 1].any() and not run.energy.added.any()
    anew = simulate(between((1.0, 0, 0))[1], np.zeros((1, 3)), duration=0.15, **options)
    assert anew.positions[1, 0, 0] > 0.01
    count = len(anew.positions)
    seen = run.positions[first : first + count]
    np.testing.assert_allclose(seen, anew.positions, atol=1e-12)


def test_a_move_is_felt_by_the_next_step_of_bdf2():
    """It goes on with the step before it: from rest x = g^2 a(x), g = 2h/3, a(x) = 20 (1 - x)."""
    hand, system = between((-1.0, 0, 0))

    def order(report):
        if report.t < 0.07:
            hand.move([[1.0, 0, 0]])

    run = simulate(
        system, np.zeros((1, 3)), integrator="bdf2", step=0.05, duration=0.15, progress=order
    )
    pull = 20.0 * (2.0 * 0.05 / 3.0) ** 2
    assert run.positions[-1, 0, 0] == pytest.approx(pull / (1.0 + pull), rel=1e-9)


def changes(part, x0, times, v0=None):
    """`changed` of settles after steps of 0.1 s that end at these times."""
    system, s = System(np.ones(len(x0)), [part]).bind(x0, v0)
    found = []
    for t in times:
        settled = system.settle(s.moved(t, s.x, s.v), 0.1)
        s = settled.state
        found.append(settled.changed)
    return found


def test_moving_things_say_when_forces_are_others():
    up = keyframes([0.0, 1.0], [[0, 0, 0], [0, 0, 0.1]])  # a plate that rises for a second
    plate, times = Plane((0, 0, 0), (0, 0, 1), up), [0.1, 0.5, 2.0, 3.0]
    moves = [True, True, True, False]  # to where it comes to rest at last
    assert changes(Contact(plate, 1e3), [[0, 0, -0.1]], times) == moves
    assert changes(Contact(plate, 1e3), [[0, 0, 9.0]], times) == [False] * 4  # nothing touches
    assert changes(Contact(plate, 1e3), [[0, 0, 0.07]], times) == [False, False, True, False]
    assert changes(Held(plate, 1e3), [[0, 0, -0.1]], times) == moves
    assert changes(Attachments([0], 1e3, motion=up), [[0, 0, 0.0]], times) == moves
    assert changes(Contact(FLOOR, 1e3, friction=0.5), [[0, 0, -0.1]], times) == [False] * 4


def test_a_tie_that_begins_or_ends_is_a_change():
    held = Held(FLOOR, 1e3)
    system, s = System(np.ones(1), [held]).bind([[0, 0, 0.1]], [[0, 0, -1.0]])
    heights = [(0.05, -1.0), (-0.05, -1.0), (-0.1, -0.5), (-0.05, 0.0), (0.1, 1.0), (0.2, 1.0)]
    found = []
    for z, speed in heights:
        settled = system.settle(s.moved(0.1, np.array([0, 0, z]), np.array([0, 0, speed])), 0.1)
        s = settled.state
        found.append(settled.changed)
    assert found == [False, True, False, False, True, False]
