"""Runs over many ranks: what can be run so, what is recorded by rank 0, how a run goes on."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from ..backends.petsc import World, world
from ..contracts import Array, State
from ..errors import InputError, require_name
from ..integrators.energy_momentum import EnergyMomentum
from ..integrators.explicit import scheme_of
from ..integrators.exponential_rosenbrock import ExponentialRosenbrock
from ..integrators.gautschi import Gautschi
from ..integrators.stabilised import Stabilised
from ..integrators.stage import Bdf1, Bdf2, Midpoint
from ..meshes import Mesh
from ..recording.checkpoint import Packed, unpacked
from ..recording.drawn import Drawn, drawn
from ..recording.folder import CHECKPOINT
from ..recording.provenance import digest, fingerprint
from ..recording.sinks import Frame
from ..recording.witness import Witness
from ..solvers.local_global import LocalGlobal
from ..system.ranks import RankSystem
from ..system.shares import Piece, refusal

ENGINES = ("cpu", "petsc")
IMPLICIT = (Bdf1, Bdf2, Midpoint, EnergyMomentum)
METHODS = (
    "verlet and other explicit methods, exprb2, exprb32, exprb42, pexprb43, epirk4s3, eti, bdf1, "
    "bdf2, midpoint, energy-momentum or stabilised"
)
ALONE = "leave --engine petsc out"
DRAWN = 2_000_000  # particles up to which rank 0 puts the mesh of a body in pieces together
# factorisations, of these rooms, belong to their ranks: made again by whoever goes on
FACTORS = ("stiffly.solvers.ksp:", "stiffly.solvers.linear:")


def check_engine(engine: Any, device: str = "cpu") -> None:
    require_name("engine", engine, ENGINES)
    if engine == "petsc" and device != "cpu":
        raise InputError(f"engine petsc computes on processors: leave --device {device} out")


def over_ranks(
    system: Any,
    x0: Any,
    v0: Any,
    method: Any,
    name: str,
    tolerance: Any = None,
    **asked: Any,
) -> tuple[Any, State]:
    """The share of this rank, bound; InputError on all where one cannot go along.

    system: whole, or a Piece, of which x0 and v0 are then.  asked: what else all have alike."""
    ranks = world()
    built = system.built if isinstance(system, Piece) else system

    def checked() -> None:
        lack = refusal(built) or unfit(method, name, tolerance)
        if lack is not None:
            raise InputError(f"{lack}, or {ALONE}")
        built.bind(x0, v0)

    ranks.together(checked)
    begins = () if isinstance(system, Piece) else (x0, v0)
    start = digest([None if rows is None else np.asarray(rows) for rows in begins])
    alike = {"system": fingerprint(system), "start": start, "method": digest(method)}
    ranks.alike({**alike, **asked})
    piece = ranks.together(lambda: _piece(system, x0, ranks.size))
    bound, state = RankSystem(piece, ranks).bind(x0, v0)
    assert isinstance(bound, RankSystem)
    ranks.together(lambda: _require_sums(bound, method, name))
    return bound, state


def _piece(system: Any, x0: Any, ranks: int) -> Piece:
    if isinstance(system, Piece):
        return system
    x = np.asarray(x0, dtype=np.float64).reshape(system.particles, 3)
    return Piece.whole(system, x, ranks)


def unfit(method: Any, name: str, tolerance: Any = None) -> str | None:
    """Why ranks cannot take steps of this method together; None where they can."""
    if tolerance is not None:
        return "steps chosen by rtol are for one rank: give a fixed step"
    if isinstance(method, Stabilised):
        inner = [method.base, method.dissipate]
        if method.budget is not None:
            return f"{name} goes by the clock, which ranks do not share: use {METHODS}"
        return next(filter(None, (unfit(each, name) for each in inner)), None)
    if isinstance(method, IMPLICIT) and isinstance(method.solver, LocalGlobal):
        return f"{name} is solved by local/global iterations, which are for one rank: use {METHODS}"
    if isinstance(method, ExponentialRosenbrock | Gautschi) and method.method not in (
        *("auto", "chebyshev", "lanczos"),
    ):
        return f"{name} with method={method.method!r} is for one rank: leave method out"
    if getattr(method, "budget", None) is not None:
        return f"{name} with a budget goes by the clock, which ranks do not share: leave it out"
    known = (ExponentialRosenbrock, Gautschi, *IMPLICIT)
    if type(method) in known or scheme_of(method) is not None:
        return None
    return f"{name} is for one rank: use {METHODS}"


def _require_sums(bound: RankSystem, method: Any, name: str) -> None:
    spins = isinstance(method, Stabilised) and method.spin
    if spins and bound.backend.every(bound.built.free_bodies is not None):  # held nowhere
        raise InputError(
            f"{name} keeps the spin of bodies that nothing holds by sums that ranks do not share: "
            f"use stabilised:no-spin, or {ALONE}"
        )
    mean = [part for _, part in bound.assembly.potentials if not hasattr(part, "add_mean_gradient")]
    if isinstance(method, EnergyMomentum | Stabilised) and mean:
        raise InputError(f"{name} over ranks needs parts with a mean force of their own: use bdf2")


# ------------------------------------------------------------------ recording


def drawn_of_pieces(bound: RankSystem, piece: Piece, scene: Any, x0: Array) -> Drawn:
    """What is seen of all pieces, on rank 0; the particles alone of a body too large for that."""
    found, ranks = drawn(piece.built, scene, x0), bound.backend.ranks
    if not ranks.agree(found.mesh is not None and piece.total <= DRAWN):
        return found._replace(mesh=None)
    mesh = cast("Mesh", found.mesh)
    rest = bound.gathered_built(mesh.positions)

    def every(rows: np.ndarray) -> np.ndarray:
        own = rows[piece.owner[rows[:, 0]] == ranks.rank]  # each once, its first particle's
        found = ranks.comm.gather(piece.numbers[own], root=0)
        return rows[:0] if found is None else np.concatenate(found)

    elements = every(mesh.edges), every(mesh.tets), every(mesh.triangles)
    return found._replace(mesh=Mesh(rest, *elements))


class Silent:
    """The sink of a rank that writes nothing and returns nothing."""

    def frame(self, frame: Frame) -> None:
        pass

    def result(self, loop: Any, failure: BaseException | None = None) -> None:
        pass


class RankSink:
    """Frames and checkpoints of all ranks through the sink of rank 0; others keep the books."""

    def __init__(self, ranks: World, sink: Any) -> None:
        self._ranks, self._sink = ranks, sink
        self._writes: bool = ranks.agree(hasattr(sink, "due"))
        self.first = ranks.rank == 0
        self._witness = Witness(sink.folder, CHECKPOINT) if self.first and self._writes else None

    def frame(self, frame: Frame) -> None:
        self._by_first(lambda: self._sink.frame(frame))
        if not self.first:
            self._sink.frame(frame)

    def between(self, loop: Any) -> None:
        if not self._writes:
            return
        save, stop = self._ranks.agree(self._sink.due() if self.first else None)
        there = _seen(loop) if save else loop
        if save or stop:
            self._by_first(lambda: self._sink.save(there, save, stop))
        elif self.first:
            self._sink.save(loop, False, False)

    def result(self, loop: Any, failure: BaseException | None = None) -> Any:
        if failure is not None:
            self._ranks.part(failure)
        result = self._sink.result(_seen(loop) if self._writes else loop, failure)
        self._ranks.meet("rank 0 was still writing")
        if self._witness is not None:
            self._witness.dismiss()
        return result

    def _by_first(self, job: Callable[[], None]) -> None:
        """What stops rank 0 stops all."""
        problem = None
        if self.first:
            try:
                job()
            except BaseException as found:
                problem = found
        if not self._writes:
            if problem is not None:
                raise problem
            return
        problem = self._ranks.agree(problem)
        if problem is not None:
            raise problem


def _seen(loop: Any) -> Any:
    """The loop as a sink sees it: what is saved of it has been gathered."""
    trees, seen = gathered(loop), copy.copy(loop)
    seen.saved = lambda: trees
    return seen


def gathered(loop: Any) -> dict[str, Any]:
    """Trees of `Loop.saved` with vectors of the whole body, on rank 0: any number of ranks, or
    none, can go on with them."""
    trees, backend = loop.saved(), loop.system.backend
    size = loop.system.size

    def whole(array: Array) -> Array:
        found = backend.whole(array) if array.ndim and len(array) == size else array
        return array if found is None else found

    return {**trees, **{name: mapped(trees[name], whole) for name in ("state", "memory")}}


def restored(system: Any, tree: Callable[..., Any]) -> Callable[..., Any]:
    """tree(name, like) of a checkpoint, with the rows that this rank holds."""
    size = system.backend.count(system.size)

    def here(array: Array) -> Array:
        return system.backend.share(array) if array.ndim and len(array) == size else array

    def found(name: str, like: Any = None) -> Any:
        one = tree(name, like)
        return mapped(one, here, like) if name in ("state", "memory") else one

    return found


def mapped(tree: Any, change: Callable[[Array], Array], like: Any = None) -> Any:
    """The tree with other arrays, and without factorisations, which are their ranks'."""
    packed = Packed({"tree": tree})
    arrays = [np.asarray(change(array)) for array in packed.arrays]
    return unpacked(_without(packed.code), arrays, {"tree": tree if like is None else like})["tree"]


def _without(code: Any) -> Any:
    if isinstance(code, list):
        return [_without(item) for item in cast("list[Any]", code)]
    if not isinstance(code, dict):
        return code
    known = cast("dict[str, Any]", code)
    if str(known.get("record")).startswith(FACTORS):
        return None
    return {key: _without(item) for key, item in known.items()}
