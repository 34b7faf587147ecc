"""What is seen of a mesh: its surface, lines outside of it, and particles that are in neither."""

from __future__ import annotations

import numpy as np

from .mesh import Mesh, row_keys, tet_faces, tet_surface
from .topology import components

ALONG = "longitudinal"  # the group of edges that are drawn of fibers made of cuboids


def surface_and_lines(mesh: Mesh) -> tuple[np.ndarray, np.ndarray]:
    """Surface triangles, and the lines that stick out of it.

    Most edges of a cloth or a solid are springs inside it, which nobody wants to see; nor the
    diagonals of fibers, where the edges along them are named.
    """
    triangles = mesh.triangles if len(mesh.triangles) else tet_surface(mesh.tets)
    along, edges = mesh.edge_groups.get(ALONG), mesh.edges
    if along is not None and len(along) < len(edges):
        edges = edges[along]
    if not len(triangles):  # ropes and hair, which have millions of edges
        return triangles, edges
    covered = np.zeros(len(mesh.positions), dtype=bool)
    covered[triangles] = True
    covered[mesh.tets] = True
    hidden = covered | _inside(covered, mesh.edges)
    return triangles, edges[~hidden[edges].all(axis=1)]


def sheets(mesh: Mesh) -> np.ndarray:
    """Triangles (s, 3) that are no face of a tet."""
    if not (len(mesh.tets) and len(mesh.triangles)):
        return mesh.triangles
    rows = np.concatenate([mesh.triangles, tet_faces(mesh.tets)])
    keys, count = row_keys(np.sort(rows, axis=1)), len(mesh.triangles)
    return mesh.triangles[~np.isin(keys[:count], keys[count:])]


def alone(mesh: Mesh) -> np.ndarray:
    """Particles that no edge, triangle or tet names."""
    held = np.zeros(len(mesh.positions), dtype=bool)
    for rows in (mesh.edges, mesh.triangles, mesh.tets):
        held[rows] = True
    return np.flatnonzero(~held)


def _inside(covered: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Mask (N,): particles inside a surface, where springs fill it without tets.

    A connected piece of particles without triangles is inside if it has more edges to the surface
    than particles; a rope tied to a cloth has fewer.
    """
    loose = ~covered[edges].any(axis=1)
    piece = components(len(covered), edges[loose])
    crossing = edges[covered[edges].sum(axis=1) == 1]
    inner = crossing[~covered[crossing]]
    ties = np.bincount(piece[inner], minlength=piece.max() + 1)
    return ~covered & (ties > np.bincount(piece))[piece]
