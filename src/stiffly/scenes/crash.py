"""A car hits a wall head-on and keeps its dents.

Luan, Michels 2018, Sec. 5.3, Fig. 3 and 2021, Sec. 5.2.3, Fig. 8: 120 000 vertices (the car and its
inside), structural springs of 1e4 N/m, bending springs of 1/100 of that, rest lengths that follow
beyond a threshold, a moderate and a high speed, 2 s.  Our stand-in is the outer shell alone,
120 321 vertices.  What the papers leave open:

    a shell of 10 kg; 2 m/s (moderate) and 4 m/s (fast): springs of 1e4 N/m stop no tons
    springs give way beyond a strain of 2 %; no gravity, the car does not touch itself
    the wall pushes with WALL m, m the mass of a particle: as stiff for a fine mesh as for a coarse
    step 0.5 ms: an edge of the full mesh is about 2 cm, and 4 m/s are 2 mm a step

The papers move the car as a whole with a rigid body and compute the dents in its frame.  Here the
particles do both, since the frame is no gain: its Coriolis force rules out the faster form of
exprb42 (examples/crash.py compares the two).  The papers' 44 s for 2 s are out of reach: ours took
1.2 s of processor time a step at full size (the first four at 4 m/s), of 4000.  Bending springs of
one stiffness make a finer shell softer, so dents depend on the mesh.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..bodies import System, shell_springs
from ..collisions import Contact, Plane
from ..meshes import car
from ..meshes.checks import require_counts, require_positive
from .models import X, surface
from .scene import Scene

SUMMARY = "a car of plastic springs hits a wall head-on"
SOURCE = "Luan, Michels 2018, Sec. 5.3, Fig. 3, Table 2"
SHOWS = "permanent dents, deeper at the higher speed"
PARAMETERS = {
    "vertices": "of the car, about",
    "speed": "towards the wall [m/s]; 2 is the moderate crash, 4 the fast one",
    "stiffness": "of the springs along edges [N/m]; those across have 1/100",
    "yield_strain": "beyond which rest lengths follow",
    "mass": "of the car [kg]",
    "mesh": "file with another car, x forwards, z upwards; empty: one made by formulas",
}
SMALL = {"vertices": 300, "duration": 0.4, "step": 1e-3}
LENGTH = 4.3  # [m]
WALL = 1e6  # [1/s^2], times the mass of a particle: the stiffness of its contact
AHEAD = 0.01  # gap to the wall at the start [m]


def crash(
    vertices: int = 120_000,
    speed: float = 2.0,
    stiffness: float = 1e4,
    yield_strain: float = 0.02,
    mass: float = 10.0,
    mesh: str = "",
) -> Scene:
    """vertices of the car; speed [m/s]; stiffness [N/m]; yield_strain; mass [kg]; mesh: a file."""
    require_counts("crash", 200, vertices=vertices)
    require_positive(
        "crash", speed=speed, stiffness=stiffness, yield_strain=yield_strain, mass=mass
    )
    shape, note = surface(
        mesh, partial(car, vertices, length=LENGTH), vertices=vertices, size=LENGTH, axis=X
    )
    x0 = shape.positions
    wall = Plane((x0[:, 0].max() + AHEAD, 0.0, 0.0), (-1.0, 0.0, 0.0))
    one = mass / len(x0)
    springs = shell_springs(shape, stiffness, yield_strain=yield_strain)
    system = System(one, [*springs, Contact(wall, WALL * one)], rest=x0)
    return Scene(
        "crash",
        SUMMARY,
        SOURCE,
        system,
        x0,
        np.tile([float(speed), 0.0, 0.0], (len(x0), 1)),
        step=5e-4,
        duration=2.0,
        mesh=shape,
        colliders=(wall,),
        note=note,
    )
