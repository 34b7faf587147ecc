"""Random passive scenes in contact: nothing explodes, nothing passes, and nothing is added.

    python tests/attack/trials_contact.py --count 2000

Two to five bodies (cloth, ropes, cubes of springs, of tets of the three materials) are thrown at
each other, some held at a corner, over a floor in half of the cases; steps of 1 to 33 ms, contact
and material stiffness over four decades, friction 0 to 1; energy-momentum or realtime, 24 steps.
The promise: `added` is exactly 0 and `dissipated` never falls, no edge goes through a triangle in
any frame, and no energy comes out of nothing: what is invented stays below 5 % of what the scene
can exchange (its kinetic energy at the start, what is stored, and what gravity can release).
A named failure is counted, and is no broken promise; neither is energy that is lost.
"""

from __future__ import annotations

import warnings

import numpy as np
from trials import Outcome, main

import stiffly
from stiffly import meshes
from stiffly.bodies import Gravity, Springs, System, Tetrahedra
from stiffly.collisions import Contact, Plane, Repulsion
from stiffly.collisions.start import overlaps
from stiffly.errors import SimulationFailure, StiffWarning

STEPS = 24
FROM_NOTHING = 0.05  # of what can be exchanged
KINDS = ("cloth", "rope", "springs", "corotated", "stvk", "neo-hookean")


def body(rng: np.random.Generator, kind: str):
    """Mesh, surface triangles, edges of fibers, and the parts that make it elastic (of offset)."""
    stiff = 10.0 ** rng.uniform(1.0, 5.0)
    if kind == "cloth":
        mesh = meshes.cloth(*rng.integers(4, 7, 2), spacing=0.05)
        return mesh, mesh.triangles, None, lambda at: Springs(mesh.edges + at, stiff)
    if kind == "rope":
        mesh = meshes.rope(int(rng.integers(4, 9)), length=0.3)
        return mesh, None, mesh.edges, lambda at: Springs(mesh.edges + at, stiff)
    mesh = meshes.cube(int(rng.integers(1, 3)), side=0.12)
    if kind == "springs":
        return mesh, mesh.triangles, None, lambda at: Springs(mesh.edges + at, stiff)
    return mesh, mesh.triangles, None, lambda at: Tetrahedra(mesh.tets + at, 100 * stiff, 0.3, kind)


def turned(rng: np.random.Generator) -> np.ndarray:
    return np.linalg.qr(rng.standard_normal((3, 3)))[0]


def scene(seed: int):
    """System, positions, velocities, the elements that touch, and what can be exchanged [J]."""
    rng = np.random.default_rng(seed)
    x, v, faces, edges, parts, fixed, mass = [], [], [], [], [], [], []
    thickness, count = rng.uniform(0.004, 0.03), 0
    bodies = int(rng.integers(2, 6))
    for k in range(bodies):
        mesh, triangles, lines, elastic = body(rng, str(rng.choice(KINDS)))
        rest = mesh.positions - mesh.positions.mean(axis=0)
        place = np.array([0.0, 0.0, 0.25 + 0.45 * k]) + np.append(rng.uniform(-0.08, 0.08, 2), 0.0)
        at = rest @ turned(rng).T + place
        x.append(at)
        speed = rng.uniform(0.5, 6.0) * np.array([0.0, 0.0, 1.0 if k == 0 else -1.0])
        v.append(np.tile(speed + 0.3 * rng.standard_normal(3), (len(at), 1)))
        mass.append(np.full(len(at), 10.0 ** rng.uniform(-3.0, -1.0)))
        if triangles is not None:
            faces.append(triangles + count)
        if lines is not None:
            edges.append(lines + count)
        parts.append(elastic(count))
        if rng.random() < 0.2:
            fixed.append(count)
            v[-1][0] = 0.0
        count += len(at)
    x, v, mass = np.concatenate(x), np.concatenate(v), np.concatenate(mass)
    faces = np.concatenate(faces) if faces else None
    edges = np.concatenate(edges) if edges else None
    touch = {
        "stiffness": 10.0 ** rng.uniform(1.0, 5.0),
        "friction": float(rng.choice([0.0, rng.random()])),
    }
    parts += [Gravity(), Repulsion(faces, edges, thickness=thickness, **touch)]
    if rng.random() < 0.5:
        parts.append(Contact(Plane((0, 0, 0), (0, 0, 1)), **touch))
    exchanged = 0.5 * mass @ np.einsum("ij,ij->i", v, v) + 9.81 * mass @ (x[:, 2] + 1.0)
    system = System(mass, parts, fixed=fixed, rest=x)
    return (
        system,
        x,
        v,
        rng.choice(["energy-momentum", "realtime"]),
        rng.uniform(1e-3, 0.033),
        exchanged,
    )


def trial(seed: int) -> Outcome:
    system, x, v, name, h, exchanged = scene(seed)
    verdict = f"{name}: ran"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StiffWarning)
        try:
            run = stiffly.simulate(system, x, v, integrator=name, step=h, duration=STEPS * h)
        except SimulationFailure as failure:
            run, verdict = failure.run, f"{name}: {type(failure).__name__}"
    touched = run.diagnostics["contacts"].max(initial=0.0) > 0
    verdict += ", touched" if touched else ""
    story = f"h = {h:.2g} s, {len(x)} particles, {run.energy.summary()}"
    energy = run.energy
    if np.any(energy.added != 0.0) or np.any(np.diff(energy.dissipated) < 0.0):
        return Outcome(f"{name}: booked as added", True, story)
    if not energy.numerical.max() <= FROM_NOTHING * exchanged:
        return Outcome(f"{name}: energy from nothing", True, story)
    part, order = system.bind(x, v)[0].assembly.guards[0], system.numbering.order
    for now in run.positions:
        found = overlaps(part._broad.elements, now[order])
        if found:
            return Outcome(f"{name}: passed", True, f"{story} {found[0]}")
    return Outcome(verdict)


if __name__ == "__main__":
    main(trial, count=2000, seconds=300.0)  # longer is as good as hanging
