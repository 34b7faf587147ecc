"""How much of a run has to be seen before its error at the end can be told?

Whoever chooses a step beforehand forecasts an error.  Steps of a method of order p that cost 1.2
times the right ones have 1.2^p times less error: 1.44 for Verlet, 2.07 for RK4.  So closely the
forecast must hold, by any safety factor.  Here the beginning of a run is gone through twice, with
steps of h and of h/2; what they differ by is the error so far, and it is taken to grow in
proportion to time.  The true error is known from a reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stiffly import scenes
from stiffly.contracts import State, System
from stiffly.errors import SimulationFailure
from stiffly.integrators import integrator
from stiffly.run.stepper import quiet
from stiffly.scenes import Scene

from . import figures, parallel, references, rivals
from .bench import Bench, Row
from .equal_error import cheapest
from .equal_error_all import LEVELS, REFERENCE_LIMIT, problem_of
from .harness import Record
from .methods import IntegratorMethod
from .report import UNTESTED, Claim, Report, table, verdict
from .tight import Reference, stable_step

METHODS = ("verlet", "rk4")
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # of a run, from its start
SHORT = 0.05  # of it: what a pilot may look at, at three times the price
CLOSE, MOST = 1.2, 0.8  # wanted: so close to the best cost, in this share of the cases
ACCURATE = 0.7  # of Verlet's stability limit: longer steps are chosen by stability
LIMIT = 2.0  # seconds of one run
LEAST = 1e-3  # of the true error: less is drawn as this
QUICK_SCENES = {"fput": 2.0, "two-springs": 2.0, "squats": 0.5}
TABLE = """\
Forecast over true error, by the share of the run that was seen, and how many cases lie within the
best interval of that width.

