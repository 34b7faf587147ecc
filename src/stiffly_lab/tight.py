"""Tight solutions of a problem, with their own error estimates (see references.py)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np
from scipy.linalg import eigh

from stiffly.contracts import Array, State
from stiffly.errors import NotConverged
from stiffly.matfun import estimate
from stiffly.scenes import Scene

from .methods import Forces
from .trial import OutOfTime, granted, in_time, processor_seconds, time_limit, trial

SAMPLES = 65  # times at which the motion is looked at for its scales
FEW = 100  # coordinates, up to which the tightest tolerances are affordable
EXACT_UP_TO = 2500  # coordinates: dense eigenvectors
FORCED_UP_TO = 50  # where the forces change with time and are integrated as fast as modes swing
GAUSS = 12  # points, for panels of about two radians
CHAOTIC = 0.03  # two solutions further apart than this tell nothing at the 10 % level
GOOD = 1e-6  # Verlet's steps are halved until two solutions are as close


@dataclass(frozen=True)
class Reference:
    """The end of the motion as users see it: x, v, and how far they may be wrong (relative).

    scale_x, scale_v: the largest excursion |x(t) - x(0)|_2 and |v(t)|_2, by which errors are
    measured; energy [J]: the largest kinetic energy; how: in words.
    """

    x: Array = field(repr=False)
    v: Array = field(repr=False)
    error: float
    scale_x: float
    scale_v: float
    energy: float
    how: str


Samples = tuple[Array, Array, Array]  # times (m,), positions and velocities (m, ...) as users see


def motion(problem: Scene, limit_s: float) -> Reference:
    """By the best way that this problem allows; limit_s for each solution."""
    system, start = problem.system.bind(problem.x0, problem.v0)
    if system.settles:
        return by_verlet(problem, limit_s)
    small = start.x.size <= (FORCED_UP_TO if system.time_dependent else EXACT_UP_TO)
    if small and not system.velocity_dependent and system.tangent(start).constant:
        with time_limit(limit_s):
            return exactly(problem)
    try:
        return by_scipy(problem, "DOP853", limit_s)
    except OutOfTime:
        return by_scipy(problem, "Radau", limit_s)


# ------------------------------------------------------------------ linear bodies


def exactly(problem: Scene) -> Reference:
    """x'' = g(t) - A (x - x_0) mode by mode.

    Twice, with the coordinates in two orders: the difference shows what rounding does (and, where
    g changes with time, what its quadrature does: the second has shorter panels).
    """
    n = problem.system.bind(problem.x0, problem.v0)[1].x.size
    first = _by_modes(problem, np.arange(n), 2.0)
    second = _by_modes(problem, np.arange(n)[::-1], 1.4)
    return _compared(problem, first, second, "exact, by eigenvectors in two orders")


def _by_modes(problem: Scene, order: Array, panel: float) -> Samples:
    """panel: of the quadrature, in radians of the fastest mode."""
    system, start = problem.system.bind(problem.x0, problem.v0)
    tangent = system.tangent(start)
    M, K = (_dense(tangent.matrix(*parts)) for parts in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
    lam, U = eigh(K[np.ix_(order, order)], M[np.ix_(order, order)])
    back = np.empty_like(order)
    back[order] = np.arange(order.size)
    U = U[back]
    G = U.T @ M
    times = np.linspace(0.0, problem.duration, SAMPLES)
    states, q, w = [(start.x, start.v)], np.zeros_like(start.x), G @ start.v

    def driven(t: float) -> Array:
        in_time()
        return G @ system.acceleration(start.moved(t, start.x, 0.0 * start.v))

    for t0, t1 in pairwise(times.tolist()):
        if system.time_dependent:
            push = _pushed(driven, lam, t0, t1, panel)
        else:
            s1, s2 = _stumpff(lam, t1 - t0)[1:]
            push = np.stack([s2, s1]) * driven(0.0)
        s0, s1, _ = _stumpff(lam, t1 - t0)
        q, w = s0 * q + s1 * w + push[0], s0 * w - lam * s1 * q + push[1]
        states.append((start.x + U @ q, U @ w))
    _require_linear(problem, start.moved(problem.duration, *states[-1]))
    return _seen(problem, times, states)


def _pushed(g: Callable[[float], Array], lam: Array, t0: float, t1: float, panel: float) -> Array:
    """(2, n): what g(t) adds to coordinates and velocities of the modes, by Gauss's quadrature."""
    fastest = float(np.sqrt(max(lam.max(), 0.0)))
    count = max(1, ceil((t1 - t0) * fastest / panel))
    nodes, weights = np.polynomial.legendre.leggauss(GAUSS)
    half = 0.5 * (t1 - t0) / count
    times = t0 + half * (2.0 * np.arange(count)[:, None] + 1.0 + nodes).ravel()
    pushes = half * np.tile(weights, count)[:, None] * np.array([g(t) for t in times.tolist()])
    s0, s1, _ = _stumpff(lam, (t1 - times)[:, None])
    return np.stack([(s1 * pushes).sum(axis=0), (s0 * pushes).sum(axis=0)])


