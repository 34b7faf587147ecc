"""Scenes in which only methods that watch the energy survive (Dinev, Liu, Kavan 2018)."""

import numpy as np
import pytest
from thinned import thinned

import stiffly
from stiffly import SimulationFailure, scenes, simulate
from stiffly.meshes import rope
from stiffly_lab.measures import CACTUS_HEIGHT, distance_from_shape

STRAIN, LINKS = 1e-4, 20


def taut_rope():
    """20 links, 1 kg, 1 m; its own weight would stretch the top link by STRAIN."""
    mesh = rope(LINKS + 1)
    springs = stiffly.Springs(mesh.edges, 9.81 * LINKS / STRAIN)
    system = stiffly.System(
        1.0 / LINKS, [springs, stiffly.Gravity()], fixed=[0], rest=mesh.positions
    )
    return system, mesh.positions


@pytest.mark.parametrize("method", ["exprb42", "midpoint", "newmark"])
def test_others_fail_on_the_taut_rope(method):
    """At thirty steps a second, within the first two of twenty seconds."""
    with pytest.raises(SimulationFailure) as caught:
        simulate(*taut_rope(), integrator=method, step=1 / 30, duration=2.0)
    assert caught.value.run.times[-1] < 2.0


@pytest.mark.parametrize(
    "seconds", [1.0, pytest.param(20.0, marks=pytest.mark.slow)], ids=["1 s", "20 s"]
)
def test_stabilised_keeps_the_rope_at_its_target(seconds):
    run = simulate(*taut_rope(), integrator="stabilised", step=1 / 30, duration=seconds)
    # the band is one percent of the energy free to move, which is never above this
    free = run.energy.kinetic + run.energy.gravity - run.energy.gravity.min() + run.energy.elastic
    assert np.abs(run.energy.numerical).max() <= 0.0101 * free.max()


def angular_momentum(run, mass):
    centre = np.einsum("n,fnk->fk", mass, run.positions)[:, None] / mass.sum()
    return np.einsum("n,fnk->fk", mass, np.cross(run.positions - centre, run.velocities))


@pytest.mark.parametrize("method", thinned(["realtime", "stabilised", "realtime-midpoint"]))
def test_the_spinning_cube_stays_at_its_energy(method):
    """A stiffer, coarser cube than the scene's, so that a few seconds show it."""
    scene = scenes.load("spinning-cube", cells=3, young=1e6)
    run = simulate(scene, integrator=method, duration=200 * scene.step, every=scene.step)
    start = run.energy.total[0]
    assert np.abs(run.energy.numerical).max() <= 0.0101 * start
    mass = scene.system.mass.diagonal[::3]
    spin = np.linalg.norm(angular_momentum(run, mass), axis=1)
    euler = simulate(scene, integrator="bdf1", duration=200 * scene.step, every=scene.step)
    lost = np.linalg.norm(angular_momentum(euler, mass), axis=1)
    assert spin[-1] / spin[0] > 2.0 * lost[-1] / lost[0]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["midpoint", "newmark"])
def test_the_spinning_cube_explodes_without(method):
    scene = scenes.load("spinning-cube", young=1e6)
    with pytest.raises(SimulationFailure):
        simulate(scene, integrator=method, duration=300 * scene.step, every=scene.step)


@pytest.mark.filterwarnings("ignore::stiffly.errors.StiffWarning")  # ten iterations, random start
@pytest.mark.slow
def test_the_cactus_finds_its_shape_again():
    scene = scenes.load("cactus", small=True)  # as long as it needs to
    rest = scene.mesh.positions
    tracked = simulate(scene, every=scene.step)
    plain = simulate(scene, integrator="projective-midpoint", every=scene.step)
    assert distance_from_shape(tracked.positions[0], rest) > 0.8 * CACTUS_HEIGHT
    assert distance_from_shape(tracked.positions[-1], rest) < 0.01 * CACTUS_HEIGHT
    assert distance_from_shape(plain.positions[-1], rest) > 0.3 * CACTUS_HEIGHT
