"""What parts do between two steps, as a card's loops of explicit steps want it.

Such a loop does it after all that others do between two steps, and one after the other, in a fixed
order: a body whose parts are given in another one goes step by step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.names import Between, Groups, Momentum
from ..parts.terms import MomentumTerm, TouchTerm, terms_of
from .assembly import Assembly
from .groups import NoStretch

CHUNK = 1024  # rows of a body that a block of threads sums
KINDS = (MomentumTerm,)  # in the order in which they act


def between_of(assembly: Assembly, terms: list[Any], groups: Groups, free: int) -> Between | None:
    """None where nothing acts between steps."""
    if not any(isinstance(term, KINDS) for term in terms):
        return None
    _require_order(assembly)
    at = np.zeros(free, dtype=np.int64)
    moved = np.flatnonzero(groups.mass)
    at[groups.place[moved]] = moved
    (momentum,) = ([term for term in terms if isinstance(term, kind)] for kind in KINDS)
    return Between(_momentum(momentum[0], at, groups.mass) if momentum else None)


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
    last, acting = -1, ""
    for name, part in assembly.parts:
        for term in terms_of(part) or ():
            if isinstance(term, KINDS):
                rank = next(k for k, kind in enumerate(KINDS) if isinstance(term, kind))
                if rank <= last:
                    raise NoStretch(f"{name} behind {acting} has no compiled loop")
                last, acting = rank, name
            elif acting and _interferes(term):
                raise NoStretch(f"{name} behind {acting} has no compiled loop: give it before")


def _interferes(term: Any) -> bool:
    """It acts on velocities itself."""
    return isinstance(term, TouchTerm) and term.friction > 0.0
