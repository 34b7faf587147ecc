"""Figures: they exist, say what they show, and leave no global state behind."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from recorded import Recorded, ledger
from thinned import thinned

from stiffly import InputError, scenes, simulate
from stiffly.meshes import cube, rope
from stiffly.recording.plots import (
    joules,
    percent,
    picture,
    plot,
    plot_energies,
    plot_energy,
    plot_momentum,
    plot_steps,
)
from stiffly.recording.plots.energy import before_explosion, momenta
from stiffly.recording.plots.style import describe, unit


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
    return axis.get_legend_handles_labels()[1]


def drawn(axis, label):
    return next(line.get_ydata() for line in axis.get_lines() if line.get_label() == label)


def top_of_band(axis, label):
    """Upper border of a stacked band: of all corners at a time the highest."""
    band = next(c for c in axis.collections if c.get_label() == label)
    corners = band.get_paths()[0].vertices
    times = np.unique(corners[:, 0])
    return np.array([corners[corners[:, 0] == t, 1].max() for t in times])


def test_a_notebook_draws_a_figure(spring):
    """It asks for this method; for pyplot's figures alone it has an answer of its own."""
    assert plot_energy(spring[1][0])._repr_png_().startswith(b"\x89PNG\r\n")


def test_energy_plot_names_everything(spring, tmp_path):
    _, (run, _) = spring
    figure = plot_energy(run, tmp_path / "new" / "energy.png", title="Spring")
    assert is_picture(tmp_path / "new" / "energy.png")
    upper, lower = figure.axes
    names = {"kinetic", "elastic", "gravity (above its lowest)", "total", "total, if exact"}
    assert names == set(labels(upper))
    assert "Spring" in figure.get_suptitle() and "exprb42, step 0.05 s" in figure.get_suptitle()
    assert "J]" in upper.get_ylabel() and "[s]" in lower.get_xlabel()


def test_energy_parts_are_stacked_up_to_the_total(spring):
    _, (run, _) = spring
    upper, _ = plot_energy(run).axes
    assert upper.get_ylabel() == "energy [J]"
    gravity = run.energy.gravity - run.energy.gravity.min()  # its zero level is arbitrary
    np.testing.assert_allclose(top_of_band(upper, "elastic"), run.energy.elastic, atol=1e-9)
    stacked = run.energy.elastic + gravity
    np.testing.assert_allclose(
        top_of_band(upper, "gravity (above its lowest)"), stacked, rtol=1e-12
    )
    stacked = stacked + run.energy.kinetic
    np.testing.assert_allclose(top_of_band(upper, "kinetic"), stacked, rtol=1e-12)
    np.testing.assert_allclose(drawn(upper, "total"), stacked, rtol=1e-12)


def test_run_draws_itself(spring, tmp_path):
    _, (run, _) = spring
    run.plot_energy(tmp_path / "energy.png")
    assert is_picture(tmp_path / "energy.png")


def test_forced_run_shows_what_was_added(tmp_path):
    run = simulate(scenes.load("oscillator-pair", start="rest"), duration=1.0)
    figure = plot_energy(run)
    assert "added by forces" in labels(figure.axes[0])


def test_energies_are_drawn_in_units_that_read_well():
    times = np.array([0.0, 0.001, 0.002])
    run = Recorded(None, None, times, energy=ledger(times, kinetic=[3e-5, 4e-5, 5e-5]))
    upper, lower = plot_energy(run).axes
    assert upper.get_ylabel() == "energy [µJ]" and lower.get_xlabel() == "time [ms]"
    np.testing.assert_allclose(drawn(upper, "total"), [30.0, 40.0, 50.0])
    line = next(line for line in upper.get_lines() if line.get_label() == "total")
    np.testing.assert_allclose(line.get_xdata(), [0.0, 1.0, 2.0])


def test_exploded_run_stays_readable(tmp_path):
    times = np.arange(60.0)
    wild = np.where(times < 30, 0.0, 10.0 ** (2.0 * (times - 30)))
    gravity = np.where(times % 2 == 0, 4.0, 2.0)
    energy = ledger(times, kinetic=5.0 + wild, elastic=np.full(60, 5.0), gravity=gravity)
    run = Recorded(None, None, times, energy=energy)
    good = before_explosion(energy)
    assert good[:30].all() and not good[33:].any()
    upper, lower = plot_energy(run, tmp_path / "energy.png").axes
    assert 10.0 < upper.get_ylim()[1] < 1000.0  # and not 1e58
    assert "explodes at t = " in upper.get_title("right")
    assert lower.get_yscale() == "symlog" and lower.get_ylim()[1] > 1e57
    np.testing.assert_allclose(drawn(upper, "total, if exact"), 12.0, rtol=1e-12)
    assert is_picture(tmp_path / "energy.png")


