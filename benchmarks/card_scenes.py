"""All scenes at full size on a card: is computing faster than what is simulated?

    python benchmarks/card_scenes.py                 # all of them
    python benchmarks/card_scenes.py brush cloth     # some

Each with verlet at 0.9 of its stability limit where a card has a loop for all parts, else with
exprb42 at the step of the scene; either is halved while it diverges or errs by more than 1 % of
the energy exchanged (0: not judged).  A run ends where the scene does if that takes less than
LIMIT seconds, else it is as long as LIMIT allows, and what it takes to the end is computed from
that.  Frames and energies 30 times a simulated second, in memory; building, compiling and the
first SHORT steps are not counted.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

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
HEAD = ("scene", "coordinates", "simulated", "method", "step", "run to", "to the end, s")
HEAD += ("s a second", "loop", "energy error, %", "why not verlet")


def attempt(scene: Any, method: str, step: float, growth: float) -> tuple[Any, ...]:
    options = {"integrator": method, "step": step, "device": "gpu"}

    def seconds(duration: float) -> tuple[float, Any]:
        frame = max(step, min(FRAME, duration))
        began = time.perf_counter()
        run = simulate(scene, duration=duration, every=frame, **options)
        return time.perf_counter() - began, run

    seconds(SHORT * step)
    once, _ = seconds(SHORT * step)
    twice, run = seconds(min(scene.duration, growth * SHORT * step))
    share = max(1e-9, (twice - once) / max(1e-9, run.times[-1] - SHORT * step))  # s for each s
    spent, run = seconds(min(scene.duration, max(4.0 * SHORT * step, LIMIT / share)))
    told = run.energy.summary()
    error = 100.0 * told["max_abs_drift"] / max(told["exchanged"], 1e-300)
    # without what every run begins with
    each = (spent - once) / max(1e-9, run.times[-1] - SHORT * step)
    to_end = spent + each * (scene.duration - run.times[-1])
    return (
        method,
        f"{step:.3g}",
        f"{run.times[-1]:.3g}",
        f"{to_end:.3g}",
        f"{to_end / scene.duration:.3g}",
        run.stats.get("loop", ""),
        error if run.times[-1] >= JUDGED * scene.duration else 0.0,
    )


def halved(scene: Any, method: str, step: float, growth: float) -> tuple[Any, ...]:
    """With the longest step that ends within ERROR; StiffError where none does."""
    for k in range(HALVINGS):
        try:
            found = attempt(scene, method, step / 2**k, growth)
        except Diverged as failure:
            last = failure
            continue
        if found[-1] <= ERROR:
            return (*found[:-1], f"{found[-1]:.2g}")
        last = Diverged(f"{method} errs by {found[-1]:.2g} % of the energy with {found[1]} s")
    raise last


def row(name: str) -> tuple[Any, ...]:
    begin: tuple[Any, ...] = (name,)
    lacks = []
    try:
        scene = scenes.load(name)
        begin = name, f"{scene.x0.size:,}", f"{scene.duration:g}"
        bound, state = scene.system.bind(scene.x0, scene.v0)
        step = BELOW * stiffest(bound, state).limit
        return (*begin, *halved(scene, "verlet", min(step, FRAME), 10.0), "")
    except StiffError as lack:
        lacks.append(f"verlet: {lack}")
    try:
        step = scene.step if scene.integrator == "exprb42" else min(scene.step, LONGEST)
        return (*begin, *halved(scene, "exprb42", step, 2.0), lacks[0][:60])
    except StiffError as lack:
        lacks.append(f"exprb42: {lack}")
    return (*begin, *"-" * (len(HEAD) - len(begin) - 1), "; ".join(w[:90] for w in lacks))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenes", nargs="*", default=scenes.NAMES)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"card: {cards()[0]}")
    rows = []
    for name in given.scenes:
        began = time.perf_counter()
        rows.append(row(name))
        print(*rows[-1], f"({time.perf_counter() - began:.0f} s)", sep=" | ", flush=True)
    print(table(HEAD, rows), flush=True)


if __name__ == "__main__":
    main()
