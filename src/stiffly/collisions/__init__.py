"""What bodies touch: shapes, contact forces, friction, projection, holding."""

from .held import Held
from .motion import keyframes, path, rotation
from .penalty import Contact
from .projection import ProjectedContact
from .repulsion import Repulsion
from .shapes import Hemisphere, Plane, RigidShape, Shape, Sphere, Surface, planes
from .start import push_apart
from .triangle_mesh import TriangleMesh

__all__ = [
    "Contact",
    "Held",
    "Hemisphere",
    "Plane",
    "ProjectedContact",
    "Repulsion",
    "RigidShape",
    "Shape",
    "Sphere",
    "Surface",
    "TriangleMesh",
    "keyframes",
    "path",
    "planes",
    "push_apart",
    "rotation",
]
