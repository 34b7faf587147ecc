"""Discrete gradients of tetrahedra: energy always, momenta unless inside out, kernels."""

import numpy as np
import pytest
import reference
from discrete_gradient_checks import (
    check_consistency,
    check_energy,
    check_everything,
    check_symmetry,
    jacobian_error,
    mean_gradient,
)
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from systems import prepared_alone
from thinned import drawn

from stiffly.bodies import Gravity, System, Tetrahedra
from stiffly.contracts import State
from stiffly.kernels import cpu
from stiffly.kernels.cpu import mean_stretch, polar, tets
from stiffly.meshes.grids import grid_tets
from stiffly.parts.tetrahedra import MATERIALS

SEEDS = st.integers(0, 2**32 - 1)


def solid(material, shape=(3, 2, 2), fixed=(), poisson=None):
    """A box of uneven tets, each with its own moduli: rest positions, part, pattern."""
    rng = np.random.default_rng(1)
    X = np.indices(shape).reshape(3, -1).T + 0.1 * rng.standard_normal((np.prod(shape), 3))
    cells = grid_tets(shape)
    nu = rng.uniform(-0.3, 0.45, len(cells)) if poisson is None else poisson
    part = Tetrahedra(cells, rng.uniform(10.0, 100.0, len(cells)), nu, material)
    free = np.setdiff1d(np.arange(len(X)), fixed)
    return X, *prepared_alone(part, X, free, rest=X)


def turned(seed=3):
    return Rotation.random(random_state=seed).as_matrix().T


def states(X, kind, seed=0):
    """Two states; only those of REGULAR leave every tet the right side out."""
    rng = np.random.default_rng(seed)
    noise = 0.05 * rng.standard_normal((2, *X.shape))
    if kind == "strained":
        return X + noise[0], 1.2 * X + noise[1]
    if kind == "close":
        return X + noise[0], X + noise[0] + 1e-9 * noise[1]
    if kind == "turned":
        return X + noise[0], (X + noise[1]) @ turned() + 5.0
    if kind == "rigid":
        return X + noise[0], (X + noise[0]) @ turned() + 5.0
    if kind == "squeezed":
        return X * [1.0, 1.0, 0.02], (X * [0.02, 1.0, 1.0]) @ turned()
    if kind == "inverted":
        return X + 20.0 * noise[0], X + 20.0 * noise[1]
    if kind == "inverting":
        return X + noise[0], (X + noise[1]) * [1.0, 1.0, -1.0]
    if kind == "mirrored":  # the same C, another energy
        return X, (X * [1.0, 1.0, -1.0]) @ turned()
    if kind == "flattened":
        return X * [1.0, 1.0, 0.0], (X + noise[1]) * [1.0, 1.0, 0.0]
    return X, 0.0 * X  # collapsed


REGULAR = ["strained", "close", "turned", "rigid", "squeezed"]
SINGULAR = ["inverted", "inverting", "mirrored", "flattened", "collapsed"]


@pytest.mark.parametrize("material", MATERIALS)
@pytest.mark.parametrize("kind", REGULAR)
def test_energy_and_momenta(material, kind):
    X, part, _ = solid(material)
    for seed in range(5):
        check_everything(part, *states(X, kind, seed))


@pytest.mark.parametrize("material", MATERIALS)
@pytest.mark.parametrize("kind", SINGULAR)
def test_energy_whatever_happens(material, kind):
    """Where tets turn inside out, forces stay finite and do the right work, both ways."""
    X, part, pattern = solid(material)
    for seed in range(5):
        x0, x1 = states(X, kind, seed)
        check_energy(part, x0, x1)
        check_energy(part, x1, x0)
        check_symmetry(part, x0, x1, 1e-9)
        blocks = np.zeros((pattern.nnz, 3, 3))
        part.add_mean_blocks(x0, x1, blocks)
        assert np.isfinite(blocks).all()


@pytest.mark.parametrize("material", MATERIALS)
def test_forces_do_not_explode_towards_the_pole(material):
    """From upright to mirrored, through every state in between: no force beyond 50 times the
    plain ones, where the torque-free gradient alone would have poles."""
    X, part, _ = solid(material)
    mirrored = (X * [1.0, 1.0, -1.0]) @ turned()
    plain = max(np.abs(mean_gradient(part, x, x)).max() for x in (X + 0.3 * X[::-1], mirrored))
    for share in np.linspace(0.0, 1.0, 401):
        g = mean_gradient(part, X, X + share * (mirrored - X))
        assert np.abs(g).max() < 50.0 * plain


@pytest.mark.parametrize("material", MATERIALS)
def test_gradient_where_both_states_are_one(material):
    X, part, _ = solid(material)
    rng = np.random.default_rng(0)
    check_consistency(part, X + 0.1 * rng.standard_normal(X.shape))
    check_consistency(part, X + 0.4 * rng.standard_normal(X.shape), 1e-10)  # some inside out


