"""Energy of a molecule of stiff bonds: Michels, Sobottka & Weber (2014), Fig. 23f."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from stiffly import Run, scenes
from stiffly.contracts import Array

from . import figures
from .bench import Bench, Row
from .energy_history import KEPT, draw_energies, draw_error, energy_history, error, records
from .measures import lengths
from .report import Claim, Report, judged
from .trial import trial

BOND = 1.5  # angstrom: the length of a covalent bond between carbon atoms
FINE = 1e-3  # ps: a step that resolves the bonds
QUENCH, DIGITS = 0.1, 3  # ps between two stops; decimals of an angstrom in a PDB file
SMALL_MOVE = 0.1  # of a bond length: what 'very small compared to' is taken to mean

FULL = "3 ps instead of 30 ms, BDF-1 0.1 ps; helices made by formulas instead of PDB 1nso."
NOTES = """\
Units: angstrom, dalton, picosecond; energies in 0.01 kJ/mol. The frames are {frames} fs apart; all
atoms interact with all others. A bundle of helices with as many atoms as the paper's M-PMV stands
in for it. The 30 ms of the paper's axis are {periods:.0e} vibrations of a bond, which nobody
computes: either the time is in other units or the bonds were ten orders of magnitude softer.

Where these forces balance was found by stopping what moves every 0.1 ps, until what is picked up
in between was {slower:.1g} of what it was at first; atoms are {moved:.2g} angstrom (root mean
square) from where the helices were built.

