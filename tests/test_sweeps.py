"""Many runs: what is swept over, the table that comes of it, and what is refused."""

import csv
import json
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import CancelledError
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from schedulers import scheduler

import stiffly
from stiffly import cli
from stiffly.errors import InputError, SimulationFailure
from stiffly.recording.folder import Lock
from stiffly.recording.plots.sweep import plot_sweep
from stiffly.sweeps import cluster, one_run, sweep
from stiffly.sweeps.axes import axes

pytest.importorskip("distributed")
MOST = 10_000


@pytest.fixture(scope="module")
def address():
    with scheduler() as found:
        yield found


@pytest.fixture
def nobody(monkeypatch):
    """No cluster may be asked for anything."""

    @contextmanager
    def asked(*_):
        pytest.fail("a run was begun in vain")
        yield

    monkeypatch.setattr(sweep, "cluster", asked)


def table(folder):
    with (Path(folder) / "results.csv").open() as file:
        return list(csv.DictReader(file))


# ------------------------------------------------------------------ what is swept over


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6), st.sampled_from([-1.0, 1.0]), st.integers(2, 40))
def test_a_logarithmic_range_has_its_ends_and_one_ratio(a, b, sign, n):
    text = f"{sign * a}:{sign * b}:log:{n}"
    if abs(a / b - 1.0) < 1e-6:
        return  # its values would be the same
    found = axes({"mass": text}, MOST)["mass"]
    assert len(found) == n
    assert found[0] == pytest.approx(sign * a, rel=1e-11)
    assert found[-1] == pytest.approx(sign * b, rel=1e-11)
    ratios = np.array(found[1:]) / np.array(found[:-1])
    np.testing.assert_allclose(ratios, (b / a) ** (1.0 / (n - 1)), rtol=1e-9)


@given(st.integers(-1000, 1000), st.integers(1, 50), st.integers(2, 40))
def test_a_linear_range_of_whole_steps_is_of_whole_numbers(a, stride, n):
    found = axes({"cells": f"{a}:{a + stride * (n - 1)}:lin:{n}"}, MOST)["cells"]
    assert found == list(range(a, a + stride * n, stride)) and all(type(v) is int for v in found)


@pytest.mark.parametrize(
    "key, text, values",
    [
        ("step", "0.1:0.3:lin:3", [0.1, 0.2, 0.3]),
        ("stiffness", "1e3,2e3", [1e3, 2e3]),
        ("linear", "true,false", [True, False]),
        ("body.0.position", "[0,0,1],[0,0,2]", [[0, 0, 1], [0, 0, 2]]),
        ("integrator", "eti:rest,pexprb43:1/2,1,verlet", ["eti:rest", "pexprb43:1/2,1", "verlet"]),
        ("stiffness", "1e-200:1e-198:log:3", [1e-200, 1e-199, 1e-198]),
        ("mass", np.array([1.0, 2.5]), [1.0, 2.5]),
    ],
)
def test_lists_and_ranges(key, text, values):
    assert axes({key: text}, MOST) == {key: values}


WRONG = {
    "stifness=1e4:1e6:log:3": "did you mean stiffness?",
    "stiffness=1e4:1e6:cube:3": "no range; give a:b:log:n",
    "stiffness=1e4:1e6": "no range",
    "stiffness=1e4:x:lin:3": "are numbers",
    "stiffness=1:1e400:lin:3": "are numbers",
    "stiffness=-1e308:1e308:lin:3": "too wide",
    "stiffness=1:2:lin:1": "2 or more",
    "stiffness=1:2:lin:2.5": "2 or more",
    "stiffness=-1:1e6:log:3": "cannot touch zero",
    "stiffness=0:1e6:log:3": "cannot touch zero",
    "stiffness=1:2:lin:1e15": "more than 10,000",
    "stiffness=2:2:lin:3": "given twice",
    "stiffness=soft,hard": "give a number",
    "stiffness=,": "no value is given",
    "stiffness": "give key=value",
    "step=0.1,0": "must be positive",
    "step=short": "must be positive",
    "rtol=nan": "must be positive",
    "integrator=verlet,exprb43": "did you mean pexprb43?",
    "every=1,2": "its own option",
    "panels=9.5": "a whole number",
}


