"""Rows of a body in groups, each with what kernels need of it to move its own.

Groups are independent bodies where there are many (hair, bristles), else pieces of one body that
lie together in space.  Neither depends on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee

from ..contracts import Array
from ..errors import InputError
from ..kernels import names as contract
from ..meshes.morton import morton
from ..parts.pattern import sorted_unique
from ..parts.terms import (
    AtomTerm,
    CrowdTerm,
    DashpotTerm,
    DragTerm,
    FaceTerm,
    ForceTerm,
    SpringTerm,
    SteadyTerm,
    TetTerm,
    TouchTerm,
    ViscousTerm,
    WindTerm,
)
from .supports import Keyframes, rigid

if TYPE_CHECKING:
    from .system import System

MANY_BODIES = 64  # then each is a group, whatever the number of threads
BODY_ROWS = 4096  # and none is so large that its rows leave the second-level cache
PIECES = 32  # of a connected body at most: two for each of sixteen threads
PIECE_ROWS = 1500  # at least: smaller ones would share too many of their springs with others
FOUR = 4
PASSES = 12  # over all springs, until most fours are full
NONE = np.empty(0, dtype=np.int64)
NO_EDGES = np.empty((0, 2), dtype=np.int64)

Instances = tuple[np.ndarray, np.ndarray]  # elements (q,), the groups (q,) that have them


class NoStretch(Exception):
    """Why a body goes step by step."""


def all_beyond(free: int, corners: np.ndarray) -> np.ndarray:
    """(m,): whether no corner of an element (m, c) moves; by columns, which are long."""
    return np.logical_and.reduce([column >= free for column in corners.T])


def require_counted_once(system: System, terms: list[Any]) -> None:
    """Air on particles that are held adds as much as it takes, and moves nothing: groups do not see
    all of them, so the ledger's lines would be others."""
    free = system.numbering.free
    for term in terms:
        blown = isinstance(term, DragTerm) and not term.still and np.any(term.coefficient[free:])
        if blown or (isinstance(term, DragTerm) and system.supports):
            raise NoStretch("drag on particles that are held has no compiled loop")
        if isinstance(term, WindTerm) and np.any((term.triangles >= free).all(axis=1)):
            raise NoStretch("wind on triangles that are held has no compiled loop")


def require_unturned(system: System, terms: list[Any]) -> None:
    """Pairs that know no rotation, and whose two particles a support turns: they store, or brake,
    while no group has them."""
    turned = [led for support, led in system._led if not isinstance(support, Keyframes)]
    for term in terms if turned else ():
        if isinstance(term, SteadyTerm | ViscousTerm) and np.any(
            np.isin(term.edges, np.concatenate(turned)).all(axis=1)
        ):
            raise NoStretch("linear springs, or beta, where supports turn have no compiled loop")


def _require_counted_by_rows(system: System, terms: list[Any], local: bool) -> None:
    """Of a body cut between ranks velocities of copies are not known within a step, and what has
    particles of two ranks is there twice."""
    if local:
        lack = "wind, dashpots and supports of tets"
    elif system.supports and any(isinstance(term, ForceTerm) for term in terms):
        lack = "forces beside supports"
    else:
        return
    raise NoStretch(f"{lack} have no compiled loop where a body is cut between ranks")


class Slots(NamedTuple):
    """Where springs lie: spring (q,) of all in order of their parts, slots (q,)."""

    spring: np.ndarray
    slots: np.ndarray


