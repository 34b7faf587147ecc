"""When the pictures of a film are taken, how fast it plays, and the time written into them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..contracts import Array
from ..errors import InputError
from .exports.frames import typical_interval

SHORTEST = 2.0  # seconds: a film of less is slowed down
SLOWED_TO = 6.0  # seconds that a slowed film lasts, about
LONGEST = 4 * 3600.0  # seconds of film: beyond this the speed is a mistake


class Schedule(NamedTuple):
    """times (k,) [s] of the pictures to take, `rate` of them per second of film; speed."""

    times: Array
    rate: float
    speed: float


def schedule(times: Array, fps: float, speed: float | None = None) -> Schedule:
    """Every recorded frame once where they are sparse, else one for every picture of the film."""
    duration = float(times[-1] - times[0])
    if speed is None:
        speed = 1.0 if duration >= SHORTEST or duration == 0.0 else _round(duration / SLOWED_TO)
    _check_length(duration, fps, speed)
    interval = typical_interval(times)
    if interval >= speed / fps:
        return Schedule(times, speed / interval, speed)
    count = int(duration * fps / speed * (1.0 + 1e-9)) + 1
    return Schedule(times[0] + np.arange(count) * speed / fps, float(fps), speed)


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


def clock(t: float, end: float) -> str:
    """'t = 1.25 s', with as many digits as the run needs."""
    if end < 0.1:
        scale, name = (1e3, "ms") if end >= 1e-4 else (1e6, "µs")
        t, end = t * scale, end * scale
    else:
        name = "s"
    digits = 2 if end >= 1.0 else 3
    return f"t = {t:.{digits}f} {name}"
