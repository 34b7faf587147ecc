"""Wrong command lines and broken files: exit code 2, one line on stderr, nothing written.

No traceback is ever shown: an exception that `main` lets through fails these tests by itself.
"""

from __future__ import annotations

import os
import shutil

import pytest
from broken_input import BODY, refused

from stiffly import scenes, simulate


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A finished run, and spoilt copies of it."""
    root = tmp_path_factory.mktemp("runs")
    simulate(scenes.load("bar", cells=1), duration=0.1, out=root / "whole")
    for name in ("cut", "short", "noise", "pointless"):
        shutil.copytree(root / "whole", root / name)
    whole = (root / "whole" / "recording.vtkhdf").read_bytes()
    (root / "cut" / "recording.vtkhdf").write_bytes(whole[: len(whole) // 2])
    (root / "short" / "recording.vtkhdf").write_bytes(whole[:100])
    (root / "noise" / "recording.vtkhdf").write_bytes(b"not a recording")
    (root / "pointless" / "recording.vtkhdf").unlink()
    shutil.copytree(root / "whole", root / "folder")
    (root / "folder" / "recording.vtkhdf").unlink()
    (root / "folder" / "recording.vtkhdf").mkdir()
    return root


@pytest.fixture
def work(tmp_path, monkeypatch):
    """An empty folder to be in; files lie beside it."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


# ------------------------------------------------------------------ command lines

LINES = [
    ("demoo", "did you mean 'demo'"),
    ("--colour", "--colour"),
    ("demo --colour red", "--colour"),
    ("demo extra", "extra"),
    ("scenes bar", "bar"),
    ("scene shw", "shw"),
    ("scene show", "NAME"),
    ("scene show cactuss", "did you mean cactus"),
    ("scene check", "FILE"),
    ("scene check nowhere.toml", "does not exist"),
    ("scene check .", "folder"),
    ("lab fput-ordr", "did you mean fput-order"),
    ("lab fput-order nothing", "unknown experiment nothing"),
    ("run", "SCENE"),
    ("run bar cactus", "cactus"),
    ("run coil-sprin", "did you mean coil-spring"),
    ("run ''", "scene"),
    ("run .", "is a folder"),
    ("run ../note.txt", "no scene file"),
    ("run nowhere.toml", "does not exist"),
    ("run bar --integrator exprb43", "did you mean pexprb43"),
    ("run bar --integrator stabilised:", "unknown option of stabilised"),
    ("run bar --integrater bdf1", "--integrator"),
    ("run bar --step", "--step"),
    ("run bar --step tiny", "--step"),
    ("run bar --step 0", "--step must be positive"),
    ("run bar --step -1", "--step must be positive"),
    ("run bar --step nan", "--step must be positive"),
    ("run bar --step 1e-12", "steps"),
    ("run bar --duration 0", "--duration must be positive"),
    ("run bar --duration inf", "--duration must be positive"),
    ("run bar --every 0", "--every must be positive"),
    ("run bar --fps -30", "--fps must be positive"),
    ("run bar --every 1 --fps 1", "give one of them"),
    ("run bar --every 1e-9", "frames"),
    ("run bar --rtol 0", "--rtol must be positive"),
    ("run bar --rtol 1e-3 --integrator bdf1", "no error estimate"),
    ("run bar --integrator vimex --device gpu", "no loop on a card"),
    ("run bar --device tpu", "tpu"),
    ("run bar --dtype float16", "float16"),
    ("run bar --checkpoint -1", "checkpoint"),
    ("run bar --checkpoint nan", "checkpoint"),
    ("run bar --set", "--set"),
    ("run bar --set cells", "key=value"),
    ("run bar --set =3", "key=value"),
    ("run bar --set cells=", "key=value"),
    ("run bar --set cells=2 --set cells=3", "twice"),
    ("run bar --set sells=3", "did you mean cells"),
    ("run bar --set cells=many", "whole number"),
    ("run bar --set cells=1.5", "whole number"),
    ("run bar --set cells=true", "whole number"),
    ("run bar --set cells=0", "cells"),
    ("run bar --set cells=-2", "cells"),
    ("run bar --set young=soft", "give a number"),
    ("run bar --set young=nan", "give a number"),
    ("run bar --set young=-1", "young"),
    ("run bar --set step=0.1", "--step"),
    ("run squats --set shape=armadilo", "armadilo"),
    ("run squats --set mesh=nowhere.obj", "nowhere.obj"),
    ("run squats --set mesh=../note.txt", "note.txt"),
    ("run bar --small --out ../note.txt", "note.txt is a file"),
    ("run bar --out ../note.txt/deep", "note.txt is a file"),
    ("run bar --out ../full", "not empty"),
    ("run bar --out ../full --force", "no run"),
    ("run ../good.toml --small", "--small"),
    ("run ../good.toml --set body.0.mass=heavy", "mass"),
    ("run ../good.toml --set body.7.mass=1", "body.7.mass"),
    ("run ../good.toml --set bodyy=1", "bodyy"),
    ("run ../good.toml --integrator exprb43", "did you mean pexprb43"),
    ("run ../good.toml --rtol 1e-3 --integrator bdf2", "no error estimate"),
    ("run ../good.toml --checkpoint -2", "checkpoint"),
    ("resume", "DIR"),
    ("resume nowhere", "no recording"),
    ("resume .", "no recording"),
    ("resume ../note.txt", "note.txt"),
    ("plot nowhere", "no recording"),
    ("plot ../note.txt", "note.txt"),
    ("render nowhere", "no recording"),
    ("render nowhere --color red", "speed"),
    ("render nowhere --size 12", "1280x720"),
    ("render nowhere --size 0x-3", "1280x720"),
    ("render nowhere --fps 0", "--fps must be positive"),
    ("render nowhere --frame first", "--frame"),
    ("export nowhere", "--to"),
    ("export nowhere --to usd", "no recording"),
    ("export nowhere --to usdz", "did you mean usd"),
]


