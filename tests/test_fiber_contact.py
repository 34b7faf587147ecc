"""Fibers that touch each other along their axes: what is kept, what is booked, what passes."""

import numpy as np
import pytest
import reference
from thinned import thinned

import stiffly
from stiffly import System, simulate
from stiffly.bodies import fibers
from stiffly.collisions import FiberImpulses, FiberRepulsion
from stiffly.errors import InputError
from stiffly.kernels import cpu
from stiffly.kernels.names import EDGE_EDGE

pytestmark = pytest.mark.filterwarnings("ignore::stiffly.errors.StiffWarning")

THICK = 1e-3
LINE = np.linspace([0.0, 0.0, 0.0], [0.1, 0.0, 0.0], 3)
SOFT = {"thickness": THICK, "young": 1e8, "torsional": 4e7, "density": 1000.0, "width": 4e-3}


def crossed(points=6, height=4e-3, aside=0.003):
    """Two straight fibers, one along x, the other above it along y."""
    s = np.linspace(-0.05, 0.05, points)
    one = np.stack([s + 0.004, 0 * s, 0 * s], axis=1)
    two = np.stack([0 * s + aside, s - 0.002, 0 * s + height], axis=1)
    return fibers([one, two], **SOFT)


def thrown(body, part, speed=1.0):
    """The upper fiber flies down onto the lower one, both free."""
    v = np.zeros_like(body.positions)
    v[len(v) // 2 :, 2] = -speed
    return System(body.mass, [body.part, part], rest=body.positions), body.positions, v


def gap(body, x):
    """The vector between the closest points of two chains, from the first to the second."""
    y = body.centrelines(np.asarray(x, dtype=np.float64))
    n = len(y) // 2
    stencil = np.array([(i, i + 1, n + j, n + j + 1) for i in range(n - 1) for j in range(n - 1)])
    w = np.empty((len(stencil), 4))
    reference.closest.edge_edge_weights(y, stencil, w)
    r = -np.einsum("kc,kca->ka", w, y[stencil])
    return r[np.argmin(np.linalg.norm(r, axis=1))]


def momenta(run, mass):
    p = np.einsum("i,fia->fa", mass, run.velocities)
    return p, np.cross(run.positions, mass[:, None] * run.velocities).sum(axis=1)


# ---------------------------------------------------------------------- the potential


def prepared(body, **options):
    part = FiberRepulsion(body, thickness=THICK, stiffness=300.0, **options)
    return System(body.mass, [part], rest=body.positions).bind(body.positions)[0].assembly.parts


def test_the_energy_is_that_of_the_distance_between_the_axes():
    body = crossed(points=2, height=0.4 * THICK)
    ((_, part),) = prepared(body)
    d = 0.4 * THICK
    np.testing.assert_allclose(part.energy(body.positions), 150.0 * (THICK - d) ** 4 / d**2)


def test_forces_and_tangents_are_derivatives_of_the_energy():
    body = crossed(points=3, height=0.5 * THICK)
    ((_, part),) = prepared(body)
    x = body.positions + 0.05 * THICK * np.random.default_rng(0).normal(size=body.positions.shape)
    g, H, h = np.zeros_like(x), np.zeros((x.size, x.size)), 1e-9
    part.add_gradient(x, g)
    rows, columns, blocks = part.triplets(x)
    for i, j, block in zip(rows, columns, blocks, strict=True):
        H[3 * i : 3 * i + 3, 3 * j : 3 * j + 3] += block
    for k in range(x.size):
        up, down = x.copy(), x.copy()
        up.ravel()[k] += h
        down.ravel()[k] -= h
        slope = (part.energy(up) - part.energy(down)) / (2 * h)
        assert abs(slope - g.ravel()[k]) < 1e-5 * np.abs(g).max()
        a, b = np.zeros_like(x), np.zeros_like(x)
        part.add_gradient(up, a)
        part.add_gradient(down, b)
        column = (a - b).ravel() / (2 * h)
        np.testing.assert_allclose(H[:, k], column, atol=1e-4 * np.abs(H).max())
    b, product = np.random.default_rng(1).normal(size=x.shape), np.zeros_like(x)
    part.add_product(x, b, product)
    np.testing.assert_allclose(product.ravel(), H @ b.ravel(), atol=1e-9 * np.abs(H).max())


@pytest.mark.parametrize("friction", thinned([0.0, 0.5]))
def test_crossing_fibers_bounce_and_every_joule_is_found(friction):
    body = crossed()
    part = FiberRepulsion(body, thickness=THICK, stiffness=1e3, friction=friction)
    run = simulate(*thrown(body, part), integrator="energy-momentum", step=2e-4, duration=0.012)
    assert run.diagnostics["contacts"].max() >= 1
    assert all(gap(body, x)[2] > 0.0 for x in run.positions)
    p, spin = momenta(run, body.mass)
    np.testing.assert_allclose(p, p[:1] + 0 * p, atol=1e-12 * np.abs(p).max())
    if friction == 0.0:  # which acts at points that are a distance apart, and turns them a little
        np.testing.assert_allclose(spin, spin[:1] + 0 * spin, atol=1e-8 * np.abs(spin).max())
    assert np.abs(run.energy.numerical).max() < 1e-9 * run.energy.exchanged
    assert np.all(run.energy.added == 0.0)
    assert (run.energy.dissipated[-1] > 0.0) == (friction > 0.0)


def test_without_contact_they_pass():
    """What the tests around this one would show if there were none."""
    body = crossed()
    _, x, v = thrown(body, FiberImpulses(body, thickness=THICK))
    free = System(body.mass, [body.part], rest=x)
    run = simulate(free, x, v, integrator="energy-momentum", step=2e-4, duration=0.012)
    assert gap(body, run.positions[0])[2] > 0.0 > gap(body, run.positions[-1])[2]


# ---------------------------------------------------------------------- impulses


def random_pairs(seed, count=40):
    rng = np.random.default_rng(seed)
    x = 0.35 * rng.normal(size=(count, 3))
    stencil = np.array([rng.choice(count, 4, replace=False) for _ in range(30)], dtype=np.uint32)
    light = rng.uniform(0.5, 2.0, count) * (rng.random(count) > 0.2)
    return rng, x, stencil, light


def test_impulses_are_those_of_the_plain_version():
    rng, x, stencil, light = random_pairs(0)
    kinds, reach = np.full(len(stencil), EDGE_EDGE), np.full(len(stencil), 0.3)
    move = 0.5 * rng.normal(size=x.shape)
    found, wanted = (move.copy(), np.ones(30)), (move.copy(), np.ones(30))
    for room, (own, shares) in ((cpu, found), (reference, wanted)):
        room.stop_crossings(x, own, light, kinds, stencil, reach, 0.3, shares)
    assert 3 < np.sum(found[1] < 1.0) < 30
    np.testing.assert_allclose(found[0], wanted[0], atol=1e-6)
    np.testing.assert_allclose(found[1], wanted[1], atol=1e-6)
    weights, normals = rng.normal(size=(30, 4)), rng.normal(size=(30, 3))
    weights -= weights.mean(axis=1, keepdims=True)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    own, plain = move.copy(), move.copy()
    for room, v in ((cpu, own), (reference, plain)):
        room.pair_impulses(v, light, stencil, weights, normals, np.full(30, 0.1))
    np.testing.assert_allclose(own, plain, atol=1e-12)
    assert not np.array_equal(own, move) and np.array_equal(own[light == 0], move[light == 0])


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_two_rods_collide_as_two_masses_do(restitution):
    """They meet in the middle of both, moving by several thicknesses a step: the fall's momentum is
    shared, and of the energy of the approach, half of all there is, restitution^2 is left."""
    s = np.array([-0.05, 0.05])
    one = np.stack([s, 0 * s, 0 * s], axis=1)
    two = np.stack([0 * s, s, 0 * s + 5e-3], axis=1)
    body = fibers([one, two], **SOFT)
    part = FiberImpulses(body, thickness=THICK, restitution=restitution)
    system, x, v = thrown(body, part, speed=1.0)
    run = simulate(system, x, v, integrator="energy-momentum", step=3e-3, duration=9e-3)
    mean = run.velocities[-1].reshape(2, 8, 3).mean(axis=1)[:, 2]
    e = restitution
    np.testing.assert_allclose(mean, [-0.5 * (1 + e), -0.5 * (1 - e)], atol=0.02)
    lost = run.energy.dissipated[-1] / run.energy.kinetic[0]
    np.testing.assert_allclose(lost, 0.5 * (1 - e * e), atol=0.02)
    assert gap(body, run.positions[-1])[2] > 0.0
    p, _ = momenta(run, body.mass)
    np.testing.assert_allclose(p, p[:1] + 0 * p, atol=1e-12 * np.abs(p).max())


@pytest.mark.parametrize("step", thinned([2e-4, 5e-5]))
def test_soft_fibers_meet_and_do_not_pass(step):
    body = crossed()
    part = FiberImpulses(body, thickness=THICK)
    run = simulate(*thrown(body, part), integrator="energy-momentum", step=step, duration=0.012)
    assert run.stats["implicit_solver"] == "body by body"
    assert all(gap(body, x)[2] > 0.0 for x in run.positions)
    energy = run.energy
    assert energy.dissipated[-1] > 0.05 * energy.kinetic[0] and np.all(energy.added == 0.0)
    assert np.all(np.diff(energy.dissipated) >= 0.0)
    # all that is left over is what the recovery of overlaps gave, and that is little
    np.testing.assert_allclose(energy.numerical, energy.invented, atol=1e-9 * energy.exchanged)
    assert energy.invented[-1] < 0.05 * energy.kinetic[0]
    p, _ = momenta(run, body.mass)
    np.testing.assert_allclose(p, p[:1] + 0 * p, atol=1e-12 * np.abs(p).max())


def test_loops_say_why_they_go_step_by_step():
    body = crossed()
    for part in (
        FiberImpulses(body, thickness=THICK),
        FiberRepulsion(body, thickness=THICK, stiffness=1.0),
    ):
        run = simulate(*thrown(body, part), integrator="verlet", step=1e-5, duration=3e-5)
        assert "has no compiled loop" in run.stats["loop"]


# ---------------------------------------------------------------------- scenes, bad input


@pytest.mark.parametrize("kind", ["springs", "impulses"])
def test_scenes_have_it(kind):
    brush = stiffly.scenes.load("brush", bristles=4, fiber_contact=kind)
    hair = stiffly.scenes.load("hair", fibers=4, fiber_contact=kind)
    for scene in (brush, hair):
        h = scene.step
        run = simulate(scene, integrator="energy-momentum", step=h, duration=2 * h, every=h)
        assert run.stats.get("implicit_solver") == ("body by body" if kind == "impulses" else None)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: stiffly.scenes.load("brush", bristles=2, fiber_contact="glue"), "springs"),
        (lambda: stiffly.scenes.load("hair", fibers=2, fiber_contact="spring"), "did you mean"),
        (lambda: FiberImpulses(crossed(), thickness=THICK, restitution=2.0), "0 to 1"),
        (lambda: FiberRepulsion(3, thickness=THICK, stiffness=1.0), "fibers"),
        (lambda: prepared(fibers([LINE, LINE], **SOFT)), "points of centrelines"),
    ],
)
def test_what_is_refused(make, words):
    with pytest.raises(InputError, match=words):
        make()


def test_a_square_that_is_held_by_one_corner_is_refused():
    body = crossed()
    part = FiberImpulses(body, thickness=THICK)
    with pytest.raises(InputError, match="point 0 of the fibers"):
        System(body.mass, [body.part, part], rest=body.positions, fixed=[1])
