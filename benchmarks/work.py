"""The gate: does any run do more work than in the last release?  Counts, not seconds.

    python benchmarks/work.py               # compares with work.json; exit code 1 on growth
    python benchmarks/work.py --update      # with a release, or where more work is meant: say why

Force evaluations, products, factorisations, solves and Newton iterations of fixed runs are the same
on an idle and on a busy machine.  Processors round differently, and an iteration that ends on a
tolerance may then take one turn more: growth by up to SLACK of a count is let through.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from pathlib import Path

from common import table

import stiffly

SLACK = 0.03
KNOWN = Path(__file__).with_suffix(".json")
CASES = {  # small scene, integrator, step [s], steps; without a step: seconds, at rtol 1e-4
    "springs, exprb42": ("coil-spring", "exprb42", 0.01, 40),
    "springs, epirk4s3": ("coil-spring", "epirk4s3", 0.01, 40),
    "springs, neti": ("bunny", "neti", 0.002, 40),
    "springs, eti": ("bunny", "eti", 0.002, 40),
    "cloth, realtime": ("cloth", "realtime", 0.02, 40),
    "cloth, energy-momentum": ("cloth", "energy-momentum", 0.01, 20),
    "cloth, bdf1": ("cloth", "bdf1", 0.02, 20),
    "tets, energy-momentum": ("bar", "energy-momentum", 0.01, 20),
    "tets, realtime-midpoint": ("bar", "realtime-midpoint", 0.01, 20),
    "tets, vimex": ("bar", "vimex", 0.002, 20),
    "contact, stabilised": ("falling-cube", "stabilised", 0.01, 40),
    "chain, pexprb43": ("fput", "pexprb43", None, 1.0),
}


def counts(name: str) -> dict[str, int]:
    scene, integrator, step, length = CASES[name]
    duration = step * length if step else length
    given = {"step": step} if step else {"rtol": 1e-4}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem = stiffly.scenes.load(scene, small=True)
        run = stiffly.simulate(
            problem, integrator=integrator, every=duration, duration=duration, **given
        )
    return {key: int(n) for key, n in run.stats.items() if isinstance(n, int) and n}


def grown(now: dict[str, int], before: dict[str, int]) -> list[str]:
    """The counts that are larger than they were, as words."""
    return [
        f"{key} {before.get(key, 0)} -> {n}"
        for key, n in now.items()
        if n > before.get(key, 0) * (1.0 + SLACK)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update", action="store_true", help="keep today's counts")
    asked = parser.parse_args()
    found = {name: counts(name) for name in CASES}
    if asked.update:
        KNOWN.write_text(json.dumps(found, indent=1) + "\n")
        return 0
    known = json.loads(KNOWN.read_text())
    faults = {name: grown(now, known.get(name, {})) for name, now in found.items()}
    rows = [
        (name, ", ".join(f"{k} {n}" for k, n in now.items()), "; ".join(faults[name]) or "no")
        for name, now in found.items()
    ]
    print(table(("run", "work", "grown"), rows))
    return int(any(faults.values()))


if __name__ == "__main__":
    sys.exit(main())
