"""Time integrators, one method family per file; `integrator(name)` finds them by name, see names.py
for the options that a name may carry."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..contracts import Integrator
from ..errors import InputError, require
from ..solvers.local_global import LocalGlobal
from ..solvers.newton import Newton
from ..solvers.shifted_newton import ShiftedNewton
from .auto import Auto
from .correction import iterates
from .dop853 import DormandPrince853
from .energy_momentum import EnergyMomentum
from .energy_steered import EnergyBudget, EnergyLagrange
from .epirk import Epirk
from .explicit import SymplecticEuler, Verlet
from .exponential_rosenbrock import ExponentialRosenbrock
from .exponential_table import ExponentialTable, epirk_table, exponential_table
from .fast_projection import FastProjection
from .filters import FILTERS
from .gautschi import Gautschi, Neti
from .halving import Substeps
from .names import ADAPTIVE, AUTO, NAMES, entries, found, variants
from .rkn86 import Nystrom86
from .runge_kutta import ForwardEuler, RungeKutta4
from .splitting import BlanesMoan6
from .stabilised import Stabilised
from .stage import Bdf1, Bdf2, Midpoint, Newmark
from .vimex import VImex


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
    return found(name)


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
    "ShiftedNewton",
    "Stabilised",
    "Substeps",
    "SymplecticEuler",
    "VImex",
    "Verlet",
    "entries",
    "epirk_table",
    "exponential_table",
    "integrator",
    "options",
    "variants",
]
