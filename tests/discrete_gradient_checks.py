"""What every discrete gradient must satisfy, checked for one prepared part at two states."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

Array = Any
DIGITS = 1e-12


def mean_gradient(part: Any, x0: Array, x1: Array) -> Array:
    out = np.zeros_like(x0)
    part.add_mean_gradient(x0, x1, out)
    return out


def gradient(part: Any, x: Array) -> Array:
    out = np.zeros_like(x)
    part.add_gradient(x, out)
    return out


def dense(pattern: Any, blocks: Array) -> Array:
    """Blocks (nnz, 3, 3) of the free particles as one matrix."""
    n = len(pattern.indptr) - 1
    matrix = np.zeros((n, 3, n, 3))
    rows = np.repeat(np.arange(n), np.diff(pattern.indptr))
    matrix[rows, :, pattern.indices, :] = blocks
    return matrix.reshape(3 * n, 3 * n)


def mean_matrix(part: Any, pattern: Any, x0: Array, x1: Array) -> Array:
    """dg/dx1 of the free particles."""
    blocks = np.zeros((pattern.nnz, 3, 3))
    part.add_mean_blocks(x0, x1, blocks)
    return dense(pattern, blocks)


def differences(function: Any, x: Array, e: float) -> Array:
    """df/dx by central differences of fourth order; the last axis counts coordinates."""
    columns = []
    for step in np.eye(x.size).reshape(-1, *x.shape):
        near = function(x + e * step) - function(x - e * step)
        far = function(x + 2 * e * step) - function(x - 2 * e * step)
        columns.append((8 * near - far) / (12 * e))
    return np.stack(columns, axis=-1)


def check_energy(part: Any, x0: Array, x1: Array, digits: float = DIGITS) -> None:
    """g.(x1 - x0) = E(x1) - E(x0), relative to what is added up."""
    g, dx = mean_gradient(part, x0, x1), x1 - x0
    before, after = part.energy(x0), part.energy(x1)
    scale = abs(before) + abs(after) + np.abs(g * dx).sum()
    assert abs(np.vdot(g, dx) - (after - before)) <= digits * scale


def check_symmetry(part: Any, x0: Array, x1: Array, digits: float = DIGITS) -> None:
    g = mean_gradient(part, x0, x1)
    scale = np.abs(g).max(initial=1e-300)
    np.testing.assert_allclose(mean_gradient(part, x1, x0), g, rtol=0.0, atol=digits * scale)


def check_momenta(part: Any, x0: Array, x1: Array, digits: float = DIGITS) -> None:
    """No resultant, no torque about the middle."""
    g, middle = mean_gradient(part, x0, x1), 0.5 * (x0 + x1)
    arms = middle - middle.mean(axis=0)
    scale = np.abs(g).sum()
    np.testing.assert_allclose(g.sum(axis=0), 0.0, atol=digits * scale)
    torque = np.cross(arms, g).sum(axis=0)
    np.testing.assert_allclose(torque, 0.0, atol=digits * scale * (1.0 + np.abs(arms).max()))


def check_turned(part: Any, x0: Array, x1: Array, digits: float = DIGITS) -> None:
    """Both states turned and shifted together: the gradient turns with them."""
    R = Rotation.random(random_state=7).as_matrix()
    g = mean_gradient(part, x0, x1)
    turned = mean_gradient(part, x0 @ R.T + 0.3, x1 @ R.T + 0.3)
    scale = np.abs(g).max(initial=1e-300)
    np.testing.assert_allclose(turned, g @ R.T, rtol=0.0, atol=10 * digits * scale)


def check_consistency(part: Any, x: Array, digits: float = DIGITS) -> None:
    """g = dE/dx where both states are one, and to second order where they are close: also where
    they differ in their last digits only, and a quotient of differences would be noise."""
    g = gradient(part, x)
    scale = np.abs(g).max(initial=1e-300)
    np.testing.assert_allclose(mean_gradient(part, x, x), g, rtol=0.0, atol=digits * scale)
    step = np.random.default_rng(3).standard_normal(x.shape)
    for size in (1e-9, 1e-12, 1e-14, 1e-15, 1e-16):
        near = mean_gradient(part, x - 0.5 * size * step, x + 0.5 * size * step)
        np.testing.assert_allclose(near, g, rtol=0.0, atol=digits * scale)


def check_everything(part: Any, x0: Array, x1: Array, digits: float = DIGITS) -> None:
    for check in (check_energy, check_symmetry, check_momenta, check_turned):
        check(part, x0, x1, digits)


def jacobian_error(part: Any, pattern: Any, x0: Array, x1: Array, e: float = 1e-4) -> float:
    """Largest deviation of dg/dx1 from differences, relative to its largest entry; all free."""
    exact = mean_matrix(part, pattern, x0, x1)
    expected = differences(lambda x: mean_gradient(part, x0, x).ravel(), x1, e)
    return float(np.abs(exact - expected).max() / np.abs(exact).max())
