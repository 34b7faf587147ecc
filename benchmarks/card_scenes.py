"""All scenes at full size on a card: is computing faster than what is simulated?

    python benchmarks/card_scenes.py                 # all of them
    python benchmarks/card_scenes.py brush cloth     # some

Each with verlet at 0.9 of its stability limit where a card has a loop for all parts, else with
exprb42 at the step of the scene (halved as long as it diverges).  A run ends where the scene does if
that takes less than LIMIT seconds, else it is as long as LIMIT allows, and what it takes to the end
is computed from that.  Frames and energies 30 times a simulated second, in memory; building,
compiling and the first SHORT steps are not counted.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

from common import table

from stiffly import scenes, simulate
from stiffly.backends.gpu import cards
from stiffly.errors import StiffError
from stiffly.integrators.auto import stiffest

LIMIT = 12.0  # s
SHORT = 64  # steps
FRAME = 1 / 30  # s
BELOW = 0.9  # of the stability limit
HALVINGS = 5


def attempt(scene: Any, method: str, step: float, small: float) -> tuple[Any, ...]:
    options = {"integrator": method, "step": step, "device": "gpu"}

    def seconds(duration: float) -> tuple[float, Any]:
        frame = max(step, min(FRAME, duration))
        began = time.perf_counter()
        run = simulate(scene, duration=duration, every=frame, **options)
        return time.perf_counter() - began, run

    seconds(SHORT * step)
    once, _ = seconds(SHORT * step)
    twice, run = seconds(min(scene.duration, small * SHORT * step))
    share = max(1e-9, (twice - once) / max(1e-9, run.times[-1] - SHORT * step))  # s for each s
    duration = min(scene.duration, max(run.times[-1], LIMIT / share))
    spent, run = seconds(duration)
    told = run.energy.summary()
    error = 100.0 * told["max_abs_drift"] / max(told["exchanged"], 1e-300)
    to_end = spent * scene.duration / run.times[-1]
    return (
        method,
        f"{step:.3g}",
        f"{run.times[-1]:.3g}",
        f"{to_end:.3g}",
        f"{to_end / scene.duration:.3g}",
        f"{error:.2g} %",
        run.stats.get("loop", ""),
    )


def row(name: str) -> tuple[Any, ...]:
    try:
        scene = scenes.load(name)
    except StiffError as lack:
        return (name, *"-" * 9, str(lack))
    begin = name, f"{scene.x0.size:,}", f"{scene.duration:g}"
    lacks = []
    try:
        bound, state = scene.system.bind(scene.x0, scene.v0)
        step = BELOW * stiffest(bound, state).limit
        return (*begin, *attempt(scene, "verlet", min(step, FRAME), 10.0), "")
    except StiffError as lack:
        lacks.append(f"verlet: {lack}")
    step = scene.step if scene.integrator == "exprb42" else min(scene.step, 0.01)
    for _ in range(HALVINGS):
        try:
            return (*begin, *attempt(scene, "exprb42", step, 2.0), lacks[0][:60])
        except StiffError as lack:
            lacks.append(f"exprb42: {lack}")
            if "diverged" not in str(lack):
                break
            step *= 0.5
    return (*begin, "-", "-", "-", "-", "-", "-", "-", "; ".join(w[:90] for w in (lacks[0], lacks[-1])))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenes", nargs="*", default=scenes.NAMES)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"card: {cards()[0]}")
    head = ("scene", "coordinates", "simulated", "method", "step", "run to", "to the end, s")
    head += ("s a second", "energy error", "loop", "why not verlet")
    rows = []
    for name in given.scenes:
        began = time.perf_counter()
        rows.append(row(name))
        print(*rows[-1], f"({time.perf_counter() - began:.0f} s)", sep=" | ", flush=True)
    print(table(head, rows), flush=True)


if __name__ == "__main__":
    main()
