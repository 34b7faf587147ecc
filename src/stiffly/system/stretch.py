"""Many explicit steps of a system in one compiled call, in groups of rows (system/groups.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from weakref import proxy

import numpy as np

from ..backends.kernels import take
from ..contracts import Array, Away, Power, Splitting, State, Tableau
from ..errors import InputError
from ..kernels import names as contract
from ..kernels.cuda.crowd import Crowded
from ..parts.springs import YieldingSprings
from ..parts.terms import (
    ACTS,
    ON_CARDS,
    AtomTerm,
    CrowdTerm,
    DashpotTerm,
    DragTerm,
    Elastic,
    FaceTerm,
    FieldTerm,
    ForceTerm,
    HoldTerm,
    MeshTouchTerm,
    ProjectTerm,
    SpringTerm,
    SteadyTerm,
    TetTerm,
    TieTerm,
    TouchTerm,
    ViscousTerm,
    WindTerm,
    steadily_stored,
    stored,
    terms_of,
    told_by,
)
from .between import between_of, recall, remember
from .few import Few, alone, chosen, divides, picked
from .groups import (
    NONE,
    Layout,
    NoStretch,
    all_beyond,
    corners_of,
    require_counted_once,
    require_unturned,
)
from .guests import Guests, guests_among
from .supports import MOST_LED, rigid
from .ties import NOTHING_TIED, TiedRows, lack_of, stored_beyond, ties_among
from .time_tables import motions, surfaces, table_of, times_within

if TYPE_CHECKING:
    from .assembly import Assembly
    from .system import System

KERNELS = ("explicit_steps", "explicit_stages", "nystrom_steps")
ENERGIES = {
    **{SpringTerm: "linear", FaceTerm: "faces", TetTerm: "tets", TouchTerm: "touched"},
    **{MeshTouchTerm: "touched", FieldTerm: "field", TieTerm: "tied", HoldTerm: "tied"},
    **{SteadyTerm: "steady", AtomTerm: "atoms", CrowdTerm: "crowd"},
}
LOADS = (ForceTerm, DragTerm, WindTerm, DashpotTerm, ViscousTerm)
TOUCHES = (TouchTerm, HoldTerm, ProjectTerm, CrowdTerm)
MET = 2500  # atoms about, near one, with a cutoff
MOST_LISTS = 30  # times that they grow twice as long
NOWHERE = np.zeros(2), np.zeros(1)  # kicks and drifts of a step that moves nothing
NO_TABLES = contract.TimeTables(
    *(np.empty((0, 0, 24)), np.empty((0, 0, 16)), np.empty((0, 0, 4)), np.empty((0, 0, 4))),
    *NOTHING_TIED.tables([], np.empty(0), None),
)


@dataclass(frozen=True, slots=True)
class Exchanged(Power):
    """invented [J]: by what stands still and puts particles elsewhere between two steps."""

    invented: float = 0.0


class Stretched(NamedTuple):
    """Where many steps end: the state, its acceleration (n,) and the velocities (n,) for which it
    was computed, energies [J] added and dissipated, and what contact says about itself."""

    state: State  # Away: what is None is there
    acceleration: Array | None
    ahead: Array | None
    exchanged: Exchanged
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


class Stretcher:
    """Bound to one system; `steps` moves its states."""

    def __init__(self, system: System) -> None:
        # whose it is: a circle would keep both, and their arrays, until somebody looks for circles
        self._system: System = proxy(system)
        require_loop(system)
        try:
            self._kernels = take(system.backend, "System", *KERNELS)
        except InputError as lack:
            raise NoStretch(str(lack)) from None
        self._on_card = hasattr(self._kernels.explicit_steps, "lacks")
        self._guests, self._of_guests = None, []
        if self._on_card and getattr(system, "runs", None) is None:
            knows, led = self._kernels.explicit_steps.knows, bool(system.supports)
            self._of_guests = guests_among(system.assembly, knows, led)
        if not self._on_card:
            _require_known_everywhere(system)
        _require_pairs(system)
        _require_undisplaced(system.assembly, self._of_guests)
        terms = [*self._terms_of(system.assembly), *_viscous(system)]
        if self._of_guests:
            self._guests = Guests(system, self._of_guests)
        require_counted_once(system, terms)
        require_unturned(system, terms)
        if lack_of(terms):
            raise NoStretch(f"{lack_of(terms)} have no compiled loop")
        self._terms = terms
        layout = Layout(system, terms)  # not kept: of a head of hair it is a tenth of a gigabyte
        self._connected, self._bodies = layout.connected, layout.bodies
        self._base: Assembly | None = None  # parts as they were when a state went to the card
        self._unfree: _Unfree | None = None
        self.covered: tuple[Any, Array] | None = None  # see iterations.py
        self._left, self._names = _left_out(terms, system.numbering.free), None
        if self._left is not None:
            self._names = _energy_names(system.assembly, self._of_guests)
        self._body = self._grouped(layout)
        self._tied = NOTHING_TIED
        if self._body.tied:
            groups = self._body.groups
            self._tied = TiedRows(groups.place, groups.mass, system.numbering.free)
        lack = self._kernels.explicit_steps.lacks(self._body) if self._on_card else ""
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
        if self._guests is not None:
            return f"one call, {', '.join(self._guests.names)} by the host"
        if count > 1 and self._body.run.size:
            kind = "runs one after the other"
        return "one call" if count == 1 else f"{count} {kind}"

    def _count_elements(self) -> int:
        """Forces of how many springs, triangles, ... one after the other a step takes."""
        body = self._body
        springs = body.linear.other.size + body.cubic.other.size + body.faces.rest.size
        springs += sum(len(pairs.corners) for pairs in (body.steady, body.viscous) if pairs)
        triangles, tets = len(body.triangles.pressure), len(body.tets.corners)
        if body.atoms is not None:
            springs += body.groups.place.size * min(body.groups.place.size, MET)
        every = springs + 3 * triangles + 6 * tets + body.groups.place.size
        beside = 0 if self._guests is None else self._guests.cost
        return every // getattr(self._system.backend, "abreast", 1) + beside

    # ------------------------------------------------------------------ the body

    @property
    def guests(self) -> Guests | None:
        """What the host computes beside the steps."""
        return self._guests

    def _terms_of(self, parts: Assembly) -> list[Any]:
        """Of all parts but those."""
        return all_terms(parts, self._of_guests)

    def _of(self, kind: type) -> list[Any]:
        return [term for term in self._terms if isinstance(term, kind)]

    def _grouped(self, layout: Layout) -> contract.GroupedBody:
        system, springs = self._system, self._of(SpringTerm)
        linear, self._linear_at = layout.springs([s for s in springs if not s.cubic])
        cubic, self._cubic_at = layout.springs([s for s in springs if s.cubic])
        fields = (term.acceleration for term in self._of(FieldTerm))
        field, alpha = sum(fields, np.zeros((1, 3))), np.atleast_1d(system.decay)
        count = max(len(field), len(alpha))  # of many runs each may have its own
        alpha = np.broadcast_to(alpha, count).astype(np.float64)
        field = np.column_stack([np.broadcast_to(field, (count, 3)), np.zeros(count)])
        loads = any(isinstance(term, LOADS) for term in self._terms)
        groups = layout.groups(system)
        steady = self._of(SteadyTerm)
        looks = self._guests is not None and self._guests.looks  # at velocities of stages
        return contract.GroupedBody(
            groups,
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
            bool(alpha.any() or loads or looks or system.supports),
            bool(self._of(TieTerm)),
            between=between_of(system.assembly, self._terms, groups, system.numbering.free),
            steady=layout.pairs(steady, steady[0].rest if steady else None),
            viscous=layout.pairs(self._of(ViscousTerm)),
            solids=self._solids(),
            guests=self._guests,
            atoms=layout.atoms(self._of(AtomTerm), lambda: _extent(system)),
            crowd=layout.crowd(self._of(CrowdTerm)),
        )

    def _solids(self) -> tuple[contract.Solid | None, ...] | None:
        meshes = [isinstance(term, MeshTouchTerm) for term in self._of(TouchTerm)]
        if not any(meshes):
            return None
        pairs = zip(self._of(TouchTerm), meshes, strict=True)
        return tuple(term.shape.solid if mesh else None for term, mesh in pairs)

    # ------------------------------------------------------------------ steps

    def steps(
        self, scheme: Splitting | Tableau, s: State, a: Array | None, h: float, ends: Array
    ) -> Stretched:
        """From s with the acceleration a (n,), None where the last steps have left it: one step of
        h [s] to each of the times `ends`."""
        while True:
            try:
                return self._steps(scheme, s, a, h, ends)
            except Crowded as crowded:  # lists of who is near were too short, or served too long
                if crowded.passing:
                    raise

    def _steps(
        self, scheme: Splitting | Tableau, s: State, a: Array | None, h: float, ends: Array
    ) -> Stretched:
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
            kept.fill_memory()
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
        ties = ties_among(self._terms_of(parts)) if self._body.tied else []
        if not any(np.any(term.rows >= free) for term in ties):
            return 0.0
        return stored_beyond(ties, self._system.row_positions(s), free, since)

    def _told(self, books: Array, lifted: float) -> tuple[Exchanged, dict[str, Any]]:
        """Energies and notes of the body; of many runs arrays, a number for each."""
        total, deepest = books.sum(axis=0), books[:, contract.DEEPEST].max()
        if self._body.run.size:
            total, deepest = books.T, books[:, contract.DEEPEST]
        else:
            total, deepest = total.tolist(), float(deepest)
        notes: dict[str, Any] = {}
        if any(isinstance(term, TOUCHES) for term in self._terms):
            notes = {"penetration": deepest, "contacts": total[contract.TOUCHING]}
        invented = total[contract.INVENTED] if len(total) > contract.INVENTED else 0.0
        energies = total[contract.ADDED] + lifted, total[contract.DISSIPATED], invented
        return Exchanged(*energies), notes

    def energies(self, s: State) -> dict[str, float] | None:
        """[J] by part of a state that lies where its steps were taken, and can be told there; None
        elsewhere."""
        if not isinstance(s, Away) or self._names is None or not s.kept.of(self._body):
            return None
        lines: dict[str, float] = s.kept.energies()._asdict()
        unfree = self._held_and_led()
        lines["field"] += unfree.fixed_weight + unfree.led_weight(s.t)
        for line, energy in unfree.stored.items():
            lines[line] += energy
        lines["tied"] += self._stored_beyond(cast("Assembly", self._base), s, s.kept.since)
        told = {"kinetic": lines["kinetic"]}
        for line, name in self._names:
            told[name] = told.get(name, 0.0) + (lines[line] if line else 0.0)
        for name, energy in ({} if self._guests is None else self._guests.energies(s)).items():
            told[name] += energy
        return told

    def shown(self, s: State, names: Sequence[str], single: bool = False) -> list[Array] | None:
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

        return s.kept.shown(names, begun, single)

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
        for _ in range(MOST_LISTS):
            try:
                self._kernels.explicit_steps(self._still, tables, *NOWHERE, 1.0, *where)
                break
            except Crowded:  # lists of who is near were too short
                continue
        return a.ravel()

    def at_time(self, parts: Assembly, t: float) -> tuple[contract.GroupedBody, Any]:
        """The body and its tables, for forces at a time with these parts."""
        return self._still, self._timed(parts, np.full(3, t), [t])

    def few(self, s: State) -> Few | None:
        """Some of many bodies, for forces on them alone; None where a body is not divided so."""
        first = self._bodies
        if first is None or self._guests is not None or not divides(self._still, first):
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

    @property
    def stages(self) -> Callable[..., None] | None:
        """Accelerations of stages in one call, of a body that processors' loops know."""
        beyond = self._guests is not None or any(isinstance(t, ON_CARDS) for t in self._terms)
        return None if beyond else self._stages

    def _stages(self, table: Any, s: State, h: float, a: Array, first: int, last: int) -> None:
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
        """Rest lengths, and what is held, as they are in this state."""
        remember(self._body.between, parts)
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
        recall(self._body.between, parts, t)
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
        if not self._in_time and self._guests is None:  # nothing moves or acts as time goes by
            return NO_TABLES
        within = times_within(scheme)
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
        if self._guests is not None:
            self._guests.begin(moments, goes_on)
        if not self._in_time:
            return NO_TABLES
        times, terms = moments.tolist(), self._terms_of(parts)
        led = np.array(after if goes_on else [])
        winds = [term.wind for term in (*self._of(WindTerm), *self._of(DragTerm))]
        return contract.TimeTables(
            motions(self._system, times),
            surfaces(terms, after, since),
            table_of(winds, times),
            table_of([term.at for term in self._of(ForceTerm)], times),
            *self._tied.tables(ties_among(terms), led, since),
        )


