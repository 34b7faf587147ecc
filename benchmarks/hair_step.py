"""Which steps a head of hair takes: positions against verlet at 0.2 ms, 8 hairs, 2 s of the shake.

    python benchmarks/hair_step.py

Prints the rms difference of all recorded positions, the largest way of a particle, the largest
numerical error relative to the energy exchanged, and the processor time.
"""

import time
import warnings

import numpy as np

import stiffly
from stiffly.errors import SimulationFailure

CASES = [
    *(("verlet", 6e-4), ("energy-momentum", 0.002), ("energy-momentum", 0.005)),
    *(("energy-momentum", 0.01), ("energy-momentum", 0.02), ("energy-momentum", 0.05)),
    *(("exprb42", 0.002), ("epirk4s3", 0.05)),
]


def run(name: str, step: float) -> stiffly.Run:
    scene = stiffly.scenes.load("hair", fibers=8)
    return stiffly.simulate(scene, integrator=name, step=step, duration=2.0, every=0.1)


def main() -> None:
    warnings.simplefilter("ignore")
    exact = run("verlet", 2e-4).positions
    print(f"largest way {1e3 * np.abs(exact - exact[0]).max():.0f} mm")
    for name, step in CASES:
        began = time.process_time()
        try:
            found = run(name, step)
        except SimulationFailure as failure:
            print(f"{name:16} {1e3 * step:5.1f} ms: {failure}")
            continue
        off = np.sqrt(((found.positions - exact) ** 2).sum(axis=2).mean())
        left = np.abs(found.energy.numerical).max() / found.energy.exchanged
        spent = time.process_time() - began
        print(f"{name:16} {1e3 * step:5.1f} ms: {1e3 * off:.1f} mm, {left:.2g}, {spent:.2g} s")


if __name__ == "__main__":
    main()
