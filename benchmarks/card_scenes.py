"""All scenes at full size on a card: is computing faster than what is simulated?

    python benchmarks/card_scenes.py                       # all of them
    python benchmarks/card_scenes.py brush cloth --limit 6 # some, each method for 6 s at most

Each with verlet at 0.9 of its stability limit where a card has a loop for all parts.  Where it has
none, or is slower than what it simulates, in mixed precision; then with exprb42 at the step of the
scene; then by its own method and step, there and on the host, where small systems are faster.  The
fastest is told.  A step is halved while it diverges or errs by more than 1 % of the energy that is
exchanged (0: not judged).  A run ends where the scene does if that takes less than LIMIT seconds,
else it is as long as LIMIT allows, and what it takes to the end is computed from that.  Frames and
energies 30 times a simulated second, in memory; building, compiling and the
first SHORT steps are not counted.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

from common import table

from stiffly import scenes, simulate
from stiffly.backends.gpu import cards
from stiffly.errors import Diverged, StiffError
from stiffly.integrators.auto import stiffest

LIMIT = 12.0  # s
SHORT = 64  # steps
FRAME = 1 / 30  # s
BELOW = 0.9  # of the stability limit
LONGEST = 0.01  # s, of exprb42 where the scene's own step is another method's
HALVINGS = 5
ERROR = 1.0  # % of the energy exchanged
JUDGED = 0.1  # of the scene has to be run for that: before, little is exchanged in some
HEAD = ("scene", "coordinates", "simulated", "method", "where", "step", "run to")
HEAD += ("to the end, s", "s a second", "energy error, %", "why not before")


class Tried(NamedTuple):
    """A run to the end takes `seconds`."""

    method: str
    where: str
    step: float
    run_to: float
    seconds: float
    error: float


class Way(NamedTuple):
    """How to run a scene: in how many times as many steps it shows what a step costs."""

    method: str
    step: float
    device: str
    growth: float
    precision: str = "double"


def attempt(scene: Any, way: Way, step: float, limit: float) -> Tried:
    options = {"integrator": way.method, "step": step, "device": way.device}
    options["precision"] = way.precision

    def seconds(duration: float) -> tuple[float, Any]:
        frame = max(step, min(FRAME, duration))
        began = time.perf_counter()
        run = simulate(scene, duration=duration, every=frame, **options)
        return time.perf_counter() - began, run

    seconds(SHORT * step)
    once, _ = seconds(SHORT * step)
    twice, run = seconds(min(scene.duration, way.growth * SHORT * step))
    share = max(1e-9, (twice - once) / max(1e-9, run.times[-1] - SHORT * step))  # s for each s
    spent, run = seconds(min(scene.duration, max(4.0 * SHORT * step, limit / share)))
    told = run.energy.summary()
    error = 100.0 * told["max_abs_drift"] / max(told["exchanged"], 1e-300)
    # without what every run begins with
    each = (spent - once) / max(1e-9, run.times[-1] - SHORT * step)
    to_end = spent + each * (scene.duration - run.times[-1])
    judged = run.times[-1] >= JUDGED * scene.duration
    where = "card" if way.device == "gpu" else "host"
    words = f"{way.method}, mixed" if way.precision == "mixed" else way.method
    return Tried(words, where, step, run.times[-1], to_end, error if judged else 0.0)


def halved(scene: Any, way: Way, limit: float) -> Tried:
    """With the longest step that ends within ERROR; StiffError where none does."""
    last = Diverged(f"{way.method} was not tried")
    for k in range(HALVINGS):
        try:
            found = attempt(scene, way, way.step / 2**k, limit)
        except Diverged as failure:
            last = failure
            continue
        if found.error <= ERROR:
            return found
        last = Diverged(f"{way.method} errs by {found.error:.2g} % of the energy at {found.step} s")
    raise last


def ways(scene: Any) -> Iterator[Way]:
    if hasattr(scene.system, "assembly"):
        bound, state = scene.system.bind(scene.x0, scene.v0)
        stable = min(BELOW * stiffest(bound, state).limit, FRAME)
        yield Way("verlet", stable, "gpu", 10.0)
        yield Way("verlet", stable, "gpu", 10.0, "mixed")
        step = scene.step if scene.integrator == "exprb42" else min(scene.step, LONGEST)
        yield Way("exprb42", step, "gpu", 2.0)
    yield Way(scene.integrator, scene.step, "gpu", 2.0)
    yield Way(scene.integrator, scene.step, "cpu", 2.0)


def row(name: str, limit: float) -> tuple[Any, ...]:
    lacks, found = [], []
    scene = scenes.load(name)
    begin = name, f"{scene.x0.size:,}", f"{scene.duration:g}"
    for way in ways(scene):
        try:
            found.append(halved(scene, way, limit))
        except StiffError as lack:
            lacks.append(f"{way.method}: {lack}"[:90])
            continue
        if found[-1].seconds < scene.duration:
            break
        lacks.append(f"{way.method}: {found[-1].seconds / scene.duration:.3g} s a second")
    if not found:
        return (*begin, *"-" * (len(HEAD) - len(begin) - 1), "; ".join(lacks))
    best = min(found, key=lambda tried: tried.seconds)
    told = best.method, best.where, f"{best.step:.3g}", f"{best.run_to:.3g}", f"{best.seconds:.3g}"
    rate, error = f"{best.seconds / scene.duration:.3g}", f"{best.error:.2g}"
    return (*begin, *told, rate, error, "; ".join(lacks))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenes", nargs="*", default=scenes.NAMES)
    parser.add_argument("--limit", type=float, default=LIMIT, metavar="S", help="of each method")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"card: {cards()[0]}")
    rows = []
    for name in given.scenes:
        began = time.perf_counter()
        rows.append(row(name, given.limit))
        print(*rows[-1], f"({time.perf_counter() - began:.0f} s)", sep=" | ", flush=True)
    print(table(HEAD, rows), flush=True)


if __name__ == "__main__":
    main()
