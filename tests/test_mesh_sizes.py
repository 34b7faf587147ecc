"""Shapes of any size are sound; fibers grow where they should."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import cKDTree
from thinned import drawn

from stiffly import meshes
from stiffly.meshes.mesh import tet_volumes
from stiffly.meshes.topology import components, require_closed
from stiffly.meshes.validate import validate


def enclosed_volume(mesh):
    a, b, c = (mesh.positions[mesh.triangles[:, k]] for k in range(3))
    return np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0


def pieces(mesh):
    return 1 + components(len(mesh.positions), mesh.edges).max()


@drawn(15)
@given(st.integers(1, 9), st.integers(0, 20), st.floats(10.0, 150.0))
def test_any_dome_is_sound(rings, more, opening):
    mesh = meshes.dome(rings, 6 * rings + more, opening=opening, thickness=0.02)
    validate(mesh)
    require_closed("dome", mesh.triangles)
    assert enclosed_volume(mesh) > 0.0 and pieces(mesh) == 1


@drawn(15)
@given(st.integers(2, 6), st.integers(2, 6), st.integers(2, 6))
def test_any_box_is_filled(nx, ny, nz):
    for mesh in (meshes.beam(nx, (ny, nz)), meshes.bar(nx, (ny, nz))):
        validate(mesh)
        require_closed("box", mesh.triangles)
        assert tet_volumes(mesh.positions, mesh.tets).sum() == pytest.approx(enclosed_volume(mesh))


@drawn(15)
@given(st.integers(1, 8), st.integers(3, 9), st.booleans())
def test_any_round_shape_is_closed(rings, segments, diagonals):
    for mesh in (
        meshes.sphere(rings, segments, diagonals=diagonals),
        meshes.torus(rings + 2, segments),
    ):
        validate(mesh)
        require_closed("round shape", mesh.triangles)
        assert enclosed_volume(mesh) > 0.0 and pieces(mesh) == 1


@drawn(10)
@given(st.integers(2, 5), st.integers(2, 6), st.integers(2, 6))
def test_any_tower_is_sound(across, legs, column):
    mesh = meshes.tower(across, legs, column)
    validate(mesh)
    assert len(mesh.positions) == 4 * across * (4 * legs + column)
    assert pieces(mesh) == 1


@drawn(10)
@given(st.integers(0, 4), st.integers(0, 9))
def test_any_pylon_is_sound(arms, more):
    mesh = meshes.pylon(max(3, 3 * arms) + more, arms)
    validate(mesh)
    assert pieces(mesh) == 1


@drawn(20)
@given(st.integers(2, 8), st.integers(2, 8), st.integers(0, 2), st.booleans())
def test_any_cloth_has_the_edges_it_should(nx, ny, diagonals, bending):
    mesh = meshes.cloth(nx, ny, diagonals=diagonals, bending=bending)
    expected = nx * (ny - 1) + ny * (nx - 1) + diagonals * (nx - 1) * (ny - 1)
    expected += bending * (nx * max(0, ny - 2) + ny * max(0, nx - 2))
    assert len(mesh.edges) == expected
    validate(mesh)


def test_flagellum_leaves_its_base_along_the_axis_and_reaches_its_radius():
    mesh = meshes.flagellum(400, length=8.0, radius=0.5, turns=4.0, taper=1.0)
    away = np.linalg.norm(mesh.positions[:, 1:], axis=1)
    assert away[0] == 0.0 and away[-1] == pytest.approx(0.5)
    angle = np.unwrap(np.arctan2(mesh.positions[1:, 2], mesh.positions[1:, 1]))
    assert (angle[-1] - angle[0]) / (2.0 * np.pi) == pytest.approx(4.0, abs=0.02)


def test_bristles_stand_on_the_head_and_apart():
    roots = meshes.brush_roots()
    assert len(roots.positions) == len(roots.lengths) == 1500
    assert np.all(np.abs(roots.positions) <= [0.015, 0.0055, 0.0])
    apart = cKDTree(roots.positions).query(roots.positions, k=2)[0][:, 1]
    assert apart.min() > 0.00012  # thicker than a bristle of 0.12 mm
    np.testing.assert_array_equal(roots.directions, np.tile([0.0, 0.0, 1.0], (1500, 1)))
    assert len(np.unique(meshes.brush_roots(7, tufts=(2, 1)).positions, axis=0)) == 7


def test_hair_grows_along_the_normals_of_the_cap():
    axes = np.array([0.1, 0.08, 0.12])
    roots = meshes.hair_cap(5000, half_axes=tuple(axes), opening=60.0)
    unit = roots.positions / axes
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1.0)
    assert unit[:, 2].min() >= np.cos(np.radians(60.0))
    np.testing.assert_allclose(np.linalg.norm(roots.directions, axis=1), 1.0)
    step = 1e-6 * np.cross(roots.directions, [0.3, 0.5, 0.7])  # along the surface, to first order
    np.testing.assert_allclose(np.sum(((roots.positions + step) / axes) ** 2, axis=1), 1, atol=1e-9)
    apart = cKDTree(unit).query(unit, k=2)[0][:, 1]
    assert apart.max() < 2.0 * apart.min()


def test_default_hairstyle_has_60000_roots():
    assert meshes.hair_cap().positions.shape == (60_000, 3)
