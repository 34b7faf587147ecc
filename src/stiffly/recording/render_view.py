"""Where the camera stands: as near as the whole motion allows, seen from three quarters."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ..arrays import real_number, truth
from ..contracts import Array
from ..errors import InputError
from .exports.frames import Motion

ELEVATION = 20.0  # degrees above the horizon
OPENING = 26.0  # degrees of the picture's height: long enough a lens to keep upright lines upright
MARGIN = 0.05  # of the picture, at every side
WORDS = 0.13, 0.09  # of the height, above and below, where words are written
MOST = 60  # frames looked at
SPREAD = 10.0  # a body this many times its first size has exploded, and is not followed
POINTS = 2000  # of a frame looked at; where there are more, the outermost towards each of AROUND
AROUND = np.array([d for d in product(range(-2, 3), repeat=3) if np.gcd.reduce(d) == 1])
NO_WALLS = np.empty((0, 3))


class Camera(NamedTuple):
    """What is asked of the camera.

    azimuth, elevation: where it stands as seen from the body [degrees], from the x axis towards y,
    above the horizon; None: a corner that no wall hides.  turn: by which it goes round the body in
    a film [degrees].  follow: it moves with the body's middle instead of showing the whole way.
    """

    azimuth: float | None = None
    elevation: float = ELEVATION
    turn: float = 0.0
    follow: bool = False

    @classmethod
    def asked(cls, place: Any, turntable: float, follow: bool) -> Camera:
        """place: (azimuth, elevation) or None; InputError where numbers are none."""
        turn = real_number("turntable", turntable, "give degrees")
        try:
            azimuth, elevation = (None, ELEVATION) if place is None else map(float, place)
        except (TypeError, ValueError, OverflowError):
            shown = ",".join(map(str, place)) if isinstance(place, (tuple, list)) else repr(place)
            raise InputError(
                f"camera {shown}: give azimuth and elevation in degrees, such as -60,20"
            ) from None
        if not (np.isfinite([azimuth or 0.0, elevation, turn]).all() and abs(elevation) < 89.0):
            raise InputError(
                f"camera {place!r}, turntable {turntable!r}: give degrees, the elevation between "
                "-89 and 89"
            )
        return cls(azimuth, elevation, turn, truth("follow", follow))


class View(NamedTuple):
    """A camera: eye (3,), forward, right, up (3,) unit vectors; low, high (3,): what it frames."""

    eye: Array
    forward: Array
    right: Array
    up: Array
    low: Array
    high: Array

    @property
    def size(self) -> float:
        return max(float(np.linalg.norm(self.high - self.low)), 1e-12)

    def turned(self, degrees: float) -> View:
        """Gone round the vertical through the middle of what it frames."""
        turn, middle = about_vertical(degrees), 0.5 * (self.low + self.high)
        forward, right, up = (turn @ axis for axis in (self.forward, self.right, self.up))
        return View(middle + turn @ (self.eye - middle), forward, right, up, self.low, self.high)


def sunlight(view: View) -> Array:
    """The direction in which the light travels."""
    ahead = np.cross([0.0, 0.0, 1.0], view.right)  # forward, along the ground
    direction = np.array([0.0, 0.0, -1.0]) + 0.38 * view.right + 0.22 * ahead
    return direction / np.linalg.norm(direction)


def about_vertical(degrees: float) -> Array:
    """(3, 3) rotation."""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def all_round(points: Array) -> Array:
    """The points (k, 3) in twelve directions: who sees all of these may go round them."""
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    turns = [about_vertical(30.0 * k) for k in range(12)]
    return np.concatenate([middle + (points - middle) @ turn.T for turn in turns])


def sampled(motion: Motion, most: int = MOST) -> np.ndarray:
    """Numbers of at most that many frames, evenly spread, of those that did not explode."""
    count = len(motion)
    chosen = np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))
    first = max(_extent(motion.frame(0)), _extent(motion.rest))
    good = [i for i in chosen if _extent(motion.frame(i)) <= (SPREAD * first or np.inf)]
    return np.array(good or [0])


def _extent(x: Array) -> float:
    """Diagonal of the box around points; NaN, which is never small enough, where one is lost."""
    return float(np.linalg.norm(np.ptp(x, axis=0).astype(np.float64)))


def points_of(motion: Motion, frames: Sequence[int] | np.ndarray) -> Array:
    """Points (k, 3) that must be in the picture."""
    points = np.concatenate([_outermost(motion.frame(int(i))) for i in frames]).astype(np.float64)
    if not len(points):
        raise InputError("no frame holds finite positions: there is nothing to look at")
    return points


def _outermost(x: Array) -> Array:
    """Those of points (N, 3) that decide what is in the picture: an even choice of them could be
    the root of every hair."""
    x = x[np.all(np.isfinite(x), axis=1)]
    if len(x) <= POINTS:
        return x
    return x[[np.argmax(x @ direction) for direction in AROUND.astype(x.dtype)]]


def look_at(
    points: Array,
    aspect: float,
    *,
    words: bool = False,
    bar: float = 0.0,
    walls: Array = NO_WALLS,
    camera: Camera = Camera(),  # noqa: B008
) -> View:
    """The view on points (k, 3) in a picture `aspect` times as wide as high.

    words: leave room for them above and below; bar: share of the width left free at the right.
    walls (w, 3): normals of planes that would hide the body from behind.  camera: where it stands.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    if camera.turn:
        points = all_round(points)
    forward, right, up = _axes(high - low, walls, camera)
    a, b, c = points @ right, points @ up, points @ forward
    half = np.tan(0.5 * np.radians(OPENING))
    above, below = WORDS if words else (MARGIN, MARGIN)
    left, right_side = (half * aspect * (1.0 - 2.0 * m) for m in (MARGIN, max(MARGIN, bar)))
    top, bottom = (half * (1.0 - 2.0 * m) for m in (above, below))
    # seen from a0, b0, c0, a point is in the picture if -left <= (a - a0) / (c - c0) <= right_side
    # and -bottom <= (b - b0) / (c - c0) <= top
    c0 = min(_depth(a, c, left, right_side), _depth(b, c, bottom, top))
    c0 -= 1e-3 * float(np.linalg.norm(high - low)) + 1e-9
    a0 = _between(a, c - c0, left, right_side)
    b0 = _between(b, c - c0, bottom, top)
    return View(a0 * right + b0 * up + c0 * forward, forward, right, up, low, high)


