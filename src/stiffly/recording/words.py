"""Names and shares as people write them; it loads nothing: a command line can use it at once."""

from __future__ import annotations

from math import isfinite

DTYPES = ("float32", "float64")  # of recorded positions
FORMATS = ("usd", "vtkhdf", "ply", "obj", "gltf", "npz", "html")  # of exports
COLORS = ("speed", "strain", "stress", "contact-force", "none")  # of pictures
FIELDS = ("strain", "stress", "contact-force")  # that exports can hold


def percent(part: float, whole: float) -> str:
    """'0.0041 %', two digits; a dash where there is nothing to compare with."""
    if not (isfinite(part) and whole > 0.0):
        return "-"
    value = 100.0 * part / whole
    if abs(value) >= 1e4:
        return f"{part / whole:.2g} times"
    return f"{value:.0f} %" if abs(value) >= 10.0 else f"{value:.2g} %"
