"""Scenes that can be built anywhere: moved and turned as a whole, with all that acts on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from stiffly.bodies import (
    Dashpots,
    Drag,
    Gravity,
    MomentumDamping,
    Rayleigh,
    Springs,
    System,
    Tetrahedra,
    Wind,
    cloth_springs,
    fiber,
)
from stiffly.bodies import Rotation as Turned
from stiffly.collisions import Contact, Plane
from stiffly.meshes import bar, cloth, lattice


@dataclass(frozen=True)
class Pose:
    """x -> Q x + c."""

    Q: Any
    c: Any

    def points(self, x):
        return x @ self.Q.T + self.c

    def vectors(self, v):
        return np.asarray(v) @ self.Q.T

    def back(self, x):
        return (x - self.c) @ self.Q

    @staticmethod
    def of(axis, angle, distance, direction):
        axis, direction = (np.asarray(a) / np.linalg.norm(a) for a in (axis, direction))
        return Pose(Rotation.from_rotvec(angle * axis).as_matrix(), distance * direction)


HERE = Pose(np.eye(3), np.zeros(3))
AWAY = Pose.of((1.0, -2.0, 0.5), 1.0, 50.0, (-0.4, 0.7, 1.1))


@dataclass(frozen=True)
class Scene:
    """system(rest, pose) builds it; x and v: the start; step [s]."""

    build: Any
    rest: Any
    x: Any
    v: Any
    step: float

    def at(self, pose, rest_pose=None):
        """System, x0 and v0 there; rest_pose: where the rest shape is, if elsewhere."""
        rest = (rest_pose or pose).points(self.rest)
        return self.build(rest, pose), pose.points(self.x), pose.vectors(self.v)


def _swirl(x, still=()):
    """Velocities of a body that spins, sways and shivers."""
    rng = np.random.default_rng(5)
    v = np.cross([0.4, -0.7, 1.0], x - x.mean(axis=0)) + 0.1 * rng.standard_normal(x.shape)
    v[list(still)] = 0.0
    return v


def _gravity(pose):
    return Gravity(pose.vectors((0.0, 0.0, -9.81)))


def _springs(damping=None, held=True):
    mesh = lattice(2, 2, 4)
    X = 0.5 * mesh.positions
    fixed = np.flatnonzero(X[:, 2] == 0.0) if held else []

    def build(rest, pose):
        parts = [Springs(mesh.edges, 500.0), _gravity(pose)]
        return System(np.full(len(X), 0.2), parts, fixed=fixed, rest=rest, damping=damping)

    return Scene(build, X, X, _swirl(X, fixed), 0.005)


def _solid(material):
    mesh = bar(4, (2, 2))
    X = mesh.positions / np.ptp(mesh.positions[:, 0])
    fixed = np.flatnonzero(X[:, 0] == X[:, 0].min())

    def build(rest, pose):
        parts = [Tetrahedra(mesh.tets, 2e3, 0.3, material), _gravity(pose)]
        return System(np.full(len(X), 0.2), parts, fixed=fixed, rest=rest)

    return Scene(build, X, X, _swirl(X, fixed), 0.005)


def _cloth():
    mesh = cloth(4, 4, spacing=0.2)
    X = mesh.positions
    fixed = [0, 3]

    def build(rest, pose):
        parts = [*cloth_springs(mesh, 300.0, 60.0, 5.0), _gravity(pose)]
        return System(np.full(len(X), 0.05), parts, fixed=fixed, rest=rest)

    return Scene(build, X, X, _swirl(X, fixed), 0.005)


def _windy():
    """A cloth led along by a corner, in wind, with drag, dashpots and momentum damping."""
    mesh = cloth(4, 4, spacing=0.2)
    X = mesh.positions

    def build(rest, pose):
        wind = pose.vectors((3.0, 1.0, 2.0))
        parts = [
            *cloth_springs(mesh, 300.0, 60.0, 5.0),
            _gravity(pose),
            Wind(mesh.triangles, wind),
            Drag(0.02, 2, wind),
            Dashpots(mesh.edges, 0.1),
            MomentumDamping(0.5),
        ]
        axis, centre = pose.vectors((0.0, 1.0, 0.0)), pose.points(np.array([0.1, 0.0, 0.0]))
        led = Turned([0], axis=axis, centre=centre, rate=2.0)
        return System(np.full(len(X), 0.05), parts, rest=rest, supports=led)

    return Scene(build, X, X, _swirl(X, [0]), 0.005)


def _fiber():
    line = np.zeros((5, 3))
    line[:, 0] = np.linspace(0.0, 0.4, 5)
    line[:, 2] = 0.1 * np.sin(3.0 * line[:, 0])
    body = fiber(line, thickness=0.02, young=1e6, torsional=4e5, density=900.0, normal=(0, 1, 0))

    def build(rest, pose):
        parts = [Springs(body.edges, body.stiffness), _gravity(pose)]
        return System(body.mass, parts, fixed=body.root, rest=rest)

    return Scene(build, body.positions, body.positions, _swirl(body.positions, body.root), 0.001)


def _landing(friction=0.0):
    """A block of springs that falls onto a plane in the first steps."""
    mesh = lattice(2, 2, 3)
    X = 0.3 * mesh.positions
    X = X - X.min(axis=0)

    def build(rest, pose):
        floor = Plane(pose.points(np.zeros(3)), pose.vectors((0.0, 0.0, 1.0)))
        contact = Contact(floor, 400.0, friction=friction)
        parts = [Springs(mesh.edges, 500.0), _gravity(pose), contact]
        return System(np.full(len(X), 0.2), parts, rest=rest)

    x = X + np.array([0.0, 0.0, 0.02])
    return Scene(build, X, x, _swirl(X) + np.array([0.5, 0.0, -1.0]), 0.005)


def cantilever():
    """A stiff lattice held at one end that swings under its weight; h omega = 12."""
    mesh = lattice(5, 2, 2)
    X = 0.2 * mesh.positions
    fixed = np.flatnonzero(X[:, 0] == 0.0)

    def build(rest, pose):
        parts = [Springs(mesh.edges, 2e4), _gravity(pose)]
        return System(np.full(len(X), 0.1), parts, fixed=fixed, rest=rest)

    return Scene(build, X, X, np.zeros_like(X), 0.01)


def rods():
    """A rope that swings, for methods that keep lengths."""
    X = np.zeros((6, 3))
    X[:, 0] = np.linspace(0.0, 1.0, 6)
    edges = np.stack([np.arange(5), np.arange(1, 6)], axis=1)

    def build(rest, pose):
        parts = [Springs(edges, 1e6), _gravity(pose)]
        return System(np.full(6, 0.1), parts, fixed=[0], rest=rest)

    return Scene(build, X, X, _swirl(X, [0]), 0.01)


SCENES = {
    "springs": _springs(),
    "springs, damped": _springs(Rayleigh(0.3, 1e-3)),
    "springs, free": _springs(held=False),
    "corotated": _solid("corotated"),
    "stvk": _solid("stvk"),
    "neo-hookean": _solid("neo-hookean"),
    "cloth": _cloth(),
    "cloth, windy": _windy(),
    "fiber": _fiber(),
    "landing": _landing(),
    "landing, friction": _landing(0.3),
}
