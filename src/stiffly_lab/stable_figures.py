"""The stabilised method in motion: Dinev, Liu & Kavan (2018), Figs. 8, 9 and 11 to 16.

A figure is a scene, the runs that it shows, what is measured in every frame, and the paper's claims
with the rules that decide them: FIGURES, below the measures and the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from stiffly import scenes
from stiffly.bodies import Gravity, System, Tetrahedra, lumped_mass
from stiffly.contracts import Array
from stiffly.integrators import Bdf2, LocalGlobal, Midpoint, Stabilised
from stiffly.scenes import Scene

from . import figures, report
from .bench import Bench, Row
from .report import Claim, Report, judged
from .step_by_step import Album, Look, a_step, spin, watched

OURS, EULER, SECOND = "ours", "backward Euler", "BDF2"
TEN = "ours, plain iterations"  # ten of local/global, as in the paper
QUICK = "ours, accelerated iterations"
BETTER_SOLVED = Midpoint(solver=LocalGlobal(accelerate=True))
NEWTON, FAST, PLAIN = (
    Stabilised(base, spin=False) for base in ("midpoint", BETTER_SOLVED, "projective-midpoint")
)
LOOSE = 0.5  # the epsilon of Fig. 12
BACK = 0.05  # of the stroke: back where it started
SWINGS, DIES = 0.8, 0.5  # of the first swing
KEPT, GONE = 0.5, 0.1  # of the kinetic energy of the first frames
BOUNCES = 0.9  # of the height it fell from
STEADY = 0.02  # of the largest kinetic energy: the paper's 1 %, up and down
UNSTABLE = 0.5  # of it, as in stabiliser_page.py
DEEP = 0.1  # of a ball's radius
SLIDES, STOPS, TURNS = 0.99, 0.5, 10.0  # of the speed at the start; degrees
EARS = 2.0  # times as far as without friction
SLOWER, TREMBLES = 0.9, 2.0  # times the motion with epsilon = 0.01
ZIGZAG = 2.0  # times that of the accurate motion
ENOUGH = 0.75  # of the paper's vertices: solid where its cubes and bars are hollow
LINES = (figures.BLUE, figures.RED, figures.ORANGE, figures.INK)

NOTES = f"""\
"Ours" is the paper's algorithm, without the correction of spin that ours has; solved by Newton's
method for the bar, the cubes and the hippo, by ten accelerated local/global iterations (Liu,
Bouaziz & Kavan 2017) for all others. The paper's plain ten have runs and claims of their own, which
are not counted as its figures: as in `spinning-cube`, what they leave unsolved is told apart. (That
was decided after the first runs, with plain iterations; that the hippo is solved, after runs with
accelerated ones.) Rivals take plain ones, too. Every scene has the paper's step, and the size that
Table 1 prints, as far as the stand-in meshes meet it; the accurate bunny of Fig. 9 has 8,000
vertices, and the plain runs of Figs. 9 and 14, which are not counted, are smaller still. Materials
and starts, which the paper does not print, are in the scenes.

Decided before the runs. Fig. 8: back means within {BACK:.0%} of the stroke; lowest and highest
frames agree within 2. Fig. 9: in the last half swing it has {SWINGS:g} of the angle that the
accurate motion has left, and with backward Euler less than {DIES:g} of its first angle. (Before,
{SWINGS:g} of the first angle was asked, which the paper does not say and the accurate motion does
not keep: part of the swing goes into stretching ears.) Fig. 11: kept is {KEPT:g} of the kinetic
energy of the first 46 frames in the last 46, damped out below {GONE:g}. Fig. 12: the motion as a
whole, its kinetic energy, is less than {SLOWER:g} times, the rest more than {TREMBLES:g} times that
with epsilon = 0.01, in the second half. The paper does not say of what; it shows that it happens.
It does to the cube of Fig. 5 at 10 rad/s with the paper's plain ten iterations, the sixth case
tried; not to the bunny of Fig. 9, which is counted, too, to the bar, the dog, the cube at 20 rad/s
(the whole 1.1, the rest 0.42 times), nor where every step is solved (cube at 10 rad/s, Newton: the
whole 1.03, the rest 1.4 times): corrections by backward and forward Euler
that alternate need steps that are left unsolved.
Fig. 13: invented below {STEADY:.0%} of the largest kinetic energy, no vertex deeper in a ball than
{DEEP:g} of its radius; midpoint fails where it invents {UNSTABLE:g} of that energy.
(70 frames. Run on to 100, the solved method stays within 9.7 % of a radius and 1.1 % of the energy;
accelerated iterations let a vertex in by 17.7 %.)
Fig. 14: {SLIDES:g} of the speed left, or less than {STOPS:g} of it, a turn by {TURNS:g} degrees,
ears that move {EARS:g} times as far against the body. Fig. 15: {BOUNCES:g} of the height regained,
with backward Euler less than {DIES:g}. Fig. 16: from frame to frame the horns' tips zigzag (second
differences, root mean square) {ZIGZAG:g} times as much as in an accurate run, and by a larger
factor than the rest of the body. Frames that the scenes' materials were fitted to are not judged.

