"""Springs between particles."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..contracts import Array
from ..errors import InputError
from ..kernels import cpu
from .checks import as_numbers, per_element
from .part import Particles
from .pattern import BlockPattern


class Springs:
    """E = sum k/2 (|x_j - x_i| - l)^2.

    edges (m, 2): particle indices; stiffness k [N/m] and rest length l [m]: one number or (m,).
    Without `rest`, lengths are those of the rest positions (N, 3), given here or to the System.
    A spring with l = 0 is linear.
    """

    name = "elastic"

    def __init__(
        self, edges: Any, stiffness: Any, rest: Any = None, *, rest_positions: Any = None
    ) -> None:
        self.edges = _as_edges(edges)
        m = len(self.edges)
        self.stiffness = per_element("stiffness", stiffness, m)
        self._require(self.stiffness >= 0.0, "stiffness is negative", "give k >= 0 in N/m")
        self.rest = None if rest is None else self._checked_rest(per_element("rest", rest, m))
        if rest is None and rest_positions is not None:
            self.rest = self._lengths(as_numbers("rest_positions", rest_positions))

    def couples(self, particles: Particles) -> np.ndarray:
        inside = (self.edges < particles.count).all(axis=1)
        self._require(
            inside,
            f"there are only {particles.count} particles",
            f"number them 0 to {particles.count - 1}",
        )
        return self.edges

    def prepare(self, particles: Particles, pattern: BlockPattern) -> PreparedSprings:
        rest = self.rest
        if rest is None:
            if particles.rest is None:
                raise InputError(
                    "springs have no rest lengths: give Springs(..., rest=l), or System(..., "
                    "rest=X) with the rest positions"
                )
            rest = self._lengths(particles.rest)
        return PreparedSprings(self.edges, self.stiffness, rest, pattern)

    def _lengths(self, positions: Array) -> Array:
        if positions.ndim != 2 or positions.shape[1] != 3:
            raise InputError(f"rest_positions has shape {positions.shape}, but (N, 3) is needed")
        count = len(positions)
        self._require(
            (self.edges < count).all(axis=1),
            f"rest_positions has only {count} particles",
            "give a rest position for each",
        )
        d = positions[self.edges[:, 1]] - positions[self.edges[:, 0]]
        lengths = np.linalg.norm(d, axis=1)
        self._require(
            lengths > 0.0, "it has zero length at rest", "move its ends apart or give rest="
        )
        return lengths

    def _checked_rest(self, rest: Array) -> Array:
        self._require(rest >= 0.0, "rest length is negative", "give l >= 0 in metres")
        return rest

    def _require(self, good: Any, cause: str, remedy: str) -> None:
        """InputError that names the first spring that is not good."""
        bad = np.flatnonzero(~good)
        if bad.size:
            i, j = self.edges[bad[0]]
            raise InputError(f"spring {bad[0]} ({i}-{j}): {cause}; {remedy}")


class PreparedSprings:
    """Half-springs sorted by particle, each with the slot of its coupling block."""

    bounded = True

    # Why `pressed` bounds the spectrum. A spring's tangent acts on w = u_i - u_j as
    # k n n^T + k (1 - l/L) (I - n n^T), so a stretched one is positive semidefinite and a
    # compressed one, with p = k (l/L - 1) > 0, obeys
    #     w^T K w >= -p |w|^2 >= -2 p (|u_i|^2 + |u_j|^2),
    # or >= -p |u_i|^2 when j is fixed (u_j = 0). Summed over springs: u^T K u >= -2 sum p_i |u_i|^2
    # with p_i the sum of p over i's springs, halves for fixed ends.

    def __init__(
        self, edges: np.ndarray, stiffness: Array, rest: Array, pattern: BlockPattern
    ) -> None:
        self.linear = not np.any(rest)
        self._edges = edges.astype(np.uint32)
        self._stiffness, self._rest = stiffness, rest
        owner = np.concatenate([edges[:, 0], edges[:, 1]])
        neighbour = np.concatenate([edges[:, 1], edges[:, 0]])
        order = np.lexsort((neighbour, owner))
        spring = order % max(len(edges), 1)
        self._start = np.searchsorted(owner[order], np.arange(pattern.count + 1)).astype(np.uint32)
        self._half = (
            self._start,
            neighbour[order].astype(np.uint32),
            stiffness[spring],
            rest[spring],
        )
        self._slots = (pattern.diagonal, pattern.slots(owner[order], neighbour[order]))

    def energy(self, x: Array) -> float:
        return cpu.spring_energy(x, self._edges, self._stiffness, self._rest)

    def add_gradient(self, x: Array, out: Array) -> None:
        cpu.spring_gradient(x, *self._half, out)

    def add_blocks(self, x: Array, blocks: Array, pressed: Array) -> None:
        cpu.spring_blocks(x, *self._half, *self._slots, blocks, pressed)


def _as_edges(edges: Any) -> np.ndarray:
    array = np.asarray(edges)
    if array.ndim != 2 or array.shape[1] != 2:
        raise InputError(f"edges has shape {array.shape}, but (m, 2) is needed")
    if not np.issubdtype(array.dtype, np.integer):
        raise InputError("edges must be integers: they are particle indices")
    array = array.astype(np.int64)
    for bad, cause in (
        (np.flatnonzero((array < 0).any(axis=1)), "a particle index is negative"),
        (np.flatnonzero(array[:, 0] == array[:, 1]), "it joins a particle to itself"),
        (_repeated(array), "it repeats an earlier spring: add the stiffnesses instead"),
    ):
        if bad.size:
            i, j = array[bad[0]]
            raise InputError(f"spring {bad[0]} ({i}-{j}): {cause}")
    return array


def _repeated(edges: np.ndarray) -> np.ndarray:
    """Indices of the springs that join two particles already joined, in either direction."""
    low, high = np.minimum(*edges.T), np.maximum(*edges.T)
    key = low * (high.max(initial=0) + 1) + high
    order = np.argsort(key, kind="stable")
    return np.sort(order[1:][key[order[1:]] == key[order[:-1]]])
