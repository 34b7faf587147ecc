"""`stiffly view`: what it refuses, what it says, and how it ends."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from urllib.parse import urlsplit

import pytest
from thinned import thinned

from stiffly import Recording, cli, scenes, simulate
from stiffly.cli import view as command
from stiffly.recording.folder import RECORDING
from stiffly.recording.layout import counter, find, open_file
from stiffly.scenes import request as asking
from stiffly.view import lessons

HERE = "127.0.0.1"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(capfd, *arguments):
    """The one line that says why; nothing has been written."""
    code = cli.main(["view", *map(str, arguments), "--no-open"])
    out, err = capfd.readouterr()
    assert code == 2 and out == "" and err.startswith("error: ") and err.count("\n") == 1, err
    return err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["cloht"], "did you mean cloth?"),
        (["no-such.toml"], "no-such.toml"),
        (["fput"], "no body in space"),
        (["cloth", "--integrator", "verlett"], "did you mean verlet?"),
        (["cloth", *["--integrator", "verlet"] * 4], "at most 3"),
        ([""], "name a scene"),
        (["cloth", "--step", "0"], "--step must be positive, got 0: try --step 0.01"),
        (["rope", "--small", "--step", "1e30"], "choose a smaller step"),
        (["cloth", "--small", "--step", "1e-9"], "steps in a frame"),
        (["cloth", "--budget", "-1"], "--budget must be positive"),
        (["cloth", "--budget", "1e-4"], "give 0.001 to 1e+06 milliseconds"),
        (["cloth", "--budget", "1e7"], "give 0.001 to 1e+06 milliseconds"),
        (["cloth", "--set", "resolution"], "give key=value"),
        (["cloth", "--set", "colour=red"], "unknown parameter"),
        (["cloth", "--port", "99999"], "from 1 to 65535"),
        (["cloth", "--host", "no.such.host.invalid"], "no address of this machine"),
        (["cloth", "--wrong"], "see stiffly view --help"),
        ([], "name a scene"),
        (["--lesson", "verlett"], "did you mean verlet?"),
        (["cloth", "--lesson", "verlet"], "brings its own SCENE|DIR: leave SCENE|DIR out"),
        (["--lesson", "verlet", "--step", "0.01"], "brings its own --step"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(here, capfd, arguments, said):
    assert said in refused(capfd, *arguments)
    assert list(here.iterdir()) == []


def test_lessons_are_listed(here, capfd):
    assert cli.main(["view", "--lesson", "list"]) == 0
    out = capfd.readouterr().out
    assert all(name in out for name in lessons.NAMES) and "Why backward Euler is dead" in out


def test_a_lesson_without_a_browser_is_one_line(here, capfd, monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(command.sys, "platform", "linux")
    assert cli.main(["view", "--lesson", "verlet"]) == 2
    out, err = capfd.readouterr()
    assert out == "" and err.count("\n") == 1
    assert "needs a browser" in err and "--no-open" in err


def test_a_busy_port_is_refused_before_anything_is_built(here, capfd, monkeypatch):
    monkeypatch.setattr(asking, "request", lambda *_, **__: pytest.fail("built in vain"))
    with socket.create_server((HERE, 0)) as taken:
        port = taken.getsockname()[1]
        assert "is taken by another program" in refused(capfd, "cloth", "--port", port)


def test_without_viser_a_line_says_how_to_get_it(here, capfd, monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    assert "pip install 'stiffly[view]'" in refused(capfd, "cloth")


# ------------------------------------------------------------------ folders


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded") / "cloth"
    simulate(scenes.load("cloth", resolution=5, duration=0.33, integrator="bdf1"), out=folder)
    return folder


def test_a_folder_without_a_recording_is_refused(here, capfd):
    (here / "empty").mkdir()
    assert "holds no recording" in refused(capfd, "empty")


@pytest.mark.parametrize("share", [0.0, 0.1, 0.9])
def test_a_recording_that_is_cut_short_is_refused(here, capfd, recorded, share):
    folder = shutil.copytree(recorded, here / "cut")
    size = (folder / RECORDING).stat().st_size
    os.truncate(folder / RECORDING, int(share * size))
    assert "cut" in refused(capfd, "cut")


def test_a_recording_of_no_body_in_space_is_refused(here, capfd):
    simulate(scenes.load("fput", duration=0.1), out=here / "chain")
    assert "stiffly plot" in refused(capfd, "chain")


def test_what_is_there_of_a_recording_is_played(here, capfd, recorded, served):
    folder = shutil.copytree(recorded, here / "begun")
    with open(folder / RECORDING, "r+b") as file, open_file(folder / RECORDING) as found:
        file.seek(find(found).frames)
        run = Recording(folder).provenance["run"]
        file.write(counter(4, run))  # that a kill leaves behind
    (folder / "summary.json").unlink()
    assert cli.main(["view", "begun", "--no-open"]) == 0
    assert "4 of 11 frames" in capfd.readouterr().err and len(served[0][0]) == 4


@pytest.mark.parametrize("option", [["--step", "1"], ["--small"], ["--variant", "paper"]])
def test_a_recording_is_played_as_it_is(here, capfd, recorded, option):
    assert f"{option[0]} is for scenes" in refused(capfd, recorded, *option)


# ------------------------------------------------------------------ beginning and end


@pytest.fixture
def served(monkeypatch):
    """What would have been served, instead of waiting for Ctrl-C."""
    calls = []

    class Served:
        url = "http://127.0.0.1:8080"

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def wait(self):
            pass

        def end(self):
            pass

    def serve(shown, **options):
        calls.append((shown, options))
        return Served()

    monkeypatch.setattr("stiffly.view.serve", serve)
    monkeypatch.setattr(signal, "signal", lambda *_: None)  # pytest keeps its own
    return calls


def test_options_become_settings(here, capfd, served):
    options = ["--integrator", "realtime", "--integrator", "bdf1", "--step", "0.01"]
    options += ["--set", "resolution=5", "--budget", "20", "--out", "kept", "--no-open"]
    assert cli.main(["view", "cloth", *options]) == 0
    out, err = capfd.readouterr()
    scene, given = served[0]
    settings = given["settings"]
    assert len(scene.x0) == 25 and settings.integrators == ("realtime", "bdf1")
    assert settings.step == 0.01 and settings.budget == pytest.approx(0.02)
    assert str(given["out"]) == "kept" and not (here / "kept").exists()
    assert out == "live page: http://127.0.0.1:8080\n" and "warning" not in err


def test_the_papers_variant_is_shown(here, capfd, served):
    assert cli.main(["view", "coil-spring", "--variant", "paper", "--no-open"]) == 0
    assert served[0][0].step == 0.05  # Luan et al., Table 2
    capfd.readouterr()
    assert "original" in refused(capfd, "coil-spring", "--variant", "original")


def test_everybody_is_warned_of(here, capfd, served):
    arguments = ["view", "cloth", "--small", "--no-open", "--host", "0.0.0.0"]
    assert cli.main(arguments) == 0
    assert "everybody who has this link and reaches this machine" in capfd.readouterr().err


@pytest.mark.parametrize(("display", "opened"), [("", []), (":0", ["http://127.0.0.1:8080"])])
def test_a_browser_is_opened_where_there_is_a_screen(here, monkeypatch, served, display, opened):
    seen = []
    monkeypatch.setattr("webbrowser.open", seen.append)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", display)
    assert cli.main(["view", "cloth", "--small"]) == 0
    assert seen == opened
    assert cli.main(["view", "cloth", "--small", "--no-open"]) == 0
    assert seen == opened


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("number", thinned([signal.SIGINT, signal.SIGTERM]))
def test_ctrl_c_ends_it_and_the_port_is_free(here, recorded, number):
    arguments = [sys.executable, "-m", "stiffly", "view", str(recorded), "--no-open"]
    process = subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=here,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),  # as shells do with &
    )  # fmt: skip
    watchdog = threading.Timer(600.0, process.kill)
    watchdog.start()
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("live page: http://127.0.0.1:")
    url = line.split()[-1]
    with urllib.request.urlopen(url, timeout=600.0) as page:
        assert b"<html" in page.read(2000)
    process.send_signal(number)
    out, err = process.communicate()
    watchdog.cancel()
    assert process.returncode == 0 and out == "" and "Traceback" not in err, err
    with socket.create_server((HERE, urlsplit(url).port)):
        pass
    assert list(here.iterdir()) == []
