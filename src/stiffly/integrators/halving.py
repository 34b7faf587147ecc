"""Steps made of shorter ones: halves where a solver fails or something would pass through
something, equal ones where a user asks for them, and what their notes say together.

A method knows forces, not walls: it may come out on the other side of one.  So the straight way of
a step has to be `clear`, whatever the method.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ..accounting import work
from ..contracts import Integrator, Power, Settled, State, Step, System, Work
from ..errors import InputError, NotConverged
from ..solvers.settings import check_count
from ..solvers.shifted_newton import Unsolved
from .own import step_of
from .restart import resumed

HALVINGS = 12  # of one step, one within the other

# start, step size, memory -> the step; NotConverged where it fails
Take = Callable[[State, float, Any], Step]


class Passed(Unsolved):
    """Something would pass through something."""

    def __init__(self, work: Work) -> None:
        super().__init__("something would pass through something", work)


def clear_step(method: Integrator, system: System, state: State, h: float, memory: Any) -> Step:
    """One step of the method, or shorter ones; NotConverged where not even those stay clear."""
    try:
        try:
            return clear(system, state, step_of(method)(system, state, h, memory))
        except NotConverged as failure:
            take = partial(step_of(method), system)
            return halves(failure, take, system, state, h, memory)
    except Passed:
        raise NotConverged(
            f"something would pass through something at t = {state.t:.6g} s, even in steps of "
            f"{h / 2**HALVINGS:.2g} s: try energy-momentum or a smaller step"
        ) from None


def halves(
    failure: NotConverged,
    take: Take,
    system: System,
    state: State,
    h: float,
    memory: Any,
    halvings: int = HALVINGS,
) -> Step:
    """Where a whole step did not converge, or its straight way is not `clear`: two of half the
    size, and so on, `halvings` deep."""

    def pieces(
        state: State, h: float, memory: Any, halvings: int, skip: int, spent: Work | None = None
    ) -> tuple[Step, int]:
        """The step, and how deep its last piece is; skip: as deep nothing is tried, since the piece
        before had to be shorter still; spent: on the whole, where that has failed already."""
        if skip == 0 and spent is None:
            try:
                return clear(system, state, take(state, h, memory)), 0
            except NotConverged as failure:
                if halvings == 0:
                    raise
                spent = _lost(failure)
        h *= 0.5
        first, deep = pieces(state, h, memory, halvings - 1, max(skip - 1, 0))
        second, last = pieces(first.state, h, first.memory, halvings - 1, max(deep - 1, 0))
        notes = joined(first.notes, second.notes)
        notes["halvings"] = notes.get("halvings", 0) + 1
        whole = Step(
            state.moved(state.t + 2.0 * h, second.state.x, second.state.v),
            second.memory,
            (spent or Work()) + first.work + second.work,
            exchanged=exchange(system, state, first) + exchange(system, first.state, second),
            notes=notes,
            clear=first.clear and second.clear,
        )
        return whole, last + 1

    return pieces(state, h, memory, halvings, 0, _lost(failure))[0]


def _lost(failure: NotConverged) -> Work:
    return getattr(failure, "work", Work()) + Work(rejected_steps=1)


def clear(system: System, before: State, taken: Step) -> Step:
    """The step, known to be clear where the system says what that is."""
    if taken.clear or not getattr(system, "guarded", False):
        return taken
    if not system.stays_clear(before, taken.state):  # type: ignore[attr-defined]  # guarded
        raise Passed(taken.work)
    return replace(taken, clear=True)


def exchange(system: System, before: State, taken: Step) -> Power:
    """Energies [J] added and taken in one of the shorter steps: the ledger sees only the whole."""
    return work(system, before, taken.state) if taken.exchanged is None else taken.exchanged


def joined(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """Of two steps that make one: the worse residual, the larger alpha, all halvings and
    iterations; of the rest the last word."""
    notes = {**before, **now}
    for name in ("residual", "under_solved", "rounding", "base_failed", "limited"):
        if name in before and name in now:
            notes[name] = max(before[name], now[name])
    if "alpha" in before and "alpha" in now:
        notes["alpha"] = max(before["alpha"], now["alpha"], key=abs)
    for name in ("halvings", "iterations", "vectors"):
        counts = [step[name] for step in (before, now) if name in step]
        if counts:
            notes[name] = sum(counts)
    return notes


@dataclass(frozen=True)
class Substeps:
    """Several equal steps of a base method in one: the usual answer to instability, at its price.

    The yardstick of Dinev, Liu, Kavan 2018, Table 2, who substep implicit midpoint.  Frames,
    damping between the steps and contact detection see one step of size h; forces are evaluated all
    along.  base: any integrator with steps of fixed size; count: of its steps in one of these.
    """

    base: Integrator
    count: int

    adaptive = False

    def __post_init__(self) -> None:
        if not (hasattr(self.base, "step") and hasattr(self.base, "start")):
            raise InputError(f"substeps: base {self.base!r} is no integrator: give e.g. Midpoint()")
        check_count("substeps", "count", self.count)

    @property
    def name(self) -> str:
        return f"{getattr(self.base, 'name', type(self.base).__name__)} x {self.count}"

    @property
    def order(self) -> int:
        return self.base.order

    @property
    def dissipative(self) -> bool:
        return getattr(self.base, "dissipative", False)

    @property
    def remedy(self) -> str:
        return getattr(self.base, "remedy", "give more substeps")

    def start(self, system: System, state: State) -> Any:
        return self.base.start(system, state)

    def resume(self, system: System, state: State, memory: Any, settled: Settled) -> Any:
        return resumed(self.base, system, state, memory, settled)

    def step(self, system: System, state: State, h: float, memory: Any) -> Step:
        end, work, moved, notes = state.t + h, Work(), Power(), {}
        for left in reversed(range(self.count)):
            taken = step_of(self.base)(system, state, h / self.count, memory)
            moved += exchange(system, state, taken)
            state, memory = taken.state, taken.memory
            if left == 0 and state.t != end:  # sums of h drift
                state = state.moved(end, state.x, state.v)
            work += taken.work
            notes = joined(notes, taken.notes)
        return Step(state, memory, work, exchanged=moved, notes=notes)
