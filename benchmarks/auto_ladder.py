"""auto once against the best of our methods and steps that meet the same accuracy.

    python benchmarks/auto_ladder.py cloth,0.1 cloth,0.01 dog,0.1 --best best.json

Small variants of scenes, as `stiffly lab auto` has them, and its references.  Processor seconds, of
all runs of auto's ladder together; forces are those of its last run.  The best of METHODS is sought
among steps that shrink by sqrt 2 from the limit of h omega on, and tolerances by sqrt 10; what was
found is kept in the file and read again.  It is timed again before and after auto.
"""

from __future__ import annotations

import argparse
import json
import logging
import time
import warnings
from collections.abc import Callable
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
from common import table

from stiffly import simulate
from stiffly.errors import SimulationFailure
from stiffly.integrators.auto import stiffest
from stiffly_lab import Bench, references
from stiffly_lab.equal_error_all import problem_of

# longest h omega, inf: any step, None: by rtol
METHODS = (
    ("verlet", 2.0), ("rkn6", 9.0), ("rkn86", None), ("rkn86", 20.0), ("dop853", None),
    ("dop853", 8.0), ("rk4", 2.8), ("symplectic-euler", 2.0), ("pexprb43", None),
    ("exprb42", np.inf), ("exprb2", np.inf), ("energy-momentum", np.inf), ("vimex", np.inf),
    ("bdf2", np.inf),
)  # fmt: skip
LEVELS = (0.1, 0.01, 1e-4)
FEWEST = 8  # steps
BEHIND = 3.0  # times the best: then a method is not followed any further
PATIENCE = 10.0  # seconds of one method in all, unless it leads


def seconds(job: Callable[[], Any]) -> tuple[Any, float]:
    began = time.process_time()
    return job(), time.process_time() - began


def quietly(problem: Any, **options: Any) -> Any:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        run = simulate(problem, every=0.5 * problem.duration, **options)
    return run, [str(w.message) for w in said]


def off(run: Any, exact: Any) -> float:
    """The error of a run at its end, as auto means it."""
    x = np.linalg.norm(run.positions[-1] - exact.x) / exact.scale_x
    return float(max(x, np.linalg.norm(run.velocities[-1] - exact.v) / exact.scale_v))


def settings(problem: Any, limit: float | None) -> Any:
    """Steps or tolerances, the coarsest first."""
    if limit is None:
        yield from ({"rtol": 10.0 ** (-0.5 * k)} for k in range(1, 20))
        return
    system, state = problem.system.bind(problem.x0, problem.v0)
    first = min(problem.duration / FEWEST, limit / max(stiffest(system, state).omega, 1e-30))
    yield from ({"step": first * sqrt(0.5) ** k} for k in range(40))


def followed(
    problem: Any, exact: Any, name: str, limit: float | None, best: dict[float, Any]
) -> None:
    """Runs of one method, ever finer; those that are the fastest of all go into `best`."""
    spent = 0.0
    for how in settings(problem, limit):
        try:
            (run, _), took = seconds(lambda h=how: quietly(problem, integrator=name, **h))
        except SimulationFailure:
            continue
        error, spent = off(run, exact), spent + took
        met = [level for level in LEVELS if error <= level]
        if met and took < 1.5 * best.get(min(met), {"seconds": np.inf})["seconds"]:
            took = min(took, seconds(lambda h=how: quietly(problem, integrator=name, **h))[1])
        work = {k: run.stats[k] for k in ("force_evaluations", "tangents", "operator_products")}
        found = {"method": name, **how, "seconds": took, "error": error, **work}
        for level in met:
            if took < best.get(level, {"seconds": np.inf})["seconds"]:
                best[level] = found
        goal = best.get(min(LEVELS), {"seconds": np.inf})["seconds"]
        if error <= min(LEVELS) or took > BEHIND * goal or spent > PATIENCE:
            return


def best_of(name: str, kept: Path) -> dict[float, Any]:
    known = json.loads(kept.read_text()) if kept.exists() else {}
    if name not in known:
        problem, best = problem_of(name, False), {}
        exact = references.solution(problem, Bench(), limit_s=60.0)
        for method, limit in METHODS:
            try:
                followed(problem, exact, method, limit, best)
            except Exception as refused:  # this method is not for this body
                print(f"{name}: {method}: {str(refused)[:90]}", flush=True)
        known = json.loads(kept.read_text()) if kept.exists() else {}
        known[name] = {f"{level:g}": row for level, row in best.items()}
        kept.write_text(json.dumps(known, indent=1))
    return {float(level): row for level, row in known[name].items()}


def again(problem: Any, best: dict[str, Any]) -> float:
    """Seconds of the best run, now: a busy machine is slower."""
    how = {key: best[key] for key in ("step", "rtol") if key in best}
    return seconds(lambda: quietly(problem, integrator=best["method"], **how))[1]


def case(name: str, level: float, kept: Path) -> tuple[str, ...]:
    best = best_of(name, kept).get(level)
    problem = problem_of(name, False)
    exact = references.solution(problem, Bench(), limit_s=60.0)
    around = [] if best is None else [again(problem, best)]
    (run, said), took = seconds(lambda: quietly(problem, integrator="auto", rtol=level))
    for line in (*run.stats["auto"][::-1], *said):
        print("   ", line, flush=True)
    error = off(run, exact)
    word = "" if error <= level else "MISSED, warned" if said else "MISSED"
    first = run.stats["auto"][0].split()[1]
    row = (f"{name}, {level:g}", f"{first} {took:.2f} s", f"{error / level:.2g} {word}".strip())
    if best is None:
        return row[0], "none", *row[1:2], "", row[2], ""
    needed = 0.5 * (around[0] + again(problem, best))
    best_words = f"{best['method']} {needed:.2f} s"
    forces = f"{run.stats['force_evaluations']:,} / {best['force_evaluations']:,}"
    return row[0], best_words, row[1], f"{took / needed:.1f}", row[2], forces


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="+", help="SCENE,RTOL, or SCENE to seek its best only")
    parser.add_argument("--best", type=Path, default=Path("best.json"))
    asked = parser.parse_args()
    logging.getLogger("stiffly").setLevel(logging.CRITICAL)
    rows = []
    for text in asked.cases:
        name, _, level = text.partition(",")
        if not level:
            print(name, json.dumps(best_of(name, asked.best)), flush=True)
            continue
        rows.append(case(name, float(level), asked.best))
        print(*rows[-1], sep=" | ", flush=True)
    print(table(("case", "best", "auto", "ratio", "error over rtol", "forces"), rows))


if __name__ == "__main__":
    main()
