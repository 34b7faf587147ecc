"""Pictures and films: what is in them, where the camera stands, how fast films play."""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded import Recorded, dust, sheet, solid, string, wobbling

from stiffly import InputError, Scene, scenes, shapes, simulate
from stiffly.collisions import Plane, Sphere, keyframes
from stiffly.meshes import Mesh, cloth, cube
from stiffly.recording.colors import Coloring, coloring
from stiffly.recording.exports.frames import motion
from stiffly.recording.render import _framed, render, side_by_side, thumbnail
from stiffly.recording.render_labels import Words, draw_bar, letters, write_words
from stiffly.recording.render_scenery import Scenery
from stiffly.recording.render_view import sampled

pytest.importorskip("pyvista")
Image = pytest.importorskip("PIL.Image")

SMALL = (200, 120)


def pixels(path):
    return np.asarray(Image.open(path).convert("RGB")).astype(int)


def coloured(picture):
    """Mask of what is neither grey nor white: the body and the scale."""
    return np.ptp(picture, axis=2) > 30


# ------------------------------------------------------------------ stills


@pytest.mark.parametrize("make", [solid, sheet, string, dust])
@pytest.mark.parametrize("color", ["speed", "none"])
def test_every_kind_of_body_is_seen(make, color, tmp_path):
    path = render(make(), tmp_path / "new" / "body.png", color=color, frame=1, size=SMALL)
    picture = pixels(path)
    assert picture.shape == (120, 200, 3)
    body = coloured(picture)[:, :118]  # without the scale
    assert 20 < body.sum() < 0.6 * body.size
    rows, columns = np.nonzero(body)
    assert rows.min() > 5 and rows.max() < 115 and columns.min() > 5


def test_atoms_fill_space(tmp_path):
    """A ball of its van der Waals radius for each: two a bond apart overlap, in their colours."""
    x = np.array([[0.0, 0.0, 0.0], [1.23, 0.0, 0.0], [6.0, 0.0, 0.0]])  # carbon, oxygen; nitrogen
    sets = {"element C": np.array([0]), "element O": np.array([1]), "element N": np.array([2])}
    mesh = Mesh(x, np.array([[0, 1]]), vertex_sets=sets)
    made = Recorded(np.stack([x, x]), None, np.array([0.0, 1.0]), mesh=mesh)
    picture = pixels(render(made, tmp_path / "m.png", color="none", size=(400, 240))).astype(int)
    red = (picture[..., 0] > picture[..., 2] + 60) & (picture[..., 0] > picture[..., 1] + 60)
    blue = picture[..., 2] > picture[..., 0] + 60
    # the nitrogen stands alone, as high as wide; 2 r = 3.1 A, where centres are 4.77 A apart
    rows, columns = np.nonzero(blue)
    assert np.ptp(rows) == pytest.approx(np.ptp(columns), rel=0.15)
    apart = columns.mean() - np.nonzero(red)[1].mean()
    assert apart > np.ptp(columns) > 0.3 * apart


def test_still_shows_the_frame_asked_for(tmp_path):
    recorded = solid()
    first, last, named = (
        pixels(render(recorded, tmp_path / f"{k}.png", frame=frame, size=SMALL))
        for k, frame in enumerate((0, -1, 5))
    )
    plain = pixels(render(recorded, tmp_path / "plain.png", size=SMALL))
    assert np.array_equal(last, named) and np.array_equal(last, plain)
    assert np.abs(first - last).max() > 50


def test_a_still_that_follows_sees_its_own_moment(tmp_path):
    """Of a body that goes far the picture is full, at any moment."""
    recorded = solid()
    recorded.positions = recorded.positions + [0.0, 6.0, 0.0] * np.arange(6)[:, None, None]
    for frame in (0, 3, -1):
        look = {"frame": frame, "color": "none", "size": SMALL}
        far = coloured(pixels(render(recorded, tmp_path / "far.png", **look)))
        near = coloured(pixels(render(recorded, tmp_path / "near.png", follow=True, **look)))
        assert near.sum() > 10 * far.sum()
        assert np.abs(np.argwhere(near).mean(axis=0) - [60, 100]).max() < 25


