"""Exact ends of the family's motions: a compiled composition method with a force of its own.

Explicit solvers written in Python need minutes for a stiffness ratio of 1e10, whose stiff springs
swing 1e5 times; Radau would damp these swings away.  Störmer-Verlet composed to order 8 (Kahan &
Li 1997, 17 stages) is symplectic, keeps the phase of a fast swing for a long time, and compiled
it takes seconds.  It reads nothing but the spring network, so that neither the force nor the
method is one of those compared.  Its error is the largest of: the difference to the same motion
with larger steps, and the difference to DOP853 on the package's own force where that is feasible.
Elsewhere the compared methods are the second opinion: one that meets an accuracy has confirmed the
reference to it.

Kahan, Li: Composition constants for raising the orders of unconventional schemes for ordinary
differential equations, Math. Comp. 66 (1997); the constants as in Hairer, Lubich, Wanner,
Geometric Numerical Integration, V.3.2.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from math import ceil, inf, sqrt

import numpy as np
from numba import njit
from scipy.integrate import solve_ivp

from stiffly.contracts import Array
from stiffly.scenes import Scene

from .family import Member, Network, network
from .harness import first_order
from .tight import Reference
from .trial import OutOfTime, in_time, time_limit

_HALF_8 = (
    0.13020248308889008087881763,
    0.56116298177510838456196441,
    -0.38947496264484728640807860,
    0.15884190655515560089621075,
    -0.39590389413323757733623154,
    0.18453964097831570709183254,
    0.25837438768632204729397911,
    0.29501172360931029887096624,
)
ORDER_8 = np.array([*_HALF_8, -0.60550853383003451169892108, *_HALF_8[::-1]])


SEGMENTS = 32
WANTED = 1e-5  # relative error: a tenth of the finest accuracy compared
FIRST = 3.0  # the first angle h omega tried is this times (omega T)^(-1/8): errors are alike
STABLE = 1.4  # and no more than this
LIMIT_S = 60.0
FEW, SMALL = 1000.0, 200  # radians of the stiffest swing, coordinates: DOP853 takes seconds


@njit(cache=True, error_model="numpy")
def _kick(x, v, edges, stiffness, rest, centres, pull, h):
    for i in range(len(x)):
        for k in range(3):
            v[i, k] -= h * pull * (x[i, k] - centres[i, k])
    for e in range(len(edges)):
        i, j = edges[e, 0], edges[e, 1]
        d0, d1, d2 = x[i, 0] - x[j, 0], x[i, 1] - x[j, 1], x[i, 2] - x[j, 2]
        length = np.sqrt(d0 * d0 + d1 * d1 + d2 * d2)
        s = h * stiffness[e] * (1.0 - rest[e] / length)
        v[i, 0] -= s * d0
        v[i, 1] -= s * d1
        v[i, 2] -= s * d2
        v[j, 0] += s * d0
        v[j, 1] += s * d1
        v[j, 2] += s * d2


@njit(cache=True, error_model="numpy")
def _compose(x, v, edges, stiffness, rest, centres, pull, h, steps, weights):
    """x, v in place: half drifts of neighbouring stages are one drift."""
    x += 0.5 * h * weights[0] * v
    for n in range(steps):
        for s in range(len(weights)):
            _kick(x, v, edges, stiffness, rest, centres, pull, weights[s] * h)
            last = n == steps - 1 and s == len(weights) - 1
            following = 0.0 if last else weights[(s + 1) % len(weights)]
            drift = 0.5 * h * (weights[s] + following)
            for i in range(len(x)):
                for k in range(3):
                    x[i, k] += drift * v[i, k]


@dataclass(frozen=True)
class Motion:
    """x, v (N, 3) at the end; excursion and speed: the largest |x(t) - x(0)|_2 and |v(t)|_2 at the
    ends of SEGMENTS stretches of time."""

    x: Array
    v: Array
    excursion: float
    speed: float


def composed(net: Network, v0: Array, duration: float, step: float) -> Motion:
    """The motion in whole steps of at most `step`."""
    steps = ceil(duration / SEGMENTS / step)
    h = duration / SEGMENTS / steps
    x, v = net.positions.copy(), v0.copy()
    springs = (net.edges.astype(np.uint32), net.stiffness, net.rest, net.centres, net.pull)
    far, fast = 0.0, float(np.linalg.norm(v0))
    for _ in range(SEGMENTS):
        in_time()
        _compose(x, v, *springs, h, steps, ORDER_8)
        far = max(far, float(np.linalg.norm(x - net.positions)))
        fast = max(fast, float(np.linalg.norm(v)))
    return Motion(x, v, far, fast)


def reference(member: Member, scene: Scene, limit_s: float = LIMIT_S) -> Reference:
    """The end of this member's motion, with its error; the best found within the time limit."""
    net = network(member)
    v0 = np.asarray(scene.v0)[: len(net.positions)]
    swings = member.omega_max * scene.duration
    angle, error, motions = min(STABLE, FIRST * swings ** (-1 / 8)), inf, []
    with suppress(OutOfTime), time_limit(limit_s):
        while error > WANTED:
            motions.append(composed(net, v0, scene.duration, angle / member.omega_max))
            if (
                len(motions) > 1
            ):  # the step before is 16 times as wrong: the difference is 15 errors
                error = _distance(*motions[-2:]) / 15.0
            angle /= sqrt(2.0)
    if not motions:
        raise OutOfTime(f"no reference of {member.name} within {limit_s:g} s")
    fine, angle = motions[-1], angle * sqrt(2.0)
    how = f"composition of order 8, its step cut down to h omega = {angle:.2g}"
    if swings < FEW and member.dof <= SMALL:
        error = max(error, _distance(fine, _dop853(member, scene)))
        how += ", and DOP853 at 1e-10"
    return _as_users_see(scene, fine, error, how)


def _distance(a: Motion, b: Motion) -> float:
    """As the lab measures errors."""
    return max(
        float(np.linalg.norm(a.x - b.x)) / a.excursion, float(np.linalg.norm(a.v - b.v)) / a.speed
    )


def _dop853(member: Member, scene: Scene) -> Motion:
    f, u0 = first_order(*scene.system.bind(scene.x0, scene.v0))
    found = solve_ivp(f, (0.0, scene.duration), u0, "DOP853", rtol=1e-10, atol=1e-10)
    x, v = found.y[:, -1].reshape(2, -1, 3)
    return Motion(x, v, 1.0, 1.0)


def _as_users_see(scene: Scene, motion: Motion, error: float, how: str) -> Reference:
    """Users see the fixed particles on the axis too."""
    x, v = np.array(scene.x0), np.zeros_like(scene.v0)
    x[: len(motion.x)], v[: len(motion.v)] = motion.x, motion.v
    energy = 0.5 * motion.speed**2
    return Reference(x, v, error, motion.excursion, motion.speed, energy, how)
