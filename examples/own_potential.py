"""Your own energy: beads on a ring that repel each other and are held by a soft trap.

A potential is any function of the positions with its gradient; stiffly finds the second
derivatives it needs by itself, and the ledger has a line for it.
"""

import numpy as np

import stiffly
from stiffly.bodies import Potential, Springs, System

COUNT, TRAP = 12, 3.0  # beads; stiffness of the trap [N/m]


def trap(x):
    """E = TRAP/2 |x|^2 + |x|^4 / 4 of every bead [J]; x (N, 3) [m]."""
    square = np.sum(x**2, axis=1)
    return float(np.sum(0.5 * TRAP * square + 0.25 * square**2))


def trap_gradient(x):
    """dE/dx (N, 3)."""
    return (TRAP + np.sum(x**2, axis=1, keepdims=True)) * x


angle = np.arange(COUNT) * 2 * np.pi / COUNT
ring = np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)
neighbours = np.stack([np.arange(COUNT), (np.arange(COUNT) + 1) % COUNT], axis=1)

parts = [
    Springs(neighbours, 1e4),  # stiff links
    Potential(trap, gradient=trap_gradient, couples=(), name="trap"),  # every bead for itself
]
system = System(0.1, parts, rest=ring)
spin = 2.0 * np.cross([0.0, 0.0, 1.0], ring) + [0.0, 0.0, 0.5]

run = stiffly.simulate(
    system, 1.1 * ring, spin, integrator="energy-momentum", step=0.005, duration=5.0, every=0.05
)
print(run)
for name, start, end in run.energy.rows():
    print(f"{name:>16} {start:>12.6f} {end:>12.6f} J")

# the gradient is the derivative of the energy: checked as a user should
x, e = 1.1 * ring + 0.1, 1e-6
step = np.zeros_like(x)
step[3, 1] = e
slope = (trap(x + step) - trap(x - step)) / (2 * e)
assert abs(slope - trap_gradient(x)[3, 1]) < 1e-6 * abs(slope)
assert np.abs(run.energy.numerical).max() < 1e-6 * run.energy.exchanged
# the trap is the same in all directions: the ring keeps its angular momentum, to second order in
# the step for a potential of your own (to rounding for the library's)
L = [np.cross(a, b).sum(axis=0)[2] for a, b in zip(run.positions, run.velocities, strict=True)]
print(f"angular momentum changed by {np.ptp(L) / L[0]:.1e}")
assert np.ptp(L) < 0.01 * L[0]
