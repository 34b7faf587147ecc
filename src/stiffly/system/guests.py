"""Parts that have no kernel where explicit steps are taken: the host computes them beside these."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..accounting import work_between
from ..contracts import Array, Power, State
from ..parts.part import PreparedLoad
from ..parts.terms import AtomTerm, TetTerm, terms_of
from .assembly import Assembly

if TYPE_CHECKING:
    from .system import System

SLOW = 10**6  # springs that cost about as much as one evaluation, or fewer
NUMBER = 8  # bytes


def guests_among(
    assembly: Assembly, knows: Callable[[Any], bool], led: bool
) -> list[tuple[str, Any]]:
    """Potentials and loads that are all forces, and that loops do not know: (name, part); knows:
    whether these have the material of tets; led: supports lead some particles."""
    found, atoms = list[tuple[str, Any]](), 0
    for name, part in assembly.parts:
        met = [t for t in terms_of(part) or () if isinstance(t, AtomTerm)]
        atoms += len(met)
        # cells are those of the ends of steps, and supports do work in between
        beyond = met and (atoms > 1 or (led and np.isfinite(met[0].cutoff)))
        if beyond or is_guest(part, knows):
            found.append((name, part))
    return found


def is_guest(part: Any, knows: Callable[[Any], bool]) -> bool:
    if hasattr(part, "settle") or hasattr(part, "stays_clear"):
        return False  # acts between steps
    if hasattr(part, "memory") and part.memory():
        return False  # and so does whatever changes
    if not (hasattr(part, "add_gradient") or isinstance(part, PreparedLoad)):
        return False
    terms = terms_of(part)
    return terms is None or any(isinstance(t, TetTerm) and not knows(t.material) for t in terms)


class Guests:
    """The forces of such parts, and what they and supports that pull at them add and take.

    looks: forces depend on velocities.  works: there is something for the ledger."""

    def __init__(self, system: System, parts: list[tuple[str, Any]]) -> None:
        own = system.having(Assembly(parts))
        own.damping = own.viscosity = None
        own.settles = False
        own._tell()
        self._system, self.names = own, [name for name, _ in parts]
        self.looks, self.works = own.velocity_dependent, not own.conservative
        self.cost = SLOW * len(parts)
        self._times, self._counts = np.zeros(1), False
        self._start: tuple[State, Power] | None = None
        self.exchanged = Power()

    @property
    def bytes(self) -> tuple[int, int]:
        """That come to the host for each evaluation, and that go back."""
        one = NUMBER * self._system.size
        return one * (1 + self.looks), one

    def begin(self, times: Array, counts: bool) -> None:
        """times [s] of every entry of the tables of time; counts: work is booked."""
        self._times, self._counts = times, counts and self.works
        self._start, self.exchanged = None, Power()

    def force(self, entry: int, x: Array, v: Array) -> Array:
        """(n,) [N] at x (n,), v (n,)."""
        if not np.isfinite(x).all():  # the motion is lost, which whoever steps says in his words
            return np.full_like(x, np.nan)
        return self._system.force(State(float(self._times[entry]), x, v))

    @property
    def counts(self) -> bool:
        return self._counts

    def start(self, entry: int, x: Array, v: Array) -> None:
        """Where a step begins."""
        state = State(float(self._times[entry]), x, v)
        self._start = state, self._power(state)

    def end(self, entry: int, x: Array, v: Array) -> None:
        """Where it ends, and the next one begins: books its work."""
        assert self._start is not None
        (before, first), after = self._start, State(float(self._times[entry]), x, v)
        self._start = after, self._power(after)
        if np.isfinite(x).all():
            self.exchanged += work_between(self._system, before, after, first, self._start[1])

    def _power(self, state: State) -> Power:
        return self._system.power(state) if np.isfinite(state.x).all() else Power()

    def energies(self, s: State) -> dict[str, float]:
        """[J] by name."""
        own = self._system
        return own.assembly.energies(own.row_positions(s))
