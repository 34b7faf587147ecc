"""What a sweep goes over: `stiffness=1e3:1e7:log:20`, `cells=4,8,16`, `integrator=verlet,eti`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import inf, isfinite, prod
from typing import Any

import numpy as np

from ..arrays import real_number
from ..errors import InputError
from ..scenes.schema.source import as_value

NUMBERS = ("step", "duration", "rtol", "every")  # of `simulate`, and above zero
OPTIONS = (*NUMBERS[:3], "integrator")  # what else a sweep goes over are parameters of its scene
FORMS = "give a:b:log:n, a:b:lin:n or a list a,b,c"
DIGITS = 12  # of the values of a range: 0.3, not 0.30000000000000004
WHOLE = 1e15  # below, a value without a fraction is written as a whole number


def axes(over: Mapping[str, Any], most: int) -> dict[str, list[Any]]:
    """The values of each parameter; InputError where they cannot be read, or make too many runs."""
    if not (isinstance(over, Mapping) and over):
        raise InputError("over: say what to change, as {'stiffness': '1e3:1e7:log:20'}")
    named = [(str(key).replace("-", "_"), given) for key, given in over.items()]
    found = {key: _values(key, given, most) for key, given in named}
    if len(found) < len(named):
        raise InputError(f"over names a parameter twice ({', '.join(found)}): keep one of them")
    runs = prod(map(len, found.values()))
    if runs > most:
        raise _too_many(runs, most)
    return found


def _values(key: str, given: Any, most: int) -> list[Any]:
    where = f"{key}={given}"
    if isinstance(given, str):
        found = _range(where, given, most) if _begins_with_number(given) else None
        found = _listed(key, given) if found is None else found
    else:
        try:
            found = [v.item() if isinstance(v, np.generic) else v for v in given]
        except TypeError:
            raise InputError(
                f"{where}: give a list of values, or a text such as 1:9:lin:5"
            ) from None
    if not found:
        raise InputError(f"{where}: no value is given; {FORMS}")
    for value in found:
        require(key, where, value)
    if len({repr(value) for value in found}) < len(found):
        raise InputError(f"{where}: a value is given twice; keep one of them")
    return found


def _begins_with_number(text: str) -> bool:
    """And goes on as a range: colons occur in names of methods, too."""
    return ":" in text and _number(text.partition(":")[0]) is not None


def _number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if isfinite(found) else None


def _range(where: str, text: str, most: int) -> list[float]:
    pieces = text.split(":")
    if len(pieces) != 4 or pieces[2] not in ("log", "lin"):
        raise InputError(f"{where}: no range; {FORMS}")
    a, b, count = (_number(pieces[k]) for k in (0, 1, 3))
    if a is None or b is None or count is None:
        raise InputError(f"{where}: a, b and n of a range are numbers; {FORMS}")
    if count != int(count) or count < 2:
        raise InputError(f"{where}: n counts the values, 2 or more; {FORMS}")
    if count > most:
        raise _too_many(int(count), most)
    if pieces[2] == "log" and not (min(a, b) > 0.0 or max(a, b) < 0.0):
        raise InputError(f"{where}: a logarithmic range cannot touch zero; use lin, or other ends")
    with np.errstate(all="ignore"):
        found = (np.geomspace if pieces[2] == "log" else np.linspace)(a, b, int(count))
    if not np.isfinite(found).all():
        raise InputError(f"{where}: too wide for numbers of 64 bits; give nearer ends")
    return [_tidy(value) for value in found]


def _tidy(value: float) -> float:
    value = float(f"{value:.{DIGITS}g}")
    return int(value) if value == int(value) and abs(value) < WHOLE else value


def _listed(key: str, text: str) -> list[Any]:
    """At commas, but not at those within brackets or between the nodes of `pexprb43:1/2,1`."""
    if key == "integrator":
        return [word.strip() for word in re.split(r",(?![\d.])", text)]
    return [as_value(word.strip()) for word in re.split(r",(?![^\[]*\])", text) if word.strip()]


def require(key: str, where: str, value: Any) -> None:
    """What `simulate` takes; the scene's own parameters are looked at by the scene."""
    if key in NUMBERS:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (number and 0.0 < real_number(key, value, FORMS) < inf):
            raise InputError(f"{where}: {key} must be positive, got {value}; {FORMS}")
    elif key == "integrator" and not (isinstance(value, str) and value):
        raise InputError(f"{where}: name methods (see: stiffly methods), as integrator=verlet,eti")


def _too_many(runs: int, most: int) -> InputError:
    return InputError(
        f"{runs:,} runs are more than {most:,}: take fewer values, or allow more (--max-runs)"
    )
