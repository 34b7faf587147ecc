"""Runs that are killed, cut off or starved: each goes on to the same bits, or says why not.

    python tests/attack/kills.py --count 300 --seed 0

Half of the trials write frames beside the steps, by three threads, as large frames are written.
Children are forked, and end by counts of their own steps and writes: no clock decides.  A trial is
a kind, a case and a number drawn from the seed; --only K tries one of them again.
"""

from __future__ import annotations

import argparse
import errno
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))
import runs_to_record
from forks import Tally, forked

import stiffly
from stiffly.recording import writer
from stiffly.recording.writer import Writer

CASES = (
    "exprb42", "eti two-step", "neti two-step", "pexprb43 adaptive", "dop853 adaptive", "verlet",
    "bdf2 contact friction", "midpoint kept factors", "stabilised", "realtime contact",
    "projective", "energy-momentum yielding", "held exactly",
)  # fmt: skip
SCENES = ("hair", "flag", "bacterium", "walker")
OWN = {
    "auto": lambda: runs_to_record.block(integrator="auto", step=None, rtol=1e-2, duration=0.1),
    "stretches on a path": lambda: runs_to_record.shaken(integrator="verlet"),
}
SECTOR = 512  # bytes that a disk writes in one go
SIZES = (0, writer.AT_ONCE)  # of frames from which threads write them: every one, or large ones
ONLY_ONE = 1e9  # seconds between checkpoints: the one at the start is the last


@cache
def case(name: str) -> tuple[Any, dict[str, Any], Any]:
    """What is simulated, the arguments of `simulate`, and what `resume` is given."""
    if name in SCENES:
        scene = walker() if name == "walker" else stiffly.scenes.load(name, small=True)
        steps = 64 * scene.step
        return scene, {"duration": steps, "every": steps / 16}, None
    make = OWN.get(name) or runs_to_record.CASES[name]
    system, x0, v0, options = make()
    return system, {"x0": x0, "v0": v0, **options}, system


def walker() -> Any:
    """A weight that comes onto a rope with a plank on it, and leaves it."""
    scene = stiffly.Scene("bridge", step=0.01, duration=1.0, integrator="bdf1")
    rope = scene.add(stiffly.shapes.rope(9, length=1.0), mass=0.5, stiffness=5e3, pins=[0, -1])
    board = stiffly.shapes.beam(2, (2, 2), length=0.12, width=0.3, height=0.03)
    plank = scene.add(board, position=(0.5, 0.0, 0.0), elasticity="rigid", mass=0.5)
    scene.attach(plank, rope, stiffness=5e3)
    scene.walker(20.0, path=[(0, 0, 0), (1, 0, 0)], times=[0.1, 0.5])
    return scene.build()


def simulated(name: str, folder: Path, checkpoint: float) -> Any:
    system, options, _ = case(name)
    how: Any = {"dtype": "float64", "checkpoint": checkpoint, **options}
    return stiffly.simulate(system, out=folder, **how)


def resumed(name: str, folder: Path, **options: Any) -> Any:
    return stiffly.resume(folder, case(name)[2], **options)


class Reference:
    """The run that nobody stops: what it ends with, its operations of the disk and its steps."""

    def __init__(self, name: str, longer: bool = False) -> None:
        with tempfile.TemporaryDirectory() as folder, Hooks() as hooks:
            run = simulated(name, Path(folder) / "run", 0.0)
            self.rungs = hooks.ended  # of auto's ladder; else one
            self.end = float(run.times[-1])
            if longer:
                run = resumed(name, Path(folder) / "run", duration=2.0 * self.end)
                self.rungs = [contents(run)]
            assert same(contents(run), self.rungs[-1], whole=True)
        self.operations, self.steps = hooks.operations, hooks.steps


@cache
def reference(name: str, longer: bool = False) -> Reference:
    return Reference(name, longer)


