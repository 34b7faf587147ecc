"""Figures in motion, a minute of the coil, orders over stiffness: readings, rules, quick runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from stiffly import scenes
from stiffly_lab import EXPERIMENTS, Bench, coil_minute, order_stiffness, stable_figures
from stiffly_lab.harness import Record, first_order
from stiffly_lab.modes import fastest, modes_of
from stiffly_lab.report import NOT_REPRODUCED, PARTLY, REPRODUCED, UNTESTED
from stiffly_lab.stable_figures import EULER, FIGURES, OURS, SAID, TEN, whole_and_rest
from stiffly_lab.step_by_step import Album

NAMES = ("coil-minute", "order-stiffness", "stable-figures")
PICTURES = {p.name: p for p in FIGURES}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_item_has_claims_with_reasons(name, tmp_path):
    found = EXPERIMENTS[name].run(Bench(quick=True))
    assert {c.item for c in found.claims} - {""} == set(EXPERIMENTS[name].items)
    assert all(c.why and c.measured for c in found.claims)
    assert found.reduced.startswith("--quick: ")
    assert all(path.exists() for path in found.save(tmp_path, quick=True))


# ------------------------------------------------------------------ what is looked at


@pytest.fixture(scope="module")
def bunny():
    return scenes.load("swinging-bunny", vertices=150)


def turned(x, degrees, axis=2):
    """About a coordinate axis through the origin."""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    i, j = [k for k in range(3) if k != axis]
    y = x.copy()
    y[:, i], y[:, j] = c * x[:, i] - s * x[:, j], s * x[:, i] + c * x[:, j]
    return y


def test_a_rigid_motion_is_whole_and_a_stretch_is_the_rest(bunny):
    mass = bunny.system.particle_mass
    x = bunny.x0
    v = np.cross([0.3, -1.0, 2.0], x) + np.array([1.0, 2.0, 3.0])
    kinetic = 0.5 * mass @ (v**2).sum(axis=1)
    found = whole_and_rest(bunny, x, v)
    assert found["whole"] == pytest.approx(kinetic)
    assert found["rest"] == pytest.approx(0.0, abs=1e-9 * kinetic)
    stretch = x - mass @ x / mass.sum()  # away from the centre: no momentum and no spin
    found = whole_and_rest(bunny, x, stretch)
    assert found["whole"] == pytest.approx(0.0, abs=1e-9 * found["rest"])


def test_the_swing_is_the_angle_about_the_ears(bunny):
    look = PICTURES["Fig. 9"].measure(bunny)
    start = look(bunny.x0, 0.0 * bunny.x0)["angle"]
    back = look(turned(bunny.x0, -start, axis=1), 0.0 * bunny.x0)["angle"]
    other = look(turned(bunny.x0, start, axis=1), 0.0 * bunny.x0)["angle"]
    assert min(abs(back), abs(other)) == pytest.approx(0.0, abs=1e-6)
    assert max(abs(back), abs(other)) == pytest.approx(2.0 * abs(start))


def test_a_bunny_that_slides_and_turns_as_one_keeps_its_ears():
    scene = scenes.load("sliding-bunny", vertices=150)
    look = PICTURES["Fig. 14"].measure(scene)
    seen = look(turned(scene.x0, 25.0) + np.array([7.0, -3.0, 0.0]), scene.v0)
    assert seen["turn"] == pytest.approx(25.0) and seen["speed"] == pytest.approx(4.0)
    assert seen["ears"] == pytest.approx(0.0, abs=1e-12)


def test_zigzag_is_four_times_the_amplitude_and_none_of_a_steady_motion():
    scene = stable_figures.soft_dragon(1500)
    look = PICTURES["Fig. 16"].measure(scene)
    shift = np.array([0.0, 0.003, 0.004])
    for n in range(4):
        seen = look(scene.x0 + (-1) ** n * shift + n * 0.1, scene.x0)
    assert seen["horns"] == pytest.approx(4 * 0.005) and seen["body"] == pytest.approx(4 * 0.005)


def test_depth_and_heights_of_what_falls():
    scene = scenes.load("falling-cube", cells=1)
    fall = PICTURES["Fig. 15"].measure(scene)
    assert fall(scene.x0, scene.x0)["height"] == pytest.approx(1.0)
    assert fall(scene.x0 - [0.0, 0.0, 0.08], scene.x0)["height"] == pytest.approx(0.0)
    depth = PICTURES["Fig. 13"].measure(scene)
    assert depth(scene.x0, scene.x0)["depth"] == 0.0
    ball = scene.colliders[0]
    inside = scene.x0.copy()
    inside[0] = ball.centre + np.array([0.0, 0.0, 0.8 * ball.radius])
    assert depth(inside, scene.x0)["depth"] == pytest.approx(0.2)


def test_albums_keep_the_frames_asked_for():
    album = Album(lambda x, v: {"z": x[0, 2]}, [0, 10], every=5)
    x = np.array([[1.0, 2.0, 3.0]])
    assert [album(x + n, x)["z"] for n in range(3)] == [3.0, 4.0, 5.0]
    assert list(album.pages) == ["0", "10"] and album.pages["10"].tolist() == [[3.0, 5.0]]


# ------------------------------------------------------------------ rules


def test_every_claim_has_its_words_and_every_figure_its_claims():
    assert {p.item.partition(", ")[2] for p in FIGURES} == set(SAID)
    assert {p.item for p in FIGURES} == set(EXPERIMENTS["stable-figures"].items)


def swings(kept, frames=250, vertices=300):
    """A row that comes back to a share `kept` of where it was, bounce after bounce of 61 frames."""
    t = np.arange(frames + 1)
    fall = 0.5 * (np.cos(2 * np.pi * t / 61) - 1.0)
    return {"height": -1.0 + (1.0 + fall) * kept ** (t / 61), "vertices": vertices}


def test_the_bar_is_judged_by_where_it_returns_to():
    bar = replace(PICTURES["Fig. 8"], printed=290)
    frames, ours, euler = stable_figures._claims(bar, {OURS: swings(1.0), EULER: swings(0.8)})
    assert [c.verdict for c in (frames, ours, euler)] == [REPRODUCED] * 3
    rows = {OURS: swings(0.8), EULER: swings(1.0)}
    _, ours, euler = stable_figures._claims(bar, rows)
    assert (ours.verdict, euler.verdict) == (NOT_REPRODUCED, NOT_REPRODUCED)
    small = {OURS: swings(1.0, vertices=100), EULER: swings(0.8, vertices=100)}
    found = stable_figures._claims(bar, small)
    assert {c.verdict for c in found} == {PARTLY}
    assert all(c.why.endswith("capped: 100 of 290 vertices") for c in found)


def test_a_cube_bounces_as_high_as_it_rises_after_its_lowest_point():
    t = np.arange(51.0)
    ours = 1.0 - 2.0 * np.sin(np.pi * t / 36) ** 2  # lowest at 18, back at 36
    euler = np.where(t < 18, ours, 0.6 * ours - 0.4)
    cube = PICTURES["Fig. 15"].judge({OURS: {"height": ours}, EULER: {"height": euler}})
    assert [checks for _, checks in cube] == [[True], [True]]
    assert "ours 1.00, lowest at frame 18, highest at 36" in cube[0][0]


# ------------------------------------------------------------------ the coil, and orders


def test_the_fastest_mode_is_that_of_the_eigenbasis():
    scene = scenes.load("coil-spring", vertices=320)
    assert fastest(scene) == pytest.approx(modes_of(scene).omega[-1], rel=1e-9)


def coil_row(method, numerical, failure=None):
    return {"method": method, "step": 0.05, "numerical": numerical, "failure": failure}


def test_losses_are_shares_of_the_swing():
    quiet = [1e-3] * 9
    rows = [coil_row(name, quiet) for name in ("exprb42", "pexprb43")]
    rows += [coil_row("rk4", [0.0, -0.5]), coil_row("rk4", [0.0], "diverged")]
    rows += [coil_row("bdf1", [0.0, -4.4])]
    first, second, rk4, bdf1 = coil_minute._energy(rows, swing=10.0)
    assert first.verdict == second.verdict == REPRODUCED
    assert rk4.verdict == NOT_REPRODUCED and "5.00%; h = 0.05 s: diverged" in rk4.measured
    assert bdf1.verdict == REPRODUCED and "44.00%" in bdf1.measured
    more = coil_minute._energy([*rows[:-1], coil_row("bdf1", [0.0, -6.4])], swing=10.0)[3]
    less = coil_minute._energy([*rows[:-1], coil_row("bdf1", [0.0, -2.9])], swing=10.0)[3]
    assert (more.verdict, less.verdict) == (REPRODUCED, NOT_REPRODUCED)
    # half of what is left after a minute, in the logarithm: half of the step
    falls = coil_row("bdf1", [0.0, -10.0 * (1.0 - 0.6**2)])
    assert coil_minute._losing(falls, swing=10.0) == pytest.approx(0.025)
    growing = [coil_row("exprb42", [1e-3] * 6 + [5e-3] * 3)]
    assert coil_minute._energy([*growing, *rows[1:]], swing=10.0)[0].verdict == PARTLY


def test_papers_have_their_own_nodes():
    claims = coil_minute._accuracy(
        [
            {"method": m, "error": 0.012, "failure": None, "times": [60.0]}
            for m in coil_minute.ERRORS
        ]
    )
    assert [c.verdict for c in claims] == [REPRODUCED] * 3
    assert [coil_minute._belongs(c, coil_minute.ITEMS[0]) for c in claims] == [True, False, True]
    assert [coil_minute._belongs(c, coil_minute.ITEMS[1]) for c in claims] == [True, True, False]


def records(order, size):
    return [
        Record(m, h, error=size * h**order)
        for m in order_stiffness.METHODS
        for h in (0.1, 0.2, 0.4)
    ]


def test_constants_that_grow_are_not_independent_of_the_stiffness():
    name, kind = order_stiffness._name, order_stiffness.SMOOTH
    found = {name(10.0, kind): records(4.0, 1.0), name(100.0, kind): records(5.0, 2.0)}
    uniform = order_stiffness._uniform(found, (10.0, 100.0), kind)
    assert {c.verdict for c in uniform} == {REPRODUCED}  # a bound: less is allowed, at any slope
    assert {c.item for c in uniform} == {order_stiffness.THEOREM}
    found[name(100.0, kind)] = records(2.0, 1.0)
    worse = order_stiffness._uniform(found, (10.0, 100.0), kind)[0]
    assert worse.verdict == PARTLY and "2.00 at 100" in worse.measured
    found = {name(w, "swing"): records(4.0, 1.0) for w in (10.0, 100.0)}
    assert {c.item for c in order_stiffness._uniform(found, (10.0, 100.0), "swing")} == {""}


@pytest.mark.parametrize("omega", [50.0, 300.0])
def test_stiff_springs_that_follow_do_not_swing(omega):
    """Their acceleration is that of the slow motion; on the paper's start it grows with omega."""
    scene = scenes.load("fput", omega=omega)
    largest = []
    for start in (scene, order_stiffness.following(scene, omega)):
        assert np.array_equal(start.x0[:3], scene.x0[:3])  # the soft springs start as they did
        f, u = first_order(*start.system.bind(start.x0, start.v0))
        path = solve_ivp(f, (0.0, 1.0), u, "DOP853", rtol=1e-10, atol=1e-13, max_step=0.1 / omega)
        bent = np.array([f(0.0, w)[9:] for w in path.y.T])
        largest.append(np.abs(bent).max())
    assert largest[0] > 0.5 * omega and largest[1] < 40.0 / omega**2


def test_a_bunny_swings_on_where_it_follows_the_accurate_motion():
    swing = np.cos(np.arange(146) * 2.0 * np.pi / 57)
    fades = {OURS: 0.72, EULER: 0.1, "accurate": 0.75, TEN: 0.3}
    rows = {
        k: {"angle": 50.0 * swing * kept ** (np.arange(146) / 130)} for k, kept in fades.items()
    }
    rulings = PICTURES["Fig. 9"].judge(rows)
    assert [checks for _, checks in rulings] == [[True], [True], [False]]


def test_reduced_runs_say_nothing_of_the_coil():
    assert all(
        c.verdict == UNTESTED for c in EXPERIMENTS["coil-minute"].run(Bench(quick=True)).claims
    )
