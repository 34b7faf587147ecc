"""One body over 1, 2, 3 and 4 ranks against one processor; what is refused; ranks that die.

`make test-cluster` sets up what this needs; elsewhere it is skipped."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import numpy as np
import pytest

import stiffly

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
READY = which("mpiexec") and all(find_spec(name) for name in ("petsc4py", "mpi4py"))
pytestmark = pytest.mark.skipif(not READY, reason="needs mpiexec, petsc4py, mpi4py")
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
SEVERAL = {"NUMBA_NUM_THREADS": "2"}  # of which cases.py takes one, but for some
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
CROWDED = {"OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}
CLOSE = 1e-9  # asked for
HALO = ", a halo after every drift"
LIMIT = 600  # seconds of a run: what hangs ends, what is slow does not
CASES_LIMIT = 1800  # of all cases one after the other, which may have to compile first
OUT_OF_TIME = 110  # what mpiexec ends with, and all ranks with it


def started(ranks, *words, threads=ONE_THREAD, limit=LIMIT, **more):
    environment = {**os.environ, **ONE_THREAD, **ROOT, **CROWDED, **threads}
    launch = ["mpiexec", "-n", str(ranks), "--timeout", str(limit)]
    command = [*launch, sys.executable, *map(str, words)]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True, **more)


def told_by(process):
    """What it wrote to stderr, when it has ended; mpiexec itself may hang as well."""
    try:
        return process.communicate(timeout=CASES_LIMIT + 60)[1]
    finally:
        process.kill()


def ended(ranks, *words, **more):
    process = started(ranks, *words, **more)
    told = told_by(process).splitlines()
    return process.returncode, [line for line in told if line.startswith("error:")]


def run(ranks, *words, what="", **more):
    return ended(ranks, HERE / "as_rank.py", what, "run", *words, "--engine", "petsc", **more)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What cases.py has written, by ranks.  Each is run once, also where it fails or hangs: the
    tests of all its cases fail by that."""
    folder = tmp_path_factory.mktemp("cases")
    script, alone = HERE / "cases.py", folder / "alone"

    @cache
    def ran(ranks):
        if ranks:
            words = (script, alone, folder / f"{ranks}.json")
            return ended(ranks, *words, threads=SEVERAL, limit=CASES_LIMIT)
        command = ["timeout", str(CASES_LIMIT), sys.executable, script, alone]
        return subprocess.run(command).returncode

    def of(ranks):
        assert ran(0) == 0
        assert ran(ranks) == (0, [])
        return json.loads((folder / f"{ranks}.json").read_text())

    return of


def cases():
    if not READY:
        return []
    from cases import CASES, named

    return [named(case) for case in CASES]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("case", cases())
def test_ranks_agree_with_one_processor(case, ranks, found):
    seen = found(ranks)[case]
    assert seen["moved"] > 0.0
    assert seen["positions"] <= CLOSE and seen["ledger"] <= CLOSE


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_multigrid_that_knows_rigid_motions_needs_fewer_iterations(ranks, found):
    seen = found(ranks)["iterations"]
    assert 0 < seen["rigid"] < seen["shifts"] and seen["apart"] <= CLOSE


@pytest.mark.parametrize("ranks", [2, 3])
def test_bodies_that_are_whole_on_their_rank_go_in_compiled_stretches(ranks, found):
    assert found(ranks)["hair verlet"]["loop"].startswith("compiled stretches")


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_how_explicit_steps_of_a_body_that_is_cut_are_taken(ranks, found):
    """Where all that ranks have to tell each other within a step are positions, in stretches."""
    seen, cut = found(ranks), ranks > 1
    for case in ("dragon verlet", "falling-cube verlet", "coil-spring rk4", "dragon rkn6"):
        assert seen[case]["loop"] == "compiled stretches: one call" + cut * HALO
    for case in ("rubbing verlet", "pushed verlet", "threads of rubbing verlet"):
        assert seen[case]["loop"].startswith("compiled stretches")
    assert seen["pushed dop853"]["loop"].startswith("compiled steps")
    assert "pieces of a body" in seen["threads of dragon verlet"]["loop"]
    wind = "step by step: wind, dashpots and supports of tets have no compiled loop where"
    assert seen["pieces of flag verlet"]["loop"].startswith(wind if cut else "compiled stretches")


SCENE = ("dragon", "--small", "--duration", "0.2", "--every", "0.01", "--dtype", "float64")


