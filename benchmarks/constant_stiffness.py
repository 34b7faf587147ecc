"""Bodies of constant stiffness: what eti keeps about its loaded rest shape, and what they cost.

python benchmarks/constant_stiffness.py            # about half a minute
python benchmarks/constant_stiffness.py --only eti # or linear

eti: the largest numerical error over the largest kinetic energy, about the rest shape under its
load and about the rest shape itself, where gravity passes the filters, too.  linear: how far bodies
fall with springs that turn and with `linear=true`.  Nothing here depends on a clock.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

import stiffly

PYLONS = {
    "pylon, k = 1e8 N/m, h = 10 ms, 10 s": ({}, 0.01, 10.0),
    "pylon, k = 1e8 N/m, h = 50 ms, 10 s": ({}, 0.05, 10.0),
    "pylon, k = 1e4 N/m, h = 50 ms, 10 s": ({"stiffness": 1e4}, 0.05, 10.0),
}
METHODS = ("eti", "eti:gautschi:two-step", "eti:rest", "eti:rest:gautschi:two-step")
BODIES = {"rope": 1.0, "foil": 0.2, "textile": 1.0}  # [s]


def energy_error(run: stiffly.Run) -> float:
    return float(np.abs(run.energy.numerical).max() / run.energy.kinetic.max())


def references() -> None:
    print(f"{'numerical error / kinetic energy':40s}", *(f"{m:>27s}" for m in METHODS))
    for title, (given, step, duration) in PYLONS.items():
        scene = stiffly.scenes.load("pylon", **given)
        row = [
            energy_error(stiffly.simulate(scene, integrator=m, step=step, duration=duration))
            for m in METHODS
        ]
        print(f"{title:40s}", *(f"{value:27.1e}" for value in row))


def fall(run: stiffly.Run) -> float:
    """Of the particle that falls farthest [m]."""
    z = run.positions[:, :, 2]
    return float((z[0] - z.min(axis=0)).max())


def prices() -> None:
    print(f"{'falls by [m], small variants':40s} {'springs':>12s} {'linear':>12s} {'error':>12s}")
    for name, duration in BODIES.items():
        own = stiffly.scenes.load(name, small=True)
        linear = stiffly.scenes.load(name, small=True, linear=True)
        as_it_should = stiffly.simulate(own, duration=duration)
        run = stiffly.simulate(linear, integrator="eti", step=own.step, duration=duration)
        falls = f"{fall(as_it_should):12.2e} {fall(run):12.2e} {energy_error(run):12.1e}"
        print(f"{f'{name}, {duration:g} s, eti':40s} {falls}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=("eti", "linear"))
    only = parser.parse_args().only
    warnings.simplefilter("ignore")  # of energy: that is what is measured
    if only != "linear":
        references()
    if only != "eti":
        prices()


if __name__ == "__main__":
    main()
