"""Scenes made stiffer or softer, with other damping and gravity; options of named methods."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from stiffly import InputError, cli, integrators, scenes, simulate
from stiffly.bodies import (
    Attachments,
    FaceSprings,
    Gravity,
    LinearSprings,
    Rayleigh,
    RigidFrame,
    Springs,
    System,
    Tetrahedra,
    Wind,
    fiber,
)
from stiffly.collisions import Contact, Plane
from stiffly.integrators import Bdf1, LocalGlobal, Stabilised, integrator, options
from stiffly.meshes import cube
from stiffly.parts.rigid_body import Pose
from stiffly.scenes import Scene, files
from stiffly.scenes.adjust import adjustable, adjusted, own_damping, own_gravity, own_wind
from stiffly.view.link import command as command_of
from stiffly.view.settings import Settings

MESH = cube(2, side=0.4)
BENT = fiber([[0, 0, 0], [0.1, 0, 0], [0.2, 0.05, 0]], thickness=0.01, young=1e6, torsional=4e5,
             density=1e3)  # fmt: skip
# parts that are elastic: how to make them with a stiffness, and the shape they belong to
ELASTIC = {
    "springs": (lambda k: Springs(MESH.edges, k), MESH.positions),
    "cubic springs": (lambda k: Springs(MESH.edges, k, law="cubic"), MESH.positions),
    "yielding springs": (lambda k: Springs(MESH.edges, k, yield_strain=0.1), MESH.positions),
    "face springs": (lambda k: FaceSprings(MESH.tets, k), MESH.positions),
    "corotated": (lambda k: Tetrahedra(MESH.tets, k, 0.3), MESH.positions),
    "stvk": (lambda k: Tetrahedra(MESH.tets, k, 0.3, "stvk"), MESH.positions),
    "neo-hookean": (lambda k: Tetrahedra(MESH.tets, k, 0.3, "neo-hookean"), MESH.positions),
    "linear springs": (lambda k: LinearSprings(MESH.edges, k, 0.2), MESH.positions),
    "fiber": (lambda k: Springs(BENT.edges, k * BENT.stiffness), BENT.positions),
}


def scene(*parts, rest=MESH.positions, **system) -> Scene:
    body = System(np.full(len(rest), 0.1), list(parts), rest=rest, **system)
    return Scene("test", "", "", body, rest, np.zeros_like(rest), 0.01, 0.1)


def moved(rest):
    return rest + 0.02 * np.random.default_rng(3).standard_normal(rest.shape)


def forces(built: Scene, x):
    system, state = built.system.bind(x)
    return system.force(state), system.energy(state)


# ------------------------------------------------------------------ stiffness


@pytest.mark.parametrize("name", ELASTIC)
def test_scaled_parts_are_parts_of_that_stiffness(name):
    """The energy is linear in the stiffness: the scaled part is the one built with 3 k."""
    part, rest = ELASTIC[name]
    soft, stiff = scene(part(20.0), rest=rest), scene(part(60.0), rest=rest)
    x = moved(rest)
    f, energy = forces(adjusted(soft, stiffness=3.0), x)
    expected, stored = forces(stiff, x)
    assert np.allclose(f, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
    assert energy["elastic"] == pytest.approx(stored["elastic"], rel=1e-12)
    assert energy["elastic"] == pytest.approx(3.0 * forces(soft, x)[1]["elastic"], rel=1e-12)


def test_only_the_bodies_own_elasticity_is_scaled():
    floor = Contact(Plane([0, 0, 0.1], [0, 0, 1]), 500.0)
    tied = Attachments([0], 70.0, [[1.0, 1.0, 1.0]])
    before = scene(Springs(MESH.edges, 20.0), Gravity(), floor, tied)
    x = moved(MESH.positions)
    old, new = (forces(s, x)[1] for s in (before, adjusted(before, stiffness=0.25)))
    assert new.pop("elastic") == pytest.approx(0.25 * old.pop("elastic"), rel=1e-12)
    assert new == old and old["contact"] > 0.0 and old["attachment"] > 0.0


def test_the_scene_itself_stays_as_it_is():
    before = scene(Springs(MESH.edges, 20.0), Gravity())
    x = moved(MESH.positions)
    f = forces(before, x)[0]
    after = adjusted(before, stiffness=2.0, damping=0.1, gravity=1.0)
    assert np.array_equal(forces(before, x)[0], f) and before.adjust == {}
    assert dict(after.adjust) == {"stiffness": 2.0, "damping": 0.1, "gravity": 1.0}
    assert adjusted(before) is before
    assert adjusted(before, 1.0, own_damping(before), own_gravity(before)) is before


def test_adjusting_twice_multiplies_stiffness_and_replaces_the_rest():
    once = adjusted(scene(Springs(MESH.edges, 20.0), Gravity()), stiffness=2.0, gravity=3.0)
    twice = adjusted(once, stiffness=5.0, gravity=4.0)
    assert dict(twice.adjust) == {"stiffness": 10.0, "gravity": 4.0}
    x = moved(MESH.positions)
    expected = scene(Springs(MESH.edges, 200.0), Gravity((0, 0, -4.0)))
    assert np.allclose(forces(twice, x)[0], forces(expected, x)[0], rtol=1e-12)


# ------------------------------------------------------------------ damping, gravity, the rest


def test_damping_replaces_beta_and_keeps_alpha():
    before = scene(Springs(MESH.edges, 20.0), damping=Rayleigh(0.3, 0.01))
    assert own_damping(before) == 0.01
    assert adjusted(before, damping=0.05).system.damping == Rayleigh(0.3, 0.05)
    assert adjusted(before, damping=0.0).system.damping == Rayleigh(0.3, 0.0)
    undamped = scene(Springs(MESH.edges, 20.0))
    assert own_damping(undamped) == 0.0
    assert adjusted(undamped, damping=0.05).system.damping == Rayleigh(0.0, 0.05)


@pytest.mark.parametrize(
    "fields, size, expected",
    [
        ([], 2.0, (0, 0, -2)),
        ([(0, 0, 0)], 2.0, (0, 0, -2)),
        ([(3, 0, 4)], 10.0, (6, 0, 8)),
        ([(3, 0, 4)], 0.0, (0, 0, 0)),
        ([(0, 0, -3), (0, 4, 0)], 1.0, (0, 0.8, -0.6)),
    ],
)
def test_gravity_keeps_its_direction(fields, size, expected):
    before = scene(*(Gravity(g) for g in fields), Springs(MESH.edges, 20.0))
    assert own_gravity(before) == pytest.approx(np.linalg.norm(np.sum(fields or [(0, 0, 0)], 0)))
    after = adjusted(before, gravity=size)
    assert own_gravity(after) == pytest.approx(size)
    weight = forces(after, MESH.positions)[0].reshape(-1, 3) / 0.1  # springs are at rest
    assert np.allclose(weight, np.broadcast_to(expected, weight.shape), atol=1e-9)


def test_masses_pins_and_supports_stay():
    held = scene(Springs(MESH.edges, 20.0), Gravity(), fixed=[0, 3])
    after = adjusted(held, stiffness=2.0, gravity=1.0)
    assert np.array_equal(after.system.fixed, [0, 3])
    assert np.array_equal(after.system.particle_mass, held.system.particle_mass)
    led = scenes.load("bacterium", small=True)
    again = adjusted(led, stiffness=2.0)
    assert len(again.system.supports) == len(led.system.supports)
    assert np.array_equal(again.system.fixed, led.system.fixed)


def test_wind_keeps_its_direction_or_blows_across():
    flag = scenes.load("flag", small=True)
    assert own_wind(flag) == 20.0 and own_wind(scenes.load("cloth", small=True)) == 0.0
    weak = adjusted(flag, wind=5.0)
    (part,) = [p for p in weak.system.given.parts if isinstance(p, Wind)]
    np.testing.assert_allclose(part.velocity(0.0), [5.0, 0.0, 0.0])
    cloth = scenes.load("cloth", small=True)
    blown = adjusted(cloth, wind=8.0)
    (part,) = [p for p in blown.system.given.parts if isinstance(p, Wind)]
    thin = int(np.argmin(np.ptp(cloth.x0, axis=0)[:2]))
    assert part.velocity(0.0)[thin] == 8.0 and own_wind(blown) == 8.0
    assert blown.adjust == {"wind": 8.0}


def test_a_cloth_in_the_wind_is_pushed_with_the_pressure_of_the_air():
    """At rest and flat across the wind, a sheet of area A feels density/2 C A speed^2."""
    cloth = scenes.load("cloth", small=True)
    still, blown = (adjusted(cloth, wind=w).system.bind(cloth.x0, 0.0 * cloth.x0) for w in (0, 8.0))
    thin = int(np.argmin(np.ptp(cloth.x0, axis=0)[:2]))
    push = [system.force(state).reshape(-1, 3)[:, thin].sum() for system, state in (still, blown)]
    corners = cloth.x0[cloth.mesh.triangles]
    normals = 0.5 * np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(normals, axis=1)
    across = np.abs(normals[:, thin]) / area
    expected = 0.5 * 1.2 * 1.2 * 8.0**2 * float(np.sum(area * across**3))
    held = cloth.system.fixed
    assert push[1] - push[0] == pytest.approx(expected, rel=0.02 + len(held) / len(cloth.x0))


# ------------------------------------------------------------------ what can be changed


def test_what_can_be_changed():
    def can(name):
        return adjustable(scenes.load(name, small=True))

    every = {"stiffness", "damping", "gravity", "wind"}
    assert can("cloth") == can("flag") == can("bar") == every
    assert can("rope") == every - {"wind"}  # no surface
    assert can("fput") == can("oscillator-pair") == frozenset()
    assert can("molecule") == {"stiffness", "damping"}
    still = Pose(np.zeros(3), np.eye(3), *np.zeros((4, 3)))
    framed = scene(Springs(MESH.edges, 20.0), RigidFrame(lambda t: still))
    assert adjustable(framed) == {"stiffness", "damping"}  # gravity is in the frame's motion
    assert can("single-spring") == {"damping", "gravity"}  # its energy is a user's function


@pytest.mark.parametrize(
    "name, change, word",
    [
        ("fput", {"stiffness": 2.0}, "stiffness of fput"),
        ("fput", {"damping": 0.1}, "damping of fput"),
        ("molecule", {"gravity": 9.81}, "gravity of molecule"),
        ("rope", {"wind": 5.0}, "wind of rope"),
        ("cloth", {"wind": -1.0}, "wind"),
        ("rope", {"stiffness": 0.0}, "stiffness factor"),
        ("rope", {"stiffness": 1e308}, "stiffness"),
        ("rope", {"stiffness": float("nan")}, "stiffness factor"),
        ("rope", {"damping": -1.0}, "damping"),
        ("rope", {"gravity": -9.81}, "gravity"),
        ("rope", {"gravity": "much"}, "gravity"),
    ],
)
def test_what_cannot_be_changed_is_said_in_one_line(name, change, word):
    built = scenes.load(name, small=True)
    with pytest.raises(InputError) as failure:
        adjusted(built, **change)
    assert str(failure.value).startswith(word) and "\n" not in str(failure.value)


def test_scenes_that_cannot_be_changed_accept_their_own_values():
    built = scenes.load("fput", small=True)
    assert adjusted(built, 1.0, own_damping(built), own_gravity(built)) is built


# ------------------------------------------------------------------ options of methods


def test_options_reach_the_solver():
    method = integrator("realtime", iterations=7, tolerance=0.002)
    assert isinstance(method, Stabilised) and method.tolerance == 0.002
    plain = integrator("realtime")
    assert method.base == replace(plain.base, solver=replace(plain.base.solver, iterations=7))
    assert method.dissipate == plain.dissipate
    assert integrator("projective", iterations=3).solver == LocalGlobal(3)
    assert integrator("stabilised:exprb42", tolerance=0.5).tolerance == 0.5
    assert integrator(Bdf1(solver=LocalGlobal(2)), iterations=4).solver == LocalGlobal(4)


def test_methods_without_an_option_are_unchanged():
    for name in integrators.NAMES:
        assert integrator(name) == integrator(name, iterations=None, tolerance=None, budget=None)


@pytest.mark.parametrize(
    ("name", "given", "line"),
    [
        (
            "energy-momentum",
            {"tolerance": 1e-9},
            "tolerance: energy-momentum has no such option, nor any other; leave it out",
        ),
        ("bdf1", {"iterations": 3}, "iterations: bdf1 has no such option, nor any"),
        (Bdf1(), {"budget": 1.0}, "budget: Bdf1 has no such option, nor any other; leave it out"),
        ("verlet", {"max_products": 10}, "max_products: verlet has no such option, nor any other"),
        ("auto", {"tolerance": 1e-3}, "tolerance: auto has no such option, only max_steps: "),
        ("stabilised", {"budget": 1.0}, "budget: stabilised has no such option, only tolerance: "),
        (
            "realtime",
            {"tolerence": 0.1},
            "tolerence: realtime has no such option, only budget, iterations, tolerance: "
            "did you mean tolerance?",
        ),
        ("exprb42", {"eps": None}, "eps: exprb42 has no such option, only budget, max_products: "),
    ],
)
def test_options_that_a_method_has_not_are_named(name, given, line):
    with pytest.raises(InputError) as failure:
        integrator(name, **given)
    assert str(failure.value).startswith(line) and "\n" not in str(failure.value)


@pytest.mark.parametrize(
    "command",
    [
        ["run", "cloth", "--small", "--set", "method.iterations=5", "--integrator", "bdf1"],
        ["run", "pylon", "--small", "--set", "method.iterations=5"],  # exprb42 by itself
        ["run", "saved.toml", "--integrator", "bdf1"],
        ["sweep", "cloth", "--set", "method.iterations=5", "--over", "integrator=realtime,bdf1"],
        ["sweep", "pylon", "--small", "--over", "method.iterations=5,6"],
        ["sweep", "saved.toml", "--over", "integrator=realtime,bdf1"],
        ["view", "cloth", "--small", "--set", "method.iterations=5", "--integrator", "bdf1"],
    ],
)
def test_options_that_a_method_has_not_on_the_command_line(command, saved, capfd, monkeypatch):
    monkeypatch.chdir(saved.parent)
    assert cli.main(command) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert re.search(r"iterations: (bdf1|exprb42) has no such option", line)
    assert [path.name for path in saved.parent.iterdir()] == ["saved.toml"]


def test_options_that_a_method_has_not_in_a_file(saved):
    saved.write_text(saved.read_text().replace("duration", "integrator = 'bdf2'\nduration"))
    line = r"saved.toml line 14: method.iterations: bdf2 has no such option, nor any other; leave"
    with pytest.raises(InputError, match=line):
        files.parse(saved)
    built = replace(cloth(), method={"iterations": 20})
    with pytest.raises(InputError, match="iterations: verlet has no such option"):
        simulate(built, integrator="verlet")


def test_lanes_share_options_of_which_each_has_its_own():
    names = ("stabilised", "projective", "verlet")
    settings = replace(Settings.of(cloth()), integrators=names, tolerance=0.2, iterations=3)
    methods = [settings.method(name) for name in names]
    assert methods[0].tolerance == 0.2 and methods[1].solver.iterations == 3
    assert methods[2] == integrator("verlet")
    line = command_of("cloth", True, settings, Settings.of(cloth()))
    assert "method.tolerance=0.2" in line and "method.iterations=3" in line
    alone = command_of("cloth", True, replace(settings, integrators=("verlet",)), settings)
    assert "method" not in alone


def test_which_options_a_method_has():
    assert {"iterations", "tolerance"} <= options("realtime")
    assert "iterations" in options("projective") and "tolerance" not in options("projective")
    assert options("verlet") == frozenset()
    assert options("stabilised") == {"tolerance"}
    assert {"iterations", "tolerance"} <= options("stabilised:projective-midpoint")


@pytest.mark.parametrize(
    "given", [{"iterations": 0}, {"iterations": 2.5}, {"tolerance": 0.0}, {"tolerance": 2.0}]
)
def test_options_that_make_no_sense_are_refused(given):
    with pytest.raises(InputError):
        integrator("realtime", **given)


# ------------------------------------------------------------------ in scene files

SAVED = """\
scene = "cloth"
duration = 0.2

