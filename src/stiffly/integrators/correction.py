"""One step of a stabiliser: the base, its energy, and what brings it to the energy allowed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..accounting import middle_work, work
from ..backends.sums import norms
from ..contracts import Energies, Power, State, Step, System, Work
from ..errors import Diverged, NotConverged
from ..solvers.local_global import LocalGlobal
from ..solvers.settings import Clock, Pace
from .blend import Candidate, finite, fitted, search
from .halving import exchange
from .own import step_of
from .stage import Bdf1

if TYPE_CHECKING:
    from .stabilised import Stabilised, StabilisedMemory

FROZEN = 1e-3  # of a step: less is standing still
ROUNDING = 1e-12  # of the energies that are summed
LEAST = 1e-9  # [s]: no time at all, which is enough for one iteration
UNKNOWN = 1.0 / 3.0  # share of a budget kept for corrections before any has been timed
FORGET = 0.9  # of what was kept in the step before is kept in any case: corrections come and go
MOST = 0.75  # share of a budget that is ever kept: one slow step must not starve the base


def iterates(method: Any) -> bool:
    """Solved by local/global iterations, whose number is free."""
    return isinstance(getattr(method, "solver", None), LocalGlobal)


class Timing:
    """How a stabiliser divides its time: what corrections have needed is kept for them, the base
    has the rest.  Corrections are not cut short, but where the time is up the last of them, which
    costs next to nothing (blend.py), comes at once.  Without a budget (seconds = None) nothing is
    limited and no clock looked at."""

    def __init__(self, seconds: float | None, clock: Clock, reserve: float | None) -> None:
        """reserve [s]: of the step before; None: not yet known."""
        self._pace, self._clock, self._free = Pace(seconds, clock), clock, seconds is None
        self._seconds = seconds or 0.0
        self._reserve = UNKNOWN * self._seconds if reserve is None else reserve
        self._given, self._after, self._late = 0.0, self._pace.left(), 0.0

    def base(self, method: Any) -> Any:
        self._given = self._pace.left() - self._reserve
        if self._free or not iterates(method):
            return method
        seconds = max(self._given, LEAST)
        return replace(method, solver=replace(method.solver, budget=seconds, clock=self._clock))

    def base_done(self) -> None:
        before, self._after = self._after, self._pace.left()
        self._late = max(before - self._after - max(self._given, 0.0), 0.0)
        self._pace.once()

    def spare(self) -> bool:
        """There is time for more than has to be."""
        return self._pace.left() > 0.0

    def reserve(self) -> float | None:
        """For the next step: what came after the base this time, or nearly as much as before."""
        if self._free:
            return None
        spent = self._after - self._pace.left()
        return min(max(spent + self._late, FORGET * self._reserve), MOST * self._seconds)


class Overshoot(NotConverged):
    """Neither the base nor backward Euler ends within the energy allowed."""


class Correction:
    """One step from `state`; seconds: it may take, None for ever."""

    def __init__(
        self,
        method: Stabilised,
        system: System,
        state: State,
        h: float,
        memory: StabilisedMemory,
        seconds: float | None,
    ) -> None:
        self.method, self.system, self.state, self.h = method, system, state, h
        self.memory, self.work = memory, Work()
        self.timing = Timing(seconds, method.clock, memory.reserve)
        self.evaluations = 0
        self.unsolved = self.given_up = False  # the base: by its own account; altogether
        self.target, self.moved, self.measure = memory.target, Power(), work
        self.now = system.energy(state) if memory.energies is None else memory.energies
        # what an accepted step may be off by, and what is worth a correction
        self.band = self.wide = method.tolerance * self._free_energy() + memory.rounding

    def run(self, halve: bool) -> Step:
        """halve: NotConverged where a method fails or all end too high; else there is a step."""
        self.halve = halve
        notes: dict[str, Any] = {}
        base: Step | None = None
        with self._may_fail():
            method = self.timing.base(self.method.base)
            taken = step_of(method)(self.system, self.state, self.h, self.memory.base)
            base = self._based(taken)
        if base is None:  # what forces would have done along it is unknown: the target stays
            notes["base_failed"] = True
            # where backward Euler fails too, there is a way to go all the same
            best = self._lowered(None) or self._candidate(self._fallen(), spin=False)
            alpha = 1.0
        else:
            notes |= base.notes
            self.unsolved = bool(base.notes.get("under_solved", False))
            best, alpha = self._corrected(base)
        if alpha != 0.0:  # the work of forces along the accepted step, not the base's
            self.moved = self.measure(self.system, self.state, best.state)
            self.target = self.memory.target.moved(self.moved)
        error, rounding = best.total - self.target.value, ROUNDING * _size(self.now)
        if not error <= self.band + rounding:
            notes["limited"] = not error <= self.wide + rounding
            if notes["limited"] and self._may_halve():
                raise Overshoot("no step within the energy allowed was found")
            best = self._within(best, notes)
        step = self._finish(best, alpha, notes)
        if base is not None and base.clear and best.state.x is base.state.x:
            return replace(step, clear=True)
        return step

    # ------------------------------------------------------------------ the methods

    def _may_halve(self) -> bool:
        return self.halve and self.timing.spare()

    @contextmanager
    def _may_fail(self) -> Iterator[None]:
        """A method that cannot take this step at all is passed over."""
        try:
            yield
        except NotConverged:
            if self._may_halve():
                raise
        except (Diverged, np.linalg.LinAlgError):
            pass
        except ValueError:  # matrix functions refuse what is not finite
            if np.all(np.isfinite(self.system.force(self.state))):
                raise

    def _based(self, taken: Step) -> Step | None:
        """What the base ended in; None where that is no number."""
        self.timing.base_done()
        self.work += taken.work
        if not finite(self.system, taken.state):
            return None
        self.memory = self.memory._replace(base=taken.memory)
        return taken

    def _backward(self, guess: State | None) -> Candidate | None:
        """Backward Euler from the guess; None where it fails."""
        dissipate, memory = self.method.dissipate, self.memory.dissipate
        extra = {"guess": guess} if isinstance(dissipate, Bdf1) else {}
        with self._may_fail():
            taken = step_of(dissipate)(self.system, self.state, self.h, memory, **extra)
            self.work += taken.work
            if finite(self.system, taken.state):
                self.memory = self.memory._replace(dissipate=taken.memory)
                return self._candidate(taken.state, spin=False)
        return None

    def _fallen(self) -> State:
        """By inertia and the force at the start; without it where that is no number."""
        t, x, v = self.state.t + self.h, self.state.x, self.state.v
        fast = v + self.h * self.system.acceleration(self.state)
        end = self.state.moved(t, x + self.h * fast, fast)
        return end if finite(self.system, end) else self.state.moved(t, x + self.h * v, v)

    def _lowered(self, guess: State | None) -> Candidate | None:
        """Backward Euler from the guess, or from inertia; where it overshoots, from the start.

        From there everything that goes down in the incremental potential K(x - x_n - h v_n)/h^2 +
        E(x) stores no more than the energy at the start: E(x) + K(v+ - v) <= E(x_n) + K(v).
        """
        best: Candidate | None = None
        for begin in (guess, self.state):
            last = self._backward(begin)
            for _ in range(self.method.passes - 1):
                if last is None or last.error <= self.wide:
                    break
                last = self._backward(last.state) or last
            if last is not None and (best is None or not best.error <= last.error):
                best = last
            if best is not None and (best.error <= self.wide or not self.timing.spare()):
                break
        return best

    # ------------------------------------------------------------------ the energy

    def _corrected(self, base: Step) -> tuple[Candidate, float]:
        """The base, or what is between it and one of the Euler methods; the share of that."""
        self.moved = exchange(self.system, self.state, base)
        self.measure = work if base.exchanged is None else middle_work
        self.target = self.memory.target.moved(self.moved)
        first = self._candidate(base.state)
        self.wide = self.method.tolerance * self._free_energy(first) + self.memory.rounding
        if abs(first.error) <= self.wide:
            return first, 0.0
        if not first.error <= 0.0:  # also where it is not a number
            return self._lower(first)
        if self.unsolved:  # the solver has lost it, not the base
            return first, 0.0
        return self._raise(first)

    def _lower(self, first: Candidate) -> tuple[Candidate, float]:
        """Too much energy: towards backward Euler."""
        # from far off, backward Euler would find another of its solutions, as far off
        near = first.error * self.method.tolerance <= self.wide
        plain = self._lowered(first.state if near else self.state)
        if plain is None:
            return first, 0.0
        last = plain if self.memory.spin is None else self._candidate(plain.state)
        if last.error > self.wide and last.state is not plain.state:  # the spin has to wait
            if plain.error <= self.wide:
                return self._blend(last, plain, spin=False)[0], 1.0
            last = plain
        if last.error > self.wide:  # both overshoot
            return (last, 1.0) if not last.error > first.error else (first, 0.0)
        if self.unsolved and not near:  # there is no motion in it that is worth a share
            self.given_up = True
            return last, 1.0
        return self._blend(first, last)

    def _raise(self, first: Candidate) -> tuple[Candidate, float]:
        """Too little: towards forward Euler."""
        taken: Step | None = None
        with self._may_fail():
            inject = self.method.inject
            taken = step_of(inject)(self.system, self.state, self.h, self.memory.inject)
        if taken is None or not finite(self.system, taken.state):
            return first, 0.0
        self.work += taken.work
        last = self._candidate(taken.state)
        if last.error < -self.wide:  # neither has enough
            best, share = (last, 1.0) if last.error > first.error else (first, 0.0)
        else:
            best, share = self._blend(first, last)
        return best, -share

    def _candidate(self, s: State, spin: bool = True) -> Candidate:
        self.evaluations += 1
        if spin and self.memory.spin is not None:
            s = self.memory.spin.restored(s)
        energies = self.system.energy(s)
        return Candidate(s, energies, float(sum(energies.values())) - self.target.value)

    def _free_energy(self, first: Candidate | None = None) -> float:
        """Kinetic energy before the step, and what the parts stored above their least; what was
        too much then is not counted.  first: what it has released is counted as well."""
        now = self.now
        surplus = float(sum(now.values())) - self.memory.target.value
        total = now["kinetic"] - max(surplus, 0.0)
        for name, value in now.items():
            if name != "kinetic":
                least = min(self.memory.lowest.get(name, value), value)
                if first is not None:
                    least = min(least, _finite(first.energies[name], value))
                total += value - least
        return max(total, 0.0)

    def _blend(
        self, first: Candidate, last: Candidate, spin: bool = True
    ) -> tuple[Candidate, float]:
        """The share of `last` at which the error is within the band."""
        a, b = first.state, last.state

        def at(share: float) -> Candidate:
            x = (1.0 - share) * a.x + share * b.x
            return self._candidate(a.moved(a.t, x, (1.0 - share) * a.v + share * b.v), spin)

        return search(at, first, last, self.wide)

    def _within(self, best: Candidate, notes: dict[str, Any]) -> Candidate:
        """The most of it that the energy allows: this cannot fail (see blend.py)."""
        start, target = self.state, self.memory.target
        fit = fitted(self.system, start, best.state, target)
        if fit.share < FROZEN:  # uphill all the way: force and inertia know another
            other = fitted(self.system, start, self._fallen(), target)
            ways = norms(self.system.backend, *(one.state.x - start.x for one in (fit, other)))
            fit = other if ways[1] > ways[0] else fit
        self.moved = fit.moved
        self.target = self.memory.target.moved(fit.moved)
        notes |= {"share": fit.share, "scale": fit.scale}
        return Candidate(fit.state, fit.energies, 0.0)

    def _finish(self, best: Candidate, alpha: float, notes: dict[str, Any]) -> Step:
        lowest = {
            name: min(_finite(value, np.inf), self.memory.lowest.get(name, np.inf))
            for name, value in best.energies.items()
        }
        error, target = best.total - self.target.value, self.target
        if self.given_up or notes.get("limited") or "base_failed" in notes:
            target = self.target.lowered(best.total)
        memory = self.memory._replace(
            target=target,
            lowest=lowest,
            energies=best.energies,
            reserve=self.timing.reserve(),
        )
        notes = {
            **notes,
            "alpha": alpha,
            "energy_error": error,
            "energy_band": self.band,
            "energy_evaluations": self.evaluations,
        }
        return Step(best.state, memory, self.work, notes=notes, exchanged=self.moved)


def _size(energies: Energies) -> float:
    """Of the numbers that are summed: their rounding is a share of this [J]."""
    return float(sum(abs(value) for value in energies.values()))


def _finite(value: float, otherwise: float) -> float:
    return value if np.isfinite(value) else otherwise