def test_losing_energy_is_not_exploding(spring):
    _, (_, bdf1) = spring
    times = np.arange(100.0)
    decay = ledger(times, kinetic=100.0 * np.exp(-0.2 * times), elastic=np.zeros(100))
    assert before_explosion(decay).all() and before_explosion(bdf1.energy).all()


@pytest.mark.parametrize("count", thinned([1, 2, 5]))
def test_nothing_moves_and_one_frame(count, tmp_path):
    times, zero = 0.1 * np.arange(count), np.zeros(count)
    energy = ledger(times, kinetic=zero, elastic=zero, gravity=zero - 5.0)
    x = np.zeros((count, 8, 3))
    run = Recorded(x, x, times, mass=np.ones(8), energy=energy, diagnostics={"t": times})
    written = plot(run, tmp_path)
    assert {p.name for p in written} >= {"energy.png", "momentum.png"}
    assert all(is_picture(path) for path in written)
    upper, lower = plot_energy(run).axes
    assert "all energies are zero" in upper.get_title("right")
    assert lower.get_title("right") == "largest 0 J"


# ------------------------------------------------------------------ momentum


def spinning():
    """A rigid body that flies with velocity u and turns with omega about z."""
    mesh, times = cube(2), np.linspace(0.0, 1.0, 5)
    rest = mesh.positions - mesh.positions.mean(axis=0)
    mass, omega, u = np.full(27, 2.0), 3.0, np.array([0.5, 0.0, -0.25])
    positions, velocities = [], []
    for t in times:
        c, s = np.cos(omega * t), np.sin(omega * t)
        x = rest @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
        positions.append(x + u * t)
        velocities.append(np.cross([0.0, 0.0, omega], x) + u)
    inertia = 2.0 * (rest[:, :2] ** 2).sum()
    run = Recorded(np.array(positions), np.array(velocities), times, mesh=mesh, mass=mass)
    return run, 54.0 * u, inertia * omega


def test_momenta_of_a_rigid_body():
    run, linear, spin = spinning()
    found = momenta(run)
    np.testing.assert_allclose(found.linear, np.tile(linear, (5, 1)), atol=1e-12)
    np.testing.assert_allclose(found.angular, np.tile([0.0, 0.0, spin], (5, 1)), atol=1e-12)


def test_momentum_plot_shows_components_and_magnitude(tmp_path):
    run, linear, spin = spinning()
    figure = plot_momentum(run, tmp_path / "momentum.png")
    assert is_picture(tmp_path / "momentum.png")
    upper, lower = figure.axes
    assert labels(upper) == ["x", "y", "z", "magnitude"] == labels(lower)
    assert "[kg m/s]" in upper.get_ylabel() and "[kg m²/s]" in lower.get_ylabel()
    np.testing.assert_allclose(drawn(upper, "x"), linear[0])
    np.testing.assert_allclose(drawn(lower, "z"), spin)


def test_rounding_errors_of_momentum_look_like_nothing():
    run, _, _ = spinning()
    run.velocities = run.velocities - [0.5, 0.0, -0.25]
    run.velocities[2] += 1e-15
    upper, _ = plot_momentum(run).axes
    assert upper.get_ylim()[1] > 1e5 * np.abs(drawn(upper, "x")).max()


def test_momentum_needs_masses_and_velocities(tmp_path):
    run, _, _ = spinning()
    run.mass = None
    assert plot_momentum(run) is None
    run, _, _ = spinning()
    run.velocities = None
    assert plot_momentum(run) is None
    assert [path.name for path in plot(run, tmp_path)] == ["energy.png"]


# ------------------------------------------------------------------ steps


def test_steps_show_only_what_was_noted(tmp_path):
    times = np.arange(5.0)
    first = np.nan  # before the first frame there is no step
    notes = {
        "t": times,
        "largest_step": np.array([first, 0.01, 0.02, 0.01, 0.01]),
        "smallest_step": np.array([first, 0.005, 0.01, 0.01, 0.01]),
        "alpha": np.full(5, np.nan),
        "residual": np.array([first, 1e-9, 1e-8, 1e-10, 1e-9]),
        "force_evaluations": np.array([0, 10, 30, 40, 50]),
        "factorizations": np.zeros(5, dtype=int),
    }
    run = Recorded(None, None, times, diagnostics=notes)
    figure = plot_steps(run, tmp_path / "steps.png")
    assert is_picture(tmp_path / "steps.png")
    size, residual, work = figure.axes
    assert size.get_ylabel() == "step [ms]" and labels(size) == ["largest", "smallest"]
    np.testing.assert_allclose(drawn(size, "largest")[1:], [10.0, 20.0, 10.0, 10.0])
    assert "residual" in residual.get_ylabel() and residual.get_yscale() == "log"
    assert labels(work) == ["force evaluations"]
    np.testing.assert_allclose(drawn(work, "force evaluations")[1:], [10, 20, 10, 10])
    assert work.get_xlabel() == "time [s]" and size.get_xlabel() == ""


