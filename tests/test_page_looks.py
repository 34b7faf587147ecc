"""Colours, the floor, and a camera that goes after what leaves the picture."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stiffly import scenes
from stiffly.view.page.figures import LENS, Figures, pins, still
from stiffly.view.page.meshes import Beads, Surface, Tubes, level_of, pieces
from stiffly.view.page.paint import LEVELS, SPEED, STRAIN, Paint, kinds
from stiffly.view.page.place import (
    Camera,
    camera,
    floor_below,
    followed,
    place_lanes,
    seen,
    share_seen,
    to_be_seen,
    worth_following,
)
from stiffly.view.page.scenery import LEAST_BALL, Floor, shrunk

EDGES = np.array([[0, 1], [1, 2]])
MESH = SimpleNamespace(positions=np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0]]), edges=EDGES)


def lane(x, v=None, failure=None):
    x = np.asarray(x, dtype=np.float32)
    velocities = np.zeros_like(x) if v is None else np.asarray(v, dtype=np.float32)
    return SimpleNamespace(positions=x, velocities=velocities, failure=failure)


# ------------------------------------------------------------------ colours


def test_speed_is_coloured_from_rest_to_the_fastest():
    paint = Paint(SPEED, MESH)
    v = [[0.0, 0, 0], [0, 3, 4], [0, 0, 10.0]]
    (values,) = paint.values([lane(MESH.positions, v)])
    np.testing.assert_allclose(values, [0.0, 5.0, 10.0])
    assert paint.high == 10.0  # the rule of films: of three values each counts
    levels = paint.levels(values)
    assert levels[0] == 0 and levels[2] == LEVELS - 1
    assert "m/s" in paint.legend()


def test_strain_is_coloured_from_compressed_to_stretched():
    paint = Paint(STRAIN, MESH)
    x = MESH.positions * [1.0, 1, 1]
    x[1, 0] = 1.2  # the first edge is a fifth longer, the second a fifth shorter
    (values,) = paint.values([lane(x)])
    np.testing.assert_allclose(values, [0.2, 0.0, -0.2], atol=1e-6)
    assert list(paint.levels(np.array([-paint.high, paint.high]))) == [0, LEVELS - 1]
    assert "compressed" in paint.legend()


def test_a_body_without_edges_has_no_strain_to_show():
    assert STRAIN in kinds(MESH) and STRAIN not in kinds(None)


def test_what_has_exploded_does_not_set_the_scale():
    paint = Paint(SPEED, MESH)
    bad = lane(MESH.positions, np.full((3, 3), np.inf), failure="stopped")
    paint.values([lane(MESH.positions, np.eye(3)), bad])
    assert paint.high == pytest.approx(1.0)
    assert set(paint.levels(np.array([np.nan, np.inf]))) <= set(range(LEVELS))


@given(st.integers(0, 2**32 - 1))
def test_the_pieces_of_all_levels_are_the_whole_shape(seed):
    chance = np.random.default_rng(seed)
    x = chance.normal(size=(12, 3))
    lines = chance.integers(0, 12, size=(5, 2))
    triangles = np.array([chance.choice(12, 3, replace=False) for _ in range(9)])
    for shape in (Surface(x, triangles), Tubes(lines, 0.1, 4), Beads(np.arange(7), 0.1)):
        level = level_of(shape, chance.integers(0, LEVELS, size=12))
        cut = pieces(shape, x, level, LEVELS)
        found = [vertices[faces] for vertices, faces in filter(None, cut)]
        whole = shape.vertices(x)[shape.faces]
        order = np.argsort(level, kind="stable")
        np.testing.assert_array_equal(np.concatenate(found), whole[order])


# ------------------------------------------------------------------ the camera


def cloud(shift=(0.0, 0.0, 0.0)):
    return np.random.default_rng(0).uniform(-1.0, 1.0, (200, 3)) + shift


def view_of(points):
    return camera(place_lanes(points, 1), points)


def on_page(points, like):
    return place_lanes(like, 1).on_page(points).astype(float)


@given(shift=st.tuples(*[st.floats(-1e3, 1e3)] * 3))
def test_the_camera_goes_along_with_what_leaves_the_picture(shift):
    points = cloud()
    before = seen(view_of(points), [on_page(points, points)], 0.85, LENS)
    assert before.share == 1.0
    moved = on_page(points + np.array(shift), points)
    after = followed(before, [moved], 0.85, LENS)
    if after is None:
        assert share_seen(before.view, moved, 0.85, LENS) >= 0.7
    else:
        assert share_seen(after.view, moved, 0.85, LENS) > 0.99
        # the same side, the same distance
        np.testing.assert_allclose(
            after.view.target - after.view.position, before.view.target - before.view.position,
            atol=1e-6,
        )  # fmt: skip


def test_who_has_come_close_to_see_a_part_is_left_alone():
    points = on_page(cloud(), cloud())
    far = view_of(cloud())
    near = Camera(far.target + 0.15 * (far.position - far.target), far.target)
    before = seen(near, [points], 0.85, LENS)
    assert before.share < 0.5
    assert followed(before, [points + 0.01], 0.85, LENS) is None
    assert followed(before, [points + 9.0], 0.85, LENS) is not None


def test_lanes_that_failed_or_exploded_are_not_followed():
    x = cloud()
    place = place_lanes(x, 3)
    lanes = [lane(x), lane(x, failure="stopped"), lane(1e30 * x)]
    assert len(worth_following(place, lanes)) == 1
    assert worth_following(place, [lane(x * np.nan)] * 3) == []


class Viser(SimpleNamespace):
    """A page that keeps where it is looked at from."""

    def __init__(self):
        node = SimpleNamespace(position=None)
        scene = SimpleNamespace(
            reset=lambda: None, configure_default_lights=lambda **_: None,
            **{f"add_{kind}": lambda *_, **__: node for kind in
               ("mesh_simple", "line_segments", "frame", "label", "grid", "icosphere")},
        )  # fmt: skip
        super().__init__(scene=scene, initial_camera=SimpleNamespace(), get_clients=dict)


@pytest.mark.parametrize("lanes", [1, 2, 3])
@pytest.mark.parametrize("name", ["cloth", "coil-spring", "tower", "bar"])
def test_names_above_bodies_are_in_the_picture(name, lanes):
    scene = scenes.load(name, small=True)
    shown = still(scene.name, scene.x0, scene.mesh, scene.colliders)
    viser = Viser()
    figures = Figures(viser, shown, pins(scene.system), ["verlet"] * lanes)
    figures.look()
    at = viser.initial_camera
    view = Camera(np.asarray(at.position), np.asarray(at.look_at))
    x = figures.place.on_page(shown.rest)
    middle = 0.5 * (x.min(axis=0) + x.max(axis=0))
    for offset in figures.place.offsets:  # as high as a twelfth of the body's size, and its letters
        name_at = np.array([*middle[:2], x[:, 2].max() + 0.12 * 4.0 + 0.2]) + offset
        assert share_seen(view, name_at[None], 0.85, LENS) == 1.0


# ------------------------------------------------------------------ floor and balls


def floor_of(name):
    scene = scenes.load(name, small=True)
    shown = still(scene.name, scene.x0, scene.mesh, scene.colliders)
    held = pins(scene.system)
    place = place_lanes(shown.rest, 1)
    height = floor_below(place, scene.x0, held, to_be_seen(scene.x0, held, []))
    return height, place.on_page(scene.x0)[:, 2]


def test_the_floor_is_at_the_feet_of_what_stands_and_below_what_hangs():
    height, z = floor_of("dog")
    assert height == pytest.approx(z.min())
    height, z = floor_of("cloth")
    assert height < z.min()


def test_the_floor_gives_way_to_what_falls():
    node = SimpleNamespace(position=None)
    floor = Floor(SimpleNamespace(add_grid=lambda *_, **given: node), -2.0)
    floor.below(-1.0)
    assert node.position is None
    floor.below(-7.0)
    assert node.position[2] < -7.0


@given(edge=st.floats(0.0, 1.0), radius=st.floats(0.1, 2.0))
def test_a_ball_is_drawn_inside_the_triangles_that_lie_on_it(edge, radius):
    """The middle of an equilateral triangle with corners on the ball is outside of what is drawn,
    or the ball is as small as it may be."""
    shape = SimpleNamespace(radius=radius, centre=np.array([1.0, 2.0, 3.0]))
    solid = Drawn(shape, shape.centre + radius * np.eye(3), hollow=False)
    drawn = np.linalg.norm(shrunk(solid, edge).positions - shape.centre, axis=1)
    depth = np.sqrt(max(radius**2 - edge**2 / 3.0, 0.0))
    np.testing.assert_allclose(drawn, max(depth, LEAST_BALL * radius), rtol=1e-9)
    assert shrunk(solid._replace(hollow=True), edge).hollow


class Drawn(SimpleNamespace):
    def __init__(self, shape, positions, hollow):
        super().__init__(shape=shape, positions=positions, hollow=hollow)

    def _replace(self, **given):
        return Drawn(**{**vars(self), **given})
