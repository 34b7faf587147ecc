"""Random bodies that nothing drives, with every integrator: what they can and cannot be booked as.

Without contact, motor, moving support, wind or hand, `added` is exactly zero and `dissipated` never
falls; whatever a method invents or loses is numerical error, and is warned of.  Driven, too,
`dissipated` never falls.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thinned import drawn

from stiffly import simulate
from stiffly.bodies import (
    Dashpots,
    Drag,
    FaceSprings,
    Field,
    Gravity,
    MomentumDamping,
    Rayleigh,
    Springs,
    System,
    Tetrahedra,
    Wind,
)
from stiffly.errors import InputError, SimulationFailure
from stiffly.integrators import NAMES
from stiffly.meshes import cloth, lattice

sys.path.insert(0, str(Path(__file__).parent / "attack"))
import trials_nets

BLOCK = lattice(2, 2, 2)
SHEET = cloth(3, 3)
METHODS = [*NAMES, "stabilised:exprb42", "auto"]


def net(rng):
    count = int(rng.integers(2, 7))
    x = rng.uniform(-1.0, 1.0, (count, 3))
    edges = np.array([(i, j) for i in range(count) for j in range(i + 1, count)])
    lengths = np.linalg.norm(x[edges[:, 1]] - x[edges[:, 0]], axis=1)
    law = str(rng.choice(["linear", "cubic", "zero", "yielding"]))
    strained = np.zeros(len(edges)) if law == "zero" else lengths * rng.uniform(0.6, 1.6)
    stiffness = 10.0 ** rng.uniform(0.0, 5.0, len(edges))
    more = {"law": "cubic"} if law == "cubic" else {}
    if law == "yielding":
        more = {"yield_strain": 0.2}
    return x, [Springs(edges, stiffness, strained, **more)], edges, None


def tets(rng):
    kind = str(rng.choice(["corotated", "stvk", "neo-hookean", "face springs"]))
    part = FaceSprings(BLOCK.tets, 1e3)
    if kind != "face springs":
        part = Tetrahedra(BLOCK.tets, 10.0 ** rng.uniform(3.0, 6.0), 0.3, kind)
    return BLOCK.positions, [part], BLOCK.edges, None


def sheet(rng):
    springs = Springs(SHEET.edges, 10.0 ** rng.uniform(1.0, 4.0))
    return SHEET.positions, [springs], SHEET.edges, SHEET.triangles


def passive(seed, air=(0.0, 0.0, 0.0), driven=()):
    """System, x0, v0; nothing drives it, unless the air moves or more parts are given."""
    rng = np.random.default_rng(seed)
    rest, parts, edges, triangles = (net, tets, sheet)[int(rng.integers(3))](rng)
    chosen = rng.random(6) < 0.4
    if chosen[0]:
        parts.append(Gravity())
    if chosen[1]:
        parts.append(Dashpots(edges, 10.0 ** rng.uniform(-2.0, 2.0)))
    if chosen[2]:
        parts.append(Drag(10.0 ** rng.uniform(-2.0, 1.0), int(rng.integers(1, 3))))
    if chosen[3] and triangles is not None:
        parts.append(Wind(triangles, air))
    if chosen[4]:
        parts.append(MomentumDamping(float(rng.uniform(0.0, 5.0))))
    damping = Rayleigh(float(rng.uniform(0, 5)), 10.0 ** rng.uniform(-5, -1)) if chosen[5] else None
    fixed = [0] if rng.random() < 0.5 else []
    parts += driven
    system = System(10.0 ** rng.uniform(-2.0, 1.0), parts, fixed=fixed, rest=rest, damping=damping)
    size = 0.2 * float(np.ptp(rest))
    x0 = rest + (size * rng.standard_normal(rest.shape) if rng.random() < 0.7 else 0.0)
    v0 = size * rng.standard_normal(rest.shape) * 10.0 ** rng.uniform(-1.0, 1.0)
    v0[fixed] = 0.0
    return system, x0, v0


def six_steps(system, x0, v0, name, h):
    """The run, up to a failure; None where the method cannot take such a net."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return simulate(system, x0, v0, integrator=name, step=h, duration=6 * h, every=h)
        except SimulationFailure as failure:
            return failure.run
        except InputError:  # some cannot keep every net's lengths, or take forces of velocities
            refused = name in ("rkn6", "rkn86") and system.velocity_dependent
            assert refused or name == "fast-projection"
            return None


@drawn(60)
@given(
    seed=st.integers(0, 2**32 - 1),
    name=st.sampled_from(METHODS),
    step=st.floats(-3.5, -1.0),
)
def test_nothing_is_added_and_dissipation_never_falls(seed, name, step):
    system, x0, v0 = passive(seed)
    h = 10.0**step
    run = six_steps(system, x0, v0, name, h)
    if run is None:
        return
    assert np.all(run.energy.added == 0.0)
    assert np.all(np.diff(run.energy.dissipated) >= 0.0)
    if system.conservative:
        assert np.all(run.energy.dissipated == 0.0)


@drawn(25)
@given(
    seed=st.integers(0, 2**32 - 1),
    name=st.sampled_from(METHODS),
    step=st.floats(-3.5, -1.0),
    turns=st.floats(0.0, 3.0),
)
def test_dissipation_never_falls_where_something_drives(seed, name, step, turns):
    h, rate = 10.0**step, 10.0**turns
    shake = Field(lambda t: (rate * np.cos(rate * t), 0.0, rate * np.sin(rate * t)))
    system, x0, v0 = passive(seed, (0.3, 0.0, rate), [shake])
    run = six_steps(system, x0, v0, name, h)
    if run is None:
        return
    assert np.all(np.diff(run.energy.dissipated) >= 0.0)
    assert len(run.times) < 3 or np.any(run.energy.added != 0.0)


@pytest.mark.parametrize(
    "net", [0, 2, *(pytest.param(net, marks=pytest.mark.slow) for net in range(3, 9))]
)
def test_no_net_misses_its_energy_in_silence(net):
    for k in range(len(trials_nets.METHODS)):
        outcome = trials_nets.trial(len(trials_nets.METHODS) * net + k)
        assert not outcome.broken, outcome


def test_a_stage_that_goes_too_far_is_a_failure_of_the_run():
    """Of 36,000 trials this one blamed the user's input: forces at a stage were not finite."""
    assert trials_nets.trial(26343).verdict == "exprb42: Overflows"
