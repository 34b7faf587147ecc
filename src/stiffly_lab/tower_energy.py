"""Energy of the swinging tower, undamped and damped: Michels et al. (2014), Fig. 9."""

from __future__ import annotations

from functools import partial

import numpy as np

from stiffly import scenes
from stiffly.scenes import Scene

from . import figures, report
from .bench import Bench
from .report import Claim, Report
from .trial import attempt

STEP = 0.01  # the paper's
FINER = 0.001  # for ceti, too
ALPHA = 0.5  # Rayleigh's alpha [1/s]: the energy of a swing falls like exp(-alpha t)
CONSERVED = 0.01  # largest energy error / energy at the start that passes for a flat line
MODELS = {"linear": ("eti",), "corotated": ("ceti", "energy-momentum", "exprb42")}
NAMES = {
    "linear": "linear elasticity, eti",
    "corotated": "springs that turn with the tower, energy-momentum",
}

NOTES = """\
The energy is that of the whole tower. A part of a body, such as the antenna, trades energy with the
rest and has none of its own to conserve. Damping is Rayleigh's alpha = {alpha} 1/s (the paper gives
none), and 'expected' is a fall like exp(-alpha t); the fitted rate is that of ln E over the run.
ceti turns the stiffness matrix with the vertices, as the paper's Algorithm 3 does, but integrates
true springs; what the turned matrix leaves over is stiff itself and sits in the filtered remainder.
Unlike there, nothing in it depends on where the origin lies.

{table}
"""


def run(bench: Bench) -> Report:
    """Total, kinetic and potential energy of the tower with and without damping."""
    duration = 1.5 if bench.quick else 8.0
    plan = [
        (model, method, alpha, STEP)
        for model, methods in MODELS.items()
        for method in methods
        for alpha in (0.0, ALPHA)
        if not (bench.quick and method == "exprb42")
    ]
    if not bench.quick:
        plan += [("corotated", "ceti", alpha, FINER) for alpha in (0.0, ALPHA)]
    rows = bench.rows("{}, {}, alpha {:g}, step {:g}", partial(_small, duration), plan)
    if not bench.quick:
        rows += bench.rows("5000 nodes, alpha {:g}", _paper_size, [(0.0,), (ALPHA,)])
    return Report(
        title="Energy of a swinging tower",
        source="Michels, Sobottka & Weber 2014, Sec. 5.2, Fig. 9",
        figure=_figure(rows),
        claims=[report.capped(c, f"{rows[0]['nodes']} of 5,000 nodes") for c in _claims(rows)],
        notes=NOTES.format(alpha=ALPHA, table=_table(rows)),
        reduced=_reduced(bench.quick, rows[0]["nodes"], duration),
        data={"runs": rows},
    )


def _reduced(quick: bool, nodes: int, duration: float) -> str:
    words = f"a tower of {nodes} nodes instead of 5000, {duration:g} s"
    if quick:
        return f"{words}; no exprb42, no tower of 5000."
    return f"{words}; the tower of 5000 nodes for 12 s with energy-momentum alone, h = 0.05 s."


def _small(duration: float, model: str, method: str, alpha: float, step: float) -> dict:
    scene = scenes.load("tower", small=True, model=model, damping=alpha, duration=duration)
    return _measure(scene, model, method, alpha, step)


def _paper_size(alpha: float) -> dict:
    scene = scenes.load("tower", damping=alpha)
    return _measure(scene, "5000 nodes, corotated", "energy-momentum", alpha, scene.step)


def _measure(scene: Scene, model: str, method: str, alpha: float, step: float) -> dict:
    found = {"model": model, "method": method, "alpha": alpha, "step": step}
    found["nodes"] = len(scene.x0)
    run, failure = attempt(scene, method, step=step, every=2 * max(step, STEP))
    if run is None or failure:
        return {**found, "failure": (failure or "").split(":")[0]}
    energy = run.energy
    total, kinetic = np.array(energy.total), np.array(energy.parts["kinetic"])
    return {
        **found,
        "failure": None,
        "times": run.times,
        "total": total,
        "kinetic": kinetic,
        "potential": total - kinetic,
        "error": float(np.abs(energy.numerical).max() / total[0]),
        "rate": decay_rate(np.array(run.times), total),
        "products": run.stats["operator_products"] / run.stats["steps"],
    }


def decay_rate(times, total) -> float:
    """r of the best fit ln E = c - r t."""
    return -float(np.polyfit(times, np.log(total), 1)[0])


