"""An armadillo doing squats, and a bunny that breathes: stiff bodies on held feet, in gravity.

Michels, Sobottka, Weber 2014, Sec. 5.2, Figs. 2, 22d: armadillo, 14,038 particles, springs of
1e6 N/m; Stanford bunny, 1183 particles, 1e5 N/m; the base particles are held.  K is constant, as
in all 'linear models' of the paper, and the same for x, y and z (across = 1 in LinearSprings): the
paper's matrix for 930 particles has 930 rows.  So gravity moves the body up and down only, and 99 %
of the swing is one mode: the squats.  (True springs bow forward instead, and sway.)

Without mesh= a biped made by formulas stands in, 14,017 particles and 85,399 springs; the bunny is
shape='rabbit', vertices=1183, stiffness=1e5 (1185 particles).  What the paper leaves open:

    20 m high, 200 kg on every particle (the biped then has the density of iron), Earth's gravity
    held: the lowest 5 % of the height; step 0.05 s, 20 s

A squat takes about 2 s and 12 % of the height.
"""

from __future__ import annotations

from ..bodies import Gravity, LinearSprings
from . import models
from .builder import Setup, at_rest, plain, positive, scene, whole

SUMMARY = "a biped in the armadillo's place (small: a rabbit) does squats, its feet held"
SOURCE = "Michels, Sobottka, Weber 2014, Sec. 5.2, Figs. 2, 22d"
SHOWS = "the shape comes back after every squat; energy flat, BDF-1 loses it"
SMALL = {"vertices": 300, "stiffness": 1e5, "shape": "rabbit", "duration": 3.0}
RUN = {"step": 0.05, "duration": 20.0}
PAPER = {"step": 0.05, "duration": 20.0, "integrator": "eti:rest"}
PAPER_HOLDS = (
    "the energy wavers by 3 % of what is exchanged (small variant, 3 s): eti:rest filters "
    "gravity, too; eti and exprb42 are exact; the paper's step is not printed"
)
HEIGHT, BASE = 20.0, 0.05


@scene
def squats(
    vertices: int = whole(14038, "about how many; 14038, the bunny 1183", least=4),
    stiffness: float = positive(1e6, "of every spring [N/m]; 1e6, the bunny 1e5"),
    mass: float = positive(200.0, "of every particle [kg]"),
    shape: str = plain("biped", "what stands in for the scan: biped, rabbit, or another creature"),
    mesh: str = plain("", "a mesh file to use instead"),
    up: str = models.UP,
) -> Setup:
    body, note = models.solid(mesh, shape, vertices=vertices, size=HEIGHT, up=up)
    parts = [LinearSprings(body.edges, stiffness, across=1.0), Gravity()]
    return at_rest(body, mass, parts, note, fixed=body.positions[:, 2] < BASE * HEIGHT)
