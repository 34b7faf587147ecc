"""Bodies that touch each other and themselves: runs that add up, and nothing that passes."""

import numpy as np
import pytest
import reference
from test_barrier import bound, crumpled, joined, sheet
from thinned import thinned

from stiffly import meshes, simulate
from stiffly.bodies import Gravity, Keyframes, MomentumDamping, Springs, System
from stiffly.collisions import Repulsion
from stiffly.errors import InputError

# ---------------------------------------------------------------------- runs


def falling(h=2e-3, friction=0.0, stiffness=200.0):
    """A small cloth falls on a larger one that is held at its corners."""
    big, small = meshes.cloth(9, 9, spacing=0.02), meshes.cloth(6, 6, spacing=0.02)
    low = big.positions - big.positions.mean(axis=0)
    high = small.positions - small.positions.mean(axis=0) + [0.007, 0.004, 0.02]
    x, faces = joined((low, big.triangles), (high, small.triangles))
    edges = np.concatenate([big.edges, small.edges + len(low)])
    touch = Repulsion(faces, thickness=0.005, stiffness=stiffness, friction=friction)
    corners = big.vertex_sets["corners"]
    system = System(2e-4, [Springs(edges, 100.0), Gravity(), touch], fixed=corners, rest=x)
    return system, x, len(low), low, big.triangles


def heights_above(low, faces, points):
    """Height of points over a sheet that is a graph over the plane; nan beside it."""
    out = np.full(len(points), np.nan)
    for t in faces:
        a, b, c = low[t]
        M = np.stack([b - a, c - a], axis=1)[:2]
        uv = np.linalg.solve(M, (points - a)[:, :2].T).T
        inside = (uv >= 0).all(axis=1) & (uv.sum(axis=1) <= 1)
        plane = a[2] + uv @ np.array([b[2] - a[2], c[2] - a[2]])
        out[inside] = points[inside, 2] - plane[inside]
    return out


@pytest.mark.parametrize("friction", thinned([0.5, 0.0]))
def test_cloth_on_cloth_does_not_pass_and_every_joule_is_found(friction):
    system, x, count, _, faces = falling(friction=friction)
    run = simulate(system, x, integrator="energy-momentum", step=2e-3, duration=0.3)
    assert run.diagnostics["contacts"].max() > 50
    assert run.diagnostics["penetration"].max() == 0.0
    for now in run.positions[::5]:
        over = heights_above(now[:count], faces, now[count:])
        assert np.isfinite(over).sum() > 20 and np.nanmin(over) > 0.0
    assert np.abs(run.energy.numerical).max() < 1e-9 * run.energy.exchanged
    assert np.all(run.energy.added == 0.0) and np.all(run.energy.invented == 0.0)
    assert np.all(np.diff(run.energy.dissipated) >= 0.0)
    assert (run.energy.dissipated[-1] > 0.0) == (friction > 0.0)


def test_every_kind_of_integrator_takes_the_contact():
    """Small steps: verlet, implicit midpoint and an exponential method agree with each other."""
    ends = []
    for name in ("verlet", "midpoint", "exprb42"):
        system, x, *_ = falling(stiffness=20.0)
        run = simulate(system, x, integrator=name, step=2.5e-4, duration=0.08)
        assert run.energy.contact.max() > 0.0
        assert np.abs(run.energy.numerical).max() < 0.01 * run.energy.exchanged
        ends.append(run.positions[-1])
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-4)
    np.testing.assert_allclose(ends[2], ends[0], atol=1e-4)


@pytest.mark.parametrize(("name", "ways"), [("energy-momentum", 6.0), ("verlet", 0.1)])
def test_what_is_shot_at_a_sheet_does_not_pass(name, ways):
    """A vertex that moves by `ways` thicknesses in a step: implicit methods see walls in time."""
    plate, faces = sheet(5, spacing=0.02)
    h, m, thick = 1e-3, 1e-3, 0.005
    speed = ways * thick / h
    touch = Repulsion(faces, [[25, 26]], thickness=thick, stiffness=4 * m * speed**2 / thick**2)
    rng = np.random.default_rng(0)
    for _ in range(5):
        target = np.append(rng.uniform(-0.025, 0.025, 2), 0.0)
        way = np.append(rng.uniform(-0.5, 0.5, 2), -1.0)
        way /= np.linalg.norm(way)
        start = target - rng.uniform(3.0, 4.0) * max(ways, 1.0) * thick * way
        x = np.concatenate([plate, [start, start + np.array([0, 0, 50.0])]])
        v = np.zeros_like(x)
        v[25:] = speed * way
        system = System(m, [touch], fixed=range(25), rest=x)
        run = simulate(
            system, x, v, integrator=name, step=h, duration=10 * h * max(1.0, 1.0 / ways)
        )
        assert run.positions[:, 25, 2].min() > 0.0
        assert run.velocities[-1, 25, 2] > 0.0


