"""integrator="auto": its theory, its choices, what it promises, and what it does when wrong.

Expected values are exact motions (cosines, Jacobi's elliptic functions) or SciPy's DOP853.
"""

import logging
import sys
from dataclasses import replace
from math import asin, cos, pi, sin, sqrt
from time import sleep

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipj

import stiffly
from stiffly import InputError, SecondOrder, StiffWarning, scenes
from stiffly.contracts import State
from stiffly.integrators import (
    NAMES,
    Auto,
    EnergyMomentum,
    LocalGlobal,
    Midpoint,
    Verlet,
    integrator,
)
from stiffly.integrators.auto import Bunch, decide
from stiffly.integrators.auto.candidates import Candidate, Case, candidates
from stiffly.integrators.auto.content import Content, verlet_drift
from stiffly.integrators.auto.look import Look, look
from stiffly.integrators.auto.race import Race
from stiffly.integrators.auto.replay import Replayed
from stiffly_lab import Bench, references
from stiffly_lab.registry import EXPERIMENTS

ONE = np.ones(1)


@pytest.fixture(autouse=True)
def silence():
    """The line that auto says goes to a logger that Python prints."""
    log = logging.getLogger("stiffly")
    before, log.level = log.level, logging.CRITICAL
    yield
    log.setLevel(before)


def oscillator(omega):
    return SecondOrder(stiffness=np.array([[omega**2]]))


def quartic():
    """x'' = -x^3 from x = 1 at rest: x = cn(t, 1/2)."""
    return SecondOrder(
        size=1,
        force=lambda x: -(x**3),
        jacobian=lambda x: np.array([[-3.0 * x[0] ** 2]]),
        potential=lambda x: 0.25 * float(x[0] ** 4),
    )


def wall(stiffness):
    """A ball of mass 1 that falls onto a spring, which begins at x = 0."""
    return SecondOrder(
        size=1,
        force=lambda x: -9.81 + stiffness * np.maximum(-x, 0.0),
        jacobian=lambda x: np.array([[-stiffness * float(x[0] < 0.0)]]),
        potential=lambda x: 9.81 * float(x[0]) + 0.5 * stiffness * min(float(x[0]), 0.0) ** 2,
    )


# ------------------------------------------------------------------ theory


def sampled(frequencies, amplitudes, span, count=4000):
    """Content of coordinates that swing, one frequency each."""
    w, a = np.array(frequencies), np.array(amplitudes)
    content, apart = Content(np.zeros(len(w))), 1e-3 / w.max()
    for t in np.linspace(0.0, span, count):
        before, here, after = (-a * w**2 * np.sin(w * (t + k * apart)) for k in (-1, 0, 1))
        v = a * w * np.cos(w * t)
        content.add(a * np.sin(w * t), v, (before, here, after), apart, span / count)
    return content


def test_two_frequencies_are_found_with_their_shares():
    content = sampled([2.0, 30.0], [1.0, 0.01], 200 * pi)
    (slow, much), (fast, little) = content.modes()
    assert slow == pytest.approx(2.0, rel=1e-2) and fast == pytest.approx(30.0, rel=1e-2)
    assert much == pytest.approx(0.5 * 2.0**2, rel=1e-2)  # mean of (a w cos)^2
    assert little == pytest.approx(0.5 * 0.3**2, rel=2e-2)


def test_one_frequency_is_enough_for_one_mode():
    *_, (w, square) = [mode for mode in sampled([7.0], [2.0], 20 * pi).modes() if mode[1] > 1e-3]
    assert w == pytest.approx(7.0, rel=1e-2)
    assert square == pytest.approx(0.5 * 14.0**2, rel=2e-2)


