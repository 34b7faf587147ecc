"""The last seconds of a live simulation, and how they become a recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..contracts import State, Work
from ..errors import InputError
from ..recording.drawn import drawn
from ..recording.recording import Recording
from ..recording.sinks import Frame, Interrupt
from ..recording.writer import Options, Writer
from ..scenes import Scene
from .settings import FRAMES, Settings

SECONDS = 10.0  # of real time at full speed
MEMORY = 200e6  # bytes for the frames of all lanes

NOTHING_YET = "there is nothing to record yet: let the simulation run for a moment"

Kept = tuple[str, Frame]  # the method's name, and what it led to


def frames_kept(particles: int, lanes: int) -> int:
    """How many frames of each lane there is memory for: positions and velocities, single."""
    return max(2, min(int(SECONDS * FRAMES), int(MEMORY / (24 * particles * lanes))))


@dataclass(frozen=True)
class Recent:
    """The last frames of every lane; scenes: as they are set now, with each lane's method.

    Safe to hand to any thread.
    """

    scenes: tuple[Scene, ...]
    settings: Settings
    lanes: tuple[tuple[Kept, ...], ...] = field(repr=False)

    @property
    def scene(self) -> Scene:
        """Of the first lane."""
        return self.scenes[0]

    def seconds(self, lane: int = 0) -> float:
        """Simulated seconds from the first of them to the last."""
        kept = self.lanes[lane]
        return kept[-1][1].t - kept[0][1].t if kept else 0.0

    def writable(self, lane: int = 0) -> bool:
        return len(self.lanes[lane]) > 1

    def write(self, folder: str | Path, lane: int = 0, force: bool = False) -> Recording:
        """The frames of one lane as a recording; the ledger begins with the first of them.

        InputError where nothing can be written; force: replace a run that is there.
        """
        kept = self.lanes[lane]
        if not self.writable(lane):
            raise InputError(NOTHING_YET)
        frames = as_recorded([frame for _, frame in kept])
        given = {"settings": asdict(self.settings), "toml": self.toml(lane)}
        options = Options.checked(folder, force, "float32", True, 0.0, given)
        times = np.array([frame.t for frame in frames])
        name = " > ".join(dict.fromkeys(name for name, _ in kept))  # in the order of their use
        asked = {"integrator": name, "step": self.settings.step, "rtol": None, "atol": 0.0}
        asked |= {"duration": float(times[-1]), "every": float(times[1] - times[0])}
        shape, mass = frames[0].positions.shape, self.scene.system.particle_mass
        of_lane = self.scenes[lane]
        shown = drawn(of_lane.system, of_lane, of_lane.x0)
        writer = Writer.new(options, shape, times, of_lane, shown, asked, mass, Interrupt())
        return _written(writer, frames)

    def toml(self, lane: int = 0) -> str | None:
        """The scene file that gives a lane as it is set now; None: a program made the scene."""
        from ..scenes.files import to_toml  # pydantic takes its time

        return to_toml(self.scenes[lane])


def _written(writer: Writer, frames: Sequence[Frame]) -> Recording:
    count, problem = 0, None
    try:
        for frame in frames:
            writer.frame(frame)
            count += 1
    except BaseException as found:
        problem = found
        raise
    finally:
        last = frames[max(count - 1, 0)]
        stats = {"steps": last.steps, **last.work._asdict()}
        state = State(frames[-1].t, np.empty(0), np.empty(0))
        # what a Writer asks of the time loop when a run is over
        end: Any = SimpleNamespace(state=state, recorded=count, stats=lambda: stats)
        recording = writer.result(end, problem)
    assert recording is not None  # every frame was written
    return recording


def as_recorded(frames: Sequence[Frame]) -> list[Frame]:
    """Counted from the first one on: index, energies moved, steps, work, seconds.  A part that is
    there only for a while (the hand) has no energy before and after."""
    first = frames[0]
    names = dict.fromkeys(name for frame in frames for name in frame.energies)
    return [
        frame._replace(
            index=index,
            energies={name: frame.energies.get(name, 0.0) for name in names},
            added=frame.added - first.added,
            dissipated=frame.dissipated - first.dissipated,
            invented=frame.invented - first.invented,
            steps=frame.steps - first.steps,
            work=Work(*(a - b for a, b in zip(frame.work, first.work, strict=True))),
            seconds=frame.seconds - first.seconds,
        )
        for index, frame in enumerate(frames)
    ]
