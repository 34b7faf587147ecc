"""integrator="auto": its ladder, its choices, what it promises, and what it says when it fails.

Expected values are exact motions (cosines, Jacobi's elliptic functions) or SciPy's DOP853.
"""

import logging
from itertools import pairwise
from math import cos, pi, sin, sqrt

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipj

import stiffly
from stiffly import InputError, Rayleigh, SecondOrder, StiffWarning, scenes
from stiffly.contracts import State, Work
from stiffly.integrators import NAMES, Auto, integrator
from stiffly.integrators.auto import for_step, stiffest
from stiffly.integrators.explicit import phase_error, scheme_of
from stiffly.recording.notes import StepLog
from stiffly.recording.sinks import Memory
from stiffly.run import auto as ladder
from stiffly.run.auto import Ladder, price
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


def springs(*frequencies, bend=1e-9):
    """x'' = -w^2 x (1 + bend x^2), each for itself: a stiffness that hardly changes, but does."""
    w2 = np.array(frequencies) ** 2
    return SecondOrder(
        size=len(w2),
        force=lambda x: -w2 * x * (1.0 + bend * x * x),
        jacobian=lambda x: np.diag(-w2 * (1.0 + 3.0 * bend * x * x)),
        potential=lambda x: float(np.sum(w2 * (x**2 / 2.0 + bend * x**4 / 4.0))),
    )


# ------------------------------------------------------------------ what it looks at


def test_the_largest_frequency_is_found():
    system, state = SecondOrder(stiffness=np.diag([1.0, 50.0, 4e4])).bind(np.ones(3))
    found = stiffest(system, state)
    assert found.omega == pytest.approx(200.0, rel=1e-6)
    assert found.limit == pytest.approx(2.0 / 200.0, rel=1e-6)
    assert found.constant


def test_damping_limits_verlet_too():
    """Forces of velocity are predicted: stable up to half of 2 / rate."""
    system = SecondOrder(stiffness=np.eye(2), damping=np.diag([3.0, 5e3]))
    assert stiffest(*system.bind(np.ones(2))).limit == pytest.approx(1.0 / 5e3, rel=1e-3)


def test_a_stiff_mode_that_is_damped_limits_it_more():
    system = SecondOrder(stiffness=np.diag([1.0, 1e4]), damping=Rayleigh(beta=0.01))
    limit = stiffest(*system.bind(np.ones(2))).limit
    assert (0.5 * limit * 100.0) ** 2 + limit * 100.0 == pytest.approx(1.0, rel=1e-6)


def test_prices_are_counts():
    """No clock: forces, and what algebra weighs in them."""
    assert price(Work(force_evaluations=7)) == 7.0
    more = Work(force_evaluations=7, tangents=1, operator_products=10, factorizations=1)
    assert price(more) == 7.0 + ladder.TANGENT + 10 * ladder.PRODUCT + ladder.FACTOR


# ------------------------------------------------------------------ the ladder


def climbed(system, x0, rtol, duration, v0=None, every=None):
    """The ladder and its runs, as (name, count, compared error)."""
    found = []

    def run(step, begin, again=False, **told):
        assert again == bool(found)
        frames = np.array([0.0, duration])
        if every is not None:
            frames = np.append(np.arange(0.0, duration - 1e-9, every), duration)
        loop = begin(frames, StepLog())
        result = loop.run(Memory())
        found.append((loop.plan.line.split()[1], loop.steps, loop.error))
        return result

    own = Ladder(lambda: system.bind(x0, v0), Auto(rtol), duration, every, run)
    return own, own.climb(), found


def test_two_runs_that_agree_are_the_end_of_it_and_the_finer_is_given():
    rtol = 1e-3
    _, run, found = climbed(quartic(), ONE, rtol, 10.0)
    assert run.stats["compared_error"] == found[-1][2]
    assert run.stats["steps"] == found[-1][1]
    assert found[-2][0] == found[-1][0] == "rkn6"
    # finer by r, at order p: the difference is r^p - 1 times the error
    for (_, coarse, _), (name, fine, error) in pairwise(found):
        ratio, order = fine / coarse, integrator(name).order
        assert ratio >= 2.0 ** (0.5 / order)
        allowed = ladder.SAFE * min(1.0, ratio**order - 1.0) * rtol
        assert (error <= allowed) == (fine == found[-1][1])


