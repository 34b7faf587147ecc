"""Methods of a user's own class: what their steps are given, and what has to come back."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..contracts import Power, State, Step, System, Work
from ..errors import InputError

SAME_TIME = 1e-6  # of h: t + h, summed of substeps late in a run


def step_of(method: Any) -> Any:
    """Its `step`, which leaves the state as it is: ours keep it, those of others get a copy.

    The ledger and a step that is undone need the state before; `state.v[:] += ...` would change it.
    """
    if type(method).__module__.partition(".")[0] == "stiffly":
        return method.step

    def step(system: System, state: State, h: float, memory: Any, **extra: Any) -> Step:
        copied = state.moved(state.t, state.x.copy(), state.v.copy())
        taken = method.step(system, copied, h, memory, **extra)
        _require_sound(taken, f"{type(method).__name__}.step", state, h)
        return taken

    return step


def _require_sound(taken: Any, step: str, before: State, h: float) -> None:
    if not isinstance(taken, Step):
        raise InputError(
            f"{step} returned {type(taken).__name__}: return "
            "stiffly.contracts.Step(state.moved(t, x, v), memory, work)"
        )
    if not isinstance(taken.state, State):
        raise InputError(
            f"{step} returned a Step whose state is {type(taken.state).__name__}: make it by "
            "state.moved(t, x, v)"
        )
    for key in ("x", "v"):
        got, had = np.shape(getattr(taken.state, key)), getattr(before, key).shape
        if got != had:
            raise InputError(f"{step} returned {key} of shape {got}, but {had} went in: keep it")
    if not isinstance(taken.work, Work):
        raise InputError(
            f"{step} returned a Step whose work is {type(taken.work).__name__}: count it, "
            "stiffly.contracts.Work(force_evaluations=1)"
        )
    if taken.exchanged is not None and not isinstance(taken.exchanged, Power):
        raise InputError(
            f"{step} returned a Step whose exchanged is {type(taken.exchanged).__name__}: give "
            "stiffly.contracts.Power(added, dissipated), in J"
        )
    end = before.t + h
    if not abs(taken.state.t - end) <= SAME_TIME * h + np.spacing(abs(end)):
        raise InputError(
            f"{step} returned a state {taken.state.t - before.t:.6g} s after its start, at t = "
            f"{before.t:.6g} s, but h is {h:.6g} s: return state.moved(state.t + h, x, v)"
        )
