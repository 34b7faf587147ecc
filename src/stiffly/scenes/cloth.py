"""A sheet of cloth held at two corners, one of which is shaken.

Dinev, Liu, Kavan 2018, Figs. 1 and 10: 101 x 101 particles and 50,200 springs, of which two hold
the corners, h = 0.033 s.  Ours has the same 50,198 springs in the cloth.  Size, material and the
shaking are not printed; chosen here:

    4 m x 4 m, 0.2 kg/m^2, hanging unstretched at the start
    80 N/m for structural and shear springs, 2 % of it against bending: of a cloth held along
    its upper side, the upper row would be stretched by 10 %
    the corners are held in clips of 8 cm; one of them comes 0.6 m closer and is shaken by 0.4 m
    to and fro, four times in three seconds
    damping beta = 0.5 ms (Rayleigh, of the flat cloth's own stiffness: it takes the stretching, not
    the waves out of the plane)

Without any damping nothing ever leaves the cloth, and it crumples into trembling springs, with
accurate small steps (Verlet) too.  Kinetic energy in the sixth second, 31 x 31 particles: 15.6 J
with Verlet, 15.7 J with realtime (11.5 J with realtime-midpoint); with the damping above 1.53, 1.52
(0.81) J.  A cloth of four times the stiffness is more than ten iterations can solve, and warns.

start='flat', shake=0 is Fig. 1, where energy-lagrange gets stuck: at 11 x 11 particles and 1e4 N/m
it keeps the energy exactly, but after a second only trembles, while the others swing through.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..bodies import Gravity, Keyframes, Rayleigh, cloth_springs
from ..contracts import Array
from ..errors import InputError
from ..meshes import cloth as cloth_mesh
from ..parts.attachments import Attachments
from .builder import Setup, at_rest, plain, positive, scene, whole

SUMMARY = "a cloth of 101 x 101 particles hangs from two corners, one of which is shaken"
SOURCE = "Dinev, Liu, Kavan 2018, Figs. 1 and 10"
SHOWS = "waves and wrinkles run through the cloth; with projective they die at once"
SMALL = {"resolution": 21, "duration": 4.0}
RUN = {"step": 0.033, "duration": 6.0, "integrator": "realtime", "every": 0.033}
PAPER = {"step": 0.033, "duration": 6.0, "integrator": "realtime-midpoint", "every": 0.033}
PAPER_HOLDS = (
    "holds, calmer than it should be: 0.81 J of kinetic energy in the sixth second where "
    "verlet has 1.53 J and realtime 1.52 J"
)
SIDE, DENSITY, STIFFNESS, BENDING = 4.0, 0.2, 80.0, 0.02  # [m], [kg/m^2], [N/m]
CLIP, GRIP = 0.08, 720.0  # [m], [N/m]: of each held corner
SHAKE, SHAKEN, TIMES = 0.4, 3.0, 4  # [m], [s], how often
STARTS = ("hanging", "flat")


@scene
def cloth(
    resolution: int = whole(101, "particles along each side", least=3),
    stiffness: float = positive(STIFFNESS, "of structural and shear springs [N/m]"),
    bending: float = positive(BENDING, "of the springs against bending, as a share of it"),
    shake: float = plain(SHAKE, "how far one corner is shaken; it comes 1.5 times that closer [m]"),
    damping: float = plain(5e-4, "beta of the flat cloth's stiffness [s]"),
    start: str = plain("hanging", "hanging, or flat: it falls (Fig. 1)"),
) -> Setup:
    if start not in STARTS:
        raise InputError(f"cloth start = {start}: choose one of {', '.join(STARTS)}")
    flat = cloth_mesh(resolution, resolution, spacing=SIDE / (resolution - 1), diagonals=1)
    hanging = flat.positions[:, [0, 2, 1]] - [0.0, 0.0, SIDE]
    x0 = hanging if start == "hanging" else hanging[:, [0, 2, 1]]
    mesh = replace(flat, positions=x0, triangles=flat.triangles[:, ::-1])
    parts = [
        *cloth_springs(mesh, stiffness, stiffness, bending * stiffness),
        Gravity(),
        _clip(x0, x0[mesh.vertex_sets["corners"][1]]),
        _clip(x0, x0[mesh.vertex_sets["corners"][3]], shaking(shake)),
    ]
    mass = DENSITY * SIDE**2 / resolution**2
    return at_rest(mesh, mass, parts, damping=Rayleigh(0.0, damping) if damping else None)


def shaking(amplitude: float) -> Keyframes:
    """To and fro across the cloth, once per SHAKEN/TIMES seconds, and still afterwards."""
    times = np.linspace(0.0, SHAKEN, 2 * TIMES + 1)
    side = amplitude * (-1.0) ** np.arange(2 * TIMES + 1)
    offsets = np.stack([np.full_like(times, -1.5 * amplitude), -side, np.zeros_like(times)], axis=1)
    offsets[0], offsets[-1, 1] = 0.0, 0.0
    return Keyframes((), times, offsets)


def _clip(x0: Array, corner: Array, motion: Keyframes | None = None) -> Attachments:
    held = np.flatnonzero(np.abs(x0 - corner).max(axis=1) <= CLIP * (1.0 + 1e-9))
    return Attachments(held, GRIP / held.size, motion=motion)
