"""Memory of a body that is built rank by rank, by its size; and one rank's piece of 1e8 dof.

    python benchmarks/rank_memory.py [--ranks 2] [--scene flag] [--dof 1e6 2e6] [--plot FILE]

Every row is a run of its own (`mpiexec -n R`): the most memory that its ranks ever took, less what
Python and its libraries take before a scene is there, after the scene was built and after three
steps.  The last lines are no runs: one process builds what rank 50 of 100 would build of 1e8 dof,
and rank 500 of 1,000 of 1e9.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import warnings

import numpy as np

import stiffly
from stiffly.backends.petsc import world
from stiffly.scenes.builder import CUT, rank_by_rank
from stiffly.system.slabs import Cut

STEPS, STEP = 3, 1e-7  # s: too short for any of these bodies to move far
CUTS = ((1e8, Cut(50, 100)), (1e9, Cut(500, 1000)))
SIZES = {  # scene: the parameter that sets its size, of so many dof
    "flag": ("resolution", lambda dof: round((dof / 3 / 1.4) ** 0.5)),
    "bar": ("cells", lambda dof: round((dof / 3 * 3 / 16) ** (1 / 3))),
}


def peak() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def asked(scene: str, dof: float) -> dict[str, int]:
    name, size = SIZES[scene]
    return {name: size(dof)}


def one(scene: str, dof: float, method: str) -> None:
    """As one of the ranks: prints what they took, as JSON."""
    warnings.simplefilter("ignore")
    ranks = world()
    warm_up(method)
    before = peak()
    with rank_by_rank("petsc"):
        body = stiffly.scenes.load(scene, **asked(scene, dof))
    built = peak()
    options = {"integrator": method, "step": STEP, "duration": STEPS * STEP}
    stiffly.simulate(body, engine="petsc", every=STEPS * STEP, **options)
    told = ranks.comm.gather((built - before, peak() - before), root=0)
    if told is not None:
        total = 3 * getattr(body.system, "total", len(body.x0))
        built, run = zip(*told, strict=True)
        print(json.dumps({"dof": total, "built": built, "run": run}))


def warm_up(method: str) -> None:
    """Loads what a run loads."""
    small = stiffly.scenes.load("bar", small=True)
    stiffly.simulate(small, engine="petsc", integrator=method, step=STEP, duration=STEP, every=STEP)


def piece(scene: str, dof: float, cut: Cut) -> None:
    """As one rank of many, which are not there."""
    CUT.set(Cut(1, 4))
    stiffly.scenes.load(scene, small=True)
    before = peak()
    CUT.set(cut)
    built = stiffly.scenes.load(scene, **asked(scene, dof)).system
    own = 3 * int((built.owner == cut.rank).sum())
    here = 3 * built.built.particles
    print(json.dumps({"dof": 3 * built.total, "own": own, "here": here, "run": peak() - before}))


def child(words: list[str], ranks: int = 0) -> dict:
    threads = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS")
    environment = {**os.environ, **dict.fromkeys(threads, "1")}
    launch = ["mpiexec", "-n", str(ranks)] if ranks else []
    done = subprocess.run(
        [*launch, sys.executable, __file__, *words],
        env=environment, stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def drawn(path: str, rows: list[dict], most: float, title: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.5, 4.0), layout="constrained")
    dof = np.array([row["dof"] for row in rows])
    for name, mark in (("run", "o"), ("built", "s")):
        label = "all ranks, built and run" if name == "run" else "all ranks, built"
        axes.loglog(dof, [sum(row[name]) / 1e9 for row in rows], mark, label=label)
    line = np.array([dof.min(), 1e8])
    axes.loglog(line, most * line / 1e9, "-", color="gray", lw=1, label=f"{most:.0f} bytes a dof")
    axes.set(xlabel="degrees of freedom", ylabel="memory [GB]", title=title)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--scene", choices=SIZES, default="flag")
    parser.add_argument("--method", default="verlet")
    parser.add_argument("--dof", type=float, nargs="+", default=[1e6, 2e6, 5e6, 1e7])
    parser.add_argument("--plot")
    parser.add_argument("--one", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--piece", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one is not None:
        return one(given.scene, given.one, given.method)
    if given.piece is not None:
        return piece(given.scene, *CUTS[given.piece])
    how = ["--scene", given.scene, "--method", given.method]
    print(f"{given.scene}, {given.method}, {given.ranks} ranks")
    print("| dof | built, bytes a dof | built and run, bytes a dof | the rank with most [GB] |")
    print("| --- | --- | --- | --- |")
    rows = []
    for dof in given.dof:
        row = child([*how, "--one", str(dof)], given.ranks)
        rows.append(row)
        built, run = sum(row["built"]) / row["dof"], sum(row["run"]) / row["dof"]
        most = max(row["run"]) / 1e9
        print(f"| {row['dof']:,} | {built:.0f} | {run:.0f} | {most:.2f} |", flush=True)
    each = [sum(row["run"]) / row["dof"] for row in rows]
    print(f"{min(each):.0f} to {max(each):.0f} bytes a dof", end=": ")
    print(f"{max(each) / 1e3:.2f} GB each for 1e8 dof on 100 ranks")
    for number, (_, cut) in enumerate(CUTS):
        found = child([*how, "--piece", str(number)])
        own, dof, here = (f"{found[name]:,}" for name in ("own", "dof", "here"))
        share = f"{own} dof of its own of {dof}, {here} with others'"
        print(f"rank {cut.rank} of {cut.ranks}: {share}: built with {found['run'] / 1e9:.2f} GB")
    if given.plot:
        drawn(given.plot, rows, max(each), f"{given.scene}, {given.method}, {given.ranks} ranks")


if __name__ == "__main__":
    main()
