"""Where the camera stands, what colours mean, how fast films play: without drawing anything."""

from __future__ import annotations

import numpy as np
import pytest
from recorded import Recorded, solid, wobbling
from scipy.spatial.transform import Rotation

from stiffly.bodies import Gravity, LinearSprings, Springs, System, Tetrahedra
from stiffly.collisions import Plane, keyframes
from stiffly.errors import InputError
from stiffly.meshes import Mesh, cloth, cube
from stiffly.recording.colors import coloring
from stiffly.recording.exports.frames import motion, solids
from stiffly.recording.render import _about_itself, _framed
from stiffly.recording.render_floor import find_floor, round_number
from stiffly.recording.render_time import schedule
from stiffly.recording.render_view import OPENING, Camera, look_at, points_of, sampled, sunlight
from stiffly.recording.render_walls import slab, wall_normals

# ------------------------------------------------------------------ camera, light, floor


def project(view, points, aspect):
    """Where points are in the picture: (-1, 1) across and up, as a pinhole camera sees them."""
    away = points - view.eye
    depth = away @ view.forward
    half = np.tan(np.radians(0.5 * OPENING))
    assert (depth > 0.0).all()
    return away @ view.right / depth / (half * aspect), away @ view.up / depth / half


@pytest.mark.parametrize("aspect", [0.5, 16 / 9, 3.0])
@pytest.mark.parametrize("scale", [(1, 1, 1), (10, 1, 0.1), (0.01, 5, 1), (0, 0, 3)])
def test_camera_sees_everything_from_as_near_as_it_can(aspect, scale):
    points = np.random.default_rng(0).normal(size=(200, 3)) * scale + [100.0, -5.0, 20.0]
    view = look_at(points, aspect)
    a, b = project(view, points, aspect)
    reach = max(np.abs(a).max(), np.abs(b).max())
    assert 0.85 < reach < 0.9001  # within the margin of 5 %, and not smaller than need be
    assert view.up[2] > 0.8 and abs(view.right[2]) < 1e-12  # upright


def test_camera_leaves_room_for_the_scale():
    points = np.random.default_rng(0).normal(size=(200, 3)) * [5, 1, 1]
    a, _ = project(look_at(points, 1.5, bar=0.2), points, 1.5)
    assert a.max() < 0.6001 and a.min() < -0.85


def test_camera_follows_the_whole_motion():
    recorded = wobbling(cube(1))
    recorded.positions = recorded.positions + 4.0 * np.arange(6)[:, None, None]
    shown = motion(recorded)
    view = look_at(points_of(shown, sampled(shown)), 1.5)
    for i in range(6):
        a, b = project(view, recorded.positions[i], 1.5)
        assert np.abs(a).max() < 1.0 and np.abs(b).max() < 1.0


