"""Figures of a run: energy, momentum, steps; several runs side by side; the body itself."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from ...errors import Advice, InputError, levels_up
from ..limits import checked, points
from ..words import MOST_POINTS, percent
from .body import picture
from .energy import plot_energies, plot_energy, plot_momentum
from .steps import plot_steps
from .style import BLUE, BROWN, GREEN, INK, ORANGE, PINK, PURPLE, RED, joules, plain, save_figure

FIGURES = {"energy": plot_energy, "momentum": plot_momentum, "steps": plot_steps}


def plot(
    recording: Any, out: str | Path | None = None, *, max_points: float = MOST_POINTS
) -> list[Path]:
    """All figures of a run: energy.png, and momentum.png and steps.png where they can be known.

    recording: a Recording or a Run.  out: a folder; default: the recording's own.  Figures of an
    earlier call are replaced.  max_points: of all frames together; where there are more, momentum,
    which reads them all, is left out and said so.  Returns the files written.
    """
    most = checked("max_points", max_points)
    folder = getattr(recording, "folder", None) if out is None else Path(out)
    if folder is None:
        raise InputError("out is missing: this run has no folder of its own, name one")
    if not len(recording.times):
        raise InputError("the recording holds no frame yet: resume it, or run it again")
    written = []
    for name, draw in FIGURES.items():
        path = Path(folder) / f"{name}.png"
        if draw is plot_momentum and points(recording) > most:
            text = (
                f"momentum is left out: {points(recording):,} points of all frames are more than "
            )
            text += f"max_points = {most:,.0f} (--max-points)"
            warnings.warn(text, Advice, stacklevel=levels_up())
            continue
        if draw(recording, path) is not None:
            written.append(path)
    return written


__all__ = [
    "BLUE", "BROWN", "GREEN", "INK", "ORANGE", "PINK", "PURPLE", "RED", "joules", "percent",
    "picture", "plain", "plot", "plot_energies", "plot_energy", "plot_momentum", "plot_steps",
    "save_figure",
]  # fmt: skip
