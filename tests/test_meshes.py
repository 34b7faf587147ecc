"""Shapes: counts, orientation, closed surfaces, and what they refuse."""

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from stiffly import meshes
from stiffly.errors import InputError
from stiffly.meshes import coil, lattice, rope
from stiffly.meshes.grids import alternating_tets, grid_tets
from stiffly.meshes.mesh import mesh_of_tets, tet_volumes
from stiffly.meshes.topology import require_closed
from stiffly.meshes.validate import validate


def enclosed_volume(mesh):
    """By the divergence theorem: right only if the surface is closed and faces outwards."""
    a, b, c = (mesh.positions[mesh.triangles[:, k]] for k in range(3))
    return np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0


def shape_of_tets(mesh):
    """Inscribed over circumscribed radius, times 3: 1 for a regular tet, 0 for a flat one."""
    a, b, c, d = (mesh.positions[mesh.tets[:, k]] for k in range(4))
    volume = tet_volumes(mesh.positions, mesh.tets)
    faces = [(b, c, d), (a, c, d), (a, b, d), (a, b, c)]
    area = sum(0.5 * np.linalg.norm(np.cross(q - p, r - p), axis=1) for p, q, r in faces)
    u, v, w = b - a, c - a, d - a
    square = [np.einsum("ij,ij->i", e, e)[:, None] for e in (u, v, w)]
    centre = square[0] * np.cross(v, w) + square[1] * np.cross(w, u) + square[2] * np.cross(u, v)
    return 3.0 * (3.0 * volume / area) / (np.linalg.norm(centre, axis=1) / (12.0 * volume))


def pieces(mesh):
    count, edges = len(mesh.positions), mesh.edges
    graph = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(count, count))
    return connected_components(graph, directed=False)[0]


def motions_that_stretch_nothing(mesh, held):
    """Nullity of the map from the free vertices' velocities to the rates of edge lengths."""
    direction = mesh.positions[mesh.edges[:, 1]] - mesh.positions[mesh.edges[:, 0]]
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    rates = np.zeros((len(mesh.edges), len(mesh.positions), 3))
    row = np.arange(len(mesh.edges))
    rates[row, mesh.edges[:, 0]], rates[row, mesh.edges[:, 1]] = -direction, direction
    free = np.setdiff1d(np.arange(len(mesh.positions)), held)
    rates = rates[:, free].reshape(len(row), -1)
    return np.sum(np.linalg.eigvalsh(rates.T @ rates) < 1e-12)


# name: how to make it, vertices, edges, tets. Counts marked * are the papers'.
SHAPES = {
    "coil": (meshes.coil, 8000, 40951, 26946),  # 8000*
    "coil of 2014": (lambda: meshes.coil(1164, across=(3, 4)), 1164, 5591, 3456),  # 1167, 5600
    "dome": (meshes.dome, 930, 4488, 2631),  # 930*, 4488*
    "pylon": (meshes.pylon, 278, 680, 0),  # 278*, 680*
    "tower": (meshes.tower, 5000, 20948, 0),  # 5000*
    "torus": (meshes.torus, 689, 2597, 0),  # 689*, 2500
    "beam": (meshes.beam, 650, 3481, 2400),  # 650*, 3481*, 2400*
    "sphere": (meshes.sphere, 954, 1960, 0),  # 954*, 2000
    "triangulated sphere": (lambda: meshes.sphere(diagonals=True), 954, 3 * 954 - 6, 0),
    "cube": (meshes.cube, 343, 1638, 1080),  # 386, -, 996
    "bar": (meshes.bar, 272, 1201, 720),  # 290, -, 716
    "cloth": (lambda: meshes.cloth(diagonals=1), 10201, 50198, 0),  # 10,201*, 50,200 - 2*
    "textile": (meshes.textile, 10000, 39402, 0),  # 10,000*
    "foil": (meshes.foil, 100, 502, 0),  # 100*, 502*
    "flag": (meshes.flag, 3500, 20402, 0),  # 3500*
    "rope": (meshes.rope, 80, 79, 0),  # 80*, 79*
    "flagellum": (meshes.flagellum, 120, 119, 0),  # 120*
}
CLOSED = ["coil", "dome", "torus", "beam", "sphere", "cube", "bar"]


@pytest.fixture(scope="module", params=SHAPES)
def shape(request):
    make, *counts = SHAPES[request.param]
    return make(), counts


def test_shapes_have_their_counts(shape):
    mesh, counts = shape
    assert [len(mesh.positions), len(mesh.edges), len(mesh.tets)] == counts


def test_shapes_are_sound(shape):
    """No repeated element, no unused vertex, no inverted tet; one piece; no two vertices alike."""
    mesh, _ = shape
    validate(mesh)
    assert pieces(mesh) == 1
    assert len(np.unique(mesh.positions.round(9), axis=0)) == len(mesh.positions)
    if len(mesh.tets):
        assert shape_of_tets(mesh).min() > 0.2


