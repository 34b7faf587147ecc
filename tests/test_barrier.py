"""The potential between elements: derivatives, the discrete gradient, and ways that are clear."""

import ipctk
import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from thinned import drawn, thinned

from stiffly import meshes
from stiffly.bodies import System
from stiffly.collisions import Repulsion
from stiffly.errors import InputError
from stiffly.kernels import cpu

THICK, K = 0.1, 50.0


def sheet(n, spacing=1.0, shift=(0.0, 0.0, 0.0)):
    """n x n particles around the origin in the plane z = 0, and triangles."""
    mesh = meshes.cloth(n, n, spacing=spacing)
    return mesh.positions - mesh.positions.mean(axis=0) + shift, mesh.triangles


def joined(*bodies):
    x = np.concatenate([p for p, _ in bodies])
    starts = np.cumsum([0, *(len(p) for p, _ in bodies)])
    return x, np.concatenate([t + s for (_, t), s in zip(bodies, starts, strict=False)])


def bound(x, faces=None, edges=None, rest=None, **options):
    """The prepared part after it has seen x."""
    part = Repulsion(faces, edges, thickness=THICK, stiffness=K, **options)
    system = System(np.ones(len(x)), [part], rest=rest)
    return system.bind(x)[0].assembly.parts[0][1]


def crumpled(seed=0, n=6):
    """Two rough sheets within the thickness, one turned against the other, and between them a
    fiber that runs over vertices of the lower one and ends beside its corner and another fiber."""
    rng = np.random.default_rng(seed)
    low, triangles = sheet(n)
    c, s = np.cos(0.4), np.sin(0.4)
    high = low @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]]).T + [0.1, 0.2, 0.08]
    fiber = np.linspace([-1.5, -1.47, 0.04], [2.57, 2.57, 0.04], 8)
    other = [[2.64, 2.64, 0.04], [3.5, 3.6, 0.04]]
    x = np.concatenate([low, high, fiber, other])
    x += 0.005 * rng.standard_normal((2 * n * n + 10, 3))
    faces = np.concatenate([triangles, triangles + n * n])
    edges = 2 * n * n + np.array([*zip(range(7), range(1, 8), strict=True), (8, 9)])
    return x, faces, edges


def gradient(part, x):
    out = np.zeros_like(x)
    part.add_gradient(x, out)
    return out


def mean_gradient(part, x0, x1):
    out = np.zeros_like(x0)
    part.add_mean_gradient(x0, x1, out)
    return out


def matrix(triplets, count):
    dense = np.zeros((count, 3, count, 3))
    rows, columns, blocks = triplets
    np.add.at(dense, (rows, slice(None), columns), blocks)
    return dense.reshape(3 * count, 3 * count)


