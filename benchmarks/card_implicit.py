"""Implicit steps on a card against this machine's processor, in one run.

    python benchmarks/card_implicit.py                 # dragon, bunny, swinging-bunny, full size;
                                                       # local/global: cactus, cloth, swinging-bunny
    python benchmarks/card_implicit.py bunny --methods bdf1 --small

Steps have the length that the scene's paper takes; the median of those after the first is told, of
as many as PATIENCE allows.  `bringing`: matrices to the card, and their preconditioners; `solving`:
the linear systems of such a step, or its local/global iterations with all that the card does in
them; `products`: of the matrix with a vector in all of them.  The
host's steps run in a process of their own, which is ended where patience is: one factorisation of a
large solid may take minutes.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
import warnings
from functools import cache
from itertools import product
from statistics import median
from typing import Any

import numpy as np
from common import table

from stiffly import scenes
from stiffly.backends.gpu import cards
from stiffly.integrators import integrator
from stiffly.kernels.cuda.local import Iterations
from stiffly.run.devices import bound_on
from stiffly.solvers.card import CardFactor, CardTree

SCENES = ("dragon", "bunny", "swinging-bunny")
METHODS = ("energy-momentum", "bdf1")
LOCAL_GLOBAL = (
    *(("cactus", "projective"), ("cactus", "stabilised:projective-midpoint")),
    *(("cloth", "projective"), ("cloth", "realtime-midpoint"), ("cloth", "realtime")),
    *(("swinging-bunny", "projective"), ("swinging-bunny", "realtime-midpoint")),
)
STEPS = 6
PATIENCE = 6.0  # seconds that steps of one case on one side may take, or begin to take
FIRST = 12.0  # seconds for the first of the host, which may have to compile
HEADER = (
    *("scene", "coordinates", "method", "step", "ms", "bringing", "solving", "systems"),
    *("products", "host", "host / card", "positions apart"),
)


loaded = cache(lambda name, small: scenes.load(name, small=small))


class Steps:
    """One after the other, on one device."""

    def __init__(self, device: str, name: str, small: bool, method: str) -> None:
        scene = loaded(name, small)
        self.h = scenes.load(name, small=True).step  # the paper's
        self._method = integrator(method)
        given = device, scene.system, scene.x0, scene.v0, self._method, method
        self._system, self._state = bound_on(*given)
        self._memory = self._method.start(self._system, self._state)
        self.size = self._state.x.size

    def take(self) -> tuple[float, Any, np.ndarray]:
        """Seconds, work and positions of the next one."""
        began = time.perf_counter()
        taken = self._method.step(self._system, self._state, self.h, self._memory)
        spent = time.perf_counter() - began
        self._state, self._memory = taken.state, taken.memory
        return spent, taken.work, taken.state.x


class Watch:
    """Seconds in methods of what a card does."""

    def __init__(self, *methods: tuple[type, str]) -> None:
        self.seconds = 0.0
        for kind, name in methods:
            setattr(kind, name, self._timed(getattr(kind, name)))  # for this program

    def _timed(self, own: Any) -> Any:
        def timed(*given: Any) -> Any:
            began = time.perf_counter()
            try:
                return own(*given)
            finally:
                self.seconds += time.perf_counter() - began

        return timed


def on_the_host(line: Any, *case: Any) -> None:
    """Sends that it begins, then seconds and positions of every step."""
    warnings.simplefilter("ignore")
    steps = Steps("cpu", *case)
    line.send(None)
    while True:
        spent, _, x = steps.take()
        line.send((spent, x))


def host(*case: Any) -> list[tuple[float, np.ndarray]]:
    """Seconds and positions of the steps that patience was enough for."""
    context, found = multiprocessing.get_context("spawn"), []
    mine, its = context.Pipe()
    process = context.Process(target=on_the_host, args=(its, *case), daemon=True)
    process.start()
    mine.recv()
    end = time.perf_counter() + FIRST
    while len(found) < STEPS and mine.poll(max(0.0, end - time.perf_counter())):
        found.append(mine.recv())
        if len(found) == 1:
            end = time.perf_counter() + PATIENCE
    process.kill()
    process.join()
    return found


def row(watches: list[Watch], *case: Any) -> list[object]:
    name, _, method = case
    steps, told, began = Steps("gpu", *case), [], time.perf_counter()
    while len(told) < 2 or (len(told) < STEPS and time.perf_counter() - began < PATIENCE):
        if len(told) == 1:  # what the first one compiles is not counted
            began = time.perf_counter()
        for watch in watches:
            watch.seconds = 0.0
        spent, work, x = steps.take()
        seconds = [watch.seconds for watch in watches]
        told.append((spent, *seconds, work.linear_solves, work.operator_products, x))
    theirs = host(*case)
    ms, bringing, solving, systems, products = (
        median(float(step[k]) for step in told[1:] or told) for k in range(5)
    )
    row = [name, f"{steps.size:,}", method, f"{steps.h:g} s"]
    row += [f"{1e3 * seconds:.1f}" for seconds in (ms, bringing, solving)]
    row += [f"{systems:g}", f"{products:g}"]
    if not theirs:
        return [*row, f"> {1e3 * FIRST:.0f}", f"> {FIRST / ms:.1f}", "not known"]
    own = median(spent for spent, _ in theirs[1:] or theirs)
    last = min(len(told), len(theirs)) - 1
    x, y = told[last][-1], theirs[last][1]
    apart = np.abs(x - y).max() / np.abs(y).max()
    return [*row, f"{1e3 * own:.1f}", f"{own / ms:.2f}", f"{apart:.1e} after {last + 1}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenes", nargs="*")
    parser.add_argument("--methods", nargs="+")
    parser.add_argument("--small", action="store_true", help="small variants")
    given = parser.parse_args()
    cases = list(product(given.scenes or SCENES, given.methods or METHODS))
    if not given.scenes and not given.methods:
        cases += LOCAL_GLOBAL
    warnings.simplefilter("ignore")
    print(f"card: {cards()[0]}", flush=True)
    solving = (CardFactor, "solve"), (CardTree, "solve"), (Iterations, "sail")
    watches = [Watch((CardFactor, "__init__"), (CardTree, "__init__")), Watch(*solving)]
    rows = []
    for name, method in cases:
        rows.append(row(watches, name, given.small, method))
        print(*rows[-1], sep="  ", flush=True)
    print(table(HEADER, rows))


if __name__ == "__main__":
    main()
