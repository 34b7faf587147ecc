"""What stability costs: Dinev, Liu & Kavan (2018), Tables 1 and 2."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from statistics import median
from typing import Any

import numpy as np

from stiffly import scenes
from stiffly.errors import SimulationFailure
from stiffly.integrators import Bdf1, LocalGlobal, Midpoint, Newton, Stabilised, Substeps
from stiffly.scenes import Scene

from . import stabiliser_page as page
from .bench import Bench, Row
from .report import Report
from .stabiliser_page import BOTH, FAST, FIVE, MODELS, NEWTON, NEWTON_EULER, WITH_NEWTON, Model
from .step_by_step import StepByStep, watched
from .trial import granted, processor_seconds, time_limit, timed

EVERY_TIME = Newton(reuse=0.0)  # a factorisation in every iteration, as in the paper
TEN_ITERATIONS: Any = Midpoint(solver=LocalGlobal())
OWN: dict[str, Any] = {
    FIVE: Substeps(TEN_ITERATIONS, 5),
    NEWTON_EULER: Bdf1(solver=EVERY_TIME),
    NEWTON: Stabilised(Midpoint(solver=EVERY_TIME), Bdf1(solver=EVERY_TIME), spin=False),
}
SUBSTEPS = (1, 5, 10)  # always
FINER = (20, 100)  # only where no smaller number is stable
UNSTABLE = 0.5  # of the largest kinetic energy of the stabilised run: invented by midpoint
QUICK = ("Bar", "Cube (Fig. 5)", "Hippo", "Cloth")
LARGE = 20_000  # vertices, from which on local/global gets fewer frames
NEWTON_S = 20.0  # seconds, after which Newton begins no further frame
SUBSTEPS_S = 240.0  # seconds for a run in substeps, as far as which it is judged: 100 for the hippo


def run(bench: Bench) -> Report:
    """Milliseconds a frame of every model, by Newton and by local/global, and substeps."""
    models = [m for m in MODELS if not bench.quick or m.name in QUICK]
    bench.plan(3 * len(models))
    rows = {model.name: _model(bench, model) for model in models}
    reduced = (
        f"12 frames instead of 30 (Newton: up to 10 that begin within {NEWTON_S:g} s; local/global "
        "on Dog and Bunny (Fig. 9): 4); Newton on Cactus, Dog and Bunny (Fig. 9) runs at 600 and "
        "2000 vertices, beside local/global: on the whole a frame takes minutes; whether substeps "
        "are stable is tried at the sizes given, the bar, both cubes and the hippo whole, "
        f"{SUBSTEPS_S:g} s for a run. Models made by formulas stand in for the paper's meshes."
    )
    if bench.quick:
        reduced = f"{len(models)} of 9 models at reduced sizes, 8 frames (Newton: 3)."
    return page.report(models, rows, reduced, bench.quick)


def _model(bench: Bench, model: Model) -> Row:
    size = model.small if bench.quick else {}
    beside = size if bench.quick else {**size, **model.stand_in}
    tested = (model.small, 30) if bench.quick else model.tested
    frames, few = (8, 3) if bench.quick else (12, 10)
    jobs = {
        "fast": ("local/global", lambda: _timed(model, size, BOTH, frames)),
        "newton": ("Newton", lambda: _timed(model, beside, WITH_NEWTON, few, NEWTON_S)),
        "substeps": ("substeps", lambda: _substeps(model, *tested, finer=not bench.quick)),
    }
    return {k: bench.row(f"{model.name}: {name}", job) for k, (name, job) in jobs.items()}


def _scene(model: Model, size: dict[str, Any]) -> Scene:
    """The scene, some frames later: what has only begun to fall costs nothing."""
    scene = scenes.load(model.scene, **size)
    watch = StepByStep(scene, FAST, model.step)
    for _ in range(model.after):
        watch.take()
    return replace(scene, x0=watch.positions, v0=watch.velocities)


def _timed(
    model: Model, size: dict[str, Any], methods: tuple[str, ...], frames: int, limit_s: float = inf
) -> Row:
    """Every method's frames, in turns, so that other work on the machine hits all of them.

    limit_s: no further frame after so many seconds; a frame that has begun is waited for.
    """
    scene = _scene(model, size)
    assert scene.mesh is not None
    elements = len(scene.mesh.tets) or len(scene.mesh.edges)
    found: Row = {"vertices": len(scene.x0), "elements": elements}
    watches = {name: StepByStep(scene, OWN.get(name, name), model.step) for name in methods}
    seconds: dict[str, list[float]] = {name: [] for name in methods}
    failures: dict[str, str] = {}
    frames = min(frames, 4) if len(scene.x0) > LARGE else frames
    until = processor_seconds() + granted(limit_s)
    for _ in range(frames + 1):
        for name in [n for n in methods if n not in failures]:
            if seconds[name] and processor_seconds() > until:
                continue
            try:
                seconds[name].append(watches[name].take())
            except SimulationFailure as stopped:
                failures[name] = str(stopped)
    for name, watch in watches.items():
        found[name] = _cost(watch, seconds[name], failures.get(name))
    return found


def _cost(watch: StepByStep, seconds: list[float], failure: str | None) -> Row:
    """A frame's milliseconds and counts; the first frame factorises and compiles, and is left out
    where there are others."""
    steps = max(watch.stepper.steps, 1)
    log = watch.log.arrays()
    energies = float(np.nansum(log.get("energy_evaluations", np.zeros(1)))) / steps
    work = {name: count / steps for name, count in watch.stepper.work._asdict().items()}
    return {
        "ms": 1e3 * median(seconds[1:] or seconds) if seconds else None,
        "search_ms": 1e3 * energies * _energy_seconds(watch),
        "energies": energies,
        "failure": failure,
        "work": work,
        "frames": len(seconds),
    }


def _energy_seconds(watch: StepByStep) -> float:
    """Seconds that one energy takes: what the search for alpha is made of."""
    return timed(lambda: watch.system.energy(watch.stepper.state), 5)[1]


def _substeps(model: Model, size: dict[str, Any], frames: int, finer: bool) -> Row:
    """Stable or not, and milliseconds a frame, of the midpoint rule in so many substeps.

    finer: also in more than ten, where fewer are not enough."""
    scene = scenes.load(model.scene, **{**size, **model.touch})
    ours = watched(scene, FAST, frames, step=model.step, scale=np.inf)
    scale = max(ours["kinetic"])
    found = {"ours": _judged(ours, scale), "vertices": len(scene.x0), "frames": frames}
    enough = not finer
    for count in (*SUBSTEPS, *FINER):
        if count in FINER and enough:
            break
        judged = _judged(_run(scene, model, count, frames, scale), scale)
        found[str(count)], enough = judged, enough or judged["stable"]
    return found


def _run(scene: Scene, model: Model, count: int, frames: int, scale: float) -> Row:
    method: Any = Substeps(TEN_ITERATIONS, count)
    with time_limit(SUBSTEPS_S):
        return watched(scene, method, frames, step=model.step, until=20.0, scale=scale)


def _judged(row: Row, scale: float) -> Row:
    """Stable as far as it came: who ran out of time has not failed."""
    invented = float(max(row["invented"])) / scale
    cost, failure = row["cost"], row["failure"]
    late = "time limit" in (failure or "")
    return {
        "invented": invented,
        "stable": (failure is None or late) and invented <= UNSTABLE,
        "failure": failure,
        "late": late,
        "frames": cost["steps"],
        "ms": 1e3 * cost["seconds"] / max(cost["steps"], 1),
        "forces": cost["force_evaluations"] / max(cost["steps"], 1),
    }
