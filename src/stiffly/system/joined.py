"""Many systems side by side, one body each: a compiled loop takes all of them through their steps.

Each run keeps the particles, springs, gravity and damping of its own; what loops have in tables for
all rows (forces of time, drag, shapes that are touched) has to be the same in most of them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ..backends.cpu import CPU
from ..contracts import Array, Backend, State
from ..errors import InputError
from ..parts.pattern import Numbering
from ..parts.terms import (
    ON_CARDS,
    DashpotTerm,
    DragTerm,
    FaceTerm,
    FieldTerm,
    ForceTerm,
    SpringTerm,
    Term,
    TetTerm,
    TieTerm,
    TouchTerm,
    WindTerm,
    stored,
    terms_of,
)
from .assembly import Assembly
from .groups import NoStretch
from .mass import LumpedMass
from .stretch import Stretcher, require_loop
from .system import System

MOST_TABLES = 32  # of numbers for every row, most of which are zero where runs differ
ALONE = "simulate it by itself"


@contextmanager
def naming(run: int) -> Any:
    """What is wrong with one of many says with which."""
    try:
        yield
    except InputError as problem:
        raise InputError(f"run {run}: {problem}") from None


class Joined:
    """Systems to be bound and stepped together."""

    def __init__(self, systems: Sequence[System], backend: Backend = CPU) -> None:
        self._systems, self._backend = systems, backend
        for run, system in enumerate(systems):
            with naming(run):
                _require_joinable(system)

    def on(self, backend: Backend) -> Joined:
        return Joined(self._systems, backend)

    def bind(self, x0: Sequence[Any], v0: Sequence[Any]) -> tuple[BoundTogether, State]:
        """x0, v0: of each run, as `System.bind` has them."""
        own = []
        for run, (system, x, v) in enumerate(zip(self._systems, x0, v0, strict=True)):
            with naming(run):
                own.append(system.bind(x, v))
        made = BoundTogether(own, self._backend)
        return made, made.begin


def _require_joinable(system: Any) -> None:
    if not isinstance(system, System):
        raise InputError(
            f"{type(system).__name__} cannot be stepped with others: give a stiffly.System or a "
            "scene made of one"
        )
    try:
        require_loop(system)
    except NoStretch as reason:
        raise InputError(f"{reason}; {ALONE}") from None
    if system.damping is not None and system.damping.beta:
        raise InputError(f"Rayleigh damping with beta cannot be stepped with others; {ALONE}")
    if system.supports:
        raise InputError(f"supports that move cannot be stepped with others; {ALONE}")
    if system.assembly.remembers:
        raise InputError(f"springs that yield and shapes that move cannot be joined; {ALONE}")


class BoundTogether:
    """What a time loop asks of a system, of many at once: sums and energies are arrays (runs,).

    Rows are the free particles of all runs, one run behind the other, then the held ones.
    """

    damping = None
    lumped, guarded, settles = True, False, False
    supports: tuple[()] = ()

    def __init__(self, own: list[tuple[System, State]], backend: Backend) -> None:
        self.own, self.backend = own, backend
        systems, states = zip(*own, strict=True)
        self._led: list[Any] = []
        self.pattern = systems[0].pattern  # for the backend that lays out, the same for all
        self.decay = np.array([system.decay for system in systems])
        self.conservative = all(system.conservative for system in systems)
        self.time_dependent = any(system.time_dependent for system in systems)
        self.velocity_dependent = any(system.velocity_dependent for system in systems)
        self._number(systems)
        self.size = 3 * self.numbering.free
        masses = [system.mass.apply(np.ones(system.size)) for system in systems]
        self.mass = LumpedMass(np.concatenate(masses))
        every = [np.asarray(s.given.mass)[s.numbering.order] for s in systems]
        self._mass = self._by_row(every)
        held = [s.row_positions(z)[s.numbering.free :] for s, z in own]
        self._held = np.concatenate(held).ravel()
        x, v = (np.concatenate([getattr(z, name) for z in states]) for name in "xv")
        self.begin = State(0.0, x, v)
        joining = _Joining(self)
        self.assembly = Assembly([("all runs", joining)])
        self.assembly.linear = False  # nobody knows: no step is too long for certain
        self._energies, self._apart = joining.energies, joining.apart
        self.touching = [k for k, s in enumerate(systems) if _touches(s)]  # shapes
        self._stretcher: Stretcher | None = None

    def _number(self, systems: Sequence[System]) -> None:
        """numbering; runs (N,): of each row; `rows`: those of each run, free ones first."""
        counts = np.array([system.particles for system in systems])
        free = np.array([system.numbering.free for system in systems])
        moved, held = np.cumsum(free) - free, np.cumsum(counts - free) - (counts - free)
        begun, total = np.cumsum(counts) - counts, int(free.sum())
        self.rows = [
            np.concatenate([m + np.arange(f), total + h + np.arange(c - f)])
            for m, f, h, c in zip(moved, free, held, counts, strict=True)
        ]
        order = np.empty(int(counts.sum()), dtype=np.int64)
        self.runs = np.empty_like(order)
        for run, (system, rows) in enumerate(zip(systems, self.rows, strict=True)):
            order[rows] = begun[run] + system.numbering.order
            self.runs[rows] = run
        self.numbering = Numbering(order, total)
        self.fixed = np.arange(total, order.size)
        self.starts, self._free_starts = begun, moved

    def _by_row(self, values: Sequence[Array]) -> Array:
        """(N, ...) from what each run has by its own rows."""
        made = np.empty((self.runs.size, *values[0].shape[1:]))
        for rows, own in zip(self.rows, values, strict=True):
            made[rows] = own
        return made

    # ------------------------------------------------------------------ as loops see it

    @property
    def stretcher(self) -> Stretcher:
        if self._stretcher is None:
            try:
                self._stretcher = Stretcher(self)  # type: ignore[arg-type]  # has what it asks for
            except NoStretch as reason:
                raise InputError(f"{reason}: simulate these runs one by one") from None
        return self._stretcher

    @property
    def laid_out(self) -> Stretcher:
        return self.stretcher

    def at(self, s: State) -> Assembly:
        return self.assembly

    def acceleration(self, s: State) -> Array:
        return self.stretcher.acceleration(s)

    def row_positions(self, s: State) -> Array:
        return np.concatenate([s.x, self._held]).reshape(-1, 3)

    own_positions = row_positions

    def row_velocities(self, s: State) -> Array:
        full = np.zeros((self.runs.size, 3))
        full.ravel()[: self.size] = s.v
        return full

    # ------------------------------------------------------------------ as users see it

    def positions(self, s: State) -> Array:
        """All particles (N, 3) as they are numbered, run by run."""
        return self.numbering.given(self.row_positions(s))

    def velocities(self, s: State) -> Array:
        return self.numbering.given(self.row_velocities(s))

    def diagnostics(self, s: State) -> dict[str, float]:
        return {}

    def of(self, run: int, s: State) -> State:
        """The state of one run."""
        free = slice(3 * self._free_starts[run], None)
        size = self.own[run][0].size
        return State(s.t, s.x[free][:size], s.v[free][:size])

    def finite(self, s: State) -> np.ndarray:
        """(runs,): whether all its coordinates and velocities are numbers."""
        return np.isfinite(np.add.reduceat(s.x * s.v, 3 * self._free_starts))

    def energy(self, s: State) -> dict[str, Array]:
        """[J] of each part and run; of runs that have no such part zero."""
        x, count = self.row_positions(s), len(self.own)
        kinetic = 0.5 * np.add.reduceat(self.mass.diagonal * s.v * s.v, 3 * self._free_starts)
        found: dict[str, Array] = {"kinetic": kinetic}
        for name, energy in self._energies:
            element, run = energy(x)
            found[name] = found.get(name, 0.0) + np.bincount(run, element, count)
        for run, name, part in self._apart:
            found.setdefault(name, np.zeros(count))[run] += part.energy(x[self.rows[run]])
        return found

    def weight_energy(self, g: Array, x: Array) -> tuple[Array, np.ndarray]:
        """Of each particle in the fields g (runs, 3), and its run."""
        return -self._mass * np.einsum("ij,ij->i", g[self.runs], x), self.runs

    def fields(self, s: State) -> dict[str, Array]:
        """What parts record of themselves: the forces of contact, NaN where a run has none."""
        if not self.touching:
            return {}
        made = np.full(self.runs.size, np.nan)
        for run in self.touching:
            own, at = self.own[run][0], self.starts[run]
            made[at : at + own.particles] = own.fields(self.of(run, s))["contact-force"]
        return {"contact-force": made}


def _touches(system: System) -> bool:
    return any(getattr(part, "passing", False) for _, part in system.assembly.parts)


# ------------------------------------------------------------------ parts of all runs


class _Joining:
    """The terms of all runs as a few, and who tells the energies of parts: `energies`, functions of
    the positions that give those of elements and their runs; `apart`, parts that are asked one by
    one."""

    def __init__(self, body: BoundTogether) -> None:
        self._body = body
        self.apart: list[tuple[int, str, Any]] = []
        found: dict[Hashable, list[_Piece]] = {}
        for run, (system, _) in enumerate(body.own):
            with naming(run):
                for name, part in system.assembly.parts:
                    self._sort(run, name, part, found)
        self._terms, self.energies = [], []
        for key, pieces in found.items():
            self._join(key, pieces)
        tables = [t for t in self._terms if isinstance(t, ForceTerm | DragTerm | TouchTerm)]
        if len(tables) > MOST_TABLES:
            raise InputError(
                f"these runs have {len(tables)} different forces of time, drags and shapes to "
                f"touch, but {MOST_TABLES} can be joined: give runs the same ones, or simulate "
                "them one by one"
            )

    def terms(self) -> list[Term]:
        return self._terms

    def _sort(self, run: int, name: str, part: Any, found: dict[Hashable, list[_Piece]]) -> None:
        terms = terms_of(part)
        if terms is None or any(isinstance(term, (TieTerm, *ON_CARDS)) for term in terms):
            raise InputError(f"{name} ({type(part).__name__}) has no compiled loop; {ALONE}")
        for term in terms:
            key: Any = _alike(name, term)
            while isinstance(term, TouchTerm) and found.get(key, NOBODY)[-1].run == run:
                key = (*key, "again")  # a shape that a particle feels twice
            found.setdefault(key, []).append(_Piece(run, term))
        told = all(isinstance(term, SpringTerm | FieldTerm) for term in terms)
        if hasattr(part, "energy") and not told:
            self.apart.append((run, name, part))

    def _join(self, key: Any, pieces: list[_Piece]) -> None:
        kind, name = type(pieces[0].term), key[1]
        joined = _JOINS[kind](self._body, pieces)
        self._terms.append(joined)
        body = self._body
        if isinstance(joined, SpringTerm):
            run = body.runs[joined.edges[:, 0]]
            self.energies.append((name, lambda x: (stored(joined, x), run)))
        if isinstance(joined, FieldTerm):
            self.energies.append((name, lambda x: body.weight_energy(joined.acceleration, x)))


class _Piece(NamedTuple):
    run: int
    term: Any


NOBODY = [_Piece(-1, None)]


def _alike(name: str, term: Term) -> Hashable:
    """Terms with the same key are one term of all runs."""
    kind = type(term).__name__
    if isinstance(term, SpringTerm):
        return kind, name, term.cubic
    if isinstance(term, FieldTerm):
        return kind, name
    if isinstance(term, TetTerm):
        return kind, "", term.material
    if isinstance(term, DragTerm):
        return kind, "", term.power, _function(term.wind)
    if isinstance(term, WindTerm):
        return kind, "", _function(term.wind)
    if isinstance(term, ForceTerm):
        return kind, "", _function(term.at)
    if isinstance(term, TouchTerm):
        surface = term.shape.placed(term.shape.frame(term.since))
        return kind, "", term.margin, term.friction, surface.kind, surface.numbers.tobytes()
    return kind, ""


def _function(at: Any) -> Hashable:
    """What a function of time is known by: the vector that it always gives, or itself."""
    given = at.args[-1]  # a partial, see `vector_of_time`
    return given.tobytes() if isinstance(given, np.ndarray) else id(given)


def _values(pieces: list[_Piece], name: str) -> Array:
    return np.concatenate([getattr(piece.term, name) for piece in pieces])


def _corners(body: BoundTogether, pieces: list[_Piece], name: str) -> np.ndarray:
    """Elements of all runs, by the rows of all."""
    return np.concatenate([body.rows[p.run][getattr(p.term, name)] for p in pieces])


def _of_rows(body: BoundTogether, pieces: list[_Piece], name: str) -> Array:
    made = np.zeros(body.runs.size)
    for piece in pieces:
        made[body.rows[piece.run]] += getattr(piece.term, name)
    return made


def _springs(body: BoundTogether, pieces: list[_Piece]) -> SpringTerm:
    edges = _corners(body, pieces, "edges").astype(np.uint32)
    stiffness, rest = (_values(pieces, name) for name in ("stiffness", "rest"))
    return SpringTerm(edges, stiffness, rest, pieces[0].term.cubic)


def _tets(body: BoundTogether, pieces: list[_Piece]) -> TetTerm:
    shape, moduli = (_values(pieces, name) for name in ("shape", "moduli"))
    return TetTerm(_corners(body, pieces, "tets"), shape, moduli, pieces[0].term.material)


def _fields(body: BoundTogether, pieces: list[_Piece]) -> FieldTerm:
    made = np.zeros((len(body.own), 3))
    for piece in pieces:
        made[piece.run] += piece.term.acceleration
    return FieldTerm(made)


def _touched(body: BoundTogether, pieces: list[_Piece]) -> TouchTerm:
    first = pieces[0].term
    rest = (first.margin, first.friction, first.shape, first.since)
    return TouchTerm(_corners(body, pieces, "own"), _values(pieces, "stiffness"), *rest)


def _drags(body: BoundTogether, pieces: list[_Piece]) -> DragTerm:
    return DragTerm(_of_rows(body, pieces, "coefficient"), *pieces[0].term[1:])


def _winds(body: BoundTogether, pieces: list[_Piece]) -> WindTerm:
    corners = _corners(body, pieces, "triangles")
    return WindTerm(corners, _values(pieces, "pressure"), pieces[0].term.wind)


_JOINS: dict[type, Callable[[BoundTogether, list[_Piece]], Any]] = {
    SpringTerm: _springs,
    TetTerm: _tets,
    FieldTerm: _fields,
    TouchTerm: _touched,
    DragTerm: _drags,
    WindTerm: _winds,
    FaceTerm: lambda body, pieces: FaceTerm(
        _corners(body, pieces, "tets"), _values(pieces, "stiffness"), _values(pieces, "rest")
    ),
    DashpotTerm: lambda body, pieces: DashpotTerm(
        _corners(body, pieces, "edges"), _values(pieces, "coefficient")
    ),
    ForceTerm: lambda body, pieces: ForceTerm(_of_rows(body, pieces, "weights"), pieces[0].term.at),
}
