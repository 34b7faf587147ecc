"""Explicit steps in one compiled call: time a step and an element (a spring, or a tetrahedron), one
thread and all, against single steps; and the arrays that a step goes through, which is what one of
a body that no cache holds has to read (hair and bristles stay in the cache).

python benchmarks/stretches.py [SCENE ...]   (coil-spring, dragon, crash, bunny, flag, tower, hair,
swinging-bunny, bar, hippo)
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from statistics import median

import numba
import numpy as np
from common import table

from stiffly import scenes
from stiffly.bodies import Tetrahedra
from stiffly.integrators.explicit import Verlet
from stiffly.recording.notes import StepLog
from stiffly.run.ledger import Balance
from stiffly.run.stepper import Stepper

SPRINGS = 6e8  # of them, all steps together, in one measurement
SCENES = {
    **{"coil-spring": {}, "bunny": {}, "flag": {}, "hair": {"fibers": 6000}},
    **{"tower": {"step": 1.9e-5}},
    **{"swinging-bunny": {"vertices": 600, "step": 5e-5}, "bar": {"step": 5e-5}},
}
SHARE = {"hair": 10.0}  # of the whole scene, in parts of what is measured


def stepper(scene) -> Stepper:
    system, state = scene.system.bind(scene.x0, scene.v0)
    return Stepper(system, Verlet(), "verlet", state, Balance(system), StepLog())


def seconds(job) -> float:
    begun = time.perf_counter()
    job()
    return time.perf_counter() - begun


def stretched(new: Stepper, h: float, count: int) -> float:
    """Seconds a step, the median of three stretches."""
    new.take_all(h, h * np.arange(1, 3))
    times = []
    for _ in range(3):
        ends = new.state.t + h * np.arange(1, count + 1)
        times.append(seconds(partial(new.take_all, h, ends)) / count)
    return median(times)


def row(name: str, parameters: dict) -> tuple:
    if "step" not in parameters:
        parameters = {**parameters, "step": scenes.load(name).step}
    scene = scenes.load(name, **parameters)
    h, most = scene.step, numba.config.NUMBA_NUM_THREADS
    single = stepper(scene)
    single.take(h, h)  # compiles
    old = median(seconds(partial(single.take, h, (k + 2) * h)) for k in range(5))
    elements = single.system.stretcher.elements
    count = max(10, int(SPRINGS / elements))
    springs = sum(_elements(part) for part in scene.system.given.parts)
    found = {}
    for threads in (1, most):
        numba.set_num_threads(threads)
        found[threads] = stretched(stepper(scene), h, count)
    numba.set_num_threads(most)
    return (
        name,
        f"{springs:,}",
        f"{1e3 * old:.3g}",
        *(f"{1e3 * t:.3g}" for t in found.values()),
        f"{1e9 * found[1] / springs:.2f}",
        f"{found[1] / found[most]:.2f}",
        f"{old / found[most]:.0f}x",
        f"{SHARE.get(name, 1.0) * scene.duration / h * found[most]:.3g}",
        f"{1e-6 * _bytes(single.system.stretcher._body):.1f}",
    )


def _bytes(body) -> int:
    """Of all its arrays, and of its particles' positions, velocities, accelerations, forces."""
    if isinstance(body, np.ndarray):
        return body.nbytes
    if not isinstance(body, tuple):
        return 0
    rows = 4 * 32 * body.groups.place.size if hasattr(body, "groups") else 0
    return rows + sum(_bytes(part) for part in body)


def _elements(part) -> int:
    """Springs (four of a tet with springs to its faces), and tets."""
    if isinstance(part, Tetrahedra):
        return len(part.tets)
    return 4 * len(part.tets) if hasattr(part, "tets") else len(getattr(part, "edges", ()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenes", nargs="*", default=list(SCENES))
    names = parser.parse_args().scenes
    header = ("scene", "elements", "single step, ms", "one thread, ms", "all threads, ms")
    header += ("ns an element, one thread", "speed-up of threads", "against single steps")
    header += ("steps to the scene's end, s", "MB a step")
    print(table(header, [row(name, SCENES.get(name, {})) for name in names]))


if __name__ == "__main__":
    main()