def test_drift_is_that_of_verlets_recursion():
    """x(n+1) - 2 x(n) + x(n-1) = -h^2 w^2 x(n) is solved by cos(n theta), 2 sin(theta/2) = h w."""
    h, w = 0.1, 13.0
    theta = 2.0 * asin(0.5 * h * w)
    assert theta / h - w == pytest.approx(verlet_drift(w, h), rel=1e-12)
    x = [1.0, cos(theta)]
    for _ in range(50):
        x.append(2.0 * x[-1] - x[-2] - (h * w) ** 2 * x[-1])
    assert x[-1] == pytest.approx(cos(51 * theta), abs=1e-11)


def test_verlets_error_is_predicted():
    """Of the largest of the errors in a period around T, against the exact cosine."""
    omega, h, T = 10.0, 0.01, 20.0
    content = sampled([omega], [1.0], 20 * pi)
    predicted = content.verlet_error(h, T, T, (1.0, omega))
    run = stiffly.simulate(oscillator(omega), ONE, integrator="verlet", step=h, duration=T, every=h)
    late = run.times > T - 2.0 * pi / omega
    off_x = np.abs(run.positions[late, 0] - np.cos(omega * run.times[late])).max()
    off_v = np.abs(run.velocities[late, 0] + omega * np.sin(omega * run.times[late])).max()
    # the prediction is a root of the mean square over phases: sqrt 2 below the largest
    assert predicted * sqrt(2.0) == pytest.approx(max(off_x, off_v / omega), rel=0.15)


def test_the_largest_frequency_is_found():
    system, state = SecondOrder(stiffness=np.diag([1.0, 50.0, 4e4])).bind(np.ones(3))
    found = look(system, state)
    assert found.omega == pytest.approx(200.0, rel=1e-6)
    assert found.limit == pytest.approx(2.0 / 200.0, rel=1e-6)
    assert found.constant


# ------------------------------------------------------------------ steps in one go


def test_a_bunch_is_verlets_steps():
    scene = scenes.load("rope", small=True)
    system, state = scene.system.bind(scene.x0, scene.v0)
    h, count = 1e-4, 7
    plain, memory, forces = state, None, 0
    for _ in range(2 * count):
        taken = Verlet().step(system, plain, h, memory)
        plain, memory, forces = taken.state, taken.memory, forces + taken.work.force_evaluations
    bunch = Bunch(Verlet(), count)
    first = bunch.step(system, state, count * h, bunch.start(system, state))
    second = bunch.step(system, first.state, count * h, first.memory)
    assert np.allclose(second.state.x, plain.x, rtol=0, atol=1e-13)
    assert np.allclose(second.state.v, plain.v, rtol=0, atol=1e-11)
    assert first.work.force_evaluations + second.work.force_evaluations == forces
    assert second.memory.middle.t == pytest.approx((2 * count - 1) * h)


def test_accelerations_of_single_steps_follow_each_other():
    """Also in bunches of one: three times h apart, the middle one at `middle`."""
    system, state = oscillator(3.0).bind(ONE)
    bunch, h = Bunch(Verlet(), 1), 0.01
    memory = bunch.start(system, state)
    for _ in range(4):
        taken = bunch.step(system, state, h, memory)
        state, memory = taken.state, taken.memory
    expected = [-9.0 * cos(3.0 * (state.t + k * h)) for k in (-2, -1, 0)]
    assert [float(a[0]) for a in memory.accelerations] == pytest.approx(expected, abs=1e-3)
    assert memory.middle.t == pytest.approx(3 * h)


# ------------------------------------------------------------------ choices


def test_a_linear_system_far_beyond_verlets_limit_is_solved_exactly():
    """Verlet would need 5e6 steps; linear motion costs an exponential method nothing."""
    A = np.diag([1.0, 1e10])
    run = stiffly.simulate(
        SecondOrder(stiffness=A), [1.0, 1e-6], integrator="auto", rtol=1e-6, duration=100.0
    )
    assert run.stats["auto"][0].startswith("auto: exprb")
    assert run.stats["steps"] < 1000
    assert abs(run.positions[-1, 0] - cos(100.0)) < 1e-6


