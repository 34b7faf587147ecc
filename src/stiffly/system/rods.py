"""Springs taken as rods: a method keeps their lengths, and no force of theirs acts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..contracts import Array, State
from ..errors import InputError
from ..parts.springs import PreparedSprings
from .assembly import Assembly

if TYPE_CHECKING:
    from .system import System


@dataclass(frozen=True)
class Rods:
    """edges (m, 2) by row, each with a free end; lengths (m,) [m] > 0, as they are now.

    weights (N,): 1/mass [1/kg] by row, zero where a particle is held.
    body: the same body under all other forces.
    """

    body: System
    edges: np.ndarray
    lengths: Array
    weights: Array


def as_rods(system: System, s: State, names: tuple[str, ...] = ()) -> Rods:
    """The springs of these names, all by default, as rods of the lengths that they have in s;
    InputError where that cannot be."""
    chosen = [
        (name, part)
        for name, part in system.at(s).parts
        if isinstance(part, PreparedSprings) and (not names or name in names)
    ]
    missing = [name for name in names if name not in dict(chosen)]
    if missing or not chosen:
        which = f"named {missing[0]}" if missing else "at all"
        raise InputError(f"there are no springs {which}: rods are made of Springs; add some")
    if system.supports:
        raise InputError(
            "supports that move do work through rods, which no ledger sees: hold them with fixed=, "
            "or use energy-momentum"
        )
    mass = system.particle_mass
    if mass is None:
        raise InputError("rods need a lumped mass: give mass=M.sum(axis=1)")
    mass = mass[system.numbering.order]
    edges = np.concatenate([part.edges for _, part in chosen])
    lengths = np.concatenate([part.rest for _, part in chosen])
    if not (lengths > 0.0).all():
        raise InputError("a spring of rest length zero is no rod: give l > 0, or name the others")
    weights = np.divide(1.0, mass, out=np.zeros_like(mass), where=mass > 0.0)
    moves = weights[edges].any(axis=1)
    if not moves.any():
        raise InputError("no spring has a free end: there is no length to keep; hold fewer")
    kept = [
        (name, part)
        for name, part in system.assembly.parts
        if not (name in dict(chosen) and isinstance(part, PreparedSprings))
    ]
    return Rods(system.having(Assembly(kept)), edges[moves], lengths[moves], weights)
