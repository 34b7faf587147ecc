"""Where nothing drives a body, contact adds nothing, whatever the method: random scenes."""

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from thinned import drawn, thinned

from stiffly import meshes, simulate
from stiffly.bodies import Gravity, Springs, System, Tetrahedra
from stiffly.collisions import (
    Contact,
    Held,
    Hemisphere,
    Plane,
    ProjectedContact,
    Sphere,
    TriangleMesh,
    keyframes,
    rotation,
)
from stiffly.errors import Advice, SimulationFailure, StiffWarning

sys.path.insert(0, str(Path(__file__).parent / "attack"))
from trials_contact import trial  # a script beside the package

BALL = meshes.sphere(8, 12, radius=0.5)
SHAPES = {
    "plane": Plane((0, 0, 0), (0.1, 0, 1)),
    "sphere": Sphere((0, 0, -0.5), 0.5),
    "room": Sphere((0, 0, 0.3), 0.7, inside=True),
    "half ball": Hemisphere((0, 0, -0.5), 0.5),
    "mesh": TriangleMesh(BALL.positions - [0, 0, 0.5], BALL.triangles),
}
METHODS = ["energy-momentum", "stabilised", "realtime", "verlet", "midpoint", "bdf1", "exprb42"]


def response(kind, shape, stiffness, friction):
    if kind == "projection":
        return ProjectedContact(shape, min(friction, 1.0))
    if kind == "held":
        return Held(shape, stiffness)
    return Contact(shape, stiffness, friction=friction, margin=0.01)


@drawn(40)
@given(
    st.sampled_from(sorted(SHAPES)),
    st.sampled_from(["contact", "contact", "held", "projection"]),
    st.sampled_from(METHODS),
    st.floats(2.0, 5.0),
    st.sampled_from([0.0, 0.4, 1.0]),
    st.sampled_from([1e-3, 4e-3, 1 / 60]),
    st.integers(0, 10**6),
)
def test_shapes_that_stand_still_add_nothing(shape, kind, method, decade, friction, h, seed):
    rng = np.random.default_rng(seed)
    mesh = meshes.cube(1, side=0.2)
    elastic = Springs(mesh.edges, 200.0) if seed % 2 else Tetrahedra(mesh.tets, 1e4, 0.3)
    touch = response(kind, SHAPES[shape], 10.0**decade, friction)
    system = System(0.1, [elastic, Gravity(), touch], rest=mesh.positions)
    x = mesh.positions + np.array([0.05, 0.03, 0.2])
    v = np.tile(rng.uniform(-1, 1, 3) - [0, 0, 2.0], (8, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StiffWarning)
        warnings.simplefilter("ignore", Advice)
        try:
            run = simulate(system, x, v, integrator=method, step=h, duration=40 * h)
        except SimulationFailure as failure:
            run = failure.run
    assert np.all(run.energy.added == 0.0)
    assert np.all(np.diff(run.energy.dissipated) >= 0.0)
    assert np.all(run.energy.invented >= 0.0)


def moving(seed):
    """A plane, a ball, a room or a mesh that goes to and fro or turns."""
    rng = np.random.default_rng(seed)
    motion = rotation(axis=rng.standard_normal(3), rate=float(rng.uniform(-20.0, 20.0)))
    if rng.random() < 0.5:
        motion = keyframes([0.0, 0.05, 0.1], [[0, 0, 0], *rng.uniform(-0.1, 0.1, (2, 3))])
    return [
        Plane((0, 0, 0), (0.1, 0, 1), motion=motion),
        Sphere((0, 0, -0.5), 0.5, motion=motion),
        Sphere((0, 0, 0.3), 0.7, inside=True, motion=motion),
        TriangleMesh(BALL.positions - [0, 0, 0.5], BALL.triangles, motion),
    ][int(rng.integers(4))]


@drawn(30)
@example("projection", "verlet", 3.0, 0.0, 4e-3, 8)  # these two gave heat back
@example("held", "midpoint", 4.0, 0.0, 4e-3, 9)
@given(
    st.sampled_from(["contact", "held", "held", "projection", "projection"]),
    st.sampled_from([*METHODS, "bdf2", "neti"]),
    st.floats(2.0, 5.0),
    st.sampled_from([0.0, 0.4, 1.0]),
    st.sampled_from([1e-3, 4e-3, 1 / 60]),
    st.integers(0, 10**6),
)
def test_dissipation_never_falls_on_shapes_that_move(kind, method, decade, friction, h, seed):
    mesh = meshes.cube(1, side=0.2)
    touch = response(kind, moving(seed), 10.0**decade, friction)
    system = System(0.1, [Springs(mesh.edges, 200.0), Gravity(), touch], rest=mesh.positions)
    x = mesh.positions + np.array([0.05, 0.03, 0.2])
    v = np.tile(np.random.default_rng(seed).uniform(-1, 1, 3) - [0, 0, 2.0], (8, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StiffWarning)
        warnings.simplefilter("ignore", Advice)
        try:
            run = simulate(system, x, v, integrator=method, step=h, duration=40 * h, every=h)
        except SimulationFailure as failure:
            run = failure.run
    assert np.all(np.diff(run.energy.dissipated) >= 0.0)
    assert np.all(run.energy.invented == 0.0)


def test_a_particle_on_a_mesh_that_stands_still_keeps_its_energy():
    """The closest triangle changes from step to step."""
    ball = meshes.sphere(16, 24)
    touch = Contact(TriangleMesh(ball.positions, ball.triangles), 4e4)
    start = [[0.05, 0.02, ball.positions[:, 2].max() + 0.1]]
    for method, most in (("energy-momentum", 1e-9), ("stabilised", 0.01)):
        run = simulate(
            System([1.0], [Gravity(), touch]), start, integrator=method, step=4e-3, duration=1.0
        )
        assert run.energy.contact.max() > 0.0 and np.all(run.energy.added == 0.0)
        assert np.abs(run.energy.numerical).max() < most * run.energy.exchanged


def test_what_projection_invents_is_numerical():
    """Put back onto the surface, a particle is lifted in gravity: nobody does that work."""
    system = System([1.0], [Gravity(), ProjectedContact(Plane((0, 0, 0), (0, 0, 1)), 0.0)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StiffWarning)
        run = simulate(system, [[0.0, 0, 1e-9]], integrator="verlet", step=0.1, duration=1.0)
    assert np.all(run.energy.added == 0.0)
    summary = run.energy.summary()
    assert summary["contact"] == run.energy.invented[-1] >= 0.0


@pytest.mark.parametrize("seed", thinned([5, 3, 7, *range(100, 120)]))
def test_bodies_that_meet(seed):
    outcome = trial(seed)
    assert not outcome.broken, outcome
