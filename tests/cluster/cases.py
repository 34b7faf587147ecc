"""Runs over ranks beside runs on one processor, of which there is one for all numbers of ranks:

    python cases.py ALONE                       # writes what one processor finds
    mpiexec -n R python cases.py ALONE OUT      # writes how far ranks are from that, as JSON

Every scene takes an explicit, an exponential and an implicit method."""

import json
import pickle
import sys
import warnings
from pathlib import Path

import numba
import numpy as np

import stiffly
from stiffly import Gravity, Rayleigh, Springs, System
from stiffly.backends.petsc import world
from stiffly.bodies import Dashpots, Drag, Field, Force, Rotation, Wind
from stiffly.collisions import Contact, Plane, Sphere
from stiffly.collisions.shapes import keyframes
from stiffly.meshes import lattice
from stiffly.scenes.builder import rank_by_rank
from stiffly.solvers import ksp
from stiffly.system import groups
from stiffly.system.ranks import RankSystem
from stiffly.system.shares import Piece

STEPS = {  # scene: step [s] of verlet, exprb42, energy-momentum
    "dragon": (5e-4, 0.01, 0.01),
    "coil-spring": (5e-4, 0.01, 0.01),
    "hair": (5e-4, 0.002, 0.002),
    "falling-cube": (1e-3, 0.002, 0.005),
}
MAIN = [
    (scene, method, step, 100)
    for scene, steps in STEPS.items()
    for method, step in zip(("verlet", "exprb42", "energy-momentum"), steps, strict=True)
]
OTHERS = [
    *(("dragon", method, 0.01, 20) for method in ("exprb2", "exprb32", "pexprb43", "bdf1", "bdf2")),
    *(("coil-spring", method, 1e-3, 20) for method in ("rk4", "eti", "epirk4s3", "midpoint")),
    ("falling-cube", "epirk4s3", 0.002, 40),
    ("falling-cube", "stabilised", 0.005, 100),
    *(("everything", method, step, 40) for method, step in (("verlet", 1e-3), ("bdf2", 0.01))),
    ("everything", "energy-momentum", 0.01, 40),
    *(("everything", method, 2e-3, 20) for method in ("exprb42", "pexprb43")),
    *(("damped", method, 5e-3, 20) for method in ("exprb42", "bdf2")),
    *(("rubbing", method, 1e-3, 100) for method in ("verlet", "rk4")),
    *(("pushed", method, 1e-3, 100) for method in ("verlet", "rk4", "dop853")),
    *(("dragon", method, 5e-4, 100) for method in ("symplectic-euler", "rkn6", "rkn86")),
]
IN_PIECES = "pieces of "
PIECES = [  # built rank by rank
    ("pieces of flag", "verlet", 5e-4, 100),
    ("pieces of flag", "bdf2", 0.005, 40),
    ("pieces of flag", "exprb42", 2e-3, 20),
    ("pieces of bar", "verlet", 2e-3, 100),
    ("pieces of bar", "exprb42", 0.033, 100),
    ("pieces of bar", "energy-momentum", 0.033, 100),
    ("pieces of bar", "stabilised", 0.033, 40),
]
MULTIGRID = "multigrid of "
ITERATIVE = [  # solved by conjugate gradients, or GMRES, with multigrid
    ("multigrid of dragon", "bdf2", 0.01, 20),
    ("multigrid of bar", "energy-momentum", 0.033, 40),
    ("multigrid of everything", "bdf2", 0.01, 20),
]
THREADS = "threads of "
THREADED = [  # two threads a rank, each with several pieces of what it owns
    *(("threads of dragon", method, 5e-4, 100) for method in ("verlet", "rkn6")),
    ("threads of falling-cube", "verlet", 1e-3, 100),
    ("threads of rubbing", "verlet", 1e-3, 100),
]
CASES = MAIN + OTHERS + PIECES + ITERATIVE + THREADED


def everything():
    """A cloth, one side of it led, in wind, with loads of all kinds, that rubs a ball in motion."""
    mesh = lattice(7, 6, 1, spacing=0.1)
    x, edges = mesh.positions, mesh.edges
    corners = np.arange(42).reshape(6, 7)
    low, right, up = corners[:-1, :-1].ravel(), corners[:-1, 1:].ravel(), corners[1:, :-1].ravel()
    parts = [
        Springs(edges, 300.0, law="cubic"),
        Gravity(),
        Wind(np.stack([low, right, up], axis=1), (3.0, 1.0, 0.0)),
        Dashpots(edges, 0.05),
        Drag(np.linspace(0.001, 0.002, 42), power=2),
        Field(lambda t: (0.0, np.sin(5.0 * t), 0.0)),
        Force([11, 20, 33], lambda t: (0.0, 0.0, 0.05 * t)),
        Contact(
            [
                Sphere(
                    (0.3, 0.25, -0.11), 0.1, motion=keyframes([0.0, 1.0], [[0] * 3, [0, 0, 0.1]])
                ),
                Plane((0.0, 0.0, -0.3), (0.0, 0.0, 1.0)),
            ],
            400.0,
            friction=0.3,
            particles=np.arange(5, 42),
        ),
    ]
    led = np.flatnonzero(x[:, 0] == x[:, 0].min())
    turning = Rotation(led[:-1], axis=(1.0, 0.0, 0.0), rate=0.5)
    body = System(0.01, parts, led[-1:], x, Rayleigh(0.2), [turning])
    return body, x


def damped():
    """A block of springs, held on one side, whose stiffness damps it as well."""
    mesh = lattice(6, 4, 4, spacing=0.1)
    x = mesh.positions
    held = np.flatnonzero(x[:, 0] == x[:, 0].min())
    return System(0.01, [Springs(mesh.edges, 300.0), Gravity()], held, x, Rayleigh(0.2, 2e-3)), x


