"""The angular momentum of bodies that nothing holds, turns or damps: it never changes.

Blending two states, or an iteration that stops early, loses some of it.  It comes back as a rigid
rotation, the smallest change of the velocities that has the momentum (in the norm of the mass):

    v+ = v + w x (x - c),   J w = L0 - L,   J the inertia about the centre of mass c

A System without `free_bodies`, or with something else than particles in space, has no Spin.
"""

from __future__ import annotations

import numpy as np

from ..contracts import Array, State, System

FAINT = 1e-9  # of sum m |r| |u|: what Newton's tolerance leaves


class Spin:
    """Of each body about its own centre of mass, as it was at the start."""

    unsaved = ()

    def __init__(self, bodies: Array, mass: Array, state: State) -> None:
        """bodies, mass (N,): each particle's body from 0 on, and its mass [kg]."""
        self._bodies, self._mass = bodies, mass[:, None]
        self._count = int(bodies.max()) + 1
        self._total = self._sums(self._mass)
        _, self._kept, _ = self._measure(state)

    @staticmethod
    def of(system: System, state: State) -> Spin | None:
        bodies = getattr(system, "free_bodies", None)
        if bodies is None:
            return None
        return Spin(bodies, system.mass.apply(np.ones(system.size))[::3], state)

    def restored(self, state: State) -> State:
        """With the angular momentum of the start; the state itself where it has it."""
        r, now, scale = self._measure(state)
        lost = self._kept - now
        if not np.max(np.abs(lost) - FAINT * scale) > 0.0:  # also where it is not a number
            return state
        inertia = self._inertia(r)
        if not np.isfinite(inertia).all() or not np.isfinite(lost).all():
            return state
        # a straight line of particles has no inertia about itself, and no momentum either
        rate = np.einsum("bij,bj->bi", np.linalg.pinv(inertia, hermitian=True), lost)
        v = state.v.reshape(-1, 3) + np.cross(rate[self._bodies], r)
        return state.moved(state.t, state.x, v.ravel())

    def _measure(self, state: State) -> tuple[Array, Array, Array]:
        """r (N, 3) from the centres, L (bodies, 3), and what it would be without signs."""
        x, v = state.x.reshape(-1, 3), state.v.reshape(-1, 3)
        r = x - (self._sums(self._mass * x) / self._total)[self._bodies]
        u = v - (self._sums(self._mass * v) / self._total)[self._bodies]
        reach = np.sqrt(np.einsum("ij,ij->i", r, r) * np.einsum("ij,ij->i", u, u))
        turning = self._sums(self._mass * np.cross(r, u))
        return r, turning, self._sums(self._mass * reach[:, None])

    def _inertia(self, r: Array) -> Array:
        """(bodies, 3, 3) [kg m^2]."""
        square = np.einsum("ij,ij->i", r, r)[:, None]
        outer = np.einsum("ni,nj->nij", r, r).reshape(-1, 9)
        return self._sums(self._mass * (square * np.eye(3).ravel() - outer)).reshape(-1, 3, 3)

    def _sums(self, values: Array) -> Array:
        """(N, k) over the particles of each body: (bodies, k)."""
        if self._count == 1:
            return values.sum(axis=0, keepdims=True)
        columns = [np.bincount(self._bodies, column, self._count) for column in values.T]
        return np.stack(columns, axis=1)
