"""What a prepared part is to kernels that do without it: loops that take many explicit steps in one
call, and implicit steps body by body.

A part that offers `terms()` gives a list of these; a body with one that does not goes step by step.
Particles are rows, as everywhere in prepared parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..contracts import Array
from ..kernels.materials.material import Material

PACKAGE = __name__.split(".")[0]

ACTS = ("energy", "add_gradient", "add_force", "power", "settle")


def told_by(thing: Any, name: str, others: Sequence[str]) -> bool:
    """Whether `name` of the thing speaks for all it does: no class of the user's own, derived from
    the one that has it, does one of the others in its own way."""
    for kind in type(thing).__mro__:
        if name in vars(kind):
            return True
        own = kind.__module__.split(".")[0] != PACKAGE
        if own and any(other in vars(kind) for other in others):
            return False
    return False


def terms_of(part: Any) -> list[Any] | None:
    """What a prepared part is to such kernels; None where it does not say."""
    return part.terms() if told_by(part, "terms", ACTS) else None


class SpringTerm(NamedTuple):
    """edges (m, 2); stiffness, rest (m,); limit (m,): strains at which they yield, or None."""

    edges: np.ndarray
    stiffness: Array
    rest: Array
    cubic: bool
    limit: Array | None = None


def stored(springs: SpringTerm, x: Array) -> Array:
    """[J] of each: see parts/springs.py."""
    d = x[springs.edges[:, 1]] - x[springs.edges[:, 0]]
    e = np.sqrt(np.einsum("ij,ij->i", d, d)) - springs.rest
    energy = 0.5 * springs.stiffness * e * e
    if springs.cubic:
        energy *= 1.0 + 0.5 * (e / springs.rest) ** 2
    return energy


class FaceTerm(NamedTuple):
    """tets (t, 4); stiffness (t,), rest (t, 4)."""

    tets: np.ndarray
    stiffness: Array
    rest: Array


class TetTerm(NamedTuple):
    """tets (m, 4); shape (m, 9), moduli (m, 2) as in `tet_energy`."""

    tets: np.ndarray
    shape: Array
    moduli: Array
    material: Material


class FieldTerm(NamedTuple):
    """A constant acceleration (3,) of all particles."""

    acceleration: Array


class ForceTerm(NamedTuple):
    """weights (N,) times at(t) (3,)."""

    weights: Array
    at: Callable[[float], Array]


class DragTerm(NamedTuple):
    """coefficient (N,), power 1 or 2, wind(t) (3,); still: it is zero."""

    coefficient: Array
    power: int
    wind: Callable[[float], Array]
    still: bool


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


class MeshTouchTerm(TouchTerm):
    """The same with a closed mesh, whose closest points are looked for."""


class TieTerm(NamedTuple):
    """Springs of length zero, stiffness [N/m], from rows (k,) to points (k, 3) as they stand now.

    motion, start (k, 3), at(t) (k, 3): what leads them, from where, and where they are at a time;
    None where they stand still.  Ties may be others between two calls."""

    rows: np.ndarray
    stiffness: float
    points: Array
    motion: Any = None
    start: Array | None = None
    at: Callable[[float], Array] | None = None


class HoldTerm(NamedTuple):
    """Shapes that stand still, and have formulas, catch particles own (m,) nearer than the margin
    and let them go; stiffness [N/m] of their ties; None: what is held stays where it touched."""

    own: np.ndarray
    shapes: Sequence[Any]
    margin: float
    stiffness: float | None


class ProjectTerm(NamedTuple):
    """Such shapes put particles own (m,) back onto them, which then lose a share of their sliding,
    the friction."""

    own: np.ndarray
    shapes: Sequence[Any]
    friction: float


class MomentumTerm(NamedTuple):
    """Of the bodies labels (n,), of rows that move: the share(h) of what is no rigid motion of
    theirs is taken after a step of h."""

    labels: np.ndarray
    share: Callable[[float], float]


class AtomTerm(NamedTuple):
    """Lennard-Jones forces: radius, root (N,): sigma / 2 and sqrt(epsilon) of each row; start
    (N + 1,), partner (m,): rows that it has none with, itself among them; cutoff: inf for none."""

    radius: Array
    root: Array
    start: np.ndarray
    partner: np.ndarray
    cutoff: float


class SteadyTerm(NamedTuple):
    """Springs that are linear about a rest shape (N, 3): edges (m, 2), blocks (m, 3, 3) [N/m]."""

    edges: np.ndarray
    blocks: Array
    rest: Array


class ViscousTerm(NamedTuple):
    """What damps by a constant matrix, pair by pair: edges (m, 2), blocks (m, 3, 3) [N s/m], which
    pull the first of a pair, and transposed the second.  No part's: Rayleigh's beta of a body."""

    edges: np.ndarray
    blocks: Array


def steadily_stored(springs: SteadyTerm, x: Array) -> Array:
    """[J] of each."""
    u = x - springs.rest
    w = u[springs.edges[:, 1]] - u[springs.edges[:, 0]]
    return 0.5 * np.einsum("mi,mij,mj->m", w, springs.blocks, w)


Elastic = SpringTerm | FaceTerm | TetTerm
Load = ForceTerm | DragTerm | WindTerm | DashpotTerm
Acting = HoldTerm | ProjectTerm | MomentumTerm  # between two steps
Term = Elastic | FieldTerm | Load | TouchTerm | TieTerm | Acting | SteadyTerm | AtomTerm
# kinds that a card's loops of explicit steps know, and those of processors do not
ON_CARDS: tuple[type, ...] = (
    *(HoldTerm, ProjectTerm, MomentumTerm, SteadyTerm, MeshTouchTerm, AtomTerm),
)
