"""What scene files build, against the same thing written in Python."""

from __future__ import annotations

import numpy as np
import pytest

from stiffly import collisions, meshes, simulate
from stiffly.bodies import (
    Dashpots,
    Drag,
    Force,
    Gravity,
    Keyframes,
    MotorTorque,
    Rotation,
    Springs,
    StokesFluid,
    System,
    Tetrahedra,
    Wind,
    cloth_springs,
    fibers,
    lumped_mass,
    shell_springs,
    tet_springs,
)
from stiffly.contracts import State
from stiffly.scenes import files
from stiffly.scenes.schema import shapes

RUN = "duration = 1.0\nstep = 0.01\n"


def read(folder, text):
    path = folder / "scene.toml"
    path.write_text(RUN + text, encoding="utf-8")
    return files.check(path)


def forces(system, x, v):
    bound, state = system.bind(x, v)
    return bound.force(state), dict(bound.energy(state))


def agree(scene, system, without=None) -> None:
    """Forces and energies of both at the scene's start, shaken and moving; and others than those
    of the system `without` what is tested."""
    rng = np.random.default_rng(3)
    x = scene.x0 + 0.01 * rng.standard_normal(scene.x0.shape)
    v = rng.standard_normal(scene.x0.shape)
    for fixed in (scene.system.fixed, system.fixed):
        v[fixed] = 0.0
    ours, expected = forces(scene.system, x, v), forces(system, x, v)
    assert np.allclose(ours[0], expected[0], rtol=1e-12, atol=1e-12 * np.abs(expected[0]).max())
    assert ours[1] == pytest.approx(expected[1], rel=1e-12)
    if without is not None:
        assert np.abs(forces(without, x, v)[0] - ours[0]).max() > 1e-6 * np.abs(ours[0]).max()
    assert np.allclose(scene.system.mass.apply(v[system.free].ravel()),
                       system.mass.apply(v[system.free].ravel()), rtol=1e-13)  # fmt: skip


# ------------------------------------------------------------------ elasticity

CLOTH = "[[body]]\nshape = { kind = 'cloth', nx = 4, ny = 5, spacing = 0.1 }\nmass = 0.4\n"
BAR = "[[body]]\nshape = { kind = 'bar', along = 5, across = [2, 3] }\ndensity = 900.0\n"
SHEET, SOLID = meshes.cloth(4, 5, spacing=0.1), meshes.bar(5, (2, 3))
SPRINGS = {
    "one stiffness": (
        "elasticity = 'springs'\nstiffness = 30.0\nlaw = 'cubic'\n",
        [Springs(SHEET.edges, 30.0, law="cubic")],
    ),
    "by groups": (
        "elasticity = 'springs'\nstiffness = { bending = 2.0, structural = 50.0 }\n",
        [*cloth_springs(SHEET, 50.0, None, 2.0)],
    ),
    "cloth": (
        "elasticity = 'cloth'\nstructural = 50.0\nshear = 10.0\nbending = 2.0\n",
        [*cloth_springs(SHEET, 50.0, 10.0, 2.0)],
    ),
    "yielding": (
        "elasticity = 'cloth'\nstructural = 50.0\nyield_strain = 0.1\n",
        [*cloth_springs(SHEET, 50.0, yield_strain=0.1)],
    ),
    "shell": (
        "elasticity = 'shell'\nstiffness = 50.0\n",
        [*shell_springs(SHEET, 50.0)],
    ),
    "dashpots": (
        "elasticity = 'shell'\nstiffness = 50.0\nbending = 3.0\ndashpots = 0.2\n",
        [*shell_springs(SHEET, 50.0, 3.0), Dashpots(SHEET.edges, 0.2)],
    ),
    "none": ("elasticity = 'none'\n[[load]]\nkind = 'gravity'\n", [Gravity()]),
}


@pytest.mark.parametrize("name", SPRINGS)
def test_springs(name, tmp_path):
    text, parts = SPRINGS[name]
    n = len(SHEET.positions)
    agree(read(tmp_path, CLOTH + text), System(np.full(n, 0.4 / n), parts, rest=SHEET.positions))


