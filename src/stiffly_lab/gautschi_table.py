"""All test cases: cost of a step, and cost of the same error: Michels et al. (2014), Table II."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from math import isfinite
from typing import Any

import numpy as np

from stiffly import scenes
from stiffly.errors import SimulationFailure
from stiffly.scenes import Scene

from . import equal_error, figures, references, report, rivals
from .bench import Bench, Row
from .harness import Record
from .report import Claim, Report, capped
from .rivals import LOST, USUAL, race
from .step_cost import step_cost
from .tight import Reference


@dataclass(frozen=True)
class GautschiCase:
    """A row: the paper's particles and seconds (None: it could not measure), and ours.

    method: which of the paper's integrators it used; size: parameters of its size, or as near as
    an experiment can afford; small: those of the body on which all methods meet the same error,
    for `duration` [s]; level: the error that the paper asks for, or the least that can be judged.
    """

    number: str
    model: str
    particles: int
    precomputed: float | None
    exponential: float
    implicit: float | None
    method: str
    scene: str
    duration: float
    size: Mapping[str, Any] = field(default_factory=dict)
    small: Mapping[str, Any] = field(default_factory=dict)
    level: float = 1e-4

    @property
    def name(self) -> str:
        return f"{self.number} {self.model}"

    def at_size(self, quick: bool) -> Scene:
        return self.reduced() if quick else scenes.load(self.scene, **self.size)

    def reduced(self) -> Scene:
        given = {**self._model(), **self.small, "duration": self.duration}
        return scenes.load(self.scene, small=True, **given)

    def _model(self) -> Row:
        """What of `size` is not a size: the law of springs, the model of elasticity."""
        return {k: v for k, v in self.size.items() if k in ("model", "law", "linear")}


def truth(case: GautschiCase, scene: Scene, bench: Bench, limit_s: float) -> Reference:
    """Independent of all methods; the pair of oscillators has a formula.

    limit_s: for one solution; Verlet, which stands in where there is contact, refines its steps
    until its time is over, and a tenth of that does.
    """
    limit_s = limit_s / 10.0 if scene.system.settles else limit_s
    if scene.solution is None:
        return references.solution(scene, bench, limit_s=limit_s)
    x, v = scene.solution(scene.duration)
    size, mass = float(np.linalg.norm(scene.x0)), scene.parameters["mass"]
    speed = size * float(np.sqrt(scene.parameters["ka"] / mass))
    return Reference(x, v, 1e-12, size, speed, 0.5 * mass * speed**2, "the analytic solution")


CASES = (
    GautschiCase("1", "Fermi-Pasta-Ulam", 2, 0.0, 0.0, 0.0, "eti", "oscillator-pair", 0.1),
    GautschiCase("2", "Electricity Pylon", 278, 0.185, 0.001, 0.160, "eti", "pylon", 0.5),
    GautschiCase(
        "3", "Spring", 1167, 0.702, 0.007, 0.679, "eti", "coil-spring", 0.5,
        {"vertices": 1164, "section": "3x4", "stiffness": 1e8}, {"vertices": 192},
    ),
    GautschiCase(
        "4", "Dome", 930, 0.637, 0.006, 0.576, "eti", "dome", 0.5, {},
        {"rings": 4, "around": 12, "border": 1e9},  # 1e12 leaves no digits to judge by
    ),
    GautschiCase(
        "5", "Armadillo", 14038, 7.183, 0.350, 38.332, "eti", "squats", 0.5, {},
        {"vertices": 150},
    ),
    GautschiCase(
        "6", "Dragon (NL)", 100_000, None, 3.916, 604.019, "neti", "dragon", 0.2,
        {"vertices": 12_000, "law": "cubic"}, level=1e-2,
    ),
    GautschiCase("7", "Twisting Beam (NL)", 650, None, 0.002, 0.084, "neti", "twisting-beam", 0.05),
    GautschiCase(
        "8", "Torus (NL)", 689, None, 0.002, 0.363, "neti", "tori", 0.045, {},
        {"drop": 0.005, "sections": 8}, level=1e-2,  # contact leaves no digits to judge 1e-4 by
    ),
    GautschiCase("9", "Rope", 80, 0.031, 0.0, 0.059, "eti", "rope", 0.25, {"linear": True}),
    GautschiCase(
        "10a", "Textile Hemisphere", 10_000, 4.180, 0.241, 32.362, "eti", "textile", 0.1,
        {"linear": True}, {"resolution": 10},
    ),
    GautschiCase(
        "10b", "Spinning Buddha (NL)", 10_000, None, 0.364, 35.598, "neti", "statue", 0.1, {},
        {"resolution": 10},
    ),
    GautschiCase(
        "10c", "Aluminium Foil", 100, 0.046, 0.0, 0.062, "eti", "foil", 0.02, {"linear": True},
    ),
    GautschiCase(
        "11", "Steel sphere", 954, None, 0.021, None, "neti", "steel-sphere", 0.0125, {},
        {"rings": 5, "segments": 8, "drop": 0.0005},
    ),
    GautschiCase(
        "12a", "Eiffeltower", 5000, 3.029, 0.127, None, "eti", "tower", 0.1,
        {"model": "linear", "step": 0.01}, {"leg_levels": 3, "column_levels": 6},
    ),
    GautschiCase(
        "12b", "Eiffeltower (COROT)", 5000, 3.029, 0.382, None, "ceti", "tower", 0.1,
        {"model": "corotated", "step": 0.01}, {"leg_levels": 3, "column_levels": 6},
    ),
)  # fmt: skip


RIVAL = "bdf1"
ALIKE = 3.0  # a ratio of the paper counts as reproduced within this factor, or above
SMALLER = 0.1  # of the paper's particles: below, nothing is said about its numbers
COARSE = 0.05  # an error that the eye would not see
QUICK_EQUAL = ("1", "9", "10c")

HEAD = (
    "# | model | N paper / ours | method, h | once: paper / ours [s] | a step: paper / ours [s] | "
    "BDF-1: paper / ours [s] | BDF-1 over ours: paper / here | products a step"
)
NOTES = f"""\
**Cost of a step**, at the step of our scene. 'Once' is what a run of one step takes beyond its
step: an eigenbasis where a hundred evaluations by products would cost more, a first factorisation,
tables. The paper computes the matrix functions of its linear models once, dense at every size; else
ours take products with the sparse matrix in each step, as many as h omega_max asks for. Rope,
textile and foil have constant stiffness (`linear=true`), since the paper prints what it computes
once for them. A row is reproduced where the exponential step takes at most {ALIKE:g} times the
paper's seconds and BDF-1's at least a third of the paper's multiple of it; seconds are the
processor's.

