"""One body over ranks: the price of one rank, two ranks against one, and what a model says of more.

    mpiexec -n 1 python benchmarks/cluster.py        # one rank beside the CPU backend
    mpiexec -n 2 python benchmarks/cluster.py        # two: seconds a step, to compare with one
    mpiexec -n 2 python benchmarks/cluster.py --integrator verlet --steps 200    # explicit steps
    mpiexec -n 1 python benchmarks/cluster.py --passes         # t and P by themselves
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
from stiffly.backends.petsc import PetscBackend, world
from stiffly.integrators import integrator
from stiffly.integrators.explicit import scheme_of, stretch
from stiffly.run.engines import over_ranks
from stiffly.run.stepper import quiet
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
    parser.add_argument("--integrator", default="exprb42", help="verlet, or another explicit one")
    parser.add_argument("--model", type=float, nargs=2, metavar=("NS", "PASSES"))
    parser.add_argument("--passes", action="store_true")
    parser.add_argument("--plot")
    asked = parser.parse_args()
    if asked.model is not None:
        return model(1e-9 * asked.model[0], asked.model[1], asked.plot)
    warnings.simplefilter("ignore")
    if asked.integrator != "exprb42":
        return explicit(asked)
    if asked.passes:
        return passes(asked)
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


def passes(asked: argparse.Namespace) -> None:
    """A pass by itself, in recurrences of 50 on random columns, and the passes that steps take,
    counted, with the processor time that they and the whole step take (of the slowest rank)."""
    ranks, method = world(), integrator("exprb42")
    scene = stiffly.scenes.load("dragon", vertices=asked.size)
    system, state = over_ranks(scene.system, scene.x0, scene.v0, method, "exprb42")
    A = system.tangent(state).stiffness
    scale, alone = 1.0 / A.apply(system.backend.random(3, system.size)).max(), []
    for _ in range(6):
        x, z = (system.backend.random(k, 2 * system.size).reshape(-1, 2) for k in range(2))
        began = time.process_time()
        A.chebyshev(scale, 0.0, x, z, np.zeros((50, 2, 2)), np.zeros_like(x))
        alone.append((time.process_time() - began) / 50)
    recurrence, taken = type(A).chebyshev, []

    def counted(self: Any, s: float, t: float, x: Any, z: Any, c: Any, out: Any) -> Any:
        began = time.process_time()
        found = recurrence(self, s, t, x, z, c, out)
        taken.append((len(c), x.shape[1], time.process_time() - began))
        return found

    memory = None
    for k in range(2 + asked.steps):
        if k == 2:  # the first ones lay out and compile
            type(A).chebyshev, began = counted, time.process_time()
        step_taken = method.step(system, state, 0.05, memory)
        state, memory = step_taken.state, step_taken.memory
    step_seconds = (time.process_time() - began) / asked.steps
    seconds = sum(own for *_, own in taken) / asked.steps
    pass_alone, seconds, step_seconds = ranks.largest(min(alone), seconds, step_seconds)
    if ranks.rank == 0:
        count = sum(terms * columns for terms, columns, _ in taken) / 2 / asked.steps
        own = 1e9 * ranks.size / asked.size
        print(f"{ranks.size} ranks, {scene.system.size} dof, processor time of the slowest rank")
        print(f"a pass of two columns by itself: {own * pass_alone:.1f} ns a particle")
        print(f"{count:.0f} passes a step, {own * seconds / count:.1f} ns a particle each")
        print(f"a step: {step_seconds:.3f} s, of it passes {seconds:.3f} s")


# ------------------------------------------------------------------ explicit steps


def explicit(asked: argparse.Namespace) -> None:
    """Steps of 1e-6 s in a stretch and one by one, over ranks and, of one rank, without them."""
    ranks, method = world(), integrator(asked.integrator)
    scene = stiffly.scenes.load("dragon", vertices=asked.size)
    given = scene.system, scene.x0, scene.v0
    shared = over_ranks(*given, method, asked.integrator)
    ways = [("over ranks, in stretches", stretched, shared), ("over ranks", one_by_one, shared)]
    if ranks.size == 1:
        alone = given[0].bind(*given[1:])
        ways += [("CPU backend, in stretches", stretched, alone)]
    if ranks.rank == 0:
        print(f"{ranks.size} ranks, {scene.system.size} dof, {asked.integrator}")
    asking = [("", PetscBackend.halo)]
    if ranks.size > 1:  # what ranks would take if they had nothing to wait for
        asking.append((", without messages", _unasked))
    for without, PetscBackend.halo in reversed(asking):
        for name, steps, where in ways:
            took = min(timed_steps(steps, where, method, asked.steps) for _ in range(asked.repeats))
            wall, processor = ranks.largest(*took)
            if ranks.rank == 0:
                how = f"{1e3 * wall:.2f} ms a step, {1e3 * processor:.2f} ms of a processor"
                print(f"{name}{without}: {how} (of the slowest rank)")
    talk = halos(shared[0], asked.steps)
    if ranks.rank == 0 and ranks.size > 1:
        print(f"a halo of positions: {1e3 * talk:.3f} ms")


def _unasked(backend: PetscBackend, x: Any) -> Any:
    return x


def stretched(system: Any, state: Any, method: Any, h: float, count: int) -> None:
    ends = state.t + h * np.arange(1, count + 1)
    stretch(system, scheme_of(method), state, None, h, ends)


def one_by_one(system: Any, state: Any, method: Any, h: float, count: int) -> None:
    memory = None
    for _ in range(count):
        taken = method.step(system, state, h, memory)
        state, memory = taken.state, taken.memory
        for rows in (state.x, state.v):
            system.backend.halo(rows)


def timed_steps(steps: Any, where: tuple[Any, Any], method: Any, count: int) -> tuple[float, float]:
    """Seconds a step, by the clock and of the processor, without what a call takes to begin."""
    found = []
    with quiet():
        for many in (2, 2, 2 + count):
            began = time.perf_counter(), time.process_time()
            steps(*where, method, 1e-6, many)
            found.append((time.perf_counter() - began[0], time.process_time() - began[1]))
    wall, processor = ((found[2][k] - found[1][k]) / count for k in range(2))
    return wall, processor


def halos(system: Any, count: int) -> float:
    """Seconds that one takes, the median: ranks wait for each other."""
    x, found = np.zeros(system.size), []
    for _ in range(count):
        began = time.perf_counter()
        system.backend.halo(x)
        found.append(time.perf_counter() - began)
    return float(np.median(found))


# ------------------------------------------------------------------ the model


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
