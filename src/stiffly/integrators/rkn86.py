"""The Runge-Kutta-Nyström pair 8(6) of Dormand, El-Mikkawy and Prince, for x'' = a(t, x).

Nine stages, the last of which opens the next step: eight forces a step, where a Runge-Kutta method
of this order takes twelve.  Dormand, El-Mikkawy, Prince, High-order embedded Runge-Kutta-Nyström
formulae, IMA J. Numer. Anal. 7 (1987).  The coefficients are rational, and satisfy every order
condition exactly (tests/test_explicit_pairs.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from ..contracts import Array, Between, State, System, Tableau, Work
from .interpolation import Hermite
from .nystrom import NystromPair, require_no_velocities

NODES = "0 1/20 1/10 3/10 1/2 7/10 9/10 1 1"
ABAR = (
    "",
    "1/800",
    "1/600 1/300",
    "9/200 -9/100 9/100",
    "-66701/197352 28325/32892 -2665/5482 2170/24669",
    "227015747/304251000 -54897451/30425100 12942349/10141700 -9499/304251 539/9250",
    "-1131891597/901789000 41964921/12882700 -6663147/3220675 270954/644135 -108/5875 114/1645",
    "13836959/3667458 -17731450/1833729 1063919505/156478208 -33213845/39119552 13335/28544 "
    "-705/14272 1645/57088",
    "223/7938 0 1175/8064 925/6048 41/448 925/14112 1175/72576 0",
)
B = "223/7938 0 5875/36288 4625/21168 41/224 4625/21168 5875/36288 223/7938 0"
SIXTH_BBAR = (
    "7987313/109941300 0 1610737/44674560 10023263/33505920 -497221/12409600 10023263/78180480 "
    "1610737/402071040 0 0"
)
SIXTH_B = (
    "7987313/109941300 0 1610737/40207104 10023263/23454144 -497221/6204800 10023263/23454144 "
    "1610737/40207104 -4251941/54970650 3/20"
)


def exact(row: str) -> list[Fraction]:
    """One for every stage: those that come later have no weight."""
    found = [Fraction(text) for text in row.split()]
    return found + [Fraction(0)] * (len(NODES.split()) - len(found))


def _rows(*rows: str) -> Array:
    return np.array([exact(row) for row in rows], dtype=np.float64)


def _tableau() -> Tableau:
    (c,), bar = _rows(NODES), _rows(*ABAR)
    end = len(c) - 1
    A = np.zeros_like(bar)
    A[end] = _rows(B)
    errors = np.array([bar[end], A[end]]) - _rows(SIXTH_BBAR, SIXTH_B)
    return Tableau(c, bar, A, end, errors[None])


@dataclass(frozen=True)
class Nystrom86(NystromPair):
    """Order 8 at eight forces a step, of time and positions alone; stable for h omega < 3.2."""

    name: ClassVar[str] = "rkn86"
    order: ClassVar[int] = 8
    error_order: ClassVar[int] = 6
    tableau: ClassVar[Tableau] = _tableau()

    def start(self, system: System, state: State) -> Any:
        require_no_velocities(system, self.name)

    def between(self, system: System, before: State, after: State, h: float, a: Array) -> Between:
        """The sextic through x, v and a at both ends and a at the middle, one more force.

        There a is taken on the quintic through the ends, off by O(h^6), which adds O(h^8) to x: so
        x has an error O(h^7), below the one that the step is judged by (docs/decisions/0036).
        """
        ends = Hermite(before, after, h, a[0], a[self.tableau.end])
        middle = system.acceleration(ends(before.t + 0.5 * h))
        return Between(ends.through(middle), Work(force_evaluations=1))
