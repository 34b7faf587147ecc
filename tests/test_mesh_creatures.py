"""Bodies from implicit surfaces: counts, element quality, closed surfaces, and the shapes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thinned import drawn

from stiffly.errors import InputError
from stiffly.meshes import car, creature, creature_surface, sizing
from stiffly.meshes.implicit import SHAPES, capsules, joined, rounded_box, wheel
from stiffly.meshes.mesh import tet_surface, tet_volumes
from stiffly.meshes.sizing import mesh_of_count
from stiffly.meshes.stuffing import fill, skin
from stiffly.meshes.topology import components, is_one_closed, require_closed
from stiffly.meshes.validate import validate

LOW, HIGH = np.full(3, -1.0), np.full(3, 1.0)


def ball(points):
    return 1.0 - np.linalg.norm(points, axis=1)


def volume_inside(positions, triangles):
    a, b, c = (positions[triangles[:, k]] for k in range(3))
    return np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0


def dihedral_angles(positions, tets):
    """All six per tet [degrees], from the outer normals of the faces."""
    normals = []
    for face in ([1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]):
        a, b, c = (positions[tets[:, k]] for k in face)
        normal = np.cross(b - a, c - a)
        normals.append(normal / np.linalg.norm(normal, axis=1, keepdims=True))
    cosines = [-np.sum(normals[i] * normals[j], axis=1) for i in range(4) for j in range(i)]
    return np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0)))


def test_angles_of_a_regular_tet():
    """So that the bounds below mean something."""
    corners = np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    angles = dihedral_angles(corners, np.array([[0, 1, 3, 2]]))
    np.testing.assert_allclose(angles, np.degrees(np.arccos(1.0 / 3.0)))


@pytest.mark.parametrize("spacing", [0.31, 0.17, 0.09])
def test_ball_is_filled_without_gaps_or_bad_tets(spacing):
    positions, tets = fill(ball, LOW, HIGH, spacing)
    surface = tet_surface(tets)
    require_closed("ball", surface)
    volumes = tet_volumes(positions, tets)
    assert volumes.min() > 0.0
    assert volumes.sum() == pytest.approx(volume_inside(positions, surface), rel=1e-12)
    assert volumes.sum() == pytest.approx(4.0 / 3.0 * np.pi, rel=0.6 * spacing**2)
    on_surface = np.abs(np.linalg.norm(positions[np.unique(surface)], axis=1) - 1.0)
    assert on_surface.max() < 1e-3 * spacing
    angles = dihedral_angles(positions, tets)
    assert angles.min() > 10.0 and angles.max() < 160.0


def test_nothing_fills_nothing():
    positions, tets = fill(lambda p: -np.ones(len(p)), np.zeros(3), np.ones(3), 0.1)
    assert positions.shape == (0, 3) and tets.shape == (0, 4)


def test_skin_is_the_surface_of_the_filled_body():
    positions, tets = fill(ball, LOW, HIGH, 0.13)
    skin_positions, triangles = skin(ball, LOW, HIGH, 0.13)
    outer = positions[np.unique(tet_surface(tets))]
    assert len(triangles) == len(tet_surface(tets))
    np.testing.assert_array_equal(np.unique(skin_positions, axis=0), np.unique(outer, axis=0))
    assert volume_inside(skin_positions, triangles) > 4.0


@drawn(12)
@given(st.integers(0, 10_000), st.floats(0.06, 0.12))
def test_any_blob_is_filled(seed, spacing):
    """Capsules thicker than the lattice: closed, positive, bounded angles, whatever their place."""
    rng = np.random.default_rng(seed)
    ends = np.concatenate([rng.uniform(-0.5, 0.5, (3, 6)), rng.uniform(0.3, 0.5, (3, 2))], axis=1)
    field = capsules(ends, blend=0.05)
    positions, tets = fill(field, np.full(3, -1.2), np.full(3, 1.2), spacing)
    surface = tet_surface(tets)
    volumes = tet_volumes(positions, tets)
    assert volumes.min() > 0.0
    assert volumes.sum() == pytest.approx(volume_inside(positions, surface), rel=1e-10)
    angles = dihedral_angles(positions, tets)
    assert angles.min() > 8.0 and angles.max() < 165.0


def test_capsule_measures_the_distance():
    field = capsules(np.array([[0.0, 0, 0, 2, 0, 0, 0.5, 0.5]]), blend=0.01)
    points = np.array([[1.0, 2.0, 0.0], [3.0, 0.0, 0.0], [1.0, 0.25, 0.0]])
    np.testing.assert_allclose(field(points), [-1.5, -0.5, 0.25])
    both = joined([field, field], blend=0.01)
    np.testing.assert_allclose(both(points), field(points) + 0.01 * np.log(2.0))


def test_boxes_and_wheels_measure_the_distance():
    box = rounded_box((0, 0, 0), (1.0, 2.0, 3.0), 0.1)
    points = np.array([[2.0, 0, 0], [0, 2.5, 0], [0, 0, 2.75], [0, 0, 0]])
    np.testing.assert_allclose(box(points), [-1.0, -0.5, 0.25, 1.0])
    disc = wheel((0, 0, 0), 1.0, 0.25, 0.05)
    points = np.array([[2.0, 0, 0], [0, 1.25, 0], [0.5, 0, 0.0]])
    np.testing.assert_allclose(disc(points), [-1.0, -1.0, 0.25])


@pytest.mark.parametrize("shape", SHAPES)
def test_creatures_are_sound(shape):
    mesh = creature(1500, shape=shape)
    assert len(mesh.positions) == pytest.approx(1500, rel=0.05)
    validate(mesh)
    assert is_one_closed(mesh.triangles)
    angles = dihedral_angles(mesh.positions, mesh.tets)
    assert angles.min() > 10.0 and angles.max() < 160.0
    assert mesh.positions[:, 2].min() == 0.0
    assert np.ptp(mesh.positions[:, 2]) == pytest.approx(1.0, abs=0.12)
    heights = mesh.positions[:, 2]
    assert heights[mesh.vertex_sets["bottom"]].max() < heights[mesh.vertex_sets["top"]].min()


@pytest.mark.parametrize("vertices", [1183, 8000])
def test_rabbits_of_the_papers(vertices):
    assert len(creature(vertices).positions) == pytest.approx(vertices, rel=0.03)


def test_creature_grows_with_its_height():
    small, large = creature(1000), creature(1000, height=4.0)
    np.testing.assert_allclose(4.0 * small.positions, large.positions, atol=1e-9)


def test_a_large_mesh_is_searched_once_and_another_size_anew(monkeypatch, tmp_path):
    monkeypatch.setenv("STIFFLY_CACHE", str(tmp_path))
    monkeypatch.setattr(sizing, "LARGE", 400)
    searched, real = [], sizing._searched
    monkeypatch.setattr(sizing, "_searched", lambda *a: searched.append(a[0]) or real(*a))
    makers = (
        lambda: creature(1500, shape="dog"),
        lambda: creature(1500, shape="dog", height=2.0),
        lambda: creature_surface(1500, shape="dog"),
        lambda: car(1500),
    )
    for made in makers:
        first, again = made(), made()
        for key in ("positions", "edges", "tets", "triangles"):
            np.testing.assert_array_equal(getattr(again, key), getattr(first, key))
    assert searched == ["dog", "dog", "dog", "car"]


@pytest.mark.parametrize(
    "made", [lambda: creature_surface(1500, shape="dog"), lambda: car(3000)], ids=["dog", "car"]
)
def test_shells_are_closed_with_springs_for_bending(made):
    mesh = made()
    require_closed("shell", mesh.triangles)
    validate(mesh)
    assert volume_inside(mesh.positions, mesh.triangles) > 0.0
    assert set(mesh.edge_groups) == {"structural", "bending"}
    # On a closed surface of genus g there are 3 (V - 2 + 2 g) edges, a pair for each; a pair is
    # left out only where it would repeat a spring.
    structural, bending = (len(mesh.edge_groups[g]) for g in ("structural", "bending"))
    assert structural == len(mesh.triangles) * 3 / 2
    assert 0.7 * structural < bending <= structural


def test_car_looks_like_one():
    mesh = car(3000)
    assert len(mesh.positions) == pytest.approx(3000, rel=0.05)
    length, width, height = np.ptp(mesh.positions, axis=0)
    assert length == pytest.approx(4.3)
    assert 1.6 < width < 2.0 and 1.3 < height < 1.6
    np.testing.assert_allclose(np.ptp(car(3000, length=8.6).positions, axis=0)[0], 8.6)
    front = mesh.positions[mesh.vertex_sets["front"], 0]
    assert front.min() > mesh.positions[:, 0].max() - 0.05 * 4.3


@pytest.mark.parametrize("count", [300, 3000])
def test_a_car_has_an_inside_that_is_held(count):
    mesh = car(count, inside=True)
    validate(mesh)
    x, inner = mesh.positions, mesh.vertex_sets["inside"]
    assert len(x) == pytest.approx(count, rel=0.05)
    within = np.zeros(len(x), dtype=bool)
    within[inner] = True
    # seats and engine do not stick out of the shell's box, nor reach its wheels' ground
    shell = x[~within]
    assert np.all((x[inner] > shell.min(axis=0)) & (x[inner] < shell.max(axis=0)))
    # closed boxes: an edge has two triangles; the shell has windows: some edges have one
    triangles = mesh.triangles
    own = triangles[within[triangles].all(axis=1)]
    require_closed("inside", own)
    assert len(own) + np.sum(~within[triangles].any(axis=1)) == len(triangles)
    # without mounts every box is a piece of its own; with them all is one
    groups = mesh.edge_groups
    loose = components(len(x), mesh.edges[groups["structural"]])
    assert loose.max() > 5 and components(len(x), mesh.edges).max() == 0
    # and none can move as a rigid body without stretching a mount: six motions, six stiffnesses
    legs = mesh.edges[groups["mounts"]]
    for k in range(1, loose.max() + 1):
        mine = legs[np.sum(loose[legs] == k, axis=1) == 1]
        side = np.where(loose[mine[:, 0]] == k, 1.0, -1.0)[:, None]
        d = side * (x[mine[:, 0]] - x[mine[:, 1]])
        n = d / np.linalg.norm(d, axis=1, keepdims=True)
        at = np.where(side > 0, x[mine[:, 0]], x[mine[:, 1]]) - x[loose == k].mean(axis=0)
        assert np.linalg.matrix_rank(np.hstack([n, np.cross(at, n)]), tol=1e-3) == 6


@pytest.mark.slow
def test_largest_meshes():
    assert len(car(inside=True).positions) == pytest.approx(120_000, rel=0.03)
    assert len(car().positions) == pytest.approx(120_000, rel=0.03)
    assert len(creature(150_000, shape="dragon").positions) == pytest.approx(150_000, rel=0.03)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: creature(shape="rabit"), "did you mean rabbit"),
        (lambda: creature(10), "whole number from 50"),
        (
            lambda: mesh_of_count(
                "ball", 500, lambda h: skin(ball, LOW, HIGH, h), 0.2, 2.0, lambda _: False
            ),
            "too coarse",
        ),
        (lambda: creature(height=0.0), "must be positive"),
        (lambda: creature_surface(1.5), "whole number"),
        (lambda: car(100), "whole number from 200"),
        (lambda: car(length=-1.0), "must be positive"),
        (lambda: fill(ball, np.full(3, -0.5), np.full(3, 0.5), 0.1), "larger"),
    ],
)
def test_impossible_bodies_are_refused_in_one_line(call, message):
    with pytest.raises(InputError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
