"""Explicit steps of full-size scenes on a card, in variants: microseconds a step.

    python benchmarks/card_variants.py                    # within about two and a half minutes
    python benchmarks/card_variants.py hair brush --limit 60

Scenes are built beside each other, without a card, and what a card would be given for its steps is
kept; so nothing of the host is timed.  A step's time is what twice as many steps take longer, from
a state that lies there.  First all scenes as they are laid out, in both precisions, then variants
of how, for as long as LIMIT allows.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from common import table

from stiffly import scenes
from stiffly.backends import gpu as door
from stiffly.integrators.explicit import Verlet
from stiffly.kernels.cuda import layout
from stiffly.kernels.cuda.stretch import Steps

LIMIT = 140.0  # seconds of all
REPEATS = 3
# scene: steps to take, and their size where that of the scene is too long for verlet [s]
SCENES = {
    "hair": (60, None),
    "brush": (1000, 1e-6),
    "dragon": (400, None),
    "crash": (400, None),
    "coil-spring": (2000, None),
    "bunny": (1000, None),
    "twisting-beam": (1000, 8e-6),
}


class Variant(NamedTuple):
    """What differs: constants of kernels/cuda/layout.py, definitions of common.cu."""

    words: str
    mixed: bool = False
    constants: tuple[tuple[str, Any], ...] = ()
    defined: str = ""


def lanes(count: int, **more: Any) -> Variant:
    every = ((10**9, count),)
    return Variant(
        f"{count} a row", constants=(("LANES_OF_STEPS", every), ("LANES_IN_BLOCKS", every)), **more
    )


def threads(least: int, resident: int = 0) -> Variant:
    words = f"blocks of {least}" + (f", {resident} at once" if resident else "")
    defined = f"#define RESIDENT {resident}\n" if resident else ""
    return Variant(words, constants=(("THREADS", (least, 1024)), ("FEW", 0)), defined=defined)


AS_IT_IS = Variant("as it is"), Variant("as it is, mixed", mixed=True)
APART = Variant("no blocks", constants=(("THREADS", (32, 0)),))
NO_PALETTE = Variant("no palette", constants=(("PALETTE", 1),))
OTHERS = {
    "hair": (threads(128, 5), threads(256), threads(64, 8), threads(128, 6), APART),
    "brush": (lanes(1), lanes(4), threads(64), threads(128), APART),
    "dragon": (lanes(1), lanes(4), NO_PALETTE),
    "crash": (lanes(1), lanes(4), NO_PALETTE),
    "coil-spring": (lanes(4), lanes(16), NO_PALETTE),
    "bunny": (lanes(4), lanes(16)),
    "twisting-beam": (APART,),
}


# ------------------------------------------------------------------ what a card is given


class Caught(Exception):
    """args: what the kernel was asked for."""


class Asked:
    """In place of the kernel `explicit_steps`."""

    def lacks(self, body: Any) -> str:
        return ""

    def knows(self, material: Any) -> bool:
        return True

    def holds(self, kept: Any) -> bool:
        return False

    def __call__(self, *given: Any) -> Any:
        raise Caught(given)


class NoCard(door.GpuBackend):
    """Systems are laid out as for a card."""

    def __init__(self) -> None:
        super().__init__(None)
        self.kernels.explicit_steps = Asked()  # type: ignore[assignment]


def given_of(name: str) -> tuple[Any, ...]:
    """Body, tables, kicks, drifts, step, count, x, v, a of a scene; count: for two stretches."""
    warnings.simplefilter("ignore")
    count, step = SCENES[name]
    scene = scenes.load(name)
    bound, state = scene.system.on(NoCard()).bind(scene.x0, scene.v0)
    h = step or scene.step
    ends = state.t + h * np.arange(1, 2 * count + 1)
    try:
        bound.stretcher.steps(Verlet.splitting, state, np.zeros(bound.size), h, ends)
    except Caught as asked:
        return asked.args[0][:-2]
    raise AssertionError(name)


# ------------------------------------------------------------------ on the card


@contextmanager
def changed(variant: Variant, card: Any) -> Iterator[None]:
    kept = {name: getattr(layout, name) for name, _ in variant.constants}
    source = door.source
    for name, value in variant.constants:
        setattr(layout, name, value)
    if variant.defined:
        card._loaded.clear()
        door.source = lambda texts: variant.defined + source(texts)
    try:
        yield
    finally:
        for name, value in kept.items():
            setattr(layout, name, value)
        if variant.defined:
            card._loaded.clear()
            door.source = source


def microseconds(
    card: Any, given: tuple[Any, ...], held: layout.Held, variant: Variant
) -> tuple[float, str]:
    """Of a step, and how the body lies; held: what lies there of it, laid out as before."""
    body, tables, kicks, drifts, h, count, *state = given
    few = count // 2
    with changed(variant, card):
        steps = Steps(card, variant.mixed)
        if variant is not NO_PALETTE:
            steps._held = held
            for key in [key for key in held._known if key[1].startswith("blocks")]:
                del held._known[key]

        def take(many: int, *state: Any) -> float:
            began = time.perf_counter()
            steps(body, tables, kicks, drifts, h, many, *state, None, None)
            return time.perf_counter() - began

        take(few, *state)
        spent = []
        for _ in range(REPEATS):
            once, twice = (take(n, steps.keep(), None, None) for n in (few, 2 * few))
            spent.append((twice - once) / few)
        own = steps._last
        assert own is not None
        blocks, x = own._blocks, steps.keep().x
        lies = f"{blocks.threads} threads, {blocks.room / 1024:.0f} kB" if blocks.threads else "-"
        lies = f"{own._lanes} a row; {lies}" + ("" if np.isfinite(x).all() else "; NOT FINITE")
    return 1e6 * median(spent), lies


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("scenes", nargs="*", default=tuple(SCENES))
    parser.add_argument("--limit", type=float, default=LIMIT, metavar="S", help="seconds of all")
    asked, began = parser.parse_args(), time.perf_counter()
    with get_context("fork").Pool(len(asked.scenes)) as pool:  # before there is a card
        given = dict(zip(asked.scenes, pool.map(given_of, asked.scenes, chunksize=1), strict=True))
    print(f"card: {door.cards()[0]}; built in {time.perf_counter() - began:.0f} s", flush=True)
    card, rows, left = door.gpu()._card, [], 0
    held = {name: layout.Held() for name in given}
    jobs = [(name, variant) for variant in AS_IT_IS for name in given]
    for turn in range(max(map(len, OTHERS.values()))):
        jobs += [(name, OTHERS[name][turn]) for name in given if turn < len(OTHERS[name])]
    for name, variant in jobs:
        if time.perf_counter() - began > asked.limit:
            left += 1
            continue
        try:
            spent, lies = microseconds(card, given[name], held[name], variant)
        except Exception as failure:  # the next variant may go
            spent, lies = np.nan, str(failure)[:90]
        rows.append((name, variant.words, f"{spent:.1f}", lies))
        print(*rows[-1], f"({time.perf_counter() - began:.0f} s)", sep="; ", flush=True)
    order = list(given)
    rows.sort(key=lambda row: order.index(row[0]))
    print(table(("scene", "variant", "us a step", "threads"), rows), flush=True)
    print(f"{left} variants left out; {time.perf_counter() - began:.0f} s in all", flush=True)


if __name__ == "__main__":
    main()
