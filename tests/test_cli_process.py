"""The command line as its own process: exit codes, Ctrl-C and resume, pipes that are closed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from thinned import thinned

from stiffly import Recording, scenes, simulate

STIFFLY = [sys.executable, "-m", "stiffly"]
# the same, but a run waits after its fourth frame until somebody stops it
WAITS = """
import sys, time
from stiffly import cli
from stiffly.recording.writer import Writer

def frame(writer, frame, real=Writer.frame):
    real(writer, frame)
    while frame.index == 3 and not writer._interrupt.due:
        time.sleep(0.01)

Writer.frame = frame
sys.exit(cli.main())
"""
pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals and pipes of POSIX")


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*STIFFLY, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )


def test_exit_codes(tmp_path):
    assert run("--version", folder=tmp_path).returncode == 0
    wrong = run("run", "bar", "--step", "0", folder=tmp_path)
    assert wrong.returncode == 2 and wrong.stderr.count("\n") == 1 and wrong.stdout == ""
    assert list(tmp_path.iterdir()) == []
    failed = run("run", "single-spring", "--integrator", "midpoint", "--quiet", folder=tmp_path)
    assert failed.returncode == 1 and "diverged" in failed.stderr


def test_json_on_stdout_and_the_rest_on_stderr(tmp_path):
    options = ["--set", "cells=1", "--duration", "0.3", "--json"]
    done = run("run", "bar", *options, folder=tmp_path)
    assert done.returncode == 0 and json.loads(done.stdout)["frames"] == 11
    assert "frame 11/11" in done.stderr


def heard() -> None:
    """What shells and nohup have their children ignore."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def started(folder: Path, arguments: list[str]) -> subprocess.Popen:
    """A process whose recording holds a few frames already, and waits."""
    process = subprocess.Popen(
        [sys.executable, "-c", WAITS, *arguments],
        cwd=folder,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=heard,
    )
    deadline = time.monotonic() + 600.0
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if len(Recording(folder / "spin")) > 2:
                return process
        except (OSError, ValueError):  # not begun yet
            pass
        time.sleep(0.05)
    process.kill()
    raise AssertionError(process.communicate()[1])


def test_ctrl_c_then_resume_gives_the_frames_of_an_uninterrupted_run(tmp_path):
    arguments = ["run", "spinning-cube", "--small", "--duration", "2", "--dtype", "float64"]
    process = started(tmp_path, [*arguments, "--out", "spin"])
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=600)
    assert process.returncode == 130 and out == ""
    line = err.splitlines()[-1]
    assert line.startswith("error: interrupted") and line.endswith("stiffly resume spin")
    stopped = Recording(tmp_path / "spin")
    assert not stopped.complete and 2 < len(stopped) < stopped.of_frames
    resumed = run("resume", "spin", "--json", folder=tmp_path)
    assert resumed.returncode == 0 and json.loads(resumed.stdout)["complete"]
    again = Recording(tmp_path / "spin")
    whole = simulate(scenes.load("spinning-cube", small=True, duration=2.0))
    assert np.array_equal(again.positions, whole.positions)
    assert np.array_equal(again.times, whole.times)


@pytest.mark.slow  # in the test's own process: test_interrupt.py
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_queue_that_ends_a_run_finds_it_ready_to_go_on(tmp_path, number):
    arguments = ["run", "spinning-cube", "--small", "--duration", "2", "--quiet", "--out", "spin"]
    process = started(tmp_path, arguments)
    process.send_signal(number)
    out, err = process.communicate(timeout=600)
    assert process.returncode == 128 + number and out == ""
    assert err == "error: interrupted; go on with: stiffly resume spin\n"
    stopped = Recording(tmp_path / "spin")
    assert not stopped.complete and stopped.failure == "interrupted"


@pytest.mark.parametrize(
    "command", thinned(["run --help", "scenes", "scenes --json", "scene schema"], keep=2)
)
def test_a_closed_pipe_is_no_error(command, tmp_path):
    process = subprocess.Popen(
        [*STIFFLY, *command.split()],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": ""},
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()  # as `head` does when it has seen enough
    err = process.stderr.read().decode()
    assert process.wait() == 141 and err == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a disk that is always full")
@pytest.mark.parametrize("command", thinned(["scenes", "scene schema"]))
def test_a_full_disk_is_one_line(command, tmp_path):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*STIFFLY, *command.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1


def test_output_into_head(tmp_path):
    line = f"{' '.join(STIFFLY)} run --help | head -n 2"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.count("\n") == 2 and done.stderr == ""
