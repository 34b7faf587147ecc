"""An elastic bar, held at its upper end, that its own weight stretches and that bounces back.

Dinev, Liu, Kavan 2018, Fig. 8: 290 vertices, 716 tets, corotated, undamped, h = 0.033 s; ours has
272 and 720 (their mesh is hollow).  Frame 30 is the lowest point, frame 122 the second return, so
one bounce takes 61 frames or T = 2.0 s.  A bar of length l whose weight is switched on falls by
g T^2/16 = 2.5 m at its tip and is back after T = 4 l / sqrt(E/rho), whatever its length.  Length
and material are not printed; chosen here:

    4 m long (stretched by 62 % at most), 1000 kg/m^3, and the Young's modulus of that T, 63 kPa
    Poisson's ratio 0, with which a bar under tension is a linear spring: it comes back exactly
"""

from __future__ import annotations

from dataclasses import replace

from ..bodies import Gravity
from ..meshes import bar as bar_mesh
from ..system.slabs import WHOLE, Cut
from . import models
from .builder import Setup, positive, scene, whole

SUMMARY = "an elastic bar stretches under its weight and bounces back to where it started"
SOURCE = "Dinev, Liu, Kavan 2018, Fig. 8"
SHOWS = "the tip is back at its height after every bounce; with backward Euler it is not"
SMALL = {"cells": 2, "duration": 125 * 0.033}
RUN = {"step": 0.033, "duration": 250 * 0.033, "integrator": "realtime-midpoint"}
PAPER = {"step": 0.033, "duration": 8.25, "integrator": "realtime-midpoint"}
PAPER_HOLDS = "holds: the tip is back at its height after every bounce"
YOUNG, POISSON, DENSITY, LENGTH, SLENDERNESS = 6.3e4, 0.0, 1000.0, 4.0, 16 / 3


@scene
def bar(
    cells: int = whole(3, "across the bar; 16/3 times as many along it", least=1),
    young: float = positive(YOUNG, "Young's modulus [Pa]"),
    length: float = positive(LENGTH, "[m]"),
    cut: Cut = WHOLE,
) -> Setup:
    along, across = round(SLENDERNESS * cells) + 1, (cells + 1, cells + 1)
    slab = cut.layers(along, across[0] * across[1])
    side = length / SLENDERNESS
    lying = bar_mesh(along, across, length=length, side=side, layers=slab.built)
    x0 = lying.positions[:, [2, 1, 0]] * [1.0, 1.0, -1.0]  # a turn: x runs downwards
    mesh = replace(lying, positions=x0)
    held = mesh.vertex_sets["left"]
    system = models.elastic(mesh, young, POISSON, DENSITY, Gravity(), fixed=held)
    return Setup(slab.of(system), x0, mesh=mesh)
