"""Time integrators, one method family per file; `integrator(name)` finds them by name, see names.py
for the options that a name may carry."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
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
    max_steps: float | None = None,
    **unknown: Any,
) -> Integrator:
    """The integrator of that name; objects pass through.

    Options are other than the method's defaults, and one that it has not is an InputError (see
    `options`): iterations of local/global solves, tolerance of stabilised methods, the budget, the
    seconds that a step may take to compute, max_products, the work that one evaluation of
    matrix functions may be before it is NotConverged (exponential methods), and max_steps of one
    of the runs that auto makes.
    """
    method = _found(name)
    named = {"iterations": iterations, "tolerance": tolerance, "budget": budget}
    named |= {"max_products": max_products, "max_steps": max_steps}
    given = {key: value for key, value in named.items() if value is not None}
    known = options(method)
    for key in (*given, *unknown):
        if key not in known:
            raise _no_option(name if isinstance(name, str) else type(name).__name__, key, known)
    return _configured(method, given) if given else method


def options(name: str | Integrator) -> frozenset[str]:
    """Which of 'iterations', 'tolerance', 'budget', 'max_products', 'max_steps' it knows."""
    method: Any = _found(name)
    if isinstance(method, Stabilised):
        # a correction by Newton's method takes as long as it takes
        timed = iterates(method.base) and iterates(method.dissipate)
        inner = {name for name in options(method.base) if name != "budget"}
        return frozenset(["tolerance", *inner, *["budget"] * timed])
    if iterates(method):
        return frozenset(["iterations", "budget"])
    limited = [key for key in ("max_products", "max_steps") if hasattr(method, key)]
    return frozenset([*["budget"] * getattr(method, "timed", False), *limited])


def _no_option(method: str, key: str, known: frozenset[str]) -> InputError:
    """With the nearest name, and with all that it knows."""
    if not known:
        return InputError(f"{key}: {method} has no such option, nor any other; leave it out")
    near = get_close_matches(key, known, n=1)
    remedy = f"did you mean {near[0]}?" if near else "leave it out"
    words = ", ".join(sorted(known))
    return InputError(f"{key}: {method} has no such option, only {words}: {remedy}")


def _configured(method: Any, given: dict[str, Any]) -> Any:
    """The method with these options, all of which it has."""
    if isinstance(method, Stabilised):
        own = {key: value for key, value in given.items() if key in ("tolerance", "budget")}
        inner = {key: value for key, value in given.items() if key not in own}
        base = _configured(method.base, inner) if inner else method.base
        return replace(method, base=base, **own)
    if iterates(method):
        return replace(method, solver=replace(method.solver, **given))
    return replace(method, **given)


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
