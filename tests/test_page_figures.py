"""Bodies as triangles, where they stand on the page, and what the camera sees of them."""

from types import SimpleNamespace

import numpy as np
import pytest

from stiffly import scenes
from stiffly.collisions import Plane, Sphere
from stiffly.meshes import cloth, cube
from stiffly.recording.exports.frames import solids
from stiffly.recording.exports.pieces import bodies
from stiffly.view.page.figures import LENS, pins, still
from stiffly.view.page.meshes import FEW, SIDES, Beads, Surface, Tubes, parts_of
from stiffly.view.page.place import SIZE, camera, place_lanes, to_be_seen


def volume(x, faces):
    """By the divergence theorem; negative where faces look inwards."""
    a, b, c = (x[faces[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0)


# ------------------------------------------------------------------ triangles


def test_a_surface_leaves_out_what_is_inside_and_follows():
    mesh = cube(3)
    shown = still("cube", mesh.positions, mesh, ())
    surface = Surface(shown.rest, shown.triangles)
    x = np.random.default_rng(0).normal(size=mesh.positions.shape)
    vertices = surface.vertices(x)
    assert len(vertices) < len(x)
    np.testing.assert_array_equal(vertices[surface.faces], x[shown.triangles])


def test_boxes_are_shaded_flat_and_cloth_is_not():
    box, sheet = cube(3), cloth(6, 6)
    boxed = still("box", box.positions, box, ())
    assert Surface(boxed.rest, boxed.triangles).flat
    assert not Surface(sheet.positions, sheet.triangles).flat


@pytest.mark.parametrize("sides", sorted(SIDES.values()))
def test_tubes_stand_around_their_lines(sides):
    x = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 2.0], [1.0, 1.0, 2.0]])
    tubes = Tubes(np.array([[0, 1], [1, 2]]), 0.1, sides)
    vertices = tubes.vertices(x).reshape(2, 2, sides, 3)
    for line, (a, b) in enumerate(((0, 1), (1, 2))):
        along = (x[b] - x[a]) / np.linalg.norm(x[b] - x[a])
        for end, point in enumerate((x[a], x[b])):
            out = vertices[line, end] - point
            np.testing.assert_allclose(np.linalg.norm(out, axis=1), 0.1)
            np.testing.assert_allclose(out @ along, 0.0, atol=1e-12)
    assert tubes.faces.max() == 4 * sides - 1 and len(np.unique(tubes.faces)) == 4 * sides
    area = 2.0 * sides * 0.1 * np.sin(np.pi / sides) * (2.0 + np.sqrt(2.0))  # prisms' sides
    a, b, c = (tubes.vertices(x)[tubes.faces[:, k]] for k in range(3))
    assert np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2.0 == pytest.approx(area)


def test_a_line_of_no_length_is_drawn_as_nothing_worse():
    tubes = Tubes(np.array([[0, 1]]), 0.1, 5)
    assert np.isfinite(tubes.vertices(np.zeros((2, 3)))).all()


def test_beads_are_closed_balls_that_face_outwards():
    octahedron = 4.0 / 3.0
    divided = 8.0 * (3.0 / 12.0 + np.sqrt(2.0) / 12.0)  # det(a, b, c)/6 of its 32 triangles
    for count, expected in ((1000, octahedron), (100, divided)):
        beads = Beads(np.arange(count), 0.5)
        x = np.arange(3 * count, dtype=float).reshape(-1, 3)
        found = volume(beads.vertices(x), beads.faces) / count / 0.5**3
        assert found == pytest.approx(expected, rel=1e-9)
    few = Beads(np.arange(FEW), 1.0)
    assert divided < volume(few.vertices(np.zeros((FEW, 3))), few.faces) / FEW < 4.0 / 3.0 * np.pi


def test_what_can_be_dragged_is_triangles_whatever_the_body():
    for name, kinds in {
        "cloth": [Surface],
        "rope": [Tubes],
        "single-spring": [Tubes, Beads],
        "tower": [Tubes],
    }.items():
        scene = scenes.load(name, small=True)
        shown = still(scene.name, scene.x0, scene.mesh, scene.colliders)
        (piece,) = bodies(shown)
        parts = parts_of(shown.rest, piece, 1.0)
        assert [type(shape) for shape in parts.shapes] == kinds
        assert not len(parts.lines)
        for shape in parts.shapes:
            assert shape.faces.max() == len(shape.vertices(scene.x0)) - 1


