"""A cloth of a million particles (3 million coordinates): steps of Verlet and exprb42, time and
memory.

python benchmarks/million.py [--sides 100 316 1000] [--verlet 100] [--exprb42 10]

Each size and method in a process of its own, so that its peak of memory is its own (--one has both
in one: what Verlet's steps were laid out in stays with the system); seconds are those of
processors, all threads together, after a small run that has loaded the kernels.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np
from common import table

import stiffly
from stiffly.bodies import Gravity, System, cloth_springs
from stiffly.meshes import cloth

WARM = 130  # particles a side: from 16,384 on loops have threads
STEP, LONG = 1e-3, 1e-2  # [s] of Verlet, of exprb42: 1.3 and 13 radians of the stiffest mode


def built(side: int) -> tuple[System, np.ndarray]:
    """A cloth held at two corners, and where its particles begin: the mesh is not kept."""
    mesh = cloth(side, side, spacing=0.01)
    rest = mesh.positions
    parts = [*cloth_springs(mesh, 100.0, 50.0, 10.0), Gravity()]
    x0 = rest + 1e-4 * np.random.default_rng(0).standard_normal(rest.shape)
    x0[[0, side - 1]] = rest[[0, side - 1]]
    return System(5e-4, parts, rest=rest, fixed=[0, side - 1]), x0


def measured(side: int, verlet: int, exponential: int) -> dict[str, float]:
    begun = time.process_time()
    system, x0 = built(side)
    found = {"particles": float(len(x0)), "build": time.process_time() - begun}
    for name, step, count in (("verlet", STEP, verlet), ("exprb42", LONG, exponential)):
        if count == 0:
            found[name] = found[f"{name} products"] = 0.0
            continue
        begun = time.process_time()
        options = {"step": step, "duration": step * count, "every": step * count}
        stats = stiffly.simulate(system, x0, integrator=name, **options).stats
        found[name] = time.process_time() - begun  # all of it: laying out, looking, steps
        found[f"{name} products"] = stats["operator_products"] / count
    found["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sides", type=int, nargs="*", default=[100, 316, 1000])
    parser.add_argument("--verlet", type=int, default=100, help="steps")
    parser.add_argument("--exprb42", type=int, default=10, help="steps")
    parser.add_argument("--one", action="store_true", help="one size, as JSON")
    given = parser.parse_args()
    if given.one:
        measured(WARM, 2, 2)
        print(json.dumps(measured(given.sides[0], given.verlet, given.exprb42)))
        return
    rows = []
    for side in given.sides:
        alone = {}
        for steps in ((given.verlet, 0), (0, given.exprb42)):
            command = [sys.executable, __file__, "--one", "--sides", str(side)]
            command += ["--verlet", str(steps[0]), "--exprb42", str(steps[1])]
            told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            alone["exprb42" if steps[1] else "verlet"] = json.loads(told.splitlines()[-1])
        one = {m: found[m] for m, found in alone.items()} | {
            k: alone["exprb42"][k] for k in ("particles", "build", "exprb42 products")
        }
        n = one["particles"]
        rows.append(
            (
                f"{n:,.0f}",
                f"{one['build']:.1f}",
                *(f"{one[m]:.1f}" for m in ("verlet", "exprb42")),
                *(f"{1e6 * one[m] / n:.2f}" for m in ("verlet", "exprb42")),
                f"{one['exprb42 products']:.0f}",
                *(f"{alone[m]['peak']:.2f}" for m in ("verlet", "exprb42")),
            )
        )
    header = (
        "particles",
        "build, s",
        f"{given.verlet} of verlet, s",
        f"{given.exprb42} of exprb42, s",
    )
    header += ("verlet, us a particle", "exprb42, us a particle", "products a step")
    header += ("verlet, peak GB", "exprb42, peak GB")
    print(table(header, rows))


if __name__ == "__main__":
    main()
