"""What the time loop has around it: where frames go, who is told how far it is, who stops it."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from math import inf
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..arrays import real_number
from ..contracts import NOTHING, Array, State, Work
from ..errors import InputError, OutOfTime, Terminated
from .drawn import Drawn
from .notes import FrameLog, StepLog
from .run import EnergyHistory, Run

AHEAD, PAGE = 1 << 25, 1 << 12  # bytes
PATIENCE = 0.5  # seconds without a sign of life, where steps allow it


class Frame(NamedTuple):
    """A frame as the loop hands it on; index counts from 0, of: how many there are to be.

    positions, velocities: (particles, 3), or (n,) for SecondOrder; they stay as they are until the
    frame after the next one comes.
    energies [J] by part; added, dissipated, invented [J], steps, work, seconds (of computing): so
    far.
    notes: what the steps since the last frame said (see notes.py).
    fields: what parts have recorded of themselves, arrays (m,) by name.
    """

    index: int
    of: int
    t: float
    positions: Array
    velocities: Array
    energies: dict[str, float]
    added: float
    dissipated: float
    invented: float
    steps: int
    work: Work
    seconds: float
    notes: dict[str, float]
    fields: Mapping[str, Array] = NOTHING


class Progressing(Protocol):
    """What a sink reads of the loop; `saved`: what a checkpoint holds."""

    name: str
    step: float | None
    state: State
    log: StepLog | FrameLog
    recorded: int

    @property
    def seconds(self) -> float: ...
    def saved(self) -> dict[str, Any]: ...
    def stats(self) -> dict[str, Any]: ...
    def history(self) -> EnergyHistory: ...


class Sink(Protocol):
    def frame(self, frame: Frame) -> None: ...

    def between(self, loop: Progressing) -> None:
        """After every step, and after the frame that it may have ended: the loop can be saved."""
        ...

    def result(self, loop: Progressing, failure: BaseException | None = None) -> Any:
        """At the end, or where the run has stopped early."""
        ...


class Memory:
    """A sink that keeps every frame as arrays, each with room for all frames; drawn(): what is seen
    of the system, asked for at the end, when a step's arrays are gone."""

    def __init__(self, drawn: Callable[[], Drawn] = Drawn) -> None:
        self._drawn = drawn
        self._series: tuple[Array, Array] | None = None
        self._fields: dict[str, Array] = {}
        self._ahead: _Ahead | None = None

    def frame(self, frame: Frame) -> None:
        if self._series is None:
            self._series = _room(frame.of, frame.positions), _room(frame.of, frame.velocities)
            self._fields = {name: _room(frame.of, own) for name, own in frame.fields.items()}
            self._ahead = _Ahead([*self._series, *self._fields.values()])
        assert self._ahead is not None
        self._ahead.reach(frame.index)
        for series, own in zip(self._series, (frame.positions, frame.velocities), strict=True):
            series[frame.index] = own
        for name, own in frame.fields.items():
            self._fields[name][frame.index] = own

    def between(self, loop: Progressing) -> None:
        pass

    def result(self, loop: Progressing, failure: BaseException | None = None) -> Run:
        energy, count = loop.history(), loop.recorded
        assert isinstance(loop.log, StepLog)
        if self._ahead is not None:
            self._ahead.end()
        positions, velocities = self._series or (np.empty(0), np.empty(0))
        return Run(
            integrator=loop.name,
            step=loop.step,
            times=energy.times,
            positions=positions[:count],
            velocities=velocities[:count],
            energy=energy,
            stats=loop.stats(),
            diagnostics=loop.log.arrays(),
            wall_seconds=loop.seconds,
            fields={name: frames[:count] for name, frames in self._fields.items()},
            **self._drawn()._asdict(),
        )


def _room(frames: int, values: Array) -> Array:
    """For so many: memory is taken when it is written to."""
    try:
        return np.empty((frames, *np.shape(values)))
    except MemoryError:
        size = 1e-9 * frames * np.asarray(values).nbytes
        raise InputError(
            f"{frames} frames take {size:.3g} GB of memory: give out= (a folder), or fewer (every=)"
        ) from None


