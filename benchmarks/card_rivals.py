"""Equal error on a card: ours against Verlet and RK4 written plainly with CuPy, in one run.

    python benchmarks/card_rivals.py                       # coil-spring, dragon
    python benchmarks/card_rivals.py coil-spring --host    # NumPy and this machine's processor

What a user writes who has springs and a card: arrays of all springs, `scatter_add` for their sums.
A method's time is that of the longest step, of those halved from its stability limit, that ends
within the error: displacements at the end against those of rkn6 with an eighth of Verlet's step.
Each first run is not counted.  NVIDIA Warp and Newton would be other rivals; they have to be there.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from common import table

from stiffly import scenes, simulate
from stiffly.errors import StiffError
from stiffly.parts.terms import FieldTerm, SpringTerm, terms_of

SCENES = ("coil-spring", "dragon")
DURATION = 0.5  # s
ERRORS = (1e-2, 1e-4)
VERLET = 5e-4  # s, a little below the limit of both scenes
HALVINGS = 7
OURS = {"verlet": 1.0, "rk4": 1.4, "rkn6": 1.0, "exprb42": 100.0}  # times Verlet's step, to begin


class Plain:
    """Springs of constant stiffness and a field, by one array operation after another."""

    def __init__(self, xp: Any, scatter_add: Callable[..., None], scene: Any) -> None:
        bound, state = scene.system.bind(scene.x0, scene.v0)
        terms = [term for _, part in bound.at(state).potentials for term in terms_of(part)]
        springs = [term for term in terms if isinstance(term, SpringTerm)]
        if len(springs) + sum(isinstance(t, FieldTerm) for t in terms) != len(terms):
            raise SystemExit(f"{scene.name} has more than springs and a field: no plain rival")
        if bound.supports or any(term.cubic for term in springs):
            raise SystemExit(f"{scene.name} moves its supports, or has cubic springs")
        free = bound.numbering.free
        self.xp, self._add, self.bound, self.state = xp, scatter_add, bound, state
        edges = np.concatenate([term.edges for term in springs]).astype(np.int64)
        self.i, self.j = (xp.asarray(np.ascontiguousarray(end)) for end in edges.T)
        self.k = xp.asarray(np.concatenate([term.stiffness for term in springs]))
        self.rest = xp.asarray(np.concatenate([term.rest for term in springs]))
        inverse = np.zeros((bound.particles, 1))
        inverse[:free] = 1.0 / bound.mass.apply(np.ones(bound.size))[::3, None]
        field = sum(
            (np.asarray(t.acceleration) for t in terms if isinstance(t, FieldTerm)), np.zeros(3)
        )
        self.inverse, self.field = xp.asarray(inverse), xp.asarray((inverse > 0.0) * field)
        self.decay = float(np.max(bound.decay))
        self.x0 = xp.asarray(bound.row_positions(state))
        self.v0 = xp.asarray(bound.row_velocities(state))

    def acceleration(self, x: Any, v: Any) -> Any:
        d = x[self.i] - x[self.j]
        length = self.xp.sqrt((d * d).sum(axis=1))
        pull = (self.k * (1.0 - self.rest / length))[:, None] * d
        force = self.xp.zeros_like(x)
        self._add(force, self.i, -pull)
        self._add(force, self.j, pull)
        return self.inverse * force + self.field - self.decay * v

    def verlet(self, h: float, count: int) -> Any:
        x, v = self.x0.copy(), self.v0.copy()
        a = self.acceleration(x, v)
        for _ in range(count):
            v += 0.5 * h * a
            x += h * v
            a = self.acceleration(x, v + 0.5 * h * a)
            v += 0.5 * h * a
        return x

    def rk4(self, h: float, count: int) -> Any:
        x, v, a = self.x0.copy(), self.v0.copy(), self.acceleration
        for _ in range(count):
            v1, a1 = v, a(x, v)
            v2 = v + 0.5 * h * a1
            a2 = a(x + 0.5 * h * v1, v2)
            v3 = v + 0.5 * h * a2
            a3 = a(x + 0.5 * h * v2, v3)
            v4 = v + h * a3
            a4 = a(x + h * v3, v4)
            x = x + h / 6.0 * (v1 + 2.0 * v2 + 2.0 * v3 + v4)
            v = v + h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
        return x

    def given(self, rows: Any) -> np.ndarray:
        rows = rows.get() if hasattr(rows, "get") else rows
        return self.bound.numbering.given(rows)


def seconds(job: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    found = job()
    return time.perf_counter() - began, found


def arrivals(
    solve: Callable[[float], Any], step: float, judge: Callable[[Any], float]
) -> list[str]:
    """Seconds, and the step, with which each of ERRORS is met."""
    told, wanted = [], list(ERRORS)
    with suppress(StiffError):
        solve(step)  # compiled
    for k in range(HALVINGS):
        h = step / 2**k
        try:
            spent, error = seconds(lambda h=h: judge(solve(h)))
        except StiffError:
            continue
        while wanted and error <= wanted[0]:
            told.append(f"{spent:.3f} ({1e3 * h:.3g} ms)")
            wanted.pop(0)
        if not wanted:
            break
    return told + ["-"] * len(wanted)


def compare(name: str, host: bool, small: bool) -> None:
    if host:
        xp, add, device = np, np.add.at, "cpu"
    else:
        import cupy
        import cupyx

        xp, add, device = cupy, cupyx.scatter_add, "gpu"
    scene = scenes.load(name, small=small)
    step = VERLET
    x0 = np.asarray(scene.x0)

    def ours(method: str) -> Callable[[float], Any]:
        options = {"integrator": method, "duration": DURATION, "every": DURATION, "device": device}
        return lambda h: simulate(scene, step=min(h, DURATION), **options).positions[-1]

    reference = ours("rkn6")(step / 8)
    moved = np.linalg.norm(reference - x0)

    def judge(x: Any) -> float:
        with np.errstate(all="ignore"):
            error = np.linalg.norm(np.asarray(x) - reference) / moved
        return float(error) if np.isfinite(error) else np.inf

    plain = Plain(xp, add, scene)

    def by_hand(method: Callable[[float, int], Any]) -> Callable[[float], Any]:
        return lambda h: plain.given(method(DURATION / round(DURATION / h), round(DURATION / h)))

    rows = [(m, *arrivals(ours(m), factor * step, judge)) for m, factor in OURS.items()]
    with np.errstate(all="ignore"):
        rows += [("plain verlet", *arrivals(by_hand(plain.verlet), step, judge))]
        rows += [("plain rk4", *arrivals(by_hand(plain.rk4), 1.4 * step, judge))]
    print(f"{name}: {x0.size:,} coordinates, {len(plain.k):,} springs, {DURATION} s on {device}")
    print(table(("method", *(f"error {error:g}: s (step)" for error in ERRORS)), rows), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenes", nargs="*", default=SCENES)
    parser.add_argument("--host", action="store_true", help="no card: NumPy, and the CPU")
    parser.add_argument("--small", action="store_true", help="small variants")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in given.scenes:
        compare(name, given.host, given.small)


if __name__ == "__main__":
    main()
