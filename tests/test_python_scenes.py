"""Scenes built in Python: the same as their files, and what bodies do to each other."""

import copy
import re
import warnings

import numpy as np
import pytest
from thinned import thinned

import stiffly
from stiffly import meshes, shapes
from stiffly.errors import Advice, InputError
from stiffly.scenes import files

SAME = 1e-12


def particles_of(scene, name):
    return scene.build().mesh.bodies[name].particles


def ball_over_cloth(**keys):
    """A rigid ball above a cloth that is held at its corners."""
    scene = stiffly.Scene("ball", duration=0.05, step=0.005, fps=100, **keys)
    cloth = scene.add(shapes.cloth(6, 6, spacing=0.1), pins=[0, 5, -1, -6])
    place = {"position": (0.25, 0.25, 0.17), "mass": 0.2, "color": "red"}
    ball = scene.add(shapes.sphere(3, 6, radius=0.1), elasticity="rigid", **place)
    return scene, cloth, ball


def falling_pair(join):
    """Two rigid cubes that touch at a corner line, joined, thrown and spun in free fall."""
    scene = stiffly.Scene("pair", duration=0.3, step=0.01, gravity=0.0)
    made = {"elasticity": "rigid", "mass": 1.0}
    a = scene.add(shapes.cube(1, side=0.2), "a", **made, spin=(1.0, 2.0, 0.5))
    b = scene.add(shapes.cube(1, side=0.2), "b", **made, position=(0.2, 0.0, 0.0))
    join(scene, a, b)
    return scene


# ------------------------------------------------------------------ one mechanism


def test_a_scene_and_its_file_are_one(tmp_path):
    scene, *_ = ball_over_cloth()
    scene.wind((1.0, 0.0, 0.0), gusts=(1.0, 0.0, 0.0), period=0.5)
    scene.floor(-1.0)
    built, read = scene.build(), files.read(scene.save(tmp_path / "mine.toml"))
    assert files.to_toml(built) == files.to_toml(read)
    a, b = stiffly.simulate(scene), stiffly.simulate(read)
    np.testing.assert_array_equal(a.positions, b.positions)


def test_a_recorded_scene_is_resumed_from_its_folder(tmp_path):
    scene, *_ = ball_over_cloth(output={"dtype": "float64"})
    run = scene.simulate(out=tmp_path / "run", dtype="float64")
    longer = stiffly.resume(tmp_path / "run", duration=0.1)
    again = scene.simulate(duration=0.1)
    np.testing.assert_array_equal(longer.positions[-1], again.positions[-1])
    assert list(run.mesh.bodies) == ["cloth", "sphere"]
    assert run.mesh.bodies["sphere"].color == pytest.approx((213 / 255, 94 / 255, 0.0))


def test_what_no_file_can_hold_is_handed_in(tmp_path):
    scene, cloth, _ = ball_over_cloth()
    scene.force(cloth, lambda t, x: -x)
    with pytest.raises(InputError, match="written in Python, which no scene file can: run it from"):
        scene.save(tmp_path / "mine.toml")
    scene.simulate(out=tmp_path / "run")
    with pytest.raises(InputError, match="hand in the one it was begun with"):
        stiffly.resume(tmp_path / "run", duration=0.1)
    assert stiffly.resume(tmp_path / "run", scene, duration=0.1).complete


def test_a_mesh_of_python_is_saved_beside_the_file(tmp_path):
    scene = stiffly.Scene("own", duration=0.05)
    scene.add(meshes.cube(2, side=0.2), "jelly", position=(0, 0, 1))
    read = files.read(scene.save(tmp_path / "mine.toml"))
    assert (tmp_path / "mine-jelly.vtk").exists()
    np.testing.assert_allclose(read.x0, scene.build().x0, atol=1e-7)


def test_meshes_of_python_are_colliders_too(tmp_path):
    scene = stiffly.Scene("stones", duration=0.05, gravity=(0, 0, -1.62))
    scene.add(meshes.rope(3), position=(0, 0, 1))
    for x in (0.0, 1.0):
        scene.collider(meshes.sphere(5, 8, radius=0.2), position=(x, 0, 0), friction=0.3)
    read = files.read(scene.save(tmp_path / "stones.toml"))
    for found in (scene.build(), read):
        assert [shape.positions[:, 0].mean() for shape in found.colliders] == pytest.approx(
            [0.0, 1.0], abs=1e-6
        )
        assert found.file.load[0].g == (0.0, 0.0, -1.62)


