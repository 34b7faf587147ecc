"""One [[body]]: its shape in its place, its masses, and the parts that make it elastic."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple
from unicodedata import category

import numpy as np
from scipy.spatial.transform import Rotation as Turned

from ... import meshes
from ...bodies import (
    Dashpots,
    Springs,
    Tetrahedra,
    cloth_springs,
    fibers,
    lumped_mass,
    shell_springs,
    tet_springs,
)
from ...contracts import Array
from ...errors import InputError, unknown_name
from ...meshes import Look, Mesh
from ...meshes.look import as_color
from ...meshes.mesh import normals
from ...meshes.mesh import pairs as grid_pairs
from ..schema import bodies as table_of
from ..schema.shapes import ROOTS, Particles, function_of
from ..schema.types import Region

FLAT = 1e-2  # thickness over length of a rigid body: thinner ones would bend between their braces
GRAVITY = 9.81  # m/s^2: for numbers that nobody has given
# what they begin with
PICTURES: Mapping[str, bytes | tuple[bytes, ...]] = {
    ".png": b"\x89PNG", ".jpg": b"\xff\xd8", ".jpeg": b"\xff\xd8", ".webp": b"RIFF",
    ".tif": (b"II", b"MM"), ".tiff": (b"II", b"MM"), ".exr": b"v/1\x01", ".hdr": b"#?",
    ".bmp": b"BM", ".tga": b"",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Built:
    """A body by itself: particles are numbered from 0.

    mesh: at rest, in its place; mass (n,) [kg]; stiffness (m,) [N/m] of the edges of fibers;
    lines (e, 2): what stands for it in contact where it has no triangles.
    """

    table: table_of.BodyTable
    mesh: Mesh
    mass: Array
    lines: np.ndarray
    stiffness: Array | None = None

    @property
    def count(self) -> int:
        return len(self.mesh.positions)

    def start(self) -> Array:
        """(n, 3) [m]: stretched along the shape's own axes from its origin."""
        x, R, origin = self.mesh.positions, _turn(self.table), np.array(self.table.position)
        if self.table.stretch == (1.0, 1.0, 1.0):
            return x.copy()
        return (x - origin) @ (R * np.array(self.table.stretch)) @ R.T + origin

    def velocities(self) -> Array:
        """(n, 3) [m/s] at the start."""
        x = self.start()
        arm = x - self.mass @ x / self.mass.sum()
        return np.array(self.table.velocity) + np.cross(np.array(self.table.spin), arm)


class Shelf(NamedTuple):
    """Where mesh files and textures are looked for, and meshes by name that are in no file."""

    folder: Path
    meshes: Mapping[str, Mesh] = {}

    def mesh(self, name: str, repair: bool) -> Mesh:
        if name in self.meshes:
            return self.meshes[name]
        return meshes.read_mesh(self.folder / name, repair=repair)


def built(table: Any, shelf: Shelf) -> Built:
    if isinstance(table, table_of.Fibers):
        return _built_fibers(table)
    if table.texture is not None:  # before a scan is filled, which takes long
        _require_picture(shelf.folder / table.texture)
        _require_coordinates(table, _own_mesh(table, shelf))
    mesh = placed_mesh(table, shelf)
    if table.texture is not None:
        _require_coordinates(table, mesh)
    return Built(table, mesh, _masses(table, mesh), mesh.edges)


def _require_picture(path: Path) -> None:
    if any(category(letter) in ("Cc", "Cs") for letter in str(path)):
        raise InputError(f"texture {str(path)!r} has letters that USD files cannot have: rename it")
    if not os.path.exists(path):  # names that are too long are none
        raise InputError(f"texture {path} does not exist: check the path")
    if not path.is_file() or path.suffix.lower() not in PICTURES:
        raise InputError(f"texture {path} is no picture: give a file that ends in .png or .jpg")
    try:
        with path.open("rb") as file:
            begin = file.read(4)
    except OSError as problem:
        raise InputError(f"texture {path} cannot be read ({problem.strerror}): check it") from None
    if not begin.startswith(PICTURES[path.suffix.lower()]):
        raise InputError(
            f"texture {path} does not begin as a {path.suffix} does: save the picture as one again"
        )


def _require_coordinates(table: table_of.BodyTable, mesh: Mesh) -> None:
    uv = mesh.uv if mesh.skin is None else mesh.skin.uv
    if uv is None or not np.isfinite(uv).any():
        raise InputError(
            f"{_name(table)} has no texture coordinates: export it as obj with them (vt lines), "
            "without decimate, or leave texture out"
        )


def look_of(body: Built, first: int, turn: int, folder: Path) -> Look:
    """The body as pictures have it; its particles are numbered from `first` on."""
    table = body.table
    texture = "" if table.texture is None else str((folder / table.texture).resolve())
    own = first + np.arange(body.count)
    return Look(own, as_color(table.color, turn), texture, table.shine)


