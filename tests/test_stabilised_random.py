"""Random springs, stiff and soft, thrown about with steps up to 0.1 s: nothing explodes.

Promised: after every step the state is finite and its energy at most the target plus the tolerance.
There are no exceptions.  Bodies of tets and methods that return anything are in
test_never_explodes.py, which keeps the books itself.
"""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thinned import drawn, thinned

from stiffly.accounting import total_energy
from stiffly.bodies import Gravity, Springs, System
from stiffly.integrators import integrator

PART = 500
BODIES = int(os.environ.get("STIFFLY_BODIES", 2000))  # minutes; 10000 when it is changed


def random_body(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 7))
    x = rng.uniform(-1.0, 1.0, (count, 3))
    chain = [(i, i + 1) for i in range(count - 1)]
    more = [(i, j) for i in range(count) for j in range(i + 2, count) if rng.random() < 0.3]
    edges = np.array(chain + more)
    alike = rng.random() < 0.5
    stiffness = 10.0 ** rng.uniform(0.0, 8.0, 1 if alike else len(edges))
    lengths = np.linalg.norm(x[edges[:, 1]] - x[edges[:, 0]], axis=1)
    strained = lengths * rng.uniform(0.5, 1.5, len(edges)) if rng.random() < 0.5 else lengths
    parts = [Springs(edges, stiffness if not alike else stiffness[0], strained)]
    if rng.random() < 0.5:
        parts.append(Gravity())
    fixed = [0] if rng.random() < 0.5 else []
    system = System(10.0 ** rng.uniform(-2.0, 1.0, count), parts, fixed=fixed, rest=x)
    v = rng.standard_normal((count, 3)) * 10.0 ** rng.uniform(-1.0, 1.5)
    v[fixed] = 0.0
    return *system.bind(x, v), 10.0 ** rng.uniform(-3.0, -1.0)


def check(seed, name, steps):
    system, state, h = random_body(seed)
    method = integrator(name)
    memory = method.start(system, state)
    start = total_energy(system, state)  # nothing adds, nothing takes
    for _ in range(steps):
        taken = method.step(system, state, h, memory)
        state, memory, notes = taken.state, taken.memory, taken.notes
        assert np.isfinite(state.x).all() and np.isfinite(state.v).all()
        energies = system.energy(state)
        slack = 1e-9 * sum(map(abs, energies.values()))  # rounding of the sums
        assert sum(energies.values()) <= start + notes["energy_band"] + slack


@drawn(25)
@given(seed=st.integers(0, 2**63 - 1), name=st.sampled_from(["midpoint", "projective-midpoint"]))
def test_it_stays_at_its_energy(seed, name):
    check(seed, f"stabilised:{name}", steps=10)


@pytest.mark.parametrize("seeds", thinned([range(60), range(60, 300)]), ids=str)
def test_it_stays_at_its_energy_with_few_iterations(seeds):
    for seed in seeds:
        check(seed, "stabilised:projective-midpoint", steps=10)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(BODIES // PART))  # side by side on several cores
def test_thousands_of_them(part):
    for seed in range(PART * part, PART * (part + 1)):
        check(seed, "stabilised", steps=5)
