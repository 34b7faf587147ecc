"""A soft cube falls on four balls and bounces back to where it came from.

Dinev, Liu, Kavan 2018, Fig. 15: 386 vertices, 996 tets, corotated, h = 0.01 s, undamped; lowest at
frame 19 and highest again at frame 35, with backward Euler at frames 17 and 30, and far lower.
Ours has 343 and 1080 (their mesh is hollow).  Not printed; chosen here so that those frames come
out (18 and 35 steps, with backward Euler 17 and 27):

    0.5 m, 1000 kg/m^3, Young's modulus 5e5 Pa, Poisson's ratio 0.3, 8 cm above the balls
    balls of 0.15 m under the middles of the four quarters; 4e4 N/m at every vertex that touches

How high a body flies after a bounce is not a matter of the energy alone: what is left in its
vibration does not lift it.  An accurate run (Verlet, h = 0.1 ms) returns to 0.91 of the height,
`stabilised` at 0.01 s to 0.94, `energy-momentum` to 0.95, backward Euler to 0.01.  Softer cubes
return less: the paper's 'original height' is that of a fairly stiff one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..bodies import Gravity
from ..collisions import Contact
from ..meshes import cube
from . import models
from .builder import Setup, plain, positive, scene

SUMMARY = "a soft cube falls on four balls and bounces back"
SOURCE = "Dinev, Liu, Kavan 2018, Fig. 15"
SHOWS = "the cube is nearly back at its height after the bounce; with backward Euler it is not"
SMALL = {"cells": 3, "duration": 0.5}
RUN = {"step": 0.01, "duration": 1.0, "integrator": "stabilised", "every": 0.01}
PAPER = {"step": 0.01, "duration": 1.0, "integrator": "stabilised", "every": 0.01}
PAPER_HOLDS = "holds: it returns to 0.94 of its height, an accurate run to 0.91"
YOUNG, POISSON, DENSITY, SIDE = 5e5, 0.3, 1000.0, 0.5
DROP, CONTACT, RADIUS = 0.08, 4e4, 0.15


@scene
def falling_cube(
    cells: int = plain(6, "along each side"),
    young: float = positive(YOUNG, "Young's modulus [Pa]"),
    drop: float = positive(DROP, "height above the balls [m]"),
    contact: float = positive(CONTACT, "stiffness of the balls at a vertex [N/m]"),
    frozen: bool = models.FROZEN,
) -> Setup:
    centred = cube(cells, side=SIDE)
    x0 = centred.positions + np.array([0.0, 0.0, 0.5 * SIDE + drop])  # the balls end at z = 0
    mesh = replace(centred, positions=x0)
    balls = models.four_balls(RADIUS, 0.25 * SIDE, 0.25 * SIDE)
    touch = Contact(balls, contact, frozen=frozen)
    system = models.elastic(mesh, young, POISSON, DENSITY, Gravity(), touch)
    return Setup(system, x0, mesh=mesh, colliders=balls)
