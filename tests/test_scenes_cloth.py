"""textile, statue, bunny, flag, hair: their small variants show what the papers say."""

import numpy as np
import pytest
from scene_measures import ear_height

from stiffly import InputError, scenes, simulate
from stiffly.collisions import TriangleMesh
from stiffly.meshes import triangle_edges
from stiffly.scenes.textile import RADIUS
from stiffly_lab.measures import area

ANYWAY = pytest.mark.filterwarnings("ignore::stiffly.errors.StiffWarning")


@pytest.fixture(scope="module")
def textile():
    scene = scenes.load("textile", small=True)
    return scene, simulate(scene, every=0.05)


@pytest.fixture(scope="module")
def statue():
    scene = scenes.load("statue", small=True)
    return scene, simulate(scene, every=0.05)


def test_textile_drapes_and_slides_off(textile):
    run = textile[1]
    distance = np.linalg.norm(run.positions, axis=2)
    inside = (distance < RADIUS) & (run.positions[:, :, 2] > 0.0)
    depth = RADIUS - distance[inside].min() if inside.any() else 0.0
    assert depth < 1e-6, "a particle is inside the half ball"
    draped = run.positions[:, :, 2].min(axis=1) < 0.0
    on_top = ((distance < 1.2 * RADIUS) & (run.positions[:, :, 2] > 0.0)).any(axis=1)
    assert (draped & on_top).any(), "never hangs over the half ball"
    assert run.positions[-1, :, 2].max() < 0.0, "has not slid off"
    # air and friction take energy, and the ledger knows it
    assert run.energy.dissipated[-1] > 0.3 * run.energy.exchanged
    assert abs(run.energy.numerical[-1]) < 0.02 * run.energy.exchanged


def test_textile_falls_no_faster_than_the_air_allows_and_friction_holds_it_back(textile):
    scene, run = textile
    # gravity against drag: the centre of mass cannot pass g / drag, and the ball only pushes up
    fall = -run.velocities[:, :, 2].mean(axis=1)
    assert 0.0 < fall[run.times <= 2.0].max() <= 9.81 / scene.parameters["drag"]
    free = simulate(scenes.load("textile", small=True, friction=0.0), duration=2.0, every=0.1)
    after = np.argmin(np.abs(run.times - free.times[-1]))
    assert run.times[after] == pytest.approx(free.times[-1])
    assert free.positions[-1, :, 2].mean() < run.positions[after, :, 2].mean()


@ANYWAY
@pytest.mark.slow
def test_statue_cloth_does_not_cut_through_itself(statue):
    ipctk = pytest.importorskip("ipctk")
    scene, run = statue
    mesh = scene.mesh
    cloth = ipctk.CollisionMesh(mesh.positions, triangle_edges(mesh.triangles), mesh.triangles)
    assert not any(ipctk.has_intersections(cloth, x) for x in run.positions)
    # nor do the middles of its triangles, which the contact does not look at, enter the statue
    figure = scene.colliders[0]
    for t, x in zip(run.times, run.positions, strict=True):
        middles = x[mesh.triangles].mean(axis=1)
        assert figure.distances(figure.frame(float(t)).home(middles)).min() > 0.0


@ANYWAY
@pytest.mark.slow
def test_statue_and_cloth_do_not_go_through_each_other(statue):
    scene, run = statue
    figure = next(shape for shape in scene.colliders if isinstance(shape, TriangleMesh))
    for t, x in zip(run.times, run.positions, strict=True):
        distances = figure.surface(float(t), x).distances(x)
        assert distances.min() > 0.0, "a particle is in the statue"
    below = run.positions[-1, :, 2].min(axis=0)
    assert below < 0.8, "the cloth has not fallen over the statue"
    # it swirls: the statue's turning, and nothing else, moves it about the vertical
    x, v = run.positions[-1], run.velocities[-1]
    assert np.sum(x[:, 0] * v[:, 1] - x[:, 1] * v[:, 0]) > 0.0


def test_bunny_keeps_its_energy_where_backward_euler_does_not():
    scene = scenes.load("bunny", small=True)
    run = simulate(scene, every=scene.step)
    assert np.abs(run.energy.numerical).max() < 1e-2 * run.energy.exchanged
    dead = simulate(scene, integrator="bdf1", every=scene.step)
    assert -dead.energy.numerical[-1] > 0.2 * dead.energy.exchanged
    swing = [np.ptp(ear_height(r.positions, scene.x0)[-30:]) for r in (run, dead)]
    first = np.ptp(ear_height(run.positions, scene.x0)[:30])
    assert swing[0] > 0.5 * first > swing[1], "the ears go on swinging, but not with bdf1"