def test_of_very_many_lines_some_are_tubes_and_all_are_drawn():
    count = 3 * max(SIDES)
    lines = np.stack([np.arange(count), np.arange(count) + 1], axis=1)
    x = np.random.default_rng(0).normal(size=(count + 1, 3))
    body = SimpleNamespace(triangles=np.empty((0, 3), int), lines=lines, dots=x[:0, 0])
    parts = parts_of(x, body, 1.0)
    assert len(parts.lines) == count
    assert len(parts.shapes[0].vertices(x)) <= 2 * 3 * max(SIDES)


# ------------------------------------------------------------------ places


@pytest.mark.parametrize("lanes", [1, 2, 3])
def test_points_of_the_page_are_found_again_in_the_scene(lanes):
    x = np.random.default_rng(1).normal(size=(50, 3)) * [1e-6, 3e-6, 1e-6] + [5.0, 0.0, 0.0]
    place = place_lanes(x, lanes)
    page = place.on_page(x).astype(float)
    assert np.linalg.norm(np.ptp(page, axis=0)) == pytest.approx(SIZE, rel=1e-5)
    for lane in range(lanes):
        back = place.in_scene(page[7] + place.offsets[lane], lane)
        np.testing.assert_allclose(back, x[7], atol=1e-11)
    np.testing.assert_allclose(place.vector([SIZE, 0.0, 0.0])[0], np.linalg.norm(np.ptp(x, axis=0)))


def test_lanes_stand_beside_each_other_even_when_the_body_turns():
    corners = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)], float)
    place = place_lanes(corners, 3)
    gaps = np.linalg.norm(np.diff(place.offsets, axis=0), axis=1)
    assert gaps.min() > np.sqrt(2.0) * place.scale  # the diagonal of a side
    np.testing.assert_allclose(place.offsets.sum(axis=0), 0.0, atol=1e-12)


@pytest.mark.parametrize("lanes", [1, 3])
def test_the_camera_has_every_point_of_every_lane_in_the_picture(lanes):
    x = np.random.default_rng(2).uniform(size=(40, 3)) * [4.0, 0.5, 2.0]
    place, aspect = place_lanes(x, lanes), 0.85
    view = camera(place, x, aspect)
    forward = view.target - view.position
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    up = np.cross(right, forward)
    for offset in place.offsets:
        seen = place.on_page(x) + offset - view.position
        depth = seen @ forward
        assert (depth > 0.0).all()
        assert np.abs(seen @ up / depth).max() <= np.tan(0.5 * LENS)
        assert np.abs(seen @ right / depth).max() <= aspect * np.tan(0.5 * LENS)


def test_what_hangs_is_seen_down_to_where_it_will_swing():
    x = np.array([[0.0, 0.0, 0.0], [3.0, 0.0, 0.0], [4.0, 0.0, 0.0]])
    seen = to_be_seen(x, np.array([0]), [])
    assert seen[:, 2].min() <= -4.0


def test_what_is_free_can_turn_without_leaving_the_picture():
    x = np.array([[-2.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.5, 0.0]])
    seen = to_be_seen(x, np.empty(0, int), [])
    assert (np.ptp(seen, axis=0) >= 4.0).all()


def test_planes_below_and_colliders_nearby_are_in_the_picture_and_far_ones_are_not():
    x = np.array([[0.0, 0.0, 1.0], [1.0, 1.0, 2.0]])
    none = np.empty(0, int)
    shapes = [Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)), Sphere((0.0, 0.0, -0.5), 0.5)]
    seen = to_be_seen(x, none, solids(shapes, x.min(axis=0), x.max(axis=0)))
    assert seen[:, 2].min() == pytest.approx(-1.0, abs=1e-9)
    far = solids([Sphere((0.0, 0.0, -50.0), 1.0)], x.min(axis=0), x.max(axis=0))
    assert to_be_seen(x, none, far)[:, 2].min() > -1.0


def test_pins_are_what_is_fixed_and_what_is_tied():
    scene = scenes.load("cloth", small=True)
    held = pins(scene.system)
    corners = scene.mesh.vertex_sets["corners"]
    assert {corners[1], corners[3]} <= set(held) and len(held) < 0.05 * len(scene.x0)
    bar = scenes.load("bar", small=True)
    np.testing.assert_array_equal(pins(bar.system), bar.system.fixed)
