"""Factorisations, conjugate gradients and Newton's method."""

from __future__ import annotations

import math
import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from newton_solves import newton
from runs_to_record import through_json
from scipy.sparse.linalg import LinearOperator, aslinearoperator, splu

from stiffly import resume, scenes, simulate
from stiffly.errors import InputError, NotConverged
from stiffly.integrators import Bdf1
from stiffly.solvers.cg import ConjugateGradients
from stiffly.solvers.failures import FactorisationError, NotPositiveDefinite
from stiffly.solvers.iteration import Kept
from stiffly.solvers.linear import (
    DenseCholesky,
    SparseLDL,
    SparseLU,
    absolute_product,
    factorise,
    is_symmetric,
    little_fill,
)
from stiffly.solvers.newton import Newton
from stiffly.solvers.shifted_newton import ShiftedNewton

N = 60
SHAPES = {"dense": lambda A: A.toarray(), "sparse": lambda A: A, "operator": aslinearoperator}


def grid(shift: float = 0.1) -> sp.csc_matrix:
    """A two-dimensional Laplacian of N points, moved by `shift`: lowest eigenvalue > shift."""
    line = sp.diags([-np.ones(5), 2 * np.ones(6), -np.ones(5)], [-1, 0, 1])
    column = sp.diags([-np.ones(9), 2 * np.ones(10), -np.ones(9)], [-1, 0, 1])
    A = sp.kron(line, sp.eye(10)) + sp.kron(sp.eye(6), column) + shift * sp.eye(N)
    return sp.csc_matrix(A)


def right_side(columns: int | None = None) -> np.ndarray:
    shape = N if columns is None else (N, columns)
    return np.random.default_rng(1).standard_normal(shape)


@pytest.mark.parametrize("shape", SHAPES)
def test_factorise_solves(shape):
    wrap = SHAPES[shape]
    b = right_side()
    x = factorise(wrap(grid())).solve(b)
    assert abs(grid() @ x - b).max() < 1e-9 * abs(b).max()


@pytest.mark.parametrize("shape", ["dense", "sparse"])
def test_factorise_solves_columns_and_read_only_views(shape):
    wrap = SHAPES[shape]
    b = right_side(4)
    b.setflags(write=False)
    factor = factorise(wrap(grid()))
    assert abs(grid() @ factor.solve(b) - b).max() < 1e-12
    column = b[:, 1]  # not contiguous
    assert abs(grid() @ factor.solve(column) - column).max() < 1e-12


def test_each_matrix_meets_the_solver_meant_for_it():
    A = grid()
    assert isinstance(factorise(A.toarray()), DenseCholesky)
    assert isinstance(factorise(A), SparseLDL)
    assert isinstance(factorise(A, symmetric=False), SparseLU)
    assert isinstance(factorise(A.tobsr((2, 2))), SparseLDL)
    assert isinstance(factorise(aslinearoperator(A)), ConjugateGradients)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("shift", [-1.0, -4.0, -20.0], ids=["slightly", "diagonal 0", "negative"])
def test_indefinite_matrix_is_named(shape, shift):
    wrap = SHAPES[shape]
    with pytest.raises(NotPositiveDefinite):
        factorise(wrap(grid(shift))).solve(right_side())


def test_matrices_without_entries_with_nan_or_with_duplicates():
    with pytest.raises(NotPositiveDefinite):
        factorise(sp.csc_matrix((5, 5)))
    for bad in (np.nan, np.inf):
        A = grid()
        A[3, 3] = bad
        with pytest.raises(FactorisationError):
            factorise(A)
        with pytest.raises(FactorisationError):
            factorise(A.toarray())
    good = grid()
    doubled = sp.csc_matrix(
        (np.repeat(good.data / 2, 2), np.repeat(good.indices, 2), 2 * good.indptr),
        shape=good.shape,
    )
    b = right_side()
    assert abs(good @ factorise(doubled).solve(b) - b).max() < 1e-12


def test_unsorted_indices_are_sorted_in_a_copy():
    good = grid()
    order = np.concatenate(
        [np.arange(b, a, -1) - 1 for a, b in zip(good.indptr[:-1], good.indptr[1:], strict=True)]
    )
    indices = good.indices[order].copy()
    A = sp.csc_matrix((good.data[order], indices, good.indptr), shape=good.shape)
    b = right_side()
    assert abs(good @ factorise(A).solve(b) - b).max() < 1e-12
    assert np.array_equal(indices, good.indices[order])  # which may be shared with other matrices


