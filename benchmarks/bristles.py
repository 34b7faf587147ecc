"""A brush: independent bristles evaluated one by one, against one Krylov space for all of them.

    python benchmarks/bristles.py [bristles]
    python benchmarks/bristles.py --damped [bristles]     seconds of a step, by damping

A bristle has 5 cross-sections of 4 particles, the lowest one held: 48 coordinates, E = 3.2e10 Pa,
G = 1e9 Pa, 0.12 mm thick, 18 to 22 mm long.  One exprb42 step of 1500 bristles is timed with
method='batched' and with method='lanczos' (its basis may take 1 GB), the matrix functions to 1e-6;
and with Chebyshev, what `auto` would take otherwise, up to h omega = 1000 (its cost is proportional
to that).  Errors: |x - exact| / |displacement in the step|, likewise v, on the first bristles,
against exprb42 with the full eigenbasis of those bristles alone.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from common import table

from stiffly.bodies import Drag, Gravity, Rayleigh, System, fibers
from stiffly.contracts import State
from stiffly.errors import NotConverged
from stiffly.integrators import ExponentialRosenbrock

SECTIONS, THICKNESS, LENGTH = 5, 1.2e-4, 0.02  # [m]
YOUNG, SHEAR, DENSITY = 3.2e10, 1e9, 1300.0  # [Pa], [Pa], [kg/m^3]
STEPS = (1e-6, 1e-5, 1e-4, 4e-4, 1e-3, 2e-3, 7.5e-3)
METHODS = ("batched", "lanczos", "chebyshev")
ROUNDS = 5
TOL = 1e-6
CHECKED = 4  # bristles whose error is measured


def brush(count: int, seed: int = 0, damping=None, loads=()):
    """System and state of `count` straight bristles, 18 to 22 mm long, tips at about 1 m/s.

    Straight, because poses bent by hand are no equilibria: compressed springs make the tangent
    indefinite, and its functions overflow at the larger steps.
    """
    rng = np.random.default_rng(seed)
    numbers = rng.uniform(-1, 1, (count, 3))  # the same first rows whatever the count
    lines = np.zeros((count, SECTIONS, 3))
    lines[:, :, 2] = np.linspace(0.0, LENGTH, SECTIONS) * (1.0 + 0.1 * numbers[:, :1])
    lines[:, :, 0] = 5e-3 * np.arange(count)[:, None]
    material = dict(thickness=THICKNESS, young=YOUNG, torsional=SHEAR, density=DENSITY)
    body = fibers(lines, normal=(1.0, 0.0, 0.0), **material)
    parts = [body.part, Gravity(), *loads]
    system = System(body.mass, parts, body.root, body.positions, damping=damping)
    v = np.zeros((count, SECTIONS, 4, 3))
    v[..., :2] = numbers[:, None, None, 1:] * np.linspace(0.0, 1.0, SECTIONS)[:, None, None] ** 2
    return system.bind(body.positions, v.reshape(-1, 3))


def one_step(system, state, h, method):
    return ExponentialRosenbrock((0.75,), tol=TOL, method=method).step(system, state, h, None)


def relative_errors(new: State, exact: State, old: State) -> str:
    n = exact.x.size
    pairs = ((new.x[:n], exact.x, old.x[:n]), (new.v[:n], exact.v, old.v[:n]))
    errors = [np.linalg.norm(a - b) / np.linalg.norm(b - c) for a, b, c in pairs]
    return "{:.0e}, {:.0e}".format(*errors)


def attempt(system, state, h, method):
    """Seconds, and the new state or None where the evaluator gave up."""
    start = time.perf_counter()
    try:
        new = one_step(system, state, h, method).state
    except NotConverged:
        new = None
    return time.perf_counter() - start, new


def compare(system, state, h, methods):
    """Least seconds of every method, in turns (other programs only ever add time), and the new
    states; a method that gave up is not tried again."""
    times, states = {m: [] for m in methods}, {}
    for _ in range(ROUNDS):
        for method in methods:
            if states.get(method, state) is not None:
                seconds, states[method] = attempt(system, state, h, method)
                times[method].append(seconds)
    return {m: min(t) for m, t in times.items()}, states


def row(system, state, h, omega, exact):
    methods = ["batched", "lanczos"] + (["chebyshev"] if h * omega < 1000.0 else [])
    seconds, states = compare(system, state, h, methods)
    failed = states["lanczos"] is None
    ratio = f"{'> ' if failed else ''}{seconds['lanczos'] / seconds['batched']:.1f}x"
    times = [f"{1e3 * seconds[m]:.0f} ms" if m in seconds else "" for m in METHODS]
    ours = relative_errors(states["batched"], exact, state)
    theirs = "did not converge" if failed else relative_errors(states["lanczos"], exact, state)
    chosen = one_step(system, state, h, "auto").notes["method"].split(",")[0]
    return f"{h:g} s", f"{h * omega:.1e}", *times, ratio, ours, theirs, chosen


def damped(count: int) -> None:
    """Processor seconds of one step, least of three: undamped, and damped in four ways."""
    ways = {
        "undamped": {},
        "alpha": {"damping": Rayleigh(4.0, 0.0)},
        "beta": {"damping": Rayleigh(0.0, 1e-7)},
        "strong beta": {"damping": Rayleigh(0.0, 1e-4)},
        "drag": {"loads": [Drag(1e-6)]},
    }
    rows = []
    for name, options in ways.items():
        system, state = brush(count, **options)
        for h in STEPS[1::2]:
            times, taken = [], None
            for _ in range(3):
                start = time.process_time()
                taken = one_step(system, state, h, "auto")
                times.append(time.process_time() - start)
            rows.append((name, f"{h:g} s", f"{min(times):.3f}", taken.notes["method"]))
    print(f"{count} bristles\n")
    print(table(("damping", "step", "seconds", "method"), rows))


def main() -> None:
    if "--damped" in sys.argv:
        sys.argv.remove("--damped")
        damped(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
        return
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1500
    system, state = brush(count)
    few, few_state = brush(CHECKED)
    omega = np.sqrt(few.tangent(few_state).stiffness.eigenbasis()[0].max())
    for method in METHODS:
        one_step(system, state, 0.1 / omega, method)  # compiles
    print(f"{count} bristles, {state.x.size} coordinates, omega_max = {omega:.2e} 1/s\n")
    exact = [one_step(few, few_state, h, "dense").state for h in STEPS]
    header = (
        *("step", "h omega", "batched", "Lanczos", "Chebyshev", "Lanczos / batched"),
        *("errors x, v batched", "Lanczos", "auto takes"),
    )
    rows = [row(system, state, h, omega, e) for h, e in zip(STEPS, exact, strict=True)]
    print(table(header, rows))


if __name__ == "__main__":
    main()