def cloth():
    """Positions, springs and what is held on one side."""
    mesh = lattice(9, 8, 1, spacing=0.1)
    x = mesh.positions
    return x, Springs(mesh.edges, 300.0, law="cubic"), np.flatnonzero(x[:, 0] == x[:, 0].min())


def rubbing():
    """A cloth, one side of it led, that falls on a ball in motion: all that a rank knows of others
    within a step are positions."""
    x, springs, led = cloth()
    motion = keyframes([0.0, 1.0], [[0] * 3, [0, 0, 0.5]])
    contact = Contact(Sphere((0.4, 0.35, -0.105), 0.1, motion=motion), 400.0, friction=0.3)
    turning = Rotation(led, axis=(1.0, 0.0, 0.0), rate=0.5)
    return System(0.01, [springs, Gravity(), contact], (), x, Rayleigh(0.2), [turning]), x


def pushed():
    """One that is held, with forces by particle and by time."""
    x, springs, held = cloth()
    loads = [
        Drag(np.where(x[:, 0] > 0.0, 0.001, 0.0), power=2, wind=(0.5, 0.0, 2.0)),
        Field(lambda t: (0.0, np.sin(5.0 * t), 0.0)),
        Force([11, 20, 33, 47], lambda t: (0.0, 0.0, 0.05 * t)),
    ]
    return System(0.01, [springs, Gravity(), *loads], held, x), x


BODIES = {"everything": everything, "damped": damped, "rubbing": rubbing, "pushed": pushed}


def named(case):
    return " ".join(case[:2])


def ran(scene, method, step, count, **how):
    options = {"integrator": method, "step": step, "duration": count * step, "every": 10 * step}
    return stiffly.simulate(*scene, **options, **how)


def body(name, shared):
    """Shared: as ranks get it."""
    name = name.removeprefix(MULTIGRID).removeprefix(THREADS)
    if name in BODIES:
        return BODIES[name]()
    if shared and name.startswith(IN_PIECES):
        return (in_pieces(name.removeprefix(IN_PIECES)),)
    return (stiffly.scenes.load(name.removeprefix(IN_PIECES), small=True),)


def in_pieces(name):
    """The scene as this rank builds it: of layers all ranks have equally many but for one, and up
    to two more on either side."""
    particles = stiffly.scenes.load(name, small=True).system.particles
    with rank_by_rank("petsc"):
        scene = stiffly.scenes.load(name, small=True)
    ranks = world().size
    if ranks > 1:
        assert isinstance(scene.system, Piece) and scene.system.total == particles
        layer = {"flag": 10, "bar": 9}[name]
        most = (-(-particles // layer // ranks) + 4) * layer
        assert len(scene.x0) == scene.system.built.particles <= most
    return scene


def seen(run):
    """Positions, and every line of the ledger."""
    lines = dict(run.energy.parts)
    for name in ("added", "dissipated", "numerical"):
        lines[name] = getattr(run.energy, name)
    return run.positions, lines


def apart(ours, alone):
    """Positions over the size of the body, every line of the ledger over what was exchanged."""
    (x, mine), (y, lines) = ours, alone
    far = np.abs(x - y).max() / np.ptp(y[0], axis=0).max()
    most = max(np.ptp(line) for line in lines.values())
    off = max(np.abs(mine[name] - line).max() for name, line in lines.items()) / most
    moved = np.abs(y[-1] - y[0]).max()
    return {"positions": float(far), "ledger": float(off), "moved": float(moved)}


def iterations():
    """Of conjugate gradients with multigrid on a bar and a step of 1 s, which hardly any mass is
    left in: with its three shifts, with the six motions of rigid bodies."""
    with rank_by_rank("petsc"):
        scene = stiffly.scenes.load("bar", cells=5)
    piece = scene.system if world().size > 1 else Piece.whole(scene.system, scene.x0, 1)
    bound, state = RankSystem(piece, world()).bind(scene.x0)
    matrix, b = bound.tangent(state).matrix(1.0, 1.0, 0.0), bound.backend.random(0, bound.size)
    options, counts, found = world().petsc.Options(ksp.PREFIX), [], []
    for rigid in (False, True):
        options[ksp.RIGID] = rigid
        factor = ksp.KspFactor(bound.backend, matrix, True)
        found.append(factor.solve(b))
        counts.append(factor.products)
    options[ksp.RIGID] = False
    (off,) = world().largest(np.abs(found[1] - found[0]).max() / np.abs(found[0]).max())
    return {"shifts": counts[0], "rigid": counts[1], "apart": off}


def main(alone, out=None):
    warnings.simplefilter("ignore")
    if out is None:
        runs = {named(case): seen(ran(body(case[0], False), *case[1:])) for case in CASES}
        Path(alone).write_bytes(pickle.dumps(runs))
        return
    known, found = pickle.loads(Path(alone).read_bytes()), {}
    direct, rows = ksp.DIRECT, groups.PIECE_ROWS
    for case in CASES:
        ksp.DIRECT = 0 if case[0].startswith(MULTIGRID) else direct
        threaded = case[0].startswith(THREADS)
        groups.PIECE_ROWS = 6 if threaded else rows
        numba.set_num_threads(2 if threaded else 1)
        run = ran(body(case[0], True), *case[1:], engine="petsc")
        if world().rank == 0:
            found[named(case)] = {**apart(seen(run), known[named(case)]), "loop": run.stats["loop"]}
    ksp.DIRECT = 0
    told = iterations()
    if world().rank == 0:
        found["iterations"] = told
        Path(out).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
