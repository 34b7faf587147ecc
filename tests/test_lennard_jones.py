"""Lennard-Jones forces: derivatives, kernels, neighbour lists, the cutoff, refusals."""

import numba
import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from thinned import drawn

import stiffly
from stiffly.bodies import LennardJones, Springs, System
from stiffly.errors import InputError
from stiffly.kernels import cpu
from stiffly.parts.lennard_jones import PreparedLennardJones, require_apart
from stiffly.parts.part import MatrixFreePart

CHAIN = np.stack([np.arange(11), np.arange(1, 12)], axis=1)
CUTOFFS = pytest.mark.parametrize("cutoff", [None, 2.2])


def atoms(seed=0, count=12):
    """A jittered grid: no two atoms on top of each other, many inside the cutoff's switch."""
    rng = np.random.default_rng(seed)
    side = int(np.ceil(count ** (1 / 3)))
    grid = np.stack(np.meshgrid(*3 * [np.arange(side)], indexing="ij"), axis=3).reshape(-1, 3)
    return 1.05 * grid[:count] + rng.uniform(-0.1, 0.1, (count, 3))


def prepared(count=12, cutoff=None, exclude=CHAIN, seed=0):
    rng = np.random.default_rng(seed)
    epsilon, sigma = rng.uniform(0.5, 2.0, count), rng.uniform(0.8, 1.1, count)
    return PreparedLennardJones(epsilon, sigma, np.asarray(exclude).reshape(-1, 2), cutoff)


def jacobian(function, x, e=1e-6):
    columns = []
    for d in np.eye(x.size):
        d = e * d.reshape(x.shape)
        columns.append((function(x + d) - function(x - d)) / (2 * e))
    return np.stack([np.ravel(c) for c in columns], axis=1)


def gradient(part, x):
    out = np.zeros_like(x)
    part.add_gradient(x, out)
    return out


def product(part, x, b):
    out = np.zeros_like(x)
    part.add_product(x, b, out)
    return out


# ---------------------------------------------------------------------- physics


def test_a_pair_follows_the_formula():
    part = PreparedLennardJones(np.array([2.0, 8.0]), np.array([1.0, 1.4]), np.empty((0, 2)), None)
    for r in (1.0, 1.2, 1.2 * 2 ** (1 / 6), 2.0):
        expected = 4 * 4.0 * ((1.2 / r) ** 12 - (1.2 / r) ** 6)  # sqrt(2 * 8), (1 + 1.4) / 2
        x = np.array([[0.0, 0.0, 0.0], [0.0, r, 0.0]])
        assert part.energy(x) == pytest.approx(expected, rel=1e-13, abs=1e-14)
    bottom = np.array([[0.0, 0.0, 0.0], [0.0, 1.2 * 2 ** (1 / 6), 0.0]])
    assert part.energy(bottom) == pytest.approx(-4.0, rel=1e-13)
    np.testing.assert_allclose(gradient(part, bottom), 0.0, atol=1e-12)


@CUTOFFS
def test_gradient_and_product_are_derivatives(cutoff):
    part, x = prepared(cutoff=cutoff), atoms()
    assert isinstance(part, MatrixFreePart)
    g = gradient(part, x)
    difference = jacobian(part.energy, x)[0].reshape(x.shape)
    np.testing.assert_allclose(g, difference, atol=1e-7 * np.abs(g).max())
    K = jacobian(lambda y: gradient(part, y), x)
    b = np.random.default_rng(1).standard_normal(x.shape)
    scale = np.abs(K).max()
    np.testing.assert_allclose(product(part, x, b).ravel(), K @ b.ravel(), atol=1e-7 * scale)
    rows, columns, blocks = part.triplets(x)
    full = np.zeros((12, 12, 3, 3))
    np.add.at(full, (rows, columns), blocks)
    np.testing.assert_allclose(full.swapaxes(1, 2).reshape(36, 36), K, atol=1e-7 * scale)