@pytest.mark.parametrize("material", MATERIALS)
@pytest.mark.parametrize("kind", ["strained", "turned", "squeezed", "inverted", "inverting"])
def test_derivative(material, kind):
    X, part, pattern = solid(material)
    error = jacobian_error(part, pattern, *states(X, kind), 1e-4 if kind in REGULAR[:3] else 1e-6)
    assert error < (1e-8 if kind in REGULAR[:3] else 1e-5)


def test_the_cut_is_reached():
    """The states above do exercise the fall back: else the tests of it say nothing."""
    X, part, _ = solid("corotated")
    for kind, least, most in (("strained", 0, 0), ("inverted", 1, 30), ("mirrored", 1, 30)):
        x0, x1 = states(X, kind)
        tets, shape, moduli, material = part._elements
        before, after = (reference.tet_states(x, tets, shape, material) for x in (x0, x1))
        law = reference.mean_tets.mean_law(before, after, moduli, material)
        assert least <= np.count_nonzero(law.cut.w < 1.0) <= most


@pytest.mark.parametrize("material", ["corotated", "neo-hookean"])
def test_the_cut_leaves_ordinary_deformations_alone(material):
    """Stretches of 0.3 to 2 along any axes, and any rotation in between: 20,000 pairs."""
    rng = np.random.default_rng(0)
    R, Q0, Q1 = (Rotation.random(20000, random_state=k).as_matrix() for k in range(3))
    F0, F1 = ((Q * rng.uniform(0.3, 2.0, (20000, 1, 3))) @ Q.transpose(0, 2, 1) for Q in (Q0, Q1))
    pair = [
        (F.reshape(-1, 9), *(a.reshape(20000, -1) for a in reference.signed_svd(F)))
        for F in (F0, R @ F1)
    ]
    law = reference.mean_tets.mean_law(*pair, np.ones((20000, 2)), MATERIALS[material])
    assert np.all(law.cut.w == 1.0)


def test_corotated_by_hand():
    """P = 2 mu Fm + g Fm Um^-1, g = -2 mu + lam ((s0 + s1)/2 - 3), straight from matrices."""
    rng = np.random.default_rng(5)
    mu, lam = 3.0, 2.0
    U0, U1 = np.eye(3) + 0.1 * (S := rng.standard_normal((3, 3))) @ S.T, np.diag([0.8, 1.1, 1.3])
    F0, F1 = U0, turned() @ U1
    states = [
        tuple(np.reshape(a, (1, -1)) for a in (F, *reference.signed_svd(F[None]))) for F in (F0, F1)
    ]
    g = lam * (np.trace(U0 + U1) / 2 - 3) - 2 * mu
    Fm, Um = (F0 + F1) / 2, (U0 + U1) / 2
    P = 2 * mu * Fm + g * Fm @ np.linalg.inv(Um)
    corotated = MATERIALS["corotated"]
    middle = tets.mean_basis(*states, corotated.mean)
    ours = mean_stretch.stretched_stress[corotated](mu, lam, *states, middle, 0)
    np.testing.assert_allclose(np.reshape(ours, (3, 3)), P, rtol=0.0, atol=1e-13)


def test_log_quotient():
    for a, b in ((4.0, 4.0), (4.0, 4.0 + 1e-9), (4.0, 5.0), (1.0, 30.0), (30.0, 1.0)):
        value, slope = mean_stretch.log_quotient(a, b)
        exact = 1.0 / a if a == b else np.log1p((b - a) / a) / (b - a)
        assert value == pytest.approx(exact, rel=1e-14 if abs(a - b) != 1e-9 else 1e-9)
        e = 1e-5
        up, down = mean_stretch.log_quotient(a, b + e)[0], mean_stretch.log_quotient(a, b - e)[0]
        assert slope == pytest.approx((up - down) / (2 * e), rel=1e-8)


