"""A shaded picture of a body at one moment, drawn by matplotlib alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...contracts import Array
from .style import new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def picture(
    shape: Any,
    path: str | Path | None = None,
    *,
    positions: Array | None = None,
    triangles: np.ndarray | None = None,
    edges: np.ndarray | None = None,
    values: Array | None = None,
    label: str = "displacement [m]",
    ghost: bool = True,
    title: str = "",
    caption: str = "",
    view: tuple[float, float] = (14.0, -60.0),
) -> Figure:
    """A shaded picture of a body, coloured by `values`, with its start shape as a grey ghost.

    shape: a mesh (positions, triangles, edges), or start positions (N, 3).
    positions: (N, 3) where the body is now; default: the start.  triangles (s, 3) of the surface,
    or, for ropes and trusses, edges (m, 2); default: the mesh's own, its skin if it has one.
    values: (N,); default: the distance from the start.
    view: elevation and azimuth of the camera [degrees].
    """
    start = np.asarray(getattr(shape, "positions", shape), dtype=np.float64)
    now = start if positions is None else np.asarray(positions, dtype=np.float64)
    faces = getattr(shape, "triangles", ()) if triangles is None else triangles
    lines = getattr(shape, "edges", ()) if edges is None else edges
    shown = np.linalg.norm(now - start, axis=1) if values is None else np.asarray(values)
    skin = getattr(shape, "skin", None)
    if skin is not None and triangles is None and edges is None:
        start, now, faces = skin.values(start), skin.values(now), skin.triangles
        shown = skin.values(shown[:, None])[:, 0]
    figure = new_figure(7.0, 7.0)
    axis = figure.add_subplot(projection="3d", proj_type="ortho")
    axis.computed_zorder = False  # what is drawn later lies in front
    axis.set_axis_off()
    axis.view_init(*view)
    others = [start] if ghost and positions is not None else []
    colors = _color_scale(figure, axis, shown, label)
    rows = np.asarray(faces if len(faces) else lines)
    draw = _draw_triangles if len(faces) else _draw_edges
    if len(rows):
        for other in others:  # drawn first, so that the body hides it where they meet
            draw(axis, other[rows], None, view)
        draw(axis, now[rows], colors.to_rgba(shown[rows].mean(axis=1)), view)
    _fit(axis, [now, *others])
    figure.suptitle(title, fontsize=13)
    figure.text(0.5, 0.015, caption, ha="center", fontsize=10, color="#444444")
    return save_figure(figure, path)


def _color_scale(figure: Figure, axis: Any, values: Array, label: str) -> Any:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    high = float(np.max(values, initial=0.0))
    scale = ScalarMappable(Normalize(min(0.0, float(np.min(values))), high or 1.0), "viridis")
    if high > 0.0:
        bar = figure.colorbar(scale, ax=axis, shrink=0.6, pad=0.02, aspect=28)
        bar.set_label(label)
        bar.outline.set_visible(False)
    return scale


def _draw_triangles(axis: Any, corners: Array, rgba: Any, view: tuple[float, float]) -> None:
    """Shaded (s, 3, 3), in colours (s, 4); None: as a ghost."""
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    if rgba is None:
        rgba = np.tile([0.93, 0.94, 0.95, 1.0], (len(corners), 1))
    normals, light = _normals(corners), _direction((view[0] + 40.0, view[1] - 50.0))
    front = normals @ _direction(view) > 0.0  # the back of a closed surface is never seen
    rgba[:, :3] *= 0.55 + 0.45 * np.clip(normals @ light, 0.0, 1.0)[:, None]
    collection = Poly3DCollection(corners[front], facecolors=rgba[front], edgecolor="none")
    collection.set_antialiased(False)  # antialiased neighbours leave a hairline between them
    axis.add_collection3d(collection)


def _draw_edges(axis: Any, ends: Array, rgba: Any, _: Any) -> None:
    """(m, 2, 3), in colours (m, 4); None: as a ghost."""
    from mpl_toolkits.mplot3d.art3d import Line3DCollection

    colors, width = ("#c9ccd1", 0.8) if rgba is None else (rgba, 1.6)
    axis.add_collection3d(Line3DCollection(ends, colors=colors, linewidths=width))


def _direction(view: tuple[float, float]) -> Array:
    """Unit vector from the body towards a camera at that elevation and azimuth [degrees]."""
    up, around = np.radians(view)
    return np.array([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)])


def _normals(corners: Array) -> Array:
    """Outward unit normals (s, 3) of triangles (s, 3, 3)."""
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)


def _fit(axis: Any, shapes: Sequence[Array]) -> None:
    """Equal scale on all axes, the body as large as it can be."""
    points = np.concatenate(shapes)
    low, high = points.min(axis=0), points.max(axis=0)
    size = np.maximum(high - low, 1e-3 * max(float((high - low).max()), 1e-300))
    limits = zip("xyz", low, low + size, strict=True)
    axis.set(**{f"{name}lim": (a, b) for name, a, b in limits})
    axis.set_box_aspect(size, zoom=1.25)