def test_names_scene_files_and_paths_can_be_simulated(tmp_path):
    scene, *_ = ball_over_cloth()
    path = scene.save(tmp_path / "mine.toml")
    run = stiffly.simulate(path)
    assert run.name == "mine" and len(run.mesh.bodies) == 2
    with pytest.raises(InputError, match="unknown scene clot: did you mean cloth"):
        stiffly.simulate("clot")


@pytest.mark.parametrize(
    "kind, elasticity",
    [
        ("cloth", "cloth"), ("cube", "tetrahedra"), ("sphere", "tetrahedra"), ("rope", "springs"),
        ("lattice", "springs"), ("hair_cap", "fibers"), ("pylon", "springs"),
    ],
)  # fmt: skip
def test_what_is_left_out_is_chosen_by_the_shape(kind, elasticity):
    arguments = {"lattice": {"nx": 3}, "hair_cap": {"count": 4}, "cube": {"cells": 2}}
    scene = stiffly.Scene()
    scene.add(getattr(shapes, kind)(**arguments.get(kind, {})))
    built = scene.build()
    assert built.file.body[0].elasticity == elasticity
    assert built.system.bind(built.x0)[0].mass.size > 0


def test_shapes_are_those_of_the_meshes():
    assert shapes.cloth(30, 20).model_dump()["ny"] == 20
    assert "sphere" in dir(shapes)
    assert shapes.sphere.__doc__ == meshes.sphere.__doc__
    with pytest.raises(AttributeError, match="did you mean sphere"):
        shapes.spher  # noqa: B018
    with pytest.raises(InputError, match=r"shapes.cloth: nx must be a whole number, got 3.5"):
        shapes.cloth(3.5)
    with pytest.raises(InputError, match=r"shapes.cloth: .*unexpected keyword argument 'size'"):
        shapes.cloth(size=3)


# ------------------------------------------------------------------ from body to body


@pytest.mark.slow
def test_a_tie_carries_the_weight_between_bodies():
    """A cube on a rope whose end is attached to it: both momenta of the pair stay in free flight,
    and at rest the rope's force is the weight."""
    scene = stiffly.Scene("plumb", duration=4.0, step=0.02, damping={"alpha": 6.0})
    rope = scene.add(shapes.rope(4, length=0.3, start=(0, 0, 1), direction=(0, 0, -1)),
                     mass=0.01, stiffness=1e4, pins=[0])  # fmt: skip
    cube = scene.add(shapes.cube(1, side=0.1), elasticity="rigid", mass=2.0,
                     position=(0, 0, 0.6))  # fmt: skip
    scene.attach(rope, cube, at=-1, stiffness=1e5)
    run = scene.simulate()
    own = particles_of(scene, "rope")
    x = run.positions[-1][own]
    first = np.linalg.norm(x[1] - x[0]) - 0.1
    assert 1e4 * first == pytest.approx(2.01 * 9.81, rel=2e-3)
    assert {"attachment", "rigid", "elastic"} <= set(run.energy.parts)
    assert abs(run.energy.numerical).max() < 1e-9 * run.energy.exchanged


def test_a_spring_goes_to_the_nearest_and_is_drawn():
    scene = stiffly.Scene("two", duration=0.5, step=0.005, gravity=0.0)
    a = scene.add(shapes.particles([[0, 0, 0]]), "a", elasticity="none", mass=2.0)
    b = scene.add(shapes.particles([[1, 0, 0], [5, 0, 0]]), "b", elasticity="none", mass=4.0)
    scene.spring(a, b, stiffness=100.0, length=0.9)
    run = scene.simulate(integrator="rk4", step=1e-3)
    assert run.mesh.edges.tolist() == [[0, 1]]
    # two masses of 2 kg and a spring stretched by 0.1: gap = 0.9 + 0.1 cos(sqrt(k/mu) t), mu = 1
    gap = run.positions[:, 1, 0] - run.positions[:, 0, 0]
    np.testing.assert_allclose(gap, 0.9 + 0.1 * np.cos(10.0 * run.times), atol=1e-6)
    assert run.energy.springs[0] == pytest.approx(0.5)