def test_cheap_forces_at_low_accuracy_are_verlets():
    scene = scenes.load("foil", small=True)
    system, state = scene.system.bind(scene.x0, scene.v0)
    decision = decide(system, state, scene.duration, 0.1)
    assert decision.offer.name == "verlet"
    assert 0.5 < decision.offer.step / decision.facts.limit < 1.0
    assert f"h omega = {decision.offer.step * decision.facts.omega:.2g}" in decision.line


def test_the_line_says_which_and_why():
    system, state = SecondOrder(stiffness=np.diag([1.0, 1e10])).bind(np.ones(2))
    line = decide(system, state, 100.0, 1e-3).line
    assert line.startswith("auto: ") and "\n" not in line
    for word in ("h omega = ", "error about", "to compute", "x cheaper than verlet at"):
        assert word in line


def case(size=1000, constant=False, settles=False, damped=False, product=1e-6, **given):
    """Verlet at half of its limit takes ten seconds."""
    facts = Look(size, 2e3, 1e-3, constant, settles, damped, product=product)
    usual = {"rtol": 0.1, "step": 1e-3, "seconds": 1e-5, "cost": 10.0}
    return Case(facts, **{**usual, **given})


def names(found):
    return [candidate.name for candidate in found]


def test_the_rules_by_what_a_system_is():
    assert names(candidates(case(constant=True)))[0] == "exprb2"
    assert "energy-momentum" in names(candidates(case()))
    # a pilot does not see what acts between steps; short runs have no time for it
    for less in (case(settles=True), case(cost=0.1)):
        assert "energy-momentum" not in names(candidates(less))
    # what is braked has no energy to keep
    assert "bdf2" in names(candidates(case(damped=True)))
    assert "energy-momentum" not in names(candidates(case(damped=True)))
    assert "bdf2" not in names(candidates(case()))
    # tiny systems only where the stiffest mode swings for 3e4 radians (these: 2e6 and 2e4)
    assert "energy-momentum" in names(candidates(case(size=3)))
    assert "energy-momentum" not in names(candidates(case(size=3, seconds=1e-3)))
    # at its stability limit Verlet has one force where rk4 has three
    assert "rk4" not in names(candidates(case()))
    assert "rk4" in names(candidates(case(step=1e-4)))
    # matrix functions need about as many products as Verlet needs forces
    assert "exprb2" not in names(candidates(case(product=2e-5)))
    assert names(candidates(case(cost=0.0))) == []


def test_whole_runs_tell_the_error_of_an_implicit_method():
    """The midpoint rule (energy-momentum of a linear spring) turns by 2 atan(h w/2) in a step."""
    T, allowed = 3.0, 1e-2
    A = np.diag([1.0, *np.full(99, 1e10)])
    system, state = SecondOrder(stiffness=A).bind([1.0, *np.zeros(99)])
    race = Race(system, state, T, allowed, (0.0, 0.0), 1e-5)
    found = race.offer(Candidate("energy-momentum", EnergyMomentum(), "ladder"), 1e9)
    count = round(T / found.step)
    phase = 2.0 * count * np.arctan(0.5 * T / count)
    # |x - x0| is 1 - cos T at most, |v| 1 when a quarter is done
    off = max(abs(cos(phase) - cos(T)) / (1.0 - cos(T)), abs(sin(phase) - sin(T)))
    assert off <= 1.1 * allowed
    assert off >= 0.1 * allowed  # and not for a step that is far too short
    assert found.step > 1e3 * race.limit


