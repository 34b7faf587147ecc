"""17,000 bad inputs from tables, each tried in a child of its own, with counts.

    python tests/attack/bad_inputs.py            # all of them: some minutes
    python tests/attack/bad_inputs.py 100        # every so many, 100 in all
    python tests/attack/bad_inputs.py all run    # those with `run` in their names, one line each
    python tests/attack/bad_inputs.py 100 --patience 10    # hangs after ten times as long

What is wrong is told in one line (an error of stiffly's own; exit code 2), or the run of what is
good but cannot succeed ends with one (exit code 1).  Good outcomes are `clear`, `failed` and
`accepted`; bad ones `foreign` (another exception, a traceback, several lines), `swallowed` (taken,
though nobody could mean it), `wrote` (refused, but files are there that were not), `hang` (more
than CPU seconds of processor time, or asleep) and `abort` (killed by a signal).

Children are forked from this process, which has loaded what they need, and has started no threads:
OpenMP ends a child that is forked beside them.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from constructors import tables
from scene_texts import TEXTS

import stiffly
from stiffly import bodies, cli, integrators, matfun, meshes
from stiffly.collisions import Held, Plane
from stiffly.errors import InputError, SimulationFailure, StiffError
from stiffly.integrators import Newton
from stiffly.integrators.auto import Auto
from stiffly.recording.plots import plot
from stiffly.view.lessons import lesson

CPU = 10  # seconds of processor time: more is a hang
ASLEEP = 300  # seconds after which a child that waits for something is ended
MEMORY = 6 << 30  # bytes that a child may take
GOOD = ("clear", "failed", "accepted")


class Case(NamedTuple):
    """name; call: in the child; never: nobody could mean it, so it must be refused."""

    name: str
    call: Callable[[], Any]
    never: bool = False


# ------------------------------------------------------------------ command lines

WORDS = ["0", "-1", "nan", "inf", "-inf", "1e-320", "1e308", "1e400", "much", "", "0x10", "1,5"]
WORDS += ["true", "None", "a\0b", "\u0661", "x" * 5000, "1e-30", "-0.0", "1 2"]
NEVER_WORDS = {"nan", "much", "", "0x10", "1,5", "None", "a\0b", "x" * 5000, "1 2"}
NUMBERS = {
    "run bar --small --quiet --duration 0.02": (
        *("--step", "--rtol", "--every", "--fps", "--checkpoint"),
        *("--set cells=", "--set young=", "--set gravity=", "--max-hours"),
    ),
    "run bar --small --quiet": ("--duration",),
    "resume ../good": ("--duration",),
    "render ../good --size 64x48": ("--frame", "--fps", "--speed", "--max-pictures"),
    "export ../good --to ply": ("--max-points",),
    "plot ../good": ("--max-points",),
    # which has no process to run in: all else is looked at first
    "sweep bar --small --quiet --duration 0.02 --over cells=1,2 --jobs 0": (
        *("--max-runs", "--step", "--rtol", "--every", "--set young="),
        *("--over step=", "--over cells=", "--over young=1:2:log:", "--over rtol=1e-3,"),
    ),
    "sweep bar --small --quiet --duration 0.02 --over cells=1,2 --max-runs 1": ("--jobs",),
    "run bar --small --quiet --duration 0.02 --integrator auto": (
        *("--rtol", "--set method.max_steps="),
    ),
    "render ../good --size 64x48 --frame 0": ("--turntable",),
    "view nowhere": ("--port", "--budget", "--step"),
}
NAMES = {
    "run bar --small --quiet --duration 0.02": (
        *("--integrator", "--device", "--device gpu:", "--dtype", "--variant", "--engine"),
        *("--set method.", "--set nobody="),
    ),
    "run bar --small --quiet --duration 0.02 --integrator verlet": ("--device gpu:", "--device"),
    "resume ../good --duration 0.1": ("--device", "--device gpu:"),
    "run": ("", "--set"),
    "render ../good --frame 0": ("--size", "--color", "--camera"),
    "export ../good": ("--to",),
    "export ../good --to ply": ("--fields",),
    "sweep bar --small --quiet --duration 0.02 --jobs 0": ("--over", "--over integrator="),
    "sweep bar --small --quiet --over cells=1,2 --jobs 0": ("--on", "--integrator", "--variant"),
    "view --no-open": ("--lesson",),
    "view nowhere": ("--host", "--integrator", "--variant", "--set"),
    "scene show": ("",),
    "lab": ("",),
}
DEVICES = ["gpu", "gpu:7", "gpu:0", "gpu:-1", "gpu:", "gpu:1:1", "cpu:1", "auto:1", "GPU"]
DEVICES += ["gpu:\u0661", "gpu:\u00b2", "gpu:" + "9" * 5000]
PLACES = ["nowhere", ".", "..", "note.txt", "note.txt/deep", "fifo", "/dev/null", "/proc/self/mem"]
PLACES += ["a\0b", "n" * 300, "", "~nobody", "-", "full", "spoilt", "short", "\udcff", "good/.."]
COMMANDS = [
    "resume",
    "check",
    "plot",
    "render --frame 0 --size 64x48",
    "export --to npz",
    "scene check",
]
COMMANDS += ["run", "view", "render ../good --frame 0 --size 64x48 --out", "plot ../good --out"]
COMMANDS += ["export ../good --to blend --out", "sweep bar --over cells=1,2 --jobs 0 --out"]
COMMANDS += ["export ../good --to ply --out", "run bar --small --quiet --duration 0.02 --out"]


def command_lines() -> Iterator[Case]:
    for table, known in ((NUMBERS, True), (NAMES, False)):
        for command, options in table.items():
            for option in options:
                for word in WORDS:
                    if " " in option:  # the word is the end of one
                        words = [*command.split(), option.split()[0], option.split()[1] + word]
                    else:
                        words = [*command.split(), *option.split(), word]
                    never = known and word in NEVER_WORDS and not (hexadecimal(option, word))
                    yield _line(words, never)
    for method in ("verlet", "exprb42", "bdf1", "auto"):
        for device in DEVICES:
            words = ["run", "bar", "--small", "--quiet", "--duration", "0.02", "--device", device]
            yield _line([*words, "--integrator", method], False)
    for device in DEVICES:
        yield _line(["resume", "../good", "--duration", "0.1", "--device", device], False)
    for command in COMMANDS:
        for place in PLACES:
            words = command.split()
            at = 1 if words[0] in ("render", "export") and "../good" not in words else len(words)
            yield _line([*words[:at], _beside(place), *words[at:]], False)


def hexadecimal(option: str, word: str) -> bool:
    """TOML, which values of --set are read as, has such numbers."""
    return option.startswith(("--set", "--over")) and word == "0x10"


def _beside(place: str) -> str:
    own = ("note.txt", "note.txt/deep", "fifo", "full", "spoilt", "short", "good/..")
    return f"../{place}" if place in own else place


def _line(words: list[str], never: bool) -> Case:
    shown = " ".join(word[:40] for word in words).encode("unicode_escape").decode()

    def call() -> int:
        code = cli.main(words)
        return 0 if words[0] == "check" and code == 1 else code  # something is damaged: an answer

    return Case(f"stiffly {shown}", call, never)


# ------------------------------------------------------------------ scene files

SCENE = """
duration = 0.1
step = 0.01
integrator = "bdf1"
[[body]]
name = "block"
shape = { kind = "cube", cells = 2, side = 1.0 }
elasticity = "springs"
stiffness = 1e4
mass = 1.0
position = [0.0, 0.0, 1.0]
rotation = { axis = [0.0, 0.0, 1.0], degrees = 10.0 }
scale = 1.0
velocity = [0.0, 0.0, 0.0]
pins = [0]
[[load]]
kind = "gravity"
g = [0.0, 0.0, -9.81]
[[load]]
kind = "walker"
weight = 0.1
times = [0.0, 0.05]
path = [[0.0, 0.0, 1.0], [1.0, 0.0, 1.0]]
width = 0.2
bodies = ["block"]
[[collider]]
kind = "plane"
normal = [0.0, 0.0, 1.0]
point = [0.0, 0.0, -1.0]
stiffness = 1e3
friction = 0.3
[[collider]]
kind = "plane"
normal = [0.0, 0.0, 1.0]
point = [0.0, 0.0, -2.0]
response = "held"
stiffness = 1e3
margin = 0.0
[damping]
alpha = 0.1
beta = 0.0
[output]
dtype = "float32"
velocities = true
checkpoint = 10.0
"""
VALUES = ["nan", "inf", "-1", "0", "1e308", "1e-320", "-1e308", "'much'", "''", "true", "[]", "{}"]
VALUES += ["[1, 2]", "[[1]]", "[nan, 0, 0]", f"{10**30}", "1979-05-27", "'\\u0000'"]
VALUES += [f"'{'x' * 999}'", "['nobody']", "[1e308, 1e308, 1e308]", "[-1]", f"[{10**11}]"]
NEVER_VALUES = {"nan", "[[1]]", "1979-05-27", "[nan, 0, 0]"}


def scene_files() -> Iterator[Case]:
    for kind, whole in {"": SCENE, **TEXTS}.items():
        lines = whole.strip().splitlines()
        for at, line in enumerate(lines):
            key, given, value = (part.strip() for part in line.partition("="))
            if not given:
                continue
            place = f"{kind} line {at + 1}".strip()
            for other in VALUES:
                changed = [(key, other)]
                inner = re.findall(r"(?<=[{,] )(\w+) = (\[\[.*?\]\]|\[.*?\]|[^,}\s]+)", value)
                changed += [(f"{key}.{own}", value.replace(f"{own} = {old}", f"{own} = {other}"))
                            for own, old in inner]  # fmt: skip
                for name, new in changed:
                    text = "\n".join([*lines[:at], f"{key} = {new}", *lines[at + 1 :]])
                    yield _scene(f"{name} = {other[:30]} ({place})", text, other in NEVER_VALUES)
            without, twice = lines[:at] + lines[at + 1 :], [*lines[: at + 1], *lines[at:]]
            yield _scene(f"without {key} ({place})", "\n".join(without))
            yield _scene(f"{key} twice ({place})", "\n".join(twice))


def _scene(name: str, text: str, never: bool = False) -> Case:
    def call() -> int:
        Path("mine.toml").write_text(text)
        return cli.main(["run", "mine.toml", "--quiet"])

    return Case(f"scene file: {name}", call, never)


# ------------------------------------------------------------------ mesh files

ENDINGS = ["obj", "ply", "stl", "off", "vtk", "vtu", "msh", "mesh", "inp", "xdmf"]


def mesh_files() -> Iterator[Case]:
    for ending in ENDINGS:
        for damage in range(16):
            yield Case(f"mesh file: {ending}, damage {damage}", _damaged(ending, damage))


def _damaged(ending: str, damage: int) -> Callable[[], Any]:
    def call() -> Any:
        path, rng = Path(f"mesh.{ending}"), np.random.default_rng(damage)
        meshes.write_mesh(path, meshes.cube(2))
        data = np.frombuffer(path.read_bytes(), dtype=np.uint8).copy()
        if damage < 4:  # cut short
            data = data[: len(data) * damage // 4]
        elif damage < 10:  # bytes changed: a few, then many
            places = rng.integers(0, len(data), 2 ** (damage - 3))
            data[places] = rng.integers(0, 256, len(places))
        elif damage < 12:  # digits made nines: counts that are not there
            digits = np.flatnonzero((data >= 48) & (data <= 57))
            data[rng.choice(digits, min(len(digits), 6)) if len(digits) else 0] = 57
        elif damage < 14:  # a part twice
            data = np.concatenate([data[: len(data) // 2], data[len(data) // 4 :]])
        else:  # something else
            data = rng.integers(0, 256, 4000).astype(np.uint8) if damage == 14 else data[::-1]
        path.write_bytes(data.tobytes())
        return meshes.read_mesh(path, repair=bool(damage % 2))

    return call


# ------------------------------------------------------------------ Python

MESH = meshes.lattice(2, 2, 2, spacing=0.1)
X = MESH.positions
SOLID = meshes.cube(1)
SPRINGY: dict[str, Any] = {"elasticity": "springs", "stiffness": 1e3}
FLOOR = Plane((0, 0, -0.01), (0, 0, 1))
VALUES_OF_PYTHON: dict[str, tuple[Any, bool]] = {  # and whether nobody could mean it as a number
    "None": (None, False),
    "text": ("much", True),
    "digits as text": ("1", False),
    "nan": (np.nan, True),
    "inf": (np.inf, False),
    "-1": (-1.0, False),
    "0": (0, False),
    "complex": (1j, True),
    "huge": (1e308, False),
    "huge integer": (10**400, True),
    "tiny": (1e-320, False),
    "dict": ({"a": 1}, True),
    "[]": ([], False),
    "ragged": ([[1.0, 2.0], [3.0]], True),
    "complex array": (X + 1j, True),
    "masked array": (np.ma.masked_array(X, X > 0.05), True),
    "wrong shape": (np.zeros((5, 2)), False),
    "NaN array": (np.full((8, 3), np.nan), True),
    "array of texts": (np.array(["a", "b"]), True),
    "array of objects": (np.array([object()]), True),
    "bool": (True, False),
    "a class": (int, True),
    "bytes": (b"1", True),
}


def _springs(**given: Any) -> Any:
    return _system(parts=[stiffly.Springs(**{"edges": MESH.edges, "stiffness": 1e3, **given})])


def _system(**given: Any) -> Any:
    usual = {"mass": 0.01, "parts": [stiffly.Springs(MESH.edges, 1e3)], "rest": X, "fixed": [0]}
    system = stiffly.System(**{**usual, **given})
    system.bind(X, np.zeros_like(X))
    return system


def _simulate(**given: Any) -> Any:
    usual = {"x0": X, "integrator": "bdf1", "step": 0.01, "duration": 0.05}
    return stiffly.simulate(**{"system": _system(fixed=[]), **usual, **given})


def _tets(**given: Any) -> Any:
    part = stiffly.Tetrahedra(**{"tets": SOLID.tets, "young": 1e5, "poisson": 0.3, **given})
    system = stiffly.System(1.0, [part], rest=SOLID.positions)
    return system.bind(SOLID.positions, np.zeros_like(SOLID.positions))


def _gravity(**given: Any) -> Any:
    return _system(parts=[stiffly.Gravity(**given)])


def _phi(**given: Any) -> Any:
    usual = {"J": -np.eye(8), "h": 0.5, "vectors": [np.ones(8), None, np.ones(8)]}
    return matfun.phi_action(**{**usual, **given})


def _half(**given: Any) -> Any:
    operator = matfun.SecondOrderOperator(**{"A": np.eye(4), **given})
    return matfun.phi_action(operator, 0.5, [np.ones(8)])


def _door(**given: Any) -> Any:
    from scipy.integrate import solve_ivp

    usual = {"begin": 0.0, "end": 1.0, "y0": [1.0, 2.0], "fun": lambda t, y: -y, **given}
    span = usual.pop("begin"), usual.pop("end")  # which SciPy itself makes numbers
    if any(type(t) not in (int, float) or abs(t) == 10**400 for t in span):
        raise InputError("for SciPy to tell")
    return solve_ivp(t_span=span, **usual, method=stiffly.scipy.ExponentialRosenbrock)


def _recorded(**given: Any) -> Any:
    return _simulate(out="run", **given)


def _damped(**given: Any) -> Any:
    return _system(damping=stiffly.Rayleigh(**given))


def _second(**given: Any) -> Any:
    usual = {"stiffness": np.eye(4), "mass": None}
    system = stiffly.SecondOrder(**{**usual, **given})
    return stiffly.simulate(system, np.ones(4), step=0.1, duration=0.2)


def _scene_of(**given: Any) -> Any:
    return _built(stiffly.Scene(**given))


def _body(**given: Any) -> Any:
    return _built(stiffly.Scene(), **given)


def _built(scene: Any, shape: Any = None, **keys: Any) -> Any:
    scene.add(stiffly.shapes.cube(1) if shape is None else shape, **keys)
    return scene.build()


def _held(**given: Any) -> Any:
    usual = {"shapes": FLOOR, "stiffness": None}
    return _simulate(system=_system(fixed=[], parts=[Held(**{**usual, **given})]))


def _newton(**given: Any) -> Any:
    solver = Newton(**{"cg": 1e-3, **given})
    return _simulate(integrator=integrators.Bdf1(solver=solver), duration=0.02)


def _forced(**given: Any) -> Any:
    usual = {"particles": [0], "force": (0.0, 0.0, 1.0)}
    return _simulate(system=_system(fixed=[], parts=[stiffly.Force(**{**usual, **given})]))


def _walked(**given: Any) -> Any:
    scene = stiffly.Scene(duration=0.1, step=0.01, integrator="bdf1")
    scene.add(stiffly.shapes.cube(1), mass=1.0, **SPRINGY)
    usual = {"weight": 1.0, "path": [(0, 0, 1), (1, 0, 1)], "times": [0.0, 0.05]}
    scene.walker(**{**usual, **given})
    return scene.simulate()


def _many(**given: Any) -> Any:
    systems = [_system(fixed=[]), _system(fixed=[])]
    usual = {"systems": systems, "x0": [X, X], "integrator": "verlet", "step": 1e-3}
    return stiffly.simulate_many(**{**usual, "duration": 0.01, **given})


def _dropped(**given: Any) -> Any:
    meshes.write_mesh("cube.obj", SOLID)
    return stiffly.dropped(**{"mesh": "cube.obj", "particles": 50, **given}).build()


def _painted(**given: Any) -> Any:
    """A scan with texture coordinates and a picture of its own, as far as a USD file."""
    return _worn("skin.png", **given)


def _worn(picture: str, **given: Any) -> Any:
    Path("scan.obj").write_text(SCAN)
    _pictures()
    scene = stiffly.Scene(duration=0.02, step=0.01, integrator="bdf1")
    scene.add("scan.obj", **{"mass": 1.0, **SPRINGY, "texture": picture, **given})
    return scene.simulate().export("usd", "out.usda")


def _acted(**given: Any) -> Any:
    """A call of a Scene by its name, with arguments."""
    ((name, value),) = given.items()
    scene = stiffly.Scene()
    a, b = scene.add(stiffly.shapes.cube(1)), scene.add(stiffly.shapes.cube(1), position=(2, 0, 0))
    {
        "force": lambda: scene.force(a, value),
        "at": lambda: scene.force(a, (0, 0, 1), at=value),
        "wind": lambda: scene.wind(value),
        "height": lambda: scene.floor(value),
        "friction": lambda: scene.floor(-2.0, friction=value),
        "axis": lambda: scene.hinge(a, b, at=(1, 0, 0), axis=value),
        "spring": lambda: scene.spring(a, b, stiffness=value),
        "offsets": lambda: scene.lead(a, times=[0, 1], offsets=value),
        "body": lambda: scene.attach(value),
        "thickness": lambda: scene.contact(thickness=value),
        "collider": lambda: scene.collider(value),
        "part": lambda: scene.part(value),
        "attach": lambda: scene.attach(a, to=value),
        "there": lambda: scene.spring(a, b, there=value, stiffness=1.0),
        "save": lambda: scene.save(value),
        "period": lambda: scene.wind((1, 0, 0), gusts=(1, 0, 0), period=value),
    }[name]()
    return scene.build()


def _tuned(**given: Any) -> Any:
    """A method of each kind with that option, where it has it; else it says so."""
    names = [name for name in ("realtime", "exprb42") if given.keys() <= integrators.options(name)]
    for name in names:
        _simulate(integrator=stiffly.integrator(name, **given), duration=0.02)
    return names or stiffly.integrator("bdf1", **given)


def _auto(**given: Any) -> Any:
    method = stiffly.integrator("auto", **given)
    return _simulate(integrator=method, step=None)


def _exported(**given: Any) -> Any:
    return _simulate(duration=0.02).export(**{"to": "ply", "path": "ply", **given})


def _drawn(**given: Any) -> Any:
    return _simulate(duration=0.02).film("film.mp4", **{"size": (64, 48), **given})


def _plotted(**given: Any) -> Any:
    return plot(_simulate(duration=0.02), "plots", **given)


def _swept(**given: Any) -> Any:
    usual = {"scene": "bar", "over": {"cells": [1, 2]}, "small": True, "jobs": 0}
    return stiffly.sweep(**{**usual, **given})


def _file(**given: Any) -> Any:
    meshes.write_mesh("cube.obj", SOLID)
    return meshes.read_mesh("cube.obj", **given)


def _lattice(**given: Any) -> Any:
    return meshes.lattice(**{"nx": 2, **given})


def _read(**given: Any) -> Any:
    return meshes.read_mesh(**given)


NUMERIC: dict[Callable[..., Any], str] = {
    _system: "mass rest",
    _springs: "edges stiffness rest rest_positions yield_strain",
    _tets: "tets young poisson",
    _gravity: "g",
    _simulate: "x0 v0 step duration every rtol atol",
    _many: "x0 v0 step duration every",
    _held: "stiffness particles margin",
    _newton: "cg reuse tolerance max_iterations",
    _walked: "weight path times width",
    _dropped: "particles density young",
    _tuned: "iterations tolerance budget max_products",
    _auto: "max_steps",
    Auto: "rtol max_steps",
    integrators.ExponentialRosenbrock: "tol max_products budget",
    integrators.Gautschi: "tol max_products",
    integrators.Neti: "tol max_products budget",
    integrators.Newmark: "gamma beta",
    _exported: "max_points",
    _drawn: "max_pictures fps speed camera turntable",
    _plotted: "max_points",
    _swept: "step duration rtol every max_runs",
    _file: "max_mb",
    _recorded: "checkpoint max_hours",
    _phi: "J h vectors tol taus",
    _half: "A",
    _door: "begin end y0 rtol atol max_step first_step jac max_steps",
    _second: "stiffness mass damping",
    _damped: "alpha beta",
    bodies.LumpedMass: "diagonal",
    _scene_of: "gravity duration step fps rtol",
    _body: "young poisson density position velocity scale",
    _acted: "wind height friction axis spring offsets thickness",
    _lattice: "nx ny nz spacing",
    meshes.cube: "cells side",
    meshes.rope: "particles length start direction",
    meshes.sphere: "rings segments radius",
}
OTHERS: dict[Callable[..., Any], str] = {
    _system: "parts fixed damping",
    _simulate: "integrator out dtype provenance device engine keep_velocities force progress",
    _many: "systems integrator progress device",
    _held: "shapes",
    _walked: "bodies",
    _dropped: "mesh up texture repair",
    _painted: "texture",
    integrators.ExponentialRosenbrock: "nodes method",
    integrators.Gautschi: "form filter method reference",
    integrators.Neti: "form filter method linearisation argument_filter",
    _forced: "particles force",
    _exported: "to path fields system",
    _drawn: "color size frame soft follow",
    _swept: "scene over parameters integrator variant out on jobs",
    lesson: "name",
    _phi: "method window basis max_products",
    _half: "damping mass",
    _second: "force jacobian potential",
    _scene_of: "name integrator damping output",
    _body: "shape name pins color elasticity texture shine rotation",
    _acted: "force at body collider part attach there save period",
    meshes.tetrahedralise: "surface",
    stiffly.Recording: "folder",
    stiffly.resume: "folder",
    stiffly.integrator: "name",
    stiffly.scenes.load: "name",
    _read: "path",
}


CALLED = ("jac", "force", "jacobian", "progress", "part")  # by us
CALLED += ("wind", "acceleration", "energy", "path", "velocity", "motion")


def python_calls() -> Iterator[Case]:
    import inspect

    for table, numeric in ((NUMERIC, True), (OTHERS, False)):
        for function, names in table.items():
            known = inspect.signature(function).parameters
            every = any(p.kind is p.VAR_KEYWORD for p in known.values())
            for name in names.split():
                assert every or name in known, (function, name)
                for label, (value, never) in VALUES_OF_PYTHON.items():
                    if label == "a class" and name in CALLED:
                        continue  # it can be called, and its error is the user's own
                    yield _call(function, name, label, value, numeric and never)
                if numeric:
                    sparse = sp.csr_matrix(np.eye(4) * 1j)
                    yield _call(function, name, "complex sparse", sparse, True)


def constructors() -> Iterator[Case]:
    for use, rows in tables():
        for function, usual, numeric, others in rows:
            for name in (*numeric.split(), *others.split()):
                for label, (value, never) in VALUES_OF_PYTHON.items():
                    if label == "a class" and name in CALLED:
                        continue
                    called = f"{function.__module__}.{function.__name__}({name}={label})"
                    call = partial(_used, use, function, {**usual, name: value})
                    yield Case(f"python: {called}", call, never and name in numeric.split())


def _used(use: Any, function: Any, given: dict[str, Any]) -> Any:
    return use(function(**given))


def _call(function: Any, name: str, label: str, value: Any, never: bool) -> Case:
    where = f"{function.__module__}.{function.__name__}".removeprefix("__main__.")
    return Case(f"python: {where}({name}={label})", lambda: function(**{name: value}), never)


# ------------------------------------------------------------------ pictures of bodies

SCAN = """v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1
vt 0 0\nvt 1 0\nvt 0 1
f 1/1 3/3 2/2\nf 1/1 2/2 4/3\nf 1/1 4/2 3/3\nf 2/1 3/2 4/3
"""
PIXEL = zlib.compress(b"\0\xff\0\0")


def _png(width: int, height: int, data: bytes = PIXEL) -> bytes:
    """A picture that says to have that size."""
    head = width.to_bytes(4, "big") + height.to_bytes(4, "big") + b"\x08\x02\0\0\0"
    chunks = ((b"IHDR", head), (b"IDAT", data), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        len(own).to_bytes(4, "big") + kind + own + zlib.crc32(kind + own).to_bytes(4, "big")
        for kind, own in chunks
    )


PICTURES = {
    "skin.png": _png(1, 1),
    "empty.png": b"",
    "words.png": b"just words",
    "short.png": _png(1, 1)[:30],
    "vast.png": _png(2**31 - 1, 2**31 - 1),
    "none.png": _png(0, 0),
    "noise.jpg": bytes(range(256)) * 20,
    "skin.gif": b"GIF89a",
    "skin": _png(1, 1),
    "a b\u00e4.png": _png(1, 1),
    'quote"@.png': _png(1, 1),
    "two\nlines.png": _png(1, 1),
}
NO_PICTURES = [
    "nowhere.png",
    "folder.png",
    "fifo.png",
    "/dev/null",
    "../note.txt",
    ".png",
    "x" * 300,
]


def _pictures() -> None:
    for name, data in PICTURES.items():
        Path(name).write_bytes(data)
    Path("folder.png").mkdir()
    os.mkfifo("fifo.png")


def textures() -> Iterator[Case]:
    for name in (*PICTURES, *NO_PICTURES):
        yield Case(f"texture: {name[:30]!r}", partial(_worn, name))


# ------------------------------------------------------------------ trying them

# files that cases write themselves
OWN = {"mine.toml", "cube.obj", "scan.obj", "fifo.png", "mesh.h5", *PICTURES}
OWN |= {f"mesh.{ending}" for ending in ENDINGS}


def cases() -> list[Case]:
    return [
        *command_lines(),
        *scene_files(),
        *mesh_files(),
        *textures(),
        *python_calls(),
        *constructors(),
    ]


def sample(count: int) -> list[Case]:
    """As many, evenly from all."""
    every = cases()
    return [every[len(every) * k // count] for k in range(min(count, len(every)))]


def prepare(root: Path) -> None:
    """What the command lines name, and kernels and libraries that children need not load."""
    with contextlib.chdir(root):
        small = ["run", "bar", "--small", "--duration", "0.05", "--quiet"]
        assert cli.main([*small, "--out", "good"]) == 0
        (root / "good.toml").write_text(SCENE)
        assert cli.main(["run", "good.toml", "--quiet", "--out", "of-file"]) == 0
        (root / "note.txt").write_text("just words")
        os.mkfifo(root / "fifo")
        (root / "full").mkdir()
        (root / "full" / "thesis.tex").write_text("precious")
        whole = (root / "good" / "recording.vtkhdf").read_bytes()
        for name, data in (("spoilt", b"noise" * 500), ("short", whole[: len(whole) // 2])):
            shutil.copytree(root / "good", root / name)
            (root / name / "recording.vtkhdf").write_bytes(data)
        own = _threads()
        for warm in (_simulate, _tets, _phi, _half, _door, _second, _held, _newton, _walked):
            warm()
        if os.fork() == 0:  # what starts threads: children find it compiled on the disk
            _many()
            os._exit(cli.main([*small, "--integrator", "auto", "--out", "auto"]))
        assert os.wait()[1] == 0 and _threads() <= own
        shutil.rmtree("auto")


def tried(case: Case, root: Path, patience: int) -> tuple[str, str]:
    """The outcome, and what was said; patience: times CPU and ASLEEP, until a hang is one."""
    said = root / "said"
    said.write_bytes(b"")
    child = os.fork()
    if child == 0:
        try:
            os._exit(_in_child(case, root, said, patience))
        finally:
            os._exit(99)
    _, status = os.waitpid(child, 0)
    text = said.read_text(errors="replace")
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        late = number in (signal.SIGXCPU, signal.SIGALRM, signal.SIGKILL)
        return ("hang" if late else "abort"), f"signal {number}: {text[-200:]}"
    return {0: "accepted", 1: "failed", 2: "clear", 3: "foreign", 4: "swallowed", 5: "wrote"}.get(
        os.WEXITSTATUS(status), "abort"
    ), text


def _in_child(case: Case, root: Path, said: Path, patience: int) -> int:
    with open(said, "wb") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    # not a test's own; as Python opens them in most languages
    sys.stdout = os.fdopen(1, "w", closefd=False, encoding="utf-8", errors="strict")
    sys.stderr = os.fdopen(
        2, "w", closefd=False, encoding="utf-8", errors="backslashreplace", buffering=1
    )
    resource.setrlimit(resource.RLIMIT_CPU, (CPU * patience, CPU * patience + 5))
    resource.setrlimit(resource.RLIMIT_AS, (_taken() + MEMORY,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(ASLEEP * patience)
    warnings.simplefilter("ignore")
    folder = Path(tempfile.mkdtemp(dir=root))
    os.chdir(folder)
    before = _files(root)
    try:
        code = _judged(case)
    except BaseException as problem:
        print(f"{type(problem).__name__}: {problem}")
        code = 3
        if isinstance(problem, StiffError):
            refused = 1 if isinstance(problem, SimulationFailure) else 2
            code = refused if "\n" not in str(problem) and 0 < len(str(problem)) < 600 else 3
    changed = [path.name for path, _ in _files(root) ^ before if path.name not in OWN]
    if code == 2 and changed:
        code = 5
        print(f"{sorted(set(changed))} written or changed")
    sys.stdout.flush()
    sys.stderr.flush()
    shutil.rmtree(folder, ignore_errors=True)
    return code


def _judged(case: Case) -> int:
    """Of a call that came back: a command's own code, 0 for a value."""
    found = case.call()
    if not isinstance(found, int) or isinstance(found, bool):
        found = 0
    sys.stderr.flush()
    if found:
        text = Path(f"/proc/self/fd/{2}").resolve().read_text(errors="replace")
        errors = [line for line in text.splitlines() if line.startswith("error: ")]
        clear = len(errors) == 1 and len(errors[0]) < 600 and "Traceback" not in text
        found = (1 if found == 75 else found) if clear and found in (1, 2, 75) else 3
    return 4 if found == 0 and case.never else found


