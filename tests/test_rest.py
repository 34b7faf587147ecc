"""A body at rest stays at rest: rounding errors are neither a divergence nor worth a warning."""

from __future__ import annotations

import numpy as np
import pytest
from thinned import thinned

import stiffly
from stiffly.accounting import rounding_energy
from stiffly.bodies import Springs, System, Tetrahedra
from stiffly.errors import Diverged
from stiffly.meshes import cube, lattice

METHODS = ("energy-momentum", "exprb42", "pexprb43", "midpoint", "bdf1", "stabilised", "newmark",
           "realtime", "neti", "verlet", "rk4")  # fmt: skip


def turned(x):
    """Elsewhere, so that every length differs from its rest length by rounding."""
    c, s = np.cos(0.7), np.sin(0.7)
    return x @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]) + 3.0


def springs():
    mesh = lattice(3, 3, 3, spacing=0.1)
    return System(0.01, [Springs(mesh.edges, 1e4)], rest=mesh.positions), mesh.positions


def tets():
    mesh = cube(2)
    parts = [Tetrahedra(mesh.tets, young=1e5, poisson=0.3)]
    return System(0.01, parts, rest=mesh.positions), mesh.positions


@pytest.mark.parametrize("make", thinned([tets, springs]))
@pytest.mark.parametrize("method", METHODS)
def test_a_body_at_rest_does_not_diverge(method, make):
    system, x = make()
    h = 1e-4 if method in ("verlet", "rk4") else 0.033
    for step in {h, 1e-4}:
        run = stiffly.simulate(
            system, turned(x), integrator=method, step=step, duration=200 * step, every=step
        )
        assert 0.0 < run.energy.total.max() < 1e-20  # it did hold rounding errors
        assert run.stats["rejected_steps"] == 0  # and nobody tried to correct them


def test_an_explosion_from_rest_is_seen_early():
    """Rounding errors that grow without bound, beyond the limit of an explicit method."""
    system, x = springs()
    with pytest.raises(Diverged, match="times all the energy there was") as caught:
        stiffly.simulate(
            system, turned(x), integrator="verlet", step=5e-3, duration=1.0, every=5e-3
        )
    assert caught.value.run.energy.total[-2] < 1e-12


def test_what_rounding_can_store_is_that_of_a_spring():
    """k/2 e^2, with both ends off by 1e-12 of 3 m in opposite directions; pulled or not."""
    x = np.array([[2.0, 0.0, 0.0], [3.0, 0.0, 0.0]])
    for rest in (1.0, 0.9):
        parts = [Springs([(0, 1)], 50.0, rest=rest), stiffly.Gravity()]
        system, state = System(np.ones(2), parts).bind(x)
        # the rest turns the spring, which stores less: at most what it does along
        assert rounding_energy(system, state) == pytest.approx(0.5 * 50.0 * 6e-12**2, rel=0.5)
