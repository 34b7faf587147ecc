"""One body over ranks: the price of one rank, two ranks against one, and what a model says of more.

    mpiexec -n 1 python benchmarks/cluster.py        # one rank beside the CPU backend
    mpiexec -n 2 python benchmarks/cluster.py        # two: seconds a step, to compare with one
    python benchmarks/cluster.py --model 52 194 --plot FILE    # the model alone: t [ns] and P

exprb42 on the dragon, --size vertices (150,000: 443,000 dof), --steps steps of 0.05 s.
The model: a step is P passes, products of 2 columns, and S sums.  A pass of a rank with n particles
takes n t, then sends what lies on the cut, 48 bytes a ghost, to 6 neighbours: C for the calls, L
for each message, and its bytes at B bytes/s.  A sum takes L log2(ranks).  Ghosts of a solid go with
n^(2/3).  C is what a halo takes between two ranks of one machine (rank_choices.py halos); L and B
are those of data sheets.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np

import stiffly
from stiffly.backends.petsc import world
from stiffly.system.ranks import RankSystem

LATENCY, BANDWIDTH = 2e-6, 10e9  # s, bytes/s: a cluster's network, of data sheets, not measured
CALL = 120e-6  # s
NEIGHBOURS, SUMS = 6, 20


def timed(scene, steps, **options):
    h = 0.05
    began = time.perf_counter()
    run = stiffly.simulate(scene, integrator="exprb42", step=h, duration=steps * h, every=steps * h,
                           **options)  # fmt: skip
    return time.perf_counter() - began, run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=150_000)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--model", type=float, nargs=2, metavar=("NS", "PASSES"))
    parser.add_argument("--plot")
    asked = parser.parse_args()
    if asked.model is not None:
        return model(1e-9 * asked.model[0], asked.model[1], asked.plot)
    warnings.simplefilter("ignore")
    ranks = world()
    scene = stiffly.scenes.load("dragon", vertices=asked.size)
    shares, seen = [], RankSystem.__init__

    def noted(self, *arguments):
        seen(self, *arguments)
        shares.append(self.share)

    RankSystem.__init__ = noted
    ours = alone = np.inf
    run = None
    timed(scene, 1, engine="petsc")  # what is compiled and laid out once
    if ranks.size == 1:
        timed(scene, 1)
    for _ in range(asked.repeats):
        setup = timed(scene, 1, engine="petsc")[0]
        seconds, run = timed(scene, 1 + asked.steps, engine="petsc")
        ours = min(ours, (seconds - setup) / asked.steps)
        if ranks.size == 1:
            setup = timed(scene, 1)[0]
            alone = min(alone, (timed(scene, 1 + asked.steps)[0] - setup) / asked.steps)
    ghosts = ranks.largest(float(shares[-1].ghosts))[0]
    if ranks.rank:
        return
    products = run.stats["operator_products"] / run.stats["steps"]
    what = f"{ranks.size} ranks, {scene.system.size} dof"
    print(f"{what}: {ours:.3f} s a step, {products:.0f} products")
    if ranks.size == 1:
        print(f"CPU backend: {alone:.3f} s a step; one rank takes {ours / alone:.2f} times as long")
        t = ours / (products / 2) / asked.size
        model(t, products / 2, asked.plot)
        return
    print(f"ghosts of the rank with most: {ghosts:.0f}, {48 * ghosts:.3g} bytes a product")


def step(t: float, passes: float, dof: float, ranks: Any) -> tuple[Any, Any, Any]:
    """Seconds of a step, the share of them that is work, and bytes that a rank sends; ranks: a
    number or an array of them, more than one."""
    n = dof / 3 / ranks
    sent = 48.0 * 6.0 * n ** (2 / 3)
    talk = CALL + LATENCY * NEIGHBOURS + sent / BANDWIDTH
    seconds = passes * (n * t + talk) + SUMS * LATENCY * np.log2(ranks)
    return seconds, passes * n * t / seconds, passes * sent


def model(t: float, passes: float, plot: str | None = None) -> None:
    print(f"a pass of two columns: {1e9 * t:.1f} ns a particle, {passes:.0f} passes")
    print("| dof | ranks | s a step | efficiency | bytes a rank and step |")
    print("| --- | --- | --- | --- | --- |")
    for dof, counts in (
        (442_650, (2, 10, 100, 1000)),
        (1e8, (100, 1000, 10_000)),
        (1e9, (1000, 10_000, 100_000)),
    ):
        for ranks in counts:
            seconds, share, sent = step(t, passes, dof, ranks)
            print(f"| {dof:,.0f} | {ranks:,} | {seconds:.3g} | {100 * share:.0f} % | {sent:.2g} |")
    half = (CALL + LATENCY * NEIGHBOURS) / t
    print(f"half of the time is talk below about {half:,.0f} particles a rank")
    if plot:
        drawn(t, passes, plot)


def drawn(t: float, passes: float, path: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.5, 4.0), layout="constrained")
    ranks = np.logspace(np.log10(2), 6, 200)
    for dof in (442_650, 1e7, 1e8, 1e9):
        some = ranks[dof / 3 / ranks >= 100]
        axes.semilogx(some, 100 * step(t, passes, dof, some)[1], label=f"{dof:,.0f} dof")
    axes.axvline(1000, color="gray", lw=0.8, ls=":")
    axes.axhline(80, color="gray", lw=0.8, ls=":")
    axes.set(xlabel="ranks", ylabel="parallel efficiency [%]", ylim=(0, 102))
    axes.set_title("exprb42 on a solid body, by the model")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
