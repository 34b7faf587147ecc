"""Compiled kernels of tetrahedra against their NumPy twins: decomposition, forces, tangents."""

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from systems import prepared_alone
from thinned import drawn

from stiffly.bodies import Tetrahedra
from stiffly.kernels import cpu
from stiffly.kernels.cpu import polar, tet_tangents, tets
from stiffly.kernels.cpu.tet_tangents import clamp_negative
from stiffly.kernels.materials.material import SMALLEST_SUM
from stiffly.meshes.grids import grid_tets
from stiffly.parts.tetrahedra import MATERIALS


def close(ours, theirs, atol):
    np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=atol)


def turned(Q):
    """Q^T for each of many."""
    return Q.transpose(0, 2, 1)


# ---------------------------------------------------------------------- signed singular values


def rotations(count, seed=0):
    return Rotation.random(count, random_state=seed).as_matrix()


def check_svd(F, digits=1e-14):
    """F = U diag(sigma) V^T with rotations U, V, sorted, signed; sigma as LAPACK's."""
    U, sigma, V = cpu.signed_svd(F)
    size = np.abs(F).max(axis=(1, 2))
    scale = np.where(size == 0.0, 1.0, size)[:, None, None]
    close((U * sigma[:, None]) @ turned(V) / scale, F / scale, atol=digits)
    for Q in (U, V):
        close(Q @ turned(Q), np.broadcast_to(np.eye(3), F.shape), atol=digits)
        close(np.linalg.det(Q), 1.0, atol=digits)
    theirs = reference.signed_svd(F)[1]
    close(np.abs(sigma) / scale[:, 0], np.abs(theirs) / scale[:, 0], atol=digits)
    assert np.all(sigma[:, 0] >= sigma[:, 1]) and np.all(sigma[:, 1] >= np.abs(sigma[:, 2]))
    return sigma


SIGMAS = {
    "equal": [1.0, 1.0, 1.0],
    "nearly equal": [1.0 + 1e-9, 1.0, 1.0 - 1e-12],
    "pair": [2.0, 1.0, 1.0],
    "flat": [1.0, 1.0, 0.0],
    "line": [1.0, 0.0, 0.0],
    "mirrored": [1.0, 1.0, -1.0],
    "inverted": [1.0, 0.5, -0.5],
    "graded": [1.0, 1e-8, -1e-16],
    "noise": [1.0, 1e-17, 1e-20],
    "wide": [1e3, 1.0, -1e-3],
}


@pytest.mark.parametrize("kind", SIGMAS)
def test_svd_of_known_singular_values(kind):
    known = np.array(SIGMAS[kind])
    F = (rotations(2000) * known) @ turned(rotations(2000, 1))
    sigma = check_svd(F)
    close(sigma, np.tile(known, (2000, 1)), atol=1e-14 * known[0])


@pytest.mark.parametrize("scale", [1e-290, 1e-150, 1e-20, 1e20, 1e150, 1e290])
def test_svd_at_any_scale(scale):
    check_svd(scale * np.random.default_rng(0).standard_normal((2000, 3, 3)))


def test_svd_of_awkward_matrices():
    rng = np.random.default_rng(0)
    check_svd(rng.integers(-2, 3, (20000, 3, 3)).astype(float))  # ranks 0 to 3, exact zeros
    check_svd(rng.standard_normal((5000, 3, 3)) * 10.0 ** rng.integers(-30, 30, (5000, 3, 3)))
    check_svd(rng.standard_normal((5000, 3, 3)) * 10.0 ** rng.integers(-10, 1, (5000, 1, 3)))
    sigma = check_svd(np.zeros((3, 3, 3)))
    np.testing.assert_array_equal(sigma, 0.0)
    sign = np.sign(np.linalg.det(F := rng.standard_normal((1000, 3, 3))))
    np.testing.assert_array_equal(np.sign(cpu.signed_svd(F)[1][:, 2]), sign)


