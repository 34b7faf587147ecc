"""Random trials by the thousand, each named by its seed: what a promise is worth to strangers.

A script gives `main` a function trial(seed) -> Outcome; it runs --count of them over --processes
processes, counts the verdicts and names the seeds of those that break the promise:

    python tests/attack/trials_phi.py --count 20000 --processes 2
    python tests/attack/trials_phi.py --first 1234 --count 1          # one trial again
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from typing import NamedTuple

SHOWN = 20  # broken trials that are named


class Outcome(NamedTuple):
    """verdict: a few words, counted; broken: the promise did not hold; story: what happened."""

    verdict: str
    broken: bool = False
    story: str = ""


Trial = Callable[[int], Outcome]


class OutOfTime(BaseException):
    """Beyond any limit a trial may set itself; no `except Exception` in its way catches it."""


def guarded(
    trial: Callable[[int], Outcome], seed: int, seconds: float
) -> tuple[int, Outcome, float]:
    """One trial; what it raises, or taking more than `seconds` of processor time, is a broken
    promise."""

    def stop(*_: object) -> None:
        raise OutOfTime

    began = time.process_time()
    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, 10.0 * seconds)  # of the processor: others may use it too
    try:
        outcome = trial(seed)
    except OutOfTime:
        outcome = Outcome("hangs", True)
    except Exception as failure:
        where = traceback.extract_tb(failure.__traceback__)[-1]
        outcome = Outcome(
            f"foreign {type(failure).__name__}",
            True,
            f"{failure} ({where.filename}:{where.lineno})",
        )
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
    took = time.process_time() - began
    if took > seconds:
        outcome = Outcome("too slow", True, f"{took:.0f} s, then {outcome.verdict}")
    return seed, outcome, took


def _outcomes(args: tuple[Trial, int, float]) -> tuple[int, Outcome, float]:
    return guarded(*args)


def run(
    trial: Callable[[int], Outcome], seeds: range, processes: int, seconds: float
) -> Iterator[tuple[int, Outcome, float]]:
    jobs = ((trial, seed, seconds) for seed in seeds)
    if processes == 1:
        yield from map(_outcomes, jobs)
        return
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # read when the processes start
    with get_context("spawn").Pool(processes) as pool:
        yield from pool.imap_unordered(_outcomes, jobs, chunksize=1)


def main(trial: Trial, *, count: int, seconds: float) -> None:
    """The command line of a script of trials; ends with exit code 1 where one was broken."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    seeds = range(asked.first, asked.first + asked.count)
    verdicts: Counter[str] = Counter()
    broken: list[tuple[int, Outcome]] = []
    slowest, shown = 0.0, time.monotonic()
    for done, (seed, outcome, took) in enumerate(run(trial, seeds, asked.processes, seconds), 1):
        verdicts[outcome.verdict] += 1
        slowest = max(slowest, took)
        if outcome.broken:
            broken.append((seed, outcome))
            print(f"  seed {seed}: {outcome.verdict}: {outcome.story}", file=sys.stderr, flush=True)
        if time.monotonic() - shown > 10.0:
            shown = time.monotonic()
            print(f"{done} of {asked.count}, {len(broken)} broken", file=sys.stderr, flush=True)
    print(
        f"{asked.count} trials, {len(broken)} broke the promise; the slowest took {slowest:.1f} s"
    )
    for verdict, times in verdicts.most_common():
        print(f"{times:8d}  {verdict}")
    for seed, outcome in sorted(broken)[:SHOWN]:
        print(f"seed {seed}: {outcome.verdict}: {outcome.story}")
    sys.exit(1 if broken else 0)
