"""A run of the lab: bad steps are tried on purpose, and the result says how bad they were."""

from __future__ import annotations

import warnings
from typing import Any

from stiffly import Run, simulate
from stiffly.errors import StiffWarning


def trial(problem: Any, **options: Any) -> Run:
    """As `simulate`, without its warnings of energy lost or invented."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StiffWarning)
        return simulate(problem, **options)
