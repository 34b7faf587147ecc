"""A mass between two springs that are too long for it: where backward Euler gains energy.

Dinev, Liu, Kavan 2018, App. C, Figs. 17-18: two nodes are fixed at (0, 1, 0) and (0, -1, 0) m, each
tied to the middle one, which moves along x, by a spring of rest length sqrt(2).  Along x

    E_test(x) = k (sqrt(x^2 + 1) - sqrt(2))^2,

two wells at -1 and 1 with a hill of k (sqrt(2) - 1)^2 between them: not convex, so that backward
Euler may gain energy.  It stays below max(H_0, H_c), H_c = E_test(0) + m/2 ((beta + 1)/h)^2, the
proof being that a step can gain only if it ends in [-1, 1] and began in [-beta, beta]: then its
velocity is at most (beta + 1)/h, beta = 2.209.  Stiffness, mass, step and start of Fig. 18 are not
printed; chosen here:

    k = 10 N/m, 1 kg, h = 0.033 s, from rest at x = 3 m: 31 J, lost in 20 s, with a small gain on
    every pass over the hill

A gain above H_0 takes a start such as x = 0.9 m with the velocity -x/h: the first step ends on top
of the hill, where no force acts, and gains what the hill is higher.
"""

from __future__ import annotations

import numpy as np

from ..bodies import Springs, System
from ..meshes import Mesh
from ..parts.checks import as_number
from .builder import Setup, plain, positive, scene

SUMMARY = "a mass snaps through between two springs: backward Euler gains energy"
SOURCE = "Dinev, Liu, Kavan 2018, App. C, Figs. 17-18"
SHOWS = "the energy of backward Euler rises in single steps, and stays below the proven bound"
SMALL = {"duration": 5.0}
RUN = {"step": 0.033, "duration": 20.0, "integrator": "bdf1"}
PAPER = {"step": 0.033, "duration": 20.0, "integrator": "bdf1"}
PAPER_HOLDS = "holds: the energy rises in single steps and stays below the proven bound"
REST = float(np.sqrt(2.0))


@scene
def two_springs(
    stiffness: float = positive(10.0, "of either spring [N/m]"),
    mass: float = positive(1.0, "of the middle node [kg]"),
    x: float = plain(3.0, "where it starts; the springs rest at -1 and 1 [m]"),
    v: float = plain(0.0, "its velocity at the start [m/s]"),
) -> Setup:
    x, v = as_number("two-springs x", x), as_number("two-springs v", v)
    x0 = np.array([[0.0, 1.0, 0.0], [x, 0.0, 0.0], [0.0, -1.0, 0.0]])
    v0 = np.array([[0.0, 0.0, 0.0], [v, 0.0, 0.0], [0.0, 0.0, 0.0]])
    edges = np.array([[0, 1], [1, 2]])
    system = System(np.full(3, mass), [Springs(edges, stiffness, REST)], fixed=[0, 2])
    return Setup(system, x0, v0, mesh=Mesh(x0, edges))
