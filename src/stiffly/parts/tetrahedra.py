"""Elastic solids made of tetrahedra with linear shape functions: their materials and masses.

corotated, stvk (Saint Venant-Kirchhoff), neo-hookean: the energies are in kernels/materials, one
file each; all are zero and free of stress at rest, and agree with linear elasticity at small
strains.  stvk gives way under compression and lets elements turn inside out; corotated and
neo-hookean push back.  The corotated tangent has a pole where sigma_2 + sigma_3 = 0 (a tet squeezed
to a line): there the sum is taken as 1e-6.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..backends.cpu import announce
from ..backends.kernels import take
from ..contracts import Array
from ..errors import InputError, unknown_name
from ..kernels.materials import NAMES, load
from ..kernels.materials.material import Material
from ..kernels.names import BLOCK_CHUNK, MEAN_CHUNK, NO_SLOT
from .checks import as_elements, as_numbers, per_element, require, require_below, require_points
from .part import Arranged, Arrays, Particles, Scalable
from .pattern import BlockPattern
from .terms import TetTerm

MATERIALS = {name: load(name) for name in NAMES}

STIFFEST = 1e100  # Pa: products with it stay finite
FLAT = 1e-12  # six volumes over the cube of the longest edge; a regular tet has 0.7

_PAIRS = np.triu_indices(4, 1)
_UPPER = np.triu_indices(4)

KERNELS = (
    *("tet_energy", "tet_gradient", "tet_blocks", "tet_frames", "tet_product"),
    *("tet_states", "tet_mean_gradient", "tet_mean_blocks"),
)


class Tetrahedra(Scalable):
    """E = sum V psi(F), F the deformation gradient of each tet and V its volume at rest.

    tets (m, 4): particle indices, (b - a) . ((c - a) x (d - a)) > 0 at rest.
    young [Pa], poisson: one number or (m,).
    material: 'corotated', 'stvk' or 'neo-hookean' (see above), or one of your own
    (docs/extending.md).
    project: replace the negative eigenvalues of each tet's tangent by zero.  Newton's
    directions then lead downhill; exponential methods lose their order where anything was replaced.
    The rest shape is that of the rest positions (N, 3), given here or to the System.
    Tets may be turned inside out and flattened: forces stay finite, and push back (except stvk).
    """

    name = "elastic"
    modulus = "young"  # what is scaled; Poisson's ratio stays
    arrays = Arrays(("tets", "young", "poisson"), ("rest_positions",))

    def __init__(
        self,
        tets: Any,
        young: Any,
        poisson: Any,
        material: str | Material = "corotated",
        *,
        project: bool = False,
        rest_positions: Any = None,
    ) -> None:
        self.tets = as_elements("tet", tets, 4)
        m = len(self.tets)
        self._law = find_material(material)
        self.material = self._law.name
        self.project = bool(project)
        self.young = per_element("young", young, m)
        self.poisson = per_element("poisson", poisson, m)
        stiff, possible = self.young > 0.0, (self.poisson > -1.0) & (self.poisson < 0.5)
        range_ = "give -1 < nu < 0.5 (0.5 is incompressible: try 0.49)"
        for good, cause, remedy in (
            (stiff, "Young's modulus is not positive", "give E > 0 in Pa"),
            (self.young < STIFFEST, "Young's modulus is too large", "give Pa: steel has 2e11"),
            (possible, "Poisson's ratio is out of range", range_),
        ):
            require("tet", self.tets, good, cause, remedy)
        self.rest_positions = None
        if rest_positions is not None:
            self.rest_positions = as_numbers("rest_positions", rest_positions)
            rest_shape(self.rest_positions, self.tets)

    def couples(self, particles: Particles) -> np.ndarray:
        require_below("tet", self.tets, particles.count)
        return np.stack([self.tets[:, k] for k in _PAIRS], axis=2).reshape(-1, 2)

    def prepare(self, particles: Arranged) -> PreparedTetrahedra:
        rest = particles.rest if self.rest_positions is None else self.rest_positions
        if rest is None:
            raise InputError(
                "tetrahedra have no rest shape: give Tetrahedra(..., rest_positions=X), or "
                "System(..., rest=X)"
            )
        announce("tets")
        kind = PreparedTetrahedra if self._law.mean is None else ExactTetrahedra
        return kind(self, self._law, rest, particles)


class PreparedTetrahedra:
    """Tets with ascending vertices, each with its shape gradients and moduli, sorted for sums."""

    linear = False
    pairwise = False
    internal = True

    def __init__(
        self, config: Tetrahedra, material: Material, rest: Array, particles: Arranged
    ) -> None:
        pattern, tets = particles.pattern, particles.rows[config.tets]
        gradients, volume = rest_shape(rest, config.tets)
        constants = moduli(material, config.young, config.poisson)
        self._kernels = take(pattern.backend, "Tetrahedra", *KERNELS)
        # then no tet has negative stiffness, and nothing is `pressed`
        self.bounded = self._project = config.project
        # Ascending vertices need half as many blocks; the shape gradients move along with them.
        order = np.argsort(tets, axis=1)
        tets = np.take_along_axis(tets, order, axis=1)
        gradients = np.take_along_axis(gradients, order[:, :, None], axis=1)
        shape = np.ascontiguousarray(gradients[:, 1:].reshape(-1, 9))
        self._tets = tets.astype(np.uint32)
        self._elements = (self._tets, shape, constants * volume[:, None], material)
        corner = np.argsort(tets.ravel(), kind="stable")
        start = np.searchsorted(tets.ravel()[corner], np.arange(pattern.count + 1))
        self._corners = (start.astype(np.uint32), corner.astype(np.uint32))
        self._frames: tuple[Array, Array] | None = None
        self._pattern = pattern
        self._states: list[tuple[Array, Any]] = []

    def terms(self) -> list[Any]:
        return [TetTerm(*self._elements)]

    @cached_property
    def _sums(self) -> BlockSums:
        return block_sums(self._tets.astype(np.int64), self._pattern)

    def energy(self, x: Array) -> float:
        return self._kernels.tet_energy(x, *self._elements)

    def add_gradient(self, x: Array, out: Array) -> None:
        self._kernels.tet_gradient(x, *self._elements, *self._corners, out)

    def add_blocks(self, x: Array, blocks: Array, pressed: Array) -> None:
        self._kernels.tet_blocks(x, *self._elements, self._project, *self._sums, blocks)

    def add_convex_blocks(self, x: Array, blocks: Array) -> None:
        """Adds d2E/dx2 with each tet's negative eigenvalues replaced by zero."""
        self._kernels.tet_blocks(x, *self._elements, True, *self._sums, blocks)

    def add_product(self, x: Array, b: Array, out: Array) -> None:
        """Adds (d2E/dx2) b to out, both (N, 3), without assembling anything.

        The decomposition of every tet is kept for the next product at the same x: it costs four
        times the product itself.  A product with assembled blocks is three times faster still, but
        assembling them costs as much as eight products here.
        """
        if self._frames is None or not np.array_equal(self._frames[0], x):
            self._frames = (x.copy(), self._kernels.tet_frames(x, *self._elements, self._project))
        self._kernels.tet_product(self._frames[1], self._tets, *self._corners, b, out)

    def stresses(self, x: Array) -> tuple[np.ndarray, Array, str]:
        """Cauchy's, whose principal values are sigma_i psi_i / det F; nan in tets that are turned
        inside out."""
        tets, shape, moduli, material = self._elements
        g, at = shape.reshape(-1, 3, 3), tets.astype(np.int64)
        sides = x[at[:, 1:]] - x[at[:, :1]]
        F = np.einsum("eki,ekj->eij", sides, g)
        sigma, turned = np.linalg.svd(F, compute_uv=False), np.linalg.det(F)
        a, b, c = sigma.T
        psi = np.vectorize(material.stress)(*moduli.T, a, b, c)  # times the volume, as moduli are
        volume = 1.0 / (6.0 * np.abs(np.linalg.det(g)))
        turned[turned <= 0.0] = np.nan
        p, q, r = (s * each / (volume * turned) for s, each in zip((a, b, c), psi, strict=True))
        mises = np.sqrt(0.5 * ((p - q) ** 2 + (q - r) ** 2 + (r - p) ** 2))
        return at, mises, "Pa"

    def laplacian(self) -> tuple[np.ndarray, np.ndarray, Array]:
        """c V grad N_i . grad N_j, c = 2 mu + 3 max(lam, 0): the most that a tet at rest resists
        any dF, 2 mu |sym dF|^2 + lam (tr dF)^2 <= c |dF|^2, reached by swelling (lam > 0).

        So K <= L (x) I_3 at rest, for all materials.  Corotated tets keep to it until their mean
        stretch passes 1 + 2 mu / (3 lam); stvk and neo-hookean grow stiffer as they stretch.
        """
        tets, shape, moduli, material = self._elements
        mu, lam = material.lame(*moduli.T)
        g = shape.reshape(-1, 3, 3)
        g = np.concatenate([-g.sum(axis=1, keepdims=True), g], axis=1)
        weight = 2.0 * mu + 3.0 * np.maximum(lam, 0.0)
        values = np.einsum("e,eia,eja->eij", weight, g, g)
        rows, columns = np.repeat(tets, 4, axis=1), np.tile(tets, 4)
        return rows.ravel().astype(np.int64), columns.ravel().astype(np.int64), values.ravel()


