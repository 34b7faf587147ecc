"""Isotropic materials by name, and their moduli from Young's modulus and Poisson's ratio.

corotated, stvk (Saint Venant-Kirchhoff), neo-hookean: the energies are in kernels/materials, one
file each; all are zero and free of stress at rest, and agree with linear elasticity at small
strains.  stvk gives way under compression and lets elements turn inside out; corotated and
neo-hookean push back.  The corotated tangent has a pole where sigma_2 + sigma_3 = 0 (a tet squeezed
to a line): there the sum is taken as 1e-6.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..contracts import Array
from ..errors import unknown_name
from ..kernels.materials import NAMES, load
from ..kernels.materials.material import Material

MATERIALS = {name: load(name) for name in NAMES}


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
