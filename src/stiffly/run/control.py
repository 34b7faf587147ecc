"""Step-size control: a PI controller on the embedded error and on the nonlinear remainder.

Freezing the Jacobian is exact for stiff linear parts, but where stiff directions rotate within a
step the remainder is stiff itself and the embedded error, which sees it only through damped phi
functions, is too kind.  So a step is also judged by `remainder`, the velocity h |d| that the
remainder could add if it were not damped, against REMAINDER sqrt(rtol) times the velocity scale
(fitted on two swinging ropes, see docs/decisions/0005; not checked on other bodies).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from ..contracts import ErrorEstimate, State
from ..errors import InputError

SAFETY, GROW, SHRINK = 0.85, 4.0, 0.2
AIM = 0.1  # of the allowed error: what steps that follow one another settle at, whatever the order
FORGET = 1e-4  # of the allowed error: a step far below it says nothing about how errors go on
REMAINDER = 0.4
SLOW = 1e-3  # of the body's size within the duration: slower motion counts as rest


@dataclass(frozen=True)
class Tolerance:
    """rtol: allowed error of one step, relative to the size of the body for positions and to the
    largest rms velocity so far for velocities; atol [same unit as x] is added for positions."""

    rtol: float
    atol: float = 0.0

    def __post_init__(self) -> None:
        for name, value in (("rtol", self.rtol), ("atol", self.atol)):
            if not np.isfinite(value) or value < 0.0:
                raise InputError(f"{name} must be a positive number, got {value}: try 1e-3")
        if self.rtol <= 0.0:
            raise InputError(f"rtol must be a positive number, got {self.rtol}: try 1e-3")


def _rms(a: np.ndarray) -> float:
    return sqrt(np.add.reduce(a * a, axis=None) / a.size) if a.size else 0.0


@dataclass(frozen=True)
class Controller:
    """Evolving scales and the last error ratio; `judge` returns a new controller."""

    tolerance: Tolerance
    order: int  # of the lower-order method of the embedded pair
    length: float  # size of the body
    start: np.ndarray  # positions at the beginning
    velocity: float = 0.0  # largest rms velocity so far
    last: float = 1.0

    @staticmethod
    def begin(
        tolerance: Tolerance, order: int, shape: np.ndarray, x: np.ndarray, duration: float
    ) -> Controller:
        spread = shape - shape.mean(axis=0) if shape.ndim == 2 else shape
        length = _rms(spread)
        # a body set in motion gently has no velocity to compare with at first
        return Controller(tolerance, order, length, x, velocity=SLOW * length / duration)

    def sizes(self, before: State, after: State) -> tuple[float, float]:
        """Of the body and of its velocities (rms): what rtol is relative to."""
        # a single coordinate that starts at zero has no size: then the way it went is the yardstick
        length = max(self.length, _rms(after.x - self.start))
        return length, max(self.velocity, _rms(before.v), _rms(after.v))

    def error_ratio(self, before: State, after: State, error: ErrorEstimate) -> float:
        """Estimated error over allowed error; a step is good when it is at most 1."""
        length, velocity = self.sizes(before, after)
        allowed_x = self.tolerance.atol + self.tolerance.rtol * length
        allowed_v = self.tolerance.rtol * velocity
        ratios = [_rms(error.x) / max(allowed_x, 1e-300), _rms(error.v) / max(allowed_v, 1e-300)]
        limit = REMAINDER * sqrt(self.tolerance.rtol * after.v.size) * velocity
        ratios.append(error.remainder / max(limit, 1e-300))
        worst = max(ratios)
        return worst if np.isfinite(worst) else np.inf

    def judge(
        self, before: State, after: State, error: ErrorEstimate
    ) -> tuple[bool, float, Controller]:
        """Accept?, factor for the next step size, the controller to go on with."""
        ratio = self.error_ratio(before, after, error)
        exponent = 1.0 / (self.order + 1)
        if ratio > 1.0:
            factor = SHRINK if not np.isfinite(ratio) else SAFETY * ratio**-exponent
            return False, min(max(factor, SHRINK), 0.9), self
        ratio = max(ratio, 1e-10)
        # PI: the integral part goes for the aim, the proportional part damps the hunting
        factor = (AIM / ratio) ** (0.7 * exponent) * (self.last / AIM) ** (0.4 * exponent)
        ratio = max(ratio, FORGET)
        velocity = max(self.velocity, _rms(after.v))
        return True, min(max(factor, SHRINK), GROW), replace(self, velocity=velocity, last=ratio)
