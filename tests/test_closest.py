"""Closest points: optimal by the inequalities that projections onto convex sets obey."""

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from thinned import drawn

from stiffly.kernels import cpu

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
    if room is reference:
        getattr(reference.closest, name)(x, stencil, w)
        return w
    for i, row in zip(stencil, w, strict=True):
        cpu.pair_distance.distance(np.uint8(KERNELS.index(name)), x[i], row, np.empty(3))
    return w


@drawn(300)
@given(POINTS)
def test_point_and_triangle(x):
    w = weights(cpu, "vertex_face_weights", x)[0]
    assert w[0] == 1.0 and np.all(w[1:] <= 0.0) and w.sum() == pytest.approx(0.0, abs=1e-14)
    q = -w[1:] @ x[1:]
    # no corner is in the direction of p from q: q is the projection
    assert np.all((x[1:] - q) @ (x[0] - q) <= TOLERANCE)


@drawn(300)
@given(POINTS)
def test_two_edges(x):
    w = weights(cpu, "edge_edge_weights", x)[0]
    assert np.all(w[:2] >= 0.0) and np.all(w[2:] <= 0.0)
    assert w[:2].sum() == pytest.approx(1.0) and w[2:].sum() == pytest.approx(-1.0)
    p, q = w[:2] @ x[:2], -w[2:] @ x[2:]
    assert np.all((x[:2] - p) @ (q - p) <= TOLERANCE)
    assert np.all((x[2:] - q) @ (p - q) <= TOLERANCE)


@drawn(200)
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
