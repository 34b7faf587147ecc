"""From the command to the second frame: processor seconds with empty caches, and once more with
full ones; the most memory that the second of them takes.

    python benchmarks/first_frame.py [SCENE ...]

All scenes at full size, each in a process of its own, importing, building and compiling included; a
frame after two steps of twenty.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from common import table

import stiffly

# as `stiffly run` does it; of many steps, so that their limit is looked for as in a whole run
CODE = """
import resource, sys, time, warnings
import stiffly
from stiffly import memory
memory.keep()
warnings.simplefilter("ignore")
scene = stiffly.scenes.load(sys.argv[1])
h, out = scene.step or scene.duration / 1000, sys.argv[2]

class Seen(Exception):
    pass

def look(report):
    if report.frames > 1:
        raise Seen

try:
    stiffly.simulate(scene, duration=20 * h, every=2 * h, out=out, force=True, progress=look)
except Seen:
    print(time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
"""


def row(name: str) -> tuple[str, ...]:
    with tempfile.TemporaryDirectory() as folder:
        told = {**os.environ, "NUMBA_CACHE_DIR": f"{folder}/cache", "NUMBA_NUM_THREADS": "1"}
        line = [sys.executable, "-c", CODE, name, f"{folder}/run"]
        said = [subprocess.check_output(line, env=told, text=True).split() for _ in range(2)]
    (cold, _), (warm, most) = ([float(number) for number in numbers] for numbers in said)
    return name, f"{cold:.1f}", f"{warm:.1f}", f"{most:.2f}"


def main() -> None:
    names = sys.argv[1:] or stiffly.scenes.NAMES
    rows = []
    for name in names:
        rows.append(row(name))
        print(*rows[-1], file=sys.stderr, flush=True)  # all of them take a while
    print(table(("scene", "cold, s", "warm, s", "peak, GB"), rows))


if __name__ == "__main__":
    main()
