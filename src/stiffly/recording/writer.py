"""Streams a run into its folder: frames as bytes at known places, checkpoints, the summary."""

from __future__ import annotations

import errno
import json
import os
import struct
import time
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from ..arrays import real_number
from ..contracts import Array
from ..errors import InputError, NotRecorded, StiffWarning
from . import checkpoint, folder
from .checkpoint import NotPlain
from .drawn import Drawn
from .frames import row_sum
from .layout import (
    NAME,
    Places,
    Plan,
    counter,
    create,
    describe_colliders,
    extend,
    find,
    open_file,
)
from .provenance import as_json, provenance, write_atomic, write_json
from .recording import Recording
from .sinks import Frame, Interrupt, Progressing
from .sums import BINARY, piece_sum, renamed, text_sum, write_at
from .words import DTYPES

_to_disk = getattr(os, "fdatasync", os.fsync)  # which macOS and Windows do not have
SHARE = 0.02  # of the time may go into checkpoints, unless one is asked for after every frame
PUBLISH = 10.0  # seconds between two updates for ParaView, see layout.py
AT_ONCE = 1 << 20  # bytes of a frame: fewer are written sooner than another thread begins
STOPS = {  # what the system says to a file that it lets grow no more, and what helps
    errno.ENOSPC: ("the disk is full", "make room"),
    errno.EDQUOT: ("the disk quota is used up", "make room, or ask for a larger one"),
    errno.EFBIG: ("no file may grow beyond this size", "raise the limit (ulimit -f)"),
}
# bytes after which the disk begins with them: else all of it would wait for the end
FLUSH = 1 << 28
PIECES = 3  # of a frame that are written side by side: points, velocities and what is short


@dataclass(frozen=True)
class Options:
    """How to record: see `simulate`."""

    place: folder.Place
    dtype: str
    velocities: bool
    checkpoint: float
    provenance: Mapping[str, Any]

    @staticmethod
    def checked(
        out: Any,
        force: bool,
        dtype: str,
        velocities: bool,
        checkpoint: Any,
        given: Mapping[str, Any] | None,
    ) -> Options:
        if dtype not in DTYPES:
            raise InputError(f"dtype {dtype!r}: positions are recorded as float32 or float64")
        seconds = real_number("checkpoint", checkpoint, "give seconds, or 0 for every frame")
        if not (given is None or isinstance(given, Mapping)):
            raise InputError(
                f"provenance must be a mapping, got {type(given).__name__}: give a dict of texts"
            )
        if not seconds >= 0.0:
            raise InputError(
                f"checkpoint = {checkpoint!r}: give the seconds between two, or 0 for every frame"
            )
        return Options(
            folder.check(out, force), dtype, bool(velocities), seconds, dict(given or {})
        )


