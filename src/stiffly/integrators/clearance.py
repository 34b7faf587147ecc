"""Steps in which nothing passes through anything, whatever the method.

A method knows forces, not walls: it may come out on the other side of one.  Where the straight way
of a step is not clear, the step is taken as two halves, and so on (halving.py).
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ..contracts import Integrator, State, Step, System
from ..errors import NotConverged
from .halving import Passed, clear, halves

HALVINGS = 12  # of one step, one within the other


def clear_step(method: Integrator, system: System, state: State, h: float, memory: Any) -> Step:
    """One step of the method, or shorter ones; NotConverged where not even those stay clear."""
    try:
        try:
            return clear(system, state, method.step(system, state, h, memory))
        except NotConverged as failure:
            take = partial(method.step, system)
            return halves(failure, take, system, state, h, memory, HALVINGS)
    except Passed:
        raise NotConverged(
            f"something would pass through something at t = {state.t:.6g} s, even in steps of "
            f"{h / 2**HALVINGS:.2g} s: try energy-momentum or a smaller step"
        ) from None
