"""[[collider]], [contact], [[support]], [[attachment]]: what bodies touch and what holds them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from .bodies import Placed
from .loads import BODIES
from .shapes import ROOTS
from .types import Motion, Name, NotNegative, Place, Positive, Table, Vector, refuse

MOTION = (
    "{ kind = 'keyframes', times, offsets } or { kind = 'rotation', axis, centre, rate } (or "
    "times, angles instead of rate)"
)


class Touched(Table):
    """What happens where particles touch."""

    response: Literal["penalty", "projection", "held"] = Field(
        "penalty", description="penalty: springs push out; projection: put back after the step; "
        "held: tied where they touch until they leave"
    )  # fmt: skip
    stiffness: Positive | None = Field(
        None, description="of penalty and held, for every particle [N/m]"
    )
    margin: NotNegative | None = Field(
        None, description="of penalty and held: distance at which it begins; default 0 [m]"
    )
    friction: NotNegative | None = Field(
        None, description="penalty: Coulomb's coefficient, default 0; projection: share of the "
        "sliding velocity lost in a step, default 0.4"
    )  # fmt: skip
    frozen: bool | None = Field(
        None, description="of penalty: contacts are chosen once, before each step; default false"
    )
    motion: Motion | None = Field(None, description=MOTION)
    bodies: list[Name] | None = Field(None, min_length=1, description=BODIES)

    @model_validator(mode="after")
    def _check_response(self) -> Any:
        response = self.response
        needs = response != "projection"
        if needs and self.stiffness is None:
            raise refuse("", f"stiffness is missing: {response} contact needs it, in N/m")
        fits = {"stiffness": needs, "margin": needs, "friction": response != "held"}
        fits["frozen"] = response == "penalty"
        for key, good in fits.items():
            if getattr(self, key) is not None and not good:
                raise refuse(key, f"{key} means nothing with response = '{response}': leave it out")
        if self.frozen and self.motion is not None:
            raise refuse(
                "frozen", "frozen contact needs a collider that stands still: leave frozen or "
                "motion out"
            )  # fmt: skip
        if response == "projection" and (self.friction or 0.0) > 1.0:
            raise refuse("friction", f"friction = {self.friction:g} is a share here: give 0 to 1")
        return self


class Plane(Touched):
    """Everything below a plane is solid."""

    kind: Literal["plane"]
    point: Vector = Field((0.0, 0.0, 0.0), description="a point of it [m]")
    normal: Vector = Field((0.0, 0.0, 1.0), description="out of the solid")


class Sphere(Touched):
    """A ball, or with inside = true the room within one."""

    kind: Literal["sphere"]
    centre: Vector = Field(description="[m]")
    radius: Positive = Field(description="[m]")
    inside: bool = Field(False, description="the bodies are inside")


class Hemisphere(Touched):
    """Half a ball."""

    kind: Literal["hemisphere"]
    centre: Vector = Field(description="of its flat side [m]")
    radius: Positive = Field(description="[m]")
    axis: Vector = Field((0.0, 0.0, 1.0), description="from the flat side to the pole")


class TriangleMesh(Touched, Placed):
    """A rigid closed mesh, from a file or a shape."""

    kind: Literal["triangle-mesh"]
    reach: Positive | None = Field(
        None,
        description="farther outside nothing is seen; default a tenth of its size [m]",
    )

    @model_validator(mode="after")
    def _check_surface(self) -> TriangleMesh:
        if self.kind_of_shape in ROOTS:
            raise refuse("shape", f"{self.kind_of_shape} has no surface: take another kind")
        return self


Collider = Annotated[Plane | Sphere | Hemisphere | TriangleMesh, Field(discriminator="kind")]


class Contact(Table):
    """Bodies touch each other and themselves (pip install 'stiffly[contact]')."""

    thickness: Positive = Field(description="gap at which they begin to push [m]")
    stiffness: Positive = Field(description="[N/m]")
    friction: NotNegative = Field(0.0, description="Coulomb's coefficient")
    bodies: list[Name] | None = Field(None, min_length=1, description=BODIES)
    push_apart: bool = Field(False, description="move bodies that overlap at the start apart first")


class Support(Place):
    """Particles that are led; their work is added."""

    motion: Motion = Field(description=MOTION)


class Attachment(Place):
    """Particles tied by springs of length zero to where they start, or to points that move."""

    stiffness: Positive = Field(description="[N/m]")
    motion: Motion | None = Field(None, description=MOTION)
