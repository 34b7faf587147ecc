"""A cloth of a million springs: seconds and memory until the first tangent, and its products.

    python benchmarks/cloth.py [--side 410]

Structural, shear (both diagonals) and bending springs, the last over two squares along x and y.
The peak is of the whole process, Python and compiled code included.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
from common import median_seconds, table

from stiffly.bodies import System, cloth_springs
from stiffly.meshes import cloth


def peak_megabytes() -> float:
    """Largest resident set so far (Linux counts it in kilobytes)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def assembled(side: int, law: str, report: list[tuple[str, str]]):
    """A System, a state off rest, and its tangent; appends seconds and peaks to the report."""

    def note(name: str, since: float) -> None:
        report.append((name, f"{time.perf_counter() - since:.2f} s, {peak_megabytes():.0f} MB"))

    start = time.perf_counter()
    mesh = cloth(side, side)
    note("mesh", start)
    begin = time.perf_counter()
    parts = cloth_springs(mesh, 1e4, 1e3, 1e2, law=law)
    note("Springs", begin)
    begin = time.perf_counter()
    system = System(1e-4, parts, fixed=mesh.vertex_sets["corners"], rest=mesh.positions)
    note("System", begin)
    rng = np.random.default_rng(0)
    moved = mesh.positions + 1e-3 * rng.standard_normal(mesh.positions.shape)
    begin = time.perf_counter()
    bound, state = system.bind(moved)
    tangent = bound.tangent(state).stiffness
    note("first tangent", begin)
    note("altogether", start)
    return parts[0], bound, moved, tangent


def products(springs, system, x, tangent) -> list[tuple[str, str]]:
    """One product with one vector: blocks read from memory, or springs computed on the way."""
    b = np.random.default_rng(1).standard_normal((system.particles, 3))
    b[system.numbering.free :] = 0.0  # by row: the corners, which are fixed, come last
    free, x = b.ravel()[: system.size], x[system.numbering.order]
    out = np.zeros_like(b)
    prepared = system.assembly.parts[0][1]
    blocks = median_seconds(lambda: tangent._stiffness(free), 15)
    bare = median_seconds(lambda: prepared.add_product(x, b, out), 15)
    out[:] = 0.0
    prepared.add_product(x, b, out)
    assert np.allclose(out.ravel()[: system.size], tangent._stiffness(free), atol=1e-8)
    return [
        ("product, assembled", f"{1e3 * blocks:.1f} ms"),
        ("product, matrix-free", f"{1e3 * bare:.1f} ms"),
        ("ratio", f"{blocks / bare:.2f}"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--side", type=int, default=410)
    side = parser.parse_args().side
    assembled(5, "cubic", [])  # load and compile the kernels
    for law in ("linear", "cubic"):
        report: list[tuple[str, str]] = []
        springs, system, x, tangent = assembled(side, law, report)
        report += products(springs, system, x, tangent)
        print(f"\n{law}: {system.particles} particles, {len(springs.edges)} springs\n")
        print(table(("step", "time, peak memory so far"), report))


if __name__ == "__main__":
    main()
