"""What there is to see of a running simulation: plain records that never change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ..contracts import Array

NOWHERE = np.empty((0, 3))  # the points of a hand that holds nothing,
NOBODY = np.empty(0, dtype=np.int64)  # and its vertices


@dataclass(frozen=True)
class LaneFrame:
    """A lane at one frame.

    positions, velocities (N, 3) float32 [m, m/s]; energies, added, dissipated, numerical [J];
    angular_momentum: its norm about the centre of mass [kg m^2/s]; alpha (mean), residual
    (largest), under_solved: what the steps of the frame said, None where they had nothing to say;
    failure: why the lane stands
    still; seconds: of physics; spent: what they were spent on; hand (k, 3) [m]: where it pulls to;
    stands_in: what is computed in the place of the method that was asked for.
    Defaults: of a recording, where nobody computes or pulls.
    """

    name: str
    positions: Array = field(repr=False)
    velocities: Array = field(repr=False)
    energies: Mapping[str, float]
    added: float
    dissipated: float
    numerical: float
    alpha: float | None
    residual: float | None
    under_solved: bool
    angular_momentum: float = 0.0
    failure: str | None = None
    seconds: float = 0.0
    spent: str = ""
    hand: Array = field(default_factory=lambda: NOWHERE, repr=False)
    stands_in: str = ""


@dataclass(frozen=True)
class Snapshot:
    """All lanes at time t [s]; frame_time: simulated seconds since the snapshot before.

    serial grows with every snapshot.  held: vertices (k,) in the hand, empty where there are none.
    """

    serial: int
    t: float
    frame_time: float
    lanes: tuple[LaneFrame, ...]
    held: Array = field(default_factory=lambda: NOBODY, repr=False)
