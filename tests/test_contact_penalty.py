"""The repelling potential: derivatives, discrete gradients, bounds, input."""

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from systems import prepared_alone
from thinned import drawn

from stiffly.bodies import Gravity, System
from stiffly.collisions import Contact, Hemisphere, Plane, Sphere, keyframes
from stiffly.collisions.near import AHEAD, near
from stiffly.errors import InputError
from stiffly.kernels import cpu
from stiffly.parts.part import SettlingPart

N = 30
FLOOR = Plane((0, 0, 0), (0, 0, 1))
SHAPES = {
    "plane": Plane((0.1, 0.2, 0.3), (1.0, 2.0, -2.0)),
    "ball": Sphere((0.5, -0.2, 0.1), 1.3),
    "room": Sphere((0.5, -0.2, 0.1), 1.3, inside=True),
    "half ball": Hemisphere((0.2, 0.1, -0.3), 1.1, (1, -2, 2)),
}
EVERY = [*SHAPES.values()]
seeds = st.integers(0, 2**32 - 1)


def prepared(shapes=EVERY, stiffness=50.0, fixed=(), count=N, **options):
    part, free = Contact(shapes, stiffness, **options), np.setdiff1d(np.arange(count), fixed)
    return prepared_alone(part, np.zeros((count, 3)), free, mass=0.5)


def positions(seed, count=N):
    return np.random.default_rng(seed).uniform(-1.5, 1.5, (count, 3))


def gradient(part, x):
    out = np.zeros_like(x)
    part.add_gradient(x, out)
    return out


def mean_gradient(part, x0, x1):
    out = np.zeros_like(x0)
    part.add_mean_gradient(x0, x1, out)
    return out


def tangent(part, pattern, x):
    blocks, pressed = np.zeros((pattern.nnz, 3, 3)), np.zeros(len(x))
    part.add_blocks(x, blocks, pressed)
    return blocks, pressed


def own_differences(function, x, e=1e-6):
    """(N, 3, 3): derivative of each particle's own row by its own position."""
    out = np.empty((len(x), 3, 3))
    for a in range(3):
        s = e * np.eye(3)[a]
        out[:, :, a] = (function(x + s) - function(x - s)) / (2 * e)
    return out


def test_energy_of_a_pressed_particle():
    part, _ = prepared([FLOOR], 100.0, count=1, margin=0.1)
    assert part.energy(np.array([[5.0, 7.0, -0.2]])) == pytest.approx(0.5 * 100.0 * 0.3**2)
    assert part.energy(np.array([[5.0, 7.0, 0.11]])) == 0.0


@pytest.mark.parametrize("stiffness", [1.0, 1e15])
def test_gradient_and_tangent_are_the_derivatives(stiffness):
    part, pattern = prepared(stiffness=stiffness, margin=0.2)
    x, e = positions(0), 1e-6
    g = gradient(part, x)
    for i in range(0, N, 5):
        for a in range(3):
            s = np.zeros_like(x)
            s[i, a] = e
            slope = (part.energy(x + s) - part.energy(x - s)) / (2 * e)
            assert g[i, a] == pytest.approx(slope, abs=1e-6 * stiffness)
    K, _ = tangent(part, pattern, x)
    expected = own_differences(lambda x: gradient(part, x), x)
    np.testing.assert_allclose(K, expected, atol=1e-6 * stiffness)


@drawn(30)
@given(seed=seeds, margin=st.sampled_from([0.0, 0.3]))
def test_the_lower_bound_holds(seed, margin):
    part, pattern = prepared(margin=margin)
    K, pressed = tangent(part, pattern, positions(seed))
    for block, p in zip(K, pressed, strict=True):
        assert np.linalg.eigvalsh(block)[0] >= -2.0 * p - 1e-12
    assert pressed.any() and part.pairwise and part.bounded and not part.linear


@pytest.mark.parametrize("name", SHAPES)
def test_the_convex_tangent_is_the_nearest_without_negative_stiffness(name):
    part, pattern = prepared([SHAPES[name]], margin=0.2)
    x = positions(8)
    K, _ = tangent(part, pattern, x)
    convex = np.zeros_like(K)
    part.add_convex_blocks(x, convex)
    lam, U = np.linalg.eigh(K)
    expected = np.einsum("nij,nj,nkj->nik", U, np.maximum(lam, 0.0), U)
    np.testing.assert_allclose(convex, expected, atol=1e-12)


def pair(seed):
    rng = np.random.default_rng(seed)
    x0 = rng.uniform(-1.5, 1.5, (N, 3))
    return x0, x0 + 10.0 ** rng.uniform(-9, 0, (N, 1)) * rng.standard_normal((N, 3))