def test_entries_in_shared_or_read_only_memory():
    A, b = grid(), right_side()
    for name in ("data", "indices", "indptr"):
        entries = getattr(A, name)
        view = np.concatenate([entries[:1], entries])[1:]
        view.setflags(write=False)
        setattr(A, name, view)
    x = factorise(A).solve(b)
    assert abs(grid() @ x - b).max() < 1e-12


@pytest.mark.parametrize("wrap", [sp.csc_matrix, lambda A: A.toarray()], ids=["sparse", "dense"])
def test_unsymmetric_matrix(wrap):
    A = grid() + sp.diags([np.full(N - 1, 3.0)], [1])
    assert not is_symmetric(wrap(A)) and is_symmetric(wrap(grid()))
    b = right_side()
    assert abs(A @ factorise(wrap(A), symmetric=False).solve(b) - b).max() < 1e-11
    singular = wrap(sp.csc_matrix(np.diag([1.0, 0.0])))
    with pytest.raises(FactorisationError):
        factorise(singular, symmetric=False)
    with pytest.raises(InputError, match="assembled"):
        factorise(aslinearoperator(A), symmetric=False)


@pytest.mark.parametrize("symmetric", [False, True])
def test_factorisations_survive_a_checkpoint(symmetric):
    factor, b = factorise(grid(), symmetric=symmetric), right_side()
    again = through_json(factor)
    assert np.array_equal(again.solve(b), factor.solve(b))


def resident() -> int:
    """Bytes of memory that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="asks Linux for the memory")
def test_factors_that_are_dropped_give_their_memory_back():
    """A page that is pulled at, or a long run of Newton's method, factorises without end."""
    A, b = sp.csc_matrix(sp.kron(grid(), sp.eye(20))), np.ones((20 * N, 3))

    def many(count):
        for _ in range(count):
            factorise(A).solve(b)

    many(50)
    before = resident()
    many(400)
    assert resident() - before < 100 * b.nbytes  # one lost right-hand side each would be 400


def test_absolute_product_bounds_the_rounding():
    A, x = grid(), right_side()
    assert np.allclose(absolute_product(A, x), abs(A.toarray()) @ abs(x))
    assert np.allclose(absolute_product(aslinearoperator(A), x), abs(A @ x))


def test_cg_reaches_its_tolerance_and_counts_products():
    A, b = grid(), right_side()
    loose, tight = ConjugateGradients(A_operator(A), 1e-3), ConjugateGradients(A_operator(A), 1e-12)
    for solver, tolerance in ((loose, 1e-3), (tight, 2e-12)):
        assert np.linalg.norm(A @ solver.solve(b) - b) <= tolerance * np.linalg.norm(b)
    assert 0 < loose.products < tight.products <= 2 * N
    assert np.array_equal(tight.solve(np.zeros(N)), np.zeros(N))


def A_operator(A: sp.csc_matrix) -> LinearOperator:
    return LinearOperator(A.shape, matvec=lambda v: A @ v, dtype=np.float64)


def test_cg_names_its_failure():
    solver = ConjugateGradients(A_operator(grid()), 1e-12, limit=3)
    with pytest.raises(NotConverged, match=r"stopped at residual .* after 3 products: assemble"):
        solver.solve(right_side())


# ------------------------------------------------------------------ Newton


class Curve:
    """r(x) = grad Phi for Phi = |x|^2/2 + c sum (x^2 - 1)^2: indefinite between the two wells."""

    def __init__(self, c: float, storage=np.asarray, definite: bool = False, size: int = 3) -> None:
        self.c, self.storage, self.definite, self.size = c, storage, definite, size

    def residual(self, x):
        return x + 4.0 * self.c * x * (x**2 - 1.0)

    def linearise(self, x):
        diagonal = 1.0 + 4.0 * self.c * (3.0 * x**2 - 1.0)
        return SimpleNamespace(
            symmetric=True,
            constant=False,
            definite=self.definite,
            matrix=lambda shift: self.storage(np.diag(diagonal + shift)),
        )

    def solve(self, x0, **options):
        options = {"tolerance": 1e-10, "scale": lambda x: 1.0, "time": 1.25} | options
        return newton(self.residual, self.linearise, np.asarray(x0), **options)


