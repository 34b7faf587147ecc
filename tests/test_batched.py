"""Independent bodies, evaluated body by body: against dense linear algebra of each body alone."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from independent_bodies import Bodies, columns_for, request
from thinned import drawn

from stiffly.bodies import Rayleigh, Springs, System
from stiffly.errors import NotConverged
from stiffly.integrators import ExponentialRosenbrock
from stiffly.matfun import SecondOrderOperator, evaluate, phi_action
from stiffly.matfun import eigenbasis as batched_module
from stiffly.matfun.chooser import choose
from stiffly.matfun.operators import SparseOperator

MIXED = [1] * 30 + [2] * 8 + [16] * 5 + [40, 7, 3, 25]


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("width", [1, 3], ids=["sparse", "blocks"])
@pytest.mark.parametrize("lumped", [True, False], ids=["lumped", "unit"])
@pytest.mark.parametrize("phase", [1.0, 30.0, -1000.0])
def test_mixed_sizes_in_any_order(phase, lumped, width, constant):
    rng = np.random.default_rng(2)
    bodies = Bodies(MIXED, rng, width=width, lumped=lumped)
    columns = columns_for(bodies, rng)
    A, functions = bodies.operator(constant), request(phase)
    action = evaluate(A, functions, list(columns), tol=1e-10, method="batched")
    assert bodies.errors(action, functions, columns, 1e-10).max() <= 1.0
    assert f"{len(MIXED)} bodies of at most {40 * width} coordinates" in action.method
    again = evaluate(A, functions, list(columns), tol=1e-10, method="batched")
    np.testing.assert_array_equal(action.value, again.value)


@pytest.mark.parametrize("omega", [1e4, 1e6])
def test_very_stiff_bodies(omega):
    """Integer eigenvalues and a Hadamard basis: A is exact, so is the answer."""
    H, count = scipy.linalg.hadamard(16).astype(float), 20
    rng = np.random.default_rng(3)
    lam = np.round(rng.uniform(0.0, 1.0, (count, 16)) * omega ** rng.uniform(0, 2, (count, 16)))
    lam[:, 0] = omega**2
    K = [(H * own) @ H / 16 for own in lam]
    A = SparseOperator(sp.csr_matrix(sp.block_diag(K)))
    columns = rng.standard_normal((2, 16 * count))
    for h in (1.0 / omega, 100.0 / omega, 1.0):
        functions = request(h)
        action = evaluate(A, functions, list(columns), tol=1e-8, method="batched")
        tol = max(1e-8, 2.0 * action.error)
        assert h == 1.0 or tol == 1e-8
        F = functions(lam.ravel()).reshape(3, 2, count, 16)
        c = columns.reshape(2, count, 16) @ H
        exact = np.einsum("jibm,ibm->jbm", F, c) @ H / 16
        error = np.linalg.norm(action.value - exact.reshape(3, -1), axis=1)
        assert np.all(error <= tol * np.linalg.norm(exact.reshape(3, -1), axis=1)), h


def test_against_the_matrix_exponential():
    """phi_0(hJ) u = expm(hJ) u, body by body, for compressed (indefinite) bodies."""
    rng = np.random.default_rng(4)
    bodies = Bodies([5] * 20 + [1] * 10, rng, width=3, low=-4.0, high=100.0)
    n = bodies.mass.size
    u = rng.standard_normal(2 * n)
    J = SecondOrderOperator(bodies.operator())
    value = phi_action(J, 0.7, [u], tol=1e-10, method="batched").value
    for own in bodies.coordinates:
        A = bodies.K[np.ix_(own, own)] / bodies.mass[own][:, None]
        m = own.size
        full = np.block([[np.zeros((m, m)), np.eye(m)], [-A, np.zeros((m, m))]])
        both = np.concatenate([own, n + own])
        exact = scipy.linalg.expm(0.7 * full) @ u[both]
        assert np.linalg.norm(value[both] - exact) <= 1e-10 * np.linalg.norm(exact)


@pytest.mark.parametrize("damping", [Rayleigh(3.0, 0.0), Rayleigh(0.0, 0.05), Rayleigh(0.5, 0.2)])
def test_rayleigh_damping(damping):
    rng = np.random.default_rng(5)
    bodies = Bodies([6] * 10 + [2] * 10, rng, width=3, high=400.0)
    n = bodies.mass.size
    u = rng.standard_normal(2 * n)
    J = SecondOrderOperator(bodies.operator(constant=True), damping)
    action = phi_action(J, 0.3, [u], tol=1e-10)
    assert "batched" in action.method
    for own in bodies.coordinates:
        A = bodies.K[np.ix_(own, own)] / bodies.mass[own][:, None]
        m = own.size
        D = damping.alpha * np.eye(m) + damping.beta * A
        full = np.block([[np.zeros((m, m)), np.eye(m)], [-A, -D]])
        both = np.concatenate([own, n + own])
        exact = scipy.linalg.expm(0.3 * full) @ u[both]
        assert np.linalg.norm(action.value[both] - exact) <= 1e-10 * np.linalg.norm(u[both])


@drawn(30)
@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(1, 30), min_size=2, max_size=12),
    st.sampled_from([1, 3]),
    st.booleans(),
    st.sampled_from([0.0, -0.01]),
    st.floats(0.0, 300.0),
    st.sampled_from(["auto", "batched"]),
)
def test_any_bodies(seed, sizes, width, lumped, low, phase, method):
    rng = np.random.default_rng(seed)
    bodies = Bodies(sizes, rng, width=width, lumped=lumped, low=low)
    columns, functions = columns_for(bodies, rng), request(phase)
    action = evaluate(bodies.operator(), functions, list(columns), tol=1e-8, method=method)
    assert bodies.errors(action, functions, columns, 1e-8).max() <= 1.0


@pytest.mark.parametrize("width", [1, 3], ids=["sparse", "blocks"])
@pytest.mark.parametrize("lumped", [True, False], ids=["lumped", "unit"])
def test_bodies_that_are_too_large_are_iterated(monkeypatch, width, lumped):
    """Thousands of single particles and one big body: the particles do not lengthen its basis."""
    monkeypatch.setattr(batched_module, "BODY", 30)
    rng = np.random.default_rng(6)
    bodies = Bodies([1] * 50 + [20, 35, 40], rng, width=width, lumped=lumped)
    columns, functions = columns_for(bodies, rng), request(40.0)
    for tol in (1e-3, 1e-9):
        A = bodies.operator()
        action = evaluate(A, functions, list(columns), tol=tol, method="batched")
        assert bodies.errors(action, functions, columns, tol).max() <= 1.0
        larger = 75 if width == 1 else 285
        assert f"{larger} coordinates of larger bodies" in action.method
        assert action.products > 0
    everything = Bodies([60, 45], rng, width=width)
    columns = columns_for(everything, rng)
    action = evaluate(everything.operator(), functions, list(columns), tol=1e-6, method="batched")
    assert everything.errors(action, functions, columns, 1e-6).max() <= 1.0


@pytest.mark.parametrize("width", [1, 3], ids=["sparse", "blocks"])
def test_memory_for_eigenbases_is_limited(monkeypatch, width):
    """Too many bodies for the memory go through it batch by batch, with the same bits."""
    rng = np.random.default_rng(7)
    bodies = Bodies([9] * 12 + [4] * 20 + [1] * 30, rng, width=width)
    columns, functions = columns_for(bodies, rng), request(20.0)
    values = []
    for memory in (1e9, 8.0 * 500 * width**2):
        monkeypatch.setattr("stiffly.matfun.components.MEMORY", memory)
        A = bodies.operator()
        for _ in range(2):
            action = evaluate(A, functions, list(columns), tol=1e-9, method="batched")
            values.append(action.value)
    layout = batched_module.layout_of(A)
    assert len(layout.batches) == 3  # (12 * 81 + 20 * 16 + 30) / 500, rounded up
    assert all(batch.entries <= (500 + 81) * width**2 for batch in layout.batches)
    for value in values[1:]:
        np.testing.assert_array_equal(value, values[0])


def test_overflow_and_nan_are_named():
    rng = np.random.default_rng(7)
    bodies = Bodies([4] * 30, rng, width=3, low=-1e4)
    columns = columns_for(bodies, rng)
    with pytest.raises(NotConverged, match="indefinite"):
        evaluate(bodies.operator(), request(10.0), list(columns), tol=1e-6, method="batched")
    for bad in (np.nan, np.inf):
        A = bodies.operator()
        A.blocks[17, 1, 1] = bad
        for method in ("batched", "auto"):
            with pytest.raises(NotConverged, match="NaN"):
                evaluate(A, request(0.1), list(columns), tol=1e-6, method=method)
    columns[1, 5] = np.nan
    with pytest.raises(NotConverged, match="NaN"):
        evaluate(bodies.operator(), request(0.01), list(columns), tol=1e-6, method="batched")


# ------------------------------------------------------------------ choice, and a brush


def test_auto_picks_batched_where_it_pays():
    rng = np.random.default_rng(8)
    few = Bodies([4] * 30, rng, width=3).operator()
    assert choose(few, request(1.0)) == ("batched", "independent bodies")
    # a chain of 250 in each body: iterations are cheap at a small step, not at a large one
    chain = sp.diags([2.0, -1.0, -1.0], [0, 1, -1], shape=(250, 250))
    K = sp.csr_matrix(sp.block_diag([chain] * 4))
    assert choose(SparseOperator(K), request(1.0))[0] == "chebyshev"
    assert choose(SparseOperator(K), request(1e6))[0] == "batched"
    constant = SparseOperator(K, constant=True)
    assert choose(constant, request(1.0))[0] == "batched"
    empty = SparseOperator(sp.csr_matrix((100, 100)))
    columns = rng.standard_normal((2, 100))
    value = evaluate(empty, request(1.0), list(columns), tol=1e-8).value
    np.testing.assert_allclose(value, request(1.0)(np.zeros(1))[:, :, 0] @ columns, rtol=1e-14)


def brush(count, seed=0):
    """Bristles of 4 cross-sections with 4 particles, the lowest held, particles in any order."""
    rng = np.random.default_rng(seed)
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]]) * 0.01
    X = np.concatenate([np.column_stack([square, np.full(4, 0.05 * k)]) for k in range(4)])
    distance = np.linalg.norm(X[:, None] - X[None], axis=2)
    edges = np.argwhere(np.triu(distance < 0.06, 1))
    order = rng.permutation(16 * count)
    shift = 16 * np.arange(count)[:, None, None]
    positions = np.empty((16 * count, 3))
    positions[order] = (X + 0.1 * np.arange(count)[:, None, None]).reshape(-1, 3)
    springs = Springs(order[(edges + shift).reshape(-1, 2)], 1e5)
    held = order[(16 * np.arange(count)[:, None] + np.arange(4)).ravel()]
    system = System(1e-3, [springs], held, positions)
    v = np.zeros_like(positions)
    v[:, 0] = (order.argsort() // 4 % 4) * rng.uniform(0.5, 2.0, count)[order.argsort() // 16]
    return system.bind(positions, v)


def test_exprb42_on_a_brush():
    system, start = brush(6)
    ends = {}
    for method in ("dense", "batched", "auto"):
        integrator, state = ExponentialRosenbrock((0.75,), tol=1e-10, method=method), start
        moved = 0.0
        for _ in range(20):
            step = integrator.step(system, state, 5e-4, None)
            state = step.state
            moved = max(moved, np.abs(state.x - start.x).max())
        assert method == "dense" or "batched, 6 bodies of at most 36" in step.notes["method"]
        ends[method] = state
    assert moved > 3e-3  # of 15 cm: the tangents change from step to step
    for method in ("batched", "auto"):
        assert np.abs(ends[method].x - ends["dense"].x).max() <= 1e-9 * moved


def test_layout_is_made_once_per_system():
    system, state = brush(6)
    first, second = (system.tangent(state).stiffness for _ in range(2))
    assert first is not second
    assert batched_module.layout_of(first) is batched_module.layout_of(second)
