"""The price of a step over the size of the model: Michels, Sobottka & Weber (2014), Fig. 23a."""

from __future__ import annotations

from functools import partial

import numpy as np

from stiffly import scenes
from stiffly.contracts import Array

from . import figures
from .bench import Bench, Row
from .energy_history import COUNTS
from .harness import Record
from .report import Claim, Report, judged
from .trial import attempt, seconds_of

METHODS = ("neti", "exprb42", "verlet", "bdf1")
SIZES = (20_000, 40_000, 60_000, 80_000, 100_000)
QUICK = (1500, 3000, 6000)
STEPS = {"neti": 4, "exprb42": 4, "verlet": 50, "bdf1": 1}
LIMIT = 2.0 / 3.0  # of Verlet's stability limit 2/omega: the springs are hardened by the motion
LARGEST_BDF1 = 60_000  # particles; its factorisation fills up beyond
LINEAR = 0.15  # by which an exponent may miss 1
PAPER = {"neti": 3.916, "bdf1": 600.0}  # seconds of a step with 100,000 particles

NOTES = """\
Cubic springs of 1e6 N/m, h = 0.05 s, the first steps from rest, CPU and machine as in result.json.
*neti* is the paper's method. Products of the tangent with a vector, each linear in the number of
springs, are what it computes: {products} in a step. The number of springs grows as N^{springs:.2f}
(a coarse model has more surface), so that much of the exponent is the mesh's.

Per simulated second at the largest size, in seconds: {second}. Verlet takes steps of {limit:.2g} s
there. A step of 0.05 s takes two to three times as many products as Verlet takes steps in that
time, and a product costs less than a Verlet step, so that neither is far ahead.

The caption of Fig. 23 says what (a) shows: the runtime of the exponential integrator over the
resolution. Its factor over BDF-1 is printed in Table II, row 6, and is judged there
(`gautschi-table`); here, at larger sizes, it is shown and not counted a second time.
"""


def run(bench: Bench) -> Report:
    """Seconds, products and springs of a step for dragons of growing size."""
    sizes = QUICK if bench.quick else SIZES
    plan = [(n, m) for n in sizes for m in METHODS if m != "bdf1" or n <= LARGEST_BDF1]
    rows = bench.rows("{1}, {0} particles", partial(_measured, Dragons()), plan)
    return Report(
        title="The price of a step and the size of the dragon",
        source="Michels, Sobottka & Weber 2014, Sec. 5.3, Fig. 23a",
        records=[_record(row) for row in rows],
        figure=_figure(rows),
        claims=_claims(rows),
        notes=_notes(rows),
        reduced=f"{sizes[0]} to {sizes[-1]} particles instead of 20,000 to 100,000."
        if bench.quick
        else f"4 steps of each size; BDF-1 one, and only up to {LARGEST_BDF1} particles.",
        data={
            "rows": rows,
            "exponents": {m: exponent(rows, m, "step_seconds") for m in METHODS},
            "work_exponents": {m: exponent(rows, m, "work") for m in METHODS},
        },
    )


class Dragons:
    """Builds each size once, and keeps one at a time: they are large."""

    def __init__(self) -> None:
        self._known: tuple[int, scenes.Scene] | None = None
        self.smallest = scenes.load("dragon", vertices=QUICK[0], law="cubic")

    def __call__(self, size: int) -> scenes.Scene:
        if self._known is None or self._known[0] != size:
            self._known = size, scenes.load("dragon", vertices=size, law="cubic")
        return self._known[1]


def _measured(dragons: Dragons, size: int, method: str) -> Row:
    """The faster of two runs (of BDF-1 there is one)."""
    scene = dragons(size)
    h = _limit(scene) if method == "verlet" else scene.step
    options = {"step": h, "duration": STEPS[method] * h, "every": STEPS[method] * h}
    repeats = 1 if method == "bdf1" else 2
    attempt(dragons.smallest, method, step=h, duration=h)  # compiles
    runs = [attempt(scene, method, **options) for _ in range(repeats)]
    seconds = min(seconds_of(run) for run, _ in runs if run is not None)
    run, failure = runs[0]
    assert run is not None and scene.mesh is not None
    counts = {name: run.stats[name] for name in COUNTS}
    springs = len(scene.mesh.edges)
    passes = (counts["operator_products"] + counts["force_evaluations"]) / STEPS[method]
    return {
        "method": method,
        "particles": len(scene.x0),
        "springs": springs,
        "step": h,
        "failure": failure,
        "seconds": seconds,
        "step_seconds": seconds / STEPS[method],
        "second_seconds": seconds / STEPS[method] / h,
        "products": counts["operator_products"] / STEPS[method],
        "work": passes * springs,
        "counts": counts,
    }


