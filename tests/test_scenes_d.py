"""Crash, brush, bacterium: each small variant shows what its scene is for."""

from __future__ import annotations

import numpy as np
import pytest
from scene_measures import bends

from stiffly import InputError, scenes, simulate
from stiffly.collisions import Plane
from stiffly.meshes import write_mesh
from stiffly.scenes import bacterium
from stiffly.scenes.brush import AIR, LENGTH, RADIUS, SWING

NAMES = ("crash", "brush", "bacterium")


@pytest.mark.parametrize("name", NAMES)
def test_small_variants_can_be_drawn(name):
    scene = scenes.load(name, small=True)
    assert scene.mesh is not None and np.array_equal(scene.mesh.positions, scene.x0)
    assert len(scene.x0) < 400


def test_colliders():
    (wall,) = scenes.load("crash", small=True).colliders
    assert isinstance(wall, Plane)
    assert len(scenes.load("brush", small=True).colliders) == 1
    assert scenes.load("bacterium", small=True).colliders == ()


@pytest.mark.parametrize(
    ("name", "wrong", "words"),
    [
        ("crash", {"speed": -1.0}, "speed = -1.0"),
        ("crash", {"vertices": 10}, "vertices = 10"),
        ("crash", {"vertices": 300, "mesh": "no.obj"}, "no.obj"),
        ("crash", {"speed": "fast"}, "crash"),
        ("brush", {"bristles": 0}, "bristles = 0"),
        ("brush", {"strokes": 0.0}, "strokes = 0.0"),
        ("brush", {"press": 0.1}, "press = 0.1"),
        ("bacterium", {"torque": 0.0}, "torque = 0"),
        ("bacterium", {"points": 2}, "points = 2"),
        ("bacterium", {"young": float("nan")}, "young = nan"),
    ],
)
def test_wrong_parameters(name, wrong, words):
    with pytest.raises(InputError, match=words) as caught:
        scenes.load(name, **wrong)
    assert "\n" not in str(caught.value)


# ------------------------------------------------------------------ crash


def lengths(positions, edges):
    return np.linalg.norm(positions[..., edges[:, 1], :] - positions[..., edges[:, 0], :], axis=-1)


def dent(positions, shape):
    """Largest distance [m] of a particle from where a rigid car would have it (best fit)."""
    moved, shape = positions - positions.mean(axis=0), shape - shape.mean(axis=0)
    U, _, Vt = np.linalg.svd(shape.T @ moved)
    rotation = U @ np.diag([1.0, 1.0, np.linalg.det(U @ Vt)]) @ Vt
    return np.linalg.norm(moved - shape @ rotation, axis=1).max()


@pytest.mark.slow
def test_the_car_keeps_its_dents():
    dents = {}
    for speed in (2.0, 4.0):
        scene = scenes.load("crash", small=True, speed=speed)
        run = simulate(scene)
        assert scene.mesh is not None
        edges = scene.mesh.edges
        strain = lengths(run.positions[-1], edges) / lengths(scene.x0, edges) - 1.0
        # a spring past twice the yield strain has a new rest length: it cannot return
        assert np.mean(np.abs(strain) > 2 * 0.02) > 0.01
        assert run.energy.contact.max() > 0.0
        assert 0.3 * run.energy.kinetic[0] < run.energy.dissipated[-1] < run.energy.kinetic[0]
        assert np.abs(run.energy.numerical).max() < 0.01 * run.energy.exchanged
        dents[speed] = dent(run.positions[-1], scene.x0)
    assert dents[4.0] > 1.3 * dents[2.0]
    elastic = simulate(scenes.load("crash", small=True, speed=4.0, yield_strain=100.0))
    assert elastic.energy.dissipated[-1] == 0.0


def test_the_car_may_come_from_a_file(tmp_path):
    scene = scenes.load("crash", vertices=300)
    assert scene.mesh is not None and "stands in" in scene.note
    write_mesh(tmp_path / "mine.obj", scene.mesh)
    mine = scenes.load("crash", vertices=400, mesh=str(tmp_path / "mine.obj"))
    assert "mine.obj" in mine.note and "its inside is what the file has" in mine.note
    assert mine.x0.shape == scene.x0.shape
    assert np.ptp(mine.x0[:, 0]) == pytest.approx(4.3)


def test_the_rigid_frame_changes_the_view_and_not_the_crash():
    """Forces between particles do not know that their axes move: the same joules and shape."""
    plain, framed = (
        scenes.load("crash", small=True, frame=f, duration=0.15) for f in (False, True)
    )
    assert "rigid car" in framed.note and not framed.v0.any()
    runs = [simulate(s) for s in (plain, framed)]
    lost = [run.energy.dissipated[-1] for run in runs]
    assert lost[0] > 1.0 and lost[1] == pytest.approx(lost[0], rel=0.02)
    ends = [
        lengths(run.positions[-1], s.mesh.edges)
        for run, s in zip(runs, (plain, framed), strict=True)
    ]
    assert (
        np.abs(ends[1] - ends[0]).max()
        < 0.05 * np.abs(ends[0] - lengths(plain.x0, plain.mesh.edges)).max()
    )
    # in the frame it is the wall that comes, with the car's speed at first
    wall = framed.colliders[0]
    np.testing.assert_allclose(wall.frame(0.0).velocity, [-2.0, 0.0, 0.0], atol=1e-9)


