"""Backward Euler on a potential that is not convex: Dinev, Liu & Kavan (2018), App. C, Fig. 18."""

from __future__ import annotations

from typing import Any

import numpy as np

from stiffly import scenes

from . import figures, report
from .bench import Bench, Row
from .measures import bound, potential, reach
from .report import Claim, Report
from .step_by_step import record, watched

STIFFNESS, MASS, STEP = 10.0, 1.0, 0.033  # as the scene has them [N/m], [kg], [s]
STEPS = (0.01, STEP, 0.1, 0.5)  # of the random starts [s]
SEED = 2018
ROUNDING = 1e-9  # of the energy: rises below it are the solver's

NOTES = f"""\
H is the energy after each step of backward Euler. A rise counts from {ROUNDING:.0e} of the largest
energy upwards. Random starts: x uniform in +-4 m, v in +-(beta + 1)/h, steps of
{", ".join(f"{h:g}" for h in STEPS)} s; each is followed for {{length}} steps. The bound is
max(H_0, H_c) with H_c = E_test(0) + m/2 ((beta + 1)/h)^2, and beta = {reach():.4f} from E_test (the
paper: 2.209).

The start on the hill, x_0 = 0.9 m and v_0 = -x_0/h, must gain exactly E_test(0) - E_test(x_0) in
its first step, since there it ends where no force acts."""


def run(bench: Bench) -> Report:
    """The Hamiltonian over time, its rises, and random starts against the proven bound."""
    starts, length = (20, 30) if bench.quick else (500, 100)
    bench.plan(2 + len(STEPS))
    drawn = _row(bench, "Fig. 18", 3.0, 0.0, STEP, 150 if bench.quick else 600)
    hill = _row(bench, "start on the hill", 0.9, -0.9 / STEP, STEP, 5)
    closest = {h: _closest(bench, h, starts, length) for h in STEPS}
    return Report(
        title="Backward Euler between two springs",
        source="Dinev, Liu & Kavan 2018, Appendix C, Figs. 17-19",
        records=[record("bdf1", drawn)],
        figure=_figure(drawn, closest),
        claims=[_drawn(drawn), _hill(hill), _bounded(drawn, closest)],
        notes=NOTES.format(length=length),
        reduced="20 random starts a step size instead of 500, and a quarter of the time."
        if bench.quick
        else "",
        data={"drawn": drawn, "hill": hill, "closest": closest},
    )


def _row(bench: Bench, name: str, x: float, v: float, h: float, steps: int) -> Row:
    def job() -> Row:
        scene = scenes.load("two-springs", stiffness=STIFFNESS, mass=MASS, x=x, v=v)
        return watched(scene, "bdf1", steps, step=h, look=lambda x, v: {"x": float(x[1, 0])})

    return bench.row(name, job)


def _closest(bench: Bench, h: float, starts: int, length: int) -> Row:
    """The random start that came closest to its bound, as a share of it, and rises above H_0."""

    def job() -> Row:
        rng = np.random.default_rng(SEED)
        shares, above, failed = [], 0, 0
        for _ in range(starts):
            x, v = rng.uniform(-4.0, 4.0), rng.uniform(-1.0, 1.0) * (reach() + 1.0) / h
            scene = scenes.load("two-springs", stiffness=STIFFNESS, mass=MASS, x=x, v=v)
            found = watched(scene, "bdf1", length, step=h)
            energy = np.array(found["energy"])
            highest = float(energy[1:].max())
            failed += found["failure"] is not None
            above += bool(highest > (1.0 + ROUNDING) * energy[0])
            shares.append(highest / bound(float(energy[0]), STIFFNESS, MASS, h))
        return {"share": max(shares), "above": above, "failed": failed, "starts": starts}

    return bench.row(f"random starts, h = {h:g}", job)


def _rises(row: Row) -> np.ndarray:
    """Steps that gained energy."""
    energy = np.array(row["energy"])
    return np.flatnonzero(np.diff(energy) > ROUNDING * energy.max()) + 1


def _drawn(row: Row) -> Claim:
    energy, rises = np.array(row["energy"]), _rises(row)
    left = energy[-1] / energy[0]
    gained = np.diff(energy).max()
    return Claim(
        "the Hamiltonian occasionally increases despite an overall dissipative trend",
        f"{rises.size} of {len(energy) - 1} steps gain, {gained:.2g} J at most; "
        f"{left:.1%} of {energy[0]:.3g} J are left at the end",
        report.verdict(bool(rises.size > 0), bool(left < 1.0)),
        "every pass over the hill between the wells is a step that climbs at its old speed",
    )


def _hill(row: Row) -> Claim:
    gained = row["energy"][1] - row["energy"][0]
    expected = float(potential(0.0, STIFFNESS) - potential(0.9, STIFFNESS))
    return Claim(
        "a start with v_0 = -x_0/h gains E_test(0) - E_test(x_0) in one step",
        f"gained {gained:.9f} J, by the formula {expected:.9f} J",
        report.verdict(bool(abs(gained - expected) < 1e-6 * expected)),
        "the step ends on top of the hill, where the force is zero and the velocity stays",
    )


def _bounded(drawn: Row, closest: dict[float, Row]) -> Claim:
    energy = np.array(drawn["energy"])
    own = energy.max() / bound(float(energy[0]), STIFFNESS, MASS, STEP)
    shares = [found["share"] for found in closest.values()]
    failed = sum(found["failed"] for found in closest.values())
    above = sum(found["above"] for found in closest.values())
    starts = sum(found["starts"] for found in closest.values())
    holds = max(*shares, own) <= 1.0 + ROUNDING
    return Claim(
        "H never exceeds max(H_0, H_c); beta = 2.209 (Theorem 1)",
        f"{starts} random starts reach {max(shares):.1%} of the bound at most, {above} of them "
        f"rise above their own H_0, {failed} fail; beta = {reach():.4f}",
        report.verdict(bool(holds and not failed), abs(reach() - 2.209) < 1e-3),
        "the proof holds for exactly solved steps, and Newton solves these nearly so",
    )


def _figure(row: Row, closest: dict[float, Row]) -> Any:
    figure, axes = figures.panels(3, "Backward Euler on a potential that is not convex", size=4.6)
    whole, detail, random = axes[0]
    steps, energy, rises = np.array(row["step"]), np.array(row["energy"]), _rises(row)
    for axis in (whole, detail):
        axis.plot(steps, energy, color=figures.BLUE, linewidth=1.2, label="H")
        axis.plot(rises, energy[rises], ".", color=figures.RED, label="a step that gained")
        axis.set(xlabel="frame", ylabel="Hamiltonian [J]")
    whole.legend(frameon=False, fontsize=9)
    last = rises[-1] if rises.size else steps[-1]
    detail.set_xlim(max(0, last - 60), last + 20)
    near = energy[max(0, last - 60) : last + 20]
    detail.set_ylim(0.95 * near.min(), 1.05 * near.max())
    detail.set_title("the last passes over the hill", fontsize=10)
    h = np.array(list(closest))
    random.semilogx(
        h, [100.0 * found["share"] for found in closest.values()], "o", color=figures.INK
    )
    random.axhline(100.0, color=figures.RED, linewidth=1.0)
    random.annotate("proven bound", (h[0], 100.0), (0, 5), textcoords="offset points", size=9)
    random.set_ylim(0.0, 115.0)
    random.set(xlabel="step [s]", ylabel="highest H of random starts [% of the bound]")
    return figure
