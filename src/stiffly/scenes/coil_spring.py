"""A coil spring of tetrahedra, standing on a fixed end, that a uniform field sets swinging.

Luan & Michels (2021), Sec. 5.2.1: 8,000 vertices, every tetrahedron edge a spring of 1e6 N/m,
undamped, 60 s at h = 0.05 s.  What the paper leaves open is chosen so that the claim to test, 'the
top returns to its initial height periodically', is a fair one:

    8,000 kg in all, equally on every vertex: 1 kg each, which puts the fastest of the 24,000
    oscillations at 3.4e3 rad/s (170 rad in a step of 0.05 s)
    4 turns of a wire 2.5 m thick, radius 5 m, height 16 m: the stiffness and density of
    expanded polystyrene; the slow swing up and down takes 12.5 s
    field 0.25 m/s^2 downwards, near the gravity of Ceres: the spring starts unstressed,
    and its top swings by 2.4 m, 15 % of the height, without turns touching

Measured with exprb42 at h = 0.05 s: after 60 s 0.12 % of the energy exchanged is lost, and the top
has come back to within 0.2 m of its height after every swing (BDF-1: 13 %).  A field of 1 m/s^2
(the top falls by 60 % of the height, turns through turns) costs 0.7 % in 10 s, 2.5 m/s^2 7 %, and
Earth's 9.81 m/s^2 explodes at t = 4.3 s: the wire then turns too far within one step.

A coarser spring keeps weight, shape and edge stiffness; it swings within a factor of 2 as fast.

Michels, Sobottka, Weber 2014, Sec. 5.2, Fig. 22b, has a coil of 1167 particles and 5600 springs of
1e8 N/m.  vertices=1164, section='3x4', stiffness=1e8 is the nearest one: 1164 and 5591.
"""

from __future__ import annotations

from ..bodies import Gravity, Springs
from ..errors import InputError
from ..meshes import coil
from ..meshes.curved import ACROSS
from .builder import Setup, at_rest, plain, positive, scene, whole

SUMMARY = "coil spring, 24,000 degrees of freedom, k = 1e6 N/m, swings for 60 s undamped"
SOURCE = "Luan & Michels 2021, Sec. 5.2.1, Fig. 5, Table 2; Michels, Sobottka, Weber 2014, Fig. 22b"
SHOWS = "the top returns to its height; energy stays flat at h = 0.05 s"
SMALL = {"vertices": 320, "duration": 5.0}
RUN = {"step": 0.05, "duration": 60.0}
FULL = {"step": 5e-4, "integrator": "verlet"}
MEASURED = (
    "verlet: 60 s in 4.9 s, energy off by 4e-7 % of what is exchanged; exprb42 at 0.05 s took 113 s"
)
PAPER = {"step": 0.05, "duration": 60.0, "integrator": "exprb42"}
PAPER_HOLDS = (
    "holds: 0.12 % of the energy exchanged is lost in 60 s, and the top comes back to within "
    "0.2 m of its height"
)
TURNS, RADIUS, WIRE, HEIGHT = 4.0, 5.0, 2.5, 16.0


@scene
def coil_spring(
    vertices: int = whole(8000, "a multiple of those of a cross-section", least=1),
    stiffness: float = positive(1e6, "of every edge [N/m]"),
    mass: float = positive(8000.0, "of the whole spring [kg]"),
    field: float = positive(0.25, "downwards [m/s^2]"),
    section: str = plain(
        f"{ACROSS}x{ACROSS}",
        "vertices of a cross-section, outwards x upwards: 4x4, or 3x4 for the coil of 2014",
    ),
) -> Setup:
    across = _across(section)
    mesh = coil(vertices, turns=TURNS, radius=RADIUS, wire=WIRE, height=HEIGHT, across=across)
    parts = [Springs(mesh.edges, stiffness), Gravity((0.0, 0.0, -field))]
    return at_rest(mesh, mass / vertices, parts, fixed=mesh.vertex_sets["bottom"])


def _across(section: str) -> tuple[int, int]:
    outwards, _, upwards = str(section).partition("x")
    if not (outwards.isdecimal() and upwards.isdecimal()):
        raise InputError(f"coil-spring section = {section}: give two numbers, such as 4x4 or 3x4")
    return int(outwards), int(upwards)
