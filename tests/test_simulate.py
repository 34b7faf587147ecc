"""The time loop: frames, the ledger against analytic energies, adaptive steps, and failures."""

import os
import subprocess
import sys
import warnings
from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from thinned import thinned

import stiffly
from stiffly import Gravity, Rayleigh, SecondOrder, Springs, System, integrators
from stiffly.contracts import State, Step, Work
from stiffly.errors import Diverged, NotConverged, SimulationFailure, StepTooSmall, StiffWarning
from stiffly.integrators import ExponentialRosenbrock
from stiffly.meshes import rope
from stiffly.run.loop import StepLog

NAN = float("nan")


def pendulum(**options):
    return SecondOrder(
        size=1,
        force=lambda x: -9.0 * np.sin(x),
        jacobian=lambda x: np.diag(-9.0 * np.cos(x)),
        potential=lambda x: float(9.0 * (1.0 - np.cos(x[0]))),
        **options,
    )


def oscillator(omega, damping=0.0, force=None):
    options = {} if force is None else {"force": lambda t, x: np.array([force(t)]), "jacobian": 0}
    return SecondOrder(
        stiffness=np.array([[omega**2]]),
        damping=Rayleigh(damping, 0.0) if damping else None,
        **options,
    )


def one_line(failure):
    assert "\n" not in str(failure)
    return str(failure)


# ------------------------------------------------------------------ frames


@pytest.mark.parametrize("options", [{"step": 0.07}, {"step": 0.03}, {"rtol": 1e-3}], ids=str)
def test_frames_land_exactly_and_the_last_one_may_be_shorter(options):
    run = stiffly.simulate(
        pendulum(), [1.0], integrator="exprb42", duration=1.0, every=0.3, **options
    )
    assert list(run.times) == [0.0, 0.3, 0.6, 3 * 0.3, 1.0]
    assert run.positions.shape == run.velocities.shape == (5, 1)
    times = [0.3, 0.6, 0.9, 1.0]
    exact = solve_ivp(
        lambda t, u: [u[1], -9 * np.sin(u[0])], (0, 1), [1, 0], t_eval=times, rtol=1e-11, atol=1e-11
    )
    assert run.positions[1:, 0] == pytest.approx(exact.y[0], abs=2e-3)


def test_frames_that_divide_the_duration_leave_no_sliver():
    run = stiffly.simulate(pendulum(), [1.0], integrator="rk4", step=0.1, duration=2.1, every=0.7)
    assert run.times == pytest.approx([0.0, 0.7, 1.4, 2.1], rel=1e-15)
    assert run.times[-1] == 2.1
    assert run.stats["steps"] == 21


@pytest.mark.parametrize("step, frames", [(0.1, 11), (0.001, 201), (5.0, 2), (1.0, 2)])
def test_default_frames(step, frames):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StiffWarning)  # one step of 1 s is indeed too large
        run = stiffly.simulate(pendulum(), [0.01], integrator="rk4", step=step, duration=1.0)
    assert len(run.times) == frames
    assert run.times == pytest.approx(np.linspace(0.0, 1.0, frames), rel=1e-14)


@pytest.mark.parametrize(
    "duration, step, per_second", [(10.0, 0.01, 30.0), (8.25, 0.033, 30.0), (60.0, 0.05, 10.0)]
)
def test_default_frames_are_those_of_a_film(duration, step, per_second):
    """To the nearest whole number of steps; a minute has 600, a third of them."""
    how = {"integrator": "rk4", "step": step, "duration": duration}
    run = stiffly.simulate(pendulum(), [0.01], **how)
    assert len(run.times) / duration == pytest.approx(per_second, rel=0.15)
    apart = np.diff(run.times)[:-1] / step
    assert apart == pytest.approx(np.round(apart), abs=1e-9)


def test_steps_are_the_largest_that_divide_the_frames():
    run = stiffly.simulate(pendulum(), [1.0], integrator="rk4", step=0.03, duration=1.0, every=0.1)
    assert run.stats["steps"] == 40
    assert run.stats["smallest_step"] == pytest.approx(0.025, rel=1e-12)
    assert run.stats["largest_step"] == pytest.approx(0.025, rel=1e-12)


def test_frames_longer_than_the_run():
    run = stiffly.simulate(pendulum(), [1.0], integrator="rk4", step=0.1, duration=0.5, every=9.0)
    assert list(run.times) == [0.0, 0.5]