STORAGES = [np.asarray, sp.csc_matrix, aslinearoperator]


@pytest.mark.parametrize("storage", STORAGES, ids=["dense", "sparse", "operator"])
def test_newton_converges_from_an_indefinite_start(storage):
    curve = Curve(50.0, storage)
    result = curve.solve([0.05, -0.1, 0.2])
    well = math.sqrt(1.0 - 1.0 / 200.0)
    assert np.allclose(result.x, [well, -well, well], atol=1e-9)  # minima, not the saddle at 0
    assert result.residual <= 1e-10 and not result.rounding
    assert result.work.factorizations > result.work.tangents  # corrected at least once
    assert result.work.newton_iterations > 0
    assert (result.work.operator_products > 0) == (storage is aslinearoperator)


def test_newton_survives_a_wrong_claim_of_definiteness():
    result = Curve(50.0, sp.csc_matrix, definite=True).solve([0.05, -0.1, 0.2])
    assert result.residual <= 1e-10


def test_newton_backtracks_where_the_full_step_overshoots():
    """r = atan x diverges under undamped Newton from |x| > 1.39; J claims no symmetry to use."""

    def linearise(x):
        matrix = np.diag(1.0 / (1.0 + x**2))
        return SimpleNamespace(
            symmetric=False, constant=False, definite=False, matrix=lambda shift: matrix
        )

    result = newton(np.arctan, linearise, np.array([20.0]), tolerance=1e-12, scale=lambda x: 1.0)
    assert abs(result.x[0]) < 1e-12
    assert (
        result.work.force_evaluations > result.work.newton_iterations + 1
    )  # halved steps were evaluated


def test_newton_keeps_a_good_factorisation_and_drops_a_bad_one():
    curve = Curve(0.05)
    first = curve.solve([0.9, 0.5, -0.4])
    assert first.work.factorizations < first.work.newton_iterations  # modified Newton
    near = curve.solve(first.x + 1e-3, kept=first.kept)
    assert near.work.factorizations == 0 and near.residual <= 1e-10
    steep = Curve(50.0)
    far = steep.solve([3.0, -2.0, 4.0], kept=first.kept)  # a factorisation that fits nothing here
    assert far.work.factorizations > 0 and far.residual <= 1e-10


def test_newton_without_reuse_factorises_in_every_iteration():
    curve = Curve(0.05)
    kept = curve.solve([0.9, 0.5, -0.4])
    fresh = curve.solve([0.9, 0.5, -0.4], reuse=0.0)
    assert fresh.work.factorizations == fresh.work.newton_iterations
    assert fresh.work.newton_iterations < kept.work.newton_iterations  # quadratic convergence
    assert fresh.x == pytest.approx(kept.x, abs=1e-9)
    again = curve.solve(fresh.x + 1e-3, kept=fresh.kept, reuse=0.0)
    assert again.work.factorizations == again.work.newton_iterations  # none comes from before
    with pytest.raises(InputError, match="reuse = 1"):
        Newton(reuse=1.0)


def test_newton_by_conjugate_gradients_takes_the_same_steps_and_resumes(tmp_path):
    scene = scenes.load("coil-spring", vertices=160, duration=0.4)
    direct = simulate(scene, integrator=Bdf1(), step=0.01)
    method = Bdf1(Newton(cg=1e-3))
    ours = simulate(scene, integrator=method, step=0.01)
    moved = abs(direct.positions - scene.x0).max()
    assert abs(ours.positions - direct.positions).max() < 1e-7 * moved
    assert direct.stats["factorizations"] > 0 and direct.stats["operator_products"] == 0
    assert ours.stats["factorizations"] == 0 and ours.stats["operator_products"] > 40
    options = {"integrator": method, "step": 0.01, "every": 0.1}
    simulate(scene, out=tmp_path / "run", duration=0.2, **options)
    resumed = resume(tmp_path / "run", scene, duration=0.4)
    whole = simulate(scene, out=tmp_path / "whole", **options)
    np.testing.assert_array_equal(resumed.positions, np.float32(whole.positions))
    for value, shown in ((1.0, "1.0"), (None, "None"), ("1", "'1'"), (10**9999, "more than 1e")):
        for name in ("cg", "reuse", "tolerance"):
            with pytest.raises(InputError, match=rf"^Newton: {name} = {shown}.*: give a number"):
                Newton(**{name: value})
    with pytest.raises(InputError, match="it factorises; take Newton"):
        ShiftedNewton(cg=1e-3)


