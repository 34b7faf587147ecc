"""A body as the groups of rows that one compiled call takes through many explicit steps.

Groups are independent bodies where there are many (hair, bristles), else pieces of one body that
lie together in space.  Neither depends on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from weakref import proxy

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee

from ..backends.kernels import take
from ..contracts import Array, Away, Power, Splitting, State, Tableau
from ..errors import InputError
from ..kernels import names as contract
from ..meshes.morton import morton
from ..parts.pattern import sorted_unique
from ..parts.springs import YieldingSprings
from ..parts.terms import (
    DashpotTerm,
    DragTerm,
    FaceTerm,
    FieldTerm,
    ForceTerm,
    SpringTerm,
    TetTerm,
    TieTerm,
    TouchTerm,
    WindTerm,
    stored,
    terms_of,
)
from .few import Few, alone, chosen, divides, picked
from .supports import MOST_LED, rigid
from .ties import NOTHING_TIED, TiedRows, lack_of, stored_beyond, ties_among

if TYPE_CHECKING:
    from .assembly import Assembly
    from .system import System

MANY_BODIES = 64  # then each is a group, whatever the number of threads
BODY_ROWS = 4096  # and none is so large that its rows leave the second-level cache
PIECES = 32  # of a connected body at most: two for each of sixteen threads
PIECE_ROWS = 1500  # at least: smaller ones would share too many of their springs with others
KERNELS = ("explicit_steps", "explicit_stages", "nystrom_steps")
FOUR = 4
PASSES = 12  # over all springs, until most fours are full
ENERGIES = {
    **{SpringTerm: "linear", FaceTerm: "faces", TetTerm: "tets", TouchTerm: "touched"},
    **{FieldTerm: "field", TieTerm: "tied"},
}
LOADS = (ForceTerm, DragTerm, WindTerm, DashpotTerm)
NONE = np.empty(0, dtype=np.int64)
NO_EDGES = np.empty((0, 2), dtype=np.int64)
NOWHERE = np.zeros(2), np.zeros(1)  # kicks and drifts of a step that moves nothing
NO_TABLES = contract.TimeTables(
    *(np.empty((0, 0, 24)), np.empty((0, 0, 16)), np.empty((0, 0, 4)), np.empty((0, 0, 4))),
    *NOTHING_TIED.tables([], np.empty(0), None),
)

Instances = tuple[np.ndarray, np.ndarray]  # elements (q,), the groups (q,) that have them


class Stretched(NamedTuple):
    """Where many steps end: the state, its acceleration (n,) and the velocities (n,) for which it
    was computed, energies [J] added and dissipated, and what contact says about itself."""

    state: State  # Away: what is None is there
    acceleration: Array | None
    ahead: Array | None
    exchanged: Power
    notes: dict[str, float]


class Later(Mapping[str, Array]):
    """Arrays by name, made when somebody asks."""

    def __init__(self, make: Callable[[], Mapping[str, Array]]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> Mapping[str, Array]:
        return self._make()

    def __getitem__(self, name: str) -> Array:
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)


class NoStretch(Exception):
    """Why a body goes step by step."""


class Stretcher:
    """Bound to one system; `steps` moves its states."""

    def __init__(self, system: System) -> None:
        # whose it is: a circle would keep both, and their arrays, until somebody looks for circles
        self._system: System = proxy(system)
        terms = all_terms(system.assembly)
        require_loop(system)
        try:
            self._kernels = take(system.backend, "System", *KERNELS)
        except InputError as lack:
            raise NoStretch(str(lack)) from None
        _require_counted_once(system, terms)
        if lack_of(terms):
            raise NoStretch(f"{lack_of(terms)} have no compiled loop")
        self._terms = terms
        layout = _Layout(system, terms)  # not kept: of a head of hair it is a tenth of a gigabyte
        self._connected, self._bodies = layout.connected, layout.bodies
        self._base: Assembly | None = None  # parts as they were when a state went to the card
        self._unfree: _Unfree | None = None
        self._left, self._names = _left_out(terms, system.numbering.free), None
        if self._left is not None:
            self._names = _energy_names(system.assembly)
        self._body = self._grouped(layout)
        self._tied = NOTHING_TIED
        if self._body.tied:
            groups = self._body.groups
            self._tied = TiedRows(groups.place, groups.mass, system.numbering.free)
        lack = getattr(self._kernels.explicit_steps, "lacks", lambda body: "")(self._body)
        if lack:
            raise NoStretch(lack)
        self._still = _still(self._body)
        varying = WindTerm | DragTerm | ForceTerm | TouchTerm | TieTerm
        self._in_time = bool(system._led) or any(isinstance(t, varying) for t in terms)
        self.elements = self._count_elements()

    def of(self, system: System | None) -> Stretcher:
        """The same for another system with the same parts and no supports: only where particles
        are held is its own.  None: for nobody yet."""
        new = object.__new__(Stretcher)
        vars(new).update(vars(self), _system=None if system is None else proxy(system))
        vars(new).update(_base=None, _unfree=None)
        return new

    def over(self, halo_of: Callable[[np.ndarray, np.ndarray], Any]) -> None:
        """Of a body cut between ranks: halo_of(places, moved) gives what fills rows of others."""
        groups = self._body.groups
        self._body = self._body._replace(halo=halo_of(groups.place, groups.mass > 0.0))

    @property
    def words(self) -> str:
        """How it goes, for people."""
        kind = "pieces of a body" if self._connected else "bodies one after the other"
        count = len(self._body.groups.own)
        if count > 1 and self._body.run.size:
            kind = "runs one after the other"
        return "one call" if count == 1 else f"{count} {kind}"

    def _count_elements(self) -> int:
        """Forces of how many springs, triangles, ... one after the other a step takes."""
        body = self._body
        springs = body.linear.other.size + body.cubic.other.size + body.faces.rest.size
        triangles, tets = len(body.triangles.pressure), len(body.tets.corners)
        every = springs + 3 * triangles + 6 * tets + body.groups.place.size
        return every // getattr(self._system.backend, "abreast", 1)

    # ------------------------------------------------------------------ the body

    def _of(self, kind: type) -> list[Any]:
        return [term for term in self._terms if isinstance(term, kind)]

    def _grouped(self, layout: _Layout) -> contract.GroupedBody:
        system, springs = self._system, self._of(SpringTerm)
        linear, self._linear_at = layout.springs([s for s in springs if not s.cubic])
        cubic, self._cubic_at = layout.springs([s for s in springs if s.cubic])
        fields = (term.acceleration for term in self._of(FieldTerm))
        field, alpha = sum(fields, np.zeros((1, 3))), np.atleast_1d(system.decay)
        count = max(len(field), len(alpha))  # of many runs each may have its own
        alpha = np.broadcast_to(alpha, count).astype(np.float64)
        field = np.column_stack([np.broadcast_to(field, (count, 3)), np.zeros(count)])
        loads = any(isinstance(term, LOADS) for term in self._terms)
        return contract.GroupedBody(
            layout.groups(system),
            linear,
            cubic,
            layout.faces(self._of(FaceTerm)),
            layout.tets(self._of(TetTerm)),
            layout.triangles(self._of(WindTerm)),
            layout.dashpots(self._of(DashpotTerm)),
            layout.drags(self._of(DragTerm), len(self._of(WindTerm))),
            layout.by_row([term.weights for term in self._of(ForceTerm)]),
            layout.touches(self._of(TouchTerm)),
            field,
            alpha,
            layout.run,
            bool(alpha.any() or loads or system.supports),
            bool(self._of(TieTerm)),
        )

    # ------------------------------------------------------------------ steps

    def steps(
        self, scheme: Splitting | Tableau, s: State, a: Array | None, h: float, ends: Array
    ) -> Stretched:
        """From s with the acceleration a (n,), None where the last steps have left it: one step of
        h [s] to each of the times `ends`."""
        card = self._kernels.explicit_steps
        stays = hasattr(card, "keep")  # the state does, where the steps are taken
        if isinstance(s, Away) and a is None:
            if card.holds(s.kept) and s.kept.of(self._body) and self._base is not None:
                return self._further(scheme, s, h, ends)
            a = s.kept.a
        system, free = self._system, self._system.numbering.free
        parts = system.at(s).copied()
        self._remember(parts)
        begun = self._stored_beyond(parts, s)
        x, v = system.own_positions(s), system.row_velocities(s)
        acceleration = cast("Array", a).reshape(-1, 3).copy()
        ahead = None if stays else np.empty((free, 3))
        tables = self._tables(parts, s.t, h, ends, scheme)
        books = self._take(scheme, tables, h, len(ends), x, v, acceleration, ahead)
        if stays:
            self._base = parts
            return self._stayed(s, float(ends[-1]), h, books, begun)
        self._settle(parts, float(ends[-1]) + 0.5 * h)
        end = State(float(ends[-1]), x[:free].ravel(), v[:free].ravel(), parts.memory())
        if system.assembly.remembers:
            system.know(end, parts)
        drawn = self._stored_beyond(parts, end) - begun
        exchanged, notes = self._told(books, self._lifted(s, end) + drawn)
        assert ahead is not None
        return Stretched(end, acceleration.ravel(), ahead.ravel(), exchanged, notes)

    def _take(
        self, scheme: Splitting | Tableau, tables: contract.TimeTables, h: float, *moved: Any
    ) -> Array:
        """moved: how many steps; x, v, a, ahead, or what is kept instead."""
        if isinstance(scheme, Splitting):
            numbers = (*scheme, float(h))
            return self._kernels.explicit_steps(
                self._body, tables, *numbers, *moved, self._connected
            )
        numbers = (scheme.c, scheme.Abar, scheme.A, float(h), scheme.end)
        return self._kernels.nystrom_steps(self._body, tables, *numbers, *moved, self._connected)

    # ------------------------------------------------------------------ states that stay on a card

    def _further(self, scheme: Splitting | Tableau, s: Away, h: float, ends: Array) -> Stretched:
        """From where the last steps have ended."""
        assert self._base is not None
        begun = self._stored_beyond(self._base, s, s.kept.since)
        tables = self._tables(self._base, s.t, h, ends, scheme, s.kept.since)
        books = self._take(scheme, tables, h, len(ends), s.kept, None, None, None)
        return self._stayed(s, float(ends[-1]), h, books, begun)

    def _stayed(self, s: State, t: float, h: float, books: Array, begun: float) -> Stretched:
        """begun: what `_stored_beyond` was."""
        kept, base = self._kernels.explicit_steps.keep(), cast("Assembly", self._base)
        kept.since = t + 0.5 * h  # shapes stand where they are then

        def remembered() -> Mapping[str, Array]:
            parts = base.copied()
            kept.fill_rests()
            self._settle(parts, kept.since)
            return parts.memory()

        memory = Later(remembered) if self._system.assembly.remembers else s.parts
        end = Away(t, kept, memory)
        drawn = self._stored_beyond(base, end, kept.since) - begun
        return Stretched(end, None, None, *self._told(books, self._lifted(s, end) + drawn))

    def _stored_beyond(self, parts: Assembly, s: State, since: float | None = None) -> float:
        """[J] in ties of particles that groups do not move; since: when parts that lead points
        stood where they are, unless they know."""
        free = self._system.numbering.free
        ties = ties_among(all_terms(parts)) if self._body.tied else []
        if not any(np.any(term.rows >= free) for term in ties):
            return 0.0
        return stored_beyond(ties, self._system.row_positions(s), free, since)

    def _told(self, books: Array, lifted: float) -> tuple[Power, dict[str, Any]]:
        """Energies and notes of the body; of many runs arrays, a number for each."""
        total, deepest = books.sum(axis=0), books[:, contract.DEEPEST].max()
        if self._body.run.size:
            total, deepest = books.T, books[:, contract.DEEPEST]
        else:
            total, deepest = total.tolist(), float(deepest)
        notes: dict[str, Any] = {}
        if self._of(TouchTerm):
            notes = {"penetration": deepest, "contacts": total[contract.TOUCHING]}
        return Power(total[contract.ADDED] + lifted, total[contract.DISSIPATED]), notes

    def energies(self, s: State) -> dict[str, float] | None:
        """[J] by part of a state that lies where its steps were taken, and can be told there; None
        elsewhere."""
        if not isinstance(s, Away) or self._names is None or not s.kept.of(self._body):
            return None
        found = s.kept.energies()
        if found is None:
            return None
        lines: dict[str, float] = {**found._asdict()}
        unfree = self._held_and_led()
        lines["field"] += unfree.fixed_weight + unfree.led_weight(s.t)
        for line, energy in unfree.stored.items():
            lines[line] += energy
        lines["tied"] += self._stored_beyond(cast("Assembly", self._base), s, s.kept.since)
        told = {"kinetic": lines["kinetic"]}
        for line, name in self._names:
            told[name] = told.get(name, 0.0) + (lines[line] if line else 0.0)
        return told

    def shown(self, s: State, name: str, single: bool = False) -> Array | None:
        """positions or velocities (N, 3), or contact-force (N,), as the user numbers particles, of
        a state that can be told where it lies, in single precision if so asked; None elsewhere."""
        if not isinstance(s, Away) or not s.kept.of(self._body):
            return None
        system, led = self._system, sum(len(rows) for _, rows in self._system._led)
        if led != int(self._body.groups.led.sum()):
            return None  # some are no row of it

        def begun() -> tuple[Array, np.ndarray]:
            place = self._body.groups.place.astype(np.int64)
            x = system.numbering.given(system.row_positions(s))
            return x, system.numbering.order[place]

        return s.kept.shown(name, begun, single)

    def _held_and_led(self) -> _Unfree:
        if self._unfree is None:
            self._unfree = _Unfree(self._system, self._body.field[0, :3], self._left or [])
        return self._unfree

    def _lifted(self, before: State, after: State) -> float:
        """What supports do against fields [J] on the particles that they lead."""
        if not self._system.supports or not np.any(self._body.field[0, :3]):
            return 0.0
        unfree = self._held_and_led()
        return unfree.led_weight(after.t) - unfree.led_weight(before.t)

    def acceleration(self, s: State) -> Array:
        """(n,), by a step that goes nowhere, and after which nothing happens."""
        parts, free = self._system.at(s), self._system.numbering.free
        self._remember(parts)
        x, v = self._system.own_positions(s), self._system.row_velocities(s)
        a, ahead = np.zeros((2, free, 3))
        where = (1, x, v, a, ahead, self._connected)
        tables = self._timed(parts, np.full(3, s.t), [s.t])
        self._kernels.explicit_steps(self._still, tables, *NOWHERE, 1.0, *where)
        return a.ravel()

    def few(self, s: State) -> Few | None:
        """Some of many bodies, for forces on them alone; None where a body is not divided so."""
        first = self._bodies
        if first is None or not divides(self._still, first):
            return None
        system, parts = self._system, self._system.at(s)
        self._remember(parts)
        these, single = chosen(self._still, first), len(self._still.groups.own) == 1
        body, rows = picked(self._still, first, these) if single else alone(self._still, these)
        place, tables = self._still.groups.place[rows], self._timed(parts, np.full(3, s.t), [s.t])
        x, v = system.row_positions(s)[place], system.row_velocities(s)[place]
        moves = body.groups.inverse > 0.0
        last = int(np.flatnonzero(moves)[-1]) + 1

        def acceleration(own: Array) -> Array:
            x[moves], a, ahead = own, np.zeros((last, 3)), np.empty((last, 3))
            self._kernels.explicit_steps(body, tables, *NOWHERE, 1.0, 1, x, v, a, ahead, False)
            return a[moves[:last]]

        return Few(x[moves], body.groups.mass[moves], acceleration)

    def stages(self, table: Any, s: State, h: float, a: Array, first: int, last: int) -> None:
        """Writes a (m, n), the accelerations of the stages first .. last of a Nyström method."""
        system, parts = self._system, self._system.at(s)
        self._remember(parts)
        x, v = system.row_positions(s), system.row_velocities(s)
        tables = self._timed(parts, s.t + h * table.c, [])
        self._kernels.explicit_stages(
            *(self._body, tables, table.c, table.Abar, table.A, float(h), first, last, x, v),
            *(a.reshape(len(a), -1, 3), self._connected),
        )

    def _remember(self, parts: Assembly) -> None:
        """Rest lengths as they are in this state."""
        for springs, at in (
            (self._body.linear, self._linear_at),
            (self._body.cubic, self._cubic_at),
        ):
            if springs.limit.size:
                cubic = springs is self._body.cubic
                rest = [p.rest for p in _springs(parts) if p.cubic == cubic]
                springs.rest[at.slots] = np.concatenate(rest)[at.spring]

    def _settle(self, parts: Assembly, t: float) -> None:
        """Parts remember what the steps have made of them; shapes stand where they are at t."""
        for springs, at in (
            (self._body.linear, self._linear_at),
            (self._body.cubic, self._cubic_at),
        ):
            if not springs.limit.size:
                continue
            mine = [p for p in _springs(parts) if p.cubic == (springs is self._body.cubic)]
            rest = np.concatenate([p.rest for p in mine])  # of those that nothing moves, too
            rest[at.spring] = springs.rest[at.slots]
            ends = np.cumsum([len(p.rest) for p in mine])
            for part, own in zip(mine, np.split(rest, ends[:-1]), strict=True):
                if isinstance(part, YieldingSprings):
                    part.rest = own
        for _, part in parts.parts:
            if getattr(part, "drives", False):
                part.move(t)

    def _tables(
        self,
        parts: Assembly,
        t: float,
        h: float,
        ends: Array,
        scheme: Splitting | Tableau,
        since: float | None = None,
    ) -> contract.TimeTables:
        """Of every step to one of the times `ends`; since: when shapes stood where they begin,
        unless the parts know."""
        if not self._in_time:  # nothing moves or acts as time goes by
            return NO_TABLES
        within = _times_within(scheme)
        starts = np.concatenate([[t], ends[:-1]])
        times = starts[:, None] + h * np.array(within)
        times = np.where(np.array(within) == 1.0, ends[:, None], times)  # to the last digit
        times = np.where(np.array(within) == 0.0, ends[:, None], times)  # the next one's start
        after = (ends + 0.5 * h).tolist()
        moments = np.concatenate([[t], times.ravel()])
        return self._timed(parts, moments, after, since, goes_on=True)

    def _timed(
        self,
        parts: Assembly,
        moments: Array,
        after: list[float],
        since: float | None = None,
        goes_on: bool = False,
    ) -> contract.TimeTables:
        """Of these times; after: when shapes stand where they do after each step.  Else than where
        time goes on, points that are led stay."""
        if not self._in_time:
            return NO_TABLES
        times, terms = moments.tolist(), all_terms(parts)
        led = np.array(after if goes_on else [])
        winds = [term.wind for term in (*self._of(WindTerm), *self._of(DragTerm))]
        return contract.TimeTables(
            _motions(self._system, times),
            _surfaces(terms, after, since),
            _table(winds, times),
            _table([term.at for term in self._of(ForceTerm)], times),
            *self._tied.tables(ties_among(terms), led, since),
        )


class _Unfree:
    """Energies [J] of particles that are held or led, which rows know nothing of."""

    def __init__(self, system: System, field: Array, left: list[SpringTerm]) -> None:
        numbering, self._field = system.numbering, field
        # support, places at first, masses, and what a rigid motion asks of both
        self._led: list[tuple[Any, Array, Array, Array, float]] = []
        self.fixed_weight, self.stored = 0.0, {}
        if not system.fixed.size:
            return
        held = cast("Array", system._held).reshape(-1, 3)
        mass = system.counted_mass[numbering.order]
        still = np.ones(len(held), dtype=bool)
        for support, rows in system._led:
            start, own = cast("Array", system._frame)[rows], mass[rows]
            self._led.append((support, start, own, own @ start, float(own.sum())))
            still[rows - numbering.free] = False
        self.fixed_weight = -float(mass[numbering.free :][still] @ (held[still] @ field))
        for springs in left:  # between two of one support, or two that are held: never stretched
            edges = springs.edges.astype(np.int64) - numbering.free
            energy = float(stored(springs._replace(edges=edges), held).sum())
            line = "cubic" if springs.cubic else "linear"
            self.stored[line] = self.stored.get(line, 0.0) + energy

    def led_weight(self, t: float) -> float:
        """In fields, of particles that are led."""
        total = 0.0
        for support, start, mass, moment, sum_ in self._led:
            if rigid(support):
                A, b = (own[0] for own in support.affine(np.array([t]))[:2])
                total -= float(self._field @ (A @ moment + sum_ * b))
            else:
                total -= float(mass @ (support.place(t, start)[0] @ self._field))
        return total


def _still(body: contract.GroupedBody) -> contract.GroupedBody:
    """The body, of which nothing yields, rubs or is moved by shapes; of the same kinds of parts,
    for which loops have been compiled."""
    touches = body.touches
    return body._replace(
        linear=_never_yielding(body.linear),
        cubic=_never_yielding(body.cubic),
        touches=touches._replace(
            friction=np.zeros_like(touches.friction), moving=np.zeros_like(touches.moving)
        ),
    )


def _never_yielding(springs: contract.GroupedSprings) -> contract.GroupedSprings:
    if not springs.limit.size:
        return springs
    return springs._replace(limit=np.full_like(springs.limit, np.inf), common=np.inf)


def _times_within(scheme: Splitting | Tableau) -> list[float]:
    """The times that tables have of each step, in parts of it, after its start."""
    if isinstance(scheme, Splitting):
        return [0.5, *np.cumsum(scheme.drifts)[:-1], 1.0]
    return [*scheme.c[1 : scheme.end + 1], 0.5, 0.0]


def _springs(parts: Assembly) -> list[Any]:
    return [p for _, p in parts.parts if hasattr(p, "terms") and hasattr(p, "cubic")]


def _left_out(terms: list[Any], free: int) -> list[SpringTerm] | None:
    """Springs between particles that do not move, which are no group's; None where there are
    others of the kind, or such that yield."""
    left: list[SpringTerm] = []
    for term in terms:
        corners = None if isinstance(term, WindTerm | DashpotTerm) else _corners(term)
        held = NONE if corners is None else np.flatnonzero(_all_beyond(free, corners))
        if held.size and (not isinstance(term, SpringTerm) or term.limit is not None):
            return None
        if held.size:
            own: Any = term
            numbers = own.stiffness[held], own.rest[held]
            left.append(SpringTerm(own.edges[held], *numbers, own.cubic))
    return left


def _all_beyond(free: int, corners: np.ndarray) -> np.ndarray:
    """(m,): whether no corner of an element (m, c) moves; by columns, which are long."""
    return np.logical_and.reduce([column >= free for column in corners.T])


def _energy_names(assembly: Assembly) -> list[tuple[str, str]] | None:
    """(line of what a card tells, name in the ledger), in its order; None where two parts of one
    kind have different names: a card adds them up."""
    lines: dict[str, str] = {}
    found: list[tuple[str, str]] = []
    for name, part in assembly.potentials:
        found.append(("", name))  # has a line in the ledger, whatever it is made of
        for term in terms_of(part) or ():
            line = ENERGIES.get(type(term), "")
            line = "cubic" if line == "linear" and term.cubic else line
            if lines.setdefault(line, name) != name:
                return None
    return [*dict.fromkeys([*found, *lines.items()])]


def require_loop(system: System) -> None:
    """NoStretch where a system has what no loop knows, besides parts without terms."""
    if system.damping is not None and system.damping.beta:
        raise NoStretch("Rayleigh damping with beta has no compiled loop")
    if not system.lumped:
        raise NoStretch("a consistent mass has no compiled loop")
    if system.guarded:
        raise NoStretch("contact of bodies with each other has no compiled loop")
    for support, led in system._led:
        if not rigid(support) and len(led) > MOST_LED:
            kind = type(support).__name__
            raise NoStretch(
                f"{kind} supports of more than {MOST_LED} particles have no compiled loop"
            )


def all_terms(assembly: Assembly) -> list[Any]:
    found: list[Any] = []
    for name, part in assembly.parts:
        terms = terms_of(part)
        if terms is None:
            raise NoStretch(f"{name} ({type(part).__name__}) has no compiled loop")
        found += terms
    return found


# ------------------------------------------------------------------ tables


def _table(functions: Sequence[Callable[[float], Array]], times: list[float]) -> Array:
    """(functions, times, 4) of vectors that vary with time."""
    table = np.zeros((len(functions), len(times), 4))
    for row, function in zip(table, functions, strict=True):
        for entry, t in zip(row, times, strict=True):
            entry[:3] = function(t)
    return table


def _motions(system: System, times: list[float]) -> Array:
    """(motions, times, 24): A, b, A', b' of x = A home + b; of a path A is zero."""
    made = [np.empty((0, len(times), 24))]
    for support, led in system._led:
        alike = rigid(support)
        rows = np.zeros((1 if alike else len(led), len(times), 24))
        if alike:
            A, b, turning, velocity = support.affine(np.array(times))
            rows[0, :, :9], rows[0, :, 9:12] = A.reshape(-1, 9), b
            rows[0, :, 12:21], rows[0, :, 21:] = turning.reshape(-1, 9), velocity
        else:
            start = cast("Array", system._frame)[led]
            for k, t in enumerate(times):
                rows[:, k, 9:12], rows[:, k, 21:] = support.place(t, start)
        made.append(rows)
    table = np.concatenate(made)
    return table


def _surfaces(terms: list[Any], times: list[float], since: float | None) -> Array:
    """(shapes, 1 + times, 16): where shapes stand now, and after each step."""
    touches = [term for term in terms if isinstance(term, TouchTerm)]
    table = np.zeros((len(touches), 1 + len(times), 16))
    for rows, term in zip(table, touches, strict=True):
        shape = term.shape
        rows[:] = _surface(shape, shape.frame(term.since if since is None else since))
        if shape.moving and times:
            rows[1:] = _surface(shape, shape.frames(np.array(times)))
    return table


def _surface(shape: Any, frame: Any) -> Array:
    """(16,) of one frame, (m, 16) of many."""
    told = shape.numbers(frame), frame.origin, frame.velocity, frame.spin
    return np.concatenate(told, axis=-1)


# ------------------------------------------------------------------ groups


def _require_counted_once(system: System, terms: list[Any]) -> None:
    """Air on particles that are held adds as much as it takes, and moves nothing: groups do not see
    all of them, so the ledger's lines would be others."""
    free = system.numbering.free
    for term in terms:
        blown = isinstance(term, DragTerm) and not term.still and np.any(term.coefficient[free:])
        if blown or (isinstance(term, DragTerm) and system.supports):
            raise NoStretch("drag on particles that are held has no compiled loop")
        if isinstance(term, WindTerm) and np.any((term.triangles >= free).all(axis=1)):
            raise NoStretch("wind on triangles that are held has no compiled loop")


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


