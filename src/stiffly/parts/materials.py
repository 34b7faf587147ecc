"""Isotropic materials by name, and their moduli from Young's modulus and Poisson's ratio.

With sigma the signed singular values of the deformation gradient F, I = sum sigma_i^2, J = det F
and mu, lam the constants of Lame for small strains, the energy per rest volume is

    corotated     mu sum (sigma_i - 1)^2 + lam/2 (sum sigma_i - 3)^2
    stvk          mu |E|^2 + lam/2 (tr E)^2,  E = (F^T F - I)/2   (Saint Venant-Kirchhoff)
    neo-hookean   m/2 (I - 3) - m/2 log((I + 1)/4) - 3 m/4 (J - 1) + l/2 (J - 1)^2

The last is the stable Neo-Hookean energy of Smith, de Goes and Kim (2018) with its constant alpha
written out; m = 4/3 mu and l = lam + 5/6 mu make it agree with linear elasticity at small strains.
All three are zero and free of stress at rest.  stvk gives way under compression and lets elements
turn inside out; corotated and neo-hookean push back.  The corotated tangent has a pole where
sigma_2 + sigma_3 = 0 (a tet squeezed to a line): there the sum is taken as 1e-6.
"""

from __future__ import annotations

import numpy as np

from ..contracts import Array
from ..errors import unknown_name
from ..kernels.constants import COROTATED, NEO_HOOKEAN, STVK

MATERIALS = {"corotated": COROTATED, "stvk": STVK, "neo-hookean": NEO_HOOKEAN}


def material_code(name: str) -> int:
    """The number by which kernels know a material; InputError if there is none of that name."""
    if name not in MATERIALS:
        raise unknown_name("material", str(name), MATERIALS)
    return MATERIALS[name]


def lame(young: Array, poisson: Array) -> tuple[Array, Array]:
    """mu = E / (2 (1 + nu)), lam = E nu / ((1 + nu) (1 - 2 nu)) [Pa]."""
    return young / (2.0 * (1.0 + poisson)), young * poisson / (
        (1.0 + poisson) * (1.0 - 2.0 * poisson)
    )


def moduli(code: int, young: Array, poisson: Array) -> Array:
    """The two moduli (m, 2) [Pa] that the energy of this material is written in."""
    mu, lam = lame(young, poisson)
    if code == NEO_HOOKEAN:
        mu, lam = 4.0 / 3.0 * mu, lam + 5.0 / 6.0 * mu
    return np.stack([mu, lam], axis=1)
