"""What stands on the page, and where: bodies, what holds and touches them, the user's hand, names;
lanes side by side, all of it four units wide, and the camera."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from ...contracts import Array
from ...parts.attachments import PointTies
from ...recording.exports.frames import Motion, motion, solids
from ...recording.render_view import OPENING, look_at
from .meshes import Beads, parts_of

# of Okabe and Ito, which colour-blind readers can tell apart
COLORS = ((86, 140, 200), (230, 159, 0), (0, 158, 115))
PIN, HAND, STONE = (60, 60, 66), (213, 94, 0), (176, 178, 184)
FAILED = (150, 150, 150)
PIN_SIZE, HAND_SIZE = 0.035, 0.06  # units of the page
SIZE = 4.0  # units of the page that a body's diagonal takes: its lights and lenses are made for it
ROOM = 1.25  # to swing and to stretch, around a body as it begins
LARGER = 3.0  # colliders are brought into the picture up to so many sizes of the body
ASPECT = 0.85  # of what the panels leave of a window, width to height
GAP = 1.25  # distance of two lanes in widths of the body
TURNED = 0.85  # and in its diagonals: it may turn
LENS = float(np.radians(OPENING))  # of the camera's height


def still(name: str, x0: Array, mesh: Any, colliders: tuple[Any, ...]) -> Motion:
    """A scene that has not moved yet, as what pictures are made of."""
    frame = np.asarray(x0, dtype=np.float64)[None]
    return motion(
        SimpleNamespace(name=name, positions=frame, times=[0.0], mesh=mesh, colliders=colliders)
    )


class Body:
    """One lane: its shapes, pins, name and hand."""

    def __init__(
        self, scene: Any, lane: int, shown: Motion, pins: np.ndarray, place: Place, name: str
    ) -> None:
        self._place, self._lane, self._shown = place, lane, shown
        self._scene, self._path = scene, f"/lane-{lane}"
        self._color: Any = None
        scene.add_frame(self._path, show_axes=False, position=place.offsets[lane])
        x = place.on_page(shown.rest)
        parts = parts_of(replace(shown, rest=x), SIZE)
        self._lines = parts.lines
        self._shapes = [
            (shape, self._mesh(f"body-{i}", shape, x)) for i, shape in enumerate(parts.shapes)
        ]
        self._segments: Any = None
        if len(parts.lines):
            self._segments = scene.add_line_segments(
                f"{self._path}/lines", x[self._lines], COLORS[lane],
                thickness=1.5, thickness_units="screen",
            )  # fmt: skip
        self._pins: list[tuple[Beads, Any]] = []  # they follow particles, not what is drawn
        if len(pins):
            beads = Beads(pins, PIN_SIZE)
            at = place.on_page(_particles(shown))
            self._pins.append((beads, self._mesh("pins", beads, at, PIN)))
        top = (0.0, 0.0, place.top + 0.12 * SIZE)
        self._label = scene.add_label(
            f"{self._path}/name", name, position=top, anchor="bottom-center"
        )
        self._hand: Any = None

    @property
    def nodes(self) -> list[Any]:
        """What can be grabbed."""
        return [node for _, node in self._shapes + self._pins]

    def show(self, positions: Array, name: str, failed: bool) -> None:
        x = self._place.on_page(positions)
        if not np.isfinite(x).all():  # a browser draws nothing at all then
            x = np.nan_to_num(x, nan=0.0, posinf=0.0, neginf=0.0)
        for beads, node in self._pins:
            node.vertices = beads.vertices(x)
        x = self._shown.shown(x)
        for shape, node in self._shapes:
            node.vertices = shape.vertices(x)
        if self._segments is not None:
            self._segments.points = x[self._lines]
        self._label.text = name
        color = FAILED if failed else COLORS[self._lane]
        if color != self._color:
            self._color = color
            for _, node in self._shapes:
                node.color = color

    def hold(self, points: Array) -> None:
        """Where the hand pulls to (k, 3) [m]; no points where it is not there."""
        if not len(points):
            if self._hand is not None:
                self._hand.visible = False
            return
        at = tuple(self._place.on_page(np.mean(points, axis=0)))
        if self._hand is None:
            self._hand = self._scene.add_icosphere(
                f"{self._path}/hand", HAND_SIZE, color=HAND, position=at, subdivisions=2
            )
        self._hand.position, self._hand.visible = at, True

    def _mesh(self, name: str, shape: Any, x: Array, color: Any = None) -> Any:
        return self._scene.add_mesh_simple(
            f"{self._path}/{name}", shape.vertices(x), shape.faces,
            color=color or COLORS[self._lane], flat_shading=shape.flat, side="double",
            receive_shadow=False,  # its own would lie on it in stripes
        )  # fmt: skip


class Colliders:
    """What bodies touch, once in every lane."""

    def __init__(self, scene: Any, shown: Motion, place: Place, lanes: int) -> None:
        low, high = shown.rest.min(axis=0), shown.rest.max(axis=0)
        self.solids = list(solids(shown.colliders, low, high))
        self._place, self._nodes = place, []
        for lane in range(lanes):
            for i, solid in enumerate(self.solids):
                node = scene.add_mesh_simple(
                    f"/lane-{lane}/collider-{i}", place.on_page(solid.at(0.0)), solid.triangles,
                    color=STONE, opacity=0.35 if solid.hollow else None,
                    side="front" if solid.flat else "double",  # walls are seen through from behind
                )  # fmt: skip
                self._nodes.append((solid, node))

    def show(self, t: float) -> None:
        for solid, node in self._nodes:
            if solid.moving:
                node.vertices = self._place.on_page(solid.at(t))


class Figures:
    """All of it, for a scene and so many lanes."""

    def __init__(self, viser: Any, shown: Motion, pins: np.ndarray, names: Sequence[str]) -> None:
        self._viser, self.count = viser, shown.particles
        self.place = place_lanes(shown.rest, len(names))
        viser.scene.reset()
        # shadows cost weak machines a third of their frames, and fall on colliders only
        viser.scene.configure_default_lights(cast_shadow=bool(shown.colliders))
        self.bodies = [
            Body(viser.scene, lane, shown, pins, self.place, name)
            for lane, name in enumerate(names)
        ]
        self._colliders = Colliders(viser.scene, shown, self.place, len(names))
        self._seen = to_be_seen(_particles(shown), pins, self._colliders.solids)

    def show(self, snapshot: Any) -> None:
        for lane, body in zip(snapshot.lanes, self.bodies, strict=True):
            name = f"{lane.name}: stopped" if lane.failure else lane.name
            body.show(lane.positions, name, lane.failure is not None)
            body.hold(lane.hand)
        self._colliders.show(snapshot.t)

    def look(self) -> None:
        """Points the camera at it, for who comes later and for who is here."""
        view = camera(self.place, self._seen)
        first = self._viser.initial_camera
        first.position, first.look_at, first.fov = view.position, view.target, LENS
        for client in self._viser.get_clients().values():
            _aim(client, view)

    def find(self, positions: Array, client: Any) -> None:
        """Points one browser's camera at the body where it is now."""
        _aim(client, camera(self.place, positions[np.isfinite(positions).all(axis=1)]))


