"""A soft bunny slides over a level plane: for ever without friction, slower and turning with it.

Dinev, Liu, Kavan 2018, Fig. 14: 4497 vertices, 15,408 tets, corotated, h = 0.033 s, friction 0.8,
230 frames.  Without mesh= a rabbit made by formulas stands in.  Not printed, chosen here:

    0.2 m high, 0.46 m long (crouching: an upright one falls over), 1000 kg/m^3, Young's modulus
    3e4 Pa, Poisson's ratio 0.3, 4 m/s, 30 degrees to the side of where it looks
    100 N/m at every vertex that touches

Friction acts after the step (collisions/friction.py) and can stop no more than the vertices that
touch, which are light: at 0.033 s and 4512 vertices the bunny loses half of what Coulomb's law
takes, later less; with 1005 vertices at 0.01 s two thirds, at 1 ms 92 to 97 % while it is fast.  By
that law 4 m/s end after 0.51 s; with this rule, how long it slides is a matter of step and mesh.
So is how far it turns: on a stiff body that does not rock, Coulomb friction has no moment about the
vertical, whatever its base, since the pressure moves to straight ahead of the centre of mass.  What
turns it is rocking, and feet that stick: 61 degrees in 60 steps of 0.033 s (0.3 m/s are left then).

At 0.033 s ten iterations leave two thirds of the steps under-solved, and the run says so; the
ledger closes to 0.7 %, but feet sink in by up to 49 mm as it rocks.  At 0.01 s, small: none, and 24
mm.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from ..bodies import Gravity
from ..collisions import Contact, Plane
from ..errors import InputError
from ..meshes import Mesh, creature
from . import models
from .builder import Setup, plain, positive, scene, whole

SUMMARY = "a soft bunny slides over a level plane with friction 0.8"
SOURCE = "Dinev, Liu, Kavan 2018, Fig. 14"
SHOWS = "slows down and turns; without friction it slides on for ever"
SMALL = {"vertices": 1000, "contact": 300.0, "step": 0.01, "duration": 0.66}
RUN = {"step": 0.033, "duration": 230 * 0.033, "integrator": "realtime-midpoint", "every": 0.033}
PAPER = {
    "step": 0.033,
    "duration": 7.590000000000001,
    "integrator": "realtime-midpoint",
    "every": 0.033,
}
PAPER_HOLDS = (
    "the ledger closes to 0.7 %, but ten iterations leave two thirds of the steps under- "
    "solved, and friction takes half of what Coulomb's law does"
)
YOUNG, POISSON, DENSITY, HEIGHT = 3e4, 0.3, 1000.0, 0.2
SPEED, HEADING, FRICTION, CONTACT = 4.0, 30.0, 0.8, 100.0
CROUCH = 0.4  # of the height of a rabbit that sits up


@scene
def sliding_bunny(
    vertices: int = whole(4497, "about how many", least=4),
    friction: float = plain(FRICTION, "k_f; 0: slides for ever"),
    speed: float = positive(SPEED, "at the start [m/s]"),
    heading: float = plain(HEADING, "angle from where it looks to where it slides [degrees]"),
    young: float = positive(YOUNG, "Young's modulus [Pa]"),
    contact: float = positive(CONTACT, "stiffness of the plane at a vertex [N/m]"),
    frozen: bool = models.FROZEN,
    mesh: str = plain("", "a mesh file to use instead of the stand-in, x forwards"),
    up: str = models.UP,
) -> Setup:
    if not np.isfinite(heading):
        raise InputError(f"sliding-bunny heading = {heading}: give an angle in degrees")
    body, note = models.solid(
        mesh, partial(_crouching, vertices), vertices=vertices, size=HEIGHT, up=up
    )
    x0, floor = body.positions, Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    touch = Contact(floor, contact, friction=friction, frozen=frozen)
    system = models.elastic(body, young, POISSON, DENSITY, Gravity(), touch)
    angle = np.radians(heading)
    v0 = np.tile(speed * np.array([np.cos(angle), np.sin(angle), 0.0]), (len(x0), 1))
    return Setup(system, x0, v0, mesh=body, colliders=(floor,), note=note)


def _crouching(vertices: int) -> Mesh:
    upright = creature(vertices, shape="rabbit", height=HEIGHT / CROUCH)
    return replace(upright, positions=upright.positions * [1.0, 1.0, CROUCH])
