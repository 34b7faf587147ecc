"""Particles tied to points in space by springs of length zero: pins, leads, a user's drag.

The points are no degrees of freedom.  They may follow a motion, or a hand while a run goes on;
during a step they stand still, and what moving them stores in the springs is counted as added.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..contracts import Array, Power
from ..errors import InputError
from ..kernels.names import NO_SLOT
from .checks import as_array, as_indices, as_number, as_numbers
from .part import NO_PAIRS, Arranged, Particles
from .pattern import BlockPattern
from .terms import TieTerm


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """What a user wants tied, and where to.

    particles (k,), each once; points (k, 3) [m], NaN for 'leave it where it is then'.
    """

    serial: int  # grows with every change
    particles: np.ndarray
    points: Array


class Attachments:
    """E = sum k/2 |x_i - p_i|^2: particles i tied to points p_i in space.

    particles: indices; stiffness k [N/m]: one number; points (k, 3) [m]: default where the
    particles start.  motion: how the points move, anything with `place(t, start)` (Keyframes,
    Rotation, Moving).
    live=True: `attach`, `move` and `release` may be called while a run goes on, from any thread;
    they take effect between two steps, or before the next of many that are taken in one call, which
    ends at a frame.  Attaching and moving is counted as added, exactly; what a
    released spring had stored is dissipated.  `particles` may then be empty.  Every run begins
    with the particles and points given here, and takes the hand: one run at a time can have it.
    """

    changing = ("wanted", "_run", "count", "_lock")  # while a run goes on

    def __init__(
        self,
        particles: Any,
        stiffness: float,
        points: Any = None,
        motion: Any = None,
        *,
        live: bool = False,
        name: str = "attachment",
    ) -> None:
        if not isinstance(name, str) or not name:
            raise InputError(f"attachment name must be a text such as 'hand', got {name!r}")
        if not isinstance(live, (bool, np.bool_)):
            raise InputError(f"{name}: live must be True or False, got {live!r}")
        self.name, self.live, self.motion = name, bool(live), motion
        self.stiffness = as_number(f"{name} stiffness", stiffness, above=0.0)
        if motion is not None and not hasattr(motion, "place"):
            raise InputError(f"{name}: motion must be Keyframes(...), Rotation(...) or Moving(...)")
        if motion is not None and live:
            raise InputError(f"{name}: give either motion= or live=True, not both")
        chosen = self._as_particles(particles)
        if chosen.size == 0 and not live:
            raise InputError(f"{name} ties no particle: name at least one, or give live=True")
        self.first = self.wanted = Wanted(0, chosen, self._as_points(points, chosen.size))
        self._run: object = None  # the one that obeys
        self.count: int | None = None  # how many particles it has
        self._lock = threading.Lock()

    def couples(self, particles: Particles) -> np.ndarray:
        as_indices(self.name, self.first.particles, particles.count)
        return NO_PAIRS

    def prepare(self, particles: Arranged) -> PointTies:
        if self.live or self.motion is not None or np.isnan(self.first.points).any():
            return MovingAttachments(self, particles)
        ties = PointTies(self.stiffness, particles.pattern, linear=True)
        ties.tie(particles.rows[self.first.particles], self.first.points)
        return ties

    # ------------------------------------------------------------------ while a run goes on

    def attach(self, particles: Any, points: Any = None) -> None:
        """Tie more particles; points (k, 3) [m] default to where the particles are then."""
        new = self._as_particles(particles)
        if self.count is not None:
            as_indices(self.name, new, self.count)
        ends = self._as_points(points, new.size)
        with self._lock:
            old = self._live()
            keep = ~np.isin(old.particles, new)
            self._post([*old.particles[keep], *new], [*old.points[keep], *ends])

    def move(self, points: Any) -> None:
        """Put the points (k, 3) [m] elsewhere, in the order in which they were attached."""
        with self._lock:
            old = self._live()
            self._post(old.particles, as_numbers(f"{self.name} points", points, old.points.shape))

    def release(self, particles: Any = None) -> None:
        """Let go of these particles; without an argument of all."""
        with self._lock:
            old = self._live()
            gone = old.particles if particles is None else self._as_particles(particles)
            untied = np.setdiff1d(gone, old.particles)
            if untied.size:
                raise InputError(f"{self.name}: particle {untied[0]} is not attached")
            keep = ~np.isin(old.particles, gone)
            self._post(old.particles[keep], old.points[keep])

    def restart(self, run: object, ties: Wanted) -> None:
        """A run begins, or goes on, with the ties that it has; what was asked of an earlier one is
        forgotten."""
        with self._lock:
            self._run, self.wanted = run, ties

    def asked(self, run: object) -> Wanted:
        """What this run is to do; InputError where another has begun, whose orders they may be."""
        if self._run is not run:
            raise InputError(
                f"{self.name} is live in two runs at once: give each its own Attachments(...)"
            )
        return self.wanted

    def _live(self) -> Wanted:
        if not self.live:
            raise InputError(f"{self.name} is not live: give Attachments(..., live=True)")
        return self.wanted

    def _post(self, particles: Any, points: Any) -> None:
        tied = np.array(particles, dtype=np.int64)
        ends = np.array(points, dtype=np.float64).reshape(-1, 3)
        self.wanted = Wanted(self.wanted.serial + 1, tied, ends)

    # ------------------------------------------------------------------ input

    def _as_particles(self, particles: Any) -> np.ndarray:
        array = np.atleast_1d(as_array(self.name, particles))
        if array.size == 0:
            return np.empty(0, dtype=np.int64)
        if array.ndim > 1 or not np.issubdtype(array.dtype, np.integer):
            raise InputError(f"{self.name}: particles must be indices (a list of integers)")
        if array.min() < 0:
            raise InputError(f"{self.name} names particle {array.min()}: they count from 0")
        if np.unique(array).size < array.size:
            raise InputError(f"{self.name} names a particle twice: tie each to one point")
        return array.astype(np.int64)

    def _as_points(self, points: Any, count: int) -> Array:
        if points is None:
            return np.full((count, 3), np.nan)
        return as_numbers(f"{self.name} points", points, (count, 3))


class PointTies:
    """Springs of length zero from particles, known by their rows, to points that stand still."""

    bounded = True
    pairwise = True
    external = True  # no elasticity of the body's own: Rayleigh damping leaves it out
    soft = False

    def __init__(self, stiffness: float, pattern: BlockPattern, linear: bool) -> None:
        """linear: the set of ties never changes, so the tangent is constant."""
        self.linear = linear
        self._stiffness, self._pattern = stiffness, pattern
        self.tie(np.empty(0, dtype=np.int64), np.empty((0, 3)))

    def tie(self, particles: np.ndarray, points: Array) -> None:
        """These ties (k,), (k, 3) and no others."""
        self.particles, self.points = particles, points

    def become(self, other: PointTies | None) -> None:
        """These ties and this stiffness from now on; None: nothing is tied."""
        if other is None:
            self.tie(np.empty(0, dtype=np.int64), np.empty((0, 3)))
        else:
            self._stiffness = other._stiffness
            self.tie(other.particles, other.points)

    @property
    def _slots(self) -> np.ndarray:
        slots = self._pattern.diagonal[self.particles]
        return slots[slots != NO_SLOT]

    def retie(self, particles: np.ndarray, points: Array) -> None:
        """The same, where these may be the particles that are tied already."""
        if particles is self.particles or np.array_equal(particles, self.particles):
            self.points = points
        else:
            self.tie(particles, points)

    def energies(self, x: Array) -> Array:
        """(k,) [J]."""
        d = x[self.particles] - self.points
        return 0.5 * self._stiffness * np.einsum("ij,ij->i", d, d)

    def energy(self, x: Array) -> float:
        return float(self.energies(x).sum())

    def add_gradient(self, x: Array, out: Array) -> None:
        out[self.particles] += self._stiffness * (x[self.particles] - self.points)

    def add_blocks(self, x: Array, blocks: Array, pressed: Array) -> None:
        blocks[self._slots] += self._stiffness * np.eye(3)

    def add_mean_gradient(self, x0: Array, x1: Array, out: Array) -> None:
        """The energy is quadratic: its gradient in the middle is exact."""
        middle = 0.5 * (x0[self.particles] + x1[self.particles])
        out[self.particles] += self._stiffness * (middle - self.points)

    def add_mean_blocks(self, x0: Array, x1: Array, blocks: Array) -> None:
        blocks[self._slots] += 0.5 * self._stiffness * np.eye(3)

    def terms(self) -> list[TieTerm] | None:
        return [TieTerm(self.particles, self._stiffness, self.points)]

    def layout(self, x0: Array, x1: Array, old: Any, begins: bool) -> Any:
        """What is tied decides about the matrix, not where to."""
        same = old is not None and np.array_equal(old, self.particles)
        return old if same else self.particles

    def laplacian(self, layout: Any = None) -> tuple[np.ndarray, np.ndarray, Array]:
        tied = self.particles if layout is None else layout
        return tied, tied, np.full(tied.size, self._stiffness)


class MovingAttachments(PointTies):
    """Ties whose points start where the particles do, follow a motion, or obey a user."""

    drives = True

    def __init__(self, config: Attachments, particles: Arranged) -> None:
        super().__init__(config.stiffness, particles.pattern, linear=not config.live)
        self._rows = particles.rows
        self._config, self._serial = config, np.array(0)  # of the last wish that was obeyed
        self._run = object()  # the one that this is a part of
        self.changed = False  # by the last settle
        self._tie(config.first.particles, config.first.points)
        self._start = self.points

    def memory(self) -> dict[str, Array]:
        ties = {"particles": self._tied, "points": self.points, "start": self._start}
        return {**ties, "serial": self._serial}

    def having(self, memory: Mapping[str, Array]) -> MovingAttachments:
        new = copy.copy(self)
        new._start, new._serial = memory["start"], memory["serial"]
        new._tie(memory["particles"], memory["points"])
        return new

    def _tie(self, tied: np.ndarray, points: Array) -> None:
        """tied (k,): in the numbers of the user, who may ask for others while a run goes on."""
        self._tied = tied
        self.retie(self._rows[tied], points)

    def begin(self, t: float, x: Array, v: Array) -> None:
        self._run = object()
        if self._config.live:
            self._config.count = len(x)
            self.go_on()
        here = x[self.particles]
        self._start = np.where(np.isnan(self.points), here, self.points)
        self.points = self._placed(t)

    def go_on(self) -> None:
        """A live run takes the hand, with the ties that it has."""
        if self._config.live:
            self._config.restart(self._run, Wanted(int(self._serial), self._tied, self.points))

    def settle(self, t: float, h: float, x: Array, v: Array) -> Power:
        self.changed = False
        if self._config.live:
            wanted = self._config.asked(self._run)
            self.changed = bool(wanted.serial != self._serial)
            return self._obey(wanted, x) if self.changed else Power()
        if self._config.motion is None:
            return Power()
        before, points = self.energy(x), self._placed(t + 0.5 * h)
        self.changed = not np.array_equal(points, self.points)
        if self.changed:
            self.points = points
        return Power(added=self.energy(x) - before)

    @property
    def asks(self) -> bool:
        """Whether a user wants something that has not been done."""
        if not self._config.live:
            return False
        return bool(self._config.asked(self._run).serial != self._serial)

    def move(self, t: float) -> None:
        """Puts points that follow a motion where they are at time t."""
        if self._config.motion is not None:
            self.points = self._placed(t)

    def terms(self) -> list[TieTerm]:
        term = TieTerm(self.particles, self._stiffness, self.points)
        motion = self._config.motion
        if motion is not None:
            term = term._replace(motion=motion, start=self._start, at=self._placed)
        return [term]

    def _placed(self, t: float) -> Array:
        motion = self._config.motion
        if motion is None:
            return self._start
        return as_numbers(
            f"{self._config.name} motion", motion.place(t, self._start)[0], self._start.shape
        )

    def _obey(self, wanted: Wanted, x: Array) -> Power:
        """Take over what a user wants; kept ties without a new point stay as they are."""
        before, stored = self.energies(x), dict(zip(self._tied, self.points, strict=True))
        released = float(before[~np.isin(self._tied, wanted.particles)].sum())
        points = wanted.points.copy()
        for row in np.flatnonzero(np.isnan(points[:, 0])):
            particle = wanted.particles[row]
            points[row] = stored.get(particle, x[self._rows[particle]])
        self._tie(wanted.particles, points)
        self._serial = np.array(wanted.serial)
        return Power(added=self.energy(x) - (float(before.sum()) - released), dissipated=released)
