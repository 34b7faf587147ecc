"""A minute of the coil spring: Luan & Michels (2018), Fig. 1, and (2021), Fig. 5."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import nan
from typing import Any

import numpy as np

from stiffly import scenes
from stiffly.integrators import ExponentialRosenbrock
from stiffly.scenes import Scene

from . import figures, report
from .bench import Bench, Row
from .energy_history import energy_history, records
from .measures import COIL_HEIGHT
from .modes import fastest
from .report import Claim, Report, judged
from .trial import unlimited

ITEMS = ("Luan 2018, Fig. 1", "Luan 2021, Fig. 5")
STEP = 0.05  # [s], the papers'
TRUTH = "verlet"
OF_2018 = "pexprb43 (1/2, 1)"
NODES: dict[str, Any] = {OF_2018: ExponentialRosenbrock((0.5, 1.0))}
ERRORS = {"exprb42": 0.02, "pexprb43": 0.015, OF_2018: 0.015}  # below 2 %, about a single per cent
LOSSES = {"rk4": 0.22, "bdf1": 0.40}
AROUND = 0.1  # of the energy: "around 22 % respectively 40 %"
FLAT, GROWS = 0.01, 2.0  # of the energy of the swing; times the error of the first third
RETURNS = 0.05  # of the fall of the top
LIMIT_S = 900.0
PRINTED, SMALLER = 8000, 640  # vertices: the paper's, and what takes minutes
FAILS = {
    "rk4": "at steps that RK4 can take it damps only what swings as fast as the step, which holds "
    "little energy here",
    "bdf1": "it damps less here; of which energy the paper does not say",
}
COLORS = {TRUTH: figures.INK, OF_2018: figures.PINK, "bdf1": figures.BROWN}

NOTES = f"""\
The papers print neither the steps of RK4 nor what energy the losses are shares of. Here RK4 runs at
0.98 and 0.8 of its stability limit, {{rk4:.3g}} s, beyond which it fails, and losses are shares of
the largest kinetic energy of the accurate run, {{swing:.3g}} J: the energy of the swing. The error
is the papers' "accumulated Euclidean distances of the individual particles", sum |x - x_true| at
the end over the largest sum |x_true - x(0)| of any frame; the truth is Verlet at {{fine:.2g}} s,
and at twice that step it is {{doubt:.1e}} away from it.

A loss is a number that hangs on a step, a mass and an energy that the papers do not print, and so
is judged by its sense, as everywhere (decision 52): that much or more, less {AROUND:.0%} for
"around", at any of RK4's steps. (Before, more counted as a failure, too.) BDF-1 would lose 40 %
with steps of {{enough:.2g}} s: the energy of a swing of frequency w falls by w^2 h in a second.