"""
Cases = dict[str, dict[str, list[float]]]  # method, case, forecast over truth by share


def run(bench: Bench) -> Report:
    names = list(QUICK_SCENES) if bench.quick else list(scenes.NAMES)
    found = parallel.rows(bench, {name: (rows_of, (name, bench.quick)) for name in names})
    return report_of(found, bench.quick)


def rows_of(name: str, quick: bool) -> Row:
    """One scene: for every method and level the forecasts, over the true error, by share."""
    if quick:
        problem = scenes.load(name, small=True, duration=QUICK_SCENES[name])
    else:
        problem = problem_of(name, quick)
    system, start = problem.system.bind(problem.x0, problem.v0)
    if system.settles:
        return {"why": "something acts between the steps, which cannot be gone through twice"}
    try:
        reference = references.solution(problem, Bench(quick=quick), limit_s=REFERENCE_LIMIT)
    except SimulationFailure as failure:
        return {"why": str(failure)}
    rows: Row = {}
    for method in METHODS:
        for level, record in _right_steps(problem, method, reference).items():
            if record.relative and record.step < ACCURATE * stable_step(problem):
                rows[f"{method} {level:g}"] = {
                    "steps": record.steps,
                    "error": record.relative,
                    "forecast": _forecasts(system, start, record, reference),
                }
    return {"rows": rows}


def _right_steps(problem: Scene, name: str, reference: Reference) -> dict[float, Record]:
    """By level, the longest steps that meet it."""
    method = rivals.verlet(problem) if name == rivals.VERLET else IntegratorMethod(name)
    return cheapest(Bench(), problem, method, reference, LEVELS, repeats=1, limit_s=LIMIT)


def _forecasts(system: System, start: State, record: Record, reference: Reference) -> list[float]:
    """Of the error at the end, over the true one, by the share of the run that was seen."""
    count, order = record.steps, integrator(record.method).order
    ends = [max(1, round(share * count)) for share in SHARES]
    factor = 2.0**order / (2.0**order - 1.0) / (record.relative or np.inf)
    coarse, fine = (_Walk(system, record.method, start) for _ in range(2))
    found: dict[int, float] = {}
    with quiet(system.size):
        for k in range(1, count + 1):
            a, b = coarse.go(record.step, 1), fine.go(0.5 * record.step, 2)
            if k in ends:
                off_x = np.linalg.norm(a.x - b.x) / reference.scale_x
                off_v = np.linalg.norm(a.v - b.v) / reference.scale_v
                found[k] = float(factor * max(off_x, off_v) * count / k)
    return [found[k] for k in ends]


class _Walk:
    """Steps of a method, one after the other."""

    def __init__(self, system: System, name: str, start: State) -> None:
        self.system, self.method, self.state = system, integrator(name), start
        self.memory = self.method.start(system, start)

    def go(self, h: float, count: int) -> State:
        for _ in range(count):
            taken = self.method.step(self.system, self.state, h, self.memory)
            self.state, self.memory = taken.state, taken.memory
        return self.state


# ------------------------------------------------------------------ the page


def report_of(found: Mapping[str, Any], quick: bool) -> Report:
    cases = {name: _of_method(found, name) for name in METHODS}
    return Report(
        title="How much of a run has to be seen before its error can be told",
        source='not a figure of the papers; what integrator="auto" is up against',
        figure=_figure(cases),
        claims=_claims(cases),
        notes=_table(cases) + _left_out(found),
        reduced="three short scenes."
        if quick
        else "every scene in its small variant, some shortened as in equal-error.",
        data={"shares": SHARES, "scenes": dict(found)},
    )


def _of_method(found: Mapping[str, Any], method: str) -> dict[str, list[float]]:
    """Forecasts over truth, by case."""
    return {
        f"{scene} {key.split()[1]}": row["forecast"]
        for scene, rows in found.items()
        for key, row in rows.get("rows", {}).items()
        if key.split()[0] == method
    }


def window(values: Sequence[float], width: float) -> int:
    """The most values in any interval [a, width a]: by a safety factor chosen afterwards."""
    ordered = sorted(value for value in values if value > 0.0)
    ends = np.searchsorted(ordered, width * np.array(ordered), side="right")
    return int(max((end - k for k, end in enumerate(ends)), default=0))


def _hits(cases: Cases, share: float) -> tuple[int, int]:
    """Cases whose error is told closely enough, of all; every method has its safety factor."""
    k, hits, total = SHARES.index(share), 0, 0
    for method, own in cases.items():
        hits += window([values[k] for values in own.values()], _width(method))
        total += len(own)
    return hits, total


def _width(method: str) -> float:
    return CLOSE ** integrator(method).order


def _claims(cases: Cases) -> list[Claim]:
    return [_claim(cases, share) for share in (SHORT, 0.2, 1.0)]


def _claim(cases: Cases, share: float) -> Claim:
    hits, total = _hits(cases, share)
    part = "All" if share == 1.0 else f"The first {share:.0%}"
    said = f"{part} of a run tells its error closely enough for {CLOSE:g}x of the best cost."
    if not total:
        return Claim(said, "no case", UNTESTED)
    return Claim(
        said,
        f"in {hits} of {total} cases ({hits / total:.0%}), by the best safety factor",
        verdict(hits >= MOST * total),
        f"reproduced from {MOST:.0%} of the cases on; a pilot that compares steps of h and h/2 "
        f"costs {3 * share:.0%} of a run for it",
    )


def _table(cases: Cases) -> str:
    lines = []
    for method, own in cases.items():
        columns = list(zip(*own.values(), strict=True))
        counts = [f"{window(c, _width(method))} of {len(c)}" for c in columns]
        spread = [f"{np.quantile(c, 0.1):.2g} to {np.quantile(c, 0.9):.2g}" for c in columns]
        lines.append((method, f"{_width(method):.2f}x", *counts))
        lines.append((f"{method}, 10 to 90 % of the cases", "", *spread))
    head = " | ".join(("method", "wanted within", *(f"{share:.0%}" for share in SHARES)))
    return TABLE + table(head, lines)


def _left_out(found: Mapping[str, Any]) -> str:
    reasons: dict[str, list[str]] = {}
    for name, rows in found.items():
        if "why" in rows:
            reasons.setdefault(rows["why"], []).append(name)
    why = [f"{', '.join(names)} ({reason})" for reason, names in reasons.items()]
    none = [name for name, rows in found.items() if rows.get("rows") == {}]
    text = f"\n\nLeft out: {'; '.join(why)}." if why else ""
    if none:
        text += f"\n\nNo accuracy asks for shorter steps than stability: {', '.join(none)}."
    return text


def _figure(cases: Cases) -> Any:
    title = "The error at the end, forecast from the beginning of a run"
    figure, axes = figures.panels(len(cases), title, size=5.2)
    for axis, (method, own) in zip(axes[0], cases.items(), strict=True):
        color, _ = figures.look(method)
        axis.axhspan(_width(method) ** -0.5, _width(method) ** 0.5, color="#dddddd", zorder=0)
        for values in own.values():
            axis.loglog(SHARES, np.maximum(values, LEAST), color=color, alpha=0.35, linewidth=1.0)
        axis.set_title(f"{method}: grey is as wide as {CLOSE:g}x of the cost allows", fontsize=10)
        axis.set_xlabel("share of the run that was seen")
        axis.set_xticks(SHARES, [f"{share:.0%}" for share in SHARES])
        axis.minorticks_off()
    axes[0, 0].set_ylabel(f"forecast over true error ({LEAST:g}: that or less)")
    return figure