class _Ahead:
    """Touches memory a while before frames are written to it, beside the run: a page that nobody
    has touched is cleared first, which takes several times as long as to write to it."""

    def __init__(self, series: list[Array]) -> None:
        """series: arrays whose first index is that of the frame."""
        self._series = series
        frames, size = len(series[0]), sum(own.nbytes for own in series)
        self._each = max(1, AHEAD * frames // max(1, size))
        some = frames > self._each  # else all is there at once
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="memory") if some else None
        self._next: Future[None] | None = None

    def reach(self, index: int) -> None:
        """Before frame `index` is written, one after the other."""
        if self._pool is None or index % self._each:
            return
        if self._next is not None:
            self._next.result()
        self._next = self._pool.submit(self._touch, index + self._each)

    def _touch(self, first: int) -> None:
        for own in self._series:
            own[first : first + self._each].reshape(-1).view(np.uint8)[::PAGE] = 0

    def end(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()


# ------------------------------------------------------------------ progress


class ProgressReport(NamedTuple):
    """How far a run is: time t of end [s], frames of of_frames recorded, steps and work so far.

    numerical, exchanged [J]: the energy error and its yardstick at the last frame.
    """

    t: float
    end: float
    frames: int
    of_frames: int
    steps: int
    work: Work
    numerical: float
    exchanged: float


Progress = Callable[[ProgressReport], None]


class Reporter:
    """Calls `progress` after every frame, and now and then in between."""

    def __init__(self, progress: Progress, loop: Any) -> None:
        self._progress, self._loop = progress, loop
        self._last, self._seen = time.perf_counter(), 0
        self._ranges: dict[str, tuple[float, float]] = {}

    def __call__(self, landed: bool) -> None:
        now = time.perf_counter()
        if not landed and now - self._last < PATIENCE:
            return
        self._last, loop = now, self._loop
        end, frames = float(loop.frames[-1]), (loop.recorded, len(loop.frames))
        spent = loop.steps, loop.work
        self._progress(ProgressReport(loop.state.t, end, *frames, *spent, *self._balance()))

    def _balance(self) -> tuple[float, float]:
        """Numerical error and energy exchanged at the last frame, from frames not seen before."""
        ledger = self._loop.ledger
        series = {**ledger.parts, "added": ledger.added, "dissipated": ledger.dissipated}
        for name, values in series.items():
            low, high = self._ranges.get(name, (inf, -inf))
            new = values[self._seen :]
            self._ranges[name] = min([low, *new]), max([high, *new])
        self._seen = len(ledger.times)
        total, start = (sum(values[k] for values in ledger.parts.values()) for k in (-1, 0))
        numerical = total - start - ledger.added[-1] + ledger.dissipated[-1]
        return numerical, max(high - low for low, high in self._ranges.values())


# ------------------------------------------------------------------ to be stopped


ASKED = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Interrupt:
    """While entered, the first Ctrl-C, SIGTERM or SIGHUP only makes it `due` to stop; a second one
    stops at once.  max_hours after it was made it is due, too.

    Only the main thread can take signals: elsewhere nothing changes.  Nor does it where a signal is
    ignored (a job in the background, nohup), or where SIGTERM and SIGHUP have a handler already.
    """

    def __init__(self, max_hours: Any = None) -> None:
        kind: Any = Real  # NumPy's are, too
        number = isinstance(max_hours, kind) and not isinstance(max_hours, bool)
        if number:
            max_hours = real_number("max_hours", max_hours, "try max_hours=12")
        if max_hours is not None and not (number and 0.0 < max_hours < inf):
            raise InputError(f"max_hours must be positive, got {max_hours!r}: try max_hours=12")
        self._signal: int | None = None
        self._hours, self._began = max_hours, time.perf_counter()
        self._before: dict[int, Any] = {}
        self._told = False  # what ended the run, by `stop`

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            for number in ASKED:
                before = signal.getsignal(number)
                # None: set outside Python, it could not be put back
                free = before not in (None, signal.SIG_IGN)
                if free if number == signal.SIGINT else before is signal.SIG_DFL:
                    self._before[number] = before
                    signal.signal(number, self._notice)
        return self

    def _notice(self, number: int, *_: object) -> None:
        self._signal = number
        for one in self._before:
            usual = signal.default_int_handler if one == signal.SIGINT else signal.SIG_DFL
            signal.signal(one, usual)

    def __exit__(self, failure: object, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        if self._signal is not None and failure is None and not self._told:
            signal.raise_signal(self._signal)  # it came when the last step had been taken

    @property
    def due(self) -> bool:
        """Time to stop."""
        over = self._hours is not None and time.perf_counter() - self._began >= 3600 * self._hours
        return over or self._signal is not None

    def stop(self, folder: Path, t: float, saved: bool) -> BaseException:
        """What ends the run at time t [s]; saved: there is a checkpoint."""
        self._told = True
        if self._signal is None:
            how = f"go on with: stiffly resume {folder}" if saved else "it has no checkpoint"
            return OutOfTime(f"max_hours = {self._hours:g} are over at t = {t:.4g} s; {how}")
        return KeyboardInterrupt() if self._signal == signal.SIGINT else Terminated(self._signal)


class Trial:
    """A sink of steps that nobody will see, which end where the run is to stop."""

    def __init__(self, interrupt: Interrupt | None = None) -> None:
        self._interrupt = interrupt

    def frame(self, frame: Frame) -> None:
        pass

    def between(self, loop: Progressing) -> None:
        if self._interrupt is not None and self._interrupt.due:
            raise self._interrupt.stop(Path(), loop.state.t, saved=False)

    def result(self, loop: Progressing, failure: BaseException | None = None) -> None:
        pass