Decided before the runs: "about a single percent" is up to 1.5 %; without increasing oscillations
means an energy error of at most {FLAT:.0%} of the swing, and in the last third no more than
{GROWS:g} times that of the first; the top returns when it comes back to within {RETURNS:.0%} of
its fall."""


def run(bench: Bench) -> Report:
    """Energy, the height of the top, and the error after a minute."""
    given = {"vertices": 320, "duration": 5.0} if bench.quick else {}
    if not unlimited():
        given = {"vertices": SMALLER, **given}
    scene = scenes.load("coil-spring", **given)
    limit = 8.0**0.5 / fastest(scene)
    fine = [0.3 * limit, 0.15 * limit]
    plan = [*((TRUTH, h) for h in fine), *((name, STEP) for name in (*ERRORS, "bdf1"))]
    plan += [("rk4", share * limit) for share in (0.8, 0.98)]
    rows = bench.rows("{}, step {:.3g}", partial(_row, scene), plan)
    truth = rows[1]
    for row in rows:
        row["error"] = _error(row, truth)
    swing = float(np.max(truth["parts"]["kinetic"]))
    claims = [*_accuracy(rows), *_energy(rows, swing), _top(rows)]
    size = len(scene.x0)
    if bench.quick:
        claims = [
            report.untested(claim, f"{size} particles for 5 s tell nothing") for claim in claims
        ]
    elif size < PRINTED:
        claims = [report.capped(claim, f"{size:,} of {PRINTED:,} vertices") for claim in claims]
    both = [replace(c, item=item) for item in ITEMS for c in claims if _belongs(c, item)]
    return Report(
        title="A minute of the coil spring",
        source="Luan & Michels 2018, Sec. 5.1, Fig. 1; 2021, Sec. 5.2.1, Fig. 5",
        records=records(rows),
        figure=_figure(rows, swing),
        claims=both,
        notes=NOTES.format(
            rk4=limit,
            swing=swing,
            fine=fine[1],
            doubt=rows[0]["error"] or np.nan,
            enough=_losing(next(r for r in rows if r["method"] == "bdf1"), swing),
        ),
        reduced=f"{size:,} particles instead of {PRINTED:,}, {scene.duration:g} s."
        if size < PRINTED
        else "",
        data={
            "rows": [{k: v for k, v in row.items() if k != "end"} for row in rows],
            "swing": swing,
        },
    )


def _belongs(claim: Claim, item: str) -> bool:
    """pexprb43 has other nodes in the paper of 2018."""
    other = "pexprb43(1/3, 3/4)" if item == ITEMS[0] else "pexprb43(1/2, 1)"
    return other not in claim.paper


def _row(scene: Scene, method: str, step: float) -> Row:
    assert scene.mesh is not None
    top = scene.mesh.vertex_sets["top"]

    def look(run: Any) -> Row:
        moved = np.linalg.norm(run.positions - scene.x0, axis=2).sum(axis=1)
        return {
            "top": run.positions[:, top, 2].mean(axis=1),
            "moved": float(moved.max()),
            "end": run.positions[-1],
        }

    found = energy_history(scene, NODES.get(method, method), step, look=look, limit_s=LIMIT_S,
                           every=scene.duration / 120)  # fmt: skip
    named = {"method": method}
    return {**found, **named, "record": {**found["record"], **named}}


def _error(row: Row, truth: Row) -> float | None:
    if row["failure"]:
        return None
    apart = np.linalg.norm(np.array(row["end"]) - np.array(truth["end"]), axis=1)
    return float(apart.sum() / truth["moved"])


def _words(row: Row) -> str:
    return row["failure"] or f"{100 * row['error']:.2g} %"


def _accuracy(rows: list[Row]) -> list[Claim]:
    names = {"pexprb43": "pexprb43(1/3, 3/4)", OF_2018: "pexprb43(1/2, 1)", "exprb42": "exprb42"}
    return [
        judged(
            f"with h = 0.05 s the error of {names[row['method']]} is "
            + ("below 2 %" if row["method"] == "exprb42" else "about a single percent"),
            f"{_words(row)} after {row['times'][-1]:g} s",
            [row["error"] is not None and row["error"] <= ERRORS[row["method"]]],
            "the linear part is exact, and the coil turns little within a step",
            "of a minute of swings a small error of the frequency is a large one of the phase",
        )
        for row in rows
        if row["method"] in ERRORS
    ]


def _energy(rows: list[Row], swing: float) -> list[Claim]:
    claims = []
    for row in (r for r in rows if r["method"] in ERRORS and r["method"] != OF_2018):
        error = np.abs(np.array(row["numerical"])) / swing
        third = len(error) // 3
        first, last = error[:third].max(), error[-third:].max()
        flat = not row["failure"] and error.max() <= FLAT
        claims.append(
            judged(
                f"{row['method']} only oscillates slightly around the real energy, without growth",
                f"energy error up to {first:.1e} of the swing in the first third, {last:.1e} in "
                f"the last{', then ' + row['failure'] if row['failure'] else ''}",
                [bool(flat), bool(last <= GROWS * first)],
                "the error of a step is small, and has no sign that stays",
                "the error has a sign that stays: what a step invents or loses adds up",
            )
        )
    for name, printed in LOSSES.items():
        own = [r for r in rows if r["method"] == name]
        lost = [nan if r["failure"] else -r["numerical"][-1] / swing for r in own]
        said = "; ".join(
            f"h = {r['step']:.3g} s: " + (r["failure"] or f"{share:.2%}")
            for r, share in zip(own, lost, strict=True)
        )
        near = any(share >= printed - AROUND for share in lost)
        paper = f"{name} loses around {printed:.0%} of the energy in 60 s"
        words = f"of the energy of the swing, {said}"
        holds = "its damping at this step; that much or more, as neither step nor mass is printed"
        claims.append(judged(paper, words, [near], holds, FAILS[name]))
    return claims


def _losing(bdf1: Row, swing: float) -> float:
    """The step [s] at which BDF-1 would lose what is printed: -log(what is left) grows with h."""
    left = 1.0 + bdf1["numerical"][-1] / swing
    return STEP * float(np.log(1.0 - LOSSES["bdf1"]) / np.log(left)) if 0.0 < left < 1.0 else nan


def _top(rows: list[Row]) -> Claim:
    found: dict[str, float | None] = {}
    for row in (r for r in rows if r["method"] in ("exprb42", "pexprb43")):
        top = np.array(row["top"])
        fall = top[0] - top.min()
        turns = [k for k in range(1, len(top) - 1) if top[k - 1] <= top[k] > top[k + 1]]
        high = [k for k in turns if top[k] > 0.5 * (top[0] + top.min())]
        found[row["method"]] = max(((top[0] - top[k]) / fall for k in high), default=None)
    return judged(
        "the top of the coil returns to its initial height periodically",
        "short of it at the worst return, of its fall: "
        + ", ".join(
            f"{name} {report.number(short) or 'none yet'}" for name, short in found.items()
        ),
        [short is not None and bool(short <= RETURNS) for short in found.values()],
        "the slowest swing holds nearly all of the energy",
        "other slow swings hold part of the energy, in nature too (see the black line)",
    )


def _figure(rows: list[Row], swing: float) -> Any:
    figure, axes = figures.panels(3, "A minute of the coil spring", size=5.2)
    for row in rows[1:]:
        name = f"{row['method']}, {row['step']:.2g} s"
        style = {"color": COLORS.get(row["method"], figures.look(row["method"])[0]), "label": name}
        style |= {"linestyle": "--" if row["step"] < 7e-4 and row["method"] == "rk4" else "-"}
        t = row["times"]
        axes[0, 0].plot(t, np.array(row["top"]) / COIL_HEIGHT, linewidth=1.1, **style)
        share = np.abs(np.array(row["numerical"])) / swing
        axes[0, 1].semilogy(t, np.maximum(share, 1e-12), linewidth=1.1, **style)
    axes[0, 1].axhline(FLAT, color=figures.INK, linewidth=0.8, linestyle=":")
    named = {f"{r['method']}\n{r['step']:.2g} s": r["error"] for r in rows if r["error"]}
    axes[0, 2].barh(list(named), list(named.values()), color=figures.BLUE)
    axes[0, 2].set(xscale="log", xlabel="error at the end, of the largest excursion")
    axes[0, 2].axvline(0.02, color=figures.INK, linewidth=0.8, linestyle=":")
    figures.finish(axes[0, 0], "time [s]", "height of the top, of the coil's")
    figures.finish(axes[0, 1], "time [s]", "|energy error| / energy of the swing")
    return figure
