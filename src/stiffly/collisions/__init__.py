"""What bodies touch: shapes, contact forces, friction, projection, holding."""

from .fiber_contact import FiberImpulses, FiberRepulsion
from .penalty import Contact
from .plaque import Plaque
from .repulsion import Repulsion
from .response import Held, ProjectedContact
from .shapes import (
    Hemisphere,
    Plane,
    RigidShape,
    Shape,
    Sphere,
    Surface,
    keyframes,
    path,
    planes,
    rotation,
)
from .start import push_apart
from .triangle_mesh import TriangleMesh

__all__ = [
    "Contact",
    "FiberImpulses",
    "FiberRepulsion",
    "Held",
    "Hemisphere",
    "Plane",
    "Plaque",
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
