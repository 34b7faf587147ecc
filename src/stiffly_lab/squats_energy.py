"""Energy of bodies that do squats: Michels, Sobottka & Weber (2014), Fig. 22d (and Fig. 2)."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.sparse.linalg import cg

from stiffly import scenes
from stiffly.errors import NotConverged
from stiffly.integrators import integrator
from stiffly.scenes import Scene

from . import figures, report
from .bench import Bench, Row
from .energy_history import COUNTS
from .harness import Record
from .measures import deformation
from .pylon_energy import drift, waver
from .report import Claim, Report, judged
from .trial import attempt, seconds_of

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
scene's, {step:g} s and {duration:g} s. RK4 is run at that step, as the figure compares methods, and
then, as Verlet, at {fraction:g} of its stability limit, where it keeps the energy: the paper says
neither step, and that RK4 does not conserve.

*eti* has gravity in its reference, the equilibrium of the loaded body. About the rest shape, as the
paper writes its equation (*eti:rest*), the filter weakens the load where omega h is not small: the
energy wavers by some (omega h)^2, with omega that of the squat, and does not drift.

A body that swings in several modes is not at rest at the end of each cycle, whoever computes it.
The paper speaks of the end of a cycle, so the first one is judged; in the later ones whatever the
integrator itself has left over: the largest difference to exprb42, which is exact here.
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
    plan = {name: (name, scene.step) for name in ("eti", "eti:rest", "exprb42", "midpoint", "bdf1")}
    for name, limit in LIMITS.items():  # whole steps from frame to frame
        count = np.ceil(scene.step * fixed["fastest"] / (FRACTION * limit))
        plan[name] = (name, scene.step / count)
    job = partial(_swing, scene, fixed["energy"])
    rows = bench.rows(f"{body}: {{}}, h {{:.4g}}", job, plan.values())
    found = dict(zip(plan, rows, strict=True))
    found["rk4"]["too_long"] = bench.row(
        f"{body}: rk4 at that step", partial(_too_long, scene, fixed)
    )
    return found


def _too_long(scene: Scene, fixed: Row) -> Row:
    """Steps of RK4 that `simulate` would refuse, until the energy is off by all of the swing's."""
    system, state = scene.system.bind(scene.x0, scene.v0)
    method = integrator("rk4")
    memory, start, steps = method.start(system, state), sum(system.energy(state).values()), 0
    error = 0.0
    while abs(error) < 1.0 and state.t < scene.duration:
        step = method.step(system, state, scene.step, memory)
        state, memory, steps = step.state, step.memory, steps + 1
        error = (sum(system.energy(state).values()) - start) / fixed["energy"]
    return {"steps": steps, "error": error}


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
    found, failure = attempt(scene, method, step=h, every=scene.step)
    assert found is not None
    return {
        "step": h,
        "failure": failure,
        "times": found.times,
        "energy": 1.0 + found.energy.numerical / energy,
        "joules": energy,
        "deformation": deformation(found.positions, scene),
        "seconds": seconds_of(found),
        "stats": {k: v for k, v in found.stats.items() if isinstance(v, int)},
    }


# ------------------------------------------------------------------ reading them


def returns(row: Row) -> np.ndarray:
    """Deformation at the end of every squat, over the largest."""
    size = np.array(row["deformation"])
    before, here, behind = size[:-2], size[1:-1], size[2:]
    low = (here <= before) & (here < behind) & (here < size.mean())
    return here[low] / size.max() if low.any() else size[-1:] / size.max()


def left_over(row: Row, exact: Row) -> float:
    """The largest difference of their deformations, over the largest deformation."""
    size, true = np.array(row["deformation"]), np.array(exact["deformation"])
    return float(np.abs(size - true).max() / true.max())


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
        eti, plain, ours, bdf1 = (rows[name] for name in ("eti", "eti:rest", "exprb42", "bdf1"))
        stable, at_once = rows["rk4"], rows["rk4"]["too_long"]
        lost = 1.0 - bdf1["energy"][-1]
        claims += [
            judged(
                f"The {body}'s energy is conserved by the exponential integrator.",
                f"eti wavers by {waver(eti):.2g} and drifts by {drift(eti):.1g}; about the rest "
                f"shape (eti:rest) by {waver(plain):.2g} and {drift(plain):.1g}; exprb42 "
                f"{waver(ours):.1g}",
                (waver(eti) <= KEPT, abs(drift(eti)) <= KEPT),
                "The load is in the reference, so that the filter does not touch it.",
                "The filter weakens the load, see below.",
            ),
            judged(
                f"The {body}'s energy is not conserved by BDF-1 and RK4.",
                f"at eti's step BDF-1 loses {100 * lost:.0f} %, and RK4 is off by "
                f"{at_once['error']:.2g} times the energy after {at_once['steps']} steps; RK4 at "
                f"{stable['step']:.2g} s, where it is stable, is off by {waver(stable):.1e}",
                (lost > KEPT, abs(at_once["error"]) > KEPT),
                "At one step for all. Below its limit RK4 damps by (omega h)^6/144 a step, which "
                "is nothing at the squat's frequency.",
                "One of the two keeps it at eti's step.",
            ),
            judged(
                f"The {body} has its shape again at the end of a deformation cycle, with no "
                "deformity left.",
                f"of the largest deformation remain after the first squat and after the worst: "
                f"eti {_returns(eti)}, exprb42 {_returns(ours)}, BDF-1 {_returns(bdf1)}; eti and "
                f"the exact motion are apart by {100 * left_over(eti, ours):.2g} % at most",
                (returns(eti)[0] <= CLOSE, left_over(eti, ours) <= KEPT),
                "What remains is in other modes than the squat, and in the exact motion as well.",
                "The integrator leaves a deformity of its own.",
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
