"""Discrete gradients of whole bodies: parts of all kinds together, and a user's own equations."""

import numpy as np
import pytest
from discrete_gradient_checks import differences, gradient
from systems import chain, duffing, linear, march

from stiffly.bodies import (
    FaceSprings,
    Gravity,
    LennardJones,
    Potential,
    Rayleigh,
    SecondOrder,
    Springs,
    System,
    Tetrahedra,
)
from stiffly.contracts import State
from stiffly.errors import InputError
from stiffly.integrators.energy_momentum import EnergyMomentum
from stiffly.meshes.grids import grid_tets
from stiffly.system.discrete_gradient import corrected_gradient, mean_blocks, mean_gradient

X = np.indices((3, 2, 2)).reshape(3, -1).T.astype(float)
EDGES = np.array([[0, 1], [1, 2], [3, 7], [4, 9], [10, 11], [0, 11]])


def trap(x):
    """A potential without symmetry: neither quadratic nor invariant."""
    return float(np.sum(np.cosh(x[:, 0]) + 0.3 * x[:, 1] ** 4 + np.sin(x[:, 0] * x[:, 2])))


def trap_gradient(x):
    cosine = np.cos(x[:, 0] * x[:, 2])
    columns = np.sinh(x[:, 0]) + x[:, 2] * cosine, 1.2 * x[:, 1] ** 3, x[:, 0] * cosine
    return np.stack(columns, axis=1)


def everything(fixed=()):
    cells = grid_tets((3, 2, 2))
    parts = [
        Springs(EDGES, 20.0, 0.9),
        Springs(EDGES[:3], 5.0, 0.0, name="linear"),
        FaceSprings(cells, 10.0),
        Tetrahedra(cells, 50.0, 0.3),
        Gravity(),
        LennardJones(0.1, 0.6),
        Potential(trap, trap_gradient, couples=()),
    ]
    return System(1.0, parts, rest=X, fixed=fixed)


def two_states(seed=0):
    return X + 0.1 * np.random.default_rng(seed).standard_normal((2, *X.shape))


@pytest.mark.parametrize("seed", range(5))
def test_parts_of_all_kinds_add_up(seed):
    system = everything()
    x0, x1 = two_states(seed)
    g = mean_gradient(system.assembly, x0, x1)
    before, after = (sum(system.assembly.energies(x).values()) for x in (x0, x1))
    scale = abs(before) + abs(after)
    assert np.vdot(g, x1 - x0) == pytest.approx(after - before, abs=1e-12 * scale)
    swapped = mean_gradient(system.assembly, x1, x0)
    np.testing.assert_allclose(swapped, g, rtol=0.0, atol=1e-12 * np.abs(g).max())
    same = mean_gradient(system.assembly, x0, x0)
    np.testing.assert_allclose(same, system.assembly.gradient(x0), rtol=0.0, atol=1e-11)


def test_derivative_of_all_kinds():
    """Exact, but for the first-order term that Gonzalez' correction of the trap leaves out."""
    system = everything()
    x0, x1 = two_states()
    blocks, triplets = mean_blocks(system.assembly, x0, x1, system.pattern)
    assert triplets is not None and len(triplets) == 1
    s0, s1 = (State(0.0, x.ravel(), 0.0 * x.ravel()) for x in (x0, x1))
    exact = system.mean_tangent(s0, s1).matrix(0.0, 1.0, 0.0)
    expected = differences(lambda x: mean_gradient(system.assembly, x0, x).ravel(), x1, 1e-5)
    left_out = differences(
        lambda x: corrected_gradient(system.assembly.potentials[-1][1], x0, x).ravel(), x1, 1e-5
    ) - 0.5 * differences(lambda x: trap_gradient(x).ravel(), 0.5 * (x0 + x1), 1e-5)
    gap = exact.toarray() - (expected - left_out)
    assert np.abs(gap).max() < 1e-7 * np.abs(expected).max()
    assert np.abs(left_out).max() < 0.1 * np.linalg.norm(x1 - x0)
    assert blocks.shape == (system.pattern.nnz, 3, 3)


def test_without_matrix_free_parts_there_are_no_triplets():
    system = System(1.0, [Springs(EDGES, 20.0, 0.9)], rest=X)
    assert mean_blocks(system.assembly, *two_states(), system.pattern)[1] is None


@pytest.mark.parametrize("apart", [1.0, 1e-3, 1e-6, 1e-9, 1e-12, 1e-15, 0.0])
def test_corrected_gradient_is_never_noise(apart):
    """The gap of energies, divided by a tiny |dx|, must not become a force of its own."""
    part = everything().assembly.potentials[-1][1]
    x0 = X + 0.1
    x1 = x0 + apart * np.random.default_rng(0).standard_normal(X.shape)
    g = corrected_gradient(part, x0, x1)
    before, after = part.energy(x0), part.energy(x1)
    assert np.vdot(g, x1 - x0) == pytest.approx(after - before, abs=1e-14 * (before + after))
    middle = gradient(part, 0.5 * (x0 + x1))
    assert np.abs(g - middle).max() <= 2.0 * apart**2 + 1e-5


