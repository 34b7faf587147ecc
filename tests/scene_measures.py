"""What tests measure of the built-in scenes: heights, angles, strains."""

from __future__ import annotations

import numpy as np

from stiffly.contracts import Array
from stiffly.scenes import Scene, bar, falling_cube


def bounce_period() -> float:
    """Of one bounce of the bar [s]: a wave runs down, up, down and up."""
    return 4.0 * bar.LENGTH / float(np.sqrt(bar.YOUNG / bar.DENSITY))


def bends(positions: Array, scene: Scene) -> Array:
    """(..., bristles) [m]: how far each tip is from where it would be on a straight bristle, from
    positions (..., N, 3)."""
    per = 4 * (int(scene.parameters.get("segments", 4)) + 1)
    shape = (*positions.shape[:-2], -1, per, 3)
    moved = positions.reshape(shape) - scene.x0.reshape(-1, per, 3)
    across = moved[..., -4:, :].mean(axis=-2) - moved[..., :4, :].mean(axis=-2)
    return np.linalg.norm(across, axis=-1)


def ear_height(positions: Array, rest: Array) -> Array:
    """Mean height (...) [m] of the topmost 5 %, from positions (..., N, 3) and the rest shape."""
    return positions[..., rest[:, 2] > 0.95 * rest[:, 2].max(), 2].mean(axis=-1)


def coil_height(positions: Array, section: int = 16) -> Array:
    """Mean height (...) [m] of the coil's last cross-section, from positions (..., N, 3)."""
    return positions[..., -section:, 2].mean(axis=-1)


def cube_height(positions: Array, mass: Array) -> Array:
    """(...) [m] of the falling cube above where it first touches: its centre of mass, from
    positions (..., N, 3) and mass (N,)."""
    return positions[..., 2] @ mass / mass.sum() - 0.5 * falling_cube.SIDE


def mast_height(positions: Array, scene: Scene) -> Array:
    """Mean height (...) [m] of the pylon's top, from positions (..., N, 3)."""
    assert scene.mesh is not None
    return positions[..., scene.mesh.vertex_sets["top"], 2].mean(axis=-1)


def turned(positions: Array, rest: Array, mass: Array) -> float:
    """Angle [degrees] about the vertical of the rotation that fits positions (N, 3) best to the
    rest shape (N, 3); mass (N,)."""
    a, b = (x - mass @ x / mass.sum() for x in (positions, rest))
    U, _, Vt = np.linalg.svd((mass[:, None] * b).T @ a)
    turn = Vt.T @ np.diag([1.0, 1.0, np.linalg.det(Vt.T @ U.T)]) @ U.T
    return float(np.degrees(np.arctan2(turn[1, 0], turn[0, 0])))


def swing(positions: Array, mass: Array) -> Array:
    """Angle (...) [degrees] of the centre of mass from hanging straight, the pins at the origin."""
    centre = np.einsum("n,...nk->...k", mass, positions) / mass.sum()
    return np.degrees(np.arctan2(centre[..., 0], -centre[..., 2]))


def girder_strains(positions: Array, scene: Scene) -> Array:
    """Of every girder of the tower's column (..., m), from positions (..., N, 3)."""
    assert scene.mesh is not None
    i, j = scene.mesh.edges[scene.mesh.edge_groups["upper"]].T
    lengths = np.linalg.norm(positions[..., j, :] - positions[..., i, :], axis=-1)
    return lengths / np.linalg.norm(scene.x0[j] - scene.x0[i], axis=-1) - 1.0
