"""Full-size scenes on a card: microseconds a step, against this machine's processor, in one run.

    python benchmarks/card.py                      # the papers' headline scenes
    python benchmarks/card.py hair dragon --whole  # each to its end, as `simulate` runs it

A step's time is what a stretch of twice as many steps takes longer; a call's is the rest: positions
and velocities brought there and back.  Bytes are what a step of springs has to read and write at
least, if every neighbour's position is in a cache: a model, to be held against the bandwidth of
copies in the first line.  A directed spring is 12 bytes where stiffnesses come from a palette, else
20; bodies in blocks bring theirs once for all steps of a call, and have no such number.
"""

from __future__ import annotations

import argparse
import time
import warnings
from statistics import median

import numpy as np
from common import table

from stiffly import scenes, simulate
from stiffly.backends.gpu import cards, gpu
from stiffly.integrators.explicit import Verlet, acceleration
from stiffly.kernels.cuda import layout

SCENES = ("coil-spring", "dragon", "crash", "bunny", "flag", "tower", "hair")
STEPS = {"hair": 100}
VERLET = {"tower": {"step": 1.9e-5}}  # where the scene's own step is another method's
REPEATS = 3


def seconds(bound, state, h: float, count: int) -> float:
    """Of `count` steps in one call, the median of three."""
    a, ends = acceleration(bound, state), state.t + h * np.arange(1, count + 1)
    spent = []
    for _ in range(REPEATS + 1):
        began = time.perf_counter()
        bound.stretcher.steps(Verlet.splitting, state, a, h, ends)
        spent.append(time.perf_counter() - began)
    return median(spent[1:])


def row(name: str) -> tuple:
    scene = scenes.load(name, **VERLET.get(name, {}))
    h, count = scene.step, STEPS.get(name, 1000)
    told = []
    for system, share in ((scene.system.on(gpu()), 1), (scene.system, 10)):
        bound, state = system.bind(scene.x0, scene.v0)
        few = max(1, count // share)
        once, twice = (seconds(bound, state, h, n) for n in (few, 2 * few))
        told += [(twice - once) / few, 2.0 * once - twice]
        body = bound.stretcher._body
        if share == 1:
            held = layout.Held()
            resting = layout.blocks_of(held, body, False).threads > 0
            each = 12 if layout.palettes(held, body) else 20
    springs = np.count_nonzero(body.linear.stiffness) + np.count_nonzero(body.cubic.stiffness)
    bytes_ = 2 * springs * each + 32 * 9 * len(scene.x0)
    card, call, host, _ = told
    steps = scene.duration / h
    return (
        name,
        f"{scene.x0.size:,}",
        f"{springs:,}",
        f"{1e6 * card:.1f}",
        f"{1e6 * host:.1f}",
        f"{host / card:.1f}",
        f"{1e3 * call:.1f}",
        "-" if resting else f"{1e-9 * bytes_ / card:.0f}",
        f"{steps:,.0f}",
        f"{steps * card:.2f}",
    )


def whole(name: str) -> tuple:
    scene = scenes.load(name, **VERLET.get(name, {}))
    began = time.perf_counter()
    run = simulate(scene, integrator="verlet", step=scene.step, device="gpu")
    spent = time.perf_counter() - began
    told = run.energy.summary()
    error = told["max_abs_drift"] / told["exchanged"]
    return (
        name,
        f"{scene.duration:g} s",
        f"{spent:.2f} s",
        f"{100 * error:.2g} %",
        run.stats["loop"],
    )


def copy_bandwidth() -> float:
    """GB/s, read and written, of 1 GB."""
    import cupy

    a = cupy.zeros(1 << 27)
    b = cupy.empty_like(a)
    spent = []
    for _ in range(10):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        cupy.copyto(b, a)
        end.record()
        end.synchronize()
        spent.append(1e-3 * cupy.cuda.get_elapsed_time(start, end))
    return 2e-9 * a.nbytes / median(spent)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenes", nargs="*", default=SCENES)
    parser.add_argument("--whole", action="store_true", help="to the end of each")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"card: {cards()[0]}; copies {copy_bandwidth():.0f} GB/s")
    if given.whole:
        head = ("scene", "simulated", "computing", "energy error", "loop")
        print(table(head, [whole(name) for name in given.scenes]), flush=True)
        return
    head = (
        "scene",
        "dof",
        "springs",
        "us a step",
        "host",
        "host / card",
        "ms a call",
        "GB/s",
        "steps",
        "s",
    )
    print(table(head, [row(name) for name in given.scenes]), flush=True)


if __name__ == "__main__":
    main()
