"""What a step of the brush costs, and how well it follows: one pass of the paperweight, 0.3 s.

    python benchmarks/strokes.py [bristles] [step [s]]...

Processor time of the whole run, over bristles and steps; the joules that the object adds, that is
the share of each bristle; what is left of them 0.1 s after the last touch, a hundred lifetimes of
the air's damping short of nothing; and what the ledger cannot explain.
"""

from __future__ import annotations

import sys
import time
import warnings

from common import table

import stiffly
from stiffly.errors import Advice

PASS = 0.3  # [s]


def row(count: int, step: float) -> tuple[str, ...]:
    scene = stiffly.scenes.load("brush", bristles=count)
    start = time.process_time()
    run = stiffly.simulate(scene, step=step, duration=PASS, every=0.02)
    seconds, energy = time.process_time() - start, run.energy
    left = (energy.total[-1] - energy.total[0]) / energy.added[-1]
    return (
        f"{1e3 * step:g} ms",
        f"{1e6 * seconds / (count * round(PASS / step)):.1f}",
        f"{1e6 * energy.added[-1] / count:.2f}",
        f"{left:.0e}",
        f"{abs(energy.numerical).max() / energy.added[-1]:.0e}",
    )


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 120
    steps = [float(given) for given in sys.argv[2:]] or [5e-4, 2.5e-4, 1e-4]
    warnings.simplefilter("ignore", Advice)
    stiffly.simulate(stiffly.scenes.load("brush", bristles=9), step=5e-4, duration=1e-3)  # compiles
    header = ("step", "us a bristle and step", "added [uJ]", "left of it", "numerical")
    print(f"{count} bristles\n")
    print(table(header, [row(count, step) for step in steps]))


if __name__ == "__main__":
    main()
