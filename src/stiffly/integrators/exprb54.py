"""exprb54: order 5 in four stages, with an embedded method of order 4.

    U_2 = u + h/4 phi_1(h/4 J) F
    U_3 = u + h/2 phi_1(h/2 J) F + 4 h phi_3(h/2 J) D_2
    U_4 = u + 9/10 h phi_1(9/10 hJ) F + 729/125 h phi_3(9/10 hJ) D_3
    u+  = u + h phi_1(hJ) F + h phi_3(hJ) (18 D_3 - 250/81 D_4) + h phi_4(hJ) (500/27 D_4 - 60 D_3)

a_32 and a_43 make psi_3i of Luan & Michels 2021, Table 1, zero for every J, so condition 4 holds
for every J too, and condition 3 at b_i(0).  Embedded: conditions 1 and 2 with three remainders.
Luan & Ostermann, Exponential Rosenbrock methods of order five, 2014.
"""

from .exponential_table import exponential_table

EXPRB54 = exponential_table(
    nodes=(1 / 4, 1 / 2, 9 / 10),
    a=([], [{3: 4}], [0, {3: 729 / 125}]),
    b=(0, {3: 18, 4: -60}, {3: -250 / 81, 4: 500 / 27}),
    embedded=({3: 64, 4: -60}, {3: -8, 4: -285 / 8}, {4: 125 / 8}),
    order=5,
    conditions="weakened",
)
