"""A bound system with a hand on it: ties beside its parts, gone once they are forgotten."""

from __future__ import annotations

from typing import Any

from ..parts.attachments import PointTies
from .assembly import Assembly


def gripped(system: Any, ties: PointTies, name: str) -> Any:
    """A bound System with these ties beside its parts, which it goes on sharing.

    Cheap, and without a trace once it is forgotten: a hand that takes hold while a run goes on.
    The ties may move between two steps; who moves them counts the energy.  They should be soft
    beside the body: the matrix of local/global solvers stays without them, and so does the linear
    part (see System.linear_part), unless they say that they are `linear`.
    """
    ties.soft = True
    held = system.having(Assembly([*system.assembly.parts, (name, ties)]))
    if ties.linear:
        held._linear = None  # what was linearised knows nothing of them
    return held