{{table}}"""


class Shown(NamedTuple):
    """A run of a figure; given: parameters of its scene; parts: steps in a frame."""

    method: Any
    given: Mapping[str, Any] = {}
    parts: int = 1


@dataclass(frozen=True)
class Picture:
    """build(**given) -> Scene; quick: given and frames of the reduced variant; pages: frames drawn;
    measure(scene) -> what is looked at; drawn: the series of the diagram; printed: the paper's
    vertices, 0 where it prints none; free: no gravity."""

    name: str
    build: Callable[..., Scene]
    quick: tuple[Mapping[str, Any], int]
    frames: int
    pages: tuple[int, ...]
    shown: Mapping[str, Shown]
    measure: Callable[[Scene], Look]
    drawn: tuple[str, str]
    judge: Callable[[Row], list[Ruling]]
    printed: int = 0
    free: bool = False

    @property
    def item(self) -> str:
        return f"Dinev 2018, {self.name.partition(',')[0]}"


def run(bench: Bench) -> Report:
    """Every figure's runs, frame by frame."""
    bench.plan(sum(len(p.shown) for p in FIGURES))
    rows = {p.name: {label: _row(bench, p, label) for label in p.shown} for p in FIGURES}
    claims = [claim for p in FIGURES for claim in _claims(p, rows[p.name])]
    if bench.quick:
        claims = [report.untested(claim, "too small and too short to tell") for claim in claims]
    return Report(
        title="The stabilised method in motion",
        source="Dinev, Liu & Kavan 2018, Secs. 5 and 6, Figs. 8, 9, 11-16",
        figure=_figure(rows),
        claims=claims,
        notes=NOTES.format(table=_table(rows)),
        reduced="small bodies, fewer frames." if bench.quick else "",
        data={"rows": {name: report.without("pages", found) for name, found in rows.items()}},
    )


def _row(bench: Bench, picture: Picture, label: str) -> Row:
    shown = picture.shown[label]
    small, few = picture.quick
    frames = few if bench.quick else picture.frames

    def job() -> Row:
        scene = picture.build(**{**shown.given, **(small if bench.quick else {})})
        album = Album(picture.measure(scene), picture.pages)
        height = np.ptp(scene.x0[:, 2])
        weight = None if picture.free else 9.81 * scene.system.particle_mass.sum() * height
        row = watched(scene, shown.method, frames * shown.parts, step=scene.step / shown.parts,
                      every=shown.parts, look=album, scale=weight)  # fmt: skip
        return {"vertices": len(scene.x0), "pages": album.pages, **row}

    return bench.row(f"{picture.name}: {label}", job)


# ------------------------------------------------------------------ what is looked at


def _centre(scene: Scene) -> Callable[[Array], Array]:
    mass = scene.system.particle_mass
    return lambda x: mass @ x / mass.sum()


def _tip(scene: Scene) -> Look:
    """Height [m] of the bar's lower end above where it starts."""
    assert scene.mesh is not None
    end = scene.mesh.vertex_sets["right"]
    start = scene.x0[end, 2].mean()
    return lambda x, v: {"height": float(x[end, 2].mean() - start)}


def _swing(scene: Scene) -> Look:
    """Angle [degrees] of the centre of mass about the ears, from straight down."""
    centre = _centre(scene)

    def look(x: Array, v: Array) -> dict[str, float]:
        c = centre(x)
        return {"angle": float(np.degrees(np.arctan2(c[0], -c[2]))), **whole_and_rest(scene, x, v)}

    return look


