"""A lattice tower, stiff below and soft above, whose antenna is hit sideways and swings far.

Michels, Sobottka, Weber 2014, Sec. 5.2, Figs. 9, 16: 5000 particles, 1e8 N/m below and 1e4 N/m
above, steps of 0.01 s, with and without damping, linear and co-rotational elasticity.  Michels,
Luan, Tokman 2017, Sec. 4.3, Fig. 4, Table 1 (3a, 3b): the same with 1e2 and 1e4 N/m above, 12 s,
steps of 0.1 s.
Ours has 5000 particles and 20,948 girders; the papers do not say how many.  Open in them:

    300 m high, 500 kg equally on all nodes (a swing then takes 13 s; 134 s for 1e2 N/m: set
    speed=4), feet held, no gravity
    start: at rest below the waist, above it moving sideways, fastest at the top
    step 0.05 s, energy-momentum

model='linear' keeps the stiffness matrix of the rest shape (LinearSprings): the antenna grows as it
turns, which is what Fig. 16 shows.  model='corotated' takes springs that turn with the tower, the
motion that co-rotational elasticity approximates.  Our ceti also integrates these true springs, and
what is left between them and its turned matrix is too stiff for large steps: it diverges at 0.01 s
after 0.16 s, where the papers report no trouble, and has the energy 2 % off after 8 s at 0.001 s.
exprb42 at 0.01 s has it 0.4 % off within 2 s, for 1800 products a step (small variant).

damping is Rayleigh's alpha: energy falls like exp(-alpha t).
"""

from __future__ import annotations

import numpy as np

from ..bodies import LinearSprings, Rayleigh, Springs, System
from ..errors import require_name
from ..meshes import tower as tower_mesh
from .builder import Setup, plain, positive, scene

SUMMARY = "a lattice tower swings far: linear elasticity distorts it, co-rotational does not"
SOURCE = "Michels, Sobottka, Weber 2014, Figs. 9, 16; Michels, Luan, Tokman 2017, Fig. 4, Table 1"
SHOWS = "the antenna keeps its size unless linear; energy flat, or an exponential decay if damped"
SMALL = {
    "across": 2, "leg_levels": 6, "column_levels": 14, "speed": 300.0, "mass": 30.0,
    "duration": 2.0,
}  # fmt: skip
RUN = {"step": 0.05, "duration": 12.0, "integrator": "energy-momentum"}
FULL = {"step": 0.1, "integrator": "energy-momentum"}
MEASURED = (
    "energy-momentum: 12 s in 7.0 s, energy exact, positions off by 8 cm (rms) of up to "
    "22 m; at 0.05 s 23 s and 2.5 cm; verlet at 19 us, which is the yardstick, 44 s of one core"
)
PAPER = {"step": 0.1, "duration": 12.0, "integrator": "epirk4s3"}
PAPER_HOLDS = (
    "does not hold: epirk4s3 diverges in its second step of 0.1 s (small variant); ceti, the "
    "method of 2014, at 0.01 s after 0.16 s"
)
MODELS = {"corotated": Springs, "linear": LinearSprings}
HEIGHT, WAIST = 300.0, 0.38


@scene
def tower(
    across: int = plain(5, "nodes along a side of each cross-section"),
    leg_levels: int = plain(40, "of the four legs"),
    column_levels: int = plain(90, "of the column above them"),
    model: str = plain("corotated", "corotated or linear"),
    lower: float = positive(1e8, "stiffness of the legs' girders [N/m]"),
    upper: float = positive(1e4, "stiffness of the column's girders [N/m]; 1e4 or 1e2"),
    speed: float = positive(40.0, "of the top at the start [m/s]"),
    damping: float = plain(0.0, "alpha of Rayleigh's damping [1/s]; 0: none"),
    mass: float = positive(500.0, "of the whole tower [kg]"),
) -> Setup:
    require_name("tower model", model, MODELS)
    mesh = tower_mesh(across, leg_levels, column_levels, height=HEIGHT)
    x0 = mesh.positions
    stiffness = np.full(len(mesh.edges), float(lower))
    stiffness[mesh.edge_groups["upper"]] = upper
    springs, feet = MODELS[model](mesh.edges, stiffness), mesh.vertex_sets["feet"]
    air = Rayleigh(alpha=damping) if damping else None
    system = System(mass / len(x0), [springs], rest=x0, fixed=feet, damping=air)
    part = np.clip((x0[:, 2] / HEIGHT - WAIST) / (1.0 - WAIST), 0.0, 1.0)
    v0 = np.zeros_like(x0)
    v0[:, 0] = speed * part**2
    return Setup(system, x0, v0, mesh=mesh)