def _built_fibers(table: table_of.Fibers) -> Built:
    """Fibers along the lines of the shape, where the table puts them."""
    shape: Any = table.shape
    if shape.kind in ROOTS:
        lines = function_of(shape.kind)(**shape.arguments()).centrelines(shape.segments)
    else:
        lines = _own_mesh(table, Shelf(Path())).positions[None]
    own = table.own(table_of.BodyTable)
    stretch = own.pop("fiber_stretch")
    body = fibers(put(table, lines.reshape(-1, 3)).reshape(lines.shape), stretch=stretch, **own)
    tips = (4 * (body.start[1:, None] - 1) + np.arange(4)).ravel()
    sets = {"root": body.root, "tip": tips}
    last = np.zeros(len(body.positions), dtype=bool)
    last[tips] = True
    first = np.flatnonzero(~last)
    along = np.stack([first, first + 4], axis=1)  # point p is particles 4p to 4p + 3
    mesh = Mesh(body.positions, body.edges, vertex_sets=sets)
    return Built(table, mesh, body.mass, along, body.stiffness)


def _masses(table: table_of.Weighed, mesh: Mesh) -> Array:
    count = len(mesh.positions)
    if table.mass is not None:
        return np.full(count, table.mass / count)
    if table.density is not None:
        if len(mesh.tets) == 0:
            raise InputError(
                "density is that of tets, and the shape has none: give mass or area_density, or "
                "fill it with tetrahedralise = 2000"
            )
        return lumped_mass(mesh.positions, mesh.tets, table.density)
    if len(mesh.triangles) == 0:
        raise InputError("area_density is that of triangles, and the shape has none: give mass")
    areas = 0.5 * np.linalg.norm(normals(mesh.positions, mesh.triangles), axis=1)
    shares = np.repeat(areas * float(table.area_density or 0.0) / 3.0, 3)
    return np.bincount(mesh.triangles.ravel(), shares, count)


# ------------------------------------------------------------------ elasticity


def elastic_parts(body: Built, view: Mesh, first: int) -> list[Any]:
    """view: the body's mesh with the numbers that its particles have among all bodies, from `first`
    on."""
    table: Any = body.table
    if table.elasticity == "fibers":
        parts: list[Any] = [Springs(view.edges, body.stiffness)]
    elif table.elasticity == "rigid":
        parts = [_braces(body, first, table.stiffness)]
    else:
        parts = list(ELASTIC[table.elasticity](view, **table.own(table_of.Weighed)))
    if table.dashpots is not None:
        parts.append(Dashpots(view.edges, table.dashpots))
    return parts


def _tetrahedra(view: Mesh, **material: Any) -> list[Tetrahedra]:
    _require(view.tets, "tets", "take a solid shape, or fill it with tetrahedralise = 2000")
    return [Tetrahedra(view.tets, **material)]


def _springs(view: Mesh, stiffness: Any, **options: Any) -> list[Springs]:
    """Along all edges, or along the groups that have a stiffness."""
    _require(view.edges, "edges", "take another shape, or elasticity = 'none'")
    edges = view.edges
    if isinstance(stiffness, dict):
        known = list(view.edge_groups)
        for name in stiffness:
            if name not in known:
                if not known:
                    raise InputError("stiffness: the shape has no groups of edges: give one number")
                raise InputError(f"stiffness: {unknown_name('group of edges', name, known)}")
        rows = [view.edge_groups[name] for name in stiffness]
        edges = view.edges[np.concatenate(rows)]
        stiffness = np.repeat(list(stiffness.values()), [len(group) for group in rows])
    return [Springs(edges, stiffness, **options)]


# all take the keys of their tables by name
ELASTIC = {
    "springs": _springs,
    "cloth": cloth_springs,
    "shell": shell_springs,
    "tet-springs": tet_springs,
    "tetrahedra": _tetrahedra,
    "none": lambda view: [],
}


# ------------------------------------------------------------------ rigid bodies


def anchors(body: Built) -> np.ndarray:
    """Four particles (4,) that lie far apart, and not in a plane: where they are, the rest is."""
    x = body.mesh.positions
    away = np.linalg.norm(x - x.mean(axis=0), axis=1)
    a = int(np.argmax(away))
    b = int(np.argmax(np.linalg.norm(x - x[a], axis=1)))
    c = int(np.argmax(np.linalg.norm(np.cross(x - x[a], x[b] - x[a]), axis=1)))
    normal = np.cross(x[b] - x[a], x[c] - x[a])
    heights = np.abs((x - x[a]) @ normal) / max(float(np.linalg.norm(normal)), 1e-300)
    d = int(np.argmax(heights))
    if not heights[d] > FLAT * np.linalg.norm(x[b] - x[a]):
        raise InputError(
            f"{_name(body.table)} is flat, and braces cannot hold it: give it a thickness, or "
            "another elasticity"
        )
    return np.array([a, b, c, d])