def _limit(scene: scenes.Scene) -> float:
    """A stable step of Verlet [s]: by Gershgorin, omega^2 <= 2 max(sum of k at a vertex) / m.

    Cubic springs at rest are as stiff as linear ones.
    """
    assert scene.mesh is not None
    degree = np.bincount(scene.mesh.edges.ravel()).max()
    squared = 2.0 * degree * scene.parameters["stiffness"] / scene.parameters["mass"]
    return float(LIMIT * 2.0 / np.sqrt(squared))


# ------------------------------------------------------------------ reading the rows


def series(rows: list[Row], method: str, name: str) -> tuple[Array, Array]:
    own = [(r["particles"], r[name]) for r in rows if r["method"] == method]
    particles, values = np.array(own, dtype=float).T
    return particles, values


def exponent(rows: list[Row], method: str, name: str) -> float | None:
    """p of value ~ N^p, fitted; None where nothing is counted."""
    particles, values = series(rows, method, name)
    if len(values) < 2 or values.min() <= 0.0:
        return None
    return float(np.polyfit(np.log(particles), np.log(values), 1)[0])


def _record(row: Row) -> Record:
    return Record(
        row["method"],
        row["step"],
        seconds=row["seconds"],
        failure=row["failure"],
        variant=f"{row['particles']} particles",
        **row["counts"],
    )


def _last(rows: list[Row], method: str) -> Row:
    return [r for r in rows if r["method"] == method][-1]


def _claims(rows: list[Row]) -> list[Claim]:
    seconds = exponent(rows, "neti", "step_seconds") or np.inf
    work = exponent(rows, "neti", "work") or np.inf
    euler = _last(rows, "bdf1")
    same = next(r for r in rows if r["method"] == "neti" and r["particles"] == euler["particles"])
    ratio = euler["step_seconds"] / same["step_seconds"]
    last = _last(rows, "neti")
    return [
        judged(
            "The runtime of the exponential integrator is about linear in the number of particles.",
            f"seconds grow as N^{seconds:.2f}, springs times products as N^{work:.2f} (neti, "
            f"{rows[0]['particles']:,} to {last['particles']:,} particles)",
            (abs(seconds - 1.0) <= LINEAR, abs(work - 1.0) <= LINEAR),
            "The stiffest mode, which decides the number of products, does not depend on the "
            "resolution at a given k and m.",
            "What is computed grows so; a product of a larger body takes more seconds for each of "
            "its springs.",
        ),
        judged(
            f"(Fig. 4, Table II row 6) A step takes {PAPER['neti']:.2f} s with 100,000 particles, "
            f"BDF-1's over {PAPER['bdf1']:.0f} s: 150 times as long.",
            f"neti {last['step_seconds']:.2g} s with {last['particles']:,}; with "
            f"{euler['particles']:,} particles BDF-1 takes {ratio:.2g} times as long "
            f"({euler['counts']['factorizations']} factorisations); it grows as "
            f"N^{exponent(rows, 'bdf1', 'step_seconds') or 0:.2f}",
            (ratio >= 100.0, ratio > 1.0),
            "A factorisation fills up as the body grows, a polynomial does not.",
            "Newton's equations are solved by a sparse Cholesky factorisation here; the paper does "
            "not say by what.",
            item="",
        ),
    ]


def _notes(rows: list[Row]) -> str:
    products = series(rows, "neti", "products")[1]
    return NOTES.format(
        products=", ".join(f"{p:.0f}" for p in products),
        springs=exponent(rows, "neti", "springs"),
        second=", ".join(
            f"{m} {_last(rows, m)['second_seconds']:.3g}" for m in ("neti", "exprb42", "verlet")
        ),
        limit=_last(rows, "verlet")["step"],
    )


def _figure(rows: list[Row]):
    figure, axes = figures.panels(3, "A dragon of cubic springs, h = 0.05 s", size=4.8)
    left, middle, right = axes[0]
    for method in METHODS:
        look = figures.marked(method)
        middle.loglog(*series(rows, method, "second_seconds"), **look)
        if method in ("neti", "exprb42"):
            left.plot(*series(rows, method, "step_seconds"), **look)
            right.plot(*series(rows, method, "products"), **look)
    particles, seconds = series(rows, "neti", "second_seconds")
    line = 0.5 * seconds[0] * particles / particles[0]
    middle.loglog(particles, line, "--", color="#999999", label="linear")
    middle.set_xticks(particles, [f"{n:.0f}" for n in particles], fontsize=8)
    middle.set_xticks([], minor=True)
    left.set_ylim(bottom=0.0)
    right.set_ylim(bottom=0.0)
    words = ("seconds for a step", "seconds for a second of motion", "products for a step")
    for axis, label in zip(axes[0], words, strict=True):
        figures.finish(axis, "particles", label)
    return figure
