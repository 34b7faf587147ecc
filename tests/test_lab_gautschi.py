"""The experiments on Michels, Sobottka & Weber (2014), Figs. 5, 6, 9-11 and Table II."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigvalsh
from thinned import thinned

from stiffly import scenes
from stiffly_lab import Bench, equal_error, experiment, gautschi_table, step_cost
from stiffly_lab.filters import roughness, swing
from stiffly_lab.gautschi_table import CASES
from stiffly_lab.krylov_error import Projections, dome_matrix, krylov_basis
from stiffly_lab.oscillator_pair import DETUNED
from stiffly_lab.tower_energy import decay_rate

EQUAL = gautschi_table.QUICK_EQUAL  # before `reports` leaves one


def fewer_steps(patch):
    """At most 2048: rivals give up by counted work, where the lab has a limit in seconds."""
    whole = equal_error.ladder
    patch.setattr(equal_error, "ladder", lambda problem: whole(problem)[:21])


@pytest.fixture(scope="module")
def reports():
    """Each quick variant once, whoever asks; of Table II one case at equal error, and of a step's
    price two steps, not twelve."""
    found = {}

    def get(name):
        if name not in found:
            found[name] = experiment(name).run(Bench(quick=True))
        return found[name]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gautschi_table, "QUICK_EQUAL", ("1",))
        fewer_steps(patch)
        patch.setattr(step_cost, "STEPS", 3)
        yield get


NAMES = ("krylov-error", "foil-strain")
LONGER = ("gautschi-table", "filters", "tower-energy", "oscillator-pair")


@pytest.mark.parametrize("name", thinned((*NAMES, *LONGER), keep=NAMES))
def test_every_claim_has_an_item_a_verdict_and_a_reason(reports, name):
    found = reports(name)
    items = {claim.item for claim in found.claims if claim.item}
    assert items == set(experiment(name).items)
    assert all(c.verdict and c.why and c.measured for c in found.claims)
    assert found.reduced.startswith("--quick: ")
    assert found.figure.axes


# ------------------------------------------------------------------ Fig. 5


def test_roughness_is_that_of_a_known_wiggle():
    steps = np.geomspace(1e-4, 1e-2, 400)
    smooth = 3.0 * steps**2
    assert roughness(steps, smooth) < 1e-10
    wiggle = 0.2 * np.sin(40.0 * np.log(steps))
    assert roughness(steps, smooth * 10.0**wiggle) == pytest.approx(0.2 / np.sqrt(2), rel=0.02)
    small, large = swing(steps, smooth * 10.0**wiggle)
    assert large > 10.0 * small  # a relative wiggle on h^2 over two decades


@pytest.mark.slow
def test_filtered_methods_converge_at_second_order_whatever_h_omega(reports):
    data = reports("filters").data
    steps = np.array(data["steps"])
    for name in ("garcia-archilla", "hochbruck-lubich", "grimm-hochbruck"):
        errors = np.array(data["errors"][name]["errors"])
        slope = np.polyfit(np.log(steps), np.log(errors), 1)[0]
        assert slope == pytest.approx(2.0, abs=0.2), name


# ------------------------------------------------------------------ Fig. 6


def test_dome_matrix_is_a_laplacian_of_930_particles():
    A = dome_matrix()
    assert A.shape == (930, 930) and np.allclose(A, A.T)
    assert np.abs(A @ np.ones(930)).max() < 1e-12
    assert eigvalsh(A, subset_by_index=(929, 929))[0] == pytest.approx(1.0)


def test_krylov_and_taylor_on_a_matrix_with_few_eigenvalues():
    A = np.diag(np.repeat([0.0, 0.3, 0.7, 1.0], 5))
    b = np.random.default_rng(1).standard_normal(20)
    V, H = krylov_basis(A, b, 4)
    assert np.allclose(V @ V.T, np.eye(4)) and np.allclose(H, V @ A @ V.T)
    found = Projections(A, b, 4)
    errors = found.krylov_errors(lambda s: np.exp(-2.0 * s), 4)
    assert errors[3] < 1e-12 < errors[2]  # four different eigenvalues: exact with four vectors
    exact = np.exp(-2.0 * np.diag(A)) * b
    terms = found.taylor_errors(2.0, 3)
    by_hand = b - 2.0 * A @ b + 2.0 * A @ A @ b
    assert terms[2] == pytest.approx(np.linalg.norm(by_hand - exact))


def test_krylov_stays_within_its_bound(reports):
    """Hochbruck & Lubich (1997), Theorem 2: rho = radius/4, m >= 2 rho: the error of exp(-A) v is
    at most 10 exp(-rho) / rho * (e rho / m)^m |v|."""
    data = reports("krylov-error").data
    rho = 4.56 / 4.0
    for m in range(3, 12):
        bound = 10.0 * np.exp(-rho) / rho * (np.e * rho / m) ** m * data["norm"]
        assert data["krylov"][m - 1] <= bound


# ------------------------------------------------------------------ Figs. 9, 10, 11


def test_decay_rate_of_an_exponential():
    times = np.linspace(0.0, 3.0, 50)
    assert decay_rate(times, 7.0 * np.exp(-0.4 * times)) == pytest.approx(0.4)


@pytest.mark.slow
def test_linear_tower_keeps_its_energy_and_the_damped_one_loses_it_as_predicted(reports):
    rows = {(r["model"], r["method"], r["alpha"]): r for r in reports("tower-energy").data["runs"]}
    assert rows["linear", "eti", 0.0]["error"] < 1e-8  # exact but for rounding
    assert rows["corotated", "energy-momentum", 0.0]["error"] < 1e-8  # by construction
    for key in (("linear", "eti", 0.5), ("corotated", "energy-momentum", 0.5)):
        r = rows[key]
        lost = 1.0 - r["total"][-1] / r["total"][0]
        # dE/dt = -2 alpha T
        taken = np.trapezoid(r["kinetic"], r["times"]) * 2.0 * 0.5 / r["total"][0]
        assert lost == pytest.approx(taken, rel=0.02)


def test_foil_steps_and_forces_follow_from_the_stability_limits(reports):
    runs = reports("foil-strain").data["runs"]
    linear, rows = (
        {(r["stiffness"], r["method"]): r for r in runs if r["model"] == model}
        for model in ("linear", "springs")
    )
    assert all(linear[k, "eti"]["energy"] < 1e-4 for k in (1e8, 1e10))
    assert linear[1e10, "bdf1"]["factorizations"] == linear[1e8, "bdf1"]["factorizations"]
    soft, stiff = (rows[k, "rk4"] for k in (1e8, 1e10))
    assert soft["step"] / stiff["step"] == pytest.approx(10.0, rel=1e-6)  # sqrt(k)
    assert 0 < stiff["forces"] - 4 * stiff["steps"] <= 0.001 * stiff["steps"]  # what opens runs
    assert rows[1e10, "eti"]["forces"] == rows[1e8, "eti"]["forces"]
    for k in (1e8, 1e10):
        assert rows[k, "energy-momentum"]["energy"] < 1e-8


@pytest.mark.slow
def test_oscillator_pair_vimex_is_out_of_phase_by_theory(reports):
    """A phase off by d = omega T (omega h)^2/12 makes a cosine deviate by up to 2 sin(d/2)."""
    runs = {
        (r["method"], r["step"], r["start"]): r for r in reports("oscillator-pair").data["runs"]
    }
    r = runs["vimex", 0.01, "steady"]
    phase = 10.0 * r["duration"] * (10.0 * 0.01) ** 2 / 12.0
    assert r["deviation"] == pytest.approx(2.0 * np.sin(phase / 2.0), rel=0.03)
    assert r["amplitude_error"] < 1e-5
    assert runs["eti", 0.01, "steady"]["deviation"] < 1e-6
    assert runs["eti", 0.01, "rest"]["deviation"] < 5e-3


@pytest.mark.slow
def test_oscillator_pair_vimex_beats_off_resonance_as_its_own_response_says(reports):
    """V-IMEX solves (1 + (h w1/2)^2) x_tt = f - w1^2 x with a central difference: driven at w its
    answer is r times the right one, and from the right one it beats up to 2 r - 1 of it."""
    runs = {
        (r["method"], r["step"], r["start"]): r for r in reports("oscillator-pair").data["runs"]
    }
    h, w1 = 0.01, 10.0
    w = w1 - DETUNED
    inertia = (1.0 + (h * w1 / 2.0) ** 2) * (2.0 * np.sin(h * w / 2.0) / h) ** 2
    r = (w1**2 - w**2) / (w1**2 - inertia)
    assert r == pytest.approx(1.5, rel=0.02)  # why this detuning was chosen
    found = runs["vimex", h, "detuned"]
    assert found["duration"] > np.pi / (2.0 * DETUNED / 3.0)  # half a beat
    assert 1.0 + found["amplitude_error"] == pytest.approx(2.0 * r - 1.0, rel=0.01)
    assert runs["eti", h, "detuned"]["amplitude_error"] < 0.01


# ------------------------------------------------------------------ Table II


def test_table_has_the_papers_fifteen_rows():
    numbers = [*"123456789", "10a", "10b", "10c", "11", "12a", "12b"]
    assert [case.number for case in CASES] == numbers
    nonlinear = {case.number for case in CASES if case.method == "neti"}
    assert nonlinear == {"6", "7", "8", "10b", "11"}  # no precomputation in the paper
    assert nonlinear == {case.number for case in CASES if case.precomputed is None}


@pytest.mark.slow
def test_every_case_has_its_claim_and_its_price(reports):
    found = reports("gautschi-table")
    names = [claim.paper.split(",")[0] for claim in found.claims]
    assert all(case.name in names for case in CASES)
    for case in CASES:
        row = found.data["steps"][case.number]["bdf1"]
        assert row["failure"] is None and row["seconds"] > 0.0, case.name


@pytest.mark.slow
def test_the_papers_cases_are_compared_at_equal_error(monkeypatch):
    monkeypatch.setattr(gautschi_table, "QUICK_EQUAL", EQUAL)
    fewer_steps(monkeypatch)
    found = experiment("gautschi-table").run(Bench(quick=True))
    names = {record.method.partition(":")[0] for record in found.records}
    assert names == set(EQUAL) == {"1", "9", "10c"}
    assert all(record.failure or record.relative <= 1e-4 for record in found.records)


@pytest.mark.slow
def test_only_the_exponential_method_meets_the_pair_of_oscillators(reports):
    """Two steps are exact; h omega of the stiff spring is 7000."""
    strict = {record.method: record for record in reports("gautschi-table").records}
    assert strict["1: eti"].failure is None and strict["1: eti"].steps == 2
    assert strict["1: bdf1"].failure


def test_cost_of_a_step_counts_what_theory_says():
    scene = scenes.load("foil", small=True, step=1e-6)  # the scene's own step is too long for it
    verlet = step_cost.step_cost(scene, "verlet", 60.0)
    assert (verlet["forces"], verlet["products"], verlet["factorizations"]) == (1.0, 0.0, 0.0)
    other = scenes.load("oscillator-pair")  # compiles, and is not what is measured
    assert step_cost.step_cost(scene, "verlet", 60.0, like=other)["particles"] == len(scene.x0)
    refused = step_cost.step_cost(scenes.load("oscillator-pair"), "ceti", 60.0)
    assert refused["failure"] and "seconds" not in refused
