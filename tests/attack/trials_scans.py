"""Bodies of tetrahedra, dropped and thrown: does a real-time mode ever exceed the energy allowed?

    python tests/attack/trials_scans.py                                # generated creatures
    python tests/attack/trials_scans.py --meshes FOLDER --processes 2  # the scans in it
    python tests/attack/trials_scans.py --case 123                     # one case again

Five bodies of about 2,000 tets, 1 m long, 100 kg/m^3, Poisson's ratio 0.3; three materials; E from
5e3 to 5e6 Pa; steps from 1/240 to 1/30 s; let fall from 0.5 m, or thrown at 4.5 m/s with a spin of
5 rad/s, onto a plane with friction 0.3; `realtime` and `realtime-midpoint`: 960 cases.

Energy, undamped, 1 s.  After every step: the energy must not exceed 1.05 times what is allowed, the
energy at the start less what friction has taken (nothing is added), both counted from the floor:
nothing can fall below it.  The yardstick is computed here, from masses and heights, not by the
method.

Shape, for E >= 5e4 Pa.  The body is then caught (velocities zero), lifted off the floor and left to
itself, weightless, its non-rigid velocities damped at 8/s, for 1.5 s.  It has recovered its shape
if, of the rest shape turned and moved to fit best, the RMS deviation is at most 1 % and the largest
at most 5 % of the diagonal, and no tet is inside out.  To St. Venant-Kirchhoff a mirrored tet is at
rest: a body of it whose tets stay inside out when backward Euler brings it to rest is in another
minimum of its own energy, which no integrator leaves, and is counted as such ("mirrored").
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from trials import Outcome, run

from stiffly import meshes
from stiffly.bodies import Gravity, MomentumDamping, System, Tetrahedra, lumped_mass
from stiffly.collisions import Contact, Plane
from stiffly.errors import SimulationFailure
from stiffly.integrators import integrator
from stiffly.recording.notes import StepLog
from stiffly.run.ledger import Balance
from stiffly.run.stepper import Stepper, quiet

FOLDER = "STIFFLY_SCANS"  # how processes learn where the scans are
SCANS = ("stanford-bunny.obj", "dragon_res3.ply", "spot.obj", "cow.obj", "homer.obj")
CREATURES = ("rabbit", "dragon", "hippo", "dog", "biped")
MATERIALS = ("corotated", "stvk", "neo-hookean")
YOUNG = (5e3, 5e4, 5e5, 5e6)
STEPS = (1 / 240, 1 / 120, 1 / 60, 1 / 30)
STARTS = ("dropped", "thrown")
METHODS = ("realtime", "realtime-midpoint")
CASES = list(itertools.product(range(5), MATERIALS, YOUNG, STEPS, STARTS, METHODS))
VERTICES = 650  # about 2,000 tets, of what a scan gives
CREATURE = 700  # 2,200 to 2,600
DENSITY, GRAVITY, FRICTION = 100.0, 9.81, 0.3
FLIGHT, REST, RATE = 1.0, 1.5, 8.0
ALLOWED = 1.05
RMS, LARGEST = 0.01, 0.05
SECONDS = 120.0  # of one case


class Body(NamedTuple):
    """rest (N, 3), standing on z = 0, tets (m, 4), mass (N,)."""

    rest: np.ndarray
    tets: np.ndarray
    mass: np.ndarray


class Flight(NamedTuple):
    """worst: energy over what is allowed; peak: largest elastic energy [J]; notes: per step."""

    stepper: Stepper
    system: Any
    worst: float
    peak: float
    notes: dict[str, np.ndarray]


@cache
def body(number: int, folder: str | None) -> Body:
    if folder is None:
        mesh = meshes.creature(CREATURE, shape=CREATURES[number])
    else:
        surface = meshes.read_mesh(Path(folder) / SCANS[number], repair=True)
        mesh = meshes.tetrahedralise(surface, VERTICES, name=SCANS[number], close_holes=True)
    x = mesh.positions - mesh.positions.min(axis=0)
    x /= np.ptp(x, axis=0).max()
    return Body(x, mesh.tets, lumped_mass(x, mesh.tets, DENSITY))


def started(of: Body, start: str) -> tuple[np.ndarray, np.ndarray]:
    if start == "dropped":
        return of.rest + np.array([0.0, 0.0, 0.5]), np.zeros_like(of.rest)
    x = of.rest + np.array([0.0, 0.0, 0.3])
    centre = of.mass @ x / of.mass.sum()
    return x, np.cross([3.0, 4.0, 0.0], x - centre) + np.array([4.0, 0.0, -2.0])


def fly(
    of: Body, parts: list[Any], x: Any, v: Any, method: str, h: float, seconds: float
) -> Flight:
    system, state = System(of.mass, parts, rest=of.rest).bind(x, v)
    stepper = Stepper(system, integrator(method), method, state, Balance(system), StepLog())
    stepper.book()
    begin = _energy(of, system, state)
    worst = peak = 0.0
    for k in range(round(seconds / h)):
        stepper.take(h, (k + 1) * h)
        now, elastic = _energy(of, system, stepper.state), system.energy(stepper.state)["elastic"]
        allowed = begin - stepper.ledger.dissipated_now
        worst = max(worst, now / allowed if np.isfinite(now) else np.inf)
        peak = max(peak, elastic)
    return Flight(stepper, system, worst, peak, stepper.log.arrays())


def _energy(of: Body, system: Any, state: Any) -> float:
    """Counted from the floor; contact and elasticity as the system has them."""
    parts = system.energy(state)
    x, v = system.positions(state), system.velocities(state)
    kinetic = 0.5 * float(of.mass @ (v * v).sum(axis=1))
    height = GRAVITY * float(of.mass @ x[:, 2]) if "gravity" in parts else 0.0
    return kinetic + height + parts["elastic"] + parts.get("contact", 0.0)


def deviations(x: np.ndarray, of: Body) -> tuple[float, float]:
    """RMS and largest distance from the rest shape moved to fit best, over its diagonal."""
    m = of.mass / of.mass.sum()
    a, b = x - m @ x, of.rest - m @ of.rest
    u, _, vt = np.linalg.svd((a * m[:, None]).T @ b)
    u[:, 2] *= np.linalg.det(u @ vt)
    off = np.linalg.norm(a - b @ (u @ vt).T, axis=1) / np.linalg.norm(np.ptp(of.rest, axis=0))
    return float(np.sqrt(m @ off**2)), float(off.max())


def inside_out(x: np.ndarray, of: Body) -> int:
    return int(np.sum(np.linalg.det(x[of.tets[:, 1:]] - x[of.tets[:, :1]]) <= 0.0))


def stays_mirrored(of: Body, solid: Tetrahedra, x: np.ndarray) -> bool:
    """Half a second of backward Euler, from rest: it eats all motion."""
    with quiet():
        end = fly(of, [solid], x, 0.0 * x, "projective", 1 / 60, 0.5)
    return inside_out(end.system.positions(end.stepper.state), of) > 0


def trial(case: int) -> Outcome:
    """story: worst energy ratio, RMS and largest deviation, elastic share, tets inside out."""
    number, material, young, h, start, method = CASES[case]
    of = body(number, os.environ.get(FOLDER))
    solid = Tetrahedra(of.tets, young, 0.3, material)
    floor = Contact(Plane([0, 0, 0], [0, 0, 1]), 2e5 * of.mass.mean(), friction=FRICTION)
    with quiet():
        try:
            first = fly(of, [solid, Gravity(), floor], *started(of, start), method, h, FLIGHT)
            x = first.system.positions(first.stepper.state)
            then = fly(of, [solid, MomentumDamping(RATE)], x, 0.0 * x, method, h, REST)
        except SimulationFailure as failure:
            return Outcome("stops", True, str(failure))
    worst = max(first.worst, then.worst)
    end = then.system.positions(then.stepper.state)
    rms, largest = deviations(end, of)
    left = then.system.energy(then.stepper.state)["elastic"] / first.peak
    mirrored = inside_out(end, of)
    cut = float(np.nanmean(np.nan_to_num(first.notes.get("limited", np.zeros(1)))))
    story = (
        f"{' '.join(map(str, CASES[case][1:]))} body {number}: energy {worst:.4f}, rms {rms:.2%}, "
        f"largest {largest:.2%}, elastic {left:.2%}, inside out {mirrored}, cut {cut:.1%}"
    )
    if not worst <= ALLOWED:
        return Outcome("above the energy allowed", True, story)
    if young < 5e4:
        return Outcome("within the energy allowed", False, story)
    if rms <= RMS and largest <= LARGEST and not mirrored:
        return Outcome("within the energy allowed, shape recovered", False, story)
    if material == "stvk" and mirrored and stays_mirrored(of, solid, end):
        return Outcome("within the energy allowed, at rest mirrored", False, story)
    return Outcome("shape not recovered", True, story)


def table(found: dict[int, Outcome]) -> str:
    """Rows: material, E, step; of each the cases run, and those that broke a promise, named."""
    rows: dict[tuple[Any, ...], list[tuple[int, Outcome]]] = defaultdict(list)
    for case, outcome in sorted(found.items()):
        rows[CASES[case][1:4]].append((case, outcome))
    lines = ["material      E [Pa]   step  cases  energy  shape  mirrored  worst energy / allowed"]
    for (material, young, h), outcomes in rows.items():
        stories = [o.story for _, o in outcomes if "energy " in o.story]
        worst = max((float(s.split("energy ")[1].split(",")[0]) for s in stories), default=np.nan)
        above = sum(o.broken and "shape" not in o.verdict for _, o in outcomes)
        lost = sum("shape not" in o.verdict for _, o in outcomes)
        other = sum("mirrored" in o.verdict for _, o in outcomes)
        shape = "-" if young < 5e4 else str(len(outcomes) - above - lost - other)
        lines.append(f"{material:12} {young:7.0e}  1/{round(1 / h):<4} {len(outcomes):4} "
                     f"{len(outcomes) - above:7} {shape:>6} {other:9}  {worst:.4f}")  # fmt: skip
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--meshes", help="folder with " + ", ".join(SCANS))
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--every", type=int, default=1, help="of the cases only every so many")
    parser.add_argument("--first", type=int, default=0, help="the first case")
    parser.add_argument("--case", type=int, help="this one alone")
    asked = parser.parse_args()
    if asked.meshes:
        os.environ[FOLDER] = asked.meshes
    cases = range(asked.first, len(CASES), asked.every)
    if asked.case is not None:
        cases, asked.processes = range(asked.case, asked.case + 1), 1
    found: dict[int, Outcome] = {}
    for case, outcome, seconds in run(trial, cases, asked.processes, SECONDS):
        found[case] = outcome
        if outcome.broken or asked.case is not None:
            line = f"case {case}: {outcome.verdict}: {outcome.story} ({seconds:.0f} s)"
            print(line, file=sys.stderr, flush=True)
        print(f"\r{len(found)} of {len(cases)}", end="", file=sys.stderr, flush=True)
    broken = sum(outcome.broken for outcome in found.values())
    print(f"{table(found)}\n{len(found)} cases, {broken} broke a promise")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