def test_the_difference_is_the_error_of_the_finer_run():
    """Order 2, steps shorter by sqrt 2: at an exact cosine, to the third of a per cent."""
    h, T = 0.02, 10.25 * pi  # the cosine is zero: all of the phase error shows
    ends = [
        stiffly.simulate(oscillator(1.0), ONE, integrator="verlet", step=T / n, duration=T)
        for n in (round(T / h), round(T / h * sqrt(2.0)))
    ]
    x = [float(run.positions[-1, 0]) for run in ends]
    assert abs(x[1] - x[0]) == pytest.approx(abs(x[1] - cos(T)), rel=1e-2)


def test_the_same_choice_on_every_rerun():
    scene = scenes.load("foil", small=True, duration=0.1)
    runs = [stiffly.simulate(scene, integrator="auto", rtol=1e-2) for _ in range(2)]
    assert runs[0].stats["auto"] == runs[1].stats["auto"]
    np.testing.assert_array_equal(runs[0].positions, runs[1].positions)


def test_no_frame_of_another_run_is_kept(tmp_path):
    run = stiffly.simulate(
        scenes.load("rope", small=True), integrator="auto", duration=0.1, every=0.02, out=tmp_path
    )
    assert len(run.stats["auto"]) > 1
    assert len(run.times) == 6 and run.complete
    again = stiffly.simulate(
        scenes.load("rope", small=True), integrator="auto", duration=0.1, every=0.02
    )
    np.testing.assert_array_equal(run.positions, again.positions.astype(np.float32))
    assert run.provenance["auto"] == run.stats["auto"][0].partition(", differs")[0]
    assert run.provenance["rtol"] == 1e-2


def test_what_verlet_loses_in_all_runs_alike_is_in_the_error():
    """A fast mode holds a tenth of the velocity; its phase is lost at Verlet's limit."""
    fast = 0.1 * sin(1.0)
    own, run, _ = climbed(springs(1.0, 50.0), [1.0, 0.0], 1e-2, 4.0, v0=[0.0, fast])
    end = np.array([cos(4.0), fast / 50.0 * sin(200.0)])
    speed = np.array([-sin(4.0), fast * cos(200.0)])
    assert np.linalg.norm(run.velocities[-1] - speed) < 1e-2
    assert np.linalg.norm(run.positions[-1] - end) < 2e-2  # the longest way is 2
    seen = own.rung.spectrum  # rms of fast cos(50 t) over the largest speed, and sqrt 2 of it
    unseen = seen.unseen(integrator("verlet").splitting, 1.9 / 50.0, 4.0)
    assert unseen == pytest.approx(fast / np.hypot(1.0, fast), rel=0.2)


def test_the_spectrum_of_a_motion_is_that_of_its_velocities():
    """cos(t) and a tenth of it at 30/s: shares 1/2 and 1/200 of the largest |v|^2, the latter to a
    factor of two, as frequencies are told to sqrt 2."""
    own, *_ = climbed(springs(1.0, 30.0), [1.0, 0.0], 1e-4, 60.0, v0=[0.0, 0.1])
    omega, share = own.rung.spectrum
    slow, fast = (omega < 5.0), (abs(omega - 30.0) < 15.0)
    assert share[slow].sum() == pytest.approx(0.5, rel=0.2)
    assert 0.0025 < share[fast].sum() < 0.01
    assert share[~slow & ~fast].sum() < 1e-3


@pytest.mark.parametrize("name", ["verlet", "rk4", "rkn6", "rkn86", "dop853"])
def test_phase_errors_are_those_of_a_run(name):
    """An oscillator after some steps, against its cosine: what a step loses, as often."""
    method, h, count = integrator(name), 0.9, 6
    system, state = oscillator(1.0).bind(ONE)
    memory = method.start(system, state)
    for _ in range(count):
        taken = method.step(system, state, h, memory)
        state, memory = taken.state, taken.memory
    found = np.hypot(state.x[0] - cos(count * h), state.v[0] + sin(count * h))
    told = count * phase_error(scheme_of(method), np.array([h]))[0]
    assert 0.3 * told < found < 3.0 * told


