"""What a step of the brush costs, and how well it follows: one pass of the paperweight, 0.3 s.

    python benchmarks/strokes.py [bristles] [step [s]]...

Processor time a bristle and step, of solving the steps' equations and of the whole run (about 2 ms
a step go to Python where there are 1500 bristles); the joules that the object adds; what is left of
them a tenth of a second after the last touch, fifty lifetimes of the energy in the air; and what
the ledger cannot explain.
"""

from __future__ import annotations

import sys
import time
import warnings

from common import table

import stiffly
from stiffly.errors import Advice
from stiffly.system.bodywise import Bodywise

PASS = 0.3  # [s]


class Clock:
    """Processor seconds in a method of a class."""

    def __init__(self, owner: type, name: str) -> None:
        self.seconds, inner = 0.0, getattr(owner, name)

        def timed(*arguments):
            start = time.process_time()
            try:
                return inner(*arguments)
            finally:
                self.seconds += time.process_time() - start

        setattr(owner, name, timed)


def row(count: int, step: float, clock: Clock) -> tuple[str, ...]:
    scene = stiffly.scenes.load("brush", bristles=count)
    clock.seconds, start = 0.0, time.process_time()
    run = stiffly.simulate(scene, step=step, duration=PASS, every=0.02)
    energy, share = run.energy, 1e6 / (count * round(PASS / step))
    left = (energy.total[-1] - energy.total[0]) / energy.added[-1]
    return (
        f"{1e3 * step:g} ms",
        f"{share * clock.seconds:.1f}",
        f"{share * (time.process_time() - start):.1f}",
        f"{1e3 * energy.added[-1]:.3f}",
        f"{left:.0e}",
        f"{abs(energy.numerical).max() / energy.added[-1]:.0e}",
    )


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 96
    steps = [float(given) for given in sys.argv[2:]] or [5e-4, 2.5e-4, 1e-4]
    warnings.simplefilter("ignore", Advice)
    stiffly.simulate(stiffly.scenes.load("brush", bristles=count), step=5e-4, duration=1e-3)
    clock = Clock(Bodywise, "solve")  # all is compiled now
    header = ("step", "us to solve", "us in all", "added [mJ]", "left of it", "numerical")
    print(f"{count} bristles\n")
    print(table(header, [row(count, step, clock) for step in steps]))


if __name__ == "__main__":
    main()
