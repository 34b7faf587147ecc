"""Energy of bodies that do squats: Michels, Sobottka & Weber (2014), Fig. 22d (and Fig. 2)."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.sparse.linalg import cg

from stiffly import scenes
from stiffly.errors import NotConverged
from stiffly.scenes import Scene

from . import figures, report
from .bench import Bench, Row
from .energy_history import COUNTS
from .harness import Record
from .measures import deformation
from .pylon_energy import drift, waver
from .report import Claim, Report
from .trial import attempt

BODIES = {
    "armadillo": {},
    "bunny": {"shape": "rabbit", "vertices": 1183, "stiffness": 1e5},
}
SMALL_BUNNY = {"shape": "rabbit", "vertices": 300, "stiffness": 1e5}
KEPT = 0.01  # of the energy of the swing: what passes for a straight line in the figure
CLOSE = 0.05  # of the largest deformation: what passes for none
FRACTION = 0.99  # of the stability limit
LIMITS = {"rk4": 8.0**0.5, "verlet": 2.0}
HEAD = (
    "body | method | step [s] | waver | drift | deformation left, first, worst | steps | forces | "
    "products | factorisations"
)
NOTES = """\
Energy is that of the swing: kinetic and elastic above the static equilibrium, half the work of
gravity along the static displacement. The paper gives neither steps nor duration; ours are the
scene's, {step:g} s and {duration:g} s, and {fraction:g} of their stability limits for RK4 and
Verlet, which no step of {step:g} s is below.

eti's filter weakens the load where omega h is not small: its energy wavers by some (omega h)^2,
with omega that of the squat, and does not drift.
The biped and the rabbit are made by formulas and stand in for the scans.

