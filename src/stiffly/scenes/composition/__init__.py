"""From the tables of a scene file to a System: bodies joined, and what acts on them."""

from .composed import compose

__all__ = ["compose"]
