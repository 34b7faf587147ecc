"""Shapes: made by formulas, or read from files."""

from .car import car
from .curved import coil, dome, sphere, torus
from .decimate import decimate
from .files import read_mesh, write_mesh
from .grids import bar, beam, cloth, cube, flag, foil, lattice, textile
from .implicit import creature, creature_surface
from .lines import Roots, brush_roots, flagellum, hair_cap, rope
from .look import Look
from .mesh import Mesh
from .quality import Quality, quality
from .skin import Skin
from .tetrahedralise import tetrahedralise
from .topology import bending_pairs, shell, triangle_edges
from .trusses import pylon, tower
from .validate import repaired, validate

__all__ = [
    "Look",
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
