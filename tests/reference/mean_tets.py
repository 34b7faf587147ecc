"""NumPy twins of kernels.cpu.tets: discrete gradients.

The formulas are those of the compiled ones, written for stacks of matrices; derivatives are taken
along one direction dF1 (m, 3, 3) at a time.
"""

from __future__ import annotations

import numpy as np

from .polar import signed_svd

SMALLEST_SUM = 1e-6
LIMIT, LARGEST, ROUNDING = 2.0, 1e20, 64 * 2.0**-52
EYE = np.eye(3)


def _t(a):
    return np.swapaxes(a, -1, -2)


def _inner(a, b):
    return np.einsum("...ij,...ij->...", a, b)


def _times(scale, a):
    return np.asarray(scale)[..., None, None] * a


def _cross(a, b):
    """cof(a + b) - cof(a) - cof(b), so that cof(a) is half of _cross(a, a)."""
    rows = [
        np.cross(a[..., j, :], b[..., k, :]) + np.cross(b[..., j, :], a[..., k, :])
        for j, k in ((1, 2), (2, 0), (0, 1))
    ]
    return np.stack(rows, axis=-2)


def _cof(a):
    return 0.5 * _cross(a, a)


def tet_states(x, tets, shape, material):
    d = x[tets[:, 1:]] - x[tets[:, :1]]
    F = np.einsum("eka,ekc->eac", d, shape.reshape(-1, 3, 3))
    U, sigma, V = signed_svd(F[:0] if material.name == "stvk" else F)
    return F.reshape(-1, 9), U.reshape(-1, 9), sigma, V.reshape(-1, 9)


def _matrices(state):
    F, U, sigma, V = state
    return F.reshape(-1, 3, 3), U.reshape(-1, 3, 3), sigma, V.reshape(-1, 3, 3)


class _Cut:
    """value = base + w Z, Z = conserving - base, w < 1 where Z is longer than LIMIT scale."""

    def __init__(self, conserving, base, square):
        """square (m,): the square of the scale."""
        self.Z = conserving - base
        self.square = LIMIT**2 * square
        with np.errstate(all="ignore"):
            self.r = _inner(self.Z, self.Z) / self.square
            cut = 2.0 / self.r - 1.0 / self.r**2
        self.w = np.where(self.r > 1.0, cut, 1.0)
        self.lost = ~(self.r < LARGEST)  # no length, or no conserving gradient at all
        self.w[self.lost] = 0.0
        self.Z[self.lost] = 0.0
        self.value = base + _times(self.w, self.Z)

    def along(self, conserving, base, square):
        """The derivative, from those of the three."""
        dZ = conserving - base
        with np.errstate(all="ignore"):
            dr = (2.0 * _inner(self.Z, dZ) - self.r * LIMIT**2 * square) / self.square
            slope = np.where(self.r > 1.0, -2.0 / self.r**2 + 2.0 / self.r**3, 0.0)
            change = _times(self.w, dZ) + _times(slope * dr, self.Z)
        change[self.lost] = 0.0
        return base + change


# ------------------------------------------------------------------ corotated and neo-hookean


