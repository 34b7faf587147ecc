"""Conservation of energy on the FPUT chain: Luan & Michels (2021), Figs. 3 and 4."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from stiffly import scenes

from . import figures, report
from .bench import Bench, Row
from .energy_history import energy_history, records, total
from .report import Claim, Report

STEP = 0.01
FRAMES_PER_SECOND = 2.0
EXACT = 2.500300005
# (integrator, step): Fig. 3 compares at STEP, Fig. 4 shrinks the steps of the two that lose.
SHARED = [("exprb2", STEP), ("pexprb43", STEP), ("exprb42", STEP), ("rk4", STEP)]
FINER = [("exprb2", 0.005), ("exprb2", 0.001), ("rk4", 0.001), ("rk4", 0.00025)]
SHARED_ITEM, FINER_ITEM = "Luan 2021, Fig. 3", "Luan 2021, Fig. 4"

NOTES = """\
The energy of the start is {energy:.9f}; the paper computes 2.500300005 by hand.
What is plotted is the ledger's numerical error, total energy less its start, at {frames} frames."""


def run(bench: Bench) -> Report:
    """Energy error over time for exprb2, pexprb43, exprb42 and RK4, and at smaller steps."""
    scene = scenes.load("fput")
    duration = 5.0 if bench.quick else scene.duration
    job = partial(energy_history, scene, duration=duration, every=1.0 / FRAMES_PER_SECOND)
    found = bench.rows("{}, step {:g}", job, [*SHARED, *FINER])
    energy = float(total(found[0])[0])
    return Report(
        title="Conservation of energy on the FPUT chain",
        source="Luan & Michels 2021, Sec. 5.1, Figs. 3 and 4",
        records=records(found),
        figure=_figure(found, duration),
        claims=_claims(found),
        notes=NOTES.format(energy=energy, frames=len(found[0]["times"])),
        reduced=f"T = {duration:g} s instead of 100 s." if bench.quick else "",
        data={
            "duration": duration,
            "energy": energy,
            "series": [
                {k: row[k] for k in ("method", "step", "times", "numerical")} for row in found
            ],
        },
    )


def _claims(found: list[Row]) -> list[Claim]:
    worst = {(row["method"], row["step"]): row["record"]["energy_drift"] for row in found}
    ours = max(worst["exprb42", STEP], worst["pexprb43", STEP])
    second, classic = worst["exprb2", STEP], worst["rk4", STEP]
    tiny = worst["rk4", 0.00025]
    finer = [worst["exprb2", h] for h in (0.005, 0.001)]
    return [
        Claim(
            "At h = 0.01 exprb42 and pexprb43 keep the energy, and better than exprb2.",
            f"largest error {worst['exprb42', STEP]:.1g} and {worst['pexprb43', STEP]:.1g}, "
            f"exprb2 {second:.1g}, of {EXACT:.4g}",
            report.verdict(ours < 0.1 * second),
            "Order four against order two at the same step.",
            SHARED_ITEM,
        ),
        Claim(
            "RK4 totally fails to conserve the energy at h = 0.01.",
            f"its largest error is {classic:.2g}",
            report.verdict(classic > 100.0 * ours),
            "With omega h = 1 it damps the stiff springs by (omega h)^6/72 of their energy in "
            "every step.",
            SHARED_ITEM,
        ),
        Claim(
            "RK4 needs h = 0.00025, 40 times smaller, for about the same quality.",
            f"its error there is {tiny:.1g}, {tiny / ours:.2g} times the exponential methods'",
            report.verdict(0.1 < tiny / ours < 10.0),
            "About the same: within a factor of ten.",
            FINER_ITEM,
        ),
        Claim(
            "exprb2 also needs much smaller steps.",
            f"errors {second:.1g}, {finer[0]:.1g}, {finer[1]:.1g} at h = 0.01, 0.005, 0.001",
            report.verdict(finer[0] > ours),
            "At half the step it is still worse than the fourth-order methods.",
            FINER_ITEM,
        ),
    ]


def _figure(found: list[Row], duration: float):
    title = f"FPUT chain, T = {duration:g} s: how well the energy is kept (exact: no error)"
    figure, axes = figures.panels(3, title)
    left, middle, right = axes[0]
    shared = [row for row in found if row["step"] == STEP]
    for axis, heading, chosen in (
        (left, f"Fig. 3: all with h = {STEP:g} s", shared),
        (middle, "Fig. 4: exprb2, smaller steps", [r for r in found if r["method"] == "exprb2"]),
        (right, "Fig. 4: RK4, smaller steps", [r for r in found if r["method"] == "rk4"]),
    ):
        if axis is not left:  # the yardstick of the comparison
            chosen = [*chosen, next(row for row in shared if row["method"] == "exprb42")]
        for row in chosen:
            _draw(axis, row, [r["step"] for r in chosen if r["method"] == row["method"]])
        axis.set_yscale("log")
        axis.set_title(heading, fontsize=10)
        figures.finish(axis, "time [s]", "|energy error|")
    return figure


def _draw(axis: Any, row: Row, steps: list[float]) -> None:
    """The smaller a method's step in this panel, the thinner and more broken its line."""
    rank = sorted(steps, reverse=True).index(row["step"])
    style = {"color": figures.look(row["method"])[0], "linewidth": (1.6, 1.3, 1.6)[rank]}
    label = f"{row['method']}, h = {row['step']:g}"
    series = np.abs(row["numerical"][1:])
    axis.plot(row["times"][1:], series, ("-", "--", ":")[rank], label=label, **style)
