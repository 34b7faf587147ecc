"""EPIRK5P1: order 5 in three stages, in the form of Michels, Luan & Tokman 2017, Eq. 11.

    X_2 = X + a_21 phi_1(g_21 hJ) h F
    X_3 = X + a_31 phi_1(g_31 hJ) h F + a_32 phi_1(g_32 hJ) h R(X_2)
    X+  = X + phi_1(hJ) h F + b_2 phi_1(g_42 hJ) h R(X_2) + b_3 phi_3(g_43 hJ) h (R(X_3) - 2 R(X_2))

Classical order: its arguments g < 1 save Krylov vectors, and where hJ is large its order is lower
(Sec. 3.4 there).  The paper cites it, Tokman 2011, without its coefficients; those below fulfil all
17 conditions up to order 5 to rounding, whatever g_32 is.
"""

from .exponential_table import epirk_table

_A2, _A3 = 0.35129592695058193092, 0.84405472011657126298

EPIRK5P1 = epirk_table(
    a=([_A2], [_A3, 1.6905891609568963624]),
    b=(1.0, 1.2727127317356892397, 2.2714599265422622275),
    g=([_A2], [_A3, 1.0], [1.0, 0.71111095364366870359, 0.62378111953371494809]),
    p=([{1: 1}], [{1: 1}, {1: 1}], [{1: 1}, {1: 1}, {3: 1}]),
    order=5,
    conditions="classical",
)
