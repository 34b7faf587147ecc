"""What filtering the argument of the nonlinearity does to the error: Michels et al. (2014), Fig. 5.

A steel sphere falls on a floor and touches it.  Gautschi's methods with and without a filter phi
take it through the impact at many step sizes.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from stiffly import scenes
from stiffly.contracts import Array
from stiffly.errors import SimulationFailure
from stiffly.integrators import FILTERS, Gautschi
from stiffly.scenes import Scene

from . import figures, report
from .bench import Bench
from .report import Claim, Report
from .trial import trial

DURATION = 0.064  # falls for 32 ms, presses into the floor, and is on its way out
CONTACT = 3e5  # N/m, see NOTES
FILTERED = ("garcia-archilla", "grimm-hochbruck", "hochbruck-lubich")
UNFILTERED = ("deuflhard", "gautschi", "hairer-lubich")
PAPERS = "garcia-archilla"  # the paper's own choice
SMOOTH = 0.1  # decades of rms deviation from a smooth curve; decided before the first run
COLORS = {
    "garcia-archilla": figures.BLUE,
    "grimm-hochbruck": figures.GREEN,
    "hochbruck-lubich": figures.PURPLE,
    "deuflhard": figures.RED,
    "gautschi": figures.ORANGE,
    "hairer-lubich": figures.BROWN,
}

NOTES = f"""\
Roughness is the rms deviation, in decades, of log error from a parabola in log step. The floor has
3e5 N/m instead of 1e15. The filters act on the springs, which stay as stiff as they are
(h omega_max = {{low:.0f}} to {{high:.0f}}); a contact of 1e15 N/m is over in 1e-8 s, which no step
here resolves, and the error is then that of guessing when the sphere hits ({{hard}}). The error is
the largest |x - reference| of any coordinate at {DURATION} s, when the floor throws the sphere
back.

{{table}}
"""


def run(bench: Bench) -> Report:
    """Error of all six filter pairs over the step, on a bouncing steel sphere."""
    scene = _scene(bench.quick)
    counts = _counts(bench.quick)
    bench.plan(2)
    truth = bench.row("reference", partial(_reference, scene, 2048 if bench.quick else 16384))
    exact = np.array(truth["x"])
    found = bench.rows("{}", partial(_errors, scene, counts, exact), [(n,) for n in FILTERS])
    rows = dict(zip(FILTERS, found, strict=True))
    hard = bench.row("floor of 1e15 N/m", partial(_hard, bench.quick))
    steps = np.array([DURATION / n for n in counts])
    return Report(
        title="Filtering the argument of the nonlinearity",
        source="Michels, Sobottka & Weber 2014, Sec. 3.4, Fig. 5",
        figure=_figure(steps, rows),
        claims=[
            report.capped(c, f"{len(scene.x0)} of 954 particles") for c in _claims(steps, rows)
        ],
        notes=_notes(steps, rows, truth["omega_max"], hard),
        reduced=f"{len(scene.x0)} particles instead of 954, a floor of 3e5 N/m instead of 1e15, "
        "one impact." + (" 16 steps instead of 59." if bench.quick else ""),
        data={"steps": steps, "errors": rows, "hard_floor": hard},
    )


def _scene(quick: bool, contact: float = CONTACT) -> Scene:
    rings, segments = (5, 8) if quick else (7, 16)
    scene = scenes.load("steel-sphere", rings=rings, segments=segments, drop=0.005, contact=contact)
    return replace(scene, duration=DURATION)


def _counts(quick: bool) -> list[int]:
    """Steps in the run, dense enough to show what happens between resonances."""
    if quick:
        return list(range(24, 104, 5))
    return list(range(24, 128, 3)) + list(range(128, 512, 16))


def method(name: str) -> Gautschi:
    """One step at a time where the filter allows it, else the two-step form."""
    return Gautschi(filter=name, form="two-step" if FILTERS[name].psi1 is None else "one-step")


def _end(scene: Scene, name: str, count: int) -> Array:
    step = DURATION / count
    return trial(scene, integrator=method(name), step=step, every=DURATION).positions[-1]


def _reference(scene: Scene, count: int) -> dict:
    """The paper's way: the same kind of method with a much smaller step."""
    system, _ = scene.system.bind(scene.x0, scene.v0)
    highest = system.linear_part().tangent.stiffness.eigenbasis()[0].max()
    return {"x": _end(scene, "gautschi", count), "omega_max": float(np.sqrt(highest))}


def _errors(scene: Scene, counts: list[int], exact: Array, name: str) -> dict:
    errors = []
    for count in counts:
        try:
            errors.append(float(np.abs(_end(scene, name, count) - exact).max()))
        except SimulationFailure:
            errors.append(float("nan"))
    return {"errors": errors}