def last(folder):
    return stiffly.Recording(folder).positions[-1]


@pytest.mark.parametrize(("method", "step"), [("bdf2", "0.01"), ("verlet", "5e-4")])
def test_checkpoints_resume_on_other_numbers_of_ranks_and_on_none(tmp_path, method, step):
    how = ("--integrator", method, "--step", step, "--checkpoint", "0")
    longer = ("--duration", "0.3")
    assert run(2, *SCENE, *how, "--out", tmp_path / "two") == (0, [])
    (tmp_path / "alone").mkdir()
    for name in ("recording.vtkhdf", "checkpoint.npz", "scene.toml", "summary.json"):
        (tmp_path / "alone" / name).write_bytes((tmp_path / "two" / name).read_bytes())
    stiffly.resume(tmp_path / "alone", duration=0.3)
    words = ("resume", tmp_path / "two", *longer, "--engine", "petsc")
    assert ended(3, HERE / "as_rank.py", "", *words) == (0, [])
    options = {"integrator": method, "step": float(step), "duration": 0.3, "every": 0.01}
    straight = stiffly.simulate(stiffly.scenes.load("dragon", small=True), **options)
    for name in ("two", "alone"):
        assert np.abs(last(tmp_path / name) - straight.positions[-1]).max() <= 1e-9
        energy = stiffly.Recording(tmp_path / name).energy
        off = np.abs(energy.numerical - straight.energy.numerical).max()
        assert off <= CLOSE * max(np.ptp(line) for line in straight.energy.parts.values())


def rows(elements):
    """As a set, whichever rank has told them first."""
    return np.unique(np.sort(elements, axis=1), axis=0)


def test_a_scene_built_in_pieces_is_recorded_and_resumed_as_the_whole(tmp_path):
    how = ("--integrator", "bdf2", "--step", "0.033", "--checkpoint", "0", "--dtype", "float64")
    words = ("bar", "--small", *how, "--duration", "0.99")
    assert run(2, *words, "--out", tmp_path / "pieces") == (0, [])
    whole = [sys.executable, "-m", "stiffly", "run", *words, "--out", str(tmp_path / "whole")]
    subprocess.run(whole, check=True, capture_output=True)
    seen, alone = (stiffly.Recording(tmp_path / name) for name in ("pieces", "whole"))
    assert np.array_equal(seen.mesh.positions, alone.mesh.positions)
    assert np.allclose(seen.mass, alone.mass, rtol=1e-14)
    for kind in ("edges", "tets", "triangles"):
        assert np.array_equal(rows(getattr(seen.mesh, kind)), rows(getattr(alone.mesh, kind)))
    for name in ("pieces", "whole"):  # begun so, gone on with in pieces
        again = ("resume", tmp_path / name, "--duration", "1.32", "--engine", "petsc")
        assert ended(3, HERE / "as_rank.py", "", *again) == (0, [])
    stiffly.resume(tmp_path / "pieces", duration=1.65)  # and without MPI
    options = {"integrator": "bdf2", "step": 0.033, "every": alone.times[1]}
    scene = stiffly.scenes.load("bar", small=True)
    for name, duration in (("pieces", 1.65), ("whole", 1.32)):
        straight = stiffly.simulate(scene, duration=duration, **options)
        assert np.abs(last(tmp_path / name) - straight.positions[-1]).max() <= CLOSE


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_that_is_killed_ends_the_run_and_leaves_a_checkpoint(rank, tmp_path):
    out = tmp_path / "run"
    words = ("dragon", "--small", "--duration", "100", "--step", "0.01", "--every", "0.01")
    script = HERE / "as_rank.py"
    process = started(
        *(2, script, "pids", tmp_path, "run", *words, "--checkpoint", "0"),
        *("--engine", "petsc", "--out", out),
    )
    until = time.monotonic() + LIMIT
    while not (out / "checkpoint.npz").exists() or len(stiffly.Recording(out).times) < 4:
        assert time.monotonic() < until and process.poll() is None
        time.sleep(0.1)
    os.kill(int((tmp_path / f"pid-{rank}").read_text()), signal.SIGKILL)
    told = told_by(process).splitlines()
    assert process.returncode != 0
    assert [line for line in told if "resume" in line] == [gone_on(out)]
    reached = stiffly.Recording(out).times[-1]
    assert 0.0 < reached < 100.0
    again = ("resume", out, "--max-hours", "7", "--engine", "petsc")  # it goes on, for a moment
    assert ended(2, HERE / "as_rank.py", "hours", *again)[0] == 75
    beyond = stiffly.Recording(out).times[-1]
    assert beyond >= reached - 0.02 + 0.1  # from its last checkpoint on, for twelve steps
    with pytest.raises(stiffly.errors.OutOfTime):  # and without MPI
        stiffly.resume(out, max_hours=1e-3)
    assert stiffly.Recording(out).times[-1] >= beyond


