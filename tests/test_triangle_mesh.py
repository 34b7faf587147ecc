"""Closed meshes as colliders: exact signed distances, poses, and cloth that stays outside."""

import importlib

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from thinned import drawn, thinned

from stiffly import meshes, simulate
from stiffly.bodies import Gravity, Springs, System
from stiffly.collisions import Contact, TriangleMesh, keyframes, rotation
from stiffly.collisions.triangle_mesh import pseudonormals
from stiffly.errors import InputError
from stiffly.kernels import cpu

CORNERS = np.array([[x, y, z] for z in (-1.0, 1) for y in (-1.0, 1) for x in (-1.0, 1)])
SIDES = "021 123 456 576 014 154 263 367 042 246 135 375"
BOX = np.array([[int(digit) for digit in corners] for corners in SIDES.split()])
POINT = st.tuples(*[st.floats(-2.5, 2.5)] * 3).map(np.array)


def box_distance(p):
    """Exact, of the cube with corners at -1 and 1."""
    q = np.abs(p) - 1.0
    return np.linalg.norm(np.maximum(q, 0.0)) + min(q.max(), 0.0)


def winding(p, x, triangles):
    """1 inside, 0 outside: solid angles over 4 pi (Van Oosterom and Strackee 1983)."""
    a, b, c = (x[triangles[:, k]] - p for k in range(3))
    la, lb, lc = (np.linalg.norm(v, axis=1) for v in (a, b, c))
    top = np.einsum("ij,ij->i", a, np.cross(b, c))
    dots = [np.einsum("ij,ij->i", u, v) for u, v in ((a, b), (b, c), (c, a))]
    bottom = la * lb * lc + dots[0] * lc + dots[1] * la + dots[2] * lb
    return np.sum(np.arctan2(top, bottom)) / (2 * np.pi)


def bumpy(seed):
    """A sphere with random bumps and dents: many sharp edges, convex and not; every triangle is
    still seen from the middle, so none cuts another."""
    mesh = meshes.sphere(7, 10, radius=1.0)
    rng = np.random.default_rng(seed)
    return mesh.positions * rng.uniform(0.6, 1.4, (len(mesh.positions), 1)), mesh.triangles


@drawn(200)
@given(POINT)
def test_distance_to_a_cube(p):
    mesh = TriangleMesh(CORNERS, BOX)
    assert mesh.distances(p[None])[0] == pytest.approx(box_distance(p), abs=1e-14)


@pytest.mark.parametrize("seed", range(3))
def test_the_sign_is_that_of_the_winding_number(seed):
    x, triangles = bumpy(seed)
    p = np.random.default_rng(seed).uniform(-1.3, 1.3, (300, 3))
    inside = np.array([winding(q, x, triangles) > 0.5 for q in p])
    assert 50 < inside.sum() < 250
    np.testing.assert_array_equal(TriangleMesh(x, triangles).distances(p) < 0.0, inside)


@pytest.mark.parametrize("threshold", [0, 10**9], ids=["parallel", "serial"])
def test_compiled_and_plain_agree(threshold, monkeypatch):
    module = importlib.import_module("stiffly.kernels.cpu.mesh_distance")
    monkeypatch.setattr(module, "PARALLEL_POINTS", threshold)
    x, triangles = bumpy(0)
    mesh = TriangleMesh(x, triangles)
    p = np.random.default_rng(0).uniform(-1.5, 1.5, (200, 3))
    p[:40] = x[:40]  # on the surface: the normal is the vertex's own
    p[40:80] = x[triangles[:40]].mean(axis=1)
    found = []
    for room in (cpu, reference):
        out = np.empty((200, 3)), np.empty((200, 3)), np.empty(200)
        room.nearest_points(p, x, mesh._faces, mesh._tree, mesh._pseudonormals, 0.4, *out)
        found.append(out)
    for one, two in zip(*found, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-12)
    assert 10 < np.isinf(found[0][2]).sum() < 100
    corners = x[mesh._faces]
    trees = [room.tree_boxes(corners.min(axis=1), corners.max(axis=1)) for room in (cpu, reference)]
    np.testing.assert_array_equal(*trees)


