"""Implicit steps on a card against this machine's processor, in one run.

    python benchmarks/card_implicit.py                 # dragon, bunny, swinging-bunny, full size
    python benchmarks/card_implicit.py bunny --methods bdf1 --small

Steps have the length that the scene's paper takes; the median of those after the first is told, of
as many as PATIENCE allows.  `solving`: the linear systems of such a step; `products`: of the matrix
with a vector in all of them.  The host's steps run in a process of their own, which is ended where
patience is: one factorisation of a large solid may take minutes.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
import warnings
from statistics import median
from typing import Any

import numpy as np
from common import table

from stiffly import scenes
from stiffly.backends.gpu import cards
from stiffly.integrators import integrator
from stiffly.run.devices import bound_on
from stiffly.solvers.card import CardFactor

SCENES = ("dragon", "bunny", "swinging-bunny")
METHODS = ("energy-momentum", "bdf1")
STEPS = 6
PATIENCE = 8.0  # seconds that steps of one case on one side may take, or begin to take
HEADER = (
    *("scene", "coordinates", "method", "step", "ms", "solving", "systems", "products"),
    *("host", "host / card", "positions apart"),
)


class Steps:
    """One after the other, on one device."""

    def __init__(self, device: str, name: str, small: bool, method: str) -> None:
        scene = scenes.load(name, small=small)
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


class Solving:
    """Seconds in linear systems: a watch on CardFactor."""

    def __init__(self) -> None:
        self.seconds, own = 0.0, CardFactor.solve

        def timed(factor: CardFactor, b: Any) -> Any:
            began = time.perf_counter()
            try:
                return own(factor, b)
            finally:
                self.seconds += time.perf_counter() - began

        CardFactor.solve = timed  # type: ignore[method-assign]  # for this program


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
    end = time.perf_counter() + PATIENCE
    while len(found) < STEPS and mine.poll(max(0.0, end - time.perf_counter())):
        found.append(mine.recv())
    process.kill()
    process.join()
    return found


def row(solving: Solving, *case: Any) -> list[object]:
    name, _, method = case
    steps, told, began = Steps("gpu", *case), [], time.perf_counter()
    while len(told) < STEPS and time.perf_counter() - began < PATIENCE:
        solving.seconds = 0.0
        spent, work, x = steps.take()
        told.append((spent, solving.seconds, work.linear_solves, work.operator_products, x))
    theirs = host(*case)
    ms, inside, systems, products = (
        median(float(step[k]) for step in told[1:] or told) for k in range(4)
    )
    row = [name, f"{steps.size:,}", method, f"{steps.h:g} s"]
    row += [f"{1e3 * ms:.1f}", f"{1e3 * inside:.1f}", f"{systems:g}", f"{products:g}"]
    if not theirs:
        return [*row, f"> {1e3 * PATIENCE:.0f}", f"> {PATIENCE / ms:.1f}", "not known"]
    own = median(spent for spent, _ in theirs[1:] or theirs)
    last = min(len(told), len(theirs)) - 1
    x, y = told[last][-1], theirs[last][1]
    apart = np.abs(x - y).max() / np.abs(y).max()
    return [*row, f"{1e3 * own:.1f}", f"{own / ms:.2f}", f"{apart:.1e} after {last + 1}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenes", nargs="*", default=SCENES)
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--small", action="store_true", help="small variants")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"card: {cards()[0]}", flush=True)
    solving, rows = Solving(), []
    for name in given.scenes:
        for method in given.methods:
            rows.append(row(solving, name, given.small, method))
            print(*rows[-1], sep="  ", flush=True)
    print(table(HEADER, rows))


if __name__ == "__main__":
    main()
