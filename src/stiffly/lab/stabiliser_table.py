"""What stability costs: Dinev, Liu & Kavan (2018), Tables 1 and 2."""

from __future__ import annotations

import time
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np

from .. import scenes
from ..errors import SimulationFailure
from ..integrators import Midpoint, Substeps
from ..scenes import Scene
from ..solvers.local_global import LocalGlobal
from . import stabiliser_page as page
from .bench import Bench
from .report import Report
from .stabiliser_models import MODELS, Model
from .stabiliser_page import BOTH, FAST, NEWTON, NEWTON_EULER
from .watch import Watch, watched

SUBSTEPS = (1, 5, 10, 20, 100)
UNSTABLE = 0.5  # of the largest kinetic energy of the stabilised run: invented by midpoint
QUICK = ("Bar", "Cube (Fig. 5)", "Hippo", "Cloth")
LARGE, MEDIUM = 8000, 2000  # vertices, from which on Newton gets fewer frames


def run(bench: Bench) -> Report:
    """Milliseconds a frame of every model, by Newton and by local/global, and substeps."""
    models = [m for m in MODELS if not bench.quick or m.name in QUICK]
    bench.plan(3 * len(models))
    rows = {model.name: _model(bench, model) for model in models}
    cut = "12 frames (Newton: 1 to 10) instead of 30; substeps of the larger models at reduced "
    reduced = cut + "sizes. Models made by formulas stand in for the paper's meshes."
    if bench.quick:
        reduced = (
            f"--quick: {len(models)} of 9 models at reduced sizes, 8 frames (Newton: 3); {reduced}"
        )
    return page.report(models, rows, reduced, bench.quick)


def _model(bench: Bench, model: Model) -> dict[str, Any]:
    size = model.small if bench.quick else model.full
    frames = 8 if bench.quick else 12
    tested = (model.small, 30) if bench.quick else model.tested
    counts = SUBSTEPS[: 3 if bench.quick else 4]
    fast = bench.row(f"{model.name}: local/global", lambda: _timed(model, size, BOTH, frames))
    newton = bench.row(
        f"{model.name}: Newton",
        lambda: _timed(model, size, (NEWTON_EULER, NEWTON), _newton_frames(fast, bench.quick)),
    )
    substeps = bench.row(f"{model.name}: substeps", lambda: _substeps(model, *tested, counts))
    return {"fast": fast, "newton": newton, "substeps": substeps}


def _newton_frames(fast: dict[str, Any], quick: bool) -> int:
    vertices = fast["vertices"]
    return 3 if quick else 1 if vertices > LARGE else 3 if vertices > MEDIUM else 10


def _scene(model: Model, size: dict[str, Any]) -> Scene:
    """The scene, some frames later: what has only begun to fall costs nothing."""
    scene = scenes.load(model.scene, **size)
    watch = Watch(scene, FAST, model.step)
    for _ in range(model.after):
        watch.take()
    return replace(scene, x0=watch.positions, v0=watch.velocities)


def _timed(
    model: Model, size: dict[str, Any], methods: tuple[str, ...], frames: int
) -> dict[str, Any]:
    """Every method's frames, in turns, so that other work on the machine hits all of them."""
    scene = _scene(model, size)
    assert scene.mesh is not None
    elements = len(scene.mesh.tets) or len(scene.mesh.edges)
    found: dict[str, Any] = {"vertices": len(scene.x0), "elements": elements}
    watches = {name: Watch(scene, name, model.step) for name in methods}
    seconds: dict[str, list[float]] = {name: [] for name in methods}
    failures: dict[str, str] = {}
    for _ in range(frames + 1):
        for name in [n for n in methods if n not in failures]:
            try:
                seconds[name].append(watches[name].take())
            except SimulationFailure as stopped:
                failures[name] = str(stopped)
    for name, watch in watches.items():
        found[name] = _cost(watch, seconds[name], failures.get(name))
    return found


def _cost(watch: Watch, seconds: list[float], failure: str | None) -> dict[str, Any]:
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


def _energy_seconds(watch: Watch) -> float:
    """Seconds that one energy takes: what the search for alpha is made of."""
    times = []
    for _ in range(5):
        began = time.perf_counter()
        watch.system.energy(watch.stepper.state)
        times.append(time.perf_counter() - began)
    return median(times)


def _substeps(
    model: Model, size: dict[str, Any], frames: int, counts: tuple[int, ...]
) -> dict[str, Any]:
    """Stable or not, and milliseconds a frame, of the midpoint rule in so many substeps.

    A hundred are tried only where twenty are not enough."""
    scene = scenes.load(model.scene, **size)
    ours = watched(scene, FAST, frames, step=model.step, scale=np.inf)
    scale = max(ours["kinetic"])
    found = {"ours": _judged(ours, scale), "vertices": len(scene.x0), "frames": frames}
    for count in counts:
        found[str(count)] = _judged(_run(scene, model, count, frames, scale), scale)
    last = counts[-1]
    if last == 20 and not found["20"]["stable"]:
        found["100"] = _judged(_run(scene, model, 100, frames, scale), scale)
    return found


def _run(scene: Scene, model: Model, count: int, frames: int, scale: float) -> dict[str, Any]:
    base: Any = Midpoint(solver=LocalGlobal())
    method: Any = Substeps(base, count)
    return watched(scene, method, frames, step=model.step, until=20.0, scale=scale)


def _judged(row: dict[str, Any], scale: float) -> dict[str, Any]:
    invented = float(max(row["invented"])) / scale
    cost = row["cost"]
    return {
        "invented": invented,
        "stable": row["failure"] is None and invented <= UNSTABLE,
        "failure": row["failure"],
        "ms": 1e3 * cost["seconds"] / max(cost["steps"], 1),
        "forces": cost["force_evaluations"] / max(cost["steps"], 1),
    }