def test_what_stiffens_early_is_probed_in_shorter_steps_before_any_run():
    """x'' = -x - 100 x^3 from x = 0: the frequency at the start is 1, later above 6; no whole run
    explodes."""
    system = SecondOrder(
        size=1,
        force=lambda x: -x - 100.0 * x**3,
        jacobian=lambda x: np.array([[-1.0 - 300.0 * x[0] ** 2]]),
        potential=lambda x: 0.5 * float(x[0] ** 2) + 25.0 * float(x[0] ** 4),
    )
    own, run, found = climbed(system, 0.0 * ONE, 1e-2, 100.0, v0=ONE)
    assert own.fastest > 2.0 / own.facts.limit and all(steps for _, steps, _ in found)
    exact = solve_ivp(
        lambda t, u: (u[1], -u[0] - 100.0 * u[0] ** 3), (0, 100), (0, 1), "DOP853", rtol=1e-11
    ).y[:, -1]
    assert abs(run.velocities[-1, 0] - exact[1]) < 1e-2


def test_nothing_that_moves_is_no_obstacle():
    _, run, found = climbed(quartic(), 0.0 * ONE, 1e-2, 1.0)
    assert len(found) == 2 and run.positions[-1, 0] == 0.0


def test_nothing_is_said_of_runs_that_were_left_behind(recwarn):
    stiffly.simulate(oscillator(3.0), ONE, integrator="auto", rtol=1e-3, duration=10.0)
    assert not [w for w in recwarn if issubclass(w.category, StiffWarning)]


# ------------------------------------------------------------------ choices


def test_a_linear_system_far_beyond_verlets_limit_is_solved_exactly():
    """Verlet would need 5e6 steps; linear motion costs an exponential method nothing."""
    A = np.diag([1.0, 1e10])
    run = stiffly.simulate(
        SecondOrder(stiffness=A), [1.0, 1e-6], integrator="auto", rtol=1e-6, duration=100.0
    )
    assert run.stats["auto"][0].startswith("auto: exprb2")
    assert run.stats["steps"] < 1000
    assert abs(run.positions[-1, 0] - cos(100.0)) < 1e-6


def test_cheap_forces_at_low_accuracy_are_verlets():
    scene = scenes.load("foil", small=True)
    run = stiffly.simulate(scene, integrator="auto", rtol=0.1)
    assert [line.split()[1] for line in run.stats["auto"]] == ["verlet", "verlet"]


def test_high_accuracy_is_for_high_orders():
    *_, found = climbed(quartic(), ONE, 1e-6, 30.0)
    assert [name for name, *_ in found] == ["rkn86"] * len(found)


def test_forces_of_velocities_are_taken_by_methods_that_know_them():
    """A damped cosine: rkn6 and rkn86 would refuse it."""
    system = SecondOrder(
        size=1,
        force=lambda x: -(x**3),
        jacobian=lambda x: np.array([[-3.0 * x[0] ** 2]]),
        potential=lambda x: 0.25 * float(x[0] ** 4),
        damping=np.array([[0.1]]),
    )
    _, run, found = climbed(system, ONE, 1e-5, 10.0)
    exact = solve_ivp(
        lambda t, u: (u[1], -(u[0] ** 3) - 0.1 * u[1]), (0, 10), (1, 0), "DOP853", rtol=1e-11
    ).y[:, -1]
    assert found[-1][0] in ("rk4", "dop853")
    assert abs(run.positions[-1, 0] - exact[0]) < 1e-5


def test_stiff_modes_at_rest_are_stepped_over():
    """1e6 radians of the stiffest mode, which does not move: a few long steps are enough."""
    run = stiffly.simulate(
        springs(1.0, 1e5), [1.0, 0.0], integrator="auto", rtol=1e-2, duration=10.0
    )
    assert run.stats["auto"][0].startswith("auto: energy-momentum")
    assert run.stats["steps"] < 1000
    assert abs(run.positions[-1, 0] - cos(10.0)) < 2e-2


@pytest.mark.parametrize("kick, believed", [(0.0, True), (0.5, False)])
def test_stiff_modes_that_swing_are_not(kick, believed):
    """All even numbers of steps would agree about what is turned over in each of them."""
    system = springs(1.0, 2e5)

    def run(step, begin, again=False, **told):
        return begin(np.array([0.0, 1.0]), StepLog()).run(Memory())

    own = Ladder(lambda: system.bind([1.0, 0.0], [0.0, kick]), Auto(0.1), 1.0, None, run)
    assert own._any_step() == believed


