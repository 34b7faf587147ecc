"""Local/global against Newton, and what the stabiliser adds to a frame.

    python benchmarks/local_global.py [--frames 40] [--steps 4] [--only cloth|solids]

cloth: 101 x 101 particles held at two corners, h = 0.033 s, ten local/global iterations per frame;
the methods take turns frame by frame, so that whatever else the machine does hits all of them.
solids: backward Euler and the stabilised midpoint rule, each with both solvers, on the sizes of
Dinev, Liu, Kavan 2018, Table 1, whose ratios stand in brackets.  Their meshes are not public: bars
of corotated tets with about as many vertices stand in, clamped at one end, stretched by half and
let go under gravity (the cloth is a cloth).  A long bar has less fill than a compact body, and our
Newton keeps a factorisation while it serves; both favour Newton.  Local/global: median without the
first step, which factorises.  Newton: mean of all steps, in which it factorises when it has to; the
largest bodies take only one of those.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from common import table

from stiffly.bodies import Gravity, System, Tetrahedra, cloth_springs, lumped_mass
from stiffly.contracts import State
from stiffly.integrators import integrator
from stiffly.meshes import bar, cloth, cube

PAPER_CLOTH = {"projective": 110.0, "projective-midpoint": 109.0,
               "stabilised:projective-midpoint": 127.0}  # fmt: skip
# name, vertices of the paper, h, (backward Euler, stabilised) in ms by Newton and by local/global
PAPER = [
    ("bar", 290, 0.033, (148, 231), (3.62, 5.73)),
    ("cube", 386, 0.033, (277, 505), (5.84, 8.41)),
    ("hippo", 2387, 0.01, (3985, 6296), (66.4, 73.3)),
    ("bunny", 4497, 0.033, (6288, 10720), (194, 212)),
    ("cactus", 5261, 0.033, (5050, 7577), (115, 174)),
    ("cloth", 10201, 0.033, (24958, 42758), (110, 127)),
    ("dog", 28390, 0.033, (39101, 99138), (916, 1205)),
    ("bunny", 34844, 0.033, (31624, 64037), (1181, 1510)),
]
SOLIDS: dict[int, Callable[[], Any]] = {
    290: lambda: bar(17, (4, 4)),
    386: lambda: cube(6),
    2387: lambda: bar(31, (11, 7), length=1.0, side=0.25),
    4497: lambda: bar(45, (10, 10)),
    5261: lambda: bar(53, (10, 10)),
    28390: lambda: bar(284, (10, 10), length=4.0, side=0.15),
    34844: lambda: bar(348, (10, 10), length=4.0, side=0.12),
}
NEWTON, PROJECTIVE = ("bdf1", "stabilised"), ("projective", "stabilised:projective-midpoint")


class Runner:
    """One method on its own copy of the motion; `seconds` of every step so far."""

    def __init__(self, name: str, system: Any, state: State, h: float) -> None:
        self.name, self.system, self.state, self.h = name, system, state, h
        self.method = integrator(name)
        self.memory = self.method.start(system, state)
        self.seconds: list[float] = []
        self.corrected = 0

    def step(self) -> None:
        start = time.perf_counter()
        step = self.method.step(self.system, self.state, self.h, self.memory)
        self.seconds.append(time.perf_counter() - start)
        self.state, self.memory = step.state, step.memory
        self.corrected += step.notes.get("alpha", 0.0) > 0.0

    @property
    def median(self) -> float:
        """Milliseconds, without the first step."""
        return 1e3 * float(np.median(self.seconds[1:]))

    @property
    def trimmed(self) -> float:
        """Mean without the slowest tenth, in which the machine did other things: milliseconds."""
        kept = np.sort(self.seconds[1:])[: -max(len(self.seconds) // 10, 1)]
        return 1e3 * float(np.mean(kept))

    @property
    def mean(self) -> float:
        """Milliseconds."""
        return 1e3 * float(np.mean(self.seconds))


def hanging_cloth(side: int = 101, stiffness: float = 100.0) -> tuple[Any, State]:
    """1 m x 1 m, 1 kg: structural and shear springs, and weak ones against bending."""
    mesh = cloth(side, side, spacing=1.0 / (side - 1))
    parts = [*cloth_springs(mesh, stiffness, stiffness, stiffness / 100.0), Gravity()]
    system = System(1.0 / side**2, parts, fixed=[0, side - 1], rest=mesh.positions)
    return system.bind(mesh.positions)


def clamped_solid(mesh: Any) -> tuple[Any, State]:
    """Rubber of 0.1 MPa, stretched by half away from its clamped end."""
    fixed = mesh.vertex_sets.get("left", mesh.vertex_sets.get("bottom"))
    mass = lumped_mass(mesh.positions, mesh.tets, 1000.0)
    parts = [Tetrahedra(mesh.tets, 1e5, 0.3, project=True), Gravity()]
    system = System(mass, parts, fixed=fixed, rest=mesh.positions)
    axis = int(np.ptp(mesh.positions[fixed], axis=0).argmin())
    x = mesh.positions.copy()
    x[:, axis] += 0.5 * (x[:, axis] - x[fixed[0], axis])
    return system.bind(x)


def frames_of_cloth(frames: int) -> str:
    system, state = hanging_cloth()
    runners = [Runner(name, system, state, 0.033) for name in PAPER_CLOTH]
    for _ in range(frames):
        for runner in runners:
            runner.step()
    first, paper = runners[0], PAPER_CLOTH["projective"]
    rows = [
        (r.name, f"{r.median:.1f}", f"{1e3 / r.median:.0f}", f"{r.median / first.median:.2f}",
         f"{r.trimmed / first.trimmed:.2f}", f"{PAPER_CLOTH[r.name] / paper:.2f}",
         f"{r.corrected}/{frames}")
        for r in runners
    ]  # fmt: skip
    header = ("method", "median ms/frame", "frames/s", "ratio of medians", "ratio of means",
              "paper's ratio", "frames damped")  # fmt: skip
    return table(header, rows)


def compare(name: str, size: int, h: float, newton: Any, projective: Any, steps: int) -> list[str]:
    """One row: milliseconds of four methods, and Newton over local/global."""
    system, state = hanging_cloth() if name == "cloth" else clamped_solid(SOLIDS[size]())
    fast = [Runner(method, system, state, h) for method in PROJECTIVE]
    for _ in range(1 + 2 * steps):  # in turns, as above
        for runner in fast:
            runner.step()
    times = {runner.name: runner.median for runner in fast}
    most = steps if system.particles < 3000 else 2 if system.particles < 10000 else 1
    for method in NEWTON:
        runner = Runner(method, system, state, h)
        for _ in range(min(steps, most)):
            runner.step()
        times[method] = runner.mean
    row = [name, str(system.particles)]
    row += [f"{times[m]:.3g}" for m in (NEWTON[0], PROJECTIVE[0], NEWTON[1], PROJECTIVE[1])]
    for k in range(2):
        ratio = times[NEWTON[k]] / times[PROJECTIVE[k]]
        row.append(f"{ratio:.0f} ({newton[k] / projective[k]:.0f})")
    more = times[PROJECTIVE[1]] / times[PROJECTIVE[0]]
    row.append(f"{more:.2f} ({projective[1] / projective[0]:.2f})")
    return row


def warm_up() -> None:
    """Load and compile what the methods need."""
    system, state = clamped_solid(bar(5, (2, 2)))
    for method in (*PROJECTIVE, *NEWTON):
        runner = Runner(method, system, state, 0.033)
        for _ in range(5):
            runner.step()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=40)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--only", choices=("cloth", "solids"))
    asked = parser.parse_args()
    if asked.only != "solids":
        print("\n101 x 101 cloth, h = 0.033 s\n")
        print(frames_of_cloth(asked.frames))
    if asked.only != "cloth":
        print("\nmilliseconds per step, and their ratios (in the paper)\n")
        warm_up()
        header = ("body", "particles", "Newton BE", "projective", "Newton stabilised",
                  "projective stabilised", "Newton/lg BE", "Newton/lg stabilised",
                  "projective stabilised/BE")  # fmt: skip
        print(table(header, ()), flush=True)
        for name, size, h, newton, projective in PAPER:
            row = compare(name, size, h, newton, projective, asked.steps)
            print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
