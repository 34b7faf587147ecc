"""The methods inside a stabiliser: found by name, made to fit the base, held to a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..contracts import Integrator
from ..errors import InputError, require
from ..solvers.local_global import LocalGlobal
from ..solvers.newton import Newton
from ..solvers.pace import Clock, Pace
from .implicit import Bdf1

LOOSE = 1e-6  # residual of backward Euler: what it lowers is measured afterwards
LEAST = 1e-9  # [s]: no time at all, which is enough for one iteration
UNKNOWN = 1.0 / 3.0  # share of a budget kept for corrections before any has been timed
FORGET = 0.9  # of what was kept in the step before is kept in any case: corrections come and go
MOST = 0.75  # share of a budget that is ever kept: one slow step must not starve the base


def iterates(method: Any) -> bool:
    """Solved by local/global iterations, whose number is free."""
    return isinstance(getattr(method, "solver", None), LocalGlobal)


def backward_euler(base: Integrator) -> Bdf1:
    """With the base's solver; from a good start one local/global iteration is enough (Sec. 4.2)."""
    if iterates(base):
        quick = base.solver.accelerate  # type: ignore[attr-defined]  # just asked
        # an accelerated base can overshoot by more than one plain iteration takes back
        return Bdf1(solver=LocalGlobal(3, accelerate=True) if quick else LocalGlobal(1))
    return Bdf1(solver=Newton(tolerance=LOOSE))


class Timing:
    """How a stabiliser divides its time: what corrections have needed is kept for them, the base
    has the rest.  Corrections are not cut short, but where the time is up the last of them, which
    costs next to nothing (guard.py), comes at once.  Without a budget (seconds = None) nothing is
    limited and no clock looked at."""

    def __init__(self, seconds: float | None, clock: Clock, reserve: float | None) -> None:
        """reserve [s]: of the step before; None: not yet known."""
        self._pace, self._clock, self._free = Pace(seconds, clock), clock, seconds is None
        self._seconds = seconds or 0.0
        self._reserve = UNKNOWN * self._seconds if reserve is None else reserve
        self._given, self._after, self._late = 0.0, self._pace.left(), 0.0

    def base(self, method: Any) -> Any:
        self._given = self._pace.left() - self._reserve
        return self._limited(method, self._given)

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

    def _limited(self, method: Any, seconds: float) -> Any:
        if self._free or not iterates(method):
            return method
        solver = replace(method.solver, budget=max(seconds, LEAST), clock=self._clock)
        return replace(method, solver=solver)


def as_integrator(role: str, given: Any) -> Any:
    if isinstance(given, str):
        from . import integrator  # names are known one floor up

        return integrator(given)
    if given is None and role == "dissipate":
        return None
    if not (hasattr(given, "step") or hasattr(given, "start")):
        raise InputError(
            f"stabiliser: {role} {given!r} is no integrator: give a name such as 'midpoint', or "
            "an integrator"
        )
    require(given, Integrator, f"stabiliser: {role}")
    return given