def whole_and_rest(scene: Scene, x: Array, v: Array) -> dict[str, float]:
    """Kinetic energy [J] of the body as if it were rigid, and what it has beyond that."""
    mass = scene.system.particle_mass
    momentum, turning = mass @ v, spin(x, v, mass)
    arm = x - mass @ x / mass.sum()
    inertia = np.einsum("i,ij,ij->", mass, arm, arm) * np.eye(3) - (arm.T * mass) @ arm
    whole = momentum @ momentum / mass.sum() + turning @ np.linalg.solve(inertia, turning)
    return {"whole": 0.5 * float(whole), "rest": 0.5 * float(mass @ (v * v).sum(axis=1) - whole)}


def _nose(scene: Scene) -> Look:
    """How far [m] the foremost twentieth of the dog is ahead of its rest."""
    assert scene.mesh is not None
    rest = scene.mesh.positions[:, 0]
    tip = np.flatnonzero(rest > rest.max() - 0.05 * np.ptp(rest))
    return lambda x, v: {"nose": float((x[tip, 0] - rest[tip]).mean())}


def _depth(scene: Scene) -> Look:
    """Of the deepest vertex in any ball, in radii; 0 outside."""
    balls = scene.colliders

    def look(x: Array, v: Array) -> dict[str, float]:
        inside = [1.0 - np.linalg.norm(x - b.centre, axis=1).min() / b.radius for b in balls]
        return {"depth": max(0.0, *map(float, inside)), "height": float(_centre(scene)(x)[2])}

    return look


def _slide(scene: Scene) -> Look:
    """Speed of the centre [m/s], the turn about the vertical [degrees], and how far [m] the ears
    are from where a stiff body would have them."""
    assert scene.mesh is not None
    centre, rest, ears = _centre(scene), scene.x0, scene.mesh.vertex_sets["top"]
    arm = rest - centre(rest)

    def look(x: Array, v: Array) -> dict[str, float]:
        now = x - centre(x)
        sine = (arm[:, 0] * now[:, 1] - arm[:, 1] * now[:, 0]).sum()
        cosine = (arm[:, :2] * now[:, :2]).sum()
        c, s = np.array([cosine, sine]) / np.hypot(cosine, sine)
        stiff = arm[ears].mean(axis=0) @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
        return {
            "speed": float(np.linalg.norm(centre(v)[:2])),
            "turn": float(np.degrees(np.arctan2(sine, cosine))),
            "ears": float(np.linalg.norm(now[ears].mean(axis=0) - stiff)),
        }

    return look


def _fall(scene: Scene) -> Look:
    """Height of the centre above where the body touches, over the height that it falls from."""
    centre = _centre(scene)
    start, drop = centre(scene.x0)[2], scene.x0[:, 2].min()  # the balls end at z = 0
    return lambda x, v: {"height": float(1.0 + (centre(x)[2] - start) / drop)}


def _zigzag(scene: Scene) -> Look:
    """Second differences [m] from frame to frame, root mean square: horns, and all that is free."""
    assert scene.mesh is not None
    horns = scene.mesh.vertex_sets["top"]
    free = np.setdiff1d(np.arange(len(scene.x0)), np.append(scene.system.fixed, horns))
    last: list[Array] = []

    def look(x: Array, v: Array) -> dict[str, float]:
        last.append(x.copy())
        bend = last[-1] - 2.0 * last[-2] + last[-3] if len(last) > 2 else np.zeros_like(x)
        del last[:-2]
        sizes = {"horns": bend[horns], "body": bend[free]}
        return {k: float(np.sqrt((b**2).sum(axis=1).mean())) for k, b in sizes.items()}

    return look


def _cube_or_bunny(scene: Scene) -> Look:
    return lambda x, v: whole_and_rest(scene, x, v)


def soft_dragon(vertices: int = 3000) -> Scene:
    """The dragon as a soft solid, 0.8 m high, that its own weight bends: feet held, undamped."""
    found = scenes.load("dragon", vertices=vertices)
    assert found.mesh is not None
    x, tets = 0.08 * found.mesh.positions, found.mesh.tets
    parts = [Tetrahedra(tets, 1e5, 0.0), Gravity()]
    system = System(lumped_mass(x, tets, 1000.0), parts, fixed=x[:, 2] < 0.04, rest=x)
    mesh = replace(found.mesh, positions=x)
    return replace(found, name="soft dragon", system=system, x0=x, mesh=mesh, step=0.033)