@pytest.mark.parametrize(("line", "words"), LINES, ids=[line for line, _ in LINES])
def test_wrong_command_lines(line, words, capfd, work):
    (work.parent / "note.txt").write_text("just words")
    (work.parent / "good.toml").write_text(BODY)
    (work.parent / "full").mkdir()
    (work.parent / "full" / "thesis.tex").write_text("precious")
    arguments = ["" if word == "''" else word for word in line.split(" ")]
    assert words.lower() in refused(capfd, *arguments).lower()
    assert list(work.iterdir()) == []
    assert [path.name for path in (work.parent / "full").iterdir()] == ["thesis.tex"]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
@pytest.mark.parametrize("line", ["run bar --out", "demo --out", "lab fput-order --out"])
def test_read_only_folders(line, capfd, work):
    locked = work.parent / "locked"
    locked.mkdir(mode=0o500)
    err = refused(capfd, *line.split(), str(locked / "new"))
    assert "cannot be written to" in err and list(locked.iterdir()) == []


@pytest.mark.parametrize("line", ["run bar --out", "demo --out", "lab fput-order --out"])
def test_folders_that_refuse_to_be_written(line, capfd, work, monkeypatch):
    """As a read-only disk does, for whoever asks."""
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "cannot be written to" in refused(capfd, *line.split(), str(work / "new"))
    assert list(work.iterdir()) == []


# ------------------------------------------------------------------ recordings

SPOILT = ("cut", "short", "noise", "pointless", "folder")


@pytest.mark.parametrize("command", ["resume", "plot", "render", "export --to npz"])
@pytest.mark.parametrize("name", SPOILT)
def test_recordings_that_are_none(command, name, recorded, capfd):
    before = {path: path.stat().st_mtime_ns for path in (recorded / name).rglob("*")}
    err = refused(capfd, command.split()[0], str(recorded / name), *command.split()[1:])
    assert name in err
    assert before == {path: path.stat().st_mtime_ns for path in (recorded / name).rglob("*")}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("render --frame 999 --size 64x48", "frames 0 to"),
        ("render --out film.avi", ".mp4"),
        ("render --out still.jpg --frame 1", ".png"),
        ("render --size 4x4", "size"),
        ("render --size 999999x999999", "size"),
        ("export --to npz --out x.usd", ".npz"),
        ("export --to ply --out note.txt/deep", "note.txt"),
        ("plot --out note.txt", "note.txt is a file"),
    ],
)
def test_wrong_wishes_for_a_good_recording(line, words, recorded, capfd, work):
    (work / "note.txt").write_text("just words")
    command, *options = line.split()
    before = sorted(path.name for path in (recorded / "whole").iterdir())
    assert words in refused(capfd, command, str(recorded / "whole"), *options)
    assert [path.name for path in work.iterdir()] == ["note.txt"]
    assert before == sorted(path.name for path in (recorded / "whole").iterdir())


def test_a_run_without_its_checkpoint_cannot_go_on(recorded, capfd, tmp_path):
    from stiffly.recording.folder import CHECKPOINT

    folder = tmp_path / "stopped"
    with pytest.raises(KeyboardInterrupt):
        simulate(scenes.load("bar", cells=1), duration=0.5, out=folder, progress=_stop)
    (folder / CHECKPOINT).unlink(missing_ok=True)
    assert "no checkpoint" in refused(capfd, "resume", str(folder))
    (folder / CHECKPOINT).write_bytes(b"half a check")
    assert "damaged" in refused(capfd, "resume", str(folder))


def _stop(report):
    raise KeyboardInterrupt
