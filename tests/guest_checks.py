"""Parts in NumPy beside a card: asked of a real one, and of one made of loops."""

import numpy as np
import test_stretch as cases

from stiffly.bodies import MomentumDamping, Potential, Rayleigh, System
from stiffly.contracts import Power
from stiffly.parts.part import Uncoupled

KINDS = cases.KINDS
WITH = ("potential", "load", "both")
LEDGER = ("added_now", "dissipated_now", "invented_now")
CENTRE = np.array([1.0, 0.8, 1.2])


def well(x):
    """Stiffer away from its centre; the first two particles also pull at each other."""
    d = x - CENTRE
    return float(np.sum(3.0 * d**2 + 0.5 * d**4) + 2.0 * np.sum((x[0] - x[1]) ** 2))


def pull(x):
    d = x - CENTRE
    g = 6.0 * d + 2.0 * d**3
    g[0] += 4.0 * (x[0] - x[1])
    g[1] -= 4.0 * (x[0] - x[1])
    return g


def own_potential(name="well"):
    return Potential(well, pull, couples=[[0, 1]], name=name)


class Whirl(Uncoupled):
    """A swirl that swells with time and slows what moves through it."""

    name = "whirl"
    time_dependent = velocity_dependent = True
    symmetric = False

    def prepare(self, particles):
        return self

    @staticmethod
    def _air(t, x):
        return (1.0 + 40.0 * t) * np.cross([0.0, 0.0, 1.0], x - CENTRE)

    def add_force(self, t, x, v, out):
        out += 0.7 * (self._air(t, x) - v)

    def add_tangents(self, t, x, v, stiffness, damping):
        raise NotImplementedError

    def power(self, t, x, v):
        air = self._air(t, x)
        push = 0.7 * (air - v)
        return Power(float(np.vdot(push, air)), float(np.vdot(push, air - v)))


DAMPED = (
    "springs",
    "floor",
    "tied-led",
)  # damped by momentum and by Rayleigh, too


def bound(kind, guests, damped=False):
    rng = np.random.default_rng(KINDS.index(kind))
    rest, edges, x0 = cases.body(rng)
    parts, options = cases.parts_of(kind, rest, edges, 1)
    beside = {"potential": [own_potential()], "load": [Whirl()]}
    parts = [*parts, *beside.get(guests, [own_potential(), Whirl()])]
    if damped:
        parts.append(MomentumDamping(rate=40.0))
        beta = 0.0 if guests != "load" else 2e-3
        options.setdefault("damping", Rayleigh(alpha=0.5, beta=beta))
    system = System(rng.uniform(0.5, 2.0, len(rest)), parts, rest=rest, **options)
    held = system.fixed
    v0 = rng.standard_normal(rest.shape)
    x0[held], v0[held] = rest[held], 0.0
    return system.bind(x0, v0)


def same_beside(kind, guests, method, backend, damped=False):
    """Steps on a card with guests are those that the host takes one by one: states, ledger,
    memory, energies at frames; and the same bits twice."""
    system, state = bound(kind, guests, damped)
    here = cases.one_by_one(system, state, method)
    there, again = (cases.at_once(system.on(backend), state, method) for _ in range(2))
    assert "by the host" in there.way
    scale = np.abs(here.state.v).max()
    cases.agree(there.state.x, here.state.x, scale)
    cases.agree(there.state.v, here.state.v, 100.0 * scale)
    assert np.array_equal(there.state.x, again.state.x)
    assert np.array_equal(there.state.v, again.state.v)
    for name, array in here.state.parts.items():
        cases.agree(there.state.parts[name], array)
    energy = 0.5 * float(system.mass.dot(here.state.v, here.state.v))
    size = {"lifted": 1e4, "tied-held": 1e5}.get(kind, 10.0)  # as in test_stretch.py
    for line in LEDGER:
        cases.agree(getattr(there.ledger, line), getattr(here.ledger, line), size * energy)
        assert getattr(there.ledger, line) == getattr(again.ledger, line)
    told, wanted = there.system.energy(there.state), here.system.energy(here.state)
    assert list(told) == list(wanted)
    for name, value in wanted.items():
        cases.agree(told[name], value, 10.0 * max(energy, abs(value)))
