"""Draws docs/images/meshes.png: every shape with its count.

python docs/images/meshes.py
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection

from stiffly import meshes

ROWS, COLUMNS = 4, 5
INK, CLAY, LIGHT = "#24476b", np.array([0.55, 0.70, 0.86]), np.array([0.3, -0.7, 0.65])
WIRE = ("pylon", "tower", "foil", "flagellum")
TALL = ("coil", "pylon", "tower", "foil")
SHAPES = ("rabbit", "biped", "dragon", "hippo", "dog", "cactus")


def solids():
    yield "coil", meshes.coil(1164, across=(3, 4))
    for name in ("dome", "pylon", "tower", "torus", "beam", "sphere", "cube", "bar", "foil"):
        yield name, getattr(meshes, name)()
    yield "flagellum", meshes.flagellum()
    yield "car(6000)", meshes.car(6000)
    for shape in SHAPES:
        yield f"creature: {shape}", meshes.creature(4000, shape=shape)


def draw_wire(axes, segments, width):
    axes.add_collection3d(Line3DCollection(segments, linewidths=width, colors=INK))


def draw_skin(axes, mesh):
    corners = mesh.positions[mesh.triangles]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    shade = 0.55 + 0.45 * np.clip(normal @ LIGHT, -0.6, 1.0)
    colours = np.clip(CLAY * shade[:, None], 0.0, 1.0)
    skin = Poly3DCollection(
        corners, facecolors=colours, edgecolors=(0.1, 0.2, 0.35, 0.6), linewidths=0.12
    )
    axes.add_collection3d(skin)


def frame(axes, points, zoom, view):
    low, high = points.min(axis=0), points.max(axis=0)
    size = np.maximum(high - low, 0.02 * (high - low).max())
    centre = 0.5 * (low + high)
    limits = np.stack([centre - 0.5 * size, centre + 0.5 * size], axis=1)
    axes.set(xlim=limits[0], ylim=limits[1], zlim=limits[2])
    axes.set_box_aspect(size, zoom=zoom)
    axes.set_axis_off()
    axes.view_init(*view)


def cell(figure, index, title):
    """Axes below a strip that holds the title."""
    row, column = divmod(index, COLUMNS)
    left, top = column / COLUMNS, 1.0 - row / ROWS
    figure.text(left + 0.5 / COLUMNS, top - 0.012, title, ha="center", va="top", fontsize=8)
    box = (left, top - 1.0 / ROWS + 0.004, 1.0 / COLUMNS, 1.0 / ROWS - 0.046)
    return figure.add_axes(box, projection="3d")


def main():
    figure = plt.figure(figsize=(12, 11))
    shapes = list(solids())
    for index, (name, mesh) in enumerate(shapes):
        axes = cell(figure, index, f"{name}\n{len(mesh.positions):,} vertices")
        if name in WIRE:
            draw_wire(axes, mesh.positions[mesh.edges], 0.06 if name == "tower" else 0.6)
        else:
            draw_skin(axes, mesh)
        view = (10, -75) if name == "tower" else (18, -55)
        frame(axes, mesh.positions, 0.96 if name in TALL else 1.02, view)
    brush, hair = meshes.brush_roots(), meshes.hair_cap(1500, length=0.04)
    fibers = [("brush_roots", brush), ("hair_cap(1500)", hair)]
    for index, (name, roots) in enumerate(fibers, start=len(shapes)):
        axes = cell(figure, index, f"{name}\n{len(roots.positions):,} fibers")
        tips = roots.positions + roots.lengths[:, None] * roots.directions
        draw_wire(axes, np.stack([roots.positions, tips], axis=1), 0.25)
        frame(axes, np.concatenate([roots.positions, tips]), 1.0, (18, -55))
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


if __name__ == "__main__":
    main()
