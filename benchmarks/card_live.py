"""Frames a second of the live page's physics on a card: a cloth of 100,489 particles, dragged.

    python benchmarks/card_live.py [--device gpu|cpu|shim] [--side N] [--method NAME] [--step S]
                                   [--damping BETA]

Everything that the page's computing thread does for a frame (view.Stage.advance): orders of the
hand, steps, the books of the energy, positions and velocities for the browser; not the transport.
The cloth moves freely, then a hand takes hold of its middle and pulls it on with every frame, then
lets go.  30 frames a second leave 33 ms.  shim: the card's kernels as C++ in one thread, to try
this script where no card is.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from common import table
from live import WARM, Frames, H

from stiffly import scenes
from stiffly.view.settings import Settings
from stiffly.view.stage import Stage

SIDE = 317  # particles along a side


def shim() -> None:
    """A card made of loops takes the place of the real one."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from cuda_shim import HostBackend

    from stiffly.backends import gpu as door

    backend = HostBackend(tempfile.mkdtemp())
    door.gpu = lambda number: backend


def staged(side: int, method: str, device: str, step: float = H, damping: float = 0.0) -> Stage:
    scene = scenes.load("cloth", resolution=side, damping=damping)
    settings = replace(Settings.of(scene), integrators=(method,), step=step)
    return Stage(scene, settings, device)


def measured(stage: Stage, side: int, frames: int) -> list[list[str]]:
    free, held, loose = (Frames(stage) for _ in range(3))
    free.take(frames)

    def pull(i: int) -> None:
        if i == 0:
            stage.grab(side * side // 2)
        stage.drag((0.0, 0.02 * i, 0.0))

    held.take(frames, pull)
    loose.take(frames, lambda i: stage.drop() if i == 0 else None)
    rows = (("free", free), ("dragged", held), ("let go", loose))
    return [own.row(name, note=said(own, frames)) for name, own in rows]


def said(own: Frames, frames: int) -> str:
    lane = own.shown.lanes[0]
    first = f"first frame {1e3 * own.wall[0]:.0f} ms, numerical {lane.numerical:.2g} J"
    return f"{first}, added {lane.added:.2g} J; {lane.stands_in or lane.name}"


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--device", default="gpu")
    asked.add_argument("--side", type=int, default=SIDE)
    asked.add_argument("--method", default="realtime")
    asked.add_argument("--step", type=float, default=H, help="of a method that does not choose it")
    asked.add_argument("--damping", type=float, default=0.0, help="Rayleigh's beta [s]")
    asked.add_argument("--frames", type=int, default=60)
    given = asked.parse_args()
    if given.device == "shim":
        shim()
    began = time.perf_counter()
    device = "gpu" if given.device == "shim" else given.device
    stage = staged(given.side, given.method, device, given.step, given.damping)
    built = time.perf_counter() - began
    Frames(stage).take(WARM)
    rows = measured(stage, given.side, given.frames)
    header = ("cloth", "median ms", "95 % ms", "CPU ms", "frames/s", "spent on", "")
    print(f"{given.side**2:,} particles, {device}; built in {built:.1f} s\n")
    print(table(header, rows))


if __name__ == "__main__":
    main()
