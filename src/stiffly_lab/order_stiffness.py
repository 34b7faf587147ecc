"""Does the order depend on the stiffness?  Luan & Michels (2021), Theorem 3.1, measured.

Two problems: the paper's chain, over the frequency of its stiff springs, which follow the soft ones
(a smooth solution, of which the theorem speaks) or swing (as in the paper's own runs); and a small
body with stiff springs that turns as a whole (family.py).
"""

from __future__ import annotations

from dataclasses import asdict, replace
from math import pi
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial
from scipy.integrate import solve_ivp

from stiffly import scenes
from stiffly.contracts import Array
from stiffly.scenes import Scene

from . import figures
from .bench import Bench
from .family import Member, build
from .harness import Record, first_order, of_method, reference, slopes, work_precision
from .methods import IntegratorMethod
from .report import Claim, Report, judged, table

METHODS = ("exprb42", "pexprb43", "epirk4s3")
THEOREM = "Luan 2021, Theorem 3.1"
PAPERS = METHODS[:2]  # of whom the theorem speaks
OMEGAS = (10.0, 100.0, 1000.0)
DURATION = 5.0
STEPS = tuple(0.04 / 2**k for k in range(6))
TURNS = (0.0, 0.1, 0.5)  # in a soft period
RATIO = 1e6  # of the stiffnesses
COUNTS = (32, 64, 128, 256, 512)
LOWEST, HIGHEST = 1e-10, 0.1  # errors between which an order shows
WITHIN = 0.3  # of 4
COARSE = 10.0  # h omega, from which on steps are what exponential methods are made for
SAME = 3.0  # times the error at the smallest omega: a constant that does not depend on it

NOTES = f"""\
Errors are maximum norms of positions and velocities at the end, against SciPy's DOP853. Orders are
slopes of log error over log step, fitted where {LOWEST:g} < error < {HIGHEST:g}.

The theorem: where the solution is smooth, its derivatives bounded whatever the stiffness, the error
is at most C h^4, and C does not depend on the stiffness. So the rule is: at omega = {OMEGAS[0]:g}
the order is within {WITHIN:g} of 4 or above, and at no step is the error of a stiffer chain more
than {SAME:g} times that at omega = {OMEGAS[0]:g}. A smooth solution is one on which the stiff
springs follow the soft ones: x1 = (g1 - x1'') / omega^2, put into itself twice, is where they
start. (Before, the rule also asked for a slope of 4 at every omega, and judged the paper's own
start, on which the stiff springs swing: its derivatives grow with omega, and the theorem does not
speak of it. That start keeps rows of its own, and so does what a turning body makes of the order.)

Chain: T = {{duration:g}} s. Body: 16 particles, stiff springs {RATIO:g} times as stiff as the soft
ones ({{rad:.0f}} rad in the soft period that is run), 10 % of the vibration in them; it turns by so
many turns in that time, balanced by a pull to the axis.

{{table}}"""

Found = dict[str, list[Record]]


def run(bench: Bench) -> Report:
    """Slopes of every method on every chain and body."""
    omegas, turns = (OMEGAS[:2], TURNS[:2]) if bench.quick else (OMEGAS, TURNS)
    duration = 1.0 if bench.quick else DURATION
    body = Member(ratio=1e4 if bench.quick else RATIO, share=0.1)
    plan = {_name(w, k): (_chain(w, k, duration), STEPS) for k in KINDS for w in omegas}
    found = {name: _errors(bench, name, *given) for name, given in plan.items()}
    steps = [2.0 * pi / n for n in COUNTS]
    bodies = {f"{t:g} turns": build(body.but(rotation=t)) for t in turns}
    turned = {name: _errors(bench, name, scene, steps) for name, scene in bodies.items()}
    rad = 2.0 * pi * (2.0 * body.ratio) ** 0.5
    return Report(
        title="Orders over stiffness and rotation",
        source="Luan & Michels 2021, Theorem 3.1",
        figure=_figure(found, turned),
        claims=[*(c for kind in KINDS for c in _uniform(found, omegas, kind)), *_turning(turned)],
        notes=NOTES.format(duration=duration, rad=rad, table=_table({**found, **turned})),
        reduced="omega up to 100, T = 1 s, a softer body." if bench.quick else "",
        data={k: [asdict(r) for r in v] for k, v in {**found, **turned}.items()},
    )


