"""A car hits a wall head-on and keeps its dents.

Luan, Michels 2018, Sec. 5.3, Fig. 3 and 2021, Sec. 5.2.3, Fig. 8: 120 000 vertices (the car and its
inside), structural springs of 1e4 N/m, bending springs of 1/100 of that, rest lengths that follow
beyond a threshold, a moderate and a high speed, 2 s.  Our stand-in is the outer shell alone,
120 321 vertices.  What the papers leave open:

    a shell of 10 kg; 2 m/s (moderate) and 4 m/s (fast): springs of 1e4 N/m stop no tons
    springs give way beyond a strain of 2 %; no gravity, the car does not touch itself
    the wall pushes with WALL m, m the mass of a particle: as stiff for a fine mesh as for a coarse
    verlet with 50 us, its limit being 68: at 2 % of strain buckling grows by several times
    within 0.5 ms on the full mesh, which exponential methods cannot step over

The papers move the car as a whole with a rigid body and compute the dents in its frame.  Here the
particles do both, since the frame is no gain: its Coriolis force rules out the faster form of
exprb42 (examples/crash.py compares the two).  The papers' 44 s for 2 s with exponential methods are
out of reach.  Measured at full size on two server cores: exprb42 at 0.5 ms blows up at 0.15 s; at
0.1 ms it agrees with verlet (the car is 4.080 and 4.076 m long at 0.12 s) and needs 3.6 s per
simulated millisecond, realtime at 0.5 ms 4.5 s, verlet 0.8 s, losing 0.004 of 9.7 J in 0.66 s.  At
4 m/s verlet misplaces 0.06 of 51 J.  The small car is coarse enough for exprb42.  Bending springs
of one stiffness make a finer shell softer, so dents depend on the mesh.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..bodies import System, shell_springs
from ..collisions import Contact, Plane
from ..meshes import car
from .builder import Setup, plain, positive, scene, whole
from .models import UP, X, surface

SUMMARY = "a car of plastic springs hits a wall head-on"
SOURCE = "Luan, Michels 2018, Sec. 5.3, Fig. 3, Table 2"
SHOWS = "permanent dents, deeper at the higher speed"
SMALL = {"vertices": 300, "duration": 0.4, "integrator": "exprb42", "step": 1e-3}
RUN = {"step": 5e-5, "duration": 2.0, "integrator": "verlet", "every": 0.01}
FULL = {"step": 6e-5, "integrator": "verlet"}
MEASURED = "verlet: 2 s in 103 s, energy off by 0.09 %; single steps took 936 s"
PAPER = {"step": 0.0005, "duration": 2.0, "integrator": "exprb42", "every": 0.01}
PAPER_HOLDS = (
    "does not hold: exprb42 blows up at 0.15 s with 0.5 ms, and agrees with verlet at 0.1 ms; "
    "the paper's step is not printed"
)
LENGTH = 4.3  # [m]
WALL = 1e6  # [1/s^2], times the mass of a particle: the stiffness of its contact
AHEAD = 0.01  # gap to the wall at the start [m]


@scene
def crash(
    vertices: int = whole(120_000, "of the car, about", least=200),
    speed: float = positive(2.0, "towards the wall [m/s]; 2 is the moderate crash, 4 the fast one"),
    stiffness: float = positive(1e4, "of the springs along edges [N/m]; those across have 1/100"),
    yield_strain: float = positive(0.02, "beyond which rest lengths follow"),
    mass: float = positive(10.0, "of the car [kg]"),
    mesh: str = plain("", "file with another car, x forwards; empty: one made by formulas"),
    up: str = UP,
) -> Setup:
    shape, note = surface(
        mesh, partial(car, vertices, length=LENGTH), vertices=vertices, size=LENGTH, axis=X, up=up
    )
    x0 = shape.positions
    wall = Plane((x0[:, 0].max() + AHEAD, 0.0, 0.0), (-1.0, 0.0, 0.0))
    one = mass / len(x0)
    springs = shell_springs(shape, stiffness, yield_strain=yield_strain)
    system = System(one, [*springs, Contact(wall, WALL * one)], rest=x0)
    v0 = np.tile([float(speed), 0.0, 0.0], (len(x0), 1))
    return Setup(system, x0, v0, mesh=shape, colliders=(wall,), note=note)