def _require_linear(problem: Scene, end: State) -> None:
    """A body that calls itself linear must not owe its reference to a slip there."""
    system, start = problem.system.bind(problem.x0, problem.v0)
    a0 = system.acceleration(start.moved(end.t, start.x, end.v))
    predicted = a0 - np.asarray(system.tangent(start).stiffness.apply(end.x - start.x))
    gap = np.linalg.norm(system.acceleration(end) - predicted)
    if gap > 1e-8 * (np.linalg.norm(a0) + np.linalg.norm(predicted)):
        raise NotConverged(f"{problem.name} calls itself linear, and its forces are not")


def _stumpff(lam: Array, t: Any) -> tuple[Array, Array, Array]:
    """cos wt, sin wt / w, (1 - cos wt) / w^2 with w = sqrt(lam); lam may be zero or negative."""
    w = np.emath.sqrt(lam).astype(complex)
    half: Any = 0.5 * w * t
    sinc = np.sinc(half / np.pi)  # sin(half)/half, also at zero
    cos, sin_over_w, rest = np.cos(w * t), t * sinc * np.cos(half), 0.5 * t**2 * sinc**2
    return np.real(cos), np.real(sin_over_w), np.real(rest)


def _dense(matrix) -> Array:
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()


# ------------------------------------------------------------------ anything with a right-hand side


class _Hopeless:
    """The right-hand side, given up early where it is plain that the time will not do."""

    def __init__(self, f: Forces, duration: float, limit_s: float) -> None:
        self._f, self._duration, self._limit = f, duration, granted(limit_s)
        self._began = processor_seconds()

    def __call__(self, t: float, u: Array) -> Array:
        spent = processor_seconds() - self._began
        if spent > 0.05 * self._limit and spent * self._duration > 3.0 * self._limit * t:
            raise OutOfTime("stopped: it would take several times the time limit")
        return self._f(t, u)


def tolerances(problem: Scene) -> tuple[float, float]:
    """Of the two solutions that are compared."""
    return (1e-11, 1e-13) if problem.x0.size <= FEW else (1e-9, 1e-11)


def by_scipy(problem: Scene, solver: str, limit_s: float) -> Reference:
    scales = np.ones(2)
    found = []
    low, high = tolerances(problem)
    for tol in (1e-4, low, high):  # the first only finds the scales of the motion
        seen = _solve(problem, solver, tol, scales, limit_s)
        scales = np.maximum(_sizes(problem, seen), 1e-300)
        found.append(seen)
    return _compared(problem, found[-1], found[-2], f"{solver} at {high:g} against {low:g}")


def _solve(problem: Scene, solver: str, tol: float, sizes: Array, limit_s: float) -> Samples:
    f = Forces(problem)
    times = np.linspace(0.0, problem.duration, SAMPLES)
    with time_limit(limit_s):
        # implicit methods begin with short steps, whatever they take later
        rhs = _Hopeless(f, problem.duration, limit_s) if solver == "DOP853" else None
        found = f.solve(solver, tol, sizes, times, rhs)
    if not found.success:
        raise NotConverged(f"no reference for {problem.name}: {found.message}")
    n = f.start.size // 2
    return _seen(problem, times, [(u[:n], u[n:]) for u in found.y.T])


