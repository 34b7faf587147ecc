"""What a prepared part is to kernels that do without it: loops that take many explicit steps in one
call, and implicit steps body by body.

A part that offers `terms()` gives a list of these; a body with one that does not goes step by step.
Particles are rows, as everywhere in prepared parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..contracts import Array


class SpringTerm(NamedTuple):
    """edges (m, 2); stiffness, rest (m,); limit (m,): strains at which they yield, or None."""

    edges: np.ndarray
    stiffness: Array
    rest: Array
    cubic: bool
    limit: Array | None = None


class FaceTerm(NamedTuple):
    """tets (t, 4); stiffness (t,), rest (t, 4)."""

    tets: np.ndarray
    stiffness: Array
    rest: Array


class FieldTerm(NamedTuple):
    """A constant acceleration (3,) of all particles."""

    acceleration: Array


class ForceTerm(NamedTuple):
    """weights (N,) times at(t) (3,)."""

    weights: Array
    at: Callable[[float], Array]


class DragTerm(NamedTuple):
    """coefficient (N,), power 1 or 2, wind(t) (3,)."""

    coefficient: Array
    power: int
    wind: Callable[[float], Array]


class WindTerm(NamedTuple):
    """triangles (s, 3), pressure (s,), wind(t) (3,)."""

    triangles: np.ndarray
    pressure: Array
    wind: Callable[[float], Array]


class DashpotTerm(NamedTuple):
    """edges (m, 2), coefficient (m,)."""

    edges: np.ndarray
    coefficient: Array


class TouchTerm(NamedTuple):
    """Contact of the particles own (m,), stiffness (m,), with a shape that has a formula; since:
    the time for which it stands where it is."""

    own: np.ndarray
    stiffness: Array
    margin: float
    friction: float
    shape: Any
    since: float


Term = SpringTerm | FaceTerm | FieldTerm | ForceTerm | DragTerm | WindTerm | DashpotTerm | TouchTerm