def _hard(quick: bool) -> dict:
    """The paper's contact: energy after the first impact over the energy before, at h = 1e-4."""
    scene = _scene(quick, 1e15)
    try:
        run = trial(scene, integrator=method(PAPERS), step=1e-4, every=1e-3)
    except SimulationFailure as failure:
        name = type(failure).__name__.lower()
        return {"words": f"{PAPERS} at 1e-4 s: {name}"}
    gained = float(np.abs(run.energy.numerical).max() / run.energy.total[0])
    return {"words": f"{PAPERS} at 1e-4 s: energy off by {gained:.1g} of what it was"}


def roughness(steps: Array, errors: Array) -> float:
    """rms distance of log10 error from a parabola in log10 step; nan: too few points."""
    known = np.isfinite(errors)
    if known.sum() < 6:
        return float("nan")
    return float(np.sqrt(np.mean(_deviation(steps[known], errors[known]) ** 2)))


def _deviation(steps: Array, errors: Array) -> Array:
    h, e = np.log10(steps), np.log10(errors)
    return e - np.polyval(np.polyfit(h, e, 2), h)


def swing(steps: Array, errors: Array) -> tuple[float, float]:
    """How far the error is off a smooth curve [m, rms], in the smaller and the larger steps."""
    known = np.isfinite(errors)
    h, e = steps[known], errors[known]
    off = e - e / 10.0 ** _deviation(h, e)
    half = h < np.median(h)
    return tuple(float(np.sqrt(np.mean(off[part] ** 2))) for part in (half, ~half))  # type: ignore[return-value]


def _rough(steps: Array, rows: dict) -> dict[str, float]:
    return {name: roughness(steps, _array(row)) for name, row in rows.items()}


def _array(row: dict) -> Array:
    return np.array(row["errors"], dtype=float)  # null becomes nan


def _claims(steps: Array, rows: dict) -> list[Claim]:
    rough = _rough(steps, rows)
    worst = max(UNFILTERED, key=lambda name: rough[name])
    smooth = [name for name in UNFILTERED if rough[name] < SMOOTH]
    small, large = swing(steps, _array(rows[worst]))
    listed = ", ".join(f"{name} {rough[name]:.2g}" for name in FILTERED)
    return [
        Claim(
            "With the argument filtered the error evolves smoothly with the step.",
            f"roughness in decades: {listed}",
            report.verdict(*(rough[name] < SMOOTH for name in FILTERED)),
            "sinc takes out of the argument what the step cannot resolve",
        ),
        Claim(
            "Without (phi = 1) the error oscillates.",
            ", ".join(f"{name} {rough[name]:.2g}" for name in UNFILTERED),
            report.verdict(*(rough[name] > 3.0 * rough[PAPERS] for name in UNFILTERED)),
            f"smooth though unfiltered: {', '.join(smooth) or 'none'}; a psi that falls like the "
            "square of 1/(h omega) is enough here, psi = sinc alone is not",
        ),
        Claim(
            "The amplitude of that oscillation grows with the step.",
            f"{worst}: {small:.2g} m rms in the smaller half of the steps, {large:.2g} m in the "
            "larger",
            report.verdict(large > 1.5 * small),
            "peaks stand where h omega is near a multiple of pi; their height carries h^2",
        ),
        Claim(
            "(sinc^2, sinc) and (sinc^3, sinc) are equally accurate.",
            f"errors differ by {100 * _apart(rows):.1g} % at most",
            report.verdict(_apart(rows) < 0.5),
            "both filters take the stiff modes out of the argument; the rest is the slow motion",
        ),
    ]


def _apart(rows: dict) -> float:
    a, b = (_array(rows[name]) for name in ("garcia-archilla", "grimm-hochbruck"))
    return float(np.nanmax(np.abs(a / b - 1.0)))


def _notes(steps: Array, rows: dict, omega: float, hard: dict) -> str:
    rough = _rough(steps, rows)
    lines = []
    for name in rows:
        errors = _array(rows[name])
        spread = np.nanmax(errors) / np.nanmin(errors)
        phi = "1" if name in UNFILTERED else "filtered"
        lines.append((name, phi, f"{rough[name]:.2g}", f"{spread:.2g}"))
    table = report.table("filter (psi, phi) | phi | roughness | largest error over smallest", lines)
    low, high = omega * steps.min(), omega * steps.max()
    return NOTES.format(low=low, high=high, hard=hard["words"], table=table)


def _figure(steps: Array, rows: dict):
    title = "Steel sphere on a floor: error after an impact over the step"
    figure, axes = figures.panels(2, title, size=5.4)
    for axis, names, words in (
        (axes[0, 0], FILTERED, "argument filtered"),
        (axes[0, 1], UNFILTERED, "not filtered (phi = 1)"),
    ):
        for name in names:
            axis.loglog(steps, _array(rows[name]), ".-", color=COLORS[name], label=name)
        figures.few_ticks(axis)
        axis.set_title(words)
        axis.set(xlabel="step [s]", ylabel="error of the positions [m]")
        axis.legend(frameon=False, fontsize=9)
    axes[0, 1].sharey(axes[0, 0])
    return figure
