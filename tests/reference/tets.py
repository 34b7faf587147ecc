"""NumPy twins of kernels.cpu.tets and tet_tangents.

Tangents are built from the modes of dF in full, so that nothing is shared with the compiled ones:
d2E/dF2 = sum_ij psi_ij D_i D_j^T + sum_(pairs) (symmetric S S^T + antisymmetric A A^T) with
D_i = u_i v_i^T and S, A = (u_i v_j^T +- u_j v_i^T) / sqrt 2, seen as vectors of nine numbers.
"""

from __future__ import annotations

import numpy as np

from .polar import signed_svd

SMALLEST_SUM = 1e-6
PAIRS = ((0, 1), (0, 2), (1, 2))
UPPER = np.triu_indices(4)


def _corotated(mu, lam, sigma):
    e, (p, q, _) = sigma - 1.0, _pairs(sigma)
    trace = e.sum(axis=1, keepdims=True)
    H = 2.0 * mu[..., None] * np.eye(3) + lam[..., None] * np.ones((3, 3))
    mode = 2.0 * mu + (2.0 * lam * trace - 4.0 * mu) / np.maximum(p + q, SMALLEST_SUM)
    energy = mu * (e**2).sum(axis=1, keepdims=True) + 0.5 * lam * trace**2
    return energy, 2.0 * mu * e + lam * trace, H, 2.0 * mu + 0.0 * p, mode


def _stvk(mu, lam, sigma):
    E, (p, q, _) = 0.5 * (sigma**2 - 1.0), _pairs(sigma)
    trace = E.sum(axis=1, keepdims=True)
    H = (3.0 * mu * sigma**2 + lam * trace - mu)[..., None] * np.eye(3)
    H += lam[..., None] * sigma[:, :, None] * sigma[:, None, :]
    both = mu * (p**2 + q**2) + lam * trace - mu
    energy = mu * (E**2).sum(axis=1, keepdims=True) + 0.5 * lam * trace**2
    return energy, sigma * (2.0 * mu * E + lam * trace), H, both + mu * p * q, both - mu * p * q


def _neo_hookean(mu, lam, sigma):
    (_, _, r), (i, j) = _pairs(sigma), np.array(PAIRS).T
    square, J = (sigma**2).sum(axis=1, keepdims=True), sigma.prod(axis=1, keepdims=True)
    alpha = 1.0 + 0.75 * mu / lam
    rest = 0.5 * lam * (1.0 - alpha) ** 2 - 0.5 * mu * np.log(4.0)
    growth = 0.5 * lam * (J - alpha) ** 2
    energy = 0.5 * mu * (square - 3.0 - np.log(square + 1.0)) + growth - rest
    shear, bulk = mu * (1.0 - 1.0 / (square + 1.0)), lam * (J - 1.0) - 0.75 * mu
    others = sigma[:, [1, 0, 0]] * sigma[:, [2, 2, 1]]  # dJ/dsigma
    H = shear[..., None] * np.eye(3) + lam[..., None] * others[:, :, None] * others[:, None, :]
    H += (2.0 * mu / (square + 1.0) ** 2)[..., None] * sigma[:, :, None] * sigma[:, None, :]
    H[:, i, j] += bulk * r
    H[:, j, i] += bulk * r
    return energy, shear * sigma + bulk * others, H, shear - bulk * r, shear + bulk * r


def _pairs(sigma):
    """Both singular values of each pair, and the one left over."""
    i, j = np.array(PAIRS).T
    return sigma[:, i], sigma[:, j], sigma[:, [2, 1, 0]]


LAWS = {"corotated": _corotated, "stvk": _stvk, "neo-hookean": _neo_hookean}


def _law(material, moduli, sigma):
    """psi (m, 1), psi_i (m, 3), psi_ij (m, 3, 3), symmetric and antisymmetric modes (m, 3)."""
    if material.name in LAWS:
        return LAWS[material.name](moduli[:, :1], moduli[:, 1:], sigma)
    rows = [(*m, *s) for m, s in zip(moduli, sigma, strict=True)]
    energy, stress = ([law(*r) for r in rows] for law in (material.energy, material.stress))
    T = np.array([material.tangent(*r) for r in rows]).reshape(-1, 12)
    H = T[:, [0, 3, 4, 3, 1, 5, 4, 5, 2]].reshape(-1, 3, 3)
    return np.array(energy)[:, None], np.array(stress).reshape(-1, 3), H, T[:, 6:9], T[:, 9:]


def _decomposed(x, tets, shape):
    d = x[tets[:, 1:]] - x[tets[:, :1]]  # (m, 3, 3): d[:, k] = x_(k+1) - x_0
    return signed_svd(np.einsum("eka,ekc->eac", d, shape.reshape(-1, 3, 3)))


def _all_shapes(shape):
    """Gradients of all four shape functions (m, 4, 3): they sum to zero."""
    g = shape.reshape(-1, 3, 3)
    return np.concatenate([-g.sum(axis=1, keepdims=True), g], axis=1)


def tet_energy(x, tets, shape, moduli, material):
    _, sigma, _ = _decomposed(x, tets, shape)
    return float(_law(material, moduli, sigma)[0].sum())


def tet_gradient(x, tets, shape, moduli, material, start, corner, out):
    U, sigma, V = _decomposed(x, tets, shape)
    P = np.einsum("eai,ei,eci->eac", U, _law(material, moduli, sigma)[1], V)
    np.add.at(out, tets, np.einsum("eac,ekc->eka", P, _all_shapes(shape)))


def _clamped(H):
    values, Q = np.linalg.eigh(H)
    return np.einsum("eim,em,ejm->eij", Q, np.maximum(values, 0.0), Q)


def tet_frames(x, tets, shape, moduli, material, project):
    """The elements' tangents (m, 4, 3, 4, 3) themselves."""
    U, sigma, V = _decomposed(x, tets, shape)
    _, _, H, symmetric, antisymmetric = _law(material, moduli, sigma)
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
