"""Numbers of every particle that colours and exports show: strain, stress, force of contact."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..contracts import Array
from ..errors import InputError

Values = Callable[[int], Array]  # (particles,) at a frame


def contact_force(recording: Any) -> Values:
    """|f| (N,) [N] of contact, as it was recorded."""
    forces = getattr(recording, "fields", {}).get("contact-force")
    if forces is None:
        raise InputError("contact-force: nothing was touched in this run: take strain")
    return lambda i: np.asarray(forces[i], dtype=np.float64)


def strain(recording: Any) -> Values:
    """Mean relative elongation (N,) of the edges at each vertex, against the rest shape."""
    mesh, positions = getattr(recording, "mesh", None), recording.positions
    if mesh is None or not len(mesh.edges):
        raise InputError('strain needs the edges of a mesh: take color="speed"')
    of = elongation(mesh)
    return lambda i: of(np.asarray(positions[i], dtype=np.float64))


def elongation(mesh: Any) -> Callable[[Array], Array]:
    """Mean relative elongation (N,) of the edges at each vertex, from positions (N, 3)."""
    rest = np.linalg.norm(_along(mesh.positions, mesh.edges), axis=1)
    edges, rest = mesh.edges[rest > 0.0], rest[rest > 0.0]
    ends = edges.ravel()

    def mean(x: Array) -> Array:  # there may be particles behind those of the mesh
        twice = np.repeat(np.linalg.norm(_along(x, edges), axis=1) / rest - 1.0, 2)
        touching = np.maximum(np.bincount(ends, minlength=len(x)), 1)
        return np.bincount(ends, weights=twice, minlength=len(x)) / touching

    return mean


def stress(recording: Any, given: Any) -> tuple[Callable[..., Array], str]:
    """What the particles bear (N,), or lines that are springs, `values(i, lines)`; the unit.
    given: the System that moved, or a scene that has or makes one."""
    if given is None:
        raise InputError(
            "stress needs what moved: give its System or scene, system=, or take strain"
        )
    made = given.build() if hasattr(given, "build") else given  # a scene in the making
    system = getattr(made, "system", made)
    if not hasattr(system, "stress"):
        raise InputError("stress needs a System of springs or tets: take strain")

    def values(i: int, lines: np.ndarray | None = None) -> Array:
        return system.stress(np.asarray(recording.positions[i], dtype=np.float64), lines)[0]

    unit = system.stress(np.asarray(recording.positions[0], dtype=np.float64))[1]
    return values, unit


def field(recording: Any, name: str, system: Any = None) -> Values:
    """One of FIELDS of words.py, of every particle."""
    if name == "stress":
        return stress(recording, system)[0]
    return {"strain": strain, "contact-force": contact_force}[name](recording)


def _along(x: Array, edges: np.ndarray) -> Array:
    return x[edges[:, 1]] - x[edges[:, 0]]
