"""What exports and pictures read of a recording: surface, lines, and every frame's positions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...collisions import Hemisphere, Plane, Sphere
from ...collisions.shapes import Frame
from ...contracts import Array
from ...errors import InputError
from ...meshes import Look, Skin
from ...meshes.look import PLAIN, owners
from ...meshes.mesh import ELEMENT
from ...meshes.skin import joined_uv
from ...meshes.visible import alone, surface_and_lines
from ..layout import ELEMENTS, require_vertices

Fields = Mapping[str, Callable[[int], Array]]  # values (particles,) at a frame, by name
NO_FIELDS: Mapping[str, Any] = {}
NOTHING_SEEN = np.empty((0, 3), dtype=np.int64), np.empty((0, 2), dtype=np.int64)
Progress = Callable[[int, int], Any]  # frames done, frames in all
LARGEST = float(np.finfo(np.float32).max)  # what most formats can hold [m]
AROUND = 64  # sides of a round shape
UP = 32  # rings of a ball


def unheard(*_: int) -> None:
    """Progress that nobody asked for."""


@dataclass(frozen=True)
class Motion:
    """A body in motion.  Frames are read one at a time: a recording may not fit into memory.

    times (frames,) [s]; positions, velocities: (frames, particles, 3) arrays or HDF5 datasets,
    velocities None where none were kept.  What is drawn are N points: the particles, or where a
    surface is embedded in tets (skin) the particles `bare`, that it does not stand for, and then
    its vertices; see `shown`.  rest (N, 3).  triangles (s, 3): the surface; lines (m, 2): edges
    that lie outside of it, such as those of ropes and hair.  dots (k,): points that nothing joins
    to others.  plaque (frames, m) [m]: of the mesh
    collider with m vertices, where there is one.  elements (N,): chemical symbols, of particles
    that are atoms.  looks: bodies by name, owner (N,): which of them each point belongs to, or -1.
    uv (s, 3, 2): texture coordinates of the corners of triangles, NaN where there are none.
    """

    name: str
    times: Array
    positions: Any
    velocities: Any
    rest: Array
    triangles: np.ndarray
    lines: np.ndarray
    dots: np.ndarray
    colliders: tuple[Any, ...] = ()
    bare: np.ndarray | None = None
    skin: Skin | None = None
    plaque: Any = None
    elements: np.ndarray | None = None
    looks: Mapping[str, Look] = field(default_factory=dict)
    owner: np.ndarray | None = None
    uv: np.ndarray | None = None

    @property
    def paint(self) -> np.ndarray:
        """(N, 3) uint8: every point in the colour of its body."""
        table = np.array([*(look.color for look in self.looks.values()), PLAIN])
        owner = np.full(len(self.rest), -1) if self.owner is None else self.owner
        return (255.0 * table[owner]).round().astype(np.uint8)

    def __len__(self) -> int:
        return len(self.times)

    @property
    def particles(self) -> int:
        """Of every frame; as many points as are drawn, where nothing is embedded."""
        return int(self.positions.shape[1])

    def shown(self, values: Array) -> Array:
        """Values (N, k) of the points, from those (particles, k) of the particles."""
        if self.skin is None:
            return np.ascontiguousarray(values)
        own = np.concatenate([values[self.bare], self.skin.values(values)])
        return own.astype(values.dtype, copy=False)

    def frame(self, i: int) -> Array:
        """Positions (N, 3) of frame i, in the precision they were recorded in."""
        return self.shown(self.positions[i])

    def velocity(self, i: int) -> Array | None:
        return None if self.velocities is None else self.shown(self.velocities[i])

    def frames(self, progress: Progress = unheard) -> Iterator[tuple[int, Array, Array | None]]:
        """(i, positions, velocities) as float32; InputError where a frame does not fit into it.

        progress(done, total) is called after every frame.
        """
        for i in range(len(self)):
            yield i, self._single(i, self.frame(i)), self._single(i, self.velocity(i))
            progress(i + 1, len(self))

    def _single(self, i: int, values: Any) -> Any:
        if values is None:
            return None
        if not np.all(np.abs(values) <= LARGEST):  # also false for NaN
            raise InputError(
                f"frame {i} (t = {self.times[i]:.4g} s) holds numbers that are not finite or too "
                "large: the motion exploded; export to npz, or simulate with a smaller step"
            )
        return values.astype(np.float32, copy=False)

    @cached_property
    def box(self) -> tuple[Array, Array]:
        """Lowest and highest coordinates (3,) over all frames, as far as they are finite."""
        low, high = np.full(3, np.inf), np.full(3, -np.inf)
        for i in range(len(self)):
            x = self.frame(i)
            x = x[np.all(np.isfinite(x), axis=1)]
            if len(x):
                low, high = np.minimum(low, x.min(axis=0)), np.maximum(high, x.max(axis=0))
        return (low, high) if np.all(np.isfinite(low)) else (np.zeros(3), np.ones(3))


def motion(recording: Any) -> Motion:
    """The motion in a recording, or in anything with its attributes (a run and a mesh)."""
    positions = recording.positions
    if len(positions.shape) != 3 or positions.shape[2] != 3:
        raise InputError(
            f"frames of shape {tuple(positions.shape[1:])} are not positions in space: export to "
            "npz, or plot the energies"
        )
    count = min(len(recording.times), len(positions))
    if count == 0:
        raise InputError("the recording holds no frame yet: resume it, or run it again")
    mesh = getattr(recording, "mesh", None)
    if mesh is not None and len(mesh.positions) != positions.shape[1]:
        raise InputError(
            f"the mesh has {len(mesh.positions)} vertices and the frames {positions.shape[1]}: "
            "they must be the same particles"
        )
    velocities = getattr(recording, "velocities", None)
    kept = velocities is not None and velocities.shape == positions.shape
    rest = np.asarray(positions[0] if mesh is None else mesh.positions, dtype=np.float64)
    triangles, lines = _seen(mesh)
    looks = {} if mesh is None else mesh.bodies
    known = Motion(
        name=str(getattr(recording, "name", "") or "recording"),
        times=np.asarray(recording.times)[:count],
        positions=positions,
        velocities=velocities if kept else None,
        rest=rest,
        triangles=triangles,
        lines=lines,
        dots=np.arange(len(rest)) if mesh is None else alone(mesh),
        colliders=tuple(getattr(recording, "colliders", ())),
        plaque=getattr(recording, "fields", {}).get("plaque"),
        elements=_atoms(mesh),
        looks=looks,
        owner=owners(looks, positions.shape[1]) if looks else None,
        uv=None if mesh is None or not len(mesh.triangles) else mesh.uv,
    )
    skin = getattr(mesh, "skin", None)
    return known if skin is None else _covered(known, skin)


def _covered(motion: Motion, skin: Skin) -> Motion:
    """With the embedded surface instead of the particles that it stands for."""
    bare = np.ones(motion.particles, dtype=bool)
    bare[skin.particles] = False
    seen = bare[motion.triangles].all(axis=1)
    left, owner = motion.triangles[seen], motion.owner
    bare[motion.lines] = bare[motion.dots] = True
    number = np.cumsum(bare) - 1
    triangles = np.concatenate([number[left], skin.triangles + int(bare.sum())])
    if owner is not None:
        owner = np.concatenate([owner[bare], owner[skin.corners[:, 0]]])
    own = None if motion.uv is None else motion.uv[seen]
    new = replace(
        motion, triangles=triangles, lines=number[motion.lines], dots=number[motion.dots],
        bare=np.flatnonzero(bare), skin=skin, owner=owner,
        uv=joined_uv([(own, len(left)), (skin.uv, len(skin.triangles))]),
    )  # fmt: skip
    return replace(new, rest=new.shown(motion.rest))


def _seen(mesh: Any) -> tuple[np.ndarray, np.ndarray]:
    """Triangles and lines of a mesh whose elements are of particles that are there."""
    if mesh is None:
        return NOTHING_SEEN
    for name in ELEMENTS:
        require_vertices(f"{name} of the mesh", getattr(mesh, name), len(mesh.positions), "mend it")
    return surface_and_lines(mesh)


def _atoms(mesh: Any) -> np.ndarray | None:
    """Symbols (N,), where every vertex is of a chemical element."""
    if mesh is None:
        return None
    symbols = np.full(len(mesh.positions), "", dtype="<U3")
    for name, rows in mesh.vertex_sets.items():
        if name.startswith(ELEMENT):
            symbols[rows] = name.removeprefix(ELEMENT)
    return symbols if len(symbols) and np.all(symbols != "") else None


def chains(lines: np.ndarray) -> list[np.ndarray]:
    """Lines (m, 2) as polylines, each an array of vertices: from one end or fork to the next.

    Every line belongs to exactly one of them; a closed ring begins and ends at the same vertex.
    """
    neighbours: dict[int, list[int]] = {}
    for a, b in lines.tolist():
        neighbours.setdefault(a, []).append(b)
        neighbours.setdefault(b, []).append(a)
    left = {key: set(others) for key, others in neighbours.items()}
    found = []
    ends = [v for v, others in neighbours.items() if len(others) != 2]
    for start in sorted(ends) + sorted(neighbours):  # then rings, which have no end
        while left[start]:
            path = [start]
            while left[path[-1]]:
                here = path[-1]
                there = min(left[here])
                left[here].discard(there)
                left[there].discard(here)
                path.append(there)
                if len(neighbours[there]) != 2:
                    break
            found.append(np.array(path))
    return found


def frame_rate(times: Sequence[float] | Array) -> float:
    """Frames per second, a whole number, as programs for films want it: the nearest one."""
    return float(max(1, round(1.0 / typical_interval(times))))


def typical_interval(times: Sequence[float] | Array) -> float:
    """Seconds between frames: the median, since the last interval may be shorter; 1 for one."""
    return float(np.median(np.diff(times))) if len(times) > 1 else 1.0


# ------------------------------------------------------------------ colliders


class Solid(NamedTuple):
    """A collider where it was given; where it is at time t: `frame(t).points(positions)`.

    positions (V, 3) [m], triangles (f, 3) facing out of the solid; flat: a plane, of which a
    square is shown; hollow: a room seen from inside.
    """

    shape: Any
    positions: Array
    triangles: np.ndarray
    flat: bool = False
    hollow: bool = False

    @property
    def moving(self) -> bool:
        return bool(self.shape.moving)

    def frame(self, t: float) -> Frame:
        return self.shape.frame(t)

    def at(self, t: float) -> Array:
        return self.frame(t).points(self.positions)


def solids(shapes: Iterable[Any], low: Array, high: Array) -> list[Solid]:
    """Colliders that can be drawn; planes as squares below what moves within the box low, high.

    A shape of the user's own is drawn when it has positions and triangles.
    """
    found = []
    for shape in shapes:
        if isinstance(shape, Plane):
            found.append(_square(shape, low, high))
        elif isinstance(shape, Sphere):
            positions, triangles = _revolved(*_arc(np.pi, UP))
            if shape.inside:
                triangles = triangles[:, ::-1]
            positions = shape.centre + shape.radius * positions
            found.append(Solid(shape, positions, triangles, hollow=shape.inside))
        elif isinstance(shape, Hemisphere):
            radii, heights = _arc(0.5 * np.pi, UP // 2)
            positions, triangles = _revolved(np.append(radii, 0.0), np.append(heights, 0.0))
            turned = positions @ _upright(shape.axis).T
            found.append(Solid(shape, shape.centre + shape.radius * turned, triangles))
        elif hasattr(shape, "positions") and hasattr(shape, "triangles"):
            positions = np.asarray(shape.positions, dtype=np.float64)
            found.append(Solid(shape, positions, np.asarray(shape.triangles)))
    return found


def _square(plane: Plane, low: Array, high: Array) -> Solid:
    centre, half = 0.5 * (low + high), max(float(np.linalg.norm(high - low)), 1e-9)
    home = plane.frame(0.0).home(centre)
    middle = home - (home - plane.point) @ plane.normal * plane.normal
    corners = np.array([[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]])
    positions = middle + half * corners @ _upright(plane.normal).T
    return Solid(plane, positions, np.array([[0, 1, 2], [0, 2, 3]]), flat=True)


def _upright(axis: Array) -> Array:
    """A rotation (3, 3) that turns z into the axis."""
    helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
    u = np.cross(helper, axis)
    u /= np.linalg.norm(u)
    return np.column_stack([u, np.cross(axis, u), axis])


def _arc(angle: float, count: int) -> tuple[Array, Array]:
    """Radii and heights of a unit circle from its pole down by an angle."""
    theta = np.linspace(0.0, angle, count + 1)
    return np.sin(theta), np.cos(theta)


def _revolved(radii: Array, heights: Array) -> tuple[Array, np.ndarray]:
    """A profile from pole to pole, where radii are taken as 0, turned about z: positions, triangles
    outwards."""
    turn = np.linspace(0.0, 2.0 * np.pi, AROUND, endpoint=False)
    circle = np.column_stack([np.cos(turn), np.sin(turn), np.zeros(AROUND)])
    rings = [r * circle + [0.0, 0.0, z] for r, z in zip(radii[1:-1], heights[1:-1], strict=True)]
    poles = np.array([[0.0, 0.0, heights[0]], [0.0, 0.0, heights[-1]]])
    here = np.arange(AROUND)
    there = np.roll(here, -1)
    first, last = 2, 2 + AROUND * (len(rings) - 1)
    faces = [np.column_stack([np.zeros(AROUND, dtype=int), first + here, first + there])]
    for k in range(len(rings) - 1):
        a, b = 2 + k * AROUND, 2 + (k + 1) * AROUND
        faces.append(np.column_stack([a + here, b + here, b + there]))
        faces.append(np.column_stack([a + here, b + there, a + there]))
    faces.append(np.column_stack([np.ones(AROUND, dtype=int), last + there, last + here]))
    return np.concatenate([poles, *rings]), np.concatenate(faces)
