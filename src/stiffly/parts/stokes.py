"""A viscous fluid around the particles, without slip: regularised Stokeslets."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from scipy.spatial import KDTree

from ..backends.cpu import CPU
from ..backends.kernels import take
from ..contracts import Array, Backend, Power
from ..errors import InputError, NotConverged
from ..matfun.untyped import LinearOperator
from ..solvers.cg import ConjugateGradients
from ..solvers.failures import NotPositiveDefinite
from .checks import as_indices, as_number, as_numbers, require_points
from .part import Arranged, Uncoupled

# LAPACK itself: its wrapper in SciPy takes three times as long for 100 particles
potrf, potrs = scipy.linalg.get_lapack_funcs(("potrf", "potrs"), dtype=np.float64)

DENSE_PARTICLES = 1000  # up to here a factor of S for several solves beats conjugate gradients
TOLERANCE = 1e-11  # |v - S g| <= TOLERANCE |v| in conjugate gradients
DISTINCT = 1e-3  # of the blob: particles nearer than this are one to the fluid

KERNELS = ("stokeslet_velocities", "stokeslet_rates", "stokeslet_matrix", "stokeslet_rate_matrix")


class StokesFluid(Uncoupled):
    """The force -S(x)^-1 v of a fluid that moves with the particles it touches.

    Forces g of the particles on the fluid drive the flow (Cortez 2001; in space Cortez, Fauci and
    Medovikov 2005)
        u(y) = 1/(8 pi mu) sum_j [(r^2 + 2 e^2) g_j + (g_j.d) d] / (r^2 + e^2)^(3/2), d = y - x_j.
    No slip, v = u(x) = S(x) g, gives g, and the fluid answers with -g.  S is symmetric and
    positive definite, since the blob that spreads each force has a positive Fourier transform.

    viscosity mu [Pa s]; blob e [m]: the radius over which a particle pushes, about the thickness
    of the fiber it stands for, and not much more than the distance of neighbours (S becomes
    singular then); particles: those in touch with the fluid (default: all).
    """

    name = "fluid"

    def __init__(self, viscosity: float, blob: float, particles: Any = None) -> None:
        self.viscosity = as_number("viscosity", viscosity, above=0.0)
        self.blob = as_number("blob", blob, above=0.0)
        self.particles = particles

    def prepare(self, particles: Arranged) -> PreparedFluid:
        touched = self._touched(particles.count)
        if particles.rest is not None:
            self._require_distinct(particles.rest, touched)
        return PreparedFluid(self, particles.rows[touched], particles.pattern.backend)

    def velocity(self, points: Any, positions: Any, velocities: Any) -> Array:
        """Velocity (m, 3) of the fluid at points (m, 3) around particles (N, 3) that move so."""
        points, x = as_numbers("points", points), as_numbers("positions", positions)
        for name, places in (("points", points), ("positions", x)):
            require_points(name, places, "have", "m")
        v = as_numbers("velocities", velocities, x.shape)
        fluid = self.prepared_for(len(x))
        out = np.empty_like(points)
        fluid.flow(points, x[fluid.touched], fluid.pushes(x, v), out)
        return out

    def prepared_for(self, count: int) -> PreparedFluid:
        """The load for `count` particles, without a System around it."""
        return PreparedFluid(self, self._touched(count), CPU)

    def _touched(self, count: int) -> np.ndarray:
        everyone = self.particles is None
        touched = np.arange(count) if everyone else as_indices("particles", self.particles, count)
        if touched.size == 0:
            raise InputError("the fluid touches no particle: name some, or all by particles=None")
        return touched

    def _require_distinct(self, x: Array, touched: np.ndarray) -> None:
        near = KDTree(x[touched]).query_pairs(DISTINCT * self.blob, output_type="ndarray")
        if len(near):
            i, j = sorted(touched[near[0]].tolist())
            raise InputError(
                f"particles {i} and {j} are less than {DISTINCT} blobs apart: to the fluid they "
                "are one; leave one out with particles=, or give a smaller blob"
            )


class PreparedFluid:
    """A MatrixFreeLoad with D = S^-1 and K b = -S^-1 (dS[b] g), g = S^-1 v."""

    time_dependent = False
    velocity_dependent = True
    symmetric = False

    def __init__(self, config: StokesFluid, touched: np.ndarray, backend: Backend) -> None:
        self._kernels = take(backend, "StokesFluid", *KERNELS)
        self.touched = touched
        self._blob, self._viscosity = config.blob, config.viscosity
        self._factor: tuple[Array, Any] | None = None  # positions, Cholesky factor of S there
        self._pushes: tuple[Array, Array, Array] | None = None  # positions, velocities, g

    def add_force(self, t: float, x: Array, v: Array, out: Array) -> None:
        out[self.touched] -= self.pushes(x, v)

    def add_tangents(self, t: float, x: Array, v: Array, stiffness: Array, damping: Array) -> None:
        raise NotImplementedError("a fluid has no blocks: use add_products or matrices")

    def add_products(
        self,
        t: float,
        x: Array,
        v: Array,
        b: Array,
        stiffness: Array | None,
        damping: Array | None,
    ) -> None:
        """K b and D b; None for what is not wanted saves its solve."""
        y, c = x[self.touched], b[self.touched]
        if stiffness is not None:
            rates = np.empty_like(y)
            fluid = (self._blob, self._viscosity)
            self._kernels.stokeslet_rates(y, c, self.pushes(x, v), *fluid, rates)
            stiffness[self.touched] -= self._solve(y, rates)
        if damping is not None:
            damping[self.touched] += self._solve(y, c)

    def matrices(self, t: float, x: Array, v: Array) -> tuple[Array, Array]:
        """K and D (3N, 3N), for implicit solvers: all columns at once."""
        y = x[self.touched]
        n = y.size
        S, rates = np.empty((n, n)), np.empty((n, n))
        self._kernels.stokeslet_matrix(y, self._blob, self._viscosity, S)
        pushes = self.pushes(x, v)
        self._kernels.stokeslet_rate_matrix(y, pushes, self._blob, self._viscosity, rates)
        both = scipy.linalg.solve(S, np.concatenate([-rates, np.eye(n)], axis=1), assume_a="pos")
        at = (3 * self.touched[:, None] + np.arange(3)).ravel()
        K, D = np.zeros((2, x.size, x.size))
        K[np.ix_(at, at)], D[np.ix_(at, at)] = both[:, :n], both[:, n:]
        return K, D

    def power(self, t: float, x: Array, v: Array) -> Power:
        taken = float(np.vdot(v[self.touched], self.pushes(x, v)))
        return Power(dissipated=max(0.0, taken))  # but for rounding it is

    def pushes(self, x: Array, v: Array) -> Array:
        """g = S^-1 v (n, 3) [N]: the particles' forces on the fluid, kept for the last (x, v)."""
        y, w = x[self.touched], v[self.touched]
        last = self._pushes
        if last is not None and np.array_equal(y, last[0]) and np.array_equal(w, last[1]):
            return last[2]
        g = self._solve(y, w)
        self._pushes = (y, w, g)
        return g

    def flow(self, points: Array, y: Array, g: Array, out: Array) -> None:
        """Velocities (m, 3) [m/s] at points (m, 3) that forces g (n, 3) [N] at y (n, 3) drive."""
        self._kernels.stokeslet_velocities(points, y, g, self._blob, self._viscosity, out)

    def _solve(self, y: Array, w: Array) -> Array:
        """S(y)^-1 w, both (n, 3)."""
        if not (np.isfinite(y).all() and np.isfinite(w).all()):
            return np.full_like(w, np.nan)  # the run has diverged: its loop says so
        if len(y) > DENSE_PARTICLES:
            return self._solve_iteratively(y, w)
        if self._factor is None or not np.array_equal(y, self._factor[0]):
            S = np.empty((y.size, y.size))
            self._kernels.stokeslet_matrix(y, self._blob, self._viscosity, S)
            factor, failed = potrf(S.T, lower=True, overwrite_a=True)
            if failed:
                raise self._failure("the matrix of the fluid is not positive definite")
            self._factor = (y, factor)
        return potrs(self._factor[1], w.ravel(), lower=True)[0].reshape(w.shape)

    def _solve_iteratively(self, y: Array, w: Array) -> Array:
        def mobility(g: Array) -> Array:
            """S(y) g, both flat."""
            out = np.empty_like(y)
            self.flow(y, y, g.reshape(-1, 3), out)
            return out.ravel()

        products = LinearOperator((y.size, y.size), mobility, dtype=y.dtype)
        try:
            return ConjugateGradients(products, TOLERANCE).solve(w.ravel()).reshape(w.shape)
        except (NotConverged, NotPositiveDefinite):
            raise self._failure(
                f"the forces of the fluid did not converge to {TOLERANCE:.0e}"
            ) from None

    def _failure(self, cause: str) -> NotConverged:
        return NotConverged(
            f"{cause}: particles have come much closer than the blob, {self._blob:.3g} m; "
            "give a smaller blob or a smaller step"
        )
