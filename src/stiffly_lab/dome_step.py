"""The largest step over the stiffness ratio of a dome: Michels, Sobottka & Weber (2014), Fig. 22c.

The dome is a linear model in a constant field: every method is measured mode by mode (modes.py), in
displacements, which a stiffness of 1e24 N/m does not round away as it does positions.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from stiffly import scenes

from . import figures, report
from .bench import Bench, Row
from .modes import Modes, after, deviation, exact, modes_of, step_maps
from .report import Claim, Report, judged
from .trial import trial

BORDER = 1e12  # N/m, the paper's k_min
ACCURACY = 1e-4  # the paper's: relative, against the ground truth
SWINGS = 10.0  # of the slowest main mode: the time simulated
ORDERS = 5.0  # of magnitude: the paper's
PER_DECADE = 4  # steps tried
METHODS = ("eti", "eti:rest", "exprb42", "bdf1", "midpoint", "rk4", "verlet")
LIMITS = {"rk4": 8.0**0.5, "verlet": 2.0}  # of omega h: no larger step needs to be tried
SOFT = 50.0  # N/m, a border whose displacements positions can hold
FULL = "Ratios up to 1e12; the paper's go to 1e20, where doubles hold the shell alone."
QUICK = f"6 rings of 22 instead of 930 particles, three ratios, r{FULL[1:]}"

NOTES = f"""\
Error: displacement of all particles at the end of {SWINGS:g} slow swings, relative to the static
displacement; dashed: velocities must be right to {ACCURACY:g}, too. A step counts if it and the
next smaller one of the ladder ({PER_DECADE} per decade) meet {ACCURACY:g}. Ground truth is the
exact motion of the modes: the paper's, the same method at 1e-10 s, is larger than the steps in
question.

