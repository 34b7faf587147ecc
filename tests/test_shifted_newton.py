"""Newton's method with a shift: unsymmetric tangents, hills, and how it fails."""

import numpy as np
import pytest

from stiffly.backends.cpu import CPU
from stiffly.contracts import Work
from stiffly.errors import NotConverged
from stiffly.solvers.shifted_newton import ShiftedNewton


class Curve:
    """r(x) = 0 in a few unknowns, as solvers ask for it, with M = I."""

    weights, time, backend = (1.0,), 0.25, CPU

    def __init__(self, residual, jacobian, size=2):
        self.residual, self._jacobian, self.origin = residual, jacobian, np.zeros(size)

    def scale(self, d):
        return 1.0

    change = scale

    def reach(self, d, dx):
        return 1.0

    def linearise(self, d):
        J = self._jacobian(d)

        class At:
            symmetric = constant = definite = False

            def matrix(self, shift):
                return J + shift * np.eye(len(J))

        return At()


def test_newton_solves_where_nothing_is_symmetric():
    """A rotation by almost a right angle: |r| and r.dx still lead to the solution."""
    A = np.array([[1.0, -50.0], [50.0, 1.0]])
    curve = Curve(lambda x: A @ x + x**3 - 1.0, lambda x: A + np.diag(3.0 * x**2))
    result = ShiftedNewton().solve(curve, np.array([3.0, -2.0]), None)
    assert curve.residual(result.x) == pytest.approx(0.0, abs=1e-11)
    assert result.work.newton_iterations < 15


def test_newton_leaves_the_top_of_a_hill():
    """r = grad of (x^2 - 1)^2 + y^2: J is indefinite at the start, where plain Newton climbs."""
    curve = Curve(
        lambda x: np.array([4.0 * x[0] * (x[0] ** 2 - 1.0), 2.0 * x[1]]),
        lambda x: np.diag([12.0 * x[0] ** 2 - 4.0, 2.0]),
    )
    result = ShiftedNewton().solve(curve, np.array([0.3, 0.0]), None)
    assert result.x == pytest.approx([1.0, 0.0], abs=1e-10)


def test_newton_says_where_and_at_what_cost_it_failed():
    curve = Curve(lambda x: x**2 + 1.0, lambda x: np.diag(2.0 * x))
    with pytest.raises(NotConverged, match=r"residual .* after \d+ iterations at t = 0.25 s: try"
                       ) as failed:  # fmt: skip
        ShiftedNewton().solve(curve, np.array([1.0, 2.0]), None)
    work = failed.value.work
    assert isinstance(work, Work) and work.force_evaluations > 1