JOINS = {
    "ball": lambda scene, a, b: scene.ball_joint(a, b, at=(0.1, 0.0, 0.0)),
    "hinge": lambda scene, a, b: scene.hinge(a, b, at=(0.1, 0.0, 0.1), axis=(0, 1, 0)),
    "motor": lambda scene, a, b: scene.hinge(a, b, at=(0.1, 0, 0.1), axis=(0, 1, 0), torque=0.2),
    "attachment": lambda scene, a, b: scene.attach(a, b, at="top", stiffness=1e5),
    "springs": lambda scene, a, b: scene.spring(a, b, at="top", there="bottom"),
}


@pytest.mark.parametrize("join", thinned(JOINS, keep=("hinge", "attachment")))
def test_what_joins_bodies_keeps_momenta_and_books_its_joules(join):
    scene = falling_pair(JOINS[join])
    run, mass = scene.simulate(), scene.build().system.given.mass
    p = np.einsum("i,fia->fa", mass, run.velocities)
    turning = np.cross(run.positions, run.velocities)
    L = np.einsum("i,fia->fa", mass, turning)
    scale = np.abs(L).max()
    assert abs(p - p[0]).max() < 1e-9 * scale / 0.1
    assert abs(L - L[0]).max() < 1e-8 * scale
    assert abs(run.energy.numerical).max() < 1e-9 * run.energy.exchanged


def test_a_rigid_body_keeps_its_shape_and_spins_as_one():
    """Euler's equations: a free body keeps its spin's energy; distances between its particles stay
    within 1e-4 of its size."""
    scene = stiffly.Scene("stone", duration=1.0, step=0.01, gravity=0.0)
    scene.add(shapes.beam(3, (2, 2)), elasticity="rigid", mass=2.0, spin=(0.1, 0.2, 3.0))
    run = scene.simulate()
    apart = [np.linalg.norm(x[:, None] - x[None], axis=2) for x in run.positions]
    assert max(abs(d - apart[0]).max() for d in apart) < 1e-4 * apart[0].max()
    assert abs(run.energy.kinetic / run.energy.kinetic[0] - 1.0).max() < 1e-3
    assert run.energy.rigid.max() < 1e-3 * run.energy.kinetic[0]


@pytest.mark.slow
def test_a_hinged_bar_swings_as_a_physical_pendulum():
    """Small swings about one end: omega^2 = m g c / I, I of the particles' own masses."""
    scene = stiffly.Scene("pendulum", duration=1.2, step=0.01, every=0.01)
    made = {"elasticity": "rigid", "mass": 1.0}
    wall = scene.add(shapes.cube(1, side=0.1), "wall", **made, pins=["all"])
    bar = scene.add(
        shapes.beam(3, (2, 2), length=0.5, width=0.05, height=0.05), "bar", **made,
        rotation={"axis": (0, 1, 0), "degrees": 87},  # hangs, three degrees off
    )  # fmt: skip
    scene.hinge(wall, bar, at=(0, 0, 0), axis=(0, 1, 0))
    run = scene.simulate()
    x = run.positions[:, particles_of(scene, "bar")]
    centre, inertia = x.mean(axis=1), np.mean(np.sum(x[0][:, [0, 2]] ** 2, axis=1))
    angle = np.arctan2(centre[:, 0], -centre[:, 2])
    before = np.flatnonzero(np.diff(np.sign(angle)))
    crossings = run.times[before] - angle[before] * 0.01 / (angle[before + 1] - angle[before])
    quarter = 0.5 * np.pi / np.sqrt(9.81 * np.linalg.norm(centre[0]) / inertia)
    np.testing.assert_allclose(crossings, [quarter, 3.0 * quarter], rtol=2e-3)
    assert np.ptp(centre[:, 1]) < 1e-4 * 0.5  # nothing sideways


@pytest.mark.slow
def test_a_motor_adds_torque_times_angle():
    scene = stiffly.Scene("motor", duration=0.5, step=0.01, gravity=0.0)
    made = {"elasticity": "rigid", "mass": 2.0}
    hub = scene.add(shapes.cube(1, side=0.1), "hub", **made, pins=["all"])
    rotor = scene.add(shapes.cube(1, side=0.2), "rotor", **made)
    scene.hinge(hub, rotor, at=(0, 0, 0), axis=(0, 0, 1), torque=0.1)
    run = scene.simulate()
    inertia = 2.0 * 2 * 0.1**2  # all particles are as far from the axis
    angle = 0.5 * 0.1 / inertia * run.times**2
    np.testing.assert_allclose(run.energy.added, 0.1 * angle, rtol=1e-3, atol=1e-6)


