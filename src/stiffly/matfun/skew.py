"""Skew Lanczos in the energy inner product: stable at any basis size, converged or not.

In <(x, v), (y, w)> = x^T K y + v^T M w the operator J = [[0, I], [-A, 0]] is skew-adjoint, so
Arnoldi collapses to a three-term recurrence with a skew-symmetric tridiagonal H, and exp(tau H)
is orthogonal: the approximation conserves the linear energy to rounding with FIVE basis vectors
as with fifty.  No square root of A is formed.  One product with A per basis vector.

A must be positive semidefinite.  Rigid displacements have no elastic energy, so the recurrence ends
on one where a body is unsupported; there J w = 0 and what it adds is known in closed form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..contracts import Action, Array
from ..errors import NotConverged
from .operators import BaseOperator
from .scalar import stumpff
from .tolerance import extrapolated, require_finite
from .untyped import linalg


@dataclass(frozen=True, slots=True)
class PhiRequest:
    """One output sum over terms (k, factor, vector): factor * phi_k(tau J) vectors[vector].

    parts: 'xv' or 'x' when the velocity half is not wanted.
    """

    tau: float
    terms: tuple[tuple[int, float, int], ...]
    parts: str = "xv"


_Own = tuple[int, int, float, float]  # request, k, factor, tau
MAX_BASIS = 500
_PLATEAU = 60  # while tau omega / 2 > m, a small basis may stand still without having converged


class _EnergyBasis:
    """Basis vectors z_j = (x_j, v_j) with A x_j kept beside them, so one product per step."""

    def __init__(self, A: BaseOperator, x: Array, v: Array) -> None:
        self.A, self.products = A, 1
        self.beta: list[float] = []
        self.rigid: Array | None = None
        ax = A.apply(x)
        self.norm = self._norm(x, v, ax)
        scale = 1.0 / self.norm if self.norm > 0.0 else 0.0
        self.z = [(x * scale, v * scale, ax * scale)]

    def _norm(self, x: Array, v: Array, ax: Array) -> float:
        pairs = [(x, ax), (v, v), (x, x), (ax, ax)]
        elastic, kinetic, square, *first = self.A.dots(pairs[: 3 if self.beta else 4])
        require_finite(np.array([elastic, kinetic]))
        # rounding of what was subtracted is no evidence: later vectors come from J z, |J z| ~ beta
        top = max(self.beta, default=0.0) ** 2
        size = top or np.sqrt(square * sum(first)) + kinetic
        # nor is rounding of A times a large rigid displacement, eps |A| |x|^2
        if elastic < -1e-9 * size - 1e-12 * top * square:
            raise NotConverged(
                "skew Lanczos met a direction of negative stiffness: the tangent is indefinite; "
                "use method='auto', or hand in a tangent with its negative part removed"
            )
        return float(np.sqrt(max(elastic, 0.0) + kinetic))

    def grow(self) -> bool:
        """One more vector; False when the space is invariant (the result is then exact)."""
        _, v, ax = self.z[-1]
        wx, wv = v.copy(), -ax
        if self.beta:
            px, pv, _ = self.z[-2]
            wx += self.beta[-1] * px
            wv += self.beta[-1] * pv
        wax = self.A.apply(wx)  # not by the recurrence: that drifts away from A wx
        self.products += 1
        beta = self._norm(wx, wv, wax)
        if beta <= 1e-14 * max([*self.beta, 1e-300]):
            self.rigid = wx  # J z_m = (space) + w with J w = 0
            return False
        self.beta.append(beta)
        self.z.append((wx / beta, wv / beta, wax / beta))
        return True

    def coefficients(self, k: int, tau: float, size: int) -> Array:
        """|u| phi_k(tau H) e_1: H = D (-i T) D^-1 with D = diag(i^j), T symmetric."""
        theta, S = linalg.eigh_tridiagonal(np.zeros(size), np.array(self.beta[: size - 1]))
        s = (tau * theta) ** 2
        values = stumpff(k, s) - 1j * tau * theta * stumpff(k + 1, s)
        powers = 1j ** (np.arange(size) % 4)
        return self.norm * (powers * (S @ (values * S[0]))).real


def skew(
    A: BaseOperator,
    requests: Sequence[PhiRequest],
    vectors: Sequence[tuple[Array | None, Array | None]],
    *,
    tol: float,
    basis: int | None = None,
) -> Action:
    """Rows: the parts of every request. With basis=m exactly m vectors are used and the error is
    only reported; otherwise the basis grows until the change over two steps is below tol (energy
    norm)."""
    n = A.size
    results = [(np.zeros(n), np.zeros(n)) for _ in requests]
    products, worst, used = 0, 0.0, 0
    zero = np.zeros(n)
    for index, (p, q) in enumerate(vectors):
        own = [
            (i, k, f, r.tau)
            for i, r in enumerate(requests)
            for k, f, vec in r.terms
            if vec == index
        ]
        if not own:
            continue
        space = _EnergyBasis(A, zero if p is None else p, zero if q is None else q)
        error = _fill(space, own, tol, basis)
        for i, k, f, tau in own:
            y = f * space.coefficients(k, tau, len(space.z))
            for weight, (x, v, _) in zip(y, space.z, strict=True):
                results[i][0][:] += weight * x
                results[i][1][:] += weight * v
            if space.rigid is not None:
                last = space.coefficients(k + 1, tau, len(space.z))[-1]
                results[i][0][:] += f * tau * last * space.rigid
        products += space.products
        worst, used = max(worst, error), max(used, len(space.z))
    method = f"skew Lanczos in the energy norm, basis {used}"
    rows = [
        half for pair, r in zip(results, requests, strict=True) for half in pair[: len(r.parts)]
    ]
    return Action(rows, worst, products, method)


def _fill(space: _EnergyBasis, own: list[_Own], tol: float, basis: int | None) -> float:
    """Grow to `basis` vectors, or until converged; the relative error estimate."""
    target = MAX_BASIS if basis is None else basis
    check = 4
    error = np.inf
    while len(space.z) < target:
        if space.norm == 0.0 or not space.grow():
            return 0.0
        size = len(space.z)
        if basis is None and size >= check:
            error = _change(space, own)
            if error <= tol:
                return error
            check = size + max(2, size // 8)
    error = _change(space, own)
    if basis is None and error > tol:
        raise NotConverged(
            f"skew Lanczos did not reach tolerance {tol:.1e} with {MAX_BASIS} basis vectors: "
            "try a smaller step, or method='chebyshev'"
        )
    return error


def _change(space: _EnergyBasis, own: list[_Own]) -> float:
    """Largest relative error, extrapolated from the changes over the last basis vectors."""
    size = len(space.z)
    window = max(2, size // 6)
    phase = 2.0 * max(space.beta, default=0.0) * max((abs(tau) for *_, tau in own), default=0.0)
    if size <= 2 * window or size < min(_PLATEAU, 0.5 * phase):
        return np.inf
    worst = 0.0
    far = space.A.norms(*(x for x, _, _ in space.z))
    for _, k, _, tau in own:
        y, middle, early = np.zeros((3, size))
        y[:] = space.coefficients(k, tau, size)
        middle[: size - window] = space.coefficients(k, tau, size - window)
        early[: size - 2 * window] = space.coefficients(k, tau, size - 2 * window)
        # in the energy norm, and weighted by |x_j|: the energy norm is blind to rigid displacement
        for weight in (np.ones(size), far):
            columns = (weight * (y - middle), weight * (middle - early), weight * y)
            now, then, norm = (np.sqrt(c @ c) for c in columns)
            error = float(extrapolated(now, then, 1e-12 * norm))
            worst = max(worst, error / max(float(norm), 1e-300))
    return worst
