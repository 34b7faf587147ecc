"""`auto`: the method and the step chosen on the user's own system, and why."""

from .bunch import Bunch, together
from .decide import Known, decide, decide_for
from .method import RTOL, Auto
from .offer import Decision, Offer
from .watch import Watch

__all__ = [
    "RTOL",
    "Auto",
    "Bunch",
    "Decision",
    "Known",
    "Offer",
    "Watch",
    "decide",
    "decide_for",
    "together",
]