def test_groups_part_the_edges_and_sets_name_vertices(shape):
    mesh, _ = shape
    if mesh.edge_groups:
        rows = np.concatenate(list(mesh.edge_groups.values()))
        assert sorted(rows) == list(range(len(mesh.edges)))
    for members in mesh.vertex_sets.values():
        assert 0 < len(np.unique(members)) == len(members)
        assert members.max() < len(mesh.positions)


@pytest.mark.parametrize("name", CLOSED)
def test_surfaces_are_closed_and_face_outwards(name):
    mesh = SHAPES[name][0]()
    require_closed(name, mesh.triangles)
    assert enclosed_volume(mesh) > 0.0
    if len(mesh.tets):
        assert enclosed_volume(mesh) == pytest.approx(tet_volumes(mesh.positions, mesh.tets).sum())


def test_volumes_and_areas_are_those_of_the_solids():
    assert enclosed_volume(meshes.sphere(60, 120, radius=2.0)) == pytest.approx(
        4 / 3 * np.pi * 8.0, rel=3e-3
    )
    ring = meshes.torus(120, 60, radius=3.0, tube=1.0)
    assert enclosed_volume(ring) == pytest.approx(2.0 * np.pi**2 * 3.0, rel=5e-3)
    assert enclosed_volume(meshes.beam(length=2.0, width=0.5, height=0.25)) == pytest.approx(0.25)
    assert enclosed_volume(meshes.bar(length=2.0, side=0.5)) == pytest.approx(0.5)
    half = meshes.dome(40, 160, radius=1.0, thickness=0.1, opening=90.0)
    assert enclosed_volume(half) == pytest.approx(2 / 3 * np.pi * (1.0 - 0.9**3), rel=3e-3)


def test_dome_border_is_its_lowest_ring():
    mesh = meshes.dome()
    border = mesh.vertex_sets["border"]
    cosine = mesh.positions[:, 2] / np.linalg.norm(mesh.positions, axis=1)
    assert set(border) == set(np.flatnonzero(np.isclose(cosine, cosine.min())))
    assert np.isin(mesh.edges[mesh.edge_groups["border"]], border).all()
    assert not np.isin(mesh.edges[mesh.edge_groups["shell"]], border).all(axis=1).any()


def test_trusses_stand():
    """The pylon lets its 128 crossings move sideways and its 12 string nodes swing; all else and
    the tower are rigid."""
    pylon, tower = meshes.pylon(), meshes.tower(3, 4, 4)
    assert motions_that_stretch_nothing(pylon, pylon.vertex_sets["feet"]) == 128 + 2 * 12
    assert motions_that_stretch_nothing(tower, tower.vertex_sets["feet"]) == 0
    assert motions_that_stretch_nothing(meshes.sphere(5, 9, diagonals=True), []) == 6


def test_pylon_diagonals_are_straight():
    mesh = meshes.pylon()
    braces = mesh.edges[mesh.edge_groups["braces"]]
    for crossing in np.unique(braces[:, 1]):
        ends = mesh.positions[braces[braces[:, 1] == crossing, 0]] - mesh.positions[crossing]
        directions = ends / np.linalg.norm(ends, axis=1, keepdims=True)
        np.testing.assert_allclose(np.sort(directions @ directions[0])[0], -1.0, atol=1e-12)


def test_cloth_edges_have_the_length_of_their_group():
    mesh = meshes.cloth(5, 7, spacing=0.5)
    lengths = np.linalg.norm(np.diff(mesh.positions[mesh.edges], axis=1)[:, 0], axis=1)
    for group, length in (("structural", 0.5), ("shear", 0.5 * np.sqrt(2.0)), ("bending", 1.0)):
        np.testing.assert_allclose(lengths[mesh.edge_groups[group]], length)
    assert len(mesh.edge_groups["shear"]) == 2 * 4 * 6
    np.testing.assert_allclose(mesh.positions[mesh.vertex_sets["right"], 0], 2.0)
    assert "shear" not in meshes.cloth(3, 3, diagonals=0).edge_groups


def test_flag_hangs_at_its_pole():
    mesh = meshes.flag()
    pole = mesh.positions[mesh.vertex_sets["left"]]
    assert np.ptp(pole[:, 0]) == 0.0 and np.ptp(pole[:, 2]) == pytest.approx(49 * 0.02)
    assert np.ptp(mesh.positions[:, 1]) == 0.0


def test_alternating_cells_agree_on_shared_diagonals():
    shape = (3, 4, 5)
    positions = np.indices(shape).reshape(3, -1).T.astype(float)
    mesh = mesh_of_tets(positions, alternating_tets(shape))
    assert len(mesh.tets) == 5 * 2 * 3 * 4
    assert len(mesh.triangles) == 4 * (2 * 3 + 2 * 4 + 3 * 4)
    assert enclosed_volume(mesh) == pytest.approx(24.0)


def test_coil_has_exactly_8000_vertices_and_no_inverted_tet():
    mesh = coil()
    assert mesh.positions.shape == (8000, 3)
    volumes = tet_volumes(mesh.positions, mesh.tets)
    assert volumes.min() > 0.0
    assert volumes.max() / volumes.min() < 1.5
    wire_length = np.hypot(2.0 * np.pi * 8.0 * 0.05, 0.3)
    assert volumes.sum() == pytest.approx(0.01**2 * wire_length, rel=5e-3)
    assert enclosed_volume(mesh) == pytest.approx(volumes.sum(), rel=1e-12)


