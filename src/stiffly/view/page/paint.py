"""What bodies are coloured by: speed or strain, in a few levels of colour.

A mesh of viser that moves has one colour; so every triangle is drawn in the mesh of its level.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...contracts import Array
from ...recording.colors import end_of_scale, scale_of
from ...recording.quantities import elongation

LEVELS = 10
PLAIN, SPEED, STRAIN = "plain", "speed", "strain"
FADE = 0.99  # by which the scale shrinks with every frame, until what is there fills it
ROOM = "0.2em 1.2em 0.4em 0.6em"


def kinds(mesh: Any) -> tuple[str, ...]:
    """What can be seen of a body with that mesh."""
    return (PLAIN, SPEED) if mesh is None or not len(mesh.edges) else (PLAIN, SPEED, STRAIN)


class Paint:
    """kind: SPEED or STRAIN.  colors (LEVELS, 3) uint8; one scale for all lanes, which grows at
    once and shrinks slowly."""

    def __init__(self, kind: str, mesh: Any) -> None:
        self.kind = kind
        table = scale_of(kind, 0.0).table
        self.colors = table[np.linspace(0, 255, LEVELS).round().astype(int)]
        self._strain = elongation(mesh) if kind == STRAIN else None
        self.high = 0.0

    def values(self, lanes: Sequence[Any]) -> list[Array]:
        """(particles,) of each lane [m/s, or relative elongation]; the scale comes to fit them."""
        found = [self._of(lane) for lane in lanes]
        sound = [v for v, lane in zip(found, lanes, strict=True) if lane.failure is None]
        sizes = [end_of_scale(v) for v in sound]
        self.high = max([FADE * self.high, *(size for size in sizes if np.isfinite(size))])
        return found

    def _of(self, lane: Any) -> Array:
        if self._strain is not None:
            return self._strain(lane.positions.astype(np.float64))
        return np.linalg.norm(lane.velocities.astype(np.float64), axis=1)

    def levels(self, values: Array) -> np.ndarray:
        """0 to LEVELS - 1; strain from as much compression to as much stretch."""
        share = values / self.high if self.high > 0.0 else np.zeros_like(values)
        if self.kind == STRAIN:
            share = 0.5 * (share + 1.0)
        rows = LEVELS * np.clip(np.nan_to_num(share), 0.0, 1.0)
        return np.minimum(rows.astype(np.int64), LEVELS - 1)

    def legend(self) -> str:
        """The scale, in words and colours."""
        scale = scale_of(self.kind, self.high)
        high = f"{self.high * scale.factor:.2g} {scale.unit}"
        low = f"-{high}" if scale.signed else "0"
        told = ": blue is compressed, red is stretched" if scale.signed else ""
        what = f"{scale.what}{told}"
        cells = "".join(
            f'<div style="flex:1;height:0.7em;background:rgb({r},{g},{b})"></div>'
            for r, g, b in self.colors.tolist()
        )
        return (
            f'<div style="font-size:0.85em;padding:{ROOM}">{what}<div style="display:flex">{cells}'
            f'</div><div style="display:flex;justify-content:space-between"><span>{low}</span>'
            f"<span>{high}</span></div></div>"
        )
