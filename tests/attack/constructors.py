"""Constructors and functions of the library with arguments that are good: bad_inputs.py gives each
of them bad ones in turn.

A row: what is called, its good arguments, the names of those that are numbers, of all others.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import stiffly
from stiffly import bodies, collisions, meshes, shapes

Row = tuple[Callable[..., Any], dict[str, Any], str, str]

BLOCK = meshes.lattice(2, 2, 2, spacing=0.1)
SOLID, SHEET, BALL = meshes.cube(1), meshes.cloth(3, 3), meshes.sphere(6, 8)
PLANE = {"point": (0, 0, -1), "normal": (0, 0, 1)}
KEYS = {"times": [0.0, 1.0], "offsets": [(0, 0, 0), (0, 0, 0.01)]}
SPUN = {"axis": (0, 0, 1), "rate": 1.0}
STRAND = [[(0, 0, 0), (0, 0, 1.0), (0, 0, 2.0)]]


def run(**system: Any) -> Any:
    system = {"parts": [stiffly.Springs(BLOCK.edges, 1e3)], **system}
    made = stiffly.System(0.01, rest=BLOCK.positions, **system)
    return stiffly.simulate(made, BLOCK.positions, integrator="bdf1", step=0.01, duration=0.02)


def touching(shape: Any) -> Any:
    return run(parts=[collisions.Contact(shape, 10.0)])


def pushed(motion: Any) -> Any:
    return touching(collisions.Plane(**PLANE, motion=motion))


def held(support: Any) -> Any:
    return run(supports=support)


def flown(**given: Any) -> Any:
    body, _ = bodies.RigidBody.of(BLOCK.positions, 1.0)
    return bodies.bounce(body, **given)


PARTS: list[Row] = [
    (
        bodies.Attachments,
        {"particles": [0], "stiffness": 1.0},
        "particles stiffness points",
        "name",
    ),
    (bodies.Dashpots, {"edges": BLOCK.edges, "coefficient": 0.1}, "edges coefficient", ""),
    (bodies.Drag, {"coefficient": 0.1}, "coefficient power wind", ""),
    (bodies.Field, {"acceleration": (0, 0, -1.0)}, "acceleration", ""),
    (bodies.LennardJones, {"epsilon": 1e-3, "sigma": 0.05}, "epsilon sigma", "cutoff exclude name"),
    (
        bodies.LinearSprings,
        {"edges": BLOCK.edges, "stiffness": 1.0},
        "edges stiffness across",
        "name",
    ),
    (bodies.MomentumDamping, {"rate": 1.0}, "rate", ""),
    (
        *(bodies.MotorTorque, {"torque": 1.0, "base": [0, 1, 2], "counter": [3, 4, 5]}),
        *("torque base counter axis", ""),
    ),
    (bodies.StokesFluid, {"viscosity": 1.0, "blob": 0.05}, "viscosity blob particles", ""),
    (
        *(bodies.Wind, {"triangles": [[0, 1, 2]], "wind": (1.0, 0, 0)}),
        *("triangles wind coefficient density", ""),
    ),
    (bodies.FaceSprings, {"tets": [[0, 1, 2, 4]], "stiffness": 1.0}, "tets stiffness", "name"),
    (bodies.Potential, {"energy": lambda x: float((x**2).sum())}, "couples", "energy name"),
    (
        *(collisions.Contact, {"shapes": collisions.Plane(**PLANE), "stiffness": 10.0}),
        *("stiffness particles margin friction", "shapes frozen"),
    ),
    (
        *(collisions.ProjectedContact, {"shapes": collisions.Plane(**PLANE)}),
        *("friction particles", "shapes"),
    ),
    (
        *(collisions.Repulsion, {"edges": BLOCK.edges, "thickness": 1e-3, "stiffness": 10.0}),
        *("faces edges thickness stiffness friction", ""),
    ),
]
SHAPES: list[Row] = [
    (collisions.Plane, PLANE, "point normal", "motion"),
    (collisions.Sphere, {"centre": (0, 0, -9), "radius": 1.0}, "centre radius", "motion inside"),
    (collisions.Hemisphere, {"centre": (0, 0, -9), "radius": 1.0}, "centre radius axis", "motion"),
    (
        *(
            collisions.TriangleMesh,
            {"positions": SOLID.positions - 5, "triangles": SOLID.triangles},
        ),
        *("positions triangles reach", "motion"),
    ),
]
MOTIONS: list[Row] = [
    (collisions.keyframes, KEYS, "times offsets", ""),
    (collisions.rotation, SPUN, "axis centre rate times angles", ""),
]
SUPPORTS: list[Row] = [
    (bodies.Keyframes, {"particles": [0], **KEYS}, "particles times offsets", ""),
    (bodies.Rotation, {"particles": [0], **SPUN}, "particles axis centre rate times angles", ""),
    (bodies.Moving, {"particles": [0], "path": lambda t, rest: rest}, "particles", "path velocity"),
]
ALONE: list[Row] = [
    (bodies.cloth_springs, {"mesh": SHEET, "structural": 1.0}, "structural shear bending", "mesh"),
    (bodies.shell_springs, {"mesh": BALL, "stiffness": 1.0}, "stiffness bending", "mesh"),
    (bodies.tet_springs, {"mesh": SOLID, "stiffness": 1.0}, "stiffness face", "mesh"),
    *(
        (
            *(mass, {"positions": SOLID.positions, "tets": SOLID.tets, "density": 1.0}),
            *("positions tets density", ""),
        )
        for mass in (bodies.lumped_mass, bodies.consistent_mass)
    ),
    (bodies.ConsistentMass, {"matrix": np.eye(4)}, "matrix copies", ""),
    (
        bodies.fibers,
        {"centrelines": STRAND, "thickness": 0.1, "young": 1e5, "torsional": 1e5, "density": 1e3},
        "centrelines thickness young torsional density normal stretch width",
        "",
    ),
    (bodies.helix_molecule, {}, "atoms chains", ""),
    (
        flown,
        {
            **{"walls": [((0, 0, -1), (0, 0, 1))], "centre": (0, 0, 0), "velocity": (0, 0, -1)},
            **{"stiffness": 1e3, "restitution": 0.5, "duration": 0.1},
        },
        "centre velocity stiffness restitution duration spin gravity max_steps",
        "walls",
    ),
    (
        *(collisions.push_apart, {"x": SHEET.positions, "faces": SHEET.triangles, "gap": 1e-4}),
        *("x faces edges gap fixed", ""),
    ),
    (meshes.bending_pairs, {"triangles": SOLID.triangles}, "triangles", ""),
    (meshes.triangle_edges, {"triangles": SOLID.triangles}, "triangles", ""),
    (
        *(meshes.shell, {"positions": SOLID.positions, "triangles": SOLID.triangles}),
        *("positions triangles", "vertex_sets"),
    ),
    (meshes.decimate, {"surface": BALL, "particles": 20}, "particles", "surface"),
    (meshes.quality, {"mesh": SOLID}, "", "mesh"),
    (meshes.repaired, {"mesh": SOLID}, "", "mesh"),
    (meshes.validate, {"mesh": SOLID}, "", "mesh"),
    (meshes.write_mesh, {"path": "cube.obj", "mesh": SOLID}, "", "path mesh"),
    (meshes.tetrahedralise, {"surface": BALL}, "particles tets target", "close_holes"),
    (shapes.particles, {"positions": BLOCK.positions}, "positions edges", ""),
    (bodies.read_molecule, {"path": "m.pdb"}, "tolerance max_mb", "path"),
]
SIZED = "bar beam brush_roots car cloth coil creature creature_surface dome flag flagellum foil"
for shape in f"{SIZED} hair_cap pylon textile torus tower".split():
    maker = getattr(meshes, shape)
    ALONE.append((maker, {}, "", " ".join(inspect.signature(maker).parameters)))


def tables() -> list[tuple[Callable[[Any], Any], list[Row]]]:
    """What is done with what a row makes, and the rows."""
    return [
        (lambda part: run(parts=[part]), PARTS),
        *((touching, SHAPES), (pushed, MOTIONS), (held, SUPPORTS), (lambda made: made, ALONE)),
    ]
