"""Mesh files, read and written by meshio.

But for Wavefront's: meshio 5.3 drops the lines of obj files, misreads relative (negative) numbers,
and refuses files whose texture coordinates or normals are not one per vertex.
"""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError
from ..paths import real_path
from .mesh import MOST_MB, Mesh, require_mesh, require_small, tet_edges, tet_surface, unique_rows
from .topology import triangle_edges
from .validate import loose, repaired, surface_only, validate

SURFACES_ONLY = {".obj", ".off", ".ply", ".stl"}  # formats that hold triangles and nothing else
WRITERS = {".msh": "gmsh22"}  # meshio would write ANSYS; newer gmsh formats want one cell type
IGNORED = {"vertex"}
FACES = {3: "triangle", 4: "quad"}
NOWHERE = [float("nan"), float("nan")]  # of texture coordinates that are missing
LEAST = {"f": 3, "l": 2}
EXAMPLE = {
    "v": "a vertex has three coordinates, as in v 0.5 0 1.2",
    "f": "a face lists three vertex numbers or more, as in f 1 2 3",
    "l": "a line lists two vertex numbers or more, as in l 1 2",
}


def read_mesh(path: str | PathLike[str], *, repair: bool = False, max_mb: float = MOST_MB) -> Mesh:
    """A mesh from a file in a format that meshio reads: obj, ply, stl, off, vtk, msh, ...

    Lines become edges (also the l of obj files); quads are cut in two along the diagonal from
    their first corner. Edges are those of all elements, without repeats. Where there are tets, the
    triangles are their surface and any triangle of the file that is not a face of a tet.
    The mesh is validated (see `validate`); `repair` mends what it can without guessing (see
    `repaired`) and says so in a StiffWarning.  A file larger than max_mb [1e6 bytes] is refused.
    """
    path = real_path("mesh file", path)
    name = f"mesh file {path.name}"
    found = _load(path, name, max_mb)
    cells = _cells(found.cells, name)
    positions = _positions(found.points, name)
    lines, triangles, tets = (cells[kind] for kind in ("line", "triangle", "tetra"))
    raw = mesh = Mesh(positions, lines, tets, triangles)
    if repair:
        mesh = repaired(raw, name=name)
    else:
        validate(raw, name=name)
    uv = getattr(found, "uv", None)
    return _completed(mesh if uv is None or not _same_faces(raw, mesh) else replace(mesh, uv=uv))


def _same_faces(raw: Mesh, mesh: Mesh) -> bool:
    """Texture coordinates still belong to the triangles."""
    before, after = raw.positions[raw.triangles], mesh.positions[mesh.triangles]
    return len(raw.tets) == 0 and np.array_equal(before, after)


def write_mesh(path: str | PathLike[str], mesh: Mesh) -> None:
    """Write a mesh in the format that the file's ending names; groups and sets are not kept.

    obj, off, ply and stl hold the triangles and their vertices only.
    """
    import meshio

    path = real_path("mesh file", path)
    _require_known(path, f"mesh file {path.name}")
    require_mesh("mesh", mesh)
    cells: list[Any] = [
        ("line", mesh.edges),
        ("triangle", mesh.triangles),
        ("tetra", mesh.tets),
    ]
    if path.suffix.lower() in SURFACES_ONLY:
        if len(mesh.triangles) == 0:
            raise InputError(
                f"mesh file {path.name}: {path.suffix} holds triangles, and the mesh has none; "
                "use .vtk or .msh"
            )
        mesh = surface_only(mesh)
        cells = [("triangle", mesh.triangles)]
    cells = [(kind, rows) for kind, rows in cells if len(rows)]
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            meshio.Mesh(mesh.positions, cells).write(path, WRITERS.get(path.suffix.lower()))
    except (Exception, SystemExit) as error:  # what meshio raises depends on the format
        raise InputError(f"mesh file {path} cannot be written: {_one_line(error)}") from None


def _load(path: Path, name: str, max_mb: Any) -> Any:
    import meshio

    if path.is_dir():
        raise InputError(f"{name} is a folder: give a file in it")
    if not path.exists():
        raise InputError(f"mesh file {path} does not exist: check the path")
    _require_known(path, name)
    if path.stat().st_size == 0:
        raise InputError(f"{name} is empty")
    require_small(path, max_mb)
    if path.suffix.lower() == ".obj":
        return read_obj(path, name)
    if path.suffix.lower() == ".stl":
        _require_stl(path, name)
    printed = io.StringIO()
    try:  # meshio prints its reasons and ends the process where it cannot make sense of a file
        with redirect_stdout(printed), redirect_stderr(io.StringIO()), np.errstate(all="ignore"):
            return meshio.read(path)
    except (Exception, SystemExit):  # what an exception says is about meshio, not about the file
        reason = _one_line(printed.getvalue())
        raise InputError(
            f"{name} is not a readable {path.suffix} mesh{f' ({reason})' if reason else ''}: it is "
            "damaged, cut short, or of another format than its ending says; export it again"
        ) from None