def random_pairs(seed, count=60):
    """Of all kinds, many within reach, some edges nearly parallel; particles of their own each."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 3, count).astype(np.uint8)
    x = 0.06 * rng.standard_normal((4 * count, 3)) + 3.0
    stencil = np.arange(4 * count, dtype=np.uint32).reshape(count, 4)
    flat = (kinds == cpu.EDGE_EDGE) & (rng.random(count) < 0.5)
    along = x[stencil[flat, 1]] - x[stencil[flat, 0]] + 1e-3 * rng.standard_normal((flat.sum(), 3))
    x[stencil[flat, 3]] = x[stencil[flat, 2]] + along
    stencil[kinds == cpu.VERTEX_EDGE, 3] = stencil[kinds == cpu.VERTEX_EDGE, 1]
    soft = np.where(kinds == cpu.EDGE_EDGE, 1e-3 * 0.1**4, 0.0)
    return x, (kinds, stencil, rng.uniform(0.05, 0.15, count), soft)


# ---------------------------------------------------------------------- kernels


@pytest.mark.parametrize("seed", thinned(range(4)))
def test_compiled_and_plain_agree(seed):
    x, terms = random_pairs(seed)
    y = x + 0.01 * np.random.default_rng(seed).standard_normal(x.shape)
    z = x + 0.1 * np.random.default_rng(seed + 9).standard_normal(x.shape)
    kinds, stencil, m = terms[0], terms[1], len(terms[0])
    found = []
    for room in (cpu, reference):
        d, g, mean = np.empty(m), np.zeros_like(x), np.zeros_like(x)
        H, slope = np.empty((2, m, 4, 4, 3, 3))
        w, n, f = np.empty((m, 4)), np.empty((m, 3)), np.empty(m)
        room.pair_distances(x, kinds, stencil, d)
        room.barrier_gradient(x, *terms, K, g)
        room.barrier_mean_gradient(x, y, *terms, K, mean)
        room.barrier_blocks(x, *terms, K, H)
        room.barrier_mean_blocks(x, y, *terms, K, slope)
        room.barrier_contacts(x, *terms, K, w, n, f)
        E = np.array(room.barrier_energy(x, *terms, K))
        shares = [room.clear_share(x[i], (z - x)[i], kinds[k : k + 1], np.arange(4)[None])
                  for k, i in enumerate(stencil)]  # fmt: skip
        clear = [room.stays_clear(x, z, kinds[k : k + 1], stencil[k : k + 1]) for k in range(m)]
        found.append((d, E, g, mean, H, slope, w, n, f, np.array(shares), np.array(clear)))
    assert found[0][10].any() and not found[0][10].all()
    for one, two in zip(*found, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-6 * np.abs(two).max())


def test_near_pairs_as_the_plain_version():
    rng = np.random.default_rng(5)
    x, (kinds, stencil, _, _) = random_pairs(5)
    move, rest = 0.02 * rng.standard_normal((2, *x.shape))
    rest += x
    piece, both = rng.integers(0, 2, len(x)), []
    for room in (cpu, reference):
        reach, soft = np.empty((2, len(kinds)))
        near = room.near_pairs(x, move, rest, piece, kinds, stencil, 0.05, 0.01, 1e-3, reach, soft)
        both.append((near, reach, soft))
    assert both[0][0].any() and not both[0][0].all()
    for one, two in zip(*both, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-12)


def test_friction_as_the_plain_version():
    x, terms = random_pairs(6)
    rng, m = np.random.default_rng(6), len(terms[0])
    weights, normals, forces = np.empty((m, 4)), np.empty((m, 3)), np.empty(m)
    cpu.barrier_contacts(x, *terms, K, weights, normals, forces)
    v, light = rng.standard_normal(x.shape), rng.uniform(0.0, 2.0, len(x))
    both = []
    for room in (cpu, reference):
        slowed = v.copy()
        room.pair_friction(slowed, light, terms[1], weights, normals, 0.1 * forces)
        both.append(slowed)
    assert not np.array_equal(both[0], v)
    np.testing.assert_allclose(*both, atol=1e-12)


# ---------------------------------------------------------------------- derivatives


def test_forces_are_derivatives_of_the_energy():
    x, faces, edges = crumpled()
    part = bound(x, faces, edges)
    assert part.diagnostics(x, x)["contacts"] > 100
    rng = np.random.default_rng(0)
    force, e = gradient(part, x), 1e-7
    assert np.count_nonzero(force) > 100
    for i in rng.permutation(len(x))[:20]:
        for a in range(3):
            step = np.zeros_like(x)
            step[i, a] = e
            slope = (part.energy(x + step) - part.energy(x - step)) / (2 * e)
            assert force[i, a] == pytest.approx(slope, abs=1e-5 * np.abs(force).max())


def test_products_and_entries_are_the_second_derivative():
    x, faces, edges = crumpled(1)
    part = bound(x, faces, edges)
    b, out = np.random.default_rng(1).standard_normal(x.shape), np.zeros_like(x)
    part.add_product(x, b, out)
    e = 1e-7
    slope = (gradient(part, x + e * b) - gradient(part, x - e * b)) / (2 * e)
    np.testing.assert_allclose(out, slope, atol=1e-5 * np.abs(slope).max())
    H = matrix(part.triplets(x), len(x))
    np.testing.assert_allclose(H @ b.ravel(), out.ravel(), atol=1e-10 * np.abs(out).max())
    np.testing.assert_allclose(H, H.T, atol=1e-12 * np.abs(H).max())


@drawn(25)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 1e-9, 1e-4, 2e-3, 0.02]))
def test_the_mean_force_gives_the_energy_and_keeps_momenta(seed, size):
    x0, faces, edges = crumpled(2)
    part = bound(x0, faces, edges)
    x1 = x0 + size * np.random.default_rng(seed).standard_normal(x0.shape)
    g, back = mean_gradient(part, x0, x1), mean_gradient(part, x1, x0)
    e0, e1, scale = part.energy(x0), part.energy(x1), np.abs(g).sum()
    assert np.vdot(g, x1 - x0) == pytest.approx(e1 - e0, abs=1e-12 * (e0 + e1))
    np.testing.assert_allclose(g, back, atol=1e-12 * scale)
    np.testing.assert_allclose(g.sum(axis=0), 0.0, atol=1e-13 * scale)
    torque = np.cross(0.5 * (x0 + x1), g).sum(axis=0)
    np.testing.assert_allclose(torque, 0.0, atol=1e-12 * scale)
    if size == 0.0:
        np.testing.assert_allclose(g, gradient(part, x0), atol=1e-12 * scale)


def test_entries_of_the_mean_force_are_its_derivative():
    x0, faces, edges = crumpled(3)
    part = bound(x0, faces, edges)
    rng = np.random.default_rng(3)
    x1, b, e = x0 + 0.005 * rng.standard_normal(x0.shape), rng.standard_normal(x0.shape), 1e-7
    J = matrix(part.mean_triplets(x0, x1), len(x0))
    slope = (mean_gradient(part, x0, x1 + e * b) - mean_gradient(part, x0, x1 - e * b)) / (2 * e)
    np.testing.assert_allclose(J @ b.ravel(), slope.ravel(), atol=1e-4 * np.abs(slope).max())


@drawn(20)
@given(st.integers(0, 10**6))
def test_what_was_seen_before_changes_nothing(seed):
    """Energy and force at x are those of a part that has seen nothing else."""
    x, faces, edges = crumpled(4)
    used, rng = bound(x, faces, edges, rest=x), np.random.default_rng(seed)
    for size in rng.choice([1e-3, 0.02, 0.3, 5.0], 6):
        y = x + size * rng.standard_normal(x.shape)
        new = bound(x, faces, edges, rest=x)
        assert used.energy(y) == pytest.approx(new.energy(y), rel=1e-12)
        force = gradient(new, y)
        np.testing.assert_allclose(gradient(used, y), force, atol=1e-12 * np.abs(force).max())


def test_nor_does_a_way_on_which_all_flew_together():
    """Two sheets rise by a metre; the upper one lags behind until the lower one meets it: each is
    where it was expected, but not at the same time."""
    flat, triangles = sheet(4)
    up = np.array([0.0, 0.0, 1.0])
    x = np.concatenate([flat, flat + 0.8 * up])
    faces = np.concatenate([triangles, triangles + len(flat)])
    used = bound(x, faces, rest=x)
    used.near(x, x + up)
    met = np.concatenate([flat + (0.8 - 0.5 * THICK) * up, flat + 0.8 * up])
    new = bound(x, faces, rest=x)
    assert new.energy(x) == 0.0
    assert used.energy(met) == pytest.approx(new.energy(met), rel=1e-12)
    assert new.energy(met) > 0.0


def test_the_laplacian_is_not_below_the_tangent():
    """Along the normals of contacts, where it is stiff; L (x) 1 - sum b'' n n^T >= 0."""
    x, faces, edges = crumpled(5)
    part = bound(x, faces, edges)
    layout = part.layout(x, x, None, True)
    assert part.layout(x, x, layout, False) is layout
    rows, columns, values = part.laplacian(layout)
    L = np.zeros((len(x), len(x)))
    np.add.at(L, (rows, columns), values)
    L = np.kron(L, np.eye(3))
    H = matrix(part.triplets(x), len(x))
    rng = np.random.default_rng(5)
    for b in [*rng.standard_normal((20, H.shape[0])), *np.linalg.eigh(H)[1].T[-20:]]:
        assert b @ H @ b <= b @ L @ b * (1 + 1e-6)


# ---------------------------------------------------------------------- who meets whom


@drawn(60)
@given(st.integers(-190, 190), st.integers(-190, 190), st.floats(0.01, 0.09))
def test_a_vertex_over_a_flat_sheet_is_pushed_up(a, b, height):
    """By every triangle and edge in reach: harder over a vertex than over a face, never less."""
    flat, faces = sheet(5)
    x = np.concatenate([flat, [[a / 100, b / 100, height], [a / 100, b / 100, 3.0]]])
    force = -gradient(bound(x, faces, [[25, 26]]), x)[25, 2]
    one = K * (THICK - height) ** 3 * (THICK + height) / height**3
    assert one * (1 - 1e-9) <= force <= 14 * one  # 6 triangles, 6 edges, the fiber's own


def test_the_force_of_one_pair_is_the_formula():
    x = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0.2, 0.2, 0.05], [0.2, 0.2, 3.0]])
    part = bound(x, [[0, 1, 2]], [[3, 4]])
    force = 1.5 * K * THICK  # -b'(t/2), as the docstring says
    np.testing.assert_allclose(gradient(part, x)[3], [0, 0, -force], atol=1e-12 * force)
    assert part.energy(x) == pytest.approx(K / 2 * 0.05**2)


def test_neighbours_reach_half_as_far_as_they_are_apart_at_rest():
    """A flat sheet does not push itself apart, however thick; squeezed to below half, it does."""
    flat, faces = sheet(4, spacing=0.08)  # sides shorter than the thickness
    part = bound(flat, faces, rest=flat)
    assert part.energy(flat) == 0.0 and part.energy(0.6 * flat) == 0.0
    assert part.energy(0.4 * flat) > 0.0


def test_two_bodies_may_lie_together_at_rest():
    x, faces = joined(sheet(2), sheet(2, shift=(0.1, 0.1, 0.05)))
    assert bound(x, faces, rest=x).energy(x) > 0.0


def test_fixed_pairs_do_not_count():
    x, faces = joined(sheet(2), sheet(2, shift=(0.1, 0.1, 0.05)))
    part = Repulsion(faces, thickness=THICK, stiffness=K)
    system, s = System(np.ones(8), [part], fixed=range(7)).bind(x)
    contact, rows = system.assembly.parts[0][1], system.row_positions(s)
    assert contact.energy(rows) > 0.0
    assert np.all((contact.near(rows).stencil == 0).any(axis=1))  # the one that is free


# ---------------------------------------------------------------------- ways that are clear


@drawn(300)
@given(st.integers(0, 10**9))
def test_no_crossing_is_called_clear(seed):
    """Against the IPC Toolkit's own continuous check, which is conservative to 1e-6."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3)
    x0 = rng.uniform(-1.0, 1.0, (4, 3))
    x1 = x0 + rng.choice([0.1, 0.5, 2.0]) * rng.standard_normal((4, 3))
    kinds, stencil = np.array([kind], dtype=np.uint8), np.arange(4, dtype=np.uint32)[None]
    ccd, count = ipctk.TightInclusionCCD(conservative_rescaling=1.0), 3 if kind == 1 else 4
    ends = (*x0[:count], *x1[:count])
    check = (ccd.point_triangle_ccd, ccd.point_edge_ccd, ccd.edge_edge_ccd)[kind]
    hits, toi = check(*ends)
    if hits:
        assert not cpu.stays_clear(x0, x1, kinds, stencil)
        assert cpu.clear_share(x0, x1 - x0, kinds, stencil) <= toi + 1e-6


