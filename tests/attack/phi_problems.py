"""Random problems sum_k phi_k(hJ) v_k whose solution is known better than double precision.

Every J here is exact in double precision, and falls apart into blocks of at most six rows in a
basis that is known in closed form (sines and cosines of chains and lattices, Walsh functions, a
permutation).  In that basis the blocks' phi functions are taken with 64 bits of mantissa, so the
reference is 2,000 times better than any evaluator in double precision could be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import factorial
from typing import Any

import numpy as np
import scipy.fft
import scipy.linalg
import scipy.sparse as sp

LONG = np.longdouble
_TERMS = 25  # of the Taylor sum for |z| <= 1/2: the next one is below 1e-33


def phi_blocks(top: int, Z: Any, extra: int = 0) -> list[Any]:
    """phi_0 .. phi_top of a stack of small matrices (b, m, m), every one with its own halvings.

    Doubling: phi_k(2z) = 2^-k (phi_0(z) phi_k(z) + sum_(0<j<=k) phi_j(z) / (k - j)!).
    """
    Z = np.asarray(Z, dtype=LONG)
    norm = np.abs(Z).sum(axis=1).max(axis=1, initial=0.0).astype(float)
    octaves = np.where(norm > 0.5, np.ceil(np.log2(np.maximum(norm, 1e-300))) + 1, 0) + extra
    octaves = octaves.astype(int)
    small = Z * LONG(2.0) ** -octaves.astype(LONG)[:, None, None]
    one = np.broadcast_to(np.eye(Z.shape[1], dtype=LONG), Z.shape)
    values = [_taylor(k, small, one) for k in range(top + 1)]
    for level in range(int(octaves.max(initial=0))):
        own = octaves > level
        old = [value[own] for value in values]
        for k in range(top, -1, -1):
            total = _times(old[0], old[k])
            for j in range(1, k + 1):
                total = total + old[j] / LONG(factorial(k - j))
            values[k][own] = total / LONG(2**k)
    return values


def _taylor(k: int, z: Any, one: Any) -> Any:
    value = one / LONG(factorial(k + _TERMS))
    for j in range(k + _TERMS - 1, k - 1, -1):
        value = _times(value, z) + one / LONG(factorial(j))
    return value.copy()


def _times(a: Any, b: Any) -> Any:
    return sum(a[:, :, i, None] * b[:, None, i, :] for i in range(a.shape[2]))


@dataclass(frozen=True)
class Modes:
    """forward: vectors (n,) to coordinates (n,), back: the inverse, both in long double."""

    forward: Callable[[Any], Any]
    back: Callable[[Any], Any]


@dataclass(frozen=True)
class Symmetric:
    """A = back diag(blocks) forward, exact; blocks (b, m, m) symmetric, coordinates b-major."""

    A: Any  # sparse
    blocks: Any
    modes: Modes

    @property
    def size(self) -> int:
        return self.A.shape[0]


def _power_of_two(x: float) -> float:
    return float(2.0 ** np.round(np.log2(x)))


def chain(rng: np.random.Generator, n: int) -> Symmetric:
    """Springs in a row or in a lattice, ends held or free, perhaps with a soft or negative bed."""
    free = bool(rng.integers(2))
    other = int(rng.integers(2, 8)) if n >= 16 and rng.random() < 0.4 else 1
    n //= other
    parts = (
        [_chain(n, free), _chain(other, bool(rng.integers(2)))] if other > 1 else [_chain(n, free)]
    )
    A, lam = parts[0]
    if other > 1:
        A = sp.kron(A, sp.identity(other)) + sp.kron(sp.identity(n), parts[1][0])
        lam = (lam[:, None] + parts[1][1][None]).ravel()
    bed = float(rng.choice([0.0, 0.0, 1.0, -1.0])) * 2.0 ** int(rng.integers(-20, 0))
    A, lam = A + bed * sp.identity(A.shape[0]), lam + LONG(bed)
    kinds = [free] if other == 1 else [free, parts[1][1][0] == 0]

    def turn(b: Any, inverse: bool) -> Any:
        grid = (
            np.asarray(b, dtype=LONG).reshape(n, -1) if other > 1 else np.asarray(b, LONG)[:, None]
        )
        for axis, is_free in enumerate(kinds):
            grid = _waves(grid, axis, bool(is_free), inverse)
        return grid.ravel()

    return Symmetric(
        sp.csr_matrix(A),
        lam[:, None, None],
        Modes(lambda b: turn(b, False), lambda c: turn(c, True)),
    )


def _chain(n: int, free: bool) -> tuple[Any, Any]:
    diagonal = np.full(n, 2.0)
    if free:
        diagonal[[0, -1]] = 1.0 if n > 1 else 0.0
    A = sp.diags([diagonal, -np.ones(n - 1), -np.ones(n - 1)], [0, 1, -1])
    j = np.arange(n, dtype=LONG) if free else np.arange(1, n + 1, dtype=LONG)
    pi = 4 * np.arctan(LONG(1.0))
    lam = 4 * np.sin(j * pi / (2 * n if free else 2 * (n + 1))) ** 2
    return A, lam


def _waves(grid: Any, axis: int, free: bool, inverse: bool) -> Any:
    if free:
        transform = scipy.fft.idct if inverse else scipy.fft.dct
        return transform(grid, type=2, axis=axis, norm="ortho")
    return scipy.fft.dst(grid, type=1, axis=axis, norm="ortho")


def walsh(rng: np.random.Generator, n: int) -> Symmetric:
    """A full matrix H diag(integers) H / n, exact; eigenvalues even, clustered or with outliers."""
    n = 2 ** int(np.log2(min(max(n, 2), 512)))
    spread = rng.choice(["even", "logarithmic", "outliers", "few"])
    lam = {
        "even": lambda: rng.uniform(0, 2**20, n),
        "logarithmic": lambda: 2.0 ** rng.uniform(0, 24, n),
        "outliers": lambda: np.append(rng.uniform(0, 100, n - 1), 2**24),
        "few": lambda: rng.choice([0.0, 3.0, 1000.0, 2**20], n),
    }[spread]()
    lam = n * np.round(lam / n) if spread == "even" else np.round(lam)
    if rng.random() < 0.3:
        lam[: max(1, n // 8)] *= -1.0
    H = scipy.linalg.hadamard(n).astype(float)
    A = (H * lam) @ H / n

    def turn(b: Any) -> Any:
        out, width = np.asarray(b, dtype=LONG).copy(), 1
        while width < n:
            pairs = out.reshape(-1, 2, width)
            out = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], 1).ravel()
            width *= 2
        return out / np.sqrt(LONG(n))

    return Symmetric(sp.csr_matrix(A), lam.astype(LONG)[:, None, None], Modes(turn, turn))


def bodies(rng: np.random.Generator, n: int) -> Symmetric:
    """Copies of a few random symmetric blocks, shuffled; any eigenvalues, any sign."""
    m = int(rng.integers(1, min(6, n) + 1))
    kinds = [_symmetric_block(rng, m) for _ in range(int(rng.integers(1, 4)))]
    stack = np.array([kinds[i] for i in rng.integers(len(kinds), size=max(1, n // m))])
    return Symmetric(*_shuffled(rng, stack))


def _symmetric_block(rng: np.random.Generator, m: int) -> Any:
    G = rng.standard_normal((m, m)) * 10.0 ** rng.uniform(-3, 0, m)
    shape = rng.integers(3)
    block = G @ G.T if shape == 0 else 0.5 * (G + G.T) if shape == 1 else np.ones((m, m)) * G[0, 0]
    return 0.5 * (block + block.T)


def _shuffled(rng: np.random.Generator, stack: Any) -> tuple[Any, Any, Modes]:
    size = stack.shape[0] * stack.shape[1]
    order = rng.permutation(size)
    inverse = np.argsort(order)
    A = sp.csr_matrix(sp.block_diag(list(stack), format="csr"))[order][:, order]
    modes = Modes(
        lambda b: np.asarray(b, dtype=LONG)[inverse], lambda c: np.asarray(c, dtype=LONG)[order]
    )
    return A, np.asarray(stack, dtype=LONG), modes


def scaled_to(problem: Symmetric, omega: float) -> tuple[Symmetric, float]:
    """The same with its largest frequency near omega, by a power of two; and that frequency."""
    top = float(np.abs(np.linalg.eigvalsh(problem.blocks.astype(float))).max()) or omega**2
    factor = _power_of_two(omega**2 / top)
    scaled = Symmetric(problem.A * factor, problem.blocks * LONG(factor), problem.modes)
    return scaled, float(np.sqrt(top * factor))


def second_order_blocks(blocks: Any, damping: Any) -> tuple[Any, Any]:
    """[[0, w], [-A/w, -D]] (b, 2m, 2m), and the powers of two w that balance it (b,).

    damping: D (b, m, m), or None.
    """
    b, m = blocks.shape[:2]
    w = np.array([_power_of_two(max(float(np.abs(a).max()), 1e-300) ** 0.5) for a in blocks])
    w = np.maximum(w, 1e-3 * w.max())
    w = np.exp2(np.round(np.log2(w))).astype(LONG)
    R = np.zeros((b, 2 * m, 2 * m), dtype=LONG)
    R[:, :m, m:] = w[:, None, None] * np.eye(m)
    R[:, m:, :m] = -blocks / w[:, None, None]
    if damping is not None:
        R[:, m:, m:] = -damping
    return R, w


@dataclass(frozen=True)
class Answer:
    """value: halves (parts, n); doubt: what the reference may be off by, per half; floor: sums of
    sup|f_ji| |b_i| per half, what rounding of the summands is measured against."""

    value: Any
    doubt: Any
    floor: Any


def second_order_answer(problem: Symmetric, damping: Any, h: float, vectors: list[Any]) -> Answer:
    """Both halves of sum_k phi_k(hJ) v_k for J = [[0, I], [-A, -D]]; damping: of the blocks."""
    m, n = problem.blocks.shape[1], problem.size
    R, w = second_order_blocks(problem.blocks, damping)
    halves = [None if v is None else _in_modes(problem, v.reshape(2, n), m, w) for v in vectors]
    tries = []
    for extra in (0, 3):
        c = _summed(phi_blocks(len(vectors) - 1, LONG(h) * R, extra), halves)
        both = np.stack([c[:, :m] / w[:, None], c[:, m:]])
        tries.append(np.stack([problem.modes.back(part.ravel()) for part in both]))
    doubt = 10 * np.linalg.norm((tries[0] - tries[1]).astype(float), axis=1)
    return Answer(tries[0], doubt, np.zeros(2))


def summands(problem: Symmetric, alpha: float, beta: float, h: float, vectors: list[Any]) -> Any:
    """sum_i sup|f_ji| |b_i| of both halves j (2,), over the interval of the spectrum, lam >= 0."""
    lam = np.linalg.eigvalsh(problem.blocks.astype(float))
    if not lam.max() >= 0.0:
        return np.zeros(2)
    lam = np.linspace(max(0.0, lam.min()), lam.max(), 300)[:, None, None]
    R, w = second_order_blocks(lam, alpha + beta * lam)
    total = np.zeros(2)
    for table, v in zip(phi_blocks(len(vectors) - 1, LONG(h) * R), vectors, strict=True):
        if v is not None:
            total += _sup(table, w) @ np.linalg.norm(v.reshape(2, -1), axis=1)
    return total


def _in_modes(problem: Symmetric, parts: Any, m: int, w: Any) -> Any:
    x, v = (problem.modes.forward(part).reshape(-1, m) for part in parts)
    return np.concatenate([x * w[:, None], v], axis=1)


def _summed(tables: list[Any], vectors: list[Any]) -> Any:
    total = 0
    for table, v in zip(tables, vectors, strict=True):
        if v is not None:
            v = v[:, None, :]  # what is not there does not grow, though its function overflows
            total = total + np.where(v == 0, 0, table * v).sum(axis=2)
    return total


def _sup(table: Any, w: Any) -> Any:
    """Largest entries (2, 2) over the blocks, in the coordinates of J."""
    unit = np.stack([w, np.ones_like(w)])  # half i is w_i times what J knows
    return np.array(
        [[float(np.abs(table[:, i, j] * unit[j] / unit[i]).max()) for j in (0, 1)] for i in (0, 1)]
    )


def first_order_answer(blocks: Any, modes: Modes, h: float, vectors: list[Any]) -> Answer:
    """sum_k phi_k(hJ) v_k for J = back diag(blocks) forward."""
    m = blocks.shape[1]
    inside = [None if v is None else modes.forward(v).reshape(-1, m) for v in vectors]
    tries = []
    for extra in (0, 3):
        tables = phi_blocks(len(vectors) - 1, LONG(h) * np.asarray(blocks, LONG), extra)
        tries.append(modes.back(_summed(tables, inside).ravel()))
    doubt = 10 * np.linalg.norm((tries[0] - tries[1]).astype(float))
    return Answer(tries[0][None], np.array([doubt]), np.zeros(1))
