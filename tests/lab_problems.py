"""Small problems for the lab's tests, and a cache of references for each test alone."""

from __future__ import annotations

import numpy as np
import pytest

from stiffly import SecondOrder
from stiffly.scenes import Scene
from stiffly_lab import references

ONE = np.ones(1)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Every test with a cache of its own, on the disk and in the process."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(references, "_KNOWN", {})
    return tmp_path / "stiffly" / "references"


def single(system, x=1.0, v=0.0, duration=3.0) -> Scene:
    return Scene("single", "", "", system, x * ONE, v * ONE, step=0.1, duration=duration)


def quartic(duration: float = 3.0) -> Scene:
    """x'' = -x^3 from x = 1: x = cn(t, 1/2), Jacobi's elliptic function."""
    system = SecondOrder(
        size=1,
        force=lambda x: -(x**3),
        jacobian=lambda x: np.array([[-3.0 * x[0] ** 2]]),
        potential=lambda x: 0.25 * float(x[0] ** 4),
    )
    return single(system, duration=duration)