[parameters]
resolution = 7

[adjust]
stiffness = 2.0
damping = 0.001
gravity = 3.7

[method]
iterations = 20
tolerance = 0.005
"""


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "saved.toml"
    path.write_text(SAVED)
    return path


def cloth():
    return scenes.load("cloth", resolution=7, duration=0.2)


def run_of(built, **options):
    return simulate(built, **options).positions


def test_a_file_is_the_adjusted_scene_and_the_tuned_method(saved):
    built = files.check(saved)
    assert dict(built.adjust) == {"stiffness": 2.0, "damping": 0.001, "gravity": 3.7}
    assert built.integrator == "realtime"
    by_hand = adjusted(cloth(), stiffness=2.0, damping=0.001, gravity=3.7)
    method = integrator("realtime", iterations=20, tolerance=0.005)
    assert np.array_equal(run_of(built), run_of(by_hand, integrator=method))
    assert not np.array_equal(run_of(built), run_of(by_hand))


def test_an_integrator_given_as_an_object_is_taken_as_it_is(saved):
    built, method = files.read(saved), integrator("realtime")
    bare = replace(built, method={})
    assert np.array_equal(run_of(built, integrator=method), run_of(bare, integrator="realtime"))


def test_settings_saved_and_read_again_give_the_same_run(tmp_path, saved):
    for number, built in enumerate([cloth(), files.read(saved)]):
        changed = replace(
            adjusted(built, stiffness=0.5, gravity=1.62),
            integrator="projective", step=0.02, every=0.04, method={"iterations": 4},
        )  # fmt: skip
        path = tmp_path / f"{number}.toml"
        text = files.to_toml(changed)
        assert text is not None
        path.write_text(text)
        again = files.read(path)
        assert (again.integrator, again.step, again.every) == ("projective", 0.02, 0.04)
        assert np.array_equal(run_of(changed), run_of(again))
    assert files.to_toml(files.read(saved)) == SAVED


def test_values_beside_the_file(saved):
    built = files.read(saved, **{"adjust.stiffness": "4", "method.iterations": 5})
    assert built.adjust["stiffness"] == 4.0 and built.method["iterations"] == 5


def test_bodies_of_ones_own_are_adjusted_too(tmp_path):
    text = (
        "duration = 0.1\nstep = 0.01\n[[body]]\nshape = { kind = 'rope', particles = 5 }\n"
        "elasticity = 'springs'\nstiffness = 100.0\nmass = 0.1\npins = [0]\n"
    )
    path = tmp_path / "own.toml"
    path.write_text(text + "[adjust]\nstiffness = 3\ngravity = 2\n")
    built = files.check(path)
    assert own_gravity(built) == 2.0
    assert all(part.stiffness[0] == 300.0 for part in built.system.given.parts[:1])


@pytest.mark.parametrize(
    "old, new, said",
    [
        ("stiffness = 2.0", "stiffness = 0.0", r"line 8: adjust.stiffness must be greater than 0"),
        ("stiffness = 2.0", "stifness = 2.0", r"line 8: adjust.stifness is not known.*stiffness\?"),
        ("gravity = 3.7", "gravity = -3.7", r"line 10: adjust.gravity must be at least 0"),
        ("iterations = 20", "iterations = 0", r"line 13: method.iterations must be at least 1"),
        ("iterations = 20", "iterations = 2.5", r"line 13: method.iterations must be a whole"),
        ("tolerance = 0.005", "tolerance = 3.0", r"line 14: method.tolerance must be at most 1"),
        ("tolerance = 0.005", "budget = 0.0", r"line 14: method.budget must be greater than 0"),
    ],
)
def test_mistakes_are_found_at_their_line(saved, old, new, said):
    saved.write_text(SAVED.replace(old, new))
    with pytest.raises(InputError, match=said):
        files.read(saved)


def test_what_a_scene_cannot_change_is_found_at_its_line(tmp_path):
    path = tmp_path / "chain.toml"
    path.write_text("scene = 'fput'\n[adjust]\nstiffness = 2.0\n")
    with pytest.raises(InputError, match=r"chain.toml line 3: adjust.stiffness.*cannot be changed"):
        files.read(path)


def test_the_command_line_adjusts_built_in_scenes(tmp_path):
    from stiffly.scenes.request import request

    given = {"resolution": "7", "adjust.stiffness": "2", "method.iterations": "5"}
    asked = request("cloth", small=False, given=given, options={"duration": 0.2})
    assert dict(asked.scene.adjust) == {"stiffness": 2.0}
    assert dict(asked.scene.method) == {"iterations": 5}
    path = tmp_path / "kept.toml"
    path.write_text(asked.toml or "")
    assert np.array_equal(run_of(asked.scene, **asked.options), run_of(files.read(path)))
    with pytest.raises(InputError, match=r"adjust.stiffness must be greater than 0"):
        request("cloth", small=False, given={"adjust.stiffness": "-1"}, options={})


def test_a_recording_says_which_options_it_was_made_with(tmp_path, saved):
    recording = simulate(files.read(saved), out=tmp_path / "out")
    said = SimpleNamespace(**recording.provenance)
    assert said.integrator == "realtime" and "iterations=20" in said.method
    assert "tolerance=0.005" in said.method
