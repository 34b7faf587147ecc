"""Figures: they exist, say what they show, and leave no global state behind."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from stiffly import scenes, simulate
from stiffly.meshes import rope
from stiffly.recording.plots import joules, percent, picture, plot_energies, plot_energy


@pytest.fixture(scope="module")
def spring():
    scene = scenes.load("coil-spring", vertices=320)
    return scene, [
        simulate(scene, integrator=name, step=0.05, duration=1.0, every=0.1)
        for name in ("exprb42", "bdf1")
    ]


def is_picture(path):
    return path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 5000


def labels(axis):
    return [line.get_label() for line in axis.get_lines()]


def test_energy_plot_names_everything(spring, tmp_path):
    _, (run, _) = spring
    figure = plot_energy(run, tmp_path / "new" / "energy.png", title="Spring")
    assert is_picture(tmp_path / "new" / "energy.png")
    upper, lower = figure.axes
    assert {"kinetic", "elastic", "gravity (zero at the start)", "total"} <= set(labels(upper))
    assert "Spring" in figure.get_suptitle() and "exprb42, step 0.05 s" in figure.get_suptitle()
    assert "[J]" in upper.get_ylabel() and "[s]" in lower.get_xlabel()
    drawn = next(line for line in upper.get_lines() if line.get_label() == "total")
    assert abs(drawn.get_ydata()[0]) < 1e-9  # gravity's arbitrary zero is not drawn


def test_run_draws_itself(spring, tmp_path):
    _, (run, _) = spring
    run.plot_energy(tmp_path / "energy.png")
    assert is_picture(tmp_path / "energy.png")


def test_forced_run_shows_what_was_added(tmp_path):
    run = simulate(scenes.load("oscillator-pair", start="rest"), duration=1.0)
    figure = plot_energy(run)
    assert "added by forces" in labels(figure.axes[0])


def test_comparison_has_one_line_per_run(spring, tmp_path):
    _, runs = spring
    figure = plot_energies(runs, tmp_path / "both.png")
    assert is_picture(tmp_path / "both.png")
    lower = figure.axes[1]
    assert labels(lower) == ["exprb42, step 0.05 s", "bdf1, step 0.05 s"]
    assert lower.get_yscale() == "log"


def test_picture_of_a_surface_and_of_a_rope(spring, tmp_path):
    scene, (run, _) = spring
    figure = picture(scene.mesh, tmp_path / "spring.png", positions=run.positions[-1], title="now")
    assert is_picture(tmp_path / "spring.png")
    body = figure.axes[0]
    assert len(body.collections) == 2  # the ghost of the start, and the spring
    assert figure.axes[1].get_ylabel() == "displacement [m]"
    line = rope(12)
    moved = line.positions + np.array([0.0, 0.0, 0.1])
    picture(line.positions, tmp_path / "rope.png", positions=moved, edges=line.edges)
    assert is_picture(tmp_path / "rope.png")


def test_nothing_needs_pyplot():
    code = "import sys, stiffly.recording.plots; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_words_for_numbers():
    assert joules(2081.4) == "2,081 J" and joules(3.05e-5) == "3.05e-05 J"
    assert percent(1.0, 8.0) == "12 %" and percent(1.0, 1000.0) == "0.1 %"
    assert percent(np.nan, 1.0) == "-" and percent(1.0, 0.0) == "-"
