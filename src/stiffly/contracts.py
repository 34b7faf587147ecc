"""The architecture on one page: every record and protocol that crosses a room's border.

    scene -> system (physics) -> integrator (method) -> matrix functions, solvers -> kernels

Vectors are flat float64 arrays of the n free coordinates (fixed vertices are left out), so
integrators read like the papers: u = (x, v), M x'' = force(t, x, v).  A = M^-1 K is never
symmetrised by hand: it is self-adjoint in the inner product <a, b> = a^T M b, and every
evaluator uses the operator's own `dot`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import add
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

from numpy.typing import NDArray

Array = NDArray[Any]  # float64 throughout; index arrays share the alias
Pairs = Sequence[tuple[Array, Array]]  # what inner products are asked of, together


def _nothing() -> Mapping[str, Array]:
    return NOTHING


NOTHING: Mapping[str, Array] = {}


@dataclass(frozen=True, slots=True)
class State:
    """Time t [s], coordinates x (n,) and velocities v (n,), and what the parts of a body remember:
    named arrays that nothing changes during a step (`System.settle` gives others)."""

    t: float
    x: Array
    v: Array
    parts: Mapping[str, Array] = field(default_factory=_nothing)

    def moved(self, t: float, x: Array, v: Array) -> State:
        """The same body elsewhere: how integrators make states."""
        return State(t, x, v, self.parts)


class Away(State):
    """A state that lies where its steps were taken, on a card: x and v come when somebody looks.

    kept: has them, and the acceleration and velocities that open the next step."""

    __slots__ = ("kept",)
    kept: Any

    def __init__(self, t: float, kept: Any, parts: Mapping[str, Array]) -> None:
        for name, value in (("t", t), ("kept", kept), ("parts", parts)):
            object.__setattr__(self, name, value)

    @property
    def x(self) -> Array:  # type: ignore[override]
        return self.kept.x

    @property
    def v(self) -> Array:  # type: ignore[override]
        return self.kept.v

    def as_saved(self) -> State:
        """The same, here."""
        return State(self.t, self.x, self.v, self.parts)


class Work(NamedTuple):
    """What a step cost, in counts that do not depend on the machine."""

    force_evaluations: int = 0
    tangents: int = 0
    operator_products: int = 0  # products of A (or J) with one vector
    factorizations: int = 0
    linear_solves: int = 0
    newton_iterations: int = 0
    rejected_steps: int = 0

    def __add__(self, other: Work) -> Work:  # type: ignore[override]  # counts add up
        return Work(*map(add, self, other))


class Bounds(NamedTuple):
    """An interval that holds the spectrum of A [1/s^2]; `certain` when proven, not estimated."""

    low: float
    high: float
    certain: bool


class SymmetricOperator(Protocol):
    """A = M^-1 K, self-adjoint in `dot`. b is (n,) or (n, p), C-contiguous."""

    @property
    def size(self) -> int: ...
    @property
    def constant(self) -> bool: ...  # the same object comes back every step: caches pay
    def apply(self, b: Array) -> Array: ...
    def dot(self, a: Array, b: Array) -> Any: ...  # column by column: a float, or (p,)
    def dots(self, pairs: Pairs) -> list[Any]: ...  # of all pairs at once
    def bounds(self) -> Bounds | None: ...  # cheap bounds, if the operator knows any
    def eigenbasis(self) -> tuple[Array, Array, Array]: ...  # lam, U, W with A = U lam W, W U = I
    def components(self) -> Array | None: ...  # label of each coordinate's independent body


@dataclass(frozen=True, slots=True)
class Rayleigh:
    """D = alpha M + beta K [1/s, s]."""

    alpha: float = 0.0
    beta: float = 0.0


class Tangent(Protocol):
    """The linearisation of a force F [N] at one state: K = -dF/dx, D = -dF/dv.

    `stiffness` is M^-1 K as a SymmetricOperator when `symmetric`, else any operator with `apply`.
    `damping` is None, Rayleigh, or an operator with `apply` for M^-1 D.
    `matrix(m, k, d)` assembles m M + k K + d D for implicit solvers (dense or SciPy sparse).
    """

    stiffness: Any
    damping: Any
    symmetric: bool
    constant: bool

    def matrix(self, m: float, k: float, d: float) -> Any: ...


class Mass(Protocol):
    """Lumped (diagonal) or consistent (sparse SPD)."""

    size: int
    backend: Backend  # where its vectors live

    def on(self, backend: Backend) -> Mass: ...  # the same, with sums made there
    def apply(self, v: Array) -> Array: ...
    def solve(self, f: Array) -> Array: ...
    def dot(self, a: Array, b: Array) -> Any: ...  # a^T M b, column by column
    def dots(self, pairs: Pairs) -> list[Any]: ...  # of all pairs at once


@dataclass(frozen=True, slots=True)
class LinearPart:
    """Constant stiffness about a reference: force ~ -K (x - reference), for ETI and V-IMEX."""

    made_anew: ClassVar[bool] = True  # by its system: no part of what a checkpoint holds

    tangent: Tangent
    reference: Array


@dataclass(frozen=True, slots=True)
class Power:
    """What forcing adds and what damping takes (both signed as named): energy per second [W], or
    energy [J] where it is that of a step (`Step.exchanged`)."""

    added: float = 0.0
    dissipated: float = 0.0

    def __add__(self, other: Power) -> Power:
        return Power(self.added + other.added, self.dissipated + other.dissipated)


@dataclass(frozen=True, slots=True)
class Settled:
    """The state after what happens between two steps, and the energy [J] that it moved.

    added: only by what drives (shapes, supports and attachments that move); dissipated >= 0;
    invented >= 0: what a response that stands still put into the body all the same, a numerical
    error.  changed: forces or velocities are others than before, even if no energy moved.
    """

    state: State
    added: float = 0.0
    dissipated: float = 0.0
    changed: bool = False
    invented: float = 0.0


@dataclass(frozen=True, slots=True)
class BodyProblem:
    """M a = F with X = p + alpha a and V = q + beta a (see integrators/stage.py), in a step of h
    seconds that begins at `start`, for bodies that are solved one by one.

    mean: F is the mean force from the start to (X, V) at time t, else the force there.
    d (n,): alpha a to begin with.  halvings: how often a body may take shorter steps instead, which
    goes for a whole mean step only: p = x + h v, q = v, alpha = h^2/2, beta = h.
    """

    start: State
    t: float
    h: float
    p: Array
    q: Array
    weights: tuple[float, float]
    d: Array
    mean: bool
    tolerance: float
    most_iterations: int
    halvings: int = 0


@dataclass(frozen=True, slots=True)
class BodySolution:
    """d = alpha a, X and V (n,); the residual of all bodies together, relative to their scale.

    work, halvings: of the body that took the most; dissipated [J]: by damping, where it is at the
    middle; failed: a particle of a body that was not solved, None where all were.
    """

    d: Array
    x: Array
    v: Array
    residual: float
    work: Work
    halvings: int
    dissipated: float
    failed: int | None


class Bodies(Protocol):
    """A system that falls apart into independent bodies, as it is in one state."""

    def solve(self, problem: BodyProblem) -> BodySolution: ...


Energies = Mapping[str, float]  # named parts in joules, 'kinetic' among them


class Backend(Protocol):
    """Where arrays live, who runs the hot loops, and how sums are made (equal on every rank)."""

    name: str
    precision: str  # double, or mixed: of elements
    xp: Any
    kernels: Any  # those of kernels/names.py; asking for one it lacks is an InputError
    shared: (
        bool  # a body lies on several ranks: vectors hold copies of others' rows behind their own
    )

    iterates: bool  # functions of matrices and linear systems by products: vectors live on a card
    at_once: float  # forces of springs that take a second or two

    def announce(self) -> None: ...  # says so where the first run has kernels to compile
    def put(self, a: Any) -> Array: ...  # onto the device
    def host(self, a: Array) -> Array: ...  # and back
    def dots(  # a^T b, or a^T diag(weight) b, of every pair: one synchronisation for all;
        # floats of vectors (n,), arrays (p,) of columns (n, p): both on the host
        self,
        pairs: Pairs,
        weight: Array | None = None,
    ) -> list[Any]: ...
    def project(self, V: Array, b: Array) -> Array: ...  # V b: b (n,) on the rows of V (m, n)
    def halo(self, x: Array) -> Array: ...  # x, its ghosts filled in place; nothing on one rank
    def agree(self, value: float) -> float: ...  # what a clock says, rank 0 says for all
    def every(self, true: bool) -> bool: ...  # whether it is so on all ranks
    def largest(self, *values: float) -> list[float]: ...  # of each value, over all ranks
    def sums(self, values: Array) -> Array: ...  # of each value (k,), over all ranks
    def count(self, size: int) -> int: ...  # coordinates of all ranks, ghosts once: here are `size`
    def random(self, seed: int, size: int) -> Array: ...  # normal, the same however many ranks
    def owned(self, rows: int) -> int: ...  # of so many rows the first that are no ghosts


class OwnFunctions(NamedTuple):
    """M x'' = force(x) - A x: force (n,) -> (n,), its jacobian (n, n), symmetric, as the user gave
    them; A (n, n); root (n,): square roots of the masses."""

    force: Callable[[Array], Array]
    jacobian: Callable[[Array], Array]
    A: Array
    root: Array


@runtime_checkable
class System(Protocol):
    """M x'' = force(t, x, v)."""

    size: int
    mass: Mass
    backend: Backend
    time_dependent: bool  # force depends on t
    velocity_dependent: bool  # force depends on v
    settles: bool  # something happens between steps: `settle` must be called after each
    conservative: bool  # no forcing, no damping, nothing settles: the ledger has nothing to add

    def force(self, s: State) -> Array: ...
    def acceleration(self, s: State) -> Array: ...
    def acceleration_rate(self, s: State, h: float) -> Array: ...  # partial d/dt, for a step h
    def tangent(self, s: State) -> Tangent: ...
    def linear_part(self) -> LinearPart: ...
    def rest_load(self) -> Array: ...  # acceleration (n,) at its reference, of what never changes
    def rotations(self, s: State) -> Array: ...  # (n/3, 3, 3), from the rest shape (CETI)
    def energy(self, s: State) -> Energies: ...
    def power(self, s: State) -> Power: ...
    def settle(self, s: State, h: float) -> Settled: ...  # after an accepted step of size h
    def mean_force(self, s0: State, s1: State) -> Array: ...  # F.(x1 - x0) = E0 - E1, exactly
    def mean_tangent(self, s0: State, s1: State) -> Tangent: ...  # -dF/dx1, -dF/dv1
    # optional: own: OwnFunctions where a user's are all there is; stretcher: what takes many
    # explicit steps in one call; bodywise(s) -> Bodies | None, where implicit steps may be taken
    # body by body; convex_tangent(s), the tangent less its negative stiffness (Newton's way down);
    # guarded: bodies may not pass through each other; stays_clear(s0, s1), whether nothing does on
    # the straight way; clear_share(s, move), how much of a way is clear; pressed(s), bodies touch;
    # decay [1/s], D = decay M + ..., and less_damped(rate), the same system with that much less;
    # fields(s), arrays by name that are recorded of every frame
    def global_layout(self, s0: State, s1: State, old: Any, begins: bool) -> Any: ...  # what L has
    # to cover in a step from s0 at s1: `old` itself where that serves (`begins`: and is not stale)
    def global_matrix(  # M + alpha L + beta D, sparse: of size n, or n/3 for all three coordinates
        self, alpha: float, beta: float = 0.0, layout: Any = None
    ) -> Any: ...
    def diagnostics(self, s: State) -> Mapping[str, float]: ...  # penetration [m], contacts
    def positions(self, s: State) -> Array: ...  # what users see: (particles, 3) or (n,)
    def velocities(self, s: State) -> Array: ...


@dataclass(frozen=True, slots=True)
class ErrorEstimate:
    """Embedded estimate of one step's error, and how much the frozen Jacobian missed.

    remainder: velocity [same unit as v] that the nonlinear remainder could add in the step, h |d|.
    """

    x: Array
    v: Array
    remainder: float = 0.0


class Between(NamedTuple):
    """The states at the times [s] within a step, and what it took to know them."""

    state: Callable[[float], State]
    work: Work


@dataclass(frozen=True, slots=True)
class Step:
    """The result of one step. `memory` goes back into the next call of `step`.

    notes: what the step says about itself. Numbers are recorded for every step: residual (of the
    solve, relative), alpha (of a stabiliser), energy_error [J], halvings.  under_solved = True
    and limited = True (often) ask for a warning; method names the evaluator of matrix functions.
    """

    state: State
    memory: Any
    work: Work
    error: ErrorEstimate | None = None
    notes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    # [J] added and taken, where the method has summed them itself, such as damping of its own: the
    # ledger books them in place of the work of the forces at both ends of the step
    exchanged: Power | None = None
    clear: bool = False  # nothing passes through anything on the way it took, straight or not
    between: Callable[[], Between] | None = None  # called only where somebody wants to know


class Splitting(NamedTuple):
    """An explicit method as kicks k_0 .. k_s and drifts d_1 .. d_s, in parts of h: v += k_0 h a,
    then for each i x += d_i h v, a = a(t_i, x, v + k_i h a), v += k_i h a.  The last acceleration
    opens the next step."""

    kicks: Array
    drifts: Array


class Tableau(NamedTuple):
    """An explicit Nyström method (integrators/nystrom.py) of m stages.

    c (m,), Abar (m, m) and A (m, m): their rows `end` are the weights bbar and b of the step, later
    stages are for the states within it.  errors (k, 2, m): weights of h^2 a and h a in k estimates
    of the errors of x and v.  Where forces must not depend on velocities, A has no other rows.
    """

    c: Array
    Abar: Array
    A: Array
    end: int
    errors: Array


@runtime_checkable
class Integrator(Protocol):
    """Frozen configuration; evolving memory goes in and out, so a rejected step leaves no trace."""

    @property
    def order(self) -> int: ...
    @property
    def adaptive(self) -> bool: ...  # steps carry an error estimate: `simulate` takes rtol

    # optional: `error_order`: the error estimated of a step goes with h^(error_order + 1) (default:
    # order - 1); `controlled(rtol)`: the method as step control wants it, where an estimate costs
    # something, or depends on how well the method is solved; `dissipative = True` where losing
    # energy is the method's nature (bdf1, bdf2); `resume(system, state, memory, settled)`: memory
    # after something happened between two steps (default: `start`); `remedy`: what to do about
    # steps that were not solved well enough; `dense = True` where every step has `between`: frames
    # need no steps of their own; `first_step(system, state, rtol, length, velocity)`: to begin with
    # under step control [s], by two forces (default: a thousandth of the run); `splitting` or
    # `tableau`: what `step` does, in the same class, for loops that take many steps in one call and
    # for the limit of steps that is told before a run; `stretch(system, state, h, count)`: the same
    # steps, as many of them as can be taken at once, and how many that were (None: not on this
    # system)

    def start(self, system: System, state: State) -> Any: ...
    def step(self, system: System, state: State, h: float, memory: Any) -> Step: ...


class SpectralMap(Protocol):
    """Scalar functions f_ji: output j = sum_i f_ji(A) b_i. Called with lam (m,)."""

    @property
    def n_in(self) -> int: ...
    @property
    def n_out(self) -> int: ...

    def __call__(self, lam: Array) -> Array: ...  # (n_out, n_in, m)


@dataclass(frozen=True, slots=True)
class Action:
    """Values of matrix functions applied to vectors, with the evidence.

    value: (n_out, n), or (n,) from phi_action; error: estimated, relative to the tolerance's
    scale; products: products of A (or J) with one vector; method: evaluator and why it was chosen.
    """

    value: Any = field(repr=False)
    error: float
    products: int
    method: str


class FunctionAction(Protocol):
    """An evaluator: every output to |error_j| <= tol * scale_j (default scale: |output_j|)."""

    def __call__(
        self,
        A: Any,  # a SymmetricOperator with what matfun.operators.BaseOperator adds
        functions: SpectralMap,
        columns: Sequence[Array],
        *,
        tol: float,
        scale: Array | None = None,
        max_products: int | None = None,
    ) -> Action: ...