class ExactTetrahedra(PreparedTetrahedra):
    """Of a material whose mean stress is known in closed form."""

    def add_mean_gradient(self, x0: Array, x1: Array, out: Array) -> None:
        """Energy is exact always, angular momentum unless a tet turns inside out between x0 and
        x1 (see kernels/cpu/mean_stretch.py)."""
        states = (self._state(x0), self._state(x1))
        self._kernels.tet_mean_gradient(*states, *self._elements, *self._corners, out)

    def add_mean_blocks(self, x0: Array, x1: Array, blocks: Array) -> None:
        states = (self._state(x0), self._state(x1))
        self._kernels.tet_mean_blocks(*states, *self._elements, *self._mean_sums, blocks)

    @cached_property
    def _mean_sums(self) -> SlotSums:
        return mean_sums(self._tets.astype(np.int64), self._pattern)

    def _state(self, x: Array) -> Any:
        """The tets' decompositions at x, kept for two x: every iterate of a solve meets the same
        x0, and gradient and blocks are wanted at the same x1."""
        for place, state in self._states:
            if np.array_equal(place, x):
                return state
        tets, shape, _, material = self._elements
        state = self._kernels.tet_states(x, tets, shape, material)
        self._states = [*self._states[-1:], (x.copy(), state)]
        return state