def _sizes(problem: Scene, seen: Samples) -> Array:
    """Root mean square of an excursion and of a velocity: what tolerances are measured by."""
    _, x, v = seen
    return np.array([_largest(x - x[0]), _largest(v)]) / np.sqrt(x[0].size)


# ------------------------------------------------------------------ what happens between steps


def by_verlet(problem: Scene, limit_s: float, good: float = GOOD) -> Reference:
    """Verlet at a quarter of its largest stable step, then half of it, until two agree."""
    count = ceil(4.0 * problem.duration / stable_step(problem))
    before = _verlet(problem, count, limit_s)
    best: Reference | None = None
    while best is None or best.error > good:
        count *= 2
        try:
            finer = _verlet(problem, count, limit_s)
        except OutOfTime:
            if best is None:
                raise
            return best
        how = f"our own Verlet, {count} steps against half as many (not independent)"
        try:
            best = _compared(problem, finer, before, how)
        except NotConverged:  # perhaps the steps were too long
            if count > 64 * problem.duration / stable_step(problem):
                raise
        before = finer
    return best


def _verlet(problem: Scene, count: int, limit_s: float) -> Samples:
    h = problem.duration / count
    with time_limit(limit_s):
        run = trial(
            problem, integrator="verlet", step=h, every=h * ceil(count / SAMPLES), progress=in_time
        )
    return run.times, run.positions, run.velocities


def stable_step(problem: Scene) -> float:
    """2 / omega_max [s] of the forces at the start: the largest step that Verlet could take."""
    system, start = problem.system.bind(problem.x0, problem.v0)
    elastic = getattr(system, "elastic", None)
    A = system.tangent(start).stiffness if elastic is None else elastic(start)
    bounds, _ = estimate(A, steps=60)
    return 2.0 / np.sqrt(max(bounds.high, 1e-300))


# ------------------------------------------------------------------ samples


def _seen(problem: Scene, times: Array, states: list[tuple[Array, Array]]) -> Samples:
    system, start = problem.system.bind(problem.x0, problem.v0)
    pairs = [start.moved(float(t), x, v) for t, (x, v) in zip(times, states, strict=True)]
    x = np.array([np.array(system.positions(s)) for s in pairs])
    return times, x, np.array([np.array(system.velocities(s)) for s in pairs])


def _compared(problem: Scene, best: Samples, other: Samples, how: str) -> Reference:
    _, x, v = best
    scale_x, scale_v = _largest(x - x[0]), _largest(v)
    if scale_x == 0.0 or scale_v == 0.0:
        raise NotConverged(
            f"no reference for {problem.name}: nothing moves in {problem.duration:g} s; go on"
        )
    gaps = [np.linalg.norm(a[-1] - b[-1]) for a, b in zip(best[1:], other[1:], strict=True)]
    error = max(float(gaps[0]) / scale_x, float(gaps[1]) / scale_v)
    if not error <= CHAOTIC:
        raise NotConverged(
            f"no reference for {problem.name}: {how} differ by {error:.0%}, the motion is too "
            "sensitive; compare shorter runs"
        )
    return Reference(x[-1], v[-1], error, scale_x, scale_v, _kinetic(problem, v), how)


def _largest(samples: Array) -> float:
    return float(np.linalg.norm(samples.reshape(len(samples), -1), axis=1).max())


def _kinetic(problem: Scene, v: Array) -> float:
    """The largest kinetic energy [J] at the samples."""
    system, _ = problem.system.bind(problem.x0, problem.v0)
    free = v[:, getattr(system, "free", slice(None))].reshape(len(v), -1)
    return max(0.5 * float(system.mass.dot(w, w)) for w in np.ascontiguousarray(free))
