"""Closest points: optimal by the inequalities that projections onto convex sets obey; and near
pairs of elements that have collapsed."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from stiffly.collisions.broad_phase import BroadPhase
from stiffly.kernels import cpu, reference

# few values make coincident, collinear and parallel points likely
GRID = st.sampled_from([-1.0, -0.5, 0.0, 0.0, 0.5, 1.0, 2.0])
LOOSE = st.floats(-1.0, 1.0, width=32)
POINTS = arrays(np.float64, (4, 3), elements=GRID) | arrays(np.float64, (4, 3), elements=LOOSE)
STENCIL = np.array([[0, 1, 2, 3]], dtype=np.uint32)
KERNELS = ["vertex_face_weights", "vertex_edge_weights", "edge_edge_weights"]
# nearly flat triangles and nearly parallel edges are treated as such: sqrt(FLAT) of their size
TOLERANCE = 1e-6


def weights(room, name, x, stencil=STENCIL):
    w = np.full((len(stencil), 4), np.nan)
    getattr(room, name)(x, stencil, w)
    return w


@settings(max_examples=300, deadline=None)
@given(POINTS)
def test_point_and_triangle(x):
    w = weights(cpu, "vertex_face_weights", x)[0]
    assert w[0] == 1.0 and np.all(w[1:] <= 0.0) and w.sum() == pytest.approx(0.0, abs=1e-14)
    q = -w[1:] @ x[1:]
    # no corner is in the direction of p from q: q is the projection
    assert np.all((x[1:] - q) @ (x[0] - q) <= TOLERANCE)


@settings(max_examples=300, deadline=None)
@given(POINTS)
def test_two_edges(x):
    w = weights(cpu, "edge_edge_weights", x)[0]
    assert np.all(w[:2] >= 0.0) and np.all(w[2:] <= 0.0)
    assert w[:2].sum() == pytest.approx(1.0) and w[2:].sum() == pytest.approx(-1.0)
    p, q = w[:2] @ x[:2], -w[2:] @ x[2:]
    assert np.all((x[:2] - p) @ (q - p) <= TOLERANCE)
    assert np.all((x[2:] - q) @ (p - q) <= TOLERANCE)


@settings(max_examples=200, deadline=None)
@given(POINTS)
def test_point_and_edge(x):
    w = weights(cpu, "vertex_edge_weights", x)[0]
    q = -w[1:3] @ x[1:3]
    assert w[3] == 0.0 and np.all((x[1:3] - q) @ (x[0] - q) <= 1e-12)


def test_no_sampled_point_is_nearer():
    """Brute force over a fine grid of points, for random triangles and edges."""
    rng = np.random.default_rng(0)
    s, t = (g.ravel() for g in np.meshgrid(np.linspace(0, 1, 41), np.linspace(0, 1, 41)))
    for _ in range(50):
        x = rng.uniform(-1.0, 1.0, (4, 3))
        w = weights(cpu, "vertex_face_weights", x)[0]
        inside = s + t <= 1.0
        bary = np.stack([1.0 - s - t, s, t], axis=1)[inside]
        brute = np.linalg.norm(x[0] - bary @ x[1:], axis=1).min()
        assert np.linalg.norm(w @ x) <= brute + 1e-14
        w = weights(cpu, "edge_edge_weights", x)[0]
        first, second = np.outer(1 - s, x[0]) + np.outer(s, x[1]), np.outer(1 - t, x[2])
        brute = np.linalg.norm(first - second - np.outer(t, x[3]), axis=1).min()
        assert np.linalg.norm(w @ x) <= brute + 1e-14


def test_parallel_edges_meet_in_the_middle_of_where_they_overlap():
    x = np.array([[0.0, 0, 0], [4, 0, 0], [5, 1, 0], [1, 1, 0]])
    w = weights(cpu, "edge_edge_weights", x)[0]
    np.testing.assert_allclose(w[:2] @ x[:2], [2.5, 0, 0])
    np.testing.assert_allclose(-w[2:] @ x[2:], [2.5, 1, 0])


@pytest.mark.parametrize("name", KERNELS)
def test_compiled_and_plain_agree(name):
    rng = np.random.default_rng(1)
    x = rng.uniform(-1.0, 1.0, (60, 3))
    x[40:] = np.round(2 * x[40:]) / 2  # collinear and coincident points
    stencil = rng.integers(0, 60, (500, 4)).astype(np.uint32)
    both = [weights(room, name, x, stencil) for room in (cpu, reference)]
    # where several points are closest the weights may differ, the distance may not
    lengths = [np.linalg.norm(np.einsum("kc,kca->ka", w, x[stencil]), axis=1) for w in both]
    np.testing.assert_allclose(*lengths, atol=1e-7)
    generic = np.all(stencil < 40, axis=1) & np.all(np.diff(np.sort(stencil), axis=1) > 0, axis=1)
    assert generic.sum() > 50
    np.testing.assert_allclose(both[0][generic], both[1][generic], atol=1e-9)


# ---------------------------------------------------------------------- what has collapsed

# two bodies: two triangles, and two links of a fiber that hangs on the second one
FACES = np.array([[0, 1, 2], [2, 1, 3], [6, 7, 8], [8, 7, 9]])
LINKS = np.array([[3, 4], [4, 5], [9, 10], [10, 11]])
LINES = [(0, 1), (1, 2), (0, 2), (1, 3), (2, 3), (3, 4), (4, 5)]
BODY = np.arange(12) // 6
SIZES = [1.0, 1e-9, 1e9, 1e-80, 1e-160]


@st.composite
def collapsed(draw):
    """Positions (12, 3): few places for many particles, one body below z = 0, the other above."""
    x = draw(arrays(np.float64, (12, 3), elements=GRID))
    x[:, 2] = np.abs(x[:, 2])
    x[:, draw(st.lists(st.sampled_from([0, 1, 2]), unique=True))] = 0.0  # planar, collinear, points
    x[:6, 2] *= -1.0
    x[6:, 2] += 0.3
    turn = np.linalg.qr(np.random.default_rng(draw(st.integers(0, 99))).standard_normal((3, 3)))[0]
    return x @ turn if draw(st.booleans()) else x  # turned: rounding instead of exact zeros


def near_pairs(room, x, limit):
    """stencil, weights, normals, shares, kind of triangles, of strands and of edges."""
    broad, still = BroadPhase(x, LINKS, FACES), np.zeros_like(x)
    found, parts = broad.candidates(x, 0.5 * limit), broad.elements
    edges, opposite = parts.edges.corners, (parts.opposite_start, parts.opposite)
    ring = (parts.ring_start, parts.ring)
    faces = (parts.faces.corners, parts.sides, *opposite, *ring)
    return (
        room.near_triangles(x, still, limit, found.vertex_face, faces),
        room.near_strands(x, still, limit, found.vertex_edge, (edges, *ring)),
        room.near_edges(x, still, limit, found.edge_edge, (edges, *opposite)),
    )


def smallest_distance(x):
    """Of the two bodies, over all pairs of their vertices and triangles, edges and edges."""
    corners = [(v, *f) for v in range(12) for f in FACES.tolist() if BODY[v] != BODY[f[0]]]
    others = [(a + 6, b + 6) for a, b in LINES]
    edges = [(*e, *f) for e, f in itertools.product(LINES, others)]
    squares = []
    for rows, name in ((corners, "vertex_face_weights"), (edges, "edge_edge_weights")):
        w = weights(reference, name, x, np.array(rows))
        squares.append(np.linalg.norm(np.einsum("kc,kca->ka", w, x[np.array(rows)]), axis=1).min())
    return min(squares)


def gaps_between_bodies(x, stencil, w, normals, shares, kind):
    """Of contacts that are in order."""
    assert all(np.isfinite(a).all() for a in (w, normals, shares))
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0, rtol=1e-9)
    np.testing.assert_allclose(w.sum(axis=1), 0.0, atol=1e-14)
    assert np.all((shares > 0.0) & (shares <= 1.0)) and np.all((kind >= 1) & (kind <= 4))
    gaps = np.einsum("kc,kca,ka->k", w, x[stencil], normals)
    return gaps[BODY[stencil[:, 0]] != BODY[stencil[:, 3]]]


@pytest.mark.parametrize("room", [cpu, reference], ids=["compiled", "plain"])
@settings(max_examples=100, deadline=None)
@given(collapsed())
def test_collapsed_elements_still_meet_where_they_are_nearest(room, x):
    """Coincident and collinear particles: where two bodies are nearest there is a contact."""
    with np.errstate(divide="raise", invalid="raise"):
        found = near_pairs(room, x, 20.0)
    gaps = np.concatenate([gaps_between_bodies(x, *rows) for rows in found])
    assert gaps.min() == pytest.approx(smallest_distance(x), abs=1e-6)


@pytest.mark.parametrize("room", [cpu, reference], ids=["compiled", "plain"])
@settings(max_examples=50, deadline=None)
@given(arrays(np.float64, (12, 3), elements=GRID), st.sampled_from(SIZES))
def test_no_shape_of_any_size_has_contacts_that_are_not_numbers(room, x, size):
    """Bodies that cut through each other, down to sizes whose squares are no longer numbers."""
    x = size * x
    with np.errstate(divide="raise", invalid="raise"):
        for rows in near_pairs(room, x, 20.0 * size):
            gaps_between_bodies(x, *rows)
