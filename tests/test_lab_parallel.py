"""Rows of the lab's long experiments on the workers of a Dask scheduler."""

from __future__ import annotations

import pytest
from schedulers import scheduler

from stiffly import cli
from stiffly.errors import InputError, SimulationFailure
from stiffly.sweeps import cluster
from stiffly_lab import parallel
from stiffly_lab.bench import Bench

pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def address():
    with scheduler() as found:
        yield found


@pytest.fixture
def on(monkeypatch):
    monkeypatch.delenv(parallel.PROCESSES, raising=False)
    return lambda address: monkeypatch.setenv(parallel.ON, address)


def found(number):
    from distributed import get_worker

    return {"number": number, "scheduler": get_worker().scheduler.addr}


def refused(number):
    if number == 2:
        raise ValueError("of this row alone")
    return found(number)


def test_workers_measure_rows_which_are_kept_as_they_come(address, on, tmp_path):
    jobs = {f"row {n}": (found, (n,)) for n in range(5)}
    on(address)
    rows = parallel.rows(Bench(True, folder=tmp_path), jobs)
    assert rows == {f"row {n}": {"number": n, "scheduler": address} for n in range(5)}
    on("tcp://127.0.0.1:9")  # nobody is asked for what an interrupted run has left
    again = Bench(True, folder=tmp_path)
    assert again.resumed == 5 and parallel.rows(again, jobs) == rows


def test_a_row_that_fails_there_is_named_and_the_others_are_kept(address, on, tmp_path):
    jobs = {f"row {n}": (refused, (n,)) for n in range(3)}
    on(address)
    with pytest.raises(SimulationFailure, match="row 2: ValueError: of this row alone"):
        parallel.rows(Bench(True, folder=tmp_path), jobs)
    assert Bench(True, folder=tmp_path).resumed == 2


@pytest.mark.parametrize("experiment", ["map", "equal-error", "auto"])
def test_an_address_where_nobody_is_is_one_line_and_leaves_no_folder(
    experiment, on, tmp_path, monkeypatch, capfd
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cluster, "PATIENCE", 0.3)
    on("tcp://127.0.0.1:9")
    assert cli.main(["lab", experiment, "--quick"]) == 2
    [said] = [line for line in capfd.readouterr().err.splitlines() if line.startswith("error:")]
    assert "no Dask scheduler at tcp://127.0.0.1:9" in said
    assert not list(tmp_path.iterdir())


def test_a_scheduler_and_processes_of_this_machine_exclude_each_other(on, monkeypatch):
    on("tcp://127.0.0.1:9")
    monkeypatch.setenv(parallel.PROCESSES, "2")
    with pytest.raises(InputError, match="set one of them"):
        parallel.rows(Bench(True), {})


def test_a_worker_with_other_versions_is_refused(address, on, monkeypatch):
    on(address)
    monkeypatch.setattr(parallel, "packages", lambda *_: {"scikit-sundae": "0.1"})
    with pytest.raises(InputError, match=r"the worker has scikit-sundae .* has 0\.1: install"):
        parallel.rows(Bench(True), {"row": (found, (1,))})


def test_a_worker_that_would_measure_two_rows_at_once_is_refused(on):
    with scheduler(workers=1, threads=2) as address:
        on(address)
        with pytest.raises(InputError, match="--nthreads 1"):
            parallel.rows(Bench(True), {"row": (found, (1,))})
