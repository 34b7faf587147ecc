"""Rows of an experiment that know nothing of each other, measured by several processes.

STIFFLY_LAB_PROCESSES=2 measures so many at once, each on one thread; the default is one.  They are
started as `stiffly sweep` starts them, which needs stiffly[sweep].  STIFFLY_LAB_ON=ADDRESS has the
workers of a Dask scheduler measure them instead.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from stiffly.errors import InputError, SimulationFailure
from stiffly.sweeps.cluster import (
    Job,
    Outcome,
    cluster,
    outcomes,
    packages,
    require_alike,
    require_versions,
)

from .bench import Bench, Row

MEASURED = "measured"  # of a row: the day
PROCESSES, ON = "STIFFLY_LAB_PROCESSES", "STIFFLY_LAB_ON"


class _Missing(Exception):
    """A row that no earlier run has measured."""


def rows(bench: Bench, jobs: Mapping[str, Job], key: str = "") -> dict[str, Row]:
    """What every job finds, by name; those named first begin first.

    key: of the results' data, where rows are kept that are not measured again; each is then told
    the day on which it was measured."""
    who, kept = whom(), bench.kept(key) if key else {}
    left = {name: job for name, job in jobs.items() if name not in kept}
    found = kept | _measured(bench, left, who, today if key else dict)
    return {name: found[name] for name in jobs}


def when(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """A sentence: the day of most rows, and the names of those of other days."""
    days: dict[str, list[str]] = {}
    for name, row in rows.items():
        days.setdefault(row[MEASURED], []).append(name)
    most, *others = sorted(days, key=lambda day: -len(days[day]))
    told = [f"; on {day} again: {' / '.join(days[day])}" for day in others]
    return f"Measured on {most}{''.join(told)}."


def today(found: Mapping[str, Any]) -> Row:
    """The row, told the day."""
    return {**found, MEASURED: f"{datetime.now(UTC):%Y-%m-%d}"}


def _measured(
    bench: Bench,
    jobs: Mapping[str, Job],
    who: tuple[str | None, int],
    told: Callable[[Any], Row],
) -> dict[str, Row]:
    bench.plan(len(jobs))
    if who == (None, 1):
        return {
            name: bench.row(name, lambda f=f, a=a: told(f(*a))) for name, (f, a) in jobs.items()
        }
    found, left = _known(bench, jobs)
    if left:
        on, processes = who
        with cluster(on, min(processes, len(left))) as client:
            if on is not None:
                _require_fit(client, on)
            for name, outcome in outcomes(client, left):  # journalled as they come
                found[name] = bench.row(name, lambda name=name, o=outcome: told(_value(name, o)))
    return found


def _value(name: str, outcome: Outcome) -> Any:
    if outcome.failure:
        raise SimulationFailure(f"{name}: {outcome.failure}: {outcome.text}")
    return outcome.value


def whom() -> tuple[str | None, int]:
    """Who measures: a scheduler's address, or None and the number of processes of this machine."""
    on, given = os.environ.get(ON) or None, os.environ.get(PROCESSES, "1")
    if not given.isdigit() or int(given) < 1:
        raise InputError(f"{PROCESSES}={given}: give a whole number of processes, 1 or more")
    if on is not None and PROCESSES in os.environ:
        raise InputError(f"{PROCESSES} is of this machine, and {ON} names another: set one of them")
    return on, int(given)


def _require_fit(client: Any, address: str) -> None:
    """Workers that have what is here, and measure one row at a time."""
    require_alike(client, "stiffly_lab", _require_packages, packages("scikit-sundae"))
    if max(client.nthreads().values()) > 1:
        raise InputError(
            f"a worker of {address} has several threads, whose rows would disturb each other: "
            "start workers with --nthreads 1"
        )


def _require_packages(wanted: Mapping[str, str]) -> None:
    """In the worker, which needs the lab to have this function."""
    require_versions(wanted)


def _known(bench: Bench, jobs: Mapping[str, Job]) -> tuple[dict[str, Row], dict[str, Job]]:
    """Rows that an interrupted run has left, and the jobs that are still to be done."""
    found, left = {}, {}

    def missing() -> Row:
        raise _Missing

    for name, job in jobs.items():
        try:
            found[name] = bench.row(name, missing)
        except _Missing:
            left[name] = job
    return found, left
