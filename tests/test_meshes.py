"""Shapes: counts, orientation, closed surfaces, and what they refuse."""

import numpy as np
import pytest

from stiffly.errors import InputError
from stiffly.meshes import coil, lattice, rope
from stiffly.meshes.mesh import grid_tets, mesh_of_tets, tet_volumes


def enclosed_volume(mesh):
    """By the divergence theorem: right only if the surface is closed and faces outwards."""
    a, b, c = (mesh.positions[mesh.triangles[:, k]] for k in range(3))
    return np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0


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
    ],
)
def test_impossible_shapes_are_refused_in_one_line(call):
    with pytest.raises(InputError) as caught:
        call()
    assert "\n" not in str(caught.value)
