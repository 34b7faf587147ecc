"""`engine="petsc"` on one rank, whose PETSc and MPI are played: what ranks do together is then done
by one, through the same code, and nothing is exchanged.  With MPI: tests/cluster."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import stiffly
from stiffly.backends import petsc
from stiffly.scenes.builder import rank_by_rank


class Comm:
    """MPI's for one process."""

    rank, size = 0, 1

    def allgather(self, value: Any) -> list[Any]:
        return [value]

    def alltoall(self, values: list[Any]) -> list[Any]:
        (value,) = values
        return [value]

    def exscan(self, value: Any) -> None:
        return None  # as MPI leaves it on rank 0

    def bcast(self, value: Any, root: int) -> Any:
        return value

    def gather(self, value: Any, root: int) -> list[Any]:
        return [value]

    def Gatherv(self, rows: np.ndarray, into: list[Any], root: int) -> None:
        out, (size,) = into
        assert rows.size == size and rows.flags.c_contiguous
        out[:] = rows


class Forest:
    """Nothing that is here belongs to another rank."""

    def create(self, comm: Any) -> Forest:
        return self

    def setGraph(self, roots: int, leaves: Any, sources: np.ndarray) -> None:
        assert len(sources) == 0


@pytest.fixture
def alone(monkeypatch):
    played = SimpleNamespace(
        ScalarType=np.float64,
        IntType=np.int32,
        COMM_WORLD=SimpleNamespace(getSize=lambda: 1),
        SF=Forest,
    )
    for name, module in {
        "petsc4py": SimpleNamespace(init=lambda *_, **__: None),
        "petsc4py.PETSc": played,
        "mpi4py": SimpleNamespace(),
        "mpi4py.MPI": SimpleNamespace(COMM_WORLD=Comm()),
    }.items():
        monkeypatch.setitem(sys.modules, name, module)
    for name in (*petsc.RANKS, *petsc.SIZES):
        monkeypatch.delenv(name, raising=False)
    caches = (petsc.world, petsc._begun)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


def off(run, other):
    """Of positions, over what has moved, and of the ledger, over what it holds."""
    x, y = run.positions, other.positions
    assert np.array_equal(run.times, other.times) and np.abs(y[-1] - y[0]).max() > 0.0
    lines = other.energy.parts
    most = max(np.ptp(line) for line in lines.values())
    ledger = max(np.abs(run.energy.parts[name] - line).max() for name, line in lines.items())
    return np.abs(x - y).max() / np.abs(y[-1] - y[0]).max(), ledger / most


@pytest.mark.parametrize(
    ("name", "method", "step"),
    [
        ("coil-spring", "verlet", 5e-4),
        ("coil-spring", "epirk4s3", 0.01),
        ("falling-cube", "verlet", 1e-3),
        ("bar", "exprb42", 0.033),
    ],
)
def test_one_rank_does_what_one_processor_does(name, method, step, alone):
    asked = {"integrator": method, "step": step, "duration": 20 * step, "every": 5 * step}
    with rank_by_rank("petsc"):
        scene = stiffly.scenes.load(name, small=True)
    run = stiffly.simulate(scene, engine="petsc", **asked)
    other = stiffly.simulate(stiffly.scenes.load(name, small=True), **asked)
    assert max(off(run, other)) <= 1e-9


def test_its_checkpoint_resumes_with_the_engine_and_without(alone, tmp_path):
    asked = {"integrator": "verlet", "step": 5e-4, "every": 5e-3}
    scene, options = stiffly.scenes.load("coil-spring", small=True), {**asked, "dtype": "float64"}
    stiffly.simulate(
        scene, engine="petsc", duration=0.01, out=tmp_path / "run", checkpoint=0, **options
    )
    stiffly.resume(tmp_path / "run", duration=0.02, engine="petsc")
    run = stiffly.resume(tmp_path / "run", duration=0.03)
    straight = stiffly.simulate(scene, duration=0.03, **asked)
    assert max(off(run, straight)) <= 1e-9
