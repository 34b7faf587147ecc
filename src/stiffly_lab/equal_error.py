"""What every method costs at the same error: the largest step (or tolerance) that meets it.

    reference = references.solution(problem, bench)
    found = cheapest(bench, problem, IntegratorMethod("exprb42"), reference, (0.1, 0.01, 1e-4))
    found[0.01].seconds, found[0.01].step, found[0.01].failure

A ladder of settings goes down by factors of two (steps) or ten (tolerances) until the error is met,
and met again one rung further down: one lucky step is not accuracy.  Of steps, the one in between
is then tried too.  Only what is chosen is timed with repeats.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import ceil, inf, isfinite, log2
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from stiffly.contracts import Array
from stiffly.errors import InputError, SimulationFailure
from stiffly.integrators import integrator as find_integrator
from stiffly.scenes import Scene

from . import report
from .bench import Bench, Row
from .harness import REFUSED, Method, Outcome, Record, measure, warm_up
from .references import fingerprint
from .tight import Reference
from .trial import SLOW, granted, processor_seconds, seconds_left, time_limit

Error = Callable[[Outcome, Reference], float]
OUTSIDE = ("SciPy", "CVODE")  # how the names of solvers of others begin
TRUST = 3.0  # a reference must be so many times better than the error that it judges
PATIENCE = 4  # long steps that are too hard to solve in time, before shorter ones are given up
FEW_STEPS = 3  # of the run whose memory is watched


@dataclass
class Search:
    """One method on one problem; runs are made once, whatever level asks for them."""

    bench: Bench
    problem: Scene
    method: Method
    reference: Reference
    error: Error
    limit_s: float
    rungs: list[float]
    runs: dict[int, Record] = field(default_factory=dict)
    spent: dict[int, float] = field(default_factory=dict)
    label: str = ""

    def __post_init__(self) -> None:
        self.label = f"{self.problem.name} {fingerprint(self.problem)[:8]}: {self.method.name}"
        self.stride = 2 if self.method.kind == "step" else 1
        self.strides = sorted({*range(0, len(self.rungs), self.stride), len(self.rungs) - 1})
        integrator = getattr(self.method, "integrator", "rk4")
        self.order = find_integrator(integrator).order

    # ------------------------------------------------------------------ what is asked for

    def timed(self, level: float, repeats: int) -> Record:
        """The record at this level, its run timed `repeats` times and its memory watched."""
        if self.reference.error * TRUST > level:
            return self._none(
                level, f"the reference is good to {self.reference.error:.1g} only: no judge of this"
            )
        rung, why = self._found(level)
        if rung is None:
            return self._none(level, why)
        if repeats <= 1:
            return self.runs[rung]
        setting = self.rungs[rung]
        return self._row(rung, "timed", lambda: self._again(self.runs[rung], setting, repeats))

    def _found(self, level: float) -> tuple[int | None, str]:
        """The first rung that meets the level, in strides and then in between."""
        before: list[int] = []
        for rung in self.strides:
            why = "" if rung in self.runs else self._unaffordable(before, level)
            if why:
                return None, why
            if self._meets(rung, level) and self._confirmed(rung, level):
                between = rung - 1
                finer = self.stride > 1 and before and self._meets(between, level)
                return (between if finer else rung), ""
            if self.runs[rung].variant == REFUSED:
                return None, self.runs[rung].failure or ""
            before.append(rung)
        return None, f"not met down to {self.method.kind} {self.rungs[-1]:.2g}{self._reached()}"

    def _meets(self, rung: int, level: float) -> bool:
        found = self._run(rung).relative
        return found is not None and found <= level

    def _confirmed(self, rung: int, level: float) -> bool:
        """The next rung meets it too, or takes longer than there is time for."""
        below = min(rung + self.stride, len(self.rungs) - 1)
        return self._cut(below) or self._meets(below, level)

    def _cut(self, rung: int) -> bool:
        return "time limit" in (self._run(rung).failure or "")

    # ------------------------------------------------------------------ when to give up

    def _unaffordable(self, before: Sequence[int], level: float) -> str:
        """Why it is no use to go on after these rungs, or nothing."""
        done = [rung for rung in before if self.runs[rung].relative is not None]
        slow = [rung for rung in before if self._cut(rung)]
        out = bool(slow) and slow[-1] == before[-1] and (bool(done) or len(slow) >= PATIENCE)
        if out or (done and self._predicted(done) > granted(self.limit_s)):
            return f"not within {self.limit_s:g} s{self._reached()}"
        return self._hopeless(done, level)

    def _predicted(self, done: Sequence[int]) -> float:
        """Seconds of the next rung. Half the step is twice the work, but for implicit methods at
        long steps, which may be harder to solve than twice as many: what was seen last counts."""
        most = 2.0 if self.stride > 1 else 1.5  # a tenth of the tolerance, of methods of order 5
        return self.spent[done[-1]] * min(self._growth(done), most)

    def _growth(self, done: Sequence[int]) -> float:
        if len(done) < 2:
            return 1.0
        return max(1.0, self.spent[done[-1]] / max(self.spent[done[-2]], 1e-9))

    def _hopeless(self, done: Sequence[int], level: float) -> str:
        """If the error fell at the method's order from here on: what would the level take?"""
        if self.stride == 1 or len(done) < 2 or self._growth(done) < 1.5:
            return ""
        coarse, fine = (self.runs[rung].relative or 0.0 for rung in done[-2:])
        if not 0.0 < fine < 0.3:
            return ""
        seen = log2(coarse / fine) if coarse > fine else 0.0
        halvings = log2(fine / level) / max(seen, self.order)
        if self.spent[done[-1]] * 2.0**halvings > 2.0 * granted(self.limit_s):
            return f"not within {self.limit_s:g} s, by its order{self._reached()}"
        return ""

    def _reached(self) -> str:
        found = [r.relative for r in self.runs.values() if r.relative is not None]
        if found and min(found) < 10.0:
            return f"; reached {min(found):.2g}"
        last = self.runs[max(self.runs)].failure or "far off"
        return "" if "time limit" in last else f"; {last.partition(';')[0]}"

    def _none(self, level: float, why: str) -> Record:
        tried = min(self.runs, key=lambda k: self.rungs[k]) if self.runs else 0
        return Record(self.method.name, self.rungs[tried], self.method.kind, failure=why)

    # ------------------------------------------------------------------ runs

    def _run(self, rung: int) -> Record:
        if rung not in self.runs:
            setting = self.rungs[rung]
            self.runs[rung] = self._row(rung, "", lambda: self._measured(setting, 1))
        return self.runs[rung]

    def _row(self, rung: int, word: str, job: Callable[[], dict[str, Any]]) -> Record:
        name = f"{self.label}, {self.method.kind} {self.rungs[rung]:.12g} {word}".strip()
        found = dict(self.bench.row(name, job))
        self.spent[rung] = found.pop("spent")
        return Record(**found)

    def _again(self, known: Record, setting: float, repeats: int) -> Row:
        """Timed with repeats, unless it is slow: then one time is as good; and its memory."""
        found = asdict(known)
        if (known.seconds or 0.0) <= SLOW:
            again = self._measured(setting, repeats)
            found = found if again["failure"] else again  # it was in time before, if barely
        return {
            "spent": known.seconds,
            **found,
            "memory": peak_memory(self.problem, self.method, setting),
        }

    def _measured(self, setting: float, repeats: int) -> Row:
        problem, method, reference = self.problem, self.method, self.reference
        if not self.runs:
            with time_limit(self.limit_s):
                warm_up(problem, method, setting)
        began = processor_seconds()
        with time_limit(self.limit_s * repeats):
            record, outcome = measure(problem, method, setting, (reference.x, reference.v), repeats)
        spent = (processor_seconds() - began) / repeats
        if outcome is not None:
            record = self._judged(record, outcome)
        return {**asdict(record), "spent": spent}

    def _judged(self, record: Record, outcome: Outcome) -> Record:
        off = self.error(outcome, self.reference)
        yardstick = outcome.exchanged if isfinite(outcome.exchanged) else self.reference.energy
        energy = outcome.drift / yardstick if yardstick > 0.0 else float("nan")
        return replace(
            record,
            relative=off if isfinite(off) else None,
            energy_relative=energy if isfinite(energy) else None,
            spin=spin_error(self.problem, outcome, self.reference),
        )


