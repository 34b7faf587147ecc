"""What happens between two steps of a body: yielding, filters, friction, things that move."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..contracts import Array, Power, Settled, State

if TYPE_CHECKING:
    from .assembly import Assembly
    from .system import System


class Moved(NamedTuple):
    """Energies [J] of one settling, as in contracts.Settled."""

    added: float = 0.0
    dissipated: float = 0.0
    invented: float = 0.0


def settle(system: System, s: State, h: float) -> Settled:
    """Every part once, in the order they were given; what changes energy is counted."""
    x, v = system.own_positions(s), system.row_velocities(s)  # parts may change both
    parts, total, changed = system.at(s).copied(), Moved(), False
    for part in parts.settling:
        own = _booked(_drives(system, part), _settle(system, parts, part, s.t, h, x, v))
        total = Moved(*map(sum, zip(total, own, strict=True)))
        changed = changed or getattr(part, "changed", False)
    moving = any(getattr(part, "moves", False) for part in parts.settling)
    new_x, new_v = _changed(x, s.x) if moving else s.x, _changed(v, s.v)
    changed = changed or any(total) or new_x is not s.x or new_v is not s.v
    after = State(s.t, new_x, new_v, _renewed(s.parts, parts.memory()))
    if after.parts is not s.parts:
        system.know(after, parts)
    return Settled(after, total.added, total.dissipated, changed, total.invented)


def obey(system: System, s: State) -> Settled | None:
    """What a user wants of parts that obey, done at once; None where he wants nothing.

    Loops that take many steps do not look at orders: these are carried out before."""
    if not any(hasattr(part, "asks") for part in system.assembly.settling):
        return None  # nor is what parts remember looked at, which may have to come from a card
    if not any(getattr(part, "asks", False) for part in system.at(s).settling):
        return None
    x, v = system.row_positions(s), system.row_velocities(s)
    parts, total = system.at(s).copied(), Moved()
    for part in parts.settling:
        if getattr(part, "asks", False):
            own = _booked(True, part.settle(s.t, 0.0, x, v))
            total = Moved(*map(sum, zip(total, own, strict=True)))
    after = State(s.t, s.x, s.v, parts.memory())
    system.know(after, parts)
    return Settled(after, total.added, total.dissipated, True)


def _renewed(old: Mapping[str, Array], new: Mapping[str, Array]) -> Mapping[str, Array]:
    """The very same mapping where no array is another: whoever has looked at it need not again."""
    same = len(old) == len(new) and all(old.get(key) is array for key, array in new.items())
    return old if same else new


def _drives(system: System, part: Any) -> bool:
    """Whether the part can do work: it moves something, or rubs what a support leads."""
    rubs = getattr(part, "between", False) and bool(system.supports)
    return rubs or getattr(part, "drives", False)


def _settle(
    system: System, parts: Assembly, part: Any, t: float, h: float, x: Array, v: Array
) -> Power:
    """What a part added and took, its own store, kinetic energy and all potentials included."""
    old, moves = v.copy(), getattr(part, "moves", False)
    before, place = (_stored(parts, x), x.copy()) if moves else (0.0, x)
    own = part.settle(t, h, x, v)
    taken = _kinetic(system, old) - _kinetic(system, v) if not np.array_equal(old, v) else 0.0
    if moves and not np.array_equal(place, x):
        # its own store changed from `before` to what it is now, of which it has reported `own`
        taken += before - _stored(parts, x) + own.added - own.dissipated
    return own + signed(taken)


def _booked(drives: bool, moved: Power) -> Moved:
    """Nothing is added by what stands still: what comes out all the same is invented.  Nothing
    takes less than nothing: what a driven part seems to, as when a tie whose points have moved on
    gives back more than it stored, is work."""
    if drives:
        work = max(0.0, -moved.dissipated)
        return Moved(moved.added + work, moved.dissipated + work)
    taken = moved.dissipated - moved.added
    return Moved(dissipated=taken) if taken >= 0.0 else Moved(invented=-taken)


def _stored(parts: Assembly, x: Array) -> float:
    return float(sum(parts.energies(x).values()))


def _kinetic(system: System, v: Array) -> float:
    free = v.ravel()[: system.size]
    return 0.5 * float(system.mass.dot(free, free))


def signed(taken: float) -> Power:
    """Energy [J] taken: dissipated where positive, added where it was given."""
    return Power(dissipated=taken) if taken > 0.0 else Power(added=-taken)


def _changed(full: Array, old: Array) -> Array:
    """The free coordinates of full (N, 3); the very same array where nothing changed."""
    new = full.ravel()[: old.size]
    return old if np.array_equal(new, old) else new.copy()


def diagnostics(system: System, s: State) -> dict[str, float]:
    """Contact: the deepest penetration [m] and the number of contacts, over all parts."""
    found: dict[str, float] = {}
    watching = [p for _, p in system.at(s).parts if hasattr(p, "diagnostics")]
    if watching:
        x, v = system.row_positions(s), system.row_velocities(s)
        for part in watching:
            for name, value in part.diagnostics(x, v).items():
                old = found.get(name, 0.0)
                found[name] = old + value if name == "contacts" else max(old, value)
    return found
