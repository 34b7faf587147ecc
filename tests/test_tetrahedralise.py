"""Filling surfaces: the same bits every time, no bad tets, nothing lost, bad input in one line."""

import hashlib
import os
import shutil
import subprocess
import sys
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thinned import drawn, thinned

from stiffly.errors import InputError, StiffWarning
from stiffly.meshes import (
    Mesh,
    cloth,
    creature_surface,
    cube,
    quality,
    sphere,
    tetrahedralise,
    torus,
    validate,
)
from stiffly.meshes import cache as kept
from stiffly.meshes.implicit import capsules
from stiffly.meshes.mesh import tet_surface, tet_volumes
from stiffly.meshes.progress import listening
from stiffly.meshes.quality import dihedral_angles
from stiffly.meshes.signed_distance import SignedDistance
from stiffly.meshes.stuffing import fill, skin
from stiffly.meshes.thin import parts
from stiffly.meshes.topology import require_closed

ANGLES = 9.0, 162.0  # degrees, as promised


def surface(positions, triangles):
    return Mesh(np.asarray(positions, dtype=float), np.empty((0, 2), int), triangles=triangles)


def bumpy(seed, rings=14):
    """A ball with waves of every length on it, some of them deep; it may cross itself nowhere."""
    rng = np.random.default_rng(seed)
    ball = sphere(rings, 2 * rings, radius=1.0)
    waves = rng.standard_normal((6, 3)) * rng.uniform(1.0, 8.0, (6, 1))
    height = (rng.uniform(0.02, 0.14, 6) * np.sin(ball.positions @ waves.T)).sum(axis=1)
    stretch = rng.uniform(0.4, 1.6, 3)
    return surface(ball.positions * (1.0 + height[:, None]) * stretch, ball.triangles)


@cache
def scan(tail=0.03, ear=0.025):
    """What scans have: a trunk, a thin tail, a thin flat ear on a neck thinner still."""
    ends = np.array(
        [
            [0.0, 0, 0, 0.6, 0, 0, 0.22, 0.2],
            [0.75, 0, 0.1, 1.3, 0.1, 0.4, tail, tail],
            [0.6, 0, 0.0, 0.8, 0, 0.12, 0.1, tail],
            [0.0, 0.15, 0.15, 0.0, 0.3, 0.5, ear, ear],
            [0.0, 0.3, 0.5, 0.1, 0.35, 0.6, ear, 3 * ear],
        ]
    )
    low, high = np.array([-0.4, -0.4, -0.4]), np.array([1.5, 0.6, 0.9])
    return surface(*skin(capsules(ends, blend=0.01), low, high, 0.022))


@cache
def filled_scan():
    return tetrahedralise(scan(), 300)


def bits(mesh):
    arrays = (mesh.positions, mesh.tets, mesh.skin.corners, mesh.skin.weights)
    return hashlib.sha256(b"".join(a.tobytes() for a in arrays)).hexdigest()


# ------------------------------------------------------------------ the same bits


CHILD = """
import sys, hashlib
sys.path.insert(0, {tests!r})
from test_tetrahedralise import bits, bumpy
from stiffly.meshes import tetrahedralise
print(bits(tetrahedralise(bumpy(3, rings=24), 400)))
"""


@pytest.mark.parametrize("threads", thinned(["1", "2"]))
def test_a_process_with_another_number_of_threads_gives_the_same_bits(tmp_path, threads):
    """Nothing is shared: each has a cache of its own.  2048 points and more start threads, as many
    here as there are cores."""
    env = {
        **os.environ, "STIFFLY_CACHE": str(tmp_path), "NUMBA_NUM_THREADS": threads,
        "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads,
    }  # fmt: skip
    code = CHILD.format(tests=os.path.dirname(__file__))
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    assert len(list((tmp_path / "meshes").iterdir())) == 1
    assert done.stdout.strip() == bits(tetrahedralise(bumpy(3, rings=24), 400))


# ------------------------------------------------------------------ what is kept


