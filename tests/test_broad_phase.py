"""Candidates for contact: never fewer than brute force finds, and no input ends the process."""

import importlib
import itertools
import subprocess
import sys

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from thinned import drawn

from stiffly.collisions.broad_phase import BroadPhase, Candidates, elements, overlapping
from stiffly.errors import InputError
from stiffly.kernels import cpu
from stiffly.meshes.morton import morton

FACES = np.array([[0, 1, 2]])
X = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0.2, 0.2, 0.1], [0.3, 0.2, 0.5]])


def soup(seed, faces=12, edges=8, count=24, size=0.3):
    """Triangles and loose edges between random neighbours."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.0, 1.0, (count, 3))
    near = np.argsort(np.linalg.norm(x[:, None] - x[None], axis=2), axis=1)

    def draw(number, corners):
        rows = [near[i, rng.permutation(6)[:corners]] for i in rng.integers(0, count, number)]
        return np.array(rows).reshape(-1, corners)

    return x, draw(faces, 3), draw(edges, 2)


def candidates(x, edges, faces, radius, fixed=()):
    """Particles of pairs that may touch: the first one of vertex_face, vertex_edge, the first two
    of edge_edge, against the others."""
    broad = BroadPhase(x, edges, faces, fixed)
    found, lines = broad.candidates(x, radius), broad.elements.edges.corners
    triangles = broad.elements.faces.corners
    return Candidates(
        np.hstack([found.vertex_face[:, :1], triangles[found.vertex_face[:, 1]]]),
        np.hstack([found.vertex_edge[:, :1], lines[found.vertex_edge[:, 1]]]),
        np.hstack([lines[found.edge_edge[:, 0]], lines[found.edge_edge[:, 1]]]),
    )


def near_pairs(x, first, second, radius, kernel):
    """Brute force: sets of particles of all pairs closer than 2 radius without a common one."""
    rows = [(*a, *b) for a, b in itertools.product(first.tolist(), second.tolist())]
    rows = np.array([r for r in rows if len(set(r)) == len(r)], dtype=int)
    stencil = rows if rows.shape[1] == 4 else np.column_stack([rows, rows[:, 0]])
    w = np.empty(stencil.shape)
    kernel(x, stencil, w)
    near = np.linalg.norm(np.einsum("kc,kca->ka", w, x[stencil]), axis=1) < 2 * radius
    return as_sets(rows[near], first.shape[1])


def as_sets(stencils, left):
    return {(frozenset(r[:left]), frozenset(r[left:])) for r in stencils.tolist()}


def both_ways(pairs):
    return pairs | {(b, a) for a, b in pairs}


@drawn(30)
@given(st.integers(0, 10**6), st.floats(0.0, 0.2))
def test_no_near_pair_is_missed(seed, radius):
    x, faces, edges = soup(seed)
    found = candidates(x, edges, faces, radius)
    parts = elements(x, faces, edges)
    vertices = np.unique(np.concatenate([faces.ravel(), edges.ravel()]))[:, None]
    lines, loose = parts.edges.corners, parts.edges.corners[parts.loose :]
    wanted = near_pairs(x, vertices, faces, radius, reference.closest.vertex_face_weights)
    assert wanted <= as_sets(found.vertex_face, 1)
    wanted = near_pairs(x, vertices, loose, radius, reference.closest.vertex_edge_weights)
    assert wanted <= as_sets(found.vertex_edge, 1)
    wanted = near_pairs(x, lines, lines, radius, reference.closest.edge_edge_weights)
    assert wanted <= both_ways(as_sets(found.edge_edge, 2))


@drawn(20)
@given(st.integers(0, 10**6))
def test_what_meets_on_the_way_is_found(seed):
    """A vertex that flies through a triangle within the step, from far away to far away."""
    rng = np.random.default_rng(seed)
    x = np.concatenate([rng.uniform(-1.0, 1.0, (3, 3)), np.zeros((2, 3))])
    target = rng.dirichlet(np.ones(3)) @ x[:3]
    way = rng.standard_normal(3)
    x[3] = target - 5.0 * way
    x[4] = x[3] + 20.0 * rng.standard_normal(3)
    move = np.zeros_like(x)
    move[3] = 12.0 * way
    found = BroadPhase(x, [[3, 4]], FACES).candidates(x, 1e-9, move)
    assert [3, 0] in found.vertex_face.tolist()


def test_every_pair_comes_once_and_shares_no_particle():
    x, faces, edges = soup(3)
    found = candidates(x, edges, faces, 0.15)
    for stencils, left in ((found.vertex_face, 1), (found.vertex_edge, 1), (found.edge_edge, 2)):
        sets = as_sets(stencils, left)
        assert len(sets) == len(stencils) > 0
        assert not any(a & b for a, b in sets)
    assert not any((b, a) in as_sets(found.edge_edge, 2) for a, b in as_sets(found.edge_edge, 2))


def test_pairs_that_cannot_move_are_left_out():
    x, faces, edges = soup(4)
    fixed = np.arange(12)
    some = candidates(x, edges, faces, 0.2, fixed=fixed)
    everything = candidates(x, edges, faces, 0.2)
    for few, many in zip(some, everything, strict=True):
        held = np.isin(many, fixed).all(axis=1)
        assert held.any()
        assert sorted(map(tuple, few)) == sorted(map(tuple, many[~held]))


def test_patches_own_every_element_once():
    x, faces, edges = soup(5, faces=60, edges=40, count=120)
    parts = elements(x, faces, edges)
    unique = np.unique(np.sort(faces, axis=1), axis=0)  # a triangle given twice counts once
    assert len(unique) < len(faces) == 60
    assert sorted(map(sorted, parts.faces.corners.tolist())) == unique.tolist()
    assert sorted(parts.vertices.corners[:, 0]) == list(np.unique(parts.edges.corners))
    unique = np.unique(np.sort(parts.edges.corners, axis=1), axis=0)
    assert len(unique) == len(parts.edges.corners)
    for kind in (parts.vertices, parts.edges, parts.faces):
        assert kind.start[0] == 0 and kind.start[-1] == len(kind.corners)
        assert np.all(np.diff(kind.start) >= 0)
    # side k of a triangle joins the corners other than k
    for corners, sides in zip(parts.faces.corners, parts.sides, strict=True):
        for k in range(3):
            assert set(parts.edges.corners[sides[k]]) == set(np.delete(corners, k))


def test_neighbours_on_a_morton_curve_are_near():
    rng = np.random.default_rng(0)
    x = rng.uniform(0.0, 1.0, (4096, 3))
    steps = np.linalg.norm(np.diff(x[np.argsort(morton(x))], axis=0), axis=1)
    assert np.median(steps) < 0.1  # points drawn at random are 0.66 apart


# ---------------------------------------------------------------------- kernels


def boxed(kind, boxes):
    out = np.empty((len(kind.corners), 6))
    cpu.element_boxes(boxes, kind.corners, out)
    return kind.start, kind.corners, out, np.all(kind.corners < 20, axis=1)


@pytest.mark.parametrize("threshold", [0, 10**9], ids=["parallel", "serial"])
def test_compiled_and_plain_loops_agree(threshold, monkeypatch):
    module = importlib.import_module("stiffly.kernels.cpu.pair_candidates")
    monkeypatch.setattr(module, "PARALLEL_PATCHES", threshold)
    x, faces, edges = soup(6, faces=80, edges=60, count=150)
    parts = elements(x, faces, edges)
    boxes = np.hstack([x - 0.05, x + 0.05])
    lines, triangles = boxed(parts.edges, boxes), boxed(parts.faces, boxes)
    particles = parts.vertices.corners[:, 0]
    points = (parts.vertices.start, particles, boxes[particles], np.arange(len(x)) < 20)
    patches = [np.empty((len(parts.edges.start) - 1, 6)) for _ in range(2)]
    for room, out in zip((cpu, reference), patches, strict=True):
        room.run_boxes(lines[2], lines[0], out)
    np.testing.assert_array_equal(*patches)
    count = -(-len(patches[0]) // 4)
    blocks = np.array([(i, j) for i in range(count) for j in range(i, count)], dtype=np.uint32)
    pairs = [room.patch_pairs(blocks, 4, patches[0]) for room in (cpu, reference)]
    assert len(pairs[0]) > len(patches[0])
    np.testing.assert_array_equal(*(np.array(sorted(map(tuple, p))) for p in pairs))
    arguments = (pairs[0], patches[0])
    for name, rest in (
        ("vertex_element_pairs", (points, triangles)),
        ("vertex_element_pairs", (points, lines)),
        ("edge_edge_pairs", (lines,)),
    ):
        found = [getattr(room, name)(*arguments, *rest, np.array([1])) for room in (cpu, reference)]
        assert len(found[0]) > 50
        np.testing.assert_array_equal(*found)


def test_element_boxes():
    x, faces, _ = soup(7)
    boxes = np.hstack([x, x])
    both = [np.empty((len(faces), 6)) for _ in range(2)]
    for room, out in zip((cpu, reference), both, strict=True):
        room.element_boxes(boxes, faces.astype(np.uint32), out)
    np.testing.assert_array_equal(*both)
    np.testing.assert_array_equal(both[0][:, 3:], x[faces].max(axis=1))


@drawn(20)
@given(st.integers(0, 10**6), st.sampled_from([1.0, 1e-6, 1e30]), st.sampled_from([0.0, 1e5]))
def test_overlapping_boxes(seed, scale, shift):
    rng = np.random.default_rng(seed)
    low = rng.uniform(0.0, 1.0, (30, 3))
    boxes = scale * (np.hstack([low, low + rng.uniform(0.0, 0.4, (30, 3))]) + shift)
    a, b = boxes[:, None], boxes[None]
    near = np.all((a[..., :3] <= b[..., 3:]) & (b[..., :3] <= a[..., 3:]), axis=2)
    wanted = set(map(tuple, np.argwhere(np.triu(near)).tolist()))
    found = list(map(tuple, overlapping(boxes).tolist()))
    assert wanted <= set(found) and found == sorted(set(found))


# ---------------------------------------------------------------------- bad input

BAD = {
    "face 0 (0, 1, 9): there are only 5 particles": dict(faces=[[0, 1, 9]]),
    "edge 0 (3, 7): there are only 5 particles": dict(edges=[[3, 7]]),
    "a particle index is negative": dict(faces=[[0, 1, -2]]),
    "names a particle twice": dict(faces=[[0, 1, 1]]),
    "must be integers": dict(faces=[[0.0, 1.0, 2.0]]),
    "have shape (1, 2), but (m, 3) is needed": dict(faces=[[0, 1]]),
    "rows of different lengths": dict(faces=[[0, 1, 2], [0, 1]]),
    "radius is nan": dict(radius=np.nan),
    "radius = -1": dict(radius=-1.0),
    "positions have shape (5, 2)": dict(vertices=X[:, :2]),
    "fixed names particle 5": dict(fixed=[5]),
    "nothing to collide": dict(faces=[], edges=[]),
}


def call(vertices=X, edges=((3, 4),), faces=FACES, radius=0.1, fixed=()):
    return candidates(vertices, edges, faces, radius, fixed=fixed)


@pytest.mark.parametrize("cause", BAD)
def test_bad_input_says_what_is_wrong(cause):
    with pytest.raises(InputError) as caught:
        call(**BAD[cause])
    assert cause in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_positions_that_are_not_finite(value):
    x = X.copy()
    x[3, 1] = value
    with pytest.raises(InputError, match=r"positions\[3, 1\] is"):
        call(vertices=x)
    broad = BroadPhase(X, [[3, 4]], FACES)
    with pytest.raises(InputError, match=r"positions\[3, 1\] is"):
        broad.candidates(x, 0.1)
    with pytest.raises(InputError, match=r"move\[3, 1\] is"):
        broad.candidates(X, 0.1, x)
    with pytest.raises(InputError, match=r"positions has shape \(4, 3\)"):
        broad.candidates(X[:4], 0.1)


def test_the_process_survives_bad_indices():
    """Handed to ipctk, a vertex that does not exist ends the interpreter."""
    script = """
import numpy as np
from stiffly.collisions.broad_phase import BroadPhase
x = np.random.default_rng(0).uniform(size=(9, 3))
bad = [[[0, 1, 99]], [[0, 1, -1]], [[0, 1, 2**31]], [[0, 1, 2**40]], [[0, 1, 2.5]], [["a", 1, 2]]]
for faces in bad:
    try:
        BroadPhase(x, [], faces).candidates(x, 0.1)
    except ValueError:
        continue
    raise SystemExit(f"{faces} was taken")
print(len(BroadPhase(x, [], [[0, 1, 2], [3, 4, 5]]).candidates(x, 1.0).vertex_face), "alive")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["6", "alive"]


def test_without_ipctk(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipctk", None)
    with pytest.raises(InputError, match=r"pip install 'stiffly\[contact\]'"):
        call()
