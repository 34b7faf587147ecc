"""The tangent less its negative stiffness: Newton's way down where the exact one is indefinite."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from thinned import drawn

from stiffly.bodies import FaceSprings, Gravity, Springs, System, Tetrahedra
from stiffly.contracts import State
from stiffly.integrators.stage import Bdf1
from stiffly.meshes import lattice

BLOCK = lattice(2, 2, 2)

PARTS = {
    "springs": lambda: Springs(BLOCK.edges, 1e3),
    "cubic": lambda: Springs(BLOCK.edges, 1e3, law="cubic"),
    "face springs": lambda: FaceSprings(BLOCK.tets, 1e3),
    "corotated": lambda: Tetrahedra(BLOCK.tets, 1e5, 0.3),
    "stvk": lambda: Tetrahedra(BLOCK.tets, 1e5, 0.3, "stvk"),
    "neo-hookean": lambda: Tetrahedra(BLOCK.tets, 1e5, 0.3, "neo-hookean"),
}


def matrices(name, x, fixed=()):
    system = System(1.0, [PARTS[name](), Gravity()], fixed=fixed, rest=BLOCK.positions)
    bound, state = system.bind(x)
    convex, exact = bound.convex_tangent(state), bound.tangent(state)
    return convex, (t.matrix(0.0, 1.0, 0.0).toarray() for t in (convex, exact))


@pytest.mark.parametrize("name", PARTS)
@drawn(15)
@given(seed=st.integers(0, 2**32 - 1), squeeze=st.floats(0.4, 1.2), fixed=st.booleans())
def test_it_is_semidefinite_and_takes_nothing_positive_away(name, seed, squeeze, fixed):
    rng = np.random.default_rng(seed)
    x = squeeze * BLOCK.positions + 0.1 * rng.standard_normal(BLOCK.positions.shape)
    tangent, (C, K) = matrices(name, x, [0, 3] if fixed else [])
    scale = np.abs(K).max()
    assert np.linalg.eigvalsh(C).min() >= -1e-11 * scale
    assert np.linalg.eigvalsh(C - K).min() >= -1e-11 * scale
    bounds = tangent.stiffness.bounds()
    assert bounds.certain and bounds.low == 0.0


@pytest.mark.parametrize("name", PARTS)
def test_it_is_exact_where_everything_is_stretched(name):
    _, (C, K) = matrices(name, 1.05 * BLOCK.positions)
    np.testing.assert_allclose(C, K, atol=1e-11 * np.abs(K).max())


def test_parts_without_one_bring_their_exact_tangent():
    class Saddle:
        name = "saddle"
        linear, bounded, pairwise = False, False, False

        def couples(self, particles):
            return np.empty((0, 2), dtype=np.int64)

        def prepare(self, particles):
            self.slots = particles.pattern.diagonal
            return self

        def energy(self, x):
            return -0.5 * float(np.vdot(x, x))

        def add_gradient(self, x, out):
            out -= x

        def add_blocks(self, x, blocks, pressed):
            blocks[self.slots] -= np.eye(3)

    system = System(1.0, [Saddle()], rest=BLOCK.positions)
    n = system.size
    state = State(0.0, BLOCK.positions.ravel(), np.zeros(n))
    tangent = system.convex_tangent(state)
    np.testing.assert_array_equal(tangent.matrix(0.0, 1.0, 0.0).toarray(), -np.eye(n))
    bounds = tangent.stiffness.bounds()
    assert bounds is None or not (bounds.certain and bounds.low >= 0.0)


@pytest.mark.parametrize("growth", [1.05, 1.1, 1.3])
@pytest.mark.parametrize("off", [1e-8, 1e-6, 1e-4])
def test_a_column_that_buckles_leaves_its_saddle_quickly(growth, off):
    """Without the negative stiffness alone, an iteration leads `growth` times as far: hundreds."""
    k, mass, half = 1e3, 1e-3, 0.45
    column = np.array([[0.0, 0.0, 0.0], [half, off, 0.0], [2 * half, 0.0, 0.0]])
    springs = Springs(np.array([[0, 1], [1, 2]]), k, np.array([0.5, 0.5]))
    system = System(np.array([1.0, mass, 1.0]), [springs], fixed=[0, 2], rest=column)
    bound, state = system.bind(column)
    h = np.sqrt(growth * mass / (2.0 * k * (0.5 / half - 1.0)))
    method = Bdf1()
    taken = method.step(bound, state, h, method.start(bound, state))

    def unbalanced(y):
        return mass * (y - off) / h**2 - 2.0 * k * (0.5 / np.hypot(half, y) - 1.0) * y

    exact = brentq(unbalanced, 1e-2, 0.3, xtol=1e-14)
    assert np.allclose(taken.state.x, [half, exact, 0.0], atol=1e-8)
    assert taken.work.newton_iterations <= 25
