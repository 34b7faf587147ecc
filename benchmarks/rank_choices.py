"""Four choices of a body over ranks, measured: how it is cut, what multigrid is told, how its
matrix is kept, and what hiding halos behind products could gain.

    mpiexec -n 1 python benchmarks/rank_choices.py cuts        # bisection beside PTScotch
    mpiexec -n 2 python benchmarks/rank_choices.py solves      # with rigid motions and without
    mpiexec -n 2 python benchmarks/rank_choices.py matrices    # AIJ beside BAIJ: s a product
    mpiexec -n 2 python benchmarks/rank_choices.py halos       # beside products: the least of each

cuts: ghosts of all shares and of the largest, particles of the largest over the mean.  solves:
conjugate gradients with GAMG on M/h^2 + K of a bar at rest, iterations to 1e-12, processor time.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np
import scipy.sparse as sp

import stiffly
from stiffly.backends.petsc import world
from stiffly.scenes.builder import rank_by_rank
from stiffly.solvers import ksp
from stiffly.system.ranks import RankSystem
from stiffly.system.shares import Piece, _take_in, owners, share_of

SCENES: dict[str, dict[str, int]] = {
    "bar": {"cells": 12},
    "flag": {"resolution": 100},
    "coil-spring": {},
    "dragon": {"vertices": 30_000},
    "falling-cube": {},
}
COUNTS = (2, 4, 16, 64)


def cuts(_: Any) -> None:
    print("| scene | particles | ranks | ghosts: bisected | PTScotch | most: bisected | PTScotch "
          "| largest over mean | PTScotch |")  # fmt: skip
    print("|" + " --- |" * 9)
    for name, size in SCENES.items():
        scene = stiffly.scenes.load(name, **size)
        system = scene.system
        for ranks in COUNTS:
            ours = found(system, owners(system, scene.x0, ranks), ranks)
            theirs = found(system, scotched(system, ranks), ranks)
            cells = [f"{a} | {b}" for a, b in zip(ours, theirs, strict=True)]
            print(f"| {name} | {system.particles:,} | {ranks} | {' | '.join(cells)} |", flush=True)


def found(system: Any, owner: np.ndarray, ranks: int) -> tuple[str, str, str]:
    """All ghosts, those of the share with most, and the largest share over the mean."""
    ghosts = [share_of(system, owner, rank).ghosts for rank in range(ranks)]
    sizes = np.bincount(owner, minlength=ranks)
    return f"{sum(ghosts):,}", f"{max(ghosts):,}", f"{sizes.max() / sizes.mean():.3f}"


def scotched(system: Any, parts: int) -> np.ndarray:
    """(N,): the part of each particle by PTScotch, through PETSc's MatPartitioning."""
    petsc = world().petsc
    free = system.numbering.order[: system.numbering.free]
    place = np.full(system.particles, -1)
    place[free] = np.arange(free.size)
    pairs = place[system.couples]
    i, j = pairs[(pairs >= 0).all(axis=1) & (pairs[:, 0] != pairs[:, 1])].T
    ends = np.concatenate([i, j]), np.concatenate([j, i])
    graph = sp.csr_matrix((np.ones(2 * i.size), ends), shape=(free.size, free.size))
    rows = graph.indptr.astype(petsc.IntType), graph.indices.astype(petsc.IntType), graph.data
    mat = petsc.Mat().createAIJ(graph.shape, csr=rows, comm=petsc.COMM_SELF)
    cut = petsc.MatPartitioning().create(petsc.COMM_SELF)
    cut.setAdjacency(mat.convert("mpiadj"))
    petsc.Options()["mat_partitioning_nparts"] = parts  # petsc4py has no call for it
    cut.setType("ptscotch")
    cut.setFromOptions()
    found = petsc.IS()
    cut.apply(found)
    owner = np.full(system.particles, -1)
    owner[free] = found.getIndices()
    _take_in(owner, system.couples)
    return owner


# ------------------------------------------------------------------ solves and matrices


def shifted(cells: int, h: float) -> tuple[Any, Any]:
    """A bar of this many cells across, each rank's rows, and M/h^2 + K at rest."""
    with rank_by_rank("petsc"):
        scene = stiffly.scenes.load("bar", cells=cells)
    piece = scene.system
    if not isinstance(piece, Piece):
        piece = Piece.whole(piece, scene.x0, 1)
    bound, state = RankSystem(piece, world()).bind(scene.x0, None)
    return bound, bound.tangent(state).matrix(1.0 / h**2, 1.0, 0.0)


def solves(asked: Any) -> None:
    ranks = world()
    if ranks.rank == 0:
        print(f"{ranks.size} ranks")
        print("| dof | h [s] | rigid motions | iterations | set up [s] | solve [s] |")
        print("| --- | --- | --- | --- | --- | --- |")
    ksp.DIRECT = 0
    for cells in asked.cells:
        for h in (0.033, 1.0):
            bound, matrix = shifted(cells, h)
            backend = bound.backend
            b = backend.random(3, bound.size)
            for told in (False, True):
                ranks.petsc.Options(ksp.PREFIX)[ksp.RIGID] = told
                began = time.process_time()
                factor = ksp.KspFactor(backend, matrix, True)
                ready = time.process_time()
                factor.solve(b)
                took = time.process_time() - ready
                if ranks.rank == 0:
                    row = f"| {backend.count(bound.size):,} | {h:g} | {'yes' if told else 'no'} |"
                    row += f" {factor.products} | {ready - began:.2f} | {took:.2f} |"
                    print(row, flush=True)


def matrices(asked: Any) -> None:
    ranks = world()
    for cells in asked.cells:
        bound, matrix = shifted(cells, 0.033)
        aij = ksp.assembled(bound.backend, matrix)
        kept = {"AIJ": aij, "BAIJ": aij.convert("baij")}
        x, y = aij.createVecs()
        x.setRandom()
        seconds = {name: np.inf for name in kept}
        for _ in range(5):
            for name, mat in kept.items():
                began = time.process_time()
                for _ in range(20):
                    mat.mult(x, y)
                seconds[name] = min(seconds[name], (time.process_time() - began) / 20)
        own = {name: 1e3 * s for name, s in seconds.items()}
        if ranks.rank == 0:
            print(f"{ranks.size} ranks, {aij.getSize()[0]:,} dof:", end=" ")
            print(", ".join(f"{n} {own[n]:.2f} ms a product" for n in kept))


def halos(asked: Any) -> None:
    """The least of many is what is left without waiting for whoever has the processor."""
    ranks = world()
    for cells in asked.cells:
        bound, _ = shifted(cells, 0.033)
        A, backend = bound.linear_part().tangent.stiffness, bound.backend
        b = backend.random(3, 2 * bound.size).reshape(-1, 2)
        least = [np.inf, np.inf]
        for _ in range(300):
            for which, job in enumerate((backend.halo, A._stiffness)):
                ranks.comm.Barrier()
                began = time.perf_counter()
                job(b)
                least[which] = min(least[which], time.perf_counter() - began)
        halo, product = ranks.largest(*least)
        ghosts = ranks.largest(float(bound.share.ghosts))[0]
        if ranks.rank == 0:
            what = f"{ranks.size} ranks, {backend.count(bound.size):,} dof, {ghosts:.0f} ghosts"
            print(f"{what}: halo {1e6 * halo:.0f} us, product {1e6 * product:.0f} us", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("cuts", "solves", "matrices", "halos"))
    parser.add_argument("--cells", type=int, nargs="+", default=[8, 16, 24])
    asked = parser.parse_args()
    getattr(sys.modules[__name__], asked.what)(asked)


if __name__ == "__main__":
    main()
