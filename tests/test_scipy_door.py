"""Exponential Rosenbrock methods under SciPy's solve_ivp."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.integrate import solve_ivp
from scipy.sparse.linalg import LinearOperator, aslinearoperator
from thinned import thinned

from stiffly.errors import InputError, StiffWarning
from stiffly.scipy import PACE, ExponentialRosenbrock, ExponentialRosenbrock32

METHODS = [ExponentialRosenbrock, ExponentialRosenbrock32]


def van_der_pol(mu):
    def f(t, y):
        return np.array([y[1], mu * (1.0 - y[0] ** 2) * y[1] - y[0]])

    def jac(t, y):
        return np.array([[0.0, 1.0], [-2.0 * mu * y[0] * y[1] - 1.0, mu * (1.0 - y[0] ** 2)]])

    return f, jac


def brusselator(points):
    """Two reacting fields on a line, diffusion 1/50: n = 2 points unknowns."""
    diffusion = (points + 1.0) ** 2 / 50.0
    L = sp.diags([1.0, -2.0, 1.0], [-1, 0, 1], shape=(points, points)).tocsr() * diffusion
    ends = np.zeros(points)
    ends[[0, -1]] = diffusion

    def f(t, y):
        u, v = y[:points], y[points:]
        return np.concatenate(
            [1.0 + u * u * v - 4.0 * u + L @ u + ends, 3.0 * u - u * u * v + L @ v + 3.0 * ends]
        )

    def jac(t, y):
        u, v = y[:points], y[points:]
        return sp.bmat(
            [
                [L + sp.diags(2.0 * u * v - 4.0), sp.diags(u * u)],
                [sp.diags(3.0 - 2.0 * u * v), L - sp.diags(u * u)],
            ]
        ).tocsr()

    x = np.arange(1, points + 1) / (points + 1.0)
    return f, jac, np.concatenate([1.0 + np.sin(2.0 * np.pi * x), np.full(points, 3.0)])


def pendulum(t, y):
    return np.array([y[1], -100.0 * np.sin(y[0])])


def forced(t, y):
    """Not autonomous, not linear, mildly stiff."""
    return np.array(
        [
            -10.0 * (y[0] - np.cos(t)) + 0.5 * y[1] ** 2 * np.sin(3.0 * t),
            -y[1] * y[0] + np.cos(2.0 * t),
        ]
    )


def forced_jac(t, y):
    return np.array([[-10.0, y[1] * np.sin(3.0 * t)], [-y[1], -y[0]]])


@pytest.mark.parametrize("method", METHODS)
def test_order_on_a_nonautonomous_problem(method):
    """Fixed steps: tolerances too wide to matter; declared order within 0.2."""
    y0, T = [1.2, 0.5], 1.0
    exact = solve_ivp(forced, (0, T), y0, method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    errors = []
    for steps in (32, 64, 128):
        h = T / steps
        run = solve_ivp(
            forced,
            (0, T),
            y0,
            method=method,
            jac=forced_jac,
            rtol=1e6,
            atol=1e6,
            first_step=h,
            max_step=h,
        )
        assert len(run.t) == steps + 1
        errors.append(np.abs(run.y[:, -1] - exact).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(np.abs(orders - (method.error_order + 1)) < 0.2), orders


@cache
def relaxation_end():
    f, j = van_der_pol(1000.0)
    return solve_ivp(f, (0, 2000), [2, 0], method="Radau", jac=j, rtol=1e-6, atol=1e-8).y[:, -1]


@pytest.mark.parametrize("jac", thinned([None, "given"]))
def test_van_der_pol_relaxation(jac):
    f, j = van_der_pol(1000.0)
    options = {"jac": j if jac else None, "rtol": 1e-5, "atol": 1e-7}
    run = solve_ivp(f, (0, 2000), [2, 0], method=ExponentialRosenbrock, **options)
    assert run.success and run.njev == len(run.t) - 1 and run.nlu == 0
    assert len(run.t) < 1000
    assert np.all(np.abs(run.y[:, -1] / relaxation_end() - 1.0) < 1e-4)


def test_robertson_kinetics_up_to_h_lambda_of_1e8():
    def f(t, y):
        slow, fast = 1e4 * y[1] * y[2] - 0.04 * y[0], 3e7 * y[1] ** 2
        return np.array([slow, -slow - fast, fast])

    run = solve_ivp(f, (0, 4e5), [1, 0, 0], method=ExponentialRosenbrock, rtol=1e-5, atol=1e-9)
    exact = [4.938274521e-3, 1.984994088e-8, 0.9950617056]  # Radau, rtol 1e-12, atol 1e-17
    assert len(run.t) < 400 and np.allclose(run.y[:, -1], exact, rtol=1e-4)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rtol", [1e-3, 1e-6])
def test_error_follows_the_tolerance(method, rtol):
    if method is ExponentialRosenbrock32 and rtol < 1e-4:
        rtol = 1e-5
    exact = solve_ivp(pendulum, (0, 1), [1, 0], method="DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    run = solve_ivp(pendulum, (0, 1), [1, 0], method=method, rtol=rtol, atol=rtol)
    assert np.all(np.abs(run.y[:, -1] - exact) < 10.0 * rtol * (1.0 + np.abs(exact)))


@cache
def brusselator_end():
    f, jac, y0 = brusselator(200)
    return solve_ivp(f, (0, 1), y0, method="Radau", jac=jac, rtol=1e-7, atol=1e-8).y[:, -1]


@pytest.mark.parametrize("kind", ["sparse", "dense", "operator", "products"])
def test_reaction_diffusion_with_400_unknowns(kind):
    f, jac, y0 = brusselator(200)

    def wrapped(t, y):
        J = jac(t, y)
        if kind == "products":
            return LinearOperator(J.shape, matvec=lambda b: J @ b, dtype=float)
        return {"sparse": J, "dense": J.toarray(), "operator": aslinearoperator(J)}[kind]

    exact = brusselator_end()
    run = solve_ivp(f, (0, 1), y0, method=ExponentialRosenbrock, jac=wrapped, rtol=1e-3, atol=1e-4)
    assert run.success and len(run.t) < 40
    assert np.abs(run.y[:, -1] / exact - 1.0).max() < 3e-3


@pytest.mark.parametrize("size", [1, 40])
@pytest.mark.parametrize("method", METHODS)
def test_linear_oscillators_cross_many_periods_per_step(method, size):
    """omega up to 1e4, dense and Krylov: exact at the steps and between them."""
    omega = np.linspace(1e4 / size, 1e4, size)
    J = sp.bmat([[None, sp.eye(size)], [-sp.diags(omega**2), None]]).tocsr()
    T = 0.05 if size > 1 else 1.0
    y0 = np.concatenate([np.ones(size), np.zeros(size)])
    run = solve_ivp(
        lambda t, y: J @ y,
        (0, T),
        y0,
        method=method,
        jac=J,
        rtol=1e-7,
        atol=1e-9,
        dense_output=True,
    )
    assert run.njev == 0 and len(run.t) < 25
    assert np.diff(run.t).max() * 1e4 > 100.0
    t = np.linspace(0.0, T, 40)
    y = run.sol(t)
    assert np.abs(y[:size] - np.cos(np.outer(omega, t))).max() < 1e-6
    assert np.abs(y[size:] / omega[:, None] + np.sin(np.outer(omega, t))).max() < 1e-6


def test_dense_output_between_steps_of_a_nonlinear_fast_problem():
    """A stiff spring pendulum, h omega about 50: the step's own u(s), not a polynomial."""
    omega = 2000.0

    def f(t, y):
        x, z = y[:2], y[2:]
        return np.concatenate([z, [-(omega**2) * x[0] + x[1] ** 2, -np.sin(x[1]) - 0.3 * x[0]]])

    def jac(t, y):
        J = np.zeros((4, 4))
        J[:2, 2:] = np.eye(2)
        J[2:, :2] = [[-(omega**2), 2.0 * y[1]], [-0.3, -np.cos(y[1])]]
        return J

    y0, T, h = [1e-3, 1.0, 0.0, 0.0], 0.5, 50.0 / 2000.0
    t = np.linspace(0.0, T, 301)
    exact = solve_ivp(f, (0, T), y0, method="DOP853", rtol=1e-11, atol=1e-13, t_eval=t).y
    run = solve_ivp(
        f,
        (0, T),
        y0,
        method=ExponentialRosenbrock,
        jac=jac,
        rtol=1e-4,
        atol=1e-6,
        max_step=h,
        first_step=h,
        dense_output=True,
    )
    assert np.isclose(np.diff(run.t).max(), h)
    error = np.abs(run.sol(t) - exact) / np.abs(exact).max(axis=1, keepdims=True)
    assert error.max() < 1e-5, error.max()
    assert np.allclose(run.sol(run.t), run.y, rtol=1e-10, atol=1e-12)
    assert run.sol(0.1).shape == (4,)


