"""Methods that could be cheaper than Verlet, by what the system is: the rules before the pilot.

One table, in the order in which they are tried; whole runs come first, as they also tell how far
and how fast the body will move (only rk4's price, which costs next to nothing, is known before).
How a candidate is tried (see ladder.py and race.py):

    ladder    the whole run in 2, 4, 8, ... steps, compared with each other: methods that take any
              step, and whose error says little before the motion has developed
    even      one step against two halves, at the step where it would break even with the best
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, inf
from typing import Any

from ...solvers.local_global import LocalGlobal
from ..bdf import Bdf2
from ..energy_momentum import EnergyMomentum
from ..exponential_rosenbrock import ExponentialRosenbrock
from ..midpoint import Midpoint
from ..runge_kutta import RungeKutta4
from ..vimex import VImex
from ..wrapped import iterates
from .look import Look

ROUGH = 0.03  # rtol, from which on a method may lose much of what is fast
ACCURATE = 0.5  # of Verlet's limit: below this its step is a matter of accuracy
RK4_LIMIT = (1.25, 1.0)  # of Verlet's limit: stable up to 1.4 of it, but fast modes die there; the
# second where nothing else asks for short steps
LAP = 2e-10  # seconds times n^3: eigenvectors of a matrix of n rows
PRODUCTS = 0.8  # of the seconds of a force: what a product may take, or matrix functions lose
BOLD = 100  # of Verlet's steps in one of vimex: longer ones are hardly ever stable
TINY = 64  # coordinates, up to which all of a step is overhead: few and long ones win
SWINGS = (9e3, 3e4)  # radians of the stiffest mode in the run, up to which explicit methods win at
# 1 % and at 10 %: measured on a family of bodies, `stiffly lab map`
COARSE, CALM = 2, 8  # steps of the first run of a ladder; where forces brake, longer ones are dear
EASES = 0.7  # of the cost of an exponential step: one of half the size
ONCE = 1000  # coordinates of a constant stiffness whose eigenvectors are computed once


@dataclass(frozen=True)
class Case:
    """The system, the accuracy that is wanted, and Verlet's way to it: step [s], seconds of one
    and of all."""

    facts: Look
    rtol: float
    step: float
    seconds: float
    cost: float
    falls: bool = False  # it has hardly begun to move: a trial at the start says little

    @property
    def stiff(self) -> bool:
        """Verlet's step is as long as stability allows: only much longer steps can pay."""
        return self.step >= ACCURATE * self.facts.limit

    @property
    def implicit(self) -> bool:
        """A pilot cannot see what acts between steps; and tiny systems have cheap forces, unless
        their stiffest mode swings for longer than explicit methods can follow."""
        swings = self.facts.omega * self.step * self.cost / self.seconds
        large = self.facts.size > TINY or swings > SWINGS[self.rtol >= ROUGH]
        return not self.facts.settles and large

    @property
    def exponential(self) -> bool:
        """Matrix functions may pay: they need about as many products as Verlet needs forces."""
        facts = self.facts
        cheap = facts.size <= TINY or facts.product < PRODUCTS * self.seconds
        return cheap and not facts.constant

    @property
    def nearly_linear(self) -> bool:
        """It may be: a few steps of an exponential method could be all."""
        return self.exponential and not self.falls and not self.facts.settles

    @property
    def exact(self) -> bool:
        """The stiffness is constant, and its eigenvectors cost less than Verlet."""
        facts = self.facts
        return facts.constant and (facts.size > ONCE or LAP * facts.size**3 < self.cost)

    @property
    def tol(self) -> float:
        """Of matrix functions: they must not be what limits."""
        return min(max(1e-3 * self.rtol, 1e-8), 1e-5)


@dataclass(frozen=True)
class Rule:
    """worth: seconds of Verlet's run, below which trials cost more than they can save; ahead:
    share of the best cost that it must not exceed, for what a trial cannot see; budget: share of
    the best cost that its trials may take; first: steps of the coarsest whole run."""

    name: str
    tried: str  # ladder or even
    method: Callable[[Case], Any]
    when: Callable[[Case], bool]
    worth: float = 0.0
    ahead: float = 1.0
    budget: float = 0.08
    first: int = COARSE


