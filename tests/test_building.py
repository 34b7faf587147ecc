"""What building costs: no matrix that nobody asks for, and memory in proportion to springs."""

import tracemalloc

import numpy as np
import pytest

from stiffly import Gravity, Springs, System, scenes, simulate
from stiffly.bodies import Attachments, Dashpots, Drag, FaceSprings, LinearSprings, Tetrahedra, Wind
from stiffly.collisions import Contact, Sphere
from stiffly.meshes import lattice
from stiffly.meshes.grids import grid_tets
from stiffly.parts import pattern
from stiffly.parts.pattern import BlockPattern

SHAPE = (3, 2, 2)
X = np.indices(SHAPE).reshape(3, -1).T + 0.05 * np.random.default_rng(0).standard_normal((12, 3))
TETS, EDGES = grid_tets(SHAPE), lattice(*SHAPE, diagonals=True).edges
PARTS = [
    Springs(EDGES, 100.0, yield_strain=0.1),
    LinearSprings(EDGES, 10.0),
    FaceSprings(TETS, 10.0),
    Tetrahedra(TETS, young=1e3, poisson=0.3),
    Gravity(),
    Drag(0.1),
    Wind(TETS[:, :3], (0.0, 1.0, 0.0)),
    Dashpots(EDGES, 0.1),
    Attachments([11], 10.0),
    Contact(Sphere((0.0, 0.0, -2.0), 1.8), 50.0, friction=0.1),
]


class Asked(Exception):
    pass


@pytest.fixture
def no_matrix(monkeypatch):
    """The layout of a matrix cannot be made."""

    def refuse(keys):
        raise Asked

    monkeypatch.setattr(pattern, "sorted_unique", refuse)


def test_explicit_steps_lay_out_no_matrix(no_matrix):
    system = System(1.0, PARTS, rest=X, fixed=[0])
    run = simulate(system, X, integrator="verlet", step=1e-3, duration=5e-3)
    assert len(run.times) == 6
    with pytest.raises(Asked):
        simulate(system, X, integrator="midpoint", step=1e-3, duration=5e-3)


@pytest.mark.parametrize("name", ["hair", "flag", "crash"])
def test_scenes_step_explicitly_without_a_matrix(name, no_matrix):
    scene = scenes.load(name, small=True)
    run = simulate(scene, integrator="verlet", step=1e-6, duration=3e-6)
    assert run.stats["steps"] == 3


def test_hair_at_full_size_is_built_in_less_than_2_gb():
    """Peaks of two smaller heads of hair, which grow in proportion, with what is loaded before."""
    scenes.load("hair", fibers=10)

    def peak(fibers):
        tracemalloc.start()
        scene = scenes.load("hair", fibers=fibers)
        bound = scene.system.bind(scene.x0, scene.v0)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        del bound
        return most

    few, more = peak(500), peak(1500)
    assert few + (60_000 - 500) * (more - few) / 1000 < 1.8e9


def test_bodies_are_what_couples_reach():
    rng = np.random.default_rng(3)
    couples = rng.integers(0, 60, (25, 2))
    couples = np.concatenate([couples[couples[:, 0] != couples[:, 1]]] * 2)  # some of them twice
    free = np.setdiff1d(np.arange(60), couples[:5].ravel())
    bodies = BlockPattern(couples, free, 60).bodies
    label = np.arange(60)  # spread along couples until nothing changes
    held = np.isin(couples, free).all(axis=1)
    for _ in range(60):
        for i, j in couples[held]:
            label[[i, j]] = label[[i, j]].min()
    expected = label[free]
    same = bodies.labels[:, None] == bodies.labels
    assert np.array_equal(same, expected[:, None] == expected)
    assert len(bodies.sizes) == len(np.unique(expected)) > 10
