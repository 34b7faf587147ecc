"""How well, and how fast, surfaces are filled with tets:

    python benchmarks/filling.py bunny.obj cow.obj ... [--tets 2000]

One line each: seconds of the first time and of the second, which the cache answers, and the quality
report.  The cache is a folder of its own that goes away, so that nothing of earlier runs is timed.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import warnings
from pathlib import Path

from stiffly.meshes import quality, read_mesh, tetrahedralise


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--tets", type=int, default=2000)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")  # what was repaired is not the matter here
    with tempfile.TemporaryDirectory() as folder:
        os.environ["STIFFLY_CACHE"] = folder
        for path in asked.files:
            surface, seconds = read_mesh(path, repair=True), []
            for _ in range(2):
                begin = time.perf_counter()
                mesh = tetrahedralise(surface, tets=asked.tets, name=path.name, close_holes=True)
                seconds.append(time.perf_counter() - begin)
            first, again = seconds
            print(
                f"{path.name}: {len(surface.triangles):,} triangles, {first:.1f} s, then "
                f"{again:.2f} s; {quality(mesh)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
