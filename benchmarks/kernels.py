"""Hot loops against memory bandwidth (STREAM triad) on this machine.

    python benchmarks/kernels.py [--side 20 54]

Bytes are what a perfect cache would have to move once: matrix blocks and indices, vectors read and
written.  A matrix of 24,000 dof (4 MB) lives in cache on most machines and can beat the triad,
which is measured on arrays of 128 MB.
"""

from __future__ import annotations

import argparse
import itertools

import numba
import numpy as np
from common import lattice_tangent, median_seconds, table
from numba import njit, prange

from stiffly.kernels import cpu


@njit(parallel=True, fastmath=True)
def triad(a, b, c, s):
    for i in prange(a.size):
        a[i] = b[i] + s * c[i]


def bandwidth(threads: int) -> float:
    """STREAM triad in GB/s."""
    numba.set_num_threads(threads)
    n = 16_000_000
    a, b, c = np.zeros(n), np.ones(n), np.ones(n)
    return 3 * 8 * n / median_seconds(lambda: triad(a, b, c, 2.0), 7) / 1e9


def measure(side: int, threads: int, stream: float) -> list[tuple[object, ...]]:
    numba.set_num_threads(threads)
    A = lattice_tangent(side)
    n, blocks = A.size, len(A.indices)
    rng = np.random.default_rng(0)
    where = A.indptr, A.indices
    # nine doubles and one index per block, row pointers; four, and six for every particle
    forms = (
        ("blocks", cpu.block_apply, cpu.block_chebyshev, (*where, A.blocks), 76 * blocks),
        ("bars", cpu.bar_apply, cpu.bar_chebyshev, (*where, A.bars, A.own), 36 * blocks + 16 * n),
    )
    rows = []
    for (form, product, recurrence, held, stored), columns in itertools.product(forms, (1, 2)):
        matrix, many = stored + 4 * (n // 3), "s" * (columns > 1)
        b = rng.standard_normal((n, columns))
        seconds = median_seconds(lambda b=b, f=product, held=held: f(*held, b), 15)
        rows.append(
            (f"{form}, product, {columns} column{many}", seconds, matrix + 16 * n * columns)
        )
        x, z = rng.standard_normal((2, n, columns)) * 1e-3
        out, c = np.zeros((n, 2)), np.full((1, 2, columns), 1e-3)

        def step(f=recurrence, held=held, x=x, z=z, out=out, c=c):
            f(*held, 1e-3, 0.1, x, z, c, out)

        # x read, z read and written, two outputs read and written
        moved = matrix + 24 * n * columns + 32 * n
        name = f"{form}, Chebyshev step, {columns} column{many}, 2 outputs"
        rows.append((name, median_seconds(step, 15), moved))
    return [
        (
            n,
            threads,
            name,
            f"{1e3 * s:.3f}",
            f"{m / 1e6:.1f}",
            f"{m / s / 1e9:.1f}",
            f"{m / s / 1e9 / stream:.0%}",
        )
        for name, s, m in rows
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--side", type=int, nargs="+", default=[20, 54])
    sides = parser.parse_args().side
    rows = []
    for threads in sorted({1, min(2, numba.config.NUMBA_NUM_THREADS)}):
        stream = bandwidth(threads)
        print(f"STREAM triad, {threads} thread(s): {stream:.1f} GB/s")
        for side in sides:
            rows += measure(side, threads, stream)
    header = ("dof", "threads", "kernel", "ms", "MB moved", "GB/s", "of triad")
    print(table(header, rows))
    print("\nbelow 2,048 particles the kernels run serially whatever the thread count")


if __name__ == "__main__":
    main()
