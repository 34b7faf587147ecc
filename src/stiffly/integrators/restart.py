"""When memory still belongs to the state: contact, dragging and the user may move it in between."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..contracts import Integrator, Settled, State, System

LAST_DIGITS = 1e-12  # a time loop may round t + h to a frame's own time


def continues(system: System, end: State | None, before: Any, state: State, h: float) -> bool:
    """Two-step memory holds: it ended in `state`, and its step size before[2] was the same."""
    if end is None or before is None or abs(before[2] - h) > LAST_DIGITS * h:
        return False
    return same_state(system, end, state)


def same_state(system: System, a: State, b: State) -> bool:
    """The very same arrays (the usual case), or equal in every digit (after a checkpoint)."""
    if a is b:
        return True
    if abs(a.t - b.t) > LAST_DIGITS * max(abs(a.t), abs(b.t)):
        return False
    pairs = [(p, q) for p, q in ((a.x, b.x), (a.v, b.v)) if p is not q]
    return not pairs or system.backend.every(all(np.array_equal(p, q) for p, q in pairs))


def resumed(method: Integrator, system: System, state: State, memory: Any, settled: Settled) -> Any:
    """Memory after something happened between two steps: the method's own way, or a new start."""
    resume = getattr(method, "resume", None)
    if resume is None:
        return method.start(system, state)
    return resume(system, state, memory, settled)
