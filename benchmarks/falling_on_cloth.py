"""A soft body falls on a hanging cloth: is every joule accounted for, and does nothing pass?

    python benchmarks/falling_on_cloth.py [--quick]

A cube, then a ball filled with tets, 0.34 s, steps of 4 ms and 1/60 s, with `energy-momentum` and
`realtime`.  Nothing drives the scene, so `added` has to be 0; error: the largest numerical error of
the run over the energy exchanged; passed: frames in which an edge goes through a triangle.
Seconds: of the clock, on as many cores as there are, the scene already loaded.
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from common import table

import stiffly
from stiffly import meshes
from stiffly.collisions.start import overlaps
from stiffly.errors import Advice

SCENE = """
step = 0.004
duration = 0.34
frames_per_second = 30
[[body]]
name = "cloth"
shape = { kind = "cloth", nx = 30, ny = 30, spacing = 0.04 }
elasticity = "cloth"
structural = 600.0
shear = 100.0
bending = 2.0
mass = 0.3
pins = ["corners"]
[[body]]
name = "body"
%s
position = [0.45, 0.45, 0.2]
elasticity = "tetrahedra"
young = 2e4
poisson = 0.3
material = "neo-hookean"
density = 60.0
[[load]]
kind = "gravity"
[contact]
thickness = 0.02
stiffness = 3000.0
friction = 0.2
[damping]
alpha = 0.1
"""
SHAPES = {
    "cube": 'shape = { kind = "cube", cells = 4, side = 0.25 }',
    "ball": 'mesh = "ball.obj"\ntetrahedralise = 150',
}
RADIUS = 0.13
METHODS = ("energy-momentum", "realtime")
STEPS = (0.004, 1 / 60)


def scene_file(folder: Path, body: str) -> Path:
    if body == "ball":
        meshes.write_mesh(folder / "ball.obj", meshes.sphere(16, 24, radius=RADIUS))
    path = folder / f"{body}.toml"
    path.write_text(SCENE % SHAPES[body])
    return path


def measured(path: Path, name: str, h: float) -> list[str]:
    scene = stiffly.scenes.load(str(path))
    began = time.perf_counter()
    run = stiffly.simulate(scene, integrator=name, step=h)
    seconds = time.perf_counter() - began
    energy, part = run.energy, scene.system.bind(scene.x0)[0].assembly.guards[0]
    share = np.abs(energy.numerical).max() / energy.exchanged
    rows = run.positions[:, scene.system.numbering.order]
    passed = sum(bool(overlaps(part._broad.elements, x)) for x in rows)
    added = f"{np.abs(energy.added).max():.2g}"
    return [added, f"{share:.1e}", f"{passed} of {len(run.positions)}", f"{seconds:.1f}"]


def main() -> None:
    quick, rows = "--quick" in sys.argv, []
    warnings.simplefilter("ignore", Advice)
    with tempfile.TemporaryDirectory() as folder:
        for body in SHAPES:
            path = scene_file(Path(folder), body)
            for name in METHODS:
                for h in STEPS[1:] if quick else STEPS:
                    rows.append([body, name, f"{h:.2g}", *measured(path, name, h)])
                    print(rows[-1], file=sys.stderr, flush=True)
    print(table(["body", "method", "step [s]", "added [J]", "error", "passed", "seconds"], rows))


if __name__ == "__main__":
    main()