@pytest.mark.parametrize("ways", [1.5, 4.0])
def test_the_first_step_looks_ahead(ways):
    """Two thicknesses away, through the sheet within the very first step, all of it flying."""
    plate, faces = sheet(5, spacing=0.02)
    h, m, thick = 1e-3, 1e-3, 0.005
    speed = ways * thick / h
    touch = Repulsion(faces, [[25, 26]], thickness=thick, stiffness=4 * m * speed**2 / thick**2)
    x = np.concatenate([plate, [[0.003, 0.002, 1.3 * thick], [0.003, 0.002, 50.0]]])
    v = np.zeros_like(x)
    v[25:, 2] = -speed
    system = System(m, [touch], fixed=range(25), rest=x)
    run = simulate(system, x, v, integrator="energy-momentum", step=h, duration=10 * h)
    assert run.positions[:, 25, 2].min() > 0.0 and run.velocities[-1, 25, 2] > 0.0


def test_two_rods_bounce_like_billiard_balls():
    """Two crossed edges of equal mass exchange their velocities."""
    x = np.array([[-0.1, 0, 0], [0.1, 0, 0], [0, -0.1, 0.02], [0, 0.1, 0.02]])
    v = np.array([[0.0, 0, 0.5]] * 2 + [[0.0, 0, -0.1]] * 2)
    touch = Repulsion(edges=[[0, 1], [2, 3]], thickness=0.006, stiffness=500.0)
    system = System(1e-3, [Springs([[0, 1], [2, 3]], 100.0), touch], rest=x)
    run = simulate(system, x, v, integrator="energy-momentum", step=1e-3, duration=0.06)
    np.testing.assert_allclose(
        run.velocities[-1], [[0, 0, -0.1]] * 2 + [[0, 0, 0.5]] * 2, atol=1e-9
    )
    assert run.energy.contact.max() > 1e-5 and run.energy.contact[-1] == 0.0


def distance_of(one, two):
    """Smallest distance of two chains of segments, over all pairs of them."""
    stencil = np.array([(i, i + 1, 9 + j, 10 + j) for i in range(8) for j in range(8)])
    x, w = np.concatenate([one, two]), np.empty((64, 4))
    reference.closest.edge_edge_weights(x, stencil, w)
    return np.linalg.norm(np.einsum("kc,kca->ka", w, x[stencil]), axis=1).min()


def test_two_ropes_catch_each_other_and_do_not_cross():
    """Limp ropes that fly crosswise wrap around each other: their distance never gets small."""
    s = np.linspace(-0.1, 0.1, 9)
    one = np.stack([s, 0 * s, 0 * s], axis=1)
    two = np.stack([0.003 + 0 * s, s + 0.004, 0 * s + 0.02], axis=1)
    x = np.concatenate([one, two])
    edges = np.concatenate([np.stack([np.arange(8), np.arange(1, 9)], axis=1) + k for k in (0, 9)])
    v = np.zeros_like(x)
    v[:9, 2], v[9:, 2] = 0.5, -0.5
    touch = Repulsion(edges=edges, thickness=0.006, stiffness=1000.0)
    system = System(1e-3, [Springs(edges, 200.0), touch], rest=x)
    run = simulate(system, x, v, integrator="energy-momentum", step=1e-3, duration=0.1)
    apart = [distance_of(now[:9], now[9:]) for now in run.positions]
    assert len(apart) == 101 and 0.001 < min(apart) < 0.006  # a step moves them by 1 mm
    assert run.diagnostics["penetration"].max() == 0.0
    momentum = run.velocities.sum(axis=1)
    np.testing.assert_allclose(momentum, 0.0, atol=1e-10)
    assert np.abs(run.energy.numerical).max() < 1e-9 * run.energy.kinetic.max()