RULES = (
    Rule("exprb2", "ladder", lambda c: _exponential((), c.tol), lambda c: c.exact, budget=1.0),
    Rule(
        "bdf2", "ladder", lambda c: Bdf2(), lambda c: c.implicit and c.facts.damped,
        1.0, 0.7, 0.5, CALM,
    ),
    Rule(
        "energy-momentum", "ladder", lambda c: EnergyMomentum(),
        lambda c: c.implicit and (c.rtol >= 1e-3 or not c.stiff) and not c.facts.damped,
        1.0, 0.7, 0.3,
    ),
    Rule(
        "projective-midpoint", "ladder", lambda c: Midpoint(solver=LocalGlobal()),
        lambda c: c.implicit and c.stiff and c.rtol >= ROUGH, 0.2, 0.7, 0.15,
    ),
    Rule(
        "vimex", "ladder", lambda c: VImex(),
        lambda c: c.implicit and c.stiff and 1e-3 <= c.rtol < ROUGH, 0.5, 0.7, 0.3,
    ),
    Rule("rk4", "even", lambda c: RungeKutta4(), lambda c: not c.stiff),
    Rule(
        "exprb2", "ladder", lambda c: _exponential((), c.tol),
        lambda c: c.nearly_linear and c.rtol >= ROUGH, 0.005, 1.0, 0.8,
    ),
    Rule(
        "exprb32", "ladder", lambda c: _exponential((1.0,), c.tol),
        lambda c: c.nearly_linear and 1e-3 <= c.rtol < ROUGH, 0.005, 1.0, 0.8,
    ),
    # in the beginning Verlet looks worse than it is, and these cannot be watched as well
    Rule(
        "exprb42", "even", lambda c: _exponential((3 / 4,), c.tol),
        lambda c: c.exponential and not c.stiff, 0.05, 0.6,
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Candidate:
    """A rule that applies; limit: of its step [s]; once: its first step costs what no other does,
    and it was taken into account; linear: one solve a step, and not every step is stable; first:
    steps of its coarsest whole run."""

    name: str
    method: Any  # an Integrator
    tried: str
    ahead: float = 1.0
    budget: float = 0.08
    limit: float = inf
    once: bool = False
    linear: bool = False
    first: int = COARSE

    @property
    def erratic(self) -> bool:
        """Its error need not fall from step to step: fast modes meet it in any phase."""
        return isinstance(self.method, ExponentialRosenbrock) and not self.once

    @property
    def eases(self) -> float:
        """What a step of half the size costs: matrix functions need fewer products for it."""
        return EASES if isinstance(self.method, ExponentialRosenbrock) else 1.0

    @property
    def solved(self) -> bool:
        """By Newton's iteration: a long step may cost many times a short one."""
        newton = hasattr(self.method, "solver") and not iterates(self.method)
        return newton and not self.linear


def candidates(case: Case, longest: float = inf) -> list[Candidate]:
    """Those worth a trial, in order; longest: of any step [s]."""
    found = []
    for rule in RULES:
        if case.cost >= rule.worth and rule.when(case):
            limit = rk4_limit(case) if rule.name == "rk4" else inf
            own = rule.name, rule.method(case), rule.tried, rule.ahead, rule.budget
            linear = rule.name == "vimex"
            first = ceil(case.cost / case.seconds / BOLD) if linear else rule.first
            found.append(Candidate(*own, min(limit, longest), case.facts.constant, linear, first))
    return found


def rk4_limit(case: Case) -> float:
    """[s]"""
    return RK4_LIMIT[case.rtol >= ROUGH] * case.facts.limit


def for_a_step(case: Case) -> list[Candidate]:
    """Methods for a step that is given: those that bear any step, too."""
    named = {"exprb42": _exponential((3 / 4,), case.tol), "energy-momentum": EnergyMomentum()}
    if case.facts.constant:
        named["exprb2"] = _exponential((), case.tol)
    named["midpoint"] = Midpoint()
    rk4 = Candidate("rk4", RungeKutta4(), "even", limit=rk4_limit(case))
    return [rk4, *(Candidate(name, method, "even") for name, method in named.items())]


def _exponential(nodes: tuple[float, ...], tol: float) -> ExponentialRosenbrock:
    return ExponentialRosenbrock(nodes=nodes, tol=tol)
