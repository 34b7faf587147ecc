"""The HDF5 file of a recording: laid out once at its full size, then only known bytes change.

All frame times are known before a run, so every dataset gets its full length at once, contiguous
and in HDF5's earliest format, which has no checksums and no marks of being open.  The library lays
it out in memory and is not needed to write: frames are bytes at known places, and at the end of
each the counter /stiffly/frames says that they are there.  A run that is killed leaves a valid
file, and others can read it meanwhile.

    /VTKHDF           what ParaView reads: Points (frames * N, 3), PointData/velocity and fields of
                      as many numbers as there are particles, cells once, Steps (NSteps, Values =
                      times [s], where each frame begins); CellData/body, the number of the body
                      that a cell belongs to, whose name is that entry of FieldData/bodies
    /stiffly          frames (the counter, and its checksum), times of all frames to come [s], table
                      (frames, columns) of numbers, columns (their names), sums (frames, pieces)
                      see sums.py, fields (frames, m), or (frames * N,) where PointData has them
                      too, mesh, colliders, provenance (JSON);
                      mesh/skin, where a surface is embedded in tets: vertex i of it is the sum of
                      weights[i, k] times the position of particle corners[i, k]

vtkHDFReader (9.7) copies all of Values into memory for NSteps numbers, so Values may never be
longer than NSteps says.  There are two copies of Steps: the idle one is brought up to date, NSteps
and the length of Values in its header, and then one byte of the soft link VTKHDF/Steps turns to it.
The reader opens a file once for NSteps and a moment later once more for Values, about 50 us of
which nobody can see.  So ParaView is told of new frames rarely, and never while it has the file
open; one opening of a growing file in some 100,000 could still go wrong.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..collisions import Hemisphere, Plane, Sphere, TriangleMesh
from ..contracts import Array, Work
from ..errors import InputError, StiffError
from ..meshes import Look, Mesh, Skin
from ..meshes.look import SHINE, owners
from ..meshes.visible import alone, sheets, surface_and_lines
from .sums import (
    Image,
    NoRecording,
    Ranges,
    copy_bytes,
    open_regular,
    piece_sum,
    read_at,
    renamed,
    unchanged,
    write_at,
)

# 2 had no fields in PointData; 1 had no checksums: it is read, and not resumed
FORMAT, WITHOUT_SUMS = 3, 1
SPARE = 40  # columns for what steps say about themselves: their names are not known before
NAME = 256  # bytes of a column's name
OVERHEAD = 1 << 17  # bytes, about, of HDF5's own structures and the names of columns
# what HDF5 and NumPy say of a file that is not what it seems
DAMAGE = (ArithmeticError, AttributeError, LookupError, MemoryError)
DAMAGE = (*DAMAGE, OSError, RuntimeError, TypeError, ValueError, struct.error)
SIGNATURE = b"\x89HDF\r\n\x1a\n"
# frames that are there, and the sum of that number: aligned, so in one sector, and written as one
COUNTER = struct.Struct("<qq")
STEPS = b"/stiffly/steps-"  # and 0 or 1
MARKS = (0x6D61726B00C0FFEE, 0x6D61726B01C0FFEE)  # put into NSteps, to find where it lies
RANK_ONE = struct.pack("<BBBB4x", 1, 1, 1, 0)  # a dataspace in HDF5's earliest format
VERTEX, LINE, TRIANGLE, TET = 1, 3, 5, 10  # VTK's numbers
MESH, GROUPS = ("positions", "edges", "tets", "triangles"), ("edge_groups", "vertex_sets")
ELEMENTS = MESH[1:]
SKIN = ("corners", "weights", "triangles", "particles")  # of a surface embedded in tets
# A motion is a function of time, often the user's own: it is kept as where it was at each frame.
# Shapes that are no class of ours are left out: seen in a run, but not drawn from its file.
ARGUMENTS = {
    Plane: ("point", "normal"),
    Sphere: ("centre", "radius", "inside"),
    Hemisphere: ("centre", "radius", "axis"),
    TriangleMesh: ("positions", "triangles"),
}
KINDS = {kind.__name__: kind for kind in ARGUMENTS}
Cells = list[tuple[int, np.ndarray]]  # VTK's type, and rows (cells, corners) of that kind


@dataclass(frozen=True)
class Plan:
    """What a file has to hold: frames at times (F,) [s], of shape (N, 3), or (n,) for SecondOrder.

    energies: names of the parts; contents: further datasets of /stiffly, by path; fields: numbers
    that parts record of every frame, how many by name.
    """

    times: Array
    shape: tuple[int, ...]
    dtype: str
    velocities: bool
    energies: tuple[str, ...]
    mesh: Mesh | None
    contents: dict[str, Any]
    fields: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def columns(self) -> list[str]:
        """Names of the table's columns that are known before the run."""
        sums = ("added", "dissipated", "invented", "wall_seconds", "largest_step", "smallest_step")
        return [*sums, "steps", *Work._fields, *(f"energy {part}" for part in self.energies)]

    @property
    def bytes(self) -> int:
        """About the size of the file."""
        return len(self.times) * self.bytes_per_frame + self._bytes_once

    @property
    def bytes_per_frame(self) -> int:
        points = 3 * self.shape[0] * np.dtype(self.dtype).itemsize * (2 if self.velocities else 1)
        own = np.dtype(self.dtype).itemsize * sum(self.fields.values())
        return points + own + 8 * (len(self.columns) + SPARE + 8) + 4 * len(self.pieces)

    @property
    def pieces(self) -> list[str]:
        """What a frame is made of, each with a sum of its own."""
        velocity = ["velocity"] if self.velocities else []
        return ["points", *velocity, "row", *(f"field {name}" for name in self.fields)]

    @property
    def of_points(self) -> dict[str, str]:
        """Fields with a number for every particle, and what VTK calls them: names are no paths
        there, and velocities have one."""
        found: dict[str, str] = {}
        for name in (name for name, size in self.fields.items() if size == self.shape[0]):
            shown = name.replace("/", "-").strip(".") or "field"
            while shown in ("velocity", *found.values()):
                shown += "'"
            found[name] = shown
        return found

    def check_names(self) -> None:
        """InputError for names that a file cannot hold as they are."""
        for name in (*self.energies, *self.fields):
            try:
                size = len(f"energy {name}".encode())
            except UnicodeEncodeError:
                raise InputError(f"{name!r} is no text: give the part another name") from None
            if size > NAME or "\0" in name:
                raise InputError(
                    f"the name {name[:40]!r}... has {size} bytes, or a NUL among them: recordings "
                    f"keep {NAME - 7}; give the part a shorter one"
                )

    @property
    def bytes_of_checkpoints(self) -> int:
        """About: x, v, where the run began and what the method remembers, as much as x; the last
        one is still there while the next one is written."""
        return 2 * 4 * 8 * int(np.prod(self.shape))

    @property
    def _bytes_once(self) -> int:
        skin, held = getattr(self.mesh, "skin", None), 0
        for whole, names in ((self.mesh, MESH), (skin, SKIN)):
            if whole is not None:
                held += sum(getattr(whole, name).nbytes for name in names)
        held += sum(np.asarray(value).nbytes for value in self.contents.values())
        return OVERHEAD + 2 * held


