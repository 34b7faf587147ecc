"""Adapters: integrators of this package, and solvers of SciPy and SUNDIALS, as lab methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from math import ceil
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from ..contracts import Array, Integrator, State, Work
from ..errors import NotConverged
from ..integrators import integrator as find_integrator
from ..scenes import Scene
from .harness import Outcome, first_order, users_view
from .trial import trial

FRAMES = 10  # recorded by a lab run: enough to notice divergence, too few to cost anything


@dataclass(frozen=True)
class IntegratorMethod:
    """An integrator with fixed steps; `settings` where it needs other steps than the rest."""

    integrator: str | Integrator
    settings: Sequence[float] | None = None
    label: str = ""
    kind: str = field(default="step", init=False)

    def __post_init__(self) -> None:
        find_integrator(self.integrator)  # a wrong name is better found before the first run

    @property
    def name(self) -> str:
        return self.label or str(self.integrator)

    def __call__(self, problem: Scene, setting: float) -> Outcome:
        steps = ceil(problem.duration / setting * (1.0 - 1e-9))
        run = trial(
            problem,
            integrator=self.integrator,
            step=setting,
            every=setting * ceil(steps / FRAMES),  # whole steps: a frame must not shorten them
        )
        work = Work(*(run.stats[name] for name in Work._fields))
        drift = float(np.abs(run.energy.numerical).max())
        return Outcome(run.positions[-1], run.velocities[-1], run.stats["steps"], work, drift)


@dataclass(frozen=True)
class ScipyMethod:
    """scipy.integrate.solve_ivp on u' = (v, a) with rtol = atol = the setting."""

    solver: Any = "DOP853"
    settings: Sequence[float] = (1e-4, 1e-6, 1e-8, 1e-10)
    label: str = ""
    kind: str = field(default="rtol", init=False)

    @property
    def name(self) -> str:
        return self.label or f"SciPy {self.solver}"

    def __call__(self, problem: Scene, setting: float) -> Outcome:
        f, u0 = first_order(problem)
        span = (0.0, problem.duration)
        found = solve_ivp(f, span, u0, self.solver, rtol=setting, atol=setting)
        if not found.success:
            raise NotConverged(f"{self.name} stopped: {found.message}")
        return _outcome(problem, u0, found.y[:, -1], found.nfev, found.t.size - 1)


@dataclass(frozen=True)
class CvodeMethod:
    """SUNDIALS CVODE through scikit-sundae; `formula` 'Adams' or 'BDF'."""

    formula: str = "Adams"
    settings: Sequence[float] = (1e-4, 1e-6, 1e-8, 1e-10)
    kind: str = field(default="rtol", init=False)

    @staticmethod
    def available() -> bool:
        return find_spec("sksundae") is not None

    @property
    def name(self) -> str:
        return f"CVODE {self.formula}"

    def __call__(self, problem: Scene, setting: float) -> Outcome:
        from sksundae.cvode import CVODE

        f, u0 = first_order(problem)

        def rhs(t: float, u: Array, out: Array) -> None:
            out[:] = f(t, u)

        solver = CVODE(
            rhs, method=self.formula, rtol=setting, atol=setting, max_num_steps=10_000_000
        )
        found = solver.solve(np.array([0.0, problem.duration]), u0)
        if not found.success:
            raise NotConverged(f"{self.name} stopped: {found.message}")
        return _outcome(problem, u0, np.asarray(found.y)[-1], int(found.nfev), 0)


def _outcome(problem: Scene, u0: Array, u: Array, evaluations: int, steps: int) -> Outcome:
    x, v = users_view(problem, u)
    drift = float("nan")
    system, _ = problem.system.bind(problem.x0, problem.v0)
    if system.conservative:
        first, last = (_energy(system, t, w) for t, w in ((0.0, u0), (problem.duration, u)))
        drift = abs(last - first)
    return Outcome(x, v, steps, Work(force_evaluations=evaluations), drift)


def _energy(system: Any, t: float, u: Array) -> float:
    n = u.size // 2
    return sum(system.energy(State(t, u[:n], u[n:])).values())
