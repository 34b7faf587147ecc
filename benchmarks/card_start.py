"""What a run on a card takes beside its steps, and where: hair, recorded; crash; bunny with 5,400
frames.

    python benchmarks/card_start.py                       # all three, within about 100 s
    python benchmarks/card_start.py bunny --profile 40    # and the functions that take longest
    python benchmarks/card_start.py --small               # the same of small scenes

Seconds of a whole call of `simulate` by what they went into, each without what is named apart
within it.  After every call of steps the card is waited for, which a run does not do, so that
steps are told apart from what waits for them.  Each scene is built beforehand and run twice, where
LIMIT allows: kernels are compiled in the first run.  It is built anew for the second one, since a
system keeps what is laid out for it from run to run.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import shutil
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from importlib import import_module
from pathlib import Path
from threading import get_ident
from typing import Any

from common import table

from stiffly import scenes, simulate
from stiffly.backends import gpu as door

LIMIT = 100.0  # seconds of all
# scene: options of the run, and whether it is written to a folder
RUNS: dict[str, tuple[dict[str, Any], bool]] = {
    "bunny": ({"step": 1.1e-3, "every": 1 / 30}, False),
    "crash": ({"step": 6e-5}, False),
    "hair": ({"step": 6e-4, "every": 1 / 30}, True),
}
# what a second goes into: where it is spent
CLOCKS = {
    "parts are prepared, the state": ("stiffly.system.system:System.bind",),
    "rows in groups": ("stiffly.system.groups:Layout.__init__",),
    "rows in groups: springs": ("stiffly.system.groups:Layout.springs",),
    "the rest of the loops' body": ("stiffly.system.system:System._lay_out",),
    "card: other arrays": ("stiffly.kernels.cuda.stretch:OnCard.__init__",),
    "card: slices": ("stiffly.kernels.cuda.layout:Slices.__init__",),
    "card: both ends of springs": (
        "stiffly.kernels.cuda.layout:directed_springs",
        "stiffly.kernels.cuda.stretch:directed_springs",
    ),
    "card: stiffness by number": (
        "stiffly.kernels.cuda.layout:palette",
        "stiffly.kernels.cuda.layout:Fields._named",
    ),
    "card: blocks": ("stiffly.kernels.cuda.stretch:blocks_of",),
    "card: springs": ("stiffly.kernels.cuda.layout:Fields.springs",),
    "kernels are compiled or loaded": ("CARD:loaded",),
    "to the card": ("CARD:put", "CARD:sent", "CARD:copy"),
    "room on the card": ("CARD:zeros", "CARD:empty", "CARD:copied"),
    "from the card": ("CARD:hosts",),
    "limit of the step": ("stiffly.run.simulate:require_stable",),
    "fingerprint, provenance": (
        "stiffly.run.simulate:fingerprint",
        "stiffly.recording.writer:provenance",
    ),
    "what is drawn": ("stiffly.run.simulate:drawn",),
    "file: laid out": ("stiffly.recording.writer:create",),
    "file: begun": ("stiffly.recording.writer:Writer._begin",),
    "file: frames, those of one thread": ("stiffly.recording.writer:Writer._write_frame",),
    "file: waiting for frames": ("stiffly.recording.writer:Writer._settle",),
    "file: checkpoints": ("stiffly.recording.writer:Writer._save",),
    "file: ended": ("stiffly.recording.writer:Writer._end",),
    "frames kept in memory": ("stiffly.recording.sinks:Memory.frame",),
    "the run put together": ("stiffly.recording.sinks:Memory.result",),
    "steps": ("stiffly.kernels.cuda.stretch:OnCard.run",),
    "steps: tables of time": ("stiffly.system.stretch:Stretcher._tables",),
    "steps: begun": ("stiffly.kernels.cuda.stretch:OnCard.take",),
    "steps: sums": ("stiffly.kernels.cuda.stretch:OnCard.ended",),
    "steps: the rest": ("stiffly.run.stepper:Stepper.take_all",),
    "the first acceleration": ("stiffly.system.stretch:Stretcher.acceleration",),
    "energies": ("stiffly.run.ledger:Balance.look",),
    "frames: as they are shown": ("stiffly.run.loop:Loop._seen",),
    "frames: the rest": ("stiffly.run.loop:Loop._record",),
    "loop: the rest": ("stiffly.run.loop:Loop.run",),
}
CALL = "the call: the rest"


class Clock:
    """Seconds and calls by what they are spent in, of the thread that made it."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = defaultdict(float)
        self.calls: dict[str, int] = defaultdict(int)
        self._within, self._since, self._thread = [CALL], time.perf_counter(), get_ident()

    def _turn(self) -> None:
        now = time.perf_counter()
        self.spent[self._within[-1]] += now - self._since
        self._since = now

    def around(self, words: str, job: Callable[..., Any], after: Callable[[], None]) -> Any:
        @wraps(job)
        def timed(*args: Any, **options: Any) -> Any:
            if get_ident() != self._thread:
                return job(*args, **options)
            self._turn()
            self._within.append(words)
            self.calls[words] += 1
            try:
                found = job(*args, **options)
                after()
                return found
            finally:
                self._turn()
                self._within.pop()

        return timed

    def told(self) -> dict[str, float]:
        self._turn()
        return dict(self.spent)


