"""What experiments measure of the built-in scenes: lengths, heights, strains, areas, a bound."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq

from stiffly.contracts import Array
from stiffly.scenes import Scene

CACTUS_HEIGHT = 0.5  # [m]
COIL_HEIGHT = 16.0  # [m]
CLOTH_SIDE, CLOTH_DENSITY = 4.0, 0.2  # [m], [kg/m^2]
CLOTH_SHAKEN = 3.0  # [s]: so long the cloth's corner moves
SPHERE_RADIUS = 0.1  # [m]
TUBE = 0.15  # [m]: radius of the tori's tube
ROPE_LENGTH = 1.0  # [m]
LONG_REST = float(np.sqrt(2.0))  # [m]: of either of the two springs


def lengths(positions: Array, scene: Scene) -> Array:
    """Of the mesh's edges (..., m) [m], from positions (..., N, 3)."""
    assert scene.mesh is not None
    i, j = scene.mesh.edges.T
    return np.linalg.norm(positions[..., j, :] - positions[..., i, :], axis=-1)


def largest_strain(positions: Array, scene: Scene) -> float:
    """Of any spring at any time, from positions (frames, N, 3)."""
    return float((lengths(positions, scene) / lengths(scene.x0, scene) - 1.0).max())


def rope_strains(positions: Array) -> Array:
    """Of every link of the rope (..., N - 1), from positions (..., N, 3)."""
    links = np.linalg.norm(np.diff(positions, axis=-2), axis=-1)
    return links * (positions.shape[-2] - 1) / ROPE_LENGTH - 1.0


def deformation(positions: Array, scene: Scene) -> Array:
    """Root mean square distance (...) [m] of the particles from where they start."""
    return np.sqrt(((positions - scene.x0) ** 2).sum(axis=-1).mean(axis=-1))


def distance_from_shape(positions: Array, rest: Array) -> float:
    """Largest distance [m] of a vertex from the rest shape, moved and turned to fit best."""
    a, b = positions - positions.mean(axis=0), rest - rest.mean(axis=0)
    U, _, Vt = np.linalg.svd(b.T @ a)
    turn = Vt.T @ np.diag([1.0, 1.0, np.linalg.det(Vt.T @ U.T)]) @ U.T
    return float(np.linalg.norm(a - b @ turn.T, axis=1).max())


def area(positions: Array, triangles: np.ndarray) -> Array:
    """Area (...) [m^2] of triangles (s, 3), from positions (..., N, 3)."""
    a, b, c = (positions[..., triangles[:, k], :] for k in range(3))
    return 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=-1).sum(axis=-1)


def sphere_height(positions: Array) -> Array:
    """Height (...) [m] of the centre above where it is when the sphere touches the floor."""
    return positions[..., 2].mean(axis=-1) - SPHERE_RADIUS


def tori_heights(positions: Array, count: int) -> Array:
    """(..., count) [m] of each torus above where it first touches, from positions (..., N, 3)."""
    each = positions[..., 2].reshape(*positions.shape[:-2], count, -1)
    return each.mean(axis=-1) - TUBE


# ------------------------------------------------------------------ between two springs


def potential(x: Array | float, stiffness: float = 1.0) -> Array:
    """E_test [J] of the scene two-springs."""
    return stiffness * (np.sqrt(np.square(x) + 1.0) - LONG_REST) ** 2


def slope(x: Array | float, stiffness: float = 1.0) -> Array:
    """E_test' [N]."""
    length = np.sqrt(np.square(x) + 1.0)
    return 2.0 * stiffness * (length - LONG_REST) * x / length


def reach() -> float:
    """beta [m]: from beyond it, no step of backward Euler that ends in [-1, 1] gains energy.

    E_test(beta) = E_test(0) + (beta + 1) max E_test' over [-1, 1]; both sides are linear in k.
    """
    # E_test'' = 2 k (1 - sqrt(2)/L^3) is zero where the springs are L = 2^(1/6) long
    steepest = slope(-np.sqrt(2.0 ** (1.0 / 3.0) - 1.0))
    root: Any = brentq(lambda b: potential(b) - potential(0.0) - (b + 1.0) * steepest, 1.0, 10.0)
    return float(root)


def bound(start: float, stiffness: float, mass: float, h: float) -> float:
    """max(H_0, H_c) [J], above which backward Euler with step h [s] never comes."""
    return max(start, float(potential(0.0, stiffness)) + 0.5 * mass * ((reach() + 1.0) / h) ** 2)