def _files(root: Path) -> set[tuple[Path, int]]:
    """With when they were changed, so that two of them differ by what was written."""
    found = (path for path in root.rglob("*") if path.name != "said" and not path.is_dir())
    return {(path, path.lstat().st_mtime_ns) for path in found}


def _threads() -> int:
    return len(os.listdir("/proc/self/task"))


def _taken() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def attack(chosen: list[Case], tell: Callable[[str], Any], patience: int) -> Counter[str]:
    """Counts of outcomes; tells of those that are not good."""
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        prepare(root)
        for case in chosen:
            outcome, said = tried(case, root, patience)
            counts[outcome] += 1
            if outcome not in GOOD or tell is not print:
                tell(f"{outcome}: {case.name}: {' '.join(said[-300:].split())}")
    return counts


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("count", nargs="?", default="all")
    options.add_argument("name", nargs="?", help="tell of each input with this in its name")
    options.add_argument("--patience", type=int, default=1)
    given = options.parse_args()
    chosen = cases() if given.count == "all" else sample(int(given.count))
    tell: Callable[[str], Any] = print
    if given.name is not None:
        chosen = [case for case in chosen if given.name in case.name]
        tell = lambda line: print(line, flush=True)  # noqa: E731
    found = attack(chosen, tell, given.patience)
    print(f"{sum(found.values())} inputs: {dict(found)}")
    return int(bool(set(found) - set(GOOD)))


if __name__ == "__main__":
    sys.exit(main())
