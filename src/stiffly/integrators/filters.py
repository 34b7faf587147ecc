"""The six filter pairs (psi, phi) of Gautschi-type methods, as sums of Stumpff functions.

Every filter is even and entire, and products of sines collapse: sinc^2(x) = 2 c_2((2x)^2),
sinc^3(x) = 3/4 (9 c_3((3x)^2) - c_3(x^2)), cos(x) sinc(x) = c_1((2x)^2), and so on; a filter is a
tuple of (factor, k, m) standing for factor * c_k((m x)^2).

The one-step form needs psi_1 = psi / sinc and psi_0 = cos psi_1 (the symmetry conditions); for
psi = sinc^2(x/2) that quotient has poles, so those two filters exist in two-step form only.
Symplectic exactly when psi = sinc phi (Deuflhard, Garcia-Archilla).
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import InputError, unknown_name

Sum = tuple[tuple[float, int, int], ...]

ONE: Sum = ((1.0, 0, 0),)  # c_0(0) = 1: no filter at all
COS: Sum = ((1.0, 0, 1),)
SINC: Sum = ((1.0, 1, 1),)
SINC_HALF_SQUARED: Sum = ((2.0, 2, 1),)
SINC_SQUARED: Sum = ((2.0, 2, 2),)
SINC_CUBED: Sum = ((6.75, 3, 3), (-0.75, 3, 1))
COS_SINC: Sum = ((1.0, 1, 2),)
COS_SINC_SQUARED: Sum = ((2.25, 2, 3), (-0.25, 2, 1))
HOCHBRUCK_LUBICH_PHI: Sum = ((7 / 6, 1, 1), (-1 / 6, 1, 2))  # sinc(x) (1 + sin^2(x/2)/3)


@dataclass(frozen=True)
class Filter:
    psi: Sum
    phi: Sum
    psi0: Sum | None
    psi1: Sum | None
    symplectic: bool
    source: str


FILTERS = {
    "gautschi": Filter(SINC_HALF_SQUARED, ONE, None, None, False, "Gautschi 1961"),
    "deuflhard": Filter(SINC, ONE, COS, ONE, True, "Deuflhard 1979"),
    "garcia-archilla": Filter(
        SINC_SQUARED, SINC, COS_SINC, SINC, True, "Garcia-Archilla, Sanz-Serna & Skeel 1999"
    ),
    "hairer-lubich": Filter(SINC_SQUARED, ONE, COS_SINC, SINC, False, "Hairer & Lubich 2000"),
    "hochbruck-lubich": Filter(
        SINC_HALF_SQUARED, HOCHBRUCK_LUBICH_PHI, None, None, False, "Hochbruck & Lubich 1999"
    ),
    "grimm-hochbruck": Filter(
        SINC_CUBED, SINC, COS_SINC_SQUARED, SINC_SQUARED, False, "Grimm & Hochbruck 2006"
    ),
}


def filter_pair(name: str) -> Filter:
    if name not in FILTERS:
        raise unknown_name("filter", name, FILTERS)
    return FILTERS[name]


FORMS = ("one-step", "two-step")


def check_form(form: str, name: str) -> Filter:
    """The filter of that name, if it exists in that form."""
    if form not in FORMS:
        raise InputError(f"form {form!r} is unknown: choose 'one-step' or 'two-step'")
    pair = filter_pair(name)
    if form == "one-step" and pair.psi1 is None:
        raise InputError(
            f"filter {name} has poles in one-step form: use form='two-step', "
            "or the default filter garcia-archilla"
        )
    return pair