def test_a_trial_that_is_good_enough_is_the_run():
    """Its steps are handed out again, the same to the last bit, and nothing is computed twice."""
    system, state = SecondOrder(stiffness=np.diag([1.0, *np.full(99, 1e10)])).bind(np.eye(100)[0])
    race = Race(system, state, 3.0, 1e-2, (0.0, 0.0), 1e-5)
    found = race.offer(Candidate("energy-momentum", EnergyMomentum(), "ladder"), 1e9)
    assert isinstance(found.method, Replayed) and found.made > 0.0
    again, before = Counting(), state
    played = replace(found.method, base=again)
    memory, fresh = played.start(system, state), EnergyMomentum().start(system, state)
    for _ in range(round(3.0 / found.step)):
        taken = played.step(system, state, found.step, memory)
        own = EnergyMomentum().step(system, before, found.step, fresh)
        np.testing.assert_array_equal(taken.state.x, own.state.x)
        np.testing.assert_array_equal(taken.state.v, own.state.v)
        assert taken.work == own.work
        state, memory, before, fresh = taken.state, taken.memory, own.state, own.memory
    assert again.calls == 0


def test_a_replay_ends_where_something_else_happens():
    """Another step, another state, or more steps than there were: the method takes over."""
    system, state = SecondOrder(stiffness=np.diag([1.0, 4.0])).bind([1.0, 0.5])
    kept = EnergyMomentum().step(system, state, 0.1, EnergyMomentum().start(system, state))
    played = Replayed(EnergyMomentum(), state, 0.1, (kept,))
    nudged = State(state.t, state.x + 1e-3, state.v)
    for where, h in ((state, 0.05), (nudged, 0.1), (kept.state, 0.1)):
        memory = played.start(system, state)
        if where is kept.state:
            memory = played.step(system, state, 0.1, memory).memory
        taken = played.step(system, where, h, memory)
        own = EnergyMomentum().step(system, where, h, EnergyMomentum().start(system, where))
        np.testing.assert_array_equal(taken.state.x, own.state.x)
        after = played.step(system, taken.state, h, taken.memory)
        assert not np.array_equal(after.state.x, taken.state.x)


def test_runs_that_turn_fast_modes_over_alike_are_not_believed():
    """At h w >> 1 the midpoint rule changes the sign of a fast mode in every step, so that all
    even numbers of steps agree about it; one step before the end they do not."""
    system = SecondOrder(stiffness=np.diag([1.0, 1e10]))
    for kick, believed in ((0.0, True), (0.05, False)):
        bound, state = system.bind([1.0, 0.0], [0.0, kick])
        race = Race(bound, state, 3.0, 1e-2, (0.0, 0.0), 1e-5)
        found = race.offer(Candidate("energy-momentum", EnergyMomentum(), "ladder"), 1e9)
        assert (found is not None) == believed


def test_what_is_fast_and_not_followed_is_in_the_error():
    """The pilot has seen 2 % of the velocity in a fast mode: more than the 1 % that is allowed."""
    system, state = SecondOrder(stiffness=np.diag([1.0, *np.full(99, 1e10)])).bind(np.eye(100)[0])
    for fast, believed in ((2e-3, True), (2e-2, False)):
        race = Race(system, state, 3.0, 1e-2, (0.0, 0.0), 1e-5, fast=fast)
        found = race.offer(Candidate("energy-momentum", EnergyMomentum(), "ladder"), 1e9)
        assert (found is not None) == believed
        assert found is None or 2e-3 < found.error <= 1e-2


def test_a_long_run_is_not_made_in_the_pilot(monkeypatch, caplog):
    """It would leave no frames, no checkpoints and no progress; and long trials are announced."""
    system, state = SecondOrder(stiffness=np.diag([1.0, *np.full(99, 1e10)])).bind(np.eye(100)[0])
    monkeypatch.setattr(sys.modules["stiffly.integrators.auto.ladder"], "LONG", 0.0)
    race = Race(system, state, 3.0, 1e-2, (0.0, 0.0), 1e-5)
    with caplog.at_level(logging.WARNING, "stiffly"):
        found = race.offer(Candidate("energy-momentum", EnergyMomentum(), "ladder"), 1e3)
    assert isinstance(found.method, EnergyMomentum) and found.made == 0.0
    assert "trying energy-momentum for up to about 80 s" in caplog.text


class Counting(EnergyMomentum):
    """How often it was asked."""

    calls = 0

    def step(self, system, state, h, memory):
        Counting.calls += 1
        return super().step(system, state, h, memory)


