"""What does it cost to record a run and to write checkpoints?

    python benchmarks/recording.py [--quick]

A cloth of 10,000 particles, held at two corners, 30 frames per simulated second, positions and
velocities in single precision, a checkpoint at the start and then every ten seconds (but never for
more than 2 % of the time), by methods from the cheapest step per frame to many steps per frame.
The share is the time spent in the writer over the time of the whole run, which holds one
checkpoint at the start however short it is; the median of several runs, and their range.
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from common import table

import stiffly
from stiffly.bodies import Gravity, System, cloth_springs
from stiffly.meshes import cloth
from stiffly.recording.writer import Writer

SIDE, FPS = 100, 30
# method, step [s], simulated seconds: one step per frame, a very short run, many steps per frame
RUNS = (
    ("realtime", 1.0 / 30.0, 1.5),
    ("realtime", 1.0 / 30.0, 0.3),
    ("verlet", 1e-4, 0.3),
)


def hanging_cloth(side: int):
    """1 m x 1 m, 0.2 kg, held at two corners, released flat."""
    mesh = cloth(side, side, spacing=1.0 / side)
    parts = [*cloth_springs(mesh, 100.0, 100.0, 1.0), Gravity()]
    corners = [0, side - 1]
    return System(0.2 / side**2, parts, fixed=corners, rest=mesh.positions), mesh.positions


class Timed:
    """Seconds in the writer: frames, and checkpoints with how many there were."""

    def __init__(self) -> None:
        self.frames = self.checkpoints = 0.0
        self.count = 0
        self._plain = {name: getattr(Writer, name) for name in ("frame", "between", "_save")}

    def __enter__(self) -> Timed:
        plain = self._plain

        def frame(writer, *arguments):
            start = time.perf_counter()
            plain["frame"](writer, *arguments)
            self.frames += time.perf_counter() - start

        def between(writer, *arguments):
            start, before = time.perf_counter(), self.checkpoints
            plain["between"](writer, *arguments)
            self.frames += time.perf_counter() - start - (self.checkpoints - before)

        def save(writer, *arguments):
            start = time.perf_counter()
            plain["_save"](writer, *arguments)
            self.checkpoints += time.perf_counter() - start
            self.count += 1

        Writer.frame, Writer.between, Writer._save = frame, between, save
        return self

    def __exit__(self, *_: object) -> None:
        for name, function in self._plain.items():
            setattr(Writer, name, function)


def measure(system, x0, method: str, step: float, seconds: float):
    """Seconds in all; shares of recording and of checkpoints; checkpoints; bytes of the file."""
    with tempfile.TemporaryDirectory() as folder, Timed() as timed:
        out = Path(folder) / "run"
        start = time.perf_counter()
        stiffly.simulate(
            system, x0, integrator=method, step=step, duration=seconds, every=1.0 / FPS, out=out
        )
        elapsed = time.perf_counter() - start
        size = (out / "recording.vtkhdf").stat().st_size
    return elapsed, timed.frames / elapsed, timed.checkpoints / elapsed, timed.count, size


def percent(values) -> str:
    low, middle, high = (100.0 * f(values) for f in (np.min, np.median, np.max))
    return f"{middle:.2g} % ({low:.2g} to {high:.2g})"


def main(quick: bool) -> None:
    warnings.simplefilter("ignore", stiffly.StiffWarning)
    side, repeats = (30, 2) if quick else (SIDE, 5)
    system, x0 = hanging_cloth(side)
    rows = []
    for method, step, seconds in RUNS:
        measure(system, x0, method, step, 2.0 / FPS)  # compilation
        found = [measure(system, x0, method, step, seconds) for _ in range(repeats)]
        elapsed, frames, checkpoints, count, size = (np.array(c) for c in zip(*found, strict=True))
        rows.append(
            (
                method,
                f"{step:.3g}",
                f"{seconds * FPS:.0f}",
                f"{np.median(elapsed):.1f}",
                percent(frames),
                percent(checkpoints),
                percent(frames + checkpoints),
                int(np.median(count)),
                f"{size[0] / 1e6:.1f} MB",
            )
        )
    header = ("method", "step [s]", "frames", "seconds", "recording", "checkpoints", "together",
              "how many", "file")  # fmt: skip
    print(f"{side * side} particles, {FPS} frames per simulated second, {repeats} runs each\n")
    print(table(header, rows))


if __name__ == "__main__":
    main("--quick" in sys.argv)
