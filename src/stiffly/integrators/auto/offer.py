"""What a decision consists of: a method at a step, what it costs, and why it was taken."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import Any

from .candidates import ACCURATE
from .content import Scales
from .look import Look


@dataclass(frozen=True)
class Offer:
    """A method at a step: seconds for a step and for all that is left; error: relative, expected;
    limit: no longer step than this [s]; made: seconds that its steps have taken already, in the
    pilot."""

    name: str
    method: Any  # an Integrator
    step: float
    seconds: float
    cost: float
    error: float
    limit: float = inf
    made: float = 0.0

    @property
    def price(self) -> float:
        """Seconds of all its steps, whenever they are taken."""
        return self.cost + self.made

    @property
    def words(self) -> str:
        return f"{self.name} at {_seconds(self.step)}"

    def with_method(self, method: Any) -> Offer:
        return replace(self, method=method)


@dataclass(frozen=True)
class Decision:
    """The offer that was taken, all others, and what was seen: scales of x and v to be expected."""

    offer: Offer
    others: tuple[Offer, ...]
    facts: Look
    scales: Scales
    rtol: float
    per_step: float  # seconds of a step of Verlet
    seconds: float = 0.0  # that it took to decide

    @property
    def line(self) -> str:
        """Why, in one line."""
        own, others = self.offer, sorted(self.others, key=lambda o: o.cost)
        h_omega = own.step * self.facts.omega
        text = f"auto: {own.words}: h omega = {h_omega:.2g}, error about {own.error:.1g}"
        text += f", about {_seconds(own.price)} to compute" + (", done" if own.made else "")
        rivals = [o for o in others if o.name == "verlet"] or others
        if rivals and isfinite(rivals[0].cost):
            text += f"; {rivals[0].cost / own.price:.1f}x cheaper than {rivals[0].words}"
        elif own.step >= ACCURATE * self.facts.limit:
            text += "; while it is stable nothing is cheaper"
        return text


def _seconds(value: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"
