"""What a body is coloured by, and the words and scales that say so: drawn onto the pixels, in the
letters of the plots."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..contracts import Array
from ..errors import InputError, require_name
from . import quantities
from .exports.frames import Motion
from .plots.style import unit
from .quantities import Values
from .render_view import sampled
from .words import COLORS

INK, GREY, PALE = (34, 34, 34), (110, 110, 110), (150, 150, 150)
BAR = 7.5  # width that the colour bar takes, in letters
CLAY = np.array([92, 138, 190], dtype=np.uint8)  # where nothing is to be told
SHARE = 98.0  # percent of the values lie within the scale: a single whip end would darken the rest
FEW = 12  # values: of so few each counts
SEQUENTIAL, DIVERGING = "viridis", "RdBu_r"  # both read without red-green vision
STAIN = "jet"
BRIGHT = {
    SEQUENTIAL: (0.15, 1.0),
    DIVERGING: (0.08, 0.92),
    STAIN: (0.1, 0.9),
}  # darker ends would hide the shading


@lru_cache(maxsize=16)
def _font(height: int) -> Any:
    from matplotlib import font_manager
    from PIL import ImageFont

    return ImageFont.truetype(font_manager.findfont("DejaVu Sans"), height)


def letters(size: tuple[int, int]) -> int:
    """Height of letters [pixels] in a picture of that size."""
    return max(11, round(min(size[1] / 32, size[0] / 44)))


class Words(NamedTuple):
    """title and what is under it at the top left; corner at the bottom left, note beside it."""

    title: str = ""
    under: str = ""
    corner: str = ""
    note: str = ""


def write_words(pixels: np.ndarray, words: Words, height: int) -> np.ndarray:
    """In letters of that height [pixels], or smaller ones where the picture is too narrow."""
    from PIL import Image, ImageDraw

    picture = Image.fromarray(pixels)
    draw = ImageDraw.Draw(picture)
    left = round(0.9 * height)
    room = picture.width - 2 * left

    def write(at: tuple[float, float], text: str, size: float, color: Any, anchor: str) -> None:
        wide = draw.textlength(text, font=_font(round(size)))
        size *= min(1.0, max(room - at[0] + left, 1.0) / max(wide, 1.0))
        draw.text(at, text, fill=color, font=_font(max(8, int(size))), anchor=anchor)

    top, bottom = 0.9 * height, picture.height - 0.9 * height
    write((left, top), words.title, height, INK, "la")
    below = top + (1.4 * height if words.title else 0.0)
    write((left, below), words.under, 0.8 * height, GREY, "la")
    write((left, bottom), words.corner, height, INK, "ls")
    beside = left + draw.textlength(words.corner, font=_font(height)) + height
    write((beside, bottom), words.note, 0.8 * height, GREY, "ls")
    return np.asarray(picture)


def draw_bar(pixels: np.ndarray, coloring: Coloring) -> np.ndarray:
    """A colour bar at the right side of a picture, with round numbers beside it."""
    from matplotlib.ticker import MaxNLocator
    from PIL import Image, ImageDraw

    picture = Image.fromarray(pixels)
    draw = ImageDraw.Draw(picture)
    height = letters(picture.size)
    small = _font(round(0.85 * height))
    top, bottom = round(0.28 * picture.height), round(0.78 * picture.height)
    thick = round(0.7 * height)
    left = picture.width - round(4.6 * height)
    stripe = np.repeat(coloring.table[::-1][:, None], thick, axis=1)
    picture.paste(Image.fromarray(stripe).resize((thick, bottom - top)), (left, top))
    for value in MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]).tick_values(coloring.low, coloring.high):
        share = (value - coloring.low) / (coloring.high - coloring.low)
        if -1e-9 <= share <= 1.0 + 1e-9:
            y = bottom - share * (bottom - top)
            draw.line([(left + thick, y), (left + 1.35 * thick, y)], fill=PALE)
            text = f"{value:.6g}".replace("-", "−")
            draw.text((left + 1.7 * thick, y), text, fill=INK, font=small, anchor="lm")
    end = picture.width - round(0.9 * height)
    draw.text((end, top - round(0.9 * height)), coloring.label, fill=INK, font=small, anchor="rs")
    return np.asarray(picture)


def join(panels: list[np.ndarray], free: int) -> np.ndarray:
    """Pictures next to each other, faint lines in between, and `free` white pixels at the right."""
    pieces = [panels[0]]
    for panel in panels[1:]:
        pieces += [np.full_like(panel[:, :1], 215), panel[:, 1:]]
    return np.concatenate([*pieces, np.full_like(panels[0][:, :1], 255).repeat(free, 1)], axis=1)


# ------------------------------------------------------------------ colours


@dataclass(frozen=True)
class Coloring:
    """Values of every vertex, and how they become colours.

    values(i): (N,) at frame i, in the unit of `label`; low, high: ends of the scale.  rods(i): of
    every line, where lines have values of their own.
    """

    label: str
    values: Callable[[int], Array]
    low: float
    high: float
    table: Array  # (256, 3) uint8
    rods: Callable[[int], Array] | None = None

    def colors(self, i: int) -> Array:
        """(N, 3) uint8 at frame i."""
        return self._looked_up(self.values(i))

    def rod_colors(self, i: int) -> Array | None:
        """(lines, 3) uint8 at frame i."""
        return None if self.rods is None else self._looked_up(self.rods(i))

    def _looked_up(self, values: Array) -> Array:
        share = (values - self.low) / (self.high - self.low)
        rows = np.nan_to_num(255.0 * np.clip(share, 0.0, 1.0)).astype(int)
        return self.table[rows]


def coloring(
    recordings: list[Any], motions: list[Motion], color: str, systems: Sequence[Any] | None = None
) -> list[Coloring | None]:
    """One for each motion, all with the same scale; None: in one plain colour.  systems: of which
    the stress is."""
    require_name("color", color, COLORS)
    if color == "none":
        return [None] * len(motions)
    unit_of, rods = "N", [None] * len(motions)
    if color == "speed":
        values = [_speed(motion) for motion in motions]
    elif color == "stress":
        given = systems or [None] * len(motions)
        found = [_stress(*each) for each in zip(recordings, motions, given, strict=True)]
        values, rods, units = (list(each) for each in zip(*found, strict=True))
        unit_of = units[0]
        if any(own != unit_of for own in units):
            raise InputError("stresses of springs [N] and of tets [Pa] have no common scale")
    else:
        pairs = zip(recordings, motions, strict=True)
        values = [_shown(motion, quantities.field(one, color)) for one, motion in pairs]
    sizes = [
        _most(np.abs(value(int(i))))
        for value, motion in zip(values, motions, strict=True)
        for i in sampled(motion, 30)
    ]
    high = max((float(s) for s in sizes if np.isfinite(s)), default=0.0)
    if high == 0.0:
        return [None] * len(motions)  # at rest: a scale from 0 to 0 says nothing
    if color == "strain":
        name, factor = ("mean strain [%]", 100.0) if high >= 1e-4 else ("mean strain [ppm]", 1e6)
        label, low, table = name, -factor * high, DIVERGING
    elif color == "stress":
        scaled = unit(unit_of, high)
        label, factor, low, table = f"stress [{scaled.name}]", scaled.factor, 0.0, SEQUENTIAL
        if unit_of == "N":
            label, low, table = f"tension [{scaled.name}]", -factor * high, DIVERGING
    else:
        name, base = ("speed", "m/s") if color == "speed" else ("contact", "N")
        scaled = unit(base, high)
        label, factor, low, table = f"{name} [{scaled.name}]", scaled.factor, 0.0, SEQUENTIAL
    rows = color_table(table)

    def scaled_by(value: Any) -> Any:
        return None if value is None else lambda i: factor * value(i)

    return [
        Coloring(label, scaled_by(value), low, factor * high, rows, scaled_by(rod))
        for value, rod in zip(values, rods, strict=True)
    ]


def coat(motion: Motion) -> Coloring | None:
    """Of the plaque that is left, as the paper stains it: from blue, where none was removed, over
    green to red (Michels, Luan, Tokman 2017, Fig. 5)."""
    left = motion.plaque
    if left is None:
        return None
    first = np.asarray(left[0], dtype=np.float64)
    first = np.where(first > 0.0, first, np.nan)  # no plaque was there
    return Coloring(
        "plaque removed [%]",
        lambda i: 100.0 * (1.0 - left[i] / first),
        0.0,
        100.0,
        color_table(STAIN),
    )


def _most(values: Array) -> float:
    """The end of a scale for them: one that is far from all others does not decide."""
    share = 100.0 if len(values) <= FEW else SHARE
    return float(np.percentile(values, share, method="lower"))


def color_table(name: str) -> Array:
    """(256, 3) uint8."""
    from matplotlib import colormaps

    low, high = BRIGHT[name]
    shares = np.linspace(low, high, 256)
    return (255.0 * colormaps[name](shares)[:, :3]).round().astype(np.uint8)


def _speed(motion: Motion) -> Callable[[int], Array]:
    """|v| (N,) [m/s]; from the frames around it where velocities were not kept."""

    def speed(i: int) -> Array:
        v = motion.velocity(i)
        if v is None:
            a, b = max(i - 1, 0), min(i + 1, len(motion) - 1)
            apart = float(motion.times[b] - motion.times[a]) or 1.0
            v = (motion.frame(b).astype(np.float64) - motion.frame(a)) / apart
        return np.linalg.norm(v.astype(np.float64), axis=1)

    return speed


def _shown(motion: Motion, values: Values) -> Values:
    """Of the points that are drawn, from those of particles."""
    return lambda i: motion.shown(values(i)[:, None])[:, 0]


def _stress(recording: Any, motion: Motion, system: Any) -> tuple[Any, Any, str]:
    """What the points bear, and each line, where it is a spring; the unit."""
    values, unit_of = quantities.stress(recording, system)
    lines = unit_of == "N" and motion.skin is None and len(motion.lines)
    return _shown(motion, values), (lambda i: values(i, motion.lines)) if lines else None, unit_of
