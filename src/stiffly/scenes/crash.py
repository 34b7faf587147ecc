"""A car hits a wall head-on and keeps its dents.

Luan, Michels 2018, Sec. 5.3, Fig. 3 and 2021, Sec. 5.2.3, Fig. 8: 120 000 vertices (the car and its
inside), structural springs of 1e4 N/m, bending springs of 1/100 of that, rest lengths that follow
beyond a threshold, a moderate and a high speed, 2 s.  Our stand-in is made by formulas: a shell
with open windows, and inside it engine, bulkhead, axles and seats, closed boxes on legs of springs,
118 940 vertices in all.  What the papers leave open:

    10 kg, equally on all particles: springs of 1e4 N/m stop no tons
    2 m/s (moderate) and 4 m/s (fast)
    springs give way beyond a strain of 2 %; no gravity, the car does not touch itself
    the wall pushes with WALL m, m the mass of a particle: as stiff for a fine mesh as for a coarse
    verlet with 50 us, its limit being 68: at 2 % of strain buckling grows by several times
    within 0.5 ms on the full mesh, which exponential methods cannot step over

The papers move the car as a whole with a rigid body and compute the dents in its frame: frame=True
does so, and shows the wall coming.  By default the particles do both, since the frame is no gain:
its Coriolis force rules out the faster form of exprb42 and the compiled loop of verlet
(examples/crash.py compares the two).  The papers' 44 s for 2 s with exponential methods are out of
reach.  Measured at full size, the shell alone, on two server cores: exprb42 at 0.5 ms blows up at
0.15 s; at 0.1 ms it agrees with verlet (the car is 4.080 and 4.076 m long at 0.12 s) and needs
3.6 s per simulated millisecond, realtime at 0.5 ms 4.5 s, verlet 0.8 s, losing 0.004 of 9.7 J in
0.66 s.  At 4 m/s verlet misplaces 0.06 of 51 J.  The inside costs next to nothing: 0.2 s take 26.1
s of processor time with it, 25.6 s for a shell of as many vertices (one thread, duration=0.2,
process_time around simulate).  The small car is coarse enough for exprb42.  Bending springs of one
stiffness make a finer shell softer, so dents depend on the mesh.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..bodies import RigidBody, RigidFrame, Seen, Springs, System, bounce, shell_springs
from ..collisions import Contact, Plane
from ..contracts import Array
from ..meshes import car
from ..parts.rigid_body import RigidMotion
from .builder import Setup, plain, positive, scene, whole
from .models import UP, X, surface

SUMMARY = "a car of plastic springs hits a wall head-on"
SOURCE = "Luan, Michels 2018, Sec. 5.3, Fig. 3, Table 2"
SHOWS = "permanent dents, deeper at the higher speed"
SMALL = {"vertices": 300, "duration": 0.4, "integrator": "exprb42", "step": 1e-3}
RUN = {"step": 5e-5, "duration": 2.0, "integrator": "verlet", "every": 0.01}
FULL = {"step": 6e-5, "integrator": "verlet"}
MEASURED = "verlet: 2 s in 56 s, energy off by 0.06 %; single steps took 936 s"
PAPER = {"step": 0.0005, "duration": 2.0, "integrator": "exprb42", "every": 0.01}
PAPER_HOLDS = (
    "does not hold: exprb42 blows up at 0.15 s with 0.5 ms, and agrees with verlet at 0.1 ms; "
    "the paper's step is not printed"
)
LENGTH = 4.3  # [m]
WALL = 1e6  # [1/s^2], times the mass of a particle: the stiffness of its contact
AHEAD = 0.01  # gap to the wall at the start [m]
CRUMPLE = (
    0.5  # by which the box around the rigid car gives way [m]: the frame stops as the car does
)
RESTITUTION = 0.2  # of the rigid car
FRONT = 4  # corners of the box that meet the wall
KNOWN = 60.0  # for so long the motion of the frame is known [s]
NO_INSIDE = "its inside is what the file has of it"
FRAMED = "seen from a rigid car that bounces off the wall"


@scene
def crash(
    vertices: int = whole(120_000, "of the car and its inside, about", least=200),
    speed: float = positive(2.0, "towards the wall [m/s]; 2 is the moderate crash, 4 the fast one"),
    stiffness: float = positive(1e4, "of the springs along edges [N/m]; those across have 1/100"),
    yield_strain: float = positive(0.02, "beyond which rest lengths follow"),
    mass: float = positive(10.0, "of the car [kg]"),
    inside: bool = plain(True, "with engine, bulkhead, axles and seats; false: a closed shell"),
    frame: bool = plain(False, "true: in the frame of a rigid car that bounces, as in the papers"),
    mesh: str = plain("", "file with another car, x forwards; empty: one made by formulas"),
    up: str = UP,
) -> Setup:
    made = partial(car, vertices, length=LENGTH, inside=inside)
    shape, note = surface(mesh, made, vertices=vertices, size=LENGTH, axis=X, up=up)
    if mesh and inside:
        note = f"{note}; {NO_INSIDE}"
    x0, one = shape.positions, mass / len(shape.positions)
    wall = (x0[:, 0].max() + AHEAD, 0.0, 0.0), (-1.0, 0.0, 0.0)
    springs = [*shell_springs(shape, stiffness, yield_strain=yield_strain)]
    if "mounts" in shape.edge_groups:
        legs = shape.edges[shape.edge_groups["mounts"]]
        springs.append(Springs(legs, stiffness, rest_positions=x0, yield_strain=yield_strain))
    if not frame:
        seen, v0, inertia = Plane(*wall), np.tile([float(speed), 0.0, 0.0], (len(x0), 1)), []
    else:
        motion, x0 = _rigid(x0, one, wall, speed)
        shape = replace(shape, positions=x0)
        seen, v0, inertia = Plane(*wall, motion=Seen(motion)), None, [RigidFrame(motion)]
        note = f"{note}; {FRAMED}"
    system = System(one, [*springs, Contact(seen, WALL * one), *inertia], rest=x0)
    return Setup(system, x0, v0, mesh=shape, colliders=(seen,), note=note)


def _rigid(x: Array, one: float, wall: Any, speed: float) -> tuple[RigidMotion, Array]:
    """How the car would bounce if its box were all that gives way, and its particles in the frame
    of that motion, in which they are at rest at first."""
    body, X = RigidBody.of(x, one)
    stiffness = body.mass * (speed / CRUMPLE) ** 2 / FRONT
    motion = bounce(
        body, [wall], centre=x.mean(axis=0), velocity=(float(speed), 0.0, 0.0),
        stiffness=stiffness, restitution=RESTITUTION, duration=KNOWN,
    )  # fmt: skip
    return motion, X
