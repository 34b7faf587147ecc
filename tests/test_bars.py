"""Tangents of springs as bars: where they are taken, and that they are the tangents."""

import numpy as np
import pytest

from stiffly.bodies import Dashpots, Gravity, Springs, System
from stiffly.matfun.operators import BarOperator, BlockOperator
from stiffly.meshes import cloth

MESH = cloth(5, 4, spacing=0.3)
X = MESH.positions


def springs(rows=slice(None), law="linear"):
    edges = MESH.edges[rows]
    return Springs(edges, np.linspace(1.0, 3.0, len(edges)), law=law)


def bound(parts, moved=0.05, **options):
    """A system at positions that strain its springs, some of them pressed together."""
    system = System(np.linspace(0.1, 0.4, len(X)), parts, rest=X, **options)
    return system.bind(X + moved * np.random.default_rng(1).standard_normal(X.shape))


def differences(system, state, b, h=1e-6):
    """K b from forces."""
    ends = [system.force(state.moved(state.t, state.x + s * h * b, state.v)) for s in (1, -1)]
    return (ends[1] - ends[0]) / (2.0 * h)


@pytest.mark.parametrize("law", ["linear", "cubic"])
@pytest.mark.parametrize("fixed", [(), (0, 7, 19)])
def test_bars_are_the_tangent(law, fixed):
    system, state = bound([springs(law=law), Gravity()], fixed=fixed)
    A = system.tangent(state).stiffness
    assert isinstance(A, BarOperator)
    B = np.random.default_rng(2).standard_normal((A.size, 2))
    for b in B.T:
        theirs = differences(system, state, b)
        np.testing.assert_allclose(A._stiffness(b), theirs, atol=1e-7 * np.abs(theirs).max())
    K = A.todense()
    np.testing.assert_allclose(K @ B, A._stiffness(B), atol=1e-13 * np.abs(K).max())
    np.testing.assert_allclose(K @ B, system.mass.apply(A.apply(B)), atol=1e-12 * np.abs(K).max())
    np.testing.assert_allclose(A.diagonal(), K.diagonal() / system.mass.diagonal, rtol=1e-13)
    lam = np.linalg.eigvals(K / system.mass.diagonal[:, None]).real
    assert A.bounds().low <= lam.min() < 0.0 < lam.max() <= A.bounds().high


def test_two_springs_in_one_place_are_no_bar():
    """Two parts that join the same particles: the sum of two bars need not be one."""
    some = slice(0, 6)
    system, state = bound([springs(), springs(some)])
    A = system.tangent(state).stiffness
    assert type(A) is BlockOperator
    b = np.random.default_rng(3).standard_normal(A.size)
    theirs = differences(system, state, b)
    np.testing.assert_allclose(A._stiffness(b), theirs, atol=1e-7 * np.abs(theirs).max())
    apart = [springs(some), springs(slice(6, None))]
    assert isinstance(bound(apart)[0].tangent(state).stiffness, BarOperator)


@pytest.mark.parametrize(
    "parts",
    [
        [Springs(MESH.edges, 1.0, 0.0)],  # linear: diagonalised once
        [springs(slice(0, 1)), springs(slice(8, 9))],  # bodies: diagonalised one by one
        [springs(), Dashpots([[0, 19]], 1.0)],  # has a block in which there is no spring
    ],
)
def test_other_tangents_are_blocks(parts):
    system, state = bound(parts)
    assert type(system.elastic(state)) is BlockOperator
