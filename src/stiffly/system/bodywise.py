"""Implicit steps body by body: where a system falls apart into independent bodies, and all its
parts have a formula that the kernel body_newton knows, every body has its own Newton iteration.

Bodies of one structure (the same envelope, the same springs between particles of the same places)
are laid out in groups of LANES, side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import is_not
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee

from ..backends.kernels import take
from ..contracts import Array, BodyProblem, BodySolution, State, Work
from ..errors import InputError
from ..kernels.names import (
    BODY_CHANGE,
    BODY_COUNTS,
    BODY_COVERED,
    BODY_DISSIPATED,
    BODY_EVALUATIONS,
    BODY_FACTORIZATIONS,
    BODY_FAILED,
    BODY_HALVINGS,
    BODY_NUMBERS,
    BODY_RESIDUAL,
    BODY_SOLVES,
    BODY_TANGENTS,
    LANES,
)
from ..matfun.components import ranges
from ..parts.pattern import BlockPattern
from ..parts.terms import FieldTerm, SpringTerm, TouchTerm, terms_of

if TYPE_CHECKING:
    from .system import System

# Entries of J, of one body, LANES of which fill a second-level cache of 1 MB: beyond it the
# elimination waits for memory, and a sparse one has less to do.
LARGEST_ENVELOPE = 2**20 // (8 * LANES)
HANDS = 64  # groups are dealt like cards: neighbours touch at the same time, and cost more then


def bodywise(system: System, s: State) -> Bodywise | None:
    """The system as it is in s, body by body; None where it is not made for that."""
    parts = system.at(s)
    beta = 0.0 if system.damping is None else system.damping.beta
    if system.pattern.bodies is None or not system.lumped or parts.loads or beta > 0.0:
        return None
    given = _known_terms(parts)
    if given is None:
        return None
    springs = [term for term in given if isinstance(term, SpringTerm)]
    if len({term.cubic for term in springs}) > 1:
        return None
    known = system.layouts
    key = tuple(id(term.edges) for term in springs)
    if key not in known:
        edges = [term.edges.astype(np.int64) for term in springs]
        pairs = np.concatenate([np.empty((0, 2), dtype=np.int64), *edges])
        layout = Layout(system.pattern, system.numbering.free, pairs)
        known[key] = layout, [term.edges for term in springs]  # these keep their ids
    layout = known[key][0]
    if layout.largest > LARGEST_ENVELOPE:
        return None
    try:
        kernels = take(system.backend, "System", "body_newton")
    except InputError:
        return None
    return Bodywise(system, layout, given, kernels)


def _known_terms(parts: Any) -> list[Any] | None:
    """Of all potentials; None where one has others than springs, gravity and contact."""
    found: list[Any] = []
    for _, part in parts.potentials:
        terms = terms_of(part)
        known = SpringTerm, FieldTerm, TouchTerm  # themselves: contact with meshes is another kind
        if terms is None or not all(type(term) in known for term in terms):
            return None
        found += terms
    return found


class Layout:
    """Where each body's particles and springs are: see the kernel body_newton."""

    def __init__(self, pattern: BlockPattern, free: int, edges: np.ndarray) -> None:
        """free: rows that move; edges (m, 2): rows of springs, in the order of their stiffness."""
        assert pattern.bodies is not None
        self._labels, self._sizes = pattern.bodies.labels, pattern.bodies.sizes
        self.count = self._sizes.size
        self._made: dict[str, tuple[list[Any], Array]] = {}
        self._members, self._start, place, first = _ordered(pattern, free, self._labels)
        self._own_springs(np.sort(edges, axis=1), place, free, pattern.count)
        kinds: dict[Any, list[int]] = {}
        for body in range(self.count):
            held = self._held_at[body + 1] - self._held_at[body]
            own = first[self._start[body] : self._start[body + 1]]
            key = own.tobytes(), held, self._ends(body).tobytes()
            kinds.setdefault(key, []).append(body)
        groups = [self._structure(bodies[0], first) for bodies in kinds.values()]
        self.largest = max(envelope.size for *_, envelope in groups)
        self._lay_out(list(kinds.values()), groups)

    def _own_springs(self, edges: np.ndarray, place: np.ndarray, free: int, count: int) -> None:
        """Springs body by body; their ends as places, those that hold a body after its own."""
        which = np.flatnonzero(edges[:, 0] < free)
        low, high = edges[which].T
        body, inner = self._labels[low], high < free
        ends = np.stack([place[low], np.zeros_like(low)], axis=1)
        ends[inner, 1] = place[high[inner]]
        ends[inner] = np.sort(ends[inner], axis=1)
        outer = ~inner
        keys, found = np.unique(body[outer] * count + high[outer], return_inverse=True)
        self._held, owner = keys % count, keys // count
        self._held_at = np.searchsorted(owner, np.arange(self.count + 1))
        ends[outer, 1] = self._sizes[body[outer]] + found - self._held_at[body[outer]]
        order = np.lexsort((ends[:, 1], ends[:, 0], body))
        self._which, self._places = which[order], ends[order]
        self._spring_at = np.searchsorted(body[order], np.arange(self.count + 1))

    def _ends(self, body: int) -> np.ndarray:
        return self._places[self._spring_at[body] : self._spring_at[body + 1]]

    def _structure(self, body: int, first: np.ndarray) -> tuple[np.ndarray, ...]:
        """first, last, base, ends, and the place of every entry of the envelope."""
        low = first[self._start[body] : self._start[body + 1]]
        last = np.arange(low.size)
        for i, begin in enumerate(low):  # rows below reach up: U has the envelope of L
            last[begin:i] = np.maximum(last[begin:i], i)
        lengths = np.repeat(3 * (last - low + 1), 3)
        begin = np.cumsum(lengths) - lengths - 3 * np.repeat(low, 3)
        return low, last, begin.view(np.uint64), self._ends(body), np.arange(lengths.sum())

    def _lay_out(self, kinds: list[list[int]], structures: list[tuple[np.ndarray, ...]]) -> None:
        shapes, lanes = [], []
        for shape, bodies in enumerate(kinds):
            for at in range(0, len(bodies), LANES):
                own = bodies[at : at + LANES]
                shapes.append(shape)
                lanes.append(own + [-1] * (LANES - len(own)))
        bodies = np.array(lanes)
        full = np.where(bodies < 0, bodies[:, :1], bodies)  # empty lanes repeat the first
        first, last, base, ends, _ = map(list, zip(*structures, strict=True))
        member_at, members = _side_by_side(full, self._start, self._members)
        held_at, held = _side_by_side(full, self._held_at, self._held)
        self.pull_at, self._pulls = _side_by_side(full, self._spring_at, self._which)
        row_at, spring_at = (_begin([len(own) for own in each]) for each in (first, ends))
        self.order = np.concatenate([np.arange(len(full))[hand::HANDS] for hand in range(HANDS)])
        self.arrays = (
            *(np.array(shapes), bodies, member_at, members, held_at, held, row_at),
            *(np.concatenate(first), np.concatenate(last), np.concatenate(base)),
            *(spring_at, np.concatenate(ends).astype(np.uint32)),
        )

    def of_springs(self, values: list[Array]) -> Array:
        """(.., LANES): numbers of springs (m,) of several parts, in lanes."""
        return np.concatenate([np.empty(0), *values])[self._pulls]

    def kept(self, name: str, sources: list[Any], make: Callable[[list[Any]], Array]) -> Array:
        """make(sources), or what was made of the very same sources the last time."""
        old = self._made.get(name)
        if old is None or len(old[0]) != len(sources) or any(map(is_not, old[0], sources)):
            old = self._made[name] = sources, make(sources)
        return old[1]

    def name(self, body: int) -> int:
        """A row of its particles."""
        return int(self._members[self._start[body] : self._start[body + 1]].min())


