"""How a body of a scene looks: its particles by name, its colour, its texture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

# that go well together; most are of Okabe, Ito 2008, and read without red-green vision
COLORS: Mapping[str, tuple[int, int, int]] = {
    "blue": (92, 138, 190),
    "orange": (230, 159, 0),
    "green": (0, 158, 115),
    "sky": (86, 180, 233),
    "red": (213, 94, 0),
    "purple": (204, 121, 167),
    "yellow": (240, 228, 66),
    "white": (245, 245, 245),
    "grey": (150, 150, 150),
    "black": (40, 40, 40),
}
SHINE = 0.2  # where nothing is said
IN_TURN = ("blue", "orange", "green", "purple", "sky", "red", "yellow")  # where none is given


class Look(NamedTuple):
    """One body among those of a mesh.

    particles (k,): its vertices; color (red, green, blue), 0 to 1; texture: the path of a picture,
    which the mesh's `uv` spread over it; shine: from 0, chalk, to 1, polished metal.
    """

    particles: np.ndarray
    color: tuple[float, float, float]
    texture: str = ""
    shine: float = SHINE


def as_color(given: Any, turn: int) -> tuple[float, float, float]:
    """A colour by name or as three numbers from 0 to 1; None: the one whose turn it is."""
    if given is None:
        given = IN_TURN[turn % len(IN_TURN)]
    if isinstance(given, str):
        red, green, blue = COLORS[given]
        return red / 255.0, green / 255.0, blue / 255.0
    red, green, blue = map(float, given)
    return red, green, blue


PLAIN = as_color(None, 0)  # of what belongs to no body that has a look


def owners(bodies: Mapping[str, Look], count: int) -> np.ndarray:
    """Which body each of so many particles belongs to, by number (count,), or -1."""
    found = np.full(count, -1)
    for number, look in enumerate(bodies.values()):
        found[look.particles] = number
    return found
