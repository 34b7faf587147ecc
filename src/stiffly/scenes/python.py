"""Scenes built in Python, body by body: the tables of a scene file, and what no file can hold.

    scene = stiffly.Scene(duration=2.0)
    cloth = scene.add(stiffly.shapes.cloth(20, 20, spacing=0.05), pins=[0, 19])
    ball = scene.add(stiffly.shapes.sphere(9, 16, radius=0.1), elasticity="rigid", mass=0.2)
    run = scene.simulate()

Every call adds a table with the keys of docs/scene-files.md; `save` writes the file.
"""

from __future__ import annotations

import copy
import reprlib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from math import ceil
from os import PathLike, fspath
from os.path import abspath
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import real_number, truth
from ..bodies import Force
from ..errors import Advice, InputError, accepts, levels_up
from ..meshes import Mesh, read_mesh, write_mesh
from ..parts.checks import as_numbers
from ..paths import real_path
from ..recording.run import Run
from ..run.simulate import require_options
from ..run.simulate import simulate as run_through
from . import shapes
from .composition import Joined, Shelf, built, selected
from .files import FileScene, scene_of, validated
from .schema.shapes import ROOTS, Shape
from .schema.source import REPEATED, Source
from .schema.types import Place
from .schema.write import toml_text
from .shapes import plain

__all__ = ["Body", "Scene", "dropped", "shapes"]

GRAVITY = 9.81
CLOTHS = ("cloth", "flag", "foil", "textile")
# what a body is made of where nobody says so, by elasticity; masses beside them
MADE_OF: Mapping[str, Mapping[str, Any]] = {
    "cloth": {"structural": 500.0, "shear": 100.0, "bending": 1.0},
    "shell": {"stiffness": 1e4},
    "springs": {"stiffness": 1e4},
    "tet-springs": {"stiffness": 1e3},
    "tetrahedra": {"young": 1e5, "poisson": 0.4},
    "rigid": {},
    "none": {},
    "fibers": {"thickness": 2e-3, "young": 1e8, "torsional": 4e7, "density": 1000.0},
}
WEIGHS = {"cloth": {"area_density": 0.2}, "tetrahedra": {"density": 1000.0}}
SOLIDS = ("bar", "beam", "coil", "creature", "cube", "dome")
SURFACES = ("sphere", "creature-surface")
MASSES = ("mass", "density", "area_density")
FILLED = 1000  # particles of a closed surface that is filled
_numbers_of_scenes = count()  # a scene and its copies have one, so that bodies are theirs


@dataclass(frozen=True)
class Body:
    """A body of a scene: what its methods take where a file has its name; scene: which one."""

    name: str
    scene: int = field(repr=False)


