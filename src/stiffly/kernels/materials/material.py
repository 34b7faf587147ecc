"""What makes a material: a few functions of numbers, compiled into the loops that need them.

E(F) = psi(a, b, c) [J] of the signed singular values a >= b >= |c| of F; mu and lam are the
material's moduli times the volume of the element.  With F = U diag(a, b, c) V^T the first
derivative is P = U diag(psi_i) V^T, and the second is diagonal in blocks in that frame (Sifakis
and Barbic 2012; Smith, de Goes and Kim 2019): the diagonal entries of U^T dF V couple through
psi_ij, and every pair of entries ij, ji has two modes,

    symmetric, dF_ij = dF_ji:        (psi_i - psi_j) / (sigma_i - sigma_j)
    antisymmetric, dF_ij = -dF_ji:   (psi_i + psi_j) / (sigma_i + sigma_j)   (a rotation)

Both quotients are to be written out, so that equal singular values need no care.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import load

# An energy may have a kink where sigma_2 + sigma_3 = 0 (an element squeezed to a line or turned
# inside out: its best rotation is not unique), and its tangent grows towards it as
# 1/(sigma_2 + sigma_3).  The sum is not taken smaller than this; elsewhere tangents are exact.
SMALLEST_SUM = 1e-6

Moduli = tuple[Any, Any]


def unchanged(mu: Any, lam: Any) -> Moduli:
    return mu, lam


@dataclass(frozen=True, eq=False, kw_only=True)
class Mean:
    """A mean stress between two states, exact in energy, free of torque (see cpu/mean_stretch.py).

    stress(mu, lam, before, after, middle, e): P of element e.
    columns(mu, lam, before, after, middle, e, g, K): dP g_k along the nine directions of F1.
    """

    stress: Any
    columns: Any
    decomposed: bool = True  # the states' singular values are wanted
    turned: bool = False  # the eigenbasis of the mean stretch is wanted: middle = B, u


@dataclass(frozen=True, eq=False, kw_only=True)
class Material:
    """energy, stress and tangent take (mu, lam, a, b, c), plain numbers.

    energy: psi, zero at rest.
    stress: psi_1, psi_2, psi_3.
    tangent: psi_11, psi_22, psi_33, psi_12, psi_13, psi_23; the symmetric modes of the pairs 12,
    13, 23; their antisymmetric modes.
    piola: P and a doubt from (mu, lam, F), without singular values, both matrices as nine numbers,
    row by row; it saves the forces most of their time.  The doubt is zero where P has a closed
    form, else the square of the last change on the way to it, over the whole: where it is not
    rounding (the next one would be about as small as its square), singular values are taken.
    mean: None leaves discrete gradients to the correction of system/discrete_gradient.py.
    moduli: the two moduli that the functions are written in, from Lame's mu and lam of small
    strains; lame: the way back.
    """

    name: str
    energy: Callable[..., Any]
    stress: Callable[..., Any]
    tangent: Callable[..., Any]
    piola: Callable[..., Any] | None = None
    mean: Mean | None = None
    moduli: Callable[[Any, Any], Moduli] = unchanged
    lame: Callable[[Any, Any], Moduli] = unchanged

    @property
    def built_in(self) -> bool:
        """Written here, where an edit empties the cache of compiled kernels."""
        functions = (self.energy, self.stress, self.tangent, self.piola or self.energy)
        own = {Path(f.__code__.co_filename).parent for f in functions}
        return own == {Path(__file__).parent}

    def __reduce__(self) -> Any:
        """Copies of one of ours are itself: kernels are compiled for the object."""
        return (load, (self.name,)) if self.built_in else super().__reduce__()
