"""The body as VTK draws it: surface, lines and particles that follow the frames."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ..contracts import Array
from ..meshes.look import SHINE
from ..meshes.topology import components
from .exports.frames import Motion

SHARP = 40.0  # degrees between triangles of the rest shape: from there on an edge stays an edge
FEW = 12  # particles: then they are drawn as balls, like the weights of a pendulum
A_ROPE = 100  # lines: so few are a rope or two, alone in the picture
ROUND = 4000  # lines: more are too thin to look round, and round ones cost seven times as much
SHADE = (0.80, 0.81, 0.83)  # of the shadow: opaque, since what overlaps must not darken twice
ROUNDNESS = 14  # sides of an atom
# van der Waals radii [A] (Bondi 1964) and the colours that chemists use (Corey, Pauling, Koltun)
RADII = {"H": 1.10, "C": 1.70, "N": 1.55, "O": 1.52, "P": 1.80, "S": 1.80}
CPK = {
    "H": (240, 240, 240), "C": (110, 110, 115), "N": (60, 95, 220), "O": (220, 50, 45),
    "P": (240, 140, 30), "S": (235, 205, 50),
}  # fmt: skip
OTHER_RADIUS, OTHER_COLOR = 1.8, (200, 120, 180)
BALLS: dict[str, Any] = {"style": "points", "render_points_as_spheres": True}


def material(shine: float = SHINE) -> dict[str, float]:
    """What light does to it: the brighter the highlight the smaller."""
    highlight = {"specular": 0.9 * shine, "specular_power": 17.0 * 7.5**shine}
    return {"ambient": 0.32, "diffuse": 0.8, **highlight}


class Body:
    """What moves; flat: its shadow, in one colour and without light."""

    def __init__(
        self,
        pv: Any,
        plotter: Any,
        motion: Motion,
        height: int,
        flat: bool = False,
        rods: bool = False,
    ) -> None:
        """height: of the picture [pixels], for the thickness of lines; rods: each line has a
        colour of its own."""
        self.pv, self.plotter, self.motion, self.height, self.flat = (
            pv,
            plotter,
            motion,
            height,
            flat,
        )
        self.rods = rods
        self._parts = []
        if motion.elements is not None:
            self._parts.append(_Atoms(self, motion.elements))
            return
        if len(motion.triangles):
            self._parts += [_Surface(self, *each) for each in _by_shine(motion, flat)]
        if len(motion.lines):
            self._parts.append(_Lines(self))
        few = not len(motion.triangles) and len(motion.rest) <= FEW  # of a chain, say: its masses
        which = np.arange(len(motion.rest)) if few else motion.dots
        if len(which):
            self._parts.append(_Particles(self, which))

    def draw(self, mesh: Any, **look: Any) -> Any:
        own = {"color": SHADE, "lighting": False}
        if not self.flat:
            own = {**material(), "scalars": "rgb", "rgb": True}
        return self.plotter.add_mesh(mesh, **own | look)

    def place(self, x: Array, colors: Array | None, rods: Array | None = None) -> None:
        """Positions (N, 3) and colours (N, 3) uint8 of all vertices; of all lines."""
        for part in self._parts:
            own = self.rods and isinstance(part, _Lines)
            part.place(x, rods if own else colors)


class _Part:
    """A piece of geometry whose points are the particles `which`, in the colours `tint`."""

    def __init__(
        self, mesh: Any, which: np.ndarray, body: Body, tint: np.ndarray | None = None
    ) -> None:
        self.mesh, self.which, self.flat = mesh, which, body.flat
        self.tint = which if tint is None else tint
        self.base = body.motion.paint[which]
        if not self.flat:
            mesh.point_data["rgb"] = self.base.copy()

    def place(self, x: Array, colors: Array | None) -> None:
        self.mesh.points = np.asarray(x[self.which], dtype=np.float32)
        if colors is not None and not self.flat:
            self.mesh.point_data["rgb"][:] = colors[self.tint]
            self.mesh.GetPointData().GetScalars().Modified()
        self.mesh.Modified()


class _Surface(_Part):
    def __init__(self, body: Body, triangles: np.ndarray, shine: float) -> None:
        pv, motion, flat = body.pv, body.motion, body.flat
        rest = pv.PolyData.from_regular_faces(motion.rest, triangles)
        rest.point_data["particle"] = np.arange(len(motion.rest))
        if not flat:  # vertices at sharp edges are repeated, one for each side
            rest = rest.compute_normals(
                cell_normals=False, split_vertices=True, feature_angle=SHARP,
                consistent_normals=False, auto_orient_normals=False,
            )  # fmt: skip
        which = np.array(rest.point_data["particle"])
        self.faces = rest.regular_faces.copy()
        mesh = pv.PolyData.from_regular_faces(motion.rest[which], self.faces)
        super().__init__(mesh, which, body)
        self._around = _around(self.faces, len(which))
        if not flat:
            mesh.point_data["Normals"] = np.zeros((len(which), 3), dtype=np.float32)
            mesh.point_data.active_normals_name = "Normals"
        look = {} if flat else material(shine)
        body.draw(mesh, **look).prop.interpolation = "Phong"

    def place(self, x: Array, colors: Array | None) -> None:
        super().place(x, colors)
        if self.flat:
            return
        normals = vertex_normals(x[self.which], self.faces, self._around)
        self.mesh.point_data["Normals"][:] = normals
        self.mesh.GetPointData().GetNormals().Modified()


def _by_shine(motion: Motion, flat: bool) -> list[tuple[np.ndarray, float]]:
    """The surface, or pieces of it that shine alike: (triangles, shine)."""
    if motion.owner is None or flat:
        return [(motion.triangles, SHINE)]
    shines = np.array([*(look.shine for look in motion.looks.values()), SHINE])
    own = shines[motion.owner[motion.triangles[:, 0]]]
    return [(motion.triangles[own == shine], float(shine)) for shine in np.unique(own)]


class _Lines(_Part):
    def __init__(self, body: Body) -> None:
        motion, flat = body.motion, body.flat
        which, tint = np.unique(motion.lines), None
        self.cells = np.searchsorted(which, motion.lines)
        if body.rods:  # ends of their own
            which, tint = motion.lines.ravel(), np.repeat(np.arange(len(motion.lines)), 2)
            self.cells = np.arange(which.size).reshape(-1, 2)
        mesh = body.pv.PolyData(motion.rest[which])
        mesh.lines = np.column_stack([np.full(len(self.cells), 2), self.cells]).ravel()
        super().__init__(mesh, which, body, tint)
        width = line_width(len(self.cells), body.height)
        few = len(self.cells) <= ROUND
        tinted = not few and not flat
        self._tints = _tints(len(which), self.cells) if tinted else None
        look = {"lighting": False} if tinted else {}
        body.draw(mesh, line_width=width, render_lines_as_tubes=few and not flat, **look)
        if few:  # balls of the same thickness fill the gaps where lines bend
            body.draw(mesh, **BALLS, point_size=width)

    def place(self, x: Array, colors: Array | None) -> None:
        super().place(x, colors)
        if self._tints is None:
            return
        ends = x[self.which][self.cells]
        along = ends[:, 1] - ends[:, 0]
        steep = np.abs(along[:, 2]) / np.maximum(np.linalg.norm(along, axis=1), 1e-300)
        light = np.bincount(self.cells.ravel(), np.repeat(1.0 - steep**2, 2), len(self.which))
        light /= np.maximum(np.bincount(self.cells.ravel(), minlength=len(self.which)), 1)
        shade = self._tints * (0.8 + 0.2 * np.sqrt(light))
        base = self.base if colors is None else colors[self.tint]
        self.mesh.point_data["rgb"][:] = np.clip(base * shade[:, None], 0, 255).astype(np.uint8)
        self.mesh.GetPointData().GetScalars().Modified()


def _tints(count: int, cells: np.ndarray) -> Array:
    """Brightness (count,) of each connected piece: neighbouring hairs can be told apart."""
    piece = components(count, cells)
    return np.random.default_rng(0).uniform(0.65, 1.2, piece.max() + 1)[piece]


class _Particles(_Part):
    def __init__(self, body: Body, which: np.ndarray) -> None:
        rest = body.motion.rest
        super().__init__(body.pv.PolyData(rest[which]), which, body)
        body.draw(
            self.mesh, **BALLS, point_size=body.height * (0.035 if len(rest) <= FEW else 0.012)
        )


class _Atoms:
    """Balls as large as atoms are: a space-filling picture."""

    def __init__(self, body: Body, elements: np.ndarray) -> None:
        count = len(elements)
        ball = body.pv.Sphere(radius=1.0, theta_resolution=ROUNDNESS, phi_resolution=ROUNDNESS)
        self.shape, self.flat = np.asarray(ball.points, dtype=np.float64), body.flat
        self.radius = np.array([RADII.get(e, OTHER_RADIUS) for e in elements.tolist()])
        self.own = np.array([CPK.get(e, OTHER_COLOR) for e in elements.tolist()], dtype=np.uint8)
        size, faces = len(self.shape), ball.regular_faces
        every = (faces + size * np.arange(count)[:, None, None]).reshape(-1, 3)
        self.mesh = body.pv.PolyData.from_regular_faces(np.zeros((count * size, 3)), every)
        if not self.flat:
            self.mesh.point_data["rgb"] = np.repeat(self.own, size, axis=0)
            self.mesh.point_data["Normals"] = np.tile(self.shape, (count, 1)).astype(np.float32)
            self.mesh.point_data.active_normals_name = "Normals"
        body.draw(self.mesh).prop.interpolation = "Phong"

    def place(self, x: Array, colors: Array | None) -> None:
        at = x[:, None] + self.radius[:, None, None] * self.shape
        self.mesh.points = at.reshape(-1, 3).astype(np.float32)
        if not self.flat:
            chosen = self.own if colors is None else colors
            self.mesh.point_data["rgb"][:] = np.repeat(chosen, len(self.shape), axis=0)
            self.mesh.GetPointData().GetScalars().Modified()
        self.mesh.Modified()


def vertex_normals(x: Array, faces: np.ndarray, around: Any = None) -> Array:
    """Unit normals (N, 3) of vertices x (N, 3): means over their triangles, weighted with areas."""
    a, b, c = (x[faces[:, k]] for k in range(3))
    around = _around(faces, len(x)) if around is None else around
    normals = around @ np.cross(b - a, c - a)
    return normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)


def _around(faces: np.ndarray, count: int) -> csr_array:
    """(count, faces): ones where a vertex belongs to a triangle."""
    rows = faces.ravel(), np.repeat(np.arange(len(faces)), 3)
    return csr_array((np.ones(faces.size), rows), (count, len(faces)))


def line_width(count: int, height: int) -> float:
    """Thinner where there are many: a rope is thick, a hair is not."""
    if count <= A_ROPE:
        return height * 0.024
    return height * float(np.clip(0.015 * (100.0 / count) ** 0.35, 0.0016, 0.015))