def test_events_t_eval_and_backward_integration():
    def crossing(t, y):
        return y[0]

    options = {"rtol": 1e-7, "atol": 1e-7, "events": crossing}
    exact = solve_ivp(pendulum, (0, 1), [1, 0], method="DOP853", **options | {"rtol": 1e-12})
    t = np.linspace(0.0, 1.0, 11)
    run = solve_ivp(pendulum, (0, 1), [1, 0], method=ExponentialRosenbrock, t_eval=t, **options)
    assert np.array_equal(run.t, t)
    assert len(run.t_events[0]) == len(exact.t_events[0]) > 1
    assert np.allclose(run.t_events[0], exact.t_events[0], atol=1e-6)
    back = solve_ivp(
        pendulum,
        (1, 0),
        run.y[:, -1],
        method=ExponentialRosenbrock,
        t_eval=t[::-1],
        rtol=1e-7,
        atol=1e-7,
    )
    assert np.allclose(back.y[:, ::-1], run.y, atol=1e-4)
    there = solve_ivp(forced, (0, 1), [1, 1], method=ExponentialRosenbrock, rtol=1e-8, atol=1e-9)
    again = solve_ivp(
        forced, (1, 0), there.y[:, -1], method=ExponentialRosenbrock, rtol=1e-8, atol=1e-9
    )
    assert np.allclose(again.y[:, -1], [1.0, 1.0], atol=1e-4)