class Layout:
    """Which rows each group has.  place (R,): rows of the system, of each group first those that
    it moves, then led ones, then others, then one that stands for nothing."""

    def __init__(self, system: System, terms: list[Any]) -> None:
        numbering = system.numbering
        self._loops = system.pattern.backend.kernels  # wherever steps are taken then
        self._free = system.backend.owned(numbering.free)  # behind them copies of other ranks'
        self._total = len(numbering.order)
        self._runs: np.ndarray | None = getattr(system, "runs", None)
        self._led = np.full(self._total, -1, dtype=np.int16)
        index = 0
        for support, led in system._led:
            every = 1 if rigid(support) else len(led)  # a motion for all, or one for each
            self._led[led] = index + np.arange(every)
            index += every
        solid = [_all_corners(4, [term.tets]) for term in terms if isinstance(term, TetTerm)]
        others = [corners_of(term) for term in terms if not isinstance(term, TetTerm)]
        light = [corners for corners in others if corners is not None]
        elements = [*light, *solid]
        local = any(isinstance(term, WindTerm | DashpotTerm | ViscousTerm) for term in terms)
        # a tet between two pieces would work on a particle that is led in both of them
        tets = any(isinstance(term, FaceTerm | TetTerm) for term in terms)
        local = local or bool(system.supports and tets)
        if self._free < numbering.free:
            _require_counted_by_rows(system, terms, local)
        self.bodies: np.ndarray | None = None  # rows at which independent ones begin
        self.label, self.connected = self._labels(system, elements, local)
        self.count = int(self.label.max()) + 1
        self._group_of_row = np.full(self._total, -1, dtype=np.int32)
        self._group_of_row[: self._free] = self.label
        self._require_free_ends(elements)
        self._known: dict[int, tuple[np.ndarray, Instances]] = {}
        borrowed = [self._borrowed(e, self._instances(e)) for e in light]
        borrowed += [self._borrowed(e, self._dealt(e)) for e in solid]
        if any(isinstance(term, AtomTerm) for term in terms):  # each of them meets every particle
            borrowed.append(np.arange(self._free, self._total))  # of the one group of a card
        self._lay_out(sorted_unique(np.concatenate(borrowed or [NONE])))
        if self.bodies is None and not self.connected:
            self.bodies = self.first

    def _labels(
        self, system: System, elements: list[np.ndarray], local: bool
    ) -> tuple[np.ndarray, bool]:
        """The group of each free row, and whether groups share springs.

        local: elements are there whose velocities all have to be known at once."""
        self._rank = np.arange(self._free)
        whole = getattr(system.backend, "one_group", False)
        if self._runs is not None:
            runs = self._runs[: self._free]  # one behind the other
            return np.zeros_like(runs) if whole else runs, False
        bodies = system.pattern.bodies
        if bodies is not None:
            sizes = np.bincount(bodies.labels)
            if len(sizes) >= MANY_BODIES and sizes.max() <= BODY_ROWS:
                if whole:  # bodies behind one another
                    self._rank[np.argsort(bodies.labels, kind="stable")] = np.arange(self._free)
                    self.bodies = np.concatenate([[0], np.cumsum(sizes)])
                    return np.zeros(self._free, dtype=np.int64), False
                return bodies.labels.astype(np.int64), False
        pieces, local = 1, local or whole
        while 2 * pieces <= PIECES and 2 * pieces * PIECE_ROWS <= self._free and not local:
            pieces *= 2
        if self._free > PIECE_ROWS:  # else all of it is near
            self._rank = self._near_together(system, elements, pieces)
        return self._rank * pieces // self._free, pieces > 1

    def _near_together(self, system: System, elements: list[np.ndarray], pieces: int) -> np.ndarray:
        """The place (n,) of each free row in the order that cuts fewer ties: along a curve that
        fills space, or along the body (reverse Cuthill-McKee)."""
        n = self._free
        ties = [e[:, [0, k]] for e in elements for k in range(1, e.shape[1])]
        i, j = np.concatenate([NO_EDGES, *ties]).T
        i, j = i[(i < n) & (j < n)], j[(i < n) & (j < n)]
        graph = sp.csr_matrix((np.ones(i.size, dtype=np.int8), (i, j)), (n, n))
        orders = [reverse_cuthill_mckee(graph + graph.T, symmetric_mode=True)]
        if system._rest is not None or system._frame is not None:
            orders.append(np.argsort(morton(system.reference()[:n]), kind="stable"))
        rank = np.empty((len(orders), n), dtype=np.int64)
        for row, order in zip(rank, orders, strict=True):
            row[order] = np.arange(n)
        cut = [np.sum(r[i] * pieces // n != r[j] * pieces // n) for r in rank]
        return rank[int(np.argmin(cut))]

    def _require_free_ends(self, elements: list[np.ndarray]) -> None:
        """What has no free corner belongs to no group: nothing to be computed, unless supports
        that lead its corners move apart."""
        for corners in elements:
            led = self._led[corners[all_beyond(self._free, corners)]]
            if np.any(led != led[:, :1]):
                raise NoStretch(
                    "springs between two supports, or along a path, have no compiled loop"
                )

    def _instances(self, corners: np.ndarray) -> Instances:
        """Every group that moves a corner has the element.  Asked for twice: for what groups borrow
        and for what they have; corners are kept, so that no others have their id."""
        if id(corners) not in self._known:
            found = self._loops.element_groups(corners, self._group_of_row, self.connected)
            self._known[id(corners)] = corners, found
        return self._known[id(corners)][1]

    def _dealt(self, corners: np.ndarray) -> Instances:
        """Those that move the corners have them by turns."""
        groups = self._group_of_row[corners]
        turn = np.arange(len(corners))
        owner = groups[turn, turn % corners.shape[1]]
        owner = np.where(owner >= 0, owner, groups.max(axis=1, initial=-1))
        chosen = np.flatnonzero(owner >= 0)
        return chosen.astype(np.int32), owner[chosen]

    def _borrowed(self, corners: np.ndarray, instances: Instances) -> np.ndarray:
        """Keys of corners that a group needs and does not move."""
        return self._loops.borrowed_keys(corners, *instances, self._group_of_row)

    def _lay_out(self, borrowed: np.ndarray) -> None:
        """In each group: what it moves, what supports lead, what it borrows, nothing."""
        count, total, free = self.count, self._total, self._free
        owner, row = borrowed // total, borrowed % total
        led = self._led[row] >= 0
        kind = np.concatenate(
            [4 * self.label, 4 * owner + np.where(led, 1, 2), 4 * np.arange(count) + 3]
        )
        rows = np.concatenate([np.arange(free), row, np.zeros(count, dtype=np.int64)])
        rank = np.concatenate([self._rank, row, np.zeros(count, dtype=np.int64)])
        order = np.argsort(kind * total + rank, kind="stable")
        self.place, self.group = rows[order].astype(np.uint32), kind[order] // 4
        self.first = np.searchsorted(self.group, np.arange(count + 1))
        self.moved = (kind[order] % 4) == 0
        self.own = np.bincount(self.label, minlength=count)
        self.led = np.bincount(owner[led], minlength=count)
        position = np.empty(order.size, dtype=np.int64)
        position[order] = np.arange(order.size)
        self._own_at, self._keys, self._borrowed_at = (
            position[:free].astype(np.int32),
            borrowed,
            position[free : free + borrowed.size],
        )

    # ------------------------------------------------------------------ what kernels take

    def groups(self, system: System) -> contract.Groups:
        mass = np.zeros(self._total)
        mass[: self._free] = system.mass.apply(np.ones(system.size))[::3][: self._free]
        mass = np.where(self.moved, mass[self.place], 0.0)
        inverse = np.divide(1.0, mass, out=np.zeros_like(mass), where=mass > 0.0)
        home = np.zeros((1, 3))
        support = self._led[self.place]
        if system.supports:
            if system._frame is None:
                raise InputError("supports have no positions yet: use system.bind(x0, v0)")
            home = system._frame[self.place]
        return contract.Groups(
            *(self.first, self.own, self.led, self.place, self._borrowed_from),
            *(support, home, inverse, mass),
        )

    @property
    def run(self) -> np.ndarray:
        """(R,): which of many runs a row belongs to; (0,) where there is one."""
        return NONE if self._runs is None else self._runs[self.place]

    @cached_property
    def _borrowed_from(self) -> np.ndarray:
        """(R,): where another group moves the particle of a row; -1 where none does."""
        source = np.full(self.place.size, -1, dtype=np.int64)
        ghosts = ~self.moved & (self.place < self._free)
        ghosts[self.first[1:] - 1] = False  # rows that stand for nothing
        source[ghosts] = self._own_at[self.place[ghosts]]
        return source

    def _sorted(self, corners: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """start (G + 1,), elements (q,), corners (q, c) of the elements of each group."""
        if not len(corners):
            none = np.empty(corners.shape, dtype=np.uint32)
            return np.zeros(self.count + 1, dtype=np.int64), NONE, none
        element, group = self._instances(corners)
        rows = self._rows_of(corners, element, group)
        order = np.argsort(rows[:, 0], kind="stable")  # neighbours in space, and so in the cache
        element, group, rows = element[order], group[order], rows[order]
        start = np.searchsorted(group, np.arange(self.count + 1))
        return start, element, (rows - self.first[group][:, None]).astype(np.uint32)

    def _rows_of(self, corners: np.ndarray, element: np.ndarray, group: np.ndarray) -> np.ndarray:
        """(q, c): where groups have the corners of their elements."""
        own = self._group_of_row, self._own_at, self._keys, self._borrowed_at
        return self._loops.corner_places(corners, element, group, *own)

    def springs(self, terms: list[SpringTerm]) -> tuple[contract.GroupedSprings, Slots]:
        if not terms:
            start, other = np.zeros(self.place.size + 1, np.uint32), np.empty(0, np.uint32)
            none = np.empty(0)
            made = contract.GroupedSprings(start, other, none, none, none, none, -1.0)
            return made, Slots(NONE, NONE)
        edges = _all_corners(2, [term.edges for term in terms])
        element, group = self._instances(edges)
        ends = self._rows_of(edges, element, group)
        counts = self._loops.turn_springs(ends, self._led[self.place] >= 0, self._drawn())
        start = np.concatenate([[0], np.cumsum(-(-counts // FOUR) * FOUR)])
        slots = self._loops.slots_in_rows(ends[:, 0], start)
        other = self._far_ends(ends, group, start, slots)
        del ends, group  # of a head of hair these are gigabytes

        def values(given: list[Any], default: float) -> Array:
            made, every = np.full(start[-1], default), _joined(np.empty(0), given)
            every = np.ascontiguousarray(every, dtype=np.float64)
            self._loops.into_slots(every, element, slots, made)
            return made

        limits = [term.limit for term in terms]
        yielding = any(limit is not None for limit in limits)
        limit, share, common = np.empty(0), np.empty(0), -1.0
        if yielding:
            never = [np.full(len(term.edges), np.inf) for term in terms]
            known = [n if own is None else own for n, own in zip(never, limits, strict=True)]
            limit, lowest = values(known, np.inf), min(k.min(initial=np.inf) for k in known)
            if all(np.all(k == lowest) for k in known):
                common = float(lowest)
            share = values([1.0 / np.maximum(np.bincount(element, minlength=len(edges)), 1)], 0.0)
        made = contract.GroupedSprings(
            start.astype(np.uint32),
            other,
            values([term.stiffness for term in terms], 0.0),
            values([term.rest for term in terms], 1.0),
            limit,
            share,
            common,
        )
        return made, Slots(element, slots) if yielding else Slots(NONE, NONE)

    def _far_ends(
        self, ends: np.ndarray, group: np.ndarray, start: np.ndarray, slots: np.ndarray
    ) -> np.ndarray:
        """(p,): in the slots of springs, counted from the first row of their group; in the others
        the row that stands for nothing."""
        nothing = (self.first[1:] - 1 - self.first[:-1]).astype(np.uint32)
        if self.count == 1:
            other, far = np.full(start[-1], nothing[0]), ends[:, 1].astype(np.uint32)
        else:
            other = np.repeat(nothing[self.group], np.diff(start))
            far = (ends[:, 1] - self.first[group].astype(np.int32)).astype(np.uint32)
        every = np.arange(len(far), dtype=np.uint32)
        self._loops.into_slots(far, every, slots, other)
        return other

    def _drawn(self) -> np.ndarray:
        """(PASSES, R): who may give springs away."""
        draw, count = np.random.default_rng(0), self.place.size
        every = [draw.integers(0, 2, count, dtype=np.int8) == 0 for _ in range(PASSES)]
        return np.array(every)

    def _is_led(self, position: np.ndarray) -> np.ndarray:
        return self._led[self.place[position]] >= 0

    def faces(self, terms: list[FaceTerm]) -> contract.GroupedFaces:
        tets = _all_corners(4, [term.tets for term in terms])
        start, element, corners = self._sorted(tets)
        stiffness = np.concatenate([np.empty(0), *(term.stiffness for term in terms)])
        rest = np.concatenate([np.empty((0, 4)), *(term.rest for term in terms)])
        return contract.GroupedFaces(start, corners, stiffness[element], rest[element])

    def tets(self, terms: list[TetTerm]) -> contract.GroupedTets:
        start, led, end = np.zeros((3, len(terms), self.count), dtype=np.int64)
        corners, chosen, before = [np.empty((0, 4), dtype=np.uint32)], [NONE], 0
        for k, term in enumerate(terms):
            tets = _all_corners(4, [term.tets])
            element, group = self._dealt(tets)
            rows = self._rows_of(tets, element, group)
            free = ~self._is_led(rows).any(axis=1)
            order = np.lexsort((rows[:, 0], free, group))
            bounds = np.arange(2 * self.count + 1)
            at = before + np.searchsorted((2 * group + free)[order], bounds)
            start[k], led[k], end[k] = at[:-1:2], at[1::2], at[2::2]
            corners.append((rows - self.first[group][:, None])[order].astype(np.uint32))
            chosen.append(element[order])
            before += order.size
        values = [(t.shape[own], t.moduli[own]) for t, own in zip(terms, chosen[1:], strict=True)]
        shape, moduli = zip((np.empty((0, 9)), np.empty((0, 2))), *values, strict=True)
        return contract.GroupedTets(
            tuple(term.material for term in terms),
            *(start, led, end, np.concatenate(corners)),
            *(np.concatenate(shape), np.concatenate(moduli), *self._lent(bool(terms))),
        )

    def _lent(self, collected: bool) -> tuple[np.ndarray, np.ndarray]:
        """start (R + 1,), rows (p,): where else the particles that groups move are borrowed."""
        if not (collected and self.connected):
            return np.zeros(1, dtype=np.int64), NONE
        rows = np.flatnonzero(self._borrowed_from >= 0)
        source = self._borrowed_from[rows]
        order = np.argsort(source, kind="stable")
        return np.searchsorted(source[order], np.arange(self.place.size + 1)), rows[order]

    def triangles(self, terms: list[WindTerm]) -> contract.GroupedTriangles:
        every = [term.triangles for term in terms]
        corners = _all_corners(3, every)
        begin, element, found = self._sorted(corners)
        counts = np.diff(begin)
        start = np.concatenate([[0], np.cumsum(-(-counts // FOUR) * FOUR)])
        group = np.repeat(np.arange(self.count), counts)
        slots = start[group] + np.arange(element.size) - begin[group]
        nothing = (self.first[1:] - 1 - self.first[:-1]).astype(np.uint32)
        filled = np.tile(np.repeat(nothing, np.diff(start))[:, None], 3)
        pressure, which = np.zeros(start[-1]), np.zeros(start[-1], dtype=np.int64)
        filled[slots] = found
        pressure[slots] = _joined(np.empty(0), [term.pressure for term in terms])[element]
        which[slots] = np.repeat(np.arange(len(terms)), [len(t) for t in every])[element]
        return contract.GroupedTriangles(start, filled, pressure, which)

    def dashpots(self, terms: list[DashpotTerm]) -> contract.GroupedDashpots:
        edges = _all_corners(2, [term.edges for term in terms])
        start, element, corners = self._sorted(edges)
        coefficient = np.concatenate([np.empty(0), *(term.coefficient for term in terms)])
        return contract.GroupedDashpots(start, corners, coefficient[element])

    def atoms(
        self, terms: list[AtomTerm], extent: Callable[[], float]
    ) -> contract.GroupedAtoms | None:
        """Of the one group of a card, which has all particles; extent: of these [m], about."""
        if not terms:
            return None
        (term,), rows = terms, self.place.size
        at = np.empty(self._total, dtype=np.int64)
        at[self.place[:-1]] = np.arange(rows - 1)
        near = np.repeat(np.arange(self._total), np.diff(term.start.astype(np.int64)))
        keys = np.sort(at[near] * rows + at[term.partner])
        start = np.searchsorted(keys, rows * np.arange(rows + 1))
        numbers = term.radius[self.place], term.root[self.place]
        return contract.GroupedAtoms(*numbers, start, keys % rows, term.cutoff, extent())

    def pairs(
        self, terms: list[SteadyTerm] | list[ViscousTerm], rest: Array | None = None
    ) -> contract.GroupedPairs | None:
        """rest (N, 3): from where displacements are; None where there are no terms."""
        if not terms:
            return None
        _, element, corners = self._sorted(_all_corners(2, [term.edges for term in terms]))
        blocks = np.concatenate([term.blocks for term in terms])[element]
        return contract.GroupedPairs(corners, blocks, None if rest is None else rest[self.place])

    def by_row(self, values: list[Array]) -> Array:
        """(values, R): of the particles that the group moves or that supports lead."""
        counted = self.moved | (self._led[self.place] >= 0)
        counted[self.first[1:] - 1] = False
        return np.array([np.where(counted, v[self.place], 0.0) for v in values]).reshape(
            len(values), self.place.size
        )

    def drags(self, terms: list[DragTerm], before: int) -> contract.RowDrags:
        """before: winds that come first in the table."""
        power = np.array([term.power for term in terms], dtype=np.int64)
        wind = before + np.arange(len(terms))
        return contract.RowDrags(self.by_row([term.coefficient for term in terms]), power, wind)

    def crowd(self, terms: list[CrowdTerm]) -> contract.Crowd | None:
        if not terms:
            return None
        (term,) = terms[:1]
        if len(terms) > 1:
            raise NoStretch("several repulsions of bodies have no compiled loop: give one for all")
        at = np.full(self._total, -1, dtype=np.int64)
        at[self.place[:-1]] = np.arange(self.place.size - 1)  # the last one stands for nothing
        elements = term.vertices, term.sides, term.triangles
        vertices, edges, faces = (at[rows.astype(np.int64)] for rows in elements)
        if vertices.min() < 0:
            raise NoStretch("obstacles of held particles that bodies touch have no compiled loop")
        law = term.thickness, term.stiffness, term.friction
        piece, rest = term.piece[self.place], term.rest[self.place]
        return contract.Crowd(vertices, edges, faces, piece, rest, *law)

    def touches(self, terms: list[TouchTerm]) -> contract.Touches:
        rows = []
        for term in terms:
            every = np.zeros(self._total)
            every[term.own] = term.stiffness
            rows.append(np.where(self.moved, every[self.place], 0.0))
        kinds = [term.shape.kind for term in terms]
        return contract.Touches(
            np.array(rows).reshape(len(terms), self.place.size),
            np.array([term.margin for term in terms], dtype=np.float64),
            np.array([term.friction for term in terms], dtype=np.float64),
            np.array(kinds, dtype=np.int64),
            np.array([term.shape.moving for term in terms], dtype=np.bool_),
        )


def _joined(none: Array, arrays: list[Any]) -> Array:
    return arrays[0] if len(arrays) == 1 else np.concatenate([none, *arrays])


def _all_corners(each: int, elements: list[np.ndarray]) -> np.ndarray:
    """(m, each), of the kind that loops are compiled for."""
    every = _joined(np.empty((0, each), dtype=np.uint32), elements)
    return np.ascontiguousarray(every, dtype=np.uint32)


def corners_of(term: Any) -> np.ndarray | None:
    for name in ("edges", "tets", "triangles"):
        if hasattr(term, name):
            return np.ascontiguousarray(getattr(term, name), dtype=np.uint32)
    return None