def _require_stl(path: Path, name: str) -> None:
    """meshio takes for text what is not binary of the right size, and finds nothing in it."""
    with path.open("rb") as file:
        head = file.read(1024)
    problem = f"{name} is not a readable .stl mesh"
    if b"\0" not in head:
        if b"facet" not in head.lower():
            raise InputError(
                f"{problem}: it is text without a facet; give it the ending of its own format, or "
                "export it again"
            )
        return
    size, count = path.stat().st_size, int.from_bytes(head[80:84], "little")
    if size != 84 + 50 * count:
        raise InputError(
            f"{problem}: its {count} triangles take {84 + 50 * count} bytes, and it has {size}; it "
            "is cut short, damaged or of another format: copy or export it again"
        )


def _require_known(path: Path, name: str) -> None:
    import meshio

    known = sorted(meshio.extension_to_filetypes)
    suffix = "".join(path.suffixes[-2:]).lower()
    if path.suffix.lower() not in known and suffix not in known:
        ending = path.suffix or "no ending"
        raise InputError(f"{name} has {ending}: known mesh formats are {' '.join(known)}")


def _cells(blocks: list[Any], name: str) -> dict[str, np.ndarray]:
    """Lines, triangles and tets, each (n, 2..4); everything else is refused by name."""
    columns = {"line": 2, "triangle": 3, "tetra": 4}
    found: dict[str, list[np.ndarray]] = {kind: [] for kind in columns}
    for block in blocks:
        rows = [np.asarray(row).ravel() for row in block.data]
        if block.type in IGNORED or not rows:
            continue
        if block.type in columns:
            found[block.type].append(np.array(rows))
        elif all(len(row) == 3 for row in rows) and block.type == "polygon":
            found["triangle"].append(np.array(rows))
        elif all(len(row) == 4 for row in rows) and block.type in ("quad", "polygon"):
            quads = np.array(rows)
            found["triangle"].append(quads[:, [0, 1, 2, 0, 2, 3]].reshape(-1, 3))
        else:
            raise _refusal(block.type, rows, name)
    return {
        kind: np.concatenate(found[kind]).astype(np.int64)
        if found[kind]
        else np.empty((0, count), dtype=np.int64)
        for kind, count in columns.items()
    }


def _refusal(kind: str, rows: list[np.ndarray], name: str) -> InputError:
    odd = [row for row in rows if kind != "polygon" or len(row) > 4]
    first = "-".join(map(str, odd[0]))
    if kind == "polygon":
        what = f"{len(odd)} polygons with {len(odd[0])} corners"
        return InputError(
            f"{name} holds {what} (first: {first}, counted from 0): triangulate it first"
        )
    return InputError(
        f"{name} holds {len(odd)} elements of type {kind} (first: {first}, counted from 0): only "
        "lines, triangles, quads and four-cornered tets are read; split them first"
    )


def _positions(points: Any, name: str) -> np.ndarray:
    """(N, 3) float64: planar meshes get z = 0, what follows x y z (colours) is left out."""
    array = np.asarray(points, dtype=np.float64)
    if array.size == 0:
        raise InputError(
            f"{name} has no vertices: it is empty, cut short, or of another format than its "
            "ending says; export it again"
        )
    if array.ndim != 2 or array.shape[1] < 2:
        raise InputError(f"{name}: positions have shape {array.shape}, (N, 3) is needed")
    if array.shape[1] == 2:
        array = np.pad(array, ((0, 0), (0, 1)))
    return np.ascontiguousarray(array[:, :3])


def _completed(raw: Mesh) -> Mesh:
    """Edges of all elements, and the surface of the tets beside the triangles given."""
    triangles = raw.triangles
    if len(raw.tets):
        triangles = np.concatenate([tet_surface(raw.tets), triangles[loose(raw)]])
    edges = np.concatenate([raw.edges, triangle_edges(triangles), tet_edges(raw.tets)])
    edges = unique_rows(np.sort(edges, axis=1))
    return Mesh(raw.positions, edges, raw.tets, triangles, uv=raw.uv)


