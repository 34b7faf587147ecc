"""Shares as people write them; loads nothing, so that a command line can use it at once."""

from __future__ import annotations

from math import isfinite


def percent(part: float, whole: float) -> str:
    """'0.0041 %', two digits; a dash where there is nothing to compare with."""
    if not (isfinite(part) and whole > 0.0):
        return "-"
    value = 100.0 * part / whole
    if abs(value) >= 1e4:
        return f"{part / whole:.2g} times"
    return f"{value:.0f} %" if abs(value) >= 10.0 else f"{value:.2g} %"
