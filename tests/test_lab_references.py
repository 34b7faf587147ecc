"""Reference solutions: against known motions, and how they are kept on the disk."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
from lab_problems import ONE, cache, quartic, single
from scipy.special import ellipj

from stiffly import InputError, NotConverged, SecondOrder, StiffWarning, scenes
from stiffly_lab import Bench, references, rivals, tight
from stiffly_lab.methods import Forces

__all__ = ["cache"]  # a fixture of every test here


def test_a_linear_body_is_solved_exactly():
    found = references.solution(single(SecondOrder(stiffness=np.array([[4.0]])), v=0.5), Bench())
    assert found.how.startswith("exact") and found.error < 1e-12
    exact = np.cos(6.0) + 0.25 * np.sin(6.0), 0.5 * np.cos(6.0) - 2.0 * np.sin(6.0)
    assert found.x[0] == pytest.approx(exact[0], abs=1e-13)
    assert found.v[0] == pytest.approx(exact[1], abs=1e-13)


@pytest.mark.parametrize("stiffness", [0.0, -1.0])
def test_modes_without_stiffness_and_unstable_ones(stiffness):
    """x'' = 1 - k x from rest: t^2/2 for k = 0, cosh t - 1 for k = -1."""
    system = SecondOrder(stiffness=np.array([[stiffness]]), force=lambda t, x: ONE, jacobian=0)
    found = references.solution(single(system, x=0.0, duration=2.0), Bench())
    assert found.x[0] == pytest.approx(2.0 if stiffness == 0.0 else np.cosh(2.0) - 1.0, rel=1e-12)


def test_a_driven_linear_body_is_integrated_as_fast_as_it_swings():
    """x'' + 1e6 x = cos 3t from rest: (cos 3t - cos 1000 t)/(1e6 - 9)."""
    system = SecondOrder(
        stiffness=np.array([[1e6]]), force=lambda t, x: np.cos(3.0 * t) * ONE, jacobian=0
    )
    found = references.solution(single(system, x=0.0, duration=0.4), Bench())
    exact = (np.cos(1.2) - np.cos(400.0)) / (1e6 - 9.0)
    assert found.how.startswith("exact")
    assert found.x[0] == pytest.approx(exact, rel=1e-9)


def test_error_estimate_covers_the_true_error_of_a_nonlinear_motion():
    problem = quartic()
    found = references.solution(problem, Bench())
    sn, cn, dn, _ = ellipj(problem.duration, 0.5)
    off = max(abs(found.x[0] - cn) / found.scale_x, abs(found.v[0] + sn * dn) / found.scale_v)
    assert "DOP853" in found.how
    assert off <= found.error < 1e-8
    assert found.scale_v == pytest.approx(sqrt(0.5), rel=1e-3)  # v^2/2 = 1/4 where x = 0
    assert found.energy == pytest.approx(0.25, rel=2e-3)


def test_references_are_kept_and_checked(cache, monkeypatch):
    problem = quartic()
    first = references.solution(problem, Bench())
    (file,) = cache.iterdir()
    computed = tight.motion

    def forbidden(*_):
        raise AssertionError("computed although it is on the disk")

    monkeypatch.setattr(references, "_KNOWN", {})
    monkeypatch.setattr(tight, "motion", forbidden)
    again = references.solution(problem, Bench())
    assert again.x == first.x and again.error == first.error and again.how == first.how
    monkeypatch.setattr(tight, "motion", computed)
    good = file.read_bytes()
    for bad in (good[:-40], good[:200] + b"?" + good[201:], b""):
        file.write_bytes(bad)
        monkeypatch.setattr(references, "_KNOWN", {})
        with pytest.warns(StiffWarning, match="fails its checksum"):
            mended = references.solution(problem, Bench())
        assert mended.x == first.x and file.read_bytes()[:64] == good[:64]


def test_fingerprint_sees_what_decides_about_the_motion():
    problem = quartic()
    stiffer = SecondOrder(stiffness=np.array([[1e-3]]), force=lambda x: -(x**3), jacobian=0)
    later = SecondOrder(force=lambda t, x: -(x**3) + t * ONE, jacobian=0, size=1)
    others = [
        problem,
        replace(problem, duration=3.5),
        replace(problem, v0=1e-12 * ONE),
        replace(problem, x0=ONE + 1e-15),
        replace(problem, system=stiffer),
        replace(problem, system=later),  # the same forces at the start
        replace(problem, parameters={"stiffness": 1.0}),
    ]
    assert len({references.fingerprint(p) for p in others}) == len(others)
    assert references.fingerprint(quartic()) == references.fingerprint(problem)


def test_solutions_that_part_are_no_reference():
    times = np.array([0.0, 1.0])
    one = times, np.array([[0.0], [1.0]]), np.array([[1.0], [1.0]])
    other = times, one[1], np.array([[1.0], [1.05]])
    with pytest.raises(NotConverged, match="too sensitive"):
        tight._compared(quartic(), one, other, "two solutions")
    still = times, one[1][[0, 0]], 0.0 * one[2]
    with pytest.raises(NotConverged, match="nothing moves"):
        tight._compared(quartic(), still, still, "two solutions")
    close = times, one[1], np.array([[1.0], [1.01]])
    assert tight._compared(quartic(), one, close, "two").error == pytest.approx(0.01)


def test_what_settles_is_left_to_verlet():
    """A spring that yields between the steps has no right-hand side for outside solvers."""
    problem = scenes.load("crash", small=True, duration=1e-3)
    assert [m.name for m in rivals.outside(problem)] == ["verlet"]
    assert all("no right-hand side" in why for why in rivals.missing(problem).values())
    with pytest.raises(InputError, match="between the steps"):
        Forces(problem)
    found = references.solution(problem, Bench())
    assert "not independent" in found.how and found.error < 1e-4
