"""Adapters: integrators of this package, and solvers of SciPy and SUNDIALS, as lab methods."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from math import ceil
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.integrate import solve_ivp

from stiffly import Run
from stiffly.contracts import Array, Integrator, State, Work
from stiffly.errors import InputError, NotConverged
from stiffly.integrators import integrator as find_integrator
from stiffly.scenes import Scene

from .harness import Outcome, first_order
from .trial import in_time, trial

FRAMES = 10  # recorded by a lab run: enough to notice divergence, too few to cost anything
LARGE, KRYLOV = 250, 20  # coordinates, from which on CVODE solves by GMRES; its vectors
SMALLEST_RTOL = 100.0 * float(np.finfo(float).eps)  # SciPy takes no less


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
            progress=in_time,
        )
        return _of_run(run)


@dataclass(frozen=True)
class AdaptiveMethod:
    """An integrator of this package that chooses its steps; the setting is rtol."""

    integrator: str
    settings: Sequence[float] | None = None
    kind: str = field(default="rtol", init=False)

    @property
    def name(self) -> str:
        return f"{self.integrator} (rtol)"

    def __call__(self, problem: Scene, setting: float) -> Outcome:
        half = 0.5 * problem.duration  # frames limit the steps: as few as tell an energy error
        run = trial(problem, integrator=self.integrator, rtol=setting, every=half, progress=in_time)
        return _of_run(run)


class Forces:
    """u' = f(t, u) of a problem, counted and with the lab's time limit, for outside solvers; bound
    once, as a run of ours is."""

    def __init__(self, problem: Scene) -> None:
        self._problem, self.calls = problem, 0
        system, state = problem.system.bind(problem.x0, problem.v0)
        self._f, self.start = first_order(system, state)
        if system.settles:
            raise InputError(
                f"{problem.name}: contact, yielding or a motion acts between the steps, which an "
                "outside solver does not know; use an integrator of this package"
            )
        self._system, self._state, self._n = system, state, state.x.size

    def __call__(self, t: float, u: Array) -> Array:
        self.calls += 1
        in_time()
        return self._f(t, u)

    def jacobian(self, t: float, u: Array) -> Any:
        """df/du = ((0, I), (-M^-1 K, -M^-1 D)) of a lumped mass; sparse where that pays."""
        in_time()
        n = self._n
        tangent = self._system.tangent(State(t, u[:n], u[n:]))
        M, K, D = (sp.csc_matrix(tangent.matrix(*parts)) for parts in np.eye(3))
        inverse = sp.diags_array(1.0 / np.asarray(M.diagonal(), dtype=np.float64))
        blocks = [[None, sp.eye_array(n)], [-(inverse @ K), -(inverse @ D)]]
        full = sp.block_array(blocks)
        return sp.csc_matrix(full) if self.large else full.toarray()

    @property
    def large(self) -> bool:
        return self._n > LARGE

    @property
    def lumped(self) -> bool:
        return bool(getattr(self._system, "lumped", False))

    def outcome(self, u: Array, work: Work, steps: int) -> Outcome:
        """Of a run that ended in u = (x, v)."""
        system, drift = self._system, float("nan")
        end = self._state.moved(self._problem.duration, u[: self._n], u[self._n :])
        if system.conservative:
            first, last = (sum(system.energy(s).values()) for s in (self._state, end))
            drift = abs(last - first)
        x, v = np.array(system.positions(end)), np.array(system.velocities(end))
        return Outcome(x, v, steps, work, drift)

    def tolerances(self, setting: float, sizes: Sequence[float] | Array) -> Array:
        return setting * np.repeat(sizes, self._n)

    def solve(
        self, solver: Any, rtol: float, sizes: Sequence[float] | Array, times: Any, rhs: Any = None
    ) -> Any:
        """By SciPy, with the exact Jacobian where the solver asks for one and we have it; rhs:
        what to call instead of this object."""
        exact = solver in ("Radau", "BDF") and self.lumped
        options: dict[str, Any] = {"jac": self.jacobian} if exact else {}
        options |= {"rtol": max(rtol, SMALLEST_RTOL), "atol": self.tolerances(rtol, sizes)}
        span = (0.0, self._problem.duration)
        return solve_ivp(rhs or self, span, self.start, solver, t_eval=times, **options)


@dataclass(frozen=True)
class ScipyMethod:
    """scipy.integrate.solve_ivp on u' = (v, a) with rtol = the setting, atol = setting * sizes.

    sizes: of a coordinate and of a velocity.  Radau and BDF get the exact sparse Jacobian of a
    body with lumped mass; LSODA and other systems differences.
    """

    solver: Any = "DOP853"
    settings: Sequence[float] = (1e-4, 1e-6, 1e-8, 1e-10)
    label: str = ""
    sizes: tuple[float, float] = (1.0, 1.0)
    kind: str = field(default="rtol", init=False)

    @property
    def name(self) -> str:
        return self.label or f"SciPy {self.solver}"

    def __call__(self, problem: Scene, setting: float) -> Outcome:
        f = Forces(problem)
        times = [problem.duration] if f.large else None  # not every step in memory
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # LSODA prints; overflow: the step was too bold
            found = f.solve(self.solver, setting, self.sizes, times)
        if not found.success:
            raise NotConverged(f"{self.name} stopped: {found.message}")
        work = Work(force_evaluations=f.calls, tangents=found.njev, factorizations=found.nlu)
        return f.outcome(found.y[:, -1], work, 0 if f.large else found.t.size - 1)


@dataclass(frozen=True)
class CvodeMethod:
    """SUNDIALS CVODE through scikit-sundae; `formula` 'Adams' or 'BDF'.

    From LARGE coordinates on, its Newton steps are solved by GMRES: a dense Jacobian costs as many
    forces as there are unknowns.  sizes: as in ScipyMethod.
    """

    formula: str = "Adams"
    settings: Sequence[float] = (1e-4, 1e-6, 1e-8, 1e-10)
    sizes: tuple[float, float] = (1.0, 1.0)
    kind: str = field(default="rtol", init=False)

    @staticmethod
    def available() -> bool:
        return find_spec("sksundae") is not None

    @property
    def name(self) -> str:
        return f"CVODE {self.formula}"

    def __call__(self, problem: Scene, setting: float) -> Outcome:
        from sksundae.cvode import CVODE  # pyright: ignore[reportMissingImports]  # optional

        f = Forces(problem)

        def rhs(t: float, u: Array, out: Array) -> None:
            out[:] = f(t, u)

        solver = CVODE(
            rhs,
            method=self.formula,
            rtol=setting,
            atol=f.tolerances(setting, self.sizes),
            max_num_steps=10_000_000,
            linsolver="gmres" if f.large else "dense",
            krylov_dim=KRYLOV if f.large else None,
        )
        # with two times it keeps every step that it takes: too much of a large body
        span = np.linspace(0.0, problem.duration, 3 if f.large else 2)
        found = solver.solve(span, f.start)
        if not found.success:
            raise NotConverged(f"{self.name} stopped: {found.message}")
        steps = 0 if f.large else len(found.t) - 1
        return f.outcome(np.asarray(found.y)[-1], Work(f.calls), steps)


def _of_run(run: Run) -> Outcome:
    work = Work(*(run.stats[name] for name in Work._fields))
    drift = float(np.abs(run.energy.numerical).max())
    exchanged = max(run.energy.exchanged, float(run.energy.kinetic.max()))
    x, v = run.positions[-1], run.velocities[-1]
    return Outcome(x, v, run.stats["steps"], work, drift, exchanged)