class _Slots(NamedTuple):
    """Where springs lie: spring (q,) of all in order of their parts, slots (q,)."""

    spring: np.ndarray
    slots: np.ndarray


class _Layout:
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
        others = [_corners(term) for term in terms if not isinstance(term, TetTerm)]
        light = [corners for corners in others if corners is not None]
        elements = [*light, *solid]
        local = any(isinstance(term, WindTerm | DashpotTerm) for term in terms)
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
            led = self._led[corners[_all_beyond(self._free, corners)]]
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

    def springs(self, terms: list[SpringTerm]) -> tuple[contract.GroupedSprings, _Slots]:
        if not terms:
            start, other = np.zeros(self.place.size + 1, np.uint32), np.empty(0, np.uint32)
            none = np.empty(0)
            made = contract.GroupedSprings(start, other, none, none, none, none, -1.0)
            return made, _Slots(NONE, NONE)
        edges = _all_corners(2, [term.edges for term in terms])
        element, group = self._instances(edges)
        ends = self._rows_of(edges, element, group)
        counts = self._loops.turn_springs(ends, self._led[self.place] >= 0, self._drawn())
        start = np.concatenate([[0], np.cumsum(-(-counts // FOUR) * FOUR)])
        slots = self._loops.slots_in_rows(ends[:, 0], start)
        nothing = (self.first[1:] - 1 - self.first[:-1]).astype(np.uint32)
        other = np.repeat(nothing[self.group], np.diff(start))
        other[slots] = ends[:, 1] - self.first[group].astype(np.int32)
        del ends, group  # of a head of hair these are gigabytes

        def values(given: list[Any], default: float) -> Array:
            made = np.full(start[-1], default)
            made[slots] = _joined(np.empty(0), given)[element]
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
        return made, _Slots(element, slots) if yielding else _Slots(NONE, NONE)

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


def _corners(term: Any) -> np.ndarray | None:
    for name in ("edges", "tets", "triangles"):
        if hasattr(term, name):
            return np.ascontiguousarray(getattr(term, name), dtype=np.uint32)
    return None
