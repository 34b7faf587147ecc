"""Bodies that touch things: hippo, falling-cube, sliding-bunny (Dinev, Liu, Kavan 2018)."""

from __future__ import annotations

import numpy as np
import pytest
from scene_measures import cube_height, turned

from stiffly import InputError, State, scenes, simulate
from stiffly.meshes import creature, write_mesh
from stiffly.scenes import falling_cube, hippo

NAMES = ("hippo", "falling-cube", "sliding-bunny")
G = 9.81
BAND = 0.0101  # the stabiliser's 1 %, and its rounding


def masses(scene):
    return scene.system.mass.diagonal[::3]


def freely_moving(energy):
    """Energy [J] that the stabiliser may take for its yardstick, at most."""
    rest = sum(part for name, part in energy.parts.items() if name != "gravity")
    return (rest + energy.gravity - energy.gravity.min()).max()


# ------------------------------------------------------------------ what each scene shows


def test_the_hippo_touches_the_balls_without_trouble():
    scene = scenes.load("hippo", small=True)
    run = simulate(scene)
    contacts = run.diagnostics["contacts"]
    arrivals = np.sum((contacts[1:] > 0) & (contacts[:-1] == 0))
    assert arrivals >= 2 and np.sum(contacts > 0) >= 20  # it bounces, and touches again
    assert np.abs(run.energy.numerical).max() <= BAND * freely_moving(run.energy)
    assert run.diagnostics["penetration"].max() < 0.1 * hippo.RADIUS
    # soft, but neither blown up nor crushed in the end
    size = np.ptp(run.positions[-1], axis=0)
    assert np.linalg.norm(size) == pytest.approx(np.linalg.norm(np.ptp(scene.x0, axis=0)), rel=0.2)


def rebound(method, step=None):
    """Height of the first return, relative to that of the fall."""
    scene = scenes.load("falling-cube", small=True)
    run = simulate(scene, integrator=method, step=step or scene.step)
    z = cube_height(run.positions, masses(scene))
    assert z[0] == pytest.approx(falling_cube.DROP)
    lowest = int(z.argmin())
    return z[lowest:].max() / z[0], run


def test_the_cube_bounces_back_but_not_with_backward_euler():
    accurate, _ = rebound("verlet", 1e-4)
    back, run = rebound("stabilised")
    assert np.abs(run.energy.numerical).max() <= BAND * freely_moving(run.energy)
    assert back > 0.9 and abs(back - accurate) < 0.05
    for method in ("bdf1", "projective"):
        assert rebound(method)[0] < 0.5 * back


def slide(**options):
    """Run, speed (frames,) [m/s] in the direction of the start, and Coulomb's bound on its loss:
    friction times the impulse of the floor, which is what gravity and the vertical motion say."""
    scene = scenes.load("sliding-bunny", small=True, **options)
    run = simulate(scene, every=0.01)
    mean = np.einsum("n,fnk->fk", masses(scene) / masses(scene).sum(), run.velocities)
    speed = mean @ scene.v0[0] / np.linalg.norm(scene.v0[0])
    bound = scene.parameters["friction"] * (G * run.times + mean[:, 2])
    return scene, run, speed, bound


def test_the_bunny_slows_down_and_turns():
    scene, run, speed, bound = slide()
    assert np.abs(run.energy.numerical).max() <= BAND * freely_moving(run.energy)
    # friction reads the floor's force at the end of a step: late by one, of twice the weight
    late = 2.0 * 0.8 * G * scene.step
    assert np.all(speed[0] - speed <= bound + late)
    assert speed[-1] < 0.5 * speed[0]
    lost = run.energy.kinetic[0] - run.energy.kinetic[-1]
    assert run.energy.dissipated[-1] == pytest.approx(lost, rel=0.05)
    assert abs(turned(run.positions[-1], scene.x0, masses(scene))) > 5.0


