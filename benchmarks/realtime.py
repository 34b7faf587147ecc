"""Which base for real time: implicit midpoint or the discrete gradient; plain or accelerated.

    python benchmarks/realtime.py [--quick]

Ten local/global iterations each.  `realtime` is the stabilised discrete gradient with accelerated
ones, `realtime-midpoint` the stabilised midpoint; the others have the plain iterations of the
papers.  Undamped bodies at h = 1/30 s, several starts and stiffnesses.

energy error: smallest and largest, relative to the energy exchanged (or the kinetic, if larger).
kinetic: its mean in each quarter of the run, over that of an accurate run (verlet with a fifth of
its largest step).  What is stored instead of moving shows here, not in the energy error.
early error: largest distance from the accurate run after half a second, relative to how far
anything has moved by then; later motions are chaotic.
CPU ms: of one step; other programs beside it make it longer.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from common import table

import stiffly
from stiffly.bodies import Gravity, Springs, System, Tetrahedra, cloth_springs, lumped_mass
from stiffly.meshes import cloth, cube, rope

METHODS = (
    "realtime",
    "realtime-midpoint",
    "stabilised:projective-energy-momentum",
    "stabilised:projective-midpoint",
    "projective",
)
H = 1.0 / 30.0
Case = tuple[System, Any, Any]


def hanging_cloth(side: int, stiffness: float, crumpled: float = 0.0, seed: int = 0) -> Case:
    """1 m x 1 m, 0.2 kg, held at two corners, released flat, or with every particle off its place
    by so many cells (0.02 and 1e3 N/m: 1.4 J; hanging down instead of lying flat is worth 1 J)."""
    mesh = cloth(side, side)
    parts = [*cloth_springs(mesh, stiffness, stiffness, 0.01 * stiffness), Gravity()]
    corners = [0, side - 1]
    bumps = np.random.default_rng(seed).standard_normal(mesh.positions.shape)
    bumps[corners] = 0.0
    x0 = mesh.positions + crumpled / side * bumps
    return System(0.2 / side**2, parts, fixed=corners, rest=mesh.positions), x0, None


def swinging_rope(strain: float, kick: float = 0.0) -> Case:
    """Twenty links, released from horizontal, with random velocities [m/s]."""
    mesh = rope(21)
    parts = [Springs(mesh.edges, 9.81 * 20 / strain), Gravity()]
    v0 = kick * np.random.default_rng(1).standard_normal(mesh.positions.shape)
    v0[0] = 0.0
    return System(1.0 / 21, parts, fixed=[0], rest=mesh.positions), mesh.positions, v0


def hanging_block(young: float) -> Case:
    """A cube of tets, 0.4 m and 64 kg, held at its top, released stretched and sheared."""
    mesh = cube(4, side=0.4)
    x = mesh.positions
    mass = lumped_mass(x, mesh.tets, 1000.0)
    parts = [Tetrahedra(mesh.tets, young, 0.3), Gravity()]
    system = System(mass, parts, fixed=x[:, 2] > x[:, 2].max() - 1e-9, rest=x)
    return system, x * [1.2, 0.9, 1.0], None


def spinning_cube() -> Case:
    scene = stiffly.scenes.load("spinning-cube")
    return scene.system, scene.x0, scene.v0


CASES: dict[str, Callable[[], Case]] = {
    "cloth 31 x 31, k = 1e3, flat": lambda: hanging_cloth(31, 1e3),
    "cloth 31 x 31, k = 1e3, crumpled": lambda: hanging_cloth(31, 1e3, 0.02, 1),
    "cloth 31 x 31, k = 1e3, crumpled otherwise": lambda: hanging_cloth(31, 1e3, 0.02, 2),
    "cloth 31 x 31, k = 1e3, crumpled more": lambda: hanging_cloth(31, 1e3, 0.1, 3),
    "cloth 31 x 31, k = 100, crumpled": lambda: hanging_cloth(31, 100.0, 0.05, 4),
    "cloth 31 x 31, k = 1e4, crumpled": lambda: hanging_cloth(31, 1e4, 0.005, 5),
    "rope, strain 1e-2": lambda: swinging_rope(1e-2),
    "rope, strain 1e-2, kicked": lambda: swinging_rope(1e-2, 0.5),
    "rope, strain 1e-4": lambda: swinging_rope(1e-4),
    "tets, 1e4 Pa": lambda: hanging_block(1e4),
    "tets, 1e6 Pa": lambda: hanging_block(1e6),
    "spinning cube, 1e5 Pa": spinning_cube,
}
QUICK = ("cloth 31 x 31, k = 1e3, crumpled", "rope, strain 1e-2", "tets, 1e4 Pa")


def accurate(system: System, x0: Any, v0: Any, seconds: float) -> Any:
    bound, state = system.bind(x0, v0)
    bounds: Any = bound.tangent(state).stiffness.bounds()
    fastest = np.sqrt(bounds.high)
    parts = int(np.ceil(H * fastest / 0.4))
    step = H / parts
    return stiffly.simulate(
        system, x0, v0, integrator="verlet", step=step, duration=seconds, every=H
    )


def quarters(run: Any) -> np.ndarray:
    """Mean kinetic energy in each quarter of the run."""
    return np.array([part.mean() for part in np.array_split(run.energy.kinetic[1:], 4)])


def measure(name: str, case: Case, seconds: float, reference: Any) -> list[str]:
    system, x0, v0 = case
    began = time.process_time()
    run: Any
    try:
        run = stiffly.simulate(
            system, x0, v0, integrator=name, step=H, duration=seconds, every=H
        )  # fmt: skip
        kinetic = " ".join(f"{k:.2f}" for k in quarters(run) / quarters(reference))
    except stiffly.SimulationFailure as failure:
        run = failure.run
        kinetic = f"explodes at {run.times[-1]:.1f} s"
    used = time.process_time() - began
    scale = max(reference.energy.exchanged, float(reference.energy.kinetic.max()))
    relative = run.energy.numerical / scale
    said = {key: run.diagnostics.get(key, np.full(1, np.nan)) for key in ("alpha", "residual")}
    early = min(int(0.5 / H), len(run.times) - 1)
    there = reference.positions[early]
    gap = np.abs(run.positions[early] - there).max() / np.abs(there - x0).max()
    return [
        name,
        f"{relative.min():+.1%} to {relative.max():+.1%}",
        kinetic,
        f"{gap:.0%}",
        f"{np.abs(said['alpha']).mean():.3f}",
        f"{np.median(said['residual']):.2g}",
        f"{1e3 * used / max(run.stats['steps'], 1):.1f}",
    ]


def main() -> None:
    quick = "--quick" in sys.argv
    warnings.simplefilter("ignore", stiffly.StiffWarning)  # the table says it
    seconds = 2.0 if quick else 6.0
    header = ("method", "energy error", "kinetic", "early error", "mean abs alpha", "residual",
              "CPU ms")  # fmt: skip
    for name in QUICK if quick else CASES:
        case = CASES[name]()
        reference = accurate(*case, seconds)
        for method in METHODS:  # compile, factorise
            stiffly.simulate(*case, integrator=method, step=H, duration=2 * H)
        rows = [measure(method, case, seconds, reference) for method in METHODS]
        lost = np.abs(reference.energy.numerical).max() / reference.energy.exchanged
        title = f"{name} ({seconds:g} s; the accurate run is off by {lost:.1%})"
        print(f"\n{title}\n\n{table(header, rows)}", flush=True)


if __name__ == "__main__":
    main()
