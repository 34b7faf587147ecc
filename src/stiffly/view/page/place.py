"""Where things stand on the page: lanes side by side, all of it four units wide, and the camera."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...contracts import Array
from ...recording.render_view import look_at

SIZE = 4.0  # units of the page that a body's diagonal takes: its lights and lenses are made for it
ROOM = 1.25  # to swing and to stretch, around a body as it begins
LARGER = 3.0  # colliders are brought into the picture up to so many sizes of the body
ASPECT = 0.85  # of what the panels leave of a window, width to height
GAP = 1.25  # distance of two lanes in widths of the body
TURNED = 0.85  # and in its diagonals: it may turn
POINTS = 300  # of a lane that are looked at
LEFT = 0.7  # of what was in the picture: where less is, the camera goes after it
SAME = 1e-3  # units of the page: a camera that nobody has moved
BURST = 10.0  # sizes of the body: what is larger has exploded, and is not followed


class Place(NamedTuple):
    """page = scale * (x - centre) + offsets[lane]."""

    scale: float
    centre: Array
    offsets: Array  # (lanes, 3), units of the page

    def on_page(self, x: Array) -> Array:
        """Without the lane's offset, which the node of the lane has."""
        return ((x - self.centre) * self.scale).astype(np.float32)

    def in_scene(self, point: Any, lane: int) -> Array:
        """A point of the page, where it lies in the scene [m]."""
        return (np.asarray(point, dtype=np.float64) - self.offsets[lane]) / self.scale + self.centre

    def vector(self, shift: Any) -> Array:
        """A shift on the page as one in the scene [m]."""
        return np.asarray(shift, dtype=np.float64) / self.scale


def place_lanes(x: Array, lanes: int) -> Place:
    """For a body at x (N, 3), as it stands at the start."""
    good = x[np.isfinite(x).all(axis=1)]
    low, high = good.min(axis=0), good.max(axis=0)
    size = float(np.linalg.norm(high - low)) or 1.0
    scale = SIZE / size
    # along the longer horizontal side, which the camera has across the picture
    axis = 0 if high[0] - low[0] >= high[1] - low[1] else 1
    width = max(GAP * float(high[axis] - low[axis]), TURNED * size) * scale
    offsets = np.zeros((lanes, 3))
    offsets[:, axis] = width * (np.arange(lanes) - 0.5 * (lanes - 1))
    centre = 0.5 * (low + high)
    return Place(scale, centre, offsets)


class Camera(NamedTuple):
    position: Array
    target: Array

    def is_like(self, other: Camera) -> bool:
        far = np.abs([*(self.position - other.position), *(self.target - other.target)])
        return bool(far.max() <= SAME)


def camera(place: Place, points: Array, aspect: float = ASPECT) -> Camera:
    """A view that has all lanes in the picture; points (k, 3) [m] that one of them must show."""
    shown = place.on_page(points)
    view = look_at(np.concatenate([shown + offset for offset in place.offsets]), aspect)
    middle = 0.5 * (view.low + view.high)
    away = float((middle - view.eye) @ view.forward)
    return Camera(view.eye, view.eye + away * view.forward)


class Seen(NamedTuple):
    """A view as somebody has left it: where the bodies' middle was, and the least share of a body
    that was in the picture."""

    view: Camera
    middle: Array
    share: float


def seen(view: Camera, bodies: Sequence[Array], aspect: float, lens: float) -> Seen:
    """bodies: points (k, 3) of the page of each; lens: radians of the picture's height."""
    middle = np.mean([0.5 * (x.min(axis=0) + x.max(axis=0)) for x in bodies], axis=0)
    return Seen(view, middle, min(share_seen(view, x, aspect, lens) for x in bodies))


def followed(before: Seen, bodies: Sequence[Array], aspect: float, lens: float) -> Seen | None:
    """The view moved along with the bodies, where they have left the picture by themselves: who
    has come closer to see a part of them is left alone."""
    now = seen(before.view, bodies, aspect, lens)
    if now.share >= LEFT * before.share:
        return None
    way = now.middle - before.middle
    view = Camera(before.view.position + way, before.view.target + way)
    return Seen(view, now.middle, before.share)


def share_seen(now: Camera, points: Array, aspect: float, lens: float) -> float:
    """Of points (k, 3) of the page, how many are in the picture."""
    forward = now.target - now.position
    forward = forward / max(float(np.linalg.norm(forward)), 1e-12)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= max(float(np.linalg.norm(right)), 1e-12)
    far = points - now.position
    depth = far @ forward
    half = np.tan(0.5 * lens) * np.maximum(depth, 1e-12)
    across, along = np.abs(far @ right), np.abs(far @ np.cross(right, forward))
    return float(np.mean((depth > 0.0) & (across <= aspect * half) & (along <= half)))


def worth_following(place: Place, lanes: Sequence[Any]) -> list[Array]:
    """Points (k, 3) of the page of each lane that has neither failed nor exploded."""
    found = []
    for lane, offset in zip(lanes, place.offsets, strict=True):
        x = place.on_page(lane.positions[:: 1 + len(lane.positions) // POINTS]).astype(float)
        if lane.failure is None and np.linalg.norm(np.ptp(x, axis=0)) <= BURST * SIZE:
            found.append(x + offset)  # a size that is NaN is not small enough
    return found


def floor_below(place: Place, x: Array, pins: np.ndarray, seen: Array) -> float:
    """Height on the page of a floor under a body at x (N, 3) [m]: at its feet, where it is held by
    them, or below all that is to be seen."""
    stands = len(pins) > 0 and x[pins, 2].mean() <= x[:, 2].mean()
    return float(place.on_page(x if stands else seen)[:, 2].min())


def to_be_seen(x: Array, pins: np.ndarray, solids: Sequence[Any]) -> Array:
    """Points (k, 3) [m] of a body at x (N, 3) and of where it will go: what is free may turn, what
    hangs swings down below its pins, what falls comes to lie on a plane."""
    low, high = x.min(axis=0), x.max(axis=0)
    size = float(np.linalg.norm(high - low)) or 1.0
    centre = 0.5 * (low + high)
    found = [centre + ROOM * (x - centre)]
    if not len(pins):
        found.append(centre + 0.5 * ROOM * size * np.concatenate([np.eye(3), -np.eye(3)]))
    elif len(pins) < len(x):
        hook = x[pins].mean(axis=0)
        reach = float(np.linalg.norm(x - hook, axis=1).max())
        found.append(hook[None] - [0.0, 0.0, ROOM * reach])
    for solid in solids:
        at = solid.at(0.0)
        if solid.flat:
            ground = x.mean(axis=0) - (x.mean(axis=0) - at[0]) @ _normal(at) * _normal(at)
            at = ground[None]
        near = np.linalg.norm(np.ptp(np.concatenate([at, x]), axis=0)) <= LARGER * size
        found += [at] if near else []
    return np.concatenate(found)


def _normal(corners: Array) -> Array:
    n = np.cross(corners[1] - corners[0], corners[2] - corners[0])
    return n / np.linalg.norm(n)
