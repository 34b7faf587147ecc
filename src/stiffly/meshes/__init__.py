"""Procedural shapes."""

from .coil import coil
from .lattice import lattice
from .mesh import Mesh
from .rope import rope

__all__ = ["Mesh", "coil", "lattice", "rope"]