def test_the_scale_is_drawn_with_its_colours(tmp_path):
    recorded = solid()
    size = (400, 160)
    strip = pixels(render(recorded, tmp_path / "a.png", frame=2, size=size))[:, 330:]
    bare = pixels(render(recorded, tmp_path / "b.png", frame=2, size=size, color="none"))[:, 330:]
    assert coloured(strip).sum() > 300 and coloured(bare).sum() == 0
    (colors,) = coloring([recorded], [motion(recorded)], "speed")
    for end in (colors.table[0], colors.table[-1]):
        assert np.abs(strip - end).max(axis=2).min() < 12


WORDS = st.text("Wm−%[]. é", max_size=60)


@given(
    size=st.tuples(st.integers(16, 400), st.integers(60, 300)),
    words=st.tuples(WORDS, WORDS, WORDS, WORDS),
)
def test_no_letter_is_cut_at_the_edge_of_a_picture(size, words):
    height = letters(size)
    written = write_words(np.full((size[1], size[0], 3), 255, np.uint8), Words(*words), height)
    assert (written[:, [0, -1]] == 255).all()


def test_words_that_have_room_are_as_large_in_any_picture():
    narrow, wide = (
        write_words(np.full((100, width, 3), 255, np.uint8), Words("rope", "verlet"), 20)
        for width in (120, 900)
    )
    assert np.array_equal(narrow, wide[:, :120]) and (wide[:, 120:] == 255).all()
    assert (narrow < 128).any()