@drawn(20)
@given(seed=st.integers(0, 2**32 - 1), cutoff=st.sampled_from([None, 1.5, 3.0]))
def test_no_resultant_no_torque_and_excluded_pairs_do_not_count(seed, cutoff):
    rng = np.random.default_rng(seed)
    x = atoms(seed)
    part = prepared(cutoff=cutoff, exclude=rng.integers(0, 12, (8, 2)), seed=seed)
    g = gradient(part, x)
    scale = 1.0 + np.abs(g).max()
    np.testing.assert_allclose(g.sum(axis=0), 0.0, atol=1e-12 * scale)
    np.testing.assert_allclose(np.cross(x, g).sum(axis=0), 0.0, atol=1e-11 * scale)
    nothing = PreparedLennardJones(
        np.ones(3), np.ones(3), np.array([[0, 1], [2, 1], [0, 2], [2, 0]]), cutoff
    )
    assert nothing.energy(x[:3]) == 0.0 and not gradient(nothing, x[:3]).any()


def test_cutoff_changes_nothing_inside_and_is_smooth():
    """Inside 0.9 of the cutoff as without it; at both ends of the switch no jump in the energy,
    the force or the tangent; nothing beyond."""
    cut = PreparedLennardJones(np.ones(2), np.ones(2), np.empty((0, 2)), 2.5)
    whole = PreparedLennardJones(np.ones(2), np.ones(2), np.empty((0, 2)), None)
    b = np.array([[0.0, 0, 0], [1.0, 0, 0]])

    def along(part, r):
        x = np.array([[0.0, 0, 0], [r, 0, 0]])
        return np.array([part.energy(x), gradient(part, x)[1, 0], product(part, x, b)[1, 0]])

    for r in (0.9, 1.12, 2.0, 2.249):
        np.testing.assert_allclose(along(cut, r), along(whole, r), rtol=1e-12)
    for edge in (2.25, 2.5):
        jump = along(cut, edge + 1e-7) - along(cut, edge - 1e-7)
        third = 60.0 * 0.0305 / 0.25**3  # of S at most 60 / width^3, times |phi| at 2.25
        np.testing.assert_allclose(jump, 0.0, atol=1.1 * third * 2e-7)
    assert not along(cut, 2.5 + 1e-7).any() and along(cut, 2.49).all()


# ---------------------------------------------------------------------- kernels and lists


@drawn(20)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(2, 40))
def test_kernels_equal_reference(seed, count):
    rng = np.random.default_rng(seed)
    x, b = atoms(seed, count), rng.standard_normal((count, 3))
    exclude = rng.integers(0, count, (count, 2))
    for cutoff in (None, 1.7):
        part = prepared(count, cutoff, exclude, seed)
        if cutoff is None:
            args, names = part._pairs, ("lj_energy", "lj_gradient", "lj_product")
        else:
            args = (*part._list(x), *part._switch)
            names = ("lj_list_energy", "lj_list_gradient", "lj_list_product")
        energy, slope, bend = ([getattr(k, name) for k in (cpu, reference)] for name in names)
        ours, theirs = (f(x, *part._mixing, *args) for f in energy)
        assert ours == pytest.approx(theirs, rel=1e-12, abs=1e-12)
        for functions, vectors in ((slope, (x,)), (bend, (x, b))):
            outs = [np.ones_like(x), np.ones_like(x)]  # not zero: kernels add
            for function, out in zip(functions, outs, strict=True):
                function(*vectors, *part._mixing, *args, out)
            np.testing.assert_allclose(*outs, rtol=0, atol=1e-12 * np.abs(outs[1]).max())
        listed = part._list(x)
        both = [(np.empty((len(listed[1]), 3, 3)), np.empty((count, 3, 3))) for _ in range(2)]
        for kernels, blocks in zip((cpu, reference), both, strict=True):
            kernels.lj_blocks(x, *part._mixing, *listed, *part._switch, *blocks)
        for k in range(2):
            scale = np.abs(both[1][k]).max(initial=1.0)
            np.testing.assert_allclose(both[0][k], both[1][k], rtol=0, atol=1e-12 * scale)