def _pick(rows: list[dict], model: str, method: str, alpha: float, step: float = STEP) -> dict:
    key = (model, method, alpha, step)
    return next(r for r in rows if (r["model"], r["method"], r["alpha"], r["step"]) == key)


def _outcome(row: dict) -> str:
    return row["failure"] or f"energy off by {row['error']:.1g}"


def _claims(rows: list[dict]) -> list[Claim]:
    flat, falls = (_pick(rows, "linear", "eti", a) for a in (0.0, ALPHA))
    turned, turned_falls = (_pick(rows, "corotated", "energy-momentum", a) for a in (0.0, ALPHA))
    ceti = [_pick(rows, "corotated", "ceti", a) for a in (0.0, ALPHA)]
    finer = [r for r in rows if r["method"] == "ceti" and r["step"] == FINER]
    words = [_outcome(c) for c in ceti]
    if finer:
        words = [f"{w}; at h = {FINER}: {_outcome(r)}" for w, r in zip(words, finer, strict=True)]
    rates = falls["rate"], turned_falls["rate"]
    return [
        Claim(
            "Undamped, the energy is conserved (exponential integrator, linear elasticity).",
            f"eti at h = {STEP}: {_outcome(flat)} of the energy at the start",
            report.verdict(flat["failure"] is None and flat["error"] < CONSERVED),
            "the motion of a linear model without load is solved exactly",
        ),
        Claim(
            "Undamped, the energy is conserved, also co-rotational (ceti), at h = 0.01.",
            f"ceti: {words[0]}; energy-momentum at h = {STEP}: {_outcome(turned)}",
            report.verdict(ceti[0]["failure"] is None and ceti[0].get("error", 1.0) < CONSERVED),
            "the force of true springs less the turned matrix is as stiff as the springs: the "
            "stiff directions turn within a step",
        ),
        Claim(
            "Damped, the total energy falls exponentially, as expected.",
            f"fitted rates {rates[0]:.3f} (linear, eti) and {rates[1]:.3f} (true springs, "
            f"energy-momentum) 1/s; alpha is {ALPHA}",
            report.verdict(*(abs(r / ALPHA - 1.0) < 0.05 for r in rates)),
            "mass-proportional damping takes alpha times twice the kinetic energy, on average the "
            "whole; within a swing the fall comes in stairs, as kinetic energy comes and goes",
        ),
        Claim(
            "Steps of 0.01 s are applicable without stability problems, also damped.",
            f"eti on the linear model: {_outcome(falls)}; ceti: {words[1]}",
            report.verdict(falls["failure"] is None, ceti[1]["failure"] is None),
            "holds where K is constant",
        ),
    ]


def _table(rows: list[dict]) -> str:
    lines = []
    for r in rows:
        line = [f"{r['model']}, {r['method']}, {r['step']:g}", f"{r['alpha']:g}"]
        line.append(r["failure"] or "ran to the end")
        if not r["failure"]:
            line += [f"{r['rate']:.3f}", f"{r['error']:.1g}", f"{r['products']:.0f}"]
        lines.append(line)
    head = "model, method, step | alpha | outcome | fitted rate | energy error | products a step"
    return report.table(head, lines)


def _figure(rows: list[dict]):
    title = f"Swinging tower: energy, undamped and with alpha = {ALPHA} 1/s, h = {STEP} s"
    figure, axes = figures.panels(2, title, size=5.6)
    for axis, model, method in (
        (axes[0, 0], "linear", "eti"),
        (axes[0, 1], "corotated", "energy-momentum"),
    ):
        undamped, damped = (_pick(rows, model, method, a) for a in (0.0, ALPHA))
        axis.set_title(NAMES[model])
        axis.set(xlabel="time [s]", ylabel="energy [kJ]")
        if undamped["failure"] or damped["failure"]:
            continue
        times = np.array(undamped["times"])
        scale = 1e-3
        axis.plot(times, scale * np.array(undamped["total"]), color=figures.BLUE, label="undamped")
        for key, color, width in (
            ("kinetic", figures.RED, 1.0),
            ("potential", figures.GREEN, 1.0),
            ("total", "black", 2.0),
        ):
            curve = scale * np.array(damped[key])
            axis.plot(times, curve, color=color, linewidth=width, label=f"damped, {key}")
        fall = scale * damped["total"][0] * np.exp(-ALPHA * times)
        axis.plot(times, fall, "--", color="#999999", label="exp(-alpha t)")
        figures.legend_below(axis)
    return figure
