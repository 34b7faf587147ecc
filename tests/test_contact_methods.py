"""What bodies in contact promise whatever the method, and what they promise at any step."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from test_barrier import sheet
from thinned import drawn

from stiffly import simulate
from stiffly.bodies import Gravity, System
from stiffly.collisions import Contact, Plane, Repulsion
from stiffly.errors import SimulationFailure
from stiffly.integrators import NAMES
from stiffly.kernels import cpu

# rods never stretch: without springs there is nothing for fast-projection to do
METHODS = [*(name for name in NAMES if name != "fast-projection"), "stabilised:verlet"]


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("ways", [0.5, 4.0])
def test_nothing_passes_whatever_the_method(name, ways):
    """A vertex that flies by `ways` thicknesses a step at a sheet that is held; a run may stop."""
    plate, faces = sheet(3, spacing=0.02)
    h, m, thick = 1e-3, 1e-3, 0.005
    speed = ways * thick / h
    touch = Repulsion(faces, [[9, 10]], thickness=thick, stiffness=4 * m * speed**2 / thick**2)
    x = np.concatenate([plate, [[0.003, 0.002, 2.3 * ways * thick], [0.003, 0.002, 50.0]]])
    v = np.zeros_like(x)
    v[9:, 2] = -speed
    system = System(m, [touch], fixed=range(9), rest=x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            run = simulate(system, x, v, integrator=name, step=h, duration=8 * h, every=h)
        except SimulationFailure as failure:
            run = failure.run
    for a, b in pairwise(run.positions[:, 9]):
        if a[2] > 0.0 >= b[2]:  # below it now: then its way led past the border, 0.02 m away
            assert np.abs(a + a[2] / (a[2] - b[2]) * (b - a))[:2].max() > 0.02


@drawn(100)
@given(seed=st.integers(0, 2**32 - 1), size=st.floats(-6.0, 6.0))
def test_friction_between_elements_is_never_a_reversal(seed, size):
    """Along the surface, the velocity of one side against the other is shortened, not turned."""
    rng = np.random.default_rng(seed)
    v, light = rng.standard_normal((4, 3)), rng.uniform(0.0, 2.0, 4)
    w = rng.dirichlet(np.ones(3))
    weights, stencil = np.array([[1.0, *-w]]), np.arange(4, dtype=np.uint32)[None]
    n = rng.standard_normal(3)
    n /= np.linalg.norm(n)
    across = np.eye(3) - np.outer(n, n)
    before = across @ (weights[0] @ v)
    for room in (cpu, reference):
        slowed = v.copy()
        room.pair_friction(slowed, light, stencil, weights, n[None], np.array([10.0**size]))
        after = across @ (weights[0] @ slowed)
        along = after @ before / (before @ before)
        assert -1e-12 <= along < 1.0
        np.testing.assert_allclose(after, along * before, atol=1e-12)


@pytest.mark.parametrize("name", ["exprb2", "exprb42", "pexprb43", "epirk4s3"])
@pytest.mark.parametrize("turns", [0.1, 3.0, 100.0])
@pytest.mark.filterwarnings("ignore::stiffly.errors.Advice")  # a bounce would need shorter steps
def test_exponential_methods_take_any_step_in_touch_with_a_plane(name, turns):
    """x = A cos(omega t) about where the weight is carried, h omega = turns."""
    k, m, A = 1e4, 1.0, 1e-4
    omega, sag = np.sqrt(k / m), m * 9.81 / k  # 0.98 mm: it never leaves
    system = System([m], [Gravity(), Contact(Plane((0, 0, 0), (0, 0, 1)), k)])
    h = turns / omega
    run = simulate(system, [[0, 0, A - sag]], integrator=name, step=h, duration=7 * h, every=h)
    expected = A * np.cos(omega * run.times) - sag
    np.testing.assert_allclose(run.positions[:, 0, 2], expected, atol=1e-8 * A)