@pytest.fixture
def cached(tmp_path, monkeypatch):
    """The folder of an empty cache, and how often something was computed."""
    from stiffly.meshes import tetrahedralise as _  # noqa: F401

    module = sys.modules["stiffly.meshes.tetrahedralise"]
    real, calls = module._computed, []
    monkeypatch.setenv("STIFFLY_CACHE", str(tmp_path))
    monkeypatch.setattr(module, "_computed", lambda *a: calls.append(1) or real(*a))
    return tmp_path / "meshes", calls


def test_a_surface_is_filled_once_and_a_changed_one_anew(cached):
    folder, calls = cached
    first = tetrahedralise(bumpy(0), 200)
    assert bits(tetrahedralise(bumpy(0), 200)) == bits(first)
    assert len(calls) == len(list(folder.iterdir())) == 1
    changed = bumpy(0)
    changed.positions[5, 2] += 1e-13
    tetrahedralise(changed, 200)
    tetrahedralise(bumpy(0), 210)
    tetrahedralise(bumpy(0), tets=200)
    assert len(calls) == len(list(folder.iterdir())) == 4


@pytest.mark.parametrize(
    "damage",
    thinned(
        [
            lambda data: data[:-1],
            lambda data: data[:500] + bytes([data[500] ^ 1]) + data[501:],
            lambda data: b"",
            lambda data: b"something else",
            lambda data: data.replace(b"cache 1", b"cache 2"),
        ],
        keep=2,
    ),
    ids=["cut", "one bit", "empty", "foreign", "another kind"],
)
def test_a_damaged_entry_is_noticed_and_computed_again(cached, damage):
    folder, calls = cached
    first = tetrahedralise(bumpy(0), 200)
    (entry,) = folder.iterdir()
    entry.write_bytes(damage(entry.read_bytes()))
    with pytest.warns(StiffWarning, match="^ball: what was kept of it in .* is damaged") as said:
        again = tetrahedralise(bumpy(0), 200, name="ball")
    assert len(said) == 1 and len(calls) == 2
    assert bits(again) == bits(first)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert bits(tetrahedralise(bumpy(0), 200)) == bits(first)
    assert len(calls) == 2


def test_a_folder_that_is_deleted_is_made_again(cached):
    folder, calls = cached
    first = tetrahedralise(bumpy(0), 200)
    shutil.rmtree(folder.parent)
    assert bits(tetrahedralise(bumpy(0), 200)) == bits(first)
    assert len(calls) == 2 and len(list(folder.iterdir())) == 1


@pytest.mark.parametrize("room", ["meshes/stuffing.py", "kernels/cpu/mesh_distance.py"])
def test_other_code_is_another_question(tmp_path, monkeypatch, room):
    source = Path(kept.__file__).parents[1]
    copy = tmp_path / "stiffly"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(kept, "__file__", str(copy / "meshes" / "cache.py"))
    assert kept._code.__wrapped__() == kept._code()
    with (copy / room).open("a") as file:
        file.write("# other\n")
    assert kept._code.__wrapped__() != kept._code()


