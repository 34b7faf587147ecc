"""The physics: what moves, and which forces act on it."""

from ..contracts import Rayleigh
from .attachments import Attachments
from .dashpots import Dashpots
from .drag import Drag
from .elastic_bodies import cloth_springs, shell_springs, tet_springs
from .face_springs import FaceSprings
from .fibers import FiberBody, fiber, fibers
from .fields import Field, Force
from .gravity import Gravity
from .lennard_jones import LennardJones
from .mass import ConsistentMass, LumpedMass, as_mass
from .molecules import Molecule, helix_molecule, molecule_parts, read_molecule
from .momentum_damping import MomentumDamping
from .motor import MotorTorque
from .part import Part, Particles, PreparedPart
from .potential import Potential
from .rigid_body import RigidBody, bounce
from .rigid_frame import RigidFrame, Seen
from .second_order import SecondOrder
from .springs import Springs
from .stokes import StokesFluid
from .supports import Keyframes, Moving, Rotation
from .system import System
from .tetrahedra import Tetrahedra, consistent_mass, lumped_mass
from .wind import Wind

__all__ = [
    "Attachments",
    "ConsistentMass",
    "Dashpots",
    "Drag",
    "FaceSprings",
    "FiberBody",
    "Field",
    "Force",
    "Gravity",
    "Keyframes",
    "LennardJones",
    "LumpedMass",
    "Molecule",
    "MomentumDamping",
    "MotorTorque",
    "Moving",
    "Part",
    "Particles",
    "Potential",
    "PreparedPart",
    "Rayleigh",
    "RigidBody",
    "RigidFrame",
    "Rotation",
    "SecondOrder",
    "Seen",
    "Springs",
    "StokesFluid",
    "System",
    "Tetrahedra",
    "Wind",
    "as_mass",
    "bounce",
    "cloth_springs",
    "consistent_mass",
    "fiber",
    "fibers",
    "helix_molecule",
    "lumped_mass",
    "molecule_parts",
    "read_molecule",
    "shell_springs",
    "tet_springs",
]
