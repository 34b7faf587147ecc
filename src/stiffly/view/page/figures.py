"""What stands on the page: bodies, what holds and touches them, the floor, the hand, names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...contracts import Array
from ...parts.attachments import PointTies
from ...recording.exports.frames import Motion, motion
from ...recording.render_view import OPENING
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

# of Okabe and Ito, which colour-blind readers can tell apart
COLORS = ((86, 140, 200), (230, 159, 0), (0, 158, 115))
PIN, HAND = (60, 60, 66), (213, 94, 0)
FAILED = (150, 150, 150)
PIN_SIZE, HAND_SIZE = 0.035, 0.06  # units of the page
ABOVE = 0.12 * SIZE  # a name above its body
JUMP = 0.02 * SIZE  # a name goes after its body when it is so far away
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
        self, scene: Any, lane: int, shown: Motion, pins: np.ndarray, place: Place, name: str,
        paint: Paint | None = None,
    ) -> None:  # fmt: skip
        self._place, self._lane, self._shown, self._paint = place, lane, shown, paint
        self._scene, self._path = scene, f"/lane-{lane}"
        self._color: Any = None
        scene.add_frame(self._path, show_axes=False, position=place.offsets[lane])
        x = place.on_page(shown.rest)
        parts = parts_of(replace(shown, rest=x), SIZE)
        self._lines = parts.lines
        self._shapes = [(s, self._nodes(f"body-{i}", s, x)) for i, s in enumerate(parts.shapes)]
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
        self._top = _above(x)
        self._label = scene.add_label(
            f"{self._path}/name", name, position=self._top, anchor="bottom-center"
        )
        self._hand: Any = None

    @property
    def nodes(self) -> list[Any]:
        """What can be grabbed."""
        return [node for _, each in self._shapes for node in each] + [n for _, n in self._pins]

    def show(self, positions: Array, name: str, failed: bool, values: Array | None = None) -> None:
        """values (particles,): what it is coloured by."""
        x = self._place.on_page(positions)
        if not np.isfinite(x).all():  # a browser draws nothing at all then
            x = np.nan_to_num(x, nan=0.0, posinf=0.0, neginf=0.0)
        for beads, node in self._pins:
            node.vertices = beads.vertices(x)
        x = self._shown.shown(x)
        if self._paint is None or values is None:
            for shape, nodes in self._shapes:
                nodes[0].vertices = shape.vertices(x)
        else:
            self._colour(x, self._paint.levels(self._shown.shown(values[:, None])[:, 0]))
        if self._segments is not None:
            self._segments.points = x[self._lines]
        self._label.text = name
        top = _above(x)
        if np.abs(top - self._top).max() > JUMP:
            self._label.position = self._top = top
        color = FAILED if failed else COLORS[self._lane]
        if color != self._color and self._paint is None:
            self._color = color
            for _, nodes in self._shapes:
                nodes[0].color = color

    def _colour(self, x: Array, levels: np.ndarray) -> None:
        """Every triangle to the mesh of its level; levels (N,) of the points that are drawn."""
        for shape, nodes in self._shapes:
            cut = pieces(shape, x, level_of(shape, levels), LEVELS)
            for node, piece in zip(nodes, cut, strict=True):
                node.visible = piece is not None
                if piece is not None:
                    node.vertices, node.faces = piece
        if self._segments is not None and self._paint is not None:
            self._segments.colors = self._paint.colors[levels[self._lines]]

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

    def _nodes(self, name: str, shape: Any, x: Array) -> list[Any]:
        """One, or where it is painted one for each level, the first with all of it."""
        if self._paint is None:
            return [self._mesh(name, shape, x)]
        return [
            self._mesh(f"{name}{f'-{k}' if k else ''}", shape, x, color, visible=k == 0)
            for k, color in enumerate(self._paint.colors.tolist())
        ]

    def _mesh(
        self, name: str, shape: Any, x: Array, color: Any = None, visible: bool = True
    ) -> Any:
        return self._scene.add_mesh_simple(
            f"{self._path}/{name}", shape.vertices(x), shape.faces,
            color=color or COLORS[self._lane], visible=visible, flat_shading=shape.flat,
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
        self._seen = to_be_seen(_particles(shown), pins, self._colliders.solids)
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
        view = camera(self.place, self._seen)
        first = self._viser.initial_camera
        first.position, first.look_at, first.fov = view.position, view.target, LENS
        for client in self._viser.get_clients().values():
            _aim(client, view)

    def find(self, positions: Array, client: Any) -> None:
        """Points one browser's camera at the body where it is now."""
        _aim(client, camera(self.place, positions[np.isfinite(positions).all(axis=1)]))

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