def test_normals_are_gradients_of_the_distance():
    x, triangles = bumpy(1)
    mesh = TriangleMesh(x, triangles, reach=2.0)
    p = np.random.default_rng(1).uniform(-1.4, 1.4, (200, 3))
    e = 1e-6
    steps = e * np.eye(3)
    slopes = np.stack(
        [(mesh.distances(p + s) - mesh.distances(p - s)) / (2 * e) for s in steps], axis=1
    )
    smooth = np.abs(np.linalg.norm(slopes, axis=1) - 1.0) < 1e-6  # not on a medial surface
    assert smooth.sum() > 190
    surface = mesh.surface(0.0, p)
    normals = surface.normals(p, np.arange(len(p)))
    np.testing.assert_allclose(normals[smooth], slopes[smooth], atol=1e-4)
    np.testing.assert_allclose(surface.distances(p), mesh.distances(p), atol=1e-14)


def test_a_mesh_that_turns_carries_its_planes_along():
    x, triangles = bumpy(2)
    still = TriangleMesh(x, triangles)
    moving = TriangleMesh(x, triangles, motion=rotation(axis=(0, 0, 1), rate=2.0))
    p = np.random.default_rng(2).uniform(-1.0, 1.0, (50, 3))
    c, s = np.cos(2.0 * 0.3), np.sin(2.0 * 0.3)
    turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]])
    at_rest, turned = still.surface(0.0, p), moving.surface(0.3, p @ turn.T)
    rows = np.arange(len(p))
    np.testing.assert_allclose(turned.distances(p @ turn.T), at_rest.distances(p), atol=1e-12)
    np.testing.assert_allclose(
        turned.normals(p @ turn.T, rows), at_rest.normals(p, rows) @ turn.T, atol=1e-12
    )
    spin = np.cross([0, 0, 2.0], p @ turn.T)
    np.testing.assert_allclose(turned.velocities(p @ turn.T, rows), spin, atol=1e-9)
    assert moving.moving and moving.local and not still.moving


def test_far_particles_are_not_looked_at():
    mesh = TriangleMesh(CORNERS, BOX, reach=0.5)
    p = np.array([[1.4, 0, 0], [0.0, 0, 0.9], [1.6, 0, 0], [0, -1.6, 0], [0.4, 0, 0.3]])
    d = mesh.surface(0.0, p).distances(p)
    np.testing.assert_allclose(d, [0.4, -0.1, np.inf, np.inf, -0.6], atol=1e-14)
    lost = np.full((1, 3), np.nan)  # from a run that has diverged
    assert mesh.surface(0.0, lost).numbers[0, 6] == np.inf


@drawn(100)
@given(POINT, st.floats(1e-3, 0.5))
def test_inside_is_seen_at_any_depth(p, reach):
    d = TriangleMesh(CORNERS, BOX, reach=reach).surface(0.0, p[None]).distances(p[None])[0]
    true = box_distance(p)
    assert d == (pytest.approx(true, abs=1e-12) if true < reach - 1e-12 else pytest.approx(np.inf))


@pytest.mark.parametrize("reach", [0.01, 0.1, None])
def test_only_what_is_far_outside_is_left_out(reach):
    x, triangles = bumpy(4)
    mesh = TriangleMesh(x, triangles, reach=reach)
    p = np.random.default_rng(4).uniform(-1.5, 1.5, (3000, 3))
    d, true = mesh.surface(0.0, p).distances(p), mesh.distances(p)
    assert np.sum(true < -mesh.reach) > 50 < np.sum(true > mesh.reach)
    np.testing.assert_allclose(d, np.where(true < mesh.reach, true, np.inf), atol=1e-12)


def test_a_hollow_is_not_inside():
    """Inside the bounding box, far from the surface, but not in the solid: a cube in a cube."""
    room = np.concatenate([CORNERS, 0.5 * CORNERS])
    mesh = TriangleMesh(room, np.concatenate([BOX, 8 + flip(BOX)]), reach=0.1)
    p = np.array([[0.0, 0, 0], [0.75, 0, 0]])
    np.testing.assert_allclose(mesh.surface(0.0, p).distances(p), [np.inf, -0.25])


def test_what_is_deep_inside_is_reported_and_comes_out():
    mesh = TriangleMesh(CORNERS, BOX)
    system = System(np.ones(2), [Contact(mesh, 100.0)])
    x = np.array([[0.1, 0.0, 0.0], [5.0, 0.0, 0.0]])
    run = simulate(system, x, integrator="energy-momentum", step=1e-2, duration=1.0)
    assert run.diagnostics["penetration"][0] == pytest.approx(0.9, abs=0.01)
    assert run.diagnostics["contacts"][0] == 1.0
    assert run.positions[-1, 0, 0] > 1.0 and run.diagnostics["penetration"][-1] == 0.0


