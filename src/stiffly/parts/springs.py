"""Springs between particles: linear, stiffening, yielding; and those that keep tetrahedra from
collapsing."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

from ..backends.kernels import take
from ..contracts import Array, Power
from ..errors import InputError
from ..kernels.names import CONVEX, NO_SLOT, SECANT
from .checks import (
    as_array,
    as_elements,
    as_numbers,
    per_element,
    require,
    require_below,
    require_points,
)
from .part import Arranged, Arrays, Particles, Scalable
from .pattern import BlockPattern, pair_laplacian
from .terms import FaceTerm, SpringTerm, Term

LAWS = ("linear", "cubic")
CHUNK = 1 << 16  # springs whose differences stay in the cache


class Springs(Scalable):
    """E = sum k/2 e^2 (linear) or sum k (e^2/2 + e^4/(4 l^2)) (cubic), e = |x_j - x_i| - l.

    edges (m, 2): particle indices; stiffness k [N/m] and rest length l [m]: one number or (m,).
    Without `rest`, lengths are those of the rest positions (N, 3), given here or to the System.
    A linear spring with l = 0 is linear in x too.

    law: 'cubic' has the force k e (1 + (e/l)^2), so k is the stiffness near rest, it has doubled
    at 58 % strain, and one number in N/m sets it as it sets the linear law.  Michels, Sobottka,
    Weber 2014 (Sec. 5.3) and Michels, Luan, Tokman 2017 (Sec. 4.2) use 'cubic springs' without
    printing them; a force k e^3 alone would have no stiffness at rest.

    yield_strain: s > 0, one number or (m,).  Where |L/l - 1| > s after a step, l becomes the rest
    length at which the strain is s (Luan, Michels 2018, Sec. 5.3: rest lengths are corrected past
    a threshold); the elastic energy lost is dissipated.
    """

    arrays = Arrays(("edges", "stiffness", "rest"))

    def __init__(
        self,
        edges: Any,
        stiffness: Any,
        rest: Any = None,
        *,
        rest_positions: Any = None,
        law: str = "linear",
        yield_strain: Any = None,
        name: str = "elastic",
    ) -> None:
        self.name = name
        self.edges = _as_edges(edges)
        m = len(self.edges)
        self.stiffness = per_element("stiffness", stiffness, m)
        self._require(self.stiffness >= 0.0, "stiffness is negative", "give k >= 0 in N/m")
        if law not in LAWS:
            raise InputError(f"spring law {law!r} is unknown: give 'linear' or 'cubic'")
        self.law = law
        self.yield_strain = None
        if yield_strain is not None:
            self.yield_strain = per_element("yield_strain", yield_strain, m)
            self._require(self.yield_strain > 0.0, "yield strain is not positive", "give s > 0")
        self.rest = None if rest is None else self._checked_rest(per_element("rest", rest, m))
        if rest is None and rest_positions is not None:
            self.rest = self._lengths(as_numbers("rest_positions", rest_positions))

    @classmethod
    def of_sound(cls, edges: np.ndarray, stiffness: Array, rest_positions: Array) -> Springs:
        """Of edges (m, 2) that have been made so that there is nothing to complain of: kept as they
        are.  Looking for repeated ones takes as long as making them."""
        new = object.__new__(cls)
        new.name, new.edges, new.law, new.yield_strain = "elastic", edges, "linear", None
        new.stiffness = per_element("stiffness", stiffness, len(edges))
        new.rest = new._lengths(as_numbers("rest_positions", rest_positions))
        return new

    def couples(self, particles: Particles) -> np.ndarray:
        self._require(
            self._inside(particles.count),
            f"there are only {particles.count} particles",
            f"number them 0 to {particles.count - 1}",
        )
        return self.edges

    def prepare(self, particles: Arranged) -> PreparedSprings:
        rest = self.rest
        if rest is None:
            if particles.rest is None:
                raise InputError(
                    "springs have no rest lengths: give Springs(..., rest=l), or System(..., "
                    "rest=X) with the rest positions"
                )
            rest = self._lengths(particles.rest)
        edges = particles.rows.astype(np.uint32)[self.edges]
        kind = PreparedSprings if self.yield_strain is None else YieldingSprings
        own = (edges, self.stiffness, rest, particles.pattern)
        return kind(*own, self.law == "cubic", self.yield_strain)

    def _lengths(self, positions: Array) -> Array:
        require_points("rest_positions", positions)
        count = len(positions)
        self._require(
            self._inside(count),
            f"rest_positions has only {count} particles",
            "give a rest position for each",
        )
        lengths = _distances(positions, self.edges)
        self._require(
            lengths > 0.0, "it has zero length at rest", "move its ends apart or give rest="
        )
        return lengths

    def _checked_rest(self, rest: Array) -> Array:
        self._require(rest >= 0.0, "rest length is negative", "give l >= 0 in metres")
        if self.law == "cubic" or self.yield_strain is not None:
            law = "law='cubic'" if self.law == "cubic" else "yield_strain"
            self._require(
                rest > 0.0, f"rest length is zero, but {law} needs its strain", "give l > 0"
            )
        return rest

    def _inside(self, count: int) -> np.ndarray:
        """(m,) both ends are among this many particles."""
        if self.edges.max(initial=-1) < count:  # as a rule
            return np.ones(len(self.edges), dtype=bool)
        return np.logical_and(*(self.edges < count).T)

    def _require(self, good: Any, cause: str, remedy: str) -> None:
        """InputError that names the first spring that is not good."""
        bad = np.flatnonzero(~good)
        if bad.size:
            i, j = self.edges[bad[0]]
            raise InputError(f"spring {bad[0]} ({i}-{j}): {cause}; {remedy}")


class AnyPreparedSprings:
    """Half-springs sorted by particle: what the kernels take after positions is `_half`, `_slots`
    of the block matrix, `_law` at the end."""

    bounded = True
    internal = True
    part: str
    kernels: tuple[str, ...]  # energy, gradient, blocks, mean gradient and mean blocks are first

    _find_slots: Callable[[], tuple[Any, ...]]  # when a matrix is first asked for, then the same
    _law: tuple[bool, ...] = ()

    def __init__(self, pattern: BlockPattern) -> None:
        self._kernels = take(pattern.backend, self.part, *self.kernels)
        first = (getattr(self._kernels, name) for name in self.kernels[:5])
        self._energy, self._gradient, self._blocks, self._mean_gradient, self._mean_blocks = first

    @property
    def _half(self) -> tuple[Any, ...]:
        raise NotImplementedError  # each kind has its own

    @property
    def _slots(self) -> tuple[Any, ...]:
        return self._find_slots()

    def add_gradient(self, x: Array, out: Array) -> None:
        self._gradient(x, *self._half, out, *self._law)

    def add_blocks(self, x: Array, blocks: Array, pressed: Array) -> None:
        self._blocks(x, *self._half, *self._slots, blocks, pressed, *self._law)

    def add_convex_blocks(self, x: Array, blocks: Array) -> None:
        """Adds d2E/dx2 without the negative stiffness across compressed springs."""
        ignored = np.zeros(len(x))
        self._blocks(x, *self._half, *self._slots, blocks, ignored, *self._law, CONVEX)

    def add_secant(self, x: Array, blocks: Array, pressed: Array | None = None) -> None:
        """Adds K_sec with dE/dx = K_sec(x) x, fixed particles' columns left out; pressed as in
        add_blocks."""
        pressed = np.zeros(len(x)) if pressed is None else pressed
        self._blocks(x, *self._half, *self._slots, blocks, pressed, *self._law, SECANT)

    def add_mean_gradient(self, x0: Array, x1: Array, out: Array) -> None:
        self._mean_gradient(x0, x1, *self._half, out, *self._law)

    def add_mean_blocks(self, x0: Array, x1: Array, blocks: Array) -> None:
        self._mean_blocks(x0, x1, *self._half, *self._slots, blocks, *self._law)


class PreparedSprings(AnyPreparedSprings):
    """Each half with the slot of its coupling block."""

    pairwise = True
    part = "Springs"
    kernels = (
        *("spring_energy", "spring_gradient", "spring_blocks"),
        *("spring_mean_gradient", "spring_mean_blocks", "spring_product", "spring_bars"),
    )

    # Why `pressed` bounds the spectrum. With force f at length L, a spring's tangent acts on
    # w = u_i - u_j as f' n n^T + (f/L) (I - n n^T), and f' > 0 for both laws: k, or
    # k (1 + 3 e^2/l^2). So a stretched spring is positive semidefinite, and a compressed one,
    # with p = -f/L > 0, obeys
    #     w^T K w >= -p |w|^2 >= -2 p (|u_i|^2 + |u_j|^2),
    # or >= -p |u_i|^2 when j is fixed (u_j = 0). Summed over springs: u^T K u >= -2 sum p_i |u_i|^2
    # with p_i the sum of p over i's springs, halves for fixed ends. The secant's are the same.

    def __init__(
        self,
        edges: np.ndarray,
        stiffness: Array,
        rest: Array,
        pattern: BlockPattern,
        cubic: bool = False,
        limit: Array | None = None,
    ) -> None:
        """limit (m,): yield strains, of springs that have them."""
        super().__init__(pattern)
        self.linear = not cubic and not np.any(rest)
        self.cubic, self._law, self._limit = cubic, (cubic,), limit
        self.rest = rest  # (m,) [m], as it is now
        self._edges = edges.astype(np.uint32, copy=False)
        self._stiffness = stiffness

        def find_halves() -> tuple[Any, ...]:
            return _halves(self._edges, pattern.count)

        def find_slots() -> tuple[Any, ...]:
            start, neighbour, _ = self._find_halves()
            owner = np.repeat(np.arange(pattern.count, dtype=np.uint32), np.diff(start))
            return pattern.diagonal, pattern.slots(owner, neighbour)

        # when they are first asked for, then shared by copies that have yielded
        self._find_halves, self._find_slots = cache(find_halves), cache(find_slots)
        self._count_bars = cache(lambda: int(np.count_nonzero(self._slots[1] != NO_SLOT)))

    @property
    def _half(self) -> tuple[Any, ...]:
        return *self._find_halves(), self._stiffness, self.rest

    @property
    def bars(self) -> int:
        """How many it writes, each in a slot of its own."""
        return self._count_bars()

    def add_bars(self, x: Array, bars: Array, own: Array, pressed: Array) -> None:
        self._kernels.spring_bars(x, *self._half, self._slots[1], bars, own, pressed, self.cubic)

    @property
    def edges(self) -> np.ndarray:
        """(m, 2)."""
        return self._edges.astype(np.int64)

    def energy(self, x: Array) -> float:
        return self._energy(x, self._edges, self._stiffness, self.rest, self.cubic)

    def terms(self) -> list[Term]:
        return [SpringTerm(self._edges, self._stiffness, self.rest, self.cubic, self._limit)]

    def stresses(self, x: Array) -> tuple[np.ndarray, Array, str]:
        stretch = _distances(x, self._edges) - self.rest
        tension = self._stiffness * stretch
        if self.cubic:
            tension *= 1.0 + (stretch / self.rest) ** 2
        return self.edges, tension, "N"

    def add_product(self, x: Array, b: Array, out: Array) -> None:
        """Adds (d2E/dx2) b to out, both (N, 3), without assembling anything."""
        self._kernels.spring_product(x, *self._half, b, out, self.cubic)

    def laplacian(self) -> tuple[np.ndarray, np.ndarray, Array]:
        """k on each spring: K <= L (x) I_3 at any strain s for the linear law, whose stiffness is
        k along a spring and less across; for the cubic law near rest only, since it has
        k (1 + 3 s^2) along (1.75 k at 50 % strain)."""
        return pair_laplacian(self.edges, self._stiffness)


class YieldingSprings(PreparedSprings):
    """Springs whose rest lengths follow once they have been strained too far."""

    kernels = (*PreparedSprings.kernels, "spring_yield")

    def memory(self) -> dict[str, Array]:
        return {"rest": self.rest}

    def having(self, memory: Mapping[str, Array]) -> YieldingSprings:
        new = copy.copy(self)  # what never changes is shared
        new.rest = memory["rest"]
        return new

    def stresses(self, x: Array) -> tuple[np.ndarray, Array, str]:
        raise InputError("what springs that yield bear is not in their positions: look at strain")

    def settle(self, t: float, h: float, x: Array, v: Array) -> Power:
        rest = self.rest.copy()
        lost = self._kernels.spring_yield(
            x, self._edges, self._stiffness, rest, self._limit, self.cubic
        )
        if lost > 0.0:
            self.rest = rest
        return Power(dissipated=lost)


def _distances(x: Array, edges: np.ndarray) -> Array:
    """(m,) between the ends of edges (m, 2); some at a time, since differences of all of them
    would take three times the memory of the edges, and four times as long."""
    lengths = np.empty(len(edges))
    for first in range(0, len(edges), CHUNK):
        some = slice(first, first + CHUNK)
        d = x[edges[some, 1]] - x[edges[some, 0]]
        np.sqrt(np.einsum("ij,ij->i", d, d), out=lengths[some])
    return lengths


def _halves(edges: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Both ends of edges (m, 2), sorted by particle, then by neighbour: start (count + 1,) of each
    particle's, and the neighbour (2m,) and the edge (2m,) of each, all unsigned."""
    m = len(edges)
    owner, neighbour = edges.T.ravel(), edges.T[::-1].ravel()
    order = np.lexsort((neighbour, owner))
    ends = np.cumsum(np.bincount(owner, minlength=count))
    start = np.concatenate([[0], ends]).astype(np.uint32)
    edge = np.remainder(order, max(m, 1)).astype(np.uint32)
    return start, neighbour[order], edge


