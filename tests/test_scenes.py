"""Built-in scenes: the papers' numbers, exact solutions, and what wrong parameters say."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from scene_measures import coil_height
from thinned import thinned

from stiffly import InputError, scenes, simulate
from stiffly.recording.provenance import fingerprint
from stiffly.scenes import fput
from stiffly.scenes.coil_spring import HEIGHT
from stiffly.scenes.oscillator_pair import OscillatorPair

# seconds each; their own tests build them in the default run
BUILT_SLOWLY = {"statue", "cactus", "bacterium"}


# three steps out of context: what a solver has not reached yet, or lost, is no news here
@pytest.mark.filterwarnings("ignore::stiffly.errors.StiffWarning")
@pytest.mark.parametrize("name", thinned(scenes.NAMES, keep=set(scenes.NAMES) - BUILT_SLOWLY))
def test_every_scene_loads_alike_and_runs(name):
    entry = scenes.entry(name)
    scene = scenes.load(name, small=True)
    assert scenes.own_integrator(name, True, None, {}) == scene.integrator
    assert scene.name == name and scene.summary == entry.summary and entry.shows
    assert any(year in scene.source for year in ("2014", "2017", "2018", "2021"))
    assert list(inspect.signature(entry.build).parameters) == list(entry.parameters)
    assert set(scene.parameters) == set(entry.parameters)
    assert set(entry.small) <= {*entry.parameters, *scenes.RUN_OPTIONS}
    if scene.mesh is not None:
        assert scene.mesh.positions.shape == scene.x0.shape == scene.v0.shape
        assert scene.system.particles == len(scene.x0)
    for shape in scene.colliders:
        assert hasattr(shape, "surface")
    h, before = scene.step, fingerprint(scene.system)
    run = simulate(scene, duration=3 * h, every=h)
    assert fingerprint(scene.system) == before  # a run leaves no trace in it
    assert fingerprint(scenes.load(name, small=True).system) == before  # as `resume` asks
    assert run.integrator == scene.integrator and np.allclose(run.times, h * np.arange(4))
    assert np.isfinite(run.positions).all() and np.isfinite(run.velocities).all()


def test_unknown_names_and_parameters_suggest():
    with pytest.raises(InputError, match="unknown scene fputt: did you mean fput"):
        scenes.load("fputt")
    with pytest.raises(InputError, match="did you mean vertices"):
        scenes.load("coil-spring", vertexes=320)
    with pytest.raises(InputError, match="omega"):
        scenes.load("fput", omega=-1.0)
    with pytest.raises(InputError, match="multiple of 16"):
        scenes.load("coil-spring", vertices=100)
    with pytest.raises(InputError, match="steady, rest"):
        scenes.load("oscillator-pair", start="fast")
    with pytest.raises(InputError, match="detuning"):
        scenes.load("oscillator-pair", detuning=1e-30)


# ------------------------------------------------------------------ fput


def test_fput_energy_is_the_papers():
    scene = scenes.load("fput")
    system, start = scene.system.bind(scene.x0, scene.v0)
    energy = system.energy(start)
    assert sum(energy.values()) == pytest.approx(2.500300005, abs=1e-12)
    assert energy["kinetic"] == pytest.approx(1.0) and energy["stiffness"] == pytest.approx(1.0)


@pytest.mark.parametrize("m", [1, 2, 3, 5])
def test_fput_force_and_jacobian_are_derivatives(m):
    x = np.random.default_rng(m).standard_normal(2 * m)
    e, directions = 1e-6, np.eye(2 * m)
    slope = [(fput.potential(x + e * d) - fput.potential(x - e * d)) / (2 * e) for d in directions]
    change = [(fput.force(x + e * d) - fput.force(x - e * d)) / (2 * e) for d in directions]
    assert np.allclose(fput.force(x), -np.array(slope), atol=1e-6)
    assert np.allclose(fput.jacobian(x), np.array(change).T, atol=1e-6)


def test_fput_potential_matches_the_formula():
    x = np.random.default_rng(7).standard_normal(6)
    x0, x1 = x[:3], x[3:]
    soft = [x0[0] - x1[0], *(x0[1:] - x1[1:] - x0[:-1] - x1[:-1]), x0[2] + x1[2]]
    assert fput.potential(x) == pytest.approx(0.25 * np.sum(np.array(soft) ** 4))


# ------------------------------------------------------------------ oscillator-pair


@pytest.mark.parametrize("motion", ["steady", "from_rest"])
def test_oscillator_pair_solutions_solve_the_equations(motion):
    pair = OscillatorPair(ka=3.0, kb=50.0, mass=1.5, amplitude=0.7, detuning=0.2)
    t, e = np.linspace(0.1, 4.0, 40), 1e-4
    exact = getattr(pair, motion)
    x, v = exact(t)
    ahead, behind = exact(t + e), exact(t - e)
    assert np.allclose(v, (ahead[0] - behind[0]) / (2 * e), atol=1e-5)
    acceleration = (ahead[1] - behind[1]) / (2 * e)
    K = np.array([[pair.ka + pair.kb, -pair.kb], [-pair.kb, pair.ka + pair.kb]])
    drive = np.stack([pair.ka * pair.amplitude * np.cos(pair.omega_ext * t), 0 * t], axis=1)
    assert np.allclose(pair.mass * acceleration, drive - x @ K, atol=1e-4)


def test_oscillator_pair_amplitude_keeps_its_digits_near_resonance():
    pair = OscillatorPair()
    detuning = pair.omega_1 - pair.omega_ext  # the one that survives rounding
    expected = 0.5 * pair.ka / (detuning * (2.0 * pair.omega_1 - detuning))
    assert pair.steady(0.0)[0][0] == pytest.approx(expected, rel=1e-12)
    assert expected == pytest.approx(2.5e10, rel=1e-6)
    assert np.all(pair.from_rest(0.0)[0] == 0.0)
    # far below one beat the amplitude grows by ka/(4 omega_1) a second
    assert np.abs(pair.from_rest(np.linspace(9.0, 10.0, 4001))[0]).max() == pytest.approx(25, 0.02)


def test_eti_follows_the_oscillator_pair():
    scene = scenes.load("oscillator-pair")
    run = simulate(scene, duration=5.0)
    exact, _ = OscillatorPair().steady(run.times)
    assert np.abs(run.positions - exact).max() < 1e-7 * np.abs(exact).max()


# ------------------------------------------------------------------ coil-spring


def test_coil_spring_has_the_papers_size():
    scene = scenes.load("coil-spring")
    assert scene.x0.shape == (8000, 3) and scene.x0.size == 24_000
    paper = scenes.load("coil-spring", variant="paper")
    assert paper.step == 0.05 and paper.duration == 60.0 == scene.duration
    assert scene.system.size == 24_000 - 3 * 16
    assert scene.mesh is not None and np.all(scene.mesh.positions == scene.x0)
    assert coil_height(scene.x0) == pytest.approx(HEIGHT)


def test_coil_spring_of_2014():
    """1167 particles and 5600 springs, which no grid of cross-sections meets."""
    scene = scenes.load("coil-spring", vertices=1164, section="3x4", stiffness=1e8)
    assert scene.x0.shape == (1164, 3) and len(scene.mesh.edges) == 5591
    assert scene.system.size == 3 * (1164 - 12)
    assert coil_height(scene.x0, 12) == pytest.approx(HEIGHT)


def test_coil_spring_swings_and_keeps_its_energy():
    scene = scenes.load("coil-spring", vertices=320)
    run = simulate(scene, duration=6.0, every=0.1)
    height = coil_height(run.positions)
    dip = int(height.argmin())
    assert 0.5 < HEIGHT - height[dip] < 4.0
    assert np.array_equal(run.positions[-1][:16], scene.x0[:16])
    assert abs(run.energy.numerical).max() < 5e-3 * run.energy.exchanged


@pytest.mark.slow
def test_coil_spring_at_full_size_returns_to_its_height():
    run = simulate(scenes.load("coil-spring"), duration=14.0, every=0.1)
    height = coil_height(run.positions)
    dip = int(height.argmin())
    assert 1.5 < HEIGHT - height[dip] < 3.0
    assert height[dip:].max() > HEIGHT - 0.3
    assert abs(run.energy.numerical).max() < 1e-3 * run.energy.exchanged
