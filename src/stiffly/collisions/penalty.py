"""Contact by stiff repelling forces: a potential, so that every integrator has it.

E = sum k/2 min(d - margin, 0)^2 with its derivatives: `FormulaTouch` is a shape with a formula
(plane, ball, half ball), handled by kernels; `LocalTouch` one that has to be asked where the
particles are (a mesh).  Both are functions of the positions alone while the shape stands still.
`FrozenContact` is the same as real-time simulators have it: springs at what is inside when a step
begins, and at nothing else until the next.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..backends.kernels import take
from ..contracts import Array, Power
from ..errors import InputError
from ..kernels.names import CONVEX, PLANE
from ..parts.checks import as_number, per_element
from ..parts.part import Arranged, Arrays
from ..parts.pattern import BlockPattern
from ..parts.terms import MeshTouchTerm, Term, TouchTerm
from .friction import Rubbed, friction_change, rubbed
from .near import near
from .shapes import (
    KERNELS,
    OfShapes,
    OnShapes,
    RigidShape,
    Shape,
    Surface,
    as_stiffness,
    planes,
    same_place,
)
from .start import bounce, require_resolvable

FORMULA = (
    *("contact_energy", "contact_gradient", "contact_blocks"),
    *("contact_mean_gradient", "contact_mean_blocks"),
)


class Contact(OfShapes):
    """E = sum k/2 min(d - margin, 0)^2 over particles and shapes, d the distance to the surface.

    Dinev, Liu, Kavan 2018, Eq. 38.  shapes: one or a list (Plane, Sphere, Hemisphere, a mesh);
    stiffness k [N/m]: one number, or (N,) for all particles of the System; particles: indices or a
    mask, default all.  margin [m]: where the force begins, e.g. half the thickness of a cloth.
    friction: k_f >= 0, see collisions/friction.py.  Shapes that move stand still during a step;
    what they do to the body is counted as added.
    frozen: contacts are chosen once, before each step, as in the paper (see FrozenContact); for
    shapes that do not move.
    """

    name = "contact"
    arrays = Arrays(particles=("stiffness",), chosen="particles")

    def __init__(
        self,
        shapes: Any,
        stiffness: Any,
        particles: Any = None,
        *,
        margin: float = 0.0,
        friction: float = 0.0,
        frozen: bool = False,
    ) -> None:
        super().__init__(shapes, particles)
        self.stiffness = as_stiffness("contact stiffness", stiffness)
        self.margin = as_number("contact margin", margin, least=0.0)
        self.friction = as_number("friction", friction, least=0.0)
        self.frozen = frozen
        if not isinstance(frozen, bool):
            raise InputError(f"contact frozen = {frozen!r}: give True or False")
        if frozen and self.moving:
            raise InputError(
                "frozen contact needs shapes that stand still: leave frozen or their motion out"
            )

    def prepare(self, particles: Arranged) -> PreparedContact:
        if self.frozen:
            return FrozenContact(self, particles)
        still = not self.friction and not self.moving
        return (PreparedContact if still else SettlingContact)(self, particles)


class PreparedContact(OnShapes):
    """Contact with shapes that stand still, without friction: energy is conserved."""

    linear = False
    bounded = True
    pairwise = True
    external = True  # no elasticity of the body's own: Rayleigh damping leaves it out
    passing = True  # and comes and goes: no share in the linearisation about the rest shape

    def __init__(self, config: Contact, particles: Arranged) -> None:
        self._choose(config, particles)
        every = per_element("contact stiffness", config.stiffness, particles.count)
        self._stiffness = every[particles.order[self._own]]
        require_resolvable(self._stiffness, self._mass)
        touch = (self._own, self._stiffness, config.margin, particles.pattern)
        self._touches = [
            (LocalTouch if shape.local else FormulaTouch)(shape, *touch) for shape in config.shapes
        ]

    _t = 0.0  # shapes stand where they are at that time

    def terms(self) -> list[Term] | None:
        """None where a shape is neither one with a formula nor a mesh."""
        config, found = self._config, list[Term]()
        for shape in config.shapes:
            if not isinstance(shape, RigidShape) or not (shape.has_formula or shape.solid):
                return None
            kind = TouchTerm if shape.has_formula else MeshTouchTerm
            touch = self._own, self._stiffness, config.margin, config.friction
            found.append(kind(*touch, shape, self._t))
        return found

    def energy(self, x: Array) -> float:
        return sum(touch.energy(x) for touch in self._touches)

    def add_gradient(self, x: Array, out: Array) -> None:
        for touch in self._touches:
            touch.add_gradient(x, out)

    def add_blocks(self, x: Array, blocks: Array, pressed: Array) -> None:
        for touch in self._touches:
            touch.add_blocks(x, blocks, pressed)

    def add_convex_blocks(self, x: Array, blocks: Array) -> None:
        """Adds d2E/dx2 without the negative stiffness along surfaces that bulge."""
        ignored = np.zeros(len(x))
        for touch in self._touches:
            touch.add_blocks(x, blocks, ignored, convex=True)

    def add_mean_gradient(self, x0: Array, x1: Array, out: Array) -> None:
        for touch in self._touches:
            touch.add_mean_gradient(x0, x1, out)

    def add_mean_blocks(self, x0: Array, x1: Array, blocks: Array) -> None:
        for touch in self._touches:
            touch.add_mean_blocks(x0, x1, blocks)

    def layout(self, x0: Array, x1: Array, old: Any, begins: bool) -> np.ndarray:
        """(shapes, m): the particles that the local/global matrix takes for touching."""
        return near(lambda x: self._distances(x) - self._config.margin, x0, x1, old, begins)

    def laplacian(self, layout: Any = None) -> tuple[np.ndarray, np.ndarray, Array]:
        """k at particles that are near (see near.py)."""
        count = np.zeros(self._own.size) if layout is None else layout.sum(axis=0)
        rows = np.flatnonzero(count)
        return self._own[rows], self._own[rows], count[rows] * self._stiffness[rows]

    def _distances(self, x: Array) -> Array:
        """(shapes, m) [m]."""
        return np.array([touch.distances(x) for touch in self._touches])

    def advice(self, h: float) -> str | None:
        return bounce(h, self._stiffness, self._mass)

    def diagnostics(self, x: Array, v: Array) -> dict[str, float]:
        """penetration [m] into the shapes themselves; contacts: pairs closer than the margin."""
        d = self._distances(x)
        deepest = float(-d.min(initial=0.0))
        return {"penetration": deepest, "contacts": float(np.sum(d < self._config.margin))}


class SettlingContact(PreparedContact):
    """Contact with friction, or with shapes that move."""

    changed = False  # by the last settle

    def __init__(self, config: Contact, particles: Arranged) -> None:
        super().__init__(config, particles)
        self._frames = [shape.frame(self._t) for shape in config.shapes]

    def settle(self, t: float, h: float, x: Array, v: Array) -> Power:
        total = Power()
        if self._config.friction > 0.0:
            each = [self._rub(touch.touching(x), h, v) for touch in self._touches]
            total = Rubbed(*map(sum, zip(*each, strict=True))).booked()
        self.changed = False
        if not self.drives:
            return total
        before = self.energy(x)
        moved = self.move(t + 0.5 * h)
        after = self.energy(x)
        self.changed = moved and (before > 0.0 or after > 0.0)  # else nothing has felt it
        return total + Power(added=after - before)

    def memory(self) -> dict[str, Array]:
        return {"t": np.array(self._t)} if self.drives else {}

    def having(self, memory: Mapping[str, Array]) -> SettlingContact:
        new = copy.copy(self)
        new.move(float(memory["t"]))
        return new

    def begin(self, t: float, x: Array, v: Array) -> None:
        self.move(t)

    def move(self, t: float) -> bool:
        """Puts shapes that move where they are at time t; whether any has moved."""
        if t == self._t:
            return False
        frames = [shape.frame(t) for shape in self._config.shapes]
        pairs = zip(self._frames, frames, strict=True)
        moved = [not same_place(before, after) for before, after in pairs]
        pairs = zip(self._touches, moved, strict=True)
        self._touches = [touch.placed(t) if move else touch for touch, move in pairs]
        self._t, self._frames = t, frames
        return any(moved)

    def _rub(self, touching: Touching, h: float, v: Array) -> Rubbed:
        rows, s, normals, motion = touching
        if rows.size == 0:
            return Rubbed()
        particles, mass = self._own[rows], self._mass[rows]
        old = v[particles]
        most = self._config.friction * h * (-self._stiffness[rows] * s) / mass
        v[particles] += friction_change(old - motion, normals, most)
        return rubbed(mass, old, v[particles], motion)


class FrozenContact(SettlingContact):
    """Contacts chosen once a step: a spring at every particle that is inside when the step begins,
    to the plane of the nearest point of the surface, pushing outwards only.

    Dinev, Liu, Kavan 2018, Sec. 4.3.  What goes in during a step is not met before the next: its
    spring then comes with energy that nobody has paid for.  Nothing moves, so that is invented, a
    numerical error; stabilised methods, whose target does not know it, take it out again.
    """

    def __init__(self, config: Contact, particles: Arranged) -> None:
        super().__init__(config, particles)
        self._seen = self._touches  # the shapes themselves
        every = (self._own, self._stiffness, config.margin, particles.pattern)
        self._none = [FrozenTouch(shape, *every) for shape in config.shapes]
        self._hold(NOTHING)

    def _hold(self, held: Mapping[str, Array]) -> None:
        """held: shape (k,), row (k,) among those that may touch, plane (k, 7) of each spring."""
        self._held = held
        mine = [held["shape"] == k for k in range(len(self._none))]
        pairs = zip(self._none, mine, strict=True)
        self._touches = [none.holding(held["row"][m], held["plane"][m]) for none, m in pairs]

    def _chosen(self, x: Array) -> Mapping[str, Array]:
        """Springs at what is inside at x; the ones there are, where they are the same."""
        kept = []
        for k, touch in enumerate(self._seen):
            rows, s, n, _ = touch.touching(x)
            points = x[self._own[rows]] - (s + self._config.margin)[:, None] * n
            kept.append((np.full(rows.size, k), rows, planes(points, n).numbers))
        new = dict(zip(NOTHING, map(np.concatenate, zip(*kept, strict=True)), strict=True))
        same = all(np.array_equal(new[key], self._held[key]) for key in NOTHING)
        return self._held if same else new

    def begin(self, t: float, x: Array, v: Array) -> None:
        self._hold(self._chosen(x))

    def settle(self, t: float, h: float, x: Array, v: Array) -> Power:
        total = super().settle(t, h, x, v)  # friction
        before, old = self.energy(x), self._held
        self._hold(self._chosen(x))
        self.changed = self._held is not old
        return total + Power(added=self.energy(x) - before)

    def memory(self) -> dict[str, Array]:
        return dict(self._held)

    def having(self, memory: Mapping[str, Array]) -> FrozenContact:
        new = copy.copy(self)
        new._hold({key: memory[key] for key in NOTHING})
        return new

    def terms(self) -> None:
        return None

    def layout(self, x0: Array, x1: Array, old: Any, begins: bool) -> np.ndarray:
        gaps = np.full((len(self._none), self._own.size), np.inf)
        gaps[self._held["shape"], self._held["row"]] = -1.0
        return near(lambda x: gaps, x0, x1, old, begins)

    def _distances(self, x: Array) -> Array:
        return np.array([touch.distances(x) for touch in self._seen])


NOTHING = {"shape": np.empty(0, np.int64), "row": np.empty(0, np.int64), "plane": np.empty((0, 7))}


# ------------------------------------------------------------------ how particles touch one shape


class Touching(NamedTuple):
    """Particles that touch: rows (k,) of those that may, s = d - margin < 0 (k,) [m], outward
    normals (k, 3), velocities of the shape there (k, 3) [m/s]."""

    rows: np.ndarray
    s: Array
    normals: Array
    motion: Array


class Touch:
    """own (m,): rows of particles that may touch the shape, stiffness (m,) [N/m]."""

    kernels = KERNELS

    def __init__(
        self, shape: Shape, own: np.ndarray, stiffness: Array, margin: float, pattern: BlockPattern
    ) -> None:
        self._shape, self._own, self._stiffness, self._margin = shape, own, stiffness, margin
        self._index, self._pattern = own.astype(np.uint32), pattern
        self._kernels = take(pattern.backend, "Contact", *self.kernels)
        self._place(0.0)

    def placed(self, t: float) -> Any:
        """The same with the shape as it stands at time t [s]."""
        new = copy.copy(self)
        new._place(t)
        return new

    def _place(self, t: float) -> None:
        raise NotImplementedError  # each kind has its own


class FormulaTouch(Touch):
    """See kernels contact."""

    kernels = (*FORMULA, *KERNELS)

    def _place(self, t: float) -> None:
        self._surface: Surface = self._shape.surface(t, np.empty((0, 3))).on(self._kernels)

    @property
    def _terms(self) -> tuple[Any, int, Array, Array, float]:
        which = (self._index, self._surface.kind, self._surface.numbers)
        return (*which, self._stiffness, self._margin)

    def energy(self, x: Array) -> float:
        return self._kernels.contact_energy(x, *self._terms)

    def add_gradient(self, x: Array, out: Array) -> None:
        self._kernels.contact_gradient(x, *self._terms, out)

    def add_blocks(self, x: Array, blocks: Array, pressed: Array, convex: bool = False) -> None:
        form = (CONVEX,) if convex else ()
        slots = self._pattern.diagonal
        self._kernels.contact_blocks(x, *self._terms, slots, blocks, pressed, *form)

    def add_mean_gradient(self, x0: Array, x1: Array, out: Array) -> None:
        self._kernels.contact_mean_gradient(x0, x1, *self._terms, out)

    def add_mean_blocks(self, x0: Array, x1: Array, blocks: Array) -> None:
        self._kernels.contact_mean_blocks(x0, x1, *self._terms, self._pattern.diagonal, blocks)

    def distances(self, x: Array) -> Array:
        """d (m,) [m] of all that may touch."""
        return self._surface.distances(x.take(self._own, axis=0))

    def touching(self, x: Array) -> Touching:
        own = x.take(self._own, axis=0)
        s = self._surface.distances(own) - self._margin
        rows = np.flatnonzero(s < 0.0)
        motion = self._surface.velocities(own, rows)
        return Touching(rows, s[rows], self._surface.normals(own, rows), motion)


class FrozenTouch(FormulaTouch):
    """Some of the particles, each with a plane of its own."""

    def _place(self, t: float) -> None:
        self._rows = np.arange(self._own.size)

    def holding(self, rows: np.ndarray, numbers: Array) -> FrozenTouch:
        """rows (k,) of those that may touch, their planes (k, 7)."""
        new = copy.copy(self)
        new._rows, new._own, new._index = rows, self._own[rows], self._index[rows]
        new._stiffness = self._stiffness[rows]
        new._surface = Surface(PLANE, numbers).on(self._kernels)
        return new

    def touching(self, x: Array) -> Touching:
        rows, *rest = super().touching(x)
        return Touching(self._rows[rows], *rest)


class LocalTouch(Touch):
    """The same for a shape that knows its distance near given points only.

    Particles are asked about again only where they have moved far enough to touch.  The discrete
    gradient is q (n0 + n1)/2 with q = (E1 - E0)/(d1 - d0), corrected along the way so that
    g.(x1 - x0) = E1 - E0 (Gonzalez 1996), whichever triangles are closest at the two ends.  The
    tangent is k n n^T: the curvature at edges and corners is left out.
    """

    def _place(self, t: float) -> None:
        self._t = t
        self._asked = np.full((self._own.size, 3), np.inf)  # where particles were asked about
        self._least = np.full(self._own.size, -np.inf)  # d there, at least [m]
        self._last: list[tuple[Array, Touching]] = []

    def _exact(self, own: Array) -> Surface:
        return self._shape.surface(self._t, own, np.inf).on(self._kernels)

    def distances(self, x: Array) -> Array:
        """d (m,) [m], infinite where nothing is near."""
        d = np.full(self._own.size, np.inf)
        touching = self.touching(x)
        d[touching.rows] = touching.s + self._margin
        return d

    def touching(self, x: Array) -> Touching:
        own = x[self._own]
        for where, found in self._last:  # both ends of a step are asked about again and again
            if np.array_equal(where, own):
                return found
        found = self._look(own)
        self._last = [*self._last[-1:], (own, found)]
        return found

    def _look(self, own: Array) -> Touching:
        with np.errstate(invalid="ignore"):
            way = np.linalg.norm(own - self._asked, axis=1)
            unknown = np.flatnonzero(~(self._least - way >= self._margin))
        ahead = self._margin + 4.0 * float(np.max(way[np.isfinite(way)], initial=0.0))
        surface = self._shape.surface(self._t, own[unknown], ahead).on(self._kernels)
        d = surface.distances(own[unknown])
        self._asked[unknown], self._least[unknown] = own[unknown], np.minimum(d, ahead)
        inside = np.flatnonzero(d < self._margin)
        n = surface.normals(own[unknown], inside)
        motion = surface.velocities(own[unknown], inside)
        return Touching(unknown[inside], d[inside] - self._margin, n, motion)

    def energy(self, x: Array) -> float:
        rows, s, _, _ = self.touching(x)
        return 0.5 * float(np.sum(self._stiffness[rows] * s * s))

    def add_gradient(self, x: Array, out: Array) -> None:
        rows, s, n, _ = self.touching(x)
        out[self._own[rows]] += (self._stiffness[rows] * s)[:, None] * n

    def add_blocks(self, x: Array, blocks: Array, pressed: Array, convex: bool = False) -> None:
        rows, _, n, _ = self.touching(x)
        self._store(rows, self._stiffness[rows, None, None] * n[:, :, None] * n[:, None], blocks)

    def _store(self, rows: np.ndarray, values: Array, blocks: Array) -> None:
        blocks[self._pattern.diagonal[self._own[rows]]] += values  # all of them are free particles

    def _mean(self, x0: Array, x1: Array) -> tuple[np.ndarray, Array, Array, Array, Array]:
        """rows (k,) that touch at one end, q (k,), its derivative by d1 (k,), the mean normal, and
        the normal at x1 (k, 3)."""
        last = self.touching(x1).rows
        rows = np.union1d(self.touching(x0).rows, last)
        own, every = self._own[rows], np.arange(rows.size)
        ends = []
        for x in (x0[own], x1[own]):
            surface = self._exact(x)
            ends.append((surface.distances(x), surface.normals(x, every)))
        (d0, n0), (d1, n1) = ends
        q, rate = quotient(d0 - self._margin, d1 - self._margin, self._stiffness[rows])
        m, way = 0.5 * (n0 + n1), x1[own] - x0[own]
        square = np.einsum("ka,ka->k", way, way)
        gap = d1 - d0 - np.einsum("ka,ka->k", m, way)
        m += np.where(square > 0.0, gap / np.where(square > 0.0, square, 1.0), 0.0)[:, None] * way
        return rows, q, rate, m, n1

    def add_mean_gradient(self, x0: Array, x1: Array, out: Array) -> None:
        rows, q, _, m, _ = self._mean(x0, x1)
        out[self._own[rows]] += q[:, None] * m

    def add_mean_blocks(self, x0: Array, x1: Array, blocks: Array) -> None:
        rows, _, rate, m, n1 = self._mean(x0, x1)
        self._store(rows, rate[:, None, None] * m[:, :, None] * n1[:, None], blocks)


def quotient(s0: Array, s1: Array, k: Array) -> tuple[Array, Array]:
    """[phi(s1) - phi(s0)] / (s1 - s0) (m,) and its derivative by s1, phi = k/2 min(s, 0)^2.

    With p = min(s, 0) the quotient is k/2 (p0 + p1) r, where r, the part of the way that is
    pressed, is (p1 - p0) / (s1 - s0), or 1 where both are pressed.
    """
    p0, p1 = np.minimum(s0, 0.0), np.minimum(s1, 0.0)
    one_sided = (s0 < 0.0) != (s1 < 0.0)
    way = np.where(one_sided, s1 - s0, 1.0)  # not zero: the signs differ
    share = np.where(one_sided, (p1 - p0) / way, np.where(s0 < 0.0, 1.0, 0.0))
    q = 0.5 * k * (p0 + p1) * share
    return q, np.where(one_sided, (k * p1 - q) / way, 0.5 * k * share)
