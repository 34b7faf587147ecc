"""What a part of a body (springs, tetrahedra, gravity, wind, ...) must offer to a System.

A part is what the user writes down; it knows nothing of the other parts.  The System asks it for
the couples it ties together, lays out one block matrix for all parts, and gets back a prepared
part that computes.  There are two kinds: a potential has an energy, and its force is minus the
gradient; a load is any other force, and says what power it adds and takes.  A part is written in
the user's numbers; a prepared part sees positions and velocities (N, 3) over ALL particles in rows,
free ones first (see pattern.py).  It never has to know which are free, because blocks of the
others have no slot in the pattern.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np

from ..contracts import Array, Power
from .checks import as_number, as_numbers
from .pattern import BlockPattern
from .terms import Term

NO_PAIRS = np.empty((0, 2), dtype=np.int64)  # of parts in which no particle feels another


@dataclass(frozen=True, slots=True)
class Particles:
    """The particles that parts act on: their number, mass (N,) [kg] and rest shape (N, 3) [m]."""

    count: int
    mass: Array
    rest: Array | None
    lumped: bool  # False: mass holds the row sums of a consistent matrix


@dataclass(frozen=True, slots=True)
class Arranged(Particles):
    """The same, still in the user's numbers, with the rows in which prepared parts see them.

    rows (N,): the row of each particle, so that rows[edges] are the edges of a prepared part;
    order (N,): the particle of each row, so that mass[order] is mass by row.  The first `free`
    rows are particles that move; `pattern`, whose blocks are theirs, counts in rows, too.
    """

    rows: np.ndarray
    order: np.ndarray
    free: int
    pattern: BlockPattern


class Part(Protocol):
    """A part as the user writes it. `name` labels its energy; parts of one name are summed."""

    name: str

    def couples(self, particles: Particles) -> np.ndarray:
        """Pairs (m, 2) of particles whose forces depend on each other, in the user's numbers;
        InputError if impossible."""
        ...

    def prepare(
        self, particles: Arranged
    ) -> PreparedPart | MatrixFreePart | PreparedLoad | SettlingPart:
        """What computes, by row: particles are named to it by `particles.rows[...]`."""
        ...


class Arrays(NamedTuple):
    """Names of a part's attributes, where ranks may share it (`Part.arrays`): the elements and what
    there is for each of them; what there is for each particle, where it is no single number; the
    indices or mask of the particles that it is about; what is for each particle and adds up.
    """

    elements: tuple[str, ...] = ()
    particles: tuple[str, ...] = ()
    chosen: str | None = None
    weights: tuple[str, ...] = ()


class Uncoupled:
    """A part in which no particle feels another, or all do and no pattern would serve."""

    def couples(self, particles: Particles) -> np.ndarray:
        return NO_PAIRS


@runtime_checkable
class Elastic(Protocol):
    """A part that is the body's own elasticity, and can be had stiffer or softer."""

    def scaled(self, factor: float) -> Part:
        """A new part with `factor` times the stiffness, everything else alike."""
        ...


class Scalable:
    """Elasticity that is as stiff as its attribute `modulus` says."""

    modulus = "stiffness"

    def scaled(self, factor: float) -> Self:
        """The same part, this much stiffer; everything else is shared."""
        new = copy.copy(self)
        number = as_number("stiffness factor", factor, above=0.0)
        with np.errstate(over="ignore"):  # what is not finite then is refused
            scaled = number * getattr(self, self.modulus)
        setattr(new, self.modulus, as_numbers(self.modulus, scaled))
        return new


class Energetic(Protocol):
    """What the two kinds of potential share."""

    def energy(self, x: Array) -> float: ...

    def add_gradient(self, x: Array, out: Array) -> None:
        """Adds dE/dx to out (N, 3)."""
        ...


class PreparedPart(Energetic, Protocol):
    """A potential bound to its particles and to the slots of the block matrix."""

    @property
    def linear(self) -> bool:
        """The gradient is an affine function of x: the tangent never changes."""
        ...

    @property
    def bounded(self) -> bool:
        """`add_blocks` accounts for all negative stiffness in `pressed`. Where it cannot, False:
        the System then claims no lower bound of the spectrum."""
        ...

    @property
    def pairwise(self) -> bool:
        """The tangent is a sum of terms w^T B w, w = u_i - u_j (or u_i alone), B >= 0, apart from
        what `pressed` accounts for: then K <= 2 diag(K), a cheap and tight upper bound."""
        ...

    def add_blocks(self, x: Array, blocks: Array, pressed: Array) -> None:
        """Adds d2E/dx2 to blocks (nnz, 3, 3), and to pressed (N,) weights p_i >= 0 such that
        this part's tangent K obeys u^T K u >= -2 sum_i p_i |u_i|^2."""
        ...


