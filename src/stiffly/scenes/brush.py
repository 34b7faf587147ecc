"""A toothbrush strokes a paperweight, or brushes teeth: bristles bend over it and spring back.

Luan, Michels 2018, Sec. 5.2 and 2021, Sec. 5.2.2: 1500 bristles of 20 particles (four cuboids),
90 000 equations, 15 s; Michels, Luan, Tokman 2017, Sec. 4.4, Fig. 5: the same on teeth, whose
plaque it removes, 180 s (object=teeth duration=180).
Young's modulus 3.2e6 N/cm^2, torsional modulus 1e5 N/cm^2, 0.12 mm thick.  Ours has 30 000
particles, of which the 6000 at the roots are held.  What the papers leave open:

    bristles of 11 mm and 1150 kg/m^3 (nylon) in 30 tufts on a head of 30 x 11 mm
    half a ball of 15 mm for the paperweight; friction 0.2; contact springs of 100 N/m, into which
    corners of the cuboids go by up to 0.5 mm
    the paperweight moves, 35 mm to both sides, twice a second, and the brush stands still, tips
    down; they would pass 2 mm below its top.  At both ends of a stroke it is out of their reach
    five molars of four cusps, balls of 3 mm, 10.4 mm apart: they come up to the bristles within
    20 ms and then go to and fro below them, 5 mm to both sides
    plaque of 20 um, which wears off with 1e-8 m^3/J (Archard's law, collisions/plaque.py): a
    choice that makes a few strokes clean what is rubbed most
    the air damps with 500 /s: 5 % of critical for the first bending mode (733 Hz)

Contact among bristles (fiber_contact) is off by default: steps body by body, one Newton iteration
for each bristle, want bodies that are independent.  `springs` are the papers' repulsive springs
between the axes (our cuboids are 0.5 mm wide, for the torsional modulus, docs/fibers.md, and
overlap): one system of all bristles, some tens of them in reasonable time.  `impulses` act after
the step (Bridson, Fedkiw, Anderson 2002), so steps stay body by body; but impulses move what a step
resolves, and at 0.5 ms not even the first bending mode is: 300 bristles on teeth came as close as
without them (60 ms, a script that is not kept).

energy-momentum gets through with steps that do not resolve the bristles' vibrations, and the air
damps these as it should (decision 42).  Its energy is exact at any step, the motion is not: the
object stands still during a step, and pushes too hard between two.  In one pass over 48 bristles it
does 0.96 mJ of work with steps of 0.5 ms, 0.33 with 0.25, 0.17 with 0.1 and 0.30 with 0.025 ms.
The papers' exprb42 diverged as tips met the object, with steps of 0.1 ms.  Every bristle has its
own Newton iteration (system/bodywise.py), 12 us of processor time a step: nine minutes for 15 s,
shared by all cores, and one that is not.  The papers print 52 s.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..bodies import Rayleigh, System, fibers
from ..collisions import Contact, Hemisphere, Plaque, Sphere, TriangleMesh
from ..contracts import Array
from ..errors import InputError, require_name
from ..meshes import Mesh, brush_roots, sphere
from ..parts.fibers import require_room
from . import touching_fibers
from .builder import Setup, plain, positive, scene, whole

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
APART, CUSP, ASIDE, TEETH, TO_AND_FRO = 0.0104, 0.0030, 0.0021, 5, 0.005  # [m], of the teeth
BELOW, RISE = 3e-4, 0.02  # [m] under the tips at first, [s] to come up
PLAQUE, WEAR, REACH = 20e-6, 1e-8, 6e-4  # [m], [m^3/J], [m]
REPEL = 50.0  # [N/m], between bristles
OBJECTS = ("paperweight", "teeth")


@scene
def brush(
    bristles: int = whole(1500, "how many, in 30 tufts", least=1),
    segments: int = whole(4, "cuboids of each bristle", least=1),
    strokes: float = positive(2.0, "of the object, to and fro, per second"),
    press: float = positive(
        0.002, "how far tips would pass below the top of the object, were it not there [m]"
    ),
    object: str = plain("paperweight", "what is brushed: paperweight or teeth, with plaque"),
    wear: float = positive(WEAR, "plaque that comes off, of teeth [m^3/J]"),
    fiber_contact: str = touching_fibers.OPTION,
) -> Setup:
    if press > 0.5 * LENGTH:
        raise InputError(f"brush press = {press} m: at most half a bristle, {0.5 * LENGTH} m")
    require_name("object", object, OBJECTS)
    require_room(bristles * (segments + 1), bristles * segments)
    teeth = object == "teeth"
    roots = brush_roots(bristles, length=LENGTH)
    lines = roots.centrelines(segments) * [1.0, 1.0, -1.0]  # tips down
    lines += [0.0, 0.0, (CUSP if teeth else RADIUS) - press + LENGTH]
    material = {"thickness": THICKNESS, "young": YOUNG, "torsional": TORSIONAL, "density": DENSITY}
    body = fibers(lines, **material)
    x0 = body.positions
    touched, drawn = (_teeth if teeth else _paperweight)(2.0 * np.pi * strokes, press)
    contact = Contact(touched, WALL, friction=FRICTION)
    touch = {"thickness": THICKNESS, "stiffness": REPEL, "friction": FRICTION}
    parts = [body.part, contact, *touching_fibers.among(fiber_contact, body, **touch)]
    if teeth:
        parts.append(_plaque(contact, drawn[0], wear))
    system = System(body.mass, parts, rest=x0, fixed=body.root, damping=Rayleigh(alpha=AIR))
    note = "balls stand in for the cusps of teeth" if teeth else _NOTE
    return Setup(system, x0, mesh=Mesh(x0, body.edges), colliders=tuple(drawn), note=note)


_NOTE = "half a ball stands in for the paperweight"


def _paperweight(rate: float, press: float) -> tuple[list[Any], list[Any]]:
    """What is touched, and what is drawn."""
    motion = _Strokes(partial(_swinging, rate))
    weight = Hemisphere((0.0, 0.0, 0.0), RADIUS, motion=motion)
    return [weight], [weight]


class _Strokes:
    """A motion that shifts by shift(t) (3,) [m] with its velocity: numbers for one time, or arrays
    for many."""

    def __init__(self, shift: Callable[[Any], tuple[list[Any], list[Any]]]) -> None:
        self._shift = shift

    def place(self, t: float, start: Array) -> tuple[Array, Array]:
        shift, velocity = self._shift(t)
        return start + shift, np.broadcast_to(velocity, start.shape)

    def affine(self, times: Array) -> tuple[Array, Array, Array, Array]:
        """As that of Keyframes."""
        told = [np.broadcast_arrays(*row, times)[:3] for row in self._shift(times)]
        shift, velocity = (np.stack(row, axis=1) for row in told)
        still = np.broadcast_to(np.eye(3), (len(times), 3, 3))
        return still, shift, np.zeros_like(still), velocity


def _swinging(rate: float, t: Any) -> tuple[list[Any], list[Any]]:
    """From one end, x = SWING, to the other and back."""
    return [SWING * np.cos(rate * t), 0.0, 0.0], [-SWING * rate * np.sin(rate * t), 0.0, 0.0]


# ------------------------------------------------------------------ teeth


def _teeth(rate: float, press: float) -> tuple[list[Any], list[Any]]:
    """Balls that bristles touch, since those have a formula; their surfaces in one mesh to draw."""
    along = APART * (np.arange(TEETH) - 0.5 * (TEETH - 1))
    signs = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
    cusps = np.array([[x + a * ASIDE, b * ASIDE, 0.0] for x in along for a, b in signs])
    motion = _Strokes(partial(_brushing, rate, press))
    ball = sphere(10, 16, radius=CUSP)
    count, centred = len(ball.positions), ball.positions - ball.positions.mean(axis=0)
    points = (cusps[:, None] + centred).reshape(-1, 3)
    triangles = np.concatenate([ball.triangles + k * count for k in range(len(cusps))])
    balls = [Sphere(cusp, CUSP, motion=motion) for cusp in cusps]
    return balls, [TriangleMesh(points, triangles, motion)]


def _plaque(contact: Contact, surface: TriangleMesh, wear: float) -> Plaque:
    """On the upper sides, where no other ball covers them."""
    inside = np.zeros(len(surface.positions))
    for ball in contact.shapes:
        assert isinstance(ball, Sphere)
        inside += np.linalg.norm(surface.positions - ball.centre, axis=1) < CUSP * (1.0 - 1e-6)
    # vertices of a ball lie on it: what is inside of one is inside of another
    thickness = np.where((inside == 0) & (surface.positions[:, 2] > 0.0), PLAQUE, 0.0)
    mesh = surface.positions, surface.triangles
    return Plaque(contact, *mesh, thickness=thickness, wear=wear, reach=REACH)


def _brushing(rate: float, press: float, t: Any) -> tuple[list[Any], list[Any]]:
    """Up to the bristles, then to and fro along x."""
    left, late, low = 1.0 - np.minimum(t / RISE, 1.0), np.maximum(t - RISE, 0.0), press + BELOW
    down, up = -low * left * left * (3.0 - 2.0 * left), low * 6.0 * left * (1.0 - left) / RISE
    along = np.where(t > RISE, TO_AND_FRO * rate * np.cos(rate * late), 0.0)
    return [TO_AND_FRO * np.sin(rate * late), 0.0, down], [along, 0.0, up]
