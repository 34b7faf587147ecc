"""Draws stability.png: energy, angular momentum and alpha of a soft cube that spins freely.

python docs/images/stability.py
"""

from __future__ import annotations

import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import stiffly

METHODS = {
    "stabilised": ("#2166ac", 4.0),
    "energy-momentum": ("#7fbf3f", 1.6),
    "midpoint": ("#b2182b", 1.2),
    "newmark": ("#ef8a62", 1.2),
    "bdf2": ("#999999", 1.2),
    "bdf1": ("#444444", 1.2),
}
STEPS = 400


def measured(scene, name):
    """times, energy and angular momentum relative to the start, alpha."""
    mass = scene.system.mass.diagonal[::3]
    try:
        run = stiffly.simulate(
            scene, integrator=name, duration=STEPS * scene.step, every=scene.step
        )
    except stiffly.SimulationFailure as failure:
        run = failure.run
    centre = np.einsum("n,fnk->fk", mass, run.positions)[:, None] / mass.sum()
    spin = np.einsum("n,fnk->fk", mass, np.cross(run.positions - centre, run.velocities))
    spin = np.linalg.norm(spin, axis=1)
    energy = run.energy.total
    return run.times, energy / energy[0], spin / spin[0], run.diagnostics.get("alpha")


def main() -> None:
    warnings.simplefilter("ignore", stiffly.StiffWarning)
    scene = stiffly.scenes.load("spinning-cube", young=1e6)
    figure, (top, middle, low) = plt.subplots(
        3, 1, figsize=(8, 7.5), sharex=True, height_ratios=(3, 2, 1.2), layout="constrained"
    )
    for name, (colour, width) in METHODS.items():
        times, energy, spin, alpha = measured(scene, name)
        top.plot(times, energy, color=colour, lw=width, label=name)
        middle.plot(times, spin, color=colour, lw=width)
        if alpha is not None:
            low.plot(times[1:], alpha, color=colour, lw=0.8)
    top.set(ylim=(0, 3), ylabel="energy / start", title="A soft cube spins freely, h = 0.033 s")
    top.legend(loc="upper right", ncols=2, frameon=False)
    middle.set(ylim=(0, 1.3), ylabel="angular momentum / start")
    low.set(ylabel="alpha of\nstabilised", xlabel="time [s]")
    for axes in (top, middle, low):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    figure.savefig(Path(__file__).with_name("stability.png"), dpi=110)


if __name__ == "__main__":
    main()