def test_progress_is_reported_at_every_frame():
    seen = []

    def note(report):
        forces = report.work.force_evaluations
        seen.append((report.t, report.end, report.frames, report.of_frames, forces))

    stiffly.simulate(
        pendulum(), [1.0], integrator="rk4", step=0.05, duration=1.0, every=0.25, progress=note
    )
    assert seen == [
        (0.25, 1.0, 2, 5, 21), (0.5, 1.0, 3, 5, 41), (0.75, 1.0, 4, 5, 61), (1.0, 1.0, 5, 5, 81),
    ]  # fmt: skip


# ------------------------------------------------------------------ ledger


def assert_ledger_closes(energy):
    """total = initial + added - dissipated + numerical, at every frame."""
    closed = energy.total[0] + energy.added - energy.dissipated + energy.numerical
    assert energy.total == pytest.approx(closed, rel=1e-14)


@pytest.mark.parametrize("name", ["exprb42", "rk4", "midpoint"])
def test_dissipated_energy_of_a_damped_oscillator(name):
    w, c = 5.0, 1.2
    run = stiffly.simulate(
        oscillator(w, c), [1.0], [0.0], integrator=name, step=2e-3, duration=1.0, every=0.1
    )
    d, wd, t = c / 2, np.sqrt(w**2 - c**2 / 4), run.times
    x = np.exp(-d * t) * (np.cos(wd * t) + d / wd * np.sin(wd * t))
    v = -np.exp(-d * t) * w**2 / wd * np.sin(wd * t)
    total = 0.5 * v**2 + 0.5 * (w * x) ** 2
    energy = run.energy
    assert_ledger_closes(energy)
    assert energy.kinetic == pytest.approx(0.5 * v**2, abs=1e-3)
    assert energy.stiffness == pytest.approx(0.5 * (w * x) ** 2, abs=1e-3)
    assert energy.dissipated == pytest.approx(total[0] - total, abs=1e-3)
    assert not energy.added.any()
    if name == "exprb42":  # exact here: what is left is Simpson's rule for the power
        assert np.abs(energy.numerical).max() <= 1e-8 * total[0]


@pytest.mark.parametrize("name", ["exprb42", "verlet"])
def test_added_energy_of_a_forced_oscillator(name):
    w, drive, F = 5.0, 3.0, 2.0
    run = stiffly.simulate(
        oscillator(w, force=lambda t: F * np.cos(drive * t)), [0.0], [0.0],
        integrator=name, step=1e-3, duration=2.0, every=0.1,
    )  # fmt: skip
    t, gain = run.times, F / (w**2 - drive**2)
    x = gain * (np.cos(drive * t) - np.cos(w * t))
    v = gain * (w * np.sin(w * t) - drive * np.sin(drive * t))
    total = 0.5 * v**2 + 0.5 * (w * x) ** 2  # starts at zero: all of it was added
    assert_ledger_closes(run.energy)
    assert run.energy.total == pytest.approx(total, abs=1e-4)
    assert run.energy.added == pytest.approx(total, abs=1e-4)
    assert np.abs(run.energy.numerical).max() <= (1e-8 if name == "exprb42" else 1e-4)


def test_numerical_error_is_what_the_method_lost():
    """Backward Euler multiplies the energy of an oscillator by 1/(1 + (h w)^2) every step."""
    h, w = 0.01, 10.0
    run = stiffly.simulate(
        oscillator(w), [1.0], [0.0], integrator="bdf1", step=h, duration=0.5, every=0.1
    )
    lost = 0.5 * w**2 * (1.0 - (1 + (h * w) ** 2) ** -(run.times / h))
    assert run.energy.numerical == pytest.approx(-lost, rel=1e-6, abs=1e-9)
    summary = run.summary()
    assert summary["energy"]["numerical"] == pytest.approx(-lost[-1], rel=1e-6)
    assert summary["energy"]["max_abs_drift"] == pytest.approx(lost[-1], rel=1e-6)
    assert summary["steps"] == run.stats["steps"] == 50


# ------------------------------------------------------------------ the swinging rope


@cache
def swinging_rope():
    """20 links, stretched by 1e-2 under its own weight, released from horizontal."""
    links = 20
    mesh = rope(links + 1)
    parts = [Springs(mesh.edges, 9.81 * links / 1e-2), Gravity()]
    system = System(np.full(links + 1, 1 / links), parts, fixed=[0], rest=mesh.positions)
    fine = stiffly.simulate(
        system, mesh.positions, integrator="verlet", step=4e-5, duration=1.0, every=0.05
    )
    return system, mesh.positions, fine.positions


