"""Springs from the vertices of tets to the centres of the opposite faces."""

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from systems import prepared_alone
from thinned import drawn

from stiffly.bodies import FaceSprings, System
from stiffly.errors import InputError
from stiffly.kernels import cpu
from stiffly.meshes.grids import grid_tets

SHAPE = (3, 2, 2)
X = np.indices(SHAPE).reshape(3, -1).T.astype(float)
TETS = grid_tets(SHAPE)
N, T = len(X), len(TETS)


def prepared(stiffness=50.0, fixed=(), tets=TETS, rest=X):
    free = np.setdiff1d(np.arange(len(rest)), fixed)
    return prepared_alone(FaceSprings(tets, stiffness), rest, free, rest=rest)


def random_body(seed, squeeze=1.0, noise=0.3, fixed=()):
    rng = np.random.default_rng(seed)
    part, pattern = prepared(rng.uniform(10.0, 100.0, T), fixed)
    return part, pattern, squeeze * X + noise * rng.standard_normal((N, 3))


def gradient(part, x):
    out = np.zeros_like(x)
    part.add_gradient(x, out)
    return out


def matrix(pattern, blocks):
    n = len(pattern.indptr) - 1
    dense = np.zeros((n, 3, n, 3))
    rows = np.repeat(np.arange(n), np.diff(pattern.indptr))
    dense[rows, :, pattern.indices, :] = blocks
    return dense.reshape(3 * n, 3 * n)


def tangent(part, pattern, x, secant=False):
    blocks, pressed = np.zeros((pattern.nnz, 3, 3)), np.zeros(len(x))
    (part.add_secant if secant else part.add_blocks)(x, blocks, pressed)
    return matrix(pattern, blocks), pressed


def differences(function, x, e=1e-6):
    steps = e * np.eye(x.size).reshape(-1, *x.shape)
    return np.stack([(function(x + d) - function(x - d)) / (2 * e) for d in steps], axis=-1)


def test_energy_of_a_regular_tet():
    """Height sqrt(2/3) at unit edges: blown up by 10 %, 4 k/2 (0.1)^2 (2/3)."""
    corners = np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / np.sqrt(8)
    part, _ = prepared(3.0, tets=[[0, 1, 2, 3]], rest=corners)
    assert part.energy(corners) == pytest.approx(0.0, abs=1e-25)
    assert part.energy(1.1 * corners) == pytest.approx(2 * 3.0 * 0.01 * 2 / 3)


def test_gradient_and_tangent_are_the_derivatives():
    part, pattern, x = random_body(0)
    expected = differences(part.energy, x).reshape(N, 3)
    np.testing.assert_allclose(gradient(part, x), expected, rtol=1e-7, atol=1e-6)
    K, _ = tangent(part, pattern, x)
    expected = differences(lambda x: gradient(part, x).ravel(), x)
    np.testing.assert_allclose(K, expected, rtol=1e-6, atol=1e-4)


def test_secant_reproduces_the_force():
    part, pattern, x = random_body(1)
    S, _ = tangent(part, pattern, x, secant=True)
    np.testing.assert_allclose(S @ x.ravel(), gradient(part, x).ravel(), atol=1e-10)


@drawn(20)
@given(seed=st.integers(0, 2**32 - 1))
def test_no_resultant_and_no_torque(seed):
    part, _, x = random_body(seed, noise=1.0)
    f = gradient(part, x)
    scale = np.abs(f).max()
    np.testing.assert_allclose(f.sum(axis=0), 0.0, atol=1e-12 * scale)
    np.testing.assert_allclose(np.cross(x, f).sum(axis=0), 0.0, atol=1e-11 * scale)


@drawn(25)
@given(seed=st.integers(0, 2**32 - 1), squeeze=st.floats(0.2, 1.5), secant=st.booleans())
def test_lower_bound_holds(seed, squeeze, secant):
    fixed = np.random.default_rng(seed).choice(N, 2, replace=False)
    part, pattern, x = random_body(seed, squeeze, 0.1, fixed)
    assert part.bounded and not part.pairwise
    K, pressed = tangent(part, pattern, x, secant)
    free = np.setdiff1d(np.arange(N), fixed)
    P = np.diag(np.repeat(2.0 * pressed[free], 3))
    assert np.linalg.eigvalsh(K + P)[0] >= -1e-12 * np.abs(K).max()


def test_the_cheap_upper_bound_of_pairs_does_not_hold():
    """K <= 2 diag(K) fails at rest, which is why pairwise is False."""
    K, _ = tangent(*prepared(), X)
    own = np.zeros_like(K)
    for i in range(0, len(K), 3):
        own[i : i + 3, i : i + 3] = K[i : i + 3, i : i + 3]
    assert np.linalg.eigvalsh(2.0 * own - K)[0] < -1.0


