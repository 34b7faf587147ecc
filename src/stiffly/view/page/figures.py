"""What stands on the page: bodies, what holds and touches them, the floor, the hand, names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from ...contracts import Array
from ...meshes.look import COLORS as NAMED
from ...meshes.look import IN_TURN, PLAIN
from ...parts.attachments import PointTies
from ...recording.exports.frames import Motion, motion
from ...recording.exports.pieces import Piece, bodies
from ...recording.render_view import OPENING
from ..settings import MOST_LANES
from .meshes import Beads, level_of, parts_of, pieces
from .paint import LEVELS, Paint
from .place import (
    SIZE,
    Camera,
    Place,
    Seen,
    camera,
    floor_below,
    followed,
    place_lanes,
    seen,
    to_be_seen,
    worth_following,
)
from .scenery import Colliders, Floor

# of methods beside each other, in the order of bodies that are given no colour
COLORS = tuple(NAMED[name] for name in IN_TURN[:MOST_LANES])
PIN, HAND = (60, 60, 66), (213, 94, 0)
FAILED = (150, 150, 150)
PIN_SIZE, HAND_SIZE = 0.035, 0.06  # units of the page
ABOVE = 0.12 * SIZE  # a name above its body
LETTER = 0.08 * SIZE  # of that name, in a window of 600 pixels or more
JUMP = 0.02 * SIZE  # a name goes after its body when it is so far away
LENS = float(np.radians(OPENING))  # of the camera's height


def still(name: str, x0: Array, mesh: Any, colliders: tuple[Any, ...]) -> Motion:
    """A scene that has not moved yet, as what pictures are made of."""
    frame = np.asarray(x0, dtype=np.float64)[None]
    return motion(
        SimpleNamespace(name=name, positions=frame, times=[0.0], mesh=mesh, colliders=colliders)
    )


class _Drawn(NamedTuple):
    """A body: its shapes with their nodes; segments: what draws lines (m, 2), or None."""

    color: tuple[int, int, int]
    shapes: list[tuple[Any, list[Any]]]
    lines: np.ndarray
    segments: Any

    def place(self, x: Array) -> None:
        for shape, nodes in self.shapes:
            nodes[0].vertices = shape.vertices(x)
        if self.segments is not None:
            self.segments.points = x[self.lines]

    def paint(self, color: tuple[int, int, int]) -> None:
        for _, nodes in self.shapes:
            nodes[0].color = color


class Body:
    """One lane: its shapes, pins, name and hand."""

    def __init__(
        self, scene: Any, lane: int, shown: Motion, pins: np.ndarray, place: Place, name: str,
        paint: Paint | None = None,
    ) -> None:  # fmt: skip
        self._place, self._lane, self._shown, self._paint = place, lane, shown, paint
        self._scene, self._path = scene, f"/lane-{lane}"
        self._failed = False
        scene.add_frame(self._path, show_axes=False, position=place.offsets[lane])
        x = place.on_page(shown.rest)
        self._alone = len(place.offsets) == 1
        # methods beside each other differ in colour; else bodies do, each in its own
        own = bodies(shown if self._alone and paint is None else replace(shown, owner=None))
        numbers = count()
        self._drawn = [self._draw(numbers, piece, x) for piece in own]
        self._pins: list[tuple[Beads, Any]] = []  # they follow particles, not what is drawn
        if len(pins):
            beads = Beads(pins, PIN_SIZE)
            at = place.on_page(_particles(shown))
            self._pins.append((beads, self._mesh("pins", beads, at, PIN)))
        self._top = _above(x)
        self._label = scene.add_label(
            f"{self._path}/name", name, position=self._top, anchor="bottom-center"
        )
        self._hand: Any = None

    @property
    def nodes(self) -> list[Any]:
        """What can be grabbed."""
        shapes = [node for body in self._drawn for _, each in body.shapes for node in each]
        return shapes + [node for _, node in self._pins]

    def show(self, positions: Array, name: str, failed: bool, values: Array | None = None) -> None:
        """values (particles,): what it is coloured by."""
        x = self._place.on_page(positions)
        if not np.isfinite(x).all():  # a browser draws nothing at all then
            x = np.nan_to_num(x, nan=0.0, posinf=0.0, neginf=0.0)
        for beads, node in self._pins:
            node.vertices = beads.vertices(x)
        x = self._shown.shown(x)
        if self._paint is None or values is None:
            for drawn in self._drawn:
                drawn.place(x)
        else:
            self._colour(x, self._paint.levels(self._shown.shown(values[:, None])[:, 0]))
        self._label.text = name
        top = _above(x)
        if np.abs(top - self._top).max() > JUMP:
            self._label.position = self._top = top
        if failed != self._failed and self._paint is None:
            self._failed = failed
            for drawn in self._drawn:
                drawn.paint(FAILED if failed else drawn.color)

    def _colour(self, x: Array, levels: np.ndarray) -> None:
        """Every triangle to the mesh of its level; levels (N,) of the points that are drawn."""
        for drawn in self._drawn:
            for shape, nodes in drawn.shapes:
                cut = pieces(shape, x, level_of(shape, levels), LEVELS)
                for node, piece in zip(nodes, cut, strict=True):
                    node.visible = piece is not None
                    if piece is not None:
                        node.vertices, node.faces = piece
            if drawn.segments is not None and self._paint is not None:
                drawn.segments.points = x[drawn.lines]
                drawn.segments.colors = self._paint.colors[levels[drawn.lines]]

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

    def _draw(self, numbers: Iterator[int], piece: Piece, x: Array) -> _Drawn:
        """Tubes, beads and a surface, and lines that are too many for tubes; numbers: of nodes."""
        color = COLORS[self._lane]
        if self._alone:
            color = _on_screen(PLAIN if piece.look is None else piece.look.color)
        parts = parts_of(x, piece, SIZE)
        shapes = [
            (shape, self._nodes(f"body-{next(numbers)}", shape, x, color)) for shape in parts.shapes
        ]
        segments = None
        if len(parts.lines):
            segments = self._scene.add_line_segments(
                f"{self._path}/lines-{next(numbers)}", x[parts.lines], color,
                thickness=1.5, thickness_units="screen",
            )  # fmt: skip
        return _Drawn(color, shapes, parts.lines, segments)

    def _nodes(self, name: str, shape: Any, x: Array, color: tuple[int, int, int]) -> list[Any]:
        """One, or where it is painted one for each level, the first with all of it."""
        if self._paint is None:
            return [self._mesh(name, shape, x, color)]
        return [
            self._mesh(f"{name}{f'-{k}' if k else ''}", shape, x, level, visible=k == 0)
            for k, level in enumerate(self._paint.colors.tolist())
        ]

    def _mesh(self, name: str, shape: Any, x: Array, color: Any, visible: bool = True) -> Any:
        return self._scene.add_mesh_simple(
            f"{self._path}/{name}", shape.vertices(x), shape.faces,
            color=color, visible=visible, flat_shading=shape.flat,
            side="double", receive_shadow=False,  # its own would lie on it in stripes
        )  # fmt: skip


class Figures:
    """All of it, for a scene and so many lanes; paint: what the bodies are coloured by."""

    def __init__(
        self, viser: Any, shown: Motion, pins: np.ndarray, names: Sequence[str],
        paint: Paint | None = None,
    ) -> None:  # fmt: skip
        self._viser, self.count, self._paint = viser, shown.particles, paint
        self.place = place_lanes(shown.rest, len(names))
        viser.scene.reset()
        viser.scene.configure_default_lights(cast_shadow=True)
        self.bodies = [
            Body(viser.scene, lane, shown, pins, self.place, name, paint)
            for lane, name in enumerate(names)
        ]
        self._colliders = Colliders(viser.scene, shown, self.place, len(names))
        self._rest = _particles(shown)
        self._seen = to_be_seen(self._rest, pins, self._colliders.solids)
        self._floor: Floor | None = None
        if not any(solid.flat for solid in self._colliders.solids):  # it has one of its own
            height = floor_below(self.place, _particles(shown), pins, self._seen)
            self._floor = Floor(viser.scene, height)

    def show(self, snapshot: Any) -> None:
        values: list[Any] = [None] * len(self.bodies)
        if self._paint is not None:
            values = self._paint.values(snapshot.lanes)
        for lane, body, value in zip(snapshot.lanes, self.bodies, values, strict=True):
            name = f"{lane.name}: stopped" if lane.failure else lane.name
            body.show(lane.positions, name, lane.failure is not None, value)
            body.hold(lane.hand)
        self._colliders.show(snapshot.t)
        if self._floor is not None:
            for points in worth_following(self.place, snapshot.lanes):
                self._floor.below(points[:, 2].min())

    @property
    def legend(self) -> str:
        """What the colours say; nothing where they say nothing."""
        return "" if self._paint is None else self._paint.legend()

    def look(self) -> None:
        """Points the camera at it, for who comes later and for who is here."""
        view = camera(self.place, self._with_names(self._seen, self._rest))
        first = self._viser.initial_camera
        first.position, first.look_at, first.fov = view.position, view.target, LENS
        for client in self._viser.get_clients().values():
            _aim(client, view)

    def find(self, positions: Array, client: Any) -> None:
        """Points one browser's camera at the body where it is now."""
        sound = positions[np.isfinite(positions).all(axis=1)]
        _aim(client, camera(self.place, self._with_names(sound, sound)))

    def _with_names(self, points: Array, x: Array) -> Array:
        """Points (k, 3) [m], and where the name of a body at x (N, 3) ends."""
        top = self.place.offsets[0] + _above(self.place.on_page(x)) + [0.0, 0.0, LETTER]
        return np.concatenate([points, self.place.in_scene(top, 0)[None]])

    def follow(self, lanes: Sequence[Any], client: Any, before: Seen | None) -> Seen | None:
        """Goes after the bodies with one browser's camera, where they have left its picture.

        before: what it has seen the last time; what it sees now.
        """
        eye, bodies = client.camera, worth_following(self.place, lanes)
        if not bodies or eye.aspect <= 0.0:
            return before
        view = Camera(np.asarray(eye.position), np.asarray(eye.look_at))
        how = bodies, float(eye.aspect), float(eye.fov)
        if before is None or not before.view.is_like(view):
            return seen(view, *how)
        after = followed(before, *how)
        if after is not None:
            _aim(client, after.view)
        return after or before


def _on_screen(color: tuple[float, float, float]) -> tuple[int, int, int]:
    red, green, blue = (round(255.0 * part) for part in color)
    return red, green, blue


def _above(x: Array) -> Array:
    """Where a name stands that belongs to points (N, 3) of the page."""
    low, high = x.min(axis=0), x.max(axis=0)
    return np.array([*(0.5 * (low + high))[:2], high[2] + ABOVE])


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
