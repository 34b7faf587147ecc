"""Linear models, mode by mode: any number of steps of any one-step method, in closed form.

Where K is constant, a body released at rest in a constant field falls apart into oscillators
y'' = omega^2 (1 - y), y the displacement in units of the mode's static deflection.  A one-step
method moves (y, w), w = y'/omega, by an affine map that depends on omega and h alone.  The maps are
read off one step of the integrator itself, run on the oscillators; N steps are the N-th power.
That makes 400 s at steps of microseconds affordable, and loses no digit to 10^9 roundings.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import diags
from scipy.sparse.linalg import eigsh

from stiffly import SecondOrder
from stiffly.contracts import Array, State
from stiffly.integrators import integrator as find_integrator
from stiffly.scenes import Scene

BATCH = 64  # oscillators at a time: matrix functions of so few are computed in their eigenbasis
STIFF = 1e3  # omega h from which on an implicit step is taken for its limit, right to 1 / STIFF
STARTS = ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0))  # (y, w): they span all affine maps


@dataclass(frozen=True)
class Modes:
    """omega (n,) [1/s], ascending; deflection (n,): the modes' static displacements, in the norm
    |u|^2 = u^T M u; shapes (n, n): columns are modes, orthonormal in it."""

    omega: Array
    deflection: Array
    shapes: Array

    @property
    def energy(self) -> Array:
        """What each mode holds when released from rest [J]."""
        return 0.5 * (self.omega * self.deflection) ** 2

    def main(self, share: float = 1e-2) -> Array:
        """The frequencies [1/s] that hold at least that share of the energy."""
        return self.omega[self.energy >= share * self.energy.sum()]


def modes_of(scene: Scene) -> Modes:
    """Of a scene at rest with a constant K and a constant load."""
    system, start = scene.system.bind(scene.x0, scene.v0)
    M, K = (system.tangent(start).matrix(*parts) for parts in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
    root = np.sqrt(M.diagonal())  # masses are lumped
    squares, q = eigh(K.toarray() / np.outer(root, root), overwrite_a=True, driver="evd")
    load = q.T @ (root * system.acceleration(start))
    return Modes(np.sqrt(squares), load / squares, q / root[:, None])


def fastest(scene: Scene) -> float:
    """Of the modes of a scene where it starts [rad/s]."""
    system, start = scene.system.bind(scene.x0, scene.v0)
    M, K = (system.tangent(start).matrix(*parts) for parts in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
    root = diags(1.0 / np.sqrt(M.diagonal()))
    highest = eigsh(
        root @ K @ root, 1, which="LA", return_eigenvectors=False, v0=np.ones(len(start.x))
    )
    return float(np.sqrt(highest[0]))


def step_maps(method: Any, omega: Array, h: float) -> Array:
    """(n, 3, 3): what one step makes of (y, w, 1)."""
    stepper: Any = find_integrator(method)
    if hasattr(stepper, "basis"):  # entries of a diagonal matrix are no rounded ones: none is lost
        stepper = replace(stepper, method="dense")
    z = omega * h
    if hasattr(stepper, "solver"):  # beyond, rounding exceeds the residual that is asked for
        z = np.minimum(z, STIFF)
    batches = np.array_split(z, -(-z.size // BATCH))
    return np.concatenate([_batch(stepper, part) for part in batches])


def _batch(method: Any, z: Array) -> Array:
    """Time is counted in steps: a map depends on z = omega h alone."""
    square = z * z
    system = SecondOrder(stiffness=np.diag(square), force=lambda x: square, jacobian=0)
    ends = []
    for y, w in STARTS:
        bound, start = system.bind(np.full(z.size, y), w * z)
        end: State = method.step(bound, start, 1.0, method.start(bound, start)).state
        ends.append((end.x, end.v / z))
    zero, first, second = np.array(ends)  # each (2, n)
    maps = np.zeros((z.size, 3, 3))
    maps[:, :2, 0], maps[:, :2, 1], maps[:, :2, 2] = (first - zero).T, (second - zero).T, zero.T
    maps[:, 2, 2] = 1.0
    return maps


def after(maps: Array, steps: int) -> Array:
    """(n, 2): y and w after that many steps from rest; not finite where a mode grew too far."""
    with np.errstate(all="ignore"):
        return np.linalg.matrix_power(maps, steps)[:, :2, 2]


def exact(omega: Array, t: float) -> Array:
    """(n, 2): y and w at time t."""
    return np.stack((1.0 - np.cos(omega * t), np.sin(omega * t)), axis=1)


def energies(modes: Modes, maps: Array, steps: int, frames: int) -> Array:
    """(frames + 1,): energy above the equilibrium, over the initial one, every `steps` steps."""
    found = []
    with np.errstate(all="ignore"):
        leap = np.linalg.matrix_power(maps, steps)
        state = np.tile([0.0, 0.0, 1.0], (len(maps), 1))
        for _ in range(frames + 1):
            shares = modes.energy * ((state[:, 0] - 1.0) ** 2 + state[:, 1] ** 2)
            found.append(shares.sum() / modes.energy.sum())
            state = np.einsum("nij,nj->ni", leap, state)
    return np.array(found)


def deviation(modes: Modes, found: Array, truth: Array) -> tuple[float, float]:
    """Errors of displacement and velocity of the whole body, relative to the static displacement
    and to the velocity with which the body passes it."""
    u, v = (scale[:, None] for scale in (modes.deflection, modes.deflection * modes.omega))
    with np.errstate(all="ignore"):
        x_error = np.linalg.norm(u[:, 0] * (found - truth)[:, 0]) / np.linalg.norm(u)
        v_error = np.linalg.norm(v[:, 0] * (found - truth)[:, 1]) / np.linalg.norm(v)
    return float(x_error), float(v_error)
