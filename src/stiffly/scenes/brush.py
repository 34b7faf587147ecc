"""A toothbrush strokes a paperweight: its bristles bend over it and spring back.

Luan, Michels 2018, Sec. 5.2 and 2021, Sec. 5.2.2: 1500 bristles of 20 particles (four cuboids),
90 000 equations, 15 s; Michels, Luan, Tokman 2017, Sec. 4.4: the same, 180 s (duration=180).
Young's modulus 3.2e6 N/cm^2, torsional modulus 1e5 N/cm^2, 0.12 mm thick.  Ours has 30 000
particles, of which the 6000 at the roots are held.  What the papers leave open:

    bristles of 11 mm and 1150 kg/m^3 (nylon) in 30 tufts on a head of 30 x 11 mm
    half a ball of 15 mm for the paperweight; friction 0.2; contact springs of 100 N/m, into which
    corners of the cuboids go by up to 0.5 mm
    the paperweight moves, 35 mm to both sides, twice a second, and the brush stands still, tips
    down; they would pass 2 mm below its top.  At both ends of a stroke it is out of their reach
    the air damps with 500 /s: 5 % of critical for the first bending mode (733 Hz)

Left out: bristles pass through each other.  The papers have repulsive springs between them; our
cuboids are 0.5 mm wide, for the torsional modulus (docs/fibers.md), and overlap their neighbours.

energy-momentum gets through with steps that do not resolve the bristles' vibrations, and the air
damps these as it should (decision 42).  Its energy is exact at any step, the motion is not: the
object stands still during a step, and pushes too hard between two.  In one pass over 48 bristles it
does 0.96 mJ of work with steps of 0.5 ms, 0.33 with 0.25, 0.17 with 0.1 and 0.30 with 0.025 ms.
The papers' exprb42 diverged as tips met the object, with steps of 0.1 ms.  Every bristle has its
own Newton iteration (system/bodywise.py), 12 us of processor time a step: nine minutes for 15 s,
shared by all cores, and one that is not.  The papers print 52 s.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..bodies import Rayleigh, System, fibers
from ..collisions import Contact, Hemisphere, path
from ..contracts import Array
from ..errors import InputError
from ..meshes import Mesh, brush_roots
from .builder import Setup, positive, scene, whole

SUMMARY = "a toothbrush of 1500 bristles strokes half a ball, a paperweight"
SOURCE = "Luan, Michels 2018, Sec. 5.2, Fig. 2; Michels, Luan, Tokman 2017, Table 1 row 5"
SHOWS = "bristles touch the object, bend over it, and spring back when they leave it"
SMALL = {"bristles": 9, "strokes": 4.0, "duration": 0.125, "step": 2.5e-4}
RUN = {"step": 5e-4, "duration": 15.0, "integrator": "energy-momentum"}
PAPER = {"step": 0.0001, "duration": 15.0, "integrator": "exprb42"}
PAPER_HOLDS = (
    "does not hold: exprb42 diverges as tips meet the object, at 0.1 ms; the paper's step is "
    "not printed (epirk4s3: 7.5 ms)"
)
LENGTH, THICKNESS, YOUNG, TORSIONAL, DENSITY = 0.011, 0.12e-3, 3.2e10, 1e9, 1150.0  # SI
RADIUS, SWING, WALL, FRICTION, AIR = 0.015, 0.035, 100.0, 0.2, 500.0


@scene
def brush(
    bristles: int = whole(1500, "how many, in 30 tufts", least=1),
    segments: int = whole(4, "cuboids of each bristle", least=1),
    strokes: float = positive(2.0, "of the object, to and fro, per second"),
    press: float = positive(
        0.002, "how far tips would pass below the top of the object, were it not there [m]"
    ),
) -> Setup:
    if press > 0.5 * LENGTH:
        raise InputError(f"brush press = {press} m: at most half a bristle, {0.5 * LENGTH} m")
    roots = brush_roots(bristles, length=LENGTH)
    lines = roots.centrelines(segments) * [1.0, 1.0, -1.0]  # tips down
    lines += [0.0, 0.0, RADIUS - press + LENGTH]
    material = {"thickness": THICKNESS, "young": YOUNG, "torsional": TORSIONAL, "density": DENSITY}
    body = fibers(lines, **material)
    x0 = body.positions
    rate = 2.0 * np.pi * strokes
    motion = path(partial(_place, rate), partial(_velocity, rate))
    weight = Hemisphere((0.0, 0.0, 0.0), RADIUS, motion=motion)
    parts = [body.part, Contact(weight, WALL, friction=FRICTION)]
    system = System(body.mass, parts, rest=x0, fixed=body.root, damping=Rayleigh(alpha=AIR))
    note = "half a ball stands in for the paperweight"
    return Setup(system, x0, mesh=Mesh(x0, body.edges), colliders=(weight,), note=note)


def _place(rate: float, t: float, start: Array) -> Array:
    """From one end, x = SWING, to the other and back."""
    return start + np.array([SWING * np.cos(rate * t), 0.0, 0.0])


def _velocity(rate: float, t: float, start: Array) -> Array:
    return np.broadcast_to([-SWING * rate * np.sin(rate * t), 0.0, 0.0], start.shape)
