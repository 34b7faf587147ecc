"""Runs of a coil spring of true springs, and their reference (coil_error.py).

The coil moves by a thousandth of its size.  A stiff force is k times a difference of coordinates:
their last digits alone are 1e-7 m/s^2 here.  Below a relative tolerance of about 1e-10 DOP853 can
only meet its error estimate by ever shorter steps: 1e-11, which references.py would ask for, takes
350,000 forces for 0.1 s, and 1e-9 takes 6,000.  So two tolerances above that level are compared.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from stiffly.contracts import Array
from stiffly.scenes import Scene

from .bench import Bench, Row
from .harness import Record, work_precision
from .methods import IntegratorMethod, ScipyMethod
from .time_limit import time_limit

COARSE, FINE = 1e-7, 1e-9  # relative tolerances of DOP853
LIMIT_S = 120.0  # of any one run; those of the reference may take longer
REFERENCE_S = 300.0


class Truth(NamedTuple):
    """x, v (N, 3) at the end; error [m]: the largest of any coordinate of x; how: in words."""

    x: Array
    v: Array
    error: float
    how: str


def truth(bench: Bench, scene: Scene, sizes: tuple[float, float]) -> Truth:
    """By DOP853; sizes: of a displacement [m] and of a velocity [m/s], which tolerances refer to.

    Its error is what the coarser of two tolerances changes."""

    def computed() -> Row:
        solver = ScipyMethod("DOP853", sizes=sizes)
        with time_limit(REFERENCE_S):
            coarse, fine = (solver(scene, tolerance) for tolerance in (COARSE, FINE))
        return {
            "x": fine.x,
            "v": fine.v,
            "error": np.abs(fine.x - coarse.x).max(),
            "how": f"DOP853 at {FINE:g} against {COARSE:g}, "
            f"{fine.work.force_evaluations:,} and {coarse.work.force_evaluations:,} forces",
        }

    row = bench.row("springs: reference", computed)
    return Truth(**{**row, "x": np.array(row["x"]), "v": np.array(row["v"])})


def runs(
    bench: Bench, scene: Scene, exact: Truth, steps: dict[str, list[float]], scale: float
) -> list[Record]:
    """Every method at its steps; `relative` is the error of x over the scale [m]."""
    methods = [IntegratorMethod(name, own) for name, own in steps.items()]
    options: dict[str, Any] = {"bench": bench, "label": "springs", "limit_s": LIMIT_S}
    found = work_precision(scene, methods, [], reference=(exact.x, exact.v), **options)
    errors = [None if r.error_x is None else r.error_x / scale for r in found]
    return [replace(r, relative=e, error=e) for r, e in zip(found, errors, strict=True)]