class _Unfree:
    """Energies [J] of particles that are held or led, which rows know nothing of."""

    def __init__(self, system: System, field: Array, left: list[Elastic | SteadyTerm]) -> None:
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
        x = np.concatenate([np.zeros((numbering.free, 3)), held])
        for term in left:  # corners of one support, or such that are held: never stretched
            energy = _stored(term, x, system.pattern.backend.kernels)
            self.stored[_line(term)] = self.stored.get(_line(term), 0.0) + energy

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
    """The body, of which nothing yields, rubs, is moved by shapes or acts between steps; of the
    same kinds of parts, for which loops have been compiled."""
    touches, between, crowd = body.touches, body.between, body.crowd
    return body._replace(
        crowd=None if crowd is None else crowd._replace(friction=0.0),
        between=None if between is None else between._replace(asleep=True),
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


def _extent(system: System) -> float:
    """Of a body [m], about; of one whose places nobody knows yet, a point."""
    known = system._rest if system._rest is not None else system._frame
    return 0.0 if known is None else float(np.ptp(known, axis=0).max())


def _springs(parts: Assembly) -> list[Any]:
    return [p for _, p in parts.parts if told_by(p, "terms", ACTS) and hasattr(p, "cubic")]


def _left_out(terms: list[Any], free: int) -> list[Elastic | SteadyTerm] | None:
    """Elements between particles that do not move, which are no group's; None where there are
    such that yield."""
    left: list[Elastic | SteadyTerm] = []
    for term in terms:
        stores = not isinstance(term, WindTerm | DashpotTerm | ViscousTerm | CrowdTerm)
        corners = corners_of(term) if stores else None
        held = NONE if corners is None else np.flatnonzero(all_beyond(free, corners))
        if not held.size:
            continue
        if isinstance(term, SpringTerm) and term.limit is None:
            numbers = term.stiffness[held], term.rest[held]
            left.append(SpringTerm(term.edges[held], *numbers, term.cubic))
        elif isinstance(term, FaceTerm):
            left.append(FaceTerm(*(own[held] for own in term)))
        elif isinstance(term, TetTerm):
            tets, shape, moduli, material = term
            left.append(TetTerm(tets[held], shape[held], moduli[held], material))
        elif isinstance(term, SteadyTerm):
            left.append(SteadyTerm(term.edges[held], term.blocks[held], term.rest))
        else:
            return None
    return left


def _stored(term: Elastic | SteadyTerm, x: Array, kernels: Any) -> float:
    """[J] of all its elements at x (N, 3)."""
    if isinstance(term, SteadyTerm):
        return float(steadily_stored(term, x).sum())
    if isinstance(term, FaceTerm):
        return kernels.face_spring_energy(x, *term)
    if isinstance(term, TetTerm):
        return kernels.tet_energy(x, *term)
    return float(stored(term, x).sum())


def _line(term: Any) -> str:
    """Of what a card tells, "" where it tells none."""
    line = ENERGIES.get(type(term), "")
    return "cubic" if line == "linear" and term.cubic else line


def _energy_names(
    assembly: Assembly, guests: list[tuple[str, Any]]
) -> list[tuple[str, str]] | None:
    """(line of what a card tells, name in the ledger), in its order; None where two parts of one
    kind have different names: a card adds them up.  guests: parts that it knows nothing of."""
    beside = [id(part) for _, part in guests]
    lines: dict[str, str] = {}
    found: list[tuple[str, str]] = []
    for name, part in assembly.potentials:
        found.append(("", name))  # has a line in the ledger, whatever it is made of
        terms = None if id(part) in beside else terms_of(part)
        for term in terms or ():
            line = _line(term)
            if lines.setdefault(line, name) != name:
                return None
    return [*dict.fromkeys([*found, *lines.items()])]


def require_loop(system: System) -> None:
    """NoStretch where a system has what no loop knows, besides parts without terms."""
    if not system.lumped:
        raise NoStretch("a consistent mass has no compiled loop")
    if system.guarded and any(terms_of(part) is None for part in system.assembly.guards):
        raise NoStretch("contact of bodies with each other has no compiled loop")
    if system.guarded and system.supports:
        raise NoStretch("supports beside bodies that touch each other have no compiled loop")
    for support, led in system._led:
        if not rigid(support) and len(led) > MOST_LED:
            kind = type(support).__name__
            raise NoStretch(
                f"{kind} supports of more than {MOST_LED} particles have no compiled loop"
            )


def all_terms(assembly: Assembly, guests: Sequence[tuple[str, Any]] = ()) -> list[Any]:
    """Of all parts but the guests, which have none."""
    beside, found = [id(part) for _, part in guests], list[Any]()
    for name, part in assembly.parts:
        if id(part) in beside:
            continue
        terms = terms_of(part)
        if terms is None:
            raise NoStretch(f"{name} ({type(part).__name__}) has no compiled loop")
        found += terms
    return found


def _viscous(system: System) -> list[ViscousTerm]:
    """Of Rayleigh's beta."""
    if system.damping is None or not system.damping.beta:
        return []
    assert system.viscosity is not None
    return [ViscousTerm(*system.viscosity.pairs())]


def _require_pairs(system: System) -> None:
    """Of Rayleigh's beta: K0 is summed by pairs, and what is known by its forces alone may also
    hold particles where they are."""
    if system.damping is None or not system.damping.beta:
        return
    for name, part in system.assembly.own().potentials:
        terms = terms_of(part)
        if terms is None or any(isinstance(term, AtomTerm) for term in terms):
            kind = f"{name} ({type(part).__name__})"
            raise NoStretch(f"Rayleigh damping with beta beside {kind} has no compiled loop")


def _require_undisplaced(assembly: Assembly, guests: list[tuple[str, Any]]) -> None:
    """What displaces particles between steps asks for the energy of all others there."""
    known = [(name, term) for name, part in assembly.parts for term in terms_of(part) or ()]
    others = [name for name, _ in guests]
    others += [name for name, term in known if isinstance(term, AtomTerm)]
    for name, term in known:
        if others and isinstance(term, HoldTerm | ProjectTerm):
            raise NoStretch(f"{name} beside {others[0]} has no compiled loop")


def _require_known_everywhere(system: System) -> None:
    if system.damping is not None and system.damping.beta:
        raise NoStretch("Rayleigh damping with beta has a compiled loop on cards alone")
    for name, part in system.assembly.parts:
        if any(isinstance(term, ON_CARDS) for term in terms_of(part) or ()):
            raise NoStretch(f"{name} ({type(part).__name__}) has a compiled loop on cards alone")
