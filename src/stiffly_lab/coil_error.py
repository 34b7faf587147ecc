"""Error over step for a coil spring: Michels, Sobottka & Weber (2014), Fig. 22b.

The paper's model is linear, K that of the rest shape: there every method is measured in closed form
(modes.py).  The scene's springs turn with the coil: there the methods run.

The coil moves by a thousandth of its size.  A stiff force is k times a difference of coordinates:
their last digits alone are 1e-7 m/s^2 here.  Below a relative tolerance of about 1e-10 DOP853 can
only meet its error estimate by ever shorter steps: 1e-11, which references.py would ask for, takes
350,000 forces for 0.1 s, and 1e-9 takes 6,000.  So two tolerances above that level are compared.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from stiffly import scenes
from stiffly.bodies import Gravity, LinearSprings, System
from stiffly.contracts import Array
from stiffly.scenes import Scene

from . import figures, report
from .bench import Bench, Row
from .harness import Record, work_precision
from .measures import COIL_HEIGHT
from .methods import IntegratorMethod, ScipyMethod
from .modes import Modes, after, deviation, exact, modes_of, step_maps
from .report import Claim, Report, judged
from .trial import time_limit

COARSE, FINE = 1e-7, 1e-9  # relative tolerances of DOP853
LIMIT_S = 120.0  # of any one run; those of the reference may take longer
REFERENCE_S = 300.0


class Truth(NamedTuple):
    """x, v (N, 3) at the end; error [m]: the largest of any coordinate of x; how: in words."""

    x: Array
    v: Array
    error: float
    how: str


def truth(bench: Bench, scene: Scene, sizes: tuple[float, float]) -> Truth:
    """By DOP853; sizes: of a displacement [m] and of a velocity [m/s], which tolerances refer to.

    Its error is what the coarser of two tolerances changes."""

    def computed() -> Row:
        solver = ScipyMethod("DOP853", sizes=sizes)
        with time_limit(REFERENCE_S):
            coarse, fine = (solver(scene, tolerance) for tolerance in (COARSE, FINE))
        return {
            "x": fine.x,
            "v": fine.v,
            "error": np.abs(fine.x - coarse.x).max(),
            "how": f"DOP853 at {FINE:g} against {COARSE:g}, "
            f"{fine.work.force_evaluations:,} and {coarse.work.force_evaluations:,} forces",
        }

    row = bench.row("springs: reference", computed)
    return Truth(**{**row, "x": np.array(row["x"]), "v": np.array(row["v"])})


def runs(
    bench: Bench, scene: Scene, exact: Truth, steps: dict[str, list[float]], scale: float
) -> list[Record]:
    """Every method at its steps; `relative` is the error of x over the scale [m]."""
    methods = [IntegratorMethod(name, own) for name, own in steps.items()]
    options: dict[str, Any] = {"bench": bench, "label": "springs", "limit_s": LIMIT_S}
    found = work_precision(scene, methods, [], reference=(exact.x, exact.v), **options)
    errors = [None if r.error_x is None else r.error_x / scale for r in found]
    return [replace(r, relative=e, error=e) for r, e in zip(found, errors, strict=True)]


STEP = 0.01  # 'even for large step-sizes in the order of 1e-2'
DURATION = 2.5
METHODS: tuple[str, ...] = ("eti", "eti:rest", "exprb42", "bdf1", "midpoint", "rk4", "verlet")
COUNTS = (25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 1_000_000)
EXPLICIT = ("rk4", "verlet")
RUN_COUNTS = (50, 125, 250, 500)
BETTER = 100.0  # 'two orders of magnitude'
QUICK = "240 particles instead of 1164; true springs for 0.5 s instead of 2.5 s."


def run(bench: Bench) -> Report:
    """Displacement and amplitude error over step, linear model and true springs."""
    vertices = 240 if bench.quick else 1164
    scene = scenes.load(
        "coil-spring", vertices=vertices, section="3x4", stiffness=1e8, duration=DURATION
    )
    modes = modes_of(linear_model(scene))
    limits = {"rk4": 8.0**0.5 / modes.omega[-1], "verlet": 2.0 / modes.omega[-1]}
    counts = [n for n in COUNTS if not bench.quick or n <= 100_000]
    plan = [(m, limits.get(m)) for m in METHODS]
    rows = bench.rows("linear model: {}", partial(_curve, modes, counts), plan)
    curves = dict(zip(METHODS, rows, strict=True))
    short = replace(scene, duration=0.5) if bench.quick else scene
    bench.plan(1)
    static = modes.shapes @ modes.deflection
    scale = float(np.abs(static).max())
    exact = truth(bench, short, _sizes(static, modes))
    records = runs(bench, short, exact, _steps(limits, short.duration), scale)
    return Report(
        title="Error over step for a coil spring",
        source="Michels, Sobottka & Weber 2014, Sec. 5.2, Fig. 22b",
        records=records,
        figure=_figure(curves, records, exact.error / scale, short),
        claims=_claims(curves, records),
        notes=_notes(modes, curves, limits, exact, short, scale),
        reduced=QUICK if bench.quick else "",
        data={"curves": curves},
    )


def linear_model(scene: Scene) -> Scene:
    """The same coil with the stiffness of its rest shape."""
    mesh, given = scene.mesh, scene.parameters
    assert mesh is not None
    count = len(mesh.positions)
    system = System(
        mass=np.full(count, given["mass"] / count),
        parts=[LinearSprings(mesh.edges, given["stiffness"]), Gravity((0.0, 0.0, -given["field"]))],
        fixed=mesh.vertex_sets["bottom"],
        rest=mesh.positions,
    )
    return replace(scene, name="linear coil-spring", system=system)


# ------------------------------------------------------------------ rows


def _curve(modes: Modes, counts: list[int], method: str, limit: float | None) -> Row:
    truth = exact(modes.omega, DURATION)
    main = int(np.argmax(modes.energy))
    found: dict[str, list[float]] = {"step": [], "error": [], "amplitude": []}
    for count in counts:
        h = DURATION / count
        if limit is not None and h >= limit:
            continue
        end = after(step_maps(method, modes.omega, h), count)
        found["step"].append(h)
        found["error"].append(deviation(modes, end, truth)[0])
        y, w = end[main]
        found["amplitude"].append(float(abs(np.hypot(y - 1.0, w) - 1.0)))
    return found


def _steps(limits: dict[str, float], duration: float) -> dict[str, list[float]]:
    steps = {m: [DURATION / n for n in RUN_COUNTS] for m in METHODS if m not in limits}
    for name, limit in limits.items():
        below = 0.8 * limit  # the true coil is a little stiffer where it is compressed
        steps[name] = [duration / float(np.ceil(duration / below))]
    return steps


def _sizes(static: Array, modes: Modes) -> tuple[float, float]:
    """Of a displacement and of a velocity: those of the linear model."""
    size = float(np.sqrt(np.mean(static**2)))
    return size, size * float(modes.main()[0])


# ------------------------------------------------------------------ reading them


def at(curve: Row, h: float, what: str = "error") -> float:
    """The value at the tabulated step nearest to h."""
    nearest = int(np.argmin(np.abs(np.log(np.array(curve["step"]) / h))))
    return float(curve[what][nearest])


def order(curve: Row) -> float:
    """Slope of log error over log step, fitted between rounding and the first per cent."""
    h, e = np.array(curve["step"]), np.array(curve["error"])
    fit = (e < 1e-2) & (e > 1e-8)
    return float(np.polyfit(np.log(h[fit]), np.log(e[fit]), 1)[0]) if fit.sum() > 1 else np.nan


def _claims(curves: Row, records: list[Record]) -> list[Claim]:
    errors = {name: at(curve, STEP) for name, curve in curves.items() if name not in EXPLICIT}
    sizes = {name: at(curves[name], STEP, "amplitude") for name in ("eti:rest", "bdf1")}
    ratio = errors["bdf1"] / errors["eti:rest"]
    true, tell = _true_ratio(records)
    equal = _equal_error(curves)
    return [
        judged(
            "At steps of 1e-2 s it is still two orders of magnitude more accurate than BDF-1.",
            f"h = 0.01 s: eti:rest {errors['eti:rest']:.1e}, BDF-1 {errors['bdf1']:.1e} (ratio "
            f"{ratio:.0f}; amplitudes {sizes['eti:rest']:.1e} and {sizes['bdf1']:.1e}); eti "
            f"{errors['eti']:.0e}, midpoint {errors['midpoint']:.1e}, exprb42 "
            f"{errors['exprb42']:.0e}",
            (ratio >= BETTER, errors["bdf1"] / errors["eti"] >= BETTER),
            "In the linear model, which is the paper's. Second order against first as the paper "
            "writes it (eti:rest); exact with the load in the reference (eti).",
            "Less than two orders in one of eti's two forms.",
        ),
        judged(
            "It stays usable as steps are increased to 1e-2 s, where BDF-1 does not.",
            f"an error of 1 % is met up to h = {equal['eti:rest']:.2g} s by eti:rest, "
            f"{equal['eti']:.2g} s by eti, {equal['bdf1']:.2g} s by BDF-1, "
            f"{equal['midpoint']:.2g} s by midpoint; order of eti:rest "
            f"{order(curves['eti:rest']):.2f}",
            (equal["eti:rest"] >= STEP, equal["eti:rest"] >= BETTER * equal["bdf1"]),
            "Counted as reproduced where its step is 1e-2 s or more and 100 times BDF-1's.",
            "Its step is below 1e-2 s, or below 100 times BDF-1's.",
        ),
        judged(
            "(not in the paper) The same holds for true springs, which turn with the coil.",
            f"h = 0.01 s: {tell}",
            (true >= BETTER,),
            "The coil hardly turns.",
            "What turns is a force from outside to eti, and what that costs falls slower.",
            item="",
        ),
    ]


def _true_ratio(records: list[Record]) -> tuple[float, str]:
    """BDF-1's error over eti's at the paper's step, true springs; and in words."""
    euler, ours, plain = (
        next(r for r in records if r.method == name and abs(r.step - STEP) < 1e-9)
        for name in ("bdf1", "eti", "eti:rest")
    )
    if euler.relative is None or ours.relative is None:
        return float("nan"), f"none ({ours.failure or euler.failure})"
    ratio = euler.relative / ours.relative
    return ratio, (
        f"eti {ours.relative:.1e}, BDF-1 {euler.relative:.1e} (ratio {ratio:.0f}); eti:rest "
        f"{report.number(plain.relative) or plain.failure}"
    )


