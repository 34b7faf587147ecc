"""Pairs of particles whose blocks never change: asked of a real card, and of one made of loops."""

import numpy as np
import pytest
import test_stretch as cases

from stiffly import scenes
from stiffly.bodies import LinearSprings, Rayleigh, Springs, System
from stiffly.integrators.explicit import Verlet
from stiffly.run.limit import longest_step

VISCOUS = [kind for kind in cases.CARD_KINDS if "viscous" in kind]
UNLED = [kind for kind in VISCOUS if kind != "viscous-led"]
ACROSS, BETAS = (0.0, 0.3, 1.0), (5e-4, 3e-3, 3e-2)


def moving(system, state, rng):
    """At places and velocities of the moment."""
    x = state.x + 0.05 * rng.standard_normal(state.x.size)
    return state.moved(state.t, x, rng.standard_normal(state.x.size))


def damping_is_the_tangent_at_rest(kind, card):
    """By the host's own tangent there, which is no difference of forces; and it takes energy."""
    system, state = cases.bound(kind)
    state = moving(system, state, np.random.default_rng(5))
    there = system.on(card)
    rest = state.moved(state.t, system.reference()[: system.numbering.free].ravel(), state.v)
    alone = System(*system.given._replace(parts=_elastic(system), damping=None))
    K0 = alone.bind(system.numbering.given(system.reference()))[0].tangent(rest).stiffness
    D = system.damping
    still = state.moved(state.t, state.x, np.zeros_like(state.v))
    by_loads = system.having(system.assembly)
    by_loads.damping = by_loads.viscosity = None
    loads = by_loads.acceleration(state) - by_loads.acceleration(still)
    damped = there.stretcher.acceleration(state) - there.stretcher.acceleration(still) - loads
    wanted = -D.alpha * state.v - D.beta * K0.apply(state.v)
    cases.agree(damped, wanted, 1e3 * np.abs(wanted).max())
    assert system.mass.dot(damped, state.v) < 0.0


def _elastic(system):
    made = zip(system.given.parts, system.assembly.parts, strict=True)
    return [part for part, (_, p) in made if not getattr(p, "external", False)]


def damps_by_where_it_is_bound(card):
    """The layout of one binding is not taken for the next."""
    rest, edges, x0 = cases.body(np.random.default_rng(2))
    parts = [Springs(edges, 400.0, 0.9)]
    system = System(np.ones(27), parts, damping=Rayleigh(beta=1e-3)).on(card)
    for x in (rest, x0 * [1.0, 1.3, 1.0]):
        bound, state = system.bind(x, np.random.default_rng(3).standard_normal(x.shape))
        wanted = bound.acceleration(state)
        cases.agree(bound.stretcher.acceleration(state), wanted, np.abs(wanted).max())


def pull_by_the_slope(across, card):
    rest, edges, x0 = cases.body(np.random.default_rng(4))
    springs = LinearSprings(edges, np.linspace(100.0, 400.0, len(edges)), across=across)
    system = System(np.ones(27), [springs], rest=rest)
    bound, state = system.on(card).bind(x0)
    force = bound.stretcher.acceleration(state)  # of one kilogram each
    e = 1e-4
    for k in range(0, state.x.size, 7):
        d = e * np.eye(state.x.size)[k]
        ahead, back = (
            bound.energy(state.moved(0.0, x, state.v)) for x in (state.x + d, state.x - d)
        )
        slope = (ahead["elastic"] - back["elastic"]) / (2.0 * e)
        assert -slope == pytest.approx(force[k], abs=1e-8 * np.abs(force).max())


def longest_step_is_stable(beta, card):
    """The stiffest mode is taken to be the most damped one, which makes steps a little short."""
    scene = scenes.load("cloth", small=True, resolution=9, damping=beta)
    limit = longest_step(*scene.system.on(card).bind(scene.x0))
    free = longest_step(*scenes.load("cloth", resolution=9, damping=0.0).system.bind(scene.x0))
    assert limit < 0.999 * free
    v0 = 1e-3 * np.random.default_rng(0).standard_normal(scene.x0.shape)
    energies = []
    for share in (0.95, 1.4):
        bound, state = scene.system.on(card).bind(scene.x0, v0)
        a, h = bound.stretcher.acceleration(state), share * limit
        done = bound.stretcher.steps(Verlet.splitting, state, a, h, h * np.arange(1, 301))
        energies.append(bound.energy(done.state)["kinetic"])
    assert energies[0] < 10.0 and not energies[1] < 1e6
