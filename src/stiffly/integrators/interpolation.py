"""The states within a step, from what is known at its ends."""

from __future__ import annotations

from dataclasses import dataclass

from ..contracts import Array, State


@dataclass(frozen=True, slots=True)
class Polynomial:
    """x and v within a step: sums of s^k x_k and s^k v_k, s = (t - start.t)/h."""

    start: State
    h: float
    x: tuple[Array, ...]
    v: tuple[Array, ...]

    def __call__(self, t: float) -> State:
        s = (t - self.start.t) / self.h
        return self.start.moved(t, _value(self.x, s), _value(self.v, s))


class Hermite(Polynomial):
    """The quintic through x, v and the acceleration a at both ends of a step: O(h^6) in x."""

    __slots__ = ()

    def __init__(self, start: State, end: State, h: float, a: Array, a_end: Array) -> None:
        way, v, v_end = end.x - start.x, h * start.v, h * end.v
        a, a_end = (h * h) * a, (h * h) * a_end
        rows = (
            start.x,
            v,
            0.5 * a,
            10.0 * way - 6.0 * v - 4.0 * v_end - 1.5 * a + 0.5 * a_end,
            -15.0 * way + 8.0 * v + 7.0 * v_end + 1.5 * a - a_end,
            6.0 * way - 3.0 * (v + v_end) - 0.5 * (a - a_end),
        )
        super().__init__(start, h, rows, _derivative(rows, h))

    def through(self, a: Array) -> Polynomial:
        """The sextic that also has the acceleration a at the middle: O(h^7) in x."""
        p = self.x
        bend = 2.0 * p[2] + 3.0 * (p[3] + p[4]) + 2.5 * p[5]  # h^2 times that of the quintic
        q = (8.0 / 3.0) * (bend - (self.h * self.h) * a)  # of (s (1 - s))^3
        rows = (*p[:3], p[3] + q, p[4] - 3.0 * q, p[5] + 3.0 * q, -q)
        return Polynomial(self.start, self.h, rows, _derivative(rows, self.h))


def _derivative(rows: tuple[Array, ...], h: float) -> tuple[Array, ...]:
    return tuple((k / h) * row for k, row in enumerate(rows) if k > 0)


def _value(rows: tuple[Array, ...], s: float) -> Array:
    total = rows[-1]
    for row in rows[-2::-1]:
        total = s * total + row
    return total