{table}
"""


def run(bench: Bench) -> Report:
    """Energy over 20 s of a biped of 14,017 and a rabbit of 1185 particles, by six methods."""
    bodies = {"bunny": SMALL_BUNNY} if bench.quick else BODIES
    duration = 6.0 if bench.quick else 20.0
    loaded = {name: scenes.load("squats", duration=duration, **p) for name, p in bodies.items()}
    bench.plan(len(loaded))
    found = {name: _runs(bench, name, scene) for name, scene in loaded.items()}
    step = next(iter(loaded.values())).step
    return Report(
        title="Energy of squatting bodies",
        source=scenes.entry("squats").source,
        records=[
            _record(body, name, r) for body, rows in found.items() for name, r in rows.items()
        ],
        figure=_figure(found),
        claims=_claims(found),
        notes=NOTES.format(step=step, duration=duration, fraction=FRACTION, table=_table(found)),
        reduced="a bunny of 300 particles for 6 s, no armadillo." if bench.quick else "",
        data={body: {m: _numbers(r) for m, r in rows.items()} for body, rows in found.items()},
    )


# ------------------------------------------------------------------ rows


def _runs(bench: Bench, body: str, scene: Scene) -> dict[str, Row]:
    fixed = bench.row(f"{body}: statics", partial(_statics, scene))
    plan = {name: scene.step for name in ("eti", "exprb42", "midpoint", "bdf1")}
    for name, limit in LIMITS.items():  # whole steps from frame to frame
        plan[name] = scene.step / np.ceil(scene.step * fixed["fastest"] / (FRACTION * limit))
    rows = bench.rows(f"{body}: {{}}", partial(_swing, scene, fixed["energy"]), plan.items())
    return dict(zip(plan, rows, strict=True))


def _statics(scene: Scene) -> dict[str, float]:
    """Energy of the swing [J] and an upper bound of all frequencies [1/s]."""
    system, start = scene.system.bind(scene.x0, scene.v0)
    tangent, load = system.tangent(start), system.force(start)
    displacement, stalled = cg(tangent.matrix(0.0, 1.0, 0.0), load, rtol=1e-12)
    if stalled:
        raise NotConverged("the static displacement was not found: try fewer vertices")
    energy = 0.5 * float(load @ displacement)
    bounds = tangent.stiffness.bounds()
    return {"energy": energy, "fastest": float(np.sqrt(bounds.high))}


def _swing(scene: Scene, energy: float, method: str, h: float) -> Row:
    """Energy and deformation at the frames; a run that failed counts up to there."""
    own_name = "eti:rest" if method == "eti" else method  # as the paper writes it
    found, failure = attempt(scene, own_name, step=h, every=scene.step)
    assert found is not None
    return {
        "step": h,
        "failure": failure,
        "times": found.times,
        "energy": 1.0 + found.energy.numerical / energy,
        "joules": energy,
        "deformation": deformation(found.positions, scene),
        "seconds": found.wall_seconds,
        "stats": {k: v for k, v in found.stats.items() if isinstance(v, int)},
    }


# ------------------------------------------------------------------ reading them


def returns(row: Row) -> np.ndarray:
    """Deformation at the end of every squat, over the largest."""
    size = np.array(row["deformation"])
    before, here, behind = size[:-2], size[1:-1], size[2:]
    low = (here <= before) & (here < behind) & (here < size.mean())
    return here[low] / size.max() if low.any() else size[-1:] / size.max()


def _numbers(row: Row) -> Row:
    kept = {k: row[k] for k in ("step", "failure", "joules", "seconds", "stats")}
    return kept | {"waver": waver(row), "drift": drift(row), "returns": returns(row)}


def _record(body: str, method: str, row: Row) -> Record:
    return Record(
        f"{body}: {method}",
        row["step"],
        seconds=row["seconds"],
        energy_drift=waver(row) * row["joules"],
        failure=row["failure"],
        **{name: row["stats"][name] for name in COUNTS},
    )


def _claims(found: dict[str, dict[str, Row]]) -> list[Claim]:
    claims = []
    for body, rows in found.items():
        eti, ours, bdf1, rk4 = (rows[name] for name in ("eti", "exprb42", "bdf1", "rk4"))
        lost = 1.0 - bdf1["energy"][-1]
        claims += [
            Claim(
                f"The {body}'s energy is conserved by the exponential integrator.",
                f"eti wavers by {waver(eti):.2g} and drifts by {drift(eti):.1g}; exprb42 "
                f"{waver(ours):.1g}",
                report.verdict(waver(eti) <= KEPT, abs(drift(eti)) <= KEPT),
                "Symplectic, so no drift; the waver is the filter's, see below.",
            ),
            Claim(
                f"The {body}'s energy is not conserved by BDF-1 and RK4.",
                f"BDF-1 loses {100 * lost:.0f} %; RK4 at {rk4['step']:.2g} s, where it is stable, "
                f"{waver(rk4):.1e}",
                report.verdict(lost > KEPT, waver(rk4) > KEPT),
                "RK4 damps by (omega h)^6/144 a step: nothing at the squat's frequency.",
            ),
            Claim(
                f"The {body} recovers its shape after every squat, with no deformity left.",
                f"of the largest deformation remain after the first squat and after the worst: "
                f"eti {_returns(eti)}, exprb42 {_returns(ours)}, BDF-1 {_returns(bdf1)}",
                report.verdict(returns(eti)[0] <= CLOSE, returns(eti).max() <= CLOSE),
                "What is left is the share of other modes than the squat (exprb42 is exact here).",
            ),
        ]
    return claims


def _returns(row: Row) -> str:
    found = returns(row)
    return f"{100 * found[0]:.1f} % and {100 * found.max():.1f} %"


def _table(found: dict[str, dict[str, Row]]) -> str:
    lines = []
    for body, rows in found.items():
        for name, row in rows.items():
            kept = (f"{waver(row):.1e}", f"{drift(row):.0e}", _returns(row))
            counts = (f"{row['stats'][count]:,}" for count in COUNTS)
            lines.append((body, name, f"{row['step']:.3g}", *kept, *counts))
    return report.table(HEAD, lines)


def _figure(found: dict[str, dict[str, Row]]):
    title = "Squats: energy of the swing, and the distance from the rest shape"
    figure, axes = figures.panels(2, title, rows=len(found), size=5.2)
    for pair, (body, rows) in zip(axes, found.items(), strict=True):
        for name, row in rows.items():
            color, _ = figures.apart(name)
            label = f"{name}, h = {row['step']:.2g} s"
            pair[0].plot(row["times"], row["energy"], color=color, linewidth=1.0, label=label)
            if name in ("eti", "exprb42", "bdf1"):
                pair[1].plot(row["times"], row["deformation"], color=color, label=label)
        pair[0].set_ylim(0.0, 1.2)
        words = (f"{body}: energy / energy at the start", "root mean square displacement [m]")
        for axis, label in zip(pair, words, strict=True):
            figures.finish(axis, "time [s]", label)
    return figure
