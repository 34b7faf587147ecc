"""Lennard-Jones forces on a real card: those of the host, the same bits twice."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("cupy", reason="no CuPy here: there is nothing to ask a card with")

from stiffly.backends.gpu import gpu
from stiffly.kernels.cuda import layout

sys.path.insert(0, str(Path(__file__).parents[1]))
from atom_checks import forces_are_slopes, gas, same_forces, same_wandering


@pytest.mark.parametrize("lanes", [1, 8, 32])
@pytest.mark.parametrize("cutoff", [None, 1.2, 1.8, 4.0])
@pytest.mark.parametrize("kind", ["free", "held", "falling"])
def test_atoms_that_wander(kind, cutoff, lanes, monkeypatch):
    monkeypatch.setattr(layout, "LANES_OF_ATOMS", ((10**9, lanes),))
    same_wandering(gpu(), cutoff, kind, every=100)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("cutoff", [None, 0.9, 1.3, 2.5, 40.0])
def test_forces_are_those_of_the_host(seed, cutoff):
    same_forces(*gas(seed, 20 + 300 * seed, cutoff, 1.1 + 0.3 * seed), gpu())


@pytest.mark.parametrize("cutoff", [None, 1.2])
def test_forces_are_slopes_of_the_energy(cutoff):
    forces_are_slopes(*gas(3, cutoff=cutoff), gpu())
