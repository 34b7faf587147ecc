"""Energy of bunnies of three stiffnesses over 3 min: Michels, Luan & Tokman (2017), Fig. 3b."""

from __future__ import annotations

from functools import partial

import numpy as np

from stiffly import scenes

from . import figures, report
from .bench import Bench, Row
from .bunny_precision import COLORS, STIFF, STIFFNESS
from .energy_history import energy_history
from .harness import Record
from .report import Claim, Report, judged

STEPS = {1e8: 0.0571, 1e10: 0.0566, 1e12: 0.0567}  # [s], of the paper's Table 1
OTHER = "exprb42"
GROWN = 2.0  # the last third may waver by this much more than the first before it counts as growth
ALIKE = 3.0  # how much more the stiffest may waver than the softest
SEEN = 0.05  # of the energy exchanged: what the paper's figure would show
LIMIT_S = 300.0
FRAMES = 300

NOTES = """\
Errors are divided by the energy exchanged between gravity, springs and motion in the same run: the
bunny falls into its springs and comes back, {exchanged} J at k_d = 1e8, 1e10, 1e12 N/m. The paper
gives no unit for its energy axis. Thirds: the largest error within each third of the run.

{table}"""


def run(bench: Bench) -> Report:
    """Energy error over time of epirk4s3, and of exprb42 for comparison, at the paper's steps."""
    vertices, duration = (60, 5.7) if bench.quick else (200, 180.0)
    plan = [(name, k) for name in (STIFF, OTHER) for k in STIFFNESS]
    rows = bench.rows("{}, k_d {:g}", partial(_bunny, vertices, duration), plan)
    shorter = f", {duration:g} s instead of 3 min" if bench.quick else ""
    return Report(
        title="Energy of wobbling bunnies",
        source="Michels, Luan & Tokman 2017, Sec. 4.1, Fig. 3b",
        records=[
            Record(**{**r["record"], "method": f"{r['method']}, k_d = {r['stiffness']:.0e}"})
            for r in rows
        ],
        figure=_figure(rows),
        claims=[report.capped(c, f"{vertices} of 8,000 vertices") for c in _claims(rows)],
        notes=NOTES.format(
            exchanged=", ".join(f"{_of(rows, STIFF, k)['exchanged']:.3g}" for k in STIFFNESS),
            table=_table(rows),
        ),
        reduced=f"{vertices} vertices instead of 8000{shorter}.",
        data={"rows": rows, "duration": duration},
    )


def _bunny(vertices: int, duration: float, method: str, stiffness: float) -> Row:
    scene = scenes.load("bunny", vertices=vertices, diagonal=stiffness)
    step = STEPS[stiffness]
    every = max(duration / FRAMES, step)
    row = energy_history(scene, method, step, duration=duration, every=every, limit_s=LIMIT_S)
    thirds = [part.max() for part in np.array_split(np.abs(row["numerical"]), 3) if part.size]
    row["thirds"] = [float(value) / row["exchanged"] for value in thirds]
    return {**row, "stiffness": stiffness}


def _of(rows: list[Row], method: str, stiffness: float) -> Row:
    return next(r for r in rows if (r["method"], r["stiffness"]) == (method, stiffness))


def _claims(rows: list[Row]) -> list[Claim]:
    own = [_of(rows, STIFF, k) for k in STIFFNESS]
    first, last = ([r["thirds"][i] for r in own] for i in (0, -1))
    steady = [
        r["failure"] is None and b <= GROWN * a and b < SEEN
        for r, a, b in zip(own, first, last, strict=True)
    ]
    worst = [max(r["thirds"]) for r in own]
    failed = [f"{r['stiffness']:.0e}: {r['failure']}" for r in own if r["failure"]]
    other = [max(_of(rows, OTHER, k)["thirds"]) for k in STIFFNESS]
    return [
        judged(
            "The energy oscillates around the real one, without growing oscillations, for 3 min.",
            f"largest error {_list(first)} of the energy exchanged in the first third, "
            f"{_list(last)} in the last" + "".join(f"; {text}" for text in failed),
            steady,
            f"Below {SEEN:.0%}, and within a factor of {GROWN:g} from the first third on.",
            "Nothing bounds its energy, since the method is not symplectic: it drifts, and may "
            "grow without end.",
        ),
        judged(
            "The oscillations do not increase significantly with the stiffness.",
            f"largest errors {_list(worst)} for k_d = 1e8, 1e10, 1e12",
            [w <= ALIKE * worst[0] or w < 0.01 * SEEN for w in worst[1:]],
            f"The stiffer body moves less, by the field's work; exprb42 has {_list(other)}.",
            "Where it drifts or diverges depends on the step and the frequencies, not on stiffness "
            f"alone; exprb42 has {_list(other)}.",
        ),
    ]


def _list(values: list[float]) -> str:
    return ", ".join(f"{value:.1e}" for value in values)


def _table(rows: list[Row]) -> str:
    cells = (
        (r["method"], f"{r['stiffness']:.0e}", _list(r["thirds"]), r["failure"] or "") for r in rows
    )
    return report.table("method | k_d [N/m] | thirds of the run | stopped", cells)


def _figure(rows: list[Row]):
    figure, axes = figures.panels(2, "Energy of wobbling bunnies at h = 57 ms", size=5.4)
    for axis, method in zip(axes[0], (STIFF, OTHER), strict=True):
        for stiffness in STIFFNESS:
            row = _of(rows, method, stiffness)
            share = np.abs(row["numerical"]) / row["exchanged"]
            label = f"k_d = {stiffness:.0e} N/m"
            axis.semilogy(row["times"][1:], share[1:], color=COLORS[stiffness], label=label)
        axis.set_title(method, fontsize=10)
        figures.finish(axis, "time [s]", "|energy error| / energy exchanged")
    return figure
