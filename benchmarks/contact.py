"""What contact asks of the step, and what it does to the energy (docs/contact.md).

    python benchmarks/contact.py [--only bounce|stiff|adaptive|tori|friction|projection|drape]

Under two minutes in all.  Energies are relative to that of the fall, or to the energy exchanged.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from common import table

import stiffly
from stiffly.bodies import Gravity, Springs, System, cloth_springs
from stiffly.collisions import Contact, Held, Hemisphere, Plane, ProjectedContact, Sphere
from stiffly.meshes import cloth, torus

G = 9.81
FLOOR = Plane((0, 0, 0), (0, 0, 1))


def falling(k: float) -> System:
    """One kilogram."""
    return System(np.ones(1), [Gravity(), Contact(FLOOR, k)])


def lost_or_won(system: System, x0: Any, scale: float, v0: Any = None, **options: Any) -> str:
    """Largest numerical error of the energy against the scale [J], or why there is none."""
    try:
        run = stiffly.simulate(system, x0, v0, **options)
    except stiffly.Diverged:
        return "explodes"
    return f"{np.abs(run.energy.numerical).max() / scale:.0e}"


def bounce() -> None:
    """k = 1e4 N/m, omega = 100/s, three seconds from 1 m."""
    shares = (3.0, 1.0, 0.3, 0.1, 0.03)
    methods = ("verlet", "exprb42", "pexprb43", "midpoint", "bdf1", "stabilised", "energy-momentum")
    rows = [
        [name]
        + [
            lost_or_won(falling(1e4), [[0, 0, 1.0]], G, integrator=name, step=share / 100.0,
                        duration=3.0)
            for share in shares
        ]
        for name in methods
    ]  # fmt: skip
    print(table(("h omega", *(f"{s:g}" for s in shares)), rows))


def stiff() -> None:
    """energy-momentum over contacts of 3e-2 to 1e-7 s, three seconds from 1 m."""
    stiffnesses, steps = (1e4, 1e6, 1e8, 1e10, 1e12, 1e15), (0.01, 0.03)
    rows = []
    for h in steps:
        errors, bounces = [], []
        for k in stiffnesses:
            run = stiffly.simulate(
                falling(k), [[0, 0, 1.0]], integrator="energy-momentum", step=h, duration=3.0
            )
            errors.append(np.abs(run.energy.numerical).max() / G)
            up = np.diff(np.sign(run.velocities[:, 0, 2]))
            bounces.append(int(np.sum(up > 0)))
        rows.append(
            [f"h = {h:g} s", *(f"{e:.0e} ({n})" for e, n in zip(errors, bounces, strict=True))]
        )
    print(table(("error (bounces)", *(f"k = {k:.0e}" for k in stiffnesses)), rows))


def adaptive() -> None:
    """k = 1e15 N/m, rtol = 1e-7: an impact of 1e-7 s, from close by and from afar."""
    rows = []
    for name in ("exprb42", "pexprb43"):
        near = lost_or_won(
            System(np.ones(1), [Contact(FLOOR, 1e15)]), [[0, 0, 1e-7]], 0.5, [[0, 0, -1.0]],
            integrator=name, rtol=1e-7, duration=3e-7,
        )  # fmt: skip
        far = lost_or_won(falling(1e15), [[0, 0, 1.0]], G, integrator=name, rtol=1e-7, duration=0.9)
        rows.append([name, near, far])
    print(table(("error of the energy", "from 1e-7 m", "from 1 m"), rows))


def tori() -> None:
    """112 particles of 10 g, upright, dropped by 0.1 m onto a floor that holds."""
    mesh = torus(16, 6)
    upright = mesh.positions[:, [0, 2, 1]]
    x0 = upright + np.array([0, 0, 0.1 - upright[:, 2].min()])
    rows = []
    cases = [(s, t, m) for s in (1e4, 1e5) for t in (1e5, 1e6) for m in range(3)]
    for springs, ties, which in cases:
        name, h = (("midpoint", 1e-4), ("midpoint", 1e-3), ("exprb42", 1e-3))[which]
        parts = [Springs(mesh.edges, springs, law="cubic"), Gravity(), Held(FLOOR, ties)]
        system = System(0.01, parts, rest=upright)
        run = stiffly.simulate(system, x0, integrator=name, step=h, duration=0.35)
        rows.append([
            f"{springs:.0e}", f"{ties:.0e}", name, f"{h:g}", f"{h * np.sqrt(ties / 0.01):.1f}",
            f"{run.energy.dissipated[-1] / run.energy.exchanged:.2%}",
            f"{np.abs(run.energy.numerical).max() / run.energy.exchanged:.2%}",
        ])  # fmt: skip
    header = ("springs [N/m]", "ties [N/m]", "method", "h [s]", "h omega of ties",
              "lost at release", "error")  # fmt: skip
    print(table(header, rows))


def friction() -> None:
    """1 kg slides at 3 m/s, k_f = 0.3, h = 0.01 s: error of the speed after 0.5 s [m/s]."""
    k, names = 1e4, ("verlet", "exprb42", "midpoint", "bdf1", "stabilised", "energy-momentum")
    system = System(np.ones(1), [Gravity(), Contact(FLOOR, k, friction=0.3)])
    errors = []
    for name in names:
        run = stiffly.simulate(
            system, [[0, 0, -G / k]], [[3.0, 0, 0]], integrator=name, step=0.01, duration=0.5
        )
        errors.append(f"{abs(run.velocities[-1, 0, 0] - 3.0 + 0.15 * G):.0e}")
    print(table(names, [errors]))


def projection() -> None:
    """A cloth of 1 m falls by 0.1 m on half a ball; friction 0.4 per step; one second."""
    mesh = cloth(21, 21, spacing=0.05)
    x0 = mesh.positions - mesh.positions.mean(axis=0) + np.array([0, 0, 0.5])
    rows = []
    for h in (4e-3, 2e-3, 1e-3):
        parts = [*cloth_springs(mesh, 100.0, 100.0, 1.0), Gravity()]
        parts.append(ProjectedContact(Hemisphere((0, 0, 0), 0.4), 0.4))
        system = System(1.0 / 441, parts, rest=mesh.positions)
        run = stiffly.simulate(system, x0, integrator="midpoint", step=h, duration=1.0)
        slide = System(np.ones(1), [Gravity(), ProjectedContact(FLOOR, 0.4)])
        one = stiffly.simulate(
            slide, [[0, 0, 0.0]], [[1.0, 0, 0]], integrator="verlet", step=h, duration=8e-3
        )
        rows.append([
            f"{h:g}", f"{run.energy.dissipated[-1] / run.energy.exchanged:.1%}",
            f"{np.abs(run.energy.numerical).max() / run.energy.exchanged:.2%}",
            f"{1e3 * run.diagnostics['penetration'].max():.1f} mm",
            f"{one.velocities[-1, 0, 0]:.3f} m/s",
        ])  # fmt: skip
    header = ("h [s]", "cloth: dissipated", "error", "deepest", "a particle at 1 m/s after 8 ms")
    print(table(header, rows))


def drape() -> None:
    """41 x 41 cloth, 1 m, 1 kg, falls by 0.1 m on a ball; 40 steps of 0.01 s, ten iterations."""
    mesh = cloth(41, 41, spacing=1.0 / 40)
    x0 = mesh.positions - mesh.positions.mean(axis=0) + np.array([0, 0, 0.4])
    rows = []
    for name in ("projective", "stabilised:projective-midpoint"):
        for k in (1e3, 1e4):
            parts = [*cloth_springs(mesh, 100.0, 100.0, 1.0), Gravity()]
            system = System(
                1.0 / 1681, [*parts, Contact(Sphere((0, 0, 0), 0.3), k)], rest=mesh.positions
            )
            run = stiffly.simulate(system, x0, integrator=name, step=0.01, duration=0.4)
            touching = int(np.sum(run.diagnostics["contacts"] > 0))
            rows.append([name, f"{k:.0e}", touching, run.stats["factorizations"],
                         f"{np.nanmedian(run.diagnostics['residual']):.2g}"])  # fmt: skip
    header = ("method", "k [N/m]", "steps in touch", "factorisations", "median residual")
    print(table(header, rows))


PARTS = {f.__name__: f for f in (bounce, stiff, adaptive, tori, friction, projection, drape)}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", choices=tuple(PARTS))
    asked = parser.parse_args()
    warnings.simplefilter("ignore", stiffly.StiffWarning)  # what it warns of is what is measured
    for name, part in PARTS.items():
        if asked.only in (None, name):
            print(f"\n{name}: {part.__doc__}\n")
            part()


if __name__ == "__main__":
    main()
