"""Time integrators, one method family per file; `integrator(name)` finds them by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..contracts import Integrator
from ..errors import InputError, require, unknown_name
from ..solvers.local_global import LocalGlobal
from ..solvers.newton import Newton
from .auto import Auto
from .correction import iterates
from .dop853 import DormandPrince853
from .energy_momentum import EnergyMomentum
from .energy_steered import EnergyBudget, EnergyLagrange
from .epirk import Epirk
from .epirk5p1 import EPIRK5P1
from .explicit import SymplecticEuler, Verlet
from .exponential_rosenbrock import ExponentialRosenbrock
from .exponential_table import ExponentialTable, epirk_table, exponential_table
from .exprb53 import EXPRB53
from .exprb54 import EXPRB54
from .exprk4 import EXPRK4
from .fast_projection import FastProjection
from .filters import FILTERS
from .gautschi import Gautschi, Neti
from .halving import Substeps
from .rkn86 import Nystrom86
from .runge_kutta import ForwardEuler, RungeKutta4
from .splitting import BlanesMoan6
from .stabilised import Stabilised
from .stage import Bdf1, Bdf2, Midpoint, Newmark
from .vimex import VImex

_TABLE: dict[str, Callable[[], Any]] = {
    "exprb2": lambda: ExponentialRosenbrock(nodes=()),
    "exprb32": lambda: ExponentialRosenbrock(nodes=(1.0,)),
    "exprb42": lambda: ExponentialRosenbrock(nodes=(3 / 4,)),
    "pexprb43": lambda: ExponentialRosenbrock(nodes=(1 / 3, 3 / 4)),
    "epirk4s3": lambda: ExponentialRosenbrock(nodes=(1 / 8, 1 / 9)),
    "exprb53": lambda: Epirk(EXPRB53),
    "exprb54": lambda: Epirk(EXPRB54),
    "epirk5p1": lambda: Epirk(EPIRK5P1),
    "exprk4": lambda: Epirk(EXPRK4),
    "eti": Gautschi,
    "ceti": lambda: Neti(linearisation="corotated"),
    "neti": Neti,
    "dop853": DormandPrince853,
    "rkn86": Nystrom86,
    "rkn6": BlanesMoan6,
    "rk4": RungeKutta4,
    "verlet": Verlet,
    "symplectic-euler": SymplecticEuler,
    "forward-euler": ForwardEuler,
    "bdf1": Bdf1,
    "bdf2": Bdf2,
    "midpoint": Midpoint,
    "newmark": Newmark,
    "vimex": VImex,
    "energy-momentum": EnergyMomentum,
    "projective": lambda: Bdf1(solver=LocalGlobal()),
    "projective-midpoint": lambda: Midpoint(solver=LocalGlobal()),
    "projective-energy-momentum": lambda: EnergyMomentum(solver=LocalGlobal()),
    "stabilised": Stabilised,
    # the best of those with a fixed cost per frame, for springs and for tets: docs/stability.md
    "realtime": lambda: Stabilised(EnergyMomentum(solver=LocalGlobal(accelerate=True))),
    "realtime-midpoint": lambda: Stabilised(Midpoint(solver=LocalGlobal(accelerate=True))),
    "energy-budget": EnergyBudget,
    "energy-lagrange": EnergyLagrange,
    "fast-projection": FastProjection,
}

NAMES = tuple(_TABLE)
ADAPTIVE = tuple(name for name, make in _TABLE.items() if make().adaptive)
STABILISED = "stabilised:"  # in front of any other name
AUTO = Auto.name  # not one of them: it chooses among them


def integrator(
    name: str | Integrator,
    *,
    iterations: int | None = None,
    tolerance: float | None = None,
    budget: float | None = None,
    max_products: int | None = None,
) -> Integrator:
    """The integrator of that name; objects pass through.

    Where the method has them (see `options`), these are other than its defaults: iterations of
    local/global solves, tolerance of stabilised methods, the budget, the seconds that a step
    may take to compute, and max_products, the work that one evaluation of matrix functions may be
    before it is NotConverged (exponential methods).
    """
    method = _found(name)
    if max_products is not None and "max_products" not in options(method):
        raise InputError(f"{name} has no max_products: that is a limit of exponential methods")
    given = {"iterations": iterations, "tolerance": tolerance, "budget": budget}
    return _configured(method, **given, max_products=max_products)


def options(name: str | Integrator) -> frozenset[str]:
    """Which of 'iterations', 'tolerance', 'budget' and 'max_products' mean something to it."""
    method: Any = _found(name)
    if isinstance(method, Stabilised):
        # a correction by Newton's method takes as long as it takes
        timed = iterates(method.base) and iterates(method.dissipate)
        inner = {name for name in options(method.base) if name != "budget"}
        return frozenset(["tolerance", *inner, *["budget"] * timed])
    if iterates(method):
        return frozenset(["iterations", "budget"])
    limited = ["max_products"] * hasattr(method, "max_products")
    return frozenset([*["budget"] * getattr(method, "timed", False), *limited])


def _configured(method: Any, **given: Any) -> Any:
    """The method with these options, where it has them; None leaves one as it is."""
    wanted = {k: v for k, v in given.items() if v is not None and k in options(method)}
    if not wanted:
        return method
    if isinstance(method, Stabilised):
        names = ("iterations", "max_products")
        inner = {name: wanted.pop(name) for name in names if name in wanted}
        return replace(method, base=_configured(method.base, **inner), **wanted)
    if iterates(method):
        return replace(method, solver=replace(method.solver, **wanted))
    return replace(method, **wanted)


def _found(name: str | Integrator) -> Any:
    if not isinstance(name, str):
        if type(name).__module__ == "builtins" and not isinstance(name, type):  # a number, None
            raise InputError(
                f"integrator {name!r} is neither a name nor an integrator: "
                f"choose one of {', '.join(NAMES)}"
            )
        require(name, Integrator, "integrator")
        return name
    if name.startswith(STABILISED) and name != STABILISED:
        return Stabilised(name.removeprefix(STABILISED))
    if name == AUTO:
        return Auto()
    if name not in _TABLE:
        raise unknown_name("integrator", name, (*NAMES, AUTO))
    return _TABLE[name]()


__all__ = [
    "ADAPTIVE",
    "AUTO",
    "FILTERS",
    "NAMES",
    "Auto",
    "Bdf1",
    "Bdf2",
    "BlanesMoan6",
    "DormandPrince853",
    "EnergyBudget",
    "EnergyLagrange",
    "EnergyMomentum",
    "Epirk",
    "ExponentialRosenbrock",
    "ExponentialTable",
    "FastProjection",
    "ForwardEuler",
    "Gautschi",
    "LocalGlobal",
    "Midpoint",
    "Neti",
    "Newmark",
    "Newton",
    "Nystrom86",
    "RungeKutta4",
    "Stabilised",
    "Substeps",
    "SymplecticEuler",
    "VImex",
    "Verlet",
    "epirk_table",
    "exponential_table",
    "integrator",
    "options",
]
