"""A cloth of 101 x 101 particles folded four times: what finding and answering contacts costs.

    python benchmarks/folded_cloth.py [--layers 4] [--gap 0.004] [--repeats 15]

1 m x 1 m, a particle every centimetre, folded like an accordion; layers lie `gap` apart, closer
than the thickness of 5 mm, and are wrinkled by a millimetre (in an exactly flat stack vertices lie
over vertices, which no real cloth does).  Medians and worst cases in milliseconds, and processor
time (all threads together), which other programs on the machine disturb less.
"""

from __future__ import annotations

import argparse
import os
import time

import numpy as np
from common import table

from stiffly.bodies import System
from stiffly.collisions import Repulsion
from stiffly.collisions.narrow_phase import near
from stiffly.meshes import cloth

THICKNESS = 0.005


def folded(flat: np.ndarray, layers: int, gap: float, seed: int = 0) -> np.ndarray:
    """The cloth (N, 3), its x side folded into layers that follow each other upwards."""
    width = np.ptp(flat[:, 0]) / layers
    u = flat[:, 0] - flat[:, 0].min()
    layer = np.minimum(u // width, layers - 1)
    along = u - layer * width
    x = flat.copy()
    x[:, 0] = np.where(layer % 2 == 0, along, width - along)
    # the last centimetre on both sides of a fold climbs to the next layer
    climb = np.clip((along - width) / 0.01 + 1.0, 0.0, 1.0) - np.clip(1.0 - along / 0.01, 0.0, 1.0)
    x[:, 2] = gap * (layer + 0.5 * climb)
    wrinkle = np.random.default_rng(seed).uniform(-1.0, 1.0, x.shape)
    return x + [3e-3, 3e-3, 1e-3] * wrinkle


def timed(repeats: int, jobs: dict) -> list[list[str]]:
    """Milliseconds of each job: median, worst, and median of processor time."""
    taken = {name: [] for name in jobs}
    for count in range(repeats + 1):  # one after the other, again and again
        for name, job in jobs.items():
            start, used = time.perf_counter(), time.process_time()
            job()
            if count:  # the first round compiles
                taken[name].append((time.perf_counter() - start, time.process_time() - used))
    rows = []
    for name, pairs in taken.items():
        wall, processor = 1e3 * np.array(pairs).T
        numbers = np.median(wall), wall.max(), np.median(processor)
        rows.append([name, *(f"{number:.1f}" for number in numbers)])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--gap", type=float, default=0.004)
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    mesh = cloth(101, 101)
    x = folded(mesh.positions, options.layers, options.gap)
    v = np.random.default_rng(1).uniform(-0.1, 0.1, x.shape)
    touch = Repulsion(mesh.triangles, thickness=THICKNESS, stiffness=100.0, friction=0.3)
    part = System(1e-4, [touch], rest=mesh.positions).bind(x, v)[0].assembly.parts[0][1]
    broad, limit, h = part._broad, 1.25 * THICKNESS, 1e-3
    out = np.zeros_like(x)
    rows = timed(
        options.repeats,
        {
            "broad phase": lambda: broad.candidates(x, 0.5 * limit, h * v),
            "broad and narrow phase": lambda: near(broad, x, h * v, limit),
            "settle (friction, both phases, sides)": lambda: part.settle(0.0, h, x, v.copy()),
            "energy": lambda: part.energy(x),
            "force": lambda: part.add_gradient(x, out),
            "product": lambda: part.add_product(x, v, out),
        },
    )
    found = broad.candidates(x, 0.5 * limit, h * v)
    pressed = int(np.sum(part.contacts.gaps(x) < THICKNESS))
    print(f"{len(x)} particles, {len(mesh.triangles)} triangles, {os.cpu_count()} cores")
    print(
        f"{len(found.vertex_face)} vertex-triangle and {len(found.edge_edge)} edge-edge candidates,"
    )
    print(f"{len(part.contacts)} contacts within {limit} m, {pressed} of them pressed\n")
    print(
        table(
            ["once per step, or per evaluation", "median [ms]", "worst [ms]", "processor [ms]"],
            rows,
        )
    )


if __name__ == "__main__":
    main()
