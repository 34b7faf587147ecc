"""Contact chosen once a step, as in Dinev, Liu & Kavan (2018): against a loop of its own."""

import numpy as np
import pytest

import stiffly
from stiffly.bodies import Gravity, System
from stiffly.collisions import Contact, Plane, Sphere, TriangleMesh, keyframes
from stiffly.errors import InputError
from stiffly.meshes import cube
from stiffly.scenes import files

# what is chosen once a step invents energy, and the runs say so
pytestmark = pytest.mark.filterwarnings("ignore::stiffly.errors.StiffWarning")
MASS, K, G, H, STEPS = 0.5, 2e3, 9.81, 0.004, 200
X0 = np.array([[0.1, 0.05, 1.1], [-0.2, 0.0, 1.3], [2.0, 0.0, 1.0]])
BALL = Sphere((0.0, 0.0, 0.0), 0.9)


def balls(frozen, margin=0.0, **options):
    touch = Contact(BALL, K, margin=margin, frozen=frozen, **options)
    return System(MASS, [Gravity((0.0, 0.0, -G)), touch], rest=X0)


def spring(x, chosen):
    """Force of the planes that particles have gone through, {particle: (point, normal)}."""
    f = np.tile([0.0, 0.0, -MASS * G], (len(x), 1))
    for i, (p, n) in chosen.items():
        f[i] -= K * min(0.0, float(n @ (x[i] - p))) * n
    return f


def total(x, v, chosen):
    stored = sum(0.5 * K * min(0.0, float(n @ (x[i] - p))) ** 2 for i, (p, n) in chosen.items())
    return float(0.5 * MASS * np.vdot(v, v) + MASS * G * x[:, 2].sum() + stored)


def choose(x, radius):
    """Nearest points of the ball, for what is inside."""
    far = np.linalg.norm(x, axis=1)
    return {i: (radius * x[i] / far[i], x[i] / far[i]) for i in np.flatnonzero(far < radius)}


@pytest.mark.parametrize("margin", [0.0, 0.05])
def test_springs_are_those_of_the_start_of_a_step(margin):
    """Verlet with them written out; the energy, too, with what comes with a new choice."""
    radius, x, v = 0.9 + margin, X0.copy(), np.zeros_like(X0)
    chosen = choose(x, radius)
    seen, energy, invented = [x.copy()], [total(x, v, chosen)], 0.0
    for _ in range(STEPS):
        v += 0.5 * H / MASS * spring(x, chosen)
        x += H * v
        v += 0.5 * H / MASS * spring(x, chosen)
        before = total(x, v, chosen)
        chosen = choose(x, radius)
        seen.append(x.copy())
        energy.append(total(x, v, chosen))
        invented += max(0.0, energy[-1] - before)
    assert invented > 1e-2  # there is something to see
    run = stiffly.simulate(
        balls(True, margin), X0, integrator="verlet", step=H, duration=H * STEPS, every=H
    )
    np.testing.assert_allclose(run.positions, seen, atol=1e-9)
    np.testing.assert_allclose(run.energy.total, energy, atol=1e-8)
    assert not run.energy.added.any()  # nothing moves: it is no work, but an error
    assert run.energy.numerical.max() > 0.5 * (max(energy) - energy[0]) > 0.0


def test_what_goes_in_within_a_step_is_met_in_the_next():
    run = {
        frozen: stiffly.simulate(
            balls(frozen), X0, integrator="midpoint", step=0.02, duration=0.4, every=0.02
        )
        for frozen in (False, True)
    }
    first = np.flatnonzero(np.diff(run[True].positions[:, 0, 2], 2) > 0)[0]
    deep = {f: np.linalg.norm(run[f].positions[:, 0], axis=1).min() for f in run}
    assert deep[True] < deep[False]
    np.testing.assert_allclose(
        run[True].positions[: first + 1], run[False].positions[: first + 1], atol=1e-9
    )


def test_stabilised_takes_out_what_was_invented():
    """The paper's claim: nothing bounces higher than it fell from."""
    floor = Contact(Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)), K, frozen=True)
    system = System([MASS], [Gravity((0.0, 0.0, -G)), floor])
    back = {}
    for name in ("midpoint", "stabilised:no-spin"):
        for start in np.linspace(0.4, 0.6, 6):  # the depth at which the floor is seen differs
            run = stiffly.simulate(
                system, [[0.0, 0.0, start]], integrator=name, step=0.02, duration=1.2, every=0.02
            )
            height = run.positions[30:, 0, 2].max() / start  # after the bounce
            back[name] = max(back.get(name, 0.0), height)
    assert back["stabilised:no-spin"] <= 1.02 < 1.2 < back["midpoint"]


def test_a_mesh_is_chosen_from_alike():
    box = cube(1, side=1.0)
    floor = TriangleMesh(box.positions - [0, 0, 0.5], box.triangles)
    plane = Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    ends = []
    for shape in (floor, plane):
        system = System([MASS], [Gravity(), Contact(shape, K, frozen=True)])
        run = stiffly.simulate(
            system, [[0.1, 0.2, 0.1]], integrator="midpoint", step=0.01, duration=0.5
        )
        ends.append(run.positions)
    np.testing.assert_allclose(*ends, atol=1e-7)


@pytest.mark.parametrize("method", ["bdf1", "projective-midpoint", "energy-momentum", "exprb42"])
def test_methods_of_every_kind_have_it_and_resume_to_the_same_bits(method, tmp_path):
    scene = stiffly.scenes.load("falling-cube", small=True, frozen=True)
    options = {"integrator": method, "step": 0.005, "every": 0.02}
    whole = stiffly.simulate(scene, out=tmp_path / "whole", duration=0.3, **options)
    stiffly.simulate(scene, out=tmp_path / "short", duration=0.2, **options)
    longer = stiffly.resume(tmp_path / "short", scene.system, duration=0.3)
    assert np.nanmax(whole.diagnostics["contacts"]) > 0
    np.testing.assert_array_equal(longer.positions[:], whole.positions[:])


@pytest.mark.parametrize(
    "wrong, words",
    [
        (lambda: Contact(Sphere((0, 0, 0), 1.0, motion=keyframes([0, 1], [[0, 0, 0], [1, 0, 0]])),
                         K, frozen=True), "stand still: leave frozen or their motion out"),
        (lambda: Contact(BALL, K, frozen="yes"), "give True or False"),
    ],
)  # fmt: skip
def test_what_cannot_be_frozen_is_refused(wrong, words):
    with pytest.raises(InputError, match=words) as caught:
        wrong()
    assert "\n" not in str(caught.value)


SCENE = """
duration = 0.5
step = 0.01
[[body]]
shape = { kind = "cube", cells = 1 }
elasticity = "springs"
stiffness = 1e3
mass = 1.0
[[collider]]
kind = "plane"
"""


@pytest.mark.parametrize(
    "collider, words",
    [
        ("response = 'held'\nstiffness = 1e3\nfrozen = true", "means nothing with response"),
        ("stiffness = 1e3\nfrozen = true\nmotion = { kind = 'rotation', axis = [0, 0, 1], "
         "centre = [0, 0, 0], rate = 1.0 }", "leave frozen or motion out"),
        ("stiffness = 1e3\nfrozen = 3", "frozen"),
    ],
)  # fmt: skip
def test_scene_files_say_what_cannot_be_frozen(collider, words, tmp_path):
    file = tmp_path / "scene.toml"
    file.write_text(SCENE + collider)
    with pytest.raises(InputError, match=words) as caught:
        files.parse(file)
    assert "\n" not in str(caught.value)
