"""The six filter pairs (psi, phi) of Gautschi-type methods, as sums of Stumpff functions, and the
matrix functions of these methods: which of them act on what.

Every filter is even and entire, and products of sines collapse: sinc^2(x) = 2 c_2((2x)^2),
sinc^3(x) = 3/4 (9 c_3((3x)^2) - c_3(x^2)), cos(x) sinc(x) = c_1((2x)^2), and so on; a filter is a
tuple of (factor, k, m) standing for factor * c_k((m x)^2).

The one-step form needs psi_1 = psi / sinc and psi_0 = cos psi_1 (the symmetry conditions); for
psi = sinc^2(x/2) that quotient has poles, so those two filters exist in two-step form only.
Symplectic exactly when psi = sinc phi (Deuflhard, Garcia-Archilla).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ..errors import InputError, require_name
from ..matfun.scalar import StumpffMap, Term

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
    require_name("filter", name, FILTERS)
    return FILTERS[name]


FORMS = ("one-step", "two-step")
DEFAULT = "garcia-archilla"


def form_words(filter_name: str, form: str) -> list[str]:
    """What of a filter and a form is not the default: the options of a method's name."""
    return [word for word in (filter_name, form) if word not in (DEFAULT, FORMS[0])]


def check_form(method: str, form: str, name: str) -> Filter:
    """The filter of that name, if it exists in that form."""
    if not isinstance(form, str) or form not in FORMS:
        raise InputError(f"form {form!r} is unknown: choose 'one-step' or 'two-step'")
    pair = filter_pair(name)
    if form == "one-step" and pair.psi1 is None:
        raise InputError(
            f"filter {name} has poles in one-step form: use form='two-step' "
            f"({method}:{name}:two-step), or the default filter {DEFAULT}"
        )
    return pair


def _terms(row: int, column: int, sum_: Sum, h: float, factor: float = 1.0, power: int = 0):
    return [Term(row, column, k, m * h, factor * f, power) for f, k, m in sum_]


@lru_cache(maxsize=64)
def free_map(h: float) -> StumpffMap:
    """(y, v) -> cos y + h sinc v,  -h A sinc y + cos v: the motion without g."""
    terms = (
        _terms(0, 0, COS, h)
        + _terms(0, 1, SINC, h, h)
        + _terms(1, 0, SINC, h, -h, 1)
        + _terms(1, 1, COS, h)
    )
    return StumpffMap(2, 2, tuple(terms))


@lru_cache(maxsize=64)
def argument_map(filter_name: str, h: float) -> StumpffMap:
    """y -> phi y, A phi y: where g is taken."""
    phi = filter_pair(filter_name).phi
    return StumpffMap(2, 1, tuple(_terms(0, 0, phi, h) + _terms(1, 0, phi, h, 1.0, 1)))


@lru_cache(maxsize=256)
def sum_map(sums: tuple[tuple[Sum, float], ...], h: float) -> StumpffMap:
    """g -> factor * sum(g) for each (sum, factor)."""
    terms = [t for row, (s, factor) in enumerate(sums) for t in _terms(row, 0, s, h, factor)]
    return StumpffMap(len(sums), 1, tuple(terms))


@lru_cache(maxsize=64)
def flow_map(h: float) -> StumpffMap:
    """(v, a) -> h c_1 v + h^2 c_2 a,  (c_0 - 1) v + h c_1 a = -h^2 A c_2 v + h c_1 a."""
    terms = (
        Term(0, 0, 1, h, h),
        Term(0, 1, 2, h, h * h),
        Term(1, 0, 2, h, -h * h, 1),
        Term(1, 1, 1, h, h),
    )
    return StumpffMap(2, 2, terms)


@lru_cache(maxsize=64)
def rest_map(filter_name: str, h: float) -> StumpffMap:
    """a -> -(1 - phi) y, phi a where A y = -a; (1 - phi)/(h^2 A) = sum f m^2 c_(k+2)((m x)^2)."""
    phi = filter_pair(filter_name).phi
    terms = [Term(0, 0, k + 2, m * h, f * (m * h) ** 2) for f, k, m in phi]
    return StumpffMap(2, 1, tuple(terms + _terms(1, 0, phi, h)))
