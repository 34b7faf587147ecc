"""The physics: what moves, and which forces act on it."""

from ..contracts import Rayleigh
from .gravity import Gravity
from .mass import ConsistentMass, LumpedMass, as_mass
from .part import Part, Particles, PreparedPart
from .second_order import SecondOrder
from .springs import Springs
from .system import System

__all__ = [
    "ConsistentMass",
    "Gravity",
    "LumpedMass",
    "Part",
    "Particles",
    "PreparedPart",
    "Rayleigh",
    "SecondOrder",
    "Springs",
    "System",
    "as_mass",
]
