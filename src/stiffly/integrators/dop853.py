"""Runge-Kutta 8(5,3) of Dormand and Prince, with steps as long as the error allows.

Twelve stages, order 8, errors by embedded formulae of orders 5 and 3, and a polynomial of degree 7
within the step by three more stages.  Prince, Dormand, High order embedded Runge-Kutta formulae, J.
Comput. Appl. Math. 7 (1981); Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I
(1993), Secs. II.5, II.6 and II.10, whose code dop853.f has these coefficients.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..contracts import Array, Between, State, System, Tableau, Work
from .nystrom import NystromPair, fill

END, STAGES = 12, 16  # the end of the step is a stage; three more are for the states within it
# fmt: off
NODES = {
    1: 0.05260015195876773, 2: 0.0789002279381516, 3: 0.1183503419072274, 4: 0.2816496580927726,
    5: 1 / 3, 6: 1 / 4, 7: 4 / 13, 8: 127 / 195, 9: 3 / 5, 10: 6 / 7, 11: 1.0, 12: 1.0,
    13: 1 / 10, 14: 1 / 5, 15: 7 / 9,
}
A = {
    1: {
        0: 0.05260015195876773,
    },
    2: {
        0: 0.0197250569845379, 1: 0.0591751709536137,
    },
    3: {
        0: 0.02958758547680685, 2: 0.08876275643042054,
    },
    4: {
        0: 0.2413651341592667, 2: -0.8845494793282861, 3: 0.924834003261792,
    },
    5: {
        0: 0.037037037037037035, 3: 0.17082860872947386, 4: 0.12546768756682242,
    },
    6: {
        0: 0.037109375, 3: 0.17025221101954405, 4: 0.06021653898045596, 5: -0.017578125,
    },
    7: {
        0: 0.03709200011850479, 3: 0.17038392571223998, 4: 0.10726203044637328,
        5: -0.015319437748624402, 6: 0.008273789163814023,
    },
    8: {
        0: 0.6241109587160757, 3: -3.3608926294469414, 4: -0.868219346841726,
        5: 27.59209969944671, 6: 20.154067550477894, 7: -43.48988418106996,
    },
    9: {
        0: 0.47766253643826434, 3: -2.4881146199716677, 4: -0.590290826836843,
        5: 21.230051448181193, 6: 15.279233632882423, 7: -33.28821096898486,
        8: -0.020331201708508627,
    },
    10: {
        0: -0.9371424300859873, 3: 5.186372428844064, 4: 1.0914373489967295,
        5: -8.149787010746927, 6: -18.52006565999696, 7: 22.739487099350505,
        8: 2.4936055526796523, 9: -3.0467644718982196,
    },
    11: {
        0: 2.273310147516538, 3: -10.53449546673725, 4: -2.0008720582248625, 5: -17.9589318631188,
        6: 27.94888452941996, 7: -2.8589982771350235, 8: -8.87285693353063, 9: 12.360567175794303,
        10: 0.6433927460157636,
    },
    12: {
        0: 0.054293734116568765, 5: 4.450312892752409, 6: 1.8915178993145003,
        7: -5.801203960010585, 8: 0.3111643669578199, 9: -0.1521609496625161,
        10: 0.20136540080403034, 11: 0.04471061572777259,
    },
    13: {
        0: 0.056167502283047954, 6: 0.25350021021662483, 7: -0.2462390374708025,
        8: -0.12419142326381637, 9: 0.15329179827876568, 10: 0.00820105229563469,
        11: 0.007567897660545699, 12: -0.008298,
    },
    14: {
        0: 0.03183464816350214, 5: 0.028300909672366776, 6: 0.053541988307438566,
        7: -0.05492374857139099, 10: -0.00010834732869724932, 11: 0.0003825710908356584,
        12: -0.00034046500868740456, 13: 0.1413124436746325,
    },
    15: {
        0: -0.42889630158379194, 5: -4.697621415361164, 6: 7.683421196062599, 7: 4.06898981839711,
        8: 0.3567271874552811, 12: -0.0013990241651590145, 13: 2.9475147891527724,
        14: -9.15095847217987,
    },
}
FIFTH = {  # what the formula of order 5 differs by
    0: 0.01312004499419488, 5: -1.2251564463762044, 6: -0.4957589496572502,
    7: 1.6643771824549864, 8: -0.35032884874997366, 9: 0.3341791187130175,
    10: 0.08192320648511571, 11: -0.022355307863886294,
}
THIRD = {0: 0.2440944881889764, 8: 0.7338466882816118, 11: 0.022058823529411766}
D = {
    0: {
        0: -8.428938276109013, 5: 0.5667149535193777, 6: -3.0689499459498917, 7: 2.38466765651207,
        8: 2.117034582445028, 9: -0.871391583777973, 10: 2.2404374302607883,
        11: 0.6315787787694688, 12: -0.08899033645133331, 13: 18.148505520854727,
        14: -9.194632392478356, 15: -4.436036387594894,
    },
    1: {
        0: 10.427508642579134, 5: 242.28349177525817, 6: 165.20045171727028,
        7: -374.5467547226902, 8: -22.113666853125306, 9: 7.733432668472264,
        10: -30.674084731089398, 11: -9.332130526430229, 12: 15.697238121770845,
        13: -31.139403219565178, 14: -9.35292435884448, 15: 35.81684148639408,
    },
    2: {
        0: 19.985053242002433, 5: -387.0373087493518, 6: -189.17813819516758,
        7: 527.8081592054236, 8: -11.57390253995963, 9: 6.8812326946963, 10: -1.0006050966910838,
        11: 0.7777137798053443, 12: -2.778205752353508, 13: -60.19669523126412,
        14: 84.32040550667716, 15: 11.99229113618279,
    },
    3: {
        0: -25.69393346270375, 5: -154.18974869023643, 6: -231.5293791760455,
        7: 357.6391179106141, 8: 93.40532418362432, 9: -37.45832313645163, 10: 104.0996495089623,
        11: 29.8402934266605, 12: -43.53345659001114, 13: 96.32455395918828,
        14: -39.17726167561544, 15: -149.72683625798564,
    },
}
# fmt: on


def _rows(table: Mapping[int, Mapping[int, float]]) -> Array:
    full = np.zeros((max(table) + 1, STAGES))
    for i, row in table.items():
        full[i, list(row)] = list(row.values())
    return full


def _tableau() -> Tableau:
    full, c = _rows(A), np.zeros(STAGES)
    c[list(NODES)] = list(NODES.values())
    fifth, third = _rows({0: FIFTH, 1: THIRD})
    errors = np.array([[e @ full, e] for e in (fifth, full[END] - third)])
    return Tableau(c, full @ full, full, END, errors)


@dataclass(frozen=True)
class DormandPrince853(NystromPair):
    """Order 8 at twelve forces a step, forces of velocities included; stable for h omega < 5.9."""

    name: ClassVar[str] = "dop853"
    order: ClassVar[int] = 8
    error_order: ClassVar[int] = 7
    tableau: ClassVar[Tableau] = _tableau()
    within: ClassVar[Array] = _rows(D)  # (4, STAGES): weights of h u'

    def between(self, system: System, before: State, after: State, h: float, a: Array) -> Between:
        """HNW, Sec. II.6: O(h^8) in x and v, by three more forces."""
        fill(system, before, h, self.tableau, a, END + 1)
        weigh, own = system.backend.xp.einsum, self.within
        x = weigh("kj,jn->kn", (h * h) * (own @ self.tableau.A), a)
        v = weigh("kj,jn->kn", h * own, a)
        way, gain, first, last = after.x - before.x, after.v - before.v, a[0], a[END]
        x = (way, h * before.v - way, 2.0 * way - h * (before.v + after.v), *x)
        v = (gain, h * first - gain, 2.0 * gain - h * (first + last), *v)

        def state(t: float) -> State:
            s = (t - before.t) / h
            return before.moved(t, before.x + _nested(x, s), before.v + _nested(v, s))

        return Between(state, Work(force_evaluations=STAGES - END - 1))


def _nested(rows: Sequence[Array], s: float) -> Array:
    """s (rows_0 + (1 - s) (rows_1 + s (rows_2 + ...)))."""
    total = 0.0 * rows[0]
    for k in reversed(range(len(rows))):
        total = (1.0 - s if k % 2 else s) * (rows[k] + total)
    return total