@pytest.mark.parametrize("hairs", [2000, 20_000])
def test_tips_of_many_hairs_are_in_the_picture(hairs):
    """Every k-th particle would be a root for both: a hair has as many, or a tenth of that."""
    along = np.linspace(0.0, 1.0, max(20_000 // hairs, 2))
    roots = np.random.default_rng(0).normal(size=(hairs, 1, 3))
    x = (roots * (1.0 + 3.0 * along[:, None])).reshape(-1, 3)
    shown = motion(Recorded(x[None], None, np.zeros(1)))
    a, b = project(look_at(points_of(shown, [0]), 1.5), x, 1.5)
    assert np.abs(a).max() < 0.95 and np.abs(b).max() < 0.95


def test_shadow_lies_where_light_meets_the_floor():
    shown = motion(solid())
    view = look_at(points_of(shown, [0]), 1.5)
    light = np.array([0.3, 0.1, -1.0]) / np.linalg.norm([0.3, 0.1, -1.0])
    floor = find_floor([], view, light)
    x = shown.frame(0)
    shadow = floor.shadow(x)
    heights = shadow[:, 2] - floor.point[2]
    np.testing.assert_allclose(heights, heights[0], atol=1e-7)
    assert 0.0 < heights[0] < 0.01 and shadow[:, 2].max() < x[:, 2].min()
    way = shadow - x - heights[0] * np.array([0.0, 0.0, 1.0])
    np.testing.assert_allclose(np.cross(way, light), 0.0, atol=1e-6)


def test_floor_is_the_plane_that_is_touched():
    shown = motion(solid())
    view = look_at(points_of(shown, [0]), 1.5)
    light = np.array([0.0, 0.0, -1.0])
    wall, slope = Plane((5, 0, 0), (-1, 0, 0)), Plane((0, 0, -2), (0.1, 0, 1))
    floor = find_floor(solids([wall, slope], view.low, view.high), view, light)
    np.testing.assert_allclose(floor.normal, slope.normal)
    below = (floor.point - slope.point) @ slope.normal
    assert -0.02 * view.size < below < 0.0  # just below, so that what lies on it is seen
    lifted = Plane((0, 0, -2), (0, 0, 1), motion=keyframes([0, 1], [[0, 0, 0], [0, 0, 1]]))
    assert find_floor(solids([lifted], view.low, view.high), view, light) is None
    below = find_floor(solids([wall], view.low, view.high), view, light)
    assert below.solid is None and below.point[2] < view.low[2]


@pytest.mark.parametrize(
    "normal", [(-1, 0, 0), (1, 0, 0), (0, 1, 0), (-0.8, 0.6, 0), (0.1, -1, 0.1)]
)
def test_walls_are_behind_the_body_and_reach_above_it(normal):
    points = np.random.default_rng(0).normal(size=(200, 3))
    wall = Plane(-2.0 * np.array(normal), normal)
    away = points @ wall.normal > 0.1 + wall.point @ wall.normal
    points = points[away]
    view = look_at(points, 1.5, walls=wall_normals([wall]))
    assert (view.eye - wall.point) @ wall.normal > 0.0
    (sheet,) = solids([wall], view.low, view.high)
    made = slab(sheet, view, ground=view.low[2])
    depth = (made.positions - wall.point) @ wall.normal
    np.testing.assert_allclose(depth.max(), 0.0, atol=1e-12)  # its front is the plane
    assert depth.min() < -0.01 * view.size
    # outwards: the volume that the triangles enclose is that of the box, and positive
    a, b, c = (made.positions[made.triangles[:, k]] - made.positions[0] for k in range(3))
    assert np.einsum("ij,ij->", a, np.cross(b, c)) > 0.0
    assert made.positions[:, 2].max() > points[:, 2].max()


def test_a_wall_that_has_to_be_seen_from_behind_hides_nothing():
    """A corridor: one of its two walls is between the camera and the body."""
    points = np.random.default_rng(0).uniform(-1.0, 1.0, size=(50, 3))
    walls = [Plane((-2, 0, 0), (1, 0, 0)), Plane((2, 0, 0), (-1, 0, 0))]
    view = look_at(points, 1.5, walls=wall_normals(walls))
    made = [slab(sheet, view, -1.0) for sheet in solids(walls, view.low, view.high)]
    assert sorted(len(m.positions) for m in made) == [4, 8]  # a sheet, culled, and a box


def test_grid_spacings_are_round():
    assert [round_number(s) for s in (0.9, 1.6, 4.0, 80.0)] == [1.0, 2.0, 5.0, 100.0]
    assert round_number(0.0023) == pytest.approx(0.002)


# ------------------------------------------------------------------ colours


def test_strain_of_a_stretched_cloth():
    mesh = cloth(4, 4, spacing=0.1)
    stretched = np.stack([mesh.positions, 1.1 * mesh.positions, 0.95 * mesh.positions])
    recorded = Recorded(stretched, None, np.arange(3.0), mesh=mesh)
    (colors,) = coloring([recorded], [motion(recorded)], "strain")
    np.testing.assert_allclose(colors.values(1), 10.0, rtol=1e-6)
    np.testing.assert_allclose(colors.values(2), -5.0, rtol=1e-6)
    assert colors.label == "mean strain [%]"
    assert colors.low == pytest.approx(-10.0) and colors.high == pytest.approx(10.0)
    red, _, blue = colors.colors(1)[0].astype(int)
    assert red > blue + 50  # stretched is red, compressed blue
    red, _, blue = colors.colors(2)[0].astype(int)
    assert blue > red + 30


def test_speed_is_read_or_found_from_the_frames():
    recorded = wobbling(cube(1), frames=101, interval=0.001)
    (colors,) = coloring([recorded], [motion(recorded)], "speed")
    factor = 1.0 if colors.label == "speed [m/s]" else 1000.0
    speed = factor * np.linalg.norm(recorded.velocities[50], axis=1)
    np.testing.assert_allclose(colors.values(50), speed, rtol=1e-6)
    recorded.velocities = None
    (found,) = coloring([recorded], [motion(recorded)], "speed")
    np.testing.assert_allclose(found.values(50), speed, rtol=1e-3)


def test_runs_side_by_side_share_one_scale():
    slow, fast = solid(), solid()
    slow.velocities = 0.1 * fast.velocities
    a, b = coloring([slow, fast], [motion(slow), motion(fast)], "speed")
    assert a.high == b.high and a.values(1).max() < 0.2 * a.high


# ------------------------------------------------------------------ time


def test_sparse_frames_are_all_shown():
    plan = schedule(0.1 * np.arange(51), fps=30)
    assert plan.rate == pytest.approx(10.0) and len(plan.times) == 51 and plan.speed == 1.0


def test_dense_frames_are_picked_in_real_time():
    plan = schedule(0.001 * np.arange(5001), fps=30)
    assert plan.rate == 30.0 and len(plan.times) == 151
    np.testing.assert_allclose(plan.times, np.arange(151) / 30.0)


def test_short_motions_are_slowed_down():
    plan = schedule(1e-5 * np.arange(701), fps=30)
    assert plan.speed == pytest.approx(1e-3) and len(plan.times) == 211  # 7 ms take 7 s
    plan = schedule(0.1 * np.arange(51), fps=30, speed=0.5)
    assert plan.rate == pytest.approx(5.0)


def test_films_are_sped_up_and_slowed_down():
    times = 0.01 * np.arange(1001)  # 10 s
    fast, slow = schedule(times, fps=30, speed=10.0), schedule(times, fps=30, speed=0.1)
    assert len(fast.times) == 31 and fast.rate == 30.0  # 1 s of film
    np.testing.assert_allclose(fast.times, np.arange(31) / 3.0)
    assert len(slow.times) == 1001 and slow.rate == pytest.approx(10.0)  # 100 s


@pytest.mark.parametrize(
    ("duration", "speed", "cause", "better"),
    [
        (10.0, 1e-4, "a film of 27.8 hours", 1.0),
        (1e6, None, "a film of 278 hours", 1e5),
        (10.0, 1e3, "leaves one picture", 1.0),
    ],
)
def test_speeds_that_make_no_film_are_refused(duration, speed, cause, better):
    times = np.linspace(0.0, duration, 101)
    with pytest.raises(InputError, match=cause) as caught:
        schedule(times, 30, speed)
    assert "\n" not in str(caught.value)
    assert float(str(caught.value).split()[-1]) == better  # and that one makes a film
    plan = schedule(times, 30, better)
    assert 1.0 < len(plan.times) / plan.rate < 20.0


def pulled(parts, x, **given):
    """Coloured by what these parts bear in x, after a frame at rest (the first argument of x)."""
    rest, moved = x
    system = System(np.ones(len(rest)), parts, rest=rest, **given)
    recorded = Recorded(np.stack([rest, moved]), None, np.arange(2.0))
    (colors,) = coloring([recorded], [motion(recorded)], "stress", [system])
    return colors


def test_tension_of_springs_is_that_of_the_one_that_bears_most():
    line = np.array([[0.0, 0, 0], [1.0, 0, 0], [2.0, 0, 0], [9.0, 0, 0]])
    moved = line.copy()
    moved[:, 0] += [0.0, 0.1, 0.05, 0.0]  # the first 10 % longer, the second 5 % shorter
    edges, k = [[0, 1], [1, 2]], 1e4
    for fixed in ([], [0, 1]):  # held particles stand in rows of their own
        colors = pulled([Springs(edges, k)], (line, moved), fixed=fixed)
        np.testing.assert_allclose(colors.values(1), [1.0, 1.0, -0.5, 0.0], rtol=1e-9)
        assert colors.label == "tension [kN]" and colors.low == -colors.high
        rods = System(1.0, [Springs(edges, k)], rest=line, fixed=fixed).stress
        ends = [[2, 1], [0, 2], [0, 1]]  # whichever comes first; no spring; a spring
        np.testing.assert_allclose(rods(moved, ends)[0], [-500.0, 0.0, 1000.0], rtol=1e-9)
    cubic = pulled([Springs(edges, k, law="cubic")], (line, moved))
    np.testing.assert_allclose(cubic.values(1)[[0, 2]], [1.01, -0.50125], rtol=1e-9)
    sideways = moved.copy()
    sideways[1:3, 1] += [0.3, 0.1]
    rods = pulled([LinearSprings(edges, k, across=0.5)], (line, sideways))
    np.testing.assert_allclose(rods.values(1), [1.0, 1.0, -0.5, 0.0], rtol=1e-9)  # along alone


@pytest.mark.parametrize("material", ["corotated", "stvk", "neo-hookean"])
def test_stress_of_tets_is_the_force_on_a_face_over_its_area(material):
    """A bar without Poisson's ratio, pulled by its ends and turned: no stress across."""
    mesh = cube(2)
    turn = Rotation.from_rotvec([0.3, -0.5, 0.7]).as_matrix()
    moved = (mesh.positions * [1.1, 1.0, 1.0]) @ turn.T
    tets = Tetrahedra(mesh.tets, 1e6, 0.0, material)
    colors = pulled([tets], (mesh.positions, moved))
    system, state = System(1.0, [tets], rest=mesh.positions).bind(moved)
    force = system.force(state).reshape(-1, 3) @ turn
    end = np.isclose(mesh.positions[:, 0], mesh.positions[:, 0].max())
    side = np.ptp(mesh.positions[:, 1])
    borne = abs(force[end, 0].sum()) / side**2  # its sides are not strained
    if material != "neo-hookean":  # whose sides press outwards at nu = 0
        np.testing.assert_allclose(1e3 * colors.values(1), borne, rtol=1e-9)
    assert colors.label == "stress [kPa]" and colors.low == 0.0
    swollen = pulled([tets], (mesh.positions, 1.1 * mesh.positions))
    assert swollen is None  # the same on all sides: von Mises sees nothing


def test_stress_needs_what_moved():
    mesh = cloth(3, 3, spacing=0.1)
    recorded = Recorded(np.stack([mesh.positions] * 2), None, np.arange(2.0), mesh=mesh)
    shown = [motion(recorded)]
    with pytest.raises(InputError, match="needs what moved: give its System or scene"):
        coloring([recorded], shown, "stress")
    with pytest.raises(InputError, match="needs a System of springs or tets"):
        coloring([recorded], shown, "stress", [object()])
    system = System(1.0, [Gravity()], rest=mesh.positions)
    with pytest.raises(InputError, match="no part of this has a stress"):
        coloring([recorded], shown, "stress", [system])
    bent = System(1.0, [Springs(mesh.edges, 1.0, yield_strain=0.1)], rest=mesh.positions)
    with pytest.raises(InputError, match="is not in their positions"):
        coloring([recorded], shown, "stress", [bent])


# ------------------------------------------------------------------ a camera that is asked for


def test_the_camera_stands_where_it_is_asked_to():
    points = np.random.default_rng(1).normal(size=(100, 3))
    view = look_at(points, 1.5, camera=Camera(azimuth=90.0, elevation=0.0))
    np.testing.assert_allclose(view.forward, [0.0, -1.0, 0.0], atol=1e-12)
    steep = look_at(points, 1.5, camera=Camera(azimuth=0.0, elevation=80.0))
    assert np.degrees(np.arcsin(-steep.forward[2])) == pytest.approx(80.0)


@pytest.mark.parametrize("degrees", [17.0, 90.0, 200.0, 345.0])
def test_a_turntable_keeps_everything_in_the_picture(degrees):
    points = np.random.default_rng(2).normal(size=(200, 3)) * [5.0, 1.0, 2.0] + [3.0, 0.0, 1.0]
    view = look_at(points, 1.5, camera=Camera(turn=360.0)).turned(degrees)
    a, b = project(view, points, 1.5)
    assert max(np.abs(a).max(), np.abs(b).max()) < 0.95
    assert abs(view.right[2]) < 1e-12 and view.up[2] > 0.8


def test_who_follows_is_nearer_than_who_sees_the_whole_way():
    recorded = wobbling(cube(1))
    recorded.positions = recorded.positions + 4.0 * np.arange(6)[:, None, None]
    shown = motion(recorded)
    near, far = _about_itself(shown), points_of(shown, sampled(shown))
    assert np.ptp(near, axis=0).max() < 0.5 * np.ptp(far, axis=0).max()


@pytest.mark.parametrize("place", [(1.0,), "ab", (0.0, 90.0), (np.nan, 0.0), (0.0, "up")])
def test_cameras_that_are_none_are_named(place):
    with pytest.raises(InputError, match="degrees"):
        Camera.asked(place, 0.0, False)


def test_films_say_what_is_not_as_in_life():
    assert schedule(np.linspace(0.0, 10.0, 11), 30).note == "1 pictures a second"
    assert schedule(np.linspace(0.0, 10.0, 301), 30).note == ""
    assert schedule(np.linspace(0.0, 10.0, 3001), 30, 0.5).note == "2x slowed down"


# ------------------------------------------------------------------ films that say what they lack


@pytest.mark.parametrize(
    "frames, duration", [(16, 0.5), (5, 0.5), (61, 2.0), (200, 1.0), (40, 1.9)]
)
def test_no_film_is_slower_than_its_frames_bear(frames, duration):
    """Sixteen frames of half a second are no slide show of ten seconds."""
    times = np.linspace(0.0, duration, frames)
    plan = schedule(times, 30)
    assert plan.rate >= 15.0 or plan.speed == 1.0
    assert plan.coarse == (plan.rate < 15.0)


def test_a_film_has_no_picture_twice_where_there_are_enough():
    plan = schedule(np.arange(0.0, 10.0, 1 / 25), 30)
    assert plan.shown_at == pytest.approx(25.0) and not plan.advice
    assert schedule(np.arange(0.0, 10.0, 1 / 100), 30).shown_at == 30.0
    coarse = schedule(np.arange(0.0, 10.0, 0.5), 30)
    assert coarse.shown_at == 30.0
    assert "record with --every 0.033" in coarse.advice and "--speed 10" in coarse.advice
    assert not schedule(np.arange(0.0, 10.0, 0.5), 30, speed=10.0).coarse  # what was advised


def test_one_fast_vertex_does_not_decide_the_scale():
    """150 vertices at 1 m/s and one at 57."""
    mesh = cloth(10, 15, spacing=0.1)
    speeds = np.ones((3, len(mesh.positions), 3)) / np.sqrt(3.0)
    speeds[:, 7] *= 57.0
    made = Recorded(np.stack([mesh.positions] * 3), speeds, np.arange(3.0), mesh=mesh)
    [scale] = coloring([made], [motion(made)], "speed")
    assert scale.high == pytest.approx(1.0)


def test_shadows_are_in_the_picture():
    """Of a tall pole: no part of its shadow, as the light falls, lies outside."""
    pole = np.column_stack([np.zeros(30), np.zeros(30), np.linspace(0.0, 2.0, 30)])
    chain = np.column_stack([np.arange(29), np.arange(1, 30)])
    made = Recorded(np.stack([pole] * 2), None, np.arange(2.0), mesh=Mesh(pole, chain))
    shown, aspect = motion(made), 16 / 9
    view = _framed([shown], pole, aspect)
    seen = view._replace(low=pole.min(axis=0), high=pole.max(axis=0))
    floor = find_floor([], seen, sunlight(view))
    for points in (pole, floor.shadow(pole)):
        a, b = project(view, points, aspect)
        assert np.abs(a).max() <= 1.0 and np.abs(b).max() <= 1.0


def test_the_light_presses_points_onto_the_floor():
    """As a matrix and by the formula for one direction."""
    view = look_at(np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]), 1.5)
    floor = find_floor([], view, sunlight(view))
    x = np.random.default_rng(3).normal(size=(20, 3))
    pressed = x @ floor.flattening(floor.light)[:3, :3].T + floor.flattening(floor.light)[:3, 3]
    np.testing.assert_allclose(pressed + floor.above * floor.normal, floor.shadow(x), atol=1e-12)