def _equal_error(curves: Row) -> dict[str, float]:
    """The largest tabulated step whose error is 1 % at most; nan where there is none."""
    return {
        name: max(
            (h for h, e in zip(c["step"], c["error"], strict=True) if e <= 1e-2), default=np.nan
        )
        for name, c in curves.items()
    }


def _notes(modes: Modes, curves: Any, limits: Any, exact: Truth, scene: Scene, scale: float) -> str:
    slow = float(modes.main()[0])
    static = (modes.shapes @ modes.deflection).reshape(-1, 3)
    moved = 2.0 * float(np.linalg.norm(static, axis=1).max())
    orders = ", ".join(f"{n} {order(curves[n]):.2f}" for n in ("eti:rest", "bdf1", "midpoint"))
    return f"""\
The paper's section is one of linear models, whose K is constant; its claims are judged there.
Linear model, {len(scene.x0)} particles: the slowest main swing has {slow:.3g} rad/s, the fastest
mode {modes.omega[-1]:.3g} rad/s; T = {DURATION:g} s, about {DURATION * slow / (2.0 * np.pi):.1f}
swings. Left: displacement of all particles at the end, relative to the static one. Middle: the
paper's measure, the amplitude of the main swing against the exact one. BDF-1's error cannot exceed
the motion itself, so that its curve flattens where the swing is gone; below, it falls with h,
eti:rest, which filters the load as the paper's equation does, and midpoint with h^2. RK4 and
Verlet have no points above their stability limits,
{limits["rk4"]:.2g} s and {limits["verlet"]:.2g} s. exprb42 and eti, with the load in its
reference, are exact here: their points are rounding.

Right: true springs, which turn with the coil, for {scene.duration:g} s. It moves by {moved:.1g} m
at most, {moved / COIL_HEIGHT:.1g} of its height, so that the linear model is a fair one. RK4 and
Verlet run at 0.8 of their limits, every run for {LIMIT_S:g} s of computing at most. Reference:
{exact.how}, whose ends are {exact.error / scale:.0e} of the largest static displacement apart
(dotted; what lies below is not resolved). Errors are the largest of any coordinate, relative to
that displacement.

Measured orders in the linear model: {orders}.
"""


def _figure(curves: Row, records: list[Record], below: float, scene: Scene) -> Any:
    title = f"Coil spring, {len(scene.x0)} particles, k = 1e8 N/m"
    figure, axes = figures.panels(3, title, size=4.8)
    for axis, what, label in (
        (axes[0, 0], "error", "displacement error at 2.5 s, linear model"),
        (axes[0, 1], "amplitude", "amplitude error |A/A0 - 1|, linear model"),
    ):
        for name, curve in curves.items():
            values = np.maximum(np.array(curve[what], dtype=float), 1e-15)
            axis.loglog(curve["step"], values, **figures.marked(name))
        axis.set_ylabel(label)
    for name in METHODS:
        own = [(r.step, r.relative) for r in records if r.method == name and r.relative]
        if own:
            axes[0, 2].loglog(*zip(*own, strict=True), **figures.marked(name))
    axes[0, 2].axhline(below, color=figures.INK, linestyle=":", label="of the reference")
    axes[0, 2].set_ylabel(f"displacement error at {scene.duration:g} s, true springs")
    for axis in axes[0]:
        figures.finish(axis, "step [s]")
    return figure
