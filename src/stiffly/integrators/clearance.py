"""Steps in which nothing passes through anything, whatever the method.

A method knows forces, not walls: it may come out on the other side of one.  Where the straight way
of a step is not clear, the step is taken as two halves, and so on (halving.py).
"""

from __future__ import annotations

from typing import Any

from ..contracts import Integrator, State, Step, System
from ..errors import NotConverged
from .halving import Passed, halved

HALVINGS = 12  # of one step, one within the other


def clear_step(method: Integrator, system: System, state: State, h: float, memory: Any) -> Step:
    """One step of the method, or shorter ones; NotConverged where not even those stay clear."""
    if not getattr(system, "guarded", False):
        return method.step(system, state, h, memory)

    def take(state: State, h: float, memory: Any, last: bool) -> Step:
        return method.step(system, state, h, memory)

    try:
        return halved(take, system, state, h, memory, HALVINGS)
    except Passed:
        raise NotConverged(
            f"something would pass through something at t = {state.t:.6g} s, even in steps of "
            f"{h / 2**HALVINGS:.2g} s: try energy-momentum or a smaller step"
        ) from None
