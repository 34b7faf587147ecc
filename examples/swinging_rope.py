"""A stiff rope swings from one end: a fixed large step explodes, adaptive steps do not.

python examples/swinging_rope.py
"""

import numpy as np

import stiffly
from stiffly.meshes import rope

mesh = rope(21, length=1.0)
links, mass, gravity, strain = 20, 0.05, 9.81, 1e-2
stiffness = links * mass * gravity / (strain * 1.0 / links)  # stretches by `strain` at the top
system = stiffly.System(
    mass=np.full(21, mass),
    parts=[stiffly.Springs(mesh.edges, stiffness), stiffly.Gravity()],
    fixed=[0],
    rest=mesh.positions,
)

try:
    stiffly.simulate(system, x0=mesh.positions, integrator="exprb42", step=0.02, duration=1.0)
    raise AssertionError("a step of 0.02 s should not have worked")
except stiffly.Diverged as failure:
    print(f"fixed step: {failure}")

run = stiffly.simulate(system, x0=mesh.positions, integrator="pexprb43", rtol=1e-3, duration=1.0)
print(f"adaptive: {run.stats['steps']} steps, {run.stats['rejected_steps']} rejected")
for name, first, last in run.energy.rows():
    print(f"  {name:16s} {first:10.4f} {last:10.4f} J")
assert abs(run.energy.numerical[-1]) < 2e-3 * run.energy.exchanged