@pytest.mark.parametrize("material", ["corotated", "stvk", "neo-hookean"])
def test_tetrahedra(material, tmp_path):
    text = f"elasticity = 'tetrahedra'\nyoung = 1e4\npoisson = 0.3\nmaterial = '{material}'\n"
    mass = lumped_mass(SOLID.positions, SOLID.tets, 900.0)
    part = Tetrahedra(SOLID.tets, 1e4, 0.3, material)
    agree(read(tmp_path, BAR + text), System(mass, [part], rest=SOLID.positions))


def test_tet_springs(tmp_path):
    text = "elasticity = 'tet-springs'\nstiffness = 100.0\nface = 20.0\n"
    mass = lumped_mass(SOLID.positions, SOLID.tets, 900.0)
    agree(read(tmp_path, BAR + text), System(mass, tet_springs(SOLID, 100.0, 20.0),
                                             rest=SOLID.positions))  # fmt: skip


def test_fibers_from_roots_and_along_a_line(tmp_path):
    text = (
        "[[body]]\nshape = { kind = 'hair-cap', count = 3, segments = 4 }\nelasticity = 'fibers'\n"
        "thickness = [1e-3, 5e-4]\nyoung = 1e9\ntorsional = 4e8\ndensity = 1000.0\n"
        "pins = ['root']\n"
    )
    options = {"young": 1e9, "torsional": 4e8, "density": 1000.0}
    body = fibers(meshes.hair_cap(3).centrelines(4), thickness=(1e-3, 5e-4), **options)
    scene = read(tmp_path, text)
    agree(scene, System(body.mass, [body.part], fixed=body.root, rest=body.positions))
    assert set(scene.mesh.vertex_sets) == {"root", "tip"}
    ends = body.positions[scene.mesh.vertex_sets["tip"]].reshape(3, 4, 3).mean(axis=1)
    assert np.allclose(ends, meshes.hair_cap(3).centrelines(4)[:, -1])

    text = text.replace("'hair-cap', count = 3, segments = 4", "'rope', particles = 6")
    line = fibers([meshes.rope(6).positions], thickness=(1e-3, 5e-4), **options)
    agree(
        read(tmp_path, text), System(line.mass, [line.part], fixed=line.root, rest=line.positions)
    )


def test_masses(tmp_path):
    """The whole mass, a density of tets, a density of triangles: all add up to what they should."""
    text = "[[body]]\nshape = { kind = 'cube', cells = 3, side = 0.5 }\nelasticity = 'none'\n"
    for key, total in (("mass", 2.0), ("density", 2.0 * 0.5**3), ("area_density", 2.0 * 6 * 0.25)):
        if key == "area_density":  # the inside of a cube has no triangles
            text = text.replace("cells = 3", "cells = 1")
        scene = read(tmp_path, text + f"{key} = 2.0\n")
        masses = scene.system.mass.apply(np.ones(scene.system.size))
        assert masses.sum() == pytest.approx(3.0 * total)


@pytest.mark.parametrize("kind", sorted(shapes.MEANINGS))
def test_every_shape_is_a_function_with_these_arguments(kind):
    """Types and defaults come from it; `kind` and the meanings are ours. A part of a shape, its
    `layers`, is for bodies that are built rank by rank: a file has all of it."""
    import inspect

    parameters = dict(inspect.signature(shapes.function_of(kind)).parameters)
    parameters.pop("layers", None)
    expected = set(parameters)
    assert set(shapes.MEANINGS[kind]) == expected
    model = shapes.KINDS[kind]
    extra = {"kind", "segments"} if kind in shapes.ROOTS else {"kind"}
    assert set(model.model_fields) == expected | extra
    if kind != "lattice":
        defaults = {k: p.default for k, p in parameters.items()}
        assert model(kind=kind).arguments() == defaults


def test_every_shape_of_the_library_is_offered():
    from stiffly.meshes import Mesh, Roots

    found = []
    for name in meshes.__all__:
        made = getattr(getattr(meshes, name), "__annotations__", {}).get("return")
        if made in (Mesh, Roots, "Mesh", "Roots"):
            found.append(name.replace("_", "-"))
    others = {"decimate", "read-mesh", "repaired", "shell", "tetrahedralise"}  # these take a mesh
    assert set(found) - others == set(shapes.MEANINGS)


