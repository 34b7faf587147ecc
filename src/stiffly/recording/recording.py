"""A run on disk, read back: also while another process is still writing it."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import real_path
from ..contracts import Array, Work
from .folder import RECORDING, SUMMARY
from .layout import find, open_file, read_colliders, read_mesh
from .run import EnergyHistory, Run


class Recording(Run):
    """The run in a folder: everything that a `Run` has, with frames read from the disk.

    times (frames,) [s]; positions, velocities (frames, N, 3), or (frames, n) for SecondOrder:
    read-only arrays whose frames are loaded when they are looked at; velocities None where they
    were not kept.  diagnostics: (frames,) arrays by name, NaN where there was nothing to say: t,
    steps, force_evaluations and other counts so far, and over the steps since the frame before
    largest_step, smallest_step [s], the mean alpha, and of other numbers the largest in size.
    name of the scene; mesh: its shape at rest; mass (N,) [kg], zero for what is fixed, None where
    it is not known by particle; provenance: how it was made; planned (of_frames,) [s]: times of all
    frames, also of those to come; complete: it reached its end; failure: why it did not.
    It shows what was there when it was opened: open a running one again to see more.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = real_path("folder", folder)
        with open_file(self.folder / RECORDING) as file:
            self._read(file)
        self.failure: str | None = None
        self._read_summary()

    def _read(self, file: Any) -> None:
        own, vtk = file["stiffly"], file["VTKHDF"]
        frames = int(own["frames"][()])
        self.provenance: dict[str, Any] = json.loads(own["provenance"][()])
        self.integrator: str = self.provenance["integrator"]
        self.step: float | None = self.provenance["step"]
        self.name: str = self.provenance.get("scene") or self.folder.absolute().name
        self.planned: Array = own["times"][()]
        self.of_frames = len(self.planned)
        self.times: Array = self.planned[:frames]
        names = [name.decode() for name in own["columns"][()]]
        rows = own["table"][:frames]
        table = {name: np.array(rows[:, k]) for k, name in enumerate(names) if name}
        self._read_table(table)
        self.mesh = read_mesh(own["mesh"]) if "mesh" in own else None
        self.mass: Array | None = own["mass"][()] if "mass" in own else None
        flat, places = bool(own.attrs["coordinates"]), find(file)
        shape = (frames, int(vtk["NumberOfPoints"][0]), 3)
        kind = vtk["Points"].dtype

        def frames_at(place: int) -> Array:
            path = self.folder / RECORDING
            points = np.memmap(path, kind, "r", offset=place, shape=shape)
            return points[:, :, 1] if flat else points

        self.positions: Array = frames_at(places.points)
        self.velocities: Any = None if places.velocity is None else frames_at(places.velocity)
        self.fields: dict[str, Array] = {
            name: np.memmap(
                self.folder / RECORDING,
                data.dtype,
                "r",
                data.id.get_offset(),
                (frames, data.shape[1]),
            )
            for name, data in own.get("fields", {}).items()
        }

    def _read_table(self, table: dict[str, Array]) -> None:
        prefix = "energy "
        parts = {n.removeprefix(prefix): table.pop(n) for n in list(table) if n.startswith(prefix)}
        invented = table.pop("invented", np.zeros(len(self.times)))  # older recordings have none
        added, dissipated = table.pop("added"), table.pop("dissipated")
        self.energy = EnergyHistory(self.times, parts, added, dissipated, invented)
        self.wall_seconds = float(table.pop("wall_seconds")[-1])
        counts = {name: table[name].astype(np.int64) for name in ("steps", *Work._fields)}
        self.diagnostics: dict[str, Array] = {"t": self.times, **table, **counts}
        self.stats: dict[str, Any] = {name: int(count[-1]) for name, count in counts.items()}
        if self.stats["steps"]:
            self.stats["smallest_step"] = float(np.nanmin(table["smallest_step"]))
            self.stats["largest_step"] = float(np.nanmax(table["largest_step"]))

    def _read_summary(self) -> None:
        """What is told once, at the end."""
        try:
            told = json.loads((self.folder / SUMMARY).read_text())
        except (OSError, ValueError):  # still running, killed, or spoilt
            return
        self.failure = told.get("failure")
        self.stats = {**told.get("stats", {}), **self.stats}

    @cached_property
    def colliders(self) -> tuple[Any, ...]:
        """What the body touched, where it is of a kind that stiffly has."""
        with open_file(self.folder / RECORDING) as file:
            group = file["stiffly"].get("colliders", {})
            return read_colliders(group, file["stiffly/times"][()])

    @property
    def complete(self) -> bool:
        return len(self) == self.of_frames and self.failure is None

    def __len__(self) -> int:
        """Frames recorded."""
        return len(self.times)

    def _facts(self) -> str:
        state = "" if self.complete else f" of {self.of_frames}, {self.failure or 'not complete'}"
        return f"{self.name} in {self.folder}{state}: {super()._facts()}"

    def summary(self) -> dict[str, Any]:
        """What summary.json holds."""
        return {
            "scene": self.name,
            "variant": self.provenance.get("variant"),
            **super().summary(),
            "note": self.provenance.get("note", ""),
            "frames": len(self),
            "complete": self.complete,
            "failure": self.failure,
            "versions": self.provenance["versions"],
            "seed": self.provenance.get("seed"),
        }