@drawn(40)
@given(seed=seeds, margin=st.sampled_from([0.0, 0.3]))
def test_the_mean_gradient_closes_the_energy(seed, margin):
    """g.(x1 - x0) = E1 - E0 for each particle, the same both ways, dE/dx at one point."""
    part, _ = prepared(margin=margin)
    x0, x1 = pair(seed)
    g = mean_gradient(part, x0, x1)
    for i in range(N):
        alone, _ = prepared(count=1, margin=margin)
        gap = alone.energy(x1[i : i + 1]) - alone.energy(x0[i : i + 1])
        # k s times the rounding of a distance, s <= 3
        assert g[i] @ (x1[i] - x0[i]) == pytest.approx(gap, abs=50.0 * 3.0 * 4e-15)
    np.testing.assert_allclose(mean_gradient(part, x1, x0), g, atol=1e-11)
    np.testing.assert_allclose(mean_gradient(part, x0, x0), gradient(part, x0), atol=1e-12)


def test_the_slope_of_the_mean_gradient():
    part, pattern = prepared(margin=0.2)
    x0, x1 = positions(1), positions(2)
    blocks = np.zeros((pattern.nnz, 3, 3))
    part.add_mean_blocks(x0, x1, blocks)
    expected = own_differences(lambda x: mean_gradient(part, x0, x), x1)
    np.testing.assert_allclose(blocks, expected, atol=2e-5)


def test_a_mean_force_of_a_sphere_turns_nothing_about_its_centre():
    """Its torque about the centre, at the midpoint, vanishes: angular momentum is conserved."""
    ball = SHAPES["ball"]
    part, _ = prepared([ball])
    x0, x1 = positions(5), positions(6)
    g = mean_gradient(part, x0, x1)
    assert np.abs(g).max() > 1.0
    arms = 0.5 * (x0 + x1) - ball.centre
    np.testing.assert_allclose(np.cross(arms, g), 0.0, atol=1e-12)


@drawn(30)
@given(seed=seeds)
def test_kernels_equal_reference(seed):
    rng = np.random.default_rng(seed)
    fixed = rng.choice(N, 4, replace=False)
    part, pattern = prepared(fixed=fixed, stiffness=rng.uniform(10.0, 90.0, N), margin=0.1)
    x0, x1 = pair(seed)
    for touch in part._touches:
        terms = touch._terms
        assert cpu.contact_energy(x0, *terms) == pytest.approx(
            reference.contact_energy(x0, *terms), rel=1e-12
        )
        results = []
        for kernels in (cpu, reference):
            g, m = np.ones((2, N, 3))  # not zero: kernels add
            K, C, S = np.ones((3, pattern.nnz, 3, 3))
            pressed, none = np.ones((2, N))
            kernels.contact_gradient(x0, *terms, g)
            kernels.contact_mean_gradient(x0, x1, *terms, m)
            kernels.contact_blocks(x0, *terms, pattern.diagonal, K, pressed)
            kernels.contact_blocks(x0, *terms, pattern.diagonal, C, none, cpu.CONVEX)
            kernels.contact_mean_blocks(x0, x1, *terms, pattern.diagonal, S)
            results.append((g, m, K, C, pressed, none, S))
        assert np.all(results[0][5] == 1.0)
        for ours, theirs in zip(*results, strict=True):
            scale = np.abs(theirs).max()
            np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-12 * scale)


def test_fixed_and_other_particles_are_left_alone():
    x = positions(3)
    part, _ = prepared(fixed=[0, 1, 2], particles=np.arange(10))
    g = gradient(part, x)
    assert not g[[0, 1, 2]].any() and not g[10:].any()
    alone, _ = prepared()
    np.testing.assert_array_equal(g[3:10], gradient(alone, x)[3:10])


# ---------------------------------------------------------------------- for the System


def test_only_friction_and_motion_make_it_settle():
    still, _ = prepared()
    moving, _ = prepared([Plane((0, 0, 0), (0, 0, 1), keyframes([0, 1], np.zeros((2, 3))))])
    rough, _ = prepared(friction=0.3)
    assert [isinstance(p, SettlingPart) for p in (still, moving, rough)] == [False, True, True]
    assert System(np.ones(1), [Gravity(), Contact(FLOOR, 1.0)]).conservative


