"""The matrix functions of Gautschi-type methods: which Stumpff functions of h^2 A act on what."""

from __future__ import annotations

from functools import lru_cache

from ..matfun.stumpff import StumpffMap, Term
from .filters import COS, SINC, Sum, filter_pair


def _terms(row: int, column: int, sum_: Sum, h: float, factor: float = 1.0, power: int = 0):
    return [Term(row, column, k, m * h, factor * f, power) for f, k, m in sum_]


@lru_cache(maxsize=64)
def free_map(h: float) -> StumpffMap:
    """(y, v) -> cos y + h sinc v,  -h A sinc y + cos v: the motion without g."""
    terms = (
        _terms(0, 0, COS, h)
        + _terms(0, 1, SINC, h, h)
        + _terms(1, 0, SINC, h, -h, 1)
        + _terms(1, 1, COS, h)
    )
    return StumpffMap(2, 2, tuple(terms))


@lru_cache(maxsize=64)
def argument_map(filter_name: str, h: float) -> StumpffMap:
    """y -> phi y, A phi y: where g is taken."""
    phi = filter_pair(filter_name).phi
    return StumpffMap(2, 1, tuple(_terms(0, 0, phi, h) + _terms(1, 0, phi, h, 1.0, 1)))


@lru_cache(maxsize=256)
def sum_map(sums: tuple[tuple[Sum, float], ...], h: float) -> StumpffMap:
    """g -> factor * sum(g) for each (sum, factor)."""
    terms = [t for row, (s, factor) in enumerate(sums) for t in _terms(row, 0, s, h, factor)]
    return StumpffMap(len(sums), 1, tuple(terms))


@lru_cache(maxsize=64)
def cos_map(h: float) -> StumpffMap:
    return StumpffMap(1, 1, tuple(_terms(0, 0, COS, h)))


@lru_cache(maxsize=64)
def flow_map(h: float) -> StumpffMap:
    """(v, a) -> h c_1 v + h^2 c_2 a,  (c_0 - 1) v + h c_1 a = -h^2 A c_2 v + h c_1 a."""
    terms = (
        Term(0, 0, 1, h, h),
        Term(0, 1, 2, h, h * h),
        Term(1, 0, 2, h, -h * h, 1),
        Term(1, 1, 1, h, h),
    )
    return StumpffMap(2, 2, terms)


@lru_cache(maxsize=64)
def rest_map(filter_name: str, h: float) -> StumpffMap:
    """a -> -(1 - phi) y, phi a where A y = -a; (1 - phi)/(h^2 A) = sum f m^2 c_(k+2)((m x)^2)."""
    phi = filter_pair(filter_name).phi
    terms = [Term(0, 0, k + 2, m * h, f * (m * h) ** 2) for f, k, m in phi]
    return StumpffMap(2, 1, tuple(terms + _terms(1, 0, phi, h)))


@lru_cache(maxsize=64)
def two_step_map(h: float) -> StumpffMap:
    """a -> 2 h^2 c_2 a,  2 h c_1 a."""
    return StumpffMap(2, 1, (Term(0, 0, 2, h, 2 * h * h), Term(1, 0, 1, h, 2 * h)))
