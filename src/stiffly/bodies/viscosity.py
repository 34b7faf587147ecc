"""Rayleigh damping D = alpha M + beta K0 of a body, K0 its own stiffness at rest.

K0 holds the body's elasticity alone.  Contact of the rest shape with a floor, or an attachment to
a point in space, would brake the body wherever it flies, against the world instead of against its
own strain.  Stiffness-proportional damping acts on velocity differences: where supports move, their
velocities count too (a body carried along rigidly feels nothing).
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from ..contracts import Array, Power, Rayleigh, State
from ..matfun.operators import BaseOperator, SparseOperator
from . import linearise
from .user_functions import directional_derivative

if TYPE_CHECKING:
    from .assembly import Assembly


class Viscosity:
    """Bound to one system; the matrix is a constant, assembled once when it is needed."""

    def __init__(self, system: Any, damping: Rayleigh) -> None:
        self._system, self._rayleigh = system, damping
        self._matrix: SparseOperator | None = None
        self._own = system.assembly.fresh().own()  # springs that yield keep their K0

    def beside_varying_stiffness(self) -> Rayleigh | BaseOperator:
        """K0 and K(x) do not commute: only alpha M stays Rayleigh damping."""
        return self._rayleigh if self._rayleigh.beta == 0.0 else self.operator()

    def beside(self, assembly: Assembly) -> Rayleigh | BaseOperator:
        """Where the stiffness is K0, constant, this is Rayleigh damping proper; attachments make
        it another."""
        return self._rayleigh if assembly.own() is assembly else self.beside_varying_stiffness()

    def operator(self) -> SparseOperator:
        """D over the free coordinates."""
        if self._matrix is None:
            mass: Any = self._system.mass
            D = self._rayleigh.alpha * mass.matrix()
            if self._rayleigh.beta:
                body = copy.copy(self._system)
                body.assembly = self._own
                K0: Any = linearise.stiffness(body, body.reference(), constant=True)
                D = D + self._rayleigh.beta * K0.tosparse()
            self._matrix = SparseOperator(D, mass, constant=True)
        return self._matrix

    def force(self, s: State) -> Array:
        """D v, with what moving supports add."""
        alpha, beta = self._rayleigh.alpha, self._rayleigh.beta
        if beta == 0.0:
            return alpha * self._system.mass.apply(s.v)
        f = self.operator().K @ s.v
        if self._system.supports:
            led = self._at_rest(self._system.support_velocities(s.t))
            f = f + beta * led.ravel()[self._system.movable]
        return f

    def _at_rest(self, v: Array) -> Array:
        """K0 v over all particles (N, 3): a difference of gradients, since no matrix has it."""
        system = self._system
        product = directional_derivative(self._own.gradient, system.reference(), v)
        return np.asarray(product)

    def power(self, s: State) -> Power:
        alpha, beta = self._rayleigh.alpha, self._rayleigh.beta
        if beta == 0.0 or not self._system.supports:
            return Power(dissipated=float(s.v @ self.force(s)))
        v, led = self._system.velocities(s), self._system.support_velocities(s.t)
        viscous = beta * self._at_rest(v)
        drag = alpha * float(self._system.mass.dot(s.v, s.v))
        return Power(
            added=float(np.vdot(viscous, led)), dissipated=drag + float(np.vdot(viscous, v))
        )
