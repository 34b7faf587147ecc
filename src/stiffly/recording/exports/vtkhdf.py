"""VTKHDF, for ParaView: one file with all frames that are there, surface and lines only.

A recording is itself such a file, laid out for writing and with the body's inside; this one is
smaller, compressed, and needs nothing beside it.  Positions and velocities keep the precision they
were recorded in.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .frames import Motion, motion

ENDINGS = (".vtkhdf", ".hdf")
VERTEX, LINE, TRIANGLE = 1, 3, 5  # VTK's numbers
COMPRESSED = {"compression": "gzip", "compression_opts": 1, "shuffle": True}


def write(recording: Any, path: Path, progress: Callable[[int, int], None] | None) -> None:
    import h5py

    shown = motion(recording)
    with h5py.File(path, "w") as file:
        vtk = file.create_group("VTKHDF")
        vtk.attrs.create("Version", np.array([2, 0]))
        kind = b"UnstructuredGrid"
        vtk.attrs.create("Type", kind, dtype=h5py.string_dtype("ascii", len(kind)))
        _add_cells(vtk, shown)
        _add_steps(vtk, shown)
        _add_frames(vtk, shown, progress)


def _add_cells(vtk: Any, shown: Motion) -> None:
    """Written once: every step begins at the same cells."""
    kinds = [(TRIANGLE, shown.triangles), (LINE, shown.lines)]
    if shown.only_points:
        kinds = [(VERTEX, np.arange(len(shown.rest))[:, None])]
    corners = np.concatenate([np.full(len(rows), rows.shape[1]) for _, rows in kinds])
    vtk["NumberOfPoints"] = np.array([len(shown.rest)])
    vtk["NumberOfCells"] = np.array([len(corners)])
    vtk["NumberOfConnectivityIds"] = np.array([corners.sum()])
    vtk["Types"] = np.concatenate([np.full(len(rows), k, dtype=np.uint8) for k, rows in kinds])
    vtk["Connectivity"] = np.concatenate([rows.ravel() for _, rows in kinds]).astype(np.int64)
    vtk["Offsets"] = np.concatenate([[0], np.cumsum(corners)]).astype(np.int64)


def _add_steps(vtk: Any, shown: Motion) -> None:
    count = len(shown)
    first, none = np.arange(count) * len(shown.rest), np.zeros(count, dtype=np.int64)
    steps = vtk.create_group("Steps")
    steps.attrs["NSteps"] = count
    steps["Values"] = np.asarray(shown.times, dtype=np.float64)
    steps["PartOffsets"], steps["NumberOfParts"] = none, none + 1
    steps["PointOffsets"] = first
    steps["CellOffsets"], steps["ConnectivityIdOffsets"] = none[:, None], none[:, None]
    if shown.velocities is not None:
        steps.create_group("PointDataOffsets")["velocity"] = first


def _add_frames(vtk: Any, shown: Motion, progress: Any) -> None:
    count, particles = len(shown), len(shown.rest)
    shape, chunks = (count * particles, 3), (particles, 3)
    kind = shown.positions.dtype
    points = vtk.create_dataset("Points", shape, kind, chunks=chunks, **COMPRESSED)
    fields, velocity = vtk.create_group("PointData"), None
    if shown.velocities is not None:
        velocity = fields.create_dataset("velocity", shape, kind, chunks=chunks, **COMPRESSED)
    for i in range(count):
        here = slice(i * particles, (i + 1) * particles)
        points[here] = shown.frame(i)
        if velocity is not None:
            velocity[here] = shown.velocity(i)
        if progress is not None:
            progress(i + 1, count)
