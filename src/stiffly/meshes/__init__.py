"""Shapes: made by formulas, or read from files."""

from .boxes import bar, beam, cube
from .car import car
from .chains import flagellum, rope
from .cloth import cloth, flag, foil, textile
from .coil import coil
from .creature import creature, creature_surface
from .decimate import decimate
from .dome import dome
from .files import read_mesh, write_mesh
from .lattice import lattice
from .mesh import Mesh
from .pylon import pylon
from .quality import Quality, quality
from .repair import repaired
from .roots import Roots, brush_roots, hair_cap
from .skin import Skin
from .sphere import sphere
from .tetrahedralise import tetrahedralise
from .topology import bending_pairs, shell, triangle_edges
from .torus import torus
from .tower import tower
from .validate import validate

__all__ = [
    "Mesh",
    "Quality",
    "Roots",
    "Skin",
    "bar",
    "beam",
    "bending_pairs",
    "brush_roots",
    "car",
    "cloth",
    "coil",
    "creature",
    "creature_surface",
    "cube",
    "decimate",
    "dome",
    "flag",
    "flagellum",
    "foil",
    "hair_cap",
    "lattice",
    "pylon",
    "quality",
    "read_mesh",
    "repaired",
    "rope",
    "shell",
    "sphere",
    "tetrahedralise",
    "textile",
    "torus",
    "tower",
    "triangle_edges",
    "validate",
    "write_mesh",
]