def _axes(size: Array, walls: Array, camera: Camera) -> tuple[Array, Array, Array]:
    """forward, right, up; the longer side of what is seen lies across the picture, and as many
    walls as can be behind it."""
    first = -60.0 if size[0] >= size[1] else -30.0
    lift = np.radians(camera.elevation)

    def towards(degrees: float) -> Array:
        around = np.radians(degrees)
        return np.array(
            [np.cos(lift) * np.cos(around), np.cos(lift) * np.sin(around), np.sin(lift)]
        )

    # the same from the four corners of the compass, the usual one first
    corners = (first, -180.0 - first, -first, 180.0 + first)
    asked = corners if camera.azimuth is None else (camera.azimuth,)
    sides = [towards(degrees) for degrees in asked]
    forward = -max(sides, key=lambda eye: int(np.sum(walls @ eye > 0.0)))
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    return forward, right, np.cross(right, forward)


def _depth(a: Array, c: Array, negative: float, positive: float) -> float:
    """c0 at which points just fill the picture, -negative <= (a - a0) / (c - c0) <= positive."""
    over, under = float(np.max(a - positive * c)), float(np.max(-a - negative * c))
    return -(over + under) / (positive + negative)


def _between(a: Array, depth: Array, negative: float, positive: float) -> float:
    """a0 in the middle of all that show every point: what is left over goes to both sides."""
    least, most = np.max(a - positive * depth), np.min(a + negative * depth)
    return float(0.5 * (least + most))