# ------------------------------------------------------------------ contact, forces, parts


def test_a_ball_rests_on_a_cloth_and_contact_is_recorded():
    scene, *_ = ball_over_cloth()
    scene.contact()
    run = scene.simulate(duration=0.3)
    forces = run.fields["contact-force"]
    assert forces.shape == (len(run.times), 36 + 20) and forces[0].max() == 0.0
    assert forces.max() > 0.2 * 9.81 / 4.0
    own = particles_of(scene, "sphere")
    assert run.positions[-1][own, 2].mean() > 0.0  # it did not fall through


def test_the_recorded_contact_force_is_the_weight_that_rests():
    scene = stiffly.Scene("box", duration=1.0, step=0.01, damping={"alpha": 20.0})
    scene.add(shapes.cube(1, side=0.1), elasticity="rigid", mass=2.0, position=(0, 0, 0.051))
    scene.floor(friction=0.0)
    run = scene.simulate()
    assert run.fields["contact-force"][-1].sum() == pytest.approx(2.0 * 9.81, rel=1e-3)


def test_forces_on_many_particles_in_one():
    scene = stiffly.Scene("many", duration=0.1, step=1e-3, gravity=0.0, integrator="rk4")
    dots = scene.add(
        shapes.particles([[0, 0, 0], [1, 0, 0], [2, 0, 0]]), elasticity="none", mass=3.0
    )
    forces = np.array([[1.0, 0, 0], [0, 2.0, 0], [0, 0, 3.0]])
    scene.force(dots, forces)
    scene.force(dots, (0.0, 0.0, 1.0), at=[0])
    run = scene.simulate()
    forces[0] += (0, 0, 1)
    np.testing.assert_allclose(
        run.positions[-1] - run.positions[0], 0.5 * forces * 0.1**2, atol=SAME
    )


def test_a_force_of_ones_own_of_place_and_velocity():
    """x'' = -4 x - 0.4 x', as a force; the work of both goes to `added`."""
    scene = stiffly.Scene("own", duration=2.0, step=0.01, gravity=0.0, integrator="rk4")
    dot = scene.add(shapes.particles([[1, 0, 0]]), elasticity="none", mass=1.0)
    scene.force(dot, lambda t, x, v: -4.0 * x - 0.4 * v)
    run = scene.simulate()
    w = np.sqrt(4.0 - 0.04)
    t = run.times
    exact = np.exp(-0.2 * t) * (np.cos(w * t) + 0.2 / w * np.sin(w * t))
    np.testing.assert_allclose(run.positions[:, 0, 0], exact, atol=1e-6)
    np.testing.assert_allclose(run.energy.added, run.energy.kinetic, atol=1e-5)


def test_a_part_of_ones_own_has_its_line_in_the_ledger():
    scene, cloth, _ = ball_over_cloth()
    well = stiffly.Potential(
        lambda x: 5.0 * float((x[:, 0] ** 2).sum()), lambda x: x * (10.0, 0.0, 0.0), couples=(),
        name="well",
    )  # fmt: skip
    scene.part(well)
    scene.part(lambda numbers: stiffly.bodies.Attachments(numbers(cloth, [7]), 10.0, name="hand"))
    run = scene.simulate()
    assert {"well", "hand"} <= set(run.energy.parts)
    assert abs(run.energy.numerical).max() < 1e-9 * run.energy.exchanged


def test_led_particles_and_fixed_ties():
    scene = stiffly.Scene("led", duration=0.2, step=0.01)
    rope = scene.add(shapes.rope(5), stiffness=1e3)
    scene.lead(rope, at=0, times=[0.0, 0.2], offsets=[[0, 0, 0], [0, 0, 0.1]])
    scene.attach(rope, at=-1, stiffness=50.0)
    run = scene.simulate()
    assert run.positions[-1, 0, 2] == pytest.approx(0.1)
    assert run.energy.added[-1] > 0.0


# ------------------------------------------------------------------ a scan