class _Stretched:
    """a Fm + b G with G the mean gradient of tr U (corotated) or of det U (neo-hookean)."""

    def __init__(self, before, after, mu, lam, material):
        (self.F0, A0, s0, V0), (self.F1, self.A, self.sigma, self.V) = before, after
        self.mu, self.lam, self.corotated = mu, lam, material.name == "corotated"
        self.D, self.mean = self.F1 - self.F0, 0.5 * (self.F0 + self.F1)
        self.R0, self.R1 = A0 @ _t(V0), self.A @ _t(self.V)
        self.U0, self.U1 = (V0 * s0[:, None]) @ _t(V0), (self.V * self.sigma[:, None]) @ _t(self.V)
        self.u, self.B = np.linalg.eigh(0.5 * (self.U0 + self.U1))
        self.sums = self.u[:, :, None] + self.u[:, None, :]
        self.T = self._lyapunov(2.0 * self._means()[0])
        self.cut = _Cut(self.mean @ self.T, *self._fallback())
        if self.corotated:
            self.a, self.b = 2.0 * mu, 0.5 * lam * (s0 + self.sigma - 2.0).sum(axis=1) - 2.0 * mu
        else:
            squares = (1.0 + _inner(F, F) for F in (self.F0, self.F1))
            self.quotient, self.slope = _log_quotient(*squares)
            J = np.linalg.det(self.F0) + np.linalg.det(self.F1)
            self.a, self.b = mu * (1.0 - self.quotient), lam * (0.5 * J - 1.0) - 0.75 * mu

    def _means(self, dU=None):
        """Q with Q : (U1 - U0) = the change of the invariant; its derivative along dU1."""
        if self.corotated:
            return np.broadcast_to(EYE, self.U0.shape), np.zeros(self.U0.shape)
        U = 0.5 * (self.U0 + self.U1)
        Q = (_cof(self.U0) + 4.0 * _cof(U) + _cof(self.U1)) / 6.0  # Simpson's rule is exact here
        dU = np.zeros(U.shape) if dU is None else dU
        return Q, (_cross(self.U1, dU) + 2.0 * _cross(U, dU)) / 6.0

    def _lyapunov(self, H):
        """X with X Um + Um X = H."""
        with np.errstate(all="ignore"):
            return self.B @ (_t(self.B) @ H @ self.B / self.sums) @ _t(self.B)

    def _fallback(self):
        """A mean gradient that is bounded but turns the element, and the square of its size."""
        if not self.corotated:
            sizes = [_inner(_cof(F), _cof(F)) for F in (self.F0, self.F1)]
            return _cof(self.mean) + _cof(self.D) / 12.0, 0.5 * (sizes[0] + sizes[1])
        gap = 0.5 * _inner(self.R1 - self.R0, self.F0 + self.F1)
        both = self.F0 + self.F1
        with np.errstate(all="ignore"):
            certain = np.abs(gap) > ROUNDING * np.sqrt(_inner(both, both))
            self.c = np.where(certain, gap / _inner(self.D, self.D), 0.0)
        return 0.5 * (self.R0 + self.R1) + _times(self.c, self.D), np.full(len(gap), 3.0)

    def stress(self):
        return _times(self.a, self.mean) + _times(self.b, self.cut.value)

    def along(self, dF):
        A = _t(self.A) @ dF @ self.V
        sums = np.maximum(self.sigma[:, :, None] + self.sigma[:, None, :], SMALLEST_SUM)
        spin = (A - _t(A)) / sums
        stretch = A - spin * self.sigma[:, None, :]
        dU = self.V @ (0.5 * (stretch + _t(stretch))) @ _t(self.V)
        spin = self.A @ spin @ _t(self.V)
        with np.errstate(all="ignore"):
            H = 2.0 * self._means(dU)[1] - 0.5 * (self.T @ dU + dU @ self.T)
            conserving = 0.5 * dF @ self.T + self.mean @ self._lyapunov(H)
        dG = self.cut.along(conserving, *self._fallback_along(dF, spin))
        total = _times(0.5 * self.a, dF) + _times(self.b, dG)
        if self.corotated:
            return total + _times(0.5 * self.lam * _inner(self.R1, dF), self.cut.value)
        dJ = _inner(_cof(self.F1), dF)
        da = -2.0 * self.mu * self.slope * _inner(self.F1, dF)
        return total + _times(da, self.mean) + _times(0.5 * self.lam * dJ, self.cut.value)

    def _fallback_along(self, dF, dR):
        if not self.corotated:
            base = 0.5 * _cross(self.mean, dF) + _cross(self.D, dF) / 12.0
            return base, _inner(_cof(self.F1), _cross(self.F1, dF))
        dgap = 0.5 * (_inner(self.R1 - self.R0, dF) + _inner(dR, self.F0 + self.F1))
        with np.errstate(all="ignore"):
            dc = (dgap - 2.0 * self.c * _inner(self.D, dF)) / _inner(self.D, self.D)
        dc = np.where(self.c != 0.0, dc, 0.0)
        return 0.5 * dR + _times(dc, self.D) + _times(self.c, dF), np.zeros(len(dF))


def _log_quotient(a, b):
    """(log b - log a)/(b - a) and its derivative by b."""
    y = (b - a) / (a + b)
    small = np.abs(y) < 0.1
    z = np.where(small, 0.5, y)
    k = np.arange(10)
    f = np.where(small, (y[:, None] ** (2 * k) / (2 * k + 1)).sum(axis=1), np.arctanh(z) / z)
    k = k[1:]
    series = (2 * k * y[:, None] ** (2 * k - 1) / (2 * k + 1)).sum(axis=1)
    df = np.where(small, series, (1.0 / (1.0 - z**2) - f) / z)
    return 2.0 * f / (a + b), 4.0 * a * df / (a + b) ** 3 - 2.0 * f / (a + b) ** 2


# ------------------------------------------------------------------ stvk


class _StVK:
    def __init__(self, before, after, mu, lam):
        self.mu, self.lam, self.F1 = mu, lam, after[0]
        self.mean = 0.5 * (before[0] + after[0])
        self.S = self._law(0.25 * (_t(before[0]) @ before[0] + _t(self.F1) @ self.F1) - 0.5 * EYE)

    def _law(self, E):
        return _times(2.0 * self.mu, E) + _times(self.lam * np.trace(E, axis1=1, axis2=2), EYE)

    def stress(self):
        return self.mean @ self.S

    def along(self, dF):
        dE = _t(self.F1) @ dF
        return 0.5 * dF @ self.S + self.mean @ self._law(0.25 * (dE + _t(dE)))


# ------------------------------------------------------------------ sums


def mean_law(before, after, moduli, material):
    mu, lam = moduli.T
    if material.name == "stvk":
        return _StVK(_matrices(before), _matrices(after), mu, lam)
    return _Stretched(_matrices(before), _matrices(after), mu, lam, material)


def _all_shapes(shape):
    g = shape.reshape(-1, 3, 3)
    return np.concatenate([-g.sum(axis=1, keepdims=True), g], axis=1)


def tet_mean_gradient(before, after, tets, shape, moduli, material, start, corner, out):
    P = mean_law(before, after, moduli, material).stress()
    np.add.at(out, tets, np.einsum("eac,ekc->eka", P, _all_shapes(shape)))


def tet_mean_blocks(
    before, after, tets, shape, moduli, material, chunks, slot, start, source, blocks
):
    law, g = mean_law(before, after, moduli, material), _all_shapes(shape)
    K = np.empty((len(tets), 4, 4, 3, 3))
    for column in range(4):
        for b in range(3):
            dF = np.zeros((len(tets), 3, 3))
            dF[:, b] = g[:, column]
            K[:, :, column, :, b] = np.einsum("eac,ekc->eka", law.along(dF), g)
    elements = K.reshape(-1, 3, 3)[source]
    sums = np.add.reduceat(elements, start[:-1].astype(np.int64)) if len(source) else elements
    np.add.at(blocks, slot, sums)