@given(
    size=st.tuples(st.integers(100, 900), st.integers(100, 500)),
    high=st.floats(1e-9, 1e30),
    both=st.booleans(),
    label=WORDS,
)
def test_numbers_and_words_of_a_scale_stay_in_the_picture(size, high, both, label):
    table = np.tile(np.arange(256, dtype=np.uint8)[:, None] // 2, 3)
    scale = Coloring(label, lambda i: np.zeros(1), -high if both else 0.0, high, table)
    drawn = draw_bar(np.full((size[1], size[0], 3), 255, np.uint8), scale)
    assert (drawn[:, [0, -1]] == 255).all()
    assert (drawn < 128).any()


def test_a_body_at_rest_has_no_scale(tmp_path):
    x = np.repeat(cube(1).positions[None], 3, axis=0)
    still = Recorded(x, np.zeros_like(x), np.arange(3.0), mesh=cube(1))
    assert coloring([still], [motion(still)], "speed") == [None]
    assert coloured(pixels(render(still, tmp_path / "a.png", size=SMALL))).sum() > 50


def test_exploded_run_still_gives_a_picture(tmp_path):
    recorded = solid()
    recorded.positions = recorded.positions.astype(np.float64)
    recorded.positions[4] *= 1e60
    recorded.positions[5] = np.nan
    shown = motion(recorded)
    assert list(sampled(shown)) == [0, 1, 2, 3]
    assert coloured(pixels(render(recorded, tmp_path / "a.png", frame=2, size=SMALL))).sum() > 50
    for frame in (4, 5):
        render(recorded, tmp_path / f"{frame}.png", frame=frame, size=SMALL)


def test_a_run_without_a_finite_frame(tmp_path):
    recorded = solid()
    recorded.positions[:] = np.nan
    with pytest.raises(InputError, match="no frame holds finite positions"):
        render(recorded, tmp_path / "a.png", size=SMALL)


def test_colliders_are_in_the_picture(tmp_path):
    recorded = sheet()
    bare = pixels(render(recorded, tmp_path / "a.png", frame=0, size=SMALL, color="none"))
    recorded.colliders = (Sphere((0.2, 0.15, -0.2), 0.15), Plane((0, 0, -0.4), (0, 0, 1)))
    more = pixels(render(recorded, tmp_path / "b.png", frame=0, size=SMALL, color="none"))
    grey = [(np.ptp(p, axis=2) < 8) & (p.mean(axis=2) < 190) for p in (bare, more)]
    before, after = (mask[30:100, 70:].sum() for mask in grey)  # where no words are
    assert before < 20 and after > 150


def test_moving_colliders_move(tmp_path):
    recorded = sheet()
    recorded.positions[:] = recorded.positions[0]
    up = keyframes([0.0, 0.5], [[0.0, 0.0, 0.0], [0.0, 0.0, -0.3]])
    recorded.colliders = (Sphere((0.2, 0.15, -0.2), 0.1, motion=up),)
    first, last = (
        pixels(render(recorded, tmp_path / f"{i}.png", frame=i, size=SMALL, color="none"))
        for i in (0, 5)
    )
    assert np.abs(first - last).max() > 50


def test_a_shadow_is_sharp_where_a_body_stands_and_soft_where_it_hangs(tmp_path):
    """Widths of the edge between light and dark, of a plate near the floor and of one high up."""
    edges = {}
    for height in (0.02, 1.0):
        flat = cloth(5, 5, spacing=0.25)
        plate = flat.positions + np.array([0.0, 0.0, height])
        mesh = replace(flat, positions=plate)
        made = Recorded(np.stack([plate] * 2), None, np.arange(2.0), mesh=mesh)
        made.colliders = (Plane((0, 0, 0), (0, 0, 1)),)
        shown = motion(made)
        view = _framed([shown], plate, 1.0)
        low, high = plate.min(axis=0), plate.max(axis=0)
        low[2] = 0.0
        with closing(Scenery(shown, None, view._replace(low=low, high=high), (64, 64))) as scenery:
            scenery.picture(0)
            ink = scenery._shadow._image.point_data["ink"][:, 3].astype(float)
        side = int(np.sqrt(len(ink)))
        row = ink.reshape(side, side)[side // 2] / ink.max()
        edges[height] = ((row > 0.1) & (row < 0.9)).sum() / (row >= 0.9).sum()
    assert edges[1.0] > 2.0 * edges[0.02]


def test_thumbnail_is_small_and_without_words(tmp_path):
    path = thumbnail(solid(), tmp_path / "small.png")
    picture = pixels(path)
    assert picture.shape == (320, 480, 3) and path.stat().st_size < 150_000
    body = coloured(picture)
    assert body.sum() > 0.05 * body.size
    ink = (picture < 80).all(axis=2)
    assert not ink[:60, :100].any() and not ink[-60:, :100].any()


# ------------------------------------------------------------------ films


def film_facts(path):
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    reader = ffmpeg.read_frames(str(path))
    facts = next(reader)
    frames = [np.frombuffer(f, np.uint8).reshape(*facts["size"][::-1], 3) for f in reader]
    return facts, frames


def test_film_plays_in_real_time(tmp_path):
    recorded = wobbling(cube(1), frames=7, interval=0.5)
    done = []
    path = render(
        recorded, tmp_path / "run.mp4", size=SMALL, fps=20, progress=lambda *n: done.append(n)
    )
    facts, frames = film_facts(path)
    assert facts["codec"] == "h264" and facts["pix_fmt"].startswith("yuv420p")
    assert facts["size"] == SMALL and facts["fps"] == 20.0
    assert facts["duration"] == pytest.approx(3.5, abs=0.11)  # six intervals, and the last frame
    assert len(frames) == pytest.approx(70, abs=2)
    assert done == [(k, 7) for k in range(1, 8)]
    stills = [pixels(render(recorded, tmp_path / "s.png", size=SMALL, frame=k)) for k in (1, 4)]
    for still, frame in zip(stills, (frames[15], frames[45]), strict=True):
        assert np.abs(still - frame.astype(int)).mean() < 4.0  # what compression changes
    assert np.abs(stills[0] - frames[45].astype(int)).mean() > 6.0


def test_odd_sizes_become_even(tmp_path):
    recorded = wobbling(cube(1), frames=2)
    facts, _ = film_facts(render(recorded, tmp_path / "run.mp4", size=(101, 75)))
    assert facts["size"] == (100, 74)


def test_film_of_one_frame(tmp_path):
    recorded = wobbling(cube(1), frames=1)
    _, frames = film_facts(render(recorded, tmp_path / "run.mp4", size=SMALL))
    assert len(frames) >= 1


def test_interrupted_film_leaves_nothing(tmp_path):
    def progress(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        render(solid(), tmp_path / "run.mp4", size=SMALL, progress=progress)
    assert list(tmp_path.iterdir()) == []


def test_side_by_side(tmp_path):
    whole, short = solid(), solid()
    short.positions, short.velocities = short.positions[:3], short.velocities[:3]
    short.times = short.times[:3]
    path = side_by_side([whole, short], tmp_path / "both.png", size=(400, 120), frame=5)
    picture = pixels(path)
    assert picture.shape == (120, 400, 3)
    left, right = coloured(picture[:, :174]), coloured(picture[:, 176:340])
    assert left.sum() > 200 and right.sum() > 200
    alone = pixels(side_by_side([whole, whole], tmp_path / "same.png", size=(400, 120), frame=5))
    assert np.array_equal(alone[:, :170], picture[:, :170])
    assert not np.array_equal(alone[:, 176:340], picture[:, 176:340])  # it stopped before


def test_panels_of_no_width_are_refused(tmp_path):
    with pytest.raises(InputError, match="too narrow for 2 runs"):
        side_by_side([sheet(), sheet()], tmp_path / "a.png", frame=0, size=(64, 36))


def test_side_by_side_film(tmp_path):
    runs = [wobbling(cube(1), frames=3), wobbling(cube(1), frames=3), wobbling(cube(1), frames=3)]
    path = side_by_side(runs, tmp_path / "three.mp4", labels=["a", "b", "c"], size=(300, 100))
    facts, _ = film_facts(path)
    assert facts["size"] == (300, 100)


# ------------------------------------------------------------------ input


def test_strain_needs_edges(tmp_path):
    with pytest.raises(InputError, match='needs the edges of a mesh: take color="speed"'):
        render(dust(), tmp_path / "a.png", color="strain")


def test_wrong_input_is_named(tmp_path):
    run = solid()
    for options, words in (
        ({"color": "sped"}, "unknown color sped: did you mean speed"),
        ({"frame": 6}, "frame 6 is not there: the recording has frames 0 to 5"),
        ({"frame": -7}, "frame -7 is not there"),
        ({"size": (0, 100)}, "size must be .* 16 or more"),
        ({"fps": 0.0}, "fps must be positive"),
        ({"speed": -1.0}, "speed must be positive"),
    ):
        with pytest.raises(InputError, match=words):
            render(run, tmp_path / "run.png", **options)
    with pytest.raises(InputError, match=r"stills end in \.png, films in \.mp4"):
        render(run, tmp_path / "run.avi")
    with pytest.raises(InputError, match=r"stills end in \.png"):
        render(run, tmp_path / "run.mp4", frame=1)
    with pytest.raises(InputError, match="1 labels for 2 runs"):
        side_by_side([run, run], tmp_path / "run.png", labels=["a"])
    with pytest.raises(InputError, match="nothing to draw"):
        side_by_side([], tmp_path / "run.png")
    assert list(tmp_path.iterdir()) == []


def test_missing_libraries_are_named(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "imageio_ffmpeg", None)
        with pytest.raises(InputError, match=r'films need.*pip install "stiffly\[render\]"'):
            render(solid(), tmp_path / "run.mp4", size=SMALL)
    monkeypatch.setitem(sys.modules, "pyvista", None)
    with pytest.raises(InputError, match=r'pictures.*pip install "stiffly\[render\]"'):
        render(solid(), tmp_path / "run.png", size=SMALL)
    assert list(tmp_path.iterdir()) == []


def test_recording_on_disk(tmp_path):
    scene = scenes.load("spinning-cube", small=True)
    recording = simulate(scene, duration=0.2, every=0.033, out=tmp_path / "run")
    picture = pixels(render(recording, tmp_path / "run.png", color="strain", size=SMALL))
    assert coloured(picture).sum() > 100
    thumbnail(recording, tmp_path / "small.png", size=(96, 64))
    assert pixels(tmp_path / "small.png").shape == (64, 96, 3)


def test_nothing_is_printed(tmp_path, capfd):
    render(solid(), tmp_path / "run.mp4", size=SMALL)
    assert capfd.readouterr() == ("", "")


def test_a_polished_body_has_a_highlight(tmp_path):
    """Of two balls in one picture, the shiny one is brighter at its brightest."""
    scene = Scene("balls", duration=0.01, step=0.005, gravity=0.0)
    for x, shine in ((0.0, 0.0), (3.0, 1.0)):
        ball = {"young": 1e6, "color": "blue", "position": (x, 0, 0), "shine": shine}
        scene.add(shapes.sphere(400, radius=1.0), **ball)
    run = scene.simulate()
    picture = pixels(render(run, tmp_path / "a.png", color="none", size=(400, 200)))
    across = np.flatnonzero(coloured(picture).any(axis=0))
    brightest = []
    for columns in np.split(across, np.flatnonzero(np.diff(across) > 5) + 1):
        rows = np.flatnonzero(coloured(picture[:, columns]).any(axis=1))
        quarter = len(columns) // 4, len(rows) // 4  # the middle of the ball's box is all ball
        inside = picture[np.ix_(rows[quarter[1] : -quarter[1]], columns[quarter[0] : -quarter[0]])]
        brightest.append(inside.min(axis=2).max())
    matt, polished = brightest
    assert polished > matt + 40
    again = run.mesh.bodies
    assert [look.shine for look in again.values()] == [0.0, 1.0]