@pytest.mark.parametrize("material", MATERIALS)
def test_newton_converges_quadratically(material):
    """A stiff block (1e7 Pa) that turns by 0.8 rad and deforms in one step of 1/30 s, without any
    line search (which neo-hookean would need from 1.3 rad on)."""
    X, _, _ = solid(material)
    block = Tetrahedra(grid_tets((3, 2, 2)), 1e7, 0.4, material)
    system = System(np.full(len(X), 80.0), [block, Gravity()], rest=X, fixed=[0])
    v0 = np.cross([0.0, 0.0, 25.0], X - X[0])
    system, s0 = system.bind(X + 0.01 * np.random.default_rng(0).standard_normal(X.shape), v0)
    h, d, sizes = 1.0 / 30.0, np.zeros(system.size), []
    for _ in range(15):
        s1 = State(h, s0.x + d, 2.0 * d / h - s0.v)
        r = system.mass.apply(s1.v - s0.v) - h * system.mean_force(s0, s1)
        sizes.append(np.linalg.norm(r) / np.linalg.norm(system.mass.apply(s0.v)))
        J = system.mean_tangent(s0, s1).matrix(2.0 / h, h, 0.0)
        d = d - np.linalg.solve(J.toarray(), r)
    small = [k for k, size in enumerate(sizes) if size < 1e-3]
    assert small and sizes[small[0] + 2] < 1e-9  # three digits, then six, then rounding
    before, after = (sum(system.energy(s).values()) for s in (s0, s1))
    assert after == pytest.approx(before, rel=1e-11)


# ---------------------------------------------------------------------- kernels


def everything(kernels, part, pattern, x0, x1):
    """Gradient and blocks; not from zero, because kernels add."""
    material = part._elements[3]
    before, after = (kernels.tet_states(x, *part._elements[:2], material) for x in (x0, x1))
    g, blocks = np.ones_like(x0), np.ones((pattern.nnz, 3, 3))
    kernels.tet_mean_gradient(before, after, *part._elements, *part._corners, g)
    kernels.tet_mean_blocks(before, after, *part._elements, *part._mean_sums, blocks)
    return g, blocks


@pytest.mark.parametrize("material", MATERIALS)
@drawn(15)
@given(seed=SEEDS, noise=st.sampled_from([0.0, 0.1, 0.3]))
def test_kernels_equal_reference(material, seed, noise):
    rng = np.random.default_rng(seed)
    fixed = np.flatnonzero(rng.random(12) < 0.3)[:11]
    X, part, pattern = solid(material, fixed=fixed)
    x0, x1 = X + noise * rng.standard_normal((2, *X.shape))
    results = [everything(kernels, part, pattern, x0, x1) for kernels in (cpu, reference)]
    # towards a pole rounding errors grow: by the square of the nearest u_i + u_j
    wanting = MATERIALS["neo-hookean"]  # all of it
    before, after = (cpu.tet_states(x, *part._elements[:2], wanting) for x in (x0, x1))
    u, sigma = np.sort(tets.mean_basis(before, after, wanting.mean)[1]), after[2]
    sums = np.stack([u[:, 0] + u[:, 1], 2 * np.abs(u).min(axis=1), sigma[:, 1] + sigma[:, 2]])
    near = np.clip(np.abs(sums).min(), 1e-6, 1.0)
    for ours, theirs in zip(*results, strict=True):
        atol = 1e-13 * np.abs(theirs).max() / near**2
        np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=atol)


def test_kernels_equal_reference_across_chunks():
    X, part, pattern = solid("neo-hookean", (10, 10, 11), np.arange(9))
    assert len(part._tets) > tets.MEAN_CHUNK
    x0, x1 = X + 0.05 * np.random.default_rng(0).standard_normal((2, *X.shape))
    results = [everything(kernels, part, pattern, x0, x1) for kernels in (cpu, reference)]
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-11 * np.abs(theirs).max())


def test_threads_give_the_same_bits(monkeypatch):
    X, part, pattern = solid("corotated", (16, 15, 15), np.arange(20))
    assert len(part._tets) >= tets.PARALLEL_ROWS
    x0, x1 = X + 0.1 * np.random.default_rng(0).standard_normal((2, *X.shape))
    threaded = everything(cpu, part, pattern, x0, x1)
    for module in (polar, tets):
        monkeypatch.setattr(module, "PARALLEL_ROWS", 1 << 30)
    for ours, theirs in zip(everything(cpu, part, pattern, x0, x1), threaded, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_states_are_not_mixed_up():
    """Decompositions are kept for two places; a third one, or a changed array, is seen."""
    X, part, _ = solid("corotated")
    rng = np.random.default_rng(0)
    places = X + 0.1 * rng.standard_normal((4, *X.shape))
    for i, j in ((0, 1), (0, 2), (3, 2), (0, 1)):
        _, fresh, _ = solid("corotated")
        expected = mean_gradient(fresh, places[i], places[j])
        np.testing.assert_array_equal(mean_gradient(part, places[i], places[j]), expected)
    places[1] += 0.01
    _, fresh, _ = solid("corotated")
    expected = mean_gradient(fresh, places[0], places[1])
    np.testing.assert_array_equal(mean_gradient(part, places[0], places[1]), expected)


def test_both_cut_at_the_same_place():
    twin = reference.mean_tets
    assert (mean_stretch.LIMIT, mean_stretch.LARGEST) == (twin.LIMIT, twin.LARGEST)
