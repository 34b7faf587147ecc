"""Random nets of springs without contact, each with nine integrators: is every joule accounted for?

Masses and stiffness over ten decades, damping of all kinds, compression, particles in one place,
steps from a hundredth of the fastest mode to ten thousand times too long.  Nothing drives these
nets, so that

    added is exactly zero, dissipated never falls,
    numerical error above 5 % of the energy exchanged (of the motion, where nothing is) is warned of
    or the run ends with a named failure; backward differentiation may lose in silence,
    no step takes 20 s, and no exception comes from elsewhere.

A trial is one net with one integrator: seed = 9 net + integrator.

    python tests/attack/trials_nets.py --count 36000 --processes 16
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from trials import Outcome, main

from stiffly import simulate
from stiffly.accounting import rounding_energy
from stiffly.bodies import Dashpots, Drag, Gravity, Rayleigh, Springs, System
from stiffly.errors import SimulationFailure, StiffWarning

NETS = 4000
METHODS: tuple[tuple[str, dict[str, float]], ...] = (
    ("exprb42", {}),
    ("pexprb43", {"rtol": 1e-3}),
    ("eti", {}),
    ("verlet", {}),
    ("rk4", {}),
    ("bdf2", {}),
    ("midpoint", {}),
    ("energy-momentum", {}),
    ("realtime", {}),
)
ALLOWED = 0.05
SECONDS = 20.0  # of a step
TURNS = 50.0  # radians of the fastest mode that steps by rtol are taken through
FRAMES = 5  # of such a run: a step ends at each
PATIENCE = 12.0  # seconds for one run: then its many short steps are enough to see


class Enough(Exception):
    """A run that takes many short steps is broken off."""


def decades(rng: Any, low: float, high: float, size: int, alike: float = 0.4) -> Any:
    """Numbers over decades, or all of them alike."""
    value = 10.0 ** rng.uniform(low, high, size)
    return np.full(size, value[0]) if rng.random() < alike else value


def net(seed: int) -> tuple[System, Any, Any, float, float]:
    """System, x0, v0, step and the fastest frequency [rad/s], or more."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 9))
    x = rng.uniform(-1.0, 1.0, (count, 3)) * 10.0 ** rng.uniform(-1.0, 1.0)
    if rng.random() < 0.15:
        x[1] = x[0]
    pairs = [(i, j) for i in range(count) for j in range(i + 1, count)]
    edges = np.array([p for p in pairs if p[1] == p[0] + 1 or rng.random() < 0.3])
    mass, stiffness = decades(rng, -5.0, 5.0, count), decades(rng, -3.0, 7.0, len(edges))
    lengths = np.linalg.norm(x[edges[:, 1]] - x[edges[:, 0]], axis=1)
    size = float(lengths.max()) or 1.0
    lengths = np.where(lengths > 0.0, lengths, 0.3 * size)
    strained = lengths * rng.uniform(0.6, 1.6, len(edges)) if rng.random() < 0.6 else lengths
    fixed = [0] if rng.random() < 0.5 else []
    free = np.setdiff1d(np.arange(count), fixed)
    fastest = np.sqrt(2.0 * np.bincount(edges.ravel(), np.repeat(stiffness, 2), count) / mass)
    fastest = float(fastest[free].max())
    step = 10.0 ** rng.uniform(-2.0, 4.0) / fastest
    law = "cubic" if rng.random() < 0.2 else "linear"
    parts: list[Any] = [Springs(edges, stiffness, strained, law=law)]
    if rng.random() < 0.4:
        parts.append(Gravity())
    if rng.random() < 0.3:
        c = 10.0 ** rng.uniform(-3.0, 1.0, len(edges)) * stiffness / fastest
        parts.append(Dashpots(edges, c))
    if rng.random() < 0.3:
        power = int(rng.integers(1, 3))
        parts.append(Drag(10.0 ** rng.uniform(-3.0, 1.0) * mass * fastest, power))
    damping = None
    if rng.random() < 0.5:
        alpha = fastest * 10.0 ** rng.uniform(-5.0, 1.0) if rng.random() < 0.5 else 0.0
        beta = 10.0 ** rng.uniform(-5.0, 1.0) / fastest if rng.random() < 0.7 else 0.0
        damping = Rayleigh(alpha, beta)
    rest = x if rng.random() < 0.5 else None
    v = rng.standard_normal((count, 3)) * size * fastest * 10.0 ** rng.uniform(-4.0, 0.0)
    v[fixed] = 0.0
    if rng.random() < 0.2:
        v[:] = 0.0
    return System(mass, parts, fixed=fixed, rest=rest, damping=damping), x, v, step, fastest


def trial(seed: int) -> Outcome:
    system, x, v, step, fastest = net(seed // len(METHODS))
    name, more = METHODS[seed % len(METHODS)]
    began = time.process_time()

    def watched(report: Any) -> None:
        if time.process_time() - began > PATIENCE:
            raise Enough

    how: dict[str, Any] = {"integrator": name, "step": step, "duration": 30.0 * step}
    if more:  # a controller follows the fastest turn by turn
        end = min(30.0 * step, TURNS / fastest)
        how = {"integrator": name, "duration": end, "every": end / FRAMES, **more}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            run = simulate(system, x, v, progress=watched, **how)
        except SimulationFailure as failure:
            return Outcome(f"{name}: {type(failure).__name__}")
        except Enough:
            return Outcome(f"{name}: many steps")
    said = [str(w.message) for w in caught if issubclass(w.category, StiffWarning)]
    rounding = rounding_energy(*system.bind(x, v))
    return judged(name, run.energy, rounding, any("numerical error" in text for text in said))


def judged(name: str, energy: Any, rounding: float, warned: bool) -> Outcome:
    error = energy.numerical.max() if name == "bdf2" else np.abs(energy.numerical).max()
    yardstick = max(energy.exchanged, energy.kinetic.max())
    share = error / yardstick if yardstick > 0.0 else 0.0
    rounding = max(rounding, 1e-14 * np.abs(list(energy.parts.values())).max())
    if not np.all(energy.added == 0.0):
        return Outcome(f"{name}: added", True, f"{energy.added[-1]:.3g} J of {yardstick:.3g}")
    if np.any(np.diff(energy.dissipated) < 0.0):
        fell = np.diff(energy.dissipated).min()
        return Outcome(f"{name}: dissipated fell", True, f"{fell:.3g} J")
    if not share <= ALLOWED and error > rounding and not warned:
        return Outcome(f"{name}: silent", True, f"{share:.0%} of {yardstick:.3g} J")
    return Outcome(f"{name}: {'warned' if warned else 'good'}")


if __name__ == "__main__":
    main(trial, count=len(METHODS) * NETS, seconds=SECONDS)
