"""Rayleigh damping D = alpha M + beta K0 of a body, K0 its own stiffness at rest.

K0 is the convex tangent there: a spring that is compressed in the reference shape has negative
stiffness across, and beta times that would pump energy instead of taking it.  Parts that cannot
tell theirs apart (potentials, molecules) are refused where it is negative.

K0 holds the body's elasticity alone.  Contact of the rest shape with a floor, or an attachment to
a point in space, would brake the body wherever it flies, against the world instead of against its
own strain.  Stiffness-proportional damping acts on velocity differences: where supports move, their
velocities count too (a body carried along rigidly feels nothing).
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..contracts import Array, Power, Rayleigh, State
from ..errors import InputError
from ..matfun.operators import BaseOperator, SparseOperator
from ..parts.user_functions import directional_derivative
from . import linearise
from .matrices import require_passive

if TYPE_CHECKING:
    from .assembly import Assembly


COMPRESSED = 1e-9  # of a block's stiffness: less negative stiffness is the rest shape's rounding


class Viscosity:
    """Bound to one system; the matrix is a constant, assembled once when it is needed."""

    def __init__(self, system: Any, damping: Rayleigh) -> None:
        self._system, self._rayleigh = system, damping
        self._matrix: SparseOperator | None = None
        self._own = system.assembly.own()  # springs that yield keep their K0

    def beside_varying_stiffness(self) -> Rayleigh | BaseOperator:
        """K0 and K(x) do not commute: only alpha M stays Rayleigh damping."""
        return self._rayleigh if self._rayleigh.beta == 0.0 else self.operator()

    def beside(self, assembly: Assembly) -> Rayleigh | BaseOperator:
        """Where the stiffness is K0, constant, this is Rayleigh damping proper; attachments and
        compressed springs make it another."""
        own = assembly.own() is assembly and (self._rayleigh.beta == 0.0 or not self._compressed)
        return self._rayleigh if own else self.beside_varying_stiffness()

    @cached_property
    def _blocks(self) -> tuple[Array, bool]:
        """The convex blocks of K0, and whether that went for every part."""
        return self._own.convex_blocks(self._system.reference(), self._system.pattern)

    @cached_property
    def _compressed(self) -> bool:
        """Something has negative stiffness in the reference shape, which K0 leaves out."""
        exact, _ = self._own.blocks(self._system.reference(), self._system.pattern)
        left_out, size = (np.abs(b).max(axis=(1, 2)) for b in (self._blocks[0] - exact, exact))
        return bool(np.any(left_out > COMPRESSED * size))

    def operator(self) -> SparseOperator:
        """D over the free coordinates."""
        if self._matrix is None:
            mass: Any = self._system.mass
            D = self._rayleigh.alpha * mass.matrix()
            if self._rayleigh.beta:
                D = D + self._rayleigh.beta * self._stiffness()
            self._matrix = SparseOperator(D, mass, constant=True)
        return self._matrix

    def _stiffness(self) -> Any:
        """K0, SciPy sparse."""
        body, (blocks, sure) = self._system, self._blocks
        parts = [
            linearise.block_operator(body.pattern, blocks, body.mass),
            *linearise.matrix_free(body, self._own, body.reference()),
        ]
        K0 = sum(part.tosparse() for part in parts)  # type: ignore[attr-defined]  # both have it
        if not sure:
            remedy = "give alpha or Dashpots instead, or a rest shape in a minimum of its energy"
            require_passive(f"damping beta = {self._rayleigh.beta:g}", K0, remedy)
        if self._system.supports and self._compressed:
            raise InputError(
                "damping beta with supports that move needs a rest shape without compression: "
                "give rest=, or Dashpots instead of beta"
            )
        return K0

    def force(self, s: State) -> Array:
        """D v, with what moving supports add."""
        alpha, beta = self._rayleigh.alpha, self._rayleigh.beta
        if beta == 0.0:
            return alpha * self._system.mass.apply(s.v)
        f = self.operator().K @ s.v
        if self._system.supports:
            led = self._at_rest(self._system.support_velocities(s.t))
            f = f + beta * led.ravel()[: s.v.size]
        return f

    def _at_rest(self, v: Array) -> Array:
        """K0 v over all particles (N, 3): a difference of gradients, since no matrix has it."""
        system = self._system
        product = directional_derivative(self._own.gradient, system.reference(), v)
        return np.asarray(product)

    def power(self, s: State) -> Power:
        alpha, beta = self._rayleigh.alpha, self._rayleigh.beta
        if beta == 0.0 or not self._system.supports:
            return Power(dissipated=max(0.0, float(s.v @ self.force(s))))  # but for rounding it is
        v, led = self._system.row_velocities(s), self._system.support_velocities(s.t)
        viscous = beta * self._at_rest(v)
        drag = alpha * float(self._system.mass.dot(s.v, s.v))
        taken = max(0.0, float(np.vdot(viscous, v)))
        return Power(added=float(np.vdot(viscous, led)), dissipated=drag + taken)
