"""Which recorded frames a film shows, and for how long."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..contracts import Array
from ..errors import InputError
from .exports.frames import typical_interval

SHORTEST = 2.0  # seconds: a film of less is slowed down
SLOWED_TO = 6.0  # seconds that a slowed film lasts, about
SMOOTH = 15.0  # pictures a second: of fewer the film says so
LONGEST = 4 * 3600.0  # seconds of film: beyond this the speed is a mistake


class Schedule(NamedTuple):
    """times (k,) [s] of the pictures to take, `rate` of them per second of film; speed; fps: what
    was asked for."""

    times: Array
    rate: float
    speed: float
    fps: float

    @property
    def coarse(self) -> bool:
        return self.rate < SMOOTH and len(self.times) > 1

    @property
    def shown_at(self) -> float:
        """Pictures a second of the file: no picture twice, unless there are too few of them."""
        return self.fps if self.coarse else min(self.rate, self.fps)

    @property
    def note(self) -> str:
        """What viewers should know: another speed than life's, fewer pictures than look smooth."""
        said = []
        if self.speed != 1.0:
            slower = self.speed < 1.0
            said.append(
                f"{1.0 / self.speed:g}x slowed down" if slower else f"{self.speed:g}x speed"
            )
        if self.coarse:
            said.append(f"{self.rate:.2g} pictures a second")
        return ", ".join(said)

    @property
    def advice(self) -> str:
        """What the maker of a coarse film should know, or nothing."""
        if not self.coarse:
            return ""
        every = self.speed / self.fps
        faster = _round_up(self.speed * SMOOTH / self.rate)
        return (
            f"the recording has {self.rate:.2g} pictures for a second of film, which asks for "
            f"{self.fps:g}: record with --every {every:.2g} (every={every:.2g}), or play it with "
            f"--speed {faster:g}"
        )


def schedule(times: Array, fps: float, speed: float | None = None) -> Schedule:
    """Every recorded frame once where they are sparse, else one for every picture of the film."""
    duration, interval = float(times[-1] - times[0]), typical_interval(times)
    if speed is None:
        speed = 1.0
        if 0.0 < duration < SHORTEST:  # no slower than what the frames bear
            bearable = _round_up(SMOOTH * interval)
            speed = min(1.0, max(_round(duration / SLOWED_TO), bearable))
    _check_length(duration, fps, speed)
    if interval >= (1.0 - 1e-9) * speed / fps:
        return Schedule(times, speed / interval, speed, float(fps))
    count = int(duration * fps / speed * (1.0 + 1e-9)) + 1
    return Schedule(times[0] + np.arange(count) * speed / fps, float(fps), speed, float(fps))


def _check_length(duration: float, fps: float, speed: float) -> None:
    """Not a film of days, nor one of a single picture."""
    hours = duration / speed / 3600.0
    if 3600.0 * hours > LONGEST:
        problem = f"makes a film of {hours:.3g} hours"
    elif 0.0 < duration * fps < speed:
        problem = "leaves one picture"
    else:
        return
    better = _round(duration / SLOWED_TO)
    raise InputError(f"speed {speed:.3g} {problem} of {duration:.3g} s: try {better:g}")


def _round(speed: float) -> float:
    """The nearest of 1, 2 or 5 times a power of ten that is not faster."""
    power = 10.0 ** np.floor(np.log10(speed))
    return float(power * max(k for k in (1.0, 2.0, 5.0) if k * power <= speed * (1.0 + 1e-9)))


def _round_up(speed: float) -> float:
    """The nearest of 1, 2 or 5 times a power of ten that is not slower."""
    power = 10.0 ** np.floor(np.log10(speed))
    steps = (1.0, 2.0, 5.0, 10.0)
    return float(power * min(k for k in steps if k * power >= speed * (1.0 - 1e-9)))


def clock(t: float, end: float) -> str:
    """'t = 1.25 s', with as many digits as the run needs."""
    scale, name = (1.0, "s") if end >= 0.1 else (1e3, "ms") if end >= 1e-4 else (1e6, "µs")
    return f"t = {t * scale:.{2 if end * scale >= 1.0 else 3}f} {name}"
