"""One method on one copy of the body: it steps, is dragged, and is changed while it goes on."""

from __future__ import annotations

import copy
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import inf, isfinite
from typing import Any, NamedTuple

import numpy as np

from ..accounting import Target, total_energy
from ..bodies import System
from ..contracts import Array, Away, Integrator, Power, Settled, State, Step
from ..errors import InputError, SimulationFailure, StiffError
from ..integrators.explicit import scheme_of
from ..integrators.restart import resumed
from ..parts.attachments import PointTies
from ..recording.notes import FrameLog
from ..recording.plots.style import unit
from ..recording.sinks import Frame
from ..run.ledger import Balance
from ..run.stepper import Stepper
from .device import Substeps
from .frames import NOWHERE, LaneFrame
from .hand import Grip
from .settings import MOST_STEPS

SOUND = 1.0  # numerical error against all honest energy: up to here one can go back to a frame
HAND = "hand"  # the name of its energy
A_CALL = 0.05  # seconds for which steps are taken at once: a frame that takes too long ends early
FIRST = 10  # of these steps, before anybody knows how long they take
STURDY = ("energy-momentum", "stabilised")  # they take every scene, and live where others die


class Lane:
    """A lane that fails stands still and says why, until it is changed or reset.

    kept: the last frames, each with the name of its method.
    """

    shown: LaneFrame

    def __init__(self, body: Any, state: State, method: Integrator, name: str) -> None:
        self.body = body
        self.failure: str | None = None
        self._grip: Grip | None = None
        self._ties: PointTies | None = None
        self._waiting, self._parts = _waiting(body, method), 1
        system = self._tied()
        self.stepper = LiveStepper(system, method, name, state, Balance(system), FrameLog())
        self.kept: deque[tuple[str, Frame]] = deque()
        self._origin = NOWHERE
        self._seconds = self._elapsed = 0.0  # of physics: since the last frame, and in all
        self._pace = self._cut = 0.0  # seconds that a step takes; the step [s] that is cut in parts
        self.stepper.book()
        self._keep_sound()
        self.frame()

    @property
    def name(self) -> str:
        return self.stepper.name

    # ------------------------------------------------------------------ steps and frames

    @property
    def most(self) -> int:
        """Steps that one call may take, for as long as a frame can wait."""
        if self.failure is not None or not self.stepper.at_once:
            return MOST_STEPS if self.failure is not None else 1
        return max(1, int(A_CALL / self._pace)) if self._pace else FIRST

    def steps(self, h: float, ends: Array) -> None:
        """A step of h seconds to each of the times `ends`, in one call where the method can."""
        if self.failure is None:
            began = time.perf_counter()
            with self._failing():
                self._take(h, ends)
            taken = time.perf_counter() - began
            self._seconds, self._pace = self._seconds + taken, taken / len(ends)

    def _take(self, h: float, ends: Array) -> None:
        stepper = self.stepper
        if not stepper.at_once:
            for end in ends.tolist():
                stepper.take(h, end)
            return
        if isinstance(stepper.method, Substeps) and h != self._cut:
            self._parts = stepper.method.within(stepper.system, stepper.state, h)
            self._cut = h
        shorter = h / self._parts
        every = (ends - h)[:, None] + shorter * np.arange(1, self._parts + 1)
        every[:, -1] = ends
        stepper.take_all(shorter, every.ravel())

    def frame(self) -> LaneFrame:
        """What the steps since the last frame have led to; it joins the last frames."""
        growth = self._book()
        if self.failure is not None:
            return self._stuck()
        notes, self._elapsed = self.stepper.log.frame(), self._elapsed + self._seconds
        self.shown = LaneFrame(
            **self._looks(),
            alpha=notes.get("alpha"),
            residual=notes.get("residual"),
            under_solved=bool(notes.get("under_solved", False)),
            seconds=self._seconds,
            spent=_spent(notes),
            stands_in=self._stands_in(),
        )
        self._seconds = 0.0
        method = self.stepper.method
        computed = method.name if isinstance(method, Substeps) else self.name
        self.kept.append((computed, self._recorded(notes)))
        if growth <= SOUND:
            self._keep_sound()
        return self.shown

    def look(self) -> LaneFrame:
        """The same frame again, after something else than a step: a drag, a change."""
        self._book()
        if self.failure is not None:
            return self._stuck()
        self.shown = replace(self.shown, **self._looks())
        return self.shown

    def _stands_in(self) -> str:
        method = self.stepper.method
        if not isinstance(method, Substeps) or not self._cut:
            return ""
        size, scale = self._cut / self._parts, unit("s", self._cut / self._parts)
        return f"{method.name} on a card, in steps of {size * scale.factor:.2g} {scale.name}"

    def _stuck(self) -> LaneFrame:
        self._seconds = 0.0
        self.shown = replace(self.shown, name=self.name, failure=self.failure, seconds=0.0)
        return self.shown

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Whatever goes wrong is this lane's failure: the other lanes go on."""
        try:
            yield
        except Exception as problem:
            said = " ".join(str(problem).split())
            if not isinstance(problem, StiffError):
                said = f"{type(problem).__name__}: {said}"
            self.failure = self.failure or said

    def _book(self) -> float:
        growth = inf
        if self.failure is None:
            with self._failing():
                growth = self.stepper.book()
                self.stepper.judge(growth)
        return growth

    def _looks(self) -> dict[str, Any]:
        system, state, books = self.stepper.system, self.stepper.state, self.stepper.ledger
        return {
            "name": self.name,
            "positions": _single(system.positions(state)),
            "velocities": _single(system.velocities(state)),
            "energies": {**books.now, HAND: books.now.get(HAND, 0.0)},
            "added": books.added_now,
            "dissipated": books.dissipated_now,
            "numerical": books.numerical,
            "angular_momentum": angular_momentum(system, state),
            "failure": None,
            "hand": NOWHERE if self._ties is None else self._ties.points,
        }

    def _recorded(self, notes: dict[str, float]) -> Frame:
        stepper, shown = self.stepper, self.shown
        return Frame(
            index=0,  # of the recording that it may become part of
            of=1,
            t=stepper.state.t,
            positions=shown.positions,
            velocities=shown.velocities,
            energies=stepper.ledger.now,
            added=shown.added,
            dissipated=shown.dissipated,
            invented=stepper.ledger.invented_now,
            steps=stepper.steps,
            work=stepper.work,
            seconds=self._elapsed,
            notes=notes,
        )

    # ------------------------------------------------------------------ changes

    def continued(
        self, t: float, method: Integrator, name: str, body: System | None = None
    ) -> Lane:
        """This lane with that method, and another body where one is given, at time t.

        Positions, velocities and books go on; what the system stores more than before is added.
        A lane that has failed goes on from its last sound frame.
        """
        state, books, energy = self._now(t)
        new, stepper = copy.copy(self), copy.copy(self.stepper)
        if body is not None:
            new.body, state = body, body.taken_over(state)
        new.stepper, new.failure = stepper, None
        new._waiting, new._parts = _waiting(new.body, method), 1
        new._pace = new._cut = 0.0
        if self._grip is not None and self._ties is not None:
            new._ties = self._grip.ties(new.body, self._ties.points)
        system = new._tied()
        now = total_energy(system, state)
        if not isfinite(now):
            raise InputError("the energy would not be finite then: choose other values, or reset")
        moved = Power(added=now - energy)
        books.settle(moved)
        books.system = stepper.system = system
        stepper.state, stepper.ledger, stepper.method, stepper.name = state, books, method, name
        stepper.chooses_anew()
        stepper.memory = method.start(system, state)
        if self.failure is None and name == self.name:
            stepper.memory = _aiming(stepper.memory, self.stepper.memory, moved)
        stepper.shortest, stepper.longest = inf, 0.0
        return new

    def branched(self, t: float, method: Integrator, name: str, body: System) -> Lane:
        """Another lane, which begins in this one's state, with books of its own."""
        state, _, _ = self._now(t)
        new = Lane(body, body.taken_over(state), method, name)
        if self._grip is not None and self._ties is not None:
            new.grab(self._grip, self._origin)
            new._pull(self._ties.points)
        return new

    def _now(self, t: float) -> tuple[State, Balance, float]:
        """State and books to go on from, and the energy [J] in them."""
        stepper = self.stepper
        if self.failure is None:
            energy = total_energy(stepper.system, stepper.state)
            return stepper.state, copy.copy(stepper.ledger), energy
        state, books = self._sound
        return state.moved(t, state.x, state.v), copy.copy(books), float(sum(books.now.values()))

    def _keep_sound(self) -> None:
        """Where it can go on if it fails."""
        self._sound = self.stepper.state, copy.copy(self.stepper.ledger)

    # ------------------------------------------------------------------ the hand

    def grab(self, grip: Grip, origin: Array | None = None) -> None:
        """Hold on to these particles; origin (k, 3) [m]: where the hand is, default where they
        are."""
        x = self.body.row_positions(self.stepper.state)
        here = x[self.body.numbering.rows[grip.particles]]
        self._grip, self._origin = grip, here if origin is None else origin
        self._ties = grip.ties(self.body, self._origin)
        self._resume(self._tied(), Power(added=self._ties.energy(x)))

    def drag(self, offset: Array) -> None:
        """The hand is that far (3,) [m] from where it took hold; the work it does is added."""
        self._pull(self._origin + offset)

    def _pull(self, points: Array) -> None:
        if self._ties is not None:
            x = self.body.row_positions(self.stepper.state)
            before, self._ties.points = self._ties.energy(x), points
            self._resume(self.stepper.system, Power(added=self._ties.energy(x) - before))

    def drop(self) -> None:
        """Let go; what the springs of the hand had stored is dissipated."""
        if self._ties is not None:
            stored = self._ties.energy(self.body.row_positions(self.stepper.state))
            self._grip, self._ties, self._origin = None, None, NOWHERE
            self._resume(self._tied(), Power(dissipated=stored))

    def _tied(self) -> Any:
        """The body in this hand, or alone."""
        if self._waiting is not None:
            self._waiting.ties.become(self._ties)
            if self._ties is not None:
                self._ties = self._waiting.ties
            return self._waiting.system
        return self.body if self._ties is None else self.body.gripped(self._ties, HAND)

    def _resume(self, system: Any, moved: Power) -> None:
        """Go on with this system after energy has moved between two steps."""
        stepper, state = self.stepper, self.stepper.state
        if isinstance(state, Away):  # a card tells energies with the ties it was given
            state = state.as_saved()
        settled = Settled(state, moved.added, moved.dissipated, changed=True)
        with self._failing():
            stepper.memory = resumed(stepper.method, system, state, stepper.memory, settled)
        stepper.state = state
        stepper.ledger.settle(settled)
        stepper.system = stepper.ledger.system = system