@ANYWAY
def test_flag_keeps_its_area():
    scene = scenes.load("flag", small=True)
    run = simulate(scene, duration=1.0, every=0.05)
    size = area(run.positions, scene.mesh.triangles)
    assert np.abs(size / area(scene.mesh.positions, scene.mesh.triangles) - 1.0).max() < 0.03
    assert run.energy.kinetic[-1] > 0.0


def droop(positions, scene):
    """Degrees (frames,) by which the line from the pole to the far edge points down."""
    along = scene.mesh.positions[:, 0]
    pole, edge = (np.isclose(along, end) for end in (along.min(), along.max()))
    d = positions[:, edge].mean(axis=1) - positions[:, pole].mean(axis=1)
    return np.degrees(np.arctan2(-d[:, 2], np.hypot(d[:, 0], d[:, 1])))


@ANYWAY
def test_flag_streams_in_its_wind_and_hangs_without():
    """Its weight against the drag of a flag held by its pole: a light breeze lets it droop."""
    means = {}
    for wind in (20.0, 5.0):
        scene = scenes.load("flag", small=True, wind=wind)
        run = simulate(scene, every=0.05)
        means[wind] = droop(run.positions, scene)[run.times > 1.0].mean()
    assert means[20.0] < 10.0 < 40.0 < means[5.0]


@pytest.mark.slow
@ANYWAY
def test_flag_keeps_its_area_and_flutters():
    scene = scenes.load("flag", small=True)
    moving = {}
    for name in (scene.integrator, "bdf1"):
        run = simulate(scene, integrator=name, every=0.05)
        size = area(run.positions, scene.mesh.triangles)
        assert np.abs(size / area(scene.mesh.positions, scene.mesh.triangles) - 1.0).max() < 0.03
        moving[name] = run.energy.kinetic[run.times > 1.0].mean()
    assert moving["bdf1"] < 0.6 * moving[scene.integrator]


def turned(points):
    """Mean angle (frames,) [rad] about the vertical since the first frame, of (frames, n, 3)."""
    angle = np.unwrap(np.arctan2(points[..., 1], points[..., 0]), axis=0)
    return (angle - angle[0]).mean(axis=1)


def shaken(duration=None):
    """A run of some hair, and how far the head and the tips have turned."""
    scene = scenes.load("hair", small=True)
    run = simulate(scene, duration=duration)
    first = scene.system.supports[0][1].reshape(-1, 4)  # the four particles of every root
    last = np.append(first[1:, 0], len(scene.x0))[:, None] - np.arange(1, 5)
    return run, *(turned(run.positions[:, ends].mean(axis=2)) for ends in (first, last))


def test_tips_of_hair_lag_behind_when_the_head_begins_to_turn():
    _, head, tips = shaken(0.2)
    assert head[-1] > 0.3 and tips[head > 0.3][0] < 0.1


@pytest.mark.slow
def test_hair_follows_the_head_and_calms_down():
    run, head, tips = shaken()
    assert tips[head > 0.3][0] < 0.1, "tips lag behind when the head begins to turn"
    assert tips.max() > 0.5 * head.max() and tips.min() < 0.5 * head.min(), "they do not follow"
    # a second after the head has stopped damping alone leaves exp(-5) of the energy
    assert run.energy.kinetic[-1] < 0.05 * run.energy.kinetic.max()
    assert np.abs(run.energy.numerical).max() < 0.01 * run.energy.exchanged


def test_hair_has_the_particles_of_the_paper():
    scene = scenes.load("hair", fibers=100)
    assert len(scene.x0) * 600 == 2_160_000


@pytest.mark.parametrize(
    "name, wrong",
    [
        ("textile", {"drag": -1.0}),
        ("textile", {"mass": 0.0}),
        ("textile", {"friction": 2.0}),
        ("statue", {"drag": -1.0}),
        ("statue", {"mesh": "missing.obj"}),
        ("bunny", {"vertices": 3}),
        ("bunny", {"diagonal": np.nan}),
        ("flag", {"resolution": 1}),
        ("flag", {"wind": -1.0}),
        ("hair", {"fibers": 0}),
        ("hair", {"length": -0.1}),
        ("hair", {"damping": -1.0}),
        ("hair", {"young": 0.0}),
    ],
)
def test_wrong_parameters_are_one_line(name, wrong):
    with pytest.raises(InputError) as caught:
        scenes.load(name, **{**scenes.entry(name).small, **wrong})
    assert "\n" not in str(caught.value)
