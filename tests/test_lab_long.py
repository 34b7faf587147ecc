"""Michels et al. (2014), Fig. 22: modal maps against theory, and the six panels' quick variants."""

from __future__ import annotations

import numpy as np
import pytest

from stiffly import scenes
from stiffly_lab import Bench, coil_error, experiment
from stiffly_lab.coil_error import linear_model
from stiffly_lab.dome_step import ACCURACY, PER_DECADE, SWINGS
from stiffly_lab.modes import after, energies, exact, modes_of, step_maps
from stiffly_lab.pylon_energy import drift, onset, waver
from stiffly_lab.trial import trial

OMEGA = np.array([0.3, 1.0, 7.0, 40.0])
STEP = 0.05
Z = OMEGA * STEP


@pytest.fixture(scope="module", autouse=True)
def own_references(tmp_path_factory):
    """Reference solutions of these tests stay out of the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def panel(name: str):
    report = experiment(name).run(Bench(quick=True))
    items = {claim.item for claim in report.claims}
    assert items - {""} == set(experiment(name).items)  # "": not in the paper
    assert report.reduced.startswith("--quick: ")
    assert all(claim.measured and claim.verdict and claim.why for claim in report.claims)
    return report


# ------------------------------------------------------------------ the maps


@pytest.mark.parametrize(
    ("method", "determinant"),
    [
        ("bdf1", 1.0 / (1.0 + Z**2)),
        ("rk4", 1.0 - Z**6 / 72.0 + Z**8 / 576.0),
        ("midpoint", np.ones(4)),
        ("verlet", np.ones(4)),
        ("exprb42", np.ones(4)),
        ("eti", np.ones(4)),
    ],
)
def test_a_step_changes_the_area_of_the_phase_plane_as_theory_says(method, determinant):
    found = np.linalg.det(step_maps(method, OMEGA, STEP)[:, :2, :2])
    assert found == pytest.approx(determinant, rel=1e-9)


def test_exponential_maps_are_the_exact_motion_and_verlet_turns_by_its_own_angle():
    many = after(step_maps("exprb42", OMEGA, STEP), 1000)
    assert many == pytest.approx(exact(OMEGA, 1000 * STEP), abs=1e-9)
    trace = np.trace(step_maps("verlet", OMEGA, STEP)[:, :2, :2], axis1=1, axis2=2)
    assert trace == pytest.approx(2.0 - Z**2, abs=1e-12)


@pytest.mark.parametrize(("method", "step"), [("eti", 0.01), ("bdf1", 0.01), ("rk4", 1e-3)])
def test_the_program_moves_a_linear_body_as_its_maps_do(method, step):
    scene = scenes.load("pylon", small=True)
    modes = modes_of(scene)
    run = trial(scene, integrator=method, step=step, duration=20 * step, every=10 * step)
    expected = energies(modes, step_maps(method, modes.omega, step), 10, 2)
    own = 1.0 + (run.energy.total - run.energy.total[0]) / modes.energy.sum()
    assert own == pytest.approx(expected, abs=1e-7)


def test_curves_are_read_right():
    times = np.linspace(0.0, 30.0, 31)
    curve = {"times": times, "energy": [1.0] * 20 + [1.02] * 10 + [None]}
    assert onset(curve) == 20.0
    curve = {"times": times, "energy": 1.0 - 0.005 * (times >= 20.5)}
    assert onset(curve) is None
    assert waver(curve) == pytest.approx(0.005) and drift(curve) == pytest.approx(-0.005)


# ------------------------------------------------------------------ the panels


@pytest.mark.slow
def test_pylon_loses_what_each_formula_says():
    report = panel("pylon-energy")
    modes = modes_of(scenes.load("pylon"))
    share, square = modes.energy / modes.energy.sum(), modes.omega**2
    h = report.data["bdf1_step_for_40_percent"]
    kept = share @ np.exp(-400.0 / h * np.log1p(square * h * h))
    assert kept == pytest.approx(0.6, abs=1e-3)
    lost = {name.partition(",")[0]: w for name, w in report.data["waver"].items() if "0.01" in name}
    assert lost["exprb42"] < 1e-8 and lost["midpoint"] < 1e-8 and lost["bdf1"] > 0.99
    assert 0.0 < report.data["rk4_excess"] < 1e-3
    assert all(run["difference"] < 1e-7 for run in report.data["own_runs"].values())


@pytest.mark.slow
def test_dome_steps_follow_stability_and_damping():
    report = panel("dome-step")
    rung = 10.0 ** (1.0 / PER_DECADE)
    soft, stiff = report.data["rows"][1:]
    for row in (soft, stiff):
        slow, fast = row["omega"]
        assert row["exprb42"]["x"] == row["duration"]
        # below the stability limit, by two rungs at most: one is the ladder's, one the confirming
        for method, limit in (("rk4", 8.0**0.5), ("verlet", 2.0)):
            assert limit / rung**2 < row[method]["x"] * fast <= limit * (1.0 + 1e-9)
        # BDF-1 damps by exp(-h omega^2 t / 2): a relative error of the displacement
        theory = 2.0 * ACCURACY / (SWINGS * 2.0 * np.pi * slow)
        assert theory / rung**3 < row["bdf1"]["x"] < theory * rung**3
    assert max(report.data["own_runs"]["difference"].values()) < 1e-8


@pytest.mark.slow
def test_squats_keep_or_lose_their_energy():
    found = panel("squats-energy").data["bunny"]
    assert all(found[name]["waver"] < 1e-9 for name in ("eti", "exprb42", "midpoint"))
    assert found["bdf1"]["waver"] > 0.5
    plain = found["eti:rest"]
    assert abs(plain["drift"]) < 0.2 * plain["waver"]  # symplectic: it only wavers
    assert found["bdf1"]["stats"]["factorizations"] == 1  # K is constant


@pytest.mark.slow
def test_coil_errors_have_the_orders_of_their_methods():
    report = panel("coil-error")
    curves = report.data["curves"]
    for method, order in (("eti:rest", 2.0), ("bdf1", 1.0)):
        h, error = (np.log(curves[method][k]) for k in ("step", "error"))
        fine = (error < np.log(1e-2)) & (error > np.log(1e-8))
        assert np.polyfit(h[fine], error[fine], 1)[0] == pytest.approx(order, abs=0.1)
    assert max(curves["exprb42"]["error"]) < 1e-9 and max(curves["eti"]["error"]) < 1e-9
    assert max(curves["midpoint"]["amplitude"]) < 1e-9
    exprb42 = [r.relative or 1.0 for r in report.records if r.method == "exprb42"]
    assert sorted(exprb42, reverse=True) == exprb42 and exprb42[-1] < 1e-6


def test_the_coils_reference_knows_its_error():
    """Of a linear coil the end is known in closed form."""
    scene = scenes.load("coil-spring", vertices=60, section="3x4", stiffness=1e8, duration=0.2)
    scene = linear_model(scene)
    assert scene.mesh is not None
    modes = modes_of(scene)
    y = exact(modes.omega, scene.duration)[:, 0]
    moved = np.zeros(scene.x0.size)
    movable = np.setdiff1d(np.arange(len(scene.x0)), scene.mesh.vertex_sets["bottom"])
    moved.reshape(-1, 3)[movable] = (modes.shapes @ (modes.deflection * y)).reshape(-1, 3)
    size = float(np.sqrt(np.mean(moved**2)))
    found = coil_error.truth(Bench(), scene, (size, size * 3.0))
    gap = np.abs(found.x - scene.x0 - moved.reshape(-1, 3)).max()
    assert gap <= found.error < 1e-5 * size


def test_runs_that_take_too_long_say_so(monkeypatch, limited):
    scene = scenes.load("coil-spring", vertices=60, section="3x4", stiffness=1e8, duration=0.2)
    monkeypatch.setattr(coil_error, "LIMIT_S", 0.0)
    end = coil_error.Truth(scene.x0, scene.v0, 0.0, "")
    (record,) = coil_error.runs(Bench(), scene, end, {"bdf1": [0.01]}, 1.0)
    assert record.relative is None and "time limit" in (record.failure or "")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "level"), [("beam-step", 1e-4), ("dragon-step", 1e-2)])
def test_largest_steps_meet_their_level(name, level):
    records = [r for r in panel(name).records if r.failure is None]
    measured = [r for r in records if not r.variant]
    assert measured and all(r.relative is not None and r.relative <= level for r in measured)
    stiffest = max(r.method.partition("k ")[2] for r in measured)
    steps = {r.method.partition(",")[0]: r.step for r in records if r.method.endswith(stiffest)}
    assert steps["exprb42"] > steps["rk4"] > 0.0