# ------------------------------------------------------------------ the rules

Ruling = tuple[str, list[bool]]  # of one claim: what is measured, and what has to hold


def _series(row: Row, name: str, part: slice = slice(None)) -> Array:
    return np.array(row[name], dtype=float)[part]


def _invented(row: Row, of: Row) -> float:
    """Largest energy that the method invents or loses, of the largest kinetic energy of a run."""
    return float(np.abs(_series(row, "invented")).max() / _series(of, "kinetic").max())


def _through(row: Row) -> bool:
    return row["failure"] is None and row["exploded"] is None


def _listed(found: Mapping[str, float]) -> str:
    return ", ".join(f"{label} {value:.3g}" for label, value in found.items())


def _bar(rows: Row) -> list[Ruling]:
    low, top, short = {}, {}, {}
    for label, row in rows.items():
        h = _series(row, "height")
        tops = [n - 20 + int(h[n - 20 : n + 21].argmax()) for n in range(61, len(h) - 20, 61)]
        low[label], top[label] = int(h[:50].argmin()), tops[1] if len(tops) > 1 else -1
        short[label] = [float(h[n] / h.min()) for n in tops]
    said = {k: ", ".join(f"{s:.1%}" for s in found) for k, found in short.items()}
    agree = [abs(low[k] - 30) <= 2 and abs(top[k] - 122) <= 2 for k in rows]
    return [
        (f"lowest at {_listed(low)}; second top at {_listed(top)}", agree),
        (f"short of it at the returns, of the stroke: {said[OURS]}", [max(short[OURS]) <= BACK]),
        (
            f"short of it at the returns: {said[EULER]}",
            [short[EULER][0] > BACK, bool((np.diff(short[EULER]) > 0.0).all())],
        ),
    ]


def _bunny(rows: Row) -> list[Ruling]:
    angles = {label: np.abs(_series(row, "angle")) for label, row in rows.items()}
    left = {k: a[-29:].max() / a[0] for k, a in angles.items()}  # half a swing turns once
    words = f"of {angles[OURS][0]:.0f} degrees in the last half swing: {_listed(left)}"
    plain, enough = f"{left[TEN]:.2g} of it", SWINGS * left["accurate"]
    rulings = [(words, [left[OURS] >= enough]), (words, [left[EULER] < DIES])]
    return [*rulings, (plain, [left[TEN] >= enough])]


def _dog(rows: Row) -> list[Ruling]:
    moving = {k: _series(row, "kinetic") for k, row in rows.items()}
    left = {k: m[-46:].mean() / moving[OURS][1:47].mean() for k, m in moving.items()}
    words = f"kinetic energy in the last 46 frames, of ours in the first 46: {_listed(left)}"
    return [(words, [left[OURS] >= KEPT]), (words, [left[k] < GONE for k in (SECOND, EULER)])]