{{steps}}

**Cost of the same error**, on smaller bodies: the largest step of each method that meets 5 % and
the paper's criterion, 1e-4 (the dragon 1e-2; the tori too, whose contact leaves no digits to judge
more by), relative to a solution found independently. {USUAL.first:g} s for a run of the paper's
method; others are waited for as long as {LOST:g} times its seconds, but {USUAL.least:g} to
{USUAL.most:g} s. Cells: seconds, times the fastest, step, forces / products / factorisations,
errors of energy (E) and angular momentum (L). The paper's own truth is the same method with a tiny
step; it does not see an error that the method shares with itself. eti has the paper's filters,
(sinc^2, sinc), and constant loads in its reference, where they are not filtered; eti:rest filters
them, as the paper's equation does. Other methods and solvers on all scenes:
[equal-error](../equal-error/result.md).

{{equal}}
"""


def run(bench: Bench) -> Report:
    """Seconds per step of the paper's method and BDF-1, and everybody's price at equal error."""
    chosen = [c for c in CASES if not bench.quick or c.number in QUICK_EQUAL]
    bench.plan(2 * len(CASES))
    steps = {case.number: _step_costs(bench, case) for case in CASES}
    equal = {case.number: _equal(bench, case) for case in chosen}
    return Report(
        title="The test cases of the Gautschi integrators",
        source="Michels, Sobottka & Weber 2014, Sec. 5, Table II",
        records=[
            replace(by_level[case.level], method=f"{number}: {name}")
            for number, (found, _, case) in equal.items()
            for name, by_level in found.items()
        ],
        figure=_figure(steps, equal),
        claims=[*(_step_claim(c, steps[c.number]) for c in CASES), *_equal_claims(equal)],
        notes=NOTES.format(steps=_step_table(steps), equal=_equal_tables(equal)),
        reduced=_reduced(bench.quick),
        data={"steps": steps},
    )


def _reduced(quick: bool) -> str:
    words = "bodies of tens to hundreds of particles where errors are compared"
    if quick:
        return f"small bodies for the cost of a step too, {words}; three of 15 cases."
    return f"{words}; the dragon has 12,000 particles instead of 100,000."


# ------------------------------------------------------------------ the price of a step


def _step_costs(bench: Bench, case: GautschiCase) -> dict[str, dict]:
    scenes_built: list[Scene] = []

    def price(method: str) -> dict:
        if not scenes_built:
            scenes_built.append(case.at_size(bench.quick))
        like = None if bench.quick else case.reduced()
        return step_cost(scenes_built[0], method, 5.0 if bench.quick else 60.0, like)

    return {
        method: bench.row(f"{case.name}: a step of {method}", partial(price, method))
        for method in (case.method, RIVAL)
    }


def _ratio(costs: Mapping[str, dict], case: GautschiCase) -> float:
    """Seconds of BDF-1 over those of the paper's method; nan where one has none."""
    ours, rival = (costs[m].get("seconds") for m in (case.method, RIVAL))
    return rival / ours if ours and rival else float("nan")


