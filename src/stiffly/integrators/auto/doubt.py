"""At the end of a run: may the accuracy that was asked for have been missed?"""

from __future__ import annotations

from ...contracts import System
from .watch import Watch

NEAR = 0.9  # of rtol, by the run's own estimate, which is not that exact: worth a warning
SWINGS = 3e-3  # of the energies seen: what Verlet's may swing by without any error of the motion
DRIFT = 2.0  # times rtol, of the energies seen
SETTLED = 1e-2  # rtol, from which on contact and other things between the steps are worth a word


def doubt(watch: Watch, system: System, drift: float, blind: int) -> str:
    """A reason to think so, or nothing; drift: energy lost or gained, relative; blind: steps that
    exploded and could not be taken back."""
    if blind:
        return f"was probably missed, {blind} steps exploded and could not be taken back"
    if watch.error > NEAR * watch.rtol:
        how = "was probably" if watch.error > watch.rtol else "may be"
        return f"{how} missed, the error is estimated at {watch.error:.2g}"
    if watch.sensitive:
        factor = f"exp({watch.growth:.2g})"
        return f"may be missed, this motion is unstable: small errors grow, up to {factor}-fold"
    known = system.conservative or watch.telling  # else the work of a long step is a guess
    if known and drift > DRIFT * max(watch.rtol, SWINGS):
        return f"was probably missed, {drift:.0%} of the energy is lost or gained"
    if system.settles and watch.rtol <= SETTLED:
        return "may be missed, as what acts between the steps is not in the estimate"
    return ""
