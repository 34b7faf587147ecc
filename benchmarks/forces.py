"""Force and tangent product of 100k springs and 100k corotated tets, against STREAM and NumPy.

    python benchmarks/forces.py

Bytes are what a perfect cache would have to move once, without write-allocate traffic.  With N
particles, m springs or tets, and nnz blocks:

    springs, force         8 B per half-spring (neighbour, spring), 16 B per spring (k, l), 76 B per
                           particle (x, row start, out read and written)
    springs, product       the same and b: 100 B per particle
    tets, force            104 B per tet (vertices, shape gradients, moduli), its forces written and
                           read 192 B, corners 16 B; 76 B per particle
    tets, product          frame 240 B, vertices 16 B, forces 192 B, corners 16 B, 76 B per
                           particle; at a new x 344 B per tet and 24 B per particle more
    tets, blocks           104 B per tet, 40 B of indices; 144 B per block (read and written); the
                           buffer of element blocks, 1440 B per tet, is meant to stay in cache
    block product          76 B per block, 52 B per particle

Flops are counted from the source, square roots and divisions as one each: 36 per spring and force,
66 per spring and product; 430 per tet and force; 240 per tet and product, 1600 at a new x, of which
the singular value decomposition takes 1230; 18 per block and product.

Springs move data; tets compute.  On a machine that others use as well, two threads are slower than
one: each parallel loop waits for both.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numba
import numpy as np
from common import median_seconds, table
from kernels import bandwidth

from stiffly.bodies import Springs, System, Tetrahedra
from stiffly.kernels import cpu
from stiffly.meshes import lattice
from stiffly.meshes.grids import grid_tets

# what the tests compare kernels with
sys.path.append(str(Path(__file__).parents[1] / "tests"))
import reference


@dataclass
class Job:
    """One kernel: bytes moved, flops done (None: not counted), and its plain NumPy twin."""

    name: str
    run: Callable[[], object]
    moved: int
    flops: int | None = None
    plain: Callable[[], object] | None = None


def prepared(part, positions):
    system = System(1.0, [part], rest=positions)
    return system.assembly.parts[0][1], system.pattern


def spring_jobs() -> list[Job]:
    mesh = lattice(33, 33, 32, diagonals=False)
    m, n = len(mesh.edges), len(mesh.positions)
    part, pattern = prepared(Springs(mesh.edges, 1.0), mesh.positions)
    x, b, out, blocks = vectors(mesh.positions, pattern)
    half = part._half
    return [
        Job(
            f"{m} springs, force",
            lambda: part.add_gradient(x, out),
            32 * m + 76 * n,
            36 * m,
            lambda: reference.spring_gradient(x, *half, out),
        ),
        Job(
            f"{m} springs, tangent product, matrix-free",
            lambda: part.add_product(x, b, out),
            32 * m + 100 * n,
            66 * m,
            lambda: reference.spring_product(x, *half, b, out),
        ),
        block_job(f"{m} springs", part, pattern, x, b, blocks),
    ]


def tet_jobs() -> list[Job]:
    shape = (27, 27, 26)
    X, tets = np.indices(shape).reshape(3, -1).T.astype(float), grid_tets(shape)
    m, n = len(tets), len(X)
    part, pattern = prepared(Tetrahedra(tets, 1e3, 0.3), X)
    x, b, out, blocks = vectors(X, pattern)
    elements, corners, vertices = part._elements, part._corners, part._tets
    frames = reference.tet_frames(x, *elements, False)
    return [
        Job(
            f"{m} tets, force",
            lambda: part.add_gradient(x, out),
            312 * m + 76 * n,
            430 * m,
            lambda: reference.tet_gradient(x, *elements, *corners, out),
        ),
        Job(
            f"{m} tets, tangent product at a new x",
            lambda: cpu.tet_product(
                cpu.tet_frames(x, *elements, False), vertices, *corners, b, out
            ),
            808 * m + 100 * n,
            1600 * m,
            lambda: reference.tet_product(
                reference.tet_frames(x, *elements, False), vertices, *corners, b, out
            ),
        ),
        Job(
            f"{m} tets, tangent product, same x again",
            lambda: part.add_product(x, b, out),
            464 * m + 76 * n,
            240 * m,
            lambda: reference.tet_product(frames, vertices, *corners, b, out),
        ),
        Job(
            f"{m} tets, tangent blocks",
            lambda: part.add_blocks(x, blocks, out[:, 0]),
            144 * m + 144 * pattern.nnz,
            plain=lambda: reference.tet_blocks(x, *elements, False, *part._sums, blocks),
        ),
        block_job(f"{m} tets", part, pattern, x, b, blocks),
    ]


def vectors(positions, pattern):
    rng = np.random.default_rng(0)
    x = positions + 0.1 * rng.standard_normal(positions.shape)
    return x, rng.standard_normal(x.shape), np.zeros_like(x), np.zeros((pattern.nnz, 3, 3))


def block_job(name, part, pattern, x, b, blocks) -> Job:
    part.add_blocks(x, blocks, np.zeros(len(x)))
    stored = (pattern.indptr, pattern.indices, blocks)
    return Job(
        f"{name}, tangent product from blocks",
        lambda: cpu.block_apply(*stored, b.ravel()),
        76 * pattern.nnz + 52 * len(x),
        18 * pattern.nnz,
        lambda: reference.block_apply(*stored, b.ravel()),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=21)
    repeats = parser.parse_args().repeats
    jobs = [*spring_jobs(), *tet_jobs()]
    plain = [median_seconds(job.plain, 3) if job.plain else None for job in jobs]
    rows = []
    for threads in sorted({1, min(2, numba.config.NUMBA_NUM_THREADS)}):
        stream = bandwidth(threads)
        print(f"STREAM triad, {threads} thread(s): {stream:.1f} GB/s")
        for job, numpy_seconds in zip(jobs, plain, strict=True):
            s = median_seconds(job.run, repeats)
            rate = job.moved / s / 1e9
            rows.append(
                (
                    job.name,
                    threads,
                    f"{1e3 * s:.2f}",
                    f"{job.moved / 1e6:.1f}",
                    f"{rate:.1f}",
                    f"{rate / stream:.0%}",
                    f"{job.flops / s / 1e9:.1f}" if job.flops else "",
                    f"{numpy_seconds / s:.0f}x" if numpy_seconds else "",
                )
            )
    header = ("kernel", "threads", "ms", "MB moved", "GB/s", "of triad", "Gflop/s", "NumPy takes")
    print(table(header, rows))
    print("\ntargets against NumPy: force of springs 5x, force and product of tets 20x")


if __name__ == "__main__":
    main()
