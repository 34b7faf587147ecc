"""Bodies of particles: forces, tangents, fixed particles, refusals."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from thinned import drawn

from stiffly import contracts
from stiffly.bodies import Gravity, Rayleigh, Springs, System
from stiffly.contracts import State
from stiffly.errors import InputError
from stiffly.meshes import lattice, rope

BLOCK = lattice(3, 3, 2)
N = len(BLOCK.positions)


def consistent_mass(edges, n):
    """SPD with the coupling of a linear element: lumped part plus a graph matrix."""
    ones = np.ones(len(edges))
    graph = sp.coo_matrix((ones, (edges[:, 0], edges[:, 1])), shape=(n, n))
    graph = graph + graph.T
    return sp.csr_matrix(sp.diags(2.0 + np.asarray(graph.sum(axis=1)).ravel()) + 0.5 * graph)


def body(seed=0, noise=0.2, **options):
    """A block with every spring at its own stiffness, in a random compressed and bent state."""
    rng = np.random.default_rng(seed)
    options = {"mass": rng.uniform(0.5, 2.0, N), "fixed": [0, 4], **options}
    springs = Springs(BLOCK.edges, rng.uniform(10.0, 100.0, len(BLOCK.edges)))
    system = System(parts=[springs, Gravity()], rest=BLOCK.positions, **options)
    x0 = BLOCK.positions + noise * rng.standard_normal((N, 3))
    v0 = rng.standard_normal((N, 3))
    v0[system.fixed] = 0.0
    return system.bind(x0, v0)


def jacobian(function, x, e=1e-6):
    return np.stack(
        [(function(x + e * d) - function(x - e * d)) / (2 * e) for d in np.eye(x.size)], axis=1
    )


MASSES = {
    "unit": 1.0,
    "lumped": np.linspace(1.0, 2.0, N),
    "consistent": consistent_mass(BLOCK.edges, N),
}


# ---------------------------------------------------------------------- derivatives


@pytest.mark.parametrize("mass", MASSES)
@pytest.mark.parametrize("fixed", [(), [0, 4]])
def test_force_is_minus_the_energy_gradient(mass, fixed):
    system, s = body(mass=MASSES[mass], fixed=fixed)
    rest = np.zeros(system.size)

    def potential(x):
        return np.array([sum(system.energy(State(0.0, x, rest)).values())])

    f = system.force(State(0.0, s.x, rest))
    np.testing.assert_allclose(-jacobian(potential, s.x)[0], f, atol=1e-6)
    np.testing.assert_allclose(system.mass.apply(system.acceleration(s)), system.force(s))


@pytest.mark.parametrize("damping", [None, Rayleigh(0.3), Rayleigh(0.3, 0.02)])
@pytest.mark.parametrize("mass", MASSES)
def test_tangent_is_minus_the_force_jacobian(mass, damping):
    system, s = body(mass=MASSES[mass], damping=damping)
    tangent = system.tangent(s)
    K = -jacobian(lambda x: system.force(State(0.0, x, s.v)), s.x)
    D = -jacobian(lambda v: system.force(State(0.0, s.x, v)), s.v)
    M = system.mass.matrix().toarray()
    assert tangent.symmetric
    np.testing.assert_allclose(tangent.stiffness.todense(), K, atol=1e-5)
    np.testing.assert_allclose(
        tangent.matrix(2.0, 3.0, 4.0).toarray(), 2 * M + 3 * K + 4 * D, atol=1e-4
    )
    b = np.random.default_rng(1).standard_normal((system.size, 2))
    np.testing.assert_allclose(M @ tangent.stiffness.apply(b), K @ b, atol=1e-4)
    if damping is None:
        assert tangent.damping is None and system.conservative
    elif damping.beta == 0.0:
        assert tangent.damping == damping and not system.conservative
    else:  # the rest stiffness does not commute with K(x)
        np.testing.assert_allclose(M @ tangent.damping.apply(s.v), D @ s.v, atol=1e-6)
        assert system.linear_part().tangent.damping == damping


@pytest.mark.parametrize("mass", MASSES)
def test_operator_is_self_adjoint_in_the_mass_product(mass):
    system, s = body(mass=MASSES[mass])
    A = system.tangent(s).stiffness
    a, b = np.random.default_rng(2).standard_normal((2, system.size, 3))
    np.testing.assert_allclose(A.dot(a, A.apply(b)), A.dot(A.apply(a), b), rtol=1e-10)
    lam, U, W = A.eigenbasis()
    np.testing.assert_allclose(U @ (lam[:, None] * (W @ b)), A.apply(b), atol=1e-9)


def test_damping_power_is_what_the_damping_force_takes():
    system, s = body(damping=Rayleigh(0.3, 0.02))
    undamped, _ = body()
    taken = (undamped.force(s) - system.force(s)) @ s.v
    assert system.power(s).dissipated == pytest.approx(taken, rel=1e-10)
    assert taken > 0.0
    assert undamped.power(s) == contracts.Power()


# ---------------------------------------------------------------------- invariants


@drawn(20)
@given(seed=st.integers(0, 2**32 - 1))
def test_internal_forces_have_no_resultant_and_no_torque(seed):
    rng = np.random.default_rng(seed)
    springs = Springs(BLOCK.edges, 50.0, rng.uniform(0.0, 2.0, len(BLOCK.edges)))
    system, s = System(np.ones(N), [springs]).bind(rng.standard_normal((N, 3)))
    f = system.force(s).reshape(-1, 3)
    scale = np.abs(f).max()
    np.testing.assert_allclose(f.sum(axis=0), 0.0, atol=1e-12 * scale)
    torque = np.cross(system.positions(s), f).sum(axis=0)
    np.testing.assert_allclose(torque, 0.0, atol=1e-11 * scale)


@drawn(25)
@given(seed=st.integers(0, 2**32 - 1), squeeze=st.floats(0.3, 1.5))
def test_lower_bound_holds_with_compressed_springs(seed, squeeze):
    rng = np.random.default_rng(seed)
    fixed = rng.choice(N, 3, replace=False)
    system = System(
        rng.uniform(0.1, 3.0, N), [Springs(BLOCK.edges, 100.0)], fixed=fixed, rest=BLOCK.positions
    )
    bound, s = system.bind(squeeze * BLOCK.positions + 0.1 * rng.standard_normal((N, 3)))
    A = bound.tangent(s).stiffness
    lam = A.eigenbasis()[0]
    bounds = A.bounds()
    assert bounds.certain
    assert bounds.low <= lam[0] + 1e-10 * lam[-1]
    assert bounds.high >= lam[-1] * (1.0 - 1e-10)


def test_lower_bound_is_zero_when_nothing_is_compressed():
    for mass in MASSES.values():
        system, _ = body(mass=mass)
        s = State(0.0, 1.3 * BLOCK.positions[system.free].ravel(), np.zeros(system.size))
        bound, _ = system.bind(1.3 * BLOCK.positions)
        assert bound.tangent(s).stiffness.low == 0.0
    compressed, s = body(mass=MASSES["consistent"])
    assert compressed.tangent(s).stiffness.low is None  # not provable: nothing is claimed


def test_two_ropes_are_two_bodies():
    mesh = rope(5)
    X = np.concatenate([mesh.positions, mesh.positions + 1.0])
    edges = np.concatenate([mesh.edges, mesh.edges + 5])
    s0 = np.zeros(30)
    system = System(1.0, [Springs(edges, 1.0)], rest=X)
    labels = system.tangent(State(0.0, X.ravel(), s0)).stiffness.components()
    np.testing.assert_array_equal(labels, np.repeat([0, 1], 15))
    # a fixed particle in the middle separates what it holds
    system, s = System(1.0, [Springs(mesh.edges, 1.0)], fixed=[2], rest=mesh.positions).bind(
        mesh.positions
    )
    np.testing.assert_array_equal(system.tangent(s).stiffness.components(), np.repeat([0, 1], 6))


# ---------------------------------------------------------------------- fixed particles, binding


def test_fixed_particles_stay_where_bind_put_them():
    mask = np.zeros(N, dtype=bool)
    mask[[0, 4]] = True
    system, s = body(fixed=mask)
    assert isinstance(system, contracts.System)
    assert system.size == 3 * (N - 2) == s.x.size
    x = system.positions(State(s.t, s.x + 1.0, s.v))
    np.testing.assert_allclose(x[~mask], system.positions(s)[~mask] + 1.0)
    np.testing.assert_array_equal(x[mask], system.positions(s)[mask])
    np.testing.assert_array_equal(system.velocities(s)[mask], 0.0)
    np.testing.assert_array_equal(system.velocities(s)[~mask].ravel(), s.v)


def test_fixed_particles_pull_as_free_ones_do():
    whole, s = body(fixed=())
    held, t = body(fixed=[0, 4])
    expected = whole.force(s).reshape(-1, 3)[held.free].ravel()
    np.testing.assert_allclose(held.force(t), expected, atol=1e-12)


def test_bind_leaves_the_system_as_it_was():
    system = System(np.ones(2), [Springs([[0, 1]], 2.0, 1.0)], fixed=[0])
    near, s = system.bind([[0, 0, 0], [2.0, 0, 0]])
    far, t = system.bind([[-5.0, 0, 0], [2.0, 0, 0]])
    np.testing.assert_allclose(near.force(s), [-2.0, 0, 0])
    np.testing.assert_allclose(far.force(t), [-12.0, 0, 0])
    np.testing.assert_allclose(near.linear_part().reference, s.x)
    with pytest.raises(InputError, match="bind"):
        system.force(s)


def test_linear_springs_have_one_constant_tangent():
    system, s = System(
        1.5,
        [Springs(BLOCK.edges, 3.0, 0.0), Gravity()],
        rest=BLOCK.positions,
        damping=Rayleigh(1, 2),
    ).bind(BLOCK.positions)
    tangent = system.tangent(s)
    assert tangent.constant and tangent.stiffness.constant
    assert tangent is system.tangent(State(0.0, 2 * s.x, s.v)) is system.linear_part().tangent
    assert tangent.damping == Rayleigh(1, 2)
    D = -jacobian(lambda v: system.force(State(0.0, s.x, v)), s.v)
    np.testing.assert_allclose(tangent.matrix(0.0, 0.0, 1.0).toarray(), D, atol=1e-6)


def test_linear_part_is_the_tangent_at_rest():
    system, s = body(noise=0.0, fixed=[3])
    part = system.linear_part()
    assert part is system.linear_part() and part.tangent.constant
    np.testing.assert_array_equal(part.reference, s.x)
    at_rest = system.tangent(s).stiffness.todense()
    # blocks here, bars there: the same but for rounding
    rounding = 4.0 * np.finfo(float).eps * np.abs(at_rest).max()
    np.testing.assert_allclose(part.tangent.stiffness.todense(), at_rest, rtol=0, atol=rounding)


def test_energies_of_one_name_are_summed():
    springs = Springs([[0, 1]], 2.0, 1.0)
    system, s = System(np.array([1.0, 3.0]), [springs, springs, Gravity((0, 0, -10))]).bind(
        [[0, 0, 1.0], [0, 0, 4.0]], [[1.0, 0, 0], [0, 0, 0]]
    )
    assert system.energy(s) == {"kinetic": 0.5, "elastic": 8.0, "gravity": 130.0}


# ---------------------------------------------------------------------- refusals

PAIR = [[0, 1]]
X2 = [[0.0, 0, 0], [1.0, 0, 0]]


def pair(mass=(1.0, 1.0), parts=None, **options):
    return System(
        np.asarray(mass), [Springs(PAIR, 1.0, 1.0)] if parts is None else parts, **options
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Springs([0, 1], 1.0, 1.0), "shape"),
        (lambda: Springs([[0.0, 1.0]], 1.0, 1.0), "integers"),
        (lambda: Springs([[0, 1], [-1, 2]], 1.0, 1.0), "spring 1 .*negative"),
        (lambda: Springs([[0, 1], [2, 2]], 1.0, 1.0), "spring 1 .*itself"),
        (lambda: Springs([[0, 1], [1, 2], [1, 0]], 1.0, 1.0), "spring 2 .*repeats"),
        (lambda: Springs(PAIR, -1.0, 1.0), "spring 0 .*stiffness"),
        (lambda: Springs(PAIR, [1.0, 2.0], 1.0), "stiffness has shape"),
        (lambda: Springs(PAIR, np.nan, 1.0), "stiffness is nan"),
        (lambda: Springs(PAIR, 1.0, -1.0), "spring 0 .*rest length"),
        (lambda: Springs(PAIR, 1.0, [np.inf]), r"rest\[0\] is inf"),
        (lambda: Springs(PAIR, 1.0, rest_positions=[[0, 0, 0], [0, 0, 0]]), "zero length"),
        (lambda: Springs(PAIR, 1.0, rest_positions=[[0, 0, 0]]), "only 1 particles"),
        (lambda: Springs(PAIR, 1.0, rest_positions=[0, 0, 0]), "shape"),
        (lambda: pair(parts=[Springs([[0, 2]], 1.0, 1.0)]), "only 2 particles"),
        (lambda: pair(parts=[Springs(PAIR, 1.0)]), "rest lengths"),
        (lambda: pair(parts=[Springs(PAIR, 1.0)], rest=[[0, 0, 0]] * 2), "zero length"),
        (lambda: pair(mass=(1.0, 0.0)), r"mass\[1\] = 0"),
        (lambda: pair(mass=1.0), "rest=X"),
        (lambda: pair(mass=np.ones((2, 3))), "shape"),
        (lambda: pair(rest=np.zeros((3, 3))), "shape"),
        (lambda: pair(rest=np.zeros(6)), "rest has shape"),
        (lambda: pair(fixed=[2]), "particle 2"),
        (lambda: pair(fixed=[-1]), "particle -1"),
        (lambda: pair(fixed=[0.5]), "indices"),
        (lambda: pair(fixed=[True]), "mask"),
        (lambda: pair(fixed=[0, 1]), "every particle is fixed"),
        (lambda: pair(damping=0.1), "Rayleigh"),
        (lambda: pair(damping=Rayleigh(-1.0)), "alpha"),
        (lambda: pair().bind(np.zeros(6)), "x0 has shape"),
        (lambda: pair().bind([[0, 0, np.nan], [0, 0, 0]]), r"x0\[0, 2\] is nan"),
        (lambda: pair().bind(X2, [[0, 0, 0]]), "v0 has shape"),
        (lambda: pair(fixed=[1]).bind(X2, X2), "moves particle 1"),
        (lambda: pair().linear_part(), "rest shape"),
        (lambda: Gravity((0, 0)), "shape"),
    ],
)
def test_bad_bodies_are_refused_in_one_line(call, words):
    with pytest.raises(InputError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: System(np.ones(2), None), "parts must be a list of parts, got NoneType"),
        (lambda: System(np.ones(2), [Gravity]), r"holds the class Gravity: write Gravity\(...\)"),
        (lambda: System(np.ones(2), [], damping=np.eye(3)), "not ndarray"),
        (lambda: System(np.ones(2), [], damping=Rayleigh("a")), "alpha must be one number"),  # type: ignore[arg-type]
        (lambda: System([], []), "there are no particles"),
        (lambda: System(np.ones(2), [Springs([[0, 1]], 1.0, 1.0, name="kinetic")]), "'kinetic'"),
        (lambda: System(np.ones(2), [Springs([[0, 1], [1]], 1.0, 1.0)]), "different lengths"),
    ],
)
def test_what_is_no_part_mass_or_damping_is_named(make, message):
    with pytest.raises(InputError, match=message):
        make()
