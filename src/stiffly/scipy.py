"""Exponential Rosenbrock methods behind SciPy's own door, for stiff ODEs y' = f(t, y):

    scipy.integrate.solve_ivp(f, span, y0, method=stiffly.scipy.ExponentialRosenbrock, jac=J)

The linear part of every step is exact: a step may cross many periods of a fast linear oscillation
or many decay times of a stiff linear mode.  In local time s = |t - t_n|, with g = +-f (the sign is
the direction of integration), G = g(t_n, u), J = dg/du, G' = dg/ds, every value of a step is

    u(s) = u + s phi_1(sJ) G + s^2 phi_2(sJ) G' + s^3 phi_3(sJ) w_3 + s^4 phi_4(sJ) w_4,

stages with w_3 = w_4 = 0, and this is the dense output too: a polynomial through the ends of a
step knows nothing of the periods in between.
(Hochbruck, Ostermann & Schweitzer 2009; Luan & Ostermann 2016; Luan et al. 2019.)
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.integrate import DenseOutput, OdeSolver
from scipy.sparse.linalg import LinearOperator

from .arrays import real_array, real_number
from .contracts import Array
from .errors import InputError, NotConverged, StiffWarning
from .matfun.augmented import balance_of
from .matfun.cost import SMALL
from .matfun.general import dense_phi, general_phi_actions
from .matfun.tolerance import EPS

_KRYLOV_SHARE = 0.02  # of the step's error weights, for each evaluation of phi functions
_SAFETY, _SHRINK, _GROW = 0.9, 0.2, 10.0
PACE = 300  # steps that are tried between two looks at how far they lead
SHORTEST, LONGEST = 1e-60, 1e60  # times whose fourth powers are still numbers
_STEEP = 0.1  # of a component's size: the longest difference for a column of the Jacobian
_BALANCE_LIFE = 20  # Jacobians known by products only share one balance for this long


class _Linearisation:
    """J of one step with its balance: sums s^k phi_k(sJ) v_k to a share of the error weights."""

    def __init__(self, J: Any, balance: Array | None, scale: Array) -> None:
        self.small = not isinstance(J, LinearOperator) and J.shape[0] <= SMALL
        self.J: Any = sp.csr_matrix(J).toarray() if self.small and sp.issparse(J) else J
        self.balance, self.products = balance_of(J) if balance is None else (balance, 0)
        self.scale = scale

    def phi(self, times: Any, vectors: list[Array | None]) -> list[Array]:
        """Rows sum_k s^k phi_k(sJ) v_k for increasing positive times s."""
        if self.small:
            actions = dense_phi(self.J, times, vectors, balance=self.balance)
        else:
            options: Any = {"norm_scale": self.scale, "balance": self.balance}
            actions = general_phi_actions(self.J, times, vectors, _KRYLOV_SHARE, **options)
            self.products += actions[-1].products
        return [action.value for action in actions]


@dataclass(frozen=True, slots=True)
class _Trial:
    """One attempted step: state and slope at its end, estimated error, and its own u(s)."""

    t: float
    y: Array
    slope: Array
    error: Array
    vectors: list[Array | None]  # v_0 .. v_4 of u(s) - u


class ExponentialDenseOutput(DenseOutput):
    """u(s) of one step, evaluated when asked for; all the times of one call share one pass.

    Times before the step's start give the value at the start.
    """

    def __init__(self, t_old: float, t: float, y_old: Array, linear: Any, vectors: Any) -> None:
        super().__init__(t_old, t)
        self._y, self._linear, self._vectors = y_old, linear, vectors

    def _call_impl(self, t: Array) -> Array:
        s = np.sign(self.t - self.t_old) * (np.atleast_1d(t) - self.t_old)
        times, place = np.unique(np.maximum(s, 0.0), return_inverse=True)
        after = times[times > 0.0]
        rows = self._linear.phi(after, self._vectors) if after.size else []
        increments = np.array([np.zeros_like(self._y)] * (times.size - after.size) + rows)
        values = self._y + increments[place.ravel()]
        return values[0] if np.ndim(t) == 0 else values.T


class ExponentialRosenbrock(OdeSolver):
    """pexprb43 with the parallel stages c = 1/2, 1: order 4, error estimate of order 3.

    jac: callable (t, y) -> (n, n) array, SciPy sparse matrix or LinearOperator; a constant one of
    these; or None for finite differences (dense, n calls of fun per step).  A Jacobian with more
    than 60 rows is multiplied with vectors; up to 1,000 rows it is made dense where as many
    products as it has rows do not suffice for a step.  rtol, atol (scalar or (n,)), max_step,
    first_step, vectorized: as in SciPy's solvers.  max_steps: the run ends, and its message says
    why, where it would try more at the pace of the last few hundred: fun is noisy, or far faster
    than the span.  A fun that gives other values at the same place is noticed then, and differences
    are taken over longer distances from there on.  `products` counts products with the Jacobian.
    """

    nodes: tuple[float, ...] = (0.5, 1.0)  # the last one is 1: its stage is the result's first part
    error_order = 3

    def __init__(
        self,
        fun: Callable,
        t0: float,
        y0: Any,
        t_bound: float,
        max_step: float = np.inf,
        rtol: float = 1e-3,
        atol: Any = 1e-6,
        jac: Any = None,
        vectorized: bool = False,
        first_step: float | None = None,
        max_steps: float = 1e5,
        **extraneous: Any,
    ) -> None:
        if extraneous:
            names = ", ".join(sorted(extraneous))
            warnings.warn(f"{type(self).__name__} ignores {names}", StiffWarning, stacklevel=3)
        t0, t_bound = _checked_span(t0, t_bound)
        super().__init__(_checked_fun(fun), t0, _checked_start(y0), t_bound, vectorized)
        self.rtol, self.atol = _checked_tolerances(rtol, atol, self.n)
        self.max_step = real_number("max_step", max_step, "leave it out")
        self.max_steps = real_number("max_steps", max_steps, "leave it out")
        if not self.max_step >= SHORTEST or not self.max_steps >= 1.0:
            raise InputError(
                f"max_step = {max_step}, max_steps = {max_steps} must be positive: leave them out"
            )
        self.products, self._tried, self._pace_from = 0, 0, self.t
        self._noise = 0.0  # by which values of fun at the same place were seen to differ
        self._jac = jac if callable(jac) and not isinstance(jac, LinearOperator) else None
        self._constant = None if jac is None or self._jac else _checked_jacobian(jac, self.n)
        self._balance: tuple[Array, int] | None = None  # and how many Jacobians it has served
        self._slope = self.fun(self.t, self.y)
        if not np.isfinite(self._slope).all():
            raise InputError(f"fun(t0, y0) is not finite at t0 = {t0}: check y0")
        self._h = self._first_step(first_step)
        self._error_before = 1.0
        self._accepted: tuple[float, Array, _Linearisation, _Trial] | None = None

    def _weights(self, D: list[Array], h: float) -> tuple[Array, Array | None]:
        """w_3, w_4 from the remainders at the nodes c_2, c_3 (Luan et al. 2019, Eq. 3.19)."""
        (c2, c3), (D2, D3) = self.nodes, D
        a, b = 1.0 / (c2**2 * (c3 - c2)), 1.0 / (c3**2 * (c2 - c3))
        return 2.0 * (c3 * a * D2 + c2 * b * D3) / h**2, -6.0 * (a * D2 + b * D3) / h**3

    def _attempt(self, linear: _Linearisation, h: float) -> _Trial | str:
        """One step of local length h > 0, or why it cannot be taken."""
        t, y, sign = self.t, self.y, self.direction

        def g(s: float, u: Array) -> Array:
            return sign * self.fun(t + sign * s, u)

        G = sign * self._slope
        rate = self._time_derivative(g, G, h)
        stages = linear.phi([c * h for c in self.nodes], [None, G, rate])
        D = []
        for c, change in zip(self.nodes, stages, strict=True):
            D.append(g(c * h, y + change) - G - linear.J @ change)
            self.products += 1
            if rate is not None:
                D[-1] -= c * h * rate
        if not np.isfinite(D).all():
            return "fun is not finite at a stage"
        w3, w4 = self._weights(D, h)
        (error,) = terms = linear.phi([h], [None, None, None, w3])
        if w4 is not None:
            (error,) = linear.phi([h], [None, None, None, None, w4])
            terms.append(error)
        y_new = y + stages[-1] + sum(terms)
        t_new = t + sign * h
        slope = self.fun(t_new, y_new)
        if not np.isfinite(slope).all():
            return "fun is not finite at the end of the step"
        return _Trial(t_new, y_new, slope, error, [None, G, rate, w3, w4])

    def _time_derivative(self, g: Callable, G: Array, h: float) -> Array | None:
        """dg/ds by a one-sided difference of order 2 inside the step; None where g ignores s, or
        noise hides what it does in the whole step."""
        if self._noise and np.abs(g(h, self.y) - G).max() <= 4.0 * self._noise:
            return None
        delta = min(max(1e-4 * h, 100.0 * EPS * abs(self.t)), 0.5 * h)
        near = g(delta, self.y)
        if np.array_equal(near, G) or not np.isfinite(near).all():
            return None
        return (4.0 * near - 3.0 * G - g(2.0 * delta, self.y)) / (2.0 * delta)

    def _step_impl(self) -> tuple[bool, str | None]:
        smallest = max(10.0 * abs(np.nextafter(self.t, self.direction * np.inf) - self.t), SHORTEST)
        h, rejected, cause = min(max(self._h, smallest), self.max_step), False, self.TOO_SMALL_STEP
        linear = self._linearise()
        while h >= smallest:
            if self._too_many():
                return False, (
                    f"more than max_steps = {self.max_steps:g} steps would be needed from here: "
                    "fun is noisy, or far faster than the span; smooth it, or loosen rtol"
                )
            remaining = abs(self.t_bound - self.t)
            h = remaining if h > 0.999999 * remaining else h
            spent = linear.products
            try:
                trial = self._attempt(linear, h)
            except NotConverged as failure:
                trial = str(failure)
            self.products += linear.products - spent
            if isinstance(trial, str):
                h, rejected, cause = 0.25 * h, True, f"{self.TOO_SMALL_STEP} Last cause: {trial}"
                continue
            scale = self._scale(np.maximum(np.abs(self.y), np.abs(trial.y)))
            error = float(np.sqrt(np.mean(np.square(trial.error / scale))))
            factor = self._factor(error)
            if error <= 1.0:
                self._accept(trial, linear, h, h * (min(1.0, factor) if rejected else factor))
                self._error_before = max(error, 1e-4)
                return True, None
            h, rejected = h * min(factor, _SAFETY), True
        return False, cause

    def _too_many(self) -> bool:
        """Counts a step that is tried; looks after every PACE of them at how far they led, and
        whether fun is noisy, which short differences of it make far larger."""
        self._tried += 1
        if self._tried % PACE:
            return self._tried > self.max_steps
        apart = np.abs(self.fun(self.t, self.y) - self._slope).max(initial=0.0)
        self._noise = max(self._noise, float(np.nan_to_num(apart)))
        led, self._pace_from = abs(self.t - self._pace_from), self.t
        return abs(self.t_bound - self.t) * PACE > self.max_steps * led

    def _factor(self, error: float) -> float:
        """Proportional-integral control on the embedded error (1 = exactly as asked)."""
        power = 1.0 / (self.error_order + 1)
        if error == 0.0:
            return _GROW
        if error > 1.0:
            return max(_SHRINK, _SAFETY * error**-power)
        return min(_GROW, _SAFETY * error ** (-0.7 * power) * self._error_before ** (0.4 * power))

    def _accept(self, trial: _Trial, linear: _Linearisation, h: float, h_next: float) -> None:
        self._accepted = (self.t, self.y, linear, trial)
        reached = h == abs(self.t_bound - self.t)
        self.t = self.t_bound if reached else trial.t
        self.y, self._slope, self._h = trial.y, trial.slope, h_next

    def _dense_output_impl(self) -> DenseOutput:
        assert self._accepted is not None  # SciPy asks only after a step
        t_old, y_old, linear, trial = self._accepted
        return ExponentialDenseOutput(t_old, self.t, y_old, linear, trial.vectors)

    def _linearise(self) -> _Linearisation:
        scale = self._scale(np.abs(self.y))
        J, balance = self._constant, None
        if J is None:
            self.njev += 1
            J = self._differences() if self._jac is None else self._jac(self.t, self.y)
            J = _checked_jacobian(J, self.n)
        if self._balance is not None and (
            self._constant is not None
            or (isinstance(J, LinearOperator) and self._balance[1] < _BALANCE_LIFE)
        ):
            balance, served = self._balance
            self._balance = (balance, served + 1)
        linear = _Linearisation(J if self.direction > 0 else -J, balance, scale)
        if balance is None:
            self._balance = (linear.balance, 1)
            self.products += linear.products
        return linear

    def _differences(self) -> Array:
        y = self.y
        typical = np.maximum(np.abs(y), np.maximum(self.atol, 1e-3 * np.abs(y).max(initial=0.0)))
        slope = np.abs(self._slope).max(initial=0.0)
        noise = min(_STEEP**2, self._noise / slope) if slope > 0.0 else 0.0
        delta = (y + np.sqrt(max(EPS, noise)) * np.maximum(typical, 1e-8)) - y
        shifted = self.fun_vectorized(self.t, y[:, None] + np.diag(delta))
        return (shifted - self._slope[:, None]) / delta

    def _scale(self, size: Array) -> Array:
        floor = EPS * size.max(initial=0.0) + 1e-280  # atol = 0 must not ask for exact zeros
        return np.maximum(self.atol + self.rtol * size, floor)

    def _first_step(self, asked: float | None) -> float:
        span = abs(self.t_bound - self.t)
        if asked is not None:
            asked = real_number("first_step", asked, "leave it out")
            if not SHORTEST <= asked <= max(span, EPS):
                raise InputError(f"first_step must be in (0, {span}], got {asked}")
            return asked
        scale = self._scale(np.abs(self.y))
        size, slope = (float(np.linalg.norm(v / scale)) for v in (self.y, self._slope))
        h = 1e-2 * size / slope if min(size, slope) > 1e-5 else 1e-4 * span
        return min(h, span, self.max_step)


class ExponentialRosenbrock32(ExponentialRosenbrock):
    """exprb32: one stage at c = 1, order 3, error estimate of order 2 (Rosenbrock-Euler)."""

    nodes = (1.0,)
    error_order = 2

    def _weights(self, D: list[Array], h: float) -> tuple[Array, Array | None]:
        return 2.0 * D[0] / h**2, None


def _checked_span(t0: Any, t_bound: Any) -> tuple[float, float]:
    start, end = (real_number("t_span", t, "give two numbers") for t in (t0, t_bound))
    if not (start == end or SHORTEST <= abs(end - start) <= LONGEST) or not np.isfinite(start):
        raise InputError(
            f"t_span from {start:g} to {end:g}: give times {SHORTEST:g} to {LONGEST:g} apart, "
            "or take another unit of time"
        )
    return start, end


def _checked_start(y0: Any) -> Array:
    start = real_array("y0", y0)
    if start.ndim != 1 or not np.isfinite(start).all():
        raise InputError(f"y0 of shape {start.shape} must be one row of finite numbers")
    return start


def _checked_fun(fun: Any) -> Callable[[float, Array], Array]:
    if not callable(fun):
        raise InputError(f"fun must be a function f(t, y), not {type(fun).__name__}")

    def checked(t: float, y: Array) -> Array:
        value = real_array("what fun(t, y) returns", fun(t, y))
        if value.shape not in (y.shape, ()):  # one number is that of all components
            raise InputError(f"fun(t, y) must have the shape of y, {y.shape}, got {value.shape}")
        return np.broadcast_to(value, y.shape)

    return checked


def _checked_tolerances(rtol: float, atol: Any, n: int) -> tuple[float, Array]:
    rtol, atol = real_number("rtol", rtol, "try 1e-3"), real_array("atol", atol)
    if not 0.0 <= rtol < np.inf:
        raise InputError(f"rtol must be one number >= 0, got {rtol}")
    if atol.shape not in ((), (n,)) or not np.all((atol >= 0.0) & np.isfinite(atol)):
        raise InputError(f"atol must be >= 0, one number or of shape ({n},)")
    return max(float(rtol), 100.0 * EPS), atol


def _checked_jacobian(J: Any, n: int) -> Any:
    if not isinstance(J, LinearOperator):
        J = sp.csr_matrix(J) if sp.issparse(J) else np.atleast_2d(real_array("jac", J))
    if J.shape != (n, n) or np.dtype(J.dtype).kind == "c":
        raise InputError(f"jac must be real and of shape ({n}, {n}), got {J.dtype} {J.shape}")
    if isinstance(J, LinearOperator) or np.isfinite(J.data if sp.issparse(J) else J).all():
        return J
    raise InputError("jac holds NaN or infinite entries: check it at the last accepted state")
