"""A body cut into shares, one for each rank: who owns which particle, and parts of a share.

A rank cuts its share out of a piece: what it has built, the whole body or a part of it around its
own particles.

Independent bodies stay whole where none is larger than a share; else particles are bisected, again
and again, across one of the axes or across the way from one end of the body to the other through
its elements, whichever leaves fewer ghosts.  A share has its own particles, the free ones that its
elements also touch (ghosts), and what is held.  Elements that touch two shares are evaluated in
both; for sums each is counted by the owner of its first free particle.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee

from ..contracts import Array
from ..errors import InputError
from ..parts.checks import as_indices
from .system import System

FEWER = "start fewer ranks"
NO_PAIRS = np.empty((0, 2), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Piece:
    """What a rank has built of a body: its own particles, every element that touches one of them,
    and the particles of those elements with their masses.

    numbers (n,): of its particles in the whole body, ascending; owner (n,): the rank of each;
    total: particles of the whole body; recipe: what all ranks build from.
    """

    built: System
    numbers: np.ndarray
    owner: np.ndarray
    total: int
    recipe: str = ""

    @staticmethod
    def whole(system: System, x: Array, ranks: int) -> Piece:
        """All of it, on every rank; x (N, 3) [m]: where particles are when it is cut."""
        count = system.particles
        return Piece(system, np.arange(count), owners(system, x, ranks), count)


def refusal(system: Any) -> str | None:
    """Why a system cannot be shared by ranks; None where it can."""
    if not isinstance(system, System):
        return f"{type(system).__name__} cannot be shared by ranks: give a stiffly.System"
    if not system.lumped:
        return "a consistent mass cannot be shared by ranks: give mass=M.sum(axis=1)"
    for part in system.given.parts:
        if "arrays" not in vars(type(part)):  # a subclass may have more
            return f"{type(part).__name__} cannot be shared by ranks yet: leave it out"
        if getattr(part, "yield_strain", None) is not None:
            return "springs that yield cannot be shared by ranks yet: leave yield_strain out"
        if not getattr(part, "alike", True):
            return (
                "forces that differ from particle to particle cannot be shared by ranks yet: give "
                "one force (3,) for all of them, or a function of t"
            )
        if getattr(part, "frozen", False):
            return "frozen contact cannot be shared by ranks yet: leave frozen out"
    damping = system.damping
    if damping is not None and damping.beta and system.supports:
        return "damping beta beside supports that move cannot be shared by ranks yet: give alpha"
    return None


# ------------------------------------------------------------------ who owns what


def owners(system: System, x: Array, ranks: int) -> np.ndarray:
    """(N,): the rank of each particle, x (N, 3) [m]; InputError where one would have none.

    None is left out where bodies stay whole: middles of neighbours are no further apart than the
    size of the largest body, which is no larger than a share."""
    numbering = system.numbering
    free = numbering.order[: numbering.free]
    if free.size < ranks:
        many = "1 free particle" if free.size == 1 else f"{free.size} free particles"
        raise InputError(f"{many} for {ranks} ranks: {FEWER}")
    owner = np.full(system.particles, -1)
    bodies = system.pattern.bodies
    sizes = None if bodies is None else np.bincount(bodies.labels)
    if bodies is not None and sizes is not None and sizes.max() * ranks <= free.size:
        middle = np.cumsum(sizes) - 0.5 * sizes
        of_body = np.minimum((middle * ranks / free.size).astype(np.int64), ranks - 1)
        owner[free] = of_body[bodies.labels]
    else:
        place = np.full(system.particles, -1)
        place[free] = np.arange(free.size)
        pairs = place[system.couples]
        owner[free] = bisected(x[free], ranks, pairs[(pairs >= 0).all(axis=1)])
    _take_in(owner, system.couples)
    return owner


def bisected(x: Array, ranks: int, pairs: np.ndarray = NO_PAIRS) -> np.ndarray:
    """(n,): parts 0 .. ranks - 1 of points x (n, 3), equally many in each but for one or two; pairs
    (m, 2): of points that feel each other."""
    owner, side = np.zeros(len(x), dtype=np.int64), np.zeros(len(x), dtype=bool)

    def border(pairs: np.ndarray, some: np.ndarray, first: np.ndarray) -> int:
        """Points on either side that feel one on the other, where `first` of some are one side."""
        side[some] = False
        side[first] = True
        apart = side[pairs]
        return np.unique(pairs[apart[:, 0] != apart[:, 1]]).size

    def cut(some: np.ndarray, pairs: np.ndarray, first: int, count: int) -> None:
        if count == 1:
            owner[some] = first
            return
        left = count // 2
        at = some.size * left // count
        orders = [some[order] for order in _orders(x[some], _graph(some, pairs))]
        best = min(orders, key=lambda order: border(pairs, some, order[:at]))  # the first of equals
        for half, begin, many in (
            (best[:at], first, left),
            (best[at:], first + left, count - left),
        ):
            side[some] = False
            side[half] = True
            cut(half, pairs[side[pairs].all(axis=1)], begin, many)

    cut(np.arange(len(x)), pairs, 0, ranks)
    return owner


def _graph(some: np.ndarray, pairs: np.ndarray) -> Any:
    """Who of some feels whom, in their own numbers; pairs: among them."""
    order = np.argsort(some)
    i, j = order[np.searchsorted(some[order], pairs)].T
    ends = np.concatenate([i, j]), np.concatenate([j, i])
    return sp.csr_matrix((np.ones(2 * i.size), ends), shape=(some.size, some.size))


def _orders(x: Array, graph: Any) -> list[np.ndarray]:
    """Ways to line up points x (n, 3): along their axes, the longest first, and through the graph,
    from one end of it to the other."""
    sides = np.ptp(x, axis=0) if len(x) else np.zeros(3)
    found = [np.argsort(x[:, axis], kind="stable") for axis in np.argsort(-sides, kind="stable")]
    if graph.nnz:
        found.append(reverse_cuthill_mckee(graph, symmetric_mode=True).astype(np.int64))
    return found


def _take_in(owner: np.ndarray, couples: np.ndarray) -> None:
    """What is held goes to the lowest rank that it is tied to; what is tied to none to rank 0."""
    far = np.iinfo(np.int64).max
    lowest = np.full(owner.size, far)
    for here, there in (couples.T, couples.T[::-1]):
        known = owner[there] >= 0
        np.minimum.at(lowest, here[known], owner[there[known]])
    held = owner < 0
    owner[held] = np.where(lowest[held] == far, 0, lowest[held])


# ------------------------------------------------------------------ one share


@dataclass(frozen=True)
class Share:
    """particles (n,), as the user numbers them: own free ones, ghosts, then what is held.

    own, ghosts: how many; owner (N,) of all; place (N,): where each is here, -1 where it is not.
    """

    rank: int
    particles: np.ndarray
    own: int
    ghosts: int
    owner: np.ndarray
    place: np.ndarray

    @property
    def counted(self) -> np.ndarray:
        """(n,): whether this rank counts it in sums."""
        return self.owner[self.particles] == self.rank

    def part(self, part: Any, free: np.ndarray, count: bool) -> Any:
        """The same part of this share alone; count: without what other ranks count.
        free (N,): which particles are."""
        new, names = copy.copy(part), part.arrays
        for name in (*names.particles, *names.weights):
            values = getattr(part, name)
            if np.ndim(values):
                setattr(new, name, np.asarray(values)[self.particles])
        for name in names.weights if count else ():
            setattr(new, name, np.where(self.counted, getattr(new, name), 0.0))
        if names.chosen is not None:
            setattr(new, names.chosen, self._chosen(getattr(part, names.chosen), count))
        if names.elements:
            first, *others = names.elements
            elements = getattr(part, first)
            mine = self.elements(elements, free)
            kept = mine[self._counts(elements[mine], free)] if count else mine
            setattr(new, first, self.place[elements[kept]])
            for name in others:
                values = getattr(part, name)
                setattr(new, name, values if values is None else values[kept])
        return new

    def elements(self, elements: np.ndarray, free: np.ndarray) -> np.ndarray:
        """Those that touch an own particle, or whose particles are all held and counted here."""
        own = free & (self.owner == self.rank)
        still = ~free[elements].any(axis=1) & (self.owner[elements[:, 0]] == self.rank)
        return np.flatnonzero(own[elements].any(axis=1) | still)

    def _counts(self, elements: np.ndarray, free: np.ndarray) -> np.ndarray:
        """(m,): whether the first free particle of each, or the first, is this rank's."""
        first = elements[np.arange(len(elements)), np.argmax(free[elements], axis=1)]
        return self.owner[first] == self.rank

    def _chosen(self, named: Any, count: bool) -> np.ndarray:
        """(n,): which of the particles that are named, None for all, are here."""
        chosen = np.full(self.owner.size, named is None)
        if named is not None:
            chosen[as_indices("particles", named, self.owner.size)] = True
        here = chosen[self.particles]
        return here & self.counted if count else here


def share_of(system: System, owner: np.ndarray, rank: int) -> Share:
    """What a rank has to hold."""
    count, numbering = system.particles, system.numbering
    free = np.zeros(count, dtype=bool)
    free[numbering.order[: numbering.free]] = True
    mine = owner == rank
    couples = system.couples
    near = mine & free
    ends = couples[near[couples].any(axis=1)]
    here = mine.copy()
    here[ends.ravel()] = True
    for _, led in system.supports:  # a support moves all that it leads at once
        here[led] = True
    for part in system.given.parts:  # of elements that nothing free is part of
        names = getattr(part, "arrays").elements  # noqa: B009  # not all parts have them: `refusal`
        if names:
            elements = getattr(part, names[0])
            still = ~free[elements].any(axis=1) & mine[elements[:, 0]]
            here[elements[still].ravel()] = True
    groups = [np.flatnonzero(here & chosen) for chosen in (mine & free, ~mine & free, ~free)]
    particles = np.concatenate(groups)
    place = np.full(count, -1)
    place[particles] = np.arange(particles.size)
    return Share(rank, particles, groups[0].size, groups[1].size, owner, place)