def test_the_bunny_slides_on_without_friction():
    scene, run, speed, _ = slide(friction=0.0)
    # the energy's 1 % is half a percent of the speed
    np.testing.assert_allclose(speed, speed[0], rtol=0.5 * BAND)
    assert not run.energy.dissipated.any()
    assert abs(turned(run.positions[-1], scene.x0, masses(scene))) < 1.0


@pytest.mark.slow
def test_short_steps_slide_by_coulombs_law():
    """As long as every foot slides; at the paper's step friction is weaker (see the scene)."""
    _, _, speed, bound = slide(step=1e-3, duration=0.2)
    later = slice(10, None)  # from 0.1 s on, when a step late is less than 2 %
    np.testing.assert_allclose((speed[0] - speed)[later], bound[later], rtol=0.1)


# ------------------------------------------------------------------ what all of them are


@pytest.mark.parametrize(
    ("name", "vertices", "step", "duration"),
    [
        ("hippo", 2387, 0.01, 1.0),
        ("falling-cube", 386, 0.01, 1.0),
        ("sliding-bunny", 4497, 0.033, 7.59),
    ],
)
def test_full_size_is_the_papers(name, vertices, step, duration):
    scene = scenes.load(name)
    assert len(scene.x0) == pytest.approx(vertices, rel=0.12)  # the cube: 343, filled
    assert scene.step == step and scene.duration == pytest.approx(duration)
    system, start = scene.system.bind(scene.x0, scene.v0)
    assert np.all(np.isfinite(system.force(start)))
    assert system.diagnostics(start)["contacts"] == 0  # in the air, or just above the floor
    for ball in scene.colliders:
        assert ball.surface(0.0, scene.x0).distances(scene.x0).min() > -1e-12


@pytest.mark.parametrize("name", NAMES)
def test_scenes_touch_and_know_what_to_draw(name):
    scene = scenes.load(name, small=True)
    assert scene.mesh is not None and np.array_equal(scene.mesh.positions, scene.x0)
    assert len(scene.mesh.tets) and len(scene.mesh.triangles) and scene.colliders
    assert ("stands in" in scene.note) == (name != "falling-cube")
    one, start = scene.system.bind(scene.x0, scene.v0)
    down = np.tile([0.0, 0.0, 0.35], len(scene.x0))
    sunk = State(start.t, start.x - down, start.v)  # so that it touches
    assert one.diagnostics(sunk)["contacts"] > 0


@pytest.mark.parametrize("name", ["hippo", "sliding-bunny"])
def test_any_mesh_file_will_do(name, tmp_path):
    path = tmp_path / "cat.vtk"
    write_mesh(path, creature(300, shape="hippo", height=3.0))
    scene = scenes.load(name, mesh=str(path))
    assert scene.mesh is not None and np.array_equal(scene.mesh.positions, scene.x0)
    assert "cat.vtk" in scene.note
    assert np.ptp(scene.x0[:, 2]) == pytest.approx(0.5 if name == "hippo" else 0.2)


@pytest.mark.parametrize(
    ("name", "wrong", "says"),
    [
        ("hippo", {"vertices": 0}, "vertices = 0"),
        ("hippo", {"young": -1.0}, "young = -1.0"),
        ("hippo", {"mesh": "nowhere.obj"}, "nowhere.obj"),
        ("hippo", {"drop": "high"}, "hippo"),
        ("falling-cube", {"cells": 0}, "cells = 0"),
        ("falling-cube", {"drop": float("nan")}, "drop = nan"),
        ("falling-cube", {"contact": 0.0}, "contact = 0.0"),
        ("sliding-bunny", {"friction": -0.1}, "friction"),
        ("sliding-bunny", {"heading": float("inf")}, "heading"),
        ("sliding-bunny", {"speed": 0.0}, "speed"),
        ("sliding-bunny", {"vertexes": 10}, "did you mean vertices"),
    ],
)
def test_wrong_parameters_are_named(name, wrong, says):
    with pytest.raises(InputError, match=says) as caught:
        scenes.load(name, **wrong)
    assert "\n" not in str(caught.value)
