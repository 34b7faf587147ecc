"""Runs to record, interrupt and kill: small ones with a name, the same in every process.

`in_process` runs one in a process of its own, which can be killed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import stiffly
from stiffly import Gravity, Rayleigh, SecondOrder, Springs, System, Tetrahedra, meshes
from stiffly.bodies import Moving, cloth_springs, lumped_mass
from stiffly.collisions import Contact, Held, Plane, ProjectedContact, Repulsion, Sphere, keyframes
from stiffly.recording import writer
from stiffly.recording.checkpoint import Packed, unpacked

Case = tuple[Any, Any, Any, dict[str, Any]]  # system, x0, v0, options of simulate
HERE = Path(__file__).parent


def pendulum_force(x):
    return -9.0 * np.sin(x)


def pendulum_jacobian(x):
    return np.diag(-9.0 * np.cos(x))


def pendulum_potential(x):
    return float(np.sum(9.0 * (1.0 - np.cos(x))))


def pendulums(**options: Any) -> Case:
    """Two pendulums that a weak spring couples: a SecondOrder."""
    system = SecondOrder(
        stiffness=[[1.0, -1.0], [-1.0, 1.0]],
        force=pendulum_force,
        jacobian=pendulum_jacobian,
        potential=pendulum_potential,
    )
    return system, [1.0, -0.3], [0.0, 0.5], {"step": 0.02, "duration": 1.0, "every": 0.1, **options}


def block(side: int = 4, **options: Any) -> Case:
    """A lattice of springs that hangs on one side, damped."""
    mesh = meshes.lattice(side, side, side, spacing=0.1)
    x = mesh.positions
    system = System(
        np.full(len(x), 0.01),
        [Springs(mesh.edges, 1e4), Gravity()],
        fixed=x[:, 0] == 0.0,
        rest=x,
        damping=Rayleigh(0.1, 1e-4),
    )
    usual = {"integrator": "midpoint", "step": 0.005, "duration": 0.2, "every": 0.02}
    return system, x, None, {**usual, **options}


def jelly(cells: int = 3, **options: Any) -> Case:
    """A cube of tetrahedra that slides over the floor with friction."""
    mesh = meshes.cube(cells)
    x = mesh.positions
    floor = Plane((0, 0, x[:, 2].min() - 0.005), (0, 0, 1))
    parts = [Tetrahedra(mesh.tets, 1e5, 0.3), Gravity(), Contact(floor, 1e5, friction=0.3)]
    system = System(lumped_mass(x, mesh.tets, 1000.0), parts, rest=x)
    v = np.tile([0.5, 0.0, -1.0], (len(x), 1))
    return system, x, v, {"step": 0.005, "duration": 0.2, "every": 0.02, **options}


def spinner(cells: int = 2, **options: Any) -> Case:
    """A free cube that turns: no damping, no gravity."""
    mesh = meshes.cube(cells)
    x = mesh.positions
    system = System(lumped_mass(x, mesh.tets, 1000.0), [Tetrahedra(mesh.tets, 1e5, 0.3)], rest=x)
    v = np.cross([1.0, 2.0, 10.0], x)
    return system, x, v, {"step": 0.02, "duration": 0.8, "every": 0.08, **options}


def wreck(**options: Any) -> Case:
    """Springs that yield when they hit the floor, which pushes particles out."""
    mesh = meshes.lattice(3, 3, 3, spacing=0.1)
    x = mesh.positions
    floor = ProjectedContact(Plane((0, 0, x[:, 2].min() - 0.02), (0, 0, 1)))
    # soft enough that putting particles back stores less than they bring along
    parts = [Springs(mesh.edges, 100.0, yield_strain=0.01), Gravity(), floor]
    system = System(np.full(len(x), 0.01), parts, rest=x)
    v = np.tile([0.3, 0.0, -2.0], (len(x), 1))
    return system, x, v, {"step": 0.005, "duration": 0.2, "every": 0.02, **options}


def cloth(side: int = 9, **options: Any) -> Case:
    """Cloth that falls on a ball which moves under it, and touches itself."""
    mesh = meshes.cloth(side, side, spacing=0.02)
    x = mesh.positions
    centre = (*x.mean(axis=0)[:2], -0.035)
    ball = Sphere(centre, 0.03, motion=keyframes([0.0, 0.3], [[0, 0, 0], [0.03, 0, 0]]))
    parts = [
        *cloth_springs(mesh, 50.0, 20.0, 1.0),
        Gravity(),
        Contact(ball, 50.0, friction=0.3),
        Repulsion(mesh.triangles, thickness=0.005, stiffness=100.0),
    ]
    system = System(np.full(len(x), 1e-4), parts, rest=x)
    return system, x, None, {"step": 0.004, "duration": 0.16, "every": 0.016, **options}


def held(**options: Any) -> Case:
    """A block that drops onto a floor which holds exactly what touches it, and springs off."""
    mesh = meshes.lattice(3, 3, 3, spacing=0.1)
    x = mesh.positions
    floor = Held(Plane((0, 0, x[:, 2].min() - 0.02), (0, 0, 1)), None)
    system = System(np.full(len(x), 0.01), [Springs(mesh.edges, 100.0), Gravity(), floor], rest=x)
    v = np.tile([0.3, 0.0, -2.0], (len(x), 1))
    return system, x, v, {"step": 0.002, "duration": 0.2, "every": 0.02, **options}


def shaken(**options: Any) -> Case:
    """A lattice whose side goes along a path: explicit steps in compiled stretches."""
    mesh = meshes.lattice(3, 3, 3, spacing=0.1)
    x = mesh.positions
    side = np.flatnonzero(x[:, 0] == 0.0)
    edges = mesh.edges[~np.isin(mesh.edges, side).all(axis=1)]  # between supports there is no loop
    system = System(
        np.full(len(x), 0.01),
        [Springs(edges, 1e3), Gravity()],
        rest=x,
        supports=Moving(side, swinging),
    )
    return system, x, None, {"step": 1e-3, "duration": 0.1, "every": 4e-3, **options}


def swinging(t: float, start: Any) -> Any:
    return start + np.array([0.0, 0.0, 0.05 * np.sin(40.0 * t)])


CASES: dict[str, Callable[[], Case]] = {
    "exprb42": lambda: block(integrator="exprb42"),
    "pexprb43 adaptive": lambda: block(integrator="pexprb43", rtol=1e-3, step=None, every=0.04),
    "dop853 adaptive": lambda: block(integrator="dop853", rtol=1e-3, step=None, every=0.001),
    "rkn86 adaptive": lambda: pendulums(integrator="rkn86", rtol=1e-9, step=None, every=0.02),
    "rkn6": lambda: pendulums(integrator="rkn6"),
    "eti two-step": lambda: block(integrator="eti"),
    "neti two-step": lambda: pendulums(integrator="neti"),
    "verlet": lambda: block(integrator="verlet", step=4e-4, every=1.6e-3, duration=0.016),
    "bdf2 contact friction": lambda: jelly(integrator="bdf2"),
    "midpoint kept factors": lambda: block(6, integrator="midpoint"),
    "stabilised": lambda: spinner(integrator="stabilised"),
    "realtime contact": lambda: cloth(integrator="realtime"),
    "projective": lambda: jelly(integrator="projective"),
    "energy-momentum yielding": lambda: wreck(integrator="energy-momentum"),
    "energy-momentum": lambda: spinner(integrator="energy-momentum"),
    "second order": lambda: pendulums(integrator="exprb42"),
    "held exactly": lambda: held(integrator="exprb42"),
}

# long enough to be killed in the middle: some seconds each
LONG: dict[str, Callable[[], Case]] = {
    "exprb42": lambda: block(integrator="exprb42", step=1e-3, every=4e-3, duration=0.8),
    "pexprb43 adaptive": lambda: block(integrator="pexprb43", rtol=1e-4, step=None, duration=0.6),
    "eti two-step": lambda: block(integrator="eti", step=5e-4, duration=3.0),
    "bdf2 contact friction": lambda: jelly(integrator="bdf2", step=1e-3, duration=1.5),
    "midpoint kept factors": lambda: block(6, integrator="midpoint", step=1e-3, duration=2.0),
    "stabilised": lambda: spinner(integrator="stabilised", duration=12.0),
    "realtime contact": lambda: cloth(integrator="realtime", duration=1.2),
    "energy-momentum yielding": lambda: wreck(integrator="energy-momentum", duration=4.0),
}


def simulate(case: Case, **options: Any) -> Any:
    system, x0, v0, own = case
    return stiffly.simulate(system, x0, v0, **{**own, **options})


def begin(name: str, folder: str, checkpoint: float = 0.2, at_once: int = writer.AT_ONCE) -> None:
    """What a child process does first; it does not live to the end.  at_once: bytes of frames that
    are written while the run waits."""
    writer.AT_ONCE = at_once
    options = {"dtype": "float64", "checkpoint": checkpoint, "progress": dies_before_the_end}
    simulate(LONG[name](), out=folder, **options)


def dies_before_the_end(report: Any) -> None:
    """For a child that is to be killed: it kills itself should nobody have come so far, however
    slow the machine is for the one who waits and however quick for the child."""
    if report.of_frames - report.frames <= 1:
        os.kill(os.getpid(), signal.SIGKILL)


def in_process(code: str) -> subprocess.Popen:
    """A child process that has this module as `runs_to_record`."""
    start = f"import sys; sys.path.insert(0, {str(HERE)!r}); import runs_to_record, stiffly"
    return subprocess.Popen([sys.executable, "-W", "ignore", "-c", f"{start}\n{code}"])


def kill_after(child: subprocess.Popen, seconds: float) -> None:
    """SIGKILL after a while, unless it has died before."""
    deadline = time.monotonic() + seconds
    while child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    child.kill()
    assert child.wait() == -signal.SIGKILL


def through_json(tree: Any, like: Any = None) -> Any:
    """As a checkpoint has it: packed, written as JSON, read, unpacked."""
    packed = Packed(tree)
    return unpacked(json.loads(json.dumps(packed.code)), packed.arrays, like)


def wait_for(path: Path, child: subprocess.Popen, seconds: float = 600.0) -> None:
    deadline = time.monotonic() + seconds
    while not path.exists():
        assert child.poll() is None or path.exists(), "the child ended before it wrote anything"
        assert time.monotonic() < deadline, f"{path} did not appear"
        time.sleep(0.005)


def assert_same(run: Any, reference: Any) -> None:
    """Every digit of every frame, every energy, and the work that it took."""
    for name in ("times", "positions", "velocities"):
        assert np.array_equal(getattr(run, name), getattr(reference, name)), name
    assert list(run.energy.parts) == list(reference.energy.parts)
    for name in (*reference.energy.parts, "added", "dissipated"):
        assert np.array_equal(getattr(run.energy, name), getattr(reference.energy, name)), name
    assert run.stats == reference.stats