class Scene:
    """A scene in the making.

    name: of its files and folders.  gravity [m/s^2]: downwards, or (3,).  duration, step [s];
    fps: recorded frames per second.  integrator: default energy-momentum.  The rest are the keys
    of a scene file, such as rtol=1e-3, damping={"alpha": 0.5}, output={"dtype": "float64"}.
    """

    # scene.duration = 1 would change nothing
    __slots__ = ("_data", "_meshes", "_number", "_own", "name")

    def __init__(
        self,
        name: str = "scene",
        *,
        gravity: Any = GRAVITY,
        duration: float = 2.0,
        step: float | None = 0.005,
        fps: float = 30,
        **keys: Any,
    ) -> None:
        self.name, self._number = _text("a scene", name), next(_numbers_of_scenes)
        self._meshes: dict[str, Mesh] = {}
        self._own: list[Callable[[Joined], Any]] = []
        chosen = {} if "rtol" in keys and step == 0.005 else {"step": step}
        frames = {} if "every" in keys else {"frames_per_second": fps}
        self._data: dict[str, Any] = plain({"duration": duration, **chosen, **frames, **keys})
        self._data = {key: value for key, value in self._data.items() if value is not None}
        self._check({})
        down = gravity
        if isinstance(gravity, (int, float)):
            if gravity < 0.0:
                raise InputError(
                    f"gravity={gravity:g} pulls upwards: give {-gravity:g}, downwards, or the "
                    f"vector (0, 0, {-gravity:g})"
                )
            down = (0.0, 0.0, -gravity)
        if np.any(as_numbers("gravity", down, (3,))):
            self._put("load", {"kind": "gravity", "g": down})

    def __repr__(self) -> str:
        counts = {key: len(self._data.get(key, ())) for key in REPEATED} | {"own": len(self._own)}
        said = ", ".join(f"{count} {key}" for key, count in counts.items() if count)
        return f"Scene({self.name!r}: {said or 'empty'})"

    # ------------------------------------------------------------------ bodies

    def add(self, shape: Any, name: str | None = None, **keys: Any) -> Body:
        """A body: shape one of `stiffly.shapes`, a Mesh, or the path of a mesh file; keys those of
        a [[body]], such as elasticity, young, mass, position, velocity, pins, color.

        What is left out is chosen by the shape: cloths are cloth, solids tetrahedra, closed
        surfaces of mesh files are filled with them, the rest springs.
        """
        label, source = self._source(shape, name if name is None else _text("a body", name))
        table = {"name": label, **source, **plain(keys)}
        if texture := table.get("texture"):  # found from where the program is, as meshes are
            table["texture"] = _absolute(texture)
        self._put("body", _completed(table, self._looked_at(shape, table)))
        return Body(label, self._number)

    def _source(self, shape: Any, name: str | None) -> tuple[str, dict[str, Any]]:
        if isinstance(shape, Shape):
            return self._named(name or shape.kind), {"shape": shape.model_dump(exclude_unset=True)}
        if isinstance(shape, Mesh):
            label = self._named(name or "body")
            self._meshes[label] = shape
            return label, {"mesh": label}
        if isinstance(shape, (str, PathLike)):
            path = Path(fspath(shape))
            return self._named(name or path.stem), {"mesh": str(path.resolve())}
        raise InputError(
            f"scene.add takes one of stiffly.shapes, a Mesh or a mesh file, got "
            f"{type(shape).__name__}: try scene.add(stiffly.shapes.cube())"
        )

    def _named(self, name: str) -> str:
        """The name, or the first of NAME 2, ... that is free."""
        taken = [*(body["name"] for body in self._data.get("body", [])), *self._meshes]
        names = [name, *(f"{name} {k}" for k in range(2, len(taken) + 2))]
        return next(each for each in names if each not in taken)

    def _looked_at(self, shape: Any, table: Mapping[str, Any]) -> Mesh | None:
        """The mesh of the body, where that decides what it is made of."""
        if isinstance(shape, Mesh):
            return shape
        if isinstance(shape, Shape):
            return None
        return read_mesh(table["mesh"], repair=bool(table.get("repair")))

    # ------------------------------------------------------------------ what acts on them

    def floor(self, height: float = 0.0, friction: float = 0.5, **keys: Any) -> None:
        """A level floor; keys: those of a [[collider]]."""
        self.collider("plane", point=(0.0, 0.0, height), friction=friction, **keys)

    def collider(self, shape: Any, **keys: Any) -> None:
        """Something rigid that bodies touch: "plane", "sphere", "hemisphere", or a shape, Mesh or
        mesh file; keys: those of a [[collider]]."""
        if isinstance(shape, str) and shape in ("plane", "sphere", "hemisphere"):
            kind = {"kind": shape}
        else:
            kind = {"kind": "triangle-mesh", **self._source(shape, "collider")[1]}
        self._put("collider", {**kind, **keys})

    def contact(self, **keys: Any) -> None:
        """Bodies touch each other and themselves; keys: those of [contact], thickness, stiffness,
        friction, bodies."""
        checked = self._named_bodies({k: value for k, value in keys.items() if value is not None})
        self._check({"contact": checked})
        self._data["contact"] = checked

    def wind(self, velocity: Any, gusts: Any = None, period: float = 1.0, **keys: Any) -> None:
        """Wind (3,) [m/s] on triangles; gusts (3,) [m/s]: a sine of that period [s] on top."""
        swing = {} if gusts is None else {"swing": {"amplitude": gusts, "period": period}}
        self.load("wind", wind=velocity, **swing, **keys)

    def walker(self, weight: float, path: Any = None, times: Any = None, **keys: Any) -> None:
        """A weight [N] that walks over the bodies along points (k, 3) [m] at times (k,) [s]; keys:
        width, bodies."""
        self.load("walker", weight=weight, path=path, times=times, **keys)

    def load(self, kind: str, **keys: Any) -> None:
        """A [[load]] by its kind and keys: "drag", "field", "stokes-fluid", ..."""
        self._put("load", {"kind": kind, **keys})

    def force(self, body: Body, force: Any, at: Any = "all") -> None:
        """A force on each of some particles: (3,) [N], one for each (k, 3), or a function of t, of
        (t, x) or of (t, x, v), x and v (k, 3) those of the particles; see `stiffly.Force`."""
        if not callable(force) and as_numbers("force", force).ndim == 1:
            self._put("load", {"kind": "force", **self._place(body, at), "force": force})
        else:
            self._place(body, at)  # of this scene
            self.part(lambda numbers: Force(numbers(body, at), force))

    def part(self, part: Any) -> None:
        """A part of your own (docs/extending.md), or a function that makes one: part(numbers),
        where numbers(body, "top") are those of the particles among all."""
        made = part if accepts(part, 1) and not hasattr(part, "prepare") else lambda _: part
        self._own.append(lambda joined: made(partial(self._numbers, joined)))

    # ------------------------------------------------------------------ what holds them

    def attach(self, body: Body, to: Any = None, at: Any = "all", **keys: Any) -> None:
        """Ties particles of a body to where they are, or to another body (keys: stiffness,
        motion; there: the particles of the other body, default all)."""
        there = keys.pop("there", "all")
        if to is not None:
            if not isinstance(to, Body):
                raise InputError(
                    f"{body.name} can be attached to a body, not to {reprlib.repr(to)}: give what "
                    "scene.add has returned, or leave `to` out and it is held where it is"
                )
            if to == body:
                raise InputError(f"{body.name} is attached to itself: name another body")
            keys["to"] = self._place(to, there)
        self._put("attachment", {**self._place(body, at), "stiffness": 1e4, **keys})

    def spring(self, a: Body, b: Body, at: Any = "all", there: Any = "all", **keys: Any) -> None:
        """Springs from particles of one body to the nearest ones of another: stiffness, length."""
        ends = [self._place(a, at), self._place(b, there)]
        self._put("spring", {"ends": ends, "stiffness": 1e3, **keys})

    def hinge(self, a: Body, b: Body, at: Any, axis: Any, **keys: Any) -> None:
        """Two bodies that turn about an axis through `at`; torque [N m]: a motor in it."""
        self._put("joint", {"kind": "hinge", "bodies": [a, b], "at": at, "axis": axis, **keys})

    def ball_joint(self, a: Body, b: Body, at: Any, **keys: Any) -> None:
        """Two bodies that turn about a point."""
        self._put("joint", {"kind": "ball", "bodies": [a, b], "at": at, **keys})

    def lead(self, body: Body, at: Any = "all", **motion: Any) -> None:
        """Particles that move as they are told: times=, offsets=, or axis=, centre=, rate=."""
        kind = "keyframes" if "offsets" in motion else "rotation"
        self._put("support", {**self._place(body, at), "motion": {"kind": kind, **motion}})

    # ------------------------------------------------------------------ tables

    def _put(self, key: str, table: Mapping[str, Any]) -> None:
        """Checked now, so that what is wrong is said at its line of the program."""
        given = {key: value for key, value in table.items() if value is not None}
        checked = self._named_bodies(given)
        self._check({key: [checked]})
        self._data.setdefault(key, []).append(checked)

    def _check(self, table: Mapping[str, Any]) -> None:
        body = {"shape": {"kind": "cube"}, "elasticity": "none", "mass": 1.0}
        run = {k: v for k, v in self._data.items() if k not in (*REPEATED, "contact")}
        data = {**run, "body": [body], **table}
        source = Source(Path(f"{self.name}.toml"), "", data)
        for new in validated(source).body or ():
            if new.pins is not None:
                with source.at("body", 0):
                    made = built(new, Shelf(Path(), self._meshes))
                with source.at("body", 0, "pins"):
                    selected(made, new.pins)

    def _place(self, body: Any, particles: Any) -> dict[str, Any]:
        return {"body": self._name_of(body), "particles": plain(particles)}

    def _name_of(self, body: Any) -> str:
        if not isinstance(body, Body):
            raise InputError(f"{body!r} is no body of a scene: give what scene.add has returned")
        if body.scene != self._number:
            raise InputError(
                f"{body.name} is a body of another scene: add it to {self.name}, too, and give "
                "what that returns"
            )
        return body.name

    def _named_bodies(self, value: Any) -> Any:
        """The same as plain data, with names for bodies."""
        if isinstance(value, Body):
            return self._name_of(value)
        if isinstance(value, (list, tuple)):
            return [self._named_bodies(each) for each in value]
        if isinstance(value, Mapping):
            return {key: self._named_bodies(each) for key, each in value.items()}
        return plain(value)

    def _numbers(self, joined: Joined, body: Body, particles: Any = "all") -> np.ndarray:
        return joined.at(Place.model_validate(plain(self._place(body, particles))))

    # ------------------------------------------------------------------ what comes of it

    def build(self) -> FileScene:
        """The scene with its system, as `simulate` runs it."""
        source = self._whole()
        text = None if self._own or self._meshes else toml_text(self._data)
        return scene_of(source, validated(source), text, Shelf(Path(), self._meshes), self._own)

    def _whole(self) -> Source:
        if "body" not in self._data:
            raise InputError(
                f"{self.name} has no bodies: add one, scene.add(stiffly.shapes.cube())"
            )
        return Source(Path(f"{self.name}.toml"), "", self._data)

    def save(self, path: str | Path) -> Path:
        """The scene as a file, for `stiffly run`; meshes that are in none are written beside it."""
        if self._own:
            raise InputError(
                f"{self.name} holds forces or parts written in Python, which no scene file can: "
                "run it from Python"
            )
        path, data = real_path("path", path), copy.deepcopy(dict(self._whole().data))
        for table in (*data["body"], *data.get("collider", ())):
            if table.get("mesh") in self._meshes:
                file = path.with_name(f"{path.stem}-{table['mesh'].replace(' ', '-')}.vtk")
                write_mesh(file, self._meshes[table["mesh"]])
                table["mesh"] = file.name
        path.write_text(toml_text(data))
        return path

    def simulate(self, **options: Any) -> Run:
        """Runs it; options: those of `stiffly.simulate`."""
        require_options(options)
        scene = self.build()
        _advise(scene)
        return run_through(scene, **options)


