"""One body over many ranks: PETSc's star forest fills ghosts, its solvers factorise, MPI sums.

A rank keeps the rows of its own particles and, behind them, copies of others' that its elements
touch: ghosts.  All vectors have both, so that what is done row by row is done to the copies alike;
only products and forces, whose ghost rows lack elements, end with `halo`; sums leave ghosts out.
Whatever decides which way a program goes is the same on all ranks: a sum, `every`, `agree`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from ..contracts import Array, Pairs
from ..errors import InputError
from .cpu import CpuBackend

INSTALL = "install petsc4py and mpi4py for one MPI (docs/cluster.md)"
PATIENCE = 120.0  # seconds that ranks wait for each other where one may have died
CHUNK = 1 << 20  # random numbers at a time
ROW = np.dtype((np.void, 32))  # four numbers, which NumPy copies at once

LAST_WORDS = 10.0  # seconds in which ranks that fail alike have all failed
SILENCED: list[bool] = []  # whether only rank 0 speaks
VOICE = [2]  # where a rank that is silent can still say why it ends the run

Result = TypeVar("Result")
Answered = Callable[[list[np.ndarray]], list[np.ndarray]]  # keys of every rank -> numbers


def silence_others() -> None:
    """Only rank 0 speaks; who that is the launcher has said, even where PETSc does not load."""
    SILENCED.append(True)
    names = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID")
    if next((os.environ[name] for name in names if name in os.environ), "0") == "0":
        return
    VOICE.append(os.dup(2))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def leave_together() -> None:
    """mpiexec ends all ranks when the first one leaves with an error: before, rank 0 has had its
    say.  A rank that the others do not join leaves alone, after a while."""
    if not SILENCED:
        return
    try:
        world().met(LAST_WORDS)
    except InputError:  # there are no ranks to speak of
        time.sleep(1.0)


class World:
    """All ranks that were started together."""

    def __init__(self, petsc: Any, mpi: Any) -> None:
        self.petsc, self.mpi = petsc, mpi
        self.comm: Any = petsc.COMM_WORLD.tompi4py()
        self.rank: int = self.comm.rank
        self.size: int = self.comm.size
        self._kept: Any = None

    def forest(self) -> Any:
        """A star forest of all ranks, who ask for it together.

        The first one is kept for good: when the last object of a communicator is gone, PETSc gives
        up its copy of that, and makes another with the next.  Python collects on each rank in its
        own time, so some would wait for others to copy who still have theirs."""
        if self._kept is None:
            self._kept = self.petsc.SF().create(self.petsc.COMM_WORLD)
        return self.petsc.SF().create(self.petsc.COMM_WORLD)

    def sums(self, values: Any) -> Array:
        """Of arrays (k,), over all ranks: in one message."""
        local = np.asarray(values, dtype=np.float64)
        if self.size == 1 or local.size == 0:
            return local
        out = np.empty_like(local)
        self.comm.Allreduce(local, out, op=self.mpi.SUM)
        return out

    def largest(self, *values: float) -> list[float]:
        if self.size == 1:
            return list(values)
        out = np.empty(len(values))
        self.comm.Allreduce(np.array(values, dtype=np.float64), out, op=self.mpi.MAX)
        return out.tolist()

    def agree(self, value: Any) -> Any:
        """What rank 0 says."""
        return self.comm.bcast(value, root=0)

    def gather(self, rows: Array, counts: Array) -> Array | None:
        """Rows (own, k) of all ranks, one below the other, on rank 0; None on the others."""
        width = rows.shape[1]
        out = np.empty((int(counts.sum()), width)) if self.rank == 0 else None
        sizes = (counts * width).tolist()
        rows = np.ascontiguousarray(rows)
        self.comm.Gatherv(rows, None if out is None else [out, sizes], root=0)
        return out

    def put(self, keys: np.ndarray, whom: np.ndarray, answered: Answered) -> np.ndarray:
        """What the ranks `whom` (k,) answer to keys (k,): each gets the keys of all others."""
        mine = [np.flatnonzero(whom == rank) for rank in range(self.size)]
        answers = answered(self.comm.alltoall([keys[some] for some in mine]))
        out = np.empty(len(keys), dtype=np.int64)
        for some, told in zip(mine, self.comm.alltoall(answers), strict=True):
            out[some] = told
        return out

    def ranked(self, numbers: np.ndarray, total: int) -> np.ndarray:
        """How many of all ranks' numbers, which are below total, are smaller than each of these;
        no rank sees more than its range of them."""

        def answered(asked: list[np.ndarray]) -> list[np.ndarray]:
            known = np.sort(np.concatenate(asked))
            before = self.comm.exscan(known.size) or 0
            return [before + np.searchsorted(known, some) for some in asked]

        return self.put(numbers, numbers // -(-total // self.size), answered)

    def together(self, job: Callable[[], Result]) -> Result:
        """job() on every rank; where it is wrong on one of them, all raise what the first says."""
        result, problem = None, None
        try:
            result = job()
        except InputError as wrong:
            problem = str(wrong)
        self.meet("one of them was not ready to start", code=2)
        told = [text for text in self.comm.allgather(problem) if text is not None]
        if told:
            self.give_way()
            raise InputError(told[0])
        return result  # type: ignore[return-value]  # none was wrong

    def give_way(self) -> None:
        """mpiexec ends all when the first one leaves: rank 0 has its say before."""
        if self.rank:
            time.sleep(1.0)

    def meet(self, lack: str, code: int = 1) -> None:
        """All ranks come here; where one does not, the run ends instead of waiting for ever."""
        if not self.met(PATIENCE):
            self.end(f"ranks did not meet within {PATIENCE:g} s: {lack}", code)

    def met(self, seconds: float) -> bool:
        request, until = self.comm.Ibarrier(), time.perf_counter() + seconds
        while not request.Test():
            if time.perf_counter() > until:
                return False
            time.sleep(0.002)
        return True

    def end(self, line: str, code: int = 1) -> None:
        """One line, and no rank goes on."""
        os.write(VOICE[-1], f"error: {line}\n".encode())
        self.comm.Abort(code)


@cache
def world() -> World:
    """The ranks of this program; InputError where PETSc is missing or of no use here."""
    try:
        first = import_module("petsc4py")
        first.init([], comm=None)  # PETSC_OPTIONS in the environment, none from our command line
        petsc, mpi = import_module("petsc4py.PETSc"), import_module("mpi4py.MPI")
    except ImportError as failure:
        raise InputError(
            f"engine petsc needs petsc4py and mpi4py, which do not load ({failure}): {INSTALL}"
        ) from None
    usable(petsc)
    return World(petsc, mpi)


def usable(petsc: Any) -> None:
    """InputError where this PETSc has complex or short scalars, or no MPI."""
    if np.dtype(petsc.ScalarType) != np.float64:
        kind = np.dtype(petsc.ScalarType).name
        raise InputError(
            f"this PETSc computes with {kind}: use one configured with real double scalars"
        )
    started = int(os.environ.get("OMPI_COMM_WORLD_SIZE", os.environ.get("PMI_SIZE", "1")))
    found = petsc.COMM_WORLD.getSize()
    if started > 1 and found == 1:
        raise InputError(
            f"mpiexec started {started} processes, but this PETSc sees one: it has no MPI or that "
            f"of another mpiexec; {INSTALL}"
        )


class PetscBackend(CpuBackend):
    """Kernels of the processor on the rows of one rank.

    numbers (own + ghosts,): of the free particles here in the whole body, of `total`; whose
    (ghosts,): the rank that owns each.
    """

    name = "petsc"
    points: Array | None = None  # (own, 3) [m], where own particles are at first

    def __init__(self, ranks: World, numbers: np.ndarray, whose: np.ndarray, total: int) -> None:
        self.ranks, self._here, ghosts = ranks, len(numbers), numbers[len(numbers) - len(whose) :]
        self._own = own = self._here - len(whose)
        mine = numbers[:own]  # ascending, as on every other rank

        def answered(asked: list[np.ndarray]) -> list[np.ndarray]:
            return [np.searchsorted(mine, some) for some in asked]

        sources = np.stack([whose, ranks.put(ghosts, whose, answered)], axis=1)
        self.counts = np.array(ranks.comm.allgather(own))
        self._all = int(self.counts.sum())
        self.split = bool(ranks.largest(float(len(sources)))[0])  # a body lies on several ranks
        self.shared = ranks.size > 1
        petsc = ranks.petsc
        self._forest = ranks.forest()
        self._forest.setGraph(own, None, sources.astype(petsc.IntType))
        start = np.concatenate([[0], np.cumsum(self.counts)])
        here = start[ranks.rank] + np.arange(own)
        self.numbers = np.concatenate([here, start[sources[:, 0]] + sources[:, 1]])
        self._units: dict[int, Any] = {}
        rows = np.zeros(self._here)  # of the whole body: those of ghosts their owners know
        rows[:own] = ranks.ranked(mine, total)
        self._rows = self.halo(rows).astype(np.int64)

    def owned(self, rows: int) -> int:
        return rows // self._here * self._own

    def dots(self, pairs: Pairs, weight: Array | None = None) -> list[Any]:
        own = [
            (a[: self.owned(len(a))], b[: self.owned(len(b))]) for a, b in pairs
        ]  # views: rows come first
        found = super().dots(own, None if weight is None else weight[: self.owned(len(weight))])
        if self.ranks.size == 1:
            return found
        sums = self.ranks.sums(np.concatenate([np.atleast_1d(value) for value in found]))
        out: list[Any] = []
        at = 0
        for value in found:
            many = np.size(value)
            out.append(sums[at : at + many] if np.ndim(value) else float(sums[at]))
            at += many
        return out

    def project(self, V: Array, b: Array) -> Array:
        own = self.owned(len(b))
        return self.ranks.sums(V[:, :own] @ b[:own])

    def halo(self, x: Array) -> Array:
        if not self.split:
            return x
        rows = x.reshape(self._here, -1)
        if not np.shares_memory(rows, x):
            raise ValueError("ghosts are filled in place: give contiguous rows")
        unit, replace = self._unit(rows.shape[1]), self.ranks.mpi.REPLACE
        own, ghosts = rows[: self._own], rows[self._own :]
        self._forest.bcastBegin(unit, own, ghosts, replace)
        self._forest.bcastEnd(unit, own, ghosts, replace)
        return x

    def halo_of(self, places: np.ndarray, moved: np.ndarray) -> Callable[[Array], None] | None:
        """What fills, of rows (R, 4) that stand for the rows `places` (R,) here, those of ghosts;
        moved (R,): which are this rank's to move.  All ranks ask for it together."""
        if not self.split:
            return None
        own, asked, ghosts = self._own, np.zeros(self._own), np.ones(self._here - self._own)
        unit, replace = self._unit(1), self.ranks.mpi.REPLACE
        self._forest.reduceBegin(unit, ghosts, asked, replace)
        self._forest.reduceEnd(unit, ghosts, asked, replace)
        sent = np.flatnonzero(moved)
        sent = sent[asked[places[sent]] > 0.0]
        filled = np.flatnonzero((places >= own) & (places < self._here))
        whence, whither = places[sent], places[filled]
        around = np.zeros((self._here, 4))
        here = around.view(ROW)[:, 0]

        def fill(rows: Array) -> None:
            there = rows.view(ROW)[:, 0]
            here[whence] = there[sent]
            self.halo(around)
            there[filled] = here[whither]

        return fill

    def _unit(self, width: int) -> Any:
        if width not in self._units:
            self._units[width] = self.ranks.mpi.DOUBLE.Create_contiguous(width).Commit()
        return self._units[width]

    def agree(self, value: float) -> float:
        return self.ranks.agree(value)

    def every(self, true: bool) -> bool:
        return self.largest(0.0 if true else 1.0)[0] == 0.0

    def largest(self, *values: float) -> list[float]:
        return self.ranks.largest(*values)

    def sums(self, values: Array) -> Array:
        return self.ranks.sums(values)

    def count(self, size: int) -> int:
        return size // self._here * self._all

    def random(self, seed: int, size: int) -> Array:
        """What one rank would draw, of which each keeps its rows."""
        rng, width = np.random.default_rng(seed), size // self._here
        out = np.empty((self._here, width))
        for first in range(0, self._all, CHUNK):
            some = rng.standard_normal((min(CHUNK, self._all - first), width))
            here = (self._rows >= first) & (self._rows < first + len(some))
            out[here] = some[self._rows[here] - first]
        return out.ravel()

    def whole(self, vector: Array) -> Array | None:
        """(n,) of all ranks in the order of the whole body, on rank 0; None elsewhere."""
        width = len(vector) // self._here
        own = vector.reshape(self._here, width)[: self._own]
        if self._order is None:
            rows = self.ranks.gather(self._rows[: self._own, None].astype(float), self.counts)
            self._order = np.empty(0, np.int64) if rows is None else rows[:, 0].astype(np.int64)
        found = self.ranks.gather(own, self.counts)
        if found is None:
            return None
        out = np.empty_like(found)
        out[self._order] = found
        return out.ravel()

    _order: np.ndarray | None = None

    def share(self, vector: Array) -> Array:
        """The rows of a vector of the whole body that are here."""
        return np.ascontiguousarray(vector.reshape(self._all, -1)[self._rows].ravel())