def test_a_fiber_rests_on_a_mesh_that_is_lifted():
    """Obstacles are particles that are led; the fiber rides up with them."""
    plate, faces = sheet(4, spacing=0.05)
    s = np.linspace(-0.06, 0.06, 7)
    rod = np.stack([s, 0.01 + 0.3 * s, 0 * s + 0.006], axis=1)
    x = np.concatenate([plate, rod])
    edges = 16 + np.stack([np.arange(6), np.arange(1, 7)], axis=1)
    touch = Repulsion(faces, edges, thickness=0.006, stiffness=200.0, friction=0.2)
    lift = Keyframes(range(16), [0.0, 0.2], [[0, 0, 0], [0, 0, 0.05]])
    parts = [Springs(edges, 100.0), Gravity(), touch]
    system = System(1e-3, parts, rest=x, supports=[lift])
    run = simulate(system, x, integrator="energy-momentum", step=1e-3, duration=0.2)
    assert run.positions[-1][:16, 2].min() == pytest.approx(0.05)
    assert np.all(run.positions[-1][16:, 2] > 0.05)
    gained = run.energy.total[-1] - run.energy.total[0]
    assert gained > 0.9 * 7 * 1e-3 * 9.81 * 0.05
    assert np.abs(run.energy.numerical).max() < 0.02 * gained


def test_cloth_folds_onto_itself():
    """A strip falls over its own held half and comes to lie on it, not through it."""
    mesh = meshes.cloth(15, 4, spacing=0.01, bending=False)
    x = mesh.positions - mesh.positions.mean(axis=0)
    start, moving = x.copy(), x[:, 0] > 0.001
    angle = np.radians(150.0)
    start[moving, 0] = np.cos(angle) * x[moving, 0]
    start[moving, 2] = np.sin(angle) * x[moving, 0]
    touch = Repulsion(mesh.triangles, thickness=0.004, stiffness=50.0, friction=0.3)
    parts = [Springs(mesh.edges, 50.0), Gravity(), touch, MomentumDamping(20.0)]
    system = System(1e-4, parts, fixed=~moving, rest=x)
    run = simulate(system, start, integrator="energy-momentum", step=2e-3, duration=0.3)
    free = run.positions[:, moving]
    assert run.diagnostics["contacts"][-1] > 10
    assert free[:, :, 2].min() > 0.0
    assert free[-1, -4:, 2].max() < 0.008 and free[-1, -4:, 0].max() < -0.03  # its end
    assert np.abs(run.energy.numerical).max() < 1e-9 * run.energy.exchanged


def test_friction_slows_by_mu_g():
    """A small triangle slides on a held plate: it loses friction times g every second."""
    plate, faces = sheet(6, spacing=0.1)
    slider = np.array([[-0.15, 0.01, 0.00991], [-0.13, 0.03, 0.00991], [-0.16, 0.04, 0.00991]])
    x, triangles = joined((plate, faces), (slider, np.array([[0, 1, 2]])))
    v = np.zeros_like(x)
    v[36:, 0] = 1.0
    touch = Repulsion(triangles, thickness=0.01, stiffness=100.0, friction=0.4)
    parts = [Gravity(), touch, Springs([[36, 37], [37, 38], [38, 36]], 1000.0)]
    system = System(1e-3, parts, fixed=range(36), rest=x)
    run = simulate(system, x, v, integrator="energy-momentum", step=1e-3, duration=0.15)
    speed = run.velocities[:, 36:, 0].mean(axis=1)
    assert np.all(np.diff(speed) <= 1e-12)
    assert speed[0] - speed[-1] == pytest.approx(0.4 * 9.81 * 0.15, rel=0.1)
    lost = 0.5 * 3e-3 * (1.0 - speed[-1] ** 2)
    assert run.energy.dissipated[-1] == pytest.approx(lost, rel=0.1)


def test_friction_stops_and_does_not_reverse():
    x, faces, edges = crumpled(10)
    part = bound(x, faces, edges, friction=1e6)
    v = np.random.default_rng(10).standard_normal(x.shape)
    before, momentum = np.vdot(v, v), v.sum(axis=0)
    part.settle(0.0, 1e-2, x, v)
    assert np.vdot(v, v) < before
    np.testing.assert_allclose(v.sum(axis=0), momentum, atol=1e-10)


def test_every_run_starts_afresh():
    system, x, *_ = falling()
    runs = [
        simulate(system, x, integrator="energy-momentum", step=2e-3, duration=0.06)
        for _ in range(2)
    ]
    np.testing.assert_array_equal(runs[0].positions, runs[1].positions)


# ---------------------------------------------------------------------- what collapses

