"""Friction after the step.

Dinev, Liu, Kavan 2018, Eq. 39, applies friction to the velocities once the step is done: a share
k_f of what the collision forces changed the velocity by in the step is taken from the tangential
velocity.  A frictionless collision force has no tangential component of its own, so it is read
here as Coulomb's law: along the surface, a particle loses at most k_f h f_n / m, with f_n the
normal force at the end of the step, in the direction it slides in, and never more than it has.
So it stops instead of turning round, and one that slides on a level plane loses k_f g every
second.  On a slope a of less than atan(k_f) a body does not accelerate; since the step itself knows
no friction, it creeps down with h g sin(a) / 2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..contracts import Array, Power


def slide(relative: Array, normals: Array) -> Array:
    """The part of velocities relative to the surface (k, 3) that lies in it; unit normals."""
    return relative - np.einsum("ij,ij->i", relative, normals)[:, None] * normals


def friction_change(relative: Array, normals: Array, most: Array) -> Array:
    """Change (k, 3) [m/s] of velocities relative to the surface: against the slide, at most
    `most` (k,) [m/s] and at most to a stop."""
    along = slide(relative, normals)
    speed = np.sqrt(np.einsum("ij,ij->i", along, along))
    moving = speed > 0.0
    share = np.minimum(1.0, most / np.where(moving, speed, 1.0))
    return -np.where(moving, share, 0.0)[:, None] * along


class Rubbed(NamedTuple):
    """Work [J] of surfaces that move, and the change of kinetic energy."""

    work: float = 0.0
    change: float = 0.0

    def booked(self) -> Power:
        """The System books the change of kinetic energy as one number, dissipated or added.  The
        heat is the work less the change; what is returned on both sides of the ledger makes both
        appear as such."""
        both = self.work if self.change <= 0.0 else self.work - self.change
        return Power(added=both, dissipated=both)


def rubbed(mass: Array, before: Array, after: Array, surface: Array) -> Rubbed:
    """By surfaces with velocities u (k, 3): m (v+ - v).u, mass (k,), velocities (k, 3)."""
    work = float(np.einsum("i,ij,ij->", mass, after - before, surface))
    return Rubbed(work, 0.5 * float(np.einsum("i,ij,ij->", mass, after - before, after + before)))
