"""Experiments on Michels, Sobottka & Weber 2014, Fig. 23, in their quick variants."""

from __future__ import annotations

import numpy as np
import pytest
from thinned import thinned

from stiffly import scenes
from stiffly_lab import dragon_size, rope_cost, tori_bounce
from stiffly_lab.bench import Bench
from stiffly_lab.registry import EXPERIMENTS
from stiffly_lab.report import NOT_REPRODUCED, REPRODUCED
from stiffly_lab.rope_cost import ANY, BAND, FAST, FINER, LADDER, STILL, accurate, cheapest

NAMES = ("molecule-energy", "tori-bounce", "dragon-size", "rope-cost", "sphere-bounce")


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Every experiment runs once, when first asked for, and is written and read as users do."""
    folder, known = tmp_path_factory.mktemp("lab"), {}

    def report(name):
        if name not in known:
            known[name] = EXPERIMENTS[name].run(Bench(quick=True))
            known[name].save(folder, quick=True)
        return known[name]

    with pytest.MonkeyPatch.context() as patch:
        # half the swing: half the steps of every method
        patch.setattr(rope_cost, "DURATION", 0.5)
        yield report


@pytest.mark.parametrize("name", thinned(NAMES))
def test_every_item_has_a_verdict_and_the_cuts_are_told(reports, name):
    found = reports(name)
    assert {c.item for c in found.claims if c.item} == set(EXPERIMENTS[name].items)
    assert all(c.verdict and c.measured and c.why for c in found.claims)
    assert found.name == name and found.reduced.startswith("--quick: ")


# ------------------------------------------------------------------ dragon


def test_exponents_are_slopes():
    rows = [{"method": "m", "particles": n, "seconds": 3.0 * n**1.5, "none": 0} for n in (1, 4, 9)]
    assert dragon_size.exponent(rows, "m", "seconds") == pytest.approx(1.5)
    assert dragon_size.exponent(rows, "m", "none") is None


@pytest.mark.slow
def test_dragon_takes_as_many_products_at_any_size(reports):
    """Work is springs times products: it grows as the springs do, which the mesh decides."""
    data = reports("dragon-size").data
    rows = data["rows"]
    for method in ("neti", "exprb42"):
        products = dragon_size.series(rows, method, "products")[1]
        assert products.max() < 1.1 * products.min()
        springs = dragon_size.exponent(rows, method, "springs")
        assert data["work_exponents"][method] == pytest.approx(springs, abs=0.1)
    assert all(r["failure"] is None for r in rows)
    assert {r["counts"]["force_evaluations"] for r in rows if r["method"] == "verlet"} == {51}


# ------------------------------------------------------------------ bounces


def test_bounce_is_read_from_the_heights():
    """A parabola that is reflected, and one that stays below."""
    times = np.linspace(0.0, 1.0, 1001)
    first = np.abs(0.25 - times**2) - 0.05  # below zero where |t^2 - 0.25| < 0.05
    second = 0.25 - times**2
    seen = tori_bounce.bounce({"times": times, "heights": np.stack([first, second], axis=1)})
    assert seen["touch"] == pytest.approx([np.sqrt(0.2), 0.5], abs=1e-4)
    assert seen["back"][0] == pytest.approx(np.sqrt(0.3), abs=1e-4) and seen["back"][1] is None
    assert seen["lowest"] == pytest.approx([-0.05, -0.75], abs=1e-3)


@pytest.mark.slow
def test_tori_fall_together_and_return_in_order(reports):
    found = reports("tori-bounce")
    fall = np.sqrt(2.0 * 0.3 / 9.81)
    for method in ("neti", "exprb42", "energy-momentum"):
        seen = found.data[method]
        assert seen["touch"] == pytest.approx([fall] * 3, abs=1e-4)
        assert np.all(np.diff(seen["lowest"]) < 0.0) and np.all(np.diff(seen["back"]) > 0.0)
        assert seen["energy_error"] < 0.01
    assert found.data["energy-momentum"]["energy_error"] < 1e-8  # by construction
    assert found.data["bdf1"]["energy_error"] > 0.1
    assert found.claims[0].verdict == REPRODUCED


@pytest.mark.slow
def test_sphere_bounces_on_the_papers_springs_and_not_on_a_penalty(reports):
    found = reports("sphere-bounce")
    data = found.data
    # linear between two contacts: exact up to the tolerance of the matrix functions
    assert data["exprb42, virtual springs, h = 1 ms"]["energy_error"] < 1e-5
    assert data["exprb42, virtual springs, h = 1 ms"]["apexes"][0] > 0.5
    exact = data["energy-momentum, penalty, h = 1 ms"]
    assert exact["energy_error"] < 1e-8 and min(exact["apexes"]) > 0.9
    for step in ("1", "0.1"):
        assert "diverged" in data[f"exprb42, penalty, h = {step} ms"]["failure"]
    assert max(data["bdf1, penalty, h = 1 ms"]["apexes"]) < 0.1
    by_item = {bool(claim.item): claim.verdict for claim in found.claims[2:]}
    assert found.claims[2].verdict == REPRODUCED and by_item[False] == NOT_REPRODUCED


# ------------------------------------------------------------------ molecule


def test_molecule_keeps_its_energy_and_verlet_is_of_second_order(reports):
    found = reports("molecule-energy")
    data = found.data
    assert data["neti, h = 5 fs"]["energy_error"] < 0.01
    coarse, fine = (data[f"verlet, h = {h} fs"]["energy_error"] for h in (5, 1))
    assert 12.0 < coarse / fine < 50.0  # 25
    records = {(r.method, r.step): r for r in found.records}
    assert records["verlet", 5e-3].force_evaluations == records["verlet", 5e-3].steps + 1
    assert records["neti", 5e-3].force_evaluations == 2 * records["neti", 5e-3].steps
    assert data["bdf1, h = 5 fs"]["energy_error"] > 10.0 * data["neti, h = 5 fs"]["energy_error"]


# ------------------------------------------------------------------ rope


@pytest.mark.slow
def test_rope_rows_keep_what_they_must(reports):
    rows = reports("rope-cost").data["rows"]
    assert all(row["failure"] is None for row in rows)
    for row in rows:
        assert row["largest"] <= row["strain"]
        assert abs(row["lost"]) <= BAND or row["method"] == ANY
    exact = [row for row in rows if row["method"] == "energy-momentum"]
    assert all(abs(row["lost"]) < 1e-8 for row in exact)
    assert len({row["setting"] for row in rows if row["method"] == FAST}) == 1  # at any strain


@pytest.mark.slow
def test_verlets_step_on_the_rope_is_the_largest_stable_one(reports):
    """omega < 2 sqrt(k/m) on a chain, h < 2/omega."""
    rows = [r for r in reports("rope-cost").data["rows"] if r["method"] == "verlet"]
    for row in rows:
        scene = scenes.load("rope", particles=row["particles"], strain=row["strain"])
        links, mass = row["particles"] - 1, 1.0 / row["particles"]
        stiffness = 3.0 * 9.81 * links / row["strain"]
        assert len(scene.x0) == links + 1
        limit = 1.0 / np.sqrt(stiffness / mass)
        assert row["setting"] == max(h for h in [*LADDER, *FINER] if h < limit)


def test_speedup_is_of_the_better_exponential_method():
    def row(method, seconds, failure=None):
        known = {"particles": 5, "strain": 0.1, "method": method, "failure": failure}
        counts = {"steps": 1, "operator_products": 1}
        return {**known, "seconds": seconds, "counts": counts, "iterations": 1}

    rows = [row("neti", 4.0), row("exprb42", 2.0), row(FAST, 6.0), row("verlet", 1.0, "exploded")]
    assert rope_cost.speedup(rows, (5, 0.1), FAST) == pytest.approx(3.0)
    assert rope_cost.speedup(rows, (5, 0.1), "verlet") is None
    assert rope_cost.speedup(rows, (6, 0.1), FAST) is None
    rows.append(row(STILL, 0.1))
    assert rope_cost.speedup(rows, (5, 0.1), FAST, STILL) == pytest.approx(60.0)
    # fast enough where nothing swings, and not where it does: half a claim
    claim, other = rope_cost._claims(rows, rope_cost.SIZE, [(5, 0.1)])
    assert claim.verdict == "partly" and "swings: 5 particles: 3;" in claim.measured
    assert other.measured.endswith("exprb42 (2 s)")  # the row that does not swing is no rival


def test_the_rope_of_table_ii_is_exact_and_does_not_swing():
    scene = scenes.load("rope", particles=10, strain=1e-2, duration=rope_cost.DURATION)
    swings = accurate(scene)
    row = cheapest(scene, swings, STILL)
    assert row["failure"] is None and row["setting"] == LADDER[0] and abs(row["lost"]) < 1e-9
    assert row["largest"] < 1e-2 and row["error_mm"] > 100.0