@pytest.mark.parametrize("ranks", [1, 3])
def test_when_the_hours_of_rank_0_are_over_all_stop_and_others_go_on(ranks, tmp_path):
    how = {"integrator": "bdf2", "step": 0.01, "duration": 0.2, "every": 0.01}
    given = [word for name, value in how.items() for word in (f"--{name}", str(value))]
    words = ("dragon", "--small", *given, "--dtype", "float64", "--out", tmp_path / "run")
    code, told = run(ranks, *words, "--max-hours", "7", what="hours")
    assert code == 75 and len(told) == 1
    assert "max_hours = 7 are over at t = 0.1" in told[0] and "stiffly resume" in told[0]
    assert 10 <= len(stiffly.Recording(tmp_path / "run")) < 21
    again = ("resume", tmp_path / "run", "--max-hours", "7", "--engine", "petsc")
    assert ended(2, HERE / "as_rank.py", "", *again) == (0, [])
    straight = stiffly.simulate(stiffly.scenes.load("dragon", small=True), **how)
    seen = stiffly.Recording(tmp_path / "run")
    assert np.array_equal(seen.times, straight.times)
    assert np.abs(seen.positions - straight.positions).max() <= CLOSE


@pytest.mark.parametrize("what", ["collects", "leaves"])
def test_ranks_may_collect_what_is_gone_when_they_like(what, tmp_path):
    words = ("coil-spring", "--small", "--integrator", "verlet", "--step", "5e-4")
    words += ("--duration", "0.01", "--quiet", "--out", tmp_path / "run")
    assert run(3, *words, what=what) == (0, [])


SHORT = ("dragon", "--small", "--integrator", "verlet", "--step", "5e-4", "--duration", "0.02")


@pytest.mark.parametrize("ranks", [1, 3])
def test_all_ranks_show_one_bar_and_one_table(ranks, tmp_path):
    script, words = HERE / "as_rank.py", ("run", *SHORT, "--every", "5e-4", "--engine", "petsc")
    out = (tmp_path / "out").open("w+")
    process = started(ranks, script, "", *words, "--out", tmp_path / "run", stdout=out)
    shown = [line for line in told_by(process).splitlines() if "dragon" in line]
    assert process.returncode == 0
    assert [line for line in shown if "frame 41/41" in line] == shown[-1:]
    out.seek(0)
    assert out.read().count("energy exchanged") == 1


