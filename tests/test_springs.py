"""Springs that stiffen and yield; secant form and products without a matrix."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from systems import prepared_alone
from thinned import drawn

import stiffly
from stiffly.bodies import Springs, System
from stiffly.contracts import Power, State
from stiffly.errors import InputError
from stiffly.meshes import lattice
from stiffly.parts.part import MatrixFreePart, SettlingPart

BLOCK = lattice(3, 2, 2)
N = len(BLOCK.positions)
M = len(BLOCK.edges)
LAWS = ("linear", "cubic")


def prepared(springs, fixed=(), rest=BLOCK.positions):
    free = np.setdiff1d(np.arange(len(rest)), fixed)
    return prepared_alone(springs, rest, free, rest=rest)


def random_body(seed, law="cubic", squeeze=1.0, noise=0.3, fixed=()):
    rng = np.random.default_rng(seed)
    springs = Springs(BLOCK.edges, rng.uniform(10.0, 100.0, M), law=law)
    part, pattern = prepared(springs, fixed)
    return part, pattern, squeeze * BLOCK.positions + noise * rng.standard_normal((N, 3))


def gradient(part, x):
    out = np.zeros_like(x)
    part.add_gradient(x, out)
    return out


def matrix(pattern, blocks):
    """(3n, 3n) over the free particles."""
    n = len(pattern.indptr) - 1
    dense = np.zeros((n, 3, n, 3))
    rows = np.repeat(np.arange(n), np.diff(pattern.indptr))
    dense[rows, :, pattern.indices, :] = blocks
    return dense.reshape(3 * n, 3 * n)


def tangent(part, pattern, x):
    blocks, pressed = np.zeros((pattern.nnz, 3, 3)), np.zeros(len(x))
    part.add_blocks(x, blocks, pressed)
    return matrix(pattern, blocks), pressed


def differences(function, x, e=1e-6):
    """d function / d x over all coordinates, by central differences: (..., x.size)."""
    steps = e * np.eye(x.size).reshape(-1, *x.shape)
    return np.stack([(function(x + d) - function(x - d)) / (2 * e) for d in steps], axis=-1)


# ---------------------------------------------------------------------- the laws


@pytest.mark.parametrize("law", LAWS)
def test_gradient_and_tangent_are_the_derivatives(law):
    part, pattern, x = random_body(1, law)
    assert part.bounded and part.pairwise and not part.linear
    expected = differences(part.energy, x).reshape(N, 3)
    np.testing.assert_allclose(gradient(part, x), expected, rtol=1e-7, atol=1e-6)
    K, _ = tangent(part, pattern, x)
    expected = differences(lambda x: gradient(part, x).ravel(), x)
    np.testing.assert_allclose(K, expected, rtol=1e-6, atol=1e-4)


def test_cubic_force_is_what_the_law_says():
    """k (e + e^3/l^2) with k = 2, l = 0.5: 4 N at twice the length, and -1 N at none."""
    part, _ = prepared(Springs([[0, 1]], 2.0, 0.5, law="cubic"), rest=np.zeros((2, 3)))
    for length, force in ((1.0, 2.0), (0.5, 0.0), (1e-12, -2.0)):
        x = np.array([[0.0, 0, 0], [length, 0, 0]])
        np.testing.assert_allclose(gradient(part, x)[1], [force, 0, 0], atol=1e-10)
    assert part.energy(np.array([[0.0, 0, 0], [1.0, 0, 0]])) == pytest.approx(
        2.0 * (0.125 + 0.0625 / 4 / 0.25)
    )


def test_cubic_is_linear_near_rest():
    x = BLOCK.positions + 1e-6 * np.random.default_rng(0).standard_normal((N, 3))
    forces = [gradient(prepared(Springs(BLOCK.edges, 50.0, law=law))[0], x) for law in LAWS]
    np.testing.assert_allclose(forces[1], forces[0], rtol=1e-9)


@drawn(20)
@given(seed=st.integers(0, 2**32 - 1), law=st.sampled_from(LAWS))
def test_no_resultant_and_no_torque(seed, law):
    part, _, x = random_body(seed, law, noise=1.0)
    f = gradient(part, x)
    scale = np.abs(f).max()
    np.testing.assert_allclose(f.sum(axis=0), 0.0, atol=1e-12 * scale)
    np.testing.assert_allclose(np.cross(x, f).sum(axis=0), 0.0, atol=1e-11 * scale)


@drawn(25)
@given(seed=st.integers(0, 2**32 - 1), squeeze=st.floats(0.2, 1.5), law=st.sampled_from(LAWS))
def test_bounds_hold_for_tangent_and_secant(seed, squeeze, law):
    """K >= -2 diag(pressed), and K <= 2 diag(K) + that much: what the System builds upon."""
    fixed = np.random.default_rng(seed).choice(N, 2, replace=False)
    part, pattern, x = random_body(seed, law, squeeze, 0.1, fixed)
    K, pressed = tangent(part, pattern, x)
    free = np.setdiff1d(np.arange(N), fixed)
    P = np.diag(np.repeat(2.0 * pressed[free], 3))
    S = np.zeros((pattern.nnz, 3, 3))
    part.add_secant(x, S, other := np.zeros(N))
    np.testing.assert_allclose(other, pressed, rtol=1e-12)
    scale = np.abs(K).max()
    assert np.linalg.eigvalsh(K + P)[0] >= -1e-12 * scale
    assert np.linalg.eigvalsh(matrix(pattern, S) + P)[0] >= -1e-12 * scale
    own = np.zeros_like(K)
    for i in range(0, len(K), 3):
        own[i : i + 3, i : i + 3] = K[i : i + 3, i : i + 3]
    assert np.linalg.eigvalsh(2.0 * (own + P) - K)[0] >= -1e-12 * scale


# ---------------------------------------------------------------------- secant, products


@pytest.mark.parametrize("law", LAWS)
def test_secant_reproduces_the_force(law):
    part, pattern, x = random_body(3, law)
    S = np.zeros((pattern.nnz, 3, 3))
    part.add_secant(x, S)
    np.testing.assert_allclose(
        matrix(pattern, S) @ x.ravel(), gradient(part, x).ravel(), atol=1e-11
    )


@pytest.mark.parametrize("law", LAWS)
def test_product_is_the_tangents(law):
    part, pattern, x = random_body(4, law)
    b = np.random.default_rng(5).standard_normal((N, 3))
    out = np.ones((N, 3))
    part.add_product(x, b, out)
    K, _ = tangent(part, pattern, x)
    np.testing.assert_allclose(out.ravel() - 1.0, K @ b.ravel(), atol=1e-10)
    assert not isinstance(part, MatrixFreePart)  # blocks exist, and the System uses them


# ---------------------------------------------------------------------- yielding


def test_only_yielding_springs_settle():
    assert not isinstance(prepared(Springs([[0, 1]], 1.0, 1.0))[0], SettlingPart)
    part, _ = prepared(Springs([[0, 1]], 1.0, 1.0, yield_strain=0.1))
    assert isinstance(part, SettlingPart)


@pytest.mark.parametrize("law", LAWS)
def test_yielding_leaves_the_limit_as_elastic_strain(law):
    """Five springs at strains 0.3, 0.05, 0, -0.05, -0.3 with a limit of 0.1."""
    strain = np.array([0.3, 0.05, 0.0, -0.05, -0.3])
    edges = np.arange(10).reshape(5, 2)
    x = np.zeros((10, 3))
    x[:, 1] = np.repeat(np.arange(5), 2)
    x[1::2, 0] = 2.0 * (1.0 + strain)
    springs = Springs(edges, 7.0, 2.0, law=law, yield_strain=0.1)
    part, _ = prepared(springs, rest=x)
    start, before, v = part, part.energy(x), np.ones((10, 3))
    part = start.having(start.memory())
    power = part.settle(0.0, 0.01, x, v)
    np.testing.assert_allclose(part.rest[1:4], 2.0)
    np.testing.assert_allclose(part.rest[[0, 4]], [2.6 / 1.1, 1.4 / 0.9])
    assert power.added == 0.0
    assert power.dissipated == pytest.approx(before - part.energy(x)) and power.dissipated > 0.0
    np.testing.assert_array_equal(v, 1.0)
    # forces come from the new rest lengths
    expected = differences(part.energy, x).reshape(10, 3)
    np.testing.assert_allclose(gradient(part, x), expected, atol=1e-6)
    # nothing more happens while nothing moves
    assert part.settle(0.0, 0.01, x, v) == Power()
    # what it was made from, and the user's own arrays, know nothing of it
    np.testing.assert_array_equal(start.rest, 2.0)
    assert start.energy(x) == before
    np.testing.assert_array_equal(springs.rest, 2.0)
    # and what it remembers is all that there is to know
    again = start.having(part.memory())
    assert again.energy(x) == part.energy(x)
    np.testing.assert_array_equal(gradient(again, x), gradient(part, x))


def test_a_spring_of_no_length_does_not_yield_to_nothing():
    x = np.zeros((2, 3))
    part, _ = prepared(Springs([[0, 1]], 1.0, 1.0, yield_strain=0.1), rest=x)
    assert part.settle(0.0, 0.1, x, x.copy()) == Power()
    np.testing.assert_array_equal(part.rest, 1.0)


def test_a_bar_pulled_too_far_stays_long_and_the_ledger_closes():
    """One free mass, pulled by its own speed: it yields, and comes to rest about a longer bar."""
    springs = Springs([[0, 1]], 100.0, 1.0, yield_strain=0.05)
    system = System(np.ones(2), [springs], fixed=[0])
    x0, v0 = [[0.0, 0, 0], [1.0, 0, 0]], [[0.0, 0, 0], [2.0, 0, 0]]
    runs = [
        stiffly.simulate(system, x0=x0, v0=v0, integrator="exprb42", step=1e-3, duration=2.0)
        for _ in range(2)
    ]
    for run in runs:
        far = run.positions[:, 1, 0]
        late = run.times > 1.0
        # the speed 2 m/s would stretch an elastic bar by v sqrt(m/k) = 0.2
        longer = 0.5 * (far[late].max() + far[late].min())
        assert 1.1 < longer < far.max() - 0.04
        # what is left swings at the limit: amplitude s l
        assert np.ptp(far[late]) / 2 == pytest.approx(0.05 * longer, rel=0.02)
        assert abs(run.energy.numerical).max() < 1e-12
        assert run.energy.dissipated[-1] == pytest.approx(
            2.0 - 0.5 * 100.0 * (0.05 * longer) ** 2, rel=0.02
        )
    np.testing.assert_array_equal(runs[0].positions, runs[1].positions)


# ---------------------------------------------------------------------- in a System, refusals


@pytest.mark.parametrize("law", LAWS)
def test_system_secant(law):
    x = 1.1 * BLOCK.positions + 0.1
    system, s = System(1.0, [Springs(BLOCK.edges, 5.0, law=law)], rest=BLOCK.positions).bind(x)
    np.testing.assert_allclose(-system.secant(s).apply(s.x), system.force(s), atol=1e-11)
    K = system.tangent(State(0.0, s.x, s.v)).stiffness
    assert K.bounds().certain


def test_name_labels_the_energy():
    system, s = System(np.ones(2), [Springs([[0, 1]], 2.0, 1.0, name="bending")]).bind(
        [[0.0, 0, 0], [2.0, 0, 0]]
    )
    assert system.energy(s)["bending"] == pytest.approx(1.0)


PAIR = [[0, 1]]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Springs([[0, 1], [2]], 1.0), "edges has rows of different lengths"),
        (lambda: Springs(None, 1.0), "edges has shape"),
        (lambda: Springs(PAIR, "a"), "stiffness must hold numbers"),
        (lambda: Springs(PAIR, 1.0, 1.0, law="square"), "law 'square' is unknown.*'cubic'"),
        (lambda: Springs(PAIR, 1.0, 0.0, law="cubic"), r"spring 0 \(0-1\): rest .*cubic.*l > 0"),
        (lambda: Springs(PAIR, 1.0, 0.0, yield_strain=0.1), "spring 0 .*yield_strain"),
        (lambda: Springs(PAIR, 1.0, 1.0, yield_strain=0.0), "spring 0 .*yield strain.*s > 0"),
        (lambda: Springs(PAIR, 1.0, 1.0, yield_strain=np.nan), "yield_strain is nan"),
        (lambda: Springs(PAIR, 1.0, 1.0, yield_strain=[0.1, 0.2]), "yield_strain has shape"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(InputError, match=words) as error:
        call()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("none", [[], np.empty((0, 2)), np.empty((0, 2), dtype=np.int64)])
@pytest.mark.parametrize("options", [{}, {"yield_strain": 0.1}, {"law": "cubic"}])
def test_no_springs_do_nothing(none, options):
    x = np.random.default_rng(0).standard_normal((4, 3))
    parts = [Springs(none, 1.0, **options), Springs([[0, 1]], 2.0)]
    with_none, alone = (System(np.ones(4), p, rest=1.1 * x).bind(x) for p in (parts, parts[1:]))
    assert with_none[0].energy(with_none[1]) == alone[0].energy(alone[1])
    np.testing.assert_array_equal(with_none[0].force(with_none[1]), alone[0].force(alone[1]))
    run = stiffly.simulate(
        System(np.ones(4), parts[:1], rest=x), x, np.ones((4, 3)), step=0.1, duration=0.2
    )
    np.testing.assert_allclose(run.positions[-1], x + 0.2, rtol=1e-14)  # nothing holds them
