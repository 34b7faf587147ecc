"""A System of which every rank holds a share: forces with halos, energies summed over ranks.

Rows are [own free | ghosts | held and led]: to integrators, operators and solvers own rows and
ghosts are the free ones, and the backend knows which of them count.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from ..backends.petsc import PetscBackend, World
from ..contracts import Array, Energies, Power, Settled, State
from ..matfun.components import Components
from ..parts.part import Arranged
from . import discrete_gradient
from . import system_input as given
from .assembly import Assembly
from .groups import NoStretch
from .settling import Moved, _booked, _drives, signed
from .shares import Piece, share_of
from .stretch import Stretched, Stretcher
from .system import System


class RankSystem(System):
    """built: what this rank has built, the whole body or a piece of it."""

    def __init__(self, piece: Piece, ranks: World) -> None:
        self.built = whole = piece.built
        self.share = share = share_of(whole, piece.owner, ranks.rank)
        args, here = whole.given, share.particles
        free = np.zeros(whole.particles, dtype=bool)
        free[whole.free] = True
        self._numbers, self._total = piece.numbers[here], piece.total
        whose = share.owner[here[share.own : share.own + share.ghosts]]
        rows = self._numbers[: share.own + share.ghosts]
        backend = PetscBackend(ranks, rows, whose, piece.total)
        self._order: tuple[Array, Array | None] | None = None
        fixed = share.place[np.intersect1d(args.fixed, here)]
        super().__init__(
            args.mass[here],
            [share.part(part, free, count=False) for part in args.parts],
            fixed,
            None if whole.rest is None else whole.rest[here],
            args.damping,
            [_led(support, share.place[led]) for support, led in whole.supports],
            backend,
        )
        counted = [share.part(part, free, count=True) for part in args.parts]
        self._counting = self._counted = self._prepared_to_count(counted)
        self._gather_bodies()

    backend: PetscBackend

    def _prepared_to_count(self, parts: list[Any]) -> Assembly:
        """Parts over the same rows, of which the ranks together have every element once."""
        mass = np.where(self.share.counted, self.given.mass, 0.0)
        numbering = self.numbering
        layout = numbering.rows, numbering.order, numbering.free, self.pattern
        arranged = Arranged(self.particles, mass, self.rest, True, *layout)
        return Assembly([given.prepared(part, part.prepare(arranged)) for part in parts])

    def _gather_bodies(self) -> None:
        """Bodies are known one by one where all of them lie on one rank each."""
        bodies = self.built.pattern.bodies
        known = self.backend.every(bodies is not None)  # one piece may have several, another one
        if bodies is None or not known or self.backend.split:
            self.pattern.bodies = None
        else:
            rows = self.built.numbering.rows[self.share.particles[: self.share.own]]
            labels = np.unique(bodies.labels[rows], return_inverse=True)[1]
            self.pattern.bodies = Components(labels)

    def bind(self, x0: Any, v0: Any = None) -> tuple[System, State]:
        """x0, v0 (n, 3): of all particles that this rank has built, as the user numbers them."""
        here = self.share.particles
        built, _ = self.built.bind(x0, v0)  # what is wrong is named in the user's numbers
        x0 = np.asarray(x0, dtype=np.float64)[here]
        bound, state = super().bind(x0, None if v0 is None else np.asarray(v0)[here])
        assert isinstance(bound, RankSystem)
        bound.built = built
        x, v = bound.row_positions(state), bound.row_velocities(state)
        self.backend.points = x[: self.share.own].copy()
        bound._counting = bound._counted = self._counted.begun(state.t, x, v, {})
        return bound, state

    def having(self, assembly: Assembly) -> System:
        new = super().having(assembly)
        assert isinstance(new, RankSystem)
        new._together = None
        return new

    def _counted_at(self, s: State) -> Assembly:
        return self._counting.having(s.parts) if self._counting.remembers else self._counting

    # ------------------------------------------------------------------ of all ranks

    def gathered(self, values: Array) -> Array:
        """(n, k) of the particles here -> (N, k) of all, as the user numbers them, on rank 0; none
        of them elsewhere."""
        counted, ranks = self.share.counted, self.backend.ranks
        if self._order is None:
            counts = np.array(ranks.comm.allgather(int(counted.sum())))
            if counts.sum() != self._total:
                raise ValueError(f"ranks own {counts.sum()} of {self._total} particles")
            numbers = ranks.gather(self._numbers[counted, None].astype(float), counts)
            self._order = counts, None if numbers is None else numbers[:, 0].astype(np.int64)
        counts, order = self._order
        found = ranks.gather(values[counted], counts)
        out = np.empty((0 if found is None else self._total, values.shape[1]))
        if found is not None:
            out[order] = found
        return out

    def gathered_built(self, values: Any) -> Array:
        """The same of values (n, k) of all particles that this rank has built."""
        return self.gathered(np.asarray(values, dtype=np.float64)[self.share.particles])

    def positions(self, s: State) -> Array:
        """On rank 0; none of them elsewhere."""
        return self.gathered(super().positions(s))

    def velocities(self, s: State) -> Array:
        return self.gathered(super().velocities(s))

    def fields(self, s: State) -> dict[str, Array]:
        """Of what is free, on rank 0."""
        moves = np.arange(self.particles) < self.numbering.free
        kept = {n: np.where(moves, values, 0.0) for n, values in super().fields(s).items()}
        return {n: self.gathered(values[:, None])[:, 0] for n, values in kept.items()}

    @property
    def particle_mass(self) -> Array:
        """Asked of all ranks at once."""
        return self.gathered(np.asarray(super().particle_mass)[:, None])[:, 0]

    @property
    def free_bodies(self) -> Array | None:
        """Their spins are sums that ranks do not share."""
        return None

    def advice(self, h: float) -> list[str]:
        return self.built.advice(h)

    def bodywise(self, s: State) -> None:  # type: ignore[override]
        return None

    @property
    def stretcher(self) -> Any:
        """Each rank takes its own through many steps; asked of all ranks at once."""
        if self._together is None:
            found = super().stretcher
            able = self.backend.every(isinstance(found, Stretcher))
            lack = found if isinstance(found, NoStretch) else NoStretch("another rank cannot")
            self._together = _Together(found, self.backend) if able else lack
        return self._together

    _together: Any = None

    @property
    def counted_mass(self) -> Array:
        """What is led is on all ranks, and counted by one."""
        return np.where(self.share.counted, super().counted_mass, 0.0)

    @property
    def laid_out(self) -> Any:
        return self._together

    # ------------------------------------------------------------------ forces

    def force(self, s: State) -> Array:
        return self.backend.halo(super().force(s))

    def mean_force(self, s0: State, s1: State) -> Array:
        return self.backend.halo(discrete_gradient.mean_force(self, s0, s1))

    def rest_load(self) -> Array:
        return self.backend.halo(super().rest_load())

    # ------------------------------------------------------------------ sums

    def energy(self, s: State) -> Energies:
        own = self.backend.owned(self.size)
        found = self._counted_at(s).energies(self.row_positions(s))
        weight = self.mass.apply(np.ones(self.size))[:own]
        kinetic = self.backend.kernels.column_dot(s.v[:own], s.v[:own], weight)
        sums = self.backend.ranks.sums([0.5 * kinetic, *found.values()])
        return dict(zip(("kinetic", *found), sums.tolist(), strict=True))

    def power(self, s: State) -> Power:
        if self.conservative:
            return Power()
        added = taken = viscous = 0.0
        if self.viscosity is not None:
            own = self.backend.owned(self.size)
            viscous = float(np.dot(s.v[:own], self.viscosity.force(s)[:own]))
        if self.assembly.loads or self.supports:
            x, v, parts = self.row_positions(s), self.row_velocities(s), self._counted_at(s)
            loads = parts.load_power(s.t, x, v)
            added, taken = loads.added, loads.dissipated
            if self.supports:
                held = parts.gradient(x) - parts.load_force(s.t, x, v)
                added += float(np.vdot(held, self.support_velocities(s.t)))
        added, taken, viscous = self.backend.ranks.sums([added, taken, viscous]).tolist()
        return Power(added, taken + max(0.0, viscous))

    def settle(self, s: State, h: float) -> Settled:
        """As `settling.settle`: ghosts are settled as their owners are, and counted by them."""
        x, v = self.own_positions(s), self.row_velocities(s)
        parts, counting = self.at(s).copied(), self._counted_at(s).copied()
        rows, total, changed = [], Moved(), False
        for part, counted in zip(parts.settling, counting.settling, strict=True):
            old, twin = v.copy(), v.copy()
            own = counted.settle(s.t, h, x.copy(), twin)
            part.settle(s.t, h, x, v)
            gained = self._local_kinetic(v) - self._local_kinetic(old)
            risen = max(gained, 0.0)  # left out of both sides by Rubbed.booked, rank by rank
            moved = getattr(part, "changed", False) or not np.array_equal(old, v)
            rows.append((own.added + risen, own.dissipated + risen, gained, float(moved)))
        sums = self.backend.ranks.sums(np.ravel(rows)).reshape(-1, 4)
        for part, (added, taken, gained, moved) in zip(parts.settling, sums.tolist(), strict=True):
            risen = max(gained, 0.0)
            own = Power(added - risen, taken - risen) + signed(-gained)
            total = Moved(*map(sum, zip(total, _booked(_drives(self, part), own), strict=True)))
            changed = changed or moved > 0.0
        changed = changed or any(total)
        new = v.ravel()[: self.size].copy() if changed else s.v
        memory: Mapping[str, Array] = parts.memory()
        after = State(s.t, s.x, new, memory if memory else s.parts)
        if memory:
            self.know(after, parts)
        return Settled(after, total.added, total.dissipated, changed, total.invented)

    def _local_kinetic(self, v: Array) -> float:
        own = self.backend.owned(self.size)
        some = v.ravel()[:own]
        return 0.5 * float(np.dot(some, self.mass.apply(v.ravel()[: self.size])[:own]))

    def diagnostics(self, s: State) -> dict[str, float]:
        x, v, ranks = self.row_positions(s), self.row_velocities(s), self.backend.ranks
        watching = [p for _, p in self._counted_at(s).parts if hasattr(p, "diagnostics")]
        found: dict[str, float] = {}
        for part in watching:
            for name, value in part.diagnostics(x, v).items():
                old = found.get(name, 0.0)
                found[name] = old + value if name == "contacts" else max(old, value)
        many = ranks.sums([value for name, value in found.items() if name == "contacts"]).tolist()
        deep = ranks.largest(*found.values()) if found else []
        return {n: many[0] if n == "contacts" else d for n, d in zip(found, deep, strict=True)}


class _Together:
    """Many steps of what this rank owns in one call, with the books of all ranks."""

    def __init__(self, own: Any, backend: PetscBackend) -> None:
        self._own, self._backend, self._ranks = own, backend, backend.ranks
        self.words = own.words + (", a halo after every drift" if backend.split else "")
        self.elements = int(backend.ranks.largest(own.elements)[0])
        own.over(backend.halo_of)

    def steps(self, *how: Any) -> Stretched:
        done: Stretched = self._own.steps(*how)
        rows = (done.state.x, done.state.v, done.acceleration, done.ahead)
        for own in cast("tuple[Array, ...]", rows):  # nothing stays on a card here
            self._backend.halo(own)
        notes = dict(done.notes)
        books = done.exchanged.added, done.exchanged.dissipated, notes.get("contacts", 0.0)
        added, taken, contacts = self._ranks.sums(books).tolist()
        (deepest,) = self._ranks.largest(notes.get("penetration", 0.0))
        if notes:
            notes = {"penetration": deepest, "contacts": contacts}
        return done._replace(exchanged=Power(added, taken), notes=notes)

    def acceleration(self, s: State) -> Array:
        return self._backend.halo(self._own.acceleration(s))

    def stages(self, table: Any, s: State, h: float, a: Array, first: int, last: int) -> None:
        self._own.stages(table, s, h, a, first, last)
        for row in a[first : last + 1]:
            self._backend.halo(row)


def _led(support: Any, particles: np.ndarray) -> Any:
    """The same support with other numbers for what it leads."""
    new = copy.copy(support)
    new.particles = particles
    return new
