"""How fibers of a scene touch each other: the option `fiber_contact` of brush and hair."""

from __future__ import annotations

from typing import Any

from ..bodies import FiberBody
from ..collisions import FiberImpulses, FiberRepulsion
from ..errors import require_name
from .builder import plain

KINDS = ("off", "springs", "impulses")
OPTION = plain("off", "of fibers with each other: off, springs or impulses")


def among(
    kind: str, body: FiberBody, *, thickness: float, stiffness: float, friction: float
) -> list[Any]:
    """The part by which fibers touch each other, if they do; stiffness and friction of springs."""
    require_name("fiber_contact", kind, KINDS)
    if kind == "springs":
        springs = {"stiffness": stiffness, "friction": friction}
        return [FiberRepulsion(body, thickness=thickness, **springs)]
    return [FiberImpulses(body, thickness=thickness)] if kind == "impulses" else []
