"""A run on disk, read back: also while another process is still writing it."""

from __future__ import annotations

import json
import warnings
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..contracts import Array, Work
from ..errors import InputError, StiffWarning
from ..paths import real_path
from .folder import RECORDING, SUMMARY
from .frames import Frames, Source
from .layout import SPARE, find, named, open_file, read_colliders, read_mesh
from .run import EnergyHistory, Run
from .sums import read_regular, text_sum


def read_summary(folder: Path) -> dict[str, Any] | None:
    """None where there is none; InputError where it is damaged."""
    try:
        told: Any = json.loads(read_regular(folder / SUMMARY))
        expected = told.pop("checksum", None)
        if not isinstance(told["complete"], bool) or not isinstance(told["stats"], dict):
            raise TypeError
    except FileNotFoundError:
        return None
    except (AttributeError, KeyError, TypeError, RecursionError, ValueError) as problem:
        if isinstance(problem, InputError):
            raise
        told, expected = {}, 0
    if expected is not None and expected != text_sum(told):  # older ones have none
        raise InputError(f"{folder / SUMMARY} is damaged, and not read")
    return told


def _last_said(rows: Array) -> Array:
    """(frames,): the last column in which a frame, or one before it, has a number."""
    said = ~np.isnan(rows)
    last = said.shape[1] - 1 - np.argmax(said[:, ::-1], axis=1)
    return np.maximum.accumulate(last)


class Recording(Run):
    """The run in a folder: everything that a `Run` has, with frames read from the disk.

    times (frames,) [s]; positions, velocities (frames, N, 3), or (frames, n) for SecondOrder:
    read-only arrays whose frames are loaded, and checked, when they are looked at; velocities None
    where they were not kept.  diagnostics: (frames,) arrays by name, NaN where there was nothing to
    say: t, steps, force_evaluations and other counts so far; over the steps since the frame before
    largest_step, smallest_step [s], the mean alpha, and of other numbers the largest in size.
    name of the scene; mesh: its shape at rest; mass (N,) [kg], zero for what is fixed, None where
    it is not known by particle; provenance: how it was made; planned (of_frames,) [s]: times of all
    frames, also of those to come; complete: it reached its end; failure: why it did not.
    It shows what was there when it was opened: open a running one again to see more.
    What is damaged is an InputError that names it; where the ledger of a frame is, the recording
    ends before that frame, with a warning.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = real_path("folder", folder)
        self.failure: str | None = None
        with open_file(self.folder / RECORDING) as file:
            self._read(file)
        self._read_summary()

    def _read(self, file: Any) -> None:
        own, vtk = file["stiffly"], file["VTKHDF"]
        self.provenance: dict[str, Any] = json.loads(own["provenance"][()])
        self.integrator: str = self.provenance["integrator"]
        self.step: float | None = self.provenance["step"]
        self.name: str = self.provenance.get("scene") or self.folder.absolute().name
        self.planned: Array = own["times"][()]
        self.of_frames = len(self.planned)
        run, places = str(self.provenance.get("run")), find(file)
        source = self._source = Source(self.folder / RECORDING, places, run, "sums" in own)
        self.counted = source.frames(self.of_frames)
        # after the counter, before the rows: their names are there by then
        self._columns = [bytes(name) for name in own["columns"][()]]
        rows = self._read_rows()
        frames = len(rows)
        self.times: Array = self.planned[:frames]
        self._said = _last_said(rows)
        names = [name.decode() for name in self.columns(frames)]
        self._read_table({name: np.array(rows[:, k]) for k, name in enumerate(names)})
        self.mesh = read_mesh(own["mesh"]) if "mesh" in own else None
        self.mass: Array | None = own["mass"][()] if "mass" in own else None
        flat, kind = bool(own.attrs["coordinates"]), vtk["Points"].dtype
        shape = (frames, int(vtk["NumberOfPoints"][0]), 3)
        self.positions: Any = Frames(source, "points", shape, kind, flat)
        kept = "velocity" in places.pieces
        self.velocities: Any = Frames(source, "velocity", shape, kind, flat) if kept else None
        self.fields: dict[str, Any] = {
            name: Frames(source, f"field {name}", (frames, data.size // self.of_frames), data.dtype)
            for name, data in named(own.get("fields", {})).items()
        }

    def _read_rows(self) -> Array:
        """(frames, columns) of the table, as far as it is whole."""
        rows: list[Array] = []
        for k in range(self.counted):
            data = self._source.piece("row", k, self._columns)
            if data is None:
                self.failure = f"frame {k} of {self.counted} is damaged"
                warnings.warn(
                    f"{self.folder}: {self.failure}, this is what was recorded before it; "
                    f"`stiffly check {self.folder}` says what else is whole",
                    StiffWarning,
                    stacklevel=5,
                )
                break
            rows.append(np.frombuffer(data))
        if not self.counted:
            raise InputError(
                f"{self.folder} holds no frame yet: its run has just begun, or ended before its "
                "first frame; look again later, or run it again"
            )
        if not rows:
            raise self._source.damaged(0)
        return np.array(rows)

    def columns(self, frames: int) -> list[bytes]:
        """Names of the table's columns, as far as the first so many frames say something there:
        no sum knows what stands behind them."""
        known = len(self._columns) - SPARE
        return self._columns[: max(known, int(self._said[frames - 1]) + 1)]

    def damaged(self, frames: int | None = None) -> list[int]:
        """Numbers of the frames that are not as they were written; of the first so many."""
        count = self.counted if frames is None else frames
        return [k for k in range(count) if not self._source.whole(k, self._columns)]

    def shown_well(self) -> bool:
        """What ParaView is told is a number of frames, and one only."""
        return self._source.published() in range(1, self.of_frames + 1)

    @property
    def checked(self) -> bool:
        """Frames carry checksums; older recordings have none."""
        return self._source.sums

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
            told = read_summary(self.folder)
        except InputError as problem:
            warnings.warn(str(problem), StiffWarning, stacklevel=4)
            return
        if told is not None:  # else still running, or killed
            self.failure = self.failure or told.get("failure")
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