def test_steps_of_a_run_in_memory(spring):
    _, (run, _) = spring
    (size,) = plot_steps(run).axes
    np.testing.assert_allclose(drawn(size, "largest"), 50.0, rtol=1e-6)
    assert size.get_ylabel() == "step [ms]"


def test_no_steps_no_picture():
    assert plot_steps(Recorded(None, None, np.zeros(1), diagnostics={"t": np.zeros(0)})) is None
    assert plot_steps(Recorded(None, None, np.zeros(1))) is None


# ------------------------------------------------------------------ all of them


def test_all_pictures_of_a_recording(tmp_path):
    scene = scenes.load("spinning-cube", small=True)
    recording = simulate(scene, duration=0.33, every=0.066, out=tmp_path / "run")
    written = plot(recording)
    assert written[0] == tmp_path / "run" / "energy.png"
    assert written[-1] == tmp_path / "run" / "steps.png"
    assert all(is_picture(path) for path in written)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "energy.png").write_text("old")
    elsewhere = plot(recording, tmp_path / "elsewhere")
    assert [p.name for p in elsewhere] == [p.name for p in written]
    assert is_picture(elsewhere[0])  # drawn anew


def test_pictures_need_a_place(spring):
    _, (run, _) = spring
    with pytest.raises(InputError, match="out is missing"):
        plot(run)


# ------------------------------------------------------------------ several runs, the body


def test_comparison_has_one_line_per_run(spring, tmp_path):
    _, runs = spring
    figure = plot_energies(runs, tmp_path / "both.png")
    assert is_picture(tmp_path / "both.png")
    lower = figure.axes[1]
    assert labels(lower) == ["exprb42, step 0.05 s", "bdf1, step 0.05 s"]
    assert lower.get_yscale() == "log"


def test_comparison_with_a_run_that_explodes(tmp_path):
    times = np.arange(40.0)
    swing = 5.0 + 5.0 * np.cos(times)
    good = ledger(times, kinetic=swing, elastic=10.0 - swing + 0.001 * times)
    wild = ledger(times, kinetic=swing + 100.0 ** (times - 20.0), elastic=10.0 - swing)
    runs = {
        name: Recorded(None, None, times, energy=energy)
        for name, energy in (("kept", good), ("lost", wild))
    }
    upper, lower = plot_energies(runs, tmp_path / "both.png").axes
    assert is_picture(tmp_path / "both.png")
    assert "of the 10 J exchanged" in upper.get_ylabel()  # of the honest run
    np.testing.assert_allclose(upper.get_lines()[0].get_ydata()[-1], 0.39, rtol=1e-2)
    assert upper.get_ylim()[1] < 1e4 and lower.get_ylim()[1] > 1e37


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


def test_importing_loads_no_matplotlib():
    code = "import sys, stiffly.recording.plots; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_words_for_numbers():
    assert joules(2081.4) == "2,081 J" and joules(3.05e-5) == "30.5 µJ"
    assert percent(1.0, 8.0) == "12 %" and percent(1.0, 1000.0) == "0.1 %"
    assert joules(0.25) == "0.25 J" and joules(-2.5e7) == "-25 MJ" and joules(1e40) == "1e+40 J"
    assert percent(np.nan, 1.0) == "-" and percent(1.0, 0.0) == "-"
    assert percent(3e20, 1.0) == "over a million times"
    assert unit("J", np.array([0.002, -0.5])).name == "mJ" and unit("J", 0.0).name == "J"
    assert unit("s", 1e-3) == (1e3, "ms") and unit("s", 999.0).name == "s"


def test_fixed_steps_that_were_halved_are_not_called_adaptive():
    run = SimpleNamespace(integrator="exprb42", step=0.05, stats={"rejected_steps": 3})
    assert describe(run) == "exprb42, steps up to 0.05 s"
    run.stats = {"largest_step": 0.04}
    assert describe(run) == "exprb42, step 0.04 s"
    run.step = None
    assert describe(run) == "exprb42, adaptive steps"