SMOOTH, KINDS = "follow", ("follow", "swing")
WINDOW, DEGREE = 0.2, 12  # [s]; of the polynomials by which slow motion is differentiated


def _name(omega: float, kind: str) -> str:
    return f"omega = {omega:g}, stiff springs {kind}"


def _chain(omega: float, kind: str, duration: float) -> Scene:
    scene = replace(scenes.load("fput", omega=omega), duration=duration)
    return following(scene, omega) if kind == SMOOTH else scene


def following(scene: Scene, omega: float) -> Scene:
    """The chain with stiff springs that start where the soft ones lead them, up to terms of
    omega^-6: nothing of it swings with omega."""
    f, u = first_order(*scene.system.bind(scene.x0, scene.v0))
    m = len(scene.x0) // 2

    def forces(soft: Array, stiff: Array) -> tuple[Array, Array]:
        """On the soft springs, and on the stiff ones without their own."""
        both = f(0.0, np.concatenate((soft, stiff, np.zeros(2 * m))))[2 * m :]
        return both[:m], both[m:] + omega**2 * stiff

    def led(t: float, w: Array) -> Array:
        stiff = forces(w[:m], np.zeros(m))[1] / omega**2
        return np.concatenate((w[m:], forces(w[:m], stiff)[0]))

    times = np.linspace(-WINDOW, WINDOW, 4 * DEGREE + 1)
    start = np.concatenate((u[:m], u[2 * m : 3 * m]))
    halves = [
        solve_ivp(led, (0.0, part[-1]), start, "DOP853", part, rtol=1e-12, atol=1e-14).y[:m].T
        for part in (times[2 * DEGREE :: -1], times[2 * DEGREE :])
    ]
    soft = np.vstack((halves[0][:0:-1], halves[1]))
    stiff = np.zeros_like(soft)
    for _ in range(2):
        bent = np.stack([p.deriv(2)(times) for p in _fitted(times, stiff)], axis=1)
        pull = np.array([forces(a, b)[1] for a, b in zip(soft, stiff, strict=True)])
        stiff = (pull - bent) / omega**2
    ends = _fitted(times, stiff)
    x0, v0 = np.array(scene.x0), np.array(scene.v0)
    x0[m:], v0[m:] = [p(0.0) for p in ends], [p.deriv()(0.0) for p in ends]
    return replace(scene, x0=x0, v0=v0)


def _fitted(times: Array, series: Array) -> list[Polynomial]:
    return [Polynomial.fit(times, column, DEGREE) for column in series.T]


def _errors(bench: Bench, label: str, scene: Scene, steps: Any) -> list[Record]:
    methods = [IntegratorMethod(name) for name in METHODS]
    return work_precision(
        scene, methods, steps, reference=reference(scene), bench=bench, label=label
    )


def _orders(records: list[Record]) -> dict[str, float]:
    return slopes(records, smallest=LOWEST, largest=HIGHEST)


def _times(records: list[Record], others: list[Record], method: str, base: str) -> float:
    """Median ratio, over the steps, of a method's errors to those of another (run)."""
    theirs = {r.step: r.error for r in of_method(others, base)}
    pairs = [(r.error, theirs.get(r.step)) for r in of_method(records, method)]
    ratios = [a / b for a, b in pairs if a and b]
    return float(np.median(ratios)) if ratios else float("nan")


HOLDS = "what the theorem takes as bounded, the derivatives of the solution, is bounded"
GROW = "where stiff springs swing the derivatives of the solution grow with omega"
LESS = "errors of stiffer chains are larger than the bound at omega = 10 allows"