@drawn(30)
@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(1, 120),
    reach=st.floats(0.1, 3.0),
    stretch=st.sampled_from([(1, 1, 1), (30, 1, 1), (0, 0, 1), (1, 1e9, 1)]),
)
def test_neighbour_lists_equal_reference(seed, count, reach, stretch):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2.0, 2.0, (count, 3)) * stretch
    exclude = prepared(count, None, rng.integers(0, count, (count, 2)))._excluded
    for ours, theirs in zip(
        cpu.neighbour_list(x, reach, *exclude),
        reference.neighbour_list(x, reach, *exclude),
        strict=True,
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_neighbour_list_with_more_pairs_than_expected():
    x = np.random.default_rng(0).uniform(0.0, 1.0, (300, 3))
    none = prepared(300, None, [])._excluded
    start, neighbour = cpu.neighbour_list(x, 3.0, *none)
    assert len(neighbour) == 300 * 299 and start[-1] == len(neighbour)


@pytest.mark.parametrize("cutoff", [None, 3.0])
def test_threads_give_the_same_bits(cutoff):
    count = 1200
    part, x = prepared(count, cutoff, [[0, 1]]), atoms(0, count)
    assert count**2 > cpu.lennard_jones.PARALLEL_PAIRS
    many = cpu.lennard_jones.PARALLEL_LISTED
    assert cutoff is None or len(part._list(x)[1]) >= many
    b = np.random.default_rng(1).standard_normal(x.shape)
    before, results = numba.get_num_threads(), []
    try:
        for threads in (1, numba.config.NUMBA_NUM_THREADS):
            numba.set_num_threads(threads)
            results.append((gradient(part, x), product(part, x, b), part.energy(x)))
    finally:
        numba.set_num_threads(before)
    for one, many in zip(*results, strict=True):
        np.testing.assert_array_equal(one, many)


def test_forces_do_not_depend_on_when_the_list_was_built():
    rng = np.random.default_rng(3)
    part, x = prepared(64, 2.0, [[0, 1]]), atoms(0, 64)
    part.energy(x)
    first = part._built
    moved = 0
    for _ in range(40):
        x = x + rng.uniform(-0.05, 0.05, x.shape)
        fresh = prepared(64, 2.0, [[0, 1]])
        np.testing.assert_array_equal(gradient(part, x), gradient(fresh, x))
        assert part.energy(x) == fresh.energy(x)
        moved += part._built is not first
    assert 0 < moved < 40  # the list was kept for a while and rebuilt in time


# ---------------------------------------------------------------------- in a system


@pytest.mark.parametrize("cutoff", [None, 2.5])
@pytest.mark.parametrize("method", ["verlet", "exprb42", "midpoint"])
def test_energy_of_a_droplet_is_kept(cutoff, method):
    x0 = 1.05 * atoms(1, 27)
    system = System(np.ones(27), [LennardJones(1.0, 1.0, cutoff=cutoff)])
    kicks = 0.3 * np.random.default_rng(2).standard_normal((27, 3))
    run = stiffly.simulate(system, x0, kicks, integrator=method, step=0.005, duration=0.3)
    kinetic = run.energy.parts["kinetic"]
    assert np.ptp(kinetic) > 1.0  # it moves and meets
    assert np.abs(run.energy.numerical).max() < 2e-3 * np.ptp(kinetic)


def test_system_tangent_with_springs_is_the_force_jacobian():
    x = atoms()
    for cutoff in (None, 2.0):
        parts = [Springs(CHAIN, 5.0), LennardJones(0.7, 1.0, exclude=CHAIN, cutoff=cutoff)]
        system, s = System(np.ones(12), parts, fixed=[3], rest=x).bind(x)
        K = -jacobian(lambda y, c=system, v=s.v: c.force(stiffly.State(0.0, y, v)), s.x)
        scale = np.abs(K).max()
        tangent = system.tangent(s)
        assert tangent.symmetric
        dense = tangent.matrix(0.0, 1.0, 0.0)
        dense = dense if isinstance(dense, np.ndarray) else dense.toarray()
        np.testing.assert_allclose(dense, K, atol=1e-7 * scale)
        np.testing.assert_allclose(tangent.stiffness.apply(s.x), K @ s.x, atol=1e-6 * scale)


# ---------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: LennardJones(-1.0, 1.0), "epsilon = -1.0"),
        (lambda: LennardJones([1.0, -2.0], 1.0), r"epsilon\[1\] = -2.0"),
        (lambda: LennardJones(1.0, 0.0), "sigma = 0.0"),
        (lambda: LennardJones(1.0, np.nan), "sigma is nan"),
        (lambda: LennardJones(1.0, 1.0, cutoff=-2.0), "cutoff = -2: .*greater than 0"),
        (lambda: LennardJones(1.0, 1.0, cutoff=1e-200), "cutoff = 1e-200: give a few sigma"),
        (lambda: LennardJones(1.0, 1.0, cutoff=np.inf), "cutoff is inf"),
        (lambda: LennardJones(1.0, 1.0, cutoff="a"), "cutoff must be one number, got 'a'"),
        (lambda: LennardJones(1.0, 1.0, cutoff=np.ones(2)), "cutoff must be one number"),
        (lambda: LennardJones(1.0, 1.0, exclude=[[0, 1], [2]]), "exclude has rows of different"),
        (lambda: LennardJones(1.0, 1.0, exclude=[0, 1]), "exclude has shape"),
        (lambda: LennardJones(1.0, 1.0, exclude=[[0, -1]]), r"pair 0 \(0--1\).*negative"),
        (lambda: System(np.ones(2), [LennardJones(1.0, 1.0, exclude=[[0, 2]])]), "only 2"),
        (lambda: System(np.ones(2), [LennardJones(1.0, [1.0, 1.0, 1.0])]), "sigma has shape"),
        (
            lambda: System(1.0, [LennardJones(1.0, 2.0)], rest=[[0, 0, 0], [9, 0, 0], [0, 0, 0.1]]),
            "atoms 0 and 2 are 0.05 sigma apart",
        ),
        (
            lambda: require_apart([[0, 0, 0], [0.02, 0, 0]], 1.0, names=["A/N", "A/CA"]),
            r"atoms 0 \(A/N\) and 1 \(A/CA\) are 0.02 sigma",
        ),
    ],
)
def test_bad_input_is_refused_in_one_line(call, words):
    with pytest.raises(InputError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_excluded_atoms_may_touch():
    require_apart([[0, 0, 0], [0.02, 0, 0], [5.0, 0, 0]], 1.0, exclude=[[1, 0]])


@pytest.mark.parametrize("cutoff", [1e9, 1e200])
def test_a_cutoff_beyond_all_atoms_leaves_all_pairs(cutoff):
    x = atoms()
    energies, forces = [], []
    for c in (None, cutoff):
        system, s = System(np.ones(12), [LennardJones(0.7, 1.0, cutoff=c)]).bind(x)
        energies.append(system.energy(s)["lennard-jones"])
        forces.append(system.force(s))
    assert energies[1] == pytest.approx(energies[0], rel=1e-13)
    np.testing.assert_allclose(forces[1], forces[0], rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("cutoff", [None, 2.5])
@pytest.mark.parametrize("method", ["verlet", "exprb42", "midpoint"])
def test_atoms_that_start_in_one_place_are_named(cutoff, method):
    """No rest shape: only the first positions of the run tell."""
    x = atoms()
    x[7] = x[4]
    system = System(np.ones(12), [LennardJones(0.7, 1.0, cutoff=cutoff)])
    with pytest.raises(InputError, match="atoms 4 and 7 are 0 sigma apart"):
        stiffly.simulate(system, x, integrator=method, step=0.001, duration=0.01)
    exclude = [[4, 7]]
    system = System(np.ones(12), [LennardJones(0.7, 1.0, cutoff=cutoff, exclude=exclude)])
    stiffly.simulate(system, x, integrator=method, step=0.0001, duration=0.0002)
