"""The largest step over the stiffness of a twisted beam: Michels, Sobottka & Weber (2014), 22e."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from stiffly import scenes

from . import report
from .bench import Bench
from .largest_step import Ladder, draw, words
from .report import Claim, Report

ACCURACY = 1e-4
ORDERS = 3.0  # of magnitude: the paper's 'at least three'

NOTES = f"""\
Accuracy: positions at t = {{duration:g}} s, the beam half turned or less, to {ACCURACY:g} of the
largest excursion, against DOP853 at 1e-11. A step counts if it and half of it meet that.

Exponents d log h / d log k: {{exponents}}. Stability limits RK4 and Verlet to (k/m)^(-1/2) once k
is large; before, and for the other methods, accuracy does: how far the hand turns within a step,
and which of the beam's own swings it sets off.
The stiffer the beam, the more it follows the hand as if it had no mass: BDF-1, which solves for an
equilibrium wherever it is not asked to swing, then needs a handful of steps.

Small systems measure the overhead of Python per step more than arithmetic: see the counts.
{{ladder}}"""


def run(bench: Bench) -> Report:
    """Largest steps for 1e-4 of six methods, k = 1e2 to 1e9 N/m."""
    size: dict[str, Any] = {"along": 9, "across": 3}
    stiffness, duration, limit = [1e2, 1e4, 1e6, 1e8, 1e9], 0.5, 15.0
    if bench.quick:
        size, stiffness, duration, limit = {"along": 5, "across": 2}, [1e3, 1e6], 0.25, 2.0
    load = partial(scenes.load, "twisting-beam", duration=duration, **size)
    found = Ladder(bench, load, stiffness, ACCURACY, limit)
    particles = size["along"] * size["across"] ** 2
    return Report(
        title="Largest step over the stiffness of a twisted beam",
        source="Michels, Sobottka & Weber 2014, Sec. 5.3, Fig. 22e",
        records=found.records,
        figure=draw(found, f"Twisted beam, {particles} particles: largest step for 1e-4"),
        claims=_claims(found),
        notes=found.notes(NOTES, duration),
        reduced=f"{particles} particles instead of 650, {duration:g} s of the twist, "
        f"{len(stiffness)} values of k up to {stiffness[-1]:.0e} instead of 1e10 N/m; a method "
        f"that takes more than {limit:g} s is not run further.",
    )


def _claims(found: Ladder) -> list[Claim]:
    bdf1, rk4, neti = found.ahead("bdf1"), found.ahead("rk4"), found.steps("neti")
    ks = ", ".join(f"{k:.0e}" for k in found.stiffness)
    pairs = [[found.record(k, m).seconds for m in ("rk4", "exprb42")] for k in found.stiffness]
    faster = [theirs > ours for theirs, ours in pairs if theirs and ours]
    return [
        Claim(
            "Steps are at least three orders of magnitude larger than those of BDF-1 or RK4.",
            f"orders at k = {ks}: over BDF-1 {words(bdf1)}; over RK4 {words(rk4)} (the better of "
            f"neti and exprb42; neti itself: h = {', '.join(f'{h:.1g}' for h in neti)} s)",
            report.verdict(bool(np.nanmin(bdf1) >= ORDERS), bool(np.nanmin(rk4) >= ORDERS)),
            "RK4's step falls with the root of k, so that the gain depends on k; BDF-1 is poor "
            "where the beam swings, and good where it follows the hand as if it had no mass.",
        ),
        Claim(
            "The exponential integrator is much better even at the smallest stiffness.",
            f"at k = {found.stiffness[0]:.0e}: {bdf1[0]:.1f} orders over BDF-1, {rk4[0]:.1f} over "
            "RK4",
            report.verdict(bool(bdf1[0] >= 1.0), bool(rk4[0] >= 1.0)),
            "A soft beam is not stiff: an explicit method of fourth order comes close there.",
        ),
        Claim(
            "Rebuilding matrix functions in every step is overcompensated by larger steps.",
            f"seconds of RK4 over those of exprb42: {found.costs('exprb42', 'rk4')}; of Verlet: "
            f"{found.costs('exprb42', 'verlet')}",
            report.verdict(any(faster), bool(faster) and all(faster)),
            "Below 1 the rival is faster. Products per step grow with h sqrt(k), as the number of "
            "RK4's steps does.",
        ),
    ]