def brace_stiffness(body: Built) -> float:
    """[N/m], with which ten times its weight on one particle moves that by 1e-4 of its size."""
    size = float(np.linalg.norm(np.ptp(body.mesh.positions, axis=0)))
    return 10.0 * GRAVITY * float(body.mass.sum()) / (1e-4 * size)


def _braces(body: Built, first: int, stiffness: float | None) -> Springs:
    """From every particle to the four anchors, and among those."""
    four = anchors(body)
    others = np.setdiff1d(np.arange(body.count), four)
    pairs = np.concatenate(
        [four[np.stack(np.triu_indices(4, 1), axis=1)], grid_pairs(others[:, None], four)]
    )
    k = brace_stiffness(body) if stiffness is None else stiffness
    lengths = np.linalg.norm(np.subtract(*body.mesh.positions[pairs.T]), axis=1)
    return Springs(first + pairs, k, lengths, name="rigid")


def _require(elements: np.ndarray, name: str, remedy: str) -> None:
    if len(elements) == 0:
        raise InputError(f"the shape has no {name}: {remedy}")


# ------------------------------------------------------------------ choices of particles


def selected(body: Built, selectors: Sequence[Any]) -> np.ndarray:
    """Sorted numbers (k,) of the particles that any of the selectors names."""
    chosen = [_chosen(body, selector) for selector in selectors]
    return np.unique(np.concatenate(chosen))


def _chosen(body: Built, selector: Any) -> np.ndarray:
    if isinstance(selector, Region):
        return _inside(body.mesh.positions, selector)
    if isinstance(selector, int):
        if not -body.count <= selector < body.count:
            raise InputError(
                f"there is no particle {selector} of {body.table.label}: the last is "
                f"{body.count - 1}"
            )
        return np.array([selector % body.count])
    if selector == "all":
        return np.arange(body.count)
    if selector not in body.mesh.vertex_sets:
        raise unknown_name("set of particles", selector, [*body.mesh.vertex_sets, "all"])
    return np.asarray(body.mesh.vertex_sets[selector])


def _inside(x: Array, region: Region) -> np.ndarray:
    size = max(float(np.ptp(x, axis=0).max()), 1e-300)
    close = 1e-9 * size  # particles on the border belong to it, whatever rounding did
    if region.box is not None:
        low, high = np.array(region.box)
        inside = np.all((x >= low - close) & (x <= high + close), axis=1)
    else:
        assert region.plane is not None
        normal = np.array(region.plane.normal) / np.linalg.norm(region.plane.normal)
        inside = (x - np.array(region.plane.point)) @ normal >= -close
    if not inside.any():
        low, high = (np.array2string(corner, precision=4) for corner in (x.min(0), x.max(0)))
        name = "box" if region.box is not None else "plane"
        raise InputError(f"{name} selects no particle: the body reaches from {low} to {high}")
    return np.flatnonzero(inside)


# ------------------------------------------------------------------ shapes in their places


def placed_mesh(table: table_of.Placed, shelf: Shelf) -> Mesh:
    """The mesh of a body or a collider, where the table puts it."""
    mesh = _own_mesh(table, shelf)
    if table.decimate is not None:
        mesh = meshes.decimate(mesh, table.decimate, name=_name(table))
    target = getattr(table, "tetrahedralise", None)
    if target is not None:
        mesh = meshes.tetrahedralise(mesh, target, name=_name(table), close_holes=table.repair)
    return replace(mesh, positions=put(table, mesh.positions))


def _own_mesh(table: table_of.Placed, shelf: Shelf) -> Mesh:
    shape: Any = table.shape
    if table.mesh is not None:
        return shelf.mesh(table.mesh, table.repair)
    if isinstance(shape, Particles):
        edges = np.array(shape.edges, dtype=np.int64).reshape(-1, 2)
        return Mesh(np.array(shape.positions), edges)
    return function_of(shape.kind)(**shape.arguments())


def _name(table: table_of.Placed) -> str:
    return table.kind_of_shape or f"mesh file {table.mesh}"


def _turn(table: table_of.Placed) -> Array:
    """Rotation (3, 3)."""
    if table.rotation is None:
        return np.eye(3)
    axis = np.array(table.rotation.axis)
    return Turned.from_rotvec(
        axis / np.linalg.norm(axis) * table.rotation.degrees, degrees=True
    ).as_matrix()


def put(table: table_of.Placed, points: Array) -> Array:
    """Points (n, 3) of the shape, scaled, turned about its origin, shifted."""
    return table.scale * points @ _turn(table).T + np.array(table.position)
