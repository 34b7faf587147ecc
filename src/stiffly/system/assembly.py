"""The prepared parts of a body by kind, and their sums; springs taken as rods: a method keeps their
lengths, and no force of theirs acts."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..contracts import Array, Power, State
from ..errors import InputError
from ..parts.part import MatrixFreeLoad, MatrixFreePart, PreparedLoad, SettlingPart
from ..parts.pattern import BlockPattern
from ..parts.springs import PreparedSprings

if TYPE_CHECKING:
    from .system import System

KINDS = ["assembled", "matrix_free", "loads", "settling", "guards", "global_loads", "changing"]


class Assembly:
    """Potentials (assembled or matrix-free), loads, and parts that act between the steps."""

    def __init__(self, prepared: Sequence[tuple[str, Any]]) -> None:
        self.parts = list(prepared)
        every = [part for _, part in self.parts]
        self.potentials = [(name, p) for name, p in self.parts if hasattr(p, "add_gradient")]
        self.assembled = [p for _, p in self.potentials if hasattr(p, "add_blocks")]
        self.matrix_free: list[MatrixFreePart] = [
            p for _, p in self.potentials if not hasattr(p, "add_blocks")
        ]
        self.loads: list[PreparedLoad] = [p for p in every if isinstance(p, PreparedLoad)]
        self.settling: list[SettlingPart] = [p for p in every if isinstance(p, SettlingPart)]
        self.linear = (
            not self.matrix_free and not self.loads and all(p.linear for p in self.assembled)
        )
        self.pairwise = all(p.pairwise for p in self.assembled)
        self.bounded = all(p.bounded for p in self.assembled)
        self.internal = all(getattr(p, "internal", False) for p in every)
        self.guards = [p for p in every if hasattr(p, "stays_clear")]
        self.global_loads = [p for p in self.loads if isinstance(p, MatrixFreeLoad)]
        # without what says `soft`: it comes and goes, and no matrix is factorised anew for it
        self.stiff = [(n, p) for n, p in self.potentials if not getattr(p, "soft", False)]
        self.changing = [p for _, p in self.stiff if hasattr(p, "layout")]
        self._own = _keyed(self.parts)
        self._kinds = [name for name in KINDS if getattr(self, name)]

    # ------------------------------------------------------------------ what parts remember

    @property
    def remembers(self) -> bool:
        return bool(self._own)

    def memory(self) -> dict[str, Array]:
        """The arrays of all parts: 'elastic/rest', 'elastic 2/rest' of a second one, ..."""
        return {
            f"{key}/{name}": array
            for key, part in self._own.items()
            for name, array in part.memory().items()
        }

    def having(self, memory: Mapping[str, Array]) -> Assembly:
        """The same parts with that memory; these stay as they are."""
        return self._with({id(p): p.having(_share(memory, key, p)) for key, p in self._own.items()})

    def copied(self) -> Assembly:
        """Parts that may change what they remember."""
        return self._with({id(p): p.having(p.memory()) for p in self._own.values()})

    def begun(self, t: float, x: Array, v: Array, memory: Mapping[str, Array]) -> Assembly:
        """Parts at the beginning of a run; those whose arrays are in the memory go on with it."""
        keys = {id(part): key for key, part in self._own.items()}
        new: dict[int, Any] = {}
        for _, part in self.parts:
            key = keys.get(id(part))
            if key is not None and f"{key}/{next(iter(part.memory()))}" in memory:
                new[id(part)] = part.having(_share(memory, key, part))
                if hasattr(part, "go_on"):
                    new[id(part)].go_on()
            elif hasattr(part, "begin"):
                new[id(part)] = copy.copy(part)
                new[id(part)].begin(t, x, v)
        return self._with(new)

    def _with(self, new: Mapping[int, Any]) -> Assembly:
        """Others in the place of some parts, of the same kinds."""
        if not new:
            return self
        changed = copy.copy(self)
        for name in ("parts", "potentials", "stiff"):
            setattr(changed, name, [(n, new.get(id(p), p)) for n, p in getattr(self, name)])
        for name in self._kinds:
            setattr(changed, name, [new.get(id(p), p) for p in getattr(self, name)])
        changed._own = {key: new.get(id(p), p) for key, p in self._own.items()}
        return changed

    # ------------------------------------------------------------------ some of them

    def own(self) -> Assembly:
        """The body's elasticity alone, without parts that say `external`: what it is tied to, what
        it touches.  Those resist the world, not the strain of the body."""
        return self._without("external")

    def lasting(self) -> Assembly:
        """Without parts that say `passing`: what acts only while something touches."""
        return self._without("passing")

    def _without(self, flag: str) -> Assembly:
        kept = [(name, part) for name, part in self.parts if not getattr(part, flag, False)]
        return self if len(kept) == len(self.parts) else Assembly(kept)

    # ------------------------------------------------------------------ sums

    def gradient(self, x: Array) -> Array:
        """dE/dx (N, 3)."""
        out = np.zeros(x.shape)
        for _, part in self.potentials:
            part.add_gradient(x, out)
        return out

    def energies(self, x: Array) -> dict[str, float]:
        parts: dict[str, float] = {}
        for name, part in self.potentials:
            parts[name] = parts.get(name, 0.0) + part.energy(x)
        return parts

    def load_force(self, t: float, x: Array, v: Array) -> Array:
        """(N, 3) [N]."""
        out = np.zeros(x.shape)
        for load in self.loads:
            load.add_force(t, x, v, out)
        return out

    def load_power(self, t: float, x: Array, v: Array) -> Power:
        powers = [load.power(t, x, v) for load in self.loads]
        return Power(sum(p.added for p in powers), sum(p.dissipated for p in powers))

    def blocks(self, x: Array, pattern: BlockPattern) -> tuple[Array, Array]:
        """Tangent blocks (nnz, 3, 3) and `pressed` (N,), see part.PreparedPart."""
        blocks, pressed = np.zeros((pattern.nnz, 3, 3)), np.zeros(len(x))
        for part in self.assembled:
            part.add_blocks(x, blocks, pressed)
        return blocks, pressed

    def in_bars(self, pattern: BlockPattern) -> bool:
        """Whether the tangent is one of bars: each of its own block, and no block without one."""
        if self.matrix_free or not all(hasattr(p, "add_bars") for p in self.assembled):
            return False
        beside = pattern.nnz - (len(pattern.indptr) - 1)
        return sum(part.bars for part in self.assembled) == beside

    def bars(self, x: Array, pattern: BlockPattern) -> tuple[Array, Array, Array]:
        """Bars (nnz, 4), diagonal blocks (n, 6) and `pressed` (N,), see part.Optional.add_bars."""
        bars, own = np.zeros((pattern.nnz, 4)), np.zeros((len(pattern.indptr) - 1, 6))
        pressed = np.zeros(len(x))
        for part in self.assembled:
            part.add_bars(x, bars, own, pressed)
        return bars, own, pressed

    def convex_blocks(self, x: Array, pattern: BlockPattern) -> tuple[Array, bool]:
        """Tangent blocks less their negative stiffness, and whether that went for every part."""
        blocks, pressed, sure = np.zeros((pattern.nnz, 3, 3)), np.zeros(len(x)), True
        for part in self.assembled:
            if hasattr(part, "add_convex_blocks"):
                part.add_convex_blocks(x, blocks)
            else:
                part.add_blocks(x, blocks, pressed)
                sure = sure and part.bounded
        return blocks, sure and not pressed.any() and not self.matrix_free

    def secant_blocks(self, x: Array, pattern: BlockPattern) -> Array:
        """K_sec (nnz, 3, 3) with gradient = K_sec x + constant; springs have one."""
        blocks, ignored = np.zeros((pattern.nnz, 3, 3)), np.zeros(len(x))
        for name, part in self.potentials:
            if hasattr(part, "add_secant"):
                part.add_secant(x, blocks)
            elif getattr(part, "linear", False):
                part.add_blocks(x, blocks, ignored)
            else:
                raise InputError(f"{name} has no secant form: use the tangent (the default)")
        return blocks


def _keyed(parts: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """The parts that remember something, by name; numbered where several have one name."""
    own: dict[str, Any] = {}
    for name, part in parts:
        if hasattr(part, "memory") and part.memory():
            count = 1 + sum(key == name or key.startswith(f"{name} ") for key in own)
            own[name if count == 1 else f"{name} {count}"] = part
    return own


def _share(memory: Mapping[str, Array], key: str, part: Any) -> dict[str, Array]:
    try:
        return {name: memory[f"{key}/{name}"] for name in part.memory()}
    except KeyError as missing:
        raise InputError(
            f"this state does not know {missing.args[0]}, which a part remembers: make states from "
            "others, state.moved(t, x, v)"
        ) from None


# ------------------------------------------------------------------ rods


@dataclass(frozen=True)
class Rods:
    """edges (m, 2) by row, each with a free end; lengths (m,) [m] > 0, as they are now.

    weights (N,): 1/mass [1/kg] by row, zero where a particle is held.
    body: the same body under all other forces.
    """

    body: System
    edges: np.ndarray
    lengths: Array
    weights: Array


def as_rods(system: System, s: State, names: tuple[str, ...] = ()) -> Rods:
    """The springs of these names, all by default, as rods of the lengths that they have in s;
    InputError where that cannot be."""
    chosen = [
        (name, part)
        for name, part in system.at(s).parts
        if isinstance(part, PreparedSprings) and (not names or name in names)
    ]
    missing = [name for name in names if name not in dict(chosen)]
    if missing or not chosen:
        which = f"named {missing[0]}" if missing else "at all"
        raise InputError(f"there are no springs {which}: rods are made of Springs; add some")
    if system.supports:
        raise InputError(
            "supports that move do work through rods, which no ledger sees: hold them with fixed=, "
            "or use energy-momentum"
        )
    mass = system.particle_mass
    if mass is None:
        raise InputError("rods need a lumped mass: give mass=M.sum(axis=1)")
    mass = mass[system.numbering.order]
    edges = np.concatenate([part.edges for _, part in chosen])
    lengths = np.concatenate([part.rest for _, part in chosen])
    if not (lengths > 0.0).all():
        raise InputError("a spring of rest length zero is no rod: give l > 0, or name the others")
    weights = np.divide(1.0, mass, out=np.zeros_like(mass), where=mass > 0.0)
    moves = weights[edges].any(axis=1)
    if not moves.any():
        raise InputError("no spring has a free end: there is no length to keep; hold fewer")
    kept = [
        (name, part)
        for name, part in system.assembly.parts
        if not (name in dict(chosen) and isinstance(part, PreparedSprings))
    ]
    return Rods(system.having(Assembly(kept)), edges[moves], lengths[moves], weights)