def _particles(shown: Motion) -> Array:
    """Positions (particles, 3) at rest, or at the first frame where others are drawn."""
    return shown.rest if shown.skin is None else np.asarray(shown.positions[0], dtype=np.float64)


def _aim(client: Any, view: Camera) -> None:
    with client.atomic():
        client.camera.position, client.camera.look_at = view.position, view.target
        client.camera.fov = LENS


def pins(system: Any) -> np.ndarray:
    """Particles that are held, led, or tied to points in space."""
    tied = [p.particles for _, p in system.assembly.parts if isinstance(p, PointTies)]
    rows = np.concatenate([np.empty(0, dtype=np.int64), *tied])
    return np.union1d(system.fixed, system.numbering.order[rows])


# ------------------------------------------------------------------ where things stand


class Place(NamedTuple):
    """page = scale * (x - centre) + offsets[lane]; labels stand above."""

    scale: float
    centre: Array
    offsets: Array  # (lanes, 3), units of the page
    top: float  # units of the page

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
    return Place(scale, centre, offsets, float(high[2] - centre[2]) * scale)


class Camera(NamedTuple):
    position: Array
    target: Array


def camera(place: Place, points: Array, aspect: float = ASPECT) -> Camera:
    """A view that has all lanes in the picture; points (k, 3) [m] that one of them must show."""
    shown = place.on_page(points)
    view = look_at(np.concatenate([shown + offset for offset in place.offsets]), aspect)
    middle = 0.5 * (view.low + view.high)
    away = float((middle - view.eye) @ view.forward)
    return Camera(view.eye, view.eye + away * view.forward)


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
