"""NumPy's .npz, for people with scripts: `np.load("run.npz")["positions"]`.

times (frames,) [s], positions (frames, N, 3) [m], velocities [m/s] where recorded
rest (N, 3), edges, tets, triangles where there is a mesh; mass (N,) [kg] where known
skin_corners (n, 4), skin_weights (n, 4), skin_triangles where a surface is embedded in tets: its
vertices are np.einsum("ij,fijk->fik", skin_weights, positions[:, skin_corners])
field_NAME (frames, N) where asked for
energy_NAME [J] for every line of the ledger; diagnostics_NAME for what steps noted
integrator, name, step [s]
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .frames import Fields, Progress

ENDINGS = (".npz",)
SKIN = ("corners", "weights", "triangles")
SERIES = ("positions", "velocities")  # written frame by frame: they may not fit into memory


def write(recording: Any, path: Path, progress: Progress, fields: Fields) -> None:
    count = len(recording.times)
    kept = {name: getattr(recording, name, None) for name in SERIES}
    kept = {n: a for n, a in kept.items() if a is not None and len(a) >= count}
    kept |= {f"field_{name}": _Rows(values) for name, values in fields.items()}
    total = count * len(kept)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, array in _arrays(recording):
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.asarray(array))
        done = 0
        for name, series in kept.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                for row in _stream(file, series, count):
                    file.write(row)
                    done += 1
                    progress(done, total)


class _Rows:
    """Values by frame, to be indexed as an array is."""

    def __init__(self, values: Any) -> None:
        self._values = values

    def __getitem__(self, i: int) -> Any:
        return self._values(i)


def _stream(file: Any, series: Any, count: int) -> Iterator[bytes]:
    """The header of an .npy file at once, then one frame after the other."""
    first = np.asarray(series[0])
    header = {
        "descr": np.lib.format.dtype_to_descr(first.dtype),
        "fortran_order": False,
        "shape": (count, *first.shape),
    }
    np.lib.format.write_array_header_2_0(file, header)
    for i in range(count):
        yield np.ascontiguousarray(series[i]).tobytes()


def _arrays(recording: Any) -> Iterator[tuple[str, Any]]:
    yield "times", recording.times
    for key in ("name", "integrator"):
        yield key, str(getattr(recording, key, ""))
    step = getattr(recording, "step", None)
    yield "step", np.nan if step is None else step
    mesh = getattr(recording, "mesh", None)
    if mesh is not None:
        yield "rest", mesh.positions
        yield from ((kind, getattr(mesh, kind)) for kind in ("edges", "tets", "triangles"))
        if getattr(mesh, "skin", None) is not None:
            yield from ((f"skin_{k}", getattr(mesh.skin, k)) for k in SKIN)
    mass = getattr(recording, "mass", None)
    if mass is not None:
        yield "mass", mass
    energy = recording.energy
    yield from ((f"energy_{part}", series) for part, series in energy.parts.items())
    for line in ("total", "added", "dissipated", "numerical"):
        yield f"energy_{line}", getattr(energy, line)
    for note, series in getattr(recording, "diagnostics", {}).items():
        yield f"diagnostics_{note}", series
