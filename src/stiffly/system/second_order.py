"""A user's own equations of motion, M x'' + D x' + A x = g(t, x).

The stiffness A is quadratic, so its force at the middle of two states does the right work.  That of
a user's potential U is corrected as in discrete_gradient.py (Gonzalez 1996), for the body as a
whole,

    F = g(xm) + c dx,   c |dx|^2 = U(x0) - U(x1) - g(xm).dx

and where g depends on time too, what is not -grad U of it acts as at the middle of the step: grad U
along dx is then a difference of U, good to ten digits.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..backends.cpu import CPU
from ..contracts import (
    Array,
    Backend,
    Energies,
    LinearPart,
    Mass,
    OwnFunctions,
    Power,
    Rayleigh,
    Settled,
    State,
)
from ..errors import InputError, StiffWarning
from ..matfun.cost import SMALL
from ..matfun.operators import BaseOperator, DenseOperator, MatvecOperator, SparseOperator
from ..matfun.symmetric import as_symmetric, in_blocks
from ..parts import user_functions as user
from ..parts.checks import as_numbers
from .discrete_gradient import MeanTangent, gap_correction, middle
from .linearise import LinearTangent
from .mass import as_mass
from .matrices import as_damping, as_jacobian, difference, is_symmetric, product, size_of

DIFFERENCE_LIMIT = 300  # above this size dg/dx is never built by differences, only applied
DIFFERENCE_SYMMETRY = 1e-6  # asymmetry that differences alone explain


class SecondOrder:
    """M x'' + D x' + A x = g (see contracts.System). Everything is optional but A or g.

    stiffness: A (n, n), symmetric; mass: M, default I; damping: D (n, n), (n,) or
    Rayleigh(alpha, beta), D = alpha M + beta A, with v.D v >= 0. Arrays, SciPy sparse, or
    LinearOperators.
    force: g(x) or g(t, x) -> (n,), plain Python or numba.
    jacobian: dg/dx, same arguments, -> (n, n) array, sparse or LinearOperator; the number 0 says
    that g depends on t only. Without it differences are taken, with a warning.
    potential: U(x) [J] with g = -grad U (plus, for g(t, x), forcing that the ledger counts as
    added). It also vouches for a symmetric jacobian, which then is not checked at every step.
    size: n, where no matrix tells it; backend: where it is computed.
    """

    settles = False

    def __init__(
        self,
        *,
        stiffness: Any = None,
        force: Callable[..., Any] | None = None,
        jacobian: Any = None,
        potential: Callable[[Array], float] | None = None,
        mass: Any = None,
        damping: Any = None,
        size: int | None = None,
        backend: Backend = CPU,
    ) -> None:
        self.backend = backend
        _require_sense(stiffness, force, jacobian, potential)
        self.equations = (stiffness, force, jacobian, potential, mass, damping, size)
        self.size = n = size_of(stiffness, mass, damping, size)
        self.mass: Mass = as_mass(mass, n, backend)
        self._A = None if stiffness is None else _as_stiffness(stiffness, self.mass, n)
        self._Ax = None if self._A is None else product(self._A)
        self._potential = potential
        zero = np.isscalar(jacobian) and jacobian == 0
        self._constant = force is None or bool(zero)
        self.time_dependent = force is not None and user.takes_time("force", force)
        # functions of (t, x) for what was given as (x) or (t, x)
        self._g = None if force is None else user.of_time("force", force)
        self._dg = None if jacobian is None or zero else user.of_time("jacobian", jacobian)
        self.damping, self._D = as_damping(damping, self._A, self.mass, n)
        self._Dv = None if self._D is None else product(self._D)
        self._tangent_damping = self._commuting(self.damping)
        self.velocity_dependent = self.damping is not None
        known = force is None or (potential is not None and not self.time_dependent)
        self.conservative = known and not self.velocity_dependent
        # else work cannot be told from stored energy: nothing to steer an integrator by
        self.energetic = force is None or potential is not None or self._constant
        self._warned = False
        self._zero = np.zeros(n)

    def bind(self, x0: Any, v0: Any = None) -> tuple[SecondOrder, State]:
        """This system and its state at t = 0; x0, v0 (n,). Calls every function once."""
        x0 = as_numbers("x0", x0, (self.size,))
        v0 = np.zeros(self.size) if v0 is None else as_numbers("v0", v0, (self.size,))
        if self._g is not None:
            as_numbers("force(x0)", self._g(0.0, x0.copy()), (self.size,))
        if self._dg is not None:
            J = as_jacobian(self._dg(0.0, x0.copy()), self.size)
            if self._potential is not None and is_symmetric(J) is False:
                raise InputError(
                    "jacobian is not symmetric, so force has no potential: leave potential= out, "
                    "or check jacobian="
                )
        if self._potential is not None:
            as_numbers("potential(x0)", self._potential(x0.copy()), ())
            self._compare_potential(x0)
        return self, State(0.0, x0, v0)

    def _compare_potential(self, x: Array) -> None:
        """A potential of another force (most often: the sign) would falsify the energy ledger."""
        if self.time_dependent:
            return
        U: Any = self._potential
        g = np.asarray(self._g(0.0, x), dtype=np.float64)  # type: ignore[misc]  # not None here
        b = np.random.default_rng(0).standard_normal(self.size)
        e = user.step_for(x) / np.abs(b).max()
        here, ahead, behind = (float(U(x + c * b)) for c in (0.0, e, -e))
        slope = (ahead - behind) / (2.0 * e)
        # the last two terms: at an equilibrium slope and force are rounding errors
        scale = abs(g @ b) + (abs(ahead - here) + abs(behind - here)) / e
        if abs(slope + g @ b) > 1e-2 * scale + 1e-15 * abs(here) / e:
            warnings.warn(
                f"force is not -grad potential: along a test direction the force is {g @ b:.3g} "
                f"and the potential falls by {-slope:.3g}; check potential=",
                StiffWarning,
                stacklevel=3,
            )

    def learnt(self) -> dict[str, Any]:
        """What a run has found out on its way, see System.learnt."""
        return {"bounds": self._linear.stiffness.cache.get("bounds")}

    def recall(self, learnt: Mapping[str, Any], s: State) -> None:
        """Go on with what an earlier run of the same system had learnt."""
        if learnt["bounds"] is not None:
            self._linear.stiffness.cache["bounds"] = learnt["bounds"]

    def positions(self, s: State) -> Array:
        return s.x

    def velocities(self, s: State) -> Array:
        return s.v

    def settle(self, s: State, h: float) -> Settled:
        return Settled(s)

    def diagnostics(self, s: State) -> dict[str, float]:
        return {}

    # ------------------------------------------------------------------ forces

    def force(self, s: State) -> Array:
        if self._g is None:
            f = -self._Ax(s.x)  # type: ignore[misc]  # not None here
        elif self._Ax is None:
            f = np.array(self._g(s.t, s.x), dtype=np.float64)  # a copy: g may reuse its buffer
        else:
            f = self._g(s.t, s.x) - self._Ax(s.x)
        return f if self._Dv is None else f - self._Dv(s.v)

    def acceleration(self, s: State) -> Array:
        return self.mass.solve(self.force(s))

    def acceleration_rate(self, s: State, h: float) -> Array:
        if not self.time_dependent:
            return self._zero.copy()
        g: Any = self._g
        return self.mass.solve(user.step_rate(lambda t: g(t, s.x), s.t, h))

    # ------------------------------------------------------------------ tangents

    def tangent(self, s: State) -> LinearTangent:
        """K = A - dg/dx; the same object every time where K is constant."""
        if self._constant:
            return self._linear
        if self._dg is None:
            return self._difference_tangent(s)
        J = as_jacobian(self._dg(s.t, s.x), self.size)
        symmetric = True if self._potential is not None else bool(is_symmetric(J))
        return LinearTangent(self._minus(J), self._tangent_damping, symmetric, False)

    def _minus(self, J: Any) -> BaseOperator:
        """M^-1 (A - J): dense if either is dense, matvec-only if either is that."""
        K = difference(self._A, J)
        if type(K) is np.ndarray:
            return DenseOperator(K, self.mass)
        if sp.issparse(K):
            return in_blocks(SparseOperator(K, self.mass))
        return MatvecOperator(K, self.size, self.mass)

    def _difference_tangent(self, s: State) -> LinearTangent:
        if not self._warned:
            self._warned = True
            warnings.warn(
                "force= came without jacobian=: differences of force stand in, slower and good to "
                "6 to 10 digits; give jacobian=dg (or jacobian=0 if force depends on t only)",
                StiffWarning,
                stacklevel=3,
            )
        g: Any = self._g
        x, t = s.x, s.t
        symmetric = self._potential is not None
        if self.size <= DIFFERENCE_LIMIT:
            J = user.difference_jacobian(lambda y: g(t, y), x)
            symmetric = symmetric or bool(is_symmetric(J, DIFFERENCE_SYMMETRY))
            J = 0.5 * (J + J.T) if symmetric else J
        else:
            J = SimpleNamespace(matvec=partial(user.directional_derivative, lambda y: g(t, y), x))
        return LinearTangent(self._minus(J), self._tangent_damping, symmetric, False)

    def linear_part(self) -> LinearPart:
        return LinearPart(self._linear, self._zero.copy())

    def rest_load(self) -> Array:
        """Acceleration (n,) at zero; none where the force has no value there, or drives."""
        if self._g is None or self.time_dependent:
            return self._zero.copy()
        try:
            with np.errstate(all="ignore"):
                f = np.array(self._g(0.0, self._zero.copy()), dtype=np.float64)
        except (ArithmeticError, ValueError):
            return self._zero.copy()
        return self.mass.solve(f) if np.isfinite(f).all() else self._zero.copy()

    @cached_property
    def own(self) -> OwnFunctions | None:
        """Where forces are g(x) and A x with a potential, few, and of particles with masses."""
        g: Any = self.equations[1]
        dg: Any = self.equations[2]
        few = self.size <= SMALL and not isinstance(self._A, MatvecOperator)
        masses = self._linear.stiffness.lumped
        if not (few and self.conservative and self._dg and masses is not None):
            return None
        if user.takes_time("jacobian", dg):
            return None
        A = np.zeros((self.size, self.size)) if self._A is None else self._A.todense()
        return OwnFunctions(g, dg, np.ascontiguousarray(A), np.sqrt(masses))

    @cached_property
    def _linear(self) -> LinearTangent:
        """A and D, which never change."""
        A = self._A
        if A is None:
            A = SparseOperator(sp.csr_matrix((self.size, self.size)), self.mass, constant=True)
        return LinearTangent(A, self.damping, True, True)

    # ------------------------------------------------------------------ for implicit methods

    def global_layout(self, s0: State, s1: State, old: Any, begins: bool) -> Any:
        """Nothing: stiffness and damping are constant."""
        return () if old is None else old

    def mean_force(self, s0: State, s1: State) -> Array:
        """F (n,) with F.(x1 - x0) = E(x0) - E(x1), save for the work of damping and forcing."""
        centre = middle(s0, s1)
        f = self.force(centre)
        U: Any = self._potential
        if U is None:
            if not self.energetic:
                raise InputError(
                    "energy-momentum needs the potential: give SecondOrder(..., potential=U)"
                )
            return f
        dx = s1.x - s0.x
        if self.time_dependent:
            slope = float(user.directional_derivative(U, centre.x, dx))
        else:
            slope = -float(np.dot(self._g(centre.t, centre.x), dx))  # type: ignore[misc]  # not None
        return f - gap_correction(slope, float(U(s0.x)), float(U(s1.x)), dx)

    def mean_tangent(self, s0: State, s1: State) -> MeanTangent:
        """K = -dF/dx1, D = -dF/dv1, half of everything.  The correction for the potential is left
        out: it is of first order in x1 - x0."""
        t = self.tangent(middle(s0, s1))
        return MeanTangent(t.stiffness, t.damping, t.constant and t.symmetric, t.constant, 0.5)

    def global_matrix(self, alpha: float, beta: float = 0.0, layout: Any = None) -> sp.csc_matrix:
        """M + alpha A + beta D (n, n): a local/global solver takes g for soft beside A."""
        if self._A is None:
            raise InputError(
                "force has no local step: give the stiff linear part as stiffness=A, or use "
                "energy-momentum or stabilised"
            )
        return sp.csc_matrix(self.linear_part().tangent.matrix(1.0, alpha, beta))

    def _commuting(self, damping: Any) -> Any:
        """Tangents may call damping Rayleigh only where it commutes with K: K = A, or beta = 0."""
        if isinstance(damping, Rayleigh) and damping.beta != 0.0 and not self._constant:
            return self._D
        return damping

    def rotations(self, s: State) -> Array:
        raise InputError("ceti needs a body with a rest shape: use eti")

    # ------------------------------------------------------------------ energy

    def energy(self, s: State) -> Energies:
        parts = {"kinetic": 0.5 * float(self.mass.dot(s.v, s.v))}
        if self._Ax is not None:
            parts["stiffness"] = 0.5 * float(s.x @ self._Ax(s.x))
        if self._potential is not None:
            parts["potential"] = float(self._potential(s.x))
        return parts

    def power(self, s: State) -> Power:
        return Power(added=self._added(s), dissipated=self._taken(s.v))

    def _taken(self, v: Array) -> float:
        """v.D v, at least zero; of a D known by its products the sign shows here at the latest."""
        if self._Dv is None:
            return 0.0
        drag = self._Dv(v)
        taken = float(v @ drag)
        if taken < -1e-9 * float(np.linalg.norm(v) * np.linalg.norm(drag)):
            raise InputError(
                f"damping pumps: v.D v = {taken:.3g} W in this motion; give D with v.D v >= 0, and "
                "what drives the motion as force="
            )
        return max(taken, 0.0)

    def _added(self, s: State) -> float:
        """Power of the part of g that the potential does not account for."""
        if self._g is None or (self._potential is not None and not self.time_dependent):
            return 0.0
        added = float(np.dot(self._g(s.t, s.x), s.v))
        if self._potential is not None:
            added += float(user.directional_derivative(self._potential, s.x, s.v))
        return added


def _require_sense(stiffness: Any, force: Any, jacobian: Any, potential: Any) -> None:
    if stiffness is None and force is None:
        raise InputError("there is nothing to move: give stiffness=A, force=g, or both")
    if force is None and jacobian is not None:
        raise InputError("jacobian= came without force=: give the force it belongs to")
    if force is None and potential is not None:
        raise InputError("potential= came without force=: give force=g with g = -grad U")
    if potential is not None and (
        not callable(potential) or user.takes_time("potential", potential)
    ):
        raise InputError("potential must be a function U(x)")


def _as_stiffness(stiffness: Any, mass: Mass, n: int) -> BaseOperator:
    if isinstance(stiffness, BaseOperator):
        raise InputError("stiffness must be the matrix A itself, not an operator M^-1 A")
    if not sp.issparse(stiffness) and not hasattr(stiffness, "matvec"):
        stiffness = as_numbers("stiffness", stiffness)
    if stiffness.shape != (n, n):
        raise InputError(f"stiffness has shape {stiffness.shape}, but ({n}, {n}) is needed")
    return as_symmetric(stiffness, mass, constant=True)