@pytest.mark.parametrize("up", ["x", "y", "z"])
def test_a_scan_lies_above_the_floor_whatever_its_axes(up, tmp_path):
    mesh = meshes.bar(4, (3, 3), length=0.3, side=0.1)
    order = {"x": [0, 1, 2], "y": [1, 0, 2], "z": [1, 2, 0]}[up]
    turned = meshes.Mesh(mesh.positions[:, order], mesh.edges, triangles=mesh.triangles)
    if np.linalg.det(np.eye(3)[order]) < 0:
        turned = meshes.Mesh(turned.positions, mesh.edges, triangles=mesh.triangles[:, ::-1])
    meshes.write_mesh(tmp_path / "scan.obj", turned)
    scene = stiffly.dropped(tmp_path / "scan.obj", up=up, particles=60)
    built = scene.build()
    skin = built.mesh.skin.values(built.x0)
    assert np.ptp(skin[:, 2]) == pytest.approx(0.3) and skin[:, 2].min() == pytest.approx(0.075)
    np.testing.assert_allclose(0.5 * (skin.min(axis=0) + skin.max(axis=0))[:2], 0.0, atol=SAME)


@pytest.mark.slow
def test_a_mesh_file_is_simulated(tmp_path):
    meshes.write_mesh(tmp_path / "stone.obj", meshes.cube(1, side=0.1))
    run = stiffly.simulate(tmp_path / "stone.obj", duration=0.01)
    assert run.name == "stone" and len(run.colliders) == 1
    # as stiff as its weight asks for, softer than stone: 20 rho g H
    scene = stiffly.dropped(tmp_path / "stone.obj", particles=30).build()
    assert scene.file.body[0].young == pytest.approx(20.0 * 1000.0 * 9.81 * 0.1)


# ------------------------------------------------------------------ bad input


def wrong(act):
    scene, cloth, ball = ball_over_cloth()
    with pytest.raises(InputError) as caught:
        act(scene, cloth, ball)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    "act, words",
    [
        (lambda s, c, b: s.attach(c, c), "cloth is attached to itself: name another body"),
        (lambda s, c, b: s.spring(c, c), "both ends are the same particles: name two places"),
        (lambda s, c, b: s.ball_joint(b, b, at=(0, 0, 0)), "sphere is joined to itself"),
        (lambda s, c, b: s.hinge(c, b, at=(0, 0, 0), axis=(0, 0, 0)), "turns about an axis: give"),
        (lambda s, c, b: s.ball_joint(c, b, at=(0, 0, 0), torque=1.0), "torque is for hinges"),
        (lambda s, c, b: s.attach(c, (0, 0, 1)), "attached to a body, not to (0, 0, 1): give what"),
        (lambda s, c, b: s.attach(c, "sphere"), "attached to a body, not to 'sphere': give what"),
        (lambda s, c, b: s.attach("cloth", b), "'cloth' is no body of a scene: give what"),
        (lambda s, c, b: s.add(3), "got int: try scene.add(stiffly.shapes.cube())"),
        (
            lambda s, c, b: s.add(shapes.cube(), yong=3),
            "body.yong is not known: did you mean young",
        ),
        (  # `shine` is more like it than any other key of a cloth
            lambda s, c, b: s.add(shapes.cloth(3, 3), stifness=3),
            'body.stifness is not known with elasticity = "cloth": stiffness belongs to',
        ),
        (
            lambda s, c, b: s.attach(c, b, at=[99]) or s.build(),
            "attachment: there is no particle 99 of cloth: the last is 35",
        ),
        (
            lambda s, c, b: s.walker(9.0, path=[(0, 0, 0), (1, 0, 0)]),
            "load.times is missing: when it is at each point",
        ),
        (lambda s, c, b: s.add(shapes.cube(), color="pink"), "body.color"),
        (lambda s, c, b: s.add(shapes.cube(), texture="a.png"), "shapes have none: give mesh ="),
        (lambda s, c, b: s.add(shapes.cube(), pins=[999]), "body.pins: there is no particle 999"),
        (lambda s, c, b: s.add(shapes.rope(), pins=["to"]), "body.pins: unknown set of particles"),
        (lambda s, c, b: s.add(shapes.cube(), 3), "the name of a body must be a text, got int"),
        (lambda s, c, b: s.add(shapes.cube(), elasticity=["a"]), "body.elasticity"),
        (lambda s, c, b: s.force(c, [[1.0], [1.0, 2.0]]), "force must hold numbers, got rows of"),
        (lambda s, c, b: stiffly.Scene(None), "the name of a scene must be a text, got NoneType"),
        (lambda s, c, b: s.add("missing.obj"), "missing.obj does not exist: check the path"),
        (lambda s, c, b: s.wind((1, 0)), "load.wind has too few numbers"),
        (lambda s, c, b: s.add(shapes.cloth(3, 3), elasticity="rigid") and s.build(), "is flat"),
        (lambda s, c, b: stiffly.dropped("a.obj", up="w"), "give 'x', 'y' or 'z'"),
        (lambda s, c, b: stiffly.dropped("a.obj", up=["z"]), "give 'x', 'y' or 'z'"),
        (lambda s, c, b: stiffly.dropped("a.obj", density="much"), "density must be one number"),
        (lambda s, c, b: stiffly.dropped("a.obj", repair=[1]), "repair must be True or False"),
        (lambda s, c, b: stiffly.Scene(gravity="moon"), "gravity must hold numbers, got text"),
        (
            lambda s, c, b: stiffly.Scene(gravity=-9.81),
            "gravity=-9.81 pulls upwards: give 9.81, do",
        ),
        (lambda s, c, b: s.simulate(stp=0.1), "option of simulate stp: did you mean step?"),
        (
            lambda s, c, b: s.simulate(damping=1.0),
            "damping is the system's, not the run's: give it",
        ),
        (lambda s, c, b: stiffly.simulate(s, fixed=[0]), "fixed is the system's, not the run's"),
        (lambda s, c, b: stiffly.Scene(duration=-1.0), "duration must be greater than 0, got -1"),
        (lambda s, c, b: stiffly.Scene(stp=0.1), "stp is not known: did you mean step?"),
    ],
)
def test_one_line_with_cause_and_remedy(act, words):
    assert words in wrong(act)


