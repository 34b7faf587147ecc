"""Broyden's updates against his formula with dense matrices."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from thinned import drawn

from stiffly.solvers.secants import LEAST_BROYDEN, Broyden


def problem(seed, n=6, off=0.3):
    """J, not symmetric, a stale A, and a root."""
    rng = np.random.default_rng(seed)
    A = np.eye(n) + off * rng.standard_normal((n, n)) / np.sqrt(n)
    return A + off * rng.standard_normal((n, n)) / np.sqrt(n), A, rng.standard_normal(n)


@drawn(50)
@given(st.integers(0, 10**6), st.floats(0.2, 1.0))
def test_directions_are_those_of_the_formula(seed, share):
    """Also where a part of the way is gone, as where something is in it."""
    J, A, root = problem(seed)
    H, seen, x = np.linalg.inv(A), Broyden(), np.zeros(len(root))
    last = None
    for _ in range(5):
        r = J @ (x - root)
        if last is not None:
            s, Hy = x - last[0], H @ (r - last[1])
            if s @ Hy > LEAST_BROYDEN * np.linalg.norm(s) * np.linalg.norm(Hy):
                H = H + np.outer(s - Hy, s @ H) / (s @ Hy)
        z = seen.improved(x, np.linalg.solve(A, r))
        np.testing.assert_allclose(z, H @ r, rtol=1e-9, atol=1e-9 * np.abs(root).max())
        last = x, r
        x = x - share * z


def test_it_ends_where_a_stale_matrix_alone_would_not():
    """In 2 n iterations of a linear problem (Gay 1979); without updates |r| grows."""
    J, A, root = problem(4, off=1.0)
    assert np.abs(np.linalg.eigvals(np.eye(6) - np.linalg.solve(A, J))).max() > 1.0
    seen, x = Broyden(), np.zeros(6)
    for _ in range(12):
        x = x - seen.improved(x, np.linalg.solve(A, J @ (x - root)))
    np.testing.assert_allclose(x, root, atol=1e-6)


def test_a_change_that_shows_nothing_is_left_out():
    seen = Broyden()
    seen.improved(np.array([1.0, 0.0]), np.array([1.0, 0.0]))
    turned = seen.improved(np.array([2.0, 0.0]), np.array([1.0, 5.0]))  # H y is normal to s
    np.testing.assert_array_equal(turned, [1.0, 5.0])
