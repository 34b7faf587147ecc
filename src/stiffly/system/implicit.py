"""What implicit methods ask of a body: forces between two states, and the local/global matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..contracts import Array, State
from ..matfun.operators import BaseOperator, BlockOperator
from . import discrete_gradient
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


def mean_force(system: System, s0: State, s1: State) -> Array:
    """F with F.(x1 - x0) = E(x0) - E(x1) exactly, plus loads and damping at the middle."""
    x0, x1 = system.row_positions(s0), system.row_positions(s1)
    parts, centre = system.at(s0), middle(s0, s1)
    total = discrete_gradient.mean_gradient(parts, x0, x1)
    np.negative(total, out=total)
    if parts.loads:
        x, v = system.row_positions(centre), system.row_velocities(centre)
        total += parts.load_force(centre.t, x, v)
    f = total.ravel()[: system.size]
    if system.viscosity is not None:
        f -= system.viscosity.force(centre)
    return f


def convex_tangent(system: System, s: State) -> LinearTangent:
    """The tangent less the negative stiffness of potentials, and without that of loads.

    Newton's method goes down along it where the tangent itself is indefinite.
    """
    x = system.row_positions(s)
    blocks, sure = system.at(s).convex_blocks(x, system.pattern)
    operator = BlockOperator(
        system.pattern.indptr,
        system.pattern.indices,
        blocks,
        system.mass,
        low=0.0 if sure else None,
        bodies=system.pattern.bodies,
    )
    stiff = [operator, *matrix_free(system, system.at(s), x)]
    return LinearTangent(summed(stiff), system.tangent(s).damping, True, False)


def global_matrix(system: System, laplacian: Any, alpha: float, beta: float) -> sp.csc_matrix:
    """M + alpha L + beta D over the free particles, with laplacian (N, N) over all.

    D = a M + b L stands in for Rayleigh(a, b), whose K0 is not the same for all coordinates.
    """
    m, k = 1.0, alpha
    if system.damping is not None:
        m, k = m + beta * system.damping.alpha, k + beta * system.damping.beta
    mass: Any = system.mass
    n = system.numbering.free
    return sp.csc_matrix(m * mass.matrix()[::3, ::3] + k * laplacian[:n, :n])


def middle(s0: State, s1: State) -> State:
    """Half-way between two states."""
    x, v = s0.x + s1.x, s0.v + s1.v
    x *= 0.5  # in place: every iteration of every step comes here
    v *= 0.5
    return s0.moved(0.5 * (s0.t + s1.t), x, v)


class MeanTangent(LinearTangent):
    """Derivative of a mean force by the second state: loads and damping, taken at the middle,
    count half (the potentials' share is whole: their blocks are derivatives by x1 already)."""

    def matrix(self, m: float, k: float, d: float) -> Any:
        return super().matrix(m, k, 0.5 * d)


def mean_tangent(system: System, s0: State, s1: State) -> MeanTangent:
    """K = -dF/dx1 and D = -dF/dv1 of the mean force; not symmetric."""
    x0, x1 = system.row_positions(s0), system.row_positions(s1)
    parts, centre = system.at(s0), middle(s0, s1)
    blocks, triplets = discrete_gradient.mean_blocks(parts, x0, x1, system.pattern)
    x, v = system.row_positions(centre), system.row_velocities(centre)
    K, damping = load_blocks(system, parts, centre.t, x, v)
    stiff: list[BaseOperator] = [
        block_operator(system.pattern, blocks + 0.5 * K, system.mass),
        *(_entries_only(system, lambda found=found: found) for found in triplets or ()),
    ]
    for load in parts.global_loads:
        stiffness, resistance = load.matrices(centre.t, x, v)
        stiff.append(_entries_only(system, matrix=lambda K=stiffness: 0.5 * K))
        damping.append(_entries_only(system, matrix=lambda D=resistance: D))
    return MeanTangent(summed(stiff), summed(damping) if damping else None, False, False)


def _entries_only(system: System, triplets: Any = None, matrix: Any = None) -> ProductOperator:
    """For solvers that ask for the matrix and never for products."""

    def refuse(b: Array, out: Array) -> None:
        raise NotImplementedError("this operator is known by its entries")

    return ProductOperator(refuse, triplets, system.particles, system.mass, matrix)