class Places(NamedTuple):
    """Where the bytes are.  counts, lengths: of NSteps and of Values' length, in both copies;
    pieces: of what a frame is made of, place and bytes of one frame, by name."""

    pieces: Mapping[str, tuple[int, int]]
    sums: int
    columns: int
    frames: int
    counts: tuple[int, int]
    lengths: tuple[int, int]
    link: int


def create(path: Path, plan: Plan) -> None:
    """The file with all frames still to come; OSError where the disk does not take it."""
    import h5py

    options: Any = {"libver": "earliest", "alignment_threshold": 1, "alignment_interval": 16}
    image = Image()
    with h5py.File(image, "w", **options) as file:
        own, vtk = file.create_group("stiffly"), file.create_group("VTKHDF")
        own.attrs["format"] = FORMAT
        own.attrs["coordinates"] = len(plan.shape) == 1
        own.attrs.create("places", np.zeros(5, dtype=np.int64))
        add_type(vtk)
        _add_steps(own, vtk, plan)
        kinds, looks = _cells(plan), {} if plan.mesh is None else plan.mesh.bodies
        add_cells(vtk, plan.shape[0], kinds)
        add_bodies(vtk, kinds, list(looks), owners(looks, plan.shape[0]))
        for name, value in plan.contents.items():
            own[name] = value
        if plan.mesh is not None:
            _add_mesh(own.create_group("mesh"), plan.mesh)
        _add_frames(own, vtk, plan)
        file.flush()
        own.attrs.modify("places", _find(image, own, len(plan.times)))
        places = find(file)
    image.write_to(path, _changing(places, plan))


