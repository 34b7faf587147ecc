"""How much is tried: something of everything in the default run, all of it in the slow one.

No oracle is thinned, only its repeats: seeds, sizes, tolerances, further drawn examples.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import settings

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "same")
SHARE, LEAST = 4, 5  # a quarter of the examples, but five


def drawn(count: int) -> Any:
    """@drawn(40): 40 examples of hypothesis, a quarter of them in the default run."""
    quick = PROFILE == "same"
    return settings(max_examples=min(count, max(LEAST, count // SHARE)) if quick else count,
                    deadline=None)  # fmt: skip


def thinned(cases: Iterable[Any], keep: Callable[[Any], Any] | Iterable[Any] | int = 1) -> list:
    """For parametrize: all cases; those not kept (the first so many, or by value) are slow."""
    cases = list(cases)
    if isinstance(keep, int):
        kept = [k < keep for k in range(len(cases))]
    else:
        good = keep if callable(keep) else set(keep).__contains__
        kept = [bool(good(case)) for case in cases]
    assert any(kept), "nothing would be left in the default run"
    return [case if here else slow(case) for case, here in zip(cases, kept, strict=True)]


def slow(case: Any) -> Any:
    values = case if isinstance(case, tuple | list) else (case,)
    return pytest.param(*values, marks=pytest.mark.slow)
