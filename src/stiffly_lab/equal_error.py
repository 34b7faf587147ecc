"""What every method costs at the same error: the largest step (or tolerance) that meets it.

    reference = references.solution(problem, bench)
    found = cheapest(bench, problem, IntegratorMethod("exprb42"), reference, (0.1, 0.01, 1e-4))
    found[0.01].seconds, found[0.01].step, found[0.01].failure

A ladder of settings goes down by factors of two (steps) or ten (tolerances) until the error is met,
and met again one rung further down: one lucky step is not accuracy.  Of steps, the one in between
is then tried too.  Only what is chosen is timed with repeats.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from stiffly.scenes import Scene

from . import report
from .bench import Bench
from .harness import Method, Outcome, Record
from .step_search import Error, Search
from .tight import Reference
from .time_limit import seconds_left, time_limit

TOLERANCES = tuple(10.0**-k for k in range(1, 14))
BRIEF, LOST = 3.0, 3.0  # seconds; times the seconds of the best so far


def relative_error(outcome: Outcome, reference: Reference) -> float:
    """The larger of |x - xr|_2/scale_x and |v - vr|_2/scale_v, at the end."""
    off_x = np.linalg.norm(outcome.x - reference.x) / reference.scale_x
    off_v = np.linalg.norm(outcome.v - reference.v) / reference.scale_v
    return float(max(off_x, off_v))


def ladder(problem: Scene) -> list[float]:
    """Steps from half the duration down by sqrt(2) each; whole numbers of them make it up."""
    return [problem.duration / round(2.0 ** (1.0 + 0.5 * k)) for k in range(56)]


def cheapest(
    bench: Bench,
    problem: Scene,
    method: Method,
    reference: Reference,
    levels: Sequence[float],
    *,
    settings: Sequence[float] | None = None,
    error: Error = relative_error,
    repeats: int = 3,
    limit_s: float = 60.0,
) -> dict[float, Record]:
    """For every level the record of the largest setting that meets it; `failure` where none does.

    settings: the ladder; default: the method's own steps, `ladder`, or powers of ten for rtol.
    limit_s: of one run; a level whose predicted cost is above it counts as not met.
    """
    levels = sorted(levels, reverse=True)

    def search(which: Method, limit_s: float) -> Search:
        rungs = settings
        if rungs is None:
            rungs = TOLERANCES if which.kind == "rtol" else which.settings or ladder(problem)
        return Search(bench, problem, which, reference, error, limit_s, sorted(rungs)[::-1])

    alternatives = getattr(method, "alternatives", None)
    if not alternatives:
        own = search(method, limit_s)
        return {level: own.timed(level, repeats) for level in levels}
    each, worst = [], 0.0
    for which in alternatives:
        # who takes several times as long as another has for the hardest level cannot win
        each.append(search(which, min(limit_s, max(BRIEF, LOST * worst)) if worst else limit_s))
        tried = each[-1].timed(levels[-1], 1)
        worst = min(worst or np.inf, tried.seconds) if tried.seconds else worst
    return {level: _best(method.name, each, level, repeats) for level in levels}


def _best(name: str, searches: Sequence[Search], level: float, repeats: int) -> Record:
    found = [search.timed(level, 1) for search in searches]
    met = [k for k, record in enumerate(found) if record.failure is None]
    if not met:
        why: dict[str, list[str]] = {}
        for r in found:
            why.setdefault((r.failure or "").partition(";")[0], []).append(r.method)
        told = "; ".join(f"{', '.join(who)}: {reason}" for reason, who in why.items())
        return replace(found[0], method=name, failure=told)
    best = min(met, key=lambda k: found[k].seconds or np.inf)
    return replace(searches[best].timed(level, repeats), method=name, variant=found[best].method)


def granted_time(
    granted: float,
    problem: Scene,
    method: Method,
    reference: Reference,
    levels: Sequence[float],
    repeats: int,
    limit_s: float,
    settings: Sequence[float] | None = None,
) -> dict[float, Record]:
    """`cheapest`, with so many seconds for all of the method's runs together."""
    with TemporaryDirectory() as folder:  # its runs are known when they are asked for again
        given = (Bench(folder=Path(folder)), problem, method, reference, levels)
        with time_limit(granted):
            found = cheapest(*given, repeats=repeats, limit_s=limit_s, settings=settings)
            if seconds_left() > 0.0:
                return found
        with time_limit(0.0):  # no time to repeat what met a level: its first run counts
            once = cheapest(*given, repeats=1, limit_s=limit_s, settings=settings)
    late = f"not with {granted:.3g} s for all of its runs"
    return {e: _first_met(found[e], once[e], late) for e in levels}


def _first_met(repeated: Record, once: Record, late: str) -> Record:
    met = next((r for r in (repeated, once) if r.failure is None), None)
    return met or replace(repeated, failure=late)


# ------------------------------------------------------------------ Markdown


def table(rows: Mapping[str, Mapping[float, Record]], levels: Sequence[float]) -> str:
    """One line per method; per level what the largest setting costs, and times the winner's."""
    lines = []
    best = {level: found[0][1] for level in levels if (found := winners(rows, level))}
    for name, found in rows.items():
        cells = [cell(found[e], best.get(e)) if e in found else "" for e in levels]
        same = len(set(cells)) == 1  # the same refusal at every level: said once
        lines.append([name, *(cells[:1] if same else cells)])
    return report.table(" | ".join(("method", *(f"error {100 * e:g} %" for e in levels))), lines)


def cell(r: Record, best: float | None = None) -> str:
    """Seconds, setting, counts, memory, energy and angular-momentum error of one record."""
    if r.failure is not None:
        return r.failure.replace("|", "/")
    seconds = r.seconds or 0.0
    word = f"rtol {r.step:.0e}" if r.kind == "rtol" else f"h = {r.step:.3g}"
    parts = [f"**{seconds:.3g} s**", f"{word} ({r.variant})" if r.variant else word]
    if best:
        parts.insert(1, f"{seconds / best:.3g}x")
    counts = (r.force_evaluations, r.operator_products, r.factorizations)
    parts.append(" / ".join(f"{n:,}" for n in counts))
    if r.memory is not None:
        parts.append(f"{r.memory / 1e6:.2g} MB")
    named = (("E", r.energy_relative), ("L", r.spin))
    parts += [f"{letter} {value:.0e}" for letter, value in named if value is not None]
    return ", ".join(parts)


def winners(
    rows: Mapping[str, Mapping[float, Record]], level: float, cost: str = "seconds"
) -> list[tuple[str, float]]:
    """Methods that meet the level and what each pays, the cheapest first."""
    met = {n: f[level] for n, f in rows.items() if level in f and f[level].failure is None}
    costs = [(name, float(getattr(record, cost) or 0.0)) for name, record in met.items()]
    return sorted(costs, key=lambda pair: pair[1])
