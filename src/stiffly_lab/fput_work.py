"""Work against precision on the FPUT chain: Luan & Michels (2021), Fig. 2, with more rivals."""

from __future__ import annotations

from dataclasses import replace

from stiffly import scenes

from . import figures, report
from .bench import Bench
from .fput_order import FACTOR, LARGEST, STEPS
from .harness import Record, cost_at, reference, work_precision
from .methods import CvodeMethod, IntegratorMethod, ScipyMethod
from .report import Claim, Report

TOLERANCES = (1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12)
LEVELS = (1e-3, 1e-4, 1e-5, 1e-6)  # errors at which costs are compared

NOTES = """\
Every method has the same compiled force. Steps of the exponential methods and of CVODE are
compiled, and CVODE calls the force through Python; all others step in Python, so that for these 6
coordinates their seconds measure interpreter overhead. The right panel counts force evaluations
instead, which no machine changes (exponential methods also diagonalise a 6 x 6 matrix a step).

Cost at equal error, interpolated (seconds / force evaluations):

{table}"""


def run(bench: Bench) -> Report:
    """CPU time and force evaluations against error, with Verlet, DOP853 and CVODE as rivals."""
    scene = scenes.load("fput")
    problem = replace(scene, duration=5.0 if bench.quick else scene.duration)
    count = 3 if bench.quick else 5
    tiny = tuple(2.0 * h / FACTOR for h in STEPS[:3])
    tolerances = TOLERANCES[:2] if bench.quick else TOLERANCES
    methods = [
        IntegratorMethod("pexprb43"),
        IntegratorMethod("exprb42"),
        IntegratorMethod("rk4", tiny),
        IntegratorMethod("verlet", tuple(0.25 * h for h in tiny[: 2 if bench.quick else 3])),
        ScipyMethod("DOP853", tolerances),
    ]
    if CvodeMethod.available():
        methods.append(CvodeMethod("Adams", tolerances))
    records = work_precision(
        problem,
        methods,
        STEPS[:count],
        reference=reference(problem),
        repeats=1 if bench.quick else 3,
        bench=bench,
    )
    return Report(
        title="Work against precision on the FPUT chain",
        source="Luan & Michels 2021, Sec. 5.1, Fig. 2",
        records=records,
        figure=_figure(records, problem.duration),
        claims=_claims(records),
        notes=NOTES.format(table=_table(records)),
        reduced=_reduced(bench.quick),
        data={"duration": problem.duration, "speedups_over_rk4": _speedups(records)},
    )


def _reduced(quick: bool) -> str:
    words = []
    if quick:
        words.append("T = 5 s instead of 100 s, and fewer steps.")
    if not CvodeMethod.available():
        words.append("CVODE is missing: install stiffly[bench] to include it.")
    return " ".join(words)


def _speedups(records: list[Record], cost: str = "seconds") -> dict[str, dict[str, float]]:
    """What RK4 pays over what each exponential method pays, by error level."""
    found: dict[str, dict[str, float]] = {}
    for method in ("exprb42", "pexprb43"):
        for level in LEVELS:
            ours, theirs = (cost_at(records, name, level, cost) for name in (method, "rk4"))
            if ours and theirs:
                found.setdefault(method, {})[f"{level:g}"] = theirs / ours
    return found


def _claims(records: list[Record]) -> list[Claim]:
    claims = []
    for method, promised in (("pexprb43", 3), ("exprb42", 4)):
        factors = _speedups(records).get(method, {})
        counts = _speedups(records, "force_evaluations").get(method, {})
        text = ", ".join(
            f"{f:.1f} in seconds and {counts[level]:.0f} in force evaluations at error {level}"
            for level, f in factors.items()
        )
        typical = sorted(factors.values())[len(factors) // 2] if factors else 0.0
        checks = (typical > 1.0, typical > 0.7 * promised)  # faster, and by about that much
        verdict = report.verdict(*checks) if factors else report.UNTESTED
        claims.append(
            Claim(
                f"{method} is about {promised} times faster than RK4 at equal accuracy.",
                text or "no error level in common",
                verdict,
                "The steps of this method are compiled, those of RK4 are not, which flatters it; "
                "the count of forces leaves out its 6 x 6 eigenvalue problems.",
            )
        )
    return [*claims, _rivals(records)]


def _rivals(records: list[Record]) -> Claim:
    """The paper compares with RK4 only: who really is the fastest?"""
    names = list(dict.fromkeys(r.method for r in records))
    fastest = []
    for level in LEVELS:
        costs = {name: cost_at(records, name, level) for name in names}
        known = {name: cost for name, cost in costs.items() if cost}
        if known:
            best = min(known, key=lambda name: known[name])
            fastest.append((level, best, known[best]))
    text = "; ".join(f"error {e:g}: {name}, {s:.2g} s" for e, name, s in fastest)
    ours = [name in ("exprb42", "pexprb43") for _, name, _ in fastest]
    return Claim(
        "(not in the paper) The exponential methods are the fastest of all tried here.",
        text or "no error level in common",
        report.verdict(*ours) if ours else report.UNTESTED,
        "DOP853 and CVODE choose their order, or have a high one, which pays at small errors.",
        item="",
    )


def _table(records: list[Record]) -> str:
    def cell(name: str, level: float) -> str:
        seconds = cost_at(records, name, level)
        forces = cost_at(records, name, level, "force_evaluations")
        return f"{seconds:.2g} s / {forces:,.0f}" if seconds and forces else "-"

    names = dict.fromkeys(r.method for r in records)
    head = " | ".join(("method", *(f"error {e:g}" for e in LEVELS)))
    return report.table(head, [(name, *(cell(name, e) for e in LEVELS)) for name in names])


def _figure(records: list[Record], duration: float):
    useful = [r for r in records if r.error is not None and r.error < 10.0 * LARGEST]
    title = f"FPUT chain, T = {duration:g} s: what accuracy costs (lower left is better)"
    figure, axes = figures.panels(2, title, size=5.2)
    for axis, cost, label in (
        (axes[0, 0], "seconds", "wall-clock time [s]"),
        (axes[0, 1], "force_evaluations", "force evaluations"),
    ):
        figures.draw_precision(axis, useful, cost, label)
    axes[0, 0].legend(frameon=False, fontsize=9)
    return figure