def peak_memory(problem: Scene, method: Method, setting: float) -> int | None:
    """Bytes that Python and NumPy hold at most during a few steps, in a run of its own.

    What compiled libraries allocate for themselves (SUNDIALS, LAPACK) is not seen.
    """
    few = FEW_STEPS * setting if method.kind == "step" else 0.01 * problem.duration
    tracemalloc.start()
    try:
        with time_limit(60.0):
            method(replace(problem, duration=min(problem.duration, few)), setting)
        return tracemalloc.get_traced_memory()[1]
    except (SimulationFailure, InputError):
        return None
    finally:
        tracemalloc.stop()


def spin_error(problem: Scene, outcome: Outcome, reference: Reference) -> float | None:
    """|L - L_r| of the angular momenta about the centre of mass, over the largest that |L_r| could
    be with these positions and speeds; None where there are no masses in space."""
    mass = getattr(problem.system, "particle_mass", None)
    if mass is None or outcome.x.ndim != 2 or not np.any(mass):
        return None
    ours, _ = _spin(mass, outcome.x, outcome.v)
    exact, most = _spin(mass, reference.x, reference.v)
    off = float(np.linalg.norm(ours - exact) / most) if most > 0.0 else float("nan")
    return off if isfinite(off) else None


def _spin(mass: Array, x: Array, v: Array) -> tuple[Array, float]:
    r, w = (a - mass @ a / mass.sum() for a in (x, v))
    sizes = [np.sqrt(mass @ np.sum(a**2, axis=1)) for a in (r, w)]
    return mass @ np.cross(r, w), float(sizes[0] * sizes[1])


