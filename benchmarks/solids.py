"""A solid of tetrahedra at full size: which method arrives first at an error of 1 % and of 0.01 %?

NUMBA_NUM_THREADS=1 python benchmarks/solids.py [--vertices 28390] [--young 1e5 1e6 1e8]

The dog of the scene (legs held, 28,390 vertices) at rest, on which gravity begins to act: the
stiffer, the smaller its deformation, and the more linear the motion.  Its duration is a number of
radians of the fastest oscillation, so that explicit methods need as many steps at any stiffness.
Each method goes down its own ladder of steps, or of tolerances, until its error is below both
levels or all rungs so far have taken too long.  Seconds are the processor's; errors are those
of positions at the end, beside the way that particles have gone, against rkn86 with a hundredth of
the smaller level as its tolerance.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from common import table

import stiffly
from stiffly.bodies import Gravity, System, Tetrahedra, lumped_mass
from stiffly.errors import StiffError
from stiffly.matfun.bounds import estimate
from stiffly.meshes import creature

LEVELS = (1e-2, 1e-4)
HEIGHT, HELD, POISSON, DENSITY = 0.8, 0.4, 0.0, 1000.0  # those of the scene
# first rungs: radians of the fastest oscillation in a step, or the tolerance; then halves or tenths
EXPLICIT = {"verlet": 1.6, "rkn6": 8.0}
LONG = ("exprb42", "pexprb43", "energy-momentum")  # from the whole duration on
ADAPTIVE = ("rkn86",)


class Problem(NamedTuple):
    system: System
    x0: np.ndarray
    omega: float  # [1/s], the fastest oscillation at rest
    duration: float


class Arrival(NamedTuple):
    """The cheapest run of a method that is below a level."""

    seconds: float
    setting: str
    error: float
    stats: dict[str, Any]


def problem(vertices: int, young: float, radians: float) -> Problem:
    mesh = creature(vertices, shape="dog", height=HEIGHT)
    x0 = mesh.positions
    mass = lumped_mass(x0, mesh.tets, DENSITY)
    parts = [Tetrahedra(mesh.tets, young, POISSON), Gravity()]
    system = System(mass, parts, rest=x0, fixed=x0[:, 2] < HELD * HEIGHT)
    bound, state = system.bind(x0)
    omega = float(np.sqrt(estimate(bound.tangent(state).stiffness, 30)[0].high))
    return Problem(system, x0, omega, radians / omega)


def run(p: Problem, name: str, **setting: float) -> tuple[float, Any]:
    """Seconds of the processor, and the run; None where it fails."""
    begun = time.process_time()
    options: Any = {"duration": p.duration, "every": p.duration, **setting}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            done = stiffly.simulate(p.system, p.x0, integrator=name, **options)
    except StiffError:
        done = None
    return time.process_time() - begun, done


def rungs(p: Problem, name: str) -> Callable[[int], dict[str, float]]:
    if name in ADAPTIVE:
        return lambda k: {"rtol": 10.0 ** -(k + 1)}
    first = EXPLICIT[name] / p.omega if name in EXPLICIT else p.duration
    count = max(1, int(np.ceil(p.duration / first)))
    return lambda k: {"step": p.duration / (count * 2**k)}


def descend(
    p: Problem, name: str, error_of: Callable[[Any], float], limit: float
) -> dict[float, Arrival]:
    """From the first rung down: what is found at each level."""
    found: dict[float, Arrival] = {}
    rung, spent, k = rungs(p, name), 0.0, 0
    while len(found) < len(LEVELS) and spent < limit and k < 16:
        setting = rung(k)
        seconds, done = run(p, name, **setting)
        spent += seconds
        error = np.inf if done is None else error_of(done)
        print(f"{name}, {told(p, setting)}: error {error:.1e}, {seconds:.1f} s", file=sys.stderr)
        for level in LEVELS:
            if error <= level and level not in found:
                found[level] = Arrival(seconds, told(p, setting), error, done.stats)
        k += 1
    return found


def told(p: Problem, setting: dict[str, float]) -> str:
    if "step" in setting:
        return f"{p.duration / setting['step']:.0f} steps, h omega {p.omega * setting['step']:.3g}"
    return f"rtol {setting['rtol']:.0e}"


def seconds_of(job: Callable[[], object], least: float = 0.2) -> float:
    """Of one call, by many."""
    job()
    begun, count = time.process_time(), 0
    while time.process_time() - begun < least:
        job()
        count += 1
    return (time.process_time() - begun) / count


def prices(p: Problem) -> str:
    """Of a force, a tangent and a product, and of a force inside of Verlet's steps."""
    bound, state = p.system.bind(p.x0)
    A = bound.tangent(state).stiffness
    B = np.random.default_rng(0).standard_normal((A.size, 2))
    force = seconds_of(lambda: bound.force(state))
    tangent = seconds_of(lambda: bound.tangent(state))
    product = seconds_of(lambda: A.apply(B)) / 2
    step, taken = EXPLICIT["verlet"] / p.omega, []
    for count in (1, 8, 40):  # the first loads kernels; what a run costs once is in both others
        seconds, done = run(p._replace(duration=count * step), "verlet", step=step)
        taken.append((seconds, done.stats["force_evaluations"]))
    inside = (taken[2][0] - taken[1][0]) / (taken[2][1] - taken[1][1])
    return (
        f"force {1e3 * force:.2f} ms ({1e3 * inside:.2f} ms inside of Verlet's steps), tangent "
        f"{1e3 * tangent:.1f} ms, product with one of two columns {1e3 * product:.2f} ms: a force "
        f"costs {force / product:.1f} products ({inside / product:.1f} inside of Verlet's steps)"
    )


