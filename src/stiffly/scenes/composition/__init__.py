"""From the tables of a scene file to a System: bodies joined, and what acts on them."""

from .bodies import Shelf, built, selected
from .composed import Joined, compose

__all__ = ["Joined", "Shelf", "built", "compose", "selected"]
