"""NumPy twins of kernels.cpu.tets, tet_tangents and tet_assembly.

Tangents are built from the modes of dF in full, so that nothing is shared with the compiled ones:
d2E/dF2 = sum_ij psi_ij D_i D_j^T + sum_(pairs) (symmetric S S^T + antisymmetric A A^T) with
D_i = u_i v_i^T and S, A = (u_i v_j^T +- u_j v_i^T) / sqrt 2, seen as vectors of nine numbers.
"""

from __future__ import annotations

import numpy as np

from ..constants import COROTATED, STVK
from .polar import signed_svd

__all__ = ["tet_blocks", "tet_energy", "tet_frames", "tet_gradient", "tet_product"]

SMALLEST_SUM = 1e-6
PAIRS = ((0, 1), (0, 2), (1, 2))
UPPER = np.triu_indices(4)


def _energy(material, mu, lam, sigma):
    """psi (m,) of signed singular values sigma (m, 3)."""
    if material == COROTATED:
        e = sigma - 1.0
        return mu * (e**2).sum(axis=1) + 0.5 * lam * e.sum(axis=1) ** 2
    E = 0.5 * (sigma**2 - 1.0)
    if material == STVK:
        return mu * (E**2).sum(axis=1) + 0.5 * lam * E.sum(axis=1) ** 2
    square, J = (sigma**2).sum(axis=1), sigma.prod(axis=1)
    alpha = 1.0 + 0.75 * mu / lam
    rest = 0.5 * lam * (1.0 - alpha) ** 2 - 0.5 * mu * np.log(4.0)
    growth = 0.5 * lam * (J - alpha) ** 2
    return 0.5 * mu * (square - 3.0 - np.log(square + 1.0)) + growth - rest


def _first(material, mu, lam, sigma):
    """psi_i (m, 3)."""
    mu, lam = mu[:, None], lam[:, None]
    if material == COROTATED:
        return 2.0 * mu * (sigma - 1.0) + lam * (sigma.sum(axis=1, keepdims=True) - 3.0)
    square = (sigma**2).sum(axis=1, keepdims=True)
    if material == STVK:
        return sigma * (mu * (sigma**2 - 1.0) + 0.5 * lam * (square - 3.0))
    J = sigma.prod(axis=1, keepdims=True)
    bulk = lam * (J - 1.0) - 0.75 * mu
    return mu * (1.0 - 1.0 / (square + 1.0)) * sigma + bulk * _others(sigma)


def _others(sigma):
    """Products of the two other singular values: dJ/dsigma."""
    return sigma[:, [1, 0, 0]] * sigma[:, [2, 2, 1]]


def _second(material, mu, lam, sigma):
    """psi_ij (m, 3, 3), symmetric and antisymmetric modes of the pairs (m, 3)."""
    eye = np.eye(3)
    i, j = np.array(PAIRS).T
    p, q, r = sigma[:, i], sigma[:, j], sigma[:, [2, 1, 0]]  # r: the singular value left over
    mu, lam = mu[:, None], lam[:, None]
    if material == COROTATED:
        H = 2.0 * mu[..., None] * eye + lam[..., None] * np.ones((3, 3))
        trace = 2.0 * lam * (sigma.sum(axis=1, keepdims=True) - 3.0) - 4.0 * mu
        return H, 2.0 * mu + 0.0 * p, 2.0 * mu + trace / np.maximum(p + q, SMALLEST_SUM)
    square = (sigma**2).sum(axis=1, keepdims=True)
    outer = sigma[:, :, None] * sigma[:, None, :]
    if material == STVK:
        trace = 0.5 * lam * (square - 3.0) - mu
        H = (3.0 * mu * sigma**2 + trace)[..., None] * eye + lam[..., None] * outer
        both = mu * (p**2 + q**2) + trace
        return H, both + mu * p * q, both - mu * p * q
    shear = mu * (1.0 - 1.0 / (square + 1.0))
    bulk = lam * (sigma.prod(axis=1, keepdims=True) - 1.0) - 0.75 * mu
    others = _others(sigma)
    H = shear[..., None] * eye + (2.0 * mu / (square + 1.0) ** 2)[..., None] * outer
    H += lam[..., None] * others[:, :, None] * others[:, None, :]
    H[:, i, j] += bulk * r
    H[:, j, i] += bulk * r
    return H, shear - bulk * r, shear + bulk * r


def _decomposed(x, tets, shape):
    d = x[tets[:, 1:]] - x[tets[:, :1]]  # (m, 3, 3): d[:, k] = x_(k+1) - x_0
    return signed_svd(np.einsum("eka,ekc->eac", d, shape.reshape(-1, 3, 3)))


def _all_shapes(shape):
    """Gradients of all four shape functions (m, 4, 3): they sum to zero."""
    g = shape.reshape(-1, 3, 3)
    return np.concatenate([-g.sum(axis=1, keepdims=True), g], axis=1)


def tet_energy(x, tets, shape, moduli, material):
    _, sigma, _ = _decomposed(x, tets, shape)
    return float(_energy(material, moduli[:, 0], moduli[:, 1], sigma).sum())


def tet_gradient(x, tets, shape, moduli, material, start, corner, out):
    U, sigma, V = _decomposed(x, tets, shape)
    P = np.einsum("eai,ei,eci->eac", U, _first(material, moduli[:, 0], moduli[:, 1], sigma), V)
    np.add.at(out, tets, np.einsum("eac,ekc->eka", P, _all_shapes(shape)))


def _clamped(H):
    values, Q = np.linalg.eigh(H)
    return np.einsum("eim,em,ejm->eij", Q, np.maximum(values, 0.0), Q)


def tet_frames(x, tets, shape, moduli, material, project):
    """The elements' tangents (m, 4, 3, 4, 3) themselves."""
    U, sigma, V = _decomposed(x, tets, shape)
    H, symmetric, antisymmetric = _second(material, moduli[:, 0], moduli[:, 1], sigma)
    if project:
        H = _clamped(H)
        symmetric, antisymmetric = np.maximum(symmetric, 0.0), np.maximum(antisymmetric, 0.0)
    D = np.einsum("eai,eci->eiac", U, V)
    A = np.einsum("eij,eiac,ejbd->eacbd", H, D, D)
    for n, (i, j) in enumerate(PAIRS):
        for sign, mode in ((1.0, symmetric[:, n]), (-1.0, antisymmetric[:, n])):
            S = np.einsum("ea,ec->eac", U[:, :, i], V[:, :, j])
            S += sign * np.einsum("ea,ec->eac", U[:, :, j], V[:, :, i])
            A += 0.5 * np.einsum("e,eac,ebd->eacbd", mode, S, S)
    g = _all_shapes(shape)
    return np.einsum("eacbd,ekc,eld->ekalb", A, g, g, optimize=True)


def tet_product(frames, tets, start, corner, b, out):
    np.add.at(out, tets, np.einsum("ekalb,elb->eka", frames, b[tets]))


def tet_blocks(
    x, tets, shape, moduli, material, project, chunks, slot, mirror, start, source, blocks
):
    K = tet_frames(x, tets, shape, moduli, material, project).transpose(0, 1, 3, 2, 4)
    elements = K[:, *UPPER].reshape(-1, 3, 3)[source]
    sums = np.add.reduceat(elements, start[:-1].astype(np.int64)) if len(source) else elements
    np.add.at(blocks, slot, sums)
    apart = slot != mirror
    np.add.at(blocks, mirror[apart], sums[apart].transpose(0, 2, 1))