@drawn(100)
@given(st.integers(0, 10**9))
def test_a_clear_share_leaves_a_tenth(seed):
    rng = np.random.default_rng(seed)
    x0, move = rng.uniform(-1.0, 1.0, (2, 4, 3))
    kinds, stencil = np.array([rng.integers(0, 3)], dtype=np.uint8), np.arange(4)[None]
    share, d = cpu.clear_share(x0, move, kinds, stencil), np.empty(1)
    cpu.pair_distances(x0, kinds, stencil, d)
    for s in np.linspace(0.0, share, 50):
        now = np.empty(1)
        cpu.pair_distances(x0 + s * move, kinds, stencil, now)
        assert now[0] >= 0.1 * d[0] * (1 - 1e-12)


# ---------------------------------------------------------------------- the start


def test_overlap_at_the_start_is_named():
    x, faces = joined(sheet(3), sheet(3, shift=(0.1, 0.1, 0.0)))
    x[9:] = x[9:] @ np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0.0]])  # upright, through the other
    with pytest.raises(InputError, match=r"overlap at the start: the edge \(\d+, \d+\) reaches"):
        bound(x, faces)


def test_touching_without_a_gap_is_named():
    x, faces = joined(sheet(2), sheet(2, shift=(1.0, 1.0, 0.0)))
    with pytest.raises(InputError, match="touch without a gap at the start"):
        bound(x, faces)
