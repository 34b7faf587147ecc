"""Inside and outside of surfaces, whole, crossing or with holes, against solid angles."""

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from thinned import drawn

from stiffly.kernels import cpu
from stiffly.meshes import sphere, torus
from stiffly.meshes.signed_distance import SignedDistance
from stiffly.meshes.topology import border, closed, loops


def solid_angles(points, x, triangles):
    """Winding numbers as sums of solid angles (van Oosterom and Strackee, 1983)."""
    a, b, c = (x[triangles[:, k]] - points[:, None] for k in range(3))
    la, lb, lc = (np.linalg.norm(v, axis=2) for v in (a, b, c))
    top = np.einsum("pti,pti->pt", a, np.cross(b, c))
    dots = [np.einsum("pti,pti->pt", u, v) for u, v in ((a, b), (b, c), (c, a))]
    below = la * lb * lc + dots[0] * lc + dots[1] * la + dots[2] * lb
    return np.arctan2(top, below).sum(axis=1) / (2.0 * np.pi)


def soup(seed, count=12):
    """Triangles between random points: open, crossing, with edges of one to many triangles."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((9, 3))
    return x, np.array([rng.choice(9, 3, replace=False) for _ in range(count)])


@given(st.integers(0, 2**31), st.integers(1, 40))
@drawn(60)
def test_cones_close_any_soup_and_rays_count_what_solid_angles_say(seed, count):
    x, triangles = soup(seed, count)
    whole = closed(x, triangles)
    assert len(border(whole.triangles)) == 0
    np.testing.assert_array_equal(whole.triangles[:count], triangles)
    assert whole.edges == len(border(triangles)) == len(whole.triangles) - count
    points = np.random.default_rng(seed + 1).uniform(-1.5, 1.5, (40, 3))
    field = SignedDistance(whole.positions, whole.triangles)
    expected = solid_angles(points, whole.positions, whole.triangles)
    np.testing.assert_allclose(field.windings(points), expected, atol=1e-6)


@given(st.integers(0, 2**31))
@drawn(30)
def test_loops_take_every_side_once_and_are_simple(seed):
    sides = border(soup(seed, 25)[1])
    found = loops(sides)
    assert all(len(set(loop)) == len(loop) >= 2 for loop in found)
    walked = [pair for loop in found for pair in zip(loop, loop[1:] + loop[:1], strict=True)]
    assert sorted(walked) == sorted(map(tuple, sides.tolist()))


def test_rays_through_edges_and_vertices_are_counted_once():
    """A cube of whole numbers, asked at whole and half numbers: every ray hits something."""
    x = np.array(np.meshgrid([0, 2], [0, 2], [0, 2], indexing="ij"), dtype=float).reshape(3, -1).T
    quads = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    triangles = np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))])
    axis = np.arange(-0.5, 3.0, 0.5)
    points = np.array(np.meshgrid(axis, axis, axis)).reshape(3, -1).T
    off = points[(np.abs(points - 1.0) != 1.0).all(axis=1)]  # not on the planes of the faces
    found = SignedDistance(x, triangles)(off)
    beyond = np.abs(off - 1.0) - 1.0
    distance = np.linalg.norm(np.maximum(beyond, 0.0), axis=1) + np.minimum(beyond.max(axis=1), 0.0)
    np.testing.assert_allclose(found, -distance, atol=1e-12)


@pytest.mark.parametrize("mesh", [sphere(7, 9), torus()], ids=["sphere", "torus"])
def test_both_rooms_wind_alike(mesh):
    field = SignedDistance(mesh.positions, mesh.triangles)
    low, high = mesh.positions.min(axis=0), mesh.positions.max(axis=0)
    p = np.random.default_rng(0).uniform(low - 0.1, high + 0.1, (200, 3))
    found = [np.empty(len(p), dtype=np.int64) for _ in range(2)]
    for room, out in zip((cpu, reference), found, strict=True):
        room.winding_numbers(p, field._x, field._faces, *field._columns, out)
    np.testing.assert_array_equal(*found)
    assert {0, 1} == set(found[0].tolist())


def test_overlaps_are_inside_and_cavities_are_not():
    one = sphere(10, 14, radius=1.0)
    both = np.concatenate([one.positions, one.positions + np.array([1.0, 0, 0])])
    union = SignedDistance(both, np.concatenate([one.triangles, one.triangles + len(both) // 2]))
    assert union.windings(np.array([[0.5, 0.0, 0.0]])) == 2
    assert (union(np.array([[0.5, 0, 0], [0, 0, 0], [1, 0, 0]])) > 0.0).all()
    shell = np.concatenate([one.positions, 0.5 * one.positions])
    hollow = SignedDistance(
        shell, np.concatenate([one.triangles, one.triangles[:, ::-1] + len(one.positions)])
    )
    depth = hollow(np.array([[0, 0, 0], [0, 0, 0.75], [0, 0, 1.5]], dtype=float))
    np.testing.assert_array_equal(np.sign(depth), [-1.0, 1.0, -1.0])
    assert depth[1] == pytest.approx(0.25, abs=0.03)