def test_edges_of_tets_are_unique_and_complete():
    mesh = coil(vertices=16 * 6, turns=1.0)
    edges = {tuple(edge) for edge in mesh.edges}
    assert len(edges) == len(mesh.edges)
    for tet in mesh.tets:
        for i in range(4):
            for j in range(i):
                assert tuple(sorted((tet[i], tet[j]))) in edges
    assert set(mesh.edges.ravel()) == set(range(len(mesh.positions)))


def test_cells_agree_on_shared_diagonals():
    """Otherwise inner faces would show up in the surface."""
    shape = (3, 4, 5)
    positions = np.indices(shape).reshape(3, -1).T.astype(float)
    mesh = mesh_of_tets(positions, grid_tets(shape))
    assert len(mesh.triangles) == 4 * (2 * 3 + 2 * 4 + 3 * 4)
    assert enclosed_volume(mesh) == pytest.approx(24.0)


def test_lattice_edges_have_the_length_of_their_kind():
    mesh = lattice(3, 4, 5, spacing=0.5)
    lengths = np.linalg.norm(np.diff(mesh.positions[mesh.edges], axis=1)[:, 0], axis=1)
    structural = 2 * 4 * 5 + 3 * 3 * 5 + 3 * 4 * 4
    assert np.sum(np.isclose(lengths, 0.5)) == structural
    assert np.sum(np.isclose(lengths, 0.5 * np.sqrt(2.0))) == len(mesh.edges) - structural
    assert len(np.unique(mesh.edges, axis=0)) == len(mesh.edges)
    assert len(lattice(3, 4, 5, diagonals=False).edges) == structural
    assert enclosed_volume(mesh) == pytest.approx(1.0 * 1.5 * 2.0)


def test_cloth_is_one_layer_facing_up():
    mesh = lattice(3, 4)
    a, b, c = (mesh.positions[mesh.triangles[:, k]] for k in range(3))
    np.testing.assert_allclose(np.cross(b - a, c - a), np.tile([0.0, 0.0, 1.0], (12, 1)))


def test_rope_is_straight():
    mesh = rope(5, length=2.0, start=(1.0, 0.0, 0.0), direction=(0.0, 0.0, -3.0))
    np.testing.assert_allclose(mesh.positions[-1], [1.0, 0.0, -2.0])
    assert len(mesh.edges) == 4


def test_meshes_are_printed_in_one_line():
    printed = str(meshes.dome())
    assert printed == (
        "Mesh(930 vertices, 4488 edges, 2631 tets, 1856 triangles; groups: border, shell; "
        "sets: border, apex)"
    )
    assert repr(rope(3)) == "Mesh(3 vertices, 2 edges, 0 tets, 0 triangles)"


@pytest.mark.parametrize(
    "call",
    [
        lambda: coil(vertices=8001),
        lambda: coil(wire=0.2),
        lambda: coil(turns=100.0),
        lambda: coil(radius=float("nan")),
        lambda: lattice(1),
        lambda: lattice(2, spacing=0.0),
        lambda: rope(1),
        lambda: rope(3, direction=(0.0, 0.0, 0.0)),
        lambda: mesh_of_tets(np.eye(4, 3), np.array([[3, 1, 0, 2]])),
        lambda: coil(across=(1, 4)),
        lambda: meshes.dome(0),
        lambda: meshes.dome(4, 4, opening=10.0),
        lambda: meshes.dome(thickness=0.6),
        lambda: meshes.dome(opening=170.0),
        lambda: meshes.pylon(8, arms=3),
        lambda: meshes.pylon(height=-1.0),
        lambda: meshes.tower(1),
        lambda: meshes.torus(tube=0.2),
        lambda: meshes.torus(2),
        lambda: meshes.sphere(segments=2),
        lambda: meshes.sphere(radius=float("inf")),
        lambda: meshes.beam(1),
        lambda: meshes.bar(side=0.0),
        lambda: meshes.cube(2.5),
        lambda: meshes.cloth(1, 5),
        lambda: meshes.cloth(diagonals=3),
        lambda: meshes.cloth(spacing=float("nan")),
        lambda: meshes.flagellum(1),
        lambda: meshes.brush_roots(0),
        lambda: meshes.brush_roots(tuft=0.01),
        lambda: meshes.hair_cap(opening=200.0),
    ],
)
def test_impossible_shapes_are_refused_in_one_line(call):
    with pytest.raises(InputError) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_roots_grow_straight_fibers():
    roots = meshes.brush_roots(20)
    lines = roots.centrelines(4)
    assert lines.shape == (20, 5, 3)
    np.testing.assert_array_equal(lines[:, 0], roots.positions)
    np.testing.assert_allclose(
        np.linalg.norm(np.diff(lines, axis=1), axis=2).sum(axis=1), roots.lengths
    )
    with pytest.raises(InputError, match="segments"):
        roots.centrelines(0)
