"""Who competes on a problem: every integrator of this package, and solvers of others."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any, NamedTuple

from stiffly.errors import InputError, StiffWarning
from stiffly.integrators import NAMES
from stiffly.integrators import integrator as find_integrator
from stiffly.scenes import Scene

from .bench import Bench
from .equal_error import cheapest
from .harness import Method, Outcome, Record
from .methods import AdaptiveMethod, CvodeMethod, IntegratorMethod, ScipyMethod
from .tight import Reference, stable_step

SCIPY = ("DOP853", "LSODA", "RK45", "Radau", "BDF")
VERLET = "verlet"
ADAPTIVE = ("exprb42", "pexprb43", "dop853", "rkn86")
LONGER, SHORTER = 4, 28  # rungs of sqrt(2) above and below Verlet's stability limit


@dataclass(frozen=True)
class BestOf:
    """Several methods that compete as one: at every level the fastest of them counts."""

    name: str
    alternatives: Sequence[Method]
    settings: Sequence[float] | None = None
    kind: str = field(default="rtol", init=False)

    def __call__(self, problem: Scene, setting: float) -> Outcome:
        return self.alternatives[0](problem, setting)


def ours(problem: Scene) -> list[Method]:
    """Every integrator that takes this system, with fixed steps and some with steps of their own
    choice too; Verlet is among the rivals (see `outside`)."""
    refusals = refused(problem)
    found: list[Method] = [IntegratorMethod(n) for n in NAMES if n != VERLET and n not in refusals]
    return found + [AdaptiveMethod(n) for n in ADAPTIVE if n not in refusals]


def refused(problem: Scene) -> dict[str, str]:
    """Integrators that do not take this system, and why."""
    found = {}
    for name in NAMES:
        system, start = problem.system.bind(problem.x0, problem.v0)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", StiffWarning)
                find_integrator(name).start(system, start)
        except InputError as refusal:
            found[name] = str(refusal)
    return found


def outside(problem: Scene, reference: Reference | None = None) -> list[Method]:
    """Verlet from its stability limit on, SciPy's best, CVODE; who is `missing` is left out.

    reference: its scales tell the solvers how large coordinates and velocities are; default 1.
    Where something happens between the steps of this system, outside solvers cannot run it.
    """
    if problem.system.settles:
        return [verlet(problem)]
    sizes = (1.0, 1.0)
    if reference is not None:
        root = reference.x.size**0.5
        sizes = (reference.scale_x / root, reference.scale_v / root)
    best = BestOf("SciPy's best", [ScipyMethod(name, sizes=sizes) for name in SCIPY])
    found: list[Method] = [verlet(problem), best]
    if CvodeMethod.available():
        found += [CvodeMethod(formula, sizes=sizes) for formula in ("Adams", "BDF")]
    return found


def contenders(
    names: Sequence[str], problem: Scene, reference: Reference, quick: bool
) -> tuple[list[Method], dict[str, str]]:
    """Of these integrators those that take the system, with Verlet and, unless quick, solvers of
    others; and who cannot compete, and why."""
    refusals = refused(problem)
    ours = [IntegratorMethod(name) for name in dict.fromkeys(names) if name not in refusals]
    others = [verlet(problem)] if quick else outside(problem, reference)
    absent = {name: why for name, why in refusals.items() if name in names}
    return [*ours, *others], absent | missing(problem)


def missing(problem: Scene) -> dict[str, str]:
    """Rivals that cannot compete here, and why."""
    names = ("SciPy's best", "CVODE Adams", "CVODE BDF")
    if problem.system.settles:
        why = "contact, yielding or a motion acts between the steps: there is no right-hand side"
    elif not CvodeMethod.available():
        names, why = names[1:], "scikit-sundae is not installed: pip install 'stiffly[bench]'"
    else:
        return {}
    return dict.fromkeys(names, why)


def verlet(problem: Scene) -> IntegratorMethod:
    """Verlet on a ladder of which its stability limit, 2 / omega_max at the start, is a rung."""
    at_limit = ceil(problem.duration / stable_step(problem))
    counts = [max(1, round(at_limit * 2.0 ** (0.5 * k))) for k in range(-LONGER, SHORTER)]
    return IntegratorMethod(VERLET, [problem.duration / n for n in dict.fromkeys(counts)])


# ------------------------------------------------------------------ how long they are waited for
# As long as a rival's seconds could still decide something.  A method that takes several times as
# long as the one it is compared with has lost by so much, and how much more is not asked; where a
# paper claims a factor, it is waited for that.


class Limits(NamedTuple):
    """Seconds for a run of the method that the others are compared with, and of another."""

    first: float = 3.0
    least: float = 0.5
    most: float = 6.0


USUAL = Limits()
LOST = 1.5  # times the seconds of the first
SLACK = 1.1  # so that a claimed factor is exceeded by who does not come in time


def patience(first: Record | None, factor: float = LOST, limits: Limits = USUAL) -> float:
    """Seconds for a run of a rival; factor: what it would have to take of the first's seconds."""
    if first is None or first.failure or not first.seconds:
        return limits.least
    wanted = float(f"{SLACK * factor * first.seconds:.2g}")  # readers see it: two digits
    return min(max(limits.least, wanted), limits.most)


def race(
    bench: Bench,
    problem: Scene,
    reference: Reference,
    methods: Sequence[Method],
    levels: Sequence[float],
    first: str,
    factor: Callable[[str], float] = lambda name: LOST,
    limits: Limits = USUAL,
    **options: Any,
) -> dict[str, dict[float, Record]]:
    """Everybody's cheapest run at every level; first: whom the others are compared with, at the
    finest level; factor(name): see `patience`; options: of `cheapest`."""
    found: dict[str, dict[float, Record]] = {}
    for method in methods:
        leader = found.get(first, {}).get(min(levels))
        if method.name == first:
            limit = limits.first
        else:
            limit = patience(leader, factor(method.name), limits)
        options |= {"repeats": 1, "limit_s": limit}
        met = cheapest(bench, problem, method, reference, levels, **options)
        found[method.name] = {level: late(record, limit) for level, record in met.items()}
    return found


def late(record: Record, limit_s: float) -> Record:
    """Of who was not in time, `seconds` says what it takes at least; of other failures nothing."""
    return replace(record, seconds=limit_s) if "not within" in (record.failure or "") else record


def is_late(record: Record) -> bool:
    return record.failure is not None and record.seconds is not None