def watched(card: Any, job: Callable[[], Any]) -> tuple[Clock, Any]:
    clock, before = Clock(), []
    queue = getattr(card, "_queue", None)

    def wait() -> None:
        if queue is not None:
            queue.synchronize()

    for words, places in CLOCKS.items():
        for place in places:
            where, _, path = place.partition(":")
            owner: Any = type(card) if where == "CARD" else import_module(where)
            *outer, name = path.split(".")
            for each in outer:
                owner = getattr(owner, each)
            own = getattr(owner, name)
            before.append((owner, name, own))
            after = wait if words in ("steps", "to the card") else _nothing
            setattr(owner, name, clock.around(words, own, after))
    try:
        return clock, job()
    finally:
        for owner, name, own in reversed(before):
            setattr(owner, name, own)


def _nothing() -> None:
    pass


def run(name: str, small: bool, lines: int, where: Path) -> tuple[float, float, Clock, Any]:
    """Seconds to build, of the call, what they went into, and the run."""
    began = time.perf_counter()
    scene = scenes.load(name, small=small)
    built = time.perf_counter() - began
    options, written = RUNS[name]
    options = {**options, "integrator": "verlet", "device": "gpu"}
    folder = Path(tempfile.mkdtemp(dir=where)) if written else None
    if folder is not None:
        options["out"] = folder / "run"
    profile = cProfile.Profile() if lines else None
    try:
        began = time.perf_counter()
        if profile is not None:
            profile.enable()
        clock, found = watched(door.gpu()._card, lambda: simulate(scene, **options))
        if profile is not None:
            profile.disable()
        clock.told()
        spent = time.perf_counter() - began
        if profile is not None:
            pstats.Stats(profile).sort_stats("tottime").print_stats(lines)
        told = f"{found.stats['steps']:,} steps, {len(found.times):,} frames"
        return built, spent, clock, told
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("scenes", nargs="*", default=tuple(RUNS))
    parser.add_argument("--limit", type=float, default=LIMIT, metavar="S", help="seconds of all")
    parser.add_argument("--small", action="store_true", help="small scenes")
    parser.add_argument("--profile", type=int, default=0, metavar="N", help="N functions, too")
    parser.add_argument("--folder", type=Path, help="where to record, for a while")
    asked, began = parser.parse_args(), time.perf_counter()
    warnings.simplefilter("ignore")
    with suppress(Exception):  # a card that cannot be told apart
        print(f"card: {door.cards()[0]}", flush=True)
    for name in asked.scenes:
        taken = 0.0
        for turn in ("first", "again"):
            before = time.perf_counter()
            if turn == "again" and before - began + taken > asked.limit:
                break
            built, spent, clock, told = run(name, asked.small, asked.profile, asked.folder)
            taken = time.perf_counter() - before
            print(f"\n{name}, {turn}: {spent:.2f} s ({told}; built in {built:.1f} s)", flush=True)
            rows = sorted(clock.spent.items(), key=lambda row: -row[1])
            made = [(words, f"{s:.3f}", f"{clock.calls[words]:,}") for words, s in rows if s > 5e-4]
            print(table(("seconds in", "s", "calls"), made), flush=True)
    print(f"\n{time.perf_counter() - began:.0f} s in all", flush=True)


if __name__ == "__main__":
    main()
