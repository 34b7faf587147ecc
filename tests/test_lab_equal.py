"""Equal error: the search on known errors, who competes, and the experiment."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from itertools import count
from math import inf, sqrt

import numpy as np
import pytest
from lab_problems import ONE, cache, quartic, single
from thinned import thinned

from stiffly import Diverged, InputError, SecondOrder, scenes
from stiffly.contracts import Work
from stiffly.scenes import Scene
from stiffly_lab import (
    Bench,
    CvodeMethod,
    IntegratorMethod,
    ScipyMethod,
    equal_error,
    equal_error_all,
    references,
    rivals,
    tight,
)
from stiffly_lab.equal_error_all import QUICK_METHODS, QUICK_SCENES, records, rows_of, run
from stiffly_lab.harness import Outcome
from stiffly_lab.methods import AdaptiveMethod, Forces
from stiffly_lab.trial import OutOfTime, in_time, time_limit

__all__ = ["cache"]  # a fixture of every test here


# ------------------------------------------------------------------ the search


class Pretender:
    """Error 3 h^2 (settings are steps of a run of one second); `lucky` steps are exact."""

    kind = "step"

    def __init__(self, name="pretender", lucky=(), factor=3.0, settings=None):
        self.name, self.lucky, self.factor, self.settings = name, lucky, factor, settings
        self.asked = []

    def __call__(self, problem: Scene, setting: float) -> Outcome:
        if problem.duration == 1.0:
            self.asked.append(setting)
        off = 0.0 if setting in self.lucky else self.factor * setting**2
        return Outcome(ONE + off, ONE, round(1 / setting), Work(7), 1e-3, 0.1)


@pytest.fixture
def line():
    """A motion of excursion 1 and speed 1, known to 1e-6."""
    problem = single(SecondOrder(stiffness=np.array([[4.0]])), duration=1.0)
    return problem, tight.Reference(ONE, ONE, 1e-6, 1.0, 1.0, 0.5, "given")


@pytest.mark.parametrize("lucky", [(), (0.5, 1 / 3)])
def test_the_largest_step_that_meets_each_error(line, lucky):
    problem, reference = line
    method, levels = Pretender(lucky=lucky), (0.1, 0.01, 1e-4)
    found = equal_error.cheapest(Bench(), problem, method, reference, levels)
    rungs = np.array(equal_error.ladder(problem))
    np.testing.assert_allclose(rungs[:-1] / rungs[1:], sqrt(2.0), rtol=0.11)
    for level in levels:
        best = max(h for h in rungs if 3.0 * h * h <= level)
        assert found[level].step == best, level
        assert found[level].relative == pytest.approx(3.0 * best**2)
        assert found[level].energy_relative == pytest.approx(0.01)
        assert found[level].memory is not None and found[level].force_evaluations == 7
    chosen = {found[level].step for level in levels}
    for h in set(method.asked) - {0.5}:  # which is also what warms up
        assert method.asked.count(h) == (4 if h in chosen else 1), h


def test_what_cannot_be_met_says_why(line):
    problem, reference = line
    found = equal_error.cheapest(
        Bench(), problem, Pretender(), reference, (0.1, 1e-3, 1e-6), settings=(0.3, 0.1, 0.05)
    )
    assert found[0.1].step == 0.1
    assert "reached 0.0075" in found[1e-3].failure and found[1e-3].seconds is None
    assert "reference is good to 1e-06 only" in found[1e-6].failure


class Endless:
    name, kind, settings = "endless", "step", None

    def __call__(self, problem: Scene, setting: float) -> Outcome:
        while True:
            in_time()


class HardAtLongSteps(Pretender):
    """Like implicit methods whose long steps do not get solved."""

    def __call__(self, problem: Scene, setting: float) -> Outcome:
        while setting > 0.2:
            in_time()
        return super().__call__(problem, setting)


class SlowOnOneRung(Pretender):
    """Out of time on one rung: what was met above it counts, and the search ends there."""

    def __call__(self, problem: Scene, setting: float) -> Outcome:
        if setting == 0.1:
            while problem.duration == 1.0:
                in_time()
        return super().__call__(problem, setting)


class Refusing(Endless):
    def __call__(self, problem: Scene, setting: float) -> Outcome:
        raise InputError("this needs springs: give some")


@pytest.fixture
def ticking(monkeypatch):
    """A clock that goes on by 0.1 ms whenever somebody reads it: no limit depends on a machine."""
    ticks = count()
    monkeypatch.setattr(time, "process_time", lambda: 1e-4 * next(ticks))


def test_runs_are_stopped_and_refusals_told(line, limited, ticking):
    problem, reference = line
    found = equal_error.cheapest(Bench(), problem, Endless(), reference, (0.1,), limit_s=0.02)
    assert "not within 0.02 s" in found[0.1].failure
    hard = HardAtLongSteps()
    found = equal_error.cheapest(Bench(), problem, hard, reference, (0.1,), limit_s=0.3)
    assert found[0.1].step == 1 / 6  # the largest rung with 3 h^2 <= 0.1
    slow = SlowOnOneRung(settings=(0.3, 0.2, 0.1, 0.05), lucky=(0.05,))
    slow.kind = "rtol"  # every rung
    found = equal_error.cheapest(
        Bench(), problem, slow, reference, (0.15, 0.1), limit_s=0.3, settings=slow.settings
    )
    assert found[0.15].step == 0.2 and "not within" in found[0.1].failure
    found = equal_error.cheapest(Bench(), problem, Refusing(), reference, (0.1,))
    assert found[0.1].failure == "this needs springs: give some"


@pytest.mark.parametrize(
    "method",
    [
        IntegratorMethod("verlet"),
        AdaptiveMethod("exprb42"),
        ScipyMethod("LSODA"),
        CvodeMethod("BDF"),
    ],
)
def test_every_kind_of_method_can_be_stopped(method, limited):
    if isinstance(method, CvodeMethod) and not CvodeMethod.available():
        pytest.skip("scikit-sundae is not installed")
    with time_limit(60.0), time_limit(-1.0), pytest.raises(OutOfTime):
        method(quartic(), 1e-3)
    method(quartic(0.01), 1e-3)  # no limit is left behind


def test_the_best_of_several_counts_at_every_level(line):
    problem, reference = line
    steps = (0.2, 0.1, 0.05)
    rough, fine = Pretender("rough", factor=30.0), Pretender("fine")
    both = rivals.BestOf("both", [rough, fine])
    found = equal_error.cheapest(Bench(), problem, both, reference, (0.05, 0.01), settings=steps)
    assert found[0.05].method == "both" and found[0.05].variant == "fine"
    found = equal_error.cheapest(Bench(), problem, both, reference, (1e-4,), settings=steps)
    assert found[1e-4].failure == "rough, fine: not met down to step 0.05"


def test_a_search_goes_on_where_it_was_cut_short(line, tmp_path):
    problem, reference = line
    first, second = Pretender(), Pretender()
    a = equal_error.cheapest(Bench(folder=tmp_path), problem, first, reference, (0.1, 0.01))
    b = equal_error.cheapest(Bench(folder=tmp_path), problem, second, reference, (0.1, 0.01))
    assert a == b and first.asked and not second.asked


def test_spin_error_of_a_ring_that_turns_too_fast():
    """All speed is rotation: 10 % more of it is 10 % of the largest angular momentum."""
    angle = np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False)
    x = np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)
    v = np.stack([-x[:, 1], x[:, 0], 0.0 * angle], axis=1)
    cube = scenes.load("spinning-cube", cells=1)
    body = replace(cube, system=type("", (), {"particle_mass": np.full(12, 0.3)})())
    reference = tight.Reference(x, v, 0.0, 1.0, 1.0, 1.0, "")
    moved = Outcome(x + 5.0, 1.1 * v + [1.0, 2.0, 0.0], 1, Work())  # about the centre of mass
    assert equal_error.spin_error(body, moved, reference) == pytest.approx(0.1)


def test_who_competes():
    fput = scenes.load("fput")
    names = [m.name for m in rivals.ours(fput)]
    assert {"exprb42", "eti", "rk4", "exprb42 (rtol)"} <= set(names) and "verlet" not in names
    refused = rivals.refused(fput)
    assert "fast-projection" in refused and not set(refused) & set(names)
    # omega = 100 and a soft nonlinear part: 2/omega_max, a little less
    h = tight.stable_step(fput)
    assert 0.95 * 0.02 < h <= 0.02
    ladder = rivals.verlet(fput).settings
    assert min(abs(s - h) for s in ladder) < 1e-3 * h and max(ladder) > 3.0 * h
    found = {m.name for m in rivals.outside(fput)}
    assert {"verlet", "SciPy's best"} <= found
    assert ("CVODE BDF" in found) == CvodeMethod.available()


def test_outside_solvers_solve_the_same_motion():
    """The Jacobian handed to Radau is that of the forces; counts are of forces really called."""
    problem = scenes.load("spinning-cube", cells=1, duration=0.2)
    f = Forces(problem)
    rng = np.random.default_rng(3)
    d = rng.standard_normal(f.start.size)
    u = f.start + 0.05 * rng.standard_normal(f.start.size)
    change = (f(0.0, u + 1e-6 * d) - f(0.0, u - 1e-6 * d)) / 2e-6
    np.testing.assert_allclose(
        f.jacobian(0.0, u) @ d, change, rtol=1e-6, atol=1e-6 * abs(change).max()
    )
    reference = references.solution(problem, Bench())
    for method in (ScipyMethod("Radau"), ScipyMethod("LSODA"), AdaptiveMethod("pexprb43")):
        outcome = method(problem, 1e-7)
        assert equal_error.relative_error(outcome, reference) < 1e-4, method.name
        assert outcome.work.force_evaluations > 10


# ------------------------------------------------------------------ the experiment, quick


def once(granted_time, time_s, problem, method, reference, levels, repeats, limit_s, settings):
    return granted_time(time_s, problem, method, reference, levels, 1, limit_s, settings)


ONE_SCENE = {"pylon": QUICK_SCENES["pylon"]}


@pytest.fixture(scope="module", params=thinned([ONE_SCENE, QUICK_SCENES]))
def found(tmp_path_factory, request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(equal_error_all, "QUICK_SCENES", request.param)
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        # every time is read once: repeats are tested above, on errors that are known
        patch.setattr(equal_error_all, "granted_time", partial(once, equal_error_all.granted_time))
        yield run(Bench(quick=True))


def test_every_cell_is_a_run_that_meets_its_error_or_says_why_not(found):
    assert set(found.data["scenes"]) == set(equal_error_all.QUICK_SCENES)
    for name, scene in found.data["scenes"].items():
        rows = records(scene)
        assert set(QUICK_METHODS) | {"verlet", "SciPy's best"} <= set(rows), name
        for cells in rows.values():
            assert set(cells) == {0.1, 0.01}
            for level, r in cells.items():
                assert r.failure or (r.relative <= level and r.seconds > 0.0)


def test_the_experiment_knows_what_theory_knows(found):
    pylon = records(found.data["scenes"]["pylon"])
    for method in ("exprb42", "pexprb43"):  # exact for linear bodies, at any step
        assert pylon[method][0.01].step == 1.0 and pylon[method][0.01].relative < 1e-9
    keeps = {n: records(s)["energy-momentum"] for n, s in found.data["scenes"].items()}
    assert all(
        r.energy_relative < 1e-7
        for cells in keeps.values()
        for r in cells.values()
        if r.failure is None
    )
    second = [records(s)["midpoint"] for s in found.data["scenes"].values()]
    for cells in second:  # second order: ten times less error, sqrt(10) shorter steps
        if cells[0.01].failure is None:
            assert cells[0.01].step < cells[0.1].step


def test_the_page_says_who_wins(found, tmp_path):
    text = found.save(tmp_path, quick=True)[2].read_text()
    count = len(equal_error_all.QUICK_SCENES)
    assert text.count("## ") == count and text.count(" wins with ") == 2 * count
    assert "--quick" in text and "Verlet is stable up to" in text
    assert "not for this scene: fast-projection" not in text  # not among the quick methods


def test_a_scene_without_reference_has_a_row_that_says_so(monkeypatch):
    def hopeless(problem, limit_s):
        raise Diverged("two solutions part")

    monkeypatch.setattr(tight, "motion", hopeless)
    row = rows_of("pylon", True)
    assert row["reference"] is None and row["why"] == "two solutions part"


def test_verlet_explodes_above_its_limit_and_is_late_below():
    """x'' = -4 x, 40 s: stable below h = 1 = 2/omega; at 1.43 it explodes."""
    problem = single(SecondOrder(stiffness=np.array([[4.0]])), duration=40.0)
    reference = references.solution(problem, Bench())
    steps = [40.0 / 28, 40.0 / 160]
    found = equal_error.cheapest(
        Bench(), problem, IntegratorMethod("verlet"), reference, (inf, 0.1), settings=steps
    )
    assert tight.stable_step(problem) == pytest.approx(1.0)
    assert found[inf].step == 0.25 and "reached" in found[0.1].failure
    # Verlet swings at 2 arcsin(omega h/2)/h instead of omega: x = cos 40 w, x_r = cos 80
    expected = np.cos(40.0 * 2.0 * np.arcsin(0.25) / 0.25) - np.cos(80.0)
    assert found[inf].error_x == pytest.approx(abs(expected), rel=1e-6)
