"""Atoms, and parts that the host computes beside a card: microseconds a step of Verlet.

    python benchmarks/card_atoms.py                # molecules, a coil and a bunny with guests
    python benchmarks/card_atoms.py --card-only    # without the same steps on this machine

A step's time is what a stretch of twice as many steps takes longer; on the host steps go one by
one.  A guest is a potential in NumPy that pulls every particle to a point.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from common import table

from stiffly import System, scenes
from stiffly.backends.gpu import cards, gpu
from stiffly.bodies import Potential
from stiffly.integrators.auto import stiffest
from stiffly.integrators.explicit import Verlet
from stiffly.parts.molecules import helix_molecule, molecule_parts
from stiffly.recording.notes import StepLog
from stiffly.run.ledger import Balance
from stiffly.run.stepper import Stepper

MOLECULES = ((1732, None), (1732, 10.0), (20_000, None), (20_000, 10.0), (200_000, 10.0))
GUESTS = "coil-spring", "bunny"
HEAD = ("body", "particles", "us a step", "host", "host / card")
STEPS, HOST_STEPS = 400, 6


def molecule(atoms: int, cutoff: float | None) -> tuple[System, Any]:
    found = helix_molecule(atoms, max(7, atoms // 250))
    parts = molecule_parts(found, cutoff=cutoff)
    return System(found.mass, parts, rest=found.positions), found.positions


def with_guest(name: str) -> tuple[System, Any]:
    scene = scenes.load(name)
    given = scene.system.given
    centre = scene.x0.mean(axis=0)
    guest = Potential(
        lambda x: 0.5 * float(np.sum((x - centre) ** 2)), lambda x: x - centre, couples=()
    )
    fixed = scene.system.fixed
    return System(given.mass, [*given.parts, guest], fixed=fixed, rest=given.rest), scene.x0


def on_card(system: System, x0: Any, h: float) -> float:
    bound, state = system.on(gpu()).bind(x0)
    stepper = Stepper(bound, Verlet(), "", state, Balance(bound), StepLog())
    spent, t = [], 0.0
    for count in (STEPS, STEPS, 2 * STEPS):
        began = time.perf_counter()
        stepper.take_all(h, t + h * np.arange(1, count + 1))
        spent.append(time.perf_counter() - began)
        t = stepper.state.t
    return (spent[2] - spent[1]) / STEPS


def on_host(system: System, x0: Any, h: float) -> float:
    bound, state = system.bind(x0)
    stepper = Stepper(bound, Verlet(), "", state, Balance(bound), StepLog())
    stepper.take(h, h)
    began = time.perf_counter()
    for k in range(HOST_STEPS):
        stepper.take(h, (k + 2) * h)
    return (time.perf_counter() - began) / HOST_STEPS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--card-only", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"card: {cards()[0]}")
    bodies = [(f"molecule, cutoff {cutoff}", molecule(n, cutoff)) for n, cutoff in MOLECULES]
    bodies += [(f"{name} with a guest", with_guest(name)) for name in GUESTS]
    rows = []
    for name, (system, x0) in bodies:
        h = 0.25 * stiffest(*system.bind(x0)).limit
        card = 1e6 * on_card(system, x0, h)
        host = 1e6 * on_host(system, x0, h) if not given.card_only else np.nan
        rows.append((name, f"{len(x0):,}", f"{card:.1f}", f"{host:.0f}", f"{host / card:.1f}"))
        print(*rows[-1], sep=" | ", flush=True)
    print(table(HEAD, rows))


if __name__ == "__main__":
    main()