# ------------------------------------------------------------------ places and starts


def test_bodies_are_scaled_turned_shifted_and_stretched(tmp_path):
    text = (
        "[[body]]\nshape = { kind = 'particles', positions = [[1, 0, 0], [0, 1, 0], [0, 0, 2]] }\n"
        "elasticity = 'none'\nmass = 3.0\nscale = 2.0\nposition = [10, 0, 0]\n"
        "rotation = { axis = [0, 0, 2], degrees = 90.0 }\nstretch = [1.5, 1.0, 0.5]\n"
    )
    scene = read(tmp_path, text)
    rest = [[10, 2, 0], [8, 0, 0], [10, 0, 4]]
    start = [[10, 3, 0], [8, 0, 0], [10, 0, 2]]  # stretched along the body's own x, y, z
    assert np.allclose(scene.mesh.positions, rest) and np.allclose(scene.x0, start)


def test_velocity_and_spin(tmp_path):
    """Linear and angular momentum are those of a rigid body; what is pinned does not move."""
    text = BAR + (
        "elasticity = 'tetrahedra'\nyoung = 1e4\npoisson = 0.3\n"
        "velocity = [1, 2, 3]\nspin = [0, 0, 4]\n"
    )
    scene = read(tmp_path, text)
    m = lumped_mass(SOLID.positions, SOLID.tets, 900.0)
    centre = m @ scene.x0 / m.sum()
    assert np.allclose(m @ scene.v0, m.sum() * np.array([1, 2, 3]))
    r = scene.x0 - centre
    inertia = m @ (r[:, 0] ** 2 + r[:, 1] ** 2)
    assert (m @ np.cross(r, scene.v0))[2] == pytest.approx(4.0 * inertia)
    pinned = read(tmp_path, text + "pins = ['left']\n")
    assert np.all(pinned.v0[pinned.system.fixed] == 0.0) and len(pinned.system.fixed) == 6


@pytest.mark.parametrize(
    "pins, chosen",
    [
        ("['left']", [0, 1, 2, 3, 4]),
        ("[0, -1, 3]", [0, 3, 19]),
        ("['corners', 1]", [0, 1, 4, 15, 19]),
        ("[{ box = [[0.25, -1, -1], [1, 0.05, 1]] }]", [15]),
        ("[{ plane = { point = [0.3, 0, 0], normal = [5, 0, 0] } }]", [15, 16, 17, 18, 19]),
        ("[{ box = [[0, 0, 0], [0, 0, 0]] }, 'right']", [0, 15, 16, 17, 18, 19]),
    ],
)
def test_pins(pins, chosen, tmp_path):
    scene = read(tmp_path, CLOTH + f"elasticity = 'cloth'\nstructural = 1.0\npins = {pins}\n")
    assert scene.system.fixed.tolist() == chosen


def test_regions_look_at_the_body_in_its_place(tmp_path):
    text = CLOTH + "elasticity = 'cloth'\nstructural = 1.0\nposition = [0, 0, 7]\n"
    scene = read(tmp_path, text + "pins = [{ box = [[0, 0, 6.9], [0.05, 0.05, 7.1]] }]\n")
    assert scene.system.fixed.tolist() == [0]


# ------------------------------------------------------------------ several bodies

TWO = (
    "[[body]]\nname = 'sheet'\nshape = { kind = 'cloth', nx = 4, ny = 5, spacing = 0.1 }\n"
    "elasticity = 'cloth'\nstructural = 50.0\nshear = 10.0\nbending = 2.0\nmass = 0.4\n"
    "pins = ['left']\n"
    "[[body]]\nshape = { kind = 'bar', along = 5, across = [2, 3] }\nposition = [0, 0, 5]\n"
    "elasticity = 'tetrahedra'\nyoung = 1e4\npoisson = 0.3\ndensity = 900.0\npins = ['right']\n"
)


