"""Local/global iterations of a system whose forces a card knows (kernels/cuda/local.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..contracts import Array, State
from ..kernels.cuda.local import Problem, Sailed
from ..parts.attachments import PointTies
from ..parts.springs import YieldingSprings
from ..parts.terms import (
    DashpotTerm,
    DragTerm,
    FaceTerm,
    FieldTerm,
    ForceTerm,
    MomentumTerm,
    SpringTerm,
    SteadyTerm,
    TetTerm,
    TieTerm,
    TouchTerm,
    WindTerm,
    terms_of,
)
from .groups import NoStretch
from .stretch import Stretcher, all_terms

if TYPE_CHECKING:
    from .system import System

FORCES = (
    *(SpringTerm, FaceTerm, TetTerm, SteadyTerm, FieldTerm, ForceTerm, DragTerm, WindTerm),
    *(DashpotTerm, TouchTerm, TieTerm),
)
BETWEEN = (MomentumTerm,)  # steps, and no force


def sail(
    system: System, start: State, t: float, tree: Any, layout: Any, count: int, **given: Any
) -> Sailed | None:
    """`count` iterations at most at time t of a step from `start`, with the matrix of this layout;
    given: what Problem has besides.  None where a card cannot."""
    stretcher = _stretcher(system)
    if stretcher is None:
        return None
    body, tables = stretcher.at_time(system.at(start), t)
    known = _known(system, stretcher, body, layout)

    def rows() -> tuple[Array, Array]:
        return system.row_positions(start), system.row_velocities(start)

    asked = Problem(body, tables, rows, system._held, known=known, **given)
    return system.backend.kernels.iterations.sail(asked, tree, count)


def _stretcher(system: System) -> Stretcher | None:
    """How the body lies on a card that can iterate; None where it cannot."""
    parts, stretcher = system.assembly, system.by_rows if system.backend.iterates else None
    if not isinstance(stretcher, Stretcher) or parts.guards:
        return None
    try:
        terms = all_terms(parts)
    except NoStretch:  # some are the host's, beside a card
        return None
    known = all(type(term) in (*FORCES, *BETWEEN) for term in terms)
    alike = all(_touches(part) or isinstance(part, PointTies) for part in parts.changing)
    yields = any(isinstance(part, YieldingSprings) for _, part in parts.parts)
    return stretcher if known and alike and not yields else None


def _touches(part: Any) -> bool:
    terms = terms_of(part) or [None]
    return all(isinstance(term, TouchTerm) for term in terms)


def _known(system: System, stretcher: Stretcher, body: Any, layout: Any) -> Array:
    """(touches, rows): contact that the matrix knows of, by rows of the body."""
    if stretcher.covered is None or stretcher.covered[0] is not layout:
        pairs = zip(system.assembly.changing, layout, strict=True)
        near = [shape for part, own in pairs if _touches(part) for shape in own]
        terms = [t for t in all_terms(system.assembly) if isinstance(t, TouchTerm)]
        known = np.zeros((len(terms), body.groups.place.size))
        for row, term, shape in zip(known, terms, near, strict=True):
            every = np.zeros(system.particles)
            every[term.own[shape]] = 1.0
            row[:] = every[body.groups.place]
        stretcher.covered = layout, known
    return stretcher.covered[1]