@pytest.mark.parametrize("over", WRONG)
def test_what_cannot_be_swept_is_told_in_one_line(over, tmp_path, monkeypatch, capfd, nobody):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["sweep", "pylon", "--small", "--over", over]) == 2
    said = capfd.readouterr().err.strip()
    assert WRONG[over] in said and len(said.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments, words",
    [
        ("pylon", "--over is missing"),
        ("pylo --over step=1,2", "did you mean pylon?"),
        ("nowhere.toml --over step=1,2", "does not exist"),
        ("pylon --over step=1,2 --step 1", "fixed and swept"),
        ("pylon --over mass=1,2 --set mass=1", "fixed and swept"),
        ("pylon --over mass=1,2 --set masss=1", "did you mean mass?"),
        ("pylon --over mass=1,2 --over mass=3", "given twice"),
        ("pylon --over mass=1:9:lin:5 --max-runs 4", "5 runs are more than 4"),
        ("pylon --over mass=1:9:lin:99 --over step=1:2:lin:102", "10,098 runs are more than"),
        ("pylon --over mass=1,2 --jobs 0", "jobs must be a whole number"),
        ("pylon --over mass=1,2 --jobs 2 --on 127.0.0.1:1", "give one"),
        ("pylon --over mass=1,2 --out file", "is a file"),
        ("pylon --over mass=1,2 --out full", "something else than a sweep"),
    ],
)
def test_wrong_commands_are_told_in_one_line(
    arguments, words, tmp_path, monkeypatch, capfd, nobody
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    for name in ("file", "full/note.txt"):
        (tmp_path / name).write_text("mine")
    assert cli.main(["sweep", *arguments.split()]) == 2
    said = capfd.readouterr().err.strip()
    assert words in said and len(said.splitlines()) == 1
    assert {p.name for p in tmp_path.rglob("*")} == {"file", "full", "note.txt"}


@pytest.mark.parametrize("scene", [3, stiffly.Scene("mine", duration=1.0, step=0.1)])
def test_only_names_and_files_can_be_swept(scene):
    with pytest.raises(InputError, match=r"save\('mine.toml'\)"):
        stiffly.sweep(scene, {"step": [1, 2]})


def test_without_dask_the_command_that_adds_it(monkeypatch, tmp_path, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cluster, "find_spec", lambda name: None)
    assert cli.main(["sweep", "pylon", "--over", "mass=1,2"]) == 2
    assert 'pip install "stiffly[sweep]"' in capfd.readouterr().err
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------ a table of runs

RUNS = ["sweep", "two-springs", "--small", "--duration", "0.5", "--over", "stiffness=1:100:log:3"]
RUNS += ["--over", "step=0.05,0.1", "--quiet"]


@pytest.fixture(scope="module")
def swept(address, tmp_path_factory):
    folder = tmp_path_factory.mktemp("swept") / "out"
    assert cli.main([*RUNS, "--on", address, "--out", str(folder)]) == 0
    return folder


def test_every_run_is_in_the_table_with_the_numbers_that_it_has_alone(swept):
    rows = table(swept)
    asked = [(k, h) for k in (1, 10, 100) for h in (0.05, 0.1)]
    assert [(float(r["stiffness"]), float(r["step"])) for r in rows] == asked
    assert len({row["id"] for row in rows}) == 6
    for row, (k, h) in zip(rows, asked, strict=True):
        scene = stiffly.scenes.load("two-springs", small=True, stiffness=k)
        alone = stiffly.simulate(scene, step=h, duration=0.5)
        energy = alone.energy.summary()
        assert (row["status"], row["error"], row["tries"]) == ("ok", "", "1")
        assert int(row["force_evaluations"]) == alone.stats["force_evaluations"]
        assert float(row["energy_final"]) == energy["final"]
        error = energy["max_abs_drift"] / energy["exchanged"]
        assert float(row["energy_error"]) == pytest.approx(error, rel=1e-12)
    assert (swept / "sweep.png").stat().st_size > 10_000


def test_parquet_has_the_same_table(swept):
    parquet = pytest.importorskip("pyarrow.parquet")
    found = parquet.read_table(swept / "results.parquet").to_pylist()
    rows = table(swept)
    assert list(found[0]) == list(rows[0])
    assert [r["stiffness"] for r in found] == [1, 1, 10, 10, 100, 100]
    assert [r["energy_final"] for r in found] == [float(r["energy_final"]) for r in rows]


def test_the_same_command_again_runs_nothing(swept, nobody):
    before = table(swept)
    assert cli.main([*RUNS, "--out", str(swept)]) == 0
    assert table(swept) == before


def test_what_is_missing_or_cut_off_is_run_again_and_nothing_else(swept, address, capfd):
    files = sorted((swept / "runs").iterdir())
    kept = {path.name: path.stat().st_mtime_ns for path in files[2:]}
    files[0].unlink()
    files[1].write_bytes(files[1].read_bytes()[:100])
    before = table(swept)
    assert cli.main([*RUNS, "--on", address, "--out", str(swept)]) == 0
    after, volatile = table(swept), {"wall_seconds"}
    assert [{k: r[k] for k in r if k not in volatile} for r in after] == [
        {k: r[k] for k in r if k not in volatile} for r in before
    ]
    assert {p.name: p.stat().st_mtime_ns for p in files[2:]} == kept


@pytest.mark.parametrize(
    "other, words",
    [
        (["--over", "mass=1,2"], "over was"),
        (["--set", "mass=2"], "given was"),
        (["--keep"], "keep was False, now True"),
    ],
)
def test_another_sweep_in_the_same_folder_is_refused(swept, other, words, capfd, nobody):
    before = table(swept)
    assert cli.main([*RUNS, *other, "--out", str(swept)]) == 2
    said = capfd.readouterr().err
    assert words in said and "another sweep" in said and len(said.splitlines()) == 1
    assert table(swept) == before


def test_two_at_once_are_refused(swept, address, capfd):
    (run, *_) = sorted((swept / "runs").iterdir())
    content = run.read_text()
    run.unlink()
    lock = Lock(swept)
    try:
        assert cli.main([*RUNS, "--on", address, "--out", str(swept)]) == 2
        assert "being written by another process" in capfd.readouterr().err
    finally:
        lock.release()
        run.write_text(content)


def test_failed_runs_are_named_and_tried_once_more(address, tmp_path, capfd):
    out = tmp_path / "out"
    arguments = ["--over", "integrator=forward-euler,verlet,midpoint", "--over", "rtol=1e-3"]
    steps = ["--over", "integrator=forward-euler,midpoint", "--set", "stiffness=1e5"]
    for name, given_ in (("refused", arguments), ("exploded", steps)):
        command = ["sweep", "two-springs", "--small", "--duration", "0.5", *given_]
        assert cli.main([*command, "--on", address, "--out", str(out / name)]) == 0
        assert "failed" in capfd.readouterr().out
    refused, exploded = table(out / "refused"), table(out / "exploded")
    assert {(row["status"], row["tries"]) for row in refused} == {("InputError", "2")}
    assert all("has no error estimate" in row["error"] for row in refused)
    assert [(r["status"], r["tries"]) for r in exploded] == [("Diverged", "2"), ("ok", "1")]


def test_recordings_are_kept_where_they_are_asked_for(address, tmp_path):
    found = stiffly.sweep(
        "single-spring", {"mass": [0.5, 1.0]}, small=True, duration=0.1, out=tmp_path / "out",
        keep=True, on=address,
    )  # fmt: skip
    for row in found.rows:
        run = stiffly.Recording(tmp_path / "out" / "runs" / row["id"])
        assert run.complete and run.energy.summary()["final"] == row["energy_final"]
    assert not list((tmp_path / "out" / "runs").glob("*.part")) and not found.failed


def test_keys_of_a_scene_file(address, tmp_path):
    file = tmp_path / "mine.toml"
    scene = stiffly.Scene("mine", duration=0.1, step=0.01)
    scene.add(stiffly.shapes.rope(4, length=0.5), stiffness=2e3, mass=0.1, pins=[0])
    scene.save(file)
    found = stiffly.sweep(
        file, {"body.0.stiffness": [1e3, 1e4], "step": "0.005,0.01"}, out=tmp_path / "o", on=address
    )
    assert [row["status"] for row in found.rows] == ["ok"] * 4
    finals = {row["energy_final"] for row in found.rows}
    assert len(finals) == 4
    with pytest.raises(InputError, match="stiffness"):
        stiffly.sweep(file, {"body.0.stifness": [1, 2]}, out=tmp_path / "p")
    file.write_text(file.read_text() + "\n# another one\n")
    with pytest.raises(InputError, match="another sweep"):
        stiffly.sweep(
            file, {"body.0.stiffness": [1e3, 1e4], "step": "0.005,0.01"}, out=tmp_path / "o"
        )


# ------------------------------------------------------------------ a run by its inputs

CASE = {
    "scene": "two-springs", "small": True, "variant": None, "files": {}, "given": {"mass": "1"},
    "options": {"step": 0.1}, "versions": {"stiffly": "1"},
}  # fmt: skip


@pytest.mark.parametrize("key", CASE)
def test_an_id_follows_from_every_input(key):
    assert one_run.identity(CASE) == one_run.identity(json.loads(json.dumps(CASE)))
    assert one_run.identity(CASE) != one_run.identity({**CASE, key: "other"})


def test_a_worker_with_other_versions_or_files_is_refused(tmp_path):
    mesh = tmp_path / "mesh.obj"
    mesh.write_text("v 0 0 0")
    files, here = one_run.digests("pylon", {"mesh": str(mesh)}), cluster.packages()
    one_run.require_same(files, here)
    with pytest.raises(InputError, match=r"numpy .* 0\.1: install the same"):
        one_run.require_same(files, {**here, "numpy": "0.1"})
    mesh.write_text("v 0 0 1")
    with pytest.raises(InputError, match="another file there"):
        one_run.require_same(files, here)


# ------------------------------------------------------------------ clusters


def refused(address, monkeypatch, patience=0.3):
    monkeypatch.setattr(cluster, "PATIENCE", patience)
    with pytest.raises(InputError) as caught, cluster.cluster(address, None):
        pass
    return str(caught.value)


@pytest.mark.parametrize(
    "address, words",
    [
        ("tcp://127.0.0.1:9", "no answer in 0.3 s"),
        ("nonsense", "missing port"),
        ("http://localhost:8787", "unknown address scheme"),
        ("tls://127.0.0.1:9", "TLS"),
    ],
)
def test_a_dead_address_is_told_in_time(address, words, monkeypatch):
    assert words in refused(address, monkeypatch)


def test_a_port_that_says_nothing_is_told_in_time(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as mute:
        said = refused(f"tcp://127.0.0.1:{mute.getsockname()[1]}", monkeypatch)
    assert "no answer in 0.3 s" in said


def test_a_worker_is_no_scheduler_and_a_scheduler_needs_workers(address, monkeypatch):
    from distributed import Client

    with Client(address) as client:
        worker = next(iter(client.scheduler_info()["workers"]))
    assert "is a Worker, no scheduler" in refused(worker, monkeypatch, 5.0)
    with scheduler(workers=0) as alone:
        assert "has no workers" in refused(alone, monkeypatch, 0.5)


class Ended:
    """A future that ended so."""

    def __init__(self, failure):
        self.failure = failure

    def result(self):
        raise self.failure


@pytest.mark.parametrize("failure", [CancelledError(), OSError("closed")])
def test_a_scheduler_that_goes_away_is_told(failure, address, monkeypatch):
    monkeypatch.setattr(cluster, "_outcome", lambda *_: Ended(failure).result())
    with cluster.cluster(address, None) as client:
        coming = cluster.outcomes(client, {"one": (abs, (-1,)), "two": (abs, (-2,))})
        with pytest.raises(SimulationFailure, match="scheduler is gone"):
            list(coming)


def test_what_fails_before_a_job_begins_is_named():
    found = cluster._outcome(Ended(ModuleNotFoundError("no stiffly")), 2)
    assert (found.failure, found.text) == ("ModuleNotFoundError", "no stiffly")


@pytest.mark.slow
def test_a_job_that_ends_its_process_is_named_and_the_others_go_on():
    import os

    import dask.config

    jobs = {"bad": (os._exit, (1,)), "good": (abs, (-3,)), "worse": (int, ("x",))}
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        cluster.cluster(None, 1) as client,
    ):
        found = dict(cluster.outcomes(client, jobs))
    assert (found["bad"].failure, found["bad"].tries) == (cluster.DIED, 2)
    assert found["worse"].failure == "ValueError" and found["worse"].tries == 2
    assert found["good"].value == 3


@pytest.mark.slow
def test_processes_of_one_thread_leave_this_one_as_it_was():
    """numba refuses to compile where its number of threads in the environment has changed."""
    import os

    before = dict(os.environ)
    with cluster.cluster(None, 1) as client:
        assert os.environ.get("NUMBA_NUM_THREADS") == before.get("NUMBA_NUM_THREADS")
        found = dict(cluster.outcomes(client, {"there": (os.getenv, ("NUMBA_NUM_THREADS",))}))
    assert found["there"].value == "1"
    assert dict(os.environ) == before


@pytest.mark.slow
def test_a_process_that_dask_gives_up_is_replaced():
    """As it does where one is not back within 15 s."""
    from distributed.core import Status

    with cluster.cluster(None, 1) as client:
        [nanny] = client.cluster.workers.values()
        client.cluster.sync(nanny.close)
        assert nanny.status == Status.closed
        found = dict(cluster.outcomes(client, {"one": (abs, (-1,)), "two": (abs, (-2,))}))
    assert {name: outcome.value for name, outcome in found.items()} == {"one": 1, "two": 2}


@pytest.mark.slow
def test_ctrl_c_ends_all_processes_with_one_line(tmp_path):
    command = [sys.executable, "-m", "stiffly", *RUNS[:-1], "--over", "mass=1:2:lin:900"]
    process = subprocess.Popen(
        [*command, "--jobs", "1", "--out", str(tmp_path / "out")],
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    while process.poll() is None and not list(tmp_path.glob("out/runs/*.json")):
        time.sleep(0.05)
    import os

    os.killpg(process.pid, signal.SIGINT)
    assert "Traceback" not in (said := process.communicate()[1])
    assert process.returncode == 130 and "go on with the same command" in said
    rows = table(tmp_path / "out")
    assert len(rows) == 5400 and {row["status"] for row in rows} == {"ok", "not run"}


@pytest.mark.slow
def test_the_guide_runs_as_printed(tmp_path, monkeypatch):
    from test_tutorials import DOCS, run_page

    monkeypatch.chdir(tmp_path)
    assert run_page((DOCS / "sweeps.md").read_text()) == 2
    rows = table("pylon-sweep")
    assert len(rows) == 36 and [r["integrator"] for r in rows if r["status"] != "ok"] == [
        "verlet",
        "verlet",
    ]
    subprocess.run([sys.executable, "masses.py"], check=True)
    assert [row["status"] for row in table("masses")] == ["ok"] * 9


# ------------------------------------------------------------------ pictures


def rows_over(over, failed=()):
    from itertools import product

    cells = [dict(zip(over, chosen, strict=True)) for chosen in product(*over.values())]
    return [
        {**cell, "status": "Diverged" if k in failed else "ok", "energy_error": 10.0**-k,
         "wall_seconds": 1.0 + k}
        for k, cell in enumerate(cells)
    ]  # fmt: skip


def test_a_line_over_one_parameter_and_a_cross_where_a_run_failed():
    over = {"step": [0.1, 0.01, 1.0]}
    figure = plot_sweep(rows_over(over, failed=[1]), over)
    error = figure.axes[0]
    line, cross = error.lines
    np.testing.assert_allclose(line.get_xdata(), [0.01, 0.1, 1.0])
    np.testing.assert_allclose(line.get_ydata(), [np.nan, 1.0, 1e-2])
    assert list(cross.get_xdata()) == [0.01]
    assert error.get_xscale() == error.get_yscale() == "log" and error.get_xlabel() == "step [s]"


def test_a_line_for_each_method():
    over = {"integrator": ["a", "b"], "mass": [1.0, 2.0]}
    figure = plot_sweep(rows_over(over), over)
    assert [line.get_label() for line in figure.axes[0].lines] == ["a", "b"]
    assert [list(line.get_ydata()) for line in figure.axes[0].lines] == [[1.0, 0.1], [0.01, 1e-3]]


def test_a_heat_map_over_two_parameters():
    over = {"mass": [1.0, 2.0, 3.0], "step": [0.2, 0.1]}
    figure = plot_sweep(rows_over(over), over)
    grid = figure.axes[0].images[0].get_array()
    np.testing.assert_allclose(grid, [[1e-1, 1e-3, 1e-5], [1e0, 1e-2, 1e-4]])
    assert figure.axes[0].get_xlabel() == "mass" and figure.axes[0].get_ylabel() == "step [s]"


def test_three_parameters_and_names_alone_have_no_plot():
    three = {"a": [1, 2], "b": [1, 2], "c": [1, 2]}
    assert plot_sweep(rows_over(three), three) is None
    names = {"integrator": ["a", "b"]}
    assert plot_sweep(rows_over(names), names) is None
