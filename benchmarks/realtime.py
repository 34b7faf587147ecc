"""Which base for real time: implicit midpoint or the discrete gradient; plain or accelerated.

    python benchmarks/realtime.py [--quick]

Ten local/global iterations each; `realtime` is the stabilised midpoint with accelerated ones.
Undamped bodies at h = 1/30 s.  Energy errors are relative to the energy exchanged (to the energy
itself for the cube).  "early error": largest distance from verlet with tiny steps after half a
second, relative to how far anything has moved by then; later motions are chaotic.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from common import table

import stiffly
from stiffly.bodies import Gravity, Springs, System, cloth_springs
from stiffly.meshes import cloth, rope

METHODS = (
    "realtime",
    "stabilised:projective-midpoint",
    "stabilised:projective-energy-momentum",
    "projective-midpoint",
    "projective-energy-momentum",
    "projective",
)
H = 1.0 / 30.0


def hanging_cloth(side: int, stiffness: float):
    """1 m x 1 m, 0.2 kg, held at two corners, released flat."""
    mesh = cloth(side, side)
    parts = [*cloth_springs(mesh, stiffness, stiffness, 0.01 * stiffness), Gravity()]
    corners = [0, side - 1]
    return System(0.2 / side**2, parts, fixed=corners, rest=mesh.positions), mesh.positions, None


def swinging_rope(strain: float):
    mesh = rope(21)
    system = System(
        1.0 / 21, [Springs(mesh.edges, 9.81 * 20 / strain), Gravity()], fixed=[0],
        rest=mesh.positions,
    )  # fmt: skip
    return system, mesh.positions, None


def cube():
    scene = stiffly.scenes.load("spinning-cube")
    return scene.system, scene.x0, scene.v0


def fine(system, x0, v0, seconds):
    """Verlet at a tenth of its limit."""
    bound, state = system.bind(x0, v0)
    high = bound.tangent(state).stiffness.bounds().high
    h = 0.2 / np.sqrt(high)
    return stiffly.simulate(system, x0, v0, integrator="verlet", step=h, duration=seconds)


def measure(name, system, x0, v0, seconds, reference, every=H):
    start = time.perf_counter()
    try:
        run = stiffly.simulate(
            system, x0, v0, integrator=name, step=H, duration=seconds, every=every
        )
        verdict = "runs"
    except stiffly.SimulationFailure as failure:
        run = failure.run
        verdict = f"explodes at {run.times[-1]:.1f} s"
    elapsed = time.perf_counter() - start
    energy = run.energy
    scale = max(reference.energy.exchanged, float(energy.kinetic[0]))
    relative = energy.numerical / scale
    alpha = run.diagnostics.get("alpha", np.full(1, np.nan))
    early = np.argmin(np.abs(run.times - reference.times[-1]))
    moved = np.abs(reference.positions[-1] - x0).max()
    gap = np.abs(run.positions[early] - reference.positions[-1]).max() / moved
    return [
        name,
        verdict,
        f"{relative.min():+.1%} to {relative.max():+.1%}",
        f"{gap:.1%}",
        "" if np.isnan(alpha).all() else f"{np.abs(alpha).mean():.3f}",
        f"{1e3 * elapsed / max(run.stats['steps'], 1):.2f}",
    ]


def main() -> None:
    quick = "--quick" in sys.argv
    warnings.simplefilter("ignore", stiffly.StiffWarning)  # the table says it
    seconds = 2.0 if quick else 10.0
    scenes = {
        "cloth 31 x 31, k = 1e3": hanging_cloth(31, 1e3),
        "cloth 31 x 31, k = 1e5": hanging_cloth(31, 1e5),
        "rope of 20 links, strain 1e-2": swinging_rope(1e-2),
        "spinning cube": cube(),
    }
    header = (
        "method",
        f"{seconds:g} s",
        "energy error",
        "early error",
        "mean abs alpha",
        "ms/step",
    )
    for name, scene in scenes.items():
        reference = fine(*scene, 0.5)
        for method in METHODS:  # compile, factorise
            stiffly.simulate(*scene[:2], scene[2], integrator=method, step=H, duration=2 * H)
        rows = [measure(method, *scene, seconds, reference) for method in METHODS]
        print(f"\n{name}\n\n{table(header, rows)}", flush=True)


if __name__ == "__main__":
    main()
