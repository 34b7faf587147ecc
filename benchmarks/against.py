"""Is it slower than it was?  Fixed runs of small scenes, now and at a commit of before, in turns.

    python benchmarks/against.py d98f4ad            # the commit, of this repository
    python benchmarks/against.py d98f4ad --rounds 5 --only tiny

Both sides run in processes of their own, one thread each, one after the other, so that what else
the machine does meets both; a side's figure is the median of its rounds' processor seconds.  The
first run of each case compiles, and is not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from common import table
from rich.progress import track
from work import CASES

HERE = Path(__file__).resolve().parents[1]
MORE = {  # beside those whose work is counted: as in work.py
    "springs, verlet": ("coil-spring", "verlet", 0.001, 2000),
    "springs, rk4": ("dragon", "rk4", 0.001, 200),
    "yielding, verlet": ("crash", "verlet", 5e-5, 400),
    "wind, verlet": ("flag", "verlet", 1e-4, 400),
    "moved cloth, verlet": ("cloth", "verlet", 0.001, 400),
    "tets, verlet": ("bar", "verlet", 1e-4, 400),
    "hair, exprb42": ("hair", "exprb42", 0.002, 10),
    "dome, eti": ("dome", "eti", 0.01, 40),
    "self-contact, realtime": ("tori", "realtime", 0.01, 20),
    "molecule, verlet": ("molecule", "verlet", 1e-15, 200),
    "tiny, verlet": ("two-springs", "verlet", 0.04, 125),
    "tiny, rkn6": ("two-springs", "rkn6", 0.45, 11),
    "tiny, dop853": ("two-springs", "dop853", None, 5.0),
    "tiny, rkn86": ("two-springs", "rkn86", None, 5.0),
    "tiny, exprb42": ("two-springs", "exprb42", 0.1, 50),
}
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "NUMBA")}
ONE = """
import json, sys, time, warnings
import stiffly
warnings.simplefilter("ignore")
scene, integrator, step, length = json.loads(sys.argv[1])
duration = step * length if step else length
given = {"step": step} if step else {"rtol": 1e-4}
given |= dict(integrator=integrator, every=duration, duration=duration)
problem = stiffly.scenes.load(scene, small=True)
spent = []
while len(spent) < 3 or sum(spent) < 0.3:  # short ones often enough
    began = time.process_time()
    stiffly.simulate(problem, **given)
    spent.append(time.process_time() - began)
print(min(spent[1:]))
"""


def seconds(tree: Path, case: tuple) -> float | str:
    """Of one run of the case with the sources in this tree, or the last line of its failure."""
    env = {**os.environ, **ONE_THREAD, "PYTHONPATH": str(tree / "src")}
    asked = [sys.executable, "-c", ONE, json.dumps(case)]
    done = subprocess.run(asked, env=env, capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip().splitlines()[-1][:60]
    return float(done.stdout.split()[-1])


def compared(before: Path, case: tuple, rounds: int) -> tuple[str, ...]:
    sides: list[list[float | str]] = [[], []]
    for _ in range(rounds):
        for found, tree in zip(sides, (before, HERE), strict=True):
            found.append(seconds(tree, case))
    told = [next((s for s in found if isinstance(s, str)), None) for found in sides]
    if any(told):
        return *(t or "runs" for t in told), ""
    old, new = (median(s for s in found if isinstance(s, float)) for found in sides)
    return f"{1e3 * old:.3g} ms", f"{1e3 * new:.3g} ms", f"{new / old:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commit", help="what is compared with")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="cases with this in their name")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "before"
        git = ["git", "-C", str(HERE), "worktree"]
        subprocess.run([*git, "add", "--detach", "-q", str(tree), given.commit], check=True)
        try:
            cases = {n: case for n, case in {**CASES, **MORE}.items() if given.only in n}
            rows = [
                (name, *compared(tree, cases[name], given.rounds))
                for name in track(cases, description="cases", transient=True)
            ]
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)
    print(table(("case", given.commit, "now", "now / before"), rows))


if __name__ == "__main__":
    main()