class Optional(Protocol):
    """What a potential may offer beyond the need; where it does not, something general stands in.

    external = True: not the body's own elasticity (contact, attachments): no part of Rayleigh's K0.
    internal = True: turns no body about its centre of mass; else `stabilised` leaves spins alone.
    passing = True: comes and goes (contact): no part of the linear part of eti and vimex either.
    soft = True: little beside the others (a hand): no share in the matrix of local/global solvers.
    """

    def add_mean_gradient(self, x0: Array, x1: Array, out: Array) -> None:
        """Adds g with g.(x1 - x0) = E(x1) - E(x0) exactly, symmetric in x0 and x1, to out (N, 3):
        a discrete gradient, dE/dx where x0 = x1 (see discrete_gradient.py)."""
        ...

    def add_mean_blocks(self, x0: Array, x1: Array, blocks: Array) -> None:
        """Adds dg/dx1 to blocks (nnz, 3, 3); it need not be symmetric.  Parts without blocks have
        mean_triplets(x0, x1) -> rows, columns, blocks instead."""
        ...

    def add_bars(self, x: Array, bars: Array, own: Array, pressed: Array) -> None:
        """As add_blocks where every block of its tangent beside the diagonal is -(a I + e e^T):
        writes (a, e) to slots of bars (nnz, 4), `self.bars` of them, each of which no other part
        writes to, and adds xx, yy, zz, xy, xz, yz of the diagonal blocks to own (n, 6)."""
        ...

    def add_convex_blocks(self, x: Array, blocks: Array) -> None:
        """Adds d2E/dx2 less its negative stiffness, a positive semidefinite matrix, to blocks."""
        ...

    def laplacian(self) -> tuple[np.ndarray, np.ndarray, Array]:
        """Rows, columns, values over all particles of a constant L >= 0 such that L (x) I_3 is
        about the tangent and, where possible, not below it: the local/global solver's matrix.
        Parts whose L changes (contact) are handed their layout: laplacian(layout)."""
        ...

    def layout(self, x0: Array, x1: Array, old: Any, begins: bool) -> Any:
        """What L has to cover in a step from x0 at x1, plain data; `old` itself where that does.
        At the first x1 of a solve, `begins`, it may be dropped where it is too much."""
        ...

    def terms(self) -> list[Term] | None:
        """All there is to it, where kernels can do without the part: then many explicit steps are
        one call, and independent bodies take implicit steps one by one.  None: as it is, it has no
        such form."""
        ...

    def diagnostics(self, x: Array, v: Array) -> dict[str, float]:
        """What a user may want to watch: penetration [m] (the largest), contacts (how many)."""
        ...

    def stresses(self, x: Array) -> tuple[np.ndarray, Array, str]:
        """Elements (m, k) by their particles, what each bears (m,), and its unit: 'N', the tension
        of a spring, < 0 where it is pressed, or 'Pa', von Mises' stress."""
        ...

    def fields(self) -> dict[str, Array]:
        """What is recorded of every frame: arrays (m,) by name, of the same size all along."""
        ...


@runtime_checkable
class MatrixFreePart(Energetic, Protocol):
    """A potential that couples too many pairs, or changing ones: products instead of blocks."""

    def add_product(self, x: Array, b: Array, out: Array) -> None:
        """Adds (d2E/dx2) b to out, both (N, 3)."""
        ...

    def triplets(self, x: Array) -> tuple[np.ndarray, np.ndarray, Array]:
        """Rows i (m,), columns j (m,) and blocks (m, 3, 3) of d2E/dx2, for implicit solvers;
        repeated (i, j) are summed."""
        ...


@runtime_checkable
class PreparedLoad(Protocol):
    """A force that has no energy, or depends on time or velocity: wind, drag, a motor, a fluid.

    K = -df/dx and D = -df/dv must be exact, since exponential methods lose their order otherwise.
    """

    time_dependent: bool
    velocity_dependent: bool
    symmetric: bool  # K is symmetric (or zero); then only D keeps methods from the half-size form

    def add_force(self, t: float, x: Array, v: Array, out: Array) -> None:
        """Adds the force [N] to out (N, 3)."""
        ...

    def add_tangents(self, t: float, x: Array, v: Array, stiffness: Array, damping: Array) -> None:
        """Adds K and D to blocks (nnz, 3, 3) each."""
        ...

    def power(self, t: float, x: Array, v: Array) -> Power:
        """What the force adds and takes [W]; added - dissipated = f.v."""
        ...


@runtime_checkable
class MatrixFreeLoad(PreparedLoad, Protocol):
    """A load that couples everything with everything (a fluid): products instead of blocks."""

    def add_products(
        self,
        t: float,
        x: Array,
        v: Array,
        b: Array,
        stiffness: Array | None,
        damping: Array | None,
    ) -> None:
        """Adds K b to stiffness and D b to damping, all (N, 3); None where not wanted."""
        ...

    def matrices(self, t: float, x: Array, v: Array) -> tuple[Array, Array]:
        """K and D, dense (3N, 3N), for implicit solvers."""
        ...


class RememberingPart(Protocol):
    """A prepared part with memory, named arrays that are kept in `State.parts`."""

    def memory(self) -> Mapping[str, Array]: ...
    def having(self, memory: Mapping[str, Array]) -> Any: ...  # the same part with that memory


@runtime_checkable
class SettlingPart(Protocol):
    """A prepared part that acts once after every accepted step: yielding, damping by a filter.

    What it remembers (rest lengths that have yielded) is kept in `State.parts`: `memory()` gives
    it as named arrays, at the first state of a run by the same names, `having(memory)` the same
    part with it.  `settle` is called on such a copy, and may give it other arrays, but must leave
    those that it got as they are.  Optional:
    moves = True: `settle` may also displace particles, x in place; the System counts the energy.
    begin(t, x, v): called once with the first state of a run, e.g. to see what touches.
    go_on(): called on a copy that goes on with the memory of an earlier run.
    drives: it can do work on the body (something of it moves); else nothing it does is added.
    between = True: it passes momentum between particles, also from those that a support leads.
    changed: after `settle`, True where its forces are others than before at no change of energy.

    What moves by itself (a collider, an attachment point) stands still during a step: `settle`
    puts it where it will be in the middle of the next one, at t + h/2, and reports the change of
    its own energy as added.  So every potential is autonomous within a step, the ledger is exact,
    and the motion is followed to second order.
    """

    def settle(self, t: float, h: float, x: Array, v: Array) -> Power:
        """After a step of size h that ended at t: may change v (N, 3) in place and its own
        memory, x only where it `moves`; returns the energies [J] it added to and took from its
        own store.  Kinetic energy, and what a displacement changes, is the System's to count."""
        ...
