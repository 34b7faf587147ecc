"""Procedural shapes."""

from .beam import bar, beam
from .cloth import cloth, flag, foil, textile
from .coil import coil
from .cube import cube
from .dome import dome
from .lattice import lattice
from .mesh import Mesh
from .pylon import pylon
from .rope import rope
from .sphere import sphere
from .topology import bending_pairs, shell, triangle_edges
from .torus import torus
from .tower import tower

__all__ = ["Mesh", "coil", "lattice", "rope"]