def joined(parts=(), height=5.0, **options):
    """The two bodies of TWO, by hand."""
    n, m = len(SHEET.positions), len(SOLID.positions)
    rest = np.concatenate([SHEET.positions, SOLID.positions + np.array([0, 0, height])])
    mass = np.concatenate([np.full(n, 0.4 / n), lumped_mass(SOLID.positions, SOLID.tets, 900.0)])
    fixed = np.concatenate([SHEET.vertex_sets["left"], n + SOLID.vertex_sets["right"]])
    own = [*cloth_springs(SHEET, 50.0, 10.0, 2.0), Tetrahedra(SOLID.tets + n, 1e4, 0.3)]
    assert len(rest) == n + m
    return System(mass, [*own, *parts], fixed=fixed, rest=rest, **options)


def test_two_bodies_are_one_system(tmp_path):
    scene = read(tmp_path, TWO)
    agree(scene, joined())
    mesh, n = scene.mesh, len(SHEET.positions)
    assert np.array_equal(mesh.tets, SOLID.tets + n)
    assert np.array_equal(mesh.triangles, np.concatenate([SHEET.triangles, SOLID.triangles + n]))
    assert np.array_equal(mesh.vertex_sets["bar left"], SOLID.vertex_sets["left"] + n)
    assert np.array_equal(mesh.edges[mesh.edge_groups["sheet bending"]],
                          SHEET.edges[SHEET.edge_groups["bending"]])  # fmt: skip


