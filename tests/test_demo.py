"""`stiffly demo`: the tour, and that every command it names exists and works."""

from __future__ import annotations

import shlex
import shutil
import sys
from functools import partial

import pytest

from stiffly import Recording, cli, scenes
from stiffly.cli import demo


def run(capfd, *arguments):
    code = cli.main(["demo", "--small", *map(str, arguments)])
    return code, *capfd.readouterr()


@pytest.fixture(scope="module")
def toured(tmp_path_factory):
    """Folder and stdout of a small tour without its film."""
    folder = tmp_path_factory.mktemp("demo") / "tour"
    with pytest.MonkeyPatch.context() as patch:
        lines: list[str] = []
        from stiffly import terminal

        patch.setattr(terminal.out, "print", lambda *a, **_: lines.append(str(a[0])))
        assert cli.main(["demo", "--small", "--no-film", "--out", str(folder)]) == 0
    return folder, lines


@pytest.fixture
def short(monkeypatch):
    """Of the motion its first half second: what is tested happens after it."""
    monkeypatch.setattr(scenes, "load", partial(scenes.load, duration=0.5))


def test_the_tour_keeps_two_recordings_and_plots(toured):
    folder, _ = toured
    assert {path.name for path in folder.iterdir()} == {"exprb42", "bdf1", "comparison.png"}
    ours, rival = (Recording(folder / name) for name in ("exprb42", "bdf1"))
    assert ours.complete and rival.complete and ours.step == rival.step
    assert (folder / "exprb42" / "energy.png").stat().st_size > 5000
    peak = ours.energy.kinetic.max()
    assert abs(ours.energy.numerical[-1]) < 1e-6 * peak  # its stiffness is constant
    assert rival.energy.numerical[-1] < -0.5 * peak


def test_the_numbers_it_prints_are_those_of_the_runs(toured):
    folder, lines = toured
    ours, rival = (Recording(folder / name) for name in ("exprb42", "bdf1"))
    peak = max(float(run.energy.kinetic.max()) for run in (ours, rival))
    told = next(line for line in lines if line.startswith("Same body"))
    assert f"by {-100.0 * rival.energy.numerical[-1] / peak:.0f} %" in told


def test_every_command_it_names_exists(toured, capfd):
    _, lines = toured
    commands = [line.strip() for line in lines if line.startswith("  stiffly ")]
    assert len(commands) >= 5
    for command in commands:
        words = shlex.split(command)
        names = {c.name or c.callback.__name__ for c in cli.app.registered_commands}
        assert words[1] in names
        assert cli.main([words[1], "--help"]) == 0
        options = capfd.readouterr().out
        assert all(word in options for word in words if word.startswith("--"))


def test_commands_it_names_work(toured, capfd, tmp_path, monkeypatch):
    _, lines = toured
    monkeypatch.chdir(tmp_path)
    for line in (line.strip() for line in lines if line.startswith("  stiffly ")):
        small = ["--frame", "0"] if " render " in line else []
        assert cli.main([*shlex.split(line)[1:], *small]) == 0, (line, capfd.readouterr())


def test_a_second_tour_replaces_the_first_with_ledgers_of_both_and_a_film(
    capfd, toured, tmp_path, monkeypatch, short
):
    monkeypatch.setattr(demo, "FILM", (160, 90))
    folder = shutil.copytree(toured[0], tmp_path / "tour")
    before = (folder / "bdf1" / "recording.vtkhdf").stat().st_mtime_ns
    code, out, err = run(capfd, "--out", folder)
    assert code == 0
    assert (folder / "bdf1" / "recording.vtkhdf").stat().st_mtime_ns > before
    for words in ("exprb42, end", "bdf1, end", "numerical error", "last stands up to", "note:"):
        assert words in out
    assert (folder / "film.mp4").read_bytes()[4:8] == b"ftyp"
    assert "film" in err


def test_without_the_drawing_library_it_goes_on(capfd, tmp_path, monkeypatch, short):
    for name in [n for n in sys.modules if n == "pyvista" or n.startswith("pyvista.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyvista", None)
    monkeypatch.setattr(demo, "_draw", lambda *_: [])  # diagrams need another library
    code, out, err = run(capfd, "--out", tmp_path / "tour")
    assert code == 0 and 'pip install "stiffly[render]"' in err and "Next:" in out
    assert not (tmp_path / "tour" / "film.mp4").exists()


def test_what_is_not_of_a_tour_is_left_alone(capfd, tmp_path):
    (tmp_path / "bdf1").mkdir()
    (tmp_path / "bdf1" / "thesis.tex").write_text("precious")
    code, _, err = run(capfd, "--no-film", "--out", tmp_path)
    assert code == 2 and err.startswith("error: ") and err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["bdf1"]
    assert (tmp_path / "bdf1" / "thesis.tex").read_text() == "precious"


def test_a_method_that_fails_still_shows_what_it_has(capfd, tmp_path, monkeypatch, short):
    monkeypatch.setattr(demo, "EXPONENTIAL", "forward-euler")
    code, out, err = run(capfd, "--no-film", "--out", tmp_path / "tour")
    assert code == 1 and "forward-euler, end" in out and "diverged" in err.splitlines()[-1]
    assert "Next:" not in out
    assert Recording(tmp_path / "tour" / "bdf1").complete


def test_interrupted(capfd, tmp_path, monkeypatch):

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["stiffly.run.simulate"], "simulate", stop)
    code, _, err = run(capfd, "--out", tmp_path / "tour")
    assert code == 130 and err == "error: interrupted; start again with: stiffly demo\n"