def test_a_fixed_step_that_is_too_large_is_named_with_a_remedy():
    system, x0, _ = swinging_rope()
    with pytest.raises(Diverged, match=r"step 0\.02 s diverged at t = .*; try rtol=1e-3") as caught:
        stiffly.simulate(system, x0, integrator="exprb42", step=0.02, duration=1.0)
    one_line(caught.value)
    run = caught.value.run
    assert 2 <= len(run.times) < 51
    assert len(run.positions) == len(run.energy.total) == len(run.times)
    assert np.array_equal(run.positions[0], x0)
    assert run.stats["steps"] == len(run.times) - 1


@pytest.mark.parametrize("step", [None, 1.0], ids=["default first step", "first step too large"])
def test_adaptive_steps_follow_the_rope(step):
    system, x0, fine = swinging_rope()
    run = stiffly.simulate(
        system, x0, integrator="pexprb43", rtol=1e-3, step=step, duration=1.0, every=0.05
    )
    assert np.abs(run.positions - fine).max() < 1e-3
    assert (run.stats["rejected_steps"] > 0) == (step is not None)
    assert run.stats["force_evaluations"] == 3 * (run.stats["steps"] + run.stats["rejected_steps"])


def test_a_tighter_tolerance_is_more_accurate():
    system, x0, fine = swinging_rope()
    errors = [
        np.abs(
            stiffly.simulate(
                system, x0, integrator="exprb32", rtol=rtol, duration=0.3, every=0.05
            ).positions
            - fine[:7]
        ).max()
        for rtol in (1e-2, 1e-4)
    ]
    assert errors[1] < 0.2 * errors[0]


@pytest.mark.parametrize("x0", [[0.0], [1.0]])
def test_adaptive_steps_from_the_origin(x0):
    """A body may start at x = 0 without speed: the error has to be measured against something."""
    system = SecondOrder(
        size=1, force=lambda x: 1.0 - x**3, jacobian=lambda x: np.diag(-3.0 * x**2)
    )
    run = stiffly.simulate(system, x0, integrator="pexprb43", rtol=1e-4, duration=3.0)
    exact = solve_ivp(
        lambda t, u: [u[1], 1 - u[0] ** 3], (0, 3), [*x0, 0], rtol=1e-10, atol=1e-10
    ).y[0, -1]
    assert run.positions[-1, 0] == pytest.approx(exact, abs=1e-3)


def test_first_run_says_that_it_compiles(tmp_path):
    """A library user without the command line must not think that it hangs either."""
    code = (
        "import stiffly; stiffly.simulate(stiffly.SecondOrder(stiffness=[[1.0]]), [1.0], "
        "integrator='verlet', step=0.1, duration=0.1)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
    )
    assert run.returncode == 0
    assert "compiling kernels" in run.stderr


# ------------------------------------------------------------------ failures


def wall(n=1, potential=False):
    """x'' = 1 - x, and nothing defined beyond x = 0.5, which is reached at t = pi/3."""

    def beyond(x):
        return NAN if x.max() > 0.5 else 1.0

    return SecondOrder(
        size=n,
        force=lambda x: beyond(x) * (1.0 - x),
        jacobian=lambda x: -beyond(x) * np.eye(n),
        potential=(lambda x: float(np.sum(0.5 * x**2 - x))) if potential else None,
    )


def test_the_controller_gives_up_by_name():
    with pytest.raises(StepTooSmall, match=r"t = 1\.0\d+ s.*try a larger rtol") as caught:
        stiffly.simulate(
            wall(potential=True), [0.0], [0.0], integrator="pexprb43", rtol=1e-3, atol=1e-3,
            duration=3.0, every=0.25,
        )  # fmt: skip
    one_line(caught.value)
    assert list(caught.value.run.times) == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert caught.value.run.stats["rejected_steps"] > 5


STEERED = ("stabilised", "energy-momentum", "energy-budget", "energy-lagrange")  # by the energy


@pytest.mark.parametrize("method", STEERED)
def test_methods_that_steer_by_the_energy_need_a_potential(method):
    with pytest.raises(stiffly.InputError, match="potential") as caught:
        stiffly.simulate(wall(1, False), np.zeros(1), integrator=method, step=0.1, duration=1.0)
    one_line(caught.value)