def _changing(places: Places, plan: Plan) -> Ranges:
    """Where bytes are written after the file was laid out: begin, end."""
    frames, known = len(plan.times), len(plan.columns)
    spans = [(begin, frames * size) for begin, size in places.pieces.values()]
    spans += [(places.sums, 4 * frames * len(places.pieces)), (places.frames, COUNTER.size)]
    spans += [(places.columns + known * NAME, SPARE * NAME), (places.link, 1)]
    spans += [(at, 8) for at in places.counts] + [(at, 16) for at in places.lengths]
    return [(begin, begin + size) for begin, size in spans]


def extend(path: Path, plan: Plan, frames: int, run: str) -> None:
    """The file with the first so many frames that it has and room for all of a longer plan: whole,
    or left as it was."""
    beside = path.with_name(f"{path.name}.part")
    create(beside, plan)
    with open_file(path) as file:
        old = find(file)
    with open_file(beside) as file:
        places = find(file)
    with open(path, "rb") as source, open(beside, "rb+") as target:
        into = source.fileno(), target.fileno()
        copies = [(old.columns, places.columns, (len(plan.columns) + SPARE) * NAME)]
        copies += [(old.sums, places.sums, 4 * frames * len(plan.pieces))]
        for (begin, size), (place, _) in zip(
            old.pieces.values(), places.pieces.values(), strict=True
        ):
            copies.append((begin, place, frames * size))
        for begin, place, size in copies:
            copy_bytes(into[0], begin, size, into[1], place)
        write_at(into[1], counter(frames, run), places.frames)
        os.fsync(into[1])
    renamed(beside, path)


def counter(frames: int, run: str) -> bytes:
    """So many frames are there."""
    return COUNTER.pack(frames, piece_sum(run, "frames", frames, b""))


def _add_steps(own: Any, vtk: Any, plan: Plan) -> None:
    """Both copies of Steps share what never changes."""
    from h5py import SoftLink

    for copy, mark in zip("01", MARKS, strict=True):
        steps = own.create_group(f"steps-{copy}")
        steps.attrs.create("NSteps", np.int64(mark))
        steps["Values"] = np.asarray(plan.times, dtype=np.float64)
    other = steps
    steps = own["steps-0"]
    data = [*(["velocity"] if plan.velocities else []), *plan.of_points.values()]
    add_offsets(steps, len(plan.times), plan.shape[0], data, plan.mesh and plan.mesh.bodies)
    for name in steps:
        if name != "Values":
            other[name] = steps[name]
    vtk["Steps"] = SoftLink((STEPS + b"0").decode())


def add_type(vtk: Any) -> None:
    from h5py import string_dtype

    vtk.attrs.create("Version", np.array([2, 0]))
    kind = b"UnstructuredGrid"
    vtk.attrs.create("Type", kind, dtype=string_dtype("ascii", len(kind)))


def add_offsets(steps: Any, count: int, points: int, data: list[str], bodies: Any) -> None:
    """Where each of so many frames begins; all have the same cells.  data: of the points, names;
    bodies: whether cells have them."""
    first, none = np.arange(count, dtype=np.int64) * points, np.zeros(count, dtype=np.int64)
    steps["PartOffsets"], steps["NumberOfParts"] = none, none + 1
    steps["PointOffsets"] = first
    steps["CellOffsets"], steps["ConnectivityIdOffsets"] = none[:, None], none[:, None]
    for name in data:
        steps.require_group("PointDataOffsets")[name] = first
    if bodies:
        steps["CellDataOffsets/body"] = none
        steps["FieldDataOffsets/bodies"] = none