def test_a_cache_that_cannot_be_written_is_left_alone(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("STIFFLY_CACHE", str(tmp_path / "file"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(tetrahedralise(sphere(6, 9), 100).tets)
    assert (tmp_path / "file").read_text() == "in the way"


def test_where_the_cache_lies(monkeypatch, tmp_path):
    monkeypatch.delenv("STIFFLY_CACHE")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert kept.folder() == tmp_path / "stiffly"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert kept.folder() == tmp_path / ".cache" / "stiffly"


# ------------------------------------------------------------------ good tets


@given(st.integers(0, 2**31), st.floats(0.25, 0.6), st.floats(-0.6, 0.6))
@drawn(30)
def test_no_field_whatever_gives_bad_angles(seed, spacing, shift):
    """Noise that has nothing to do with a distance: cuts lie anywhere on the lattice's edges."""

    def noise(p):
        h = np.floor(p * 7.31e5).astype(np.int64)
        mixed = (h[:, 0] * 73856093) ^ (h[:, 1] * 19349663) ^ (h[:, 2] * 83492791) ^ seed
        return np.where(np.abs(p).max(axis=1) < 1.0, mixed % 100003 / 50001.5 - 1.0 + shift, -1.0)

    x, tets = fill(noise, np.full(3, -1.2), np.full(3, 1.2), spacing, bounded=True)
    if len(tets):
        angles = dihedral_angles(x, tets)
        assert ANGLES[0] <= angles.min() and angles.max() <= ANGLES[1]
        assert (tet_volumes(x, tets) > 0.0).all()
        _, users = np.unique(np.sort(faces_of(tets), axis=1), axis=0, return_counts=True)
        assert users.max() <= 2


def faces_of(tets):
    return np.concatenate([tets[:, f] for f in ([1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2])])


@given(st.integers(0, 2**31), st.integers(40, 800))
@drawn(12)
def test_random_shapes_are_filled_well_and_followed_closely(seed, particles):
    shape = bumpy(seed)
    mesh = tetrahedralise(shape, particles)
    validate(mesh)
    found = quality(mesh)
    assert found.slivers == 0
    assert ANGLES[0] <= found.smallest and found.largest <= ANGLES[1]
    assert 0.5 * particles <= len(mesh.positions) <= 1.5 * particles
    edge = np.linalg.norm(np.diff(mesh.positions[mesh.edges], axis=1), axis=2).max()
    assert found.beyond <= edge  # half a cell; the longest edge is a cell, or a little less
    np.testing.assert_allclose(mesh.skin.values(mesh.positions), shape.positions, atol=1e-12)
    assert parts(mesh.tets).max() == 0


def test_dihedral_angles_of_known_tets():
    regular = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], dtype=float)
    corner = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
    tet = np.array([[0, 1, 2, 3]])
    np.testing.assert_allclose(dihedral_angles(regular, tet), np.degrees(np.arccos(1 / 3)))
    slanted = np.degrees(np.arccos(1 / np.sqrt(3)))
    np.testing.assert_allclose(np.sort(dihedral_angles(corner, tet)[0]), [slanted] * 3 + [90.0] * 3)


@pytest.mark.parametrize("particles", [300, 2000])
def test_a_ball_is_as_full_as_flat_sides_allow(particles):
    """Every vertex of the tets' surface lies on the ball's; flat sides cut off no more than the
    height of the cap over the widest of them."""
    ball = sphere(40, 80, radius=1.0)
    mesh = tetrahedralise(ball, particles)
    require_closed("ball", mesh.triangles)
    a, b, c = (mesh.positions[mesh.triangles[:, k]] for k in range(3))
    sides = [np.linalg.norm(u - v, axis=1) for u, v in ((a, b), (b, c), (c, a))]
    area = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
    radius = (sides[0] * sides[1] * sides[2] / (4.0 * area)).max()
    ripples = 0.02  # of the ball's own flat sides, and of cuts found by interpolation
    least = (np.sqrt(1.0 - radius**2) - ripples) ** 3
    share = tet_volumes(mesh.positions, mesh.tets).sum() / (4.0 * np.pi / 3.0)
    assert least <= share <= 1.0
    assert quality(mesh).fullness == pytest.approx(share, rel=0.01)


@pytest.mark.parametrize("particles", thinned([120, 300, 700]))
def test_thin_parts_are_neither_lost_nor_loose(particles):
    """A tail and an ear far thinner than a cell stay, and hang together with the rest."""
    shape = scan()
    mesh = tetrahedralise(shape, particles)
    assert parts(mesh.tets).max() == 0
    cell = np.linalg.norm(np.diff(mesh.positions[mesh.edges], axis=1), axis=2).max()
    assert cell > 0.09  # of the lattice: the tail is 0.06 thick
    depth = SignedDistance(mesh.positions, tet_surface(mesh.tets))(shape.positions)
    assert depth.min() >= -0.6 * cell  # half a cell, and between the points that were looked at
    assert quality(mesh).slivers == 0


def test_a_genus_stays():
    ring = torus()
    mesh = tetrahedralise(ring, 900)
    edges, faces = len(np.unique(np.sort(faces_of(mesh.tets), axis=1), axis=0)), len(mesh.tets)
    euler = len(mesh.positions) - len(mesh.edges) + edges - faces
    assert euler == 0  # a solid torus; a ball has 1


def test_two_balls_stay_two_and_a_speck_is_carried_along():
    big, small = sphere(12, 20, radius=1.0), sphere(8, 12, radius=0.4)
    speck = sphere(4, 6, radius=0.01)
    pieces = [(big, 0.0), (small, 2.0), (speck, 1.1)]
    x = np.concatenate([m.positions + np.array([at, 0.0, 0.0]) for m, at in pieces])
    first = np.cumsum([0, *(len(m.positions) for m, _ in pieces)])
    triangles = np.concatenate([m.triangles + n for (m, _), n in zip(pieces, first, strict=False)])
    mesh = tetrahedralise(surface(x, triangles), 500)
    assert parts(mesh.tets).max() + 1 == 2
    np.testing.assert_allclose(mesh.skin.values(mesh.positions), x, atol=1e-12)


def test_crossing_surfaces_are_filled_and_the_report_says_so():
    ball = sphere(12, 20, radius=1.0)
    x = np.concatenate([ball.positions, ball.positions + np.array([1.0, 0.0, 0.0])])
    mesh = tetrahedralise(
        surface(x, np.concatenate([ball.triangles, ball.triangles + len(x) // 2])), 800
    )
    assert parts(mesh.tets).max() == 0
    found = quality(mesh)
    lens = 5.0 / 12.0 * np.pi  # two unit balls whose centres are one apart share this
    assert found.volume == pytest.approx(8.0 * np.pi / 3.0 - lens, rel=0.05)
    assert found.crossed == pytest.approx(0.25, abs=0.05)  # a cap of height 1/2 of each
    assert "% of the surface lies inside itself" in str(found)


# ------------------------------------------------------------------ embedding


@given(st.integers(0, 2**31))
@drawn(20)
def test_affine_motions_of_the_tets_are_those_of_the_surface(seed):
    rng = np.random.default_rng(seed)
    mesh, shape = filled_scan(), scan()
    A, b = 3.0 * rng.standard_normal((3, 3)), 10.0 * rng.standard_normal(3)
    moved = mesh.skin.values(mesh.positions @ A.T + b)
    np.testing.assert_allclose(moved, shape.positions @ A.T + b, atol=1e-11)


def test_vertices_inside_belong_to_the_tet_around_them():
    mesh, shape = tetrahedralise(bumpy(1), 400), bumpy(1)
    inside = SignedDistance(mesh.positions, tet_surface(mesh.tets))(shape.positions)
    least = mesh.skin.weights.min(axis=1)
    clear = np.abs(inside) > 1e-9
    np.testing.assert_array_equal(least[clear] >= 0.0, inside[clear] > 0.0)
    assert 0.05 < np.mean(inside > 0.0) < 0.95  # both kinds were looked at


# ------------------------------------------------------------------ bad input


def with_holes(mesh, count):
    """Without `count` triangles that have no vertex in common."""
    kept_faces, used = [], set()
    for face in mesh.triangles.tolist():
        if count and not used & set(face):
            used |= set(face)
            count -= 1
        else:
            kept_faces.append(face)
    return surface(mesh.positions, np.array(kept_faces))


def test_an_open_surface_is_refused_with_its_holes_or_closed_on_request():
    open_ball = with_holes(sphere(16, 24, radius=1.0), 3)
    with pytest.raises(
        InputError, match=r"^ball is open: 3 holes along 9 edges, 0\.\d+ % of its"
    ) as e:
        tetrahedralise(open_ball, 300, name="ball")
    assert "close_holes=True" in str(e.value) and "\n" not in str(e.value)
    with pytest.warns(StiffWarning, match="^ball: closed 3 holes along 9 edges"):
        mesh = tetrahedralise(open_ball, 300, name="ball", close_holes=True)
    whole = tetrahedralise(sphere(16, 24, radius=1.0), 300)
    volumes = [tet_volumes(m.positions, m.tets).sum() for m in (mesh, whole)]
    assert volumes[0] == pytest.approx(volumes[1], rel=0.02)
    assert quality(mesh).holes == 3 and "3 holes closed" in str(quality(mesh))


def test_what_is_mostly_hole_is_refused_either_way():
    ball = sphere(16, 24, radius=1.0)
    half = ball.triangles[(ball.positions[ball.triangles][:, :, 2] > 0.0).all(axis=1)]
    used, corners = np.unique(half, return_inverse=True)
    bowl = surface(ball.positions[used], corners.reshape(-1, 3))
    for given_leave in (False, True):
        with pytest.raises(InputError, match=r"bowl is open: 1 hole .* simulate it as a shell"):
            tetrahedralise(bowl, 300, name="bowl", close_holes=given_leave)
    with pytest.raises(InputError, match="cloth is open: 1 hole along 8 edges, 50 % of its area"):
        tetrahedralise(cloth(3, 3), name="cloth")


def test_edges_of_four_triangles_are_no_holes():
    """Two boxes that have an edge in common: a non-manifold edge, but inside is inside."""
    box = cube(2, side=1.0)
    used, corners = np.unique(box.triangles, return_inverse=True)
    x, triangles = box.positions[used], corners.reshape(-1, 3)
    other = x + np.array([1.0, 1.0, 0.0])
    both = np.concatenate([x, other])
    _, first, same = np.unique(np.round(both, 9), axis=0, return_index=True, return_inverse=True)
    faces = same.ravel()[np.concatenate([triangles, triangles + len(x)])]
    mesh = tetrahedralise(surface(both[first], faces), 600)
    assert quality(mesh).volume == pytest.approx(2.0, rel=0.1)


@pytest.mark.parametrize("given_number", [3, 14, -5, 0, 2_000_001, 10**9, 10**30, 100.0])
def test_counts_out_of_range_are_refused_before_any_work(given_number, monkeypatch):
    monkeypatch.setattr(
        sys.modules["stiffly.meshes.tetrahedralise"], "validate", None
    )  # first step
    message = r"wanted: give a whole number from 15 to 2,000,000"
    with pytest.raises(InputError, match=message):
        tetrahedralise(sphere(3, 5), given_number)
    with pytest.raises(InputError, match=message):
        tetrahedralise(sphere(3, 5), target=given_number)
    with pytest.raises(InputError, match="give one of them"):
        tetrahedralise(sphere(3, 5), 100, tets=100)


def test_other_bad_surfaces_are_one_line_each():
    ball = sphere(6, 9)
    spoilt = ball.positions.copy()
    spoilt[3] = np.nan
    line = Mesh(ball.positions[:2], np.array([[0, 1]]))
    cases = {
        "make it finite": surface(spoilt, ball.triangles),
        "has no triangles": line,
        "has no vertices": surface(np.empty((0, 3)), ball.triangles[:0]),
        "faces inwards": surface(ball.positions, ball.triangles[:, ::-1]),
    }
    for message, mesh in cases.items():
        with pytest.raises(InputError, match=message) as problem:
            tetrahedralise(mesh, 100)
        assert "\n" not in str(problem.value)
    with pytest.raises(InputError, match="has no tets: fill it with tetrahedralise"):
        quality(ball)


def test_progress_is_told_to_who_listens():
    told = []
    with listening(lambda *report: told.append(report)):
        tetrahedralise(bumpy(77), 150, name="bump")
    assert len(told) >= 3
    done = [report[0] for report in told]
    assert done == sorted(done) and done[-1] == told[-1][1]
    assert all(report[2].startswith("bump: ") for report in told)
    tetrahedralise(bumpy(78), 150)
    assert len({id(report) for report in told}) == len(told) >= 3  # nobody listens any more


def test_a_creature_has_the_same_tets_as_ever():
    """The lattice's other rule for diagonals is for given surfaces only."""
    x, tets = fill(
        lambda p: 0.9 - np.linalg.norm(p, axis=1), np.full(3, -1.0), np.full(3, 1.0), 0.3
    )
    y, other = fill(
        lambda p: 0.9 - np.linalg.norm(p, axis=1), np.full(3, -1.0), np.full(3, 1.0), 0.3,
        bounded=True,
    )  # fmt: skip
    np.testing.assert_array_equal(x, y)
    assert len(tets) == len(other)
    assert creature_surface(600).triangles.shape[1] == 3
