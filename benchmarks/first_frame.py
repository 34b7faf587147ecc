"""From the command to the second frame: processor seconds with empty caches, and once more with
full ones.

    python benchmarks/first_frame.py [SCENE ...]

Each in a process of its own, importing, building and compiling included; a frame after two steps.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from common import table

SCENES = ("coil-spring", "dragon", "brush", "crash", "bunny", "flag", "tower", "hair")
CODE = """
import sys, time, warnings
import stiffly
warnings.simplefilter("ignore")
scene = stiffly.scenes.load(sys.argv[1])
h, out = scene.step, sys.argv[2]
stiffly.simulate(scene, duration=2 * h, every=2 * h, out=out, force=True)
print(time.process_time())
"""


def row(name: str) -> tuple[str, ...]:
    with tempfile.TemporaryDirectory() as folder:
        told = {**os.environ, "NUMBA_CACHE_DIR": f"{folder}/cache", "NUMBA_NUM_THREADS": "1"}
        line = [sys.executable, "-c", CODE, name, f"{folder}/run"]
        spent = [subprocess.check_output(line, env=told, text=True) for _ in range(2)]
    return (name, *(f"{float(seconds):.1f}" for seconds in spent))


def main() -> None:
    names = sys.argv[1:] or SCENES
    print(table(("scene", "cold, s", "warm, s"), [row(name) for name in names]))


if __name__ == "__main__":
    main()