def add_cells(vtk: Any, points: int, kinds: Cells) -> None:
    """kinds: VTK's cell type, and rows (cells, corners) of that kind."""
    corners = np.concatenate([np.full(len(rows), rows.shape[1]) for _, rows in kinds])
    vtk["NumberOfPoints"] = np.array([points])
    vtk["NumberOfCells"] = np.array([len(corners)])
    vtk["NumberOfConnectivityIds"] = np.array([corners.sum()])
    vtk["Types"] = np.concatenate([np.full(len(rows), k, dtype=np.uint8) for k, rows in kinds])
    vtk["Connectivity"] = np.concatenate([rows.ravel() for _, rows in kinds]).astype(np.int64)
    vtk["Offsets"] = np.concatenate([[0], np.cumsum(corners)]).astype(np.int64)


def add_bodies(vtk: Any, kinds: Cells, names: list[str], owner: np.ndarray) -> None:
    """To which of the named bodies every cell belongs, from its first corner; owner (points,)."""
    from h5py import string_dtype

    if names:
        of_cells = np.concatenate([owner[rows[:, 0]] for _, rows in kinds])
        vtk["CellData/body"] = of_cells.astype(np.int32)
        # one text, for readers of VTK 9.3 take the first of several; and none may say it is UTF-8
        told = ", ".join(f"{number} {name}" for number, name in enumerate(names))
        vtk.create_dataset("FieldData/bodies", data=[told.encode()], dtype=string_dtype("ascii"))


def _cells(plan: Plan) -> Cells:
    """Tets, triangles and lines outside of them, and particles that nothing holds; all particles
    where nothing is known of them."""
    mesh, points = plan.mesh, np.arange(plan.shape[0])
    kinds = [(VERTEX, points[:, None])]
    if mesh is not None:
        lines, dots = surface_and_lines(mesh)[1], alone(mesh)[:, None]
        kinds = [(TET, mesh.tets), (TRIANGLE, sheets(mesh)), (LINE, lines), (VERTEX, dots)]
    elif len(plan.shape) == 1 and len(points) > 1:  # the graph of the coordinates
        kinds = [(LINE, np.stack([points[:-1], points[1:]], axis=1))]
    return [(kind, rows) for kind, rows in kinds if len(rows)]


def _add_frames(own: Any, vtk: Any, plan: Plan) -> None:
    count, points = len(plan.times), plan.shape[0]
    known = [name.encode() for name in plan.columns]
    columns = np.zeros(len(known) + SPARE, dtype=f"S{NAME}")
    columns[: len(known)] = known
    own["frames"] = np.zeros(2, dtype=np.int64)
    own["times"] = np.asarray(plan.times, dtype=np.float64)
    own["columns"] = columns
    _reserve(own, "table", (count, len(columns)), "float64")
    _reserve(own, "sums", (count, len(plan.pieces)), "uint32")
    fields = vtk.create_group("PointData")
    _reserve(vtk, "Points", (count * points, 3), plan.dtype)
    if plan.velocities:
        _reserve(fields, "velocity", (count * points, 3), plan.dtype)
    for i, (name, size) in enumerate(plan.fields.items()):
        shown = plan.of_points.get(name)
        shape = (count, size) if shown is None else (count * size,)  # VTK's tuples are rows
        _reserve(own.require_group("fields"), str(i), shape, plan.dtype)
        own["fields"][str(i)].attrs["name"] = name
        if shown is not None:
            fields[shown] = own["fields"][str(i)]  # the same numbers under another name


def _reserve(group: Any, name: str, shape: tuple[int, ...], dtype: str) -> None:
    """A dataset that has its place in the file, but nothing written into it."""
    from h5py import h5d, h5p, h5s, h5t  # type: ignore[attr-defined]  # no stubs

    how = h5p.create(h5p.DATASET_CREATE)
    how.set_layout(h5d.CONTIGUOUS)
    how.set_alloc_time(h5d.ALLOC_TIME_EARLY)
    how.set_fill_time(h5d.FILL_TIME_NEVER)
    kind = h5t.py_create(np.dtype(dtype).newbyteorder("<"))
    h5d.create(group.id, name.encode(), kind, h5s.create_simple(shape), how)


