"""Tetrahedral solids: derivatives, invariants, and agreement with linear elasticity."""

import numpy as np
import pytest
import scipy.sparse.linalg as sla
import skfem
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from skfem.models.elasticity import lame_parameters, linear_elasticity

import stiffly
from stiffly.bodies import Gravity, System, Tetrahedra, consistent_mass, lumped_mass
from stiffly.bodies.materials import MATERIALS
from stiffly.bodies.part import Particles
from stiffly.bodies.pattern import BlockPattern
from stiffly.contracts import State
from stiffly.errors import InputError
from stiffly.meshes.grids import grid_tets

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
    particles = Particles(len(X), np.ones(len(X)), X)
    pattern = BlockPattern(part.couples(particles), np.arange(len(X)), len(X))
    return part.prepare(particles, pattern), pattern


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
@settings(max_examples=10, deadline=None)
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
    """Quadratic down to strains of 1e-9: no cancellation against the energy at rest."""
    for material in MATERIALS:
        part, _ = prepared(CORNER, ONE, material)
        F = np.eye(3) + 1e-2 * np.random.default_rng(0).standard_normal((3, 3))
        reference = None
        for size in (1e-4, 1e-6):
            u = size * (CORNER @ F.T - CORNER)
            quotient = part.energy(CORNER + u) / size**2
            reference = reference or quotient
            assert quotient == pytest.approx(reference, rel=1e-3)


# ---------------------------------------------------------------------- linear elasticity


def skfem_basis(X, tets):
    mesh = skfem.MeshTet(X.T, tets.T, sort_t=True)
    return skfem.Basis(mesh, skfem.ElementVector(skfem.ElementTetP1()))


@pytest.mark.parametrize("material", MATERIALS)
@pytest.mark.parametrize("poisson", [-0.4, 0.0, 0.3, 0.49])
def test_stiffness_at_rest_is_linear_elasticity(material, poisson):
    X, tets = box((4, 3, 3), seed=0)
    part, pattern = prepared(X, tets, material, poisson=poisson)
    theirs = linear_elasticity(*lame_parameters(100.0, poisson)).assemble(skfem_basis(X, tets))
    K = theirs.toarray()
    np.testing.assert_allclose(tangent(part, pattern, X), K, rtol=0, atol=1e-12 * np.abs(K).max())


def test_masses_against_scikit_fem():
    X, tets = box((4, 3, 3), seed=0)
    mesh = skfem.MeshTet(X.T, tets.T, sort_t=True)
    basis = skfem.Basis(mesh, skfem.ElementTetP1(), intorder=2)
    mass = skfem.BilinearForm(lambda u, v, _: 7.0 * u * v).assemble(basis).toarray()
    ours = consistent_mass(X, tets, 7.0).toarray()
    np.testing.assert_allclose(ours, mass, rtol=0, atol=1e-14)
    np.testing.assert_allclose(lumped_mass(X, tets, 7.0), mass.sum(axis=1), rtol=1e-13)
    cube, cells = box((3, 4, 5), size=0.5)
    assert lumped_mass(cube, cells, 8.0).sum() == pytest.approx(24.0, rel=1e-14)
    assert consistent_mass(cube, cells, 8.0).sum() == pytest.approx(24.0, rel=1e-14)
    density = np.arange(1.0, len(cells) + 1.0)
    total = density.sum() * 0.5**3 / 6.0
    assert lumped_mass(cube, cells, density).sum() == pytest.approx(total, rel=1e-14)


def cantilever(across, young=1e6, poisson=0.3, length=10):
    """A bar (length x 1 x 1) m of cubes of 1/across, held at x = 0: system, tip load of 1 N."""
    shape = (length * across + 1, across + 1, across + 1)
    X, tets = box(shape, size=1.0 / across)
    X = np.round(X * across) / across
    held = np.flatnonzero(X[:, 0] == 0.0)
    system = System(1.0, [Tetrahedra(tets, young, poisson)], fixed=held, rest=X)
    ends = np.ones(across + 1)
    ends[[0, -1]] = 0.5
    load = np.zeros((len(X), 3))
    load[X[:, 0] == length, 2] = np.outer(ends, ends).ravel() / across**2
    return system, X, tets, load


def tip_deflection(across):
    system, _, _, load = cantilever(across)
    K = system.linear_part().tangent.matrix(0.0, 1.0, 0.0).tocsc()
    f = load[system.free].ravel()
    return f @ sla.splu(K, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True}).solve(f)


def test_cantilever_converges_to_timoshenko_from_below():
    """Linear tets lock in bending: with 1, 2, 4, 8 cubes across, a beam ten times as long as thick
    deflects by 22, 50, 79 and 93 % of P L^3/(3 E I) + P L/(kappa G A)."""
    E, nu, length = 1e6, 0.3, 10.0
    kappa = 10.0 * (1.0 + nu) / (12.0 + 11.0 * nu)  # Cowper 1966, rectangle
    shear = E / (2.0 * (1.0 + nu))
    theory = length**3 / (3.0 * E / 12.0) + length / (kappa * shear)
    share = np.array([tip_deflection(n) for n in (1, 2, 4, 8)]) / theory
    np.testing.assert_allclose(share, [0.22, 0.50, 0.79, 0.93], atol=0.006)
    error = 1.0 - share
    assert error[2] / error[3] > 3.0  # towards the fourfold of second order
    assert (4.0 * share[3] - share[2]) / 3.0 == pytest.approx(1.0, abs=0.03)


def test_cantilever_deflects_as_scikit_fem_says():
    system, X, tets, load = cantilever(2)
    K = linear_elasticity(*lame_parameters(1e6, 0.3)).assemble(skfem_basis(X, tets))
    held = (3 * system.fixed[:, None] + np.arange(3)).ravel()
    theirs = skfem.solve(*skfem.condense(K, load.ravel(), D=held)).reshape(-1, 3)
    stiffness = system.linear_part().tangent.matrix(0.0, 1.0, 0.0).tocsc()
    ours = sla.spsolve(stiffness, load[system.free].ravel()).reshape(-1, 3)
    size = np.abs(theirs).max()
    np.testing.assert_allclose(ours, theirs[system.free], rtol=0, atol=1e-10 * size)


# ---------------------------------------------------------------------- motion


@pytest.mark.parametrize("material", MATERIALS)
@pytest.mark.parametrize("integrator", ["exprb42", "midpoint"])
@pytest.mark.parametrize("mass", [lumped_mass, consistent_mass])
def test_a_bending_bar_keeps_its_energy(material, integrator, mass):
    X, tets = box((6, 2, 2), size=0.1)
    held = np.flatnonzero(X[:, 0] == 0.0)
    parts = [Tetrahedra(tets, 1e5, 0.3, material)]
    system = System(mass(X, tets, 1000.0), parts, fixed=held, rest=X)
    v0 = np.zeros_like(X)
    v0[:, 2] = 4.0 * X[:, 0] ** 2
    run = stiffly.simulate(
        system, x0=X, v0=v0, integrator=integrator, step=5e-4, duration=0.05, every=0.01
    )
    energy = run.energy
    assert energy.elastic.max() > 0.1 * energy.total[0]  # it did bend
    assert np.abs(energy.numerical).max() < 2e-3 * energy.total[0]


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