def _as_edges(edges: Any) -> np.ndarray:
    array = as_array("edges", edges)
    if array.size == 0 and array.ndim <= 2:
        return np.empty((0, 2), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise InputError(f"edges has shape {array.shape}, but (m, 2) is needed")
    if not np.issubdtype(array.dtype, np.integer):
        raise InputError("edges must be integers: they are particle indices")
    array = array.astype(np.int64)
    if array.min() < 0:
        raise _refused(
            array, np.flatnonzero((array < 0).any(axis=1)), "a particle index is negative"
        )
    for bad, cause in (
        (np.flatnonzero(array[:, 0] == array[:, 1]), "it joins a particle to itself"),
        (_repeated(array), "it repeats an earlier spring: add the stiffnesses instead"),
    ):
        if bad.size:
            raise _refused(array, bad, cause)
    return array


def _refused(edges: np.ndarray, bad: np.ndarray, cause: str) -> InputError:
    """That names the first of the bad ones."""
    i, j = edges[bad[0]]
    return InputError(f"spring {bad[0]} ({i}-{j}): {cause}")


def _repeated(edges: np.ndarray) -> np.ndarray:
    """Indices of the springs that join two particles already joined, in either direction."""
    key, high = np.minimum(*edges.T), np.maximum(*edges.T)
    key *= high.max(initial=0) + 1
    key += high
    del high  # millions of springs: every array of them counts
    # ten times faster than argsort, and almost always enough; meshes come in runs, which a stable
    # sort finds
    values = np.sort(key, kind="stable")
    if not np.any(values[1:] == values[:-1]):
        return np.empty(0, dtype=np.int64)
    order = np.argsort(key, kind="stable")
    return np.sort(order[1:][key[order[1:]] == key[order[:-1]]])


# ------------------------------------------------------------------ springs in tetrahedra


class FaceSprings(Scalable):
    """E = sum k/2 (|x_a - (x_b + x_c + x_d)/3| - l)^2, four springs in each tet.

    Each joins a vertex to the centre of the opposite face (Michels, Luan, Tokman 2017, Sec. 4.1):
    the springs along the edges alone let a tet turn inside out.  tets (t, 4): particle indices;
    stiffness k [N/m]: one number or (t,).  Lengths l are those of the rest positions (N, 3),
    given here or to the System.
    """

    def __init__(
        self,
        tets: Any,
        stiffness: Any,
        *,
        rest_positions: Any = None,
        name: str = "elastic",
    ) -> None:
        self.name = name
        self.tets = as_elements("tet", tets, 4)
        self.stiffness = per_element("stiffness", stiffness, len(self.tets))
        good = self.stiffness >= 0.0
        require("tet", self.tets, good, "stiffness is negative", "give k >= 0 in N/m")
        self.rest = None
        if rest_positions is not None:
            self.rest = self._lengths(as_numbers("rest_positions", rest_positions))

    def couples(self, particles: Particles) -> np.ndarray:
        require_below("tet", self.tets, particles.count)
        return np.concatenate([self.tets[:, pair] for pair in combinations(range(4), 2)])

    def prepare(self, particles: Arranged) -> PreparedFaceSprings:
        rest = self.rest
        if rest is None:
            if particles.rest is None:
                raise InputError(
                    "face springs have no rest lengths: give FaceSprings(..., rest_positions=X) "
                    "or System(..., rest=X)"
                )
            rest = self._lengths(particles.rest)
        tets = particles.rows[self.tets]
        return PreparedFaceSprings(tets, self.stiffness, rest, particles.pattern)

    def _lengths(self, positions: Array) -> Array:
        """(t, 4) [m]."""
        require_points("rest_positions", positions)
        require(
            "tet",
            self.tets,
            (self.tets < len(positions)).all(axis=1),
            f"rest_positions has only {len(positions)} particles",
            "give a rest position for each",
        )
        corners = positions[self.tets]
        offsets = (4.0 * corners - corners.sum(axis=1, keepdims=True)) / 3.0
        lengths = np.linalg.norm(offsets, axis=2)
        require(
            "tet",
            self.tets,
            (lengths > 0.0).all(axis=1),
            "a vertex lies at the centre of the opposite face at rest",
            "leave flat tets out",
        )
        return lengths


class PreparedFaceSprings(AnyPreparedSprings):
    """Corners sorted by particle, each with the slots of its four blocks."""

    linear = False
    pairwise = False
    part = "FaceSprings"
    kernels = (
        *("face_spring_energy", "face_spring_gradient", "face_spring_blocks"),
        *("face_spring_mean_gradient", "face_spring_mean_blocks"),
    )

    # Why `pressed` bounds the spectrum. A spring acts on w = u_a - (u_b + u_c + u_d)/3 as springs
    # between two particles act on u_i - u_j (see PreparedSprings): w^T K w >= -p |w|^2, and
    #     |w|^2 <= 2 |u_a|^2 + 2 |(u_b + u_c + u_d)/3|^2 <= 2 (|u_a|^2 + sum of |u_b|^2 / 3).
    # So p at the vertex and p/3 at each corner of the face. K <= 2 diag(K) does not hold: the
    # corners of the face have 1/9 on the diagonal.

    def __init__(
        self, tets: np.ndarray, stiffness: Array, rest: Array, pattern: BlockPattern
    ) -> None:
        super().__init__(pattern)
        corners = tets.ravel()
        order = np.argsort(corners, kind="stable")
        start = np.searchsorted(corners[order], np.arange(pattern.count + 1))
        self._springs = (tets.astype(np.uint32), stiffness, rest)
        self._corners = (start.astype(np.uint32), order.astype(np.uint32))

        def find_slots() -> tuple[Any, ...]:
            rows, columns = np.repeat(corners, 4), np.repeat(tets, 4, axis=0).ravel()
            return pattern.diagonal, pattern.slots(rows, columns).reshape(-1, 4)

        self._find_slots = cache(find_slots)

    @property
    def _half(self) -> tuple[Any, ...]:
        return (*self._springs, *self._corners)

    def energy(self, x: Array) -> float:
        return self._energy(x, *self._springs)

    def terms(self) -> list[Term]:
        return [FaceTerm(*self._springs)]

    def laplacian(self) -> tuple[np.ndarray, np.ndarray, Array]:
        """k w w^T of each spring's weights, 1 and -1/3: as for springs between two particles,
        K <= L (x) I_3 always, since a spring is k stiff along itself and less across."""
        tets, stiffness, _ = self._springs
        weights = (4.0 * np.eye(4) - 1.0) / 3.0  # of corner c (column) in spring s (row)
        values = stiffness[:, None, None] * (weights.T @ weights)
        rows, columns = np.repeat(tets, 4, axis=1), np.tile(tets, 4)
        return rows.ravel().astype(np.int64), columns.ravel().astype(np.int64), values.ravel()
