"""Tetrahedral solids against scikit-fem and beam theory, and moving without losing energy."""

import numpy as np
import pytest
import scipy.sparse.linalg as sla
import skfem
from skfem.models.elasticity import lame_parameters, linear_elasticity

import stiffly
from stiffly.bodies import System, Tetrahedra, consistent_mass, lumped_mass
from stiffly.meshes.grids import grid_tets
from stiffly.parts.tetrahedra import MATERIALS


def box(shape, seed=None, size=1.0):
    """Positions (N, 3) and tets of a grid of cells; with a seed, crooked."""
    X = size * np.indices(shape).reshape(3, -1).T.astype(float)
    if seed is not None:
        X += 0.1 * size * np.random.default_rng(seed).standard_normal(X.shape)
    return X, grid_tets(shape)


def skfem_basis(X, tets):
    mesh = skfem.MeshTet(X.T, tets.T, sort_t=True)
    return skfem.Basis(mesh, skfem.ElementVector(skfem.ElementTetP1()))


@pytest.mark.parametrize("material", MATERIALS)
@pytest.mark.parametrize("poisson", [-0.4, 0.0, 0.3, 0.49])
def test_stiffness_at_rest_is_linear_elasticity(material, poisson):
    X, tets = box((4, 3, 3), seed=0)
    system = System(1.0, [Tetrahedra(tets, 100.0, poisson, material)], rest=X)
    ours = system.linear_part().tangent.matrix(0.0, 1.0, 0.0).toarray()
    theirs = linear_elasticity(*lame_parameters(100.0, poisson)).assemble(skfem_basis(X, tets))
    K = theirs.toarray()
    np.testing.assert_allclose(ours, K, rtol=0, atol=1e-12 * np.abs(K).max())


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
@pytest.mark.parametrize("integrator, allowed", [("exprb42", 2e-7), ("midpoint", 1e-4)])
@pytest.mark.parametrize("mass", [lumped_mass, consistent_mass])
def test_a_bending_bar_keeps_its_energy(material, integrator, allowed, mass):
    X, tets = box((6, 2, 2), size=0.1)
    held = np.flatnonzero(X[:, 0] == 0.0)
    parts = [Tetrahedra(tets, 1e5, 0.3, material)]
    system = System(mass(X, tets, 1000.0), parts, fixed=held, rest=X)
    v0 = np.zeros_like(X)
    v0[:, 2] = 20.0 * X[:, 0] ** 2
    run = stiffly.simulate(
        system, x0=X, v0=v0, integrator=integrator, step=1e-3, duration=0.1, every=0.01
    )
    energy = run.energy
    assert energy.elastic.max() > 0.4 * energy.total[0]  # it did bend
    assert np.abs(energy.numerical).max() < allowed * energy.total[0]