def is_there(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_rank_that_hangs_ends_its_test_and_nothing_is_left_of_the_run(tmp_path):
    """The time limit of all tests here, at work."""
    words = ("run", *SHORT, "--engine", "petsc", "--out", tmp_path / "run")
    assert ended(2, HERE / "as_rank.py", "hangs", tmp_path, *words, limit=30) == (OUT_OF_TIME, [])
    left = {int((tmp_path / f"pid-{rank}").read_text()) for rank in (0, 1)}
    until = time.monotonic() + LIMIT
    while any(map(is_there, left)):  # the system may take a moment to forget them
        assert time.monotonic() < until
        time.sleep(0.1)


def test_a_rank_that_fails_alone_says_so_and_leaves_a_checkpoint(tmp_path):
    out, words = (
        tmp_path / "run",
        ("--every", "5e-4", "--checkpoint", "0", "--out", tmp_path / "run"),
    )
    process = started(2, HERE / "as_rank.py", "fails", "run", *SHORT, *words, "--engine", "petsc")
    told = told_by(process).splitlines()
    assert process.returncode == 1
    error = "error: rank 1 failed alone: ZeroDivisionError: of this rank alone"
    assert [line for line in told if line.startswith("error:")] == [error]
    assert [line for line in told if "resume" in line] == [gone_on(out)]
    assert 0 < len(stiffly.Recording(out)) < 41
    again = ("resume", out, "--engine", "petsc")
    assert ended(3, HERE / "as_rank.py", "", *again) == (0, [])
    assert len(stiffly.Recording(out)) == 41


def gone_on(out):
    return f"stopped; go on with: stiffly resume {out}"


ALONE = "of this rank alone"


@pytest.mark.parametrize(
    ("place", "kind", "code", "line"),
    [
        ("stiffly.recording.folder:check", "InputError", 2, f"rank 1: {ALONE}"),
        ("stiffly.scenes.request:request", "MemoryError", 1, "rank 1: not enough memory"),
        ("stiffly.scenes.request:load", "MemoryError", 2, "rank 1: dragon cannot be built"),
        ("stiffly.recording.folder:file_name", "OSError", 2, f"rank 1 failed alone: {ALONE}"),
        ("stiffly.run.simulate:planned", "ValueError", 1, "rank 1 failed alone: ValueError: of"),
        ("stiffly.run.simulate:planned", "InputError", 2, f"rank 1 failed alone: {ALONE}"),
        ("stiffly.run.engines:refusal", "IndexError", 1, f"rank 1: IndexError: {ALONE}"),
        ("stiffly.run.engines:fingerprint", "ValueError", 1, "rank 1 failed alone: ValueError"),
        ("stiffly.system.ranks:share_of", "MemoryError", 1, "rank 1 failed alone: not enough"),
        ("stiffly.backends.petsc:World.ranked", "ValueError", 1, "rank 1 failed alone: ValueError"),
        ("stiffly.system.ranks:RankSystem._gather_bodies", "KeyError", 1, "rank 1 failed alone: K"),
        ("stiffly.run.simulate:advise", "TypeError", 1, "rank 1 failed alone: TypeError"),
        ("stiffly.run.loop:Loop._lay_out", "MemoryError", 1, "rank 1 failed alone: not enough"),
        ("stiffly.run.loop:Loop._record", "MemoryError", 1, "rank 1 failed alone: not enough"),
    ],
)  # fmt: skip
def test_a_rank_that_fails_alone_before_the_run_ends_all_with_one_line(
    place, kind, code, line, tmp_path
):
    words = (*SHORT, "--out", tmp_path / "run")
    found, told = run(2, *words, what=f"broken={place}={kind}")
    assert found == code and len(told) == 1 and told[0].startswith(f"error: {line}")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("place", "kind", "code"),
    [
        ("stiffly.run.resume:finished", "ValueError", 1),
        ("stiffly.run.resume:Recording", "InputError", 2),
        ("stiffly.run.resume:_warn_of_versions", "InputError", 2),
        ("stiffly.run.resume:restored", "MemoryError", 1),
        ("stiffly.run.resume:_require_same_frames", "InputError", 2),
    ],
)
def test_a_rank_that_fails_alone_before_it_goes_on_changes_nothing(place, kind, code, tmp_path):
    out = tmp_path / "run"
    assert run(2, *SHORT, "--out", out) == (0, [])
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    words = ("resume", out, "--duration", "0.03", "--engine", "petsc")
    found, told = ended(2, HERE / "as_rank.py", f"broken={place}={kind}", *words)
    assert found == code and len(told) == 1 and told[0].startswith("error: rank 1")
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_rank_0_that_fails_alone_at_the_end_ends_all(tmp_path):
    words = (*SHORT, "--out", tmp_path / "run")
    code, told = run(2, *words, what="broken0=stiffly.recording.writer:write_json=NotRecorded")
    assert code == 1 and told == [f"error: {ALONE}"]


def test_a_program_of_ones_own_with_a_rank_that_fails_alone(tmp_path):
    """Python would wait for the others when it ends."""
    program = tmp_path / "mine.py"
    program.write_text(
        "import stiffly, sys\n"
        "from stiffly.backends import petsc\n"
        "petsc.LAST_WORDS = 2.0\n"
        "def progress(report):\n"
        "    assert report.frames < 3, 'no more'\n"
        "scene = stiffly.scenes.load('dragon', small=True)\n"
        "options = {'integrator': 'verlet', 'step': 5e-4, 'duration': 0.02, 'engine': 'petsc'}\n"
        "stiffly.simulate(scene, progress=progress, **options)\n"
    )
    code, told = ended(2, program)
    assert code == 1 and told == ["error: rank 0 failed alone: AssertionError: no more"]


