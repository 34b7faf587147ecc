"""One body over many ranks: PETSc's star forest fills ghosts, its solvers factorise, MPI sums.

A rank keeps the rows of its own particles and, behind them, copies of others' that its elements
touch: ghosts.  All vectors have both, so that what is done row by row is done to the copies alike;
only products and forces, whose ghost rows lack elements, end with `halo`; sums leave ghosts out.
Whatever decides which way a program goes is the same on all ranks: a sum, `every`, `agree`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from ..contracts import Array, Pairs
from ..errors import InputError, SimulationFailure, in_words
from .cpu import CpuBackend

INSTALL = "install petsc4py and mpi4py for one MPI (docs/cluster.md)"
PATIENCE = 120.0  # seconds that ranks wait for each other where one may have died
CHUNK = 1 << 20  # random numbers at a time
ROW = np.dtype((np.void, 32))  # four numbers, which NumPy copies at once

LAST_WORDS = 10.0  # seconds in which ranks that fail alike have all failed
SILENCED: list[bool] = []  # whether only rank 0 speaks
VOICE = [2]  # where a rank that is silent can still say why it ends the run
# what launchers tell each process: Open MPI, Hydra, PMIx, Slurm.  Not SLURM_NTASKS, which is of the
# job: who has not been started by srun is one process
RANKS = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID")
SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")

Result = TypeVar("Result")
Answered = Callable[[list[np.ndarray]], list[np.ndarray]]  # keys of every rank -> numbers


def launched() -> tuple[int, int]:
    """Which of how many processes the launcher has made this one, even where MPI does not load."""

    def first(names: tuple[str, ...], usual: int) -> int:
        told = (os.environ.get(name, "") for name in names)
        return next((int(text) for text in told if text.isdigit()), usual)

    rank = first(RANKS, 0)
    return rank, max(first(SIZES, 1), rank + 1)


def silence_others() -> None:
    """Only rank 0 speaks."""
    SILENCED.append(True)
    if launched()[0] == 0:
        return
    VOICE.append(os.dup(2))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def leave_together(failure: BaseException) -> None:
    """The launcher ends all ranks when the first one leaves with an error: before, rank 0 has had
    its say.  A rank that fails alone has it itself."""
    if not SILENCED:
        return
    try:
        ranks = _begun()
    except InputError:
        ranks = None
    if ranks is not None and ranks.size > 1:
        ranks.part(failure, said=True)
    elif launched()[0]:  # without MPI nobody can be asked: rank 0, which is as badly off, has left
        time.sleep(LAST_WORDS)
        _say(in_words(failure)[0])


def _say(line: str) -> None:
    os.write(VOICE[-1], f"error: {line}\n".encode())


class World:
    """All ranks that were started together."""

    def __init__(self, petsc: Any, mpi: Any) -> None:
        self.petsc, self.mpi = petsc, mpi
        self.comm: Any = mpi.COMM_WORLD
        self.rank: int = self.comm.rank
        self.size: int = self.comm.size
        self._kept: Any = None
        self._last: Any = None
        if self.size > 1:
            # for last words: a rank may have them while others meet elsewhere, on `comm`
            self._last, request = self.comm.Idup()
            self._wait_for(request, "one of them has not begun")
            self._shown, sys.excepthook = sys.excepthook, self._uncaught

    def forest(self) -> Any:
        """A star forest of all ranks, who ask for it together.

        The first one is kept for good: when the last object of a communicator is gone, PETSc gives
        up its copy of that, and makes another with the next.  Python collects on each rank in its
        own time, so some would wait for others to copy who still have theirs.  It outlives Python,
        which ends before PETSc does: there, who still has a copy would wait for those who have
        none."""
        if self._kept is None:
            self._kept = self.petsc.SF().create(self.petsc.COMM_WORLD)
            self._kept.incRef()
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
        """job() on every rank; where it fails on one of them, all raise what the first says."""
        if self.size == 1:
            return job()
        result, problem, own = None, None, None
        try:
            result = job()
        except Exception as failure:
            problem, own = in_words(failure), failure
        self.meet("one of them was not ready to start", code=2)
        told = self.comm.allgather(problem)
        failed = [rank for rank, problem in enumerate(told) if problem is not None]
        if failed:
            text, code = told[failed[0]]
            where = "" if len(failed) == self.size else f"rank {failed[0]}: "
            raise (InputError if code == 2 else SimulationFailure)(where + text) from own
        return result  # type: ignore[return-value]  # it has failed nowhere

    def alike(self, told: Mapping[str, Any]) -> None:
        """InputError on all ranks where one is about to do something else than rank 0; told: what
        all have to have alike, by name."""
        if self.size == 1:
            return
        first = self.agree(told)
        mine = next((name for name in told if told[name] != first[name]), None)
        for rank, name in enumerate(self.comm.allgather(mine)):
            if name is not None:
                raise InputError(
                    f"rank {rank} has another {name} than rank 0: let all ranks see the same scene "
                    "file, the same options and the same stiffly"
                )

    def part(self, failure: BaseException, said: bool = False) -> None:
        """Who has failed comes here.  Where all have, they go their way; else others wait for this
        rank somewhere, and the run ends.  said: rank 0 has told why already."""
        if self.size > 1 and not self._met(self._last.Ibarrier(), LAST_WORDS):
            line, code = in_words(failure)
            if not (said and self.rank == 0):
                _say(f"rank {self.rank} failed alone: {line}")
            self.comm.Abort(code)

    def _uncaught(self, kind: Any, failure: Any, trace: Any) -> None:
        """sys.excepthook: Python itself would wait for the other ranks when it ends."""
        if self.rank == 0:
            self._shown(kind, failure, trace)
        self.part(failure, said=True)

    def meet(self, lack: str, code: int = 1) -> None:
        """All ranks come here; where one does not, the run ends instead of waiting for ever."""
        if self.size > 1:
            self._wait_for(self.comm.Ibarrier(), lack, code)

    def _wait_for(self, request: Any, lack: str, code: int = 1) -> None:
        if not self._met(request, PATIENCE):
            self.end(f"ranks did not meet within {PATIENCE:g} s: {lack}", code)

    @staticmethod
    def _met(request: Any, seconds: float) -> bool:
        until = time.perf_counter() + seconds
        while not request.Test():
            if time.perf_counter() > until:
                return False
            time.sleep(0.002)
        return True

    def end(self, line: str, code: int = 1) -> None:
        """One line, and no rank goes on."""
        _say(line)
        self.comm.Abort(code)


@cache
def world() -> World:
    """The ranks of this program; InputError where PETSc is missing or of no use here."""
    ranks = _begun()
    ranks.together(lambda: usable(ranks.petsc))
    return ranks


@cache
def _begun() -> World:
    try:
        first = import_module("petsc4py")
        import_module("mpi4py")  # before MPI begins: it ends when all ranks end it
        first.init([], comm=None)  # PETSC_OPTIONS in the environment, none from our command line
        petsc, mpi = import_module("petsc4py.PETSc"), import_module("mpi4py.MPI")
    except ImportError as failure:
        raise InputError(
            f"engine petsc needs petsc4py and mpi4py, which do not load ({failure}): {INSTALL}"
        ) from None
    return World(petsc, mpi)


def usable(petsc: Any) -> None:
    """InputError where this PETSc has complex or short scalars, or no MPI."""
    if np.dtype(petsc.ScalarType) != np.float64:
        kind = np.dtype(petsc.ScalarType).name
        raise InputError(
            f"this PETSc computes with {kind}: use one configured with real double scalars"
        )
    _, started = launched()
    if started > 1 and petsc.COMM_WORLD.getSize() == 1:
        raise InputError(
            f"{started} processes were started, but this PETSc sees one: it has no MPI or that of "
            f"another mpiexec; {INSTALL}"
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