def _aiming(memory: Any, before: Any, moved: Power) -> Any:
    """Memory of a method that has started anew, with the target of energy that it had before.

    Else every touch of a slider would make its error the new target.  The rest must be new: what
    solvers have factorised belongs to the old body.
    """
    if isinstance(memory, Target):
        return before.moved(moved)
    if hasattr(memory, "target"):
        return memory._replace(target=before.target.moved(moved))
    return memory


def _single(full: Array) -> Array:
    """(N, 3) as float32, for good."""
    single = full.astype(np.float32)
    single.flags.writeable = False
    return single


def angular_momentum(system: Any, state: State) -> float:
    """Its norm about the centre of mass of what is free [kg m^2/s]."""
    mass = system.mass.apply(np.ones(system.size))[::3]
    x, p = state.x.reshape(-1, 3), system.mass.apply(state.v).reshape(-1, 3)
    T = (x - mass @ x / mass.sum()).T @ p
    return float(np.linalg.norm((T[1, 2] - T[2, 1], T[2, 0] - T[0, 2], T[0, 1] - T[1, 0])))


def _spent(notes: dict[str, float]) -> str:
    """What the work of a frame was spent on, in words."""
    said = [f"{notes[name]:.0f} {name}" for name in ("iterations", "vectors") if name in notes]
    errors = {"residual": "residual", "action_error": "error"}
    said += [f"{word} {notes[name]:.2g}" for name, word in errors.items() if name in notes]
    return ", ".join(said)


