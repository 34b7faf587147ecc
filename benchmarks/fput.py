"""Fermi-Pasta-Ulam-Tsingou, m = 3, omega = 100, T = 100: errors, slopes and speed.

    python benchmarks/fput.py            needs scikit-sundae for CVODE (pip install stiffly[bench])

1. exprb42, pexprb43(1/2, 1), epirk4s3, exprb2 and RK4: max-norm errors over x and v at T against
   DOP853 at 1e-13, and the measured order.
2. exprb42 against CVODE's Adams method, both with the same compiled right-hand side, at the same
   error: CVODE is run over a range of tolerances and its time is interpolated at that error.
   Processor seconds, the best of five by turns; last, both at an error of 6e-5.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from common import by_turns, table
from numba import njit
from scipy.integrate import solve_ivp

import stiffly
from stiffly.integrators import ExponentialRosenbrock
from stiffly.scenes.fput import force, fput

T = 100.0


def reference(scene):
    bound, start = scene.system.bind(scene.x0, scene.v0)

    def rhs(t, y):
        n = y.size // 2
        state = stiffly.State(t, y[:n], y[n:])
        return np.concatenate([y[n:], bound.acceleration(state)])

    y0 = np.concatenate([start.x, start.v])
    return y0, solve_ivp(rhs, (0, T), y0, method="DOP853", rtol=1e-13, atol=1e-13).y[:, -1]


def final_error(run, exact):
    end = np.concatenate([run.positions[-1].ravel(), run.velocities[-1].ravel()])
    return float(np.abs(end - exact).max())


def errors(scene, exact) -> None:
    known = {
        ("exprb42", 0.02): 1.1e-3,
        ("exprb42", 0.01): 5.7e-5,
        ("exprb42", 0.005): 2.8e-6,
        ("pexprb43(1/2, 1)", 0.02): 4.0e-4,
        ("pexprb43(1/2, 1)", 0.01): 2.7e-5,
        ("pexprb43(1/2, 1)", 0.005): 1.5e-6,
        ("epirk4s3", 0.02): 9.1e-3,
        ("epirk4s3", 0.01): 4.7e-4,
        ("exprb2", 0.02): 1.5e-1,
        ("exprb2", 0.01): 3.1e-2,
        ("exprb2", 0.005): 6.7e-3,
        ("rk4", 0.0005): 5.2e-4,
    }
    objects = {"pexprb43(1/2, 1)": ExponentialRosenbrock(nodes=(1 / 2, 1.0))}
    rows, last = [], {}
    for (name, h), expected in known.items():
        run = stiffly.simulate(scene, integrator=objects.get(name, name), step=h, duration=T)
        e = final_error(run, exact)
        slope = (
            f"{np.log(last[name][1] / e) / np.log(last[name][0] / h):.2f}" if name in last else ""
        )
        last[name] = (h, e)
        rows.append((name, h, f"{e:.2e}", f"{expected:.1e}", f"{e / expected:.2f}", slope))
    print(table(("method", "step", "error", "prototype", "ratio", "order"), rows))
    energy = stiffly.simulate(scene, integrator="exprb42", step=0.01, duration=1.0).energy
    print(f"\nenergy at the start: {energy.total[0]:.9f} J (analytic 2.500300005)\n")


def race(scene, y0, exact) -> None:
    try:
        from sksundae.cvode import CVODE
    except ImportError:
        print("scikit-sundae is not installed: pip install 'stiffly[bench]' for the CVODE race")
        return

    @njit
    def derivative(y, yp):
        yp[:6] = y[6:]
        g = force(y[:6])
        for i in range(6):
            yp[6 + i] = g[i] - (1.0 if i < 3 else 1.0e4) * y[i]

    def right_hand_side(t, y, yp):
        derivative(y, yp)

    def cvode(tol):
        solver = CVODE(
            right_hand_side, method="Adams", rtol=tol, atol=1e-2 * tol, max_num_steps=10**7
        )
        return solver.solve(np.array([0.0, T]), y0)

    def ours(h):
        return stiffly.simulate(scene, integrator="exprb42", step=h, duration=T, every=T)

    tolerances, steps = (1e-6, 1e-7, 1e-8, 1e-9), (0.0125, 0.01, 0.008)
    jobs = [partial(cvode, tol) for tol in tolerances] + [partial(ours, h) for h in steps]
    results = [job() for job in jobs]  # loaded and compiled
    seconds = by_turns(jobs, 5)
    of_cvode, of_ours = results[: len(tolerances)], results[len(tolerances) :]
    peers = [float(np.abs(result.y[-1] - exact).max()) for result in of_cvode]
    own = [final_error(run, exact) for run in of_ours]
    theirs = at_error(peers, seconds[: len(peers)])
    rows = [
        (f"CVODE Adams rtol {tol:g}", f"{e:.1e}", f"{took:.4f}", result.nfev, "")
        for tol, e, took, result in zip(tolerances, peers, seconds, of_cvode, strict=False)
    ]
    for h, e, took, run in zip(steps, own, seconds[len(peers) :], of_ours, strict=True):
        calls = run.stats["force_evaluations"]
        rows.append(
            (f"exprb42 h {h:g}", f"{e:.1e}", f"{took:.4f}", calls, f"{theirs(e) / took:.2f}x")
        )
    head = ("method", "error", "seconds", "force calls", "CVODE / exprb42 at this error")
    print(table(head, rows))
    ratio = theirs(6e-5) / at_error(own, seconds[len(peers) :])(6e-5)
    print(f"\nat an error of 6e-5 exprb42 is {ratio:.1f} times as fast as CVODE's Adams method")


def at_error(errors, seconds):
    """Seconds at an error, from those at some, larger ones first."""
    known = np.log(errors[::-1]), np.log(seconds[::-1])
    return lambda e: float(np.exp(np.interp(np.log(e), *known)))


def main() -> None:
    scene = fput()
    y0, exact = reference(scene)
    errors(scene, exact)
    race(scene, y0, exact)


if __name__ == "__main__":
    main()