Who is cheap here? Seconds per picosecond: {prices}. The pairwise forces are the price of a step,
and the bonds are not stiff enough to pay for more than one force a step: omega h of the bonds is
{stiffness:.2g} where Verlet's limit is 2.
"""


def run(bench: Bench) -> Report:
    """Energy error, displacements and bond lengths by neti, exprb42, Verlet and BDF-1."""
    scene = scenes.load("molecule", small=bench.quick)
    long = 0.4 if bench.quick else 3.0
    h = scene.step
    plan = [("neti", FINE, 0.1 if bench.quick else long), ("neti", h, long), ("exprb42", h, long)]
    plan += [("verlet", h, long), ("verlet", FINE, long)]
    plan.append(("bdf1", h, 0.1))  # its price is a hundred times the others'
    bench.plan(2)
    rows = bench.rows("{}, h {:g} ps", partial(_measured, scene), plan)
    quenches = 20 if bench.quick else 300
    still = bench.row("equilibrium", partial(_equilibrium, scene, quenches))
    near = replace(scene, x0=np.round(np.array(still["x"]), DIGITS))
    rest = bench.row("near equilibrium", partial(_measured, near, "neti", FINE, 0.05))
    return Report(
        title="Energy of a molecule",
        source="Michels, Sobottka & Weber 2014, Sec. 5.6, Figs. 20 and 23f",
        records=records(rows),
        figure=_figure(scene, rows, rest),
        claims=_claims(rows, rest),
        notes=_notes(scene, rows, still),
        reduced=f"{len(scene.x0)} atoms instead of 1732, 0.4 ps instead of 30 ms."
        if bench.quick
        else FULL,
        data={_label(row): _numbers(row) for row in rows} | {"near equilibrium": _numbers(rest)},
    )


def _equilibrium(scene: scenes.Scene, quenches: int) -> Row:
    """A place to rest nearby: what moves is stopped again and again, and rolls downhill."""
    x, forces = scene.x0, []
    for _ in range(quenches):
        run = trial(replace(scene, x0=x), integrator="verlet", step=FINE, duration=QUENCH)
        x = run.positions[-1]
        forces.append(float(np.linalg.norm(run.velocities[-1], axis=1).max()))
    moved = np.linalg.norm(x - scene.x0, axis=1)
    return {"x": x, "moved": float(np.sqrt((moved**2).mean())), "speeds": forces[:: quenches - 1]}


def _measured(scene: scenes.Scene, method: str, step: float, duration: float) -> Row:
    def look(run: Run) -> Row:
        bonds = lengths(run.positions, scene)
        moved = np.linalg.norm(run.positions - scene.x0, axis=2)
        return {
            "bonds": np.abs(bonds / bonds[0] - 1.0).max(axis=1),
            "moved": np.sqrt((moved**2).mean(axis=1)),
            "farthest": float(moved.max()),
        }

    every = scene.step
    return energy_history(scene, method, step, look=look, every=every, duration=duration)


def _label(row: Row) -> str:
    return f"{row['method']}, h = {1e3 * row['step']:g} fs"


def price(row: Row) -> float:
    """Seconds for a picosecond."""
    return row["record"]["seconds"] / row["times"][-1]


def _numbers(row: Row) -> Row:
    return {
        "energy_error": error(row),
        "largest_bond_change": max(row["bonds"]),
        "mean_displacement": row["moved"][-1],
        "farthest": row["farthest"],
        "seconds_per_ps": price(row),
    }


def drift(row: Row) -> float:
    """Mean energy error of the last tenth of the time less that of the first, relative."""
    series: Array = np.array(row["numerical"], dtype=float) / row["exchanged"]
    tenth = max(1, len(series) // 10)
    return float(series[-tenth:].mean() - series[:tenth].mean())


def _claims(rows: list[Row], rest: Row) -> list[Claim]:
    neti, coarse, exprb42, verlet, fine, bdf1 = rows
    farthest, mean = neti["farthest"] / BOND, neti["moved"][-1] / BOND
    jitter = rest["farthest"] / BOND
    return [
        judged(
            "The exponential integrator preserves the energy of the molecule.",
            f"neti at {_step(neti)}: largest error {error(neti):.1g} of the energy exchanged, "
            f"drift {drift(neti):.1g}; at {_step(coarse)} {error(coarse):.1g} and "
            f"{drift(coarse):.1g}, exprb42 {error(exprb42):.1g} and {drift(exprb42):.1g}; BDF-1 is "
            f"off by {error(bdf1):.2g} within {bdf1['times'][-1]:g} ps",
            (error(neti) <= KEPT, abs(drift(neti)) <= KEPT),
            "The paper prints no step. One of 1 fs resolves the bonds, and energy errors stay "
            "bounded; at 5 fs neti's filters cost accuracy that exprb42 keeps.",
            "More than the 1 % set as limit.",
        ),
        judged(
            "Atoms jitter about their places by far less than a bond length.",
            f"after {neti['times'][-1]:g} ps they are {mean:.2g} bond lengths away "
            f"(root mean square), the farthest ever {farthest:.2g}; bonds change by at most "
            f"{100 * max(neti['bonds']):.2g} %. Begun where these forces balance, rounded as in a "
            f"PDB file: the farthest ever {jitter:.1g}",
            (farthest <= SMALL_MOVE, jitter <= SMALL_MOVE),
            "Bonds and Lennard-Jones forces hold them in place.",
            "Only where the structure is an equilibrium of these forces to begin with: without "
            "hydrogen bonds and water nothing else holds a fold in place. The paper's structures "
            "are not at hand.",
        ),
        judged(
            "(not in the paper) An explicit symplectic method would do.",
            f"Verlet: error {error(verlet):.1g} at {_step(verlet)}, {error(fine):.1g} at "
            f"{_step(fine)}, for {price(verlet) / price(neti):.2g} and "
            f"{price(fine) / price(neti):.2g} times the seconds of neti at {_step(neti)} "
            f"({_forces(verlet) / _forces(neti):.2g} and {_forces(fine) / _forces(neti):.2g} times "
            "its force evaluations)",
            (error(fine) <= KEPT, price(fine) <= price(neti)),
            "These bonds are hardly stiff at such steps; the pairwise forces cost the time.",
            "It does not keep the energy, or is dearer.",
            item="",
        ),
    ]


def _step(row: Row) -> str:
    return f"{1e3 * row['step']:g} fs"


def _forces(row: Row) -> int:
    return row["record"]["force_evaluations"]


def _notes(scene: scenes.Scene, rows: list[Row], still: Row) -> str:
    # two carbons on a spring: omega^2 = k (1/m + 1/m)
    omega = float(np.sqrt(2.0 * scene.parameters["bonds"] / 12.0))
    return NOTES.format(
        frames=f"{1e3 * scene.step:g}",
        periods=0.03 * omega / (2.0 * np.pi * 1e-12),
        prices="; ".join(f"{_label(row)}: {price(row):.3g}" for row in rows),
        stiffness=omega * scene.step,
        slower=still["speeds"][-1] / still["speeds"][0],
        moved=still["moved"],
    )


def _figure(scene: scenes.Scene, rows: list[Row], rest: Row):
    title = f"A molecule of {len(scene.x0)} atoms, released at rest"
    figure, axes = figures.panels(3, title, size=5.0)
    draw_energies(axes[0, 0], rows[0], "0.01 kJ/mol")
    axes[0, 0].set_title(f"energies, {_label(rows[0])}", fontsize=10)
    lines = {_label(row): (row, "-" if row["step"] == scene.step else ":") for row in rows}
    draw_error(axes[0, 1], lines)
    axes[0, 2].plot(rows[0]["times"], rows[0]["moved"], color=figures.BLUE, label="atoms, mean")
    longest = BOND * np.array(rows[0]["bonds"])
    axes[0, 2].plot(rows[0]["times"], longest, color=figures.RED, label="bonds, largest change")
    jitter = np.array(rest["moved"][1:])
    axes[0, 2].plot(rest["times"][1:], jitter, color=figures.GREEN, label="begun in balance, mean")
    axes[0, 2].set(yscale="log", ylabel="displacement [angstrom], neti")
    for axis in axes[0]:
        figures.finish(axis, "time [ps]")
    return figure
