"""Steps whose failures are told in the words of the page: what its user can turn."""

from __future__ import annotations

from ..contracts import Step
from ..errors import SimulationFailure
from ..recording.plots.style import unit
from ..run.stepper import Stepper

STURDY = ("energy-momentum", "stabilised")  # they take every scene, and live where others die


class LiveStepper(Stepper):
    def _try(self, h: float) -> Step:
        try:
            return super()._try(h)
        except SimulationFailure as problem:
            raise type(problem)(f"{cause(str(problem))}; {self._remedy(h)}") from problem

    def _remedy(self, h: float) -> str:
        others = " or ".join(name for name in STURDY if name != self.name)
        scale = unit("s", h)  # as the control has it
        return f"choose {others} in its place, or a Step of {h / 4 * scale.factor:.2g} {scale.name}"


def cause(message: str) -> str:
    """The message of a failure without its remedy, which comes after the last of the marks."""
    end = max(message.rfind(mark) for mark in (": ", "; "))
    return message[:end] if end > 0 else message
