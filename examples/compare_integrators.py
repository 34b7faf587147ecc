"""One cloth, five integrators: who keeps it moving?

A square of 10 x 10 particles hangs by two corners and swings down from the horizontal, two seconds
with steps of 1/60 s.  Nothing damps it, so the energy at the end is the energy of the start; what
is missing or too much was lost or invented by the method.
"""

import warnings

import stiffly
from stiffly.bodies import Gravity, System, cloth_springs
from stiffly.meshes import cloth

mesh = cloth(10, 10, spacing=1.0 / 9)
parts = [*cloth_springs(mesh, 100.0, 50.0, 1.0), Gravity()]
system = System(0.2 / 100, parts, fixed=[0, 9], rest=mesh.positions)

lost = {}
print(f"{'method':<18} {'energy lost':>12} {'factorizations':>15} {'force evaluations':>18}")
for name in ("energy-momentum", "stabilised", "realtime", "bdf2", "bdf1"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stiffly.StiffWarning)  # the table says it
        run = stiffly.simulate(
            system, mesh.positions, integrator=name, step=1 / 60, duration=2.0, every=1 / 30
        )
    energy = run.energy
    lost[name] = -energy.numerical[-1] / energy.exchanged
    stats = run.stats
    print(
        f"{name:<18} {lost[name]:>12.2%} {stats['factorizations']:>15} "
        f"{stats['force_evaluations']:>18}"
    )

# discrete gradients conserve to the solver's tolerance, the stabiliser to its own one percent
assert abs(lost["energy-momentum"]) < 1e-6
assert abs(lost["stabilised"]) < 0.02
# backward Euler has no other way than down
assert lost["bdf1"] > lost["bdf2"] > 0.05