def _one_line(error: object) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:200] if lines else type(error).__name__ if not isinstance(error, str) else ""


# ------------------------------------------------------------------ Wavefront obj


class Block(NamedTuple):
    """Elements of one type, counted from 0, as meshio gives them."""

    type: str
    data: list[list[int]]


class Geometry(NamedTuple):
    """points (N, 3) and elements in the order of the file; uv (s, 3, 2) of the corners of its
    faces, cut into triangles: NaN where a face has none, None where no face has."""

    points: np.ndarray
    cells: list[Block]
    uv: np.ndarray | None = None


def read_obj(path: Path, name: str) -> Geometry:
    """What v, vt, f and l say; all else is passed over. InputError names the line that is wrong.

    Numbers count from 1; negative ones count back from the vertex before the line (-1 is the last).
    """
    points: list[list[float]] = []
    flat: list[list[float]] = []  # texture coordinates
    faces: list[list[list[float]]] = []  # those of the corners of every triangle
    cells: list[Block] = []
    largest, culprit = -1, ""
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            words = line.split()
            if words and words[0] == "vt":
                flat.append(_texture(words))
            if not words or words[0] not in EXAMPLE:
                continue
            where = f"{name}, line {number} ({' '.join(words)[:60]})"
            if words[0] == "v":
                points.append(_coordinates(words, where))
                continue
            corners = _corners(words, len(points), where)
            if max(corners) > largest:
                largest, culprit = max(corners), where
            _append(cells, words[0], corners)
            if words[0] == "f":
                faces += _cut(_textures(words, flat))
    if largest >= len(points) > 0:
        raise InputError(
            f"{culprit}: there is no vertex {largest + 1}, the file has {len(points)}: "
            "correct the number, or add the vertex"
        )
    uv = np.array(faces, dtype=np.float64).reshape(-1, 3, 2) if flat else None
    return Geometry(np.array(points, dtype=np.float64).reshape(-1, 3), cells, uv)


def _texture(words: list[str]) -> list[float]:
    """u and v; what is no number is as good as missing."""
    try:
        return [float(word) for word in [*words[1:3], "0"][:2]]
    except ValueError:
        return NOWHERE


def _textures(words: list[str], flat: list[list[float]]) -> list[list[float]]:
    """Texture coordinates of the corners of a face, NaN where one is not given."""
    found = []
    for word in words[1:]:
        number = [*word.split("/"), ""][1]
        k = int(number) if number.lstrip("-").isdecimal() else 0
        inside = 0 < k <= len(flat) or 0 < -k <= len(flat)
        found.append(flat[k - 1 if k > 0 else k] if inside else NOWHERE)
    return found


def _cut(corners: list[list[float]]) -> list[list[list[float]]]:
    """As quads are cut in two."""
    a, b, c, *more = corners
    return [[a, b, c], *[[a, c, d] for d in more]]


def _coordinates(words: list[str], where: str) -> list[float]:
    """x y z; what follows (a weight, a colour) is left out."""
    try:
        found = [float(word) for word in words[1:4]]
    except ValueError:
        found = []
    if len(found) < 3:
        raise InputError(f"{where}: {EXAMPLE['v']}")
    return found


def _corners(words: list[str], before: int, where: str) -> list[int]:
    """Vertices counted from 0; a corner may name a texture and a normal behind slashes."""
    try:
        numbers = [int(word.split("/")[0]) for word in words[1:]]
    except ValueError:
        numbers = []
    if len(numbers) < LEAST[words[0]]:
        raise InputError(f"{where}: {EXAMPLE[words[0]]}")
    for k in numbers:
        if k == 0:
            raise InputError(f"{where}: there is no vertex 0, obj files count from 1: add 1 to all")
        if k < -before:
            raise InputError(
                f"{where}: {k} counts back further than the {before} vertices above this line: "
                "correct it, or write numbers from 1 on"
            )
    if words[0] == "f" and len(numbers) > 4:
        raise InputError(f"{where}: a polygon with {len(numbers)} corners: triangulate it first")
    return [k - 1 if k > 0 else before + k for k in numbers]


def _append(cells: list[Block], letter: str, corners: list[int]) -> None:
    """Into the last block where it has the same type, so that elements keep their order."""
    kind = FACES[len(corners)] if letter == "f" else "line"
    if not cells or cells[-1].type != kind:
        cells.append(Block(kind, []))
    if letter == "f":
        cells[-1].data.append(corners)
    else:
        cells[-1].data.extend([list(pair) for pair in pairwise(corners)])
