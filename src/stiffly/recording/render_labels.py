"""The words of a picture and the scale of its colours, drawn onto the pixels in the letters of the
plots."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .colors import Coloring

INK, GREY, PALE = (34, 34, 34), (110, 110, 110), (150, 150, 150)
EDGE = 0.9  # of a letter: free at the sides of a picture
RIM = 2  # pixels at a picture's edge that no letter touches
LEAST = 8  # pixels: smaller letters are not read
BAR = 7.5  # width that the colour bar takes, in letters


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
    left, page = EDGE * height, picture.size
    top, bottom = left, picture.height - left
    _write(draw, page, (left, top), words.title, height, INK, "la")
    below = top + (1.4 * height if words.title else 0.0)
    _write(draw, page, (left, below), words.under, 0.8 * height, GREY, "la")
    _write(draw, page, (left, bottom), words.corner, height, INK, "ls")
    beside = left + draw.textlength(words.corner, font=_font(height)) + height
    _write(draw, page, (beside, bottom), words.note, 0.8 * height, GREY, "ls")
    return np.asarray(picture)


def _write(
    draw: Any,
    page: tuple[int, int],
    at: tuple[float, float],
    text: str,
    size: float,
    color: Any,
    anchor: str,
) -> None:
    """A line of letters of that size [pixels] that stays within the page (width, height): smaller
    where the room is narrow, and cut with three dots where it is too narrow for any."""
    room = page[0] - at[0] if anchor[0] == "l" else at[0]
    room -= RIM

    def wide(shown: str, high: int) -> float:
        return float(draw.textlength(shown, font=_font(high)))

    high = max(LEAST, int(size * min(1.0, max(room, 1.0) / max(wide(text, round(size)), 1.0))))
    while high > LEAST and wide(text, high) > room:
        high -= 1  # letters do not shrink evenly
    if wide(text, high) > room:
        kept = len(text)
        while kept and wide(f"{text[:kept]}…", high) > room:
            kept -= 1
        text = f"{text[:kept]}…" if kept else ""
    draw.text(at, text, fill=color, font=_font(high), anchor=anchor)


def draw_bar(pixels: np.ndarray, coloring: Coloring) -> np.ndarray:
    """A colour bar at the right side of a picture, with round numbers beside it."""
    from matplotlib.ticker import MaxNLocator
    from PIL import Image, ImageDraw

    picture = Image.fromarray(pixels)
    draw = ImageDraw.Draw(picture)
    height = letters(picture.size)
    small, page = 0.85 * height, picture.size
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
            _write(draw, page, (left + 1.7 * thick, y), text, small, INK, "lm")
    end = picture.width - EDGE * height, top - EDGE * height
    _write(draw, page, end, coloring.label, small, INK, "rs")
    return np.asarray(picture)


def join(panels: list[np.ndarray], free: int) -> np.ndarray:
    """Pictures next to each other, faint lines in between, and `free` white pixels at the right."""
    pieces = [panels[0]]
    for panel in panels[1:]:
        pieces += [np.full_like(panel[:, :1], 215), panel[:, 1:]]
    return np.concatenate([*pieces, np.full_like(panels[0][:, :1], 255).repeat(free, 1)], axis=1)
