"""What the order of particles is worth: the forces of springs and products of the tangent.

    python benchmarks/particle_order.py [SCENE ...]

Particles as the scene numbers them, in a random order, and that put in order again: reverse
Cuthill-McKee, and along a curve that fills space (Morton).  Springs and blocks follow the
particles.  Processor milliseconds of one thread, the best of nine by turns; beside them what it
takes to find the order and to number everything anew.  (Compiled stretches of explicit steps order
bodies by themselves: system/stretch.py.)
"""

from __future__ import annotations

import os
import sys
from functools import partial
from time import process_time

os.environ["NUMBA_NUM_THREADS"] = "1"

import numpy as np
import scipy.sparse as sp
from common import by_turns, table
from scipy.sparse.csgraph import reverse_cuthill_mckee

import stiffly
from stiffly.bodies import Springs, System
from stiffly.meshes.morton import morton

SCENES = {"coil-spring": {}, "dragon": {}, "cloth": {"resolution": 300}}
ROUNDS = 9


def springs_of(name):
    """Positions and springs of a scene; all particles are free here."""
    scene = stiffly.scenes.load(name, **SCENES.get(name, {}))
    edges = [part.edges for part in scene.system.given.parts if isinstance(part, Springs)]
    return np.asarray(scene.x0, dtype=float), np.concatenate(edges)


def orders(x, edges):
    count = len(x)
    i, j = edges.T
    graph = sp.csr_matrix((np.ones(len(edges), np.int8), (i, j)), (count, count))
    yield "native", lambda: np.arange(count)
    mixed = np.random.default_rng(0).permutation(count)
    yield "random", lambda: mixed
    yield "Cuthill-McKee", lambda: reverse_cuthill_mckee(graph + graph.T, symmetric_mode=True)
    yield "Morton", lambda: np.argsort(morton(x), kind="stable")


def bound(x, edges, order):
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    own = np.sort(rank[edges], axis=1)
    own = own[np.lexsort(own.T[::-1])]  # by particles, as meshes have them
    places = np.ascontiguousarray(x[order])
    system = System(np.ones(len(x)), [Springs(own, 1e3)], rest=places)
    return system.bind(places)


def rows_of(name):
    x, edges = springs_of(name)
    jobs, took = [], {}
    for label, order in orders(x, edges):
        start = process_time()
        rows = np.asarray(order(), dtype=np.int64)
        took[label] = process_time() - start
        system, state = bound(x, edges, rows)
        K = system.tangent(state).stiffness
        v = np.random.default_rng(1).standard_normal(system.size)
        jobs += [partial(system.force, state), partial(K.apply, v)]
    for job in jobs:
        job()
    found = by_turns(jobs, ROUNDS)
    for label, force, product in zip(took, found[::2], found[1::2], strict=True):
        yield (
            *(name, f"{len(x):,}", f"{len(edges):,}", label),
            *(f"{1e3 * force:.2f}", f"{1e3 * product:.2f}", f"{1e3 * took[label]:.0f}"),
        )


def main() -> None:
    rows = [row for name in sys.argv[1:] or SCENES for row in rows_of(name)]
    head = ("scene", "particles", "springs", "order", "force, ms", "product, ms", "found in, ms")
    print(table(head, rows))


if __name__ == "__main__":
    main()