@pytest.mark.parametrize(
    "x, times, words",
    [
        (50.0, [0, 1], r"walker: its path stays 49 m away from what carries it: check path and"),
        (0.0, [1, 2], r"walker: it comes at 1 s, when the 1 s are over: check times"),
        (0.0, [0.9, 2], None),
    ],
)
def test_a_walker_that_will_not_be_felt_is_told(x, times, words):
    scene = stiffly.Scene(duration=1.0)
    scene.add(shapes.rope(5, length=1.0))
    scene.walker(9.0, path=[(x, 0, 0), (x + 1, 0, 0)], times=times)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        scene.build()
    assert len(said) == (words is not None)
    assert all(word.category is Advice and word.filename == __file__ for word in said)
    assert all(re.match(words, str(word.message)) for word in said)


OF_ANOTHER = [
    lambda s, own, b: s.attach(b),
    lambda s, own, b: s.attach(own, b),
    lambda s, own, b: s.spring(own, b),
    lambda s, own, b: s.hinge(own, b, at=(0, 0, 0), axis=(0, 0, 1)),
    lambda s, own, b: s.lead(b, times=[0, 1], offsets=[(0, 0, 0), (0, 0, 1)]),
    lambda s, own, b: s.contact(bodies=[b]),
    lambda s, own, b: s.force(b, (0, 0, 1)),
    lambda s, own, b: s.force(b, lambda t: (0, 0, 1)),
]


@pytest.mark.parametrize("act", OF_ANOTHER)
def test_bodies_of_another_scene_are_refused_though_they_have_the_same_name(act):
    mine, other = stiffly.Scene("mine"), stiffly.Scene("other")
    own, theirs, first = (scene.add(shapes.cube()) for scene in (mine, other, mine))
    assert own.name == theirs.name
    before = repr(mine)
    with pytest.raises(InputError, match="cube is a body of another scene: add it to mine, too"):
        act(mine, first, theirs)
    assert repr(mine) == before


def test_a_copy_of_a_scene_knows_its_bodies():
    scene = stiffly.Scene()
    body = scene.add(shapes.rope(4))
    other = copy.deepcopy(scene)
    other.attach(body, at=[0])
    assert len(other.build().x0) == len(scene.build().x0) and repr(other) != repr(scene)


