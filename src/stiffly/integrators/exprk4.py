"""exprk4: an exponential Runge-Kutta method of order 4, on a linear part that stays as it is.

Remark 3.1 of Luan & Michels 2021: on u' = A u + G(u) the linearisation may be fixed, J = A, and
functions of it computed once for a run; what G does within a step is then the method's to follow.
Stages c = (1/2, 1/2, 1, 1/2), of five with u itself:

    a_32 = phi_2(z/2)    a_42 = a_43 = phi_2(z)
    a_52 = a_53 = phi_2(z/2)/2 - phi_3(z) + phi_2(z)/4 - phi_3(z/2)/2,    a_54 = phi_2(z/2)/4 - a_52
    b_4 = -phi_2 + 4 phi_3,    b_5 = 4 phi_2 - 8 phi_3

Hochbruck & Ostermann, Explicit exponential Runge-Kutta methods for semilinear parabolic problems,
2005; conditions of order 4 at b_i(0).
"""

from .exponential_table import exponential_table

_A52 = {(2, 1 / 2): 1 / 2, (3, 1.0): -1, (2, 1.0): 1 / 4, (3, 1 / 2): -1 / 2}
_A54 = {(2, 1 / 2): 1 / 4 - 1 / 2, (3, 1.0): 1, (2, 1.0): -1 / 4, (3, 1 / 2): 1 / 2}

EXPRK4 = exponential_table(
    nodes=(1 / 2, 1 / 2, 1.0, 1 / 2),
    a=([], [{2: 1}], [{2: 1}, {2: 1}], [_A52, _A52, _A54]),
    b=(0, 0, {2: -1, 3: 4}, {2: 4, 3: -8}),
    order=4,
    conditions="weakened",
    fixed=True,
)
