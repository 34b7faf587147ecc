"""No force is ignored: not by short steps, not far from the origin, not beside what is far away."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from newton_solves import newton

from stiffly import simulate
from stiffly.backends.cpu import CPU
from stiffly.bodies import Gravity, Springs, System
from stiffly.errors import InputError, NotConverged
from stiffly.integrators import integrator
from stiffly.integrators.energy_momentum import EnergyMomentum
from stiffly.integrators.energy_steered import EnergyBudget, EnergyLagrange
from stiffly.integrators.halving import Substeps
from stiffly.integrators.stage import Bdf1, Bdf2, Midpoint, Newmark
from stiffly.solvers.iteration import SLACK, Kept, beyond, hopeless, noise, relative
from stiffly.solvers.local_global import LocalGlobal
from stiffly.solvers.newton import Newton
from stiffly.solvers.shifted_newton import ShiftedNewton

G = 9.81
NAMES = [
    "bdf1", "bdf2", "midpoint", "newmark", "energy-momentum", "energy-lagrange", "energy-budget",
    "projective", "projective-midpoint", "projective-energy-momentum", "stabilised",
    "stabilised:energy-momentum", "stabilised:projective-midpoint",
]  # fmt: skip
METHODS = [integrator(name) for name in NAMES]
METHODS += [kind(solver=LocalGlobal()) for kind in (Bdf2, Newmark)]
NEAR = np.array([[1.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
FAR = NEAR + np.array([1e6, 0.0, 0.0])
by_name = pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)


def falling(x, method, h, stiffness=1e3, speed=0.0, steps=30):
    """Vertical velocities of pairs of particles, each on a spring at rest, after some steps."""
    edges = np.arange(len(x)).reshape(-1, 2)
    system = System(1.0, [Springs(edges, stiffness), Gravity()], rest=x)
    run = simulate(
        system, x, [[speed, 0.0, 0.0]] * len(x), integrator=method, step=h, duration=steps * h
    )
    return run.velocities[-1, :, 2] / (-G * steps * h)


@by_name
@pytest.mark.parametrize("h", [5e-5, 1e-3])
def test_bodies_fall_far_from_the_origin(method, h):
    assert falling(FAR, method, h) == pytest.approx(1.0, abs=1e-10)


@by_name
@pytest.mark.parametrize("speed", [0.0, 3.0])
@pytest.mark.parametrize("h", [1e-8, 1e-10])
def test_bodies_fall_in_steps_however_short(method, h, speed):
    assert falling(NEAR, method, h, speed=speed) == pytest.approx(1.0, abs=1e-10)


@by_name
def test_what_is_far_away_does_not_freeze_what_is_near(method):
    """A stiff spring far out, whose rounding exceeds the weight of all particles."""
    x = np.concatenate([FAR, NEAR])
    system = System(1.0, [Springs([[0, 1], [2, 3]], [1e10, 1e3]), Gravity()], rest=x)
    stretched = x.copy()
    stretched[3, 0] += 0.1
    h, steps = 1e-4, 50
    run = simulate(system, stretched, integrator=method, step=h, duration=steps * h)
    assert run.velocities[-1, 2:, 2] == pytest.approx(-G * steps * h, rel=1e-6)
    # the near pair swings: omega^2 = 2 k / m
    omega = np.sqrt(2.0 * 1e3)
    length = np.linalg.norm(np.diff(run.positions[-1, 2:], axis=0))
    assert length - 1.0 == pytest.approx(0.1 * np.cos(omega * steps * h), abs=5e-4)


@by_name
def test_weight_below_the_rounding_of_stiff_springs_still_acts(method):
    """eps k |x| = 200 N, the weight is 10 N: each step is noisy, the resultant is exact."""
    fallen = falling(FAR, method, 1e-4, stiffness=1e12, steps=50)
    assert fallen == pytest.approx(1.0, rel=1e-6)


# ------------------------------------------------------------------ the parts


def test_noise_is_that_of_rounded_coordinates():
    """Forces at coordinates that differ in their last digit differ by about as much."""
    rng = np.random.default_rng(3)
    A = rng.standard_normal((40, 40)) * 10.0 ** rng.uniform(-3, 3, (40, 1))
    K, x = A @ A.T, rng.uniform(-1e4, 1e4, 40)
    tangent = SimpleNamespace(matrix=lambda shift: (1.0 + shift) * np.eye(40) + K)
    shaken = x * (1.0 + 2.0**-52 * rng.choice([-1.0, 1.0], 40))
    change = np.abs(K @ (shaken - x))
    level = noise(tangent, x)
    assert np.all(change <= 1.01 * level) and np.median(change / level) > 0.01
    kept = Kept(size=np.linalg.norm(tangent.matrix(0.0)))
    assert not hopeless(SLACK * np.linalg.norm(level), kept, x, 0.0, CPU)
    assert hopeless(1e4 * SLACK * np.linalg.norm(level), kept, x, 0.0, CPU)
    assert not hopeless(1e300, Kept(), x, 0.0, CPU)  # nothing is known


def test_what_noise_explains_is_judged_component_by_component():
    assert beyond(np.array([3.0, -4.0]), np.array([3.0, 4.0]), CPU) == 0.0
    assert beyond(np.array([3.0, -4.0]), np.array([1e9, 1.0]), CPU) == 3.0
    assert np.isnan(beyond(np.array([np.nan, 0.0]), np.zeros(2), CPU))
    assert (relative(2.0, 4.0), relative(0.0, 0.0), relative(1e-30, 0.0)) == (0.5, 0.0, 1.0)


def test_an_update_lost_in_the_coordinates_is_no_excuse_for_a_residual():
    """r = 2 + sin has no root; at coordinates of 1e12 every update is below their last digits."""
    tangent = SimpleNamespace(
        symmetric=True, constant=False, definite=True, matrix=lambda s: (1.0 + s) * np.eye(1)
    )
    with pytest.raises(NotConverged, match=r"residual .* \(wanted 1e-09\)"):
        newton(
            lambda x: 2.0 + np.sin(50.0 * x),
            lambda x: tangent,
            np.zeros(1),
            tolerance=1e-9,
            scale=lambda x: 1.0,
            origin=np.full(1, 1e12),
        )


# ------------------------------------------------------------------ input


@pytest.mark.parametrize("kind", [Midpoint, Bdf1, Bdf2, Newmark, EnergyMomentum])
@pytest.mark.parametrize("solver", [None, "newton", 3, Newton], ids=str)
def test_what_is_no_solver_is_named(kind, solver):
    with pytest.raises(InputError, match=r"^[^\n]*solver = [^\n]*: give Newton\(\) or [^\n]*$"):
        kind(solver=solver)


@pytest.mark.parametrize("kind", [Newton, ShiftedNewton, EnergyLagrange])
def test_bad_settings_of_solvers_are_named(kind):
    for tolerance in ("x", None, np.nan, np.inf, -1.0, 0.0, 1.0, 2, True):
        with pytest.raises(InputError, match=r"tolerance = .*: give a number between 0 and 1"):
            kind(tolerance=tolerance)
    for count in (None, 1.5, 0, -3, True, "x"):
        with pytest.raises(InputError, match=r"max_iterations = .*: give a whole number"):
            kind(max_iterations=count)
    assert kind(tolerance=np.float64(1e-6), max_iterations=np.int64(5)).tolerance == 1e-6


def test_bad_counts_and_bases_are_named():
    for count in (True, 0, 1.5, None):
        with pytest.raises(InputError, match="whole number"):
            LocalGlobal(count)
        with pytest.raises(InputError, match="whole number"):
            Substeps(Midpoint(), count)
    for accelerate in (1, None, "yes"):
        with pytest.raises(InputError, match="give True or False"):
            LocalGlobal(3, accelerate=accelerate)
    for base in (3, None, "midpoint", Bdf1()):
        with pytest.raises(InputError, match=r"give Midpoint\(\)"):
            EnergyBudget(base)
