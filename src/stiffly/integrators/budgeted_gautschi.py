"""ceti and neti with a budget: one step in two small spaces of vectors (see time_budget.py).

    x+ = x + h c_1 v + h^2 c_2 a                                          (c at h^2 A)
    v+ = c_0 v + h c_1 a + h/2 psi_1 [a(x*) - a + A (x* - x)],   x* = x + phi (x+ - x)

the one-step form of neti.py.  The first line happens in the space of v and a, where it conserves
the linearised energy; x+ - x lies in it, and is filtered in it.  The bracket has a space of its
own.  eti has no budget: its form splits a, which is small, into two large parts, A y and g, which
no small space can hold well enough for their difference; and without the filter of that form,
bodies that turn away from their constant A explode.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..contracts import Array, State, System, Work
from ..matfun.reduced import change, reduced
from ..matfun.tolerance import lengths
from .filters import filter_pair
from .gautschi_maps import argument_map, flow_map, sum_map
from .time_budget import Spaces

Turn = Callable[[Array], Array]


def rationed(
    system: System,
    state: State,
    h: float,
    a: Array,
    spaces: Spaces,
    *,
    A: Any,
    filter: str,
    frame: tuple[Turn, Turn],
) -> tuple[State, Work]:
    """a: the acceleration at the start; frame: from the frame of A to the world, and back."""
    turn, back = frame
    v = back(state.v)
    # 1. the flow with a frozen force, and the argument of the remainder
    space = spaces.grown(A, (v, back(a)))
    start = space.coordinates(v)
    ends, fewer = reduced(space, flow_map(h), (start, space.coordinates(back(a))))
    sizes = lengths(np.array([ends[0], start + ends[1]]))
    spaces.errors.append(change(ends, fewer, sizes))
    (moved, _), _ = reduced(space, argument_map(filter, h), (ends[0],))
    dx, dv, there = space.vectors(np.array([*ends, moved]))
    # 2. the remainder at the end, which the frozen force has missed
    end = state.moved(state.t + h, state.x + turn(there), turn(dx) / h)
    remainder = back(system.acceleration(end) - a) + A.apply(there)
    psi1 = filter_pair(filter).psi1
    assert psi1 is not None  # the one-step form asks for it
    space = spaces.grown(A, (remainder,))
    kick, _ = reduced(space, sum_map(((psi1, 0.5 * h),), h), (space.coordinates(remainder),))
    new = state.moved(state.t + h, state.x + turn(dx), state.v + turn(dv + space.vectors(kick)[0]))
    return new, Work(force_evaluations=1, operator_products=spaces.vectors + 1)
