"""Explicit methods: a few forces and nothing to solve, stable up to a limit of h omega; those of
kicks and drifts, and what all of them share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..contracts import Array, Away, Settled, Splitting, State, Step, System, Tableau, Work
from .restart import same_state


class EndAcceleration(NamedTuple):
    """The state a step ended in and its acceleration, which opens the next step; ahead (n,): the
    velocities for which it was computed.  None: something has happened since."""

    state: State
    acceleration: Array | None
    ahead: Array


NOTHING_AHEAD = np.empty(0)


class EndAway(EndAcceleration):
    """The same of a state that lies where its steps were taken."""

    __slots__ = ()
    state: Any

    @property
    def acceleration(self) -> Array:  # type: ignore[override]
        return self.state.kept.a

    @property
    def ahead(self) -> Array:  # type: ignore[override]
        return self.state.kept.ahead

    def as_saved(self) -> EndAcceleration:
        """The same, here."""
        return EndAcceleration(self.state.as_saved(), self.acceleration, self.ahead)


def after_settling(state: State, memory: EndAcceleration | None) -> EndAcceleration | None:
    """Forces are others now, velocities are as far ahead as before."""
    if memory is None:
        return None
    return EndAcceleration(state, None, memory.ahead + (state.v - memory.state.v))


def opening(system: System, state: State, memory: Any) -> tuple[Array, int]:
    """The acceleration that opens a step, and the forces that it took."""
    if not isinstance(memory, EndAcceleration) or not same_state(system, memory.state, state):
        return acceleration(system, state), 1
    if memory.acceleration is None:
        return acceleration(system, state.moved(state.t, state.x, memory.ahead)), 1
    return memory.acceleration, 0


def acceleration(system: System, state: State) -> Array:
    """By the loops that take the steps, where there are such: what other loops need of a body is
    then never laid out."""
    stretcher: Any = getattr(system, "laid_out", None)
    if hasattr(stretcher, "acceleration"):
        return stretcher.acceleration(state)
    return system.acceleration(state)


class _Explicit:
    """Configuration without fields, and steps that need no memory to begin with."""

    adaptive: ClassVar[bool] = False

    def start(self, system: System, state: State) -> Any:
        return None


def stretch(
    system: Any, scheme: Splitting | Tableau, state: State, memory: Any, h: float, ends: Array
) -> Step:
    """A step of h to each of the times `ends` in one call, as one."""
    a, forces = None, 0
    if not (isinstance(memory, EndAway) and memory.state is state):
        a, forces = opening(system, state, memory)
    done = system.stretcher.steps(scheme, state, a, h, ends)
    each = len(scheme.drifts) if isinstance(scheme, Splitting) else scheme.end
    work = Work(force_evaluations=forces + each * len(ends))
    if isinstance(done.state, Away):
        memory = EndAway(done.state, None, NOTHING_AHEAD)
    else:
        memory = EndAcceleration(done.state, done.acceleration, done.ahead)
    return Step(done.state, memory, work, notes=done.notes, exchanged=done.exchanged)


def scheme_of(method: Any) -> Splitting | Tableau | None:
    """The numbers by which a method steps, where they are all that it does."""
    own = vars(type(method))  # of a subclass `step` may do other things
    found = own.get("splitting", own.get("tableau"))
    return found if isinstance(found, Splitting | Tableau) else None


def _multipliers(scheme: Splitting | Tableau, z: Any) -> Array:
    """(2, ...): what a step multiplies undamped oscillations by, z (...) = h omega."""
    (xx, wx), (xw, ww) = (_stepped(scheme, z, *begun) for begun in ((1.0, 0.0), (0.0, 1.0)))
    half, size = 0.5 * (xx + ww), xx * ww - xw * wx
    root = np.emath.sqrt(half * half - size)
    return np.stack([half + root, half - root])


def _stepped(scheme: Splitting | Tableau, z: Any, x: Any, w: Any) -> tuple[Any, Any]:
    """The position and the velocity over omega after a step, from those before; z = h omega: a
    number or an array."""
    if isinstance(scheme, Splitting):
        kicks, drifts = (own.tolist() for own in scheme)
        w = w - kicks[0] * z * x
        for kick, drift in zip(kicks[1:], drifts, strict=True):
            x = x + drift * z * w
            w = w - kick * z * x
        return x, w
    stages: list[Any] = []
    for c, row in zip(scheme.c[: scheme.end + 1].tolist(), scheme.Abar.tolist(), strict=False):
        stages.append(x + c * z * w - z * z * _weighed(row, stages))
    return stages[-1], w - z * _weighed(scheme.A[scheme.end].tolist(), stages[:-1])


def _weighed(weights: list[float], stages: list[Any]) -> Any:
    return sum(b * stage for b, stage in zip(weights, stages, strict=False))


def _damped(scheme: Splitting | Tableau, z: float, d: float, x: float, w: float, a: float) -> Any:
    """The position, h times the velocity and h^2 times the acceleration after a step, from those
    before, of x'' = -omega^2 x - rate x', whose force is taken at a predicted velocity; z = h omega
    and d = h rate."""
    if isinstance(scheme, Splitting):
        kicks, drifts = (own.tolist() for own in scheme)
        w += kicks[0] * a
        for kick, drift in zip(kicks[1:], drifts, strict=True):
            x += drift * w
            a = -z * z * x - d * (w + kick * a)
            w += kick * a
        return x, w, a
    stages, at, faster = [a], x, w
    own = scheme.c.tolist(), scheme.Abar.tolist(), scheme.A.tolist()
    for c, way, speed in [*zip(*own, strict=False)][1 : scheme.end + 1]:
        at, faster = x + c * w + _weighed(way, stages), w + _weighed(speed, stages)
        stages.append(-z * z * at - d * faster)
    return at, faster, stages[-1]


def amplification(scheme: Splitting | Tableau, z: Any, damped: float = 0.0) -> Any:
    """The factor by which a step makes an oscillation grow, z = h omega: a number, or as many as
    there are z; damped: h times the rate at which it is."""
    if damped:
        columns = [_damped(scheme, float(z), damped, *one) for one in np.eye(3).tolist()]
        return np.abs(np.linalg.eigvals(np.array(columns))).max()
    z = np.asarray(z, dtype=np.float64) if np.ndim(z) else float(z)
    return np.abs(_multipliers(scheme, z)).max(axis=0)


def phase_error(scheme: Splitting | Tableau, z: Array) -> Array:
    """How far a step takes undamped oscillations from where they would be, over their size: turned
    too far or too little, grown or died away; z = h omega."""
    return np.abs(_multipliers(scheme, z) - np.exp(1j * z)).min(axis=0)


@dataclass(frozen=True)
class SymplecticEuler(_Explicit):
    """v+ = v + h a(t, x, v), x+ = x + h v+: first order, stable for h omega < 2 (ibid.)."""

    name: ClassVar[str] = "symplectic-euler"
    order: ClassVar[int] = 1
    splitting: ClassVar[Splitting] = Splitting(np.array([1.0, 0.0]), np.array([1.0]))

    def step(self, system: System, state: State, h: float, memory: Any) -> Step:
        v = state.v + h * system.acceleration(state)
        new = state.moved(state.t + h, state.x + h * v, v)
        return Step(new, None, Work(force_evaluations=1))


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
    splitting: ClassVar[Splitting] = Splitting(np.array([0.5, 0.5]), np.array([1.0]))

    def step(self, system: System, state: State, h: float, memory: EndAcceleration | None) -> Step:
        a, forces = opening(system, state, memory)
        half = state.v + (0.5 * h) * a
        x = state.x + h * half
        ahead = half + (0.5 * h) * a
        a_new = system.acceleration(state.moved(state.t + h, x, ahead))
        new = state.moved(state.t + h, x, half + (0.5 * h) * a_new)
        return Step(new, EndAcceleration(new, a_new, ahead), Work(force_evaluations=forces + 1))

    def resume(self, system: System, state: State, memory: Any, settled: Settled) -> Any:
        return after_settling(state, memory)
