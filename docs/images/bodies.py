"""Draws docs/images/bodies.png: four bodies in motion, each with its energy ledger.

python docs/images/bodies.py
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from meshes import draw_skin, draw_wire, frame

import stiffly
from stiffly import meshes
from stiffly.bodies import (
    Gravity,
    Keyframes,
    Rayleigh,
    Rotation,
    System,
    Tetrahedra,
    Wind,
    cloth_springs,
    fibers,
    lumped_mass,
)
from stiffly.meshes import Mesh

COLOURS = {
    "kinetic": "#2a6fbb",
    "elastic": "#2e8b57",
    "gravity": "#8a6d3b",
    "added": "#7b4ea3",
    "dissipated": "#a0522d",
    "numerical": "#c0392b",
}


def flag():
    mesh = meshes.cloth(30, 20, spacing=0.04)
    x = mesh.positions[:, [0, 2, 1]]  # hung upright from its left side
    system = System(
        np.full(len(x), 3e-4),
        [
            cloth_springs(mesh, 200.0, 40.0, 2.0, law="cubic"),
            Gravity(),
            Wind(mesh.triangles, lambda t: (6.0, 2.0 * np.sin(7.0 * t), 0.0)),
        ],
        fixed=x[:, 0] == x[:, 0].min(),
        rest=x,
    )
    run = stiffly.simulate(system, x, integrator="midpoint", step=2e-3, duration=1.2)
    return "cloth in gusts", run, mesh.triangles, (20, -65)


def twisted_bar():
    mesh = meshes.bar()
    x = mesh.positions
    left, right = mesh.vertex_sets["left"], mesh.vertex_sets["right"]
    turn = Rotation(
        right, axis=(1, 0, 0), centre=x[right].mean(axis=0), times=[0, 1], angles=[0, 1.5 * np.pi]
    )
    system = System(
        lumped_mass(x, mesh.tets, 1000.0),
        [Tetrahedra(mesh.tets, 1e6, 0.4, material="neo-hookean")],
        fixed=left,
        rest=x,
        damping=Rayleigh(alpha=2.0),
        supports=turn,
    )
    run = stiffly.simulate(system, x, integrator="midpoint", step=0.01, duration=1.5)
    return "solid, turned at one end", run, mesh.triangles, (18, -55)


def brush():
    roots = meshes.brush_roots(300)
    lines = roots.centrelines(4)
    body = fibers(lines, thickness=0.12e-3, young=3.2e10, torsional=1e9, density=1150.0)
    shake = Keyframes(body.root, [0, 4e-3, 8e-3], [[0, 0, 0], [8e-3, 0, 0], [0, 0, 0]])
    system = System(
        body.mass, [body.part], rest=body.positions, supports=shake, damping=Rayleigh(alpha=50.0)
    )
    run = stiffly.simulate(
        system, body.positions, integrator="exprb42", step=2e-5, duration=7e-3, every=1e-4
    )
    return "300 bristles, shaken", run, body, (16, -70)


def ledger(axes, run):
    energy = run.energy
    lines = {**energy.parts, "added": energy.added, "dissipated": energy.dissipated}
    lines["numerical"] = energy.numerical
    for name, series in lines.items():
        if np.ptp(series) > 0.0:
            axes.plot(run.times, series - series[0], color=COLOURS[name], label=name, lw=1.2)
    axes.set_xlabel("time [s]", fontsize=8)
    axes.set_ylabel("change of energy [J]", fontsize=8)
    axes.tick_params(labelsize=7)
    axes.legend(fontsize=7, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)


def body(axes, x, shape, view):
    if isinstance(shape, np.ndarray):
        draw_skin(axes, Mesh(x, np.empty((0, 2), dtype=int), triangles=shape))
    else:
        points = shape.centrelines(x).reshape(len(shape.start) - 1, -1, 3)
        draw_wire(axes, np.stack([points[:, :-1], points[:, 1:]], axis=2).reshape(-1, 2, 3), 0.5)
        x = points.reshape(-1, 3)
    frame(axes, x, 1.0, view)


def main():
    figure = plt.figure(figsize=(12, 6.4), layout="constrained")
    for column, make in enumerate((flag, twisted_bar, brush)):
        title, run, shape, view = make()
        axes = figure.add_subplot(2, 3, column + 1, projection="3d")
        moment = -1 if make is not brush else int(run.energy.elastic.argmax())  # bent the most
        axes.set_title(f"{title}\n{run.integrator}, t = {run.times[moment]:.3g} s", fontsize=9)
        body(axes, run.positions[moment], shape, view)
        ledger(figure.add_subplot(2, 3, column + 4), run)
        print(f"{title}: {run!r}")
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


if __name__ == "__main__":
    main()