RIGHT = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])  # a triangle
OVER = RIGHT + np.array([0.1, -0.1, 0.03])
COLLAPSED = {
    "collinear": [[0.0, 0, 0], [1, 0, 0], [0.5, 0, 0]],
    "folded back": [[0.0, 0, 0], [1, 0, 0], [0, 0, 0]],
    "a point": [[0.3, 0.3, 0]] * 3,
}


@pytest.mark.parametrize("name", ["verlet", "energy-momentum", "exprb42"])
@pytest.mark.parametrize("shape", COLLAPSED)
@pytest.mark.parametrize("whole_at_rest", [True, False])
def test_a_run_with_triangles_that_have_collapsed(name, shape, whole_at_rest):
    """The other triangle is pushed away, whatever is left of this one; momentum stays."""
    x = np.concatenate([COLLAPSED[shape], OVER])
    rest = np.concatenate([RIGHT, OVER + np.array([0, 0, 1.0])]) if whole_at_rest else x
    touch = Repulsion([[0, 1, 2], [3, 4, 5]], thickness=0.05, stiffness=1e3)
    run = simulate(System(1.0, [touch], rest=rest), x, integrator=name, step=1e-3, duration=0.02)
    assert run.velocities[-1, 3:, 2].sum() > 0.01
    np.testing.assert_allclose(run.velocities[-1].sum(axis=0), 0.0, atol=1e-10)


@pytest.mark.parametrize("name", ["verlet", "energy-momentum"])
def test_a_fiber_without_length(name):
    x = np.array([[0.0, 0, 0], [0, 0, 0], [-0.2, 0, 0.01], [1, 0, 0.01]])
    pairs = [[0, 1], [2, 3]]
    touch = Repulsion(None, pairs, thickness=0.05, stiffness=1e3)
    system = System(np.ones(4), [Springs(pairs, 1e3, rest=[1.0, 1.0]), touch])
    run = simulate(system, x, integrator=name, step=1e-4, duration=0.01)
    up = run.velocities[-1, :, 2]
    assert up[2:].sum() > 0.1 and up.sum() == pytest.approx(0.0, abs=1e-9)


def test_a_cloth_that_folds_flat_in_mid_run():
    """Every particle is led onto one line, then into one point: all triangles collapse."""
    flat, faces = sheet(4, spacing=0.1)
    x, triangles = joined((flat, faces), sheet(4, 0.1, (0.02, 0.01, 0.04)))
    shrink = [Keyframes([i], [0.0, 0.02, 0.04], [[0, 0, 0], [0, -p[1], 0], [-p[0], -p[1], 0]])
              for i, p in enumerate(flat)]  # fmt: skip
    touch = Repulsion(triangles, thickness=0.03, stiffness=100.0, friction=0.3)
    parts = [Gravity(), touch, Springs(faces[:, :2] + 16, 100.0)]
    system = System(1e-3, parts, rest=x, supports=shrink)
    run = simulate(system, x, integrator="energy-momentum", step=2e-3, duration=0.1)
    half = run.positions[10, :16]
    assert np.abs(half[:, 1]).max() < 1e-12 and np.ptp(half[:, 0]) > 0.25  # a line
    assert np.abs(run.positions[-1, :16]).max() < 1e-12  # a point
    assert run.diagnostics["contacts"].max() > 10


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        (dict(), "nothing to collide"),
        (dict(faces=[[0, 1, 1]]), "names a particle twice"),
        (dict(faces=[[0, 1]]), "but (m, 3) is needed"),
        (dict(edges=[[0, -1]]), "negative"),
        (dict(edges=[[0, 1]], thickness=0.0), "thickness = 0: it must be greater than 0"),
        (dict(edges=[[0, 1]], thickness=np.nan), "thickness is nan"),
        (dict(edges=[[0, 1]], stiffness=-1.0), "stiffness = -1"),
        (dict(edges=[[0, 1]], friction=-0.1), "friction = -0.1"),
        (dict(edges=[[0, 1]], friction=np.nan), "friction is nan"),
    ],
)
def test_bad_options(options, cause):
    with pytest.raises(InputError) as caught:
        Repulsion(**{"thickness": 0.1, "stiffness": 1.0, **options})
    assert cause in str(caught.value) and "\n" not in str(caught.value)


def test_particles_that_do_not_exist():
    part = Repulsion([[0, 1, 3]], thickness=0.1, stiffness=1.0)
    with pytest.raises(InputError, match=r"face 0 \(0, 1, 3\): there are only 3 particles"):
        System(np.ones(3), [part])