@pytest.mark.parametrize(
    "method", [n for n in integrators.NAMES if n.startswith(("projective", "realtime"))]
)
def test_local_global_needs_a_stiffness(method):
    with pytest.raises(stiffly.InputError, match="no local step") as caught:
        stiffly.simulate(wall(1, True), np.zeros(1), integrator=method, step=0.1, duration=1.0)
    one_line(caught.value)


@pytest.mark.parametrize("potential", [False, True])
@pytest.mark.parametrize(
    "method",
    [
        *(
            n
            for n in integrators.NAMES
            if n not in ("ceti", "fast-projection") and not n.startswith(("projective", "realtime"))
        )
    ]
    + [ExponentialRosenbrock(method=m) for m in ("dense", "lanczos", "chebyshev", "skew")],
    ids=lambda m: m if isinstance(m, str) else m.method,
)
def test_forces_that_are_not_finite_stop_the_run_by_name(method, potential):
    if method in STEERED and not potential:
        return
    if method == "stabilised":  # it stays where the energy is a number, and says what it lost
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            run = stiffly.simulate(wall(1, True), [0.0], integrator=method, step=0.1, duration=3.0)
        assert any("were cut to the energy allowed" in str(w.message) for w in told)
        assert np.isfinite(run.positions).all()
        return
    n = 1 if isinstance(method, str) else 80
    with pytest.raises(SimulationFailure) as caught:
        stiffly.simulate(
            wall(n, potential), np.zeros(n), integrator=method, step=0.1, duration=3.0, every=0.2
        )
    one_line(caught.value)
    run = caught.value.run
    assert 0.6 <= run.times[-1] <= 1.2
    assert np.isfinite(run.positions).all()


class FailsAt:
    """Forward Euler that gives up at a time."""

    order, adaptive, name = 1, False, "fails"

    def __init__(self, time, failure):
        self.time, self.failure = time, failure

    def start(self, system, state):
        return None

    def step(self, system, state, h, memory):
        if state.t >= self.time - 1e-9:
            raise self.failure("it did not work: try another one")
        new = State(state.t + h, state.x + h * state.v, state.v)
        return Step(new, None, Work(force_evaluations=1))


@pytest.mark.parametrize("failure", [NotConverged, Diverged, StepTooSmall])
def test_every_failure_carries_the_frames_before_it(failure):
    with pytest.raises(failure) as caught:
        stiffly.simulate(
            pendulum(), [0.0], [1e-3], integrator=FailsAt(0.5, failure), step=0.05, duration=2.0,
            every=0.2,
        )  # fmt: skip
    run = caught.value.run
    assert list(run.times) == pytest.approx([0.0, 0.2, 0.4])
    assert run.positions[:, 0] == pytest.approx([0.0, 2e-4, 4e-4])
    assert (run.integrator, run.stats["steps"]) == ("fails", 10)


@pytest.mark.parametrize(
    "integrator", thinned(["verlet", "newmark", "rk4", "neti", "vimex"], keep=3)
)
def test_methods_forget_what_they_knew_when_springs_yield(integrator):
    """Yielding changes the forces between two steps: a remembered acceleration would be stale."""
    springs = stiffly.Springs([[0, 1]], 100.0, 1.0, yield_strain=0.05)
    system = stiffly.System(np.ones(2), [springs], fixed=[0], rest=[[0.0, 0, 0], [1.0, 0, 0]])
    x0, v0 = [[0.0, 0, 0], [1.0, 0, 0]], [[0.0, 0, 0], [2.0, 0, 0]]

    def lost(h):
        run = stiffly.simulate(system, x0, v0, integrator=integrator, step=h, duration=0.3)
        assert run.energy.dissipated[-1] > 1.0
        return np.abs(run.energy.numerical).max()

    # second order in h where each step starts afresh; a stale force makes it first order
    # (bdf2 is left out: starting afresh makes it bdf1 while something yields)
    assert lost(1e-4) < 1e-4 or lost(2e-3) > 3.0 * lost(1e-3)


