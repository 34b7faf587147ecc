"""The largest step that meets an accuracy, over the stiffness: what two figures have in common.

Michels, Sobottka & Weber (2014), Sec. 5: 'the maximum possible time step is the one that delivers
the results with an accuracy of 1e-4 compared to the ground truth'; positions are results.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from math import ceil
from typing import Any

import numpy as np

from stiffly.scenes import Scene

from . import equal_error, figures, references
from .bench import Bench, Row
from .harness import Outcome, Record
from .methods import IntegratorMethod
from .report import number, table
from .tight import Reference, stable_step

AFFORDABLE = 400  # steps of a run from which BDF-1's largest step is extrapolated
EXTRAPOLATED, BOUND = "extrapolated", "stability limit"
LIMITS = {"rk4": 2.0**0.5, "verlet": 1.0}  # of Verlet's largest stable step
METHODS = ("neti", "exprb42", "bdf1", "midpoint", "rk4", "verlet")

NOTES = f"""\
Where BDF-1 would take too long, its step is {EXTRAPOLATED} from a run of {AFFORDABLE} steps: first
order. RK4 and Verlet are then given their stability limits.

Seconds of others over those of exprb42, at their largest steps: {{costs}}.

{{table}}
"""


def position_error(outcome: Outcome, reference: Reference) -> float:
    """|x - x_r|_2 at the end, relative to the largest excursion."""
    return float(np.linalg.norm(outcome.x - reference.x) / reference.scale_x)


def largest_steps(
    bench: Bench, load: Callable[..., Scene], stiffness: float, level: float, limit_s: float
) -> list[Record]:
    """One record per method; its `failure` says where no step met the level in limit_s.

    BDF-1 may need more steps than there is time for; being of first order, it is then judged by
    the error of a run that it can afford.  RK4 and Verlet then get the benefit of the doubt, their
    stability limits at the start.  `variant` says so.
    """
    problem = load(stiffness=stiffness)
    reference = references.solution(problem, bench)
    found = []
    for name in METHODS:
        method = IntegratorMethod(name, label=f"{name}, k {stiffness:.0e}")
        options: dict[str, Any] = {"error": position_error, "repeats": 1, "limit_s": limit_s}
        met = equal_error.cheapest(bench, problem, method, reference, (level,), **options)[level]
        if name == "bdf1" and met.failure:
            job = partial(_by_order, problem, method, reference, level)
            met = Record(**bench.row(f"{problem.name}: {method.name}, by its order", job))
        elif name in LIMITS and met.failure:
            met = Record(method.name, LIMITS[name] * stable_step(problem), variant=BOUND)
        found.append(met)
    return found


def _by_order(problem: Scene, method: IntegratorMethod, reference: Reference, level: float) -> Row:
    h = problem.duration / AFFORDABLE
    began = time.perf_counter()
    outcome = method(problem, h)
    seconds = time.perf_counter() - began
    more = position_error(outcome, reference) / level
    steps = ceil(AFFORDABLE * more)
    record = Record(method.name, h / more, seconds=seconds * more, steps=steps)
    return asdict(replace(record, variant=EXTRAPOLATED))


class Ladder:
    """Records by stiffness and method; load(stiffness=k) is the scene."""

    def __init__(
        self,
        bench: Bench,
        load: Callable[..., Scene],
        stiffness: Sequence[float],
        level: float,
        limit_s: float,
    ) -> None:
        self.rows = {k: largest_steps(bench, load, k, level, limit_s) for k in stiffness}
        self.stiffness = np.array(sorted(self.rows))

    @property
    def records(self) -> list[Record]:
        return [record for k in self.stiffness for record in self.rows[k]]

    def record(self, k: float, method: str) -> Record:
        return self.rows[k][METHODS.index(method)]

    def steps(self, method: str) -> np.ndarray:
        """Largest steps [s] by stiffness; nan where none was found in time."""
        own = [self.record(k, method) for k in self.stiffness]
        return np.array([np.nan if r.failure else r.step for r in own])

    def exponential(self) -> np.ndarray:
        """The better of neti, which the paper has, and exprb42."""
        return np.fmax(self.steps("neti"), self.steps("exprb42"))

    def ahead(self, other: str) -> np.ndarray:
        """Orders of magnitude between `exponential` and the largest steps of another method."""
        return np.log10(self.exponential() / self.steps(other))

    def slope(self, method: str) -> float:
        """d log h / d log k, fitted; nan where fewer than two points are known."""
        h = self.steps(method)
        known = np.isfinite(h)
        if known.sum() < 2:
            return float("nan")
        return float(np.polyfit(np.log10(self.stiffness[known]), np.log10(h[known]), 1)[0])

    def exponents(self) -> str:
        """The slopes in words."""
        if len(self.stiffness) < 2:
            return "one value of k tells none"
        return ", ".join(f"{name} {self.slope(name):.2f}" for name in METHODS)

    def costs(self, one: str, other: str) -> str:
        """Seconds of `other` over those of `one` at these steps, stiffness by stiffness."""
        words = []
        for k in self.stiffness:
            a, b = self.record(k, one), self.record(k, other)
            if a.seconds and b.seconds and not (a.failure or b.failure):
                words.append(f"{b.seconds / a.seconds:.2g} at {k:.0e}")
        return ", ".join(words) or "none in common"

    def notes(self, text: str, duration: float) -> str:
        """The text, with {exponents} and as {ladder} costs and steps of all methods."""
        rivals = {"RK4": "rk4", "Verlet": "verlet", "midpoint": "midpoint", "BDF-1": "bdf1"}
        costs = [f"{title} {self.costs('exprb42', name)}" for title, name in rivals.items()]
        more = NOTES.format(costs=";\n".join(costs), table=self.table())
        return text.format(duration=duration, exponents=self.exponents(), ladder=more)

    def table(self) -> str:
        rows = [
            (f"{k:.0e}", *(_cell(self.record(k, name)) for name in METHODS)) for k in self.stiffness
        ]
        head = "Largest steps [s] (steps, forces, products, factorisations; seconds):\n\n"
        return head + table(" | ".join(("k [N/m]", *METHODS)), rows)


def _cell(r: Record) -> str:
    if r.failure or r.variant:
        return r.failure or f"{r.step:.2g} ({r.variant})"
    counts = f"{r.steps:,}, {r.force_evaluations:,}, {r.operator_products:,}, {r.factorizations:,}"
    return f"{r.step:.2g} ({counts}; {number(r.seconds)})"


def words(values: Sequence[float] | np.ndarray) -> str:
    """Orders of magnitude in a row, for a table cell."""
    return ", ".join("?" if np.isnan(v) else f"{v:.1f}" for v in values)


def draw(found: Ladder, title: str) -> Any:
    """The paper's axes: largest step over stiffness, both logarithmic."""
    figure, axis = figures.panel(title, 7.0)
    for method in METHODS:
        steps, (color, marker) = found.steps(method), figures.apart(method)
        axis.loglog(found.stiffness, steps, **figures.marked(method))
        guess = [bool(found.record(k, method).variant) for k in found.stiffness]
        axis.plot(found.stiffness[guess], steps[guess], marker, color=color, mfc="white")
    figures.finish(axis, "stiffness k [N/m]   (hollow: not run, see the table)", "largest step [s]")
    return figure
