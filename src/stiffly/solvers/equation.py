"""What an equation r(d) = 0 offers to the solvers, and what a solver offers to integrators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from ..contracts import Array, Backend, Work

SAME = 1e-9  # steps that differ in their last digits share a factorisation


class Linearisation(Protocol):
    """J at one d. `matrix(tau)` assembles J + tau M (dense, SciPy sparse or LinearOperator).

    definite: J is positive definite beyond reasonable doubt.
    Optional `convex() -> Linearisation | None`: J less its negative stiffness, if there is one.
    """

    symmetric: bool
    constant: bool
    definite: bool

    def matrix(self, shift: float) -> Any: ...


class Equation(Protocol):
    """r(d) = 0; d (n,) is a displacement from `origin` (n,); time [s] names a failure.

    weights: numbers that J depends on besides d: where they change, so does a factorisation.
    scale: what |r(d)| is measured against, the change |M d| and the motion that the step begins
    with; change: the first of the two alone, what a guess is measured against.  Else a step so
    short that forces change little would be taken as solved before any force has acted.
    reach: the share of an update that may be taken, 1 where nothing is in the way; pressed: at d
    bodies press against each other, with a force that has no bound.
    still: d at the positions that the step starts from.
    backend: where d and r live, and how their sums are made.
    Optional sail(d, tree, layout, count, ...) -> Sailed | None: iterations of the local/global
    solver where forces and the factor's tree are on a card (kernels/cuda/local.py).
    Optional body_by_body(d, tolerance, most) -> BodySolution | None: every body by itself, from d.
    linearise: what Newton's method asks for.  global_matrix: what the local/global iteration asks
    for, a constant matrix in place of J, sparse, symmetric and positive definite (n, n), or
    (n/3, n/3) where it serves x, y and z alike; global_layout: what that has to cover at d, `old`
    itself where it still serves (`begins`: at the first d of a solve, where it may be too much).
    """

    weights: tuple[float, ...]
    origin: Array
    time: float
    still: Array
    backend: Backend

    def residual(self, d: Array) -> Array: ...
    def scale(self, d: Array) -> float: ...
    def change(self, d: Array) -> float: ...
    def linearise(self, d: Array) -> Linearisation: ...
    def reach(self, d: Array, dx: Array) -> float: ...
    def pressed(self, d: Array) -> bool: ...
    def global_layout(self, d: Array, old: Any, begins: bool) -> Any: ...
    def global_matrix(self, layout: Any) -> Any: ...


@dataclass(frozen=True, slots=True)
class Solution:
    """What a solver found: x (n,), its residual relative to the scale, what it keeps for the next
    solve (`resumed()`: the same after something happened between steps), its cost and evidence.

    rounding: as far as rounding of the coordinates lets it come, above the residual asked for.
    """

    x: Array
    residual: float
    rounding: bool
    kept: Any
    work: Work
    notes: dict[str, Any]


class Solver(Protocol):
    """newton.Newton or local_global.LocalGlobal.

    prefix: to the name of the method it solves; remedy: where its solution is not good enough.
    extrapolates: the last acceleration is a good guess for the next; else inertia alone is.
    """

    prefix: ClassVar[str]
    remedy: ClassVar[str]
    extrapolates: ClassVar[bool]

    def solve(self, equation: Equation, guess: Array, kept: Any) -> Solution:
        """From guess (n,); kept: `Solution.kept` of an earlier, similar solve, or None."""
        ...


def same_weights(old: tuple[float, ...], new: tuple[float, ...]) -> bool:
    return len(old) == len(new) and all(
        abs(a - b) <= SAME * abs(b) for a, b in zip(old, new, strict=True)
    )