@pytest.mark.parametrize("load", [Gravity(), stiffly.bodies.Force([3], (0.0, 1.0, 0.0))])
def test_rounding_of_the_rest_lengths_is_no_stored_energy(load):
    """A body at rest holds 1e-30 J instead of none: later errors are not compared with that."""
    mesh = rope(4)
    lengths = np.full(3, 1.0 / 3.0) * (1.0 + 1e-15)
    parts = [Springs(mesh.edges, 1e4, lengths), load]
    system = System(np.ones(4), parts, fixed=[0], rest=mesh.positions)
    _, start = system.bind(mesh.positions)
    assert 0.0 < system.energy(start)["elastic"] < 1e-20
    simulate = stiffly.simulate
    run = simulate(system, mesh.positions, integrator="bdf1", step=0.05, duration=0.1, every=0.05)
    assert run.energy.elastic[-1] > 1e-9


@pytest.mark.parametrize(
    ("integrator", "step"), [("midpoint", 0.7), ("rk4", 0.5), ("newmark", 0.7)]
)
def test_every_method_warns_of_energy_it_invented(integrator, step):
    with pytest.warns(StiffWarning, match=f"{integrator}: numerical error up to"):
        stiffly.simulate(pendulum(), [3.0], integrator=integrator, step=step, duration=20.0)


def test_bdf_may_lose_energy_but_not_invent_it():
    run = stiffly.simulate(pendulum(), [3.0], integrator="bdf1", step=0.3, duration=20.0)
    assert run.energy.numerical[-1] < -0.05 * run.energy.exchanged


def test_an_explosion_that_takes_many_frames_is_noticed():
    """A fixed step of rk4 just beyond its limit grows by a few per cent a frame, never by 20x."""
    system = stiffly.SecondOrder(stiffness=[[1.0]])
    with pytest.raises(Diverged, match="times all the energy there was before") as caught:
        stiffly.simulate(system, [1.0], integrator="rk4", step=2.84, duration=2.84e3, every=2.84)
    assert 20 < len(caught.value.run.times) < 900


# ------------------------------------------------------------------ what steps say of themselves


def test_one_diagnostic_value_per_step():
    x = np.array([[0.0, 0, 0], [1.1, 0, 0]])
    body = System(1.0, [Springs([[0, 1]], 100.0, 1.0)], rest=x)
    run = stiffly.simulate(body, x, integrator="midpoint", step=0.01, duration=0.5, every=0.1)
    assert set(run.diagnostics) == {"t", "residual", "rounding"}
    np.testing.assert_allclose(run.diagnostics["t"], 0.01 * np.arange(1, 51), rtol=1e-12)
    assert (run.diagnostics["residual"] <= 1e-9).all()


def test_a_diagnostic_that_comes_late_is_not_a_number_before():
    log = StepLog()
    log.add(0.1, {"residual": 1.0, "method": "lanczos"})
    log.add(0.2, {"alpha": True})
    arrays = log.arrays()
    assert set(arrays) == {"t", "residual", "alpha"}
    np.testing.assert_array_equal(arrays["residual"], [1.0, np.nan])
    np.testing.assert_array_equal(arrays["alpha"], [np.nan, 1.0])


def test_steps_that_were_not_solved_are_counted_in_a_warning():
    x = np.zeros((21, 3))
    x[:, 0] = np.linspace(0.0, 1.0, 21)
    edges = np.stack([np.arange(20), np.arange(1, 21)], axis=1)
    taut = System(0.05, [Springs(edges, 1e8), Gravity()], fixed=[0], rest=x)
    with pytest.warns(StiffWarning) as caught:
        stiffly.simulate(taut, x, integrator="projective", step=1 / 30, duration=1.0)
    said = [str(w.message) for w in caught if "not solved well enough" in str(w.message)]
    assert len(said) == 1
    assert "of 30 steps" in said[0] and "residual" in said[0] and "iterations" in said[0]


def test_work_at_the_middle_is_exact_for_methods_that_act_there():
    """Heavy damping at h omega = 3: Simpson's rule would be off by a tenth of the energy."""
    x = np.array([[0.0, 0, 0], [1.2, 0, 0]])
    body = System(1.0, [Springs([[0, 1]], 1e4, 1.0)], rest=x, damping=Rayleigh(0.0, 1e-3))
    for method in ("midpoint", "energy-momentum", "stabilised"):
        run = stiffly.simulate(body, x, integrator=method, step=0.02, duration=1.0)
        assert run.energy.dissipated[-1] > 0.99 * run.energy.total[0]
        assert np.abs(run.energy.numerical).max() <= 1e-9 * run.energy.total[0]
