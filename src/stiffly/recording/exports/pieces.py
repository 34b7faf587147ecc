"""A motion body by body, at whole frame rates, for programs that know objects."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...contracts import Array
from ...errors import StiffWarning
from ...meshes import Look
from .frames import Motion, frame_rate

GREY = (0.62, 0.62, 0.62)


class Piece(NamedTuple):
    """A body, or all there is where none has a name.

    points (k,): which ones, sorted; triangles (s, 3), lines (m, 2) and dots (n,) of them,
    uv (s, 3, 2).
    """

    name: str
    look: Look | None
    points: np.ndarray
    triangles: np.ndarray
    lines: np.ndarray
    dots: np.ndarray
    uv: np.ndarray | None


def pieces(shown: Motion) -> Iterator[Piece]:
    """Every body; one whose picture is gone has its colour, and a line says so."""
    for piece in bodies(shown):
        yield piece._replace(look=_with_picture(piece.name, piece.look))


def bodies(shown: Motion) -> Iterator[Piece]:
    """Every body, and what belongs to none of them, such as springs from one to another."""
    if shown.owner is None:
        everything = np.arange(len(shown.rest))
        yield Piece("", None, everything, shown.triangles, shown.lines, shown.dots, shown.uv)
        return
    faces, lines = (_whose(shown.owner, rows) for rows in (shown.triangles, shown.lines))
    dots = shown.owner[shown.dots]
    for number, (name, look) in [*enumerate(shown.looks.items()), (-1, ("", None))]:
        inside = shown.triangles[faces == number], shown.lines[lines == number]
        own = np.flatnonzero(shown.owner == number)
        if number < 0:
            own = np.union1d(own, np.concatenate([rows.ravel() for rows in inside]))
        if number < 0 and not len(own):
            return
        uv = None if shown.uv is None else shown.uv[faces == number]
        yield Piece(name, look, own, *inside, shown.dots[dots == number], uv)


def _whose(owner: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The body that all vertices of each row belong to, or -1."""
    own = owner[rows]
    return np.where((own == own[:, :1]).all(axis=1), own[:, 0], -1)


def _with_picture(name: str, look: Look | None) -> Look | None:
    if look is None or not look.texture or Path(look.texture).is_file():
        return look
    warnings.warn(
        f"{name} is exported in its colour: its texture {look.texture} is gone; put it back there "
        "and export again",
        StiffWarning,
        stacklevel=2,
    )
    return look._replace(texture="")


def linear(color: tuple[float, float, float]) -> list[float]:
    """Light, which programs mix: a screen's numbers (sRGB, IEC 61966-2-1) undone."""
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color]


def roughness(shine: float) -> float:
    """Of a surface as programs have it, from the shine of a body."""
    return 1.0 - 0.9 * shine


def time_codes(times: Array) -> tuple[float, Array]:
    """Frames per second, a whole number, and when each frame is shown, counted in frames."""
    rate = frame_rate(times)
    codes = (times - times[0]) * rate
    whole = np.round(codes)
    return rate, np.where(np.abs(codes - whole) < 1e-6, whole, codes)  # a short last interval stays


def thickness(shown: Motion, lines: np.ndarray) -> float:
    """Of ropes and hair [m]: what is drawn of a line that has none."""
    a, b = shown.rest[lines].swapaxes(0, 1)
    return min(0.3 * float(np.median(np.linalg.norm(a - b, axis=1))), 0.01 * size(shown))


def size(shown: Motion) -> float:
    """Of the body at rest [m]: the diagonal of the box around it."""
    return max(float(np.linalg.norm(np.ptp(shown.rest, axis=0))), 1e-6)
