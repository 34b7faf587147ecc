"""One rule for the colour of a body and the end of a scale: films, stills, exports and the page."""

import re
from base64 import b64decode
from types import SimpleNamespace

import numpy as np
import pytest
from recorded import dust, several, solid

from stiffly.meshes.look import COLORS as NAMED
from stiffly.meshes.look import PLAIN
from stiffly.recording.colors import FEW, coloring, end_of_scale, usual
from stiffly.recording.exports import export
from stiffly.recording.exports.frames import motion
from stiffly.recording.render import render
from stiffly.view.page.figures import COLORS, FAILED, Body, _on_screen
from stiffly.view.page.paint import SPEED, STRAIN, Paint
from stiffly.view.page.place import place_lanes


class Stage:
    """What a page draws on: what it was given is kept."""

    def __init__(self):
        self.nodes = {}

    def add_mesh_simple(self, name, vertices, faces, *, color, **_):
        self.nodes[name] = SimpleNamespace(vertices=vertices, faces=faces, color=color)
        return self.nodes[name]

    def add_line_segments(self, name, points, color, **_):
        self.nodes[name] = SimpleNamespace(points=points, color=color)
        return self.nodes[name]

    def add_frame(self, *_, **__): ...

    def add_label(self, *_, **__):
        return SimpleNamespace(text="")


def on_page(recorded, lanes):
    """The first lane's body, and the colours of its nodes by name."""
    shown, stage = motion(recorded), Stage()
    body = Body(stage, 0, shown, np.empty(0, int), place_lanes(shown.rest, lanes), "verlet")
    return body, stage.nodes, shown


def test_without_an_order_several_bodies_have_their_own_colours_and_one_shows_its_speed():
    assert usual([motion(several())]) == "none"
    assert usual([motion(solid())]) == usual([motion(dust())]) == "speed"
    assert usual([motion(solid()), motion(several())]) == "none"


@pytest.mark.parametrize("make, colored", [(several, "none"), (solid, "speed")])
def test_pictures_without_an_order_are_those_of_the_rule(make, colored, tmp_path):
    look = {"frame": 1, "size": (160, 100)}
    silent = render(make(), tmp_path / "a.png", **look).read_bytes()
    told = render(make(), tmp_path / "b.png", color=colored, **look).read_bytes()
    other = {"none": "speed", "speed": "none"}[colored]
    assert silent == told != render(make(), tmp_path / "c.png", color=other, **look).read_bytes()


@pytest.mark.parametrize("outlier", [1e3, -1e3])
def test_a_few_far_values_do_not_end_the_scale(outlier):
    values = np.append(np.linspace(0.0, 1.0, 99), outlier)
    assert 0.95 < end_of_scale(values) <= 1.0
    assert end_of_scale(values[-FEW:]) == 1e3  # of so few each counts
    assert end_of_scale(np.append(np.zeros(999), outlier)) == 1e3  # all others are at rest


def test_the_page_ends_its_scale_where_a_film_does():
    recorded = solid()
    film, (scale,) = motion(recorded), coloring([recorded], [motion(recorded)], "strain")
    ends = []
    for i in range(len(film)):
        lane = SimpleNamespace(
            positions=recorded.positions[i], velocities=recorded.velocities[i], failure=None
        )
        paint = Paint(STRAIN, recorded.mesh)
        paint.values([lane])
        ends.append(paint.high)
    assert scale.high == pytest.approx(100.0 * max(ends), rel=1e-6)
    assert "mean strain" in scale.label and "mean strain" in paint.legend()
    assert "speed" in Paint(SPEED, recorded.mesh).legend()


def test_a_body_alone_on_the_page_has_the_colours_of_films_and_exports(tmp_path):
    recorded = several()
    _, nodes, shown = on_page(recorded, 1)
    expected = [_on_screen(look.color) for look in recorded.mesh.bodies.values()]
    found = [nodes[f"/lane-0/body-{k}"].color for k in range(len(expected))]
    assert found == expected and len(set(found)) == 3
    for k, color in enumerate(expected):
        assert (shown.paint[shown.owner == k] == color).all()
    (page,) = export(recorded, "html", tmp_path / "run.html")
    (told,) = re.findall(r'"colors":"([^"]*)"', page.read_text())
    np.testing.assert_array_equal(np.frombuffer(b64decode(told), np.uint8), shown.paint.ravel())


def test_methods_beside_each_other_on_the_page_are_told_apart_by_colour():
    _, nodes, _ = on_page(several(), 2)
    assert {node.color for node in nodes.values()} == {COLORS[0]}
    assert len(set(COLORS)) == 3


def test_what_has_no_look_has_one_colour_everywhere():
    plain = NAMED["blue"]
    assert _on_screen(PLAIN) == plain == COLORS[0]
    _, nodes, shown = on_page(solid(), 1)
    assert {node.color for node in nodes.values()} == {plain}
    assert (shown.paint == plain).all() and len(shown.paint) == len(shown.rest)


def test_a_lane_that_stops_turns_grey_and_gets_its_colours_back():
    body, nodes, shown = on_page(several(), 1)
    before = [node.color for node in nodes.values()]
    for failed, expected in ((True, [FAILED] * len(before)), (False, before)):
        body.show(shown.positions[1], "verlet", failed)
        assert [node.color for node in nodes.values()] == expected
