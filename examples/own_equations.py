"""Your own equations M x'' + D x' + A x = g(x): two stiff oscillators coupled by a soft cubic.

python examples/own_equations.py
"""

import numpy as np

import stiffly

omega = np.array([1.0, 100.0])
system = stiffly.SecondOrder(
    stiffness=np.diag(omega**2),
    force=lambda x: -((x[0] + x[1]) ** 3) * np.ones(2),
    jacobian=lambda x: -3.0 * (x[0] + x[1]) ** 2 * np.ones((2, 2)),
    potential=lambda x: 0.25 * (x[0] + x[1]) ** 4,
)
for name in ("exprb42", "verlet", "bdf1"):
    run = stiffly.simulate(
        system, x0=[1.0, 0.01], v0=[0.0, 1.0], integrator=name, step=0.01, duration=50
    )
    drift = np.abs(run.energy.numerical).max() / run.energy.total[0]
    print(f"{name:8s} step 0.01 s: largest numerical error {drift:.1e} of the energy")
    if name == "exprb42":
        assert drift < 1e-6
    if name == "bdf1":
        assert drift > 0.1  # backward Euler eats the fast oscillation