def compare(p: Problem, methods: list[str], limit: float) -> str:
    run(p._replace(duration=4.0 / p.omega), "exprb42", step=4.0 / p.omega)  # kernels are loaded
    _, exact = run(p, "rkn86", rtol=1e-2 * min(LEVELS))
    way = np.linalg.norm(exact.positions[-1] - p.x0)

    def error_of(done: Any) -> float:
        error = np.linalg.norm(done.positions[-1] - exact.positions[-1]) / way
        return float(error) if np.isfinite(error) else np.inf

    rows = []
    for name in methods:
        found = descend(p, name, error_of, limit)
        for level in LEVELS:
            one = found.get(level)
            if one is None:
                rows.append((name, f"{level:.2%}", *("-",) * 6))
                continue
            counts = ("force_evaluations", "operator_products", "factorizations")
            told = (f"{one.seconds:.3g}", one.setting, f"{one.error:.1e}")
            rows.append((name, f"{level:.2%}", *told, *(one.stats[c] for c in counts)))
    rows.sort(key=lambda row: (row[1] != f"{LEVELS[0]:.2%}", float(row[2].replace("-", "inf"))))
    header = ("method", "error below", "seconds", "setting", "error", "forces", "products")
    return table((*header, "factorizations"), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vertices", type=int, default=28_390)
    parser.add_argument("--young", type=float, nargs="*", default=[1e5, 1e6, 1e8], help="[Pa]")
    parser.add_argument("--radians", type=float, default=400.0, help="of the fastest oscillation")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of a ladder")
    every = [*LONG, *EXPLICIT, *ADAPTIVE]
    parser.add_argument("--methods", nargs="*", default=every, choices=every)
    given = parser.parse_args()
    for young in given.young:
        p = problem(given.vertices, young, given.radians)
        tets = len(p.system.given.parts[0].tets)
        print(
            f"\n{p.system.size:,} coordinates, {tets:,} tets, {young:.0e} Pa: {p.duration:.3g} s, "
            f"{given.radians:.0f} radians of the fastest oscillation ({p.omega:.3g}/s)"
        )
        print(prices(p))
        print(compare(p, given.methods, given.limit), flush=True)


if __name__ == "__main__":
    main()