def _seconds(cost: dict, unit: str = "") -> str:
    return cost["failure"] or f"{cost['seconds']:.2g}{unit}"


def _step_table(steps: Mapping[str, dict]) -> str:
    lines = []
    for case in CASES:
        costs = steps[case.number]
        own = costs[case.method]
        once = "-" if own["failure"] else f"{own['once']:.2g}"
        promised = "-"
        if case.implicit and case.exponential:
            promised = f"{case.implicit / case.exponential:.0f}"
        ratio = _ratio(costs, case)
        cells = (
            case.number,
            case.model,
            f"{case.particles:,} / {own['particles']:,}",
            f"{case.method}, {own['step']:g}",
            f"{_known(case.precomputed)} / {once}",
            f"{case.exponential} / {_seconds(own)}",
            f"{_known(case.implicit)} / {_seconds(costs[RIVAL])}",
            f"{promised} / {f'{ratio:.2g}' if isfinite(ratio) else '-'}",
            "" if own["failure"] else f"{own['products']:,.0f}",
        )
        lines.append(cells)
    return report.table(HEAD, lines)


def _known(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


# ------------------------------------------------------------------ the price of an error

Found = Mapping[str, Mapping[float, Record]]  # by method and level
Equal = tuple[Found, str, GautschiCase]  # by method; how it was judged, or why it was not


def _equal(bench: Bench, case: GautschiCase) -> Equal:
    scene = case.reduced()
    try:
        exact = truth(case, scene, bench, 5.0 if bench.quick else 60.0)
    except SimulationFailure as failure:
        return {}, f"no reference: {failure}", case
    names = (case.method, *(["eti:rest"] if case.method == "eti" else ()), RIVAL)
    methods, absent = rivals.contenders(names, scene, exact, quick=True)
    absent = {name: why for name, why in absent.items() if name in names}
    found = race(bench, scene, exact, methods, (COARSE, case.level), case.method)
    for name, why in absent.items():
        found[name] = dict.fromkeys((COARSE, case.level), Record(name, scene.step, failure=why))
    words = f"{len(scene.x0)} particles, {scene.duration:g} s; reference: {exact.how}"
    return found, words, case


def _equal_tables(equal: Mapping[str, Equal]) -> str:
    parts = []
    for found, words, case in equal.values():
        parts.append(f"{case.name}: {words}.")
        if found:
            parts.append(equal_error.table(found, (COARSE, case.level)))
    return "\n\n".join(parts)


def _place(found: Found, case: GautschiCase, others: tuple[str, ...]) -> float | None:
    """Seconds of the fastest of the others over the method's; None where it does not finish."""
    seconds = dict(equal_error.winners(found, case.level))
    if not seconds.get(case.method):
        return None
    met = [seconds[n] for n in others if n in seconds]
    return min(met, default=float("inf")) / seconds[case.method]


# ------------------------------------------------------------------ what it says


def _step_claim(case: GautschiCase, costs: Mapping[str, dict]) -> Claim:
    own, rival = costs[case.method], costs[RIVAL]
    counts = "" if own["failure"] else f"; {own['products']:,.0f} products a step"
    measured = (
        f"N = {own['particles']:,}, h = {own['step']:g}: {case.method} {_seconds(own, ' s')}, "
        f"BDF-1 {_seconds(rival, ' s')}{counts}"
    )
    paper = f"{case.name}, N = {case.particles:,}: {case.exponential} s a step"
    ratio = _ratio(costs, case)
    if case.implicit and case.exponential:
        promised = case.implicit / case.exponential
        checks = (_quick(own, case), ratio > promised / ALIKE)
        paper += f", BDF-1 {case.implicit} s ({promised:.0f} times)"
        measured += f" ({ratio:.2g} times)" if isfinite(ratio) else ""
    else:  # too fast for the paper's clock, or no BDF-1: the step alone is compared
        checks = (_quick(own, case),)
        paper += "" if case.implicit is None else f", BDF-1 {case.implicit} s"
    small = own["particles"] < SMALLER * case.particles
    verdict = report.UNTESTED if small else report.verdict(*checks)
    if own["particles"] < case.particles // 2:
        size = f"{own['particles']:,} of {case.particles:,} particles"
        return capped(Claim(paper, measured, verdict, _reason(case, own, rival, checks)), size)
    return Claim(paper, measured, verdict, _reason(case, own, rival, checks))


def _quick(own: dict, case: GautschiCase) -> bool:
    """Does a step take the paper's seconds, or less?  It prints milliseconds."""
    return not own["failure"] and own["seconds"] < max(ALIKE * case.exponential, 1e-3)


def _reason(case: GautschiCase, own: dict, rival: dict, checks: tuple[bool, ...]) -> str:
    """Of that verdict: what keeps it from being reproduced, if anything does."""
    if own["failure"] or rival["failure"]:
        return "one of the two does not get through a dozen steps"
    if all(checks):
        return "a step takes the paper's seconds, or less"
    words = []
    if not checks[0]:
        words.append(_price(case, own))
    if not all(checks[1:]):
        faster = (case.implicit or 0.0) / rival["seconds"]
        words.append(
            f"BDF-1 takes {faster:.2g} times less than the paper prints: "
            + (
                "its matrix is factorised once and kept"
                if rival["factorizations"] < 0.5
                else "a sparse factorisation costs tens of products"
            )
        )
    return "; ".join(words)


def _price(case: GautschiCase, own: dict) -> str:
    """What a step of the exponential method pays for."""
    if own["products"] > 100:
        return "h omega_max is large: the matrix functions cost a product for every 2 rad or so"
    if own["products"] > 0:
        return f"{own['products']:.0f} products with the matrix of {own['particles']:,} particles"
    more = ", and their eigenvectors in every step" if case.method == "neti" else ""
    return f"a step is products with dense matrices of all unknowns{more}"


def _equal_claims(equal: Mapping[str, Equal]) -> list[Claim]:
    judged = {n: (found, case) for n, (found, _, case) in equal.items() if found}
    places = {
        words: {n: _place(found, case, (name,)) for n, (found, case) in judged.items()}
        for words, name in (("BDF-1", RIVAL), ("Verlet", "verlet"))
    }
    claims = []
    for words, by in places.items():
        wins = [n for n, p in by.items() if p is not None and p > 1.0]
        unmet = [n for n, p in by.items() if p is None]
        text = ", ".join(
            f"{n}: {'alone in time' if p == float('inf') else f'{p:.2g} times'}"
            for n, p in by.items()
            if p is not None
        )
        claims.append(
            Claim(
                ("" if words == "BDF-1" else "(not in the paper) ")
                + f"At an error of 1e-4 the exponential integrator is faster than {words}.",
                f"in {len(wins)} of {len(by)} cases; {text or 'none'}; not met in "
                f"{', '.join(unmet) or 'none'}",
                report.verdict(len(wins) == len(by), len(wins) > 0),
                "it wins in all of them"
                if len(wins) == len(by)
                else "it wins where the stiff part is linear; where stiff directions turn, the "
                "step that meets the error resolves the turning",
                item=None if words == "BDF-1" else "",
            )
        )
    return claims


def _figure(steps: Mapping[str, dict], equal: Mapping[str, Equal]):
    figure, axes = figures.panels(1, "Test cases of Michels et al. 2014, Table II", rows=2, size=10)
    top, bottom = axes[:, 0]
    places = {case.number: k for k, case in enumerate(CASES)}
    for axis in (top, bottom):
        axis.set_xticks(list(places.values()), list(places))
        axis.set_xlim(-0.5, len(CASES) - 0.5)
    for kind, color, printed in (
        ("exponential", figures.BLUE, {c.number: c.exponential for c in CASES}),
        ("BDF-1", figures.RED, {c.number: c.implicit for c in CASES}),
    ):
        here = {
            c.number: steps[c.number][RIVAL if kind == "BDF-1" else c.method].get("seconds")
            for c in CASES
        }
        for values, fill, words in ((printed, "white", "paper"), (here, color, "here")):
            points = [(places[n], v) for n, v in values.items() if v]
            x, y = zip(*points, strict=True)
            top.plot(x, y, "o", color=color, mfc=fill, label=f"{kind}, {words}")
    top.set_yscale("log")
    figures.finish(top, "", "seconds for a step")
    names = dict.fromkeys(n for found, _, _ in equal.values() for n in found)
    for k, name in enumerate(names):
        points = [
            (number, dict(equal_error.winners(found, case.level)).get(name, float("nan")))
            for number, (found, _, case) in equal.items()
        ]
        x, y = [places[n] for n, _ in points], [v for _, v in points]
        bottom.plot(x, y, "osD^vP*X<>p"[k % 11], label=name, alpha=0.8)
    bottom.set_yscale("log")
    figures.finish(bottom, "test case", "seconds at equal error")
    return figure
