"""A coat that wears off: as much as force and way say, where something rubs and nowhere else."""

from types import SimpleNamespace

import numpy as np
import pytest
from runs_to_record import assert_same

import stiffly
from stiffly import System, simulate
from stiffly.bodies import Gravity
from stiffly.collisions import Contact, Plane, Plaque, TriangleMesh, path
from stiffly.errors import InputError
from stiffly.meshes import cloth, sphere
from stiffly.recording.colors import coat
from stiffly.recording.exports.frames import motion

pytestmark = pytest.mark.filterwarnings("ignore::stiffly.errors.StiffWarning")

MASS, K, G, SPEED, REACH = 0.1, 1e4, 9.81, 0.5, 0.015
GRID = cloth(31, 11, spacing=0.01)
POINTS = GRID.positions - GRID.positions.mean(axis=0)


def sliding(thickness=1e-3, wear=1e-7, velocity=(SPEED, 0.0, 0.0), height=None, motion=None):
    """A mass that slides over a coated floor without friction, pressed on it by its weight."""
    contact = Contact(Plane((0, 0, 0), (0, 0, 1), motion=motion), K)
    plaque = Plaque(contact, POINTS, GRID.triangles, thickness=thickness, wear=wear, reach=REACH)
    x = np.array([[-0.1, 0.0, -MASS * G / K if height is None else height]])
    v = np.array([velocity], dtype=float)
    return System([MASS], [Gravity((0.0, 0.0, -G)), contact, plaque]), x, v


def volume(thickness):
    """A grid's points stand for a square each, half of one at a side, a quarter in a corner."""
    inner = np.ones((31, 11))
    inner[[0, -1]] *= 0.5
    inner[:, [0, -1]] *= 0.5
    order = np.lexsort((POINTS[:, 1], POINTS[:, 0]))
    return float(inner.ravel() @ thickness[order]) * 1e-4


def test_what_comes_off_is_wear_times_force_times_way():
    run = simulate(*sliding(), integrator="verlet", step=1e-3, duration=0.3, every=0.05)
    left = run.fields["plaque"]
    assert left.shape == (7, len(POINTS))
    lost = np.array([volume(left[0]) - volume(now) for now in left])
    np.testing.assert_allclose(lost, 1e-7 * MASS * G * SPEED * run.times, rtol=1e-6, atol=1e-20)
    assert np.all(np.diff(left, axis=0) <= 0.0)
    track = np.array([[-0.1, 0, 0]]) + np.linspace(0, 0.15, 400)[:, None] * [1, 0, 0]
    far = np.linalg.norm(POINTS[:, None] - track, axis=2).min(axis=1) > REACH
    assert 0 < far.sum() < len(POINTS)
    assert np.array_equal(left[-1, far], left[0, far]) and np.all(np.any(left[-1, ~far] < 1e-3))
    np.testing.assert_allclose(run.summary()["plaque_removed"], lost[-1] / volume(left[0]))
    assert "has no compiled loop" in run.stats["loop"]


def test_it_never_falls_below_zero_and_takes_no_energy():
    bare = simulate(*sliding(wear=1e-2), integrator="verlet", step=1e-3, duration=0.1)
    left = bare.fields["plaque"]
    assert left.min() == 0.0 and np.all(np.diff(left, axis=0) <= 0.0)
    assert np.all(bare.energy.added == 0.0) and np.all(bare.energy.dissipated == 0.0)
    assert abs(bare.energy.numerical).max() < 1e-9 * bare.energy.kinetic[0]


@pytest.mark.parametrize("case", ["above", "at rest"])
def test_nothing_comes_off_without_contact_or_without_sliding(case):
    given = {"velocity": (0.0, 0.0, 0.0)} if case == "at rest" else {"height": 1.0}
    run = simulate(*sliding(**given), integrator="verlet", step=1e-3, duration=0.05)
    assert np.array_equal(run.fields["plaque"][-1], run.fields["plaque"][0])
    assert run.summary()["plaque_removed"] == 0.0


