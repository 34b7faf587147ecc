"""The command line: what it prints, what it writes, and its exit codes."""

from __future__ import annotations

import json
import logging
import tomllib
import warnings

import numpy as np
import pytest
from broken_input import BODY
from typer.testing import CliRunner

from stiffly import Recording, StiffWarning, cli, scenes, simulate, terminal
from stiffly.cli import run as run_command
from stiffly.errors import NotConverged
from stiffly.recording.exports import FORMATS

COMMANDS = (
    "demo",
    "scenes",
    "scene",
    "run",
    "resume",
    "plot",
    "render",
    "methods",
    "export",
    "view",
    "lab",
    "doctor",
)
SMALL = ["bar", "--set", "cells=1", "--duration", "0.33"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def stiffly(capfd, *arguments):
    """Exit code, stdout, stderr."""
    code = cli.main([str(a) for a in arguments])
    return code, *capfd.readouterr()


def good(capfd, *arguments):
    """stdout of a command that must succeed."""
    code, out, err = stiffly(capfd, *arguments)
    assert code == 0, err
    return out


# ------------------------------------------------------------------ help and lists


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_every_command_has_help(command):
    result = CliRunner().invoke(cli.app, [*filter(None, [command]), "--help"])
    assert result.exit_code == 0 and "Usage:" in result.output and "--help" in result.output


def test_version_and_help(capfd):
    assert good(capfd, "--version").strip() == "stiffly 0.1.0"
    assert all(f"  {name} " in good(capfd) for name in COMMANDS)
    assert all(word in good(capfd, "scene") for word in ("show", "check", "schema"))


def test_help_names_every_export_format(capfd):
    out = " ".join(good(capfd, "export", "--help").split())
    assert ", ".join(FORMATS) in out


def test_scenes_as_table_and_as_json(capfd):
    out = good(capfd, "scenes")
    assert all(name in out and scenes.entry(name).source in out for name in scenes.NAMES)
    found = json.loads(good(capfd, "scenes", "--json"))
    assert [scene["name"] for scene in found] == list(scenes.NAMES)
    assert all(scene["summary"] and scene["parameters"] for scene in found)


def test_a_shown_scene_is_a_file_that_passes_the_check(capfd, here):
    text = good(capfd, "scene", "show", "bar")
    assert tomllib.loads(text)["scene"] == "bar"
    (here / "mine.toml").write_text(text)
    assert good(capfd, "scene", "check", "mine.toml").startswith("ok: bar, 272 particles")


def test_schema_is_json(capfd):
    assert "body" in json.loads(good(capfd, "scene", "schema"))["properties"]


def test_lab_lists_and_runs(capfd, tmp_path):
    for arguments in (["lab"], ["lab", "list"]):
        assert "Fig. 11" in good(capfd, *arguments)
    assert "the paper says" in good(
        capfd, "lab", "krylov-error", "--quick", "--out", tmp_path / "lab"
    )
    for name in ("result.json", "figure.png", "result.md"):
        assert (tmp_path / "lab" / "krylov-error" / name).stat().st_size > 500
    assert not list(tmp_path.rglob("*.jsonl"))  # the journal of a finished experiment
    assert "index.html" in good(capfd, "lab", "report", "--out", tmp_path / "lab")


def test_lab_refuses_what_it_does_not_know(capfd, here):
    for arguments, hint in (
        (["lab", "fput-enery"], "did you mean fput-energy?"),
        (["lab", "report", "--out", "nowhere"], "stiffly lab all --quick"),
    ):
        code, _, err = stiffly(capfd, *arguments)
        assert code == 2 and hint in err and len(err.splitlines()) == 1
    assert not list(here.iterdir())


# ------------------------------------------------------------------ run


def test_run_records_and_says_what_to_do_next(capfd, here):
    code, out, err = stiffly(capfd, "run", *SMALL)
    assert code == 0
    for words in ("realtime-midpoint, end", "kinetic", "numerical error", "steps", "seconds"):
        assert words in out
    assert "frame 11/11" in err and "energy error" in err  # the progress bar
    folder = here / "bar-run"
    for line in (f"stiffly {name} bar-run" for name in ("plot", "render", "export")):
        assert line in out
    names = {"checkpoint.npz", "recording.vtkhdf", "summary.json", "scene.toml"}
    assert {path.name for path in folder.iterdir()} == names
    assert all(f"wrote bar-run/{name} (" in out for name in names)
    recording = Recording(folder)
    assert recording.complete and recording.name == "bar" and len(recording) == 11


def test_options_reach_the_simulation(capfd, here):
    arguments = ["--integrator", "bdf2", "--step", "0.01", "--fps", "20", "--dtype", "float64"]
    good(capfd, "run", *SMALL[:3], "--duration", "0.2", *arguments, "--no-velocities")
    recording = Recording(here / "bar-run")
    assert (recording.integrator, recording.step) == ("bdf2", 0.01)
    assert recording.times == pytest.approx([0.0, 0.05, 0.1, 0.15, 0.2])
    assert recording.positions.dtype == np.float64 and recording.velocities is None
    scene = scenes.load("bar", cells=1)
    run = simulate(scene, integrator="bdf2", step=0.01, duration=0.2, every=0.05)
    assert np.array_equal(run.positions, recording.positions)


def test_steps_by_tolerance(capfd, here):
    options = ["--integrator", "pexprb43", "--rtol", "1e-3", "--every", "0.11"]
    good(capfd, "run", *SMALL, *options)
    recording = Recording(here / "bar-run")
    assert recording.step is None and recording.provenance["rtol"] == 1e-3
    assert len(recording) == 4


def test_every_run_gets_a_folder_of_its_own(capfd, here):
    for _ in range(3):
        good(capfd, "run", *SMALL, "--quiet")
    folders = sorted(path.name for path in here.iterdir())
    assert folders == ["bar-run", "bar-run-2", "bar-run-3"]


def test_force_replaces_a_run(capfd, here):
    good(capfd, "run", *SMALL, "--out", "one")
    code, _, err = stiffly(capfd, "run", *SMALL, "--out", "one")
    assert code == 2 and "one" in err and err.count("\n") == 1
    good(capfd, "run", *SMALL, "--out", "one", "--integrator", "bdf1", "--force")
    assert Recording(here / "one").integrator == "bdf1"


def test_quiet_prints_nothing_and_json_only_json(capfd, here):
    assert stiffly(capfd, "run", *SMALL, "--quiet") == (0, "", "")
    code, out, _ = stiffly(capfd, "run", *SMALL, "--json")
    content = json.loads(out)
    assert code == 0 and content["folder"] == "bar-run-2" and content["scene"] == "bar"
    assert {"initial", "final", "numerical", "max_abs_drift"} <= set(content["energy"])
    on_disk = json.loads((here / "bar-run-2" / "summary.json").read_text())
    del on_disk["checksum"]  # of the file
    assert on_disk == {key: content[key] for key in on_disk}


def test_the_kept_scene_file_runs_again_to_the_same_frames(capfd, here):
    options = ["--integrator", "exprb32", "--rtol", "1e-3", "--set", "young=5e4", "--fps", "30"]
    good(capfd, "run", *SMALL, *options, "--dtype", "float64", "--quiet")
    kept = tomllib.loads((here / "bar-run" / "scene.toml").read_text())
    assert kept["parameters"] == {"cells": 1, "young": 5e4, "length": 4.0}
    good(capfd, "run", "bar-run/scene.toml", "--quiet")
    first, again = (Recording(here / name) for name in ("bar-run", "bar-run-2"))
    assert np.array_equal(first.positions, again.positions) and len(first) > 9
    assert again.positions.dtype == np.float64


def test_options_win_over_a_scene_file(capfd, here):
    lines = ["scene = 'bar'", "integrator = 'bdf1'", "frames_per_second = 10", "duration = 9"]
    (here / "mine.toml").write_text("\n".join(lines))
    options = ["--integrator", "midpoint", "--duration", "0.2", "--fps", "20", "--set", "cells=1"]
    good(capfd, "run", "mine.toml", *options, "--out", "x", "--checkpoint", "3")
    recording = Recording(here / "x")
    assert recording.integrator == "midpoint" and len(recording) == 5
    assert recording.provenance["parameters"]["cells"] == 1
    kept = tomllib.loads((here / "x" / "scene.toml").read_text())
    assert kept["frames_per_second"] == 20 and kept["output"] == {"checkpoint": 3.0}


def test_a_name_of_any_letters_becomes_a_folder(capfd, here):
    (here / "a b; Ü?.toml").write_text(BODY)
    good(capfd, "run", "a b; Ü?.toml", "--duration", "0.1", "--quiet")
    assert {path.name for path in here.iterdir()} == {"a b; Ü?.toml", "a-b-Ü-run"}


def test_the_folder_has_the_name_of_the_file(here, capfd):
    (here / "mine.toml").write_text("scene = 'bar'\nduration = 0.1\nparameters.cells = 1\n")
    good(capfd, "run", "mine.toml", "--quiet")
    assert Recording(here / "mine-run").name == "bar"


def test_small_is_the_small_variant(capfd, here):
    good(capfd, "run", "bar", "--small", "--duration", "0.1", "--quiet")
    assert Recording(here / "bar-run").provenance["parameters"]["cells"] == 2


def test_a_file_has_no_small_variant(capfd, here):
    (here / "mine.toml").write_text(BODY)
    code, out, err = stiffly(capfd, "run", "mine.toml", "--small")
    assert code == 2 and not out and err.count("\n") == 1
    assert "mine.toml has no small variant" in err and "--set" in err
    assert [path.name for path in here.iterdir()] == ["mine.toml"]


def test_whole_numbers_may_be_written_as_powers_of_ten(capfd, here):
    good(capfd, "run", "squats", "--small", "--set", "vertices=3e2", "--duration", "0.1", "--quiet")
    assert Recording(here / "squats-run").provenance["parameters"]["vertices"] == 300


def test_warnings_are_lines(capfd, here):
    scene, options = scenes.load("two-springs"), {"integrator": "symplectic-euler", "duration": 3}
    with pytest.warns(StiffWarning) as expected:
        simulate(scene, step=0.05, **options)
    arguments = ["--integrator", "symplectic-euler", "--step", "0.05", "--duration", "3"]
    code, out, err = stiffly(capfd, "run", "two-springs", *arguments)
    lines = [line for line in err.splitlines() if "warn" in line.lower()]
    assert code == 0 and lines == [f"warning: {expected[0].message}"]
    assert "1 warning, above" in out
    out = good(capfd, "run", "two-springs", *arguments, "--json")
    assert json.loads(out)["warnings"] == [str(expected[0].message)]


def test_the_library_speaks_between_the_bars(capfd):
    log = logging.getLogger("stiffly")
    with terminal.notices() as said:
        log.warning("compiling %s [all]", "kernels")
        warnings.warn("twice", StiffWarning, stacklevel=1)
        warnings.warn("twice", StiffWarning, stacklevel=1)
    assert capfd.readouterr().err == "compiling kernels [all]\nwarning: twice\n"
    assert said == ["twice"] and log.handlers == [] and log.propagate


def test_progress_in_a_pipe_is_a_line_now_and_then(capfd, monkeypatch):
    ticks = iter(np.arange(0.0, 1000.0, 1.0))  # a clock that is asked once an update
    monkeypatch.setattr(terminal, "clock", lambda: next(ticks))
    with terminal.counting_bar("frames") as update:
        for k in range(25):
            update(k, 25)
    lines = [line for line in capfd.readouterr().err.splitlines() if line.startswith("  frames: ")]
    assert lines == ["  frames: 9/25", "  frames: 19/25"]


def test_a_run_without_a_body_suggests_no_pictures_of_one(capfd, here):
    out = good(capfd, "run", "fput", "--duration", "0.5")
    assert "stiffly plot fput-run" in out and "render" not in out and "export" not in out


def test_failed_simulation_keeps_what_it_has(capfd, here):
    arguments = ["run", "single-spring", "--integrator", "midpoint", "--every", "0.1"]
    code, out, err = stiffly(capfd, *arguments)
    last = err.splitlines()[-1]
    assert code == 1 and "numerical error" in out
    assert last.startswith("error: ") and "diverged" in last and "try" in last
    assert len(Recording(here / "single-spring-run")) > 1
    code, out, err = stiffly(capfd, *arguments, "--json", "--quiet")
    assert code == 1 and "diverged" in json.loads(out)["failure"] and err.count("\n") == 1


def test_other_ways_to_end(capfd, here, monkeypatch):
    def ends_with(problem):
        def follow(*_, **__):
            raise problem

        monkeypatch.setattr(run_command, "followed", follow)
        code, _, err = stiffly(capfd, "run", *SMALL)
        return code, err

    assert ends_with(KeyboardInterrupt()) == (130, "error: interrupted\n")
    assert ends_with(NotConverged("Newton stopped")) == (1, "error: Newton stopped\n")
    code, err = ends_with(MemoryError())
    assert code == 1 and "memory" in err and err.count("\n") == 1
    code, err = ends_with(OSError(28, "No space left on device", "bar-run/recording.vtkhdf"))
    assert code == 2 and "No space left" in err and "recording.vtkhdf" in err


def test_a_finished_run_can_be_resumed_without_harm(capfd, here):
    good(capfd, "run", *SMALL, "--quiet")
    before = {path: path.read_bytes() for path in (here / "bar-run").iterdir()}
    assert json.loads(good(capfd, "resume", "bar-run", "--json"))["complete"]
    assert cli.main(["resume", "bar-run", "--quiet"]) == 0
    assert "bar-run is complete: nothing is left to do" in capfd.readouterr().err
    assert "wrote" not in good(capfd, "resume", "bar-run")
    assert {path: path.read_bytes() for path in (here / "bar-run").iterdir()} == before


def test_a_finished_run_is_made_longer(capfd, here):
    """Its system is built anew from scene.toml."""
    good(capfd, "run", *SMALL, "--quiet")
    before = Recording(here / "bar-run")
    longer = 2.0 * float(before.times[-1])
    said = json.loads(good(capfd, "resume", "bar-run", "--duration", str(longer), "--json"))
    after = Recording(here / "bar-run")
    assert said["complete"] and after.complete and after.times[-1] == longer
    assert len(after) == 2 * len(before) - 1
    assert np.array_equal(after.positions[: len(before)], before.positions)
