"""Methods of a user's own class, whose steps may write into the state that they are given."""

from __future__ import annotations

from typing import Any

from ..contracts import State, Step, System


def step_of(method: Any) -> Any:
    """Its `step`, which leaves the state as it is: ours keep it, those of others get a copy.

    The ledger and a step that is undone need the state before; `state.v[:] += ...` would change it.
    """
    if type(method).__module__.partition(".")[0] == "stiffly":
        return method.step

    def step(system: System, state: State, h: float, memory: Any, **extra: Any) -> Step:
        copied = state.moved(state.t, state.x.copy(), state.v.copy())
        return method.step(system, copied, h, memory, **extra)

    return step