# ------------------------------------------------------------------ the body in a hand, its steps


class Waiting(NamedTuple):
    """A hand that is there before it takes hold, of a body whose steps are taken many at once: what
    has been laid out and compiled for them stays."""

    ties: PointTies
    system: System


def _waiting(body: Any, method: Integrator) -> Waiting | None:
    if scheme_of(method) is None:
        return None
    ties = PointTies(1.0, body.pattern, linear=False)
    system = body.gripped(ties, HAND)
    return Waiting(ties, system) if hasattr(system.stretcher, "steps") else None


class LiveStepper(Stepper):
    """Steps whose failures are told in the words of the page: what its user can turn."""

    @property
    def at_once(self) -> bool:
        """Many steps can be taken in one call."""
        return self._chosen[0] is not None

    def chooses_anew(self) -> None:
        """Another method, or another body."""
        vars(self).pop("_chosen", None)

    def _try(self, h: float) -> Step:
        try:
            return super()._try(h)
        except SimulationFailure as problem:
            raise type(problem)(f"{cause(str(problem))}; {self._remedy(h)}") from problem

    def _remedy(self, h: float) -> str:
        others = " or ".join(name for name in STURDY if name != self.name)
        scale = unit("s", h)  # as the control has it
        return f"choose {others} in its place, or a Step of {h / 4 * scale.factor:.2g} {scale.name}"


def cause(message: str) -> str:
    """The message of a failure without its remedy, which comes after the last of the marks."""
    end = max(message.rfind(mark) for mark in (": ", "; "))
    return message[:end] if end > 0 else message
