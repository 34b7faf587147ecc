"""Discrete gradients of a body: the force between two states that gives its energy exactly.

    g(x0, x1) . (x1 - x0) = E(x1) - E(x0),   g(x, x) = dE/dx(x),   g(x0, x1) = g(x1, x0)

With x1 = x0 + h (v0 + v1)/2 and M (v1 - v0) = -h g the total energy stays what it was at any step
(Simo, Tarnow 1992; McLachlan, Quispel, Robidoux 1999), and where g has neither resultant nor
torque about (x0 + x1)/2, linear and angular momentum do too.  Parts that know such a g in closed
form (springs, tets, atoms) offer `add_mean_gradient`.  Where E is quadratic the gradient at the
middle is one.  For any other part Gonzalez' correction (1996) stands in,

    g = dE/dx(xm) + [E(x1) - E(x0) - dE/dx(xm).dx] / |dx|^2  dx,   xm = (x0 + x1)/2, dx = x1 - x0,

whose energy is exact, while momenta are only as good as the midpoint rule's force allows: the
correction itself pulls along dx, so that a body that flies is pushed a little (third order in dx).

The second half of this file is the constant matrix of local/global solvers (see `laplacian`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..contracts import Array
from ..errors import InputError
from ..parts.pattern import BlockPattern
from .assembly import Assembly

Triplets = tuple[np.ndarray, np.ndarray, Array]

# A gap below this share of the energies is their rounding, and divided by a small |dx| it would
# be a force of its own.
ROUNDING = 8 * 2.0**-52


def mean_gradient(assembly: Assembly, x0: Array, x1: Array) -> Array:
    """g (N, 3) [N] of all potentials between positions x0 and x1 (N, 3)."""
    out = np.zeros(x0.shape)
    for _, part in assembly.potentials:
        potential: Any = part
        if hasattr(part, "add_mean_gradient"):
            potential.add_mean_gradient(x0, x1, out)
        elif getattr(part, "linear", False):
            potential.add_gradient(0.5 * (x0 + x1), out)
        else:
            out += corrected_gradient(potential, x0, x1)
    return out


def corrected_gradient(part: Any, x0: Array, x1: Array) -> Array:
    """Gonzalez' discrete gradient (N, 3) of one part, from its energy and gradient alone."""
    out, dx = np.zeros(x0.shape), x1 - x0
    part.add_gradient(0.5 * (x0 + x1), out)
    return out + gap_correction(float(np.vdot(out, dx)), part.energy(x0), part.energy(x1), dx)


def gap_correction(slope: float, before: float, after: float, dx: Array) -> Array:
    """What a gradient that gives `slope` along dx lacks for the change of energy: along dx."""
    gap = after - before - slope
    square = float(np.vdot(dx, dx))
    if square == 0.0 or abs(gap) <= ROUNDING * (abs(before) + abs(after)):
        return np.zeros(dx.shape)
    return gap / square * dx


def mean_blocks(
    assembly: Assembly, x0: Array, x1: Array, pattern: BlockPattern
) -> tuple[Array, list[Triplets] | None]:
    """dg/dx1: blocks (nnz, 3, 3), not symmetric, and triplets of the parts that have no blocks
    (None where there are no such parts).

    Exact, but for the parts with Gonzalez' correction: theirs is half the tangent at the middle,
    which leaves out a term of first order in dx.
    """
    blocks, middle = np.zeros((pattern.nnz, 3, 3)), 0.5 * (x0 + x1)
    halved, ignored = np.zeros_like(blocks), np.zeros(len(x0))
    for part in assembly.assembled:
        potential: Any = part
        if not part.linear and hasattr(part, "add_mean_blocks"):
            potential.add_mean_blocks(x0, x1, blocks)
        else:
            potential.add_blocks(middle, halved, ignored)
    halved *= 0.5
    blocks += halved
    triplets = [_mean_triplets(part, x0, x1) for part in assembly.matrix_free]
    return blocks, triplets or None


def _mean_triplets(part: Any, x0: Array, x1: Array) -> Triplets:
    if hasattr(part, "mean_triplets"):
        return part.mean_triplets(x0, x1)
    rows, columns, blocks = part.triplets(0.5 * (x0 + x1))
    return rows, columns, 0.5 * blocks


# ------------------------------------------------------------------ local/global


def laplacian(assembly: Assembly, count: int, layout: Sequence[Any] | None = None) -> sp.csr_matrix:
    """The constant L (N, N) [N/m], symmetric and positive semidefinite: all parts' tangents are
    about L (x) I_3 (see part.Optional.laplacian).  layout: of the parts whose L changes."""
    rows, columns, values = ([np.empty(0, dtype=kind)] for kind in (np.int64, np.int64, float))
    laid = iter([None] * len(assembly.changing) if layout is None else layout)
    for name, part in assembly.stiff:
        if hasattr(part, "laplacian"):
            own = (next(laid),) if hasattr(part, "layout") else ()
            entries: Triplets = part.laplacian(*own)  # type: ignore[attr-defined]  # just asked
            rows.append(entries[0])
            columns.append(entries[1])
            values.append(entries[2])
        elif not _pulls_alike_everywhere(part, count):
            raise InputError(f"{name} has no local step: use energy-momentum or stabilised")
    where = (np.concatenate(rows), np.concatenate(columns))
    return sp.csr_matrix((np.concatenate(values), where), shape=(count, count))


def _pulls_alike_everywhere(part: Any, count: int) -> bool:
    """A potential without stiffness (gravity): its gradient is the same at any two places."""
    if not getattr(part, "linear", False):
        return False
    here, there = np.zeros((2, count, 3))
    part.add_gradient(np.zeros((count, 3)), here)
    part.add_gradient(np.random.default_rng(0).standard_normal((count, 3)), there)
    return bool(np.array_equal(here, there))


def layout(
    assembly: Assembly, x0: Array, x1: Array, old: Sequence[Any] | None, begins: bool
) -> Sequence[Any]:
    """What the parts whose L changes must cover in a step from x0 at x1; `old` itself where that
    does (see part.Optional.layout)."""
    before = [None] * len(assembly.changing) if old is None else old
    pairs = zip(assembly.changing, before, strict=True)
    new = tuple(part.layout(x0, x1, own, begins) for part, own in pairs)
    same = old is not None and all(a is b for a, b in zip(new, old, strict=True))
    return old if old is not None and same else new
