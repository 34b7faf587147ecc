"""Figures of a run: energy, momentum, steps; several runs side by side; the body itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...errors import InputError
from ..words import percent
from .body import picture
from .energy import plot_energies, plot_energy, plot_momentum
from .steps import plot_steps
from .style import BLUE, BROWN, GREEN, INK, ORANGE, PINK, PURPLE, RED, joules, plain, save_figure

FIGURES = {"energy": plot_energy, "momentum": plot_momentum, "steps": plot_steps}


def plot(recording: Any, out: str | Path | None = None) -> list[Path]:
    """All figures of a run: energy.png, and momentum.png and steps.png where they can be known.

    recording: a Recording or a Run.  out: a folder; default: the recording's own.  Figures of an
    earlier call are replaced.  Returns the files written.
    """
    folder = getattr(recording, "folder", None) if out is None else Path(out)
    if folder is None:
        raise InputError("out is missing: this run has no folder of its own, name one")
    if not len(recording.times):
        raise InputError("the recording holds no frame yet: resume it, or run it again")
    written = []
    for name, draw in FIGURES.items():
        path = Path(folder) / f"{name}.png"
        if draw(recording, path) is not None:
            written.append(path)
    return written


__all__ = [
    "BLUE", "BROWN", "GREEN", "INK", "ORANGE", "PINK", "PURPLE", "RED", "joules", "percent",
    "picture", "plain", "plot", "plot_energies", "plot_energy", "plot_momentum", "plot_steps",
    "save_figure",
]  # fmt: skip