def _absolute(path: Any) -> Any:
    return abspath(fspath(path)) if isinstance(path, (str, PathLike)) else path


def _advise(scene: FileScene) -> None:
    """Warns of bodies that begin so deep in a collider that it will throw them."""
    system, state = scene.system.bind(scene.x0, scene.v0)
    held, mass = system.energy(state).get("contact", 0.0), system.particle_mass
    weight = 0.0 if mass is None else GRAVITY * float(mass.sum())
    if weight > 0.0 and held > weight * float(np.ptp(scene.x0, axis=0).max()):
        warnings.warn(
            f"contact holds {held:.3g} J at the start, enough to throw everything by "
            f"{held / weight:.2g} m: a body begins inside a collider; raise it with position=",
            Advice,
            stacklevel=levels_up(),
        )


def _text(what: str, name: Any) -> str:
    if not isinstance(name, str):
        raise InputError(f"the name of {what} must be a text, got {type(name).__name__}")
    return name


# ------------------------------------------------------------------ scans


def dropped(
    mesh: str | PathLike[str],
    *,
    up: str = "z",
    particles: int = FILLED,
    damping: Any = None,
    **keys: Any,
) -> Scene:
    """A scan that falls on a floor, as a jelly: from a quarter of its height H, for 15 times
    sqrt(H/g), with the stiffness at which its own weight presses it together by 5 %; method
    realtime-midpoint.

    up: the axis of the file that points up, "y" in many; particles: about how many fill it;
    damping: the scene's, such as {"alpha": 0.5}, of which it has none by itself; keys: others of a
    [[body]], such as young=1e5, texture="scan.png", repair=True.  How long and by which method is
    for `simulate` of the scene.
    """
    if not isinstance(up, str) or up not in UP:
        raise InputError(f"up = {up!r}: give 'x', 'y' or 'z', the axis of the file that points up")
    keys = {name: value for name, value in keys.items() if value is not None}
    for name in ("duration", "step", "integrator", "every"):
        if name in keys:
            raise InputError(
                f"{name} is the run's and no body's: stiffly.dropped(...).simulate({name}=...)"
            )
    density = real_number("density", keys.get("density", 1000.0), "give kg/m^3")
    found = read_mesh(mesh, repair=truth("repair", keys.get("repair", False)))
    turned = found.positions[:, [*UP[up]]]
    low, size = turned.min(axis=0), np.ptp(turned, axis=0)
    height = float(size[2]) or float(size.max())
    pace = float(np.sqrt(height / GRAVITY))
    path = Path(fspath(mesh))
    fps = 30 * max(1, round(20.0 / pace / 30.0))  # that films and Blender can show
    run = {"duration": ceil(15.0 * pace * fps) / fps, "step": pace / 40.0, "fps": fps}
    scene = Scene(path.stem, **run, integrator="realtime-midpoint", damping=damping)
    made = {"density": density, "young": 20.0 * density * GRAVITY * height, "poisson": 0.4}
    if not len(found.tets):
        made["tetrahedralise"] = particles
    degrees = {"x": 240, "y": 120}.get(up)
    turn = {} if degrees is None else {"rotation": {"axis": [1, 1, 1], "degrees": degrees}}
    middle = -(low + 0.5 * size)[:2]
    made |= {"position": [*middle, 0.25 * height - low[2]], "elasticity": "tetrahedra", **turn}
    scene.add(path, **{**made, **keys})
    scene.floor()
    return scene


