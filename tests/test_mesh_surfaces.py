"""Topology of triangle meshes; filling and decimating surfaces."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from stiffly.errors import InputError
from stiffly.meshes import (
    bending_pairs,
    cloth,
    creature_surface,
    cube,
    decimate,
    rope,
    shell,
    sphere,
    torus,
    triangle_edges,
    validate,
)
from stiffly.meshes.mesh import Mesh, row_keys, tet_surface, unique_rows
from stiffly.meshes.topology import components, first_repeat, is_one_closed, require_closed


def volume_inside(mesh):
    a, b, c = (mesh.positions[mesh.triangles[:, k]] for k in range(3))
    return np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0


def test_two_triangles():
    triangles = np.array([[0, 1, 2], [2, 1, 3]])
    np.testing.assert_array_equal(
        triangle_edges(triangles), [[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]]
    )
    np.testing.assert_array_equal(bending_pairs(triangles), [[0, 3]])


def test_bending_pairs_by_definition():
    """Edge by edge, on a surface with vertices of many degrees."""
    triangles = sphere(4, 5).triangles
    edges = {tuple(edge) for edge in triangle_edges(triangles).tolist()}
    expected = set()
    for i, j in edges:
        opposite = [k for t in triangles.tolist() if {i, j} <= set(t) for k in t if k not in (i, j)]
        assert len(opposite) == 2
        expected.add(tuple(sorted(opposite)))
    found = [tuple(pair) for pair in bending_pairs(triangles).tolist()]
    assert sorted(expected - edges) == found


def test_a_tetrahedron_has_no_bending_pairs():
    """Every pair of vertices is an edge already."""
    faces = tet_surface(np.array([[0, 1, 2, 3]]))
    assert len(bending_pairs(faces)) == 0
    assert list(shell(np.eye(4, 3), faces).edge_groups) == ["structural"]


def test_edges_with_three_triangles_do_not_bend():
    triangles = np.array([[0, 1, 2], [1, 0, 3], [0, 1, 4]])
    assert len(bending_pairs(triangles)) == 0


def test_shell_groups():
    flat = cloth(4, 5)
    mesh = shell(flat.positions, flat.triangles)
    inner = 4 * 4 + 3 * 5 + 3 * 4 - 2 * (3 + 4)  # edges of the triangles less those of the border
    assert len(mesh.edge_groups["structural"]) == 4 * 4 + 3 * 5 + 3 * 4
    assert len(mesh.edge_groups["bending"]) == inner
    validate(mesh)


def test_open_crowded_and_turned_surfaces_are_named():
    closed = sphere(3, 5).triangles
    require_closed("ball", closed)
    assert is_one_closed(closed)
    with pytest.raises(InputError, match=r"sheet is not closed: edge 0-1 belongs to 1 triangle,"):
        require_closed("sheet", cloth(3, 3).triangles)
    with pytest.raises(InputError, match="belongs to 3 triangles"):
        require_closed("ball", np.concatenate([closed, [[*closed[0, :2], 99]]]))
    turned = closed.copy()
    turned[0] = closed[0, ::-1]
    with pytest.raises(InputError, match="turned inside out in places"):
        require_closed("ball", turned)
    with pytest.raises(InputError, match="no triangles"):
        require_closed("rope", rope().triangles)
    assert not is_one_closed(turned) and not is_one_closed(cloth(3, 3).triangles)
    assert not is_one_closed(np.concatenate([closed, closed + 100]))


def test_components_and_repeats():
    np.testing.assert_array_equal(components(5, np.array([[0, 1], [3, 4]])), [0, 0, 1, 2, 2])
    assert first_repeat(np.array([[0, 1], [1, 2], [0, 1]])) == 2
    assert first_repeat(np.empty((0, 2), int)) == -1


def test_rows_sort_as_numpy_sorts_them():
    rng = np.random.default_rng(3)
    for largest in (5, 2**40):  # the second does not fit one integer
        rows = rng.integers(0, 4, (200, 3)) * (largest // 4)
        expected = np.unique(rows, axis=0)
        np.testing.assert_array_equal(unique_rows(rows), expected)
        assert len(np.unique(row_keys(rows))) == len(expected)


def test_a_missing_library_is_named_with_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "fast_simplification", None)
    with pytest.raises(InputError, match=r"\(import of .*\): pip install 'stiffly\[tets\]'"):
        decimate(sphere(3, 5), 10)


@pytest.mark.parametrize("particles", [100, 333, 900])
@pytest.mark.parametrize(
    "surface",
    [creature_surface(2000, shape="hippo"), torus(40, 30), cloth(40, 40)],
    ids=["hippo", "torus", "cloth"],
)
def test_decimate_meets_the_count_and_the_shape(surface, particles):
    pytest.importorskip("fast_simplification")
    used = np.unique(surface.triangles)
    mesh = decimate(surface_of(surface), particles)
    assert len(mesh.positions) == pytest.approx(particles, rel=0.05)
    validate(mesh)
    assert set(mesh.edge_groups) == {"structural", "bending"}
    size = np.ptp(surface.positions[used], axis=0)
    np.testing.assert_allclose(np.ptp(mesh.positions, axis=0), size, atol=0.06 * size.max())
    if is_one_closed(surface.triangles):
        assert is_one_closed(mesh.triangles)
        assert volume_inside(mesh) == pytest.approx(volume_inside(surface), rel=0.1)


@pytest.mark.parametrize("cells", [1, 2, 6])
def test_a_closed_surface_stays_closed(cells):
    """Collapsed too far, a cube becomes a flap of two triangles (cube(6) to 4 particles)."""
    pytest.importorskip("fast_simplification")
    box = surface_of(cube(cells))
    for particles in (4, 5, 6, 7, 8):
        try:
            mesh = decimate(box, particles)
        except InputError as refusal:
            assert particles < 6 and "or more" in str(refusal)
        else:
            assert is_one_closed(mesh.triangles) and len(mesh.positions) == particles


def test_too_few_particles_are_refused_with_the_number_that_works(monkeypatch):
    """With a library that makes a flap of what is to have fewer than 12 triangles."""
    box = surface_of(cube(1))

    def simplify(positions, triangles, target_count):
        return box.positions, box.triangles if target_count >= 12 else box.triangles[:2]

    fake = SimpleNamespace(simplify=simplify)
    monkeypatch.setitem(sys.modules, "fast_simplification", fake)
    with pytest.raises(InputError, match=r"box cannot be brought to 4 .*: give 8 or more"):
        decimate(surface_of(cube(2)), 4, name="box")


def surface_of(mesh):
    """Without the vertices that no triangle names (the core of the torus)."""
    used, numbers = np.unique(mesh.triangles, return_inverse=True)
    triangles = numbers.reshape(-1, 3)
    return Mesh(mesh.positions[used], triangle_edges(triangles), triangles=triangles)


def test_decimate_refuses_what_it_cannot_do():
    ball = sphere(3, 5)
    with pytest.raises(InputError, match="give 4 to 17"):
        decimate(ball, 18)
    with pytest.raises(InputError, match="give 4 to 17"):
        decimate(ball, 3)
    with pytest.raises(InputError, match="no triangles"):
        decimate(rope(), 10)
    assert len(decimate(ball, 17).positions) == 17
