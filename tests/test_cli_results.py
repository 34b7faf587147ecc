"""What the command line makes of a run: plots, pictures, films, files for other programs."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thinned import thinned

from stiffly import Recording, cli, scenes, simulate, terminal
from stiffly.recording.words import gain_or_loss, times


def stiffly(capfd, *arguments):
    """Exit code, stdout, stderr."""
    code = cli.main([str(a) for a in arguments])
    return code, *capfd.readouterr()


def good(capfd, *arguments):
    """stdout of a command that must succeed."""
    code, out, err = stiffly(capfd, *arguments)
    assert code == 0, err
    return out


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "bar"
    simulate(scenes.load("bar", cells=1), duration=0.33, out=folder)
    return folder


def test_plot(capfd, recorded, tmp_path):
    out = good(capfd, "plot", recorded, "--out", tmp_path / "new" / "plots")
    energy = tmp_path / "new" / "plots" / "energy.png"
    assert energy.stat().st_size > 5000 and f"wrote {energy} (" in out


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names of files are texts")
def test_names_that_are_no_text_are_written_as_they_can_be(recorded, tmp_path, monkeypatch):
    said = open(tmp_path / "said", "w", encoding="utf-8", errors="strict")  # noqa: SIM115
    monkeypatch.setattr(sys, "stdout", said)
    name = os.fsdecode(b"\xff")
    assert (
        cli.main(["export", str(recorded), "--to", "npz", "--out", f"{tmp_path}/{name}.npz"]) == 0
    )
    said.close()
    assert (tmp_path / f"{name}.npz").exists()
    assert r"\udcff.npz (" in (tmp_path / "said").read_text()


def test_render_a_still_and_a_film(capfd, recorded, tmp_path):
    still, film = tmp_path / "still.png", tmp_path / "film.mp4"
    options = ["--size", "64x48", "--color", "strain"]
    out = good(capfd, "render", recorded, "--out", still, "--frame", "-1", *options)
    assert still.read_bytes().startswith(b"\x89PNG") and f"wrote {still} (" in out
    good(capfd, "render", recorded, "--out", film, "--fps", "5", *options)
    assert film.read_bytes()[4:8] == b"ftyp"


def test_render_several_runs_side_by_side(capfd, recorded, tmp_path):
    from PIL import Image

    other = tmp_path / "bdf1"
    simulate(scenes.load("bar", cells=1), integrator="bdf1", duration=0.33, out=other)
    options = ["--frame", "-1", "--size", "400x120", "--color", "strain"]
    for picture, runs in (
        ("alone", [recorded]),
        ("twice", [recorded] * 2),
        ("both", [recorded, other]),
    ):
        good(capfd, "render", *runs, "--out", tmp_path / f"{picture}.png", *options)
    alone, twice, both = (
        np.asarray(Image.open(tmp_path / f"{name}.png")) for name in ("alone", "twice", "both")
    )
    assert both.shape == alone.shape == (120, 400, 3)
    assert not np.array_equal(twice, alone) and not np.array_equal(twice, both)
    out = good(capfd, "render", recorded, other, *options[:4], "--color", "stress")
    assert f"{recorded / 'frame-'}" in out  # in the folder of the first, whose own still stays
    assert "-and-bdf1.png" in out and list(recorded.glob("frame-*-and-bdf1.png"))


def test_render_stress_builds_the_scene_anew(capfd, recorded, tmp_path):
    still, own = tmp_path / "still.png", tmp_path / "own"
    options = ["--size", "64x48", "--color", "stress", "--frame", "-1", "--out", still]
    good(capfd, "render", recorded, *options)
    assert still.read_bytes().startswith(b"\x89PNG")
    still.unlink()
    scene = scenes.load("bar", cells=1)
    simulate(scene.system, x0=scene.x0, step=0.01, duration=0.02, out=own)
    code, _, err = stiffly(capfd, "render", own, *options)
    assert code == 2 and "does not say what its system was made of" in err and not still.exists()


@pytest.mark.parametrize(("speed", "seconds"), thinned([(0.5, 0.66), (0.1, 3.3)]))
def test_render_in_slow_motion(capfd, recorded, tmp_path, speed, seconds):
    """0.33 s of motion, in frames of 1/30 s."""
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    film = tmp_path / "slow.mp4"
    good(capfd, "render", recorded, "--out", film, "--speed", speed, "--size", "64x48")
    found = ffmpeg.count_frames_and_secs(str(film))[1]
    assert found == pytest.approx(seconds, abs=1.5 / 30 / speed)  # the last picture stays as well


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        (["--speed", "0"], "--speed must be positive"),
        (["--speed", "nan"], "--speed must be positive"),
        (["--speed", "1e-9"], "hours"),
        (["--speed", "100"], "one picture"),
        (["--speed", "2", "--frame", "0"], "a still has no speed"),
        (["--speed", "2", "--out", "x.png"], "a still has no speed"),
    ],
)
def test_speeds_that_make_no_sense_write_nothing(
    capfd, recorded, tmp_path, monkeypatch, options, cause
):
    monkeypatch.chdir(tmp_path)
    before = sorted(recorded.iterdir())
    code, _, err = stiffly(capfd, "render", recorded, "--size", "64x48", *options)
    assert code == 2 and cause in err and err.count("\n") == 1
    assert sorted(recorded.iterdir()) == before and not list(tmp_path.iterdir())


def test_render_goes_into_the_folder_of_the_run(capfd, recorded):
    out = good(capfd, "render", recorded, "--frame", "0", "--size", "64x48")
    assert f"wrote {recorded / 'frame-0.png'} (" in out
    (recorded / "frame-0.png").unlink()


def test_export(capfd, recorded, tmp_path):
    out = good(capfd, "export", recorded, "--to", "npz", "--out", tmp_path / "x.npz")
    assert f"wrote {tmp_path / 'x.npz'} (" in out
    with np.load(tmp_path / "x.npz") as file:
        assert file["positions"].shape == (11, *Recording(recorded).positions.shape[1:])
    code, _, err = stiffly(capfd, "export", recorded, "--to", "npz", "--out", tmp_path / "x.npz")
    assert code == 2 and err.count("\n") == 1
    good(capfd, "export", recorded, "--to", "npz", "--out", tmp_path / "x.npz", "--force")


def test_long_sequences_of_files_are_named_in_one_line(capfd, tmp_path):
    paths = [tmp_path / f"frame_{i:04d}.ply" for i in range(30)]
    for path in paths:
        path.write_bytes(b"x" * 100_000)
    terminal.show_files(paths)
    out = capfd.readouterr().out
    assert out.count("\n") == 1 and "30 files" in out and "(3.0 MB)" in out
    assert str(paths[0]) in out and str(paths[-1]) in out


@pytest.mark.parametrize(
    ("module", "arguments", "extra"),
    [
        ("pyvista", ["render"], "render"),
        ("imageio_ffmpeg", ["render"], "render"),
        ("pxr", ["export", "--to", "usd"], "usd"),
    ],
)
def test_missing_parts_are_named(module, arguments, extra, recorded, capfd, monkeypatch):
    for name in [n for n in sys.modules if n == module or n.startswith(f"{module}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)  # importing it now fails
    files = set(recorded.iterdir())
    code, _, err = stiffly(capfd, arguments[0], recorded, *arguments[1:])
    assert code == 2 and f'pip install "stiffly[{extra}]"' in err.splitlines()[-1]
    assert set(recorded.iterdir()) == files


def test_terminal_formats():
    assert terminal.percent(1.0, 300.0) == "0.33 %" and terminal.percent(-1.0, 2.0) == "-50 %"
    assert terminal.percent(1.0, 0.0) == "-" and terminal.percent(float("nan"), 1.0) == "-"
    # a run that explodes has one line, and no digits that nobody reads
    assert terminal.percent(1e271, 1.0) == "over a million times"
    assert terminal.percent(2500.0, 1.0) == "2,500 times"
    assert gain_or_loss(-2500.0, 1.0) == "2,500 times as much lost"
    assert times(71.9) == "72 times" and times(-1e57) == "minus over a million times"


@given(part=st.floats(-1e300, 1e300), whole=st.floats(1e-3, 1e3))
def test_an_error_of_energy_has_a_word_and_no_sign(part, whole):
    said = gain_or_loss(part, whole)
    assert "-" not in said.replace("e-", "") or said == "-"
    assert said.endswith("gained") == (part > 0.0) and said.endswith("lost") == (part < 0.0)
    assert "e+" not in said
