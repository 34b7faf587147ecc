"""Contact between meshes: what it costs, and that nothing passes through.

    python benchmarks/folded_cloth.py [cost tree passing mesh large] [--repeats 15]

cost     finding and answering contacts of a cloth folded four times
tree     the same pairs from ipctk alone, one object each
passing  how many of 12 shots a sheet does not stop, against thicknesses moved in a step
mesh     closest points of a closed mesh; large: of one nine times larger (1.5 GB)

Without a word: all but large.  The cloth is 1 m x 1 m, a particle every centimetre, folded like an
accordion; layers lie 4 mm apart, closer than the thickness of 5 mm, and are wrinkled by a
millimetre (in an exactly flat stack vertices lie over vertices, which no real cloth does).
Processor time is that of all threads together, which other programs on the machine disturb less.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
import warnings
from operator import attrgetter

import ipctk
import numpy as np
from common import table

from stiffly import meshes, simulate
from stiffly.bodies import System
from stiffly.collisions import Repulsion, TriangleMesh
from stiffly.collisions.broad_phase import BroadPhase, find_pairs
from stiffly.errors import SimulationFailure, StiffWarning

THICKNESS, GAP, LAYERS = 0.005, 0.004, 4
SHOTS = 12


def folded(flat: np.ndarray, wrinkled: float = 1.0) -> np.ndarray:
    """The cloth (N, 3), its x side folded into layers that follow each other upwards."""
    width = np.ptp(flat[:, 0]) / LAYERS
    u = flat[:, 0] - flat[:, 0].min()
    layer = np.minimum(u // width, LAYERS - 1)
    along = u - layer * width
    x = flat.copy()
    x[:, 0] = np.where(layer % 2 == 0, along, width - along)
    # the last centimetre on both sides of a fold climbs to the next layer
    climb = np.clip((along - width) / 0.01 + 1.0, 0.0, 1.0) - np.clip(1.0 - along / 0.01, 0.0, 1.0)
    x[:, 2] = GAP * (layer + 0.5 * climb)
    wrinkle = np.random.default_rng(0).uniform(-1.0, 1.0, x.shape)
    return x + wrinkled * np.array([3e-3, 3e-3, 1e-3]) * wrinkle


def timed(repeats: int, jobs: dict) -> list[list[str]]:
    """Milliseconds of each job: median, worst, and median of processor time."""
    taken = {name: [] for name in jobs}
    for count in range(repeats + 1):  # one after the other, again and again
        for name, job in jobs.items():
            start, used = time.perf_counter(), time.process_time()
            job()
            if count:  # the first round compiles
                taken[name].append((time.perf_counter() - start, time.process_time() - used))
    rows = []
    for name, pairs in taken.items():
        wall, processor = 1e3 * np.array(pairs).T
        numbers = np.median(wall), wall.max(), np.median(processor)
        rows.append([name, *(f"{number:.1f}" for number in numbers)])
    return rows


COLUMNS = ["median [ms]", "worst [ms]", "processor [ms]"]


def cost(repeats: int) -> None:
    mesh = meshes.cloth(101, 101)
    x = folded(mesh.positions)
    v = np.random.default_rng(1).uniform(-0.1, 0.1, x.shape)
    touch = Repulsion(mesh.triangles, thickness=THICKNESS, stiffness=100.0, friction=0.3)
    part = System(1e-4, [touch], rest=mesh.positions).bind(x, v)[0].assembly.parts[0][1]
    broad, h, out = part._broad, 1e-3, np.zeros_like(x)
    jobs = {
        "pairs that may press": lambda: find_pairs(broad, mesh.positions, x, x + h * v, THICKNESS),
        "settle (friction)": lambda: part.settle(0.0, h, x, v.copy()),
        "energy": lambda: part.energy(x),
        "force": lambda: part.add_gradient(x, out),
        "mean force": lambda: part.add_mean_gradient(x, x + 1e-6 * v, out),
        "tangent": lambda: part.triplets(x),
        "continuous check of a step": lambda: part.stays_clear(x, x + h * v),
    }
    rows = timed(repeats, jobs)
    pairs = part.near(x)
    pressed = int(np.sum(pairs.distances(x) < pairs.reach))
    print(f"{len(x)} particles, {len(mesh.triangles)} triangles, {os.cpu_count()} cores")
    print(f"{len(pairs.stencil)} pairs are listed, {pressed} of them press\n")
    print(table(["once per step, or per evaluation", *COLUMNS], rows))


def tree(repeats: int) -> None:
    mesh = meshes.cloth(101, 101)
    x, radius = folded(mesh.positions, wrinkled=0.0), 0.5 * THICKNESS
    broad = BroadPhase(mesh.positions, faces=mesh.triangles)
    parts = broad.elements
    corners, edges, faces = (
        np.asfortranarray(a) for a in (x, parts.edges.corners.astype(np.int32),
                                       parts.faces.corners.astype(np.int32))
    )  # fmt: skip
    lbvh, found = ipctk.LBVH(), {}

    def ask():
        lbvh.build(corners, edges, faces, radius)
        found["edges"] = lbvh.detect_edge_edge_candidates()

    def read():
        for name in ("edge0_id", "edge1_id"):
            many = found["edges"]
            np.fromiter(map(attrgetter(name), many), dtype=np.int64, count=len(many))

    jobs = {
        "ipctk finds pairs of edges": ask,
        "they are read": read,
        "broad phase (all kinds of pairs)": lambda: broad.candidates(x, radius),
    }
    rows = timed(repeats, jobs)
    mine = broad.candidates(x, radius)
    print(f"\nflat stack, reach {THICKNESS} m: ipctk {len(found['edges'])} pairs of edges,")
    print(f"broad phase {len(mine.edge_edge)} of edges, {len(mine.vertex_face)} with triangles\n")
    print(table(["job", *COLUMNS], rows))


def shot(name: str, ways: float, rng: np.random.Generator) -> str:
    """What becomes of a vertex that moves by `ways` thicknesses in a step and meets a sheet.

    failed: the run ended with a named failure; behind: after at least one step the vertex was on
    the other side, even if it was thrown back; stopped: neither.
    """
    mesh = meshes.cloth(5, 5, spacing=0.02)
    plate = mesh.positions - mesh.positions.mean(axis=0)
    h, m = 1e-3, 1e-3
    speed = ways * THICKNESS / h
    stiffness = 4 * m * speed**2 / THICKNESS**2
    touch = Repulsion(mesh.triangles, [[25, 26]], thickness=THICKNESS, stiffness=stiffness)
    target = np.append(rng.uniform(-0.025, 0.025, 2), 0.0)
    way = np.append(rng.uniform(-0.5, 0.5, 2), -1.0)
    way /= np.linalg.norm(way)
    start = target - rng.uniform(3.0, 4.0) * max(ways, 1.0) * THICKNESS * way
    x = np.concatenate([plate, [start, start + np.array([0, 0, 50.0])]])
    v = np.zeros_like(x)
    v[25:] = speed * way
    system = System(m, [touch], fixed=range(25), rest=x)
    duration = 10 * h * max(1.0, 1.0 / ways)
    try:
        run = simulate(system, x, v, integrator=name, step=h, duration=duration)
    except SimulationFailure:
        return "failed"
    return "behind" if run.positions[:, 25, 2].min() < 0.0 else "stopped"


def passing(repeats: int) -> None:
    ratios, rows = (0.25, 0.5, 1, 2, 4, 8, 16), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StiffWarning)  # too large a step is the question here
        for name in ("energy-momentum", "exprb42", "verlet"):
            counts = []
            for ways in ratios:
                rng = np.random.default_rng(0)
                ends = [shot(name, ways, rng) for _ in range(SHOTS)]
                counts.append(f"{ends.count('behind')} + {ends.count('failed')}")
            rows.append([name, *counts])
    print(
        f"\n{SHOTS} shots at a held sheet: behind it after some step + ended with a named failure\n"
    )
    print(table(["thicknesses per step", *map(str, ratios)], rows))


def closest(side: int, repeats: int) -> None:
    start = time.perf_counter()
    ball = meshes.sphere(side, side, radius=1.0)
    given = time.perf_counter()
    mesh = TriangleMesh(ball.positions, ball.triangles)
    built = time.perf_counter() - given
    rng = np.random.default_rng(0)
    p = rng.standard_normal((5000, 3))
    p *= rng.uniform(0.9, 1.1, (5000, 1)) / np.linalg.norm(p, axis=1)[:, None]
    places = {"within reach": 1.0, "outside, beyond reach": 1.5, "deep inside": 0.5}
    jobs = {name: lambda s=s: mesh.surface(0.0, s * p) for name, s in places.items()}
    rows = timed(repeats, jobs)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"\n{len(ball.triangles)} triangles, made in {given - start:.1f} s, checked and built in")
    print(f"{built:.1f} s; largest memory of the process {peak:.1f} GiB; 5000 points\n")
    print(table(["points", *COLUMNS], rows))


def mesh(repeats: int) -> None:
    closest(310, repeats)


def large(repeats: int) -> None:
    closest(922, repeats)


def main() -> None:
    every = {job.__name__: job for job in (cost, tree, passing, mesh, large)}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", choices=[[], *every], help="default: all but large")
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    for name in options.what or [name for name in every if name != "large"]:
        every[name](options.repeats)


if __name__ == "__main__":
    main()