def contents(run: Any) -> dict[str, Any]:
    """All numbers of a run that clocks do not decide, by frame."""
    energy = {f"energy {n}": values for n, values in run.energy.parts.items()}
    ledger = {"added": run.energy.added, "dissipated": run.energy.dissipated}
    frames = {"times": run.times, "x": run.positions, "v": run.velocities}
    every = {**frames, **energy, **ledger, **run.diagnostics, **run.fields}
    return {name: np.array(values) for name, values in every.items()}


def same(found: dict[str, Any], expected: dict[str, Any], whole: bool) -> bool:
    """In every digit; of a run that is not whole, as far as it goes."""
    count = len(found["times"])
    if whole and (found.keys() != expected.keys() or count != len(expected["times"])):
        return False
    return all(
        np.array_equal(values, expected[name][:count], equal_nan=True)
        for name, values in found.items()
    )


# ------------------------------------------------------------------ moments


class Hooks:
    """Counts what goes to the disk, and steps; calls `at_operation` and `at_step` before each."""

    NAMES = ("pwrite", "fsync", "replace", "ftruncate", "unlink")

    def __init__(self, at_operation: Any = None, at_step: Any = None) -> None:
        self.operations = self.steps = 0
        self.ended: list[dict[str, Any]] = []
        self.at_operation, self.at_step = at_operation, at_step
        self._alone = threading.RLock()  # frames may be written by several threads
        self._real = {name: getattr(os, name) for name in self.NAMES}
        self._between, self._result = Writer.between, Writer.result

    def __enter__(self) -> Hooks:
        for name in self.NAMES:
            setattr(os, name, self._counted(name))

        def between(sink: Writer, loop: Any) -> None:
            self.steps += 1
            if self.at_step is not None:
                self.at_step(self.steps)
            self._between(sink, loop)

        def result(sink: Writer, loop: Any, failure: Any = None) -> Any:
            run = self._result(sink, loop, failure)
            if failure is None:
                self.ended.append(contents(run))
            return run

        Writer.between, Writer.result = between, result  # type: ignore[method-assign]
        return self

    def _counted(self, name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            with self._alone:
                self.operations += 1
                if self.at_operation is not None:
                    self.at_operation(self.operations, name, arguments, self._real)
            return self._real[name](*arguments, **options)

        return call

    def __exit__(self, *_: object) -> None:
        for name, real in self._real.items():
            setattr(os, name, real)
        Writer.between, Writer.result = self._between, self._result  # type: ignore


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def sectors(place: int, size: int) -> list[int]:
    """Where a write may be torn: what lies within one sector is written, or is not."""
    return [place, *range(-(-(place + 1) // SECTOR) * SECTOR, place + size, SECTOR)]


def kill_in_a_write(n: int, rng: random.Random) -> dict[str, Any]:
    """Before the n-th operation, or in the middle of it."""

    def at(k: int, name: str, arguments: Any, real: Any) -> None:
        if k >= n:
            if name == "pwrite":
                file, data, place = arguments
                ends = [*sectors(place, len(data)), place + len(data)]
                real["pwrite"](file, bytes(data)[: rng.choice(ends) - place], place)
            die()

    return {"at_operation": at}


def kill_in_a_step(n: int, rng: random.Random) -> dict[str, Any]:
    return {"at_step": lambda k: die() if k >= n else None}


def raising(number: int) -> Callable[..., dict[str, Any]]:
    def hooks(n: int, rng: random.Random) -> dict[str, Any]:
        return {"at_step": lambda k: signal.raise_signal(number) if k == n else None}

    return hooks


def full_disk(n: int, rng: random.Random) -> dict[str, Any]:
    """From the n-th operation on, nothing can be written."""
    code = rng.choice([errno.ENOSPC, errno.EDQUOT])

    def at(k: int, name: str, arguments: Any, real: Any) -> None:
        if k >= n and name in ("pwrite", "fsync", "ftruncate"):
            raise OSError(code, os.strerror(code))

    return {"at_operation": at}


def quota(n: int, rng: random.Random) -> dict[str, Any]:
    """From the n-th step on, no file grows over a size."""
    size = rng.choice([0, 512, 4096, rng.randrange(1, 200_000)])
    limits = size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    return {"at_step": lambda k: resource.setrlimit(resource.RLIMIT_FSIZE, limits) if k == n else 0}


def copied(folder: Path, copy: Path, n: int, rng: random.Random) -> dict[str, Any]:
    """One file at the n-th operation, the others some operations later, in any order."""
    later, first = n + rng.choice([0, 1, 2, 5, 20, 100]), rng.randrange(4)

    def at(k: int, name: str, arguments: Any, real: Any) -> None:
        if k in (n, later):
            copy.mkdir(exist_ok=True)
            files = sorted(path for path in folder.glob("*") if path.is_file())
            for i, path in enumerate(files):
                if (i == first) == (k == n) or n == later:
                    shutil.copyfile(path, copy / path.name)
        if k == later:
            die()

    return {"at_operation": at}


def power_cut(folder: Path, copy: Path, n: int, rng: random.Random) -> dict[str, Any]:
    """The folder as the disk has it at the n-th operation: of what was written since it was last
    told to keep it, some is there and some is not; the last rename may not be.  Renames and
    removals reach the disk in their order."""
    unsynced: list[tuple[int, bytes]] = []
    before: dict[str, bytes | None] = {}

    def at(k: int, name: str, arguments: Any, real: Any) -> None:
        if k == n:
            shutil.copytree(folder, copy)
            for path in copy.glob("recording.vtkhdf*"):
                with open(path, "r+b") as file:
                    for start, old in reversed(unsynced):
                        begins = sectors(start, len(old))
                        for place, end in zip(begins, [*begins[1:], start + len(old)], strict=True):
                            if rng.random() < 0.5:
                                file.seek(place)
                                file.write(old[place - start : end - start])
            if before and rng.random() < 0.5:
                known, path = before["checkpoint.npz"], copy / "checkpoint.npz"
                path.unlink() if known is None else path.write_bytes(known)
            die()
        if name == "pwrite":
            file, data, place = arguments
            unsynced.append((place, os.pread(file, len(data), place).ljust(len(data), b"\0")))
        if name == "fsync":
            unsynced.clear()
        target = Path(arguments[1]) if name == "replace" else None
        if target is not None and target.name == "checkpoint.npz":
            before[target.name] = target.read_bytes() if target.exists() else None
        if name == "unlink" and Path(arguments[0]).name == "checkpoint.npz":
            before.clear()

    return {"at_operation": at}


# ------------------------------------------------------------------ trials

IN_PLACE = {
    "kill -9 in a write": kill_in_a_write,
    "kill -9 in a step": kill_in_a_step,
    "SIGTERM": raising(signal.SIGTERM),
    "SIGINT": raising(signal.SIGINT),
    "SIGHUP": raising(signal.SIGHUP),
    "full disk": full_disk,
    "quota": quota,
}
COPIES = {"copied while it runs": copied, "power cut": power_cut}
TWICE = "killed, then killed in resume"
LONGER = "killed while made longer"
KINDS = (*IN_PLACE, *COPIES, TWICE, LONGER)
SIGNALS = {"SIGTERM": "Terminated", "SIGINT": "KeyboardInterrupt", "SIGHUP": "Terminated"}


def moment(kind: str, known: Reference, rng: random.Random) -> int:
    by_steps = kind in ("kill -9 in a step", "quota", *SIGNALS)
    # more often near the start, where all is made, than its share
    last = known.steps if by_steps else known.operations
    return rng.randint(1, last if rng.random() < 0.8 else min(40, last))


def stopped(work: Callable[[], Any], hooks: dict[str, Any]) -> Any:
    def run() -> Any:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with Hooks(**hooks):
            work()
        return ["finished"]

    return forked(run)


def left(folder: Path, name: str, longer: bool, **options: Any) -> Any:
    """What can be read of a folder, and what `resume` makes of it."""
    rungs = reference(name, longer).rungs

    def look() -> Any:
        try:
            found = contents(stiffly.Recording(folder))
            if not any(same(found, rung, whole=False) for rung in rungs):
                return ["wrong", "frames that were never computed"]
        except stiffly.errors.InputError:
            pass  # then resume says so, too
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found = contents(resumed(name, folder, **options))
        if same(found, rungs[-1], whole=True):
            return ["same bits"]
        lower = any(same(found, rung, whole=True) for rung in rungs)
        if lower and any("is not known to be met" in str(word.message) for word in said):
            return ["same bits, and a word that auto has not ended"]
        return ["wrong", "other bits"]

    return forked(look)


def trial(kind: str, name: str, rng: random.Random, tally: Tally, words: str) -> None:
    with tempfile.TemporaryDirectory(prefix="kills-") as space:
        folder, copy = Path(space) / "run", Path(space) / "copy"
        known, checkpoint = reference(name), rng.choice([0.0, 0.0, ONLY_ONE])
        writer.AT_ONCE = rng.choice(SIZES)
        words = f"{words}, {'frames by threads' if writer.AT_ONCE == 0 else 'frames at once'}"
        n, options = moment(kind, known, rng), {}
        if kind == LONGER:
            simulated(name, folder, checkpoint)
            options = {"duration": 2.0 * known.end}
            more = lambda: resumed(name, folder, **options)  # noqa: E731
            end = stopped(more, kill_in_a_write(rng.randint(1, 60), rng))
        elif kind in COPIES:
            hooks = COPIES[kind](folder, copy, n, rng)
            end = stopped(lambda: simulated(name, folder, checkpoint), hooks)
            folder = copy if copy.exists() else folder
        else:
            how = kill_in_a_step if kind == TWICE else IN_PLACE[kind]
            end = stopped(lambda: simulated(name, folder, checkpoint), how(n, rng))
            if kind == TWICE and (folder / "checkpoint.npz").exists():
                again = rng.choice([kill_in_a_write, kill_in_a_step])
                end = stopped(lambda: resumed(name, folder), again(rng.randint(1, 60), rng))
        # what has a checkpoint goes on; only a copy of files that changed meanwhile may not
        must = (folder / "checkpoint.npz").exists() and kind != "copied while it runs"
        found = left(folder, name, kind == LONGER, **options)
        if name == "auto" and found[-1].startswith("Diverged"):
            must = False  # a run of the ladder that has to: that is what it says
    if end[0] == "raised" or (end[0] == "died" and end[1] != signal.SIGKILL):
        tally.violated(f"{words}: the run itself: {end}")
    if kind in SIGNALS and end[0] != "finished" and not end[1].startswith(SIGNALS[kind]):
        tally.violated(f"{words}: ended with {end}")
    if not found[0].startswith(("same bits", "said")) or (must and found[0] == "said"):
        tally.violated(f"{words}: {found} after {end}")
    tally.add(kind, found[0] if found[0] != "said" else f"said: {_kind_of(found[1])}")


def _kind_of(text: str) -> str:
    known = ("holds no recording", "no checkpoint to go on from", "copied while the run went on",
             "of another", "is damaged", "are damaged", "diverged")  # fmt: skip
    return next((words for words in known if words in text), text)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=300)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--only", type=int, default=None, help="one trial by its number")
    given = options.parse_args()
    warnings.simplefilter("ignore")
    tally, names = Tally(), (*CASES, *SCENES, *OWN)
    for k in range(given.count) if given.only is None else [given.only]:
        kind = KINDS[k % len(KINDS)]  # with each of the names, in so many rounds as there are names
        name = names[(3 * (k // len(KINDS)) + 5 * (k % len(KINDS))) % len(names)]
        if kind == LONGER:
            name = "midpoint kept factors"
        trial(kind, name, random.Random(f"{given.seed} {k}"), tally, f"trial {k}: {kind}, {name}")
    return tally.show()


if __name__ == "__main__":
    sys.exit(main())
