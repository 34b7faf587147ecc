"""Conservation of energy on the FPUT chain: Luan & Michels (2021), Figs. 3 and 4."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import scenes
from ..contracts import Array
from ..errors import SimulationFailure
from ..simulate import Run
from . import figures, report
from .harness import Progress, Record, silent
from .report import Claim, Report
from .trial import trial

STEP = 0.01
FRAMES_PER_SECOND = 2.0
EXACT = 2.500300005
# (integrator, step): Fig. 3 compares at STEP, Fig. 4 shrinks the steps of the two that lose.
SHARED = [("exprb2", STEP), ("pexprb43", STEP), ("exprb42", STEP), ("rk4", STEP)]
FINER = [("exprb2", 0.005), ("exprb2", 0.001), ("rk4", 0.001), ("rk4", 0.00025)]

NOTES = """\
The energy of the start is {energy:.9f}; the paper computes 2.500300005 by hand.
What is plotted is the ledger's numerical error, total energy less its start, at {frames} frames.
{reduced}"""


@dataclass(frozen=True)
class _Series:
    """Energy error of one run over time; `failure` where it stopped early."""

    method: str
    step: float
    times: Array
    error: Array
    run: Run
    failure: str | None

    @property
    def worst(self) -> float:
        return float(np.abs(self.error).max())

    def record(self) -> Record:
        return Record(
            self.method,
            self.step,
            seconds=self.run.wall_seconds,
            force_evaluations=self.run.stats["force_evaluations"],
            operator_products=self.run.stats["operator_products"],
            steps=self.run.stats["steps"],
            energy_drift=self.worst,
            failure=self.failure,
        )


def fput_energy(quick: bool = False, progress: Progress = silent) -> Report:
    """Energy error over time for exprb2, pexprb43, exprb42 and RK4, and at smaller steps."""
    scene = scenes.load("fput")
    duration = 5.0 if quick else scene.duration
    plan = [*SHARED, *FINER]
    found = []
    for done, (method, step) in enumerate(plan):
        progress(done, len(plan), f"{method}, step {step:g}")
        found.append(_series(scene, method, step, duration))
    progress(len(plan), len(plan), "done")
    energy = float(found[0].run.energy.total[0])
    reduced = "\nReduced (--quick): T = 5 s instead of 100 s." if quick else ""
    return Report(
        name="fput-energy",
        title="Conservation of energy on the FPUT chain",
        source="Luan & Michels 2021, Sec. 5.1, Figs. 3 and 4",
        records=[s.record() for s in found],
        figure=_figure(found, duration),
        claims=_claims(found),
        notes=NOTES.format(energy=energy, frames=len(found[0].times), reduced=reduced),
        data={
            "duration": duration,
            "energy": energy,
            "series": [
                {"method": s.method, "step": s.step, "times": s.times, "error": s.error}
                for s in found
            ],
        },
    )


def _series(scene: scenes.Scene, method: str, step: float, duration: float) -> _Series:
    failure = None
    try:
        run = trial(
            scene,
            integrator=method,
            step=step,
            duration=duration,
            every=1.0 / FRAMES_PER_SECOND,
        )
    except SimulationFailure as stopped:
        assert stopped.run is not None
        run, failure = stopped.run, str(stopped)
    return _Series(method, step, run.times, run.energy.numerical, run, failure)


def _claims(found: list[_Series]) -> list[Claim]:
    worst = {(s.method, s.step): s.worst for s in found}
    ours = max(worst["exprb42", STEP], worst["pexprb43", STEP])
    second, classic = worst["exprb2", STEP], worst["rk4", STEP]
    tiny = worst["rk4", 0.00025]
    finer = [worst["exprb2", h] for h in (0.005, 0.001)]
    return [
        Claim(
            "At h = 0.01 exprb42 and pexprb43 keep the energy, and better than exprb2.",
            f"largest error {worst['exprb42', STEP]:.1g} and {worst['pexprb43', STEP]:.1g}, "
            f"exprb2 {second:.1g}, of {EXACT:.4g}",
            report.HOLDS if ours < 0.1 * second else report.FAILS,
        ),
        Claim(
            "RK4 totally fails to conserve the energy at h = 0.01.",
            f"its largest error is {classic:.2g}",
            report.HOLDS if classic > 100.0 * ours else report.FAILS,
        ),
        Claim(
            "RK4 needs h = 0.00025, 40 times smaller, for about the same quality.",
            f"its error there is {tiny:.1g}, {tiny / ours:.2g} times the exponential methods'",
            report.HOLDS if 0.1 < tiny / ours < 10.0 else report.PARTLY,
        ),
        Claim(
            "exprb2 also needs much smaller steps.",
            f"errors {second:.1g}, {finer[0]:.1g}, {finer[1]:.1g} at h = 0.01, 0.005, 0.001",
            report.HOLDS if finer[0] > ours else report.FAILS,
        ),
    ]


def _figure(found: list[_Series], duration: float):
    title = f"FPUT chain, T = {duration:g} s: how well the energy is kept (exact: no error)"
    figure, axes = figures.panels(3, title)
    left, middle, right = axes[0]
    shared = [s for s in found if s.step == STEP]
    for axis, heading, chosen in (
        (left, f"all with h = {STEP:g} s", shared),
        (middle, "exprb2, smaller steps", [s for s in found if s.method == "exprb2"]),
        (right, "RK4, smaller steps", [s for s in found if s.method == "rk4"]),
    ):
        if axis is not left:  # the yardstick of the comparison
            chosen = [*chosen, next(s for s in shared if s.method == "exprb42")]
        for series in chosen:
            _draw(axis, series, [s.step for s in chosen if s.method == series.method])
        axis.set_yscale("log")
        axis.set_title(heading, fontsize=10)
        axis.set_xlabel("time [s]")
        axis.set_ylabel("|energy error|")
        figures.legend_below(axis)
    return figure


def _draw(axis, series: _Series, steps: list[float]) -> None:
    """The smaller a method's step in this panel, the thinner and more broken its line."""
    rank = sorted(steps, reverse=True).index(series.step)
    color, _ = figures.look(series.method)
    axis.plot(
        series.times[1:],
        np.abs(series.error[1:]),
        ("-", "--", ":")[rank],
        color=color,
        linewidth=(1.6, 1.3, 1.6)[rank],
        label=f"{series.method}, h = {series.step:g}",
    )
