"""What happens between two steps of a body: yielding, filters, friction, things that move."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..contracts import Array, Power, Settled, State

if TYPE_CHECKING:
    from .part import SettlingPart
    from .system import System


def begin(system: System, s: State) -> None:
    """Parts that look at the first state: which particles touch, where attachments start."""
    waiting = [part for _, part in system.assembly.parts if hasattr(part, "begin")]
    if waiting:
        x, v = system.positions(s), system.velocities(s)
        for part in waiting:
            part.begin(s.t, x, v)


def settle(system: System, s: State, h: float) -> Settled:
    """Every part once, in the order they were given; what changes energy is counted."""
    x, v = system.positions(s), system.velocities(s)
    total, released, changed = Power(), 0.0, False
    for part in system.assembly.settling:
        if getattr(part, "moves", False):
            own, stored = _moved(system, part, s.t, h, x, v)
            total, released = total + own, released + stored
        else:
            total += part.settle(s.t, h, x, v)
        changed = changed or getattr(part, "changed", False)
    after = State(s.t, _changed(x, s.x, system.movable), _changed(v, s.v, system.movable))
    if after.x is s.x and after.v is s.v:
        changed = changed or bool(total.added or total.dissipated)
        return Settled(s, total.added, total.dissipated, changed)
    taken = 0.5 * float(system.mass.dot(s.v, s.v) - system.mass.dot(after.v, after.v))
    if all(getattr(part, "passive", False) for part in system.assembly.settling):
        total += Power(dissipated=max(0.0, taken))  # what is negative is rounding
    else:
        total += signed(taken + released)
    return Settled(after, total.added, total.dissipated, True)


def signed(taken: float) -> Power:
    """Energy [J] taken: dissipated where positive, added where it was given."""
    return Power(dissipated=taken) if taken > 0.0 else Power(added=-taken)


def _moved(
    system: System, part: SettlingPart, t: float, h: float, x: Array, v: Array
) -> tuple[Power, float]:
    """What a part that displaces particles reports, and what all potentials release by it [J]."""
    before, old = sum(system.assembly.energies(x).values()), x.copy()
    own = part.settle(t, h, x, v)
    if np.array_equal(old, x):
        return own, 0.0
    # its own store changed from `before` to what it is now, of which it has reported `own`
    now = sum(system.assembly.energies(x).values())
    return own, before - now + own.added - own.dissipated


def _changed(full: Array, old: Array, movable: Array) -> Array:
    """The free coordinates of full (N, 3); the very same array where nothing changed."""
    new = full.ravel()[movable]
    return old if np.array_equal(new, old) else new


def diagnostics(system: System, s: State) -> dict[str, float]:
    """Contact: the deepest penetration [m] and the number of contacts, over all parts."""
    found: dict[str, float] = {}
    watching = [p for _, p in system.assembly.parts if hasattr(p, "diagnostics")]
    if watching:
        x, v = system.positions(s), system.velocities(s)
        for part in watching:
            for name, value in part.diagnostics(x, v).items():
                old = found.get(name, 0.0)
                found[name] = old + value if name == "contacts" else max(old, value)
    return found
