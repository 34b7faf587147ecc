"""The papers' square root of A: what its residual says, phi functions through it, bad input."""

import numpy as np
import pytest
import scipy.linalg
from systems import march
from test_order import PROBLEMS

from stiffly.bodies import ConsistentMass, LumpedMass, Rayleigh
from stiffly.errors import InputError, NotConverged
from stiffly.integrators import ExponentialRosenbrock
from stiffly.matfun import SecondOrderOperator, phi_action, square_root

N = 40


def matrix(condition, size=1.0):
    Q = scipy.linalg.qr(np.random.default_rng(2).standard_normal((N, N)))[0]
    A = (Q * np.logspace(-np.log10(condition), 0.0, N) * size) @ Q.T
    return 0.5 * (A + A.T)


@pytest.mark.parametrize("method", ["newton", "denman-beavers", "eigenvectors"])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e8])
def test_roots_of_good_matrices(method, size):
    A = matrix(50.0, size)
    found = square_root(A, method)
    assert np.abs(found.value @ found.value - A).max() <= 1e-12 * size
    off = np.linalg.norm(found.value @ found.value - A) / np.linalg.norm(A)
    assert found.residual == pytest.approx(off)
    assert (found.iterations > 0) == (method != "eigenvectors")


def test_the_printed_iteration_breaks_down_beyond_1e4():
    """Its errors grow by (sqrt(cond) - 1)/2 a step; the stable form arrives."""
    residuals = {c: square_root(matrix(c)).residual for c in (1e2, 1e4, 1e6)}
    assert residuals[1e2] <= 1e-13
    assert residuals[1e4] >= 1e-12
    assert residuals[1e6] >= 1e-8
    assert square_root(matrix(1e6), "denman-beavers").residual <= 1e-9
    assert square_root(matrix(1e6), "eigenvectors").residual <= 1e-13


@pytest.mark.parametrize(
    "mass", [None, LumpedMass(np.linspace(0.5, 2.0, N))], ids=["unit", "lumped"]
)
@pytest.mark.parametrize("h", [3.0, -3.0, 0.0])
def test_phi_functions_through_the_root(h, mass):
    J = SecondOrderOperator(matrix(30.0), mass=mass)
    vectors = list(np.random.default_rng(3).standard_normal((3, 2 * N)))
    other = phi_action(J, h, vectors, 1e-12, method="dense", taus=[0.5, 1.0])
    action = phi_action(J, h, vectors, 1e-9, method="root", taus=[0.5, 1.0])
    assert action.value == pytest.approx(other.value, abs=1e-11)
    assert action.error <= 1e-12 and "Newton steps" in action.method


def test_a_step_of_the_papers():
    method = ExponentialRosenbrock((3 / 4,), tol=1e-9, method="root")
    ours = march(method, *PROBLEMS["smooth"](), [0.1] * 5)[0][-1]
    usual = march(ExponentialRosenbrock((3 / 4,), tol=1e-12), *PROBLEMS["smooth"](), [0.1] * 5)[0]
    assert ours.x == pytest.approx(usual[-1].x, abs=1e-11)


def test_a_root_that_is_not_good_enough_is_refused():
    J, u = SecondOrderOperator(matrix(1e7)), np.ones(2 * N)
    with pytest.raises(NotConverged, match="residual"):
        phi_action(J, 1.0, [u], 1e-9, method="root")


WRONG = {
    "symmetric": lambda: square_root(np.triu(np.ones((3, 3)))),
    "NaN": lambda: square_root(np.diag([1.0, float("nan")])),
    "square array": lambda: square_root(np.ones((2, 3))),
    "positive eigenvalues": lambda: square_root(np.diag([1.0, 0.0])),
    "did you mean newton": lambda: square_root(np.eye(2), "newtn"),
    "without damping": lambda: phi_action(
        SecondOrderOperator(np.eye(2), Rayleigh(0.1, 0.0)), 1.0, [np.ones(4)], method="root"
    ),
    "lumped masses": lambda: phi_action(
        SecondOrderOperator(np.eye(2), mass=ConsistentMass(np.array([[2.0, 1.0], [1.0, 2.0]]))),
        *(1.0, [np.ones(4)]),
        method="root",
    ),
}


@pytest.mark.parametrize("cause", WRONG)
def test_wrong_input_is_named_in_one_line(cause):
    with pytest.raises(InputError) as caught:
        WRONG[cause]()
    assert cause in str(caught.value)
    assert "\n" not in str(caught.value)
