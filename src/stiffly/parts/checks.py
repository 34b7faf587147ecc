"""Checks of what users hand in: one line with the cause and the remedy, before any work starts."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import real_array, real_number
from ..contracts import Array
from ..errors import InputError


def as_numbers(name: str, value: Any, shape: tuple[int, ...] | None = None) -> Array:
    """A finite float64 copy of value; InputError names the first entry that is not finite."""
    array = real_array(name, value)
    if shape is not None and array.shape != shape:
        raise InputError(f"{name} has shape {array.shape}, but {shape} is needed")
    if not np.isfinite(array).all():
        bad = np.argwhere(~np.isfinite(array))
        where = f"[{', '.join(map(str, bad[0]))}]" if array.ndim else ""
        raise InputError(f"{name}{where} is {array[tuple(bad[0])]}: every entry must be finite")
    return array


def require_points(name: str, value: Array, has: str = "has", rows: str = "N") -> None:
    """InputError unless value is (N, 3)."""
    if value.ndim != 2 or value.shape[1] != 3:
        raise InputError(f"{name} {has} shape {value.shape}, but ({rows}, 3) is needed")


def as_number(
    name: str, value: Any, *, least: float | None = None, above: float | None = None
) -> float:
    """A finite float, >= least or > above where these are given."""
    number = real_number(name, value, "give one")
    if not np.isfinite(number):
        raise InputError(f"{name} is {number}: it must be finite")
    if above is not None and not number > above:
        raise InputError(f"{name} = {number:g}: it must be greater than {above:g}")
    if least is not None and not number >= least:
        raise InputError(f"{name} = {number:g}: it must be at least {least:g}")
    return number


def as_array(name: str, value: Any) -> np.ndarray:
    """An array of any kind; InputError where rows differ in length."""
    try:
        return np.asarray(value)
    except ValueError:
        raise InputError(f"{name} has rows of different lengths: make them equal") from None


def per_element(name: str, value: Any, count: int) -> Array:
    """One number per element (count,), from a number or an array."""
    array = as_numbers(name, value)
    if array.ndim == 0:
        return np.full(count, float(array))
    if array.shape != (count,):
        raise InputError(f"{name} has shape {array.shape}: give one number, or one of {count}")
    return array


def as_indices(name: str, value: Any, count: int) -> np.ndarray:
    """Sorted unique particle indices below count, from indices or a boolean mask."""
    array = as_array(name, value)
    if array.dtype == bool:
        if array.shape != (count,):
            raise InputError(f"{name} is a mask of shape {array.shape}, but ({count},) is needed")
        return np.flatnonzero(array)
    if array.size == 0:
        return np.empty(0, dtype=np.int64)
    if array.ndim > 1 or not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"{name} must be particle indices (a list of integers) or a mask")
    array = np.atleast_1d(array)
    bad = np.flatnonzero((array < 0) | (array >= count))
    if bad.size:
        raise InputError(
            f"{name} names particle {array[bad[0]]}: there are {count}, numbered 0 to {count - 1}"
        )
    named = np.zeros(count, dtype=bool)
    named[array] = True
    return np.flatnonzero(named)


def as_elements(name: str, value: Any, corners: int) -> np.ndarray:
    """Elements (m, corners) of particle indices, none negative, no corner twice in one."""
    array = as_array(f"{name}s", value)
    if array.size == 0 and array.ndim <= 2:
        return np.empty((0, corners), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != corners:
        raise InputError(f"{name}s have shape {array.shape}, but (m, {corners}) is needed")
    if not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"{name}s must be integers: they are particle indices")
    array = array.astype(np.int64)
    ordered = np.sort(array, axis=1)
    for bad, cause in (
        (array.min(axis=1, initial=0) < 0, "a particle index is negative"),
        ((ordered[:, 1:] == ordered[:, :-1]).any(axis=1), "it names a particle twice"),
    ):
        require(name, array, ~bad, cause)
    return array


def require(name: str, elements: np.ndarray, good: Any, cause: str, remedy: str = "") -> None:
    """InputError that names the first of the elements (m, c) that is not good (m,)."""
    bad = np.flatnonzero(~good)
    if bad.size:
        label = f"{name} {bad[0]} {tuple(elements[bad[0]].tolist())}"
        raise InputError(f"{label}: {cause}" + (f"; {remedy}" if remedy else ""))


def require_below(name: str, elements: np.ndarray, count: int) -> None:
    """Every corner is a particle that exists."""
    there = (elements < count).all(axis=1)
    only, numbers = f"there are only {count} particles", f"number them 0 to {count - 1}"
    require(name, elements, there, only, numbers)
