"""Dampers along the edges of a body."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backends.kernels import take
from ..contracts import Array, Power
from .checks import as_elements, per_element, require, require_below
from .part import Arranged, Particles
from .pattern import BlockPattern


class Dashpots:
    """f_i = -c (n.w) n = -f_j, n the direction of the edge, w = v_i - v_j.

    edges (m, 2): particle indices; coefficient c [N s/m]: one number or (m,).  They take only
    from stretching, not from flying or spinning, however far a body has turned: both momenta
    stay.  (Rayleigh's beta K0 is cheaper, but belongs to the rest shape: a body that has turned
    by a quarter feels it as soon as it spins.)
    """

    name = "dashpots"

    def __init__(self, edges: Any, coefficient: Any) -> None:
        self.edges = as_elements("dashpot", edges, 2)
        self._coefficient = per_element("coefficient", coefficient, len(self.edges))
        good = self._coefficient >= 0.0
        require("dashpot", self.edges, good, "coefficient is negative", "give c >= 0")

    def couples(self, particles: Particles) -> np.ndarray:
        require_below("dashpot", self.edges, particles.count)
        return self.edges

    def prepare(self, particles: Arranged) -> PreparedDashpots:
        edges = particles.rows[self.edges]
        return PreparedDashpots(edges, self._coefficient, particles.pattern)


class PreparedDashpots:
    time_dependent = False
    velocity_dependent = True
    symmetric = False

    def __init__(self, edges: np.ndarray, coefficient: Array, pattern: BlockPattern) -> None:
        self._kernels = take(pattern.backend, "Dashpots", "dashpot_force", "dashpot_tangents")
        self._edges, self._coefficient = edges.astype(np.uint32), coefficient
        rows, columns = edges[:, [0, 0, 1, 1]], edges[:, [0, 1, 0, 1]]
        self._slots = pattern.slots(rows.ravel(), columns.ravel()).reshape(-1, 4)

    def add_force(self, t: float, x: Array, v: Array, out: Array) -> None:
        self._kernels.dashpot_force(x, v, self._edges, self._coefficient, out)

    def add_tangents(self, t: float, x: Array, v: Array, stiffness: Array, damping: Array) -> None:
        self._kernels.dashpot_tangents(
            x, v, self._edges, self._coefficient, self._slots, stiffness, damping
        )

    def power(self, t: float, x: Array, v: Array) -> Power:
        f = np.zeros_like(x)
        self.add_force(t, x, v, f)
        return Power(dissipated=max(0.0, -float(np.vdot(f, v))))  # but for rounding it is
