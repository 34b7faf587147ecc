"""stiffly: simulate stiff elastic things with large steps and an account of every joule."""

from . import bodies, collisions, integrators, matfun, meshes, scenes, scipy
from .bodies import Gravity, SecondOrder, Springs, System, Tetrahedra
from .contracts import Rayleigh, State
from .errors import (
    Diverged,
    InputError,
    NotConverged,
    SimulationFailure,
    StepTooSmall,
    StiffError,
    StiffWarning,
)
from .integrators import integrator
from .simulate import Run, simulate

__version__ = "0.1.0"

__all__ = [
    "Diverged",
    "Gravity",
    "InputError",
    "NotConverged",
    "Rayleigh",
    "Run",
    "SecondOrder",
    "SimulationFailure",
    "Springs",
    "State",
    "StepTooSmall",
    "StiffError",
    "StiffWarning",
    "System",
    "Tetrahedra",
    "bodies",
    "collisions",
    "integrator",
    "integrators",
    "matfun",
    "meshes",
    "scenes",
    "scipy",
    "simulate",
]
