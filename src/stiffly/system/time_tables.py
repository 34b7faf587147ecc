"""What depends on time, for all steps of one call: where supports and shapes are, winds, forces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..contracts import Array, Splitting, Tableau
from ..parts.terms import TouchTerm
from .supports import rigid

if TYPE_CHECKING:
    from .system import System


def times_within(scheme: Splitting | Tableau) -> list[float]:
    """The times that tables have of each step, in parts of it, after its start."""
    if isinstance(scheme, Splitting):
        return [0.5, *np.cumsum(scheme.drifts)[:-1], 1.0]
    return [*scheme.c[1 : scheme.end + 1], 0.5, 0.0]


def table_of(functions: Sequence[Callable[[float], Array]], times: list[float]) -> Array:
    """(functions, times, 4) of vectors that vary with time."""
    table = np.zeros((len(functions), len(times), 4))
    for row, function in zip(table, functions, strict=True):
        for entry, t in zip(row, times, strict=True):
            entry[:3] = function(t)
    return table


def motions(system: System, times: list[float]) -> Array:
    """(motions, times, 24): A, b, A', b' of x = A home + b; of a path A is zero."""
    made = [np.empty((0, len(times), 24))]
    for support, led in system._led:
        alike = rigid(support)
        rows = np.zeros((1 if alike else len(led), len(times), 24))
        if alike:
            A, b, turning, velocity = support.affine(np.array(times))
            rows[0, :, :9], rows[0, :, 9:12] = A.reshape(-1, 9), b
            rows[0, :, 12:21], rows[0, :, 21:] = turning.reshape(-1, 9), velocity
        else:
            start = cast("Array", system._frame)[led]
            for k, t in enumerate(times):
                rows[:, k, 9:12], rows[:, k, 21:] = support.place(t, start)
        made.append(rows)
    table = np.concatenate(made)
    return table


def surfaces(terms: list[Any], times: list[float], since: float | None) -> Array:
    """(shapes, 1 + times, 16): where shapes stand now, and after each step."""
    touches = [term for term in terms if isinstance(term, TouchTerm)]
    table = np.zeros((len(touches), 1 + len(times), 16))
    for rows, term in zip(table, touches, strict=True):
        shape = term.shape
        rows[:] = _surface(shape, shape.frame(term.since if since is None else since))
        if shape.moving and times:
            rows[1:] = _surface(shape, shape.frames(np.array(times)))
    return table


def _surface(shape: Any, frame: Any) -> Array:
    """(16,) of one frame, (m, 16) of many."""
    told = shape.numbers(frame), frame.origin, frame.velocity, frame.spin
    return np.concatenate(told, axis=-1)
