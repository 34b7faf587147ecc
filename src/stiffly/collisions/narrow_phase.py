"""From candidates to contacts: near pairs, each once, on the side where they were before."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..contracts import Array
from ..kernels import cpu
from .broad_phase import BroadPhase
from .elements import Elements


@dataclass(frozen=True, slots=True, eq=False)
class Contacts:
    """Pairs of points that may touch, frozen for one step: gap g = n . sum_i w_i x_i [m].

    stencil (m, 4) particles; weights (m, 4), positive on one side, negative on the other, sum 0;
    normals (m, 3) from the negative to the positive side; shares (m,) of the stiffness, 0 to 1.
    """

    stencil: np.ndarray
    weights: Array
    normals: Array
    shares: Array

    def __len__(self) -> int:
        return len(self.stencil)

    def gaps(self, x: Array) -> Array:
        """(m,) of positions (N, 3), or the rate of the gaps of velocities."""
        out = np.empty(len(self))
        cpu.pair_gaps(x, self.stencil, self.weights, self.normals, out)
        return out

    def scatter(self, factors: Array, out: Array) -> None:
        """Adds sum_c factors_c w_ci n_c to out (N, 3)."""
        cpu.pair_scatter(self.stencil, self.weights, self.normals, factors, out)

    def rows(self, kept: Any) -> Contacts:
        return Contacts(*(a[kept] for a in _arrays(self)))


NONE = Contacts(np.empty((0, 4), dtype=np.uint32), np.empty((0, 4)), np.empty((0, 3)), np.empty(0))

INNER = 2  # kinds up to this one lie inside a surface: there a crossing has turned the normal


def near(broad: BroadPhase, x: Array, move: Array, limit: float) -> tuple[Contacts, np.ndarray]:
    """Contacts closer than limit [m] at x (N, 3) or after move (N, 3) [m], and their kinds (m,)
    (see kernels near_pairs); normals along the shortest way."""
    found = broad.candidates(x, 0.5 * limit, move)
    parts = broad.elements
    edges, opposite = parts.edges.corners, (parts.opposite_start, parts.opposite)
    ring = (parts.ring_start, parts.ring)
    faces = (parts.faces.corners, parts.sides, *opposite, *ring)
    triangles = cpu.near_triangles(x, move, limit, found.vertex_face, faces)
    strands = cpu.near_strands(x, move, limit, found.vertex_edge, (edges, *ring))
    crossings = cpu.near_edges(x, move, limit, found.edge_edge, (edges, *opposite))
    vertices, kinds = _once(*_joined(triangles, strands), parts.count)
    return _joined((*_arrays(vertices), kinds), crossings)


def _arrays(contacts: Contacts) -> tuple[np.ndarray, Array, Array, Array]:
    return contacts.stencil, contacts.weights, contacts.normals, contacts.shares


def _joined(*several: Any) -> tuple[Contacts, np.ndarray]:
    """Contacts and kinds from what the kernels return."""
    *arrays, kinds = (np.concatenate(fields) for fields in zip(*several, strict=True))
    return Contacts(*arrays), kinds


def _once(contacts: Contacts, kind: np.ndarray, count: int) -> tuple[Contacts, np.ndarray]:
    """Points on edges and vertices are found from every element there: the first one stays."""
    shared = np.flatnonzero(kind > 1)
    met = np.where(contacts.weights[shared] < 0.0, contacts.stencil[shared], count)
    low, high = np.sort(met, axis=1)[:, :2].T  # one or two particles
    own = contacts.stencil[shared, 0]
    tip = high == count  # two vertices: neither of them comes first
    first, second = np.where(tip & (low > own), (low, own), (own, low))
    order = np.lexsort((high, second, first))
    keys = np.stack([first, second, high])[:, order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
    kept = np.sort(np.concatenate([np.flatnonzero(kind == 1), shared[order[new]]]))
    return contacts.rows(kept), kind[kept]


def apart_at_rest(parts: Elements, contacts: Contacts, rest: Array, least: float) -> np.ndarray:
    """Mask (m,) of contacts whose points are farther apart than `least` [m] in the rest shape, or
    belong to different pieces: what lies together at rest cannot touch."""
    squares = np.empty(len(contacts))
    cpu.pair_squares(rest, contacts.stencil, contacts.weights, squares)
    one, other = contacts.stencil[:, 0], contacts.stencil[:, 3]  # always on different sides
    return (parts.piece[one] != parts.piece[other]) | (squares >= least * least)


def across(contacts: Contacts, count: int) -> tuple[np.ndarray, Any, np.ndarray]:
    """Pairs of particles on opposite sides of contacts: row (k,) of the contact, places (a, b) of
    the two in its stencil, and key (k,), the same for (i, j) and (j, i)."""
    w, i = contacts.weights, contacts.stencil.astype(np.int64)
    row, a, b = np.nonzero((w[:, :, None] > 0.0) & (w[:, None, :] < 0.0))
    one, two = i[row, a], i[row, b]
    return row, (a, b), np.minimum(one, two) * count + np.maximum(one, two)


class Sides:
    """Which side of each other particles are on, where something has gone through.

    Cloth has no inside, so the shortest way out of a crossing may be the wrong one.  `crossed` are
    contacts of the step before whose gap is negative now; a new contact between any of the same
    particles takes their side.
    """

    def __init__(self, crossed: Contacts, count: int) -> None:
        self._count = count
        _, key, normals = self._directed(crossed)
        self._keys, place = np.unique(key, return_inverse=True)
        self._directions = np.zeros((len(self._keys), 3))
        np.add.at(self._directions, place, normals)

    def _directed(self, contacts: Contacts) -> tuple[np.ndarray, np.ndarray, Array]:
        """Row and key of `across`, and normals (k, 3) that point to the lower number of the two."""
        row, (a, b), key = across(contacts, self._count)
        up = contacts.stencil[row, a] < contacts.stencil[row, b]
        return row, key, np.where(up[:, None], 1.0, -1.0) * contacts.normals[row]

    def turn(self, contacts: Contacts, kinds: np.ndarray) -> Contacts:
        """The contacts, normals turned round where they lie inside a surface that was crossed.

        Not on borders and at tips: what comes out beside them has come out.
        """
        if len(self._keys) == 0 or len(contacts) == 0:
            return contacts
        row, key, normals = self._directed(contacts)
        at = np.minimum(np.searchsorted(self._keys, key), len(self._keys) - 1)
        known = np.where(self._keys[at] == key, 1.0, 0.0)
        agree = known * np.einsum("ka,ka->k", self._directions[at], normals)
        wrong = np.bincount(row, agree, minlength=len(contacts)) < 0.0
        turned = np.where((wrong & (kinds <= INNER))[:, None], -1.0, 1.0) * contacts.normals
        return replace(contacts, normals=turned)
