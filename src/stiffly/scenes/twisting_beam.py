"""A beam whose one end is turned by half a turn while the other is held.

Michels, Sobottka, Weber 2014, Sec. 5.3, Figs. 17, 22e: 650 particles, 3481 cubic springs (2400 in
the caption, the number of tets) of 5e8 N/m; one end held at its periphery, the other on a support
that turns by 180 degrees; k from 1e2 to 1e10 N/m where steps are measured.  Ours has 650 and 3481.
What the paper leaves open:

    1 m long, 16 x 16 cm, 69 kg (aluminium), no gravity
    half a turn within 1 s, eased in and out, then 1 s of rest; step 2 ms

At 5e8 N/m the fastest mode has 2.3e5 rad/s: RK4 needs steps below 12 microseconds.  The beam
follows its support almost as if it had no mass, so BDF-1 has nothing to damp, and is accurate at
large steps, too: the paper's factor of 1000 over BDF-1 is not found, that over RK4 is about 160.
"""

from __future__ import annotations

import numpy as np

from ..bodies import Rotation, Springs
from ..errors import InputError
from ..meshes import beam
from .builder import Setup, at_rest, plain, positive, scene, whole

SUMMARY = "a stiff beam of cubic springs, twisted by half a turn"
SOURCE = "Michels, Sobottka, Weber 2014, Sec. 5.3, Figs. 17, 22e"
SHOWS = "the step does not shrink with k as that of RK4 does; the twist stores what the hand adds"
SMALL = {"along": 9, "across": 3, "duration": 0.5, "step": 5e-3}
RUN = {"step": 2e-3, "duration": 2.0}
PAPER = {"step": 0.002, "duration": 2.0, "integrator": "neti"}
PAPER_HOLDS = (
    "steps do not shrink with the stiffness, about 160 times those of RK4; the factor of 1000 "
    "over BDF-1 is not found"
)
LONGEST_TURN = 360.0  # beyond, layers of springs pass through each other


@scene
def twisting_beam(
    along: int = whole(26, "particles along the beam", least=2),
    across: int = whole(5, "particles across it, each way", least=2),
    stiffness: float = positive(5e8, "of every spring [N/m]"),
    turn: float = plain(180.0, "of the support [degrees]"),
    mass: float = positive(69.0, "of the whole beam [kg]"),
) -> Setup:
    if not abs(turn) <= LONGEST_TURN:
        raise InputError(f"twisting-beam turn = {turn}: give -{LONGEST_TURN:g} to {LONGEST_TURN:g}")
    mesh = beam(along, (across, across))
    hand = Rotation(
        mesh.vertex_sets["right rim"],
        axis=(1.0, 0.0, 0.0),
        times=[0.0, 1.0],
        angles=[0.0, np.radians(turn)],
    )
    springs, held = Springs(mesh.edges, stiffness, law="cubic"), mesh.vertex_sets["left rim"]
    return at_rest(mesh, mass / len(mesh.positions), [springs], fixed=held, supports=hand)
