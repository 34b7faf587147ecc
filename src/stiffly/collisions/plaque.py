"""A coat on what bodies rub: it wears off where something presses and slides.

Archard's law (1953): what comes off is proportional to the force times the way it slides,
dV = wear F ds.  (Michels, Luan, Tokman 2017, Fig. 5, show the plaque that a tooth brush removes,
and do not say how it is computed.)
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.spatial import KDTree

from ..backends.kernels import take
from ..contracts import Array, Power
from ..errors import InputError
from ..parts.checks import as_elements, as_number, as_numbers, per_element, require_below
from ..parts.part import Arranged, Uncoupled
from .friction import slide
from .penalty import Contact
from .shapes import KERNELS, OnShapes, Surface

SPREAD = 6  # points of the coat, the nearest ones, that a contact takes from


class Plaque(Uncoupled):
    """A coat of thickness (m,) [m] at points (m, 3) [m] of the shapes of a Contact.

    points: where the shapes were given, so that they move along; triangles (f, 3) between them say
    what area each point stands for.  wear [m^3/J]: volume that comes off for a newton over a metre.
    After every step each particle that touches, and slides by |u| h under the force f, takes
    wear f |u| h from the SPREAD nearest points that are no farther than `reach` [m]; no thickness
    falls below zero.  It costs the body nothing: friction is booked where it acts, in the Contact.
    """

    name = "plaque"

    def __init__(
        self,
        contact: Contact,
        points: Any,
        triangles: Any,
        *,
        thickness: Any,
        wear: float,
        reach: float,
    ) -> None:
        self.contact = contact
        self.points = as_numbers("plaque points", points)
        self.triangles = as_elements("triangle", triangles, 3)
        require_below("triangle", self.triangles, len(self.points))
        self.thickness = per_element(
            "plaque thickness", as_numbers("plaque thickness", thickness), len(self.points)
        )
        if not np.all(self.thickness >= 0.0) or not np.any(self.thickness > 0.0):
            raise InputError("plaque thickness: give metres, nowhere negative and not all zero")
        self.wear = as_number("plaque wear", wear, above=0.0)
        self.reach = as_number("plaque reach", reach, above=0.0)

    def prepare(self, particles: Arranged) -> PreparedPlaque:
        return PreparedPlaque(self, particles)


class PreparedPlaque(OnShapes):
    """It remembers how thick the coat is."""

    changed = False

    @property
    def drives(self) -> bool:
        return False  # whatever moves, the coat does no work

    def __init__(self, config: Plaque, particles: Arranged) -> None:
        self._choose(config.contact, particles)
        self._coat = config
        every = per_element("contact stiffness", config.contact.stiffness, particles.count)
        self._stiffness = every[particles.order[self._own]]
        self._kernels = take(particles.pattern.backend, "Plaque", *KERNELS)
        a, b, c = (config.points[config.triangles[:, k]] for k in range(3))
        thirds = np.repeat(np.linalg.norm(np.cross(b - a, c - a), axis=1) / 6.0, 3)
        self._area = np.bincount(config.triangles.ravel(), thirds, len(config.points))
        self._coated = np.flatnonzero((config.thickness > 0.0) & (self._area > 0.0))
        self._tree = KDTree(config.points[self._coated])
        self._thickness = config.thickness

    def memory(self) -> dict[str, Array]:
        return {"thickness": self._thickness}

    def having(self, memory: Mapping[str, Array]) -> PreparedPlaque:
        new = copy.copy(self)
        new._thickness = memory["thickness"]
        return new

    def fields(self) -> dict[str, Array]:
        """What is recorded of every frame."""
        return {"plaque": self._thickness}

    def settle(self, t: float, h: float, x: Array, v: Array) -> Power:
        own, rubbed = x[self._own], []
        for shape in self._config.shapes:
            surface = shape.surface(t, own).on(self._kernels)
            rubbed.append(self._rubbed(surface, own, v, h))
        places, volumes = (np.concatenate(each) for each in zip(*rubbed, strict=True))
        if volumes.size:
            self._thickness = self._worn(places, volumes)
        return Power()

    def _rubbed(self, surface: Surface, own: Array, v: Array, h: float) -> tuple[Array, Array]:
        """Where particles rub (k, 3), in the shape's own frame, and what volume (k,) [m^3] that
        would take."""
        depth = self._config.margin - surface.distances(own)
        rows = np.flatnonzero(depth > 0.0)
        n = surface.normals(own, rows)
        along = slide(v[self._own[rows]] - surface.velocities(own, rows), n)
        way = h * np.sqrt(np.einsum("ij,ij->i", along, along))
        volumes = self._coat.wear * self._stiffness[rows] * depth[rows] * way
        return surface.frame.home(own[rows]), volumes

    def _worn(self, places: Array, volumes: Array) -> Array:
        count = min(SPREAD, self._coated.size)
        far, near = self._tree.query(places, k=count, distance_upper_bound=self._coat.reach)
        far, near = far.reshape(-1, count), near.reshape(-1, count)
        reached = np.isfinite(far)
        points = self._coated[np.where(reached, near, 0)]
        area = np.where(reached, self._area[points], 0.0)
        whole = area.sum(axis=1)
        depth = volumes / np.where(whole > 0.0, whole, 1.0)  # alike at all points that it reaches
        worn = self._thickness.copy()
        np.subtract.at(worn, points, np.where(reached, depth[:, None], 0.0))
        return np.maximum(worn, 0.0)

    def diagnostics(self, x: Array, v: Array) -> dict[str, float]:
        """plaque_removed: the share of its volume that has come off."""
        left = float(self._area @ self._thickness)
        return {"plaque_removed": 1.0 - left / float(self._area @ self._coat.thickness)}