def test_on_a_fin_without_thickness_there_is_a_normal():
    """Two sides of a closed surface back to back: their normals cancel at every edge."""
    x = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 0]])
    faces = np.array([[0, 1, 2], [3, 2, 1]], dtype=np.uint32)
    corners, normals = x[faces], pseudonormals(x, faces.astype(np.int64))
    p = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]])
    for room in (cpu, reference):
        out = np.empty((2, 3)), np.empty((2, 3)), np.empty(2)
        tree = room.tree_boxes(corners.min(axis=1), corners.max(axis=1))
        room.nearest_points(p, x, faces, tree, normals, 1.0, *out)
        np.testing.assert_allclose(np.abs(out[1]), [[0, 0, 1.0]] * 2)
        np.testing.assert_allclose(out[2], 0.0)


def flip(triangles):
    return triangles[:, ::-1]


@pytest.mark.parametrize(
    ("positions", "triangles", "cause"),
    [
        (CORNERS, BOX[:-1], "is not closed: edge"),
        (CORNERS, flip(BOX), "faces inwards"),
        (CORNERS, np.concatenate([BOX[:-1], flip(BOX[-1:])]), "turn one of them round"),
        (CORNERS * [1, 1, 0], BOX, "has no area"),
        (CORNERS * np.nan, BOX, "must be finite"),
        (CORNERS, BOX + 1, "names a vertex that does not exist"),
        (CORNERS, BOX - 1, "a particle index is negative"),
        (CORNERS[:, :2], BOX, "positions have shape (8, 2)"),
        (CORNERS, np.empty((0, 3), int), "has no triangles"),
        (CORNERS, BOX * 1.0, "must be integers"),
    ],
)
def test_bad_meshes(positions, triangles, cause):
    with pytest.raises(InputError) as caught:
        TriangleMesh(positions, triangles)
    assert cause in str(caught.value) and "\n" not in str(caught.value)


def test_bad_options():
    with pytest.raises(InputError, match="reach = -1"):
        TriangleMesh(CORNERS, BOX, reach=-1.0)
    with pytest.raises(InputError, match="motion must be"):
        TriangleMesh(CORNERS, BOX, motion=3.0)


def draped(motion, friction=0.0):
    """A small cloth that falls on a bumpy ball."""
    ball, triangles = bumpy(0)
    ball = 0.1 * ball
    mesh = TriangleMesh(ball, triangles, motion)
    cloth = meshes.cloth(9, 9, spacing=0.035)
    x = cloth.positions - cloth.positions.mean(axis=0) + [0.0, 0.0, 0.16]
    contact = Contact([mesh], 1000.0, margin=0.01, friction=friction)
    body = System(0.002, [Springs(cloth.edges, 50.0), Gravity((0, 0, -9.81)), contact], rest=x)
    return mesh, body, x


@pytest.mark.parametrize(
    "motion",
    thinned(
        [
            rotation(axis=(0, 0, 1), rate=3.0),
            None,
            keyframes([0, 0.3], [[0, 0, 0], [0.05, 0, 0.02]]),
        ]
    ),
    ids=["turning", "still", "carried"],
)
def test_cloth_stays_outside_and_every_joule_is_found(motion):
    mesh, body, x = draped(motion, friction=0.3)
    run = simulate(body, x, integrator="energy-momentum", step=2e-3, duration=0.3)
    for t, now in zip(run.times, run.positions, strict=True):
        assert mesh.distances(mesh.frame(t).home(now)).min() > 0.0
    assert run.diagnostics["contacts"].max() > 10
    assert run.diagnostics["penetration"].max() == 0.0
    assert np.abs(run.energy.numerical).max() < 1e-9 * run.energy.exchanged


def test_what_arrives_fast_is_seen_before_it_is_inside():
    """The mesh looks as far as particles travel: else a still mesh would throw them back."""
    ball, sheet = meshes.sphere(8, 12, radius=0.2), meshes.cloth(15, 15, spacing=0.07)
    x = sheet.positions - sheet.positions.mean(axis=0) + np.array([0, 0, 0.25])
    touch = Contact(TriangleMesh(ball.positions, ball.triangles), 1e3, margin=0.03)
    body = System(0.01, [Springs(sheet.edges, 500.0), Gravity(), touch], rest=x)
    run = simulate(body, x, integrator="realtime", step=1 / 60, duration=0.6)
    assert run.diagnostics["contacts"].max() > 10
    assert run.diagnostics["penetration"].max() <= 0.03
    assert np.abs(run.energy.added).max() <= 0.05 * run.energy.exchanged
