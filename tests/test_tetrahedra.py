"""Tetrahedral solids: derivatives, projection, invariants, refusals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from systems import prepared_alone
from thinned import drawn

from stiffly.bodies import Gravity, System, Tetrahedra, consistent_mass, lumped_mass
from stiffly.contracts import State
from stiffly.errors import InputError
from stiffly.meshes.grids import grid_tets
from stiffly.parts.tetrahedra import MATERIALS

ONE = np.array([[0, 1, 2, 3]])
CORNER = np.array([[0.1, 0.0, 0.2], [1.0, 0.1, 0.0], [0.0, 1.2, 0.1], [0.2, 0.0, 0.9]])


def box(shape, seed=None, size=1.0):
    """Positions (N, 3) and tets of a grid of cells; with a seed, crooked."""
    X = size * np.indices(shape).reshape(3, -1).T.astype(float)
    if seed is not None:
        X += 0.1 * size * np.random.default_rng(seed).standard_normal(X.shape)
    return X, grid_tets(shape)


def prepared(X, tets, material, project=False, young=100.0, poisson=0.3):
    part = Tetrahedra(tets, young, poisson, material, project=project)
    return prepared_alone(part, X, rest=X)


def gradient(part, x):
    out = np.zeros_like(x)
    part.add_gradient(x, out)
    return out


def tangent(part, pattern, x):
    """K (3N, 3N), and a check that nothing claims to be pressed."""
    blocks, pressed = np.zeros((pattern.nnz, 3, 3)), np.zeros(len(x))
    part.add_blocks(x, blocks, pressed)
    assert not pressed.any()
    n = len(x)
    dense = np.zeros((n, 3, n, 3))
    rows = np.repeat(np.arange(n), np.diff(pattern.indptr))
    dense[rows, :, pattern.indices] = blocks
    return dense.reshape(3 * n, 3 * n)


def differences(function, x, e=1e-6):
    columns = []
    for d in np.eye(x.size):
        d = e * d.reshape(x.shape)
        columns.append((np.ravel(function(x + d)) - np.ravel(function(x - d))) / (2 * e))
    return np.stack(columns, axis=1)


# ---------------------------------------------------------------------- derivatives

STATES = {
    "rest": [1.0, 1.0, 1.0],
    "stretched": [1.6, 1.2, 0.9],
    "squeezed": [0.8, 0.5, 0.3],
    "repeated": [1.3, 0.7, 0.7],
    "nearly flat": [1.1, 0.9, 1e-3],
    "flat": [1.1, 0.9, 0.0],
    "inverted": [1.2, 0.9, -0.4],
    "mirrored": [1.0, 0.99, -0.9],
    "collapsed": [0.9, 0.1, -0.05],
}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("material", MATERIALS)
def test_gradient_and_tangent_are_derivatives(material, state):
    part, pattern = prepared(CORNER, ONE, material)
    for seed in range(3):
        U, V = Rotation.random(2, random_state=seed).as_matrix()
        x = CORNER @ ((U * STATES[state]) @ V.T).T + [1.0, 2.0, 3.0]
        g = gradient(part, x)
        np.testing.assert_allclose(
            g.ravel(), differences(lambda y: part.energy(y), x)[0], rtol=0, atol=2e-7
        )
        K = tangent(part, pattern, x)
        np.testing.assert_allclose(
            K, differences(lambda y: gradient(part, y), x), rtol=0, atol=3e-9 * np.abs(K).max()
        )
        b = np.random.default_rng(seed).standard_normal(x.shape)
        out = np.zeros_like(x)
        part.add_product(x, b, out)
        np.testing.assert_allclose(out.ravel(), K @ b.ravel(), rtol=0, atol=1e-12 * np.abs(K).max())


@pytest.mark.parametrize("material", MATERIALS)
def test_product_follows_the_positions(material):
    X, tets = box((3, 3, 2), seed=0)
    part, pattern = prepared(X, tets, material)
    b = np.random.default_rng(1).standard_normal(X.shape)
    for x in (X, X.copy(), 1.2 * X):
        out = np.zeros_like(x)
        part.add_product(x, b, out)
        np.testing.assert_allclose(out.ravel(), tangent(part, pattern, x) @ b.ravel(), atol=1e-10)
        x[0] += 0.1  # the same array, changed in place
        out = np.zeros_like(x)
        part.add_product(x, b, out)
        np.testing.assert_allclose(out.ravel(), tangent(part, pattern, x) @ b.ravel(), atol=1e-10)


def test_system_sums_tets_with_other_parts():
    X, tets = box((3, 2, 2), seed=0)
    mass = lumped_mass(X, tets, 3.0)
    system, s = System(
        mass, [Tetrahedra(tets, 50.0, 0.3, "neo-hookean"), Gravity()], fixed=[0, 1], rest=X
    ).bind(X + 0.1 * np.random.default_rng(0).standard_normal(X.shape))

    def potential(x):
        e = system.energy(State(0.0, x, np.zeros_like(x)))
        return np.array([e["elastic"] + e["gravity"]])

    force = system.force(s)
    np.testing.assert_allclose(force, -differences(potential, s.x)[0], rtol=0, atol=1e-6)
    K = -differences(lambda x: system.force(State(0.0, x, s.v)), s.x)
    np.testing.assert_allclose(
        system.tangent(s).matrix(0.0, 1.0, 0.0).toarray(), K, rtol=0, atol=1e-6
    )


# ---------------------------------------------------------------------- projection


@pytest.mark.parametrize("material", MATERIALS)
def test_projected_tangent_is_semidefinite_and_changes_nothing_else(material):
    """Mode by mode: the projected tangent of a tet has its eigenvalues max(lambda, 0)."""
    changed = 0
    exact, pattern = prepared(CORNER, ONE, material)
    projected, _ = prepared(CORNER, ONE, material, project=True)
    assert projected.bounded and not exact.bounded
    for values in STATES.values():
        U, V = Rotation.random(2, random_state=3).as_matrix()
        x = CORNER @ ((U * values) @ V.T).T
        K, P = tangent(exact, pattern, x), tangent(projected, pattern, x)
        low, high = np.linalg.eigvalsh(K)[[0, -1]]
        assert np.linalg.eigvalsh(P)[0] >= -1e-13 * high
        # what was added is itself semidefinite: nothing was weakened
        assert np.linalg.eigvalsh(P - K)[0] >= -1e-13 * max(high, -low)
        if low >= -1e-12 * high:
            np.testing.assert_allclose(P, K, rtol=0, atol=1e-13 * high)
        else:
            changed += 1
    assert changed >= 2


def test_projected_tets_prove_a_lower_bound():
    X, tets = box((3, 2, 2), seed=0)
    x = 0.6 * X + 0.1 * np.random.default_rng(0).standard_normal(X.shape)
    for project in (False, True):
        part = Tetrahedra(tets, 50.0, 0.3, "stvk", project=project)
        system, s = System(1.0, [part], rest=X).bind(x)
        operator = system.tangent(s).stiffness
        low = operator.eigenbasis()[0][0]
        assert (low >= -1e-9) == project
        bounds = operator.bounds()
        assert bounds is None or bounds.low <= low + 1e-9


# ---------------------------------------------------------------------- invariants


@pytest.mark.parametrize("material", MATERIALS)
@drawn(10)
@given(seed=st.integers(0, 2**32 - 1))
def test_rigid_motion_changes_nothing(material, seed):
    X, tets = box((3, 3, 2), seed=1)
    part, _ = prepared(X, tets, material)
    rng = np.random.default_rng(seed)
    R = Rotation.random(random_state=rng).as_matrix()
    shift = rng.standard_normal(3)
    assert part.energy(X @ R.T + shift) < 1e-26
    np.testing.assert_allclose(gradient(part, X @ R.T + shift), 0.0, atol=1e-11)
    x = X + 0.5 * rng.standard_normal(X.shape)
    g = gradient(part, x)
    assert part.energy(x @ R.T + shift) == pytest.approx(part.energy(x), rel=1e-12)
    size = np.abs(g).max()
    np.testing.assert_allclose(gradient(part, x @ R.T + shift), g @ R.T, rtol=0, atol=1e-12 * size)
    np.testing.assert_allclose(g.sum(axis=0), 0.0, atol=1e-12 * size)
    np.testing.assert_allclose(np.cross(x, g).sum(axis=0), 0.0, atol=1e-11 * size)


@pytest.mark.parametrize("material, pushes_back", [(m, m != "stvk") for m in MATERIALS])
def test_inverted_tets_push_back_except_stvk(material, pushes_back):
    part, _ = prepared(CORNER, ONE, material)
    flat = np.diag([1.0, 1.0, 0.0])
    inverted = np.diag([1.0, 1.0, -0.5])
    energies = [part.energy(CORNER @ F) for F in (inverted, flat)]
    assert (energies[0] > energies[1]) == pushes_back


def test_small_strains_keep_their_energy():
    """Quadratic at strains of 1e-6 and 1e-8: no cancellation against the energy at rest."""
    for material in MATERIALS:
        part, _ = prepared(CORNER, ONE, material)
        F = np.eye(3) + 1e-2 * np.random.default_rng(0).standard_normal((3, 3))
        reference = None
        for size in (1e-4, 1e-6):
            u = size * (CORNER @ F.T - CORNER)
            quotient = part.energy(CORNER + u) / size**2
            reference = reference or quotient
            assert quotient == pytest.approx(reference, rel=1e-5)


# ---------------------------------------------------------------------- refusals

TWO = [[0, 1, 2, 3], [1, 4, 2, 3]]
X5 = np.vstack([CORNER, [1.0, 1.0, 1.0]])


def two(**options):
    return Tetrahedra(TWO, **{"young": 1.0, "poisson": 0.3, **options})


def moved(vertex, position):
    X = X5.copy()
    X[vertex] = position
    return X


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Tetrahedra([0, 1, 2, 3], 1.0, 0.3), "shape"),
        (lambda: Tetrahedra([[0, 1, 2, 3], [1]], 1.0, 0.3), "rows of different lengths"),
        (lambda: Tetrahedra([[0.0, 1.0, 2.0, 3.0]], 1.0, 0.3), "integers"),
        (lambda: Tetrahedra([[0, 1, 2, 3], [0, 1, -2, 3]], 1.0, 0.3), "tet 1 .*negative"),
        (
            lambda: Tetrahedra([[0, 1, 2, 3], [3, 5, 9, 3]], 1.0, 0.3),
            r"tet 1 \(3, 5, 9, 3\).*twice",
        ),
        (lambda: two(material="neohookean"), "unknown material.*did you mean neo-hookean"),
        (lambda: two(material="rubber"), "unknown material rubber: choose one of corotated"),
        (lambda: two(young=[1.0, 0.0]), r"tet 1 \(1, 4, 2, 3\): Young"),
        (lambda: two(young=[1.0, 1.0, 1.0]), "young has shape"),
        (lambda: two(young=1e308), "tet 0 .*Young.*too large"),
        (lambda: two(poisson=0.5), r"tet 0 .*Poisson.*0\.5"),
        (lambda: two(poisson=[0.3, -1.0]), "tet 1 .*Poisson"),
        (lambda: two(poisson=np.nan), "poisson is nan"),
        (lambda: two(rest_positions=CORNER), "tet 1 .*only 4 particles"),
        (lambda: two(rest_positions=CORNER.ravel()), "shape"),
        (lambda: two(rest_positions=moved(4, CORNER[1:4].mean(axis=0))), "tet 1 .*flat"),
        (lambda: two(rest_positions=moved(4, [-1.0, -1.0, -1.0])), "tet 1 .*inverted"),
        (lambda: two(rest_positions=moved(4, [0.0, 0.0, np.inf])), "rest_positions.*inf"),
        (lambda: System(np.ones(4), [two()]), "tet 1 .*only 4 particles"),
        (lambda: System(np.ones(5), [two()]), "no rest shape"),
        (lambda: System(1.0, [two()], rest=moved(0, [1.0, 1.0, 1.0])), "tet 0 .*inverted"),
        (lambda: lumped_mass(X5, TWO, [1.0, -1.0]), "tet 1 .*density"),
        (lambda: lumped_mass(X5, [[0, 1, 2, 9]], 1.0), "tet 0 .*only 5"),
        (lambda: consistent_mass(X5, [[0, 2, 1, 3]], 1.0), "tet 0 .*inverted"),
    ],
)
def test_bad_tets_are_refused_in_one_line(call, words):
    with pytest.raises(InputError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_rest_shape_comes_from_the_part_or_the_system():
    mine = System(np.ones(5), [two(rest_positions=X5)])
    theirs = System(np.ones(5), [two()], rest=X5)
    s = State(0.0, 1.1 * X5.ravel(), np.zeros(15))
    np.testing.assert_array_equal(mine.force(s), theirs.force(s))
