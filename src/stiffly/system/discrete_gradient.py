"""What implicit methods ask of a body: the force between two states that gives its energy exactly,
its derivative, and the local/global matrix.  The force is that of a discrete gradient,

    g(x0, x1) . (x1 - x0) = E(x1) - E(x0),   g(x, x) = dE/dx(x),   g(x0, x1) = g(x1, x0)

With x1 = x0 + h (v0 + v1)/2 and M (v1 - v0) = -h g the total energy stays what it was at any step
(Simo, Tarnow 1992; McLachlan, Quispel, Robidoux 1999), and where g has neither resultant nor
torque about (x0 + x1)/2, linear and angular momentum do too.  Parts that know such a g in closed
form (springs, tets, atoms) offer `add_mean_gradient`.  Where E is quadratic the gradient at the
middle is one.  For any other part Gonzalez' correction (1996) stands in,

    g = dE/dx(xm) + [E(x1) - E(x0) - dE/dx(xm).dx] / |dx|^2  dx,   xm = (x0 + x1)/2, dx = x1 - x0,

whose energy is exact, while momenta are only as good as the midpoint rule's force allows: the
correction itself pulls along dx, so that a body that flies is pushed a little (third order in dx).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..contracts import Array, State
from ..errors import InputError
from ..matfun.operators import BaseOperator
from ..parts.pattern import BlockPattern
from .assembly import Assembly
from .linearise import (
    LinearTangent,
    ProductOperator,
    block_operator,
    load_blocks,
    matrix_free,
    summed,
)

if TYPE_CHECKING:
    from .system import System

Triplets = tuple[np.ndarray, np.ndarray, Array]

# A gap below this share of the energies is their rounding, and divided by a small |dx| it would
# be a force of its own.
ROUNDING = 8 * 2.0**-52


def mean_force(system: System, s0: State, s1: State) -> Array:
    """F with F.(x1 - x0) = E(x0) - E(x1) exactly, plus loads and damping at the middle."""
    x0, x1 = system.row_positions(s0), system.row_positions(s1)
    parts, centre = system.at(s0), middle(s0, s1)
    total = mean_gradient(parts, x0, x1)
    np.negative(total, out=total)
    if parts.loads:
        x, v = system.row_positions(centre), system.row_velocities(centre)
        total += parts.load_force(centre.t, x, v)
    f = total.ravel()[: system.size]
    if system.viscosity is not None:
        f -= system.viscosity.force(centre)
    return f


def mean_gradient(assembly: Assembly, x0: Array, x1: Array) -> Array:
    """g (N, 3) [N] of all potentials between positions x0 and x1 (N, 3)."""
    out = np.zeros(x0.shape)
    for _, part in assembly.potentials:
        if hasattr(part, "add_mean_gradient"):
            part.add_mean_gradient(x0, x1, out)
        elif getattr(part, "linear", False):
            part.add_gradient(0.5 * (x0 + x1), out)
        else:
            out += corrected_gradient(part, x0, x1)
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
    blocks, centre = np.zeros((pattern.nnz, 3, 3)), 0.5 * (x0 + x1)
    halved, ignored = np.zeros_like(blocks), np.zeros(len(x0))
    for part in assembly.assembled:
        if not part.linear and hasattr(part, "add_mean_blocks"):
            part.add_mean_blocks(x0, x1, blocks)
        else:
            part.add_blocks(centre, halved, ignored)
    halved *= 0.5
    blocks += halved
    triplets = [_mean_triplets(part, x0, x1) for part in assembly.matrix_free]
    return blocks, triplets or None


def _mean_triplets(part: Any, x0: Array, x1: Array) -> Triplets:
    if hasattr(part, "mean_triplets"):
        return part.mean_triplets(x0, x1)
    rows, columns, blocks = part.triplets(0.5 * (x0 + x1))
    return rows, columns, 0.5 * blocks


def middle(s0: State, s1: State) -> State:
    """Half-way between two states."""
    x, v = s0.x + s1.x, s0.v + s1.v
    x *= 0.5  # in place: every iteration of every step comes here
    v *= 0.5
    return s0.moved(0.5 * (s0.t + s1.t), x, v)


@dataclass(slots=True, eq=False)
class MeanTangent(LinearTangent):
    """Derivative of a mean force by the second state: what is taken at the middle counts half,
    damping always, and stiffness by its `share` (1 where it is a derivative by x1 already)."""

    share: float = 1.0

    def matrix(self, m: float, k: float, d: float) -> Any:
        return LinearTangent.matrix(self, m, self.share * k, 0.5 * d)


def mean_tangent(system: System, s0: State, s1: State) -> MeanTangent:
    """K = -dF/dx1 and D = -dF/dv1 of the mean force; not symmetric."""
    x0, x1 = system.row_positions(s0), system.row_positions(s1)
    parts, centre = system.at(s0), middle(s0, s1)
    blocks, triplets = mean_blocks(parts, x0, x1, system.pattern)
    x, v = system.row_positions(centre), system.row_velocities(centre)
    K, damping = load_blocks(system, parts, centre.t, x, v)
    stiff: list[BaseOperator] = [
        block_operator(system.pattern, blocks + 0.5 * K, system.mass),
        *(ProductOperator(system, triplets=lambda found=found: found) for found in triplets or ()),
    ]
    for load in parts.global_loads:
        stiffness, resistance = load.matrices(centre.t, x, v)
        stiff.append(ProductOperator(system, matrix=lambda K=stiffness: 0.5 * K))
        damping.append(ProductOperator(system, matrix=lambda D=resistance: D))
    return MeanTangent(summed(stiff), summed(damping) if damping else None, False, False)


def convex_tangent(system: System, s: State) -> LinearTangent:
    """The tangent less the negative stiffness of potentials, and without that of loads.

    Newton's method goes down along it where the tangent itself is indefinite.
    """
    x, pattern = system.row_positions(s), system.pattern
    blocks, sure = system.at(s).convex_blocks(x, pattern)
    low = 0.0 if sure else None
    operator = block_operator(pattern, blocks, system.mass, low=low, bodies=pattern.bodies)
    stiff = [operator, *matrix_free(system, system.at(s), x)]
    return LinearTangent(summed(stiff), system.tangent(s).damping, True, False)


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


def global_layout(system: System, s0: State, s1: State, old: Any, begins: bool) -> Any:
    """What L has to cover in a step from s0 at s1: of the parts whose L changes what each must (see
    part.Optional.layout), or `old` itself where that does."""
    if not system.assembly.changing:
        return () if old is None else old
    x0, x1, changing = system.row_positions(s0), system.row_positions(s1), system.at(s0).changing
    pairs = zip(changing, [None] * len(changing) if old is None else old, strict=True)
    new = tuple(part.layout(x0, x1, own, begins) for part, own in pairs)
    same = old is not None and all(a is b for a, b in zip(new, old, strict=True))
    return old if same else new


def global_matrix(
    system: System, alpha: float, beta: float = 0.0, layout: Any = None
) -> sp.csc_matrix:
    """M + alpha L + beta D over the free particles, for all three coordinates alike.

    D = a M + b L stands in for Rayleigh(a, b), whose K0 is not the same for all coordinates.
    """
    m, k = 1.0, alpha
    if system.damping is not None:
        m, k = m + beta * system.damping.alpha, k + beta * system.damping.beta
    mass: Any = system.mass
    n = system.numbering.free
    L = laplacian(system.assembly, system.particles, layout)
    return sp.csc_matrix(m * mass.matrix()[::3, ::3] + k * L[:n, :n])