def test_vectorized_differences_and_rejected_steps():
    def f(t, y):
        return np.stack([y[1], 1000.0 * (1.0 - y[0] ** 2) * y[1] - y[0]])

    plain = solve_ivp(f, (0, 1), [2, 0], method=ExponentialRosenbrock)
    batch = solve_ivp(f, (0, 1), [2, 0], method=ExponentialRosenbrock, vectorized=True)
    assert np.allclose(plain.y[:, -1], batch.y[:, -1], rtol=1e-10)

    solver = ExponentialRosenbrock(pendulum, 0.0, [1.0, 0.0], 5.0, first_step=5.0, rtol=1e-6)
    solver.step()
    assert solver.t < 1.0 and solver.nfev > 6  # the first attempts left no trace but their cost
    check = solve_ivp(pendulum, (0, solver.t), [1, 0], method="DOP853", rtol=1e-12, atol=1e-12)
    assert np.allclose(solver.y, check.y[:, -1], rtol=1e-4, atol=1e-4)


def test_a_blow_up_ends_with_a_message():
    run = solve_ivp(lambda t, y: y**2, (0, 2), [1.0], method=ExponentialRosenbrock)
    assert not run.success and run.t[-1] == pytest.approx(1.0, abs=1e-2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rtol": -1.0}, "rtol"),
        ({"atol": -1.0}, "atol"),
        ({"atol": [1.0, 1.0, 1.0]}, "atol"),
        ({"max_step": 0.0}, "max_step"),
        ({"first_step": 9.0}, "first_step"),
        ({"jac": np.eye(3)}, "jac must be real and of shape"),
        ({"jac": lambda t, y: np.eye(3)}, "jac must be real and of shape"),
        ({"jac": lambda t, y: np.full((2, 2), np.nan)}, "jac holds NaN"),
    ],
)
def test_bad_input_is_refused_in_one_line(options, words):
    with pytest.raises(InputError, match=words) as caught:
        solve_ivp(pendulum, (0, 1), [1, 0], method=ExponentialRosenbrock, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("fun", "words"),
    [
        (lambda t, y: "much", "fun.* must hold numbers, got text"),
        (lambda t, y: None, "fun.* got None: a function has to return them"),
        (lambda t, y: 1j * y, "fun.* complex"),
        (lambda t, y: np.zeros(3), r"fun.* must have the shape of y, \(2,\), got \(3,\)"),
        (3, "fun must be a function"),
    ],
)
def test_a_function_that_returns_no_slope(fun, words):
    with pytest.raises(InputError, match=words):
        solve_ivp(fun, (0, 1), [1, 0], method=ExponentialRosenbrock)


def noisy(noise, **options):
    """y' = -y with noise on it; and how often it was called."""
    draw, calls = np.random.default_rng(0).standard_normal, []

    def fun(t, y):
        calls.append(t)
        return -y + noise * draw(y.shape)

    return solve_ivp(fun, (0, 10), [1.0, 0.5, 2.0], **options), len(calls)


@pytest.mark.parametrize("noise", [1e-9, 1e-7, 1e-6])
@pytest.mark.parametrize("method", METHODS)
def test_noise_below_the_tolerance_is_noticed_and_lived_with(noise, method):
    """Short differences make it ten thousand times larger: 18,000 steps and more, where a few
    hundred do."""
    run, calls = noisy(noise, method=method)
    assert run.success and calls < 40 * PACE
    np.testing.assert_allclose(run.y[:, -1], np.exp(-10.0) * run.y[:, 0], rtol=0.1)


@pytest.mark.parametrize("noise", [1e-3, 1e-2])
def test_noise_above_the_tolerance_ends_with_a_message(noise):
    run, calls = noisy(noise, method=ExponentialRosenbrock)
    assert not run.success and "fun is noisy" in run.message and calls < 40 * PACE


def test_complex_nonfinite_and_unknown_arguments():
    with pytest.raises(InputError, match="complex"):
        ExponentialRosenbrock(pendulum, 0.0, np.array([1.0, 1j]), 1.0)
    with pytest.raises(InputError, match="not finite"):
        ExponentialRosenbrock(lambda t, y: y * np.nan, 0.0, [1.0], 1.0)
    with pytest.warns(StiffWarning, match="ignores lband"):
        ExponentialRosenbrock(pendulum, 0.0, [1.0, 0.0], 1.0, lband=1)
    empty = solve_ivp(lambda t, y: y, (0, 1), [], method=ExponentialRosenbrock)
    assert empty.success
    still = solve_ivp(lambda t, y: 0.0 * y, (0, 1), [0.0, 0.0], method=ExponentialRosenbrock)
    assert still.success and not still.y.any()
