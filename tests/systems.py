"""Small systems with known answers, and the loop that runs a method over them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from stiffly.bodies import Gravity, Rayleigh, SecondOrder, Springs, System
from stiffly.contracts import State, Work
from stiffly.parts.part import Arranged, Particles
from stiffly.parts.pattern import BlockPattern

CHAIN_MASS = np.array([1.0, 2.0, 0.5, 1.5])


def chain(coupling: float = 1.0, *, damping: Any = None, drive: float = 0.0) -> tuple[Any, State]:
    """Four pendulums in a row: U = sum m_i (1 - cos x_i) + coupling/2 sum (x_(i+1) - x_i)^2."""
    A = coupling * (np.diag([1.0, 2.0, 2.0, 1.0]) - np.eye(4, k=1) - np.eye(4, k=-1))

    def still(x):
        return -CHAIN_MASS * np.sin(x)

    def driven(t, x):
        return still(x) + drive * np.array([np.cos(3.0 * t), 0.0, t, 0.0])

    system = SecondOrder(
        stiffness=A,
        mass=CHAIN_MASS,
        damping=damping,
        force=driven if drive else still,
        jacobian=lambda x: np.diag(-CHAIN_MASS * np.cos(x)),
        potential=lambda x: float(CHAIN_MASS @ (1.0 - np.cos(x))),
    )
    return system.bind(np.array([0.9, -0.4, 0.3, 1.1]), np.array([0.2, 0.5, -0.7, 0.1]))


def linear(frequencies: Any = (1.0, 7.0), damping: Any = None) -> tuple[Any, State]:
    """Two oscillators of given frequencies [rad/s], mixed by a rotation, with unequal masses."""
    Q = np.array([[np.cos(0.6), -np.sin(0.6)], [np.sin(0.6), np.cos(0.6)]])
    root = np.sqrt([1.0, 3.0])
    A = root[:, None] * (Q @ np.diag(np.square(frequencies)) @ Q.T) * root
    system = SecondOrder(stiffness=0.5 * (A + A.T), mass=[1.0, 3.0], damping=damping)
    return system.bind(np.array([1.0, 0.2]), np.array([-0.3, 0.5]))


def duffing(linear_part: float = 1.0, cubic: float = 1.0) -> tuple[Any, State]:
    """x'' = -linear_part x - cubic x^3; a double well where linear_part < 0."""
    system = SecondOrder(
        size=1,
        force=lambda x: -linear_part * x - cubic * x**3,
        jacobian=lambda x: np.diag(-linear_part - 3.0 * cubic * x**2),
        potential=lambda x: float(np.sum(0.5 * linear_part * x**2 + 0.25 * cubic * x**4)),
    )
    return system.bind(np.array([1.2]), np.array([0.3]))


def rope(stiffness: float, links: int = 10, damping: Rayleigh | None = None) -> tuple[Any, State]:
    """A rope of 1 m and 1 kg held at one end, released from horizontal."""
    rest = np.zeros((links + 1, 3))
    rest[:, 0] = np.linspace(0.0, 1.0, links + 1)
    edges = np.stack([np.arange(links), np.arange(1, links + 1)], axis=1)
    parts = [Springs(edges, stiffness), Gravity()]
    mass = np.full(links + 1, 1.0 / links)
    return System(mass, parts, fixed=[0], rest=rest, damping=damping).bind(rest)


class CubicDrag:
    """Another system with the force -c v^3 added: velocity dependence that is not linear."""

    velocity_dependent = True
    conservative = False

    def __init__(self, system: Any, c: float) -> None:
        self._system, self._c = system, c

    def __getattr__(self, name: str) -> Any:
        return getattr(self._system, name)

    def force(self, s: State) -> Any:
        return self._system.force(s) - self._c * s.v**3

    def acceleration(self, s: State) -> Any:
        return self.mass.solve(self.force(s))

    def tangent(self, s: State) -> Any:
        inner, drag = self._system.tangent(s), np.diag(3.0 * self._c * s.v**2)
        return SimpleNamespace(
            stiffness=inner.stiffness,
            damping=SimpleNamespace(apply=lambda b: self.mass.solve(drag @ b)),
            symmetric=True,
            constant=False,
            matrix=lambda m, k, d: inner.matrix(m, k, d) + d * drag,
        )


def march(method: Any, system: Any, state: State, steps: Any) -> tuple[list[State], Work, Any]:
    """Every state, the work and the last memory of a run with the given steps h [s]."""
    memory, work, states = method.start(system, state), Work(), [state]
    for h in steps:
        result = method.step(system, states[-1], h, memory)
        memory, work = result.memory, work + result.work
        states.append(result.state)
    return states, work, memory


def reference(system: Any, state: State, times: Any) -> tuple[Any, Any]:
    """x, v (times, n) by DOP853 at 1e-13."""
    n = system.size

    def rate(t, u):
        return np.concatenate([u[n:], system.acceleration(State(t, u[:n], u[n:]))])

    u0 = np.concatenate([state.x, state.v])
    solution = solve_ivp(rate, (0.0, times[-1]), u0, "DOP853", t_eval=times, rtol=1e-13, atol=1e-13)
    return solution.y[:n].T, solution.y[n:].T


def prepared_alone(part: Any, x: Any, free: Any = None, mass: float = 1.0, rest: Any = None) -> Any:
    """A part prepared for particles like x (N, 3), without a System: every particle is kept in the
    row of its number.  (the prepared part, pattern); free: indices, default all."""
    count, own = len(x), np.arange(len(x))
    free = own if free is None else np.asarray(free)
    known = (count, np.full(count, mass), rest, True)
    pattern = BlockPattern(part.couples(Particles(*known)), free, count)
    return part.prepare(Arranged(*known, own, own, free.size, pattern)), pattern