class Late(EnergyMomentum):
    """The first step of the process takes long, as where kernels are loaded."""

    calls = 0

    def step(self, system, state, h, memory):
        Late.calls += 1
        sleep(0.5 if Late.calls == 1 else 0.0)
        return super().step(system, state, h, memory)


def test_the_first_step_of_a_process_is_no_price():
    system, state = SecondOrder(stiffness=np.diag([1.0, 1e10])).bind([1.0, 0.0])
    race = Race(system, state, 3.0, 1e-2, (0.0, 0.0), 1e-5)
    found = race.offer(Candidate("late", Late(), "ladder"), 2.0)  # 0.16 s may be spent
    assert Late.calls > 3 and found is not None and found.cost < 1.0


def test_two_runs_that_are_equally_wrong_are_not_believed():
    """Local/global iterations that are broken off agree in 2 and 4 steps on a rope that stays."""
    scene = scenes.load("rope", small=True)
    system, state = scene.system.bind(scene.x0, scene.v0)
    race = Race(system, state, 1.0, 0.07, (0.0, 0.0), 3e-4)
    method = Midpoint(solver=LocalGlobal())
    found = race.offer(Candidate("projective-midpoint", method, "ladder"), 1e9)
    assert found is None or found.step < 0.05


def test_no_step_is_longer_than_the_time_between_frames():
    system, state = SecondOrder(stiffness=np.diag([1.0, 1e10])).bind(np.ones(2))
    assert decide(system, state, 100.0, 1e-3).offer.step > 0.5
    assert decide(system, state, 100.0, 1e-3, every=0.5).offer.step <= 0.5


# ------------------------------------------------------------------ the promise


@pytest.mark.parametrize("rtol", [1e-1, 1e-2, 1e-4, 1e-6])
def test_the_accuracy_is_met_on_an_exact_motion(rtol):
    T = 30.0
    run = stiffly.simulate(quartic(), ONE, integrator="auto", rtol=rtol, duration=T)
    sn, cn, dn, _ = ellipj(T, 0.5)
    off_x = abs(run.positions[-1, 0] - cn) / 2.0  # it moves from 1 to -1
    off_v = abs(run.velocities[-1, 0] + sn * dn) / sqrt(0.5)  # 1/2 v^2 = 1/4
    assert max(off_x, off_v) <= rtol


@pytest.mark.parametrize("name, duration", [("rope", 0.5), ("bar", 1.0), ("fput", 2.0)])
@pytest.mark.parametrize("rtol", [1e-1, 1e-3])
def test_the_accuracy_is_met_on_scenes(name, duration, rtol):
    scene = scenes.load(name, small=True)
    system, start = scene.system.bind(scene.x0, scene.v0)
    n = system.size

    def f(t, u):
        return np.concatenate((u[n:], system.acceleration(State(t, u[:n], u[n:]))))

    u0 = np.concatenate((start.x, start.v))
    times = np.linspace(0.0, duration, 65)
    exact = solve_ivp(f, (0, duration), u0, "DOP853", rtol=1e-9, atol=1e-9, t_eval=times).y
    x, v = exact[:n], exact[n:]
    run = stiffly.simulate(scene, integrator="auto", rtol=rtol, duration=duration)
    end = State(duration, x[:, -1], v[:, -1])
    off_x = np.linalg.norm(run.positions[-1] - system.positions(end))
    off_v = np.linalg.norm(run.velocities[-1] - system.velocities(end))
    scale_x = np.linalg.norm(x - x[:, :1], axis=0).max()
    scale_v = np.linalg.norm(v, axis=0).max()
    assert max(off_x / scale_x, off_v / scale_v) <= rtol