def test_newton_factorises_a_constant_tangent_once_whatever_the_noise():
    K = np.diag([1.0, 1e12])
    tangent = SimpleNamespace(symmetric=True, constant=True, definite=True, matrix=lambda s: K)
    target, kept, count = np.array([0.3, 0.1]), Kept(), 0
    for k in range(20):
        result = newton(
            lambda x, b=target * (k + 1): K @ (x - b),
            lambda x: tangent,
            np.zeros(2),
            tolerance=1e-14,  # out of reach for a stiffness of 1e12
            scale=lambda x: 1.0,
            kept=kept,
        )
        kept, count = result.kept, count + result.work.factorizations
        assert np.allclose(result.x, target * (k + 1), rtol=1e-12)
    assert count == 1


def test_newton_says_when_it_stops_at_rounding_level():
    curve = Curve(1e10)
    result = curve.solve([0.9, 1.1, -0.8], tolerance=1e-12)
    assert result.rounding and result.residual > 1e-12
    assert np.allclose(np.abs(result.x), 1.0, atol=1e-10)


def test_newton_names_an_impossible_problem():
    tangent = SimpleNamespace(symmetric=False, constant=False, definite=False)

    def linearise(x):
        tangent.matrix = lambda shift: np.diag(2.0 * x)
        return tangent

    with pytest.raises(NotConverged) as failure:
        newton(lambda x: x**2 + 1.0, linearise, np.array([0.7]), tolerance=1e-8,
               scale=lambda x: 1.0, time=1.2)  # fmt: skip
    assert "(wanted 1e-08)" in str(failure.value)
    assert str(failure.value).endswith("at t = 1.2 s: try a smaller step")
    assert "\n" not in str(failure.value)


def test_newton_names_the_iteration_limit_and_a_tangent_without_numbers():
    with pytest.raises(NotConverged, match=r"residual .* after 2 iterations at t = 1.25 s"):
        Curve(50.0).solve([3.0, -2.0, 4.0], max_iterations=2)
    with pytest.raises(NotConverged, match="not finite"):
        Curve(50.0, lambda A: sp.csc_matrix(A * np.nan)).solve([3.0, -2.0, 4.0])
    with pytest.raises(NotConverged, match="not finite"):
        Curve(np.nan).solve([3.0, -2.0, 4.0])


@pytest.mark.parametrize("width", [1, 3])
def test_unknowns_are_ordered_once_and_stay_together(width):
    """A grid of blocks in a random order: a good order has far less to fill in."""
    rng, side = np.random.default_rng(1), sp.diags([1.0, 1.0, 1.0], [-1, 0, 1], shape=(15, 15))
    mixed = rng.permutation(225)
    grid = sp.csr_matrix(sp.kronsum(side, side))[mixed][:, mixed]
    matrix = sp.csc_matrix(sp.kron(grid, np.ones((width, width))))
    n, matrix.data = 225, rng.standard_normal(matrix.nnz)
    matrix = sp.csc_matrix(matrix + 20.0 * sp.identity(n * width))
    order = little_fill(matrix)
    assert np.array_equal(np.sort(order), np.arange(n * width))
    assert np.array_equal(order % width, np.tile(np.arange(width), n))
    options = {
        "permc_spec": "NATURAL",
        "diag_pivot_thresh": 0.0,
        "options": {"SymmetricMode": True},
    }
    fill = [splu(sp.csc_matrix(m), **options).L.nnz for m in (matrix[order][:, order], matrix)]
    assert fill[0] < 0.5 * fill[1]
    factor = factorise(matrix, symmetric=False)
    b = rng.standard_normal((n * width, 2))
    assert np.allclose(matrix @ factor.solve(b), b, rtol=1e-12, atol=1e-12)
