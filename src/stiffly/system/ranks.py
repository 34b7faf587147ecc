"""A System of which every rank holds a share: forces with halos, energies summed over ranks.

Rows are [own free | ghosts | held and led]: to integrators, operators and solvers own rows and
ghosts are the free ones, and the backend knows which of them count.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..backends.petsc import PetscBackend, World
from ..contracts import Array, Energies, Power, Settled, State
from ..matfun.components import Components
from ..parts.part import Arranged
from . import discrete_gradient
from . import system_input as given
from .assembly import Assembly
from .settling import Moved, _booked, _drives, signed
from .shares import Share, owners, share_of
from .stretch import NoStretch, Stretcher
from .system import System


def shared(system: System, x0: Any, ranks: World) -> RankSystem:
    """The share of this rank; x0 (N, 3): where particles are when it is cut."""
    x = np.asarray(x0, dtype=np.float64).reshape(system.particles, 3)
    owner = owners(system, x, ranks.size)
    return RankSystem(system, share_of(system, owner, ranks.rank), ranks)


class RankSystem(System):
    """whole: the system itself, for what is told about all of it."""

    def __init__(self, whole: System, share: Share, ranks: World) -> None:
        self.whole, self.share = whole, share
        backend = _backend(whole, share, ranks)
        args, here = whole.given, share.particles
        free = np.zeros(whole.particles, dtype=bool)
        free[whole.free] = True
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
        bodies = self.whole.pattern.bodies
        if bodies is None or self.backend.split:
            self.pattern.bodies = None
        else:
            rows = self.whole.numbering.rows[self.share.particles[: self.share.own]]
            labels = np.unique(bodies.labels[rows], return_inverse=True)[1]
            self.pattern.bodies = Components(labels)

    def bind(self, x0: Any, v0: Any = None) -> tuple[System, State]:
        """x0, v0 (N, 3): of all particles, as the user numbers them."""
        here = self.share.particles
        whole, _ = self.whole.bind(x0, v0)  # what is wrong is named in the user's numbers
        x0 = np.asarray(x0, dtype=np.float64)[here]
        bound, state = super().bind(x0, None if v0 is None else np.asarray(v0)[here])
        assert isinstance(bound, RankSystem)
        bound.whole = whole
        x, v = bound.row_positions(state), bound.row_velocities(state)
        bound._counting = bound._counted = self._counted.begun(state.t, x, v, {})
        return bound, state

    def _counted_at(self, s: State) -> Assembly:
        return self._counting.having(s.parts) if self._counting.remembers else self._counting

    # ------------------------------------------------------------------ of all ranks

    def _state(self, s: State) -> State | None:
        """Of the whole body, on rank 0."""
        x, v = self.backend.whole(s.x), self.backend.whole(s.v)
        return None if x is None or v is None else State(s.t, x, v)

    def positions(self, s: State) -> Array:
        """On rank 0; none of them elsewhere."""
        found = self._state(s)
        return np.empty((0, 3)) if found is None else self.whole.positions(found)

    def velocities(self, s: State) -> Array:
        found = self._state(s)
        return np.empty((0, 3)) if found is None else self.whole.velocities(found)

    def fields(self, s: State) -> dict[str, Array]:
        found = {}
        for name, values in super().fields(s).items():
            own = np.repeat(values[self.numbering.order[: self.numbering.free]], 3)
            every = self.backend.whole(own)
            full = np.zeros(self.whole.particles)
            if every is not None:
                full[self.whole.free] = every[::3]
            found[name] = full
        return found

    @property
    def particle_mass(self) -> Array | None:
        return self.whole.particle_mass

    @property
    def free_bodies(self) -> Array | None:
        """Their spins are sums that ranks do not share."""
        return None

    def advice(self, h: float) -> list[str]:
        return self.whole.advice(h)

    def bodywise(self, s: State) -> None:  # type: ignore[override]
        return None

    @property
    def stretcher(self) -> Stretcher | NoStretch:
        return NoStretch("the body is shared by ranks")

    @property
    def laid_out(self) -> None:
        return None

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


def _led(support: Any, particles: np.ndarray) -> Any:
    """The same support with other numbers for what it leads."""
    new = copy.copy(support)
    new.particles = particles
    return new


def _backend(whole: System, share: Share, ranks: World) -> PetscBackend:
    """What this rank's rows are in the whole body, and whose its ghosts are."""
    ghosts = share.particles[share.own : share.own + share.ghosts]
    here = share.particles[: share.own + share.ghosts]
    whose = share.owner[ghosts]
    # own particles are in the order of their numbers: so are those of every other rank
    free = np.zeros(whole.particles, dtype=bool)
    free[whole.free] = True
    theirs = np.empty(ghosts.size, dtype=np.int64)
    for rank in np.unique(whose):
        members = np.flatnonzero(free & (share.owner == rank))
        theirs[whose == rank] = np.searchsorted(members, ghosts[whose == rank])
    sources = np.stack([whose, theirs], axis=1)
    rows = whole.numbering.rows[here]
    return PetscBackend(ranks, share.own, sources, rows, whole.numbering.free)