def test_a_rank_that_is_never_ready_to_start_is_not_waited_for_for_ever(tmp_path):
    words = ("dragon", "--small", "--integrator", "verlet", "--out", tmp_path / "run")
    code, told = run(2, *words, what="late")
    assert code == 2 and not (tmp_path / "run").exists()
    assert told == ["error: ranks did not meet within 5 s: one of them was not ready to start"]


@pytest.mark.parametrize(
    ("ranks", "words", "cause"),
    [
        (4, ("two-springs",), "1 free particle for 4 ranks: start fewer ranks"),
        (2, ("crash", "--small"), "springs that yield cannot be shared"),
        (4, ("single-spring",), "Potential cannot be shared"),
        (2, ("cloth", "--small"), "Attachments cannot be shared"),
        (2, ("dragon", "--small", "--integrator", "realtime"), "local/global"),
        (2, ("dragon", "--small", "--integrator", "auto"), "auto is for one rank"),
        (2, ("dragon", "--small", "--integrator", "neti"), "neti is for one rank"),
        (2, ("dragon", "--small", "--rtol", "1e-3"), "fixed step"),
        (2, ("nowhere.toml",), "nowhere.toml"),
        (3, ("dragon", "--small", "--set", "verices=99"), "did you mean vertices?"),
        (2, ("dragon", "--small", "--device", "gpu"), "leave --device gpu out"),
        (4, ("bar", "--set", "cells=1"), "rank 0 has no free particle: start fewer ranks"),
        (2, ("bar", "--small", "--set", "adjust.wind=3"), "goes by the shape of the whole"),
    ],
)
def test_what_cannot_be_is_one_line_of_rank_0_before_anything_is_written(
    ranks, words, cause, tmp_path
):
    what = ("codes", tmp_path, "run", *words, "--engine", "petsc", "--out", tmp_path / "run")
    code, told = ended(ranks, HERE / "as_rank.py", *what)
    assert code == 2 and len(told) == 1 and cause in told[0]
    assert [(tmp_path / f"code-{rank}").read_text() for rank in range(ranks)] == ["2"] * ranks
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("key", "value", "lack"),
    [
        ("stiffness", "12345.0", "another system"),
        ("step", "0.001", "another step"),
        ("duration", "0.7", "another duration"),
        ("every", "0.02", "another every"),
        ("integrator", '"exprb42"', "another method"),
    ],
)
def test_ranks_that_see_different_scene_files(key, value, lack, tmp_path):
    shown = [sys.executable, "-m", "stiffly", "scene", "show", "coil-spring"]
    text = subprocess.run(shown, capture_output=True, text=True, check=True).stdout
    lines = [line for line in text.splitlines() if not line.startswith(f"{key} =")]
    at = lines.index("[parameters]") + (key == "stiffness")
    (tmp_path / "first.toml").write_text(text)
    (tmp_path / "second.toml").write_text("\n".join([*lines[:at], f"{key} = {value}", *lines[at:]]))
    words = (tmp_path / "first.toml", "--out", tmp_path / "run")
    code, told = run(3, *words, what="other-file")
    assert code == 2 and len(told) == 1 and f"rank 1 has {lack} than rank 0" in told[0]
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("what", ["x0", "v0"])
def test_ranks_that_begin_elsewhere(what, tmp_path):
    program = tmp_path / "mine.py"
    program.write_text(
        "import stiffly\n"
        "from stiffly.backends.petsc import world\n"
        "scene = stiffly.scenes.load('dragon', small=True)\n"
        "begin = {'x0': scene.x0.copy(), 'v0': scene.v0.copy()}\n"
        f"begin['{what}'][scene.system.free[0]] += 1e-3 * world().rank\n"
        "options = {'integrator': 'verlet', 'step': 5e-4, 'duration': 0.02, 'engine': 'petsc'}\n"
        "stiffly.simulate(scene.system, **begin, **options)\n"
    )
    process = started(2, program)
    told = told_by(process)
    assert process.returncode == 1 and told.count("rank 1 has another start than rank 0") == 1


def test_an_out_that_one_rank_cannot_write_to(tmp_path):
    (tmp_path / "second").write_text("in its way")
    words = (*SHORT, "--out", tmp_path / "first")
    code, told = run(2, *words, what="other-file")
    lack = f"out {tmp_path}/second: {tmp_path}/second is a file; name a folder"
    assert code == 2 and told == [f"error: rank 1: {lack}"]
    assert not (tmp_path / "first").exists()
