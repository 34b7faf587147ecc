"""What is said of a contact before the first step, and bodies that begin in the same place."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thinned import drawn

from stiffly import cli, meshes, simulate
from stiffly.bodies import Springs, System
from stiffly.collisions import Contact, Plane, Repulsion, push_apart
from stiffly.collisions.broad_phase import BroadPhase
from stiffly.collisions.start import overlaps
from stiffly.errors import Advice, InputError
from stiffly.scenes import files

SCENE = """
integrator = "energy-momentum"
step = {step}
duration = 0.02
[[body]]
name = "sheet"
shape = {{ kind = "cloth", nx = 6, ny = 6, spacing = 0.04 }}
elasticity = "cloth"
structural = 100.0
shear = 20.0
bending = 1.0
mass = 0.036
pins = ["corners"]
[[body]]
name = "cube"
shape = {{ kind = "cube", cells = 1, side = 0.1 }}
position = [0.1, 0.1, {height}]
elasticity = "tetrahedra"
young = 2e4
poisson = 0.3
density = 60.0
[contact]
thickness = {thickness}
stiffness = {stiffness}
"""


def written(folder, more="", **values):
    values = {"step": 0.001, "height": 0.08, "thickness": 0.01, "stiffness": 100.0, **values}
    path = folder / "scene.toml"
    path.write_text(SCENE.format(**values) + more)
    return path


def test_a_bounce_that_is_over_within_a_step_is_announced():
    """m = 1 kg on k = 1e4 N/m: 100 rad/s, so h = 0.12 s is 12, and 2 / 100 s resolve it."""
    x = np.array([[0.0, 0, 1]])
    system = System([1.0], [Contact(Plane((0, 0, 0), (0, 0, 1)), 1e4)])
    with pytest.warns(Advice, match=r"h sqrt\(k/m\) = 12, .* step of 0.02 s or .* 2.8e\+02 N/m"):
        simulate(system, x, integrator="energy-momentum", step=0.12, duration=0.12)


@pytest.mark.filterwarnings("error::stiffly.errors.Advice")
def test_a_resolved_one_is_not():
    system = System([1.0], [Contact(Plane((0, 0, 0), (0, 0, 1)), 1e4)])
    simulate(system, [[0.0, 0, 1]], integrator="energy-momentum", step=0.02, duration=0.02)


def test_scene_check_says_it_too(tmp_path):
    with pytest.warns(Advice, match="a bounce is over within one step"):
        files.check(written(tmp_path, step=0.01, stiffness=1e5))


def test_on_the_command_line_it_is_a_line(tmp_path, capfd):
    assert cli.main(["scene", "check", str(written(tmp_path, stiffness=1e7))]) == 0
    assert "warning: contact: h sqrt(k/m) = " in capfd.readouterr().err


@pytest.mark.parametrize(
    ("values", "cause"),
    [
        ({"thickness": 0.5}, "thickness 0.5 m is more than the longest edge"),
        ({"stiffness": 1e30}, "no step resolves it; give at most"),
        ({"height": 0.0}, "bodies overlap at the start"),
    ],
)
def test_bad_contacts_are_refused_before_anything_is_written(tmp_path, capfd, values, cause):
    path, out = written(tmp_path, **values), tmp_path / "out"
    assert cli.main(["run", str(path), "--out", str(out)]) == 2
    told = capfd.readouterr().err.strip()
    assert cause in told and len(told.splitlines()) == 1 and not out.exists()


def test_bodies_that_overlap_may_be_pushed_apart_first(tmp_path):
    scene = files.check(written(tmp_path, "push_apart = true\n", height=0.0))
    run = simulate(scene)
    assert run.energy.contact[0] == 0.0 and len(run.positions) > 1


@drawn(25)
@given(st.integers(0, 10**6), st.integers(2, 5))
def test_pushed_apart_nothing_overlaps_and_shapes_stay(seed, count):
    rng = np.random.default_rng(seed)
    mesh = meshes.cube(1, side=0.2)
    n = len(mesh.positions)
    x = np.concatenate([mesh.positions + rng.uniform(-0.15, 0.15, 3) for _ in range(count)])
    faces = np.concatenate([mesh.triangles + k * n for k in range(count)])
    apart = push_apart(x, faces, gap=0.01, fixed=[0])
    assert overlaps(BroadPhase(apart, (), faces).elements, apart) == []
    moved = (apart - x).reshape(count, n, 3)
    np.testing.assert_allclose(moved - moved[:, :1], 0.0, atol=1e-12)
    assert np.all(moved[0] == 0.0)


def test_two_held_bodies_cannot_be_pushed_apart():
    mesh = meshes.cube(1)
    x = np.concatenate([mesh.positions, mesh.positions + 0.3])
    faces = np.concatenate([mesh.triangles, mesh.triangles + 8])
    with pytest.raises(InputError, match="that are held overlap"):
        push_apart(x, faces, gap=0.1, fixed=[0, 8])


def test_a_stiffness_for_springs_is_no_contact():
    """Advice is the contact's alone."""
    system = System([1.0, 1.0], [Springs([[0, 1]], 1e9, rest=[1.0])])
    assert system.advice(1.0) == []


def test_repulsion_advises_by_its_lightest_particle():
    part = Repulsion([[0, 1, 2], [3, 4, 5]], thickness=0.1, stiffness=1e4)
    x = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1]])
    system, _ = System([1.0, 1, 1, 1, 1, 0.25], [part]).bind(x)
    assert "h sqrt(k/m) = 20" in system.advice(0.1)[0]