def test_no_step_is_longer_than_the_time_between_frames():
    system = SecondOrder(stiffness=np.diag([1.0, 1e10]))
    options = {"integrator": "auto", "rtol": 1e-3, "duration": 10.0}
    assert stiffly.simulate(system, np.ones(2), **options).stats["largest_step"] > 0.5
    run = stiffly.simulate(system, np.ones(2), every=0.5, **options)
    assert run.stats["largest_step"] <= 0.5 and len(run.times) == 21


# ------------------------------------------------------------------ the promise


@pytest.mark.filterwarnings("ignore:auto. numerical error")  # the ledger's own word at 10 %
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
    with np.errstate(all="ignore"):
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


# ------------------------------------------------------------------ never in silence


@pytest.mark.filterwarnings("ignore:auto. numerical error")
def test_a_miss_is_not_silent(monkeypatch):
    """Forecasts that are too kind, and few runs; the warning names the difference reached."""
    monkeypatch.setattr(ladder, "AIM", 50.0)
    monkeypatch.setattr(ladder, "RUNGS", 4)
    with pytest.warns(StiffWarning, match=r"rtol = 1e-08 was not met, .* runs differ by \d"):
        run = stiffly.simulate(quartic(), ONE, integrator="auto", rtol=1e-8, duration=30.0)
    assert run.stats["compared_error"] > 1e-8 and len(run.stats["auto"]) <= 4


@pytest.mark.filterwarnings("ignore:auto. numerical error")
def test_an_accuracy_beyond_rounding_errors_is_said_to_be_missed():
    with pytest.warns(StiffWarning, match="rtol = 1e-15 was not met"):
        stiffly.simulate(quartic(), ONE, integrator="auto", rtol=1e-15, duration=30.0)


@pytest.mark.filterwarnings("ignore:auto. numerical error")
def test_a_sensitive_motion_is_said_to_be_one(monkeypatch):
    """U = x^2 y^2 / 2: chaotic, errors grow by some exp(30)."""
    monkeypatch.setattr(ladder, "RUNGS", 8)
    system = SecondOrder(
        size=2,
        force=lambda x: -x * x[::-1] ** 2,
        jacobian=lambda x: (
            -np.array([[x[1] ** 2, 2.0 * x[0] * x[1]], [2.0 * x[0] * x[1], x[0] ** 2]])
        ),
        potential=lambda x: 0.5 * float(x[0] * x[1]) ** 2,
    )
    with pytest.warns(StiffWarning, match=r"rtol = 1e-06 was not met, .* differ by \d"):
        stiffly.simulate(system, [1.0, 1.3], integrator="auto", rtol=1e-6, duration=100.0)


def test_what_acts_between_steps_is_compared_like_the_rest():
    """Rings that meet: contact settles between steps, and every run begins anew."""
    scene = scenes.load("tori", small=True, duration=0.1)
    run = stiffly.simulate(scene, integrator="auto", rtol=0.1, every=0.05)
    assert run.times[-1] == pytest.approx(0.1)
    assert run.stats["compared_error"] <= 0.1


def test_forces_that_never_end_well_are_not_passed_over():
    """x'' = 1/(1 - x)^3 reaches infinity in finite time: no step is short enough.  A failure, or
    the warning that no two runs agree."""
    system = SecondOrder(
        size=1,
        force=lambda x: 1.0 / (1.0 - x) ** 3,
        jacobian=lambda x: np.array([[3.0 / (1.0 - x[0]) ** 4]]),
        potential=lambda x: -0.5 / (1.0 - float(x[0])) ** 2,
    )
    with pytest.raises((stiffly.SimulationFailure, StiffWarning)):
        stiffly.simulate(system, 0.5 * ONE, integrator="auto", rtol=1e-2, duration=2.0)


# ------------------------------------------------------------------ a step that is given


def test_a_given_step_is_kept():
    run = stiffly.simulate(quartic(), ONE, integrator="auto", step=0.05, duration=2.0)
    assert run.stats["steps"] == 40
    assert run.stats["smallest_step"] == pytest.approx(0.05)
    assert run.stats["auto"][0].startswith("auto: verlet at 50 ms: h omega = ")
    assert "compared_error" not in run.stats
    assert abs(run.positions[-1, 0] - ellipj(2.0, 0.5)[1]) < 1e-2


