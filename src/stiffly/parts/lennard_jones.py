"""Forces between atoms that are not bonded."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import KDTree

from ..backends.cpu import CPU
from ..backends.kernels import take
from ..contracts import Array, Backend
from ..errors import InputError
from .checks import as_array, as_number, as_numbers, per_element
from .part import NO_PAIRS, Arranged, Particles
from .pattern import sorted_unique
from .terms import AtomTerm

SWITCH = 0.9  # of the cutoff: where the potential starts to fade
SKIN = 0.2  # of the cutoff: how much farther than it the neighbour list reaches
CLOSEST = 0.3  # of sigma: atoms nearer than this are an error of the input, not physics
LARGEST = 1e150  # no squares beyond: a cutoff larger than this is none

ALL_PAIRS = ("lj_energy", "lj_gradient", "lj_product")
LISTED = ("lj_list_energy", "lj_list_gradient", "lj_list_product", "neighbour_list")
BOTH = ("lj_blocks", "lj_mean_gradient", "lj_mean_blocks")


class LennardJones:
    """E = sum over pairs of 4 epsilon ((sigma/r)^12 - (sigma/r)^6) (Griebel et al. 2007).

    epsilon (depth of the well, energy), sigma (length): one number or (N,) per atom; pairs mix
    them as sigma = (sigma_i + sigma_j)/2, epsilon = sqrt(epsilon_i epsilon_j) (Lorentz-Berthelot).
    Units are the caller's: J and m, or those of bodies.molecules.
    exclude (m, 2): pairs without this force, usually the bonded ones (see `bonded_pairs`).
    cutoff: None for all pairs; else the potential fades to zero between 0.9 and 1.0 of it, times
    1 - 10 t^3 + 15 t^4 - 6 t^5, t in 0..1 linear in r^2: energy, force and tangent are continuous,
    and below 0.9 of the cutoff nothing changes. All pairs use the vector unit: a cutoff of 8
    angstrom pays from 1000 atoms on, one of 12 from 2500.
    """

    def __init__(
        self,
        epsilon: Any,
        sigma: Any,
        *,
        exclude: Any = None,
        cutoff: float | None = None,
        name: str = "lennard-jones",
    ) -> None:
        self.epsilon = _not_below("epsilon", as_numbers("epsilon", epsilon), 0.0)
        self.sigma = _not_below("sigma", as_numbers("sigma", sigma), np.finfo(float).tiny)
        self.exclude = _as_pairs(exclude)
        self.cutoff = None
        if cutoff is not None:
            self.cutoff = as_number("cutoff", cutoff, above=0.0)
            if self.sigma.size and self.cutoff < CLOSEST * self.sigma.min():
                raise InputError(f"cutoff = {cutoff:g}: give a few sigma, or None for all pairs")
            if self.cutoff > LARGEST:
                self.cutoff = None
        self.name = name

    def couples(self, particles: Particles) -> np.ndarray:
        if self.exclude.size and self.exclude.max() >= particles.count:
            k = int(np.argmax((self.exclude >= particles.count).any(axis=1)))
            i, j = self.exclude[k]
            raise InputError(
                f"excluded pair {k} ({i}-{j}): there are only {particles.count} particles; "
                f"number them 0 to {particles.count - 1}"
            )
        return NO_PAIRS  # every atom meets every other: no fixed pattern

    def prepare(self, particles: Arranged) -> PreparedLennardJones:
        epsilon = per_element("epsilon", self.epsilon, particles.count)
        sigma = per_element("sigma", self.sigma, particles.count)
        if particles.rest is not None:
            require_apart(particles.rest, sigma, exclude=self.exclude)
        return PreparedLennardJones(
            epsilon, sigma, self.exclude, self.cutoff, particles.pattern.backend, particles.order
        )


class PreparedLennardJones:
    """A MatrixFreePart: atoms that move change who is near whom."""

    internal = True

    def __init__(
        self,
        epsilon: Array,
        sigma: Array,
        exclude: np.ndarray,
        cutoff: float | None,
        backend: Backend = CPU,
        order: np.ndarray | None = None,
    ) -> None:
        """order (N,): the atom of each row of positions, where that is not its number."""
        self.count = len(sigma)
        order = np.arange(self.count) if order is None else order
        rows = np.argsort(order)
        self._unchecked: Any = (rows, sigma, exclude)  # until the first positions have come
        self.cutoff = cutoff
        self._pairs: Any = None
        self._switch: Any = (np.inf, 1.0)
        self._mixing = (0.5 * sigma[order], np.sqrt(epsilon[order]))
        self._excluded = _partners(rows[_as_pairs(exclude)], self.count)
        self._built: Array | None = None  # positions for which _neighbours is exact
        self._neighbours: Any = None
        own = ALL_PAIRS if cutoff is None else LISTED
        self._kernels = take(backend, "LennardJones", *own, *BOTH)
        self._energy, self._gradient, self._product = (getattr(self._kernels, n) for n in own[:3])
        if cutoff is None:
            self._pairs = _runs(*self._excluded, self.count)
        else:
            inner = (SWITCH * cutoff) ** 2
            self._switch = (inner, 1.0 / (cutoff**2 - inner))

    def terms(self) -> list[AtomTerm]:
        cutoff = np.inf if self.cutoff is None else self.cutoff
        return [AtomTerm(*self._mixing, *self._excluded, cutoff)]

    def energy(self, x: Array) -> float:
        return self._energy(x, *self._pairs_near(x))

    def add_gradient(self, x: Array, out: Array) -> None:
        self._gradient(x, *self._pairs_near(x), out)

    def add_product(self, x: Array, b: Array, out: Array) -> None:
        self._product(x, b, *self._pairs_near(x), out)

    def triplets(self, x: Array) -> tuple[np.ndarray, np.ndarray, Array]:
        return self._entries(self._kernels.lj_blocks, self._list(x), x)

    def add_mean_gradient(self, x0: Array, x1: Array, out: Array) -> None:
        pairs = self._pairs_near_either(x0, x1)
        self._kernels.lj_mean_gradient(x0, x1, *self._mixing, *pairs, *self._switch, out)

    def mean_triplets(self, x0: Array, x1: Array) -> tuple[np.ndarray, np.ndarray, Array]:
        pairs = self._pairs_near_either(x0, x1)
        return self._entries(self._kernels.lj_mean_blocks, pairs, x0, x1)

    def _entries(
        self, kernel: Any, pairs: tuple[np.ndarray, np.ndarray], *x: Array
    ) -> tuple[np.ndarray, np.ndarray, Array]:
        """Rows, columns and blocks that the kernel finds for these pairs."""
        (start, neighbour), atoms = pairs, np.arange(self.count)
        coupling, own = np.empty((len(neighbour), 3, 3)), np.empty((self.count, 3, 3))
        kernel(*x, *self._mixing, *pairs, *self._switch, coupling, own)
        rows = np.repeat(atoms, np.diff(start.astype(np.int64)))
        return (
            np.concatenate([rows, atoms]),
            np.concatenate([neighbour.astype(np.int64), atoms]),
            np.concatenate([coupling, own]),
        )

    def _pairs_near_either(self, x0: Array, x1: Array) -> tuple[np.ndarray, np.ndarray]:
        """A list of every pair that is within the cutoff at x0 or at x1."""
        first = self._list(x0)
        if self.cutoff is None or self._serves(x1):
            return first
        second = self._list(x1)
        if self._serves(x0):
            return second
        keys = [
            np.repeat(np.arange(self.count), np.diff(start.astype(np.int64))) * self.count + partner
            for start, partner in (first, second)
        ]
        both = sorted_unique(np.concatenate(keys))
        start = np.searchsorted(both, np.arange(self.count + 1) * self.count)
        return start.astype(np.uint32), (both % self.count).astype(np.uint32)

    def _serves(self, x: Array) -> bool:
        """The list holds every pair within the cutoff at x: no atom has moved half a skin since."""
        if self._built is None or self.cutoff is None:
            return False
        moved = np.max(np.sum((x - self._built) ** 2, axis=1))
        return not moved > (0.5 * SKIN * self.cutoff) ** 2

    def _pairs_near(self, x: Array) -> Any:
        """What the kernels have to know besides the positions; the first ones are checked, since
        a System may have no rest shape: where two atoms meet, no step would be small enough."""
        if self._unchecked is not None:
            rows, sigma, exclude = self._unchecked
            if np.isfinite(x).all():
                require_apart(x[rows], sigma, exclude=exclude)
            self._unchecked = None
        if self.cutoff is None:
            return (*self._mixing, *self._pairs)
        return (*self._mixing, *self._list(x), *self._switch)

    def _list(self, x: Array) -> tuple[np.ndarray, np.ndarray]:
        """A list that holds every pair closer than the cutoff (and harmless others).

        It reaches farther than the cutoff by a skin, and stays right until some atom has moved
        half a skin (Verlet 1967).
        """
        if self.cutoff is None:
            if self._neighbours is None:
                self._neighbours = _all_partners(*self._excluded, self.count)
            return self._neighbours
        if self._serves(x):
            return self._neighbours
        if np.isfinite(x).all():  # else the run has diverged, and any list will do
            reach = (1.0 + SKIN) * self.cutoff
            self._neighbours = self._kernels.neighbour_list(x, reach, *self._excluded)
            self._built = x.copy()
        elif self._neighbours is None:
            return np.zeros(self.count + 1, dtype=np.uint32), np.empty(0, dtype=np.uint32)
        return self._neighbours


def require_apart(positions: Any, sigma: Any, *, exclude: Any = None, names: Any = None) -> None:
    """InputError that names the two atoms closest to each other (by their sigma), if closer than
    0.3 sigma: there the potential is a million times deeper than its well. Excluded pairs may."""
    x = as_numbers("positions", positions)
    radius = 0.5 * per_element("sigma", sigma, len(x))
    pairs = KDTree(x).query_pairs(2.0 * CLOSEST * float(radius.max()), output_type="ndarray")
    ratio = np.linalg.norm(x[pairs[:, 0]] - x[pairs[:, 1]], axis=1) / radius[pairs].sum(axis=1)
    keys = pairs.min(axis=1) * len(x) + pairs.max(axis=1)
    left_out = _as_pairs(exclude)
    ratio[np.isin(keys, left_out.min(axis=1) * len(x) + left_out.max(axis=1))] = np.inf
    if ratio.size and ratio.min() < CLOSEST:
        i, j = sorted(pairs[np.argmin(ratio)].tolist())
        label = (lambda k: f"{k}") if names is None else (lambda k: f"{k} ({names[k]})")
        raise InputError(
            f"atoms {label(i)} and {label(j)} are {ratio.min():.2g} sigma apart: move them apart, "
            "remove one, or exclude the pair"
        )


def _not_below(name: str, value: Array, least: float) -> Array:
    bad = np.flatnonzero(value.ravel() < least)
    if bad.size:
        where = f"[{bad[0]}]" if value.ndim else ""
        kind = "positive" if least > 0.0 else "not negative"
        raise InputError(f"{name}{where} = {value.ravel()[bad[0]]}: it must be {kind}")
    return value


def _as_pairs(pairs: Any) -> np.ndarray:
    array = as_array("exclude", [] if pairs is None else pairs)
    if array.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2 or not np.issubdtype(array.dtype, np.integer):
        raise InputError(
            f"exclude has shape {array.shape} and type {array.dtype}: give pairs (m, 2) of integers"
        )
    if array.min() < 0:
        k = int(np.argmax((array < 0).any(axis=1)))
        raise InputError(f"excluded pair {k} ({array[k, 0]}-{array[k, 1]}): an index is negative")
    return array.astype(np.int64)


def _partners(pairs: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """start (N + 1,), partner (m,): excluded partners of each atom, itself among them, sorted."""
    own = np.arange(count)
    rows = np.concatenate([pairs[:, 0], pairs[:, 1], own])
    columns = np.concatenate([pairs[:, 1], pairs[:, 0], own])
    keys = sorted_unique(rows * count + columns)
    start = np.searchsorted(keys, np.arange(count + 1) * count)
    return start.astype(np.uint32), (keys % count).astype(np.uint32)


def _runs(start: np.ndarray, partner: np.ndarray, count: int) -> tuple[np.ndarray, ...]:
    """start (N + 1,), low, high (m,): for each atom the ranges between its excluded partners."""
    at = start.astype(np.int64)
    skip = partner.astype(np.int64)
    low = np.insert(skip + 1, at[:-1], 0)  # a range starts at 0 and after every partner,
    high = np.insert(skip, at[1:], count)  # and ends before every partner and at the last atom
    rows = at + np.arange(count + 1)
    kept = low < high
    rows = np.concatenate([[0], np.cumsum(kept)])[rows]
    return tuple(a.astype(np.uint32) for a in (rows, low[kept], high[kept]))


def _all_partners(start: np.ndarray, partner: np.ndarray, count: int) -> tuple[Any, Any]:
    """The list (N + 1,), (m,) of all pairs that are not excluded."""
    wanted = np.ones((count, count), dtype=bool)
    wanted[np.repeat(np.arange(count), np.diff(start.astype(np.int64))), partner] = False
    rows = np.concatenate([[0], np.cumsum(wanted.sum(axis=1))])
    return rows.astype(np.uint32), np.nonzero(wanted)[1].astype(np.uint32)
