"""A soft cube that spins freely, without gravity or damping, for thousands of steps.

Dinev, Liu, Kavan 2018, Figs. 4-6: corotated elasticity, h = 0.033 s, 386 vertices and 996 tets.
Their mesh is hollow (the surface vertices of an 8 x 8 x 8 grid); ours is filled, 343 and 1080.
Size, material and spin are not printed; chosen here:

    1 m, 1000 kg/m^3, Young's modulus YOUNG, Poisson's ratio 0.3
    RATE rad/s about an axis near a space diagonal

The spin is slow enough for the steps to resolve it (RATE h = 0.33 rad), so that angular momentum
can be compared, and fast enough to shake the cube.
"""

from __future__ import annotations

import numpy as np

from ..bodies import lumped_mass
from ..meshes import cube
from . import models
from .builder import Setup, positive, scene, whole

SUMMARY = "a soft cube spins freely for 5000 steps: energy and angular momentum"
SOURCE = "Dinev, Liu, Kavan 2018, Figs. 4-6"
SHOWS = "energy within 1 %, angular momentum kept; midpoint and Newmark explode"
SMALL = {"cells": 3, "duration": 100 * 0.033}
RUN = {"step": 0.033, "duration": 5000 * 0.033, "integrator": "stabilised"}
PAPER = {"step": 0.033, "duration": 165.0, "integrator": "stabilised"}
PAPER_HOLDS = "holds: energy within 1 %, angular momentum kept"
YOUNG, POISSON, DENSITY, RATE = 1e5, 0.3, 1000.0, 10.0
AXIS = np.array([0.3, 0.2, 1.0])


@scene
def spinning_cube(
    cells: int = whole(6, "along each side", least=1),
    young: float = positive(YOUNG, "Young's modulus [Pa]"),
    rate: float = positive(RATE, "of the spin [rad/s]"),
) -> Setup:
    mesh = cube(cells)
    x0 = mesh.positions
    system = models.elastic(mesh, young, POISSON, DENSITY)
    mass = lumped_mass(x0, mesh.tets, DENSITY)
    v0 = np.cross(rate * AXIS / np.linalg.norm(AXIS), x0 - mass @ x0 / mass.sum())
    return Setup(system, x0, v0, mesh=mesh)
