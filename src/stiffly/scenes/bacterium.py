"""A bacterium with one helical tail: a motor turns the tail against the head, and it swims.

Michels, Luan, Tokman 2017, Sec. 4.5, Fig. 6, Table 1 row 6: 360 degrees of freedom, 2 s, a fiber of
coupled oscillators for the flagellum, a constant torque at its base, regularised Stokeslets for the
fluid.  No other number is printed.  Ours has 120 particles: 26 cross-sections of the tail, 14 on a
ball, the head, and an axle of two that holds tail and head together and lets them turn.  Units are
free, any consistent set: the fluid's viscosity is 0.1, the head's radius 0.8, the tail 4 long.

In the paper's 2 s the motor makes 2.3 turns (3.2 in the small variant), the head turning one back:
what it swims along its axis grows with them, while it wobbles sideways by no more than in the
first.  Its middle goes 0.205 along the axis and 0.019 aside, that of the small one 0.190 and 0.012
(simulate(scenes.load("bacterium")), 30 s of processor time, and the same with small=True, 3 s).
With the motor reversed the small one ends 0.203 backwards and 0.065 aside.
The hardest steps are the first, in which the tail winds up: Newton's iteration fails there at steps
of 0.0067 s and more.  The paper's step of 0.1 s did not work with a similar tail either: phi
functions of epirk4s3 did not converge at 0.05 and 0.1 s.  bdf1 is made for what is that viscous.
"""

from __future__ import annotations

from itertools import combinations, product

import numpy as np

from ..bodies import MotorTorque, Springs, StokesFluid, fiber
from ..contracts import Array
from ..errors import InputError
from ..meshes import Mesh, flagellum
from ..parts.checks import as_number
from .builder import Setup, at_rest, plain, positive, scene, whole

SUMMARY = "a bacterium swims in a viscous fluid: a motor turns its helical tail against its head"
SOURCE = "Michels, Luan, Tokman 2017, Sec. 4.5, Fig. 6, Table 1 row 6"
SHOWS = "several turns of the tail, by which it swims along its axis; reversed, backwards"
SMALL = {"points": 10, "turns": 1.0, "step": 0.01}
RUN = {"step": 0.005, "duration": 2.0, "integrator": "bdf1"}
PAPER = {"step": 0.1, "duration": 2.0, "integrator": "epirk4s3"}
PAPER_HOLDS = "does not hold: phi functions do not converge at 0.05 and 0.1 s"
LENGTH, RADIUS, TAPER, THICKNESS, DENSITY = 4.0, 0.4, 0.5, 0.2, 1.0
HEAD, GAP, HEAD_MASS, JOINT, BLOB = 0.8, 0.3, 1e-2, 1e4, 0.15


@scene
def bacterium(
    points: int = whole(26, "of the tail's centreline, four particles each", least=4),
    torque: float = plain(3.0, "of the motor; negative: the other way round"),
    turns: float = positive(2.0, "of the helix"),
    viscosity: float = positive(0.1, "of the fluid"),
    young: float = positive(1e6, "Young's modulus of the tail; its torsional modulus is a tenth"),
) -> Setup:
    if as_number("bacterium torque", torque) == 0.0:
        raise InputError("bacterium torque = 0: it would not move; give a number of either sign")
    line = flagellum(points, length=LENGTH, radius=RADIUS, turns=turns, taper=TAPER).positions
    line = line * [-1.0, 1.0, 1.0]  # the head goes first, towards x
    tail = fiber(line, thickness=THICKNESS, young=young, torsional=young / 10.0, density=DENSITY)
    n, ball = len(tail.positions), _ball()
    centre = np.array([HEAD + GAP, 0.0, 0.0])
    x0 = np.concatenate([tail.positions, centre + ball, [centre, [-0.05, 0.0, 0.0]]])
    head, ends = np.arange(n, n + len(ball)), (n + len(ball), n + len(ball) + 1)
    joints = np.array(
        [*combinations(head, 2), *product((*head, *tail.root), ends), ends]  # the ends are an axle
    )
    parts = [
        tail.part,
        Springs(joints, JOINT, rest_positions=x0),
        MotorTorque(torque, base=tail.root, counter=head, axis=ends),
        StokesFluid(viscosity, BLOB),
    ]
    mass = np.concatenate([tail.mass, np.full(len(ball) + 2, HEAD_MASS)])
    return at_rest(Mesh(x0, np.concatenate([tail.edges, joints])), mass, parts)


def _ball() -> Array:
    """(14, 3): corners of an octahedron and of a cube on a sphere of radius HEAD."""
    octahedron = np.concatenate([np.eye(3), -np.eye(3)])
    cube = np.array(list(product((-1.0, 1.0), repeat=3))) / np.sqrt(3.0)
    return HEAD * np.concatenate([octahedron, cube])