def _add_mesh(group: Any, mesh: Mesh) -> None:
    for name in MESH:
        group[name] = getattr(mesh, name)
    for name in GROUPS:
        rows = group.create_group(name)
        for i, (key, value) in enumerate(getattr(mesh, name).items()):
            rows[str(i)] = value  # HDF5 would take left/right for a folder
            rows[str(i)].attrs["name"] = key
    for name in SKIN if mesh.skin is not None else ():
        group[f"skin/{name}"] = getattr(mesh.skin, name)
    for place, uv in (("uv", mesh.uv), ("skin/uv", getattr(mesh.skin, "uv", None))):
        if uv is not None:
            group[place] = uv
    for i, (name, look) in enumerate(mesh.bodies.items()):
        body = group.create_group(f"bodies/{i}")
        body["particles"], body.attrs["name"] = look.particles, name
        body.attrs["color"], body.attrs["texture"] = look.color, look.texture
        body.attrs["shine"] = look.shine


def named(group: Any) -> dict[str, Any]:
    """Datasets by the names that they carry, in the order in which they were written."""
    found = sorted(group.items(), key=lambda pair: (len(pair[0]), pair[0]))
    return {data.attrs.get("name", key): data for key, data in found}


def require_vertices(name: str, rows: Any, count: int, remedy: str) -> None:
    """Drawing programs follow such numbers without looking."""
    rows = np.asarray(rows)
    if rows.size and (rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= count):
        raise InputError(f"{name} name vertices that are not there: {remedy}")


def read_mesh(group: Any) -> Mesh:
    arrays: dict[str, Any] = {name: group[name][()] for name in MESH}
    for name in ELEMENTS:
        words, remedy = f"{name} of the recorded mesh", "the recording is damaged, run it again"
        require_vertices(words, arrays[name], len(arrays["positions"]), remedy)
    for name in GROUPS:
        arrays[name] = {key: rows[()] for key, rows in named(group[name]).items()}
    if "skin" in group:
        skin = {name: group["skin"][name][()] for name in (*SKIN, "uv") if name in group["skin"]}
        arrays["skin"] = Skin(**skin)
    if "uv" in group:
        arrays["uv"] = group["uv"][()]
    if "bodies" in group:
        bodies = named(group["bodies"])
        arrays["bodies"] = {name: _read_look(body) for name, body in bodies.items()}
    return Mesh(**arrays)


def _read_look(body: Any) -> Look:
    red, green, blue = map(float, body.attrs["color"])
    shine = float(body.attrs.get("shine", SHINE))  # older recordings do not say
    return Look(body["particles"][()], (red, green, blue), str(body.attrs["texture"]), shine)


# ------------------------------------------------------------------ places


def _find(image: Image, own: Any, count: int) -> np.ndarray:
    """Offsets of both NSteps, of both lengths of Values, and of the link's last letter."""
    from h5py import h5o  # type: ignore[attr-defined]  # no stubs

    between = list(_between_values(image, own))
    places = [_only(between, struct.pack("<q", mark)) for mark in MARKS]
    for copy in "01":
        begin = h5o.get_info(own[f"steps-{copy}"]["Values"].id).addr
        space = RANK_ONE + struct.pack("<QQ", count, count)  # length, and most it can have
        places.append(_only([(begin, image.at(begin, 256))], space) + len(RANK_ONE))
    places.append(_only(between, STEPS + b"0\0") + len(STEPS))
    return np.array(places, dtype=np.int64)


def _between_values(image: Image, own: Any) -> Iterator[tuple[int, bytearray]]:
    """(place, bytes) of what lies before, between and behind the values of datasets, which are
    0.2 GB of a head of hair: HDF5's own, of which names of many datasets may lie far behind."""
    values: list[tuple[int, int]] = []

    def note(_: str, found: Any) -> None:
        where = found.id.get_offset() if hasattr(found, "nbytes") else None
        if where is not None:
            values.append((where, where + found.nbytes))

    own.file.visititems(note)
    at = 0
    for begin, after in [*sorted(values), (image.size, image.size)]:
        if at < begin:
            yield at, image.at(at, begin - at)
        at = max(at, after)


def _only(between: list[tuple[int, bytearray]], wanted: bytes) -> int:
    found = [at + data.find(wanted) for at, data in between if wanted in data]
    if len(found) != 1 or sum(data.count(wanted) for _, data in between) != 1:
        raise RuntimeError("this version of HDF5 lays files out in a way that is not known here")
    return found[0]


