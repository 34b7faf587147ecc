"""What the scenes of Dinev, Liu, Kavan 2018 must show, in their small variants."""

from __future__ import annotations

import numpy as np
import pytest
from scene_measures import bounce_period, swing

from stiffly import Diverged, InputError, scenes, simulate
from stiffly.integrators import integrator
from stiffly.scenes import cloth
from stiffly_lab import measures


def march(scene, method, steps):
    """States of so many steps with the scene's own step, whatever becomes of the energy."""
    system, state = scene.system.bind(scene.x0, scene.v0)
    method = integrator(method)
    memory, states = method.start(system, state), [state]
    for _ in range(steps):
        taken = method.step(system, states[-1], scene.step, memory)
        memory = taken.memory
        states.append(taken.state)
    return system, states


def masses(scene):
    """(N,) [kg], where nothing is held or all that is held is left out of the sum by the caller."""
    return np.asarray(scene.system.mass.diagonal).reshape(-1, 3)[:, 0]


def damping_of_backward_euler(period, h, steps):
    """What backward Euler leaves of the amplitude of an oscillation: 1/sqrt(1 + w^2 h^2) a step."""
    return (1.0 + (2.0 * np.pi * h / period) ** 2) ** (-0.5 * steps)


# ------------------------------------------------------------------ single-spring


@pytest.mark.slow
def test_midpoint_explodes_on_the_single_spring():
    """Fig. 3: energies several orders of magnitude above the first, angular momentum kept."""
    scene = scenes.load("single-spring", small=True)
    system, states = march(scene, "midpoint", 100)
    energy = np.array([sum(system.energy(s).values()) for s in states])
    spin = np.array([np.cross(s.x, s.v)[2] for s in states])
    assert energy[0] == pytest.approx(25e3, rel=0.01)  # what the paper prints
    assert energy.max() > 100.0 * energy[0]
    assert np.abs(spin - 15.0).max() < 1e-3 * 15.0
    with pytest.raises(Diverged):
        simulate(scene, integrator="midpoint")
    small = simulate(scene, integrator="midpoint", step=0.00033, duration=0.165, every=0.00033)
    assert np.linalg.norm(small.positions[:, 1], axis=1).max() <= 1.5 + 1e-9  # Fig. 2, left


@pytest.mark.slow
def test_stabilised_stays_inside_the_circle():
    scene = scenes.load("single-spring", small=True)
    run = simulate(scene, every=scene.step)
    start = run.energy.total[0]
    assert np.abs(run.energy.numerical).max() <= 0.0101 * start
    # all of an energy within one percent in the spring: k/2 (r^2 - 1)^2 = 1.0101 H
    largest = np.sqrt(1.0 + np.sqrt(2.0 * 1.0101 * start / 3.2e4))
    assert np.linalg.norm(run.positions[:, 1], axis=1).max() <= largest


# ------------------------------------------------------------------ two-springs


def test_reach_is_the_papers():
    beta = measures.reach()
    assert beta == pytest.approx(2.209, abs=5e-4)
    # what it is for (Lemma 2): from beta on, tangents taken in [-1, 1] lie below the potential
    x, ends = np.linspace(beta, 50.0, 300)[:, None], np.linspace(-1.0, 1.0, 201)
    E, slope = measures.potential, measures.slope
    assert np.all(E(x) >= E(ends) + (x - ends) * slope(ends))
    e = 1e-6
    assert np.allclose(slope(ends), (E(ends + e) - E(ends - e)) / (2 * e), atol=1e-8)


def test_backward_euler_gains_the_height_of_the_hill():
    """From x in (0, 1) with the velocity -x/h the step ends on the hill, where no force acts."""
    scene = scenes.load("two-springs", small=True, stiffness=1e3, x=0.5, v=-0.5 / 0.033)
    system, (first, last) = march(scene, "bdf1", 1)
    assert np.abs(last.x).max() < 1e-9
    gained = sum(system.energy(last).values()) - sum(system.energy(first).values())
    hill = measures.potential(0.0, 1e3) - measures.potential(0.5, 1e3)
    assert gained == pytest.approx(float(hill), rel=1e-6) and gained > 50.0


