"""The constant matrix of local/global solvers: it bounds the stiffness of the parts at rest."""

import numpy as np
import pytest
import scipy.linalg
from discrete_gradient_checks import dense

from stiffly.bodies import FaceSprings, Gravity, LennardJones, Springs, System, Tetrahedra
from stiffly.collisions import Contact, Plane
from stiffly.errors import InputError
from stiffly.meshes.grids import grid_tets
from stiffly.parts.tetrahedra import MATERIALS, lame
from stiffly.system.discrete_gradient import laplacian

SHAPE = (3, 3, 3)
RNG = np.random.default_rng(2)
X = np.indices(SHAPE).reshape(3, -1).T + 0.1 * RNG.standard_normal((27, 3))
TETS = grid_tets(SHAPE)
EDGES = np.unique(np.sort(np.concatenate([TETS[:, [0, 1]], TETS[:, [1, 2]]]), axis=1), axis=0)


def matrices(part, x=X):
    """K at x and L (x) I_3, dense."""
    system = System(1.0, [part], rest=X)
    K = dense(system.pattern, system.assembly.blocks(x, system.pattern)[0])
    L = laplacian(system.assembly, len(X)).toarray()
    return K, np.kron(L, np.eye(3))


def largest_ratio(K, L):
    """The largest generalised eigenvalue of K u = lambda L u, away from what moves nothing."""
    values, Q = np.linalg.eigh(L)
    assert values[0] > -1e-9 * values[-1]
    kept = values > 1e-9 * values[-1]
    scaled = Q[:, kept] / np.sqrt(values[kept])
    np.testing.assert_allclose(K @ Q[:, ~kept], 0.0, atol=1e-8 * np.abs(K).max())
    return float(scipy.linalg.eigvalsh(scaled.T @ K @ scaled)[-1])


PARTS = {
    "springs": Springs(EDGES, RNG.uniform(1.0, 5.0, len(EDGES))),
    "cubic": Springs(EDGES, 3.0, law="cubic"),
    "face springs": FaceSprings(TETS, RNG.uniform(1.0, 5.0, len(TETS))),
}


@pytest.mark.parametrize("name", PARTS)
def test_it_is_a_laplacian(name):
    system = System(1.0, [PARTS[name]], rest=X)
    L = laplacian(system.assembly, len(X))
    assert L.shape == (27, 27)
    np.testing.assert_allclose((L - L.T).toarray(), 0.0, atol=1e-13)
    np.testing.assert_allclose(L @ np.ones(27), 0.0, atol=1e-12)


@pytest.mark.parametrize("name", PARTS)
def test_springs_are_bounded(name):
    """At rest by 1, which some direction reaches; the linear laws at any strain."""
    assert largest_ratio(*matrices(PARTS[name])) == pytest.approx(1.0, abs=0.05)
    for seed in range(5):
        x = X + np.random.default_rng(seed).standard_normal(X.shape)
        ratio = largest_ratio(*matrices(PARTS[name], x))
        assert ratio > 2.0 if name == "cubic" else ratio < 1.0 + 1e-9


@pytest.mark.parametrize("material", MATERIALS)
@pytest.mark.parametrize("poisson", [-0.5, 0.0, 0.3, 0.45])
def test_tets_are_bounded_at_rest(material, poisson):
    """2 mu + 3 max(lam, 0) is sharp: a free body that swells reaches it where lam > 0."""
    part = Tetrahedra(TETS, RNG.uniform(10.0, 50.0, len(TETS)), poisson, material)
    K, L = matrices(part)
    ratio = largest_ratio(K, L)
    assert ratio <= 1.0 + 1e-9
    swelling = X.ravel() @ K @ X.ravel() / (X.ravel() @ L @ X.ravel())
    assert ratio >= swelling - 1e-12
    mu, lam = lame(np.array(1.0), np.array(poisson))
    expected = (2.0 * mu + 3.0 * lam) / (2.0 * mu + 3.0 * max(lam, 0.0))
    assert swelling == pytest.approx(expected, rel=1e-9)


def test_corotated_tets_are_bounded_when_turned_and_pressed():
    """Up to a mean stretch of 1 + 2 mu/(3 lam): here 1.44, so 1.2 is well inside."""
    part = Tetrahedra(TETS, 30.0, 0.3)
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    for scale in (0.5, 0.8, 1.2):
        x = scale * (X + 0.02 * np.random.default_rng(1).standard_normal(X.shape)) @ turn
        K, L = matrices(part, x * np.linalg.det(turn))
        assert np.linalg.eigvalsh(L - K)[0] > -1e-9 * np.abs(K).max()


def test_parts_add_up_and_gravity_has_none():
    springs, cubic = PARTS["springs"], PARTS["cubic"]
    both = System(1.0, [springs, Gravity(), cubic], rest=X).assembly
    total = laplacian(both, 27).toarray()
    alone = [laplacian(System(1.0, [p], rest=X).assembly, 27).toarray() for p in (springs, cubic)]
    np.testing.assert_allclose(total, alone[0] + alone[1], atol=1e-12)
    gravity = System(1.0, [Gravity()], rest=X).assembly
    assert laplacian(gravity, 27).nnz == 0


def test_a_part_without_a_local_step_is_named():
    system = System(1.0, [PARTS["springs"], LennardJones(1.0, 0.5, name="argon")], rest=X)
    with pytest.raises(InputError, match="argon has no local step: use energy-momentum"):
        laplacian(system.assembly, 27)


def test_the_layout_changes_with_a_part():
    """The very same one while it serves; another, with other entries, where something touches."""
    floor = Contact(Plane((0, 0, -5.0), (0, 0, 1)), 7.0)
    system, s = System(1.0, [PARTS["springs"], Gravity(), floor], rest=X).bind(X)
    low = s.moved(s.t, s.x - np.tile([0.0, 0.0, 5.5], len(X)), s.v)
    far = system.global_layout(s, s, None, True)
    assert system.global_layout(s, s, far, False) is far
    above = s.moved(s.t, low.x + 1e-6, s.v)  # what comes down in one step would be taken in too
    near = system.global_layout(above, low, far, False)
    assert near is not far and system.global_layout(above, low, near, False) is near
    inside = np.sum(system.positions(low)[:, 2] < -5.0)
    assert inside > 0
    grown = laplacian(system.assembly, 27, near) - laplacian(system.assembly, 27, far)
    assert grown.diagonal().sum() == pytest.approx(7.0 * inside)
    alone = System(1.0, [PARTS["springs"]], rest=X)
    first = alone.global_layout(s, s, None, True)
    assert alone.global_layout(s, low, first, True) is first
