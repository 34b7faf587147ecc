"""Damping that leaves the rigid motion alone.

Dinev, Liu & Kavan (2018), Eqs. 32-36, after Mueller et al. (2007): the best rigid motion of each
body, v_cm + omega x r, is kept, and a share k of everything else is taken after every step.
Linear and angular momentum of a free body are untouched.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ..contracts import Array, Power
from ..errors import InputError
from .checks import as_number
from .part import Arranged, Uncoupled
from .pattern import BlockPattern
from .terms import MomentumTerm


class MomentumDamping(Uncoupled):
    """rate [1/s]: non-rigid velocities decay as exp(-rate t), whatever the step; or
    per_step in [0, 1]: the paper's k, a share of them taken after every step of any size."""

    name = "momentum damping"

    def __init__(self, rate: float | None = None, *, per_step: float | None = None) -> None:
        if (rate is None) == (per_step is None):
            raise InputError("momentum damping: give either rate= (1/s) or per_step= (0 to 1)")
        name = "momentum damping rate" if per_step is None else "momentum damping per_step"
        value = as_number(name, rate if per_step is None else per_step, least=0.0)
        if per_step is not None and value > 1.0:
            raise InputError(f"{name} = {value:g}: give a share, 0 to 1")
        self._rate, self._per_step = (value, None) if per_step is None else (None, value)

    def share(self, h: float) -> float:
        """k of the paper for a step of h seconds."""
        return self._per_step if self._rate is None else -float(np.expm1(-self._rate * h))  # type: ignore[return-value]  # one of the two is given

    def prepare(self, particles: Arranged) -> PreparedMomentumDamping:
        if not particles.lumped:
            raise InputError("momentum damping needs a lumped mass: give mass=M.sum(axis=1)")
        mass = particles.mass[particles.order[: particles.free]]
        return PreparedMomentumDamping(self, particles.pattern, mass)


class PreparedMomentumDamping:
    def __init__(self, config: MomentumDamping, pattern: BlockPattern, mass: Array) -> None:
        """mass (n,): of the free particles, which are the first."""
        self._config, self._pattern, self._mass = config, pattern, mass

    @cached_property
    def _labels(self) -> np.ndarray:
        """Body of each free particle; read late, since other parts may couple all bodies."""
        bodies = self._pattern.bodies
        return np.zeros(self._mass.size, dtype=np.int64) if bodies is None else bodies.labels

    @cached_property
    def _total(self) -> Array:
        return np.bincount(self._labels, self._mass)

    def terms(self) -> list[MomentumTerm]:
        return [MomentumTerm(self._labels, self._config.share)]

    def settle(self, t: float, h: float, x: Array, v: Array) -> Power:
        n = self._mass.size
        v[:n] -= self._config.share(h) * (v[:n] - self._rigid(x[:n], v[:n]))
        return Power()

    def _rigid(self, x: Array, v: Array) -> Array:
        """v_cm + omega x r of each particle's body."""
        body, m = self._labels, self._mass[:, None]
        r = x - (self._sum(m * x) / self._total[:, None])[body]
        v_cm = self._sum(m * v) / self._total[:, None]
        # less the mean: a single particle is off its centre by rounding, and would turn about it
        L = self._sum(np.cross(r, m * (v - v_cm[body])))
        square = np.einsum("ij,ij->i", r, r)
        inertia = m[:, :, None] * (square[:, None, None] * np.eye(3) - r[:, :, None] * r[:, None])
        I_cm = self._sum(inertia.reshape(-1, 9)).reshape(-1, 3, 3)
        # a straight or single-particle body has no inertia about its axis: nothing turns there
        omega = np.einsum("bij,bj->bi", np.linalg.pinv(I_cm, rcond=1e-12, hermitian=True), L)
        return v_cm[body] + np.cross(omega[body], r)

    def _sum(self, values: Array) -> Array:
        """Sums (bodies, c) of values (n, c) over each body."""
        columns = [np.bincount(self._labels, column) for column in values.T]
        return np.stack(columns, axis=1)