def _ordered(
    pattern: BlockPattern, free: int, labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows body by body in an order of small bandwidth, where each body begins, the place of each
    row in its body, and the first place that each member is coupled to."""
    entries = np.ones(pattern.nnz, dtype=np.int8)
    graph = sp.csr_matrix((entries, pattern.indices, pattern.indptr), shape=(free, free))
    order = reverse_cuthill_mckee(graph, symmetric_mode=True)
    members = order[np.argsort(labels[order], kind="stable")].astype(np.int64)
    start = _begin(np.bincount(labels))
    place = np.empty(free, dtype=np.int64)
    place[members] = np.arange(free) - start[labels[members]]
    first = np.minimum.reduceat(place[pattern.indices], pattern.indptr[:-1])
    return members, start, place, first[members]


def _begin(lengths: Any) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _side_by_side(full: np.ndarray, start: np.ndarray, values: np.ndarray) -> Any:
    """Where each group begins, and its bodies' values (.., LANES), lane by lane."""
    lengths = np.diff(start)[full[:, 0]]
    columns = [values[ranges(start[lane], lengths)] for lane in full.T]
    return _begin(lengths), np.ascontiguousarray(np.stack(columns, axis=1))


class Bodywise:
    """A system in one state, ready for the kernel."""

    def __init__(self, system: System, layout: Layout, given: list[Any], kernels: Any) -> None:
        self._system, self._layout, self._kernels = system, layout, kernels
        springs = [term for term in given if isinstance(term, SpringTerm)]
        touches = [term for term in given if isinstance(term, TouchTerm)]
        fields = [term.acceleration for term in given if isinstance(term, FieldTerm)]
        count, kept = system.particles, layout.kept
        stiffness = kept("stiffness", [term.stiffness for term in springs], layout.of_springs)
        rest = kept("rest", [term.rest for term in springs], layout.of_springs)
        self._springs = layout.pull_at, stiffness, rest, any(term.cubic for term in springs)
        self._mass = kept("mass", [system.mass], _of_particles)
        self._weight = kept("weight", fields, lambda each: _weights(self._mass, each, count))
        own = [term.stiffness for term in touches]
        hard = kept("touch", own, lambda _: _touch_stiffness(touches, count))
        surfaces = [term.shape.placed(term.shape.frame(term.since)) for term in touches]
        self._touches = (
            np.array([surface.kind for surface in surfaces], dtype=np.int64),
            np.concatenate([np.empty((0, 7)), *(surface.numbers for surface in surfaces)]),
            np.array([term.margin for term in touches], dtype=np.float64),
            hard,
        )

    def solve(self, problem: BodyProblem) -> BodySolution:
        system, layout, s0, h = self._system, self._layout, problem.start, problem.h
        before = system.row_positions(s0)
        moved = s0.moved(problem.t, s0.x, s0.v)
        after = system.row_positions(moved) if system.supports else before
        flat = (problem.p, problem.q, h * s0.v, problem.d.copy())
        p, q, stride, d = (a.reshape(-1, 3) for a in flat)
        damping = 0.0 if system.damping is None else system.damping.alpha
        theta, halvings = 0.5 if problem.mean else 1.0, problem.halvings
        if system.supports:  # where they are in between is not known to the kernel
            halvings = 0
        until = (problem.tolerance, problem.most_iterations, halvings)
        numbers = (*problem.weights, theta, h, damping, *until)
        x, v = np.empty((2, *d.shape))
        report = np.zeros((layout.count, BODY_NUMBERS))
        counts = np.zeros((layout.count, BODY_COUNTS), dtype=np.int64)
        motion = (before, after, p, q, stride, self._mass, self._weight)
        self._kernels.body_newton(
            layout.order, layout.arrays, self._springs, self._touches, motion, numbers,
            d, x, v, report, counts,
        )  # fmt: skip
        return self._solved(d, x, v, report, counts)

    def _solved(
        self, d: Array, x: Array, v: Array, report: Array, counts: np.ndarray
    ) -> BodySolution:
        bad = np.flatnonzero(counts[:, BODY_FAILED])
        most = counts.max(axis=0).tolist()
        work = Work(
            force_evaluations=most[BODY_EVALUATIONS],
            tangents=most[BODY_TANGENTS],
            factorizations=most[BODY_FACTORIZATIONS],
            linear_solves=most[BODY_SOLVES],
            newton_iterations=most[BODY_SOLVES],
            rejected_steps=most[BODY_HALVINGS],
        )
        size, moved, covered = (
            float(np.linalg.norm(report[:, k])) for k in (BODY_RESIDUAL, BODY_CHANGE, BODY_COVERED)
        )
        scale, failed = moved + covered, None
        residual = size / scale if scale > 0.0 else float(size > 0.0)
        if bad.size:
            failed = int(self._system.numbering.order[self._layout.name(int(bad[0]))])
        dissipated = float(report[:, BODY_DISSIPATED].sum())
        found = (residual, work, most[BODY_HALVINGS], dissipated, failed)
        return BodySolution(d.ravel(), x.ravel(), v.ravel(), *found)


def _of_particles(mass: list[Any]) -> Array:
    """(n,) [kg], from a lumped mass."""
    return mass[0].apply(np.ones(mass[0].size))[::3].copy()


def _weights(mass: Array, fields: list[Array], count: int) -> Array:
    """The gradient (N, 3) [N] of uniform fields, zero where a particle is held."""
    gradient = np.zeros((count, 3))
    gradient[: mass.size] = -mass[:, None] * sum(fields, np.zeros(3))
    return gradient


def _touch_stiffness(terms: list[TouchTerm], count: int) -> Array:
    """(surfaces, N) [N/m], zero where a particle does not touch."""
    every = np.zeros((len(terms), count))
    for row, term in zip(every, terms, strict=True):
        row[term.own] = term.stiffness
    return every
