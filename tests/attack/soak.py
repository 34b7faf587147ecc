"""A million steps of each family on a small rope: the energy error, and how it grows.

    python tests/attack/soak.py 1000000              # all families: hours
    python tests/attack/soak.py 20000 exprb42        # one of them
    python tests/attack/soak.py 5000 causes          # what makes them drift

A rope of ten stiff links swings from one end, without damping; errors are relative to the largest
kinetic energy.  `slope` is how fast the error grows in the second half of the run, in errors per
million steps: a method that drifts linearly has the same slope for any number of steps, one that
wobbles has one that falls.
"""

from __future__ import annotations

import sys
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent))

import numpy as np

import stiffly
from stiffly.integrators import EnergyMomentum, ShiftedNewton

FRAMES = 200
LINKS, STIFFNESS = 10, 1e4  # N/m: the fastest vibration has a period of 10 ms
# by family: method, step [s]
FAMILIES = {
    "verlet": ("verlet", 1e-3),
    "rkn6": ("rkn6", 2e-3),
    "rk4": ("rk4", 1e-3),
    "midpoint": ("midpoint", 2e-3),
    "energy-momentum": ("energy-momentum", 5e-3),
    "stabilised": ("stabilised:midpoint", 2e-3),
    "bdf2": ("bdf2", 2e-3),
    "exprb42": ("exprb42", 2e-3),
    "epirk4s3": ("epirk4s3", 2e-3),
    "neti": ("neti", 1e-3),
}


class Drift(NamedTuple):
    """Relative energy errors: the largest, the last, and the slope per million steps."""

    largest: float
    last: float
    slope: float

    def __str__(self) -> str:
        return f"largest {self.largest:9.2e}, last {self.last:9.2e}, slope {self.slope:9.2e}"


def rope() -> tuple[Any, np.ndarray]:
    rest = np.zeros((LINKS + 1, 3))
    rest[:, 0] = np.linspace(0.0, 1.0, LINKS + 1)
    edges = np.stack([np.arange(LINKS), np.arange(1, LINKS + 1)], axis=1)
    parts = [stiffly.Springs(edges, STIFFNESS), stiffly.Gravity()]
    return stiffly.System(np.full(LINKS + 1, 0.1), parts, fixed=[0], rest=rest), rest


def soak(integrator: Any, step: float, steps: int) -> Drift:
    system, rest = rope()
    every = ceil(steps / FRAMES) * step
    run = stiffly.simulate(
        system, rest, integrator=integrator, step=step, duration=steps * step, every=every
    )
    error = run.energy.numerical / run.energy.kinetic.max()
    half = len(error) // 2
    slope = np.polyfit(run.times[half:] / step, error[half:], 1)[0] * 1e6
    return Drift(float(np.abs(error).max()), float(error[-1]), float(slope))


def back(integrator: Any, step: float, steps: int = 20) -> float:
    """How far from its start [m] a rope on its way is after so many steps, and as many back."""
    system, rest = rope()
    there = stiffly.simulate(system, rest, integrator="verlet", step=2e-4, duration=0.3)
    x, v = there.positions[-1], there.velocities[-1]
    how = {"integrator": integrator, "step": step, "duration": steps * step}
    away = stiffly.simulate(system, x, v, **how)
    again = stiffly.simulate(system, away.positions[-1], -away.velocities[-1], **how)
    return float(np.abs(again.positions[-1] - x).max())


def causes(steps: int) -> None:
    """energy-momentum: the slope goes with the tolerance of its solver; the others': with the step,
    a power of it that says why.  docs/stability.md has the numbers."""
    for tolerance in (1e-8, 1e-10, 1e-11, 1e-12, 1e-13):
        method = EnergyMomentum(solver=ShiftedNewton(tolerance=tolerance))
        print(f"energy-momentum, tolerance {tolerance:g}: {soak(method, 5e-3, steps)}", flush=True)
    for step in (4e-3, 2e-3, 1e-3, 5e-4):
        found = soak("exprb42", step, round(steps * 1e-3 / step))
        second = found.slope / (step * 1e6)
        print(f"exprb42, step {step:g} s: {found}, {second:9.2e} per second", flush=True)
    for name, longest in (("rk4", 1e-3), ("bdf2", 2.5e-4), ("epirk4s3", 2e-3), ("neti", 1e-3)):
        for step in (longest, longest / 2.0, longest / 4.0):
            found = soak(name, step, round(steps * 1e-3 / step))
            print(f"{name}, step {step:g} s: {found}, back: {back(name, step):.1e} m", flush=True)
    print(f"verlet, step 0.001 s: back: {back('verlet', 1e-3):.1e} m")


if __name__ == "__main__":
    count, *chosen = sys.argv[1:] or ["1000000"]
    if chosen == ["causes"]:
        causes(int(count))
    else:
        for family in chosen or FAMILIES:
            print(
                f"{family:16s} {int(count):,} steps: {soak(*FAMILIES[family], int(count))}",
                flush=True,
            )
