"""The door to the time loop: reads and checks what the user asks for."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature
from math import ceil, isfinite
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from ..arrays import real_number
from ..backends.cpu import announce
from ..backends.petsc import world
from ..contracts import Array, Integrator, State
from ..errors import Advice, InputError, levels_up, unknown_name
from ..integrators import ADAPTIVE, Auto
from ..integrators import integrator as find_integrator
from ..integrators.auto import MOST_STEPS
from ..recording.drawn import Drawn, drawn
from ..recording.folder import Place
from ..recording.notebook import notebook_bar
from ..recording.notes import FrameLog, StepLog
from ..recording.provenance import fingerprint, recipe_digest
from ..recording.recording import Recording
from ..recording.run import Run
from ..recording.sinks import Interrupt, Memory, Trial
from ..recording.writer import Options, Writer
from ..system.shares import Piece
from ..system.system import System
from .auto import auto_run
from .control import Tolerance
from .devices import bound_on, check_precision
from .engines import RankSink, check_engine, drawn_of_pieces, over_ranks
from .limit import require_stable
from .loop import Loop, Progress, frames_from, steps_within

FRAMES, FILM, MOST_SHOWN = 200, 30.0, 600  # recorded by default: least, per second, most
MOST_FRAMES = 1e7
SHORTEST = 1e-150  # seconds: its square is still a number

Begin = Callable[[Array, StepLog | FrameLog], Loop]  # frames, what is written down of steps

__all__ = ["Recording", "Run", "simulate"]


def _positive(name: str, value: Any, remedy: str) -> float:
    number = real_number(name, value, remedy)
    if not isfinite(number) or number <= 0.0:
        raise InputError(f"{name} must be positive and finite, got {value}: {remedy}")
    if number < SHORTEST:
        raise InputError(
            f"{name} {number:g} s is no time: {SHORTEST:g} s is the shortest, {remedy}"
        )
    return number


def frame_times(
    duration: float, step: float | None, every: float | None, fixed: bool = True
) -> Array:
    """fixed: all steps are of that size; else frames, which shorten steps, are kept few."""
    if every is None:
        # whole steps between frames: the step that was asked for is the step that is taken
        wanted = max(FRAMES, min(MOST_SHOWN, ceil(FILM * duration))) if fixed else FRAMES
        steps = wanted if step is None else max(1, ceil(duration / step * (1.0 - 1e-12)))
        whole = round if wanted > FRAMES else ceil  # 15 pictures a second where 30 are shown: no
        every = max(1, whole(steps / wanted)) * duration / steps
    return np.concatenate([[0.0], frames_from(1, every, duration)])


def simulate(
    system: Any,
    x0: Any = None,
    v0: Any = None,
    *,
    integrator: str | Integrator | None = None,
    step: float | None = None,
    duration: float | None = None,
    every: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    out: str | Path | Place | None = None,
    force: bool = False,
    dtype: str = "float32",
    keep_velocities: bool = True,
    checkpoint: float = 10.0,
    provenance: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    device: str = "cpu",
    precision: str = "double",
    engine: str = "cpu",
    max_hours: float | None = None,
) -> Run:
    """Move a system from x0, v0 through `duration` seconds; returns a Run.

    system: a System, a SecondOrder, or a scene (which brings x0, v0, step, duration, integrator);
    `stiffly.simulate` also takes a scene's name, a scene file, and a mesh file, which it drops on a
    floor (`stiffly.dropped`).
    integrator: a name from `integrators.NAMES` or an integrator object; default exprb42; or
    "auto", which finds method and step for the accuracy rtol (at the end of the run, relative;
    default 1e-2; docs/auto.md), or the method for a `step` that is given.
    step: size of a fixed step [s]; frames are met exactly, so the step taken is the largest one
    not above `step` that divides the time between frames.
    rtol: choose the step by the embedded error instead (exprb32, exprb42, pexprb43, epirk4s3,
    dop853, rkn86); `step` is then the first one tried, and no step is longer than the time between
    frames, but for dop853 and rkn86, which know the states within their steps.  atol [unit of x]:
    beside it, for positions.
    every: seconds between recorded frames; default: the scene's, or 1/30 (a film at life speed),
    but about 200 to 600 frames; 200 where steps are chosen by their error.
    device: "cpu"; "gpu" (or "gpu:1"), an NVIDIA card; "auto", a card where one can (docs/gpu.md).
    precision: "mixed", on a card: springs and tetrahedra in single precision, positions and sums in
    double (docs/gpu.md).
    engine: "petsc" shares one body between the ranks that mpiexec has started (docs/cluster.md):
    the Run of rank 0 has the frames, those of the others the energies alone.
    progress: called with a ProgressReport after every frame, and twice a second in long ones.

    out: a folder to stream frames to, where `resume` can go on; a Recording is returned then.
    force: replace a run that is there.  dtype: of recorded positions, "float32" or "float64".
    checkpoint: seconds of computing between two (0: after every frame).
    provenance: more about the run's origin; a text under "toml" is written to scene.toml.
    max_hours: stop after so many, with a checkpoint, and raise OutOfTime: for queues.

    Raises InputError before any work, Diverged / NotConverged / StepTooSmall / NotRecorded with
    `.run` holding the frames up to there.
    """
    scene = system if hasattr(system, "system") else None
    given = Given(x0, v0, integrator, step, duration, every, rtol, atol)
    if scene is not None:
        system, given = scene.system, completed(given, scene)
    plan = planned(given, getattr(scene, "method", {}))
    _require_system(system, given.x0, engine)
    if progress is not None and not callable(progress):
        raise InputError(
            f"progress must be a function, not {type(progress).__name__}: leave it out"
        )
    options = None
    if out is not None:
        options = Options.checked(out, force, dtype, keep_velocities, checkpoint, provenance)
    interruption = Interrupt(max_hours)
    if max_hours is not None and options is None:
        raise InputError("max_hours needs a folder to go on from: give out= as well")
    announce()
    check_engine(engine, device)
    check_precision(precision, device)
    job = _Job(system, scene, given, plan, options, interruption)
    bound, state = job.bound(device, engine, precision)
    bar = progress or notebook_bar()
    with job.watched() as interrupt:
        if isinstance(plan.method, Auto):

            def run(step: float, begin: Begin, again: bool = False, **told: Any) -> Run:
                loop, sink = job.alone(bound, state, step, begin, again, **told)
                return loop.run(sink, bar)

            wanted = plan.method, plan.duration, plan.step, plan.every
            bind = partial(system.bind, given.x0, given.v0)
            return auto_run(bind, *wanted, run, Trial(interrupt))
        if engine == "petsc":
            loop, sink = job.over_ranks(bound, state)
            return loop.run(sink, bar if sink.first else None)
        loop, sink = job.alone(bound, state, plan.step, job.begin(bound, state))
        return loop.run(sink, bar)


def require_options(options: Mapping[str, Any]) -> None:
    """Before anything is built; InputError for what `simulate` does not take."""
    known = [k for k, p in signature(simulate).parameters.items() if p.kind is p.KEYWORD_ONLY]
    for key in options:
        if key not in known:
            raise InputError(_elsewhere(key) or unknown_name("option of simulate", key, known))


def _elsewhere(key: str) -> str | None:
    """Where to give what belongs to the system, not to one run of it."""
    if key not in signature(System).parameters:
        return None
    return f"{key} is the system's, not the run's: give it to stiffly.System or stiffly.Scene"


@dataclass(frozen=True)
class _Job:
    """One run: of what, how, and where it is told; options: where it is written to a folder."""

    system: Any
    scene: Any
    given: Given
    plan: Plan
    options: Options | None
    interrupt: Interrupt

    def bound(self, device: str, engine: str, precision: str) -> tuple[Any, State]:
        """The system where it is to be computed; steps that are too long are told."""
        plan, given = self.plan, self.given
        asked = self.system, given.x0, given.v0, plan.method, plan.name
        if engine == "petsc":
            alike = {"step": plan.step, "duration": plan.duration, "every": plan.every}
            alike["out"] = self.options is not None
            bound, state = over_ranks(*asked, plan.tolerance, **alike)
        else:
            bound, state = bound_on(device, *asked, precision=precision)
        if plan.tolerance is None and plan.step is not None:
            advise(bound, plan.step)
            every = float(frame_times(plan.duration, plan.step, plan.every)[1])
            taken = every / steps_within(every, plan.step)
            require_stable(bound, state, plan.method, plan.name, taken, plan.duration)
        return bound, state

    def watched(self) -> Any:
        """Signals and the hours of a run end it where there is something to go on from."""
        return nullcontext() if self.options is None else self.interrupt

    def alone(
        self,
        bound: Any,
        state: State,
        step: float | None,
        begin: Begin,
        again: bool = False,
        **told: Any,
    ) -> tuple[Loop, Any]:
        """The loop that begin makes, and its sink; again: in place of the last run."""
        shown, frames = partial(drawn, self.system, self.scene, self.given.x0), self._frames(step)
        if self.options is None:
            return begin(frames, StepLog()), Memory(shown)
        known = np.shape(bound.positions(state)), frames, shown()
        mass = getattr(bound, "particle_mass", None)
        writer = self._writer(bound, *known, mass, again, **told)
        return self._recorded(begin(frames, FrameLog()), self.given.x0), writer

    def over_ranks(self, bound: Any, state: State) -> tuple[Loop, RankSink]:
        """The same beside the other ranks: what asks all of them is asked on each, the first one
        writes."""
        ranks, x0, begin = world(), self.given.x0, self.begin(bound, state)
        shown: Callable[[], Drawn] = partial(drawn, self.system, self.scene, x0)
        if isinstance(self.system, Piece):
            seen = drawn_of_pieces(bound, self.system, self.scene, x0)
            shown = lambda: seen  # noqa: E731
        frames, shape = self._frames(self.plan.step), np.shape(bound.positions(state))
        known = None
        if self.options is not None:
            known = bound.particle_mass, bound.gathered_built(x0)
        if known is None or ranks.rank:
            return begin(frames, StepLog()), RankSink(ranks, Memory(shown))
        writer = self._writer(bound, shape, frames, shown(), known[0])
        return self._recorded(begin(frames, FrameLog()), known[1]), RankSink(ranks, writer)

    def _frames(self, step: float | None) -> Array:
        fixed = self.plan.tolerance is None
        return frame_times(self.plan.duration, step, self.plan.every, fixed=fixed)

    def begin(self, bound: Any, state: State) -> Begin:
        plan, method = self.plan, cast("Integrator", self.plan.method)

        def begin(frames: Array, log: StepLog | FrameLog) -> Loop:
            return Loop(bound, method, plan.name, state, frames, plan.step, plan.tolerance, log)

        return begin

    def _writer(
        self,
        bound: Any,
        shape: tuple[int, ...],
        frames: Array,
        shown: Drawn,
        mass: Array | None,
        again: bool = False,
        **told: Any,
    ) -> Writer:
        assert self.options is not None
        plan, recipe = self.plan, getattr(self.scene, "recipe", "")
        asked = {**plan.asked, "duration": plan.duration, "every": float(frames[1]), **told}
        asked |= {"device": bound.backend.name, "system": fingerprint(self.system)}
        asked |= {"precision": bound.backend.precision}
        asked |= {"recipe": recipe_digest(recipe)} if recipe else {}
        place = self.options.place
        how = replace(self.options, place=place._replace(force=place.force or again))
        return Writer.new(how, shape, frames, self.scene, shown, asked, mass, self.interrupt)

    @staticmethod
    def _recorded(loop: Loop, origin: Any) -> Loop:
        loop.origin = np.array(origin, dtype=np.float64)
        return loop


def _require_system(system: Any, x0: Any, engine: str) -> None:
    if isinstance(system, Piece) and engine != "petsc":
        raise InputError("a piece of a body runs beside the others: give engine='petsc'")
    if not hasattr(system, "bind") and not isinstance(system, Piece):
        raise InputError(
            f"{type(system).__name__} is no system: give a stiffly.System, a SecondOrder or a scene"
        )
    if x0 is None:
        raise InputError("x0 is missing: give the initial positions")


def advise(system: Any, step: float) -> None:
    """Warns of what steps of this size will not follow."""
    for line in system.advice(step) if hasattr(system, "advice") else ():
        warnings.warn(line, Advice, stacklevel=levels_up())


class Given(NamedTuple):
    """What the user said, before it is checked."""

    x0: Any
    v0: Any
    integrator: str | Integrator | None
    step: Any
    duration: Any
    every: Any
    rtol: Any
    atol: Any


class Plan(NamedTuple):
    """What is going to be done; asked: as the recording tells it."""

    name: str
    method: Integrator | Auto
    duration: float
    step: float | None
    every: float | None
    tolerance: Tolerance | None
    asked: dict[str, Any]


def completed(given: Given, scene: Any) -> Given:
    """Where the user is silent, the scene speaks."""
    named = given.integrator
    own = {
        name: getattr(scene, name, None)
        for name in ("x0", "v0", "integrator", "duration", "every")
        if getattr(given, name) is None
    }
    given = given._replace(**own)
    if given.step is None and given.rtol is None:
        # auto finds its own step: a scene's was made for another method
        step = None if _is_auto(given.integrator) else scene.step
        if named is not None and named != scene.integrator:
            step = getattr(scene, "other_step", None) or step
        atol = getattr(scene, "atol", None) if given.atol is None else given.atol
        given = given._replace(step=step, rtol=getattr(scene, "rtol", None), atol=atol)
    return given


def planned(given: Given, tuned: Mapping[str, Any]) -> Plan:
    """tuned: a scene's own settings of the method that it names."""
    integrator, rtol = given.integrator, given.rtol
    options: Mapping[str, Any] = tuned if isinstance(integrator, str) else {}
    method: Any = find_integrator("exprb42" if integrator is None else integrator, **options)
    name = integrator if isinstance(integrator, str) else _label(method, integrator)
    duration, step, every = _checked_times(given.duration, given.step, given.every)
    auto, tolerance = isinstance(method, Auto), None
    asked_for = method.rtol if auto and rtol is None else rtol
    atol = 0.0 if given.atol is None else real_number("atol", given.atol, "try 0")
    if asked_for is not None:
        tolerance = Tolerance(real_number("rtol", asked_for, "try 1e-3"), atol)
    elif atol != 0.0:
        raise InputError(f"atol = {atol:g} stands beside rtol: give that, too, or leave it out")
    if auto and atol != 0.0:
        raise InputError(f"atol = {atol:g}: auto has an rtol alone; leave it out")
    if auto:
        assert tolerance is not None  # it has an rtol of its own
        method, tolerance = replace(method, rtol=tolerance.rtol), None
    else:
        method = _configured(method, name, step, tolerance)
    told = {"integrator": name, "method": repr(method), "step": step}
    asked = told | {"rtol": rtol, "atol": atol}
    return Plan(name, method, duration, step, every, tolerance, asked)


