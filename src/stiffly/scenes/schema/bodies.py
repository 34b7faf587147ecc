"""[[body]]: a shape, where it is, how it moves at first, and what makes it elastic."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Strict, Tag, model_validator

from ...kernels.materials import NAMES as MATERIALS
from ...meshes.look import COLORS, SHINE
from ...meshes.tetrahedralise import FEWEST, MOST
from .shapes import LINES, ROOTS, AnyShape
from .types import (
    SELECTORS,
    Color,
    Name,
    NotNegative,
    Positive,
    Scale,
    Selectors,
    Share,
    Table,
    Vector,
    refuse,
    require_one_of,
)

LAW = "linear, or cubic: stiffer the more it is stretched"
YIELD = "strain beyond which the rest length gives way; left out: never"


class Turn(Table):
    axis: Vector = Field(description="direction")
    degrees: float = Field(description="angle, right-handed [degrees]")

    @model_validator(mode="after")
    def _check(self) -> Turn:
        if not any(self.axis):
            raise refuse("axis", "axis is zero: give a direction, such as [0, 0, 1]")
        return self


class Placed(Table):
    """A shape or a mesh file, scaled, then turned about its origin, then shifted."""

    shape: AnyShape | None = Field(None, description="made by a formula: { kind = 'cube', ... }")
    mesh: Name | None = Field(
        None, description="or a file: obj, ply, stl, vtk, msh, ...; relative to this file"
    )
    repair: bool = Field(
        False,
        description="mend what is wrong with the mesh file, with a warning; "
        "close holes before it is filled",
    )
    decimate: int | None = Field(None, ge=4, description="reduce the surface to so many vertices")
    position: Vector = Field((0.0, 0.0, 0.0), description="where the shape's origin goes [m]")
    rotation: Turn | None = Field(None, description="{ axis = [x, y, z], degrees = 90 }")
    scale: Positive = Field(1.0, description="factor")

    @property
    def kind_of_shape(self) -> str | None:
        """None for a mesh file."""
        return None if self.shape is None else self.shape.kind

    @model_validator(mode="after")
    def _check_source(self) -> Any:
        require_one_of(self, "shape", "mesh")
        if self.repair and self.mesh is None:
            raise refuse("repair", "repair is for mesh files: leave it out")
        return self


class BodyTable(Placed):
    name: Name | None = Field(
        None, description="for loads, colliders and supports; default: the shape's kind"
    )
    stretch: Scale = Field(
        (1.0, 1.0, 1.0), description="of the start over the rest shape, along the shape's own axes"
    )
    velocity: Vector = Field((0.0, 0.0, 0.0), description="at the start [m/s]")
    spin: Vector = Field((0.0, 0.0, 0.0), description="about its centre of mass [rad/s]")
    pins: Selectors | None = Field(None, description=f"particles that are held: {SELECTORS}")
    dashpots: Positive | None = Field(
        None, description="damping along every edge; both momenta stay [N s/m]"
    )

    color: Color | None = Field(
        None, description=f"{', '.join(COLORS)}, or [red, green, blue] from 0 to 1"
    )
    texture: Name | None = Field(
        None,
        description="a picture for the mesh file's own texture coordinates; in usd and blend files",
    )
    shine: Share = Field(SHINE, description="from 0, chalk, to 1, polished metal; in pictures")

    @model_validator(mode="after")
    def _check_texture(self) -> Any:
        if self.texture is not None and self.mesh is None:
            raise refuse(
                "texture", "texture needs the texture coordinates of a mesh file, and shapes have "
                "none: give mesh = 'file.obj', or color instead"
            )  # fmt: skip
        return self

    @property
    def label(self) -> str:
        """What other tables call it."""
        return self.name or self.kind_of_shape or self.mesh or ""


class Weighed(BodyTable):
    """Bodies whose mass is given as such or by a density."""

    mass: Positive | None = Field(None, description="of the whole, equally on every particle [kg]")
    density: Positive | None = Field(None, description="instead of mass: of its tets [kg/m^3]")
    area_density: Positive | None = Field(
        None, description="instead of mass: of its triangles [kg/m^2]"
    )
    tetrahedralise: Annotated[int, Field(ge=FEWEST, le=MOST)] | None = Field(
        None, description="fill the closed surface with tets, about so many vertices"
    )

    @model_validator(mode="after")
    def _check_mass(self) -> Any:
        require_one_of(self, "mass", "density", "area_density")
        if self.kind_of_shape in ROOTS:
            raise refuse(
                "shape", f"{self.kind_of_shape} grows fibers: write elasticity = 'fibers', or take "
                "another kind"
            )  # fmt: skip
        return self


def _stiffness_kind(value: Any) -> str:
    return "groups" if isinstance(value, dict) else "number"


Groups = Annotated[dict[Name, NotNegative], Field(min_length=1)]
Stiffness = Annotated[
    Annotated[NotNegative, Tag("number")] | Annotated[Groups, Tag("groups")],
    Discriminator(_stiffness_kind),
]


class Springs(Weighed):
    """Springs along the edges of the mesh: ropes, trusses, anything."""

    elasticity: Literal["springs"]
    stiffness: Stiffness = Field(
        description="of every edge, or of each group of edges: { structural = 500, ... } [N/m]"
    )
    law: Literal["linear", "cubic"] = Field("linear", description=LAW)
    yield_strain: Positive | None = Field(None, description=YIELD)


class Cloth(Weighed):
    """Springs along the groups 'structural', 'shear' and 'bending' of cloth."""

    elasticity: Literal["cloth"]
    structural: NotNegative = Field(description="between neighbours [N/m]")
    shear: NotNegative | None = Field(None, description="along diagonals [N/m]")
    bending: NotNegative | None = Field(None, description="to every second particle [N/m]")
    law: Literal["linear", "cubic"] = Field("linear", description=LAW)
    yield_strain: Positive | None = Field(None, description=YIELD)


class Shell(Weighed):
    """Springs along the sides of triangles, and across every side that two of them share."""

    elasticity: Literal["shell"]
    stiffness: NotNegative = Field(description="along the sides of triangles [N/m]")
    bending: NotNegative | None = Field(
        None, description="across them; default a hundredth of stiffness [N/m]"
    )
    law: Literal["linear", "cubic"] = Field("linear", description=LAW)
    yield_strain: Positive | None = Field(None, description=YIELD)


class TetSprings(Weighed):
    """Springs along the edges of tets, and to the centres of opposite faces."""

    elasticity: Literal["tet-springs"]
    stiffness: NotNegative = Field(description="along edges [N/m]")
    face: NotNegative | None = Field(
        None, description="from corners to opposite faces, against collapse [N/m]"
    )
    law: Literal["linear", "cubic"] = Field("linear", description=LAW)
    yield_strain: Positive | None = Field(None, description=YIELD)


class Tetrahedra(Weighed):
    """An elastic solid of tets."""

    elasticity: Literal["tetrahedra"]
    young: Positive = Field(description="Young's modulus [Pa]")
    poisson: float = Field(gt=-1.0, lt=0.5, description="Poisson's ratio, below 0.5")
    material: Literal[MATERIALS] = Field(  # type: ignore[valid-type]  # the names, one by one
        "corotated", description="corotated, stvk or neo-hookean"
    )
    project: bool = Field(False, description="tangents without negative stiffness")


class Rigid(Weighed):
    """Keeps its shape: every particle is braced to four of them that lie far apart."""

    elasticity: Literal["rigid"]
    stiffness: Positive | None = Field(
        None, description="of every brace; default: gives way by about 1e-4 of its size under ten "
        "times its weight [N/m]"
    )  # fmt: skip


class Loose(Weighed):
    """Particles without springs; pinned or led, an obstacle for [contact]."""

    elasticity: Literal["none"]


def _thickness_kind(value: Any) -> str:
    return "ends" if isinstance(value, (list, tuple)) else "number"


Ends = Annotated[tuple[Positive, Positive], Strict(False)]
Thickness = Annotated[
    Annotated[Positive, Tag("number")] | Annotated[Ends, Tag("ends")],
    Discriminator(_thickness_kind),
]


class Fibers(BodyTable):
    """Round rods along roots (brush-roots, hair-cap) or along one line (rope, flagellum)."""

    elasticity: Literal["fibers"]
    thickness: Thickness = Field(description="diameter, or those of [root, tip] [m]")
    young: Positive = Field(description="Young's modulus [Pa]")
    torsional: Positive = Field(description="shear modulus [Pa]")
    density: Positive = Field(description="[kg/m^3]")
    fiber_stretch: Share = Field(0.0, description="share of the stiffness E A to keep at least")
    width: Positive | None = Field(None, description="of the cuboids of springs; default: fits [m]")

    @model_validator(mode="after")
    def _check_lines(self) -> Fibers:
        if self.kind_of_shape not in (*ROOTS, *LINES):
            raise refuse(
                "mesh" if self.mesh is not None else "shape",
                f"fibers grow along lines: take a shape of kind {', '.join((*ROOTS, *LINES))}",
            )
        if self.decimate is not None:
            raise refuse("decimate", "decimate is for surfaces: leave it out")
        return self


Body = Annotated[
    Springs | Cloth | Shell | TetSprings | Tetrahedra | Fibers | Rigid | Loose,
    Field(discriminator="elasticity"),
]
