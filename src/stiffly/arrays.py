"""Numbers and arrays that users hand in: real ones, or a line that says what they are instead.

NumPy itself drops imaginary parts with a warning and masks without one, and reads texts as numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .contracts import Array
from .errors import InputError

KINDS = {"c": "complex numbers: give real and imaginary parts separately", "V": "records"}
KINDS |= {"U": "text", "S": "text", "M": "dates", "m": "times"}


def real_array(name: str, value: Any) -> Array:
    """A float64 copy of value, C-ordered; InputError where numbers would be lost or invented."""
    if value is None:  # NumPy makes it NaN
        raise InputError(f"{name} must hold numbers, got None: a function has to return them")
    if np.ma.is_masked(value):
        raise InputError(f"{name} has masked entries: fill them first, as in a.filled(0.0)")
    try:
        given = np.asarray(value)
        if given.dtype.kind in KINDS:
            raise InputError(f"{name} must hold numbers, got {KINDS[given.dtype.kind]}")
        with np.errstate(over="ignore"):  # long doubles: what is infinite is named
            return np.array(given, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as problem:
        if isinstance(problem, InputError):
            raise
        kind = "rows of different lengths" if _ragged(value) else type(value).__name__
        raise InputError(f"{name} must hold numbers, got {kind}") from None


def truth(name: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{name} must be True or False, not {type(value).__name__}")
    return bool(value)


def real_number(name: str, value: Any, remedy: str = "give a number") -> float:
    """A float; InputError for texts, complex numbers, arrays of several."""
    try:
        if isinstance(value, (str, bytes)) or np.iscomplexobj(value) or np.ndim(value):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        shown = value if isinstance(value, (str, int, complex)) else type(value).__name__
        raise InputError(f"{name} must be one number, got {shortened(shown)}: {remedy}") from None


def shortened(value: Any) -> str:
    """At most a few words of it."""
    try:
        text = repr(value) if isinstance(value, str) else str(value)
    except ValueError:  # Python writes no integer of more than 4,300 digits
        text = "a huge integer"
    return text if len(text) <= 60 else f"{text[:60]}..."


def _ragged(value: Any) -> bool:
    if not isinstance(value, (list, tuple)):
        return False
    lengths = {len(row) for row in value if isinstance(row, (list, tuple, np.ndarray))}
    return len(lengths) > 1