# ------------------------------------------------------------------ where blocks are added up
# sorted once, so that every slot sums its own

SlotSums = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # chunks, slot, start, source


class BlockSums(NamedTuple):
    """Which of the tets' blocks go into which slots, chunk by chunk: see tet_blocks."""

    chunks: np.ndarray
    slot: np.ndarray
    mirror: np.ndarray
    start: np.ndarray
    source: np.ndarray


def block_sums(tets: np.ndarray, pattern: BlockPattern) -> BlockSums:
    """For the ten blocks of a symmetric tangent, k <= l."""
    rows, columns = (tets[:, k].ravel() for k in _UPPER)
    chunks, slot, start, source = _slot_sums(pattern.slots(rows, columns), 10 * BLOCK_CHUNK)
    first = source[start[:-1]]
    return BlockSums(chunks, slot, pattern.slots(columns[first], rows[first]), start, source)


def mean_sums(tets: np.ndarray, pattern: BlockPattern) -> SlotSums:
    """For all sixteen blocks: see tet_mean_blocks."""
    rows, columns = np.repeat(tets, 4, axis=1).ravel(), np.tile(tets, 4).ravel()
    return _slot_sums(pattern.slots(rows, columns), 16 * MEAN_CHUNK)


def _slot_sums(slot: np.ndarray, per_chunk: int) -> SlotSums:
    """Blocks by chunk and slot; those of fixed particles are left out."""
    source = np.flatnonzero(slot != NO_SLOT)
    count = int(slot[source].max(initial=0)) + 1
    key = source // per_chunk * count + slot[source]
    order = np.argsort(key, kind="stable")
    source, key = source[order], key[order]
    start = np.flatnonzero(np.diff(key, prepend=-1))
    chunks = np.arange(-(-slot.size // per_chunk) + 1)
    return (
        np.searchsorted(key[start], chunks * count),
        slot[source[start]],
        np.append(start, source.size).astype(np.uint32),
        source.astype(np.uint32),
    )


# ------------------------------------------------------------------ materials


def find_material(given: Any) -> Material:
    """A material by its name, or as it is; InputError if there is none of that name."""
    if isinstance(given, Material):
        return given
    if str(given) not in MATERIALS:
        raise unknown_name("material", str(given), MATERIALS)
    return MATERIALS[str(given)]


def lame(young: Array, poisson: Array) -> tuple[Array, Array]:
    """mu = E / (2 (1 + nu)), lam = E nu / ((1 + nu) (1 - 2 nu)) [Pa]."""
    return young / (2.0 * (1.0 + poisson)), young * poisson / (
        (1.0 + poisson) * (1.0 - 2.0 * poisson)
    )


def moduli(material: Material, young: Array, poisson: Array) -> Array:
    """The two moduli (m, 2) [Pa] that the energy of this material is written in."""
    return np.stack(material.moduli(*lame(young, poisson)), axis=1)


# ------------------------------------------------------------------ masses


def lumped_mass(positions: Any, tets: Any, density: Any) -> Array:
    """Masses (N,) [kg]: every tet gives a quarter of its mass to each corner.

    density [kg/m^3]: one number or (m,).
    """
    count, tets, mass = _tet_masses(positions, tets, density)
    return np.bincount(tets.ravel(), np.repeat(mass / 4.0, 4), count)


def consistent_mass(positions: Any, tets: Any, density: Any) -> sp.csr_matrix:
    """Sparse (N, N) [kg]: the integrals of rho N_i N_j, m_e/20 (1 + delta_ij) for each tet."""
    count, tets, mass = _tet_masses(positions, tets, density)
    values = mass[:, None, None] / 20.0 * (1.0 + np.eye(4))
    rows, columns = np.repeat(tets, 4, axis=1).ravel(), np.tile(tets, 4).ravel()
    return sp.csr_matrix((values.ravel(), (rows, columns)), shape=(count, count))


def _tet_masses(positions: Any, tets: Any, density: Any) -> tuple[int, np.ndarray, Array]:
    positions = as_numbers("positions", positions)
    require_points("positions", positions)
    tets = as_elements("tet", tets, 4)
    require_below("tet", tets, len(positions))
    density = per_element("density", density, len(tets))
    require("tet", tets, density > 0.0, "density is not positive", "give it in kg/m^3")
    return len(positions), tets, density * rest_shape(positions, tets)[1]


# ------------------------------------------------------------------ checks


def rest_shape(positions: Array, tets: np.ndarray) -> tuple[Array, Array]:
    """Gradients of the shape functions (m, 4, 3) [1/m] and volumes (m,) [m^3]; bad tets named."""
    require_points("rest positions", positions, "have")
    require_below("tet", tets, len(positions))
    d = positions[tets[:, 1:]] - positions[tets[:, :1]]
    six = np.linalg.det(d)
    edges = positions[tets[:, _PAIRS[0]]] - positions[tets[:, _PAIRS[1]]]
    longest = np.linalg.norm(edges, axis=2).max(axis=1, initial=0.0)
    require(
        "tet",
        tets,
        np.abs(six) > FLAT * longest**3,
        "it is flat at rest",
        "move a vertex out of the plane of the others, or leave the tet out",
    )
    require("tet", tets, six > 0.0, "it is inverted at rest", "swap two of its vertices")
    g = np.linalg.inv(d).transpose(0, 2, 1)
    return np.concatenate([-g.sum(axis=1, keepdims=True), g], axis=1), six / 6.0
