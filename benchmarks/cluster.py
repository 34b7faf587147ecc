"""One body over ranks: the price of one rank, two ranks against one, and what a model says of more.

    mpiexec -n 1 python benchmarks/cluster.py        # one rank beside the CPU backend
    mpiexec -n 2 python benchmarks/cluster.py        # two: seconds a step, to compare with one

exprb42 on the dragon, --size vertices (150,000: 443,000 dof), --steps steps of 0.05 s.
The model: a step is P products of 2 columns and S sums; one of a rank with n particles takes n t,
and sends what lies on the cut, 48 bytes a ghost, at B bytes/s after a latency L; a sum takes
L log2(ranks).  Ghosts of a solid go with n^(2/3).
"""

from __future__ import annotations

import argparse
import time
import warnings
from math import log2

import numpy as np

import stiffly
from stiffly.backends.petsc import world
from stiffly.system.ranks import RankSystem

LATENCY, BANDWIDTH = 2e-6, 10e9  # s, bytes/s: a cluster's network, of data sheets, not measured


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
    asked = parser.parse_args()
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
        print(f"a pass of two columns: {1e9 * t:.1f} ns a particle")
        model(t, products / 2)
        return
    print(f"ghosts of the rank with most: {ghosts:.0f}, {48 * ghosts:.3g} bytes a product")


def model(t: float, passes: float) -> None:
    print("model: dof, ranks, s a step, efficiency, bytes a rank and step")
    for dof, counts in ((442_650, (1, 10, 100, 1000)), (1e9, (1, 1000, 10_000, 100_000))):
        for ranks in counts:
            n = dof / 3 / ranks
            ghosts = 6.0 * n ** (2 / 3) if ranks > 1 else 0.0
            sent = 48.0 * ghosts
            talk = (LATENCY * 6 + sent / BANDWIDTH) if ranks > 1 else 0.0
            total = passes * (n * t + talk) + 20 * LATENCY * log2(max(ranks, 1))
            share = passes * n * t / total
            row = f"{dof:10.0f} {ranks:7d} {total:10.4f} {100 * share:5.0f} %"
            print(f"{row} {passes * sent:12.3g}")


if __name__ == "__main__":
    main()
