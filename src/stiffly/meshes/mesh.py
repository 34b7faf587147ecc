"""The record that every shape comes back as, and what shapes share: checks, edges, tetrahedra."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import real_number
from ..contracts import Array
from ..errors import InputError

if TYPE_CHECKING:
    from .look import Look
    from .skin import Skin


MOST_PARTICLES = 20_000_000  # of one body: some 10 GB with its springs
SMALLEST = 1e-150  # of lengths: squares of smaller ones are lost
LARGEST = 1e100  # cubes of larger ones are lost
MOST_MB = 1000  # of a file that holds a body: the largest that shapes make, in binary
ELEMENT = "element "  # vertex sets of this name and a symbol, such as 'element C', are atoms


def _no_rows(columns: int) -> np.ndarray:
    return np.empty((0, columns), dtype=np.int64)


@dataclass(frozen=True, slots=True, repr=False)
class Mesh:
    """positions (N, 3) [m], edges (m, 2), tets (t, 4), surface triangles (s, 3) facing outwards.

    A tet (a, b, c, d) has positive volume: (b - a) . ((c - a) x (d - a)) > 0.
    edge_groups: rows of `edges` by kind, such as 'structural', 'shear', 'bending'.
    vertex_sets: rows of `positions` by place, such as 'bottom', 'border', 'top'; or by chemical
    element, 'element C': then they are drawn as atoms.
    skin: a finer surface that moves with the tets; it is what is drawn and exported of them.
    uv: (s, 3, 2), texture coordinates of the corners of the triangles; NaN where there are none.
    bodies: what it is made of, by name, where it is several bodies in one.
    """

    positions: Array
    edges: np.ndarray
    tets: np.ndarray = field(default_factory=lambda: _no_rows(4))
    triangles: np.ndarray = field(default_factory=lambda: _no_rows(3))
    edge_groups: Mapping[str, np.ndarray] = field(default_factory=dict)
    vertex_sets: Mapping[str, np.ndarray] = field(default_factory=dict)
    skin: Skin | None = None
    uv: Array | None = None
    bodies: Mapping[str, Look] = field(default_factory=dict)

    def __repr__(self) -> str:
        elements = [f"{len(getattr(self, kind))} {kind}" for kind in ("edges", "tets", "triangles")]
        counts = [f"{len(self.positions)} vertices", *elements]
        groups, sets = ", ".join(self.edge_groups), ", ".join(self.vertex_sets)
        names = [f"groups: {groups}"] if groups else []
        names += [f"sets: {sets}"] if sets else []
        names += [] if self.skin is None else [repr(self.skin)]
        return f"Mesh({'; '.join([', '.join(counts), *names])})"


def require_mesh(name: str, value: object) -> None:
    if not isinstance(value, Mesh):
        raise InputError(f"{name} must be a Mesh, not {type(value).__name__}: read_mesh gives one")


def require_several(shape: str, count: int, **values: object) -> None:
    """InputError names the first value that is not a list of so many."""
    for name, value in values.items():
        known = isinstance(value, (list, tuple)) or getattr(value, "ndim", 0)
        if not known or len(value) != count:  # type: ignore[arg-type]
            raise InputError(f"{shape} {name} must be a list of {count} numbers")


def require_positive(shape: str, **values: float) -> None:
    """InputError names the first value that is not a positive finite number."""
    for name, value in values.items():
        number = real_number(f"{shape} {name}", value)
        if not (np.isfinite(number) and number > 0.0):
            raise InputError(f"{shape} {name} = {value}: it must be positive")
        if number < SMALLEST:
            raise InputError(f"{shape} {name} = {value}: give {SMALLEST:g} or more")
        if number > LARGEST:
            raise InputError(f"{shape} {name} = {value}: give {LARGEST:g} or less")


def require_counts(shape: str, least: int, **counts: int) -> None:
    """InputError names the first count that is not a whole number >= least."""
    for name, count in counts.items():
        whole = isinstance(count, Integral) and not isinstance(count, (bool, np.bool_))
        if not whole or not least <= count <= MOST_PARTICLES:
            shown = count if not whole or count < least else f"{float(min(count, 10**300)):.3g}"
            raise InputError(f"{shape} {name} = {shown}: give a whole number from {least} on, and "
                             f"{MOST_PARTICLES:,} at most")  # fmt: skip


def require_room(shape: str, *counts: int) -> None:
    """InputError where the product of counts is more particles than a shape may have."""
    if prod(map(int, counts)) > MOST_PARTICLES:
        by = " x ".join(map(str, counts))
        raise InputError(f"{shape} {by}: give {MOST_PARTICLES:,} particles at most")


def require_small(path: Path, max_mb: float) -> None:
    """InputError where a file is larger than max_mb [1e6 bytes]: reading it takes time and memory
    in proportion."""
    require_positive(f"file {path.name}:", max_mb=max_mb)
    size = path.stat().st_size / 1e6
    if size > max_mb:
        raise InputError(
            f"file {path.name} has {size:,.3g} MB, more than max_mb = {max_mb:g}: make it smaller "
            "(decimate), or read it in Python with a larger max_mb"
        )


def grouped_edges(groups: Mapping[str, np.ndarray]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """All edges (m, 2), group after group, and the rows of each group; empty groups are left out.

    Inside a group edges are sorted with i < j.
    """
    edges, rows, start = [_no_rows(2)], {}, 0
    for name, pairs in groups.items():
        if len(pairs):
            edges.append(unique_rows(np.sort(pairs, axis=1)))
            rows[name] = np.arange(start, start + len(edges[-1]))
            start += len(edges[-1])
    return np.concatenate(edges), rows


def mesh_of_tets(
    positions: Array,
    tets: np.ndarray,
    vertex_sets: Mapping[str, np.ndarray] | None = None,
    skin: Skin | None = None,
) -> Mesh:
    """A mesh with the edges and the surface of its tets; InputError names an inverted one."""
    bad = np.flatnonzero(~(tet_volumes(positions, tets) > 0.0))
    if bad.size:
        raise InputError(f"tet {bad[0]} is flat or inverted: check the shape's dimensions")
    sets = vertex_sets or {}
    return Mesh(positions, tet_edges(tets), tets, tet_surface(tets), vertex_sets=sets, skin=skin)


def tet_volumes(positions: Array, tets: np.ndarray) -> Array:
    """Signed volumes (t,) [m^3]."""
    a, b, c, d = (positions[tets[:, k]] for k in range(4))
    return np.einsum("ij,ij->i", b - a, np.cross(c - a, d - a)) / 6.0


def tet_edges(tets: np.ndarray) -> np.ndarray:
    """Unique edges (m, 2), i < j, sorted."""
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    edges = np.concatenate([tets[:, pair] for pair in pairs])
    return unique_rows(np.sort(edges, axis=1))


def tet_faces(tets: np.ndarray) -> np.ndarray:
    """Faces (4 t, 3) of all tets, facing outwards; face i belongs to tet i % t."""
    return np.concatenate([tets[:, f] for f in ([0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3])])


def tet_surface(tets: np.ndarray) -> np.ndarray:
    """Faces (s, 3) that belong to one tet only, facing outwards."""
    faces = tet_faces(tets)
    _, first, count = np.unique(
        row_keys(np.sort(faces, axis=1)), return_index=True, return_counts=True
    )
    return faces[np.sort(first[count == 1])]


def normals(positions: Array, triangles: np.ndarray) -> Array:
    """Of triangles (s, 3), outwards, twice as long as their areas [m^2]."""
    a, b, c = (positions[triangles[:, k]] for k in range(3))
    return np.cross(b - a, c - a)


def used_only(points: Array, elements: np.ndarray) -> tuple[Array, np.ndarray]:
    """Only the vertices that elements name, renumbered."""
    kept, numbers = np.unique(elements, return_inverse=True)
    return points[kept], numbers.reshape(elements.shape)


def pairs(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Edges (m, 2) from each vertex of one array to that of the other, as NumPy broadcasts them."""
    return np.stack([a.ravel() for a in np.broadcast_arrays(first, second)], axis=1)


def chain(count: int) -> np.ndarray:
    """Edges (count - 1, 2) from each vertex to the next."""
    return pairs(np.arange(count - 1), np.arange(1, count))


def unique_rows(rows: np.ndarray) -> np.ndarray:
    """The different rows of indices, sorted."""
    _, first = np.unique(row_keys(rows), return_index=True)
    return rows[first]


def row_keys(rows: np.ndarray) -> np.ndarray:
    """One integer per row of indices, in the order of the rows: sorts far faster than rows do."""
    base = 1 + int(rows.max(initial=0))
    if base ** rows.shape[1] > np.iinfo(np.int64).max:
        return np.unique(rows, axis=0, return_inverse=True)[1].ravel()
    return rows.astype(np.int64) @ base ** np.arange(rows.shape[1] - 1, -1, -1, dtype=np.int64)