def _loose(rows: Row) -> list[Ruling]:
    tight, loose = rows["0.01"], rows[f"{LOOSE}"]
    half = slice(len(tight["step"]) // 2, None)
    whole, rest = (
        _series(loose, k, half).mean() / _series(tight, k, half).mean() for k in ("whole", "rest")
    )
    error, usual = _invented(loose, tight), _invented(tight, tight)
    said = f"largest error {error:.0%} of the largest kinetic energy, {usual:.1%} with 0.01"
    return [
        (said, [_through(loose)]),
        (f"{whole:.2g} times its kinetic energy", [whole < SLOWER]),
        (f"{rest:.2g} times the kinetic energy beside the rigid motion", [rest > TREMBLES]),
    ]


def _hippo(rows: Row) -> list[Ruling]:
    ours, midpoint = rows[OURS], rows["midpoint"]
    error, other = (_invented(row, ours) for row in (ours, midpoint))
    depth, true, quick = (_series(rows[k], "depth").max() for k in (OURS, "accurate", QUICK))
    off = f"energy off by {error:.1%} of the largest kinetic energy in {ours['step'][-1]} frames"
    return [
        (off, [_through(ours) and error <= STEADY]),
        (
            f"a vertex is at most {depth:.1%} of a radius inside a ball, in the accurate run "
            f"{true:.1%}",
            [depth <= DEEP],
        ),
        (f"it invents {other:.0%}", [other > UNSTABLE or not _through(midpoint)]),
        (f"a vertex is at most {quick:.1%} of a radius inside a ball", [quick <= DEEP]),
    ]


def _sliding(rows: Row) -> list[Ruling]:
    smooth, rough, other = rows["no friction"], rows["friction 0.8"], rows[TEN]
    start, end, left = smooth["speed"][0], smooth["speed"][-1], rough["speed"][-1]
    turn = max(rough["turn"], key=abs)
    still, ears = (1e3 * _series(row, "ears").max() for row in (smooth, rough))
    kept = f"{end / start:.1%} of its speed after {smooth['step'][-1]} frames"
    plain = other["speed"][-1] / start
    return [
        (kept, [end >= SLIDES * start]),
        (f"{left:.2g} m/s left of {start:.2g} m/s", [left < STOPS * start]),
        (f"by up to {turn:.0f} degrees", [abs(turn) >= TURNS]),
        (f"{ears:.0f} mm against the body, {still:.0f} mm without friction", [ears > EARS * still]),
        (f"{plain:.1%} of its speed", [plain >= SLIDES]),
    ]


def _cube(rows: Row) -> list[Ruling]:
    back, words = {}, []
    for label, row in rows.items():
        heights = _series(row, "height", slice(0, 50))
        low = int(heights.argmin())
        back[label], top = heights[low:].max(), low + int(heights[low:].argmax())
        words.append(f"{label} {back[label]:.2f}, lowest at frame {low}, highest at {top}")
    said = f"height regained: {'; '.join(words)} (the paper's frames: 19 and 35, 17 and 30)"
    return [(said, [back[OURS] >= BOUNCES]), (said, [back[EULER] < DIES])]


def _horns(rows: Row) -> list[Ruling]:
    size = {
        k: {p: np.sqrt(np.mean(_series(row, p) ** 2)) for p in ("horns", "body")}
        for k, row in rows.items()
    }
    horns, body = (size[OURS][p] / size["accurate"][p] for p in ("horns", "body"))
    euler = size[EULER]["horns"] / size["accurate"]["horns"]
    words = f"zigzag of the horns {horns:.2g} times that of the accurate run, of the body "
    return [
        (f"{words}{body:.2g} times; backward Euler {euler:.2g}", [horns > ZIGZAG, horns > body])
    ]


# ------------------------------------------------------------------ the paper's claims

# the paper's words; why they hold; why not
SAID = {
    "Fig. 8": (
        ("both are lowest at frame 30 and highest for the second time at frame 122",
         "the material was fitted to one bounce of 61 frames; both methods keep the time",
         "the damping of backward Euler shifts its turning points"),
        ("our method restores the bar to its starting position even after multiple bounces",
         "the energy is kept, and an evenly stretching bar has nowhere else to put it",
         "the waves in the bar no longer arrive together, though the energy is kept"),
        ("with backward Euler it deviates further and further with each bounce",
         "it damps the slowest swing, too", "it does not lose more and more"),
    ),
    "Fig. 9": (
        ("with our method the bunny swings vividly on",
         "its energy is kept, and it swings as far as the accurate motion does",
         "its energy is kept, but part of the swing has become trembling"),
        ("backward Euler damps out the pendulum motion",
         "at 3 rad/s and 0.033 s it takes 0.6 % of the swing in every step",
         "it damps the swing, but half of it is left"),
        (f"({TEN}) the bunny swings on", "its energy is kept",
         "its energy is kept, but what ten iterations leave unsolved and forward Euler puts back "
         "goes into trembling, which nothing takes out again"),
    ),
    "Fig. 11": (
        ("our method keeps the face oscillations", "the energy of the pull is kept",
         "part of the energy has become strain that stays"),
        ("with BDF2 and with backward Euler all motion quickly dies away",
         "both damp what swings three times a second within some tens of steps",
         "what swings slowly outlives BDF2, whose damping falls with the fourth power of h omega"),
    ),
    "Fig. 12": (
        ("with epsilon = 0.5 the animation does not explode",
         "half of the energy is allowed, more is not", "more is invented than is allowed"),
        ("but the global motion slows", "what is lost is not put back where it was",
         "few steps are corrected at all with the loose tolerance, so that less is moved from the "
         "whole into the mesh"),
        ("and the mesh vibrates unreasonably",
         "forward Euler puts energy in where the mesh is stiffest",
         "corrections are what makes it tremble, and there are few"),
    ),
    "Fig. 13": (
        ("our method copes with collisions at h = 0.01 s: it is stable",
         "every step ends at the energy it should have",
         "ten iterations do not solve every step, and what they leave is lost"),
        ("the collisions are resolved accurately",
         "steps that are solved follow the springs of the contact as accurate ones do",
         "in one step of 0.01 s a vertex falls in by more than the springs would let it"),
        ("implicit midpoint is unstable here (Table 2)",
         "contact sets in within a step, and nothing limits the energy",
         "it is inaccurate, but stays"),
        (f"({QUICK}) the collisions are resolved accurately",
         "ten iterations are enough for these springs",
         "ten iterations leave the contact unsolved where many vertices touch at once"),
    ),
    "Fig. 14": (
        ("without friction the bunny slides along the plane indefinitely",
         "nothing pushes sideways",
         "steps that are not solved are cut short, and lose momentum"),
        ("with friction it slows down", "friction takes what the pressure allows",
         "friction acts after the step, on the light vertices that touch"),
        ("and begins rotating", "it rocks, and feet stick on one side",
         "hardly: the friction has no moment"),
        ("its ears move, pulled back by the elastic forces",
         "the base is braked, the ears are not", "they move as much without friction"),
        (f"({TEN}) without friction it slides on",
         "nothing pushes sideways",
         "contact is stiffer than the constant matrix of local/global: iterations are shortened, "
         "and a step cut short does not keep momentum"),
    ),
    "Fig. 15": (
        ("with our method the cube bounces back to the original height",
         "the energy is kept, and little of it stays in vibration",
         "the energy is kept, but part of it stays in vibration"),
        ("not so with backward Euler", "stiff springs of contact are what it damps most",
         "it damps less than that"),
    ),
    "Fig. 16": (
        ("high-frequency oscillations can occur in the horn of an undamped dragon",
         "midpoint turns what it does not resolve into swings from step to step, and the "
         "stabiliser watches only the energy",
         "the motion itself swings from frame to frame as much, in the horns and elsewhere"),
    ),
}  # fmt: skip


def _claims(picture: Picture, rows: Row) -> list[Claim]:
    """By the rules; capped where the body is smaller than the paper's."""
    body = picture.name.partition(", ")[2]
    told = f"({body}) " if body else ""
    said, size = SAID[picture.item.partition(", ")[2]], rows[next(iter(rows))]["vertices"]
    claims = [
        judged(
            told + paper,
            measured,
            checks,
            holds,
            fails,
            "" if paper[0] == "(" else picture.item,
        )
        for (paper, holds, fails), (measured, checks) in zip(said, picture.judge(rows), strict=True)
    ]
    if size > ENOUGH * picture.printed:
        return claims
    return [report.capped(c, f"{size:,} of {picture.printed:,} vertices") for c in claims]


def _looser(base: Stabilised) -> dict[str, Shown]:
    return {"0.01": Shown(base), f"{LOOSE}": Shown(replace(base, tolerance=LOOSE))}


ACCURATE = Shown("verlet", {"vertices": 8000}, parts=120)  # 0.8 of its limit
FAST_EULER, FAST_SECOND = Shown("projective"), Shown(Bdf2(solver=LocalGlobal()))
BALLS = {"vertices": 300, "contact": 3e4}
LIGHT = {"vertices": 600, "contact": 500.0}
FIGURES = (
    Picture("Fig. 8", partial(scenes.load, "bar"), ({"cells": 2}, 150), 250, (0, 30, 61, 122, 244),
            {OURS: Shown(NEWTON), EULER: Shown("bdf1")}, _tip,
            ("height", "height of the tip [m]"), _bar),
    Picture("Fig. 9", partial(scenes.load, "swinging-bunny"), ({"vertices": 600}, 145), 145,
            (0, 27, 56, 142), {OURS: Shown(FAST), EULER: FAST_EULER, "accurate": ACCURATE,
                               TEN: Shown(PLAIN, {"vertices": 2000})}, _swing,
            ("angle", "angle of the swing [degrees]"), _bunny, 34_844),
    Picture("Fig. 11", partial(scenes.load, "dog"), ({"vertices": 500}, 160), 160,
            (0, 60, 113, 159), {OURS: Shown(FAST), SECOND: FAST_SECOND, EULER: FAST_EULER}, _nose,
            ("nose", "nose ahead of its rest [m]"), _dog, 28_390, free=True),
    Picture("Fig. 12", partial(scenes.load, "spinning-cube", rate=10.0), ({"cells": 3}, 100),
            395, (1, 189, 395), _looser(PLAIN), _cube_or_bunny,
            ("rest", "kinetic energy beside the rigid motion [J]"), _loose, free=True),
    Picture("Fig. 12, bunny", partial(scenes.load, "swinging-bunny", vertices=2000),
            ({"vertices": 600}, 100), 395, (1, 189, 395), _looser(FAST), _swing,
            ("angle", "angle of the swing [degrees]"), _loose),
    Picture("Fig. 13", partial(scenes.load, "hippo"), (BALLS, 50), 70, (0, 25, 45, 70),
            {OURS: Shown(NEWTON), "midpoint": Shown("projective-midpoint"), QUICK: Shown(FAST),
             "accurate": Shown("verlet", parts=40)}, _depth,
            ("height", "height of the centre [m]"), _hippo),
    Picture("Fig. 14", partial(scenes.load, "sliding-bunny"), (LIGHT, 40), 230, (0, 80, 160, 230),
            {"no friction": Shown(FAST, {"friction": 0.0}), "friction 0.8": Shown(FAST),
             TEN: Shown(PLAIN, {"friction": 0.0, **LIGHT})}, _slide,
            ("speed", "speed [m/s]"), _sliding),
    Picture("Fig. 15", partial(scenes.load, "falling-cube"), ({"cells": 3}, 50), 50, (1, 19, 35),
            {OURS: Shown(NEWTON), EULER: Shown("bdf1")}, _fall,
            ("height", "height, of that it falls from"), _cube),
    Picture("Fig. 16", soft_dragon, ({"vertices": 1500}, 10), 100, (0, 50, 100),
            {OURS: Shown(FAST), "accurate": Shown("verlet", parts=50), EULER: FAST_EULER,
             TEN: Shown(PLAIN)}, _zigzag,
            ("horns", "zigzag of the horns' tips [m]"), _horns),
)  # fmt: skip


# ------------------------------------------------------------------ what is shown


def _table(rows: Row) -> str:
    lines = []
    for name, found in rows.items():
        for label, row in found.items():
            error = f"{_invented(row, row):.2%}"
            cost = (f"{number:.3g}" for number in a_step(row))
            stopped = row["failure"] or ""
            lines.append((name, label, f"{row['vertices']:,}", error, *cost, stopped))
    head = "figure | run | vertices | energy error, of the largest kinetic | forces a step | "
    return report.table(head + "ms a step | stopped", lines)


def _figure(rows: Row) -> Any:
    title = "Dinev, Liu & Kavan 2018, Figs. 8, 9 and 11 to 16"
    figure, axes = figures.panels(6, title, rows=3, size=4.0)
    for k, picture in enumerate(FIGURES):
        left, right = axes[k // 3, 2 * (k % 3) : 2 * (k % 3) + 2]
        series, label = picture.drawn
        _draw_pages(left, picture, rows[picture.name])
        for (name, row), color in zip(rows[picture.name].items(), LINES, strict=False):
            frames = np.array(row["step"]) / picture.shown[name].parts
            right.plot(frames, _series(row, series), color=color, linewidth=1.1, label=name)
        figures.finish(right, "frame", label)
    return figure


def _draw_pages(axis: Any, picture: Picture, rows: Row) -> None:
    """The runs below each other, their frames side by side; heights are true."""
    start = np.array(next(iter(next(iter(rows.values()))["pages"].values())))
    wide, high = 1.15 * np.ptp(start, axis=0)
    down = max(high, 1.1 * max(np.ptp(np.array(p)[:, 1]) for r in rows.values()
                               for p in r["pages"].values()))  # fmt: skip
    for k, ((name, row), color) in enumerate(zip(rows.items(), LINES, strict=False)):
        for c, dots in enumerate(map(np.array, row["pages"].values())):
            across = dots[:, 0] - np.median(dots[:, 0]) + c * wide
            axis.plot(across, dots[:, 1] - k * down, ".", markersize=0.8, color=color)
        axis.text(-0.5 * wide, start[:, 1].max() - k * down, name, color=color, fontsize=8)
    axis.set_aspect("equal")
    axis.axis("off")
    axis.set_title(f"{picture.name}: frames {', '.join(map(str, picture.pages))}", fontsize=9)