@pytest.mark.parametrize("rtol", [1e-1, 1e-2, 1e-3])
def test_what_cannot_be_seen_at_the_start_is_noticed(rtol):
    """The wall is 1e3 times stiffer than anything that is felt before, and met in mid-air."""
    system, T = wall(1e6), 0.9
    run = stiffly.simulate(system, ONE, integrator="auto", rtol=rtol, duration=T)
    # free fall, half a swing in the wall (about its own equilibrium), and up again
    speed, w = sqrt(2.0 * 9.81), 1e3
    fall, sag = speed / 9.81, 9.81 / w**2
    # x + sag = sag cos(w s) - speed/w sin(w s) is back at sag when tan(w s / 2) = -speed/(w sag)
    contact = (2.0 * pi - 2.0 * np.arctan(speed / (w * sag))) / w
    t = T - fall - contact
    x, v = speed * t - 0.5 * 9.81 * t**2, speed - 9.81 * t
    assert abs(sag * cos(w * contact) - speed / w * sin(w * contact) - sag) < 1e-12
    off = max(abs(run.positions[-1, 0] - x) / 1.0, abs(run.velocities[-1, 0] - v) / speed)
    assert off <= rtol
    assert run.stats["smallest_step"] < 2.0 / w < 1e-2 < run.stats["largest_step"]
    assert len(run.stats["auto"]) > 1


@pytest.mark.filterwarnings("ignore:auto. numerical error")  # the ledger's own word on it
def test_a_miss_is_not_silent(monkeypatch):
    """Were the checks unable to shorten the step, the warning says what they have seen."""
    watch, decide = (sys.modules[f"stiffly.integrators.auto.{n}"] for n in ("watch", "decide"))
    monkeypatch.setattr(watch, "KEEP", (0.0, np.inf))
    monkeypatch.setattr(watch, "JUMP", np.inf)
    monkeypatch.setattr(decide, "SAFETY", 1e3)
    with pytest.warns(StiffWarning, match="rtol = 0.001 was probably missed"):
        stiffly.simulate(quartic(), ONE, integrator="auto", rtol=1e-3, duration=30.0)


def test_an_unstable_motion_is_said_to_be_one():
    """x'' = 25 x: an error of the start grows by exp(5 t), whatever the method does."""
    falling = SecondOrder(stiffness=np.diag([-25.0, 1e4]))
    with pytest.warns(StiffWarning, match="unstable: small errors grow"):
        stiffly.simulate(falling, [1.0, 0.1], integrator="auto", rtol=1e-2, duration=2.0, every=0.1)


def test_what_cannot_be_taken_back_goes_on_and_is_said():
    """Rings that meet at a step that was right for their flight: contact settles between steps."""
    scene = scenes.load("tori", small=True, duration=0.3)
    with pytest.warns(StiffWarning, match="probably missed"):
        run = stiffly.simulate(scene, integrator="auto", rtol=0.1, every=0.15)
    assert run.times[-1] == pytest.approx(0.3)
    assert np.isfinite(run.positions).all()


def test_forces_with_a_jump_that_never_ends_well_are_an_error():
    """x'' = 1/(1 - x)^3 reaches infinity in finite time: no step is short enough."""
    system = SecondOrder(
        size=1,
        force=lambda x: 1.0 / (1.0 - x) ** 3,
        jacobian=lambda x: np.array([[3.0 / (1.0 - x[0]) ** 4]]),
        potential=lambda x: -0.5 / (1.0 - float(x[0])) ** 2,
    )
    with pytest.raises(stiffly.SimulationFailure):
        stiffly.simulate(system, 0.5 * ONE, integrator="auto", rtol=1e-2, duration=2.0)


# ------------------------------------------------------------------ a step that is given


def test_a_given_step_is_kept():
    run = stiffly.simulate(oscillator(1.0), ONE, integrator="auto", step=0.05, duration=2.0)
    assert run.stats["steps"] == 40
    assert run.stats["smallest_step"] == pytest.approx(0.05)
    assert abs(run.positions[-1, 0] - cos(2.0)) < 1e-2