def test_backward_euler_stays_below_the_proven_bound():
    """Theorem 1, and its lemmas step by step, from random starts."""
    rng, rises = np.random.default_rng(4), 0
    starts = [{}, *({"x": x, "v": v} for x, v in rng.uniform([-4, -60], [4, 60], (8, 2)))]
    for start in starts:
        scene = scenes.load("two-springs", small=True, **start)
        system, states = march(scene, "bdf1", 150)
        H = np.array([sum(system.energy(s).values()) for s in states])
        x = np.array([s.x[0] for s in states])
        assert all(not s.x[1:].any() for s in states)  # it stays on the axis
        assert H.max() <= measures.bound(H[0], 10.0, 1.0, scene.step)
        gains = np.diff(H) > 1e-8 * H[0]
        rises += gains.sum()
        assert np.all(np.abs(x[1:][gains]) <= 1.0)  # Lemma 1
        assert np.all(np.abs(x[:-1][gains]) < measures.reach())  # Lemma 2
    assert rises > 50  # it does gain, again and again


# ------------------------------------------------------------------ bar, swinging-bunny, dog


def test_the_bar_returns_to_its_start():
    """Frames 30, 61 and 122 of Fig. 8; a bar whose weight is switched on falls by g T^2/16."""
    scene = scenes.load("bar", small=True)
    tip, T = scene.mesh.vertex_sets["right"], bounce_period()
    run, euler = (simulate(scene, integrator=m, every=scene.step) for m in (None, "projective"))
    fall, lost = (r.positions[0, tip, 2].mean() - r.positions[:, tip, 2].mean(1)
                  for r in (run, euler))  # fmt: skip
    assert fall.max() == pytest.approx(9.81 * T**2 / 16.0, rel=0.05)
    assert abs(int(fall[:61].argmax()) - 30) <= 1
    second = slice(122 - 5, 122 + 4)
    assert fall[second].min() < 0.05 * fall.max()
    missing = 0.5 * (1.0 - damping_of_backward_euler(T, scene.step, 122))
    assert lost[second].min() > 0.8 * missing * fall.max()
    assert np.abs(run.energy.numerical).max() < 0.01 * run.energy.exchanged


def test_the_bunny_swings_on():
    """Two swings to and fro: backward Euler would leave half of an angle, 0.75 is half way."""
    scene = scenes.load("swinging-bunny", small=True, duration=115 * 0.033)
    free = scene.system.free
    amplitude = {}
    for method in ("realtime-midpoint", "projective"):
        run = simulate(scene, integrator=method, every=scene.step)
        angle = np.abs(swing(run.positions[:, free], masses(scene)))
        amplitude[method] = angle[-20:].max() / angle[0]  # the fourth turning point lies in there
    half = damping_of_backward_euler(55 * 0.033, 0.033, 110)
    assert amplitude["realtime-midpoint"] > 0.5 * (1.0 + half)
    assert amplitude["projective"] < half


@pytest.mark.slow
def test_the_dog_wobbles_on():
    """An undamped body has half of its energy in motion, on average; Fig. 11 ends at frame 159."""
    scene = scenes.load("dog", small=True)
    left = {}
    for method in ("realtime-midpoint", "projective", "bdf2"):
        run = simulate(scene, integrator=method, every=scene.step)
        start = run.energy.total[0]
        left[method] = run.energy.kinetic[-30:].mean() / start
        if method == "realtime-midpoint":
            assert np.abs(run.energy.numerical).max() <= 0.0101 * start
    assert left["realtime-midpoint"] > 0.25
    assert left["projective"] < 0.01 and left["bdf2"] < 0.01


# ------------------------------------------------------------------ cloth


def short_waves(velocities, n):
    """Share of the kinetic energy (frames,) in what differs from the neighbours' mean motion."""
    v = velocities.reshape(-1, n, n, 3)
    mean = v
    for _ in range(2):
        wide = np.pad(mean, ((0, 0), (1, 1), (1, 1), (0, 0)), mode="edge")
        mean = sum(wide[:, i : i + n, j : j + n] for i in range(3) for j in range(3)) / 9.0
    return ((v - mean) ** 2).sum(axis=(1, 2, 3)), (v**2).sum(axis=(1, 2, 3))