def test_rotation_of_a_nearly_flat_matrix_keeps_its_digits():
    """U V^T is well determined unless sigma_2 + sigma_3 = 0, however small sigma_3 is.

    From the eigenvectors of F^T F it would be good to 1e-8 only.
    """
    R = rotations(1000)
    Q = rotations(1000, 1)
    for small in (1e-9, 0.0, -1e-9):
        U, _, V = cpu.signed_svd(R @ (Q * [1.0, 0.9, small]) @ turned(Q))
        close(U @ turned(V), R, atol=1e-14)


def test_svd_with_threads_gives_the_same_bits():
    F = np.random.default_rng(0).standard_normal((polar.PARALLEL_ROWS + 7, 3, 3))
    threaded = cpu.signed_svd(F)
    serial = [np.empty((len(F), 9)), np.empty((len(F), 3)), np.empty((len(F), 9))]
    polar._svd.serial(F.reshape(-1, 9), *serial)
    for ours, theirs in zip(serial, threaded, strict=True):
        np.testing.assert_array_equal(ours, theirs.reshape(len(F), -1))


def test_svd_of_what_is_not_finite_is_not_finite():
    F = np.tile(np.eye(3), (70, 1, 1))
    F[3, 1, 2] = np.nan
    assert np.isnan(cpu.signed_svd(F)[1][3]).any()
    np.testing.assert_array_equal(cpu.signed_svd(F)[1][4:], 1.0)


# ---------------------------------------------------------------------- elements


def solid(shape, material, project, free=None, seed=0):
    """A box of tets, each with its own stiffness: rest positions, prepared part, pattern."""
    rng = np.random.default_rng(seed)
    X = np.indices(shape).reshape(3, -1).T + 0.1 * rng.standard_normal((np.prod(shape), 3))
    cells = grid_tets(shape)
    young = rng.uniform(10.0, 100.0, len(cells))
    part = Tetrahedra(cells, young, rng.uniform(-0.5, 0.45, len(cells)), material, project=project)
    return X, *prepared_alone(part, X, free, rest=X)


def everything(kernels, x, b, part, pattern):
    """Energy, gradient, blocks and product; not from zero, because kernels add."""
    gradient, product, blocks = np.ones_like(x), np.ones_like(x), np.ones((pattern.nnz, 3, 3))
    energy = kernels.tet_energy(x, *part._elements)
    kernels.tet_gradient(x, *part._elements, *part._corners, gradient)
    kernels.tet_blocks(x, *part._elements, part._project, *part._sums, blocks)
    frames = kernels.tet_frames(x, *part._elements, part._project)
    kernels.tet_product(frames, part._tets, *part._corners, b, product)
    return np.array([energy]), gradient, blocks, product


def compare(x, part, pattern, seed=0):
    b = np.random.default_rng(seed).standard_normal(x.shape)
    sigma = reference.tets._decomposed(x, part._tets, part._elements[1])[1]
    # the corotated tangent has a pole where sigma_2 + sigma_3 = 0: rounding grows towards it
    near = min(1.0, max(np.min(sigma[:, 1] + sigma[:, 2]), SMALLEST_SUM))
    results = [everything(kernels, x, b, part, pattern) for kernels in (cpu, reference)]
    # near rest forces cancel: what is left is the rounding of the positions, times the stiffness
    stiff = np.abs(results[1][2]).max() * np.abs(x).max()
    for ours, theirs in zip(*results, strict=True):
        scale = np.abs(theirs).max(initial=max(1.0, 1e-2 * stiff))
        close(ours, theirs, atol=1e-13 * scale / near)


@pytest.mark.parametrize("project", [False, True])
@pytest.mark.parametrize("material", MATERIALS)
@drawn(12)
@given(seed=st.integers(0, 2**32 - 1), noise=st.sampled_from([0.0, 0.05, 0.3, 1.0]))
def test_kernels_equal_reference(material, project, seed, noise):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(2, 5, 3))
    count = int(np.prod(shape))
    free = np.flatnonzero(rng.random(count) < 0.7)
    free = free if free.size else np.array([0])
    X, part, pattern = solid(shape, material, project, free, seed)
    compare(X + noise * rng.standard_normal(X.shape), part, pattern, seed)