TOLERANCES = tuple(10.0**-k for k in range(1, 14))
BRIEF, LOST = 3.0, 3.0  # seconds; times the seconds of the best so far


def relative_error(outcome: Outcome, reference: Reference) -> float:
    """The larger of |x - xr|_2/scale_x and |v - vr|_2/scale_v, at the end."""
    off_x = np.linalg.norm(outcome.x - reference.x) / reference.scale_x
    off_v = np.linalg.norm(outcome.v - reference.v) / reference.scale_v
    return float(max(off_x, off_v))


def position_error(outcome: Outcome, reference: Reference) -> float:
    """|x - x_r|_2 at the end, relative to the largest excursion."""
    return float(np.linalg.norm(outcome.x - reference.x) / reference.scale_x)


EXTRAPOLATED = "extrapolated"  # variant of a record


def by_order(
    problem: Scene, method: Method, reference: Reference, level: float, error: Error, steps: int
) -> Record:
    """What a method of first order would take for the level, from a run that it can afford."""
    h = problem.duration / steps
    began = processor_seconds()
    outcome = method(problem, h)
    spent = processor_seconds() - began
    more = error(outcome, reference) / level
    return Record(
        method.name, h / more, seconds=spent * more, steps=ceil(steps * more), variant=EXTRAPOLATED
    )


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


def share(cells: Iterable[Mapping[str, float]]) -> str:
    """In how many cells the best of ours is at least as fast as the best of SciPy and SUNDIALS;
    cells: the seconds of all methods that met the error."""
    first, of = counted(cells)
    percent = f" ({first / of:.0%})" if of else ""
    return (
        "the best of ours is at least as fast as the best of SciPy and SUNDIALS in "
        f"{first} of {of} cells in which somebody arrives{percent}."
    )


def counted(cells: Iterable[Mapping[str, float]]) -> tuple[int, int]:
    """Cells in which the best of ours is at least as fast, and those in which somebody arrives."""
    met = [seconds for seconds in cells if seconds]

    def best(seconds: Mapping[str, float], outside: bool) -> float:
        own = (s for name, s in seconds.items() if name.startswith(OUTSIDE) is outside)
        return min(own, default=inf)

    return sum(best(seconds, False) <= best(seconds, True) for seconds in met), len(met)


def winners(
    rows: Mapping[str, Mapping[float, Record]], level: float, cost: str = "seconds"
) -> list[tuple[str, float]]:
    """Methods that meet the level and what each pays, the cheapest first."""
    met = {n: f[level] for n, f in rows.items() if level in f and f[level].failure is None}
    costs = [(name, float(getattr(record, cost) or 0.0)) for name, record in met.items()]
    return sorted(costs, key=lambda pair: pair[1])
