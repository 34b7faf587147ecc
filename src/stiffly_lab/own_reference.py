"""A reference by exprb42 at tiny steps, for bodies whose excursion is near rounding.

A bunny of 40 m that moves by 10 um leaves SciPy's solvers no digits to control their steps by;
exponential methods do not care, and their error is estimated with twice the step.  Where an outside
solver can be trusted, it is asked too.
"""

from __future__ import annotations

import numpy as np

from stiffly.scenes import Scene

from . import references
from .bench import Bench, Row
from .references import fingerprint
from .tight import Reference
from .trial import trial


def own_reference(scene: Scene, bench: Bench, step: float, *, check: bool) -> Reference:
    """x, v at the end; check: also against the independent reference of references.py."""

    def computed() -> Row:
        fine, coarse = (trial(scene, integrator="exprb42", step=h) for h in (step, 2.0 * step))
        flat = [a.reshape(len(a), -1) for a in (fine.positions - scene.x0, fine.velocities)]
        scale_x, scale_v = (float(np.linalg.norm(a, axis=1).max()) for a in flat)
        x, v = fine.positions[-1], fine.velocities[-1]
        others = {"twice the step": (coarse.positions[-1], coarse.velocities[-1])}
        if check:
            independent = references.solution(scene, Bench(), limit_s=900.0)
            others[independent.how] = (independent.x, independent.v)
        gaps = {
            name: max(np.linalg.norm(x - a) / scale_x, np.linalg.norm(v - b) / scale_v)
            for name, (a, b) in others.items()
        }
        words = ", ".join(f"{gap:.0e} from {name}" for name, gap in gaps.items())
        return {
            "x": x,
            "v": v,
            "error": float(max(gaps.values())),
            "scale_x": scale_x,
            "scale_v": scale_v,
            "energy": float(fine.energy.kinetic.max()),
            "how": f"exprb42 at {step:.2g} s, {words}",
        }

    row = bench.row(f"{scene.name} {fingerprint(scene)[:8]}: own reference", computed)
    return Reference(**{**row, "x": np.array(row["x"]), "v": np.array(row["v"])})