def find(file: Any) -> Places:
    """Places in an open h5py file of ours."""
    own, vtk = file["stiffly"], file["VTKHDF"]
    points, velocity = vtk["Points"], vtk["PointData"].get("velocity")
    size = int(vtk["NumberOfPoints"][0]) * 3 * points.dtype.itemsize
    pieces = {"points": (points.id.get_offset(), size)}
    if velocity is not None:
        pieces["velocity"] = velocity.id.get_offset(), size
    fields = {f"field {name}": data for name, data in named(own.get("fields", {})).items()}
    for name, data in {"row": own["table"], **fields}.items():
        pieces[name] = data.id.get_offset(), data.nbytes // len(own["times"])
    a, b, c, d, link = map(int, own.attrs["places"])
    sums = own["sums"].id.get_offset() if "sums" in own else 0
    others = own["columns"].id.get_offset(), own["frames"].id.get_offset()
    return Places(pieces, sums, *others, (a, b), (c, d), link)


@contextmanager
def open_file(path: Path) -> Iterator[Any]:
    """An h5py file to read, also while another process writes it; InputError if not ours, or
    damaged: HDF5 has every kind of error for that, none of which leaves this."""
    import h5py

    try:
        handle = open_regular(path)
    except FileNotFoundError:
        raise NoRecording(
            f"{path.parent} holds no recording: name the folder that a run was written to"
        ) from None
    try:
        whole, begin = unchanged(handle), read_at(handle, len(SIGNATURE), 0)
    finally:
        os.close(handle)
    if whole is None and begin != SIGNATURE:
        raise NoRecording(f"{path} cannot be read: it is no recording; name the folder of a run")
    if whole is False:
        raise InputError(_damaged(path, "its header has changed"))
    try:
        with h5py.File(path, "r", locking=False) as file:
            if "stiffly" not in file or "VTKHDF" not in file:
                raise NoRecording(f"{path} was not written by stiffly: name the folder of a run")
            written: Any = file["stiffly"].attrs["format"]
            if written > FORMAT:
                raise InputError(f"{path} was written by a newer stiffly: update, then try again")
            if whole is None and written > WITHOUT_SUMS:
                raise InputError(_damaged(path, "its end is missing"))
            yield file
    except StiffError:
        raise
    except DAMAGE as problem:
        raise InputError(_damaged(path, " ".join(str(problem).split()))) from None


def _damaged(path: Path, cause: str) -> str:
    return f"the recording in {path.parent} is damaged ({cause}): take a copy, or run it again"


# ------------------------------------------------------------------ colliders


class Sampled:
    """A rigid motion known at times (F,) [s]: between two of them, that of the nearer one.

    rotations (F, 3, 3), origins (F, 3) [m].
    """

    def __init__(self, times: Array, rotations: Array, origins: Array) -> None:
        self._times, self._rotations, self._origins = times, rotations, origins

    def place(self, t: float, start: Array) -> tuple[Array, Array]:
        """Where points start (k, 3) are; velocities are not known, and none are needed to draw."""
        k = int(np.abs(self._times - t).argmin())
        return start @ self._rotations[k].T + self._origins[k], np.zeros(start.shape)


def describe_colliders(shapes: Sequence[Any], times: Array) -> dict[str, Any]:
    """Datasets by path: arrays and numbers of every shape, and its motion at times (F,).

    Plain numbers: reading a recording never runs code from it.
    """
    found: dict[str, Any] = {}
    known = [shape for shape in shapes if type(shape) in ARGUMENTS]
    for i, shape in enumerate(known):
        at = f"colliders/{i}"
        found[f"{at}/kind"] = np.bytes_(type(shape).__name__)
        for name in ARGUMENTS[type(shape)]:
            found[f"{at}/{name}"] = getattr(shape, name)
        if shape.moving:
            frames = [shape.frame(float(t)) for t in times]
            found[f"{at}/rotations"] = np.array([frame.rotation for frame in frames])
            found[f"{at}/origins"] = np.array([frame.origin for frame in frames])
    return found


def read_colliders(group: Any, times: Array) -> tuple[Any, ...]:
    """The shapes that `describe_colliders` has put into an h5py group."""
    shapes = []
    for i in range(len(group)):
        data = group[str(i)]
        kind = KINDS[data["kind"][()].decode()]
        arguments = {name: data[name][()] for name in ARGUMENTS[kind]}
        motion = None
        if "rotations" in data:
            motion = Sampled(times, data["rotations"][()], data["origins"][()])
        shapes.append(kind(**arguments, motion=motion))
    return tuple(shapes)