def test_the_coat_moves_with_the_floor():
    """A mass at rest on a floor that moves to the left: the track is that of the floor."""
    glide = path(
        lambda t, x: x - [SPEED * t, 0, 0], lambda t, x: np.tile([-SPEED, 0, 0], (len(x), 1))
    )
    ends = []
    for system in (sliding(), sliding(velocity=(0, 0, 0), motion=glide)):
        run = simulate(*system, integrator="verlet", step=1e-3, duration=0.2)
        ends.append(run.fields["plaque"][-1])
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-12)


# ---------------------------------------------------------------------- teeth


def brushing():
    return stiffly.scenes.load(
        "brush", bristles=6, object="teeth", wear=1e-6, strokes=8.0, fiber_contact="impulses",
        duration=0.03,
    )  # fmt: skip


def test_a_brush_cleans_teeth_where_it_touches_them():
    scene = brushing()
    run = simulate(scene, every=1e-3)
    left, first = run.fields["plaque"], run.fields["plaque"][0]
    assert np.all(np.diff(left, axis=0) <= 0.0) and left.min() >= 0.0
    assert 0.0 < run.summary()["plaque_removed"] < 0.2
    assert np.all(left[0][scene.colliders[0].positions[:, 2] <= 0.0] == 0.0)
    reached = scene.x0[:, 0].min() - 0.006, scene.x0[:, 0].max() + 0.006
    beyond = scene.colliders[0].positions[:, 0]
    beyond = (beyond < reached[0]) | (beyond > reached[1])
    assert np.any(first[beyond] > 0.0) and np.array_equal(left[-1, beyond], first[beyond])
    assert run.diagnostics["contacts"].max() > 0 and run.stats["implicit_solver"] == "body by body"
    assert np.abs(run.energy.numerical - run.energy.invented).max() < 1e-8 * run.energy.exchanged


def test_it_is_recorded_drawn_and_goes_on_to_the_same_digits(tmp_path):
    every = {"every": 2e-3}
    whole = simulate(brushing(), **every)
    half = simulate(brushing(), duration=0.014, out=tmp_path / "run", dtype="float64", **every)
    assert half.fields["plaque"].shape[0] == 8
    run = stiffly.resume(tmp_path / "run", duration=0.03)
    assert_same(run, whole)
    assert np.array_equal(run.fields["plaque"], whole.fields["plaque"])
    assert run.summary()["plaque_removed"] == whole.summary()["plaque_removed"]
    scale = coat(motion(run))
    first, last = (whole.fields["plaque"][k] for k in (0, -1))
    some = first > 0.0
    np.testing.assert_allclose(scale.values(-1)[some], 100.0 * (1.0 - last[some] / first[some]))
    assert np.all(np.isnan(scale.values(-1)[~some]))


def test_pictures_are_stained(tmp_path):
    """Red appears with what is removed, in any frame that is drawn."""
    pytest.importorskip("pyvista")
    from PIL import Image

    from stiffly.recording.render import render

    ball, x = sphere(8, 12, radius=0.1), np.array([[[-0.1, 0.0, 0.2], [0.1, 0.0, 0.2]]] * 2)
    left = np.ones((2, len(ball.positions)))
    left[1] = 0.0
    run = SimpleNamespace(
        times=np.array([0.0, 1.0]), positions=x, velocities=None, mesh=None, step=1.0, name="",
        colliders=(TriangleMesh(ball.positions, ball.triangles),), fields={"plaque": left},
        integrator="verlet", stats={},
    )  # fmt: skip
    red = []
    for k in (0, 1):
        made = render(run, tmp_path / f"{k}.png", frame=k, color="none", size=(320, 180))
        r, g, b = np.asarray(Image.open(made))[:, :250].astype(int).transpose(2, 0, 1)  # no scale
        red.append(np.sum((r > 120) & (g < 0.4 * r) & (b < 0.4 * r)))
    assert red[0] == 0 and red[1] > 500


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"thickness": -1.0}, "nowhere negative"),
        ({"wear": 0.0}, "wear"),
        ({"thickness": 0.0}, "all"),
    ],
)
def test_what_is_refused(change, words):
    with pytest.raises(InputError, match=words):
        sliding(**change)