def test_the_laplacian_follows_what_touches():
    """In at once; out as a solve begins, when most have left or something else touches."""
    part, _ = prepared([FLOOR], stiffness=7.0, count=4)

    def at(heights):
        return np.column_stack([np.zeros((4, 2)), heights])

    def laid(heights, old, begins=True):
        """Standing still there."""
        layout = part.layout(at(heights), at(heights), old, begins)
        rows, columns, values = part.laplacian(layout)
        np.testing.assert_array_equal(rows, columns)
        assert np.all(values == 7.0)
        return layout, list(rows)

    none, rows = laid([1.0, 1.0, 1.0, 1.0], None)
    assert rows == [] and part.laplacian()[0].size == 0
    three, rows = laid([1.0, -0.2, -0.2, -0.2], none)
    assert rows == [1, 2, 3]
    assert laid([1.0, 0.1, -0.1, -0.1], three)[0] is three  # most still touch
    assert laid([-0.1, 0.1, -0.1, -0.1], three)[1] == [0, 1, 2, 3]
    assert laid([-0.1, 0.1, 0.1, -0.1], three)[1] == [0, 3]  # the occasion to drop what left
    assert laid([-0.1, 0.1, 0.1, -0.1], three, begins=False)[1] == [0, 1, 2, 3]  # not in a solve
    assert laid([1.0, 0.1, 0.1, -0.1], three)[1] == [3]
    assert laid([1.0, 0.1, 0.1, -0.1], three, begins=False)[0] is three
    step = part.layout(at([1.0] * 4), at([-1.0] * 4), none, False)
    assert list(part.laplacian(step)[0]) == [0, 1, 2, 3]


def test_what_will_touch_soon_is_taken_in_with_what_touches():
    """At 0.1 m a step: within AHEAD steps, not later, nor what is far off; what has just left
    stays as long."""
    soon, late = 0.1 * AHEAD - 0.05, 0.1 * AHEAD + 0.05
    now = np.array([[-0.01, soon, late, soon, late, np.inf]])
    before = np.add(now, [[0.1, 0.1, 0.1, -0.1, -0.1, 0.0]])
    x0, x1 = np.zeros((1, 3)), np.ones((1, 3))
    found = near(lambda x: now if x[0, 0] else before, x0, x1, None, True)
    assert list(np.flatnonzero(found[0])) == [0, 1, 3]


def test_the_laplacian_bounds_the_tangent():
    """Convex shapes: k n n^T less something, so at most k."""
    part, pattern = prepared([SHAPES["ball"]])
    x = positions(4)
    K, _ = tangent(part, pattern, x)
    rows, _, values = part.laplacian(part.layout(x, x, None, True))
    bound = np.zeros(N)
    bound[rows] = values
    assert rows.size > 3
    for block, k in zip(K, bound, strict=True):
        assert np.linalg.eigvalsh(block)[-1] <= k * (1.0 + 1e-14)


def test_diagnostics_measure_from_the_shape():
    part, _ = prepared([FLOOR], count=3, margin=0.1)
    x = np.array([[0, 0, -0.3], [0, 0, 0.05], [0, 0, 0.2]])
    assert part.diagnostics(x, np.zeros_like(x)) == {"penetration": 0.3, "contacts": 2.0}
    above = np.add(x, [0, 0, 1.0])
    assert part.diagnostics(above, x) == {"penetration": 0.0, "contacts": 0.0}


def test_the_spectrum_of_stiff_contact_is_bounded():
    """k = 1e15: the operator's own bounds hold what the dense eigensolver finds."""
    system, s = System(np.full(N, 0.1), [Contact([SHAPES["ball"], FLOOR], 1e15)]).bind(positions(7))
    A = system.tangent(s).stiffness
    lam, bounds = A.eigenbasis()[0], A.bounds()
    assert lam[-1] > 1e15 and bounds.low <= lam[0] < 0.0 and lam[-1] <= bounds.high


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Contact([], 1.0), "no shape"),
        (lambda: Contact(Plane, 1.0), "Plane is no shape"),
        (lambda: Contact(3.0, 1.0), "float is no shape"),
        (lambda: Contact(FLOOR, 0.0), "stiffness must be positive"),
        (lambda: Contact(FLOOR, [1.0, -1.0]), "stiffness must be positive"),
        (lambda: Contact(FLOOR, np.nan), "stiffness is nan"),
        (lambda: Contact(FLOOR, "stiff"), "stiffness must hold numbers"),
        (lambda: Contact(FLOOR, 1.0, margin=-0.1), "margin = -0.1"),
        (lambda: Contact(FLOOR, 1.0, friction=-0.1), "friction = -0.1"),
        (lambda: Contact(FLOOR, 1.0, friction=np.nan), "friction is nan"),
        (lambda: System(np.ones(3), [Contact(FLOOR, [1.0, 2.0])]), "one of 3"),
        (lambda: System(np.ones(3), [Contact(FLOOR, 1.0, [3])]), "contact names particle 3"),
        (lambda: System(np.ones(3), [Contact(FLOOR, 1.0, [0.5])]), "indices"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(InputError, match=words) as error:
        call()
    assert "\n" not in str(error.value)