@drawn(25)
@given(seed=st.integers(0, 2**32 - 1))
def test_kernels_equal_reference(seed):
    fixed = np.random.default_rng(seed).choice(N, 3, replace=False)
    part, pattern, x = random_body(seed, fixed=fixed)
    if seed % 2:
        x[:] = 0.0  # every spring of length zero
    args, more = part._springs, (*part._corners, *part._slots)
    assert cpu.face_spring_energy(x, *args) == pytest.approx(
        reference.face_spring_energy(x, *args), rel=1e-12
    )
    results = []
    for kernels in (cpu, reference):
        f = np.ones((N, 3))  # not zero: kernels add
        K, S, pressed = *np.ones((2, pattern.nnz, 3, 3)), np.ones(N)
        kernels.face_spring_gradient(x, *args, *part._corners, f)
        kernels.face_spring_blocks(x, *args, *more, K, pressed)
        kernels.face_spring_blocks(x, *args, *more, S, pressed, True)
        results.append((f, K, S, pressed))
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-13 * np.abs(theirs).max())


def test_threads_give_the_same_bits():
    shape = (28, 25, 25)
    rest = np.indices(shape).reshape(3, -1).T.astype(float)
    assert len(rest) >= cpu.face_springs.PARALLEL_ROWS
    part, pattern = prepared(2.0, fixed=np.arange(5), tets=grid_tets(shape), rest=rest)
    x = rest + 0.1 * np.random.default_rng(0).standard_normal(rest.shape)
    outs = []
    kernels = (cpu.face_springs._gradient, cpu.face_springs._blocks)
    for threaded in (False, True):
        gradient, blocks = (kernel[threaded] for kernel in kernels)
        m = 4 * len(part._springs[0])
        f, K, pressed = np.zeros_like(x), np.zeros((pattern.nnz, 3, 3)), np.zeros(len(x))
        gradient(x, *part._springs, *part._corners, np.empty((m, 3)), f)
        work = (np.empty((m, 6)), np.empty(m))
        start, corner = part._corners
        blocks(x, part._springs, False, start, corner, *part._slots, work, K, pressed)
        outs.append((f, K, pressed))
    for serial, parallel in zip(*outs, strict=True):
        np.testing.assert_array_equal(serial, parallel)


def test_in_a_system_its_bounds_hold():
    system, s = System(0.5, [FaceSprings(TETS, 1e4)], fixed=[0], rest=X).bind(0.7 * X)
    A = system.tangent(s).stiffness
    lam, bounds = A.eigenbasis()[0], A.bounds()
    assert bounds.low <= lam[0] < 0.0 < lam[-1] <= bounds.high


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: FaceSprings([0, 1, 2, 3], 1.0), "tets have shape"),
        (lambda: FaceSprings([[0, 1, 2, 3], [1]], 1.0), "tets has rows of different lengths"),
        (lambda: FaceSprings([[0.0, 1, 2, 3]], 1.0), "integers"),
        (
            lambda: FaceSprings([[0, 1, 2, 3], [0, 1, 2, -3]], 1.0),
            r"tet 1 \(0, 1, 2, -3\).*negative",
        ),
        (
            lambda: FaceSprings([[0, 1, 2, 1]], 1.0),
            r"tet 0 \(0, 1, 2, 1\): it names a particle twice",
        ),
        (lambda: FaceSprings(TETS, -1.0), "tet 0 .*stiffness is negative"),
        (lambda: FaceSprings(TETS, np.nan), "stiffness is nan"),
        (lambda: FaceSprings(TETS, 1.0, rest_positions=X[:5]), "only 5 particles"),
        (lambda: FaceSprings(TETS, 1.0, rest_positions=np.ones(3)), "shape"),
        (
            lambda: FaceSprings(
                [[0, 1, 2, 3]], 1.0, rest_positions=[[0, 0, 0], [1, 0, 0], [-1, 1, 0], [0, -1, 0]]
            ),
            "centre of the opposite face",
        ),
        (lambda: System(np.ones(N), [FaceSprings(TETS, 1.0)]), "rest lengths"),
        (lambda: System(np.ones(3), [FaceSprings(TETS, 1.0)]), "only 3 particles"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(InputError, match=words) as error:
        call()
    assert "\n" not in str(error.value)


def test_no_tets_do_nothing():
    system, s = System(np.ones(N), [FaceSprings([], 1.0)], rest=X).bind(1.1 * X)
    assert system.energy(s)["elastic"] == 0.0 and not system.force(s).any()