@pytest.mark.filterwarnings("ignore::stiffly.errors.StiffWarning")  # of what it lost before
def test_a_given_step_beyond_the_limit_gets_a_method_that_bears_it():
    scene = scenes.load("rope", small=True)
    run = stiffly.simulate(scene, integrator="auto", step=0.01, duration=0.5)
    assert run.stats["smallest_step"] == pytest.approx(0.01)
    assert run.stats["largest_step"] == pytest.approx(0.01)
    assert np.isfinite(run.positions).all()
    assert not run.stats["auto"][0].startswith("auto: verlet")


def test_in_a_loop_of_ones_own():
    method = integrator("auto")
    system, state = oscillator(1.0).bind(ONE)
    memory = method.start(system, state)
    for _ in range(100):
        taken = method.step(system, state, 0.02, memory)
        state, memory = taken.state, taken.memory
    assert abs(state.x[0] - cos(2.0)) < 1e-2
    assert memory.line.startswith("auto: ")


# ------------------------------------------------------------------ input, recordings, command line


@pytest.mark.parametrize("rtol", [0.0, 1.0, -1e-3, float("nan")])
def test_an_accuracy_that_makes_no_sense_is_refused(rtol):
    with pytest.raises(InputError, match="auto: rtol must lie between 0 and 1"):
        stiffly.simulate(oscillator(1.0), ONE, integrator="auto", rtol=rtol, duration=1.0)


def test_auto_is_a_name_but_none_of_the_methods():
    assert isinstance(integrator("auto"), Auto)
    assert "auto" not in NAMES
    with pytest.raises(InputError, match="did you mean auto"):
        integrator("autos")


def test_the_scenes_own_step_is_not_meant():
    scene = scenes.load("rope", small=True, duration=0.1)
    run = stiffly.simulate(scene, integrator="auto")
    assert run.step is None or run.step != scene.step
    assert run.stats["largest_step"] < scene.step


def test_a_resumed_run_keeps_its_decision(tmp_path):
    """Stopped in the middle: the same frames in every digit as without."""
    scene = scenes.load("foil", small=True)
    options = {"integrator": "auto", "rtol": 0.1, "every": 0.02, "dtype": "float64"}
    whole = stiffly.simulate(scene, out=tmp_path / "whole", **options)

    def stop(report):
        if report.frames == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stiffly.simulate(scene, out=tmp_path / "cut", checkpoint=0.0, progress=stop, **options)
    run = stiffly.resume(tmp_path / "cut")
    assert run.complete
    assert run.provenance["auto"].startswith("auto: verlet at")
    assert run.stats["auto"][0] == run.provenance["auto"]
    assert np.array_equal(run.positions, whole.positions)


def test_the_command_line(tmp_path, monkeypatch, capfd):
    from stiffly import cli

    logging.getLogger("stiffly").setLevel(logging.NOTSET)
    monkeypatch.chdir(tmp_path)
    command = ["run", "rope", "--small", "--duration", "0.1", "--integrator", "auto"]
    assert cli.main([*command, "--out", "first"]) == 0
    assert "auto: verlet at" in capfd.readouterr().err
    assert "rtol = 0.01" in (tmp_path / "first" / "scene.toml").read_text()
    assert cli.main(["run", "first/scene.toml", "--rtol", "1e-3"]) == 0
    assert stiffly.Recording("rope-run").provenance["rtol"] == 1e-3


# ------------------------------------------------------------------ the lab


def test_the_lab_finds_the_accuracy_met(tmp_path, monkeypatch):
    """The reduced variant: whoever is faster, no case may miss 1 % without a word."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(references, "_KNOWN", {})
    report = EXPERIMENTS["auto"].run(Bench(quick=True))
    rows = [row for scene in report.data["scenes"].values() for row in scene["rows"].values()]
    assert len(rows) == 4
    for row in rows:
        assert row["best"]["relative"] <= 0.01
        assert row["auto"]["relative"] <= 0.01 or row["auto"]["warned"]
        assert row["auto"]["seconds"] > row["auto"]["pilot"] > 0.0
    assert len(report.save(tmp_path, quick=True)) == 3
