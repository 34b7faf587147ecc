"""What the papers prove, held to: energies of both Euler methods, and flows that are symplectic."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thinned import drawn

from stiffly import SecondOrder
from stiffly.bodies import LumpedMass
from stiffly.integrators import integrator
from stiffly.matfun import SecondOrderOperator, phi_action

N = 4
SEEDS, STEPS = st.integers(0, 10_000), st.floats(1e-3, 3.0)


def bowl(seed):
    """A convex potential, quadratic and quartic: its system, masses, itself, its gradient, x, v."""
    rng = np.random.default_rng(seed)
    mass, root, quartic = rng.uniform(0.2, 3.0, N), rng.normal(size=(N, N)), rng.uniform(0, 2, N)
    K = root @ root.T

    def height(x):
        return 0.5 * x @ K @ x + 0.25 * quartic @ x**4

    def slope(x):
        return K @ x + quartic * x**3

    system = SecondOrder(
        mass=np.diag(mass),
        force=lambda x: -slope(x),
        jacobian=lambda x: -K - np.diag(3.0 * quartic * x**2),
        potential=height,
    )
    return system, mass, height, slope, *rng.normal(size=(2, N))


def change_and_bound(name, seed, h):
    """By how much a step changes the energy, what the proof says, and the size of both.

    Dinev, Liu & Kavan 2018, Eqs. 43 and 45: how far E lies above its tangent at the point whose
    forces are used, seen from the other end, and h^2/2 |M^-1 grad E|^2 there: both not negative.
    """
    system, mass, height, slope, x, v = bowl(seed)
    bound, state = system.bind(x, v)
    method = integrator(name)
    new = method.step(bound, state, h, method.start(bound, state)).state
    before, after = (sum(bound.energy(s).values()) for s in (state, new))
    forces_at, seen_from = (x, new.x) if name == "forward-euler" else (new.x, x)
    above = height(seen_from) - height(forces_at) - (seen_from - forces_at) @ slope(forces_at)
    proof = above + 0.5 * h * h * (slope(forces_at) ** 2 / mass).sum()
    return after - before, proof, max(abs(before), abs(after))


@drawn(60)
@given(seed=SEEDS, h=STEPS)
def test_forward_euler_gains_what_appendix_a_says(seed, h):
    change, proof, size = change_and_bound("forward-euler", seed, h)
    assert change == pytest.approx(proof, abs=1e-12 * size)
    assert change >= -1e-12 * size


@drawn(60)
@given(seed=SEEDS, h=STEPS)
def test_backward_euler_loses_what_appendix_b_says(seed, h):
    change, proof, size = change_and_bound("bdf1", seed, h)
    assert change == pytest.approx(-proof, abs=1e-6 * size)  # as far as Newton solves the step
    assert change <= 1e-6 * size


@pytest.mark.parametrize("method", ["dense", "lanczos", "chebyshev", "root"])
@pytest.mark.parametrize("h", [0.1, 2.0])
def test_the_flow_of_a_force_with_a_potential_is_symplectic(method, h):
    """Luan & Michels 2021, Lemma 2.1 and Remark 2: J is infinitesimally symplectic, W J = (W J)^T
    where W = [[0, M], [-M, 0]], and with that S = exp(h J) keeps W: S^T W S = W."""
    rng = np.random.default_rng(3)
    mass, root = rng.uniform(0.5, 2.0, N), rng.normal(size=(N, N))
    K = root @ root.T + np.eye(N)
    W = np.kron([[0.0, 1.0], [-1.0, 0.0]], np.diag(mass))
    J = SecondOrderOperator(K, mass=LumpedMass(mass))
    ends = [phi_action(J, h, [e], tol=1e-12, method=method).value for e in np.eye(2 * N)]
    S = np.array(ends).T
    assert not np.allclose(S, np.eye(2 * N), atol=0.05)
    assert np.abs(S.T @ W @ S - W).max() <= 1e-10