def test_mean_force_leaves_fixed_particles_out():
    system, s0 = everything(fixed=[0, 5]).bind(X)
    s1 = State(0.1, s0.x + 0.1, s0.v)
    f = system.mean_force(s0, s1)
    assert f.shape == (30,)
    before, after = (sum(system.energy(s).values()) for s in (s0, s1))
    assert f @ (s1.x - s0.x) == pytest.approx(before - after, rel=1e-12)


# ---------------------------------------------------------------------- a user's own equations


def mean_states(s0, seed=0):
    rng = np.random.default_rng(seed)
    n = s0.x.size
    return s0, State(s0.t + 0.2, s0.x + rng.standard_normal(n), s0.v + rng.standard_normal(n))


@pytest.mark.parametrize("make", [chain, linear, duffing])
def test_second_order_does_the_right_work(make):
    system, s0 = make()
    s0, s1 = mean_states(s0)
    f = system.mean_force(s0, s1)
    stored = [sum(system.energy(s).values()) - system.energy(s)["kinetic"] for s in (s0, s1)]
    assert f @ (s1.x - s0.x) == pytest.approx(stored[0] - stored[1], rel=1e-12)
    np.testing.assert_allclose(system.mean_force(s0, s0), system.force(s0), rtol=1e-14)
    swapped = system.mean_force(s1, s0)
    np.testing.assert_allclose(swapped, f, rtol=0.0, atol=1e-13 * np.abs(f).max())


def test_second_order_damping_and_forcing_act_at_the_middle():
    """What the mean force does beyond the potential: -D v and the drive, both at the middle."""
    damping = Rayleigh(0.3, 0.1)
    system, s0 = chain(damping=damping, drive=0.7)
    plain, _ = chain()
    s0, s1 = mean_states(s0)
    middle = State(s0.t + 0.1, 0.5 * (s0.x + s1.x), 0.5 * (s0.v + s1.v))
    extra = system.mean_force(s0, s1) - plain.mean_force(s0, s1)
    expected = system.force(middle) - plain.force(middle)
    np.testing.assert_allclose(extra, expected, rtol=0.0, atol=1e-9)


def test_second_order_tangent_is_half_the_one_at_the_middle():
    system, s0 = chain(damping=Rayleigh(0.3, 0.1))
    s0, s1 = mean_states(s0)
    ours = system.mean_tangent(s0, s1)
    middle = State(s0.t + 0.1, 0.5 * (s0.x + s1.x), 0.5 * (s0.v + s1.v))
    theirs = system.tangent(middle)
    np.testing.assert_allclose(ours.matrix(1.0, 2.0, 4.0), theirs.matrix(1.0, 1.0, 2.0))
    assert not ours.symmetric and not ours.constant
    system, s0 = linear()
    ours = system.mean_tangent(s0, s0)
    assert ours.symmetric and ours.constant
    f = lambda x: system.mean_force(s0, State(0.0, x, s0.v))  # noqa: E731
    np.testing.assert_allclose(ours.matrix(0.0, 1.0, 0.0), -differences(f, s0.x, 1e-3), rtol=1e-9)


def test_second_order_keeps_its_energy():
    for make in (chain, linear, duffing):
        system, s0 = make()
        states, _, _ = march(EnergyMomentum(), system, s0, [0.3] * 100)
        energies = [sum(system.energy(s).values()) for s in states]
        np.testing.assert_allclose(energies, energies[0], rtol=1e-9)


def test_second_order_needs_the_potential():
    system = SecondOrder(size=1, force=lambda x: -(x**3), jacobian=lambda x: -3 * np.diag(x**2))
    system, s0 = system.bind([1.0])
    with pytest.raises(InputError, match="energy-momentum needs the potential: give"):
        system.mean_force(s0, s0)


def test_second_order_forced_by_time_alone_needs_none():
    system, s0 = SecondOrder(
        stiffness=[[2.0]], force=lambda t, x: np.array([np.sin(t)]), jacobian=0
    ).bind([1.0])
    s1 = State(0.4, np.array([1.5]), s0.v)
    assert system.mean_force(s0, s1)[0] == pytest.approx(np.sin(0.2) - 2.0 * 1.25, rel=1e-14)


def test_second_order_global_matrix():
    system, s = chain(damping=Rayleigh(0.3, 0.1))
    A = system.linear_part().tangent.matrix(0.0, 1.0, 0.0)
    M = system.linear_part().tangent.matrix(1.0, 0.0, 0.0)
    matrix = system.global_matrix(0.5, 2.0)
    np.testing.assert_allclose(matrix.toarray(), M + 0.5 * A + 2.0 * (0.3 * M + 0.1 * A))
    layout = system.global_layout(s, s, None, True)
    assert system.global_layout(s, s, layout, True) is layout
    with pytest.raises(InputError, match=r"no local step: give the stiff linear part"):
        duffing()[0].global_matrix(1.0)