UP = {"x": (1, 2, 0), "y": (2, 0, 1), "z": (0, 1, 2)}  # axes of the file that become x, y, z


def _completed(table: dict[str, Any], mesh: Mesh | None) -> dict[str, Any]:
    """With what was left out, by the shape."""
    new = dict(table)
    kind = table.get("shape", {}).get("kind")
    if "elasticity" not in new:
        new["elasticity"] = _elasticity(kind, mesh)
    hollow = kind in SURFACES if mesh is None else not len(mesh.tets)
    if hollow and new["elasticity"] == "tetrahedra":
        new.setdefault("tetrahedralise", FILLED)
    made = new["elasticity"]
    if not isinstance(made, str):
        return new  # which is refused
    for key, value in MADE_OF.get(made, {}).items():
        new.setdefault(key, value)
    if made != "fibers" and not any(key in new for key in MASSES):
        new |= WEIGHS.get(made, {"mass": 1.0})
    return new


def _elasticity(kind: str | None, mesh: Mesh | None) -> str:
    if mesh is not None:
        if len(mesh.tets) or len(mesh.triangles):
            return "tetrahedra"
        return "springs"
    if kind in CLOTHS:
        return "cloth"
    if kind in ROOTS:
        return "fibers"
    return "tetrahedra" if kind in (*SOLIDS, *SURFACES) else "springs"
