"""Exponential steps on a card against this machine's processor, in one run.

    python benchmarks/card_exponential.py                 # coil-spring, bunny, dragon
    python benchmarks/card_exponential.py bunny --few     # less of everything

A product is a term of Chebyshev's recurrence with two columns and four sums: what 2,000 terms take
longer than 1,000, divided by 1,000.  Its bytes are the least that it has to move, if every
neighbour's row is in a cache: entries and their places once, x and z read, z written, sums read and
written by every other term; a model, to be held against the copies in the first line.  A step is
the scene's with its paper's length, the median of those after the first; positions are compared
after ten of them.
"""

from __future__ import annotations

import argparse
import time
import warnings
from statistics import median

import numpy as np
from card import copy_bandwidth

from stiffly import scenes
from stiffly.backends.cpu import CPU
from stiffly.backends.gpu import cards, gpu
from stiffly.errors import StiffError
from stiffly.integrators.exponential_rosenbrock import ExponentialRosenbrock, flow_of
from stiffly.matfun.operators import BarOperator

SCENES = ("coil-spring", "bunny", "dragon")
EXPRB42 = (3 / 4,)
COLUMNS, SUMS = 2, 4
STEPS = 10
PATIENCE = 25.0  # seconds that steps of one scene on one side may take


def terms_seconds(A, count: int) -> float:
    """Of so many terms in one call, the median of three, the first not counted."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((A.size, COLUMNS))
    c = 1e-3 * rng.standard_normal((count, SUMS, COLUMNS))
    high = A.bounds().high
    put, spent = A.backend.put, []
    for _ in range(4):
        there = put(x.copy()), put(np.zeros_like(x)), put(np.zeros((A.size, SUMS)))
        A.dots([(there[0], there[0])])  # has to have come there
        began = time.perf_counter()
        A.chebyshev(2.0 / high, -1.0, there[0], there[1], c, there[2])
        A.dots([(there[0], there[0])])  # has to be done
        spent.append(time.perf_counter() - began)
    return median(spent[1:])


def product(A, share: int) -> float:
    """Seconds a term."""
    few = max(20, 1000 // share)
    return (terms_seconds(A, 2 * few) - terms_seconds(A, few)) / few


def bytes_of(A) -> int:
    width = 4 if isinstance(A, BarOperator) else 9
    own = 6 * A.size // 3 if isinstance(A, BarOperator) else 0
    matrix = A.indices.size * (8 * width + 4) + 8 * (own + A.size // 3)
    return matrix + 8 * A.size * (3 * COLUMNS + SUMS)


def steps(bound, state, h: float) -> tuple[list[float], list, str]:
    """Seconds and states of ten steps of exprb42, or of as many as patience is enough for."""
    method = ExponentialRosenbrock(nodes=EXPRB42)
    spent, states, words = [], [], ""
    while len(states) < STEPS and sum(spent) < PATIENCE:
        began = time.perf_counter()
        taken = method.step(bound, state, h, None)
        spent.append(time.perf_counter() - began)
        state, words = taken.state, taken.notes["method"]
        states.append(state)
    return spent, states, words


def milliseconds(job) -> float:
    """Median of three, after one."""
    spent = []
    for _ in range(4):
        began = time.perf_counter()
        job()
        spent.append(time.perf_counter() - began)
    return 1e3 * median(spent[1:])


def parts(bound, state, h: float) -> str:
    """Of a step: the force and the tangent, made by the host; a product with a tangent that has yet
    to be brought to the card, less one with one that is there; both functions of two vectors."""
    kept = bound.tangent(state).stiffness
    fresh = [bound.tangent(state).stiffness for _ in range(4)]
    b = np.random.default_rng(0).standard_normal(kept.size)
    kept.apply(b)
    there = milliseconds(lambda: kept.apply(b))
    bring = milliseconds(lambda: fresh.pop().apply(b))
    a = bound.acceleration(state)
    flow = flow_of(ExponentialRosenbrock(nodes=EXPRB42), bound.tangent(state))
    flow.linear(EXPRB42, h, b, a, None, False)
    return ", ".join(
        (
            f"force {milliseconds(lambda: bound.acceleration(state)):.2f}",
            f"tangent {milliseconds(lambda: bound.tangent(state)):.2f}",
            f"bounds {milliseconds(lambda: new_bounds(bound, state)):.2f} with it",
            f"there {bring - there:.2f}",
            f"product from and to the host {there:.2f}",
            f"functions {milliseconds(lambda: flow.linear(EXPRB42, h, b, a, None, False)):.2f} ms",
        )
    )


def new_bounds(bound, state):
    return bound.tangent(state).stiffness.bounds()


def row(name: str, small: bool, few: bool) -> str:
    scene = scenes.load(name, small=small)
    h = scenes.load(name, small=True).step  # the paper's
    told, ends, inside = [], [], []
    for backend, share in ((gpu(), 1), (CPU, 10)):
        bound, state = scene.system.on(backend).bind(scene.x0, scene.v0)
        A = bound.tangent(state).stiffness
        told.append(product(A, 10 * share if few else share))
        bytes_ = bytes_of(A)
        inside.append(parts(bound, state, h))
        spent, states, words = steps(bound, state, h)
        told.append(median(spent[1:] or spent))
        ends.append(states)
    card, step, host, host_step = told
    count = min(map(len, ends))
    mine, its = (states[count - 1].x for states in ends)
    return "\n    ".join(
        (
            f"{name:12} {A.size:8,} dof {type(A).__name__:13}",
            f"term {1e6 * card:.1f} us, host {1e6 * host:.1f} ({host / card:.1f} x), "
            f"{1e-9 * bytes_ / card:.0f} GB/s",
            f"step of {h:g} s {1e3 * step:.2f} ms, host {1e3 * host_step:.2f} "
            f"({host_step / step:.1f} x); {words}",
            f"on the card: {inside[0]}",
            f"on the host: {inside[1]}",
            f"positions after {count} steps {np.abs(mine - its).max() / np.abs(its).max():.1e}",
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenes", nargs="*", default=SCENES)
    parser.add_argument("--small", action="store_true", help="small variants")
    parser.add_argument("--few", action="store_true", help="a tenth of the terms")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"card: {cards()[0]}; copies {copy_bandwidth():.0f} GB/s", flush=True)
    for name in given.scenes:
        try:
            print(row(name, given.small, given.few), flush=True)
        except StiffError as failure:
            print(f"{name}: {failure}", flush=True)


if __name__ == "__main__":
    main()
