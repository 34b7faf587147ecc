"""`auto`: the method and the step chosen on the user's own system, and why."""

from .bunch import Bunch
from .decide import Decision, Known, Offer, decide, decide_for
from .method import RTOL, Auto
from .watch import Watch

__all__ = ["RTOL", "Auto", "Bunch", "Decision", "Known", "Offer", "Watch", "decide", "decide_for"]