def _uniform(found: Found, omegas: tuple[float, ...], kind: str) -> list[Claim]:
    """The theorem's, and what becomes of it on the paper's own start, which is not counted."""
    smooth = kind == SMOOTH
    own = {w: found[_name(w, kind)] for w in omegas}
    orders = {w: _orders(records) for w, records in own.items()}
    claims = []
    for method in PAPERS:
        slope = [orders[w].get(method, float("nan")) for w in omegas]
        grown = [_above(own[w], own[omegas[0]], method) for w in omegas[1:]]
        said = ", ".join(f"{s:.2f} at {w:g}" for s, w in zip(slope, omegas, strict=True))
        more = ", ".join(f"{g:.2g}" for g in grown)
        coarse = [r for r in own[omegas[-1]] if r.step * omegas[-1] >= COARSE]
        rough = _orders(coarse).get(method)
        measured = (
            f"orders over omega: {said}; largest error at equal steps, in the first's: {more}"
        )
        if rough is not None:
            measured += f"; order where h omega is {COARSE:g} or more {rough:.2f}"
        paper = f"{method} converges with order 4, its constants independent of the stiffness"
        paper = paper if smooth else f"(where the stiff springs swing) {paper}"
        checks = [slope[0] >= 4.0 - WITHIN, *(g <= SAME for g in grown)]
        item = THEOREM if smooth else ""
        claims.append(judged(paper, measured, checks, HOLDS, LESS if smooth else GROW, item))
    return claims


def _above(records: list[Record], first: list[Record], method: str) -> float:
    """Largest ratio, over the steps, of a method's errors to those of another chain; what is below
    rounding counts as there."""
    floor = {r.step: max(r.error or 0.0, LOWEST) for r in of_method(first, method)}
    return max((r.error or 0.0) / floor[r.step] for r in of_method(records, method))


def _turning(found: Found) -> list[Claim]:
    orders = {name: _orders(records) for name, records in found.items()}
    said = "; ".join(
        f"{name}: " + (", ".join(f"{m} {order:.2f}" for m, order in own.items()) or "none yet")
        for name, own in orders.items()
    )
    worse = {name: _times(r, r, "epirk4s3", "exprb42") for name, r in found.items()}
    return [
        judged(
            "(not in the papers) the methods of order 4 have it on a stiff body that turns",
            said,
            [abs(order - 4.0) <= WITHIN for own in orders.values() for order in own.values()],
            "the steps resolve the rotation",
            "stiff springs turn, with the body or by its vibration: what is linear at the start of "
            "a step is not at its end",
            "",
        ),
        judged(
            "(not in the papers) epirk4s3 is as accurate as exprb42 there",
            "its error, in exprb42's: " + ", ".join(f"{k} {w:.3g}" for k, w in worse.items()),
            [w <= SAME for w in worse.values()],
            "the weights of its nodes do not matter",
            "its nodes 1/8 and 1/9 lie close together: weights of 1e3 and more magnify the "
            "remainder that a rotation leaves",
            "",
        ),
    ]


def _table(found: Found) -> str:
    lines = []
    for name, records in found.items():
        orders = _orders(records)
        errors = [" ".join(f"{r.error:.1e}" for r in of_method(records, m)) for m in METHODS]
        for method, own in zip(METHODS, errors, strict=True):
            lines.append((name, method, f"{orders.get(method, np.nan):.2f}", own))
    return table("problem | method | order | errors, largest step first", lines)


def _figure(found: Found, turned: Found) -> Any:
    count = len(found) // len(KINDS)
    title = "Error over step: chains (above: stiff springs follow, middle: swing), a turning body"
    figure, axes = figures.panels(count, title, rows=3)
    places = [*axes[0], *axes[1], *axes[2][: len(turned)]]
    for axis, (name, records) in zip(places, {**found, **turned}.items(), strict=True):
        for method in METHODS:
            own = of_method(records, method)
            color, marker = figures.rosenbrock(method)
            line = [r.error for r in own]
            axis.loglog([r.step for r in own], line, color=color, marker=marker, label=method)
        h = np.array([r.step for r in of_method(records, METHODS[0])])
        if len(h):
            error = of_method(records, METHODS[0])[-1].error or 1.0
            axis.loglog(h, error * (h / h[-1]) ** 4, "--", color="#999999", label="slope 4")
        axis.set_xticks(h, [f"{step:.2g}" for step in h], fontsize=8)
        axis.set_xticks([], minor=True)
        axis.set_title(name, fontsize=10)
        axis.set_ylabel("error at the end")
        figures.finish(axis, "step h [s]")
    return figure