def _checked_times(
    duration: Any, step: Any, every: Any
) -> tuple[float, float | None, float | None]:
    """Duration, step and time between frames [s], as numbers that make sense."""
    if duration is None:
        raise InputError("duration is missing: give the seconds to simulate, e.g. duration=10")
    total = _positive("duration", duration, "give the seconds to simulate, e.g. duration=10")
    h = None if step is None else _positive("step", step, "try step=0.01")
    if h is not None and total / h > MOST_STEPS:
        raise InputError(f"step {h:g} s means {total / h:.1e} steps: choose a larger one")
    if every is not None:
        every = min(total, _positive("every", every, "try every=1/30"))
        if total / every > MOST_FRAMES:
            raise InputError(
                f"every {every:g} s means {total / every:.1e} frames: choose a longer one"
            )
    return total, h, every


def _is_auto(integrator: str | Integrator | None) -> bool:
    return integrator == Auto.name or isinstance(integrator, Auto)


def _label(method: Integrator, given: Integrator | None) -> str:
    if given is None:
        return "exprb42"
    return str(getattr(method, "name", None) or type(method).__name__)


def _configured(
    method: Integrator, name: str, step: float | None, tolerance: Tolerance | None
) -> Integrator:
    if tolerance is None:
        if step is None:
            raise InputError("step is missing: give step=0.01 (fixed) or rtol=1e-3 (adaptive)")
        return method
    if not method.adaptive:
        raise InputError(
            f"{name} has no error estimate: rtol works with {', '.join(ADAPTIVE)}; "
            "give step= instead"
        )
    controlled = getattr(method, "controlled", None)
    return method if controlled is None else controlled(tolerance.rtol)
