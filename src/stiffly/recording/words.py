"""Names and shares as people write them; it loads nothing: a command line can use it at once."""

from __future__ import annotations

from math import isfinite

DTYPES = ("float32", "float64")  # of recorded positions
FORMATS = ("usd", "blend", "vtkhdf", "ply", "obj", "gltf", "npz", "html")  # of exports
MANY = 1e6
COLORS = ("speed", "strain", "stress", "contact-force", "none")  # of pictures
MOST_POINTS = 1_000_000_000  # that exports write and plots read, of all frames together
MOST_PICTURES = 20_000  # of a film: eleven minutes at 30 a second
FIELDS = ("strain", "stress", "contact-force")  # that exports can hold


def percent(part: float, whole: float) -> str:
    """'0.0041 %', two digits; a dash where there is nothing to compare with."""
    if not (isfinite(part) and whole > 0.0):
        return "-"
    value = 100.0 * part / whole
    if abs(value) >= 1e4:
        return times(part / whole)
    return f"{value:.0f} %" if abs(value) >= 10.0 else f"{value:.2g} %"


def times(ratio: float) -> str:
    """'72 times', 'over a million times': of an explosion nobody needs the digits."""
    size = abs(ratio)
    number = "over a million" if size >= MANY else f"{size:,.0f}" if size >= 10.0 else f"{size:.2g}"
    return f"{'minus ' if ratio < 0.0 else ''}{number} times"


def gain_or_loss(part: float, whole: float) -> str:
    """'0.26 % gained', '40 % lost', '330 times as much lost': an error of energy in
    words, without a sign to think about."""
    said = percent(abs(part), whole)
    if said == "-" or part == 0.0:
        return said
    much = " as much" if said.endswith("times") else ""
    return f"{said}{much} {'gained' if part > 0.0 else 'lost'}"
