"""VTKHDF, for ParaView: one file with all frames that are there, surface and lines only.

A recording is itself such a file, laid out for writing and with the body's inside; this one is
smaller, compressed, and needs nothing beside it.  Positions and velocities keep the precision they
were recorded in.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..layout import LINE, TRIANGLE, VERTEX, add_bodies, add_cells, add_offsets, add_type
from .frames import Fields, Motion, Progress, motion

ENDINGS = (".vtkhdf", ".hdf")
COMPRESSED = {"compression": "gzip", "compression_opts": 1, "shuffle": True}


def write(recording: Any, path: Path, progress: Progress, fields: Fields) -> None:
    import h5py

    shown = motion(recording)
    count, points = len(shown), len(shown.rest)
    kinds = [(TRIANGLE, shown.triangles), (LINE, shown.lines), (VERTEX, shown.dots[:, None])]
    with h5py.File(path, "w") as file:
        vtk = file.create_group("VTKHDF")
        add_type(vtk)
        add_cells(vtk, points, kinds)
        if shown.owner is not None:
            add_bodies(vtk, kinds, list(shown.looks), shown.owner)
        steps = vtk.create_group("Steps")
        steps.attrs["NSteps"] = count
        steps["Values"] = np.asarray(shown.times, dtype=np.float64)
        velocity = [] if shown.velocities is None else ["velocity"]
        add_offsets(steps, count, points, [*velocity, *fields], shown.looks)
        _add_frames(vtk, shown, progress, fields)


def _add_frames(vtk: Any, shown: Motion, progress: Progress, fields: Fields) -> None:
    count, particles = len(shown), len(shown.rest)
    shape, chunks = (count * particles, 3), (particles, 3)
    kind = shown.positions.dtype
    points = vtk.create_dataset("Points", shape, kind, chunks=chunks, **COMPRESSED)
    data, velocity = vtk.create_group("PointData"), None
    if shown.velocities is not None:
        velocity = data.create_dataset("velocity", shape, kind, chunks=chunks, **COMPRESSED)
    for name in fields:
        data.create_dataset(name, shape[:1], kind, chunks=chunks[:1], **COMPRESSED)
    for i in range(count):
        here = slice(i * particles, (i + 1) * particles)
        points[here] = shown.frame(i)
        if velocity is not None:
            velocity[here] = shown.velocity(i)
        for name, values in fields.items():
            data[name][here] = shown.shown(values(i)[:, None])[:, 0]
        progress(i + 1, count)
