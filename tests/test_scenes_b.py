"""Cloth, bunny, hair: what the small variants must show beyond running through, and full sizes.

Thresholds are geometry (nothing goes through anything), physics (terminal velocity, spectra) or the
papers' claims (area, flat energy); none was fitted to a run.
"""

from __future__ import annotations

import numpy as np
import pytest
from thinned import thinned

from stiffly import scenes, simulate


@pytest.mark.parametrize("diagonal, duration", [(1e10, 2.85), (1e12, 0.285)])
def test_bunny_keeps_its_energy_at_every_stiffness(diagonal, duration):
    scene = scenes.load("bunny", small=True, diagonal=diagonal)
    run = simulate(scene, duration=duration, every=scene.step)
    assert np.abs(run.energy.numerical).max() < 1e-2 * run.energy.exchanged


def test_bunny_follows_the_strong_springs_alone():
    """16 of them for each vertex: without the weak ones nothing moves any differently."""
    both = scenes.load("bunny", small=True)
    weak = scenes.load("bunny", small=True, structural=1e-6)
    runs = [simulate(s, duration=1.14, every=s.step) for s in (both, weak)]
    moved = np.abs(runs[0].positions - both.x0).max()
    assert np.abs(runs[0].positions - runs[1].positions).max() < 1e-3 * moved


@pytest.mark.parametrize(
    "name, particles, tolerance",
    thinned(
        [("textile", 10_000, 0), ("flag", 3500, 0), ("bunny", 8000, 0.03), ("statue", 10_000, 0)],
        keep=3,
    ),
)
def test_full_sizes_are_the_papers(name, particles, tolerance):
    scene = scenes.load(name)
    assert abs(len(scene.x0) - particles) <= tolerance * particles
    assert scene.mesh is not None and scene.mesh.positions.shape == scene.x0.shape


@pytest.mark.slow  # 25 s, 3.6 GB
def test_hair_at_full_size():
    scene = scenes.load("hair")
    assert len(scene.x0) == 2_160_000
