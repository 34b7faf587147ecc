"""A body of particles in space: the sum of its parts, with some particles held or led."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..backends.cpu import CPU
from ..contracts import Array, Away, Backend, Energies, LinearPart, Mass, Power, Rayleigh, State
from ..errors import InputError
from ..matfun.operators import BaseOperator, BlockOperator
from ..memory import limited
from ..parts.attachments import PointTies
from ..parts.checks import as_elements, as_indices, as_numbers, require_below
from ..parts.part import NO_PAIRS, Arranged, Part, Particles
from ..parts.pattern import BlockPattern, free_first, unique_pairs
from ..parts.rotations import Stars
from ..parts.user_functions import step_rate
from . import discrete_gradient, iterations, linearise, settling
from . import system_input as given
from .assembly import Assembly, as_rods
from .bodywise import bodywise
from .groups import PIECE_ROWS, NoStretch
from .linearise import LinearTangent, Viscosity
from .stretch import Stretcher
from .supports import Support


class System:
    """M x'' = -dE/dx + loads - D x', E the sum of the parts' energies (see contracts.System).

    mass: (N,) per particle [kg], a number (with rest), or sparse (N, N) consistent mass.
    parts: Springs, Tetrahedra, Gravity, Wind, ... (see parts/part.py).
    fixed: particle indices or a boolean mask (N,); held where `bind` is given them.
    rest: (N, 3) rest positions [m], for springs without rest lengths, eti and ceti.
    damping: Rayleigh(alpha, beta), D = alpha M + beta K0, K0 the body's convex stiffness at rest.
    supports: Keyframes, Rotation, Moving: particles that are led, not free.
    backend: where it is computed; one that lacks a kernel is named together with the part.
    """

    def __init__(
        self,
        mass: Any,
        parts: Sequence[Part],
        fixed: Any = (),
        rest: Any = None,
        damping: Rayleigh | None = None,
        supports: Sequence[Support] | Support = (),
        backend: Backend = CPU,
    ) -> None:
        self.backend = backend
        self.rest = None if rest is None else given.as_rest(rest)
        self.particles, masses = given.particle_mass(mass, self.rest)
        self.supports = given.as_supports(supports, self.particles)
        held = as_indices("fixed", fixed, self.particles)
        self.fixed = given.all_fixed(held, self.supports, self.particles)
        self.numbering = free_first(self.particles, self.fixed)
        self.free = self.numbering.order[: self.numbering.free]
        if self.free.size == 0:
            raise InputError("every particle is fixed: leave at least one free")
        if self.supports and sp.issparse(masses):
            raise InputError("supports that move need a lumped mass: give mass=M.sum(axis=1)")
        self.size = 3 * self.free.size
        self.mass: Mass = given.free_mass(masses, self.free, backend)
        self.lumped = not sp.issparse(masses)
        self.damping = given.as_damping(damping)
        flat = tuple(given.as_parts(parts))
        self.given = given.Given(masses, flat, held, self.rest, self.damping, supports, backend)
        with limited(_told(self.particles), self.particles):
            self._prepare(flat, masses)
        loads = self.assembly.loads
        self.time_dependent = bool(self.supports) or any(p.time_dependent for p in loads)
        self.settles = bool(self.assembly.settling)
        self._tell()
        self._prepared, self._bound = self.assembly, False
        self._now: tuple[Mapping[str, Array] | None, Assembly] = (None, self.assembly)
        self._rest = None if self.rest is None else self.rest.take(self.numbering.order, axis=0)
        self._hold(self._rest)
        self._led = [(support, self.numbering.rows[led]) for support, led in self.supports]
        self._linear: LinearPart | None = None
        self.viscosity = None if self.damping is None else Viscosity(self, self.damping)
        self.layouts: dict[Any, Any] = {}  # made once: see bodywise.py, and `stretcher`
        self._stars: Stars | None = None
        self._stretcher: Stretcher | NoStretch | None = None
        self._by_rows: Stretcher | NoStretch | None = None
        self._calmer: tuple[float, System] | None = None

    def _tell(self) -> None:
        """What the damping decides with."""
        loads = self.assembly.loads
        self.velocity_dependent = self.damping is not None or any(
            p.velocity_dependent for p in loads
        )
        self.conservative = not (self.damping or loads or self.supports or self.settles)

    def _prepare(self, parts: Sequence[Part], masses: Any) -> None:
        sparse = sp.issparse(masses)
        sums = np.asarray(masses.sum(axis=1)).ravel() if sparse else masses
        known = (self.particles, sums, self.rest, not sparse)
        self.couples = _joined([part.couples(Particles(*known)) for part in parts])
        rows, order, free = self.numbering.rows, self.numbering.order, self.numbering.free
        coupled = [self.couples]
        if sparse:  # a consistent mass couples accelerations: same body, even without a spring
            coupled.append(np.stack(masses.nonzero(), axis=1))
        self.pattern = BlockPattern(
            _joined(coupled), np.arange(free), self.particles, self.backend, rows
        )
        arranged = Arranged(*known, rows, order, free, self.pattern)
        made = [given.prepared(part, part.prepare(arranged)) for part in parts]
        self.assembly = Assembly(made)
        if self.assembly.matrix_free or self.assembly.global_loads:
            self.pattern.bodies = None  # they couple everything with everything

    def bind(self, x0: Any, v0: Any = None) -> tuple[System, State]:
        """This system with its fixed particles held at x0 (N, 3), and the state at t = 0.

        Supports start from x0; their particles' velocities are the supports' own.
        """
        with limited(_told(self.particles), self.particles):
            return self._bound_to(x0, v0)

    def _bound_to(self, x0: Any, v0: Any) -> tuple[System, State]:
        shape = (self.particles, 3)
        x0 = as_numbers("x0", x0, shape)
        v = np.zeros(self.size) if v0 is None else self._begins_with(as_numbers("v0", v0, shape))
        for support, led in self.supports:
            given.warn_of_jump(support, x0[led])
        bound = self.having(self._prepared)
        if self.rest is not None and self._rest is not None and np.array_equal(x0, self.rest):
            x0 = self._rest
        else:
            x0 = x0.take(self.numbering.order, axis=0)
        bound._hold(x0)
        if self.rest is None:  # what was linearised about other positions is stale
            bound._linear = None
        if self.damping is not None:
            bound.viscosity = Viscosity(bound, self.damping)
            if self.damping.beta:
                bound.viscosity.operator()  # one that would pump is refused before any work
        state = State(0.0, x0.ravel()[: self.size].copy(), v)
        bound.assembly, bound._bound = bound._begun(state), True
        return bound, State(0.0, state.x, state.v, bound.assembly.memory())

    def _begins_with(self, v0: Array) -> Array:
        """Of velocities (N, 3) as the user numbers particles those of free ones (n,)."""
        if not v0.any():  # as a rule
            return np.zeros(self.size)
        still = self.fixed[np.any(v0[self.fixed] != 0.0, axis=1)]
        for _, led in self.supports if still.size else ():
            still = np.setdiff1d(still, led)
        if still.size:
            raise InputError(
                f"v0 moves particle {still[0]}, which is fixed: set its velocity to zero"
            )
        return v0.take(self.free, axis=0).ravel()

    def _hold(self, x: Array | None) -> None:
        """Particles that are fixed stay where they are at x (N, 3) by row; supports begin there."""
        self._frame = x if self.supports or self._rest is None else None  # nobody else asks for it
        self._held = None if x is None else x[self.numbering.free :].flatten()
        self._places: tuple[float, list[tuple[Array, Array]]] | None = None

    def taken_over(self, s: State) -> State:
        """A state of another system as one of this: with what its parts remember, and as at a
        beginning where it does not know."""
        return State(s.t, s.x, s.v, self._begun(s).memory())

    def _begun(self, s: State) -> Assembly:
        x, v = self.row_positions(s), self.row_velocities(s)
        return self.assembly.begun(s.t, x, v, s.parts)

    def having(self, assembly: Assembly) -> System:
        """This system with other prepared parts on the same particles."""
        new = object.__new__(type(self))
        vars(new).update(vars(self))
        new.assembly, new._now = assembly, (None, assembly)
        new._stretcher = new._by_rows = new._calmer = None
        return new

    @property
    def decay(self) -> float:
        """The rate [1/s] at which damping proportional to mass brakes every free velocity."""
        return 0.0 if self.damping is None else self.damping.alpha

    def less_damped(self, rate: float) -> System:
        """This system where `decay` is less by `rate`: for methods that brake velocities so much
        themselves."""
        if self._calmer is None or self._calmer[0] != rate:
            new = self.having(self.assembly)
            left = Rayleigh(self.decay - rate, 0.0 if self.damping is None else self.damping.beta)
            new.damping = left if left.alpha or left.beta else None
            new.viscosity = None if new.damping is None else Viscosity(new, new.damping)
            new._tell()
            new._linear = None  # its tangent has the damping
            self._calmer = (rate, new)
        new = self._calmer[1]
        new._now = self._now
        return new

    def on(self, backend: Backend) -> System:
        """The same, with many explicit steps taken, and tangents multiplied, where this backend
        does that."""
        new = self.having(self.assembly)
        new.backend, new.given = backend, self.given._replace(backend=backend)
        new.mass, new._linear = self.mass.on(backend), None  # operators compute where masses are
        return new

    def gripped(self, ties: PointTies, name: str) -> System:
        """With these ties beside the parts, which it goes on sharing: a hand that takes hold while
        a run goes on, without a trace once it is forgotten.

        The ties may move between two steps; who moves them counts the energy.  They should be soft
        beside the body: the matrix of local/global solvers stays without them, and so does the
        linear part, unless they say that they are `linear`.
        """
        ties.soft = True
        held = self.having(Assembly([*self.assembly.parts, (name, ties)]))
        if ties.linear:
            held._linear = None  # what was linearised knows nothing of them
        return held

    def at(self, s: State) -> Assembly:
        """The parts as they are in this state."""
        if not self.assembly.remembers or not (self._bound or s.parts):
            return self.assembly
        if self._now[0] is not s.parts:
            self._now = (s.parts, self.assembly.having(s.parts))
        return self._now[1]

    def know(self, s: State, parts: Assembly) -> None:
        """These are the parts as they are in s."""
        self._now = (s.parts, parts)

    @property
    def stretcher(self) -> Stretcher | NoStretch:
        """What takes many explicit steps in one call, or why nothing does."""
        if self._stretcher is None:
            self._stretcher = self.by_rows
        return self._stretcher

    @property
    def by_rows(self) -> Stretcher | NoStretch:
        """The same for who asks it for forces alone: steps go on as if nobody had."""
        if self._by_rows is None:
            known: Stretcher | None = self.layouts.get(self._steps_by)
            self._by_rows = self._lay_out() if known is None else known.of(self)
        return self._by_rows

    @property
    def _steps_by(self) -> Any:
        """What decides how a body is laid out for explicit steps; None where every `bind` does: by
        where supports or the particles of a large body are then, by its stiffness there, or by
        what parts remember."""
        damped = self.damping is not None and self.damping.beta
        large = self.numbering.free > PIECE_ROWS
        placed = self.supports or (self.rest is None and (large or damped))
        other = self.assembly is not self._prepared or self.assembly.remembers
        return None if placed or other else (self.damping, self.backend)

    def _lay_out(self) -> Stretcher | NoStretch:
        try:
            with limited(f"explicit steps of {_told(self.particles)}", self.particles):
                made = Stretcher(self)
        except NoStretch as reason:
            # without the frames that it comes from: they hold this very system
            return NoStretch(str(reason))
        if self._steps_by is not None and made.guests is None:  # these know what is held where
            self.layouts[self._steps_by] = made.of(None)  # of all systems bound to these parts
        return made

    @property
    def counted_mass(self) -> Array:
        """(N,) [kg], as the user numbers them: of all that is summed here."""
        return np.asarray(self.given.mass)

    @property
    def laid_out(self) -> Stretcher | NoStretch | None:
        """The same, where somebody has asked for it before."""
        return self._stretcher

    def learnt(self) -> dict[str, Any]:
        """What a run has found out on its way, bounds of a spectrum: whoever goes on needs it for
        the same digits."""
        linear = self._linear
        bounds = None if linear is None else linear.tangent.stiffness.cache.get("bounds")
        return {"bounds": bounds}

    def recall(self, learnt: Mapping[str, Any], s: State) -> None:
        """Go on from s with what an earlier run of the same system had learnt."""
        if learnt["bounds"] is not None:
            self.linear_part().tangent.stiffness.cache["bounds"] = learnt["bounds"]
        self.taken_over(s)  # a live hand belongs to this run from now on

    # ------------------------------------------------------------------ what users see

    def positions(self, s: State) -> Array:
        """All particles (N, 3), fixed ones included."""
        shown = self._shown(s, "positions")
        return self.numbering.given(self.row_positions(s)) if shown is None else shown[0].copy()

    def _shown(self, s: State, *names: str, single: bool = False) -> list[Array] | None:
        """By what has taken the steps, where it can tell."""
        told = getattr(self._stretcher, "shown", None)
        return None if told is None or not isinstance(s, Away) else told(s, names, single)

    def velocities(self, s: State) -> Array:
        """All particles (N, 3); zero where fixed, the support's own where led."""
        shown = self._shown(s, "velocities")
        return self.numbering.given(self.row_velocities(s)) if shown is None else shown[0].copy()

    def in_frame(self, s: State, single: bool = False) -> tuple[Array, Array, dict[str, Array]]:
        """Both, and fields, for whoever writes them down: they stay as they are until they have
        been asked for twice more.  single: who asks will round them, so they may be rounded."""
        force = ["contact-force"] if self._touched else []
        shown = self._shown(s, "positions", "velocities", *force, single=single)
        if shown is None:
            return self.positions(s), self.velocities(s), self.fields(s)
        x, v, *force = shown
        return x, v, self._fields(s) | ({"contact-force": force[0]} if force else {})

    @property
    def particle_mass(self) -> Array | None:
        """(N,) [kg], zero where fixed; None for a consistent mass."""
        if not self.lumped:
            return None
        mass = np.zeros(self.particles)
        mass[: self.numbering.free] = self.mass.apply(np.ones(self.size))[::3]
        return self.numbering.given(mass)

    @property
    def free_bodies(self) -> Array | None:
        """(N,) each particle's body, where nothing holds, turns or damps any; None elsewhere."""
        if not (self.lumped and self.conservative and self.assembly.internal) or self.fixed.size:
            return None
        bodies = self.pattern.bodies
        return np.zeros(self.particles, dtype=np.int64) if bodies is None else bodies.labels

    # ------------------------------------------------------------------ by row: free ones first

    def row_positions(self, s: State) -> Array:
        """All particles (N, 3), as parts see them."""
        if self.fixed.size == 0:
            return s.x.reshape(-1, 3)
        if self._held is None:
            raise InputError("fixed particles have no positions yet: use system.bind(x0, v0)")
        full = np.concatenate((s.x, self._held)).reshape(-1, 3)
        for (_, led), (places, _) in zip(self._led, self._led_at(s.t), strict=True):
            full[led] = places
        return full

    def own_positions(self, s: State) -> Array:
        """The same, to write to: a copy, unless it has been put together for us."""
        rows = self.row_positions(s)
        return rows.copy() if np.may_share_memory(rows, s.x) else rows

    def row_velocities(self, s: State) -> Array:
        """All particles (N, 3), as parts see them: an array of its own."""
        full = self.support_velocities(s.t)
        full.ravel()[: self.size] = s.v
        return full

    def support_velocities(self, t: float) -> Array:
        """(N, 3), zero for particles that are free or fixed."""
        full = np.zeros((self.particles, 3))
        for (_, led), (_, velocities) in zip(self._led, self._led_at(t), strict=True):
            full[led] = velocities
        return full

    def _led_at(self, t: float) -> list[tuple[Array, Array]]:
        """Positions and velocities of what each support leads; both are asked for in turn."""
        if self._places is None or self._places[0] != t:
            if self._led and self._frame is None:
                raise InputError("supports have no positions yet: use system.bind(x0, v0)")
            frame: Any = self._frame
            self._places = (t, [support.place(t, frame[led]) for support, led in self._led])
        return self._places[1]

    def reference(self) -> Array:
        """(N, 3): the rest shape, or the positions given to `bind`."""
        reference = self._rest if self._rest is not None else self._frame
        if reference is None:
            raise InputError("there is no rest shape: give System(..., rest=X) or use bind(x0, v0)")
        return reference

    # ------------------------------------------------------------------ forces

    def force(self, s: State) -> Array:
        """(n,) [N], of everything: potentials, loads, damping."""
        x = self.row_positions(s)
        parts = self.at(s)
        total = parts.gradient(x)
        np.negative(total, out=total)
        if parts.loads:
            total += parts.load_force(s.t, x, self.row_velocities(s))
        f = total.ravel()[: self.size]
        if self.viscosity is not None:
            f -= self.viscosity.force(s)
        return f

    def acceleration(self, s: State) -> Array:
        return self.mass.solve(self.force(s))

    def acceleration_rate(self, s: State, h: float) -> Array:
        if not self.time_dependent:
            return np.zeros(self.size)
        return step_rate(lambda t: self.acceleration(s.moved(t, s.x, s.v)), s.t, h)

    # ------------------------------------------------------------------ tangents

    def tangent(self, s: State) -> LinearTangent:
        """K = -dF/dx and D = -dF/dv: see contracts.Tangent."""
        if self.assembly.linear and self._linear is not None:
            return self._linear.tangent  # type: ignore[return-value]  # ours
        x = self.row_positions(s)
        if self.assembly.linear:
            return self._constant_tangent(x)
        if self.assembly.loads:
            return linearise.loaded(self, s, x)
        damping = None if self.viscosity is None else self.viscosity.beside_varying_stiffness()
        return LinearTangent(linearise.stiffness(self, self.at(s), x), damping, True, False)

    def elastic(self, s: State) -> BaseOperator:
        """M^-1 K of the potentials alone: symmetric, whatever the loads are."""
        if self.assembly.loads:
            return linearise.stiffness(self, self.at(s), self.row_positions(s))
        return self.tangent(s).stiffness

    def secant(self, s: State) -> BlockOperator:
        """M^-1 K_sec, where the parts' force is -K_sec(x) x + constant: the papers' form."""
        blocks = self.at(s).secant_blocks(self.row_positions(s), self.pattern)
        return linearise.block_operator(self.pattern, blocks, self.mass)

    def linear_part(self) -> LinearPart:
        """The tangent at the rest shape (without one: at the positions given to `bind`).

        Springs have not yielded; attachments are those of the start; nothing is in contact, even
        where the rest shape happens to lie inside a collider: the body may be elsewhere.
        """
        if self._linear is None:
            unyielded = self.having(self.assembly.lasting())
            unyielded._constant_tangent(self.reference())
            self._linear = unyielded._linear
        assert self._linear is not None
        return self._linear

    def rest_load(self) -> Array:
        """Acceleration (n,) at the rest shape by the potentials there, which gravity is one of; by
        nothing that touches or ties, since that comes, goes and moves."""
        f = -self.assembly.own().lasting().gradient(self.reference())
        return self.mass.solve(f.ravel()[: self.size])

    def _constant_tangent(self, x: Array) -> LinearTangent:
        damping = None if self.viscosity is None else self.viscosity.beside(self.assembly)
        stiffness = linearise.stiffness(self, self.assembly, x, constant=True)
        tangent = LinearTangent(stiffness, damping, True, True)
        reference = x if self.rest is None and self._frame is None else self.reference()
        self._linear = LinearPart(tangent, reference.ravel()[: self.size].copy())
        return tangent

    def rotations(self, s: State) -> Array:
        if self._rest is None:
            raise InputError("ceti needs a rest shape: give System(..., rest=X), or use eti")
        if self._stars is None:
            edges = unique_pairs(self.numbering.rows[self.couples], self.particles)
            self._stars = Stars(edges, self._rest, self.numbering.free, self.backend)
        return self._stars.rotations(self.row_positions(s))

    # ------------------------------------------------------------------ energy

    def energy(self, s: State) -> Energies:
        told = getattr(self._stretcher, "energies", None)  # by what has taken the steps
        known = None if told is None else told(s)
        if known is not None:
            return known
        kinetic = 0.5 * float(self.mass.dot(s.v, s.v))
        return {"kinetic": kinetic, **self.at(s).energies(self.row_positions(s))}

    def power(self, s: State) -> Power:
        """Loads do f.v; a support does the work that moves its particles against everything."""
        if self.conservative:
            return Power()
        total = Power() if self.viscosity is None else self.viscosity.power(s)
        if self.assembly.loads or self.supports:
            x, v, parts = self.row_positions(s), self.row_velocities(s), self.at(s)
            loads = parts.load_power(s.t, x, v)
            total += loads
            if self.supports:
                held = parts.gradient(x) - parts.load_force(s.t, x, v)
                total += Power(added=float(np.vdot(held, self.support_velocities(s.t))))
        return total

    settle = settling.settle
    obey = settling.obey
    diagnostics = settling.diagnostics

    def stress(self, x: Any, edges: Any = None) -> tuple[Array, str]:
        """What is borne at particles x (N, 3): (N,) and its unit, of the elements that meet there
        the one that bears most.  'Pa', von Mises' stress, where there are tetrahedra, else 'N',
        the tension of springs, < 0 where they are pressed.  edges (m, 2): (m,) of those instead,
        springs between two particles."""
        x = as_numbers("x", x, (self.particles, 3))[self.numbering.order]
        parts = [part for _, part in self.assembly.parts if hasattr(part, "stresses")]
        known = [part.stresses(x) for part in parts]
        if not known:
            raise InputError("no part of this has a stress: springs and tets do")
        tets = edges is None and any(found[2] == "Pa" for found in known)
        unit = "Pa" if tets else "N"
        known = [found[:2] for found in known if found[2] == unit]
        if edges is not None:
            pairs = as_elements("edge", edges, 2)
            require_below("edges", pairs, self.particles)
            return self._borne(known, self.numbering.rows[pairs]), unit
        most = np.zeros((2, self.particles))  # pressed, pulled
        for elements, values in known:
            every = np.nan_to_num(np.repeat(values, elements.shape[1]))
            np.minimum.at(most[0], elements.ravel(), every)
            np.maximum.at(most[1], elements.ravel(), every)
        return self.numbering.given(np.where(-most[0] > most[1], *most)), unit

    def _borne(self, known: list[tuple[np.ndarray, Array]], wanted: np.ndarray) -> Array:
        """(m,): the sum of all springs between two rows; 0 where there is none."""
        keys, place = np.unique(_pair_keys(wanted, self.particles), return_inverse=True)
        found = np.zeros(len(keys))
        for elements, values in known:
            if elements.shape[1] == 2:
                own = _pair_keys(elements, self.particles)
                at = np.minimum(np.searchsorted(keys, own), len(keys) - 1)
                same = keys[at] == own
                np.add.at(found, at[same], values[same])
        return found[place]

    def fields(self, s: State) -> dict[str, Array]:
        """What parts record of themselves in every frame, by name."""
        return self._fields(s) | ({"contact-force": self._pushed(s)} if self._touched else {})

    def _fields(self, s: State) -> dict[str, Array]:
        """Those that parts tell themselves."""
        if not any(hasattr(part, "fields") for _, part in self.assembly.parts):
            return {}
        own = [part.fields() for _, part in self.at(s).parts if hasattr(part, "fields")]
        return {name: values for each in own for name, values in each.items()}

    @property
    def _touched(self) -> bool:
        """By shapes, or by other bodies."""
        return any(map(_touches, self.assembly.parts))

    def _pushed(self, s: State) -> Array:
        """(N,) [N]: how hard what touches pushes every particle."""
        shown = self._shown(s, "contact-force")
        if shown is not None:
            return shown[0].copy()
        x, g = self.row_positions(s), np.zeros((self.particles, 3))
        for _, part in filter(_touches, self.at(s).parts):
            part.add_gradient(x, g)
        a, b, c = g.T  # by columns: of many rows of three a norm takes three times as long
        return np.sqrt(a * a + b * b + c * c)[self.numbering.rows]

    def advice(self, h: float) -> list[str]:
        """What parts have to say about steps of h seconds, one line each."""
        told = [part.advice(h) for _, part in self.assembly.parts if hasattr(part, "advice")]
        return [line for line in told if line is not None]

    # ------------------------------------------------------------------ nothing passes

    @property
    def guarded(self) -> bool:
        """Bodies touch each other, and may not pass through each other."""
        return bool(self.assembly.guards)

    def stays_clear(self, s0: State, s1: State) -> bool:
        """Whether nothing passes through anything on the straight way from s0 to s1."""
        if not self.assembly.guards:
            return True
        x0, x1 = self.row_positions(s0), self.row_positions(s1)
        return all(part.stays_clear(x0, x1) for part in self.at(s0).guards)

    def clear_share(self, s: State, move: Array) -> float:
        """The share of the way from x to x + move (n,) that is clear."""
        if not self.assembly.guards:
            return 1.0
        x = self.row_positions(s)
        way = self.row_positions(s.moved(s.t, s.x + move, s.v)) - x
        return min(part.clear_share(x, way) for part in self.at(s).guards)

    def pressed(self, s: State) -> bool:
        """Whether bodies press against each other."""
        return bool(self.assembly.guards) and any(
            part.pressed(self.row_positions(s)) for part in self.at(s).guards
        )

    # ------------------------------------------------------------------ for implicit methods

    bodywise = bodywise
    rods = as_rods  # for methods that keep lengths instead of following forces

    mean_force = discrete_gradient.mean_force
    mean_tangent = discrete_gradient.mean_tangent
    convex_tangent = discrete_gradient.convex_tangent
    global_layout = discrete_gradient.global_layout
    global_matrix = discrete_gradient.global_matrix
    sail = iterations.sail


def _told(particles: int) -> str:
    return f"a body of {particles:,} particles"


def _touches(named: tuple[str, Any]) -> bool:
    part = named[1]
    return getattr(part, "passing", False) and hasattr(part, "add_gradient")


def _pair_keys(pairs: np.ndarray, count: int) -> np.ndarray:
    """One number for a pair of rows below count, whichever comes first."""
    return pairs.min(axis=1) * count + pairs.max(axis=1)


def _joined(pairs: Sequence[np.ndarray]) -> np.ndarray:
    """All pairs (m, 2); those of one part alone are not copied."""
    some = [own for own in pairs if len(own)]
    return some[0] if len(some) == 1 else np.concatenate([NO_PAIRS, *some])
