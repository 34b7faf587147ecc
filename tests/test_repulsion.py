"""Bodies that touch each other and themselves: forces, sides, friction, and runs that add up."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from stiffly import meshes, simulate
from stiffly.bodies import Gravity, Keyframes, MomentumDamping, Springs, System
from stiffly.collisions import Repulsion
from stiffly.collisions.broad_phase import BroadPhase
from stiffly.collisions.narrow_phase import NONE, Contacts, Sides, near
from stiffly.errors import InputError
from stiffly.kernels import cpu, reference

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
    high = low @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]]).T + [0.1, 0.2, 0.06]
    fiber = np.linspace([-1.5, -1.47, 0.03], [2.57, 2.57, 0.03], 8)
    other = [[2.64, 2.64, 0.03], [3.5, 3.6, 0.03]]
    x = np.concatenate([low, high, fiber, other]) + 0.02 * rng.standard_normal((2 * n * n + 10, 3))
    faces = np.concatenate([triangles, triangles + n * n])
    edges = 2 * n * n + np.array([*zip(range(7), range(1, 8), strict=True), (8, 9)])
    return x, faces, edges


def gradient(part, x):
    out = np.zeros_like(x)
    part.add_gradient(x, out)
    return out


def matrix(triplets, count):
    dense = np.zeros((count, 3, count, 3))
    rows, columns, blocks = triplets
    np.add.at(dense, (rows, slice(None), columns), blocks)
    return dense.reshape(3 * count, 3 * count)


# ---------------------------------------------------------------------- the frozen potential


def test_forces_are_derivatives_of_the_frozen_energy():
    x, faces, edges = crumpled()
    part = bound(x, faces, edges)
    assert len(part.contacts) > 100
    rng = np.random.default_rng(0)
    x = x + 1e-3 * rng.standard_normal(x.shape)
    force, e = gradient(part, x), 1e-6
    for i in rng.permutation(len(x))[:20]:
        for a in range(3):
            step = np.zeros_like(x)
            step[i, a] = e
            slope = (part.energy(x + step) - part.energy(x - step)) / (2 * e)
            assert force[i, a] == pytest.approx(slope, abs=1e-7)


def test_products_and_entries_are_the_second_derivative():
    x, faces, edges = crumpled(1)
    part = bound(x, faces, edges)
    rng = np.random.default_rng(1)
    b, out = rng.standard_normal(x.shape), np.zeros_like(x)
    part.add_product(x, b, out)
    e = 1e-7
    slope = (gradient(part, x + e * b) - gradient(part, x - e * b)) / (2 * e)
    np.testing.assert_allclose(out, slope, atol=1e-5)
    H = matrix(part.triplets(x), len(x))
    np.testing.assert_allclose(H @ b.ravel(), out.ravel(), atol=1e-10)
    np.testing.assert_allclose(H, H.T, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 1e-9, 1e-3, 0.05]))
def test_the_mean_force_gives_the_energy_exactly(seed, size):
    x0, faces, edges = crumpled(2)
    part = bound(x0, faces, edges)
    x1 = x0 + size * np.random.default_rng(seed).standard_normal(x0.shape)
    g, back = np.zeros_like(x0), np.zeros_like(x0)
    part.add_mean_gradient(x0, x1, g)
    part.add_mean_gradient(x1, x0, back)
    gained = part.energy(x1) - part.energy(x0)
    assert np.vdot(g, x1 - x0) == pytest.approx(gained, abs=1e-13 * part.energy(x0))
    np.testing.assert_allclose(g, back, atol=1e-13)
    if size == 0.0:
        np.testing.assert_allclose(g, gradient(part, x0), atol=1e-13)


def test_entries_of_the_mean_force_are_its_derivative():
    x, faces, edges = crumpled(3)
    part = bound(x, faces, edges)
    rng = np.random.default_rng(3)
    x0, x1 = x + 0.05 * rng.standard_normal((2, *x.shape))
    s0, s1 = (part.contacts.gaps(x) < THICK for x in (x0, x1))
    assert (s0 & ~s1).any() and (~s0 & s1).any()  # some contacts open, some close
    b, e = rng.standard_normal(x0.shape), 1e-7
    above, below = np.zeros_like(x0), np.zeros_like(x0)
    part.add_mean_gradient(x0, x1 + e * b, above)
    part.add_mean_gradient(x0, x1 - e * b, below)
    H = matrix(part.mean_triplets(x0, x1), len(x0))
    np.testing.assert_allclose(H @ b.ravel(), ((above - below) / (2 * e)).ravel(), atol=1e-5)


def test_momentum_is_kept():
    """No net force, and no net torque where the contacts were found."""
    x, faces, edges = crumpled(4)
    part = bound(x, faces, edges)
    force = gradient(part, x)
    assert np.abs(force).max() > 0.1
    np.testing.assert_allclose(force.sum(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(np.cross(x, force).sum(axis=0), 0.0, atol=1e-10)
    g = np.zeros_like(x)
    part.add_mean_gradient(x, 1.01 * x, g)
    np.testing.assert_allclose(g.sum(axis=0), 0.0, atol=1e-12)


def test_the_laplacian_is_not_below_the_tangent():
    x, faces, edges = crumpled(5)
    part = bound(x, faces, edges)
    L = np.zeros((len(x), len(x)))
    rows, columns, values = part.laplacian()
    np.add.at(L, (rows, columns), values)
    np.testing.assert_allclose(L, L.T)
    np.testing.assert_allclose(L.sum(axis=0), 0.0, atol=1e-10)  # nothing holds what flies
    every = part.contacts.gaps(x) * 0.0 + K * part.contacts.shares
    H = np.zeros((len(x), 3, len(x), 3))
    for i, w, n, k in zip(*_fields(part.contacts), every, strict=True):
        block = k * np.einsum("a,b,c,d->abcd", w, n, w, n)
        np.add.at(H, (i[:, None, None, None], np.arange(3)[:, None, None],
                      i[:, None], np.arange(3)), block)  # fmt: skip
    H = H.reshape(3 * len(x), -1)
    least = np.linalg.eigvalsh(np.kron(L, np.eye(3)) - H)[0]
    assert least > -1e-9 * np.abs(H).max()


def _fields(contacts):
    return contacts.stencil.astype(int), contacts.weights, contacts.normals


def test_the_laplacian_changes_only_when_contacts_are_not_covered():
    x, faces, edges = crumpled(6)
    part = bound(x, faces, edges)
    version = part.laplacian_version
    assert version == 1 == part.laplacian_version
    part.settle(0.0, 1e-3, x, np.zeros_like(x))  # fewer contacts: those of twice the thickness go
    assert part.laplacian_version == version
    moved = x.copy()
    moved[36:72, 0] += 0.7
    part.settle(0.0, 1e-3, moved, np.zeros_like(x))
    assert part.laplacian_version == version + 1
    moved[36:72, 2] += 5.0
    part.settle(0.0, 1e-3, moved, np.zeros_like(x))
    part.settle(0.0, 1e-3, moved + np.ones(3), np.zeros_like(x))
    assert part.laplacian_version == version + 2
    assert part.fresh().laplacian_version == 0


# ---------------------------------------------------------------------- which pairs count


@settings(max_examples=60, deadline=None)
@given(st.integers(-190, 190), st.integers(-190, 190), st.booleans())
def test_a_vertex_over_a_flat_sheet_meets_it_once(a, b, on_grid):
    """Over a triangle, an edge or a vertex: the same energy, straight up."""
    a, b = (np.round(2 * a / 100) / 2, np.round(b / 100)) if on_grid else (a / 100, b / 100)
    assume(abs(a) < 2 and abs(b) < 2)
    flat, faces = sheet(5)
    x = np.concatenate([flat, [[a, b, 0.04], [a, b, 3.0]]])
    part = bound(x, faces, [[25, 26]])
    assert part.energy(x) == pytest.approx(0.5 * K * (THICK - 0.04) ** 2)
    np.testing.assert_allclose(gradient(part, x)[25], [0, 0, -K * (THICK - 0.04)], atol=1e-8)


def test_beyond_the_border_of_a_sheet_the_distance_is_to_the_border():
    flat, faces = sheet(3)
    for p, q in (((1.03, 0.2, 0.04), (1, 0.2, 0)), ((1.03, 1.04, 0.0), (1, 1, 0))):
        x = np.concatenate([flat, [p, np.add(p, [1, 1, 3])]])
        part = bound(x, faces, [[9, 10]])
        assert part.energy(x) == pytest.approx(0.5 * K * (THICK - 0.05) ** 2)
        pull = gradient(part, x)[9]
        np.testing.assert_allclose(pull / np.linalg.norm(pull), np.subtract(q, p) / 0.05)


def test_sheets_push_each_other_straight_apart():
    """Two flat sheets, their meshes turned and shifted: no force along them."""
    c, s = np.cos(0.3), np.sin(0.3)
    low, faces = sheet(7)
    high = low @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]]).T + [0.21, 0.13, 0.06]
    x, triangles = joined((low, faces), (0.5 * high + [0, 0, 0.03], faces))
    found, kinds = near(BroadPhase(x, (), triangles), x, np.zeros_like(x), THICK)
    inside = kinds <= 2  # at the border of the small sheet normals may lean
    assert inside.sum() > 100 and found.shares[inside].min() > 0.0
    np.testing.assert_allclose(
        np.abs(found.normals[inside]), [[0, 0, 1.0]] * inside.sum(), atol=1e-9
    )
    np.testing.assert_allclose(found.gaps(x)[inside], 0.06)


def test_crossing_fibers_meet_and_parallel_ones_too():
    x = np.array([[-1.0, 0, 0], [1, 0, 0], [0, -1, 0.06], [0, 1, 0.06]])
    part = bound(x, edges=[[0, 1], [2, 3]])
    assert part.energy(x) == pytest.approx(0.5 * K * 0.04**2)
    x = np.array([[-1.0, 0, 0], [1, 0, 0], [-0.7, 0, 0.06], [0.8, 0, 0.06]])
    part = bound(x, edges=[[0, 1], [2, 3]])
    assert gradient(part, x)[:2, 2].sum() > K * 0.04
    assert part.diagnostics(x, x) == {"penetration": 0.0, "contacts": 3.0}


def test_what_lies_together_at_rest_never_touches():
    """Mesh width below the thickness; folded over, the far parts of it do touch."""
    flat, faces = sheet(9, spacing=0.06)
    part = bound(flat, faces, rest=flat)
    assert part.energy(flat) == 0.0 and len(part.contacts) == 0
    folded = flat.copy()
    turned = flat[:, 0] > 0.0
    folded[turned, 0] *= -1.0
    folded[turned, 2] = 0.05
    part = bound(folded, faces, rest=flat)
    assert part.energy(folded) > 0.0
    i, j = part.contacts.stencil[:, 0], part.contacts.stencil[:, 3]
    assert np.linalg.norm(flat[i] - flat[j], axis=1).min() > 0.5 * THICK


def test_a_fiber_may_be_bent_more_tightly_than_it_is_thick():
    """Segments shorter than the thickness, folded to a zigzag; the same points, given as rest shape
    of longer segments, repel each other."""
    s = np.arange(4)
    zigzag = np.stack([0.02 * s, 0 * s, 0.035 * (s % 2)], axis=1)
    edges = np.stack([s[:-1], s[1:]], axis=1)
    straight = np.stack([1.0 * s, 0 * s, 0 * s], axis=1)
    assert bound(zigzag, edges=edges, rest=0.04 * straight).energy(zigzag) == 0.0
    assert bound(zigzag, edges=edges, rest=0.2 * straight).energy(zigzag) > 0.0


def test_two_bodies_may_lie_together_at_rest():
    x, faces = joined(sheet(3), sheet(3, shift=(0.2, 0.3, 0.05)))
    assert bound(x, faces, rest=x).energy(x) > 0.0


def test_fixed_pairs_do_not_count():
    x, faces = joined(sheet(3), sheet(3, shift=(0.2, 0.3, 0.05)))
    part = Repulsion(faces, thickness=THICK, stiffness=K)
    spare = np.concatenate([x, [[9.0, 9, 9]]])
    system = System(np.ones(len(spare)), [part], fixed=range(len(x)))
    prepared = system.bind(spare)[0].assembly.parts[0][1]
    assert len(prepared.contacts) == 0


def kinds_of(x, move, broad):
    """Kinds of near triangles, strands and edges, the kernels equal to their plain versions."""
    found, parts = broad.candidates(x, 0.1, move), broad.elements
    lines, ring = parts.edges.corners, (parts.ring_start, parts.ring)
    opposite = (parts.opposite_start, parts.opposite)
    kinds = []
    for name, pairs, topology in (
        ("near_triangles", found.vertex_face, (parts.faces.corners, parts.sides, *opposite, *ring)),
        ("near_strands", found.vertex_edge, (lines, *ring)),
        ("near_edges", found.edge_edge, (lines, *opposite)),
    ):
        both = [getattr(room, name)(x, move, 0.15, pairs, topology) for room in (cpu, reference)]
        for one, two in zip(*both, strict=True):
            np.testing.assert_allclose(one, two, atol=1e-12)
        kinds.append(set(both[0][-1].tolist()))
    return kinds


def test_near_pairs_as_the_plain_versions():
    """On scenes with every kind of contact: smooth, with ridges, and with tips."""
    seen = [set(), set(), set()]
    for seed, rough in ((0, 0.0), (1, 0.02), (2, 0.1), (3, 0.2)):
        x, faces, edges = crumpled(seed)
        broad = BroadPhase(x, edges, faces)
        rng = np.random.default_rng(seed)
        x = x + rough * rng.standard_normal(x.shape)
        for kinds, more in zip(seen, kinds_of(x, 0.03 * rng.standard_normal(x.shape), broad),
                               strict=True):  # fmt: skip
            kinds |= more
    assert seen == [{1, 2, 3, 4}, {2, 4}, {1}]


def test_gaps_forces_and_friction_as_the_plain_versions():
    x, faces, edges = crumpled(8)
    c, _ = near(BroadPhase(x, edges, faces), x, np.zeros_like(x), THICK)
    rng = np.random.default_rng(8)
    v, m = rng.standard_normal(x.shape), rng.uniform(0.0, 2.0, len(x))
    factors, most = rng.standard_normal(len(c)), rng.uniform(-0.1, 0.5, len(c))
    results = []
    for room in (cpu, reference):
        gaps, squares, out, slowed = *np.empty((2, len(c))), np.zeros_like(x), v.copy()
        room.pair_squares(x, c.stencil, c.weights, squares)
        room.pair_gaps(x, c.stencil, c.weights, c.normals, gaps)
        room.pair_scatter(c.stencil, c.weights, c.normals, factors, out)
        room.pair_friction(slowed, m, c.stencil, c.weights, c.normals, most)
        results.append((gaps, squares, out, slowed))
    for one, two in zip(*results, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-12)


# ---------------------------------------------------------------------- sides


def test_what_went_through_is_pushed_back():
    """A vertex crosses a sheet in one step: its contact keeps the side it came from."""
    flat, faces = sheet(5)
    x = np.concatenate([flat, [[0.3, 0.2, 0.05], [0.4, 0.4, 3.0]]])
    part = bound(x, faces, [[25, 26]])
    through = x.copy()
    through[25] = [1.1, 0.6, -0.03]  # over another triangle, too
    part.settle(0.0, 1e-3, through, np.zeros_like(x))
    assert gradient(part, through)[25, 2] == pytest.approx(-K * (THICK + 0.03))
    assert part.diagnostics(through, x)["penetration"] == pytest.approx(0.03)
    part.settle(0.0, 1e-3, through, np.zeros_like(x))
    assert gradient(part, through)[25, 2] == pytest.approx(-K * (THICK + 0.03))


def test_round_the_border_is_no_crossing():
    """A vertex walks round the border of a sheet and is pushed away from whatever side it is on."""
    flat, faces = sheet(3)
    part = None
    for angle in np.linspace(0.0, np.pi, 12):
        p = [1.0 + 0.05 * np.sin(angle), 0.2, 0.05 * np.cos(angle)]
        x = np.concatenate([flat, [p, np.add(p, [4.0, 0, 0])]])
        if part is None:
            part = bound(x, faces, [[9, 10]])
        part.settle(0.0, 1e-3, x, np.zeros_like(x))
        push = -gradient(part, x)[9]
        np.testing.assert_allclose(push, K * 0.05 * np.subtract(p, [1, 0.2, 0]) / 0.05, atol=1e-8)


def test_no_memory_no_turn():
    x, faces, edges = crumpled(9)
    found, kinds = near(BroadPhase(x, edges, faces), x, np.zeros_like(x), THICK)
    assert Sides(NONE, len(x)).turn(found, kinds) is found
    turned = Contacts(found.stencil, found.weights, -found.normals, found.shares)
    again = Sides(turned, len(x)).turn(found, kinds)
    inner = kinds <= 2
    assert inner.any() and not inner.all()
    wrong = np.einsum("ka,ka->k", again.normals, found.normals) < 0.0
    assert np.all(wrong[kinds == 1]) and not wrong[~inner].any()


# ---------------------------------------------------------------------- runs


def falling(h=2e-3, friction=0.0, stiffness=200.0):
    """A small cloth falls on a larger one that is held at its corners."""
    big, small = meshes.cloth(9, 9, spacing=0.02), meshes.cloth(6, 6, spacing=0.02)
    low = big.positions - big.positions.mean(axis=0)
    high = small.positions - small.positions.mean(axis=0) + [0.007, 0.004, 0.02]
    x, faces = joined((low, big.triangles), (high, small.triangles))
    edges = np.concatenate([big.edges, small.edges + len(low)])
    touch = Repulsion(faces, thickness=0.005, stiffness=stiffness, friction=friction)
    corners = big.vertex_sets["corners"]
    system = System(2e-4, [Springs(edges, 100.0), Gravity(), touch], fixed=corners, rest=x)
    return system, x, len(low), low, big.triangles


def heights_above(low, faces, points):
    """Height of points over a sheet that is a graph over the plane; nan beside it."""
    out = np.full(len(points), np.nan)
    for t in faces:
        a, b, c = low[t]
        M = np.stack([b - a, c - a], axis=1)[:2]
        uv = np.linalg.solve(M, (points - a)[:, :2].T).T
        inside = (uv >= 0).all(axis=1) & (uv.sum(axis=1) <= 1)
        plane = a[2] + uv @ np.array([b[2] - a[2], c[2] - a[2]])
        out[inside] = points[inside, 2] - plane[inside]
    return out


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_cloth_on_cloth_does_not_pass_and_every_joule_is_found(friction):
    system, x, count, _, faces = falling(friction=friction)
    run = simulate(system, x, integrator="energy-momentum", step=2e-3, duration=0.3)
    assert run.diagnostics["contacts"].max() > 50
    assert run.diagnostics["penetration"].max() == 0.0
    for now in run.positions[::5]:
        over = heights_above(now[:count], faces, now[count:])
        assert np.isfinite(over).sum() > 20 and np.nanmin(over) > 0.0
    assert np.abs(run.energy.numerical).max() < 1e-9 * run.energy.exchanged
    if friction:
        assert run.energy.dissipated[-1] > 0.0
    else:
        assert run.energy.dissipated[-1] == 0.0


def test_what_renewal_adds_shrinks_with_the_step():
    """Contacts are frozen for one step: the energy that their renewal moves is of that order."""
    added = []
    for h in (2e-3, 2.5e-4):
        system, x, *_ = falling()
        run = simulate(system, x, integrator="energy-momentum", step=h, duration=0.1)
        assert run.diagnostics["contacts"].max() > 50
        added.append(np.abs(run.energy.added).max())
    assert added[1] < 0.3 * added[0]


def test_every_kind_of_integrator_takes_the_contact():
    """Small steps: verlet, implicit midpoint and an exponential method agree with each other."""
    ends = []
    for name in ("verlet", "midpoint", "exprb42"):
        system, x, *_ = falling(stiffness=20.0)
        run = simulate(system, x, integrator=name, step=2.5e-4, duration=0.08)
        assert run.energy.contact.max() > 0.0
        assert np.abs(run.energy.numerical).max() < 0.01 * run.energy.exchanged
        ends.append(run.positions[-1])
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-4)
    np.testing.assert_allclose(ends[2], ends[0], atol=1e-4)


@pytest.mark.parametrize(("name", "ways"), [("energy-momentum", 6.0), ("verlet", 0.2)])
def test_what_is_shot_at_a_sheet_does_not_pass(name, ways):
    """A vertex that moves by `ways` thicknesses in a step: implicit methods see walls in time."""
    plate, faces = sheet(5, spacing=0.02)
    h, m, thick = 1e-3, 1e-3, 0.005
    speed = ways * thick / h
    touch = Repulsion(faces, [[25, 26]], thickness=thick, stiffness=4 * m * speed**2 / thick**2)
    rng = np.random.default_rng(0)
    for _ in range(5):
        target = np.append(rng.uniform(-0.025, 0.025, 2), 0.0)
        way = np.append(rng.uniform(-0.5, 0.5, 2), -1.0)
        way /= np.linalg.norm(way)
        start = target - rng.uniform(3.0, 4.0) * max(ways, 1.0) * thick * way
        x = np.concatenate([plate, [start, start + np.array([0, 0, 50.0])]])
        v = np.zeros_like(x)
        v[25:] = speed * way
        system = System(m, [touch], fixed=range(25), rest=x)
        run = simulate(
            system, x, v, integrator=name, step=h, duration=10 * h * max(1.0, 1.0 / ways)
        )
        assert run.positions[:, 25, 2].min() > 0.0
        assert run.velocities[-1, 25, 2] > 0.0


@pytest.mark.parametrize("ways", [1.5, 4.0])
def test_the_first_step_looks_ahead(ways):
    """Two thicknesses away, through the sheet within the very first step, all of it flying."""
    plate, faces = sheet(5, spacing=0.02)
    h, m, thick = 1e-3, 1e-3, 0.005
    speed = ways * thick / h
    touch = Repulsion(faces, [[25, 26]], thickness=thick, stiffness=4 * m * speed**2 / thick**2)
    x = np.concatenate([plate, [[0.003, 0.002, 1.3 * thick], [0.003, 0.002, 50.0]]])
    v = np.zeros_like(x)
    v[25:, 2] = -speed
    system = System(m, [touch], fixed=range(25), rest=x)
    run = simulate(system, x, v, integrator="energy-momentum", step=h, duration=10 * h)
    assert run.positions[:, 25, 2].min() > 0.0 and run.velocities[-1, 25, 2] > 0.0


def test_looking_ahead_costs_nothing_where_all_fly_alike():
    x, faces, edges = crumpled(11)
    part = Repulsion(faces, edges, thickness=THICK, stiffness=K)
    fly, still, mass = np.full_like(x, 500.0), np.zeros_like(x), np.ones(len(x))
    one, two = (System(mass, [part]).bind(x, v)[0].assembly.parts[0][1] for v in (fly, still))
    assert len(one.contacts) == len(two.contacts) > 100


def test_it_says_when_its_forces_have_changed():
    x, faces, edges = crumpled(12)
    part = bound(x, faces, edges)
    assert not part.changed
    part.settle(0.0, 1e-3, x, np.zeros_like(x))
    assert part.changed and not part.fresh().changed
    far = x.copy()
    far[36:72, 2], far[72:80, 2], far[80:, 2] = 5.0, 10.0, 15.0
    part.settle(0.0, 1e-3, far, np.zeros_like(x))
    part.settle(0.0, 1e-3, far, np.zeros_like(x))
    assert part.energy(far) == 0.0 and not part.changed


def test_two_rods_bounce_like_billiard_balls():
    """Two crossed edges of equal mass exchange their velocities."""
    x = np.array([[-0.1, 0, 0], [0.1, 0, 0], [0, -0.1, 0.02], [0, 0.1, 0.02]])
    v = np.array([[0.0, 0, 0.5]] * 2 + [[0.0, 0, -0.1]] * 2)
    touch = Repulsion(edges=[[0, 1], [2, 3]], thickness=0.006, stiffness=500.0)
    system = System(1e-3, [Springs([[0, 1], [2, 3]], 100.0), touch], rest=x)
    run = simulate(system, x, v, integrator="energy-momentum", step=1e-3, duration=0.06)
    np.testing.assert_allclose(
        run.velocities[-1], [[0, 0, -0.1]] * 2 + [[0, 0, 0.5]] * 2, atol=1e-9
    )
    assert run.energy.contact.max() > 1e-5 and run.energy.contact[-1] == 0.0


def distance_of(one, two):
    """Smallest distance of two chains of segments, over all pairs of them."""
    stencil = np.array([(i, i + 1, 9 + j, 10 + j) for i in range(8) for j in range(8)])
    x, w = np.concatenate([one, two]), np.empty((64, 4))
    reference.edge_edge_weights(x, stencil, w)
    return np.linalg.norm(np.einsum("kc,kca->ka", w, x[stencil]), axis=1).min()


def test_two_ropes_catch_each_other_and_do_not_cross():
    """Limp ropes that fly crosswise wrap around each other: their distance never gets small."""
    s = np.linspace(-0.1, 0.1, 9)
    one = np.stack([s, 0 * s, 0 * s], axis=1)
    two = np.stack([0.003 + 0 * s, s + 0.004, 0 * s + 0.02], axis=1)
    x = np.concatenate([one, two])
    edges = np.concatenate([np.stack([np.arange(8), np.arange(1, 9)], axis=1) + k for k in (0, 9)])
    v = np.zeros_like(x)
    v[:9, 2], v[9:, 2] = 0.5, -0.5
    touch = Repulsion(edges=edges, thickness=0.006, stiffness=1000.0)
    system = System(1e-3, [Springs(edges, 200.0), touch], rest=x)
    run = simulate(system, x, v, integrator="energy-momentum", step=1e-3, duration=0.1)
    apart = [distance_of(now[:9], now[9:]) for now in run.positions]
    assert len(apart) == 101 and 0.001 < min(apart) < 0.006  # a step moves them by 1 mm
    assert run.diagnostics["penetration"].max() == 0.0
    momentum = run.velocities.sum(axis=1)
    np.testing.assert_allclose(momentum, 0.0, atol=1e-10)
    assert np.abs(run.energy.numerical).max() < 1e-9 * run.energy.kinetic.max()


def test_a_fiber_rests_on_a_mesh_that_is_lifted():
    """Obstacles are particles that are led; the fiber rides up with them."""
    plate, faces = sheet(4, spacing=0.05)
    s = np.linspace(-0.06, 0.06, 7)
    rod = np.stack([s, 0.01 + 0.3 * s, 0 * s + 0.006], axis=1)
    x = np.concatenate([plate, rod])
    edges = 16 + np.stack([np.arange(6), np.arange(1, 7)], axis=1)
    touch = Repulsion(faces, edges, thickness=0.006, stiffness=200.0, friction=0.2)
    lift = Keyframes(range(16), [0.0, 0.2], [[0, 0, 0], [0, 0, 0.05]])
    parts = [Springs(edges, 100.0), Gravity(), touch]
    system = System(1e-3, parts, rest=x, supports=[lift])
    run = simulate(system, x, integrator="energy-momentum", step=1e-3, duration=0.2)
    assert run.positions[-1][:16, 2].min() == pytest.approx(0.05)
    assert np.all(run.positions[-1][16:, 2] > 0.05)
    gained = run.energy.total[-1] - run.energy.total[0]
    assert gained > 0.9 * 7 * 1e-3 * 9.81 * 0.05
    assert np.abs(run.energy.numerical).max() < 0.02 * gained


def test_cloth_folds_onto_itself():
    """A strip falls over its own held half and comes to lie on it, not through it."""
    mesh = meshes.cloth(15, 4, spacing=0.01, bending=False)
    x = mesh.positions - mesh.positions.mean(axis=0)
    start, moving = x.copy(), x[:, 0] > 0.001
    angle = np.radians(150.0)
    start[moving, 0] = np.cos(angle) * x[moving, 0]
    start[moving, 2] = np.sin(angle) * x[moving, 0]
    touch = Repulsion(mesh.triangles, thickness=0.004, stiffness=50.0, friction=0.3)
    parts = [Springs(mesh.edges, 50.0), Gravity(), touch, MomentumDamping(20.0)]
    system = System(1e-4, parts, fixed=~moving, rest=x)
    run = simulate(system, start, integrator="energy-momentum", step=2e-3, duration=0.3)
    free = run.positions[:, moving]
    assert run.diagnostics["contacts"][-1] > 10
    assert free[:, :, 2].min() > 0.0
    assert free[-1, -4:, 2].max() < 0.006 and free[-1, -4:, 0].max() < -0.03  # its end
    assert np.abs(run.energy.numerical).max() < 1e-9 * run.energy.exchanged


def test_friction_slows_by_mu_g():
    """A small triangle slides on a held plate: it loses friction times g every second."""
    plate, faces = sheet(6, spacing=0.1)
    slider = np.array([[-0.15, 0.01, 0.00991], [-0.13, 0.03, 0.00991], [-0.16, 0.04, 0.00991]])
    x, triangles = joined((plate, faces), (slider, np.array([[0, 1, 2]])))
    v = np.zeros_like(x)
    v[36:, 0] = 1.0
    touch = Repulsion(triangles, thickness=0.01, stiffness=100.0, friction=0.4)
    parts = [Gravity(), touch, Springs([[36, 37], [37, 38], [38, 36]], 1000.0)]
    system = System(1e-3, parts, fixed=range(36), rest=x)
    run = simulate(system, x, v, integrator="energy-momentum", step=1e-3, duration=0.15)
    speed = run.velocities[:, 36:, 0].mean(axis=1)
    assert np.all(np.diff(speed) <= 1e-12)
    assert speed[0] - speed[-1] == pytest.approx(0.4 * 9.81 * 0.15, rel=0.1)
    lost = 0.5 * 3e-3 * (1.0 - speed[-1] ** 2)
    assert run.energy.dissipated[-1] == pytest.approx(lost, rel=0.1)


def test_friction_stops_and_does_not_reverse():
    x, faces, edges = crumpled(10)
    part = bound(x, faces, edges, friction=1e6)
    v = np.random.default_rng(10).standard_normal(x.shape)
    before, momentum = np.vdot(v, v), v.sum(axis=0)
    part.settle(0.0, 1e-2, x, v)
    assert np.vdot(v, v) < before
    np.testing.assert_allclose(v.sum(axis=0), momentum, atol=1e-10)


def test_every_run_starts_afresh():
    system, x, *_ = falling()
    runs = [
        simulate(system, x, integrator="energy-momentum", step=2e-3, duration=0.06)
        for _ in range(2)
    ]
    np.testing.assert_array_equal(runs[0].positions, runs[1].positions)


# ---------------------------------------------------------------------- what collapses

RIGHT = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])  # a triangle
OVER = RIGHT + np.array([0.1, -0.1, 0.03])
COLLAPSED = {
    "collinear": [[0.0, 0, 0], [1, 0, 0], [0.5, 0, 0]],
    "folded back": [[0.0, 0, 0], [1, 0, 0], [0, 0, 0]],
    "a point": [[0.3, 0.3, 0]] * 3,
}


@pytest.mark.parametrize("name", ["verlet", "energy-momentum", "exprb42"])
@pytest.mark.parametrize("shape", COLLAPSED)
@pytest.mark.parametrize("whole_at_rest", [True, False])
def test_a_run_with_triangles_that_have_collapsed(name, shape, whole_at_rest):
    """The other triangle is pushed away, whatever is left of this one; momentum stays."""
    x = np.concatenate([COLLAPSED[shape], OVER])
    rest = np.concatenate([RIGHT, OVER + np.array([0, 0, 1.0])]) if whole_at_rest else x
    touch = Repulsion([[0, 1, 2], [3, 4, 5]], thickness=0.05, stiffness=1e3)
    run = simulate(System(1.0, [touch], rest=rest), x, integrator=name, step=1e-3, duration=0.02)
    assert run.velocities[-1, 3:, 2].sum() > 0.01
    np.testing.assert_allclose(run.velocities[-1].sum(axis=0), 0.0, atol=1e-10)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from([0.0, 0.0, 0.05, 1.0]), min_size=36, max_size=36))
def test_contacts_renewed_where_things_have_collapsed(numbers):
    """From a good rest shape to particles that lie upon and in line with each other, and back."""
    (rest, faces), high = sheet(3), np.array([0, 0, 3.0])
    rest, triangles = joined((rest, faces[:4]), (rest[:3] + high, np.array([[0, 1, 2]])))
    part = bound(rest, triangles, [[9, 5], [10, 2]], rest=rest, friction=0.5)
    x, v = np.array(numbers).reshape(12, 3), np.random.default_rng(0).standard_normal((12, 3))
    for now in (x, 0.0 * x, x, rest):
        kinetic = np.vdot(v, v)
        with np.errstate(divide="raise", invalid="raise"):
            part.settle(0.0, 1e-3, now, v)
        force = gradient(part, now)
        assert np.isfinite(force).all() and np.vdot(v, v) <= kinetic * (1 + 1e-12)
        np.testing.assert_allclose(force.sum(axis=0), 0.0, atol=1e-9)


@pytest.mark.parametrize("name", ["verlet", "energy-momentum"])
def test_a_fiber_without_length(name):
    x = np.array([[0.0, 0, 0], [0, 0, 0], [-0.2, 0, 0.01], [1, 0, 0.01]])
    pairs = [[0, 1], [2, 3]]
    touch = Repulsion(None, pairs, thickness=0.05, stiffness=1e3)
    system = System(np.ones(4), [Springs(pairs, 1e3, rest=[1.0, 1.0]), touch])
    run = simulate(system, x, integrator=name, step=1e-3, duration=0.01)
    up = run.velocities[-1, :, 2]
    assert up[2:].sum() > 0.1 and up.sum() == pytest.approx(0.0, abs=1e-9)


def test_a_cloth_that_folds_flat_in_mid_run():
    """Every particle is led onto one line, then into one point: all triangles collapse."""
    flat, faces = sheet(4, spacing=0.1)
    x, triangles = joined((flat, faces), sheet(4, 0.1, (0.02, 0.01, 0.04)))
    shrink = [Keyframes([i], [0.0, 0.02, 0.04], [[0, 0, 0], [0, -p[1], 0], [-p[0], -p[1], 0]])
              for i, p in enumerate(flat)]  # fmt: skip
    touch = Repulsion(triangles, thickness=0.03, stiffness=100.0, friction=0.3)
    parts = [Gravity(), touch, Springs(faces[:, :2] + 16, 100.0)]
    system = System(1e-3, parts, rest=x, supports=shrink)
    run = simulate(system, x, integrator="energy-momentum", step=2e-3, duration=0.1)
    half = run.positions[10, :16]
    assert np.abs(half[:, 1]).max() < 1e-12 and np.ptp(half[:, 0]) > 0.25  # a line
    assert np.abs(run.positions[-1, :16]).max() < 1e-12  # a point
    assert run.diagnostics["contacts"].max() > 10


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        (dict(), "nothing to collide"),
        (dict(faces=[[0, 1, 1]]), "names a particle twice"),
        (dict(faces=[[0, 1]]), "but (m, 3) is needed"),
        (dict(edges=[[0, -1]]), "negative"),
        (dict(edges=[[0, 1]], thickness=0.0), "thickness = 0: it must be greater than 0"),
        (dict(edges=[[0, 1]], thickness=np.nan), "thickness is nan"),
        (dict(edges=[[0, 1]], stiffness=-1.0), "stiffness = -1"),
        (dict(edges=[[0, 1]], friction=-0.1), "friction = -0.1"),
        (dict(edges=[[0, 1]], friction=np.nan), "friction is nan"),
    ],
)
def test_bad_options(options, cause):
    with pytest.raises(InputError) as caught:
        Repulsion(**{"thickness": 0.1, "stiffness": 1.0, **options})
    assert cause in str(caught.value) and "\n" not in str(caught.value)


def test_particles_that_do_not_exist():
    part = Repulsion([[0, 1, 3]], thickness=0.1, stiffness=1.0)
    with pytest.raises(InputError, match=r"face 0 \(0, 1, 3\): there are only 3 particles"):
        System(np.ones(3), [part])
