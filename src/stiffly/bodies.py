"""The physics: what moves, and which forces act on it."""

from .contracts import Rayleigh
from .parts.attachments import Attachments
from .parts.elastic_bodies import cloth_springs, shell_springs, tet_springs
from .parts.fibers import FiberBody, fiber, fibers
from .parts.fields import Dashpots, Drag, Field, Force, Gravity, Wind
from .parts.lennard_jones import LennardJones
from .parts.linear_springs import LinearSprings
from .parts.molecules import Molecule, helix_molecule, molecule_parts, read_molecule
from .parts.momentum_damping import MomentumDamping
from .parts.motor import MotorTorque
from .parts.part import Part, Particles, PreparedPart
from .parts.potential import Potential
from .parts.rigid_body import RigidBody, RigidFrame, Seen, bounce
from .parts.springs import FaceSprings, Springs
from .parts.stokes import StokesFluid
from .parts.tetrahedra import Tetrahedra, consistent_mass, lumped_mass
from .system.mass import ConsistentMass, LumpedMass, as_mass
from .system.second_order import SecondOrder
from .system.supports import Keyframes, Moving, Rotation
from .system.system import System

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
    "LinearSprings",
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