def test_errors_of_a_force_are_the_users_own():
    scene = stiffly.Scene()
    body = scene.add(shapes.rope(4), pins=[0])
    scene.force(body, lambda t, x: x + 1 // 0)
    with pytest.raises(ZeroDivisionError):
        scene.simulate()


def test_what_cannot_be_built_is_named_by_its_body():
    scene = stiffly.Scene("bridge")
    for _ in range(2):
        scene.add(shapes.beam(2, (2, 2)), "plank")
    scene.add(shapes.beam(2, (1, 1)), "plank")
    with pytest.raises(
        InputError, match=r"^bridge \(body plank 3\): body: beam across_y = 1: give"
    ):
        scene.simulate()


def test_none_is_as_good_as_left_out():
    with_none, without = (stiffly.Scene() for _ in range(2))
    with_none.add(shapes.rope(4), color=None, pins=None)
    without.add(shapes.rope(4))
    assert with_none.build().text == without.build().text


def test_what_is_refused_is_not_added():
    scene = stiffly.Scene()
    with pytest.raises(InputError, match="there is no particle 99"):
        scene.add(shapes.rope(4), pins=[99])
    scene.add(shapes.rope(4), pins=[3])
    assert len(scene.build().x0) == 4


def test_a_scene_without_bodies():
    for use in (lambda s: s.simulate(), lambda s: s.save("a.toml"), stiffly.simulate):
        with pytest.raises(InputError, match=r"empty has no bodies: add one, scene.add"):
            use(stiffly.Scene("empty"))


def test_a_body_attached_to_itself_in_a_file(tmp_path):
    text = (
        "duration = 1.0\nstep = 0.1\n[[body]]\nname = 'r'\nshape = { kind = 'rope' }\n"
        "elasticity = 'springs'\nstiffness = 1.0\nmass = 1.0\n[[attachment]]\nbody = 'r'\n"
        "particles = [0]\nstiffness = 1.0\nto = { body = 'r', particles = [3] }\n"
    )
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=r"line 13.*attached to itself: name another body in to"):
        files.read(path)


def test_textures_and_their_coordinates_must_be_there(tmp_path):
    meshes.write_mesh(tmp_path / "bare.obj", meshes.cube(1))
    scene = stiffly.Scene()
    scene.add(tmp_path / "bare.obj", elasticity="rigid", texture=str(tmp_path / "skin.png"))
    with pytest.raises(InputError, match=r"texture .*skin.png does not exist: check the path"):
        scene.build()
    (tmp_path / "skin.png").write_bytes(b"\x89PNG")
    with pytest.raises(InputError, match="has no texture coordinates: export it as obj with them"):
        scene.build()


def test_a_texture_is_found_from_where_the_program_is(tmp_path, monkeypatch):
    """As a mesh file is, wherever the scene is saved."""
    written = "v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nf 1/1 2/2 3/3\n"
    (tmp_path / "bare.obj").write_text(written)
    (tmp_path / "skin.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    monkeypatch.chdir(tmp_path)
    scene = stiffly.Scene()
    scene.add("bare.obj", elasticity="springs", texture="skin.png")
    (tmp_path / "elsewhere").mkdir()
    saved = files.read(scene.save("elsewhere/mine.toml"))
    for built in (scene.build(), saved):
        assert built.mesh.bodies["bare"].texture == str(tmp_path / "skin.png")


def test_colours_by_name_are_the_same_everywhere():
    from stiffly.meshes.look import COLORS
    from stiffly.scenes.schema.types import ColorName

    assert set(COLORS) == set(ColorName.__args__)


def test_warnings_name_the_line_that_called():
    spring = stiffly.SecondOrder(stiffness=[[1e6]], force=lambda x: -(x**3))
    with pytest.warns(Warning, match="too long") as said, pytest.raises(stiffly.Diverged):
        stiffly.simulate(spring, x0=[1e-9], integrator="verlet", step=0.1, duration=0.2)
    assert {warning.filename for warning in said} == {__file__}


@pytest.mark.parametrize("height, thrown", [(0.0, True), (0.11, False)])
def test_bodies_that_begin_inside_a_collider_are_warned_of(height, thrown):
    scene = stiffly.Scene("cube", duration=0.02, step=0.01)
    scene.floor()
    scene.add(stiffly.shapes.cube(2, side=0.2), position=(0.0, 0.0, height))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scene.simulate()
    said = [str(w.message) for w in caught if "inside a collider" in str(w.message)]
    assert bool(said) == thrown


def test_a_scene_has_no_attributes_that_would_change_nothing():
    with pytest.raises(AttributeError):
        stiffly.Scene().duration = 1.0
