"""How long a frame of the live page takes to compute: 30 frames a second leave 33 ms for all of it.

    python benchmarks/live.py [--quick]

Everything that the page's computing thread does for a frame (view.Stage.advance): the step, the
books of the energy, positions for the browser; not the transport.  The cloth moves freely, then a
hand takes hold of its middle and pulls, then lets go; "first frame": the one after the hand took
hold.  "CPU": seconds of this thread, which other programs on the machine disturb less.  Rows with a
budget say what was asked for, what the frames took, and what accuracy that has cost.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from common import table

from stiffly import scenes
from stiffly.view.settings import Settings
from stiffly.view.stage import Stage

H = 1.0 / 30.0
WARM = 10  # frames that are not counted: compilation, factorisation


class Frames:
    """Times of frames [s], and what the last one said."""

    def __init__(self, stage: Stage) -> None:
        self.stage, self.wall, self.cpu = stage, [], []

    def take(self, count: int, order: Callable[[int], None] = lambda i: None) -> None:
        for i in range(count):
            began, used = time.perf_counter(), time.thread_time()
            order(i)
            self.shown = self.stage.advance()
            self.wall.append(time.perf_counter() - began)
            self.cpu.append(time.thread_time() - used)

    def row(self, *labels: str, note: str = "") -> list[str]:
        wall, cpu = 1e3 * np.array(self.wall), 1e3 * np.array(self.cpu)
        said = self.shown.lanes[0]
        return [
            *labels,
            f"{np.median(wall):.1f}",
            f"{np.percentile(wall, 95):.1f}",
            f"{np.median(cpu):.1f}",
            f"{1e3 / np.median(wall):.0f}",
            said.failure or said.spent,
            note,
        ]


def stage_of(name: str, method: str, budget: float | None = None, **parameters) -> Stage:
    scene = scenes.load(name, **parameters)
    own = Settings.of(scene)
    settings = Settings(
        (method,), H, damping=own.damping, gravity=own.gravity, tolerance=own.tolerance,
        iterations=own.iterations, budget=budget,
    )  # fmt: skip
    return Stage(scene, settings)


def cloth_rows(side: int, frames: int, budget: float | None = None) -> list[list[str]]:
    stage = stage_of("cloth", "realtime", budget, resolution=side)
    label = f"cloth {side} x {side}"
    method = "realtime" if budget is None else f"realtime, {1e3 * budget:g} ms"
    Frames(stage).take(WARM)
    free, held, loose = (Frames(stage) for _ in range(3))
    free.take(frames)
    middle = (side * side) // 2

    def pull(i: int) -> None:
        if i == 0:
            stage.grab(middle)
        stage.drag((0.0, 0.02 * i, 0.0))

    held.take(frames, pull)
    loose.take(frames, lambda i: stage.drop() if i == 0 else None)
    first = f"first frame {1e3 * held.wall[0]:.0f} ms"
    return [
        free.row(label, method, "free"),
        held.row(label, method, "pulled", note=first),
        loose.row(label, method, "let go", note=f"first frame {1e3 * loose.wall[0]:.0f} ms"),
    ]


def coil_row(method: str, vertices: int, frames: int, budget: float | None = None) -> list[str]:
    stage = stage_of("coil-spring", method, budget, vertices=vertices)
    label = method if budget is None else f"{method}, {1e3 * budget:g} ms"
    Frames(stage).take(WARM // 2)
    free = Frames(stage)
    free.take(frames)
    return free.row(f"coil spring, {3 * vertices:,} dof", label, "free")


def main() -> None:
    quick = "--quick" in sys.argv
    side, vertices, frames = (31, 1600, 20) if quick else (101, 8000, 60)
    rows = cloth_rows(side, frames)
    rows += cloth_rows(side, frames, budget=0.015)
    for method in ("eti", "exprb42"):
        rows.append(coil_row(method, vertices, min(frames, 30)))
    for method, budget in (("exprb2", 0.02), ("exprb42", 0.025), ("ceti", 0.025)):
        rows.append(coil_row(method, vertices, frames, budget))
    header = ("body", "method", "", "median ms", "95 % ms", "CPU ms", "frames/s", "spent on", "")
    print(table(header, rows))


if __name__ == "__main__":
    main()