LOADS = {
    "wind on one": (
        "[[load]]\nkind = 'wind'\nwind = [1, 2, 3]\ndensity = 2.0\nbodies = ['sheet']\n",
        lambda n: [Wind(SHEET.triangles, (1, 2, 3), density=2.0)],
    ),
    "wind on all": (
        "[[load]]\nkind = 'wind'\nwind = [1, 2, 3]\n",
        lambda n: [Wind(np.concatenate([SHEET.triangles, SOLID.triangles + n]), (1, 2, 3))],
    ),
    "drag on one": (
        "[[load]]\nkind = 'drag'\ncoefficient = 0.3\npower = 2\nbodies = ['bar']\n",
        lambda n: [Drag(np.repeat([0.0, 0.3], [n, len(SOLID.positions)]), 2)],
    ),
    "force": (
        "[[load]]\nkind = 'force'\nbody = 'bar'\nparticles = ['left']\nforce = [0, 0, 2]\n",
        lambda n: [Force(n + SOLID.vertex_sets["left"], (0, 0, 2))],
    ),
    "gravity": ("[[load]]\nkind = 'gravity'\ng = [0, 1, 0]\n", lambda n: [Gravity((0, 1, 0))]),
    "floor under one": (
        "[[collider]]\nkind = 'plane'\npoint = [0, 0, 5]\nstiffness = 70.0\nmargin = 0.05\n"
        "bodies = ['bar']\n",
        lambda n: [collisions.Contact(collisions.Plane((0, 0, 5), (0, 0, 1)), 70.0,
                                      np.arange(n, n + len(SOLID.positions)), margin=0.05)],
    ),
    "half a ball": (
        "[[collider]]\nkind = 'hemisphere'\ncentre = [0, 0, -0.1]\nradius = 0.2\nstiffness = 9.0\n",
        lambda n: [collisions.Contact(collisions.Hemisphere((0, 0, -0.1), 0.2), 9.0)],
    ),
    "a mesh": (
        "[[collider]]\nkind = 'triangle-mesh'\nshape = { kind = 'sphere', rings = 5 }\n"
        "scale = 3.0\nposition = [0.1, 0.1, -0.2]\nstiffness = 40.0\n",
        lambda n: [collisions.Contact(collisions.TriangleMesh(
            3.0 * meshes.sphere(5).positions + [0.1, 0.1, -0.2], meshes.sphere(5).triangles), 40)],
    ),
    "motor": (
        "[[load]]\nkind = 'motor'\ntorque = 0.3\nbase = { body = 'bar', particles = ['left'] }\n"
        "counter = { body = 'sheet', particles = ['corners'] }\n",
        lambda n: [MotorTorque(0.3, n + SOLID.vertex_sets["left"], SHEET.vertex_sets["corners"])],
    ),
    "fluid": (
        "[[load]]\nkind = 'stokes-fluid'\nviscosity = 0.2\nblob = 0.05\nbodies = ['sheet']\n",
        lambda n: [StokesFluid(0.2, 0.05, np.arange(n))],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LOADS)
def test_loads_and_colliders(name, tmp_path):
    text, parts = LOADS[name]
    agree(read(tmp_path, TWO + text), joined(parts(len(SHEET.positions))), without=joined())


def test_contact_between_bodies(tmp_path):
    text = TWO.replace("[0, 0, 5]", "[0, 0, 0.2]") + "[contact]\nthickness = 0.3\nstiffness = 5.0\n"
    scene = read(tmp_path, text)
    n = len(SHEET.positions)
    faces = np.concatenate([SHEET.triangles, SOLID.triangles + n])
    part = collisions.Repulsion(faces, thickness=0.3, stiffness=5.0)
    agree(scene, joined([part], height=0.2), without=joined(height=0.2))


def test_attachments_pull_back_to_where_they_began(tmp_path):
    text = TWO + "[[attachment]]\nbody = 'sheet'\nparticles = ['right']\nstiffness = 4.0\n"
    scene = read(tmp_path, text)
    bound, state = scene.system.bind(scene.x0, scene.v0)
    away = state.moved(0.0, state.x + 0.1, state.v)  # 0.1 m along x, y and z, five particles
    assert bound.energy(away)["attachment"] == pytest.approx(5 * 0.5 * 4.0 * 0.03)


def test_lines_stand_for_bodies_without_triangles_in_contact(tmp_path):
    text = (
        "[[body]]\nshape = { kind = 'rope', particles = 5 }\nelasticity = 'springs'\n"
        "stiffness = 10.0\nmass = 1.0\n"
        "[[body]]\nshape = { kind = 'rope', particles = 5 }\nname = 'other'\n"
        "position = [0.5, 0.45, 0.02]\nrotation = { axis = [0, 0, 1], degrees = -90 }\n"
        "elasticity = 'springs'\nstiffness = 10.0\nmass = 1.0\n"
        "[contact]\nthickness = 0.05\nstiffness = 100.0\n"
    )
    scene = read(tmp_path, text)
    bound, state = scene.system.bind(scene.x0, scene.v0)
    assert bound.energy(state)["contact"] > 0.0  # they cross 0.02 m above each other


MOTIONS = {
    "keyframes": (
        "{ kind = 'keyframes', times = [0, 1], offsets = [[0, 0, 0], [0, 0, 2]] }",
        lambda rows: Keyframes(rows, [0, 1], [[0, 0, 0], [0, 0, 2]]),
    ),
    "rate": (
        "{ kind = 'rotation', axis = [0, 1, 0], centre = [1, 0, 0], rate = 3.0 }",
        lambda rows: Rotation(rows, axis=(0, 1, 0), centre=(1, 0, 0), rate=3.0),
    ),
    "angles": (
        "{ kind = 'rotation', axis = [0, 1, 0], times = [0, 2], angles = [0, 1.5] }",
        lambda rows: Rotation(rows, axis=(0, 1, 0), times=[0, 2], angles=[0, 1.5]),
    ),
}


@pytest.mark.parametrize("name", MOTIONS)
def test_supports_and_moving_colliders(name, tmp_path):
    text, motion = MOTIONS[name]
    n = len(SHEET.positions)
    led = f"[[support]]\nbody = 'bar'\nparticles = ['left']\nmotion = {text}\n"
    scene = read(tmp_path, TWO + led)
    rows = n + SOLID.vertex_sets["left"]
    expected = joined(supports=motion(rows))
    agree(scene, expected)
    bound, _ = scene.system.bind(scene.x0)
    other, _ = expected.bind(scene.x0)
    assert np.allclose(bound.support_velocities(0.4), other.support_velocities(0.4))
    moving = f"[[collider]]\nkind = 'plane'\nstiffness = 1.0\nmotion = {text}\n"
    floor = read(tmp_path, TWO + moving).colliders[0]
    place = motion(()).place(0.4, np.zeros((1, 3)))[0][0]
    assert np.allclose(floor.frame(0.4).points(np.zeros(3)), place)


@pytest.mark.parametrize(
    "response, kind",
    [
        ("response = 'penalty'\nstiffness = 1e3\nfriction = 0.1\n", collisions.Contact),
        ("response = 'projection'\n", collisions.ProjectedContact),
        ("response = 'held'\nstiffness = 1e3\nmargin = 0.01\n", collisions.Held),
    ],
)
def test_responses_keep_a_cube_above_the_floor(response, kind, tmp_path, monkeypatch):
    made = []
    original = kind.__init__

    def spy(self, *args, **kwargs):
        made.append(type(self))
        original(self, *args, **kwargs)

    monkeypatch.setattr(kind, "__init__", spy)
    text = (
        "[[body]]\nshape = { kind = 'cube', cells = 1, side = 0.2 }\nposition = [0, 0, 0.15]\n"
        "elasticity = 'springs'\nstiffness = 500.0\nmass = 0.4\n"
        "[[load]]\nkind = 'gravity'\n[[collider]]\nkind = 'plane'\n"
    )
    scene = read(tmp_path, text + response)
    assert made == [kind]
    run = simulate(scene, step=2e-3, duration=0.3, integrator="midpoint")
    assert run.positions[:, :, 2].min() > -0.03


def test_swinging_loads_and_damping(tmp_path):
    text = CLOTH + (
        "elasticity = 'none'\n[[load]]\nkind = 'field'\nacceleration = [1, 0, 0]\n"
        "swing = { amplitude = [0, 2, 0], period = 0.8 }\n"
        "[damping]\nalpha = 0.5\n"
    )
    scene = read(tmp_path, text)
    bound, state = scene.system.bind(scene.x0, np.ones_like(scene.x0))
    for t in (0.0, 0.2, 0.3):
        a = bound.acceleration(State(t, state.x, state.v)).reshape(-1, 3)
        assert np.allclose(a, np.array([1, 2 * np.sin(2 * np.pi * t / 0.8), 0]) - 0.5)


def test_a_walker_weighs_the_same_all_along_its_path(tmp_path):
    """On a fine sheet its weight acts where it is; on what it does not walk over, nothing does."""
    sheet = (
        "[[body]]\nname = '{}'\nshape = {{ kind = 'cloth', nx = 41, ny = 21, spacing = 0.05 }}\n"
    )
    text = "".join(sheet.format(name) + "elasticity = 'none'\nmass = 1.0\n" for name in "ab") + (
        "[[load]]\nkind = 'walker'\nweight = 300.0\nwidth = 0.1\nbodies = ['b']\n"
        "times = [1, 2, 4]\npath = [[0.5, 0.5, 0], [1.5, 0.5, 0], [1.5, 0.6, 0]]\n"
    )
    scene = read(tmp_path, text)
    bound, state = scene.system.bind(scene.x0, scene.v0)
    for t, here in ((1.0, (0.5, 0.5)), (1.51, (1.01, 0.5)), (3.0, (1.5, 0.55)), (4.0, (1.5, 0.6))):
        f = bound.force(State(t, state.x, state.v)).reshape(2, -1, 3)
        assert not f[0].any() and not f[1, :, :2].any() and f[1, :, 2].max() <= 0.0
        assert f[1, :, 2].sum() == pytest.approx(-300.0)
        centre = f[1, :, 2] @ scene.x0.reshape(2, -1, 3)[1] / -300.0
        assert centre[:2] == pytest.approx(here, abs=1e-3)
    for t in (0.99, 4.01):
        assert not bound.force(State(t, state.x, state.v)).any()


BALL = "[[body]]\nmesh = 'ball.ply'\nmass = 1.0\n"


def test_meshes_from_files_are_thinned(tmp_path):
    meshes.write_mesh(tmp_path / "ball.ply", meshes.sphere(9, 16, radius=0.5))
    shell = read(tmp_path, BALL + "elasticity = 'shell'\nstiffness = 10.0\ndecimate = 60\n")
    assert len(shell.x0) == pytest.approx(60, rel=0.05)


def test_meshes_from_files_are_filled(tmp_path):
    meshes.write_mesh(tmp_path / "ball.ply", meshes.sphere(9, 16, radius=0.5))
    solid = read(
        tmp_path,
        BALL + "elasticity = 'tetrahedra'\nyoung = 1e4\npoisson = 0.3\ntetrahedralise = 120\n",
    )
    assert len(solid.mesh.tets) > 100 and np.ptp(solid.x0[:, 2]) == pytest.approx(1.0, rel=0.1)
