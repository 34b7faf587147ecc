"""What every shape asks of its numbers."""

from __future__ import annotations

from numbers import Integral

import numpy as np

from ..errors import InputError


def require_positive(shape: str, **values: float) -> None:
    """InputError names the first value that is not a positive finite number."""
    for name, value in values.items():
        if not (np.isfinite(value) and value > 0.0):
            raise InputError(f"{shape} {name} = {value}: it must be positive")


def require_counts(shape: str, least: int, **counts: int) -> None:
    """InputError names the first count that is not a whole number >= least."""
    for name, count in counts.items():
        if not isinstance(count, Integral) or count < least:
            raise InputError(f"{shape} {name} = {count}: give a whole number from {least} on")
