"""Explicit methods: a few forces and nothing to solve, stable up to a limit of h omega."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any, ClassVar, NamedTuple

from ..contracts import Array, State, Step, System, Work
from .restart import same_state


class _Explicit:
    """Configuration without fields, and steps that need no memory to begin with.

    amplification(z): the factor by which a step makes an undamped oscillation grow, z = h omega.
    """

    adaptive: ClassVar[bool] = False

    def start(self, system: System, state: State) -> Any:
        return None


def _symplectic(z: float) -> float:
    """The step's matrix has determinant 1 and trace 2 - z^2."""
    half = abs(0.5 * z * z - 1.0)
    return 1.0 if half <= 1.0 else half + sqrt(half * half - 1.0)


@dataclass(frozen=True)
class ForwardEuler(_Explicit):
    """x+ = x + h v, v+ = v + h a(t, x, v): first order.

    It amplifies every undamped oscillation.  Hairer, Lubich, Wanner, Geometric Numerical
    Integration (2006), Sec. I.1.2.
    """

    name: ClassVar[str] = "forward-euler"
    order: ClassVar[int] = 1

    def amplification(self, z: float) -> float:
        return abs(1.0 + 1j * z)

    def step(self, system: System, state: State, h: float, memory: None) -> Step:
        a = system.acceleration(state)
        new = state.moved(state.t + h, state.x + h * state.v, state.v + h * a)
        return Step(new, None, Work(force_evaluations=1))


@dataclass(frozen=True)
class SymplecticEuler(_Explicit):
    """v+ = v + h a(t, x, v), x+ = x + h v+: first order, stable for h omega < 2 (ibid.)."""

    name: ClassVar[str] = "symplectic-euler"
    order: ClassVar[int] = 1

    def amplification(self, z: float) -> float:
        return _symplectic(z)

    def step(self, system: System, state: State, h: float, memory: None) -> Step:
        v = state.v + h * system.acceleration(state)
        new = state.moved(state.t + h, state.x + h * v, v)
        return Step(new, None, Work(force_evaluations=1))


class VerletMemory(NamedTuple):
    """The state a step ended in and its acceleration, which opens the next step."""

    state: State
    acceleration: Array


@dataclass(frozen=True)
class Verlet(_Explicit):
    """Störmer-Verlet in its velocity form: second order, symplectic, time-reversible.

        v' = v + (h/2) a(t, x, v),   x+ = x + h v',   v+ = v' + (h/2) a(t + h, x+, v*)

    Hairer, Lubich, Wanner, Geometric numerical integration illustrated by the Störmer-Verlet
    method, Acta Numerica 12 (2003).  Stable for h omega < 2.  Velocity-dependent forces are taken
    at v* = v + h a: its error O(h^2) keeps the second order at one evaluation per step
    (symplecticity and reversibility hold for forces of x alone).
    """

    name: ClassVar[str] = "verlet"
    order: ClassVar[int] = 2

    def amplification(self, z: float) -> float:
        return _symplectic(z)

    def step(self, system: System, state: State, h: float, memory: VerletMemory | None) -> Step:
        if memory is not None and same_state(memory.state, state):
            a, forces = memory.acceleration, 1
        else:
            a, forces = system.acceleration(state), 2
        half = state.v + (0.5 * h) * a
        x = state.x + h * half
        a_new = system.acceleration(state.moved(state.t + h, x, half + (0.5 * h) * a))
        new = state.moved(state.t + h, x, half + (0.5 * h) * a_new)
        return Step(new, VerletMemory(new, a_new), Work(force_evaluations=forces))


@dataclass(frozen=True)
class RungeKutta4(_Explicit):
    """The classical Runge-Kutta method on u' = (v, a(t, x, v)): fourth order.

    Kutta 1901; Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I (1993), Table
    II.1.2.  Stable for h omega < 2.83; it damps every oscillation by a factor
    1 - (h omega)^6 / 144 per step.
    """

    name: ClassVar[str] = "rk4"
    order: ClassVar[int] = 4

    def amplification(self, z: float) -> float:
        return abs(1.0 + 1j * z - z**2 / 2.0 - 1j * z**3 / 6.0 + z**4 / 24.0)

    def step(self, system: System, state: State, h: float, memory: None) -> Step:
        t, x, v = state.t, state.x, state.v
        middle, end = t + 0.5 * h, t + h
        a1 = system.acceleration(state)
        v2 = v + (0.5 * h) * a1
        a2 = system.acceleration(state.moved(middle, x + (0.5 * h) * v, v2))
        v3 = v + (0.5 * h) * a2
        a3 = system.acceleration(state.moved(middle, x + (0.5 * h) * v2, v3))
        v4 = v + h * a3
        a4 = system.acceleration(state.moved(end, x + h * v3, v4))
        new = state.moved(
            end,
            x + (h / 6.0) * (v + 2.0 * (v2 + v3) + v4),
            v + (h / 6.0) * (a1 + 2.0 * (a2 + a3) + a4),
        )
        return Step(new, None, Work(force_evaluations=4))
