"""Steps of exprb42 as the papers take them, on one thread and on more: how much faster, and how
much could be gained at most.

python benchmarks/threads.py [coil-spring dragon] [--threads 1 2] [--steps 4] [--set vertices=9000]

Each number of threads in a process of its own.  `shared` is the share of one thread's processor
time inside of loops that a team divides; with s of it, N threads gain 1 / (1 - s + s/N) at most,
whatever the machine does beside.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from typing import Any

from common import table

import stiffly
from stiffly.kernels.cpu import jit

SCENES = ("coil-spring", "dragon")


class SharedTime:
    """Processor time within loops that have threads, or would with more of them."""

    def __init__(self) -> None:
        self.seconds = 0.0
        watched, chosen, shared = jit.Both.watched, jit.Both.__getitem__, self

        def timed(job: Any) -> Any:
            def run(*arguments: Any) -> None:
                begun = time.process_time()
                job(*arguments)
                shared.seconds += time.process_time() - begun

            return run

        def watch(self: Any, rows: int, passes: int, *arguments: Any) -> None:
            job = timed(watched) if rows >= jit.WATCHED_ROWS else watched
            job(self, rows, passes, *arguments)

        def choose(self: Any, threaded: Any) -> Any:
            return timed(chosen(self, True)) if threaded else chosen(self, False)

        jit.Both.watched, jit.Both.__getitem__ = watch, choose


def measured(name: str, steps: int, parameters: dict[str, Any]) -> dict[str, float]:
    shared = SharedTime()
    scene = stiffly.scenes.load(name, variant="paper", **parameters)
    system, state = scene.system.bind(scene.x0, scene.v0)
    method = stiffly.integrator(scene.integrator)
    taken, walls, products = None, [], 0
    for k in range(-2, steps):  # the first two load kernels, and tell how long a loop takes alone
        if k == 0:
            shared.seconds, begun = 0.0, time.process_time()
        wall = time.perf_counter()
        taken = method.step(system, state, scene.step, None)
        walls.append(time.perf_counter() - wall)
        state, products = taken.state, taken.work.operator_products
    used = time.process_time() - begun
    found = {"dof": system.size, "wall": sorted(walls[2:])[steps // 2], "used": used / steps}
    return {**found, "shared": shared.seconds / used, "products": products}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenes", nargs="*", default=SCENES)
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--set", nargs="*", default=[], help="parameters of the scene")
    parser.add_argument("--one", action="store_true", help="in this process, as JSON")
    given = parser.parse_args()
    parameters = {k: json.loads(v) for k, v in (one.split("=") for one in given.set)}
    if given.one:
        print(json.dumps(measured(given.scenes[0], given.steps, parameters)))
        return
    rows = []
    for name in given.scenes:
        single = None
        for threads in given.threads:
            command = [sys.executable, __file__, name, "--one", "--steps", str(given.steps)]
            command += ["--set", *given.set]
            alone = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
            env = {**os.environ, **alone, "NUMBA_NUM_THREADS": str(threads)}
            told = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
            one = json.loads(told.stdout.splitlines()[-1])
            if single is None:
                single = one
            most = 1.0 / (1.0 - single["shared"] * (1.0 - 1.0 / threads))
            seconds = (f"{one['wall']:.3f}", f"{one['used']:.3f}")
            ratios = (f"{single['wall'] / one['wall']:.2f}", f"{most:.2f}")
            size = (name, f"{one['dof']:,}", f"{one['products']:.0f}", threads)
            rows.append((*size, *seconds, f"{one['shared']:.1%}", *ratios))
    header = ("scene", "dof", "products", "threads", "wall, s a step", "processor, s a step")
    print(table((*header, "shared", "times as fast", "at most"), rows))


if __name__ == "__main__":
    main()
