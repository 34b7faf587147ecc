"""The lab's experiments on stability (Dinev, Liu & Kavan 2018), in their quick variants."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from thinned import thinned

from stiffly import scenes
from stiffly_lab import EXPERIMENTS, Bench, cloth, spinning_cube
from stiffly_lab.cloth import wrinkles
from stiffly_lab.measures import bound, potential
from stiffly_lab.report import NOT_REPRODUCED, PARTLY, REPRODUCED, UNTESTED
from stiffly_lab.stabiliser_page import FAST, MODELS
from stiffly_lab.stabiliser_page import report as stabiliser_report
from stiffly_lab.step_by_step import spin, watched
from stiffly_lab.trial import time_limit

NAMES = ("two-springs", "stabiliser-table", "single-spring", "spinning-cube", "cactus", "cloth")


@pytest.fixture(scope="module")
def results():
    """name -> report; every experiment runs once, when first asked for; of cubes that do not
    explode fewer steps, since what they keep they keep from the first one on."""
    known = {}

    def result(name):
        if name not in known:
            known[name] = EXPERIMENTS[name].run(Bench(quick=True))
        return known[name]

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(spinning_cube.CUBES, "fast", ({"cells": 3, "rate": 20.0}, 150, 150))
        patch.setattr(spinning_cube, "SHOWN", 150)
        yield result


@pytest.mark.parametrize("name", thinned(NAMES))
def test_every_item_has_a_claim_and_a_page(results, name):
    report = results(name)
    # claims without an item are beyond the paper's figures
    assert {claim.item for claim in report.claims} - {""} == set(EXPERIMENTS[name].items)
    assert all(claim.why and claim.measured for claim in report.claims)
    assert report.reduced.startswith("--quick: ")
    assert "nan" not in report.markdown(True)


@pytest.mark.slow
def test_the_spring_flies_off_and_the_stabilised_one_does_not(results):
    report = results("single-spring")
    rows = report.data["rows"]
    # k/2 (1.5^2 - 1)^2 + m/2 10^2
    start = 0.5 * 3.2e4 * 1.25**2 + 0.25 * 100.0
    for row in rows.values():
        if row["time_step"] == 0.033 and row["energy"][0] < 5e4:
            assert row["energy"][0] == pytest.approx(start, rel=1e-12)
            assert row["spin"][0] == pytest.approx(0.5 * 1.5 * 10.0, rel=1e-12)
    assert max(rows["midpoint, h = 0.033"]["energy"]) > 100.0 * start
    kept = np.array(rows["stabilised, h = 0.033"]["energy"])
    assert np.abs(kept / start - 1.0).max() <= 0.0101  # what the method promises
    assert all(claim.verdict == REPRODUCED for claim in report.claims)


def test_backward_euler_gains_what_the_hill_is_higher(results):
    data = results("two-springs").data
    gained = data["hill"]["energy"][1] - data["hill"]["energy"][0]
    assert gained == pytest.approx(potential(0.0, 10.0) - potential(0.9, 10.0), rel=1e-6)
    energy = np.array(data["drawn"]["energy"])
    assert energy[0] == pytest.approx(10.0 * (10.0**0.5 - 2.0**0.5) ** 2)
    assert energy.max() <= bound(energy[0], 10.0, 1.0, 0.033)
    assert (np.diff(energy) > 1e-6).any()
    assert all(found["share"] <= 1.0 for found in data["closest"].values())


@pytest.mark.slow
def test_the_cube_keeps_energy_where_midpoint_explodes(results):
    rows = results("spinning-cube").data["cubes"]["fast"]
    for name in ("midpoint", "newmark"):
        assert rows[name]["exploded"] is not None
    for name in ("stabilised", "stabilised, without spin", "realtime-midpoint"):
        energy = np.array(rows[name]["energy"])
        assert np.abs(energy / energy[0] - 1.0).max() <= 0.0101
    # midpoint keeps quadratic invariants, explosion or not; what is given back is exact too
    assert max(rows["midpoint"]["spin_error"]) < 1e-6
    assert rows["stabilised"]["spin_error"][-1] < 1e-6
    assert rows["bdf1"]["energy"][-1] < rows["bdf2"]["energy"][-1] < rows["bdf2"]["energy"][0]


@pytest.mark.slow
def test_the_cactus_recovers_its_shape_only_when_stabilised(results):
    rows = results("cactus").data["rows"]
    assert rows["stabilised:projective-midpoint"]["distance"][-1] < 0.01
    assert rows["projective-midpoint"]["distance"][-1] > 0.1


@pytest.mark.slow
def test_wrinkles_outlive_backward_euler(results):
    data = results("cloth").data
    last = {name: np.mean(row["kinetic"][-20:]) for name, row in data["shaken"].items()}
    assert last["realtime"] > last["projective-bdf2"] > last["projective"]
    lagrange = data["dropped"]["energy-lagrange"]
    assert np.abs(lagrange["invented"]).max() < 1e-6 * np.ptp(lagrange["kinetic"])


@pytest.mark.slow
def test_the_tables_count_what_they_time(results):
    models = results("stabiliser-table").data["models"]
    assert len(models) == 4
    for found in models.values():
        assert found["fast"]["projective"]["work"]["force_evaluations"] <= 10.0
        assert found["newton"]["bdf1"]["failure"] is None
        single, five = (found["substeps"][k]["forces"] for k in ("1", "5"))
        assert five <= 50.0 and single <= 10.0
        assert found["newton"]["vertices"] == found["fast"]["vertices"]
        assert found["newton"]["projective"]["frames"] == found["newton"]["bdf1"]["frames"]
    assert models["Cloth"]["fast"]["projective"]["work"]["force_evaluations"] == 10.0


@pytest.mark.slow
def test_newton_ratios_are_judged_at_the_papers_size_only(results):
    rows = copy.deepcopy(results("stabiliser-table").data["models"])
    models = [m for m in MODELS if m.name in rows]
    for m in models:  # the paper's ratios on the models, nonsense on a stand-in
        for method, ms in zip(("bdf1", "stabilised"), m.newton, strict=False):
            rows[m.name]["newton"][method] |= {"ms": ms, "failure": None}
        for method, ms in zip(("projective", FAST), m.fast, strict=False):
            rows[m.name]["newton"][method] |= {"ms": ms, "failure": None}
    rows["Cloth"]["newton"]["bdf1"]["ms"] = rows["Cloth"]["newton"]["stabilised"]["ms"] = 1e-3
    assert stabiliser_report(models, rows, "", quick=False).claims[0].verdict == "partly"
    rows["Cloth"]["newton"]["vertices"] -= 1
    judged = stabiliser_report(models, rows, "", quick=False).claims[0]
    assert judged.verdict == "reproduced" and "smaller model: Cloth" in judged.measured


@pytest.mark.parametrize(
    "name", thinned(("two-springs", "single-spring", "spinning-cube", "cactus"))
)
def test_no_claim_of_stability_fails(results, name):
    for claim in results(name).claims:
        assert claim.verdict != NOT_REPRODUCED, claim.paper


# ------------------------------------------------------------------ the tools


def test_watch_sees_an_explosion_and_goes_on():
    scene = scenes.load("single-spring")
    row = watched(scene, "midpoint", 20)
    assert row["exploded"] is not None and row["step"][-1] == 20 and row["failure"] is None
    left = watched(scene, "midpoint", 20, until=1.0)
    assert left["step"][-1] == row["exploded"] == left["exploded"]
    calm = watched(scene, "midpoint", 20, step=1e-4, every=5)
    assert calm["exploded"] is None and calm["step"] == [0, 5, 10, 15, 20]


def test_watch_stops_at_a_time_limit_and_calls_it_no_explosion(limited):
    with time_limit(0.0):
        row = watched(scenes.load("single-spring"), "stabilised", 20)
    assert row["step"] == [0] and row["exploded"] is None and "time limit" in row["failure"]


def cloth_row(waves, end=6.0):
    """As `watched` returns it: constant wrinkles and kinetic energy up to that time [s]."""
    steps = np.arange(round(end / 0.03) + 1)
    same = np.full(steps.size, waves)
    return {
        "time_step": 0.03,
        "step": steps,
        "kinetic": same,
        "wrinkles": same,
        "failure": None if end == 6.0 else "stopped: too late",
    }


def test_a_cloth_that_did_not_get_there_is_named_and_not_compared():
    first, second = cloth.RIVALS
    ours = dict.fromkeys(cloth.OURS, cloth_row(3.0))
    rows = {**ours, first: cloth_row(1.0), second: cloth_row(2.0)}
    judged = [claim.verdict for claim in cloth._wrinkles(rows)]
    assert judged == [REPRODUCED, PARTLY]  # 3 > 2 * 1, not > 2 * 2
    bent, waves = cloth._wrinkles({**rows, second: cloth_row(9.0, end=1.2)})
    assert bent.verdict == waves.verdict == REPRODUCED
    assert f"{second} none (stopped: too late, 1.2 s)" in bent.measured
    cut = {name: cloth_row(1.0, end=1.2) for name in cloth.RIVALS}
    assert cloth._wrinkles({**rows, **cut})[0].verdict == UNTESTED
    assert cloth._wrinkles({**rows, "realtime": cut[first]})[0].verdict == PARTLY


def test_spin_of_a_dumbbell():
    """Two masses on a rod that turns and flies: m r^2 w about the centre, more about a point."""
    x = np.array([[1.0, 5.0, 0.0], [-1.0, 5.0, 0.0]])
    v = np.array([[2.0, 3.0, 0.0], [2.0, -3.0, 0.0]])
    mass = np.array([2.0, 2.0])
    assert spin(x, v, mass) == pytest.approx([0.0, 0.0, 12.0])
    assert spin(x, v, mass, centre=np.zeros(3)) == pytest.approx([0.0, 0.0, 12.0 - 4.0 * 10.0])


def test_wrinkles_of_flat_and_rolled_cloth():
    side, turn = 5, 0.2
    flat = np.stack(np.meshgrid(range(side), range(side), [0.0], indexing="ij"), axis=-1)
    assert wrinkles(flat.reshape(-1, 3).astype(float), side) == pytest.approx(0.0, abs=1e-7)
    angles = turn * np.arange(side)  # threads along a cylinder turn by the same angle everywhere
    rolled = flat.reshape(side, side, 3).astype(float)
    rolled[..., 0], rolled[..., 2] = np.sin(angles)[:, None], np.cos(angles)[:, None]
    expected = turn / 2.0**0.5  # the threads along the axis are straight
    assert wrinkles(rolled.reshape(-1, 3), side) == pytest.approx(expected, rel=1e-6)