@pytest.mark.slow
def test_wrinkles_of_the_cloth_survive():
    """In the second after the shaking, against an accurate run (Verlet, 40 times shorter steps).

    Backward Euler takes 99 % of what swings twice a second or faster within that second.
    """
    scene = scenes.load("cloth", small=True, resolution=15)
    waves = {}
    for method, parts in (("realtime", 1), ("projective", 1), ("verlet", 40)):
        run = simulate(scene, integrator=method, step=scene.step / parts, every=scene.step)
        quiet = run.times > cloth.SHAKEN
        waves[method] = short_waves(run.velocities[quiet], 15)[0].mean()
        if method == "realtime":
            assert np.abs(run.energy.numerical).max() < 0.05 * run.energy.exchanged
    assert 0.5 * waves["verlet"] < waves["realtime"] < 2.0 * waves["verlet"]
    assert waves["projective"] < 0.25 * waves["verlet"]


@pytest.mark.slow
def test_the_lagrange_multiplier_gets_stuck():
    """Fig. 1: the energy is exact, but the falling cloth stops and trembles in place."""
    options = {"stiffness": 1e4, "damping": 0.0, "shake": 0.0, "start": "flat", "duration": 1.4}
    scene = scenes.load("cloth", resolution=11, **options)
    share = {}
    for method in ("energy-lagrange", "realtime", "energy-momentum"):
        run = simulate(scene, integrator=method, every=scene.step)
        short, whole = short_waves(run.velocities[-3:], 11)
        share[method] = short.sum() / whole.sum()
        if method == "energy-lagrange":
            assert np.abs(run.energy.numerical).max() < 1e-6 * run.energy.exchanged
    assert share["energy-lagrange"] > 0.5  # more trembling than falling
    assert share["realtime"] < 0.25 and share["energy-momentum"] < 0.25


# ------------------------------------------------------------------ all of them


@pytest.mark.parametrize(
    "name, wrong, message",
    [
        ("single-spring", {"stiffness": -1.0}, "stiffness"),
        ("single-spring", {"speed": "fast"}, "speed must be one number"),
        ("two-springs", {"mass": 0.0}, "mass"),
        ("two-springs", {"x": np.nan}, "x"),
        ("bar", {"cells": 0}, "cells"),
        ("bar", {"young": np.inf}, "young"),
        ("swinging-bunny", {"angle": 200.0}, "angle"),
        ("swinging-bunny", {"mesh": "nowhere.obj"}, "nowhere.obj does not exist"),
        ("swinging-bunny", {"vertices": 20}, "whole number from 50"),
        ("dog", {"held": 1.0}, "held"),
        ("dog", {"pull": 0.0}, "pull"),
        ("cloth", {"resolution": 2}, "resolution"),
        ("cloth", {"start": "rolled"}, "hanging, flat"),
        ("cloth", {"damping": -1.0}, "beta"),
        ("cloth", {"shake": np.nan}, "values"),
        ("coil-spring", {"section": "4"}, "3x4"),
        ("spinning-cube", {"young": 0.0}, "young"),
        ("cactus", {"damping": 2.0}, "share"),
        ("cactus", {"seed": -1}, "seed"),
    ],
)
def test_wrong_parameters_say_so_in_one_line(name, wrong, message):
    with pytest.raises(InputError, match=message) as caught:
        scene = scenes.load(name, **wrong)
        scene.system.bind(scene.x0, scene.v0)  # where NaN in x0 is found
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "name, vertices",
    [
        ("bar", 290),
        ("cloth", 10_201),
        ("coil-spring", 8000),
        ("cactus", 5261),
        pytest.param("dog", 28_390, marks=pytest.mark.slow),
        pytest.param("swinging-bunny", 34_844, marks=pytest.mark.slow),
    ],
)
def test_full_size_is_near_the_papers(name, vertices):
    scene = scenes.load(name)
    assert len(scene.x0) == pytest.approx(vertices, rel=0.07)
    assert scene.mesh is not None and len(scene.mesh.positions) == len(scene.x0)
    if name == "cloth":
        assert len(scene.mesh.edges) == 50_198
