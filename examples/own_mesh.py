"""Your own mesh: a surface from a file becomes a soft solid that falls on the floor.

Any file that meshio reads will do; here one is written first, so that the script runs as it is.
"""

import tempfile
from pathlib import Path

import numpy as np

import stiffly
from stiffly.bodies import Gravity, System, Tetrahedra, lumped_mass
from stiffly.collisions import Contact, Plane
from stiffly.meshes import read_mesh, sphere, tetrahedralise, write_mesh

folder = Path(tempfile.mkdtemp())
write_mesh(folder / "ball.obj", sphere(11, 16, radius=1.0))

surface = read_mesh(folder / "ball.obj")
print("read:", surface)
body = tetrahedralise(surface, target=200)
print("filled:", body)
start = body.positions + np.array([0.0, 0.0, 1.5])  # 1.5 m above where it touches z = -1

mass = lumped_mass(body.positions, body.tets, 100.0)
parts = [Tetrahedra(body.tets, 2e4, 0.3), Gravity(), Contact(Plane((0, 0, -1), (0, 0, 1)), 1e5)]
system = System(mass, parts, rest=body.positions)
run = stiffly.simulate(
    system, start, integrator="energy-momentum", step=1 / 200, duration=1.2, every=1 / 60
)

height = run.positions[:, :, 2].mean(axis=1)
lowest = height.argmin()
print(
    f"from {height[0]:.2f} m down to {height[lowest]:.2f} m, back to {height[lowest:].max():.2f} m"
)
assert height[lowest] < 0.1, "it has not reached the floor"
assert height[lowest:].max() > 0.5 * height[0], "it has not bounced"
assert abs(run.energy.numerical[-1]) < 1e-6 * run.energy.exchanged
assert run.diagnostics["penetration"].max() < 0.1  # [m]