def test_kernels_equal_reference_across_chunks():
    X, part, pattern = solid((12, 12, 13), "neo-hookean", True, np.arange(9, 12 * 12 * 13))
    assert len(part._tets) > tet_tangents.BLOCK_CHUNK
    compare(X + 0.2 * np.random.default_rng(0).standard_normal(X.shape), part, pattern)


STRETCHES = {
    **{kind: SIGMAS[kind] for kind in ("equal", "nearly equal", "pair", "flat")},
    **{"strained": [1.3, 1.0, 0.8], "thin": [1.0, 0.1, 0.05], "inside out": [1.0, 0.7, -0.6]},
    **{"long": [5.0, 1.0, 0.2], "small": [1e-3, 9e-4, 8e-4]},
}


@pytest.mark.parametrize("kind", STRETCHES)
@pytest.mark.parametrize("material", MATERIALS)
def test_forces_without_singular_values_are_those_with_them(material, kind):
    """Of unit tets, whose forces are the columns of P; some are beyond what closed forms can do."""
    F = (rotations(200) * np.array(STRETCHES[kind])) @ turned(rotations(200, 1))
    x = np.concatenate([np.zeros((200, 1, 3)), turned(F)], axis=1).reshape(-1, 3)
    corners = np.arange(800, dtype=np.uint32)
    elements = corners.reshape(-1, 4), np.tile(np.eye(3).ravel(), (200, 1)), np.full((200, 2), 2.0)
    results = np.zeros((2, *x.shape))
    for kernels, out in zip((cpu, reference), results, strict=True):
        sums = np.arange(801, dtype=np.uint32), corners
        kernels.tet_gradient(x, *elements, MATERIALS[material], *sums, out)
    turn = min(1.0, sum(STRETCHES[kind][1:]))  # rotations are as uncertain as 1/(sigma_2 + sigma_3)
    close(*results, atol=1e-14 * max(4.0, np.abs(results[1]).max()) / turn)


@pytest.mark.parametrize("sigma", [[1.0, 0.0, 0.0], [1.0, 0.5, -0.5], [0.0, 0.0, 0.0]])
def test_poles_of_the_corotated_tangent_stay_finite(sigma):
    X, part, pattern = solid((2, 2, 2), "corotated", False)
    x = X @ (rotations(1)[0] * sigma).T
    _, gradient, blocks, product = everything(cpu, x, X, part, pattern)
    assert np.isfinite(gradient).all() and np.isfinite(blocks).all() and np.isfinite(product).all()


def test_threads_give_the_same_bits(monkeypatch):
    """Every particle and every pair gathers its own sum, whoever computes it."""
    X, part, pattern = solid((16, 15, 15), "corotated", False, np.arange(20, 16 * 15 * 15))
    assert len(part._tets) >= tets.PARALLEL_ROWS
    x = X + 0.2 * np.random.default_rng(0).standard_normal(X.shape)
    threaded = everything(cpu, x, X, part, pattern)
    for module in (tets, tet_tangents):
        monkeypatch.setattr(module, "PARALLEL_ROWS", len(part._tets) + 1)
    for ours, theirs in zip(everything(cpu, x, X, part, pattern), threaded, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_clamping_leaves_what_is_semidefinite_alone():
    rng = np.random.default_rng(0)
    for values in ([1.0, 2.0, 3.0], [1.0, 1.0, 0.5], [0.0, 0.0, 0.0]):
        Q = rotations(1, 3)[0]
        H = (Q * values) @ Q.T
        kept = H.copy()
        clamp_negative(H)
        np.testing.assert_array_equal(H, kept)
    for _ in range(100):
        H = rng.standard_normal((3, 3))
        H = H + H.T
        values, Q = np.linalg.eigh(H)
        clamp_negative(H)
        close(H, (Q * np.maximum(values, 0.0)) @ Q.T, atol=1e-14)
