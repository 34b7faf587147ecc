"""What parts do between two steps, as a card's loops of explicit steps want it.

Such a loop does it after all that others do between two steps, and one after the other, in a fixed
order: a body whose parts are given in another one goes step by step.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from ..kernels.names import Between, Groups, Momentum, Sides
from ..parts.terms import HoldTerm, MomentumTerm, ProjectTerm, TouchTerm, terms_of
from .assembly import Assembly
from .groups import NoStretch

T = TypeVar("T")
CHUNK = 1024  # rows of a body that a block of threads sums
KINDS = (HoldTerm, ProjectTerm, MomentumTerm)  # in the order in which they act


def between_of(assembly: Assembly, terms: list[Any], groups: Groups, free: int) -> Between | None:
    """None where nothing acts between steps."""
    if not any(isinstance(term, KINDS) for term in terms):
        return None
    _require_order(assembly)
    at = np.zeros(free, dtype=np.int64)
    moved = np.flatnonzero(groups.mass)
    at[groups.place[moved]] = moved
    held, projected = _only(HoldTerm, terms), _only(ProjectTerm, terms)
    momentum = _only(MomentumTerm, terms)
    return Between(
        None if held is None else _sides(held, at, held.margin, held.stiffness or 0.0, 0.0),
        None if projected is None else _sides(projected, at, 0.0, 0.0, projected.friction),
        None if momentum is None else _momentum(momentum, at, groups.mass),
    )


def _only(kind: type[T], terms: list[Any]) -> T | None:
    return next((term for term in terms if isinstance(term, kind)), None)


def _sides(
    term: HoldTerm | ProjectTerm, at: np.ndarray, margin: float, stiffness: float, friction: float
) -> Sides:
    shapes, rows = term.shapes, at[term.own]
    kind = np.array([shape.kind for shape in shapes], dtype=np.int64)
    numbers = np.array([shape.numbers(shape.frame(0.0)) for shape in shapes])
    return Sides(rows, kind, numbers, margin, stiffness, friction, np.zeros((rows.size, 6)))


def remember(between: Between | None, parts: Assembly) -> None:
    """What parts hold, as they are."""
    for sides, part in _remembering(between, parts):
        sides.state[:] = part.by_row()


def recall(between: Between | None, parts: Assembly, t: float) -> None:
    """Parts hold what steps that end at t have left."""
    for sides, part in _remembering(between, parts):
        part.caught(sides.state, t)


def _remembering(between: Between | None, parts: Assembly) -> list[tuple[Sides, Any]]:
    if between is None:
        return []
    told = {HoldTerm: between.held, ProjectTerm: between.projected}
    every = [(told.get(type(t)), part) for _, part in parts.parts for t in terms_of(part) or ()]
    return [(sides, part) for sides, part in every if sides is not None]


def _momentum(term: MomentumTerm, at: np.ndarray, mass: np.ndarray) -> Momentum:
    """at (n,): the rows of groups in which particles lie."""
    rows = at[np.argsort(term.labels, kind="stable")]
    sizes = np.bincount(term.labels)
    each = -(-sizes // CHUNK)
    body = np.repeat(np.arange(sizes.size), each)
    first, begin = (np.concatenate([[0], np.cumsum(n)]) for n in (each, sizes))
    start = begin[body] + CHUNK * (np.arange(body.size) - first[body])
    total = np.bincount(term.labels, mass[at])
    start = np.append(start, rows.size)
    return Momentum(rows.astype(np.uint32), start, body, first, total, term.share)


def _require_order(assembly: Assembly) -> None:
    last, acting, displaced = -1, "", False
    for name, part in assembly.parts:
        for term in terms_of(part) or ():
            if isinstance(term, KINDS):
                rank = next(k for k, kind in enumerate(KINDS) if isinstance(term, kind))
                if rank <= last:
                    raise NoStretch(f"{name} behind {acting} has no compiled loop")
                last, acting = rank, name
                displaced = displaced or getattr(part, "moves", False)
            elif acting and _interferes(term, displaced):
                raise NoStretch(f"{name} behind {acting} has no compiled loop: give it before")


def _interferes(term: Any, displaced: bool) -> bool:
    """It acts on velocities itself; or, once particles are displaced, on what is stored."""
    if isinstance(term, TouchTerm):
        return term.friction > 0.0 or (displaced and term.shape.moving)
    return displaced and (
        getattr(term, "limit", None) is not None or getattr(term, "motion", None) is not None
    )
