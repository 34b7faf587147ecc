"""stiffly: simulate stiff elastic things with large steps and an account of every joule.

Names are loaded when they are first used: `import stiffly` itself costs a millisecond, so that
`stiffly --help` answers at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import bodies, collisions, integrators, matfun, meshes, scenes, scipy
    from .bodies import Force, Gravity, Potential, SecondOrder, Springs, System, Tetrahedra
    from .contracts import Rayleigh, State
    from .errors import (
        Advice,
        Diverged,
        InputError,
        NotConverged,
        NotRecorded,
        OutOfTime,
        SimulationFailure,
        StepTooSmall,
        StiffError,
        StiffWarning,
        Terminated,
    )
    from .integrators import integrator
    from .recording.recording import Recording
    from .recording.run import Run
    from .scenes import shapes
    from .scenes.door import simulate, simulate_many
    from .scenes.python import Scene, dropped
    from .scenes.recorded import resume
    from .sweeps.sweep import sweep

__version__ = "0.1.0"

__all__ = [
    "Advice",
    "Diverged",
    "Force",
    "Gravity",
    "InputError",
    "NotConverged",
    "NotRecorded",
    "OutOfTime",
    "Potential",
    "Rayleigh",
    "Recording",
    "Run",
    "Scene",
    "SecondOrder",
    "SimulationFailure",
    "Springs",
    "State",
    "StepTooSmall",
    "StiffError",
    "StiffWarning",
    "System",
    "Terminated",
    "Tetrahedra",
    "bodies",
    "collisions",
    "dropped",
    "integrator",
    "integrators",
    "matfun",
    "meshes",
    "resume",
    "scenes",
    "scipy",
    "shapes",
    "simulate",
    "simulate_many",
    "sweep",
]

_HOMES = {  # the module that each name comes from; "": it is a module itself
    "Advice": "errors",
    "Diverged": "errors",
    "Force": "bodies",
    "Gravity": "bodies",
    "InputError": "errors",
    "NotConverged": "errors",
    "NotRecorded": "errors",
    "Potential": "bodies",
    "OutOfTime": "errors",
    "Rayleigh": "contracts",
    "Recording": "recording.recording",
    "Run": "recording.run",
    "Scene": "scenes.python",
    "SecondOrder": "bodies",
    "SimulationFailure": "errors",
    "Springs": "bodies",
    "State": "contracts",
    "StepTooSmall": "errors",
    "StiffError": "errors",
    "StiffWarning": "errors",
    "System": "bodies",
    "Terminated": "errors",
    "Tetrahedra": "bodies",
    "bodies": "",
    "collisions": "",
    "dropped": "scenes.python",
    "integrator": "integrators",
    "integrators": "",
    "matfun": "",
    "meshes": "",
    "resume": "scenes.recorded",
    "scenes": "",
    "scipy": "",
    "shapes": "scenes.python",
    "simulate": "scenes.door",
    "simulate_many": "scenes.door",
    "sweep": "sweeps.sweep",
}


def __getattr__(name: str) -> Any:
    """The public name, loaded now and kept."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f".{home or name}", __name__)
    value = getattr(module, name) if home else module
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
