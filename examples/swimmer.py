"""A bacterium swims: a motor turns its helical tail against its head, in a viscous fluid.

python examples/swimmer.py

Units are chosen so that the viscosity and the size of the head are about 1, the tail so that it
swims clearly.  This coarse version goes a third less far backwards than forwards; with 21 points
and steps of 0.02 for 4 s both ways were the same (0.027, one run).
"""

import numpy as np

import stiffly
from stiffly import meshes
from stiffly.bodies import MotorTorque, Springs, StokesFluid, System, fiber

# the tail: a helix along -x, wrapped in a chain of cuboids that resists bending and twisting
line = meshes.flagellum(15, length=4.0, radius=0.6, turns=2.0, taper=0.5).positions * [-1, 1, 1]
tail = fiber(line, thickness=0.12, young=1e6, torsional=2.5e5, density=1.0)

# the head, an octahedron, and two points of the axis: a bearing that holds both and lets them turn
corners = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1.0]])
head = 0.4 * corners + [1.0, 0, 0]
bearing = [[0.5, 0, 0], [-0.05, 0, 0]]
x = np.concatenate([tail.positions, head, bearing])
n = len(tail.positions)
root = tail.root  # the four particles of the tail's first cross-section
heads, ends = np.arange(n, n + 6), (n + 6, n + 7)
edges = [(i, j) for i in heads for j in heads if i < j]
edges += [(i, end) for end in ends for i in (*heads, *root)] + [ends]

mass = np.concatenate([tail.mass, np.full(8, 1e-2)])
for torque in (3.0, -3.0):
    swimmer = System(
        mass,
        [
            tail.part,
            Springs(edges, 500.0, rest_positions=x),
            MotorTorque(torque, base=root, counter=heads, axis=ends),
            StokesFluid(viscosity=1.0, blob=0.12),
        ],
        rest=x,
    )
    run = stiffly.simulate(swimmer, x, integrator="bdf1", step=0.05, duration=3.0)
    way = (run.positions[-1] - run.positions[0]).mean(axis=0)
    added, dissipated = run.energy.added[-1], run.energy.dissipated[-1]
    print(
        f"torque {torque:+.0f}: swam {way[0]:+.4f} along its axis; the motor added {added:.1f} J,"
    )
    print(f"           of which the fluid took {dissipated:.1f} J")
    assert way[0] * torque > 0.01