def test_explicit_steps_of_the_car_are_compiled():
    scene = scenes.load("crash", small=True, integrator="verlet", step=2e-4, duration=2e-3)
    assert "inside" in scene.mesh.vertex_sets and "mounts" in scene.mesh.edge_groups
    assert simulate(scene).stats["loop"].startswith("compiled")


def test_a_shell_without_inside():
    scene = scenes.load("crash", vertices=300, inside=False)
    assert "inside" not in scene.mesh.vertex_sets


@pytest.mark.slow
def test_the_full_car():
    scene = scenes.load("crash")
    assert len(scene.x0) == pytest.approx(120_000, rel=0.05)
    assert scene.duration == 2.0


# ------------------------------------------------------------------ brush


@pytest.mark.slow
def test_bristles_touch_and_spring_back():
    scene = scenes.load("brush", small=True)
    run = simulate(scene)
    bend = bends(run.positions, scene)
    assert run.energy.contact.max() > 0.0
    # a tip that goes over the top must give way by how far it would pass below it
    assert bend.max() > 0.9 * 0.002
    # then it is out of reach, and AIR damps free vibrations by exp(-AIR t / 2)
    above = RADIUS - 0.002 + LENGTH  # of the roots
    reach = np.sqrt((RADIUS + LENGTH) ** 2 - above**2)
    object_x = SWING * np.cos(2.0 * np.pi * 4.0 * run.times)
    beyond = object_x < scene.x0[:, 0].min() - reach
    assert np.exp(-0.5 * AIR * np.ptp(run.times[beyond])) < 0.01
    assert bend[-1].max() < 0.05 * bend.max()
    assert np.abs(run.energy.numerical).max() < 1e-6 * run.energy.exchanged


def test_the_brush_has_the_papers_size():
    scene = scenes.load("brush")
    assert scene.x0.size == 90_000 and scene.duration == 15.0
    assert scene.system.size == 90_000 - 3 * 4 * 1500


# ------------------------------------------------------------------ bacterium


def stokeslets(x, viscosity):
    """S (3n, 3n), v = S g; regularised Stokeslets (Cortez, Fauci, Medovikov 2005)."""
    e = bacterium.BLOB
    d = x[:, None] - x
    r2 = np.sum(d * d, axis=-1)
    R3 = (r2 + e * e) ** 1.5
    S = ((r2 + 2 * e * e) / R3)[..., None, None] * np.eye(3)
    S += d[..., :, None] * d[..., None, :] / R3[..., None, None]
    return S.transpose(0, 2, 1, 3).reshape(x.size, x.size) / (8 * np.pi * viscosity)


def rigid_swimmer(scene):
    """Of a rigid tail that turns against a rigid head: the way along x for each radian of the
    motor, and radians per second."""
    x, tail = scene.x0, 4 * scene.parameters["points"]
    S = stokeslets(x, scene.parameters["viscosity"])
    turns = [np.cross(axis, x).ravel() for axis in np.eye(3)]
    motor = np.cross([-1.0, 0.0, 0.0], x)
    motor[tail:] = 0.0
    rigid = np.column_stack([np.tile(np.eye(3), (len(x), 1)), *turns])
    drag = np.linalg.solve(S, np.column_stack([rigid, motor.ravel()]))
    body = np.linalg.solve(rigid.T @ drag[:, :6], -rigid.T @ drag[:, 6])  # no force, no torque
    torque = motor.ravel() @ (drag[:, :6] @ body + drag[:, 6])
    return body[0], 3.0 / torque


def test_it_swims_and_the_motor_decides_where():
    forwards = scenes.load("bacterium", small=True)
    way, rate = rigid_swimmer(forwards)
    expected = way * rate * forwards.duration
    assert rate * forwards.duration > 2 * 2.0 * np.pi  # several turns
    for torque, sign in ((3.0, 1.0), (-3.0, -1.0)):
        run = simulate(scenes.load("bacterium", small=True, torque=torque), every=0.01)
        swum = (run.positions[-1] - run.positions[0]).mean(axis=0)
        assert 0.5 * expected < sign * swum[0] < 2.0 * expected
        # along its axis: sideways it wobbles once a turn, and ends anywhere within that
        assert np.hypot(*swum[1:]) < 0.5 * abs(swum[0])
        # motor and springs neither push nor turn the whole: its momenta change, in the last step
        # of backward Euler, by exactly what the fluid does to it
        x, v, h = run.positions[-1], run.velocities[-1], forwards.step
        push = np.linalg.solve(stokeslets(x, 0.1), v.ravel()).reshape(-1, 3)
        change = forwards.system.given.mass[:, None] * (v - run.velocities[-2])
        for moment in (lambda f: f, lambda f, x=x: np.cross(x, f)):
            left = moment(change + h * push)
            assert np.linalg.norm(left.sum(axis=0)) < 1e-6 * h * np.linalg.norm(moment(push))
        assert run.energy.added[-1] > 0.0 and run.energy.dissipated[-1] > 0.0


def test_the_bacterium_has_the_papers_size():
    scene = scenes.load("bacterium")
    assert scene.x0.size == 360 and scene.duration == 2.0
