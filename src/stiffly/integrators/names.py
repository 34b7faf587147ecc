"""Methods by name: NAME, then options of that method, each behind a colon, in any order.

    eti   eti:deuflhard   eti:gautschi:two-step   eti:rest   neti:two-step:argument-filter
    pexprb43:1/2,1        stabilised:no-spin      stabilised:no-spin:projective-midpoint

Command line, scene files, the page and Python all come here.  An option is a word that stands for
one field of the method; pexprb43 has its two nodes instead, and behind the options of stabilised
stands the whole name of what it keeps, itself with options.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..errors import InputError, unknown_name
from ..solvers.local_global import LocalGlobal
from .auto import Auto
from .dop853 import DormandPrince853
from .energy_momentum import EnergyMomentum
from .energy_steered import EnergyBudget, EnergyLagrange
from .epirk import Epirk
from .epirk5p1 import EPIRK5P1
from .explicit import SymplecticEuler, Verlet
from .exponential_rosenbrock import ExponentialRosenbrock
from .exprb53 import EXPRB53
from .exprb54 import EXPRB54
from .exprk4 import EXPRK4
from .fast_projection import FastProjection
from .filters import FILTERS
from .gautschi import Gautschi, Neti
from .rkn86 import Nystrom86
from .runge_kutta import ForwardEuler, RungeKutta4
from .splitting import BlanesMoan6
from .stabilised import Stabilised
from .stage import Bdf1, Bdf2, Midpoint, Newmark
from .vimex import VImex

Words = Mapping[str, tuple[str, Any]]  # an option: the field that it stands for, its value
TWO_STEP = "two-step"
STABILISED = "stabilised"
AUTO = Auto.name  # chooses among the others

GAUTSCHI: Words = {
    **{name: ("filter", name) for name in FILTERS},
    TWO_STEP: ("form", TWO_STEP),
}
ETI: Words = {**GAUTSCHI, "rest": ("reference", "rest")}
NETI: Words = {
    **GAUTSCHI,
    "argument-filter": ("argument_filter", True),
    "secant": ("linearisation", "secant"),
}
SPIN: Words = {"no-spin": ("spin", False)}


@dataclass(frozen=True)
class Named:
    """what: in a few words; make(**fields) -> the method; words: its options; nodes: pairs c2,c3
    worth listing, of a method that takes them."""

    what: str
    make: Callable[..., Any]
    words: Words = field(default_factory=dict)
    nodes: tuple[str, ...] = ()


def _rosenbrock(what: str, *default: float, nodes: tuple[str, ...] = ()) -> Named:
    def make(nodes: tuple[float, ...] = default) -> ExponentialRosenbrock:
        return ExponentialRosenbrock(nodes=nodes)

    return Named(what, make, nodes=nodes)


def _local_global(what: str, make: Callable[..., Any]) -> Named:
    return Named(f"{what}, by ten local/global iterations", lambda: make(solver=LocalGlobal()))


def _stabilised(what: str, base: Callable[[], Any]) -> Named:
    return Named(what, lambda **fields: Stabilised(base(), **fields), SPIN)


def _quick(make: Callable[..., Any]) -> Callable[[], Any]:
    return lambda: make(solver=LocalGlobal(accelerate=True))


_TABLE: dict[str, Named] = {
    "exprb2": _rosenbrock("exponential Rosenbrock-Euler"),
    "exprb32": _rosenbrock("exponential Rosenbrock with an error estimate", 1.0),
    "exprb42": _rosenbrock("exponential Rosenbrock, one stage", 3 / 4),
    "pexprb43": _rosenbrock(
        "exponential Rosenbrock, two stages at once", 1 / 3, 3 / 4, nodes=("1/2,1",)
    ),
    "epirk4s3": _rosenbrock("the stiffly accurate EPIRK of 2017", 1 / 8, 1 / 9),
    "exprb53": Named("exponential Rosenbrock, stages that use one another", lambda: Epirk(EXPRB53)),
    "exprb54": Named("the same, error estimate of order 4", lambda: Epirk(EXPRB54)),
    "epirk5p1": Named("EPIRK of order 5 in the classical sense", lambda: Epirk(EPIRK5P1)),
    "exprk4": Named("exponential Runge-Kutta, linearised at rest", lambda: Epirk(EXPRK4)),
    "eti": Named("Gautschi type, about the loaded rest shape", Gautschi, ETI),
    "ceti": Named(
        "Gautschi type, about the rest shape turned with the body",
        lambda **fields: Neti(linearisation="corotated", **fields),
        GAUTSCHI,
    ),
    "neti": Named("Gautschi type, linearised at every step", Neti, NETI),
    "dop853": Named("Runge-Kutta of Dormand and Prince", DormandPrince853),
    "rkn86": Named("Nyström pair, for forces without velocities", Nystrom86),
    "rkn6": Named("symplectic Nyström splitting", BlanesMoan6),
    "rk4": Named("the classical Runge-Kutta method", RungeKutta4),
    "verlet": Named("Störmer-Verlet", Verlet),
    "symplectic-euler": Named("symplectic Euler", SymplecticEuler),
    "forward-euler": Named("forward Euler", ForwardEuler),
    "bdf1": Named("backward Euler", Bdf1),
    "bdf2": Named("two-step backward differentiation", Bdf2),
    "midpoint": Named("implicit midpoint", Midpoint),
    "newmark": Named("Newmark, average acceleration", Newmark),
    "vimex": Named("variational implicit-explicit", VImex),
    "energy-momentum": Named("discrete gradients: energy and momenta are kept", EnergyMomentum),
    "projective": _local_global("backward Euler", Bdf1),
    "projective-bdf2": _local_global("bdf2", Bdf2),
    "projective-midpoint": _local_global("implicit midpoint", Midpoint),
    "projective-energy-momentum": _local_global("energy-momentum", EnergyMomentum),
    STABILISED: _stabilised("implicit midpoint, or NAME, kept at its energy", Midpoint),
    # the best of those with a fixed cost per frame: docs/stability.md
    "realtime": _stabilised("fixed cost a frame, for springs", _quick(EnergyMomentum)),
    "realtime-midpoint": _stabilised("fixed cost a frame, for tetrahedra", _quick(Midpoint)),
    "energy-budget": Named("midpoint, its velocities scaled to the energy", EnergyBudget),
    "energy-lagrange": Named("trapezoidal, the energy as a constraint", EnergyLagrange),
    "fast-projection": Named("springs as rods of constant length", FastProjection),
    AUTO: Named("chooses method and step for an error", Auto),
}

NAMES = tuple(name for name in _TABLE if name != AUTO)
ADAPTIVE = tuple(name for name in NAMES if _TABLE[name].make().adaptive)


def found(name: str) -> Any:
    """The method of that name; InputError with the nearest one, or with what is wrong with it."""
    head, *given = name.split(":")
    if head not in _TABLE:
        raise unknown_name("integrator", head or "''", _TABLE)
    known, fields = _TABLE[head], {}
    while given:
        word = given.pop(0)
        if word in known.words:
            key, value = known.words[word]
            if key in fields:
                raise InputError(f"integrator {name} says its {key} twice: keep one")
            fields[key] = value
        elif known.nodes:
            if fields:
                raise InputError(f"integrator {name} says its nodes twice: keep one pair")
            fields["nodes"] = _nodes(name, word)
        elif head == STABILISED and word in _TABLE:
            return _made(name, Stabilised, base=found(":".join([word, *given])), **fields)
        else:
            raise _unknown_option(head, word)
    return _made(name, known.make, **fields)


class Entry(NamedTuple):
    """What a list says of a method; options: what may stand behind its name."""

    name: str
    order: int
    what: str
    options: tuple[str, ...]


def entries() -> list[Entry]:
    """Of all methods but auto."""
    found = []
    for name in NAMES:
        known = _TABLE[name]
        behind = ("NAME",) if name == STABILISED else ("c2,c3",) if known.nodes else ()
        found.append(Entry(name, known.make().order, known.what, (*known.words, *behind)))
    return found


def variants() -> Iterator[str]:
    """Every option once, with the two-step form where it exists in that alone: for menus."""
    for name in NAMES:
        known, plain = _TABLE[name], found(name)
        yield from (f"{name}:{pair}" for pair in known.nodes)
        for word in known.words:
            for variant in (f"{name}:{word}", f"{name}:{word}:{TWO_STEP}"):
                try:
                    made = found(variant)
                except InputError:
                    continue
                if made != plain:  # else it names what is the default
                    yield variant
                break


def _made(name: str, make: Callable[..., Any], **fields: Any) -> Any:
    try:
        return make(**fields)
    except InputError as problem:
        raise InputError(f"integrator {name}: {problem}") from None


def _nodes(name: str, text: str) -> tuple[float, ...]:
    """'1/3,3/4' -> (1/3, 3/4)."""
    try:
        nodes = tuple(_number(part) for part in text.split(","))
    except (ValueError, ZeroDivisionError):
        nodes = ()
    if len(nodes) != 2:
        head = name.partition(":")[0]
        raise InputError(
            f"integrator {name}: {text or 'nothing'} is no pair of nodes: give c2,c3 in (0, 1], "
            f"such as {head}:1/2,1"
        )
    return nodes


def _number(text: str) -> float:
    over, bar, under = text.partition("/")
    return float(over) / float(under) if bar else float(over)


def _unknown_option(head: str, word: str) -> InputError:
    known = _TABLE[head].words
    if not known:
        return InputError(f"{head} has no options: leave :{word} out")
    choices = [*known, *NAMES] if head == STABILISED else known
    return unknown_name(f"option of {head}:", word or "''", choices)