At these ratios the shell is the stiff part: its modes move by k_min/k of what the border's modes
do. A method that loses them altogether is wrong by that share only. So the slow border sets the
step of every implicit and every exponential method, whatever the ratio is, and stiffness alone sets
that of RK4 and Verlet: (k/k_min)^(-1/2), half an order for every order of the ratio. Velocities
of the shell are (k_min/k)^(1/2) of the border's, so that they matter up to a ratio of 1e8.
exprb42 and eti, with the load in its reference, are exact here: the whole time in one step. The
step of eti about the rest shape (eti:rest, the paper's equation) is set by its filter, that of
BDF-1 by its damping, h omega^2 T / 2 = {ACCURACY:g}.

The orders of magnitude between the methods depend on how long one simulates: BDF-1's step falls
as 1/T, that of midpoint as 1/sqrt(T). The paper does not give T.

What would make the second and the third claim true for BDF-1: to judge the shell's vibrations by
their own size, however small. Its step would then fall as 1/k by the same formula, and that of an
exact method not at all. The fourth could not be: an explicit step of fourth order would fall as
k^(-5/8) then (h^4 omega^5 T / 120 = {ACCURACY:g}), ten orders from 1e4 to 1e20, not twenty.

A dome with a border of {SOFT:g} N/m obeys the same equations in slower time, and positions can
hold its displacements: there the program's own runs and the maps agree to {{agree:.1g}} of the
displacement after {{steps}} steps (eti, BDF-1, RK4).

Double precision: the border's share of K is k_min/k. Frequencies of the slow modes are good to
1e-15 k/k_min, a thousandth at a ratio of 1e12; beyond 1e15 the border is lost in rounding, and with
it the only motion there is to see. The largest steps do not depend on the last digits.

Largest steps [s] (in brackets: with velocities right, too):

{{table}}"""


def run(bench: Bench) -> Report:
    """Largest steps that meet 1e-4 for six methods, ratios from 1e4 on."""
    size: dict[str, Any] = {"rings": 6, "around": 22} if bench.quick else {}
    ratios = [1e4, 1e8, 1e12] if bench.quick else [10.0**e for e in range(4, 13, 2)]
    bench.plan(1)
    rows = bench.rows("ratio {:.0e}", partial(_largest_steps, size), [(r,) for r in ratios])
    check = bench.row("own runs", partial(_check, size))
    return Report(
        title="Largest step over the stiffness ratio of a dome",
        source="Michels, Sobottka & Weber 2014, Sec. 5.2, Fig. 22c",
        figure=_figure(ratios, rows),
        claims=_claims(np.array(ratios), rows),
        notes=NOTES.format(
            agree=max(check["difference"].values()),
            steps=check["steps"],
            table=_table(ratios, rows),
        ),
        reduced=QUICK if bench.quick else FULL,
        data={"ratios": ratios, "rows": rows, "own_runs": check},
    )


# ------------------------------------------------------------------ rows


def _largest_steps(size: dict[str, Any], ratio: float) -> Row:
    scene = scenes.load("dome", border=BORDER, shell=BORDER * ratio, **size)
    modes = modes_of(scene)
    duration = SWINGS * 2.0 * np.pi / float(modes.main()[0])
    found: Row = {"duration": duration, "omega": modes.omega[[0, -1]]}
    for method in METHODS:
        found[method] = _largest(modes, method, duration)
    return found


def _largest(modes: Modes, method: str, duration: float) -> dict[str, float | None]:
    """The largest step for displacements ('x') and for velocities as well ('both')."""
    truth = exact(modes.omega, duration)
    best: dict[str, float | None] = {"x": None, "both": None}
    passed = {"x": 0.0, "both": 0.0}  # the step before, where it met the accuracy
    for count in _counts(modes, method, duration):
        h = duration / count
        end = after(step_maps(method, modes.omega, h), count)
        x_error, v_error = deviation(modes, end, truth)
        for metric, error in (("x", x_error), ("both", max(x_error, v_error))):
            good = bool(error <= ACCURACY)  # nan, overflow: no
            if best[metric] is None and good and (passed[metric] or count == 1):
                best[metric] = passed[metric] or h
            passed[metric] = h if good else 0.0
        if best["both"] is not None:
            break
    return best


def _counts(modes: Modes, method: str, duration: float) -> list[int]:
    """Numbers of steps, PER_DECADE of them to a decade."""
    first = 0
    if method in LIMITS:  # the last unstable one is where to begin
        first = int(PER_DECADE * np.log10(duration * modes.omega[-1] / LIMITS[method])) - 1
    exponents = np.arange(max(first, 0), max(first, 0) + 12 * PER_DECADE)
    return list(dict.fromkeys(int(np.ceil(10.0 ** (e / PER_DECADE))) for e in exponents))


def _check(size: dict[str, Any]) -> Row:
    """The program's own runs of a soft dome of ratio 1e4 beside the maps."""
    scene = scenes.load("dome", border=SOFT, shell=1e4 * SOFT, **size)
    modes, steps = modes_of(scene), 50
    difference = {}
    for method, h in (
        ("eti", 0.01),
        ("eti:rest", 0.01),
        ("bdf1", 0.01),
        ("rk4", 2.0 / modes.omega[-1]),
    ):
        run = trial(scene, integrator=method, step=h, duration=steps * h, every=steps * h)
        start, end = (scene.system.bind(x, scene.v0)[1].x for x in (scene.x0, run.positions[-1]))
        moved = end - start
        y = after(step_maps(method, modes.omega, h), steps)[:, 0]
        expected = modes.shapes @ (modes.deflection * y)
        difference[method] = float(np.abs(moved - expected).max() / np.abs(expected).max())
    return {"steps": steps, "difference": difference}


# ------------------------------------------------------------------ reading them


def orders_apart(rows: list[Row], one: str, other: str) -> list[float]:
    """log10 of the quotient of the largest steps, ratio by ratio."""
    return [float(np.log10(row[one]["x"] / row[other]["x"])) for row in rows]


def slope(ratios: Any, rows: list[Row], method: str, metric: str = "x") -> float:
    """d log h / d log ratio, fitted."""
    steps = [row[method][metric] for row in rows]
    return float(np.polyfit(np.log10(ratios), np.log10(steps), 1)[0])


def _claims(ratios: Any, rows: list[Row]) -> list[Claim]:
    bdf1, rk4 = (orders_apart(rows, "eti", name) for name in ("bdf1", "rk4"))
    plain = orders_apart(rows, "eti:rest", "bdf1")
    decades = float(np.log10(ratios[-1] / ratios[0]))
    span = f"from ratio {ratios[0]:.0e} to {ratios[-1]:.0e}"
    falls = {name: slope(ratios, rows, name) for name in METHODS}
    return [
        judged(
            "At k/k_min = 1e4 the steps of the exponential integrator and BDF-1 differ by five "
            "orders of magnitude.",
            f"eti and BDF-1 {bdf1[0]:.1f} orders, as the paper writes it (eti:rest) {plain[0]:.1f}",
            (bdf1[0] >= ORDERS, plain[0] >= ORDERS),
            "By that much or more, in both forms.",
            "About the rest shape its filter sets the step, and with the load in its reference "
            "nothing does; how far BDF-1 is behind depends on the time, which the paper omits.",
        ),
        judged(
            "The difference to BDF-1 grows to more than ten orders beyond a ratio of 1e20.",
            f"{span}: from {bdf1[0]:.1f} to {bdf1[-1]:.1f} orders, eti:rest from {plain[0]:.1f} to "
            f"{plain[-1]:.1f}",
            (bdf1[-1] - bdf1[0] >= decades * 5.0 / 16.0,),
            "It grows with the stiffness of the shell.",
            "Stiffer springs move less, and BDF-1 loses nothing but their motion.",
        ),
        judged(
            "The largest steps of the exponential integrator and of BDF-1 fall linearly (log-log).",
            f"exponents: eti {falls['eti']:.2f}, eti:rest {falls['eti:rest']:.2f}, exprb42 "
            f"{falls['exprb42']:.2f}, BDF-1 {falls['bdf1']:.2f}, midpoint {falls['midpoint']:.2f}",
            (max(falls["eti"], falls["eti:rest"]) < -0.1, falls["bdf1"] < -0.1),
            "They are set by the shell.",
            "They are set by the border, whose stiffness stays.",
        ),
        judged(
            "RK4 falls back from ten to almost 30 orders, forced to follow the largest frequency.",
            f"{span}: from {rk4[0]:.1f} to {rk4[-1]:.1f} orders behind eti; exponent "
            f"{falls['rk4']:.2f} (Verlet {falls['verlet']:.2f})",
            (abs(falls["rk4"] + 0.5) < 0.05, rk4[-1] - rk4[0] > decades),
            "It follows the largest frequency.",
            "It does follow the largest frequency, but that grows with the root of k: 16 orders of "
            "k cost 8 orders of step, not 20.",
        ),
    ]


def _table(ratios: list[float], rows: list[Row]) -> str:
    cells = [
        (f"{ratio:.0e}", f"{row['duration']:.3g}", *(_cell(**row[m]) for m in METHODS))
        for ratio, row in zip(ratios, rows, strict=True)
    ]
    return report.table(" | ".join(("k/k_min", "T [s]", *METHODS)), cells)


def _cell(x: float | None, both: float | None) -> str:
    return f"{f'{x:.2g}' if x else 'none'} ({both or float('nan'):.2g})"


def _figure(ratios: list[float], rows: list[Row]):
    figure, axis = figures.panel("Dome, k_min = 1e12 N/m: largest step for 1e-4", 7.0)
    for method in METHODS:
        color, marker = figures.apart(method)
        for metric, style in (("x", "-"), ("both", "--")):
            steps = [row[method][metric] or np.nan for row in rows]
            label = method if metric == "x" else None
            axis.loglog(ratios, steps, style, color=color, marker=marker, label=label)
    figures.finish(axis, "k / k_min   (dashed: velocities right, too)", "largest step [s]")
    return figure
