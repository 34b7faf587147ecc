"""A potential that the user writes in plain Python."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ..contracts import Array
from ..errors import InputError, StiffWarning, accepts, levels_up
from ..kernels.names import NO_SLOT
from .checks import as_elements
from .part import Arranged, Particles
from .pattern import unique_pairs
from .user_functions import directional_derivative, step_for

ALL_PAIRS = 150  # without couples=, every particle may depend on every other: up to this many


class Potential:
    """energy(x) -> joules for all positions x (N, 3); gradient(x) -> (N, 3) [N], if you have it.

    couples (m, 2): the pairs of particles whose forces depend on each other; () where each
    particle feels its own place only (an external field).  Without it all pairs count, which
    needs 6 N gradients for a tangent and is refused above 150 particles.
    Without gradient, central differences of the energy stand in, with a warning.
    """

    def __init__(
        self,
        energy: Callable[[Array], float],
        gradient: Callable[[Array], Any] | None = None,
        *,
        couples: Any = None,
        name: str = "potential",
    ) -> None:
        for function in (energy, gradient):
            given = function is not None or function is energy
            if given and not accepts(function, 1):
                raise InputError("potential: energy and gradient must be functions of x (N, 3)")
        self.name, self._energy, self._gradient = name, energy, gradient
        self._couples = couples
        if couples is not None:
            self._couples = as_elements("couple", couples, 2)

    def couples(self, particles: Particles) -> np.ndarray:
        if self._couples is None:
            if particles.count > ALL_PAIRS:
                raise InputError(
                    f"potential {self.name!r} on {particles.count} particles: say which depend on "
                    "each other with couples=pairs, or couples=() for an external field"
                )
            return np.stack(np.triu_indices(particles.count, 1), axis=1)
        pairs = self._couples
        if pairs.size and pairs.max() >= particles.count:
            raise InputError(
                f"potential {self.name!r} couples particle {pairs.max()}: there are "
                f"{particles.count}, numbered 0 to {particles.count - 1}"
            )
        return pairs

    def prepare(self, particles: Arranged) -> PreparedPotential:
        if self._gradient is None:
            warnings.warn(
                f"potential {self.name!r} has no gradient: differences of the energy cost "
                f"{6 * particles.count} evaluations per force, and their squares per tangent; "
                "give gradient=, and couples=() for an external field",
                StiffWarning,
                stacklevel=levels_up(),
            )
        prepared = PreparedPotential(self, particles)
        if particles.rest is not None:
            prepared.check(particles.rest[particles.order])
        return prepared


class PreparedPotential:
    linear = bounded = pairwise = False

    def __init__(self, config: Potential, particles: Arranged) -> None:
        self._name, self._energy = config.name, config._energy
        self._user_gradient = config._gradient
        # users get positions as they number them, and a copy: nothing they do moves the body
        self._given, self._order = particles.rows, particles.order
        couples = config.couples(particles)
        pairs = unique_pairs(particles.rows[couples], particles.count)
        own = np.arange(particles.count)
        self._rows = np.concatenate([own, pairs[:, 0], pairs[:, 1]])
        self._columns = np.concatenate([own, pairs[:, 1], pairs[:, 0]])
        self._mirror = np.concatenate(
            [own, len(own) + len(pairs) + np.arange(len(pairs)), len(own) + np.arange(len(pairs))]
        )
        self._slots = particles.pattern.slots(self._rows, self._columns)
        self._colours = _colours(pairs, particles.count)

    def energy(self, x: Array) -> float:
        try:
            value = self._energy(x[self._given])
        except OverflowError:  # what Python says of numbers that NumPy calls infinite
            return np.inf
        if np.ndim(value) != 0 or value is None:
            shape = type(value).__name__ if value is None else np.shape(value)
            raise InputError(
                f"potential {self._name!r}: energy(x) returned {shape}, but one number is needed"
            )
        return float(value)

    def _gradient(self, x: Array) -> Array:
        if self._user_gradient is None:
            return self._differences(x)
        g = np.array(self._user_gradient(x[self._given]), dtype=np.float64)
        if g.shape != x.shape:
            raise InputError(
                f"potential {self._name!r}: gradient returned shape {g.shape}, but {x.shape} is "
                "needed"
            )
        return g[self._order]

    def _differences(self, x: Array) -> Array:
        e, g = step_for(x), np.empty_like(x)
        moved = x.copy()
        for index in np.ndindex(x.shape):
            moved[index] = x[index] + e
            ahead = self.energy(moved)
            moved[index] = x[index] - e
            g[index] = (ahead - self.energy(moved)) / (2.0 * e)
            moved[index] = x[index]
        return g

    def add_gradient(self, x: Array, out: Array) -> None:
        out += self._gradient(x)

    def add_blocks(self, x: Array, blocks: Array, pressed: Array) -> None:
        """Differences of the gradient: particles that share no neighbour move together."""
        H = np.empty((self._rows.size, 3, 3))
        of_column = self._colours[self._columns]
        for colour in range(self._colours.max(initial=-1) + 1):
            own = np.flatnonzero(of_column == colour)
            for axis in range(3):
                b = np.zeros_like(x)
                b[self._colours == colour, axis] = 1.0
                H[own, :, axis] = directional_derivative(self._gradient, x, b)[self._rows[own]]
        H = 0.5 * (H + H[self._mirror].transpose(0, 2, 1))
        kept = self._slots != NO_SLOT
        np.add.at(blocks, self._slots[kept], H[kept])

    def check(self, x: Array) -> None:
        """At the rest shape: a number comes back, and the gradient belongs to the energy."""
        energy = self.energy(x)
        if not np.isfinite(energy):
            raise InputError(
                f"potential {self._name!r}: energy(x) is {energy} at the rest shape, but must be "
                "finite"
            )
        g = self._gradient(x)
        b = np.random.default_rng(0).standard_normal(x.shape)
        slope = float(directional_derivative(self.energy, x, b))
        scale = np.linalg.norm(g) * np.linalg.norm(b) + abs(slope)
        rounding = 1e-15 * abs(energy) / step_for(x)
        if abs(slope - np.vdot(g, b)) > 1e-3 * scale + rounding:
            warnings.warn(
                f"potential {self._name!r}: gradient is not that of energy (along a test "
                f"direction {np.vdot(g, b):.3g} against {slope:.3g}); check its sign and shape",
                StiffWarning,
                stacklevel=levels_up(),
            )


def _colours(pairs: np.ndarray, count: int) -> np.ndarray:
    """Greedy colours (N,): two particles with a common neighbour, or coupled, never share one."""
    near: list[set[int]] = [{i} for i in range(count)]
    for i, j in pairs.tolist():
        near[i].add(j)
        near[j].add(i)
    colours = np.full(count, -1)
    for i in range(count):
        taken = {colours[k] for j in near[i] for k in near[j]}
        colours[i] = next(c for c in range(count + 1) if c not in taken)
    return colours
