"""Sparse symmetric factors: ours, of a pattern seen for the first time, against SciPy's SuperLU,
and cholespy and qdldl where installed.

    pip install cholespy qdldl      # optional: two more columns
    python benchmarks/factor.py

Matrices of one implicit step: ropes, strands and cloths as the local/global iteration sees them
(three right-hand sides), and tetrahedra as Newton's method does (one).  Processor milliseconds of
one thread of BLAS, as runs have it; medians of five by turns: factorise / solve.
The last column is the traffic of a solve (L read twice) over that of a copy of as much memory.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"

from statistics import median
from time import process_time

import numpy as np
import scipy.sparse as sp
from common import table
from scipy.sparse.linalg import splu

from stiffly.bodies import Springs, System, Tetrahedra, lumped_mass
from stiffly.meshes import bar, cloth
from stiffly.solvers.dissection import fronts
from stiffly.solvers.linear import SYMMETRIC, factorise

STEP = 1 / 30
ROUNDS = 5


def springs_matrix(positions, edges):
    system = System(np.full(len(positions), 1e-3), [Springs(edges, 1e3)], rest=positions)
    bound, _ = system.bind(positions)
    return bound.global_matrix(STEP**2, 0.0), 3


def cloth_matrix(side: int):
    mesh = cloth(side, side)
    return springs_matrix(mesh.positions, mesh.edges)


def strands_matrix(strands: int, particles: int):
    """So many chains side by side."""
    number = np.arange(strands * particles).reshape(strands, particles)
    edges = np.stack([number[:, :-1], number[:, 1:]], axis=-1).reshape(-1, 2)
    positions = np.stack([number // particles, number * 0, number % particles], axis=-1)
    return springs_matrix(positions.reshape(-1, 3).astype(float), edges)


def solid_matrix(along: int):
    mesh = bar(along, (along // 2, along // 2), length=1.0, side=0.5)
    part = Tetrahedra(mesh.tets, young=1e6, poisson=0.3)
    mass = lumped_mass(mesh.positions, mesh.tets, 1e3)
    bound, state = System(mass, [part], rest=mesh.positions).bind(mesh.positions)
    return bound.tangent(state).matrix(1.0, STEP**2, 0.0), 1


def ours(A):
    fronts.cache_clear()
    return factorise(A).solve


def superlu(A):
    return splu(A, permc_spec="MMD_AT_PLUS_A", **SYMMETRIC).solve


def with_cholespy(A):
    import cholespy

    kind, indices = cholespy.MatrixType.CSR, (A.indptr.astype("i4"), A.indices.astype("i4"))
    factor = cholespy.CholeskySolverD(A.shape[0], *indices, A.data.copy(), kind)

    def solve(b):
        x = np.empty_like(b)
        factor.solve(b, x)
        return x

    return solve


def with_qdldl(A):
    import qdldl

    factor = qdldl.Solver(A)
    return lambda b: np.stack([factor.solve(np.ascontiguousarray(c)) for c in b.T], axis=1)


def row(name, A, columns):
    A = sp.csc_matrix(A)
    A.sort_indices()
    b = np.random.default_rng(0).standard_normal((A.shape[0], columns))
    found = {}
    for factor in KNOWN:
        try:
            solve = factor(A)
        except ImportError:
            continue
        assert abs(A @ solve(b) - b).max() < 1e-9 * abs(b).max()
        found[factor] = solve, [], []
    for _ in range(ROUNDS):
        for factor, (solve, made, took) in found.items():
            made.append(seconds(lambda factor=factor: factor(A)))
            took.append(seconds(lambda solve=solve: solve(b)))
    cells = ["not installed" if f not in found else _cell(*found[f][1:]) for f in KNOWN]
    entries = factorise(A)._lower.nnz
    block = np.ones(entries)
    copied = median(seconds(block.copy) for _ in range(ROUNDS))
    # a copy reads and writes 8 bytes an entry, a solve reads them twice
    share = copied / median(found[ours][2])
    return [name, f"{A.shape[0]:,}", f"{entries:,}", *cells, f"{share:.0%}"]


def seconds(do):
    """Of the processor: others use the machine, too."""
    start = process_time()
    do()
    return process_time() - start


def _cell(made, took):
    return f"{1e3 * median(made):.1f} / {1e3 * median(took):.2f}"


KNOWN = (ours, superlu, with_cholespy, with_qdldl)


if __name__ == "__main__":
    rows = [
        row(f"{s:,} x {n:,} strands", *strands_matrix(s, n)) for s, n in ((1, 20000), (1500, 30))
    ]
    rows += [row(f"cloth {side} x {side}", *cloth_matrix(side)) for side in (33, 101, 201)]
    rows += [row(f"solid of {n} cells", *solid_matrix(n)) for n in (10, 24, 32)]
    head = ("matrix", "rows", "entries of L", "stiffly", "SuperLU", "cholespy", "qdldl", "of copy")
    print(table(head, rows))