def test_a_given_step_beyond_the_limit_gets_a_method_that_bears_it():
    scene = scenes.load("rope", small=True)
    run = stiffly.simulate(scene, integrator="auto", step=0.01, duration=0.5)
    assert run.stats["smallest_step"] == pytest.approx(0.01)
    assert run.stats["largest_step"] == pytest.approx(0.01)
    assert np.isfinite(run.positions).all()
    assert run.stats["auto"][0].startswith("auto: energy-momentum")


def test_in_a_loop_of_ones_own():
    method = integrator("auto")
    system, state = oscillator(1.0).bind(ONE)
    memory = method.start(system, state)
    for _ in range(100):
        taken = method.step(system, state, 0.02, memory)
        state, memory = taken.state, taken.memory
    assert abs(state.x[0] - cos(2.0)) < 1e-2
    assert memory.line == for_step(system, state, 0.02)[1]
    assert memory.line.startswith("auto: exprb2 at 20 ms")


# ------------------------------------------------------------------ input, recordings, command line


@pytest.mark.parametrize("rtol", [0.0, 1.0, -1e-3, float("nan")])
def test_an_accuracy_that_makes_no_sense_is_refused(rtol):
    with pytest.raises(InputError, match=r"rtol must (lie between 0 and 1|be a positive number)"):
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


def test_a_folder_that_is_taken_is_refused_before_any_run(tmp_path):
    scene = scenes.load("rope", small=True, duration=0.05)
    stiffly.simulate(scene, integrator="auto", out=tmp_path)
    with pytest.raises(InputError, match="force"):
        stiffly.simulate(scene, integrator="auto", out=tmp_path)


def stopped(folder, scene, run, **options):
    """Stopped at the third frame of the given run of the ladder; then resumed."""
    seen = [0, 0]

    def stop(report):
        seen[0] += report.frames < seen[1] or seen[1] == 0
        seen[1] = report.frames
        if seen == [run, 3]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stiffly.simulate(scene, out=folder, checkpoint=0.0, progress=stop, **options)
    return stiffly.resume(folder)


OPTIONS = {"integrator": "auto", "rtol": 0.1, "every": 0.02, "dtype": "float64"}


@pytest.mark.parametrize(
    "name, rtol, method",
    [
        ("foil", 0.1, "verlet"),
        pytest.param("falling-cube", 1e-4, "rkn86", marks=pytest.mark.slow),
    ],
)
def test_a_run_that_is_stopped_in_its_last_rung_goes_on_to_the_same_frames(
    tmp_path, name, rtol, method
):
    scene = scenes.load(name, small=True)
    options = OPTIONS | {"rtol": rtol, "every": 0.1 * scene.duration}
    whole = stiffly.simulate(scene, out=tmp_path / "whole", **options)
    run = stopped(tmp_path / "cut", scene, len(whole.stats["auto"]), **options)
    assert run.complete
    assert run.provenance["auto"].startswith(f"auto: {method} at")
    np.testing.assert_array_equal(run.positions, whole.positions)
    assert run.stats["compared_error"] == whole.stats["compared_error"]


def test_a_run_that_is_stopped_before_says_that_nothing_was_compared(tmp_path):
    scene = scenes.load("foil", small=True)
    with pytest.warns(StiffWarning, match="rtol = 0.1 is not known to be met"):
        run = stopped(tmp_path / "cut", scene, 1, **OPTIONS)
    assert run.complete and len(run.stats["auto"]) == 1


def test_a_run_that_is_made_longer_says_that_nothing_was_compared_there(tmp_path):
    scene = scenes.load("foil", small=True)
    whole = stiffly.simulate(scene, out=tmp_path, duration=0.1, **OPTIONS)
    assert whole.stats["compared_error"] <= 0.1
    with pytest.warns(StiffWarning, match="rtol = 0.1 is not known to be met"):
        run = stiffly.resume(tmp_path, duration=0.14)
    assert run.complete and run.times[-1] == pytest.approx(0.14)


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


@pytest.mark.slow
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
        assert row["auto"]["runs"] > 1
    assert len(report.save(tmp_path, quick=True)) == 3
