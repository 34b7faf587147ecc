"""exprb53: order 5 in three stages, of which the third uses the second.

    U_2 = u + h/2 phi_1(h/2 J) F
    U_3 = u + 9/10 h phi_1(9/10 hJ) F + h (27/25 phi_3(h/2 J) + 729/125 phi_3(9/10 hJ)) D_2
    u+  = u + h phi_1(hJ) F + h phi_3(hJ) (18 D_2 - 250/81 D_3) + h phi_4(hJ) (500/27 D_3 - 60 D_2)

From conditions 1 and 2 of Luan & Michels 2021, Table 1, and 3 and 4 at b_i(0): c_2 = 1/2 is free,
c_3 = (12 - 15 c_2)/(15 - 20 c_2), the rest follows (tests/test_epirk.py derives it).  Embedded:
2/c_2^2 phi_3 D_2, order 3.  Luan & Ostermann, Exponential Rosenbrock methods of order five, 2014.
"""

from .exponential_table import exponential_table

EXPRB53 = exponential_table(
    nodes=(1 / 2, 9 / 10),
    a=([], [{(3, 1 / 2): 27 / 25, (3, 9 / 10): 729 / 125}]),
    b=({3: 18, 4: -60}, {3: -250 / 81, 4: 500 / 27}),
    embedded=({3: 8}, 0),
    embedded_order=3,
    order=5,
    conditions="weakened",
)
