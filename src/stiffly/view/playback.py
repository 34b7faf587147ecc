"""A recording that is played: its clock, and frames that are read when they are shown."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from ..contracts import Array
from ..errors import InputError
from ..recording.exports.frames import Motion, motion
from ..recording.recording import Recording
from .frames import LaneFrame, Snapshot

AGAIN = 2.0  # seconds between two looks at a recording that grows
SHORTEST, SLOWED_TO = 1.0, 10.0  # seconds: what lasts less is slowed down to last about so long


class Playback:
    """Frames of the recording in a folder, and which of them is due.

    trouble: what is wrong with the file by now, or None; speed: recorded seconds per second; loop:
    from the end it begins again, where no more frames may come.
    """

    def __init__(self, recording: Recording) -> None:
        self.folder: Path = recording.folder
        self.trouble: str | None = None
        self.loop = False
        self.playing, self._index, self._serial = True, 0, 0
        self._take(recording)
        lasts = float(self.times[-1] - self.times[0])
        self.speed = 1.0 if lasts >= SHORTEST or lasts == 0.0 else lasts / SLOWED_TO
        self._since = self._looked = time.monotonic()
        self._from = float(self.times[0])

    def _take(self, recording: Recording) -> None:
        self.recording = recording
        self.shown: Motion = motion(recording)
        self.times: Array = self.shown.times
        self._numerical = recording.energy.numerical

    def __len__(self) -> int:
        return len(self.times)

    @property
    def grows(self) -> bool:
        """More frames may come."""
        return not self.recording.complete and self.recording.failure is None

    # ------------------------------------------------------------------ time

    def play(self) -> None:
        if self._index >= len(self) - 1 and not self.grows:
            self._index = 0
        self.playing = True
        self._start()

    def pause(self) -> None:
        self.playing = False

    def seek(self, index: int) -> None:
        self._index = min(max(int(index), 0), len(self) - 1)
        self._start()

    def single(self) -> None:
        """The next frame, and no more."""
        self.pause()
        self.seek(self._index + 1)

    def set_speed(self, speed: float) -> None:
        self.speed = speed
        self._start()

    def set_loop(self, loop: bool) -> None:
        self.loop = loop

    def _start(self) -> None:
        self._since, self._from = time.monotonic(), float(self.times[self._index])

    def index(self) -> int:
        """Of the frame that is due now."""
        if self.playing:
            t = self._from + self.speed * (time.monotonic() - self._since)
            due = int(np.searchsorted(self.times, t * (1.0 + 1e-12), side="right")) - 1
            self._index = max(self._index, min(due, len(self) - 1))
            if self._index == len(self) - 1 and self.loop and not self.grows:
                over = t - float(self.times[-1])
                if over > self._last_lasts():
                    self.seek(0)
            elif self._index == len(self) - 1:
                self._start()  # what is written from now on is played as it comes
                self.playing = self.grows
        return self._index

    def _last_lasts(self) -> float:
        """Recorded seconds that the last frame is shown before it begins again."""
        return float(self.times[-1] - self.times[-2]) if len(self) > 1 else np.inf

    # ------------------------------------------------------------------ frames

    def look_again(self) -> bool:
        """Whether a recording that grows has more frames now; looks at it now and then."""
        now = time.monotonic()
        if not self.grows or now - self._looked < AGAIN:
            return False
        self._looked, before = now, len(self)
        try:
            again = Recording(self.folder)
            same = again.provenance.get("run") == self.recording.provenance.get("run")
            if not same or again.positions.shape[1:] != self.recording.positions.shape[1:]:
                raise InputError("another one lies there now")
            self._take(again)
        except InputError as problem:
            said = " ".join(str(problem).split())
            self.trouble = f"{self.folder} cannot be read any more: {said}"
        return len(self) != before

    def positions(self, index: int) -> Array | None:
        """(particles, 3) float32; None where the file does not hold that frame any more."""
        try:
            return np.asarray(self.recording.positions[index], dtype=np.float32)
        except InputError as problem:
            self.trouble = str(problem)
            return None

    def _velocities(self, index: int, positions: Array) -> Array:
        """(particles, 3) [m/s] float32; where none were kept, from the frame before."""
        kept = self.shown.velocities
        if kept is not None:
            return np.asarray(kept[index], dtype=np.float32)
        before = self.positions(index - 1) if index else None
        if before is None:
            return np.zeros_like(positions)
        return (positions - before) / np.float32(self.times[index] - self.times[index - 1])

    def snapshot(self, index: int) -> Snapshot | None:
        """That frame with its line of the ledger."""
        positions = self.positions(index)
        if positions is None:
            return None
        self._serial += 1
        energy, said = self.recording.energy, self.recording.diagnostics
        lane = LaneFrame(
            name=self.recording.integrator,
            positions=positions,
            velocities=self._velocities(index, positions),
            energies={name: float(part[index]) for name, part in energy.parts.items()},
            added=float(energy.added[index]),
            dissipated=float(energy.dissipated[index]),
            numerical=float(self._numerical[index]),
            alpha=_number(said, "alpha", index),
            residual=_number(said, "residual", index),
            under_solved=bool(_number(said, "under_solved", index)),
        )
        return Snapshot(self._serial, float(self.times[index]), 0.0, (lane,))

    def close(self) -> None:
        """Nothing: the file is the recording's, and closed with it."""


def _number(table: dict[str, Array], name: str, index: int) -> float | None:
    value = float(table[name][index]) if name in table else np.nan
    return value if np.isfinite(value) else None