class Writer:
    """A sink (see sinks.py) that writes; made by `new` or `again`."""

    def __init__(self, where: Path, seconds: float, interrupt: Interrupt) -> None:
        self.folder, self._every, self._interrupt = where, seconds, interrupt
        # place, plan without the names of energies, scene.toml: until the first frame is there
        self._begins: tuple[folder.Place, Plan, str | None] | None = None
        self._file: int | None = None
        self._lock: folder.Lock | None = None
        self._saving = True
        self._framed = False
        self._due = self._published = 0.0
        self._visible, self._side, self._there = 0, 0, 0
        # the frame that is being written: when it was [s], and what counts it once it is there
        self._pending: tuple[float, Callable[[], None]] | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._unflushed = 0  # bytes
        self._flush: Future[None] | None = None  # brings those before to the disk
        self.single = False  # frames are rounded
        self.waited = 0.0  # [s], for frames that were not there yet

    @classmethod
    def new(
        cls,
        options: Options,
        shape: tuple[int, ...],
        times: Array,
        scene: Any,
        shown: Drawn,
        run: Mapping[str, Any],
        mass: Array | None,
        interrupt: Interrupt,
    ) -> Writer:
        """For a run that begins, with frames of that shape at times (F,) [s]; nothing is written
        before its first frame.

        scene: a Scene or None; shown: what is seen of it; run: what was asked; mass (N,) [kg],
        where there is one for every particle.
        """
        mesh = shown.mesh
        if mesh is not None and mesh.positions.shape != shape:
            raise InputError(
                f"the mesh of {scene.name} has {len(mesh.positions)} vertices for {shape[0]} "
                "particles: give the scene a mesh with one vertex each, or none"
            )
        parameters = getattr(scene, "parameters", {})
        known = {
            "scene": getattr(scene, "name", None),
            "parameters": parameters,
            "adjust": getattr(scene, "adjust", {}),
            "variant": getattr(scene, "variant", None),
            "note": getattr(scene, "note", ""),
            "source": getattr(scene, "source", None),
            "seed": parameters.get("seed"),
            **run,
            "dtype": options.dtype,
            "keep_velocities": options.velocities,
        }
        origin = {**provenance(options.provenance, **known), "run": uuid4().hex}
        text = json.dumps(origin)
        shapes = describe_colliders(shown.colliders, times)
        contents = {"provenance": np.bytes_(text), **shapes}
        if mass is not None:
            contents["mass"] = mass
        plan = Plan(times, shape, options.dtype, options.velocities, (), mesh, contents)
        folder.check_space(options.place.folder, plan)
        writer = cls(options.place.folder, options.checkpoint, interrupt)
        writer.single = options.dtype == "float32"
        text = options.provenance.get("toml", getattr(scene, "text", None))
        writer._begins = options.place, plan, text
        return writer

    @classmethod
    def again(
        cls,
        found: Recording,
        seconds: float,
        frames: int,
        interrupt: Interrupt,
        plan: Plan | None = None,
    ) -> Writer:
        """For a run that goes on after so many frames; later ones are forgotten.  plan: of the
        recording that it is to become, where there are to be more than it has room for.  Who calls
        has locked the folder, before it was read."""
        where = found.folder
        writer = cls(where, seconds, interrupt)
        if plan is not None:
            folder.check_space(where, plan, replaces=False)  # both are there for a while
            extend(where / folder.RECORDING, plan, frames, str(found.provenance.get("run")))
        (where / folder.SUMMARY).unlink(missing_ok=True)
        writer._open(where / folder.RECORDING)
        writer._count(frames)
        writer._forget_columns(found.columns(frames))
        writer._publish(frames)
        writer._due = time.perf_counter() + writer._every
        return writer

    # ------------------------------------------------------------------ the sink

    def frame(self, frame: Frame) -> None:
        """Large ones are written while the run goes on; the last one has to be there."""
        self._framed = True
        if self._begins is not None:
            self._begin(*self._begins, frame)
            return
        self._settle()
        large = sum(size for _, size in self._places.pieces.values()) >= AT_ONCE
        if large and self._pool is None:
            self._pool = ThreadPoolExecutor(PIECES + 1, thread_name_prefix="recording")
        try:
            self._pending = frame.t, self._write_frame(frame, large)
        except OSError as problem:
            raise self._failure(problem, frame.t) from problem
        if not large:
            self._settle()

    def _settle(self) -> None:
        """The frame that is being written is there, or why not."""
        if self._pending is not None:
            (t, count), self._pending = self._pending, None
            began = time.perf_counter()
            try:
                count()
                self._flush_beside()
            except OSError as problem:
                raise self._failure(problem, t) from problem
            self.waited += time.perf_counter() - began

    def _flush_beside(self) -> None:
        """Frames go to the disk while others are computed; what it refuses is told then."""
        if self._pool is None or self._file is None:
            return
        self._unflushed += sum(size for _, size in self._places.pieces.values())
        if self._flush is not None and self._flush.done():
            self._flushed()
        if self._unflushed >= FLUSH and self._flush is None:
            self._unflushed = 0
            self._flush = self._pool.submit(_to_disk, self._file)

    def _flushed(self) -> None:
        """Nobody else is told of what went wrong there: not even whoever flushes next."""
        if self._flush is not None:
            flush, self._flush = self._flush, None
            flush.result()

    def due(self) -> tuple[bool, bool]:
        """Whether a checkpoint is to be written now, and whether the run is to stop."""
        stop = self._interrupt.due
        due = self._framed if self._every == 0.0 else time.perf_counter() >= self._due
        return self._saving and (stop or due), stop

    def between(self, loop: Progressing) -> None:
        self.save(loop, *self.due())

    def save(self, loop: Progressing, save: bool, stop: bool) -> None:
        """Between two steps, as `due` says."""
        assert self._file is not None
        now = time.perf_counter()
        publish = self._visible != loop.recorded and now - self._published > PUBLISH
        if publish or save or stop:
            self._settle()
        try:
            if self._visible != loop.recorded and now - self._published > PUBLISH:
                with folder.unread(self._file) as alone:
                    if alone:
                        self._publish(loop.recorded)
            if save:
                self._save(loop)
        except OSError as problem:
            raise self._failure(problem, loop.state.t) from problem
        self._framed = False
        if stop:
            raise self._interrupt.stop(self.folder, loop.state.t, self._saving)

    def result(self, loop: Progressing, failure: BaseException | None = None) -> Recording | None:
        """Closes the file and writes the summary; None where no frame was ever recorded."""
        try:
            return None if self._begins is not None else self._end(loop, failure)
        finally:
            if self._pool is not None:
                self._pool.shutdown()
            if self._lock is not None:
                self._lock.release()

    def _end(self, loop: Progressing, failure: BaseException | None) -> Recording:
        assert self._file is not None
        problem = None
        try:
            if self._pending is not None:
                self._pending[1]()
            with folder.unread(self._file, patience=1.0):
                self._publish(self._there)
            self._flushed()
            os.fsync(self._file)
        except OSError as found:  # the frames that were counted are there all the same
            problem = found
        if self._flush is not None:
            wait([self._flush])  # before its file is closed
        os.close(self._file)
        self._file = None
        recording = Recording(self.folder)
        recording.failure = None if failure is None else _told(failure)
        recording.stats = {**loop.stats(), **recording.stats}  # and what is no number
        try:
            if recording.complete and self._saving and hasattr(loop, "saved"):
                self._save(loop)  # so that it can be made longer
            told = as_json(recording.summary())
            write_json(self.folder / folder.SUMMARY, {**told, "checksum": text_sum(told)})
        except OSError as found:
            problem = found
        if problem is not None and failure is None:
            stopped = self._failure(problem, loop.state.t)
            stopped.run = recording
            raise stopped from problem
        return recording

    # ------------------------------------------------------------------ bytes

    def _begin(self, place: folder.Place, plan: Plan, scene: str | None, frame: Frame) -> None:
        """The folder and everything in it, before the first frame is written."""
        fields = {name: len(values) for name, values in frame.fields.items()}
        where, plan = place.folder, replace(plan, energies=tuple(frame.energies), fields=fields)
        plan.check_names()
        unfinished = where / f"{folder.RECORDING}.part"
        try:
            where.mkdir(parents=True, exist_ok=True)
            self._lock = folder.Lock(where)
            folder.check(*place)  # others may have been here since
            folder.clear(where)
            create(unfinished, plan)
            self._open(unfinished)
            self._write_frame(frame, False)()
            self._publish(1)
            if scene is not None:
                write_atomic(where / folder.SCENE, scene.encode())
            assert self._file is not None
            os.fsync(self._file)
            os.close(self._file)  # Windows renames no open file
            self._file = None
            renamed(unfinished, where / folder.RECORDING)
            self._file = os.open(where / folder.RECORDING, os.O_RDWR | BINARY)
        except OSError as problem:
            if self._file is not None:
                os.close(self._file)
            unfinished.unlink(missing_ok=True)
            reason = problem.strerror or str(problem)
            raise InputError(f"out {where}: {reason}; name another folder") from None
        self._begins = None

    def _open(self, path: Path) -> None:
        with open_file(path) as file:
            self._places: Places = find(file)
            self._run: str = json.loads(file["stiffly/provenance"][()])["run"]
            points = file["VTKHDF/Points"]
            self._dtype = points.dtype
            self.single = self._dtype == np.float32
            self._flat = bool(file["stiffly"].attrs["coordinates"])
            self._columns = [bytes(name) for name in file["stiffly/columns"][()] if name]
            self._width = file["stiffly/columns"].shape[0]
            self._side = int(file["VTKHDF"].get("Steps", getlink=True).path[-1] == "1")
        self._file = os.open(path, os.O_RDWR | BINARY)

    def _write_frame(self, frame: Frame, beside: bool) -> Callable[[], None]:
        """Its pieces, by other threads where `beside`; what is returned waits for them, and counts
        the frame."""
        row = self._row(frame).tobytes()
        make: dict[str, Callable[[], Any]] = {
            "points": lambda: self._points(frame.positions, np.arange(len(frame.positions))),
            "velocity": lambda: self._points(frame.velocities, 0.0),
            "row": lambda: row,
            **{f"field {name}": partial(self._values, own) for name, own in frame.fields.items()},
        }

        def put(name: str) -> int:
            (place, size), data = self._places.pieces[name], make[name]()
            self._write(data, place + frame.index * size)
            found = piece_sum(self._run, name, frame.index, data)
            return row_sum(found, row, self._columns) if name == "row" else found

        names = list(self._places.pieces)
        if not beside:
            return partial(self._written, frame.index, [put(name) for name in names])
        assert self._pool is not None
        jobs = [self._pool.submit(put, name) for name in names]

        def landed() -> None:
            wait(jobs)  # of all, also where one fails
            self._written(frame.index, [job.result() for job in jobs])

        return landed

    def _written(self, index: int, sums: list[int]) -> None:
        told = b"".join(each.to_bytes(4, "little") for each in sums)
        self._write(told, self._places.sums + index * len(told))
        self._count(index + 1)

    def _points(self, values: Array, across: Array | float) -> memoryview:
        """(N, 3) as bytes; coordinate i of a SecondOrder is the point (i, x_i, 0)."""
        if self._flat:
            points = np.zeros((len(values), 3))
            points[:, 0], points[:, 1] = across, values
            values = points
        return self._values(values)

    def _values(self, values: Array) -> memoryview:
        return np.ascontiguousarray(values, dtype=self._dtype).data.cast("B")

    def _row(self, frame: Frame) -> Array:
        known = {
            "added": frame.added,
            "dissipated": frame.dissipated,
            "invented": frame.invented,
            "wall_seconds": frame.seconds,
            "steps": frame.steps,
            **frame.work._asdict(),
            **{f"energy {name}": value for name, value in frame.energies.items()},
            **frame.notes,
        }
        named = {name.encode(): value for name, value in known.items()}
        for name in named:
            fits = len(self._columns) < self._width and len(name) <= NAME
            if name not in self._columns and fits:
                place = self._places.columns + len(self._columns) * NAME
                self._write(name.ljust(NAME, b"\0"), place)
                self._columns.append(name)
        row = np.full(self._width, np.nan)
        row[: len(self._columns)] = [named.get(name, np.nan) for name in self._columns]
        return row

    def _forget_columns(self, known: list[bytes]) -> None:
        """All but these: a power cut may have kept a later name and not the one before."""
        self._columns = known
        rest = (self._width - len(known)) * NAME
        self._write(bytes(rest), self._places.columns + len(known) * NAME)

    def _count(self, frames: int) -> None:
        """From here on, that many frames are there."""
        self._write(counter(frames, self._run), self._places.frames)
        self._there = frames

    def _publish(self, frames: int) -> None:
        """Show them to ParaView: the idle copy of Steps is prepared, then the link turns to it."""
        if self._visible == frames:
            return
        idle = 1 - self._side
        self._write(struct.pack("<q", frames), self._places.counts[idle])
        self._write(struct.pack("<qq", frames, frames), self._places.lengths[idle])
        self._write(b"01"[idle : idle + 1], self._places.link)
        self._side, self._visible, self._published = idle, frames, time.perf_counter()

    def _write(self, data: bytes | memoryview, place: int) -> None:
        assert self._file is not None
        write_at(self._file, data, place)

    # ------------------------------------------------------------------ checkpoints

    def _save(self, loop: Any) -> None:
        """At most a share of the time goes into this: slow checkpoints are written less often."""
        began = time.perf_counter()
        header = {"run": self._run, "loop": type(loop).__name__, "frames": loop.recorded}
        try:
            self._flushed()
            if self._file is not None:
                os.fsync(self._file)  # a checkpoint must not know of frames that the disk does not
            checkpoint.write(self.folder, loop.saved(), seconds=self._every, **header)
        except NotPlain as problem:
            self._saving = False
            warnings.warn(
                f"no checkpoints, so this run cannot be resumed: its memory holds {problem}; keep "
                "arrays, numbers, texts and tuples of them there",
                StiffWarning,
                stacklevel=4,
            )
        now = time.perf_counter()
        self._due = now + max(self._every, (now - began) / SHARE)

    def _failure(self, problem: OSError, t: float) -> NotRecorded:
        cause, remedy = STOPS.get(
            problem.errno or 0,
            (problem.strerror or str(problem), "make the folder writable again"),
        )
        return NotRecorded(
            f"recording stopped at t = {t:.4g} s: {cause}; frames before are safe in "
            f"{self.folder}: {remedy}, then resume it"
        )


def _told(failure: BaseException) -> str:
    return "interrupted" if isinstance(failure, KeyboardInterrupt) else str(failure)
