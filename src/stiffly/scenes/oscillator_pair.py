"""Two masses, each tied to a wall by a soft spring and to the other by a stiff one, near resonance.

    m x'' + [[ka + kb, -kb], [-kb, ka + kb]] x = (ka amplitude cos(omega_ext t), 0)

Natural frequencies omega_1^2 = ka/m (both swing together) and omega_2^2 = (ka + 2 kb)/m (against
each other).  Michels, Sobottka & Weber (2014), Sec. 5.1: m = 1 kg, ka = 1e2, kb = 1e10 N/m,
amplitude 1 m, omega_ext = omega_1 - 1e-10, h = 0.01 s.
The forced motion is x(t) = x_hat cos(omega_ext t), and so close to resonance its amplitude is
2.5e10 m: equations this linear do not mind.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, sqrt

import numpy as np

from ..bodies import SecondOrder
from ..contracts import Array
from ..errors import InputError
from .builder import Setup, plain, positive, scene

SUMMARY = "2 masses, springs 1e2 and 1e10 N/m, driven at resonance less 1e-10 rad/s"
SOURCE = "Michels, Sobottka & Weber 2014, Sec. 5.1, Fig. 11"
SHOWS = "eti gives the analytic solution, V-IMEX falls out of phase"
SMALL = {"duration": 2.0}
RUN = {"step": 0.01, "duration": 100.0, "integrator": "eti"}
PAPER = {"step": 0.01, "duration": 100.0, "integrator": "eti"}
PAPER_HOLDS = "holds: eti gives the analytic solution"
STARTS = ("steady", "rest")


@dataclass(frozen=True)
class OscillatorPair:
    """The equations and their exact solutions."""

    ka: float = 1e2
    kb: float = 1e10
    mass: float = 1.0
    amplitude: float = 1.0
    detuning: float = 1e-10

    @property
    def omega_1(self) -> float:
        return sqrt(self.ka / self.mass)

    @property
    def omega_2(self) -> float:
        return sqrt((self.ka + 2.0 * self.kb) / self.mass)

    @property
    def omega_ext(self) -> float:
        return self.omega_1 - self.detuning

    def steady(self, t: Array | float) -> tuple[Array, Array]:
        """x, v (..., 2) of the forced motion x_hat cos(omega_ext t)."""
        together, against = self._response(self.omega_1), self._response(self.omega_2)
        x_hat = np.array([together + against, together - against])
        phase, w = np.asarray(t) * self.omega_ext, self.omega_ext
        return np.cos(phase)[..., None] * x_hat, -w * np.sin(phase)[..., None] * x_hat

    def from_rest(self, t: Array | float) -> tuple[Array, Array]:
        """x, v (..., 2) of the motion that starts with x = v = 0."""
        t = np.asarray(t, dtype=np.float64)
        (y, dy), (z, dz) = self._mode(t, self.omega_1), self._mode(t, self.omega_2)
        return np.stack([y + z, y - z], axis=-1), np.stack([dy + dz, dy - dz], axis=-1)

    def _mode(self, t: Array, omega: float) -> tuple[Array, Array]:
        """One mode from rest: q'' + omega^2 q = drive cos(omega_ext t).

        cos a - cos b = 2 sin((a + b)/2) sin((b - a)/2): near resonance the difference itself
        would keep no digit.
        """
        w = self.omega_ext
        mean, half = 0.5 * (omega + w) * t, 0.5 * (omega - w) * t
        scale = self._response(omega)
        q = scale * 2.0 * np.sin(mean) * np.sin(half)
        dq = scale * (
            (omega + w) * np.cos(mean) * np.sin(half) + (omega - w) * np.sin(mean) * np.cos(half)
        )
        return q, dq

    def _response(self, omega: float) -> float:
        """Amplitude of a forced mode, drive / (omega^2 - omega_ext^2): either mode gets half of the
        force on the first mass; the difference of squares itself would cancel."""
        gap = (omega - self.omega_ext) * (omega + self.omega_ext)
        return 0.5 * self.ka * self.amplitude / self.mass / gap

    def system(self) -> SecondOrder:
        ka, kb = self.ka, self.kb
        K = np.array([[ka + kb, -kb], [-kb, ka + kb]])
        return SecondOrder(stiffness=K, force=self.force, jacobian=0, mass=self.mass)

    def force(self, t: float, x: Array) -> Array:
        """(2,) [N]: the wall that moves pulls at the first mass."""
        return np.array([self.ka * self.amplitude * cos(self.omega_ext * t), 0.0])


@scene
def oscillator_pair(
    ka: float = positive(1e2, "stiffness to the walls [N/m]"),
    kb: float = positive(1e10, "stiffness between the masses [N/m]"),
    mass: float = positive(1.0, "of each [kg]"),
    amplitude: float = plain(1.0, "of the wall that moves [m]"),
    detuning: float = positive(1e-10, "from resonance [rad/s]"),
    start: str = plain("steady", "steady or rest"),
) -> Setup:
    """start: 'steady', the forced motion itself, or 'rest', from which resonance builds up."""
    if start not in STARTS:
        raise InputError(f"oscillator-pair start = {start}: choose one of {', '.join(STARTS)}")
    pair = OscillatorPair(ka, kb, mass, amplitude, detuning)
    if pair.omega_ext in (pair.omega_1, 0.0):
        raise InputError(
            f"oscillator-pair detuning = {detuning}: it is lost in rounding or cancels the drive; "
            "try 1e-10"
        )
    solution = pair.steady if start == "steady" else pair.from_rest
    return Setup(pair.system(), *solution(0.0), solution=solution)
