"""One time loop for many runs: their books at every look, and each run by itself at the end."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..accounting import rounding_energy
from ..contracts import Array, Power, Settled, State, Step
from ..errors import InputError
from ..recording.drawn import drawn
from ..recording.notes import StepLog
from ..recording.run import EnergyHistory, Run
from .ledger import Balance, Ledger
from .loop import WORTH_A_WARNING, Loop
from .stepper import DIVERGENCE

NAMED = 5  # runs in a warning


def named(runs: Sequence[int]) -> str:
    first = ", ".join(map(str, runs[:NAMED]))
    more = f" and {len(runs) - NAMED} more" if len(runs) > NAMED else ""
    return f"run{'s' if len(runs) > 1 else ''} {first}{more}"


class Look(NamedTuple):
    """At one time t: energies [J] (runs,) by part, added, dissipated; which runs are finite."""

    t: float
    parts: dict[str, Array]
    added: Array
    dissipated: Array
    finite: np.ndarray


class Ledgers(Ledger):
    """Books of many runs: what they said at every look, and which runs somebody has to judge.

    Its own lines are the sums of all, for who wants to know how far a run is.
    """

    def __init__(self, system: Any) -> None:
        super().__init__(system)
        count = len(system.own)
        self.looks: list[Look] = []
        self.framed: list[int] = []  # which looks are frames
        self._added, self._dissipated = np.zeros((2, count))
        self.suspect, self._top = np.zeros(count, dtype=bool), np.zeros(count)

    def settle(self, settled: Settled | Power) -> None:
        self._added = self._added + settled.added
        self._dissipated = self._dissipated + settled.dissipated

    def frame(self, state: State) -> float:
        self.framed.append(len(self.looks))
        return super().frame(state)

    def look(self, state: State) -> float:
        """Nobody is judged here: the others go on."""
        own: Any = self.system
        finite, books = own.finite(state), (self._added, self._dissipated)
        look = Look(state.t, own.energy(state), *books, finite)
        if not self.looks and not np.isfinite(sum(look.parts.values())).all():
            run = int(np.argmin(np.isfinite(sum(look.parts.values()))))
            raise InputError(
                f"run {run}: the energy at the start is not finite: check the size of x0 and v0, "
                "and potentials"
            )
        self._sift(look)
        self.looks.append(look)
        self.now = {name: float(np.nansum(e)) for name, e in look.parts.items()}
        self.added_now, self.dissipated_now = (float(np.nansum(book)) for book in books)
        return 0.0

    def errors(self, look: Look) -> Array:
        """Numerical, of each run."""
        gained = sum(look.parts[n] - start for n, start in self.looks[0].parts.items())
        return gained - look.added + look.dissipated

    def _sift(self, look: Look) -> None:
        """Runs whose numerical error is never large beside what moves need no judge: with less than
        half of that their yardstick is what `Balance` takes, too."""
        start = self.looks[0].parts if self.looks else look.parts
        moved = np.max([np.abs(e - start[n]) for n, e in look.parts.items()], axis=0)
        seen = np.max([look.parts["kinetic"], moved, np.abs(look.added), look.dissipated], axis=0)
        if self.looks:
            before = sum(np.abs(e) for e in self.looks[-1].parts.values())
            error = np.abs(self.errors(look))
            for yardstick in (self._top, before):
                self.suspect |= (yardstick > 0.0) & ~(error <= 0.5 * DIVERGENCE * yardstick)
            self.suspect |= ~(error <= 0.5 * seen) | ~look.finite
        else:  # what is stored can be released
            stored = [np.abs(e) for n, e in look.parts.items() if n != "gravity"]
            seen = np.max([seen, *stored], axis=0)
        self._top = np.maximum(self._top, seen)


class Told(StepLog):
    """What steps say of each run."""

    def __init__(self) -> None:
        super().__init__()
        self._at: list[int] = []  # steps that say something
        self._said: dict[str, list[Array]] = {}

    def add(self, t: float, notes: Any, h: float = np.nan) -> None:
        self._at.append(len(self.times))
        for name, values in notes.items():
            self._said.setdefault(name, []).append(values)
        super().add(t, {}, h)

    def of_all(self) -> dict[str, Array]:
        """t (steps,) [s], and by name (steps, runs), NaN where a step says nothing."""
        made = {"t": np.array(self.times)}
        for name, values in self._said.items():
            made[name] = np.full((len(self.times), len(values[0])), np.nan)
            made[name][self._at] = values
        return made


class Together(Loop):
    """Runs together: none is stopped by what becomes of another."""

    system: Any

    def __init__(
        self, system: Any, method: Any, name: str, state: State, frames: Array, step: float
    ) -> None:
        self.told, self.books = Told(), Ledgers(system)
        super().__init__(system, method, name, state, frames, step, None, self.told)
        self.ledger = self.books

    def _require_finite(self, taken: Step, h: float) -> None:
        """Later, of each run by itself."""

    def _warn_of_energy(self) -> None:
        """Later, too."""

    @property
    def stretches(self) -> bool:
        """One call takes many steps."""
        return self._chosen[0] is not None

    def warn_of_failures(self, failures: dict[int, str]) -> None:
        if failures:
            told, first = named(list(failures)), next(iter(failures.values()))
            count = f"{len(failures)} of {len(self.system.own)}"
            self._warn(f"{count} runs ended early ({told}), the first with: {first}")

    def warn_of_errors(self, runs: list[int], share: float) -> None:
        if runs:
            count = f"{len(runs)} of {len(self.system.own)} runs ({named(runs)})"
            self._warn(
                f"numerical error of up to {share:.0%} of the energy exchanged in {count}; "
                f"{self._remedy(self.longest)}"
            )


# ------------------------------------------------------------------ each by itself


class Apart:
    """A run for each of many that have ended together."""

    def __init__(
        self, loop: Together, together: Run, scenes: list[Any], owners: list[Any], x0: list[Any]
    ) -> None:
        self._loop, self._together, self._books = loop, together, loop.books
        self._shown = [partial(drawn, *own) for own in zip(owners, scenes, x0, strict=True)]
        looks = self._books.looks
        self._times, self._told = np.array([look.t for look in looks]), loop.told.of_all()
        self._names = list(looks[0].parts)
        self._parts = {name: np.array([look.parts[name] for look in looks]) for name in self._names}
        self._added, self._dissipated = (
            np.array([getattr(look, name) for look in looks]) for name in ("added", "dissipated")
        )

    def runs(self) -> list[Run]:
        failures = {int(k): self._failure(int(k)) for k in np.flatnonzero(self._books.suspect)}
        failures = {k: found for k, found in failures.items() if found is not None}
        made = [self._run(k, failures.get(k)) for k in range(len(self._shown))]
        self._loop.warn_of_failures({k: text for k, (_, text) in failures.items()})
        self._warn_of_energy([k for k in range(len(made)) if k not in failures])
        return made

    def _failure(self, run: int) -> tuple[int, str] | None:
        """The first frame that is not there, and why; by the books that a run alone has."""
        loop, books, (system, begin) = self._loop, self._books, self._loop.system.own[run]
        alone = Balance(system)
        names = self._own_names(run)
        for index, look in enumerate(books.looks):
            kept = int(np.searchsorted(books.framed, index, side="right"))
            if not look.finite[run]:
                since = books.looks[index - 1].t
                return kept - (index in books.framed), loop.lost(loop.longest, since)
            alone.added_now, alone.dissipated_now = look.added[run], look.dissipated[run]
            parts = {name: float(look.parts[name][run]) for name in names}
            with np.errstate(over="ignore", invalid="ignore"):
                growth = alone.judged(parts, begin)
            if growth > DIVERGENCE:
                return kept, loop.grown(growth, look.t)
        return None

    def _own_names(self, run: int) -> list[str]:
        system = self._loop.system.own[run][0]
        return ["kinetic", *dict.fromkeys(name for name, _ in system.assembly.potentials)]

    def _run(self, run: int, failure: tuple[int, str] | None) -> Run:
        loop, all_runs = self._loop, self._together
        frames = slice(None if failure is None else failure[0])
        at = loop.system.starts[run]
        rows = slice(at, at + loop.system.own[run][0].particles)
        energy = self._energy(run, self._books.framed[frames])
        stats, steps = dict(all_runs.stats), len(self._told["t"])
        if failure is not None:
            steps = int(np.sum(self._told["t"] <= energy.times[-1]))
            stats |= {"steps": steps, "failure": failure[1]}
        touching = run in loop.system.touching
        fields = {n: f[frames, rows] for n, f in all_runs.fields.items() if touching}
        return Run(
            integrator=all_runs.integrator,
            step=all_runs.step,
            times=energy.times,
            positions=all_runs.positions[frames, rows],
            velocities=all_runs.velocities[frames, rows],
            energy=energy,
            stats=stats,
            diagnostics=self._said(run, steps),
            wall_seconds=all_runs.wall_seconds / len(self._shown),
            fields=fields,
            **self._shown[run]()._asdict(),
        )

    def _said(self, run: int, steps: int) -> dict[str, Array]:
        """Of this run, up to a step: how it touches shapes, where it has any."""
        touching = run in self._loop.system.touching
        own = {n: v[:steps, run] for n, v in self._told.items() if n != "t" and touching}
        return {"t": self._told["t"][:steps], **own}

    def _energy(self, run: int, looks: list[int]) -> EnergyHistory:
        return EnergyHistory(
            self._times[looks],
            {name: self._parts[name][looks, run] for name in self._own_names(run)},
            self._added[looks, run],
            self._dissipated[looks, run],
            np.zeros(len(looks)),
        )

    def _warn_of_energy(self, runs: list[int]) -> None:
        """Runs with a numerical error that `simulate` would warn of."""
        worst, exchanged = self._worst()
        told = [k for k in runs if worst[k] > WORTH_A_WARNING * exchanged[k]]
        told = [k for k in told if worst[k] > rounding_energy(*self._loop.system.own[k])]
        share = max((worst[k] / exchanged[k] if exchanged[k] else np.inf for k in told), default=0)
        self._loop.warn_of_errors(told, share)

    def _worst(self) -> tuple[Array, Array]:
        """The largest numerical error [J] of each run, and the energy exchanged, as `Balance` has
        it."""
        errors = np.array([self._books.errors(look) for look in self._books.looks])
        lines = [*self._parts.values(), self._added, self._dissipated]
        moved = np.max([np.ptp(line, axis=0) for line in lines], axis=0)
        return np.abs(errors).max(axis=0), np.maximum(moved, self._parts["kinetic"].max(axis=0))
