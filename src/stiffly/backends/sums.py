"""Inner products and norms by name: all that one call asks for in one synchronisation."""

from __future__ import annotations

from math import sqrt

from ..contracts import Array, Backend


def dot(backend: Backend, a: Array, b: Array) -> float:
    return backend.dots([(a, b)])[0]


def norms(backend: Backend, *vectors: Array) -> list[float]:
    """2-norms of vectors (n,)."""
    return [sqrt(square) for square in backend.dots([(a, a) for a in vectors])]
