"""A soft cactus whose every vertex starts at a random place, and which finds its shape again.

Dinev, Liu, Kavan 2018, Fig. 7: 5261 vertices, 17,187 tets, corotated, h = 0.033 s, damping that
keeps the rigid motion, k_d = 0.08 per step.  Size and material are not printed; chosen here:

    0.5 m high, 1000 kg/m^3, Young's modulus 1e4 Pa, no gravity, nothing held
    Poisson's ratio 0, which leaves mu |F - R|^2, the energy that Projective Dynamics is made for
    vertices uniform in a box of the body's own size: half the tets begin inside out

A stiffer or less compressible cactus comes to rest in knots: at 1e5 Pa, or with Poisson's ratio
0.3, it was still 9 to 30 cm from its shape after 300 to 400 steps.  The small one is back within
5 mm after 7 s, 0.3 mm from it after its 300 steps.
"""

from __future__ import annotations

import numpy as np

from ..bodies import MomentumDamping
from ..meshes import creature
from . import models
from .builder import Setup, plain, positive, scene, whole

SUMMARY = "a cactus recovers its shape from random positions, with a little damping"
SOURCE = "Dinev, Liu, Kavan 2018, Fig. 7"
SHOWS = "the rest shape comes back from random positions; with midpoint it does not"
SMALL = {"vertices": 1500, "duration": 300 * 0.033}
RUN = {"step": 0.033, "duration": 400 * 0.033, "integrator": "stabilised:projective-midpoint"}
PAPER = {"step": 0.033, "duration": 13.2, "integrator": "stabilised:projective-midpoint"}
PAPER_HOLDS = "holds: the rest shape comes back from random positions"
YOUNG, POISSON, DENSITY, HEIGHT = 1e4, 0.0, 1000.0, 0.5
K_D = 0.08


@scene
def cactus(
    vertices: int = whole(5261, "about how many", least=50),
    young: float = positive(YOUNG, "Young's modulus [Pa]"),
    damping: float = plain(K_D, "k_d: share of the non-rigid velocity taken after every step"),
    seed: int = whole(0, "of the random positions", least=0),
) -> Setup:
    mesh = creature(vertices, shape="cactus", height=HEIGHT)
    rest = mesh.positions
    system = models.elastic(mesh, young, POISSON, DENSITY, MomentumDamping(per_step=damping))
    low, high = rest.min(axis=0), rest.max(axis=0)
    x0 = np.random.default_rng(seed).uniform(low, high, rest.shape)
    return Setup(
        system, x0, mesh=mesh, note="a cactus made by formulas stands in for the paper's model"
    )
