"""How long a rival is waited for: as long as its seconds could still decide something.

A method that takes several times as long as the one it is compared with has lost by so much, and
how much more is not asked; where a paper claims a factor, it is waited for that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from stiffly.scenes import Scene

from .bench import Bench
from .equal_error import cheapest
from .harness import Method, Record
from .tight import Reference

FIRST_S = 3.0  # for a run of the method that the others are compared with
LEAST_S, MOST_S = 0.5, 6.0  # for a run of another
LOST = 1.5  # times the seconds of the first
SLACK = 1.1  # so that a claimed factor is exceeded by who does not come in time


def patience(first: Record | None, factor: float = LOST) -> float:
    """Seconds for a run of a rival; factor: what it would have to take of the first's seconds."""
    if first is None or first.failure or not first.seconds:
        return LEAST_S
    wanted = float(f"{SLACK * factor * first.seconds:.2g}")  # readers see it: two digits
    return min(max(LEAST_S, wanted), MOST_S)


def race(
    bench: Bench,
    problem: Scene,
    reference: Reference,
    methods: Sequence[Method],
    levels: Sequence[float],
    first: str,
    factor: Callable[[str], float] = lambda name: LOST,
) -> dict[str, dict[float, Record]]:
    """Everybody's cheapest run at every level; first: whom the others are compared with, at the
    finest level; factor(name): see `patience`."""
    found: dict[str, dict[float, Record]] = {}
    for method in methods:
        leader = found.get(first, {}).get(min(levels))
        limit = FIRST_S if method.name == first else patience(leader, factor(method.name))
        met = cheapest(bench, problem, method, reference, levels, repeats=1, limit_s=limit)
        found[method.name] = {level: late(record, limit) for level, record in met.items()}
    return found


def late(record: Record, limit_s: float) -> Record:
    """Of who was not in time, `seconds` says what it takes at least; of other failures nothing."""
    return replace(record, seconds=limit_s) if "not within" in (record.failure or "") else record


def is_late(record: Record) -> bool:
    return record.failure is not None and record.seconds is not None
