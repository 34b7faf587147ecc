"""[[collider]], [contact], [[support]], [[attachment]], [[spring]], [[joint]]: what bodies touch,
and what holds them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, Strict, model_validator

from .bodies import Placed
from .loads import BODIES
from .shapes import ROOTS
from .types import Motion, Name, NotNegative, Place, Positive, Table, Vector, refuse

MOST_FRICTION = 10.0  # nothing rubs so much: more is an angle, or a percentage
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
        None,
        description="of penalty and held, for every particle; default of penalty: a body that "
        "has fallen by its own size dips in by about 3 % of it [N/m]",
    )
    margin: NotNegative | None = Field(
        None, description="of penalty and held: distance at which it begins; default 0 [m]"
    )
    friction: NotNegative | None = Field(
        None, le=MOST_FRICTION, description="penalty: Coulomb's coefficient, 1 for rubber, default "
        "0; projection: share of the sliding velocity lost in a step, default 0.4"
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
        if response == "held" and self.stiffness is None:
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

    thickness: Positive | None = Field(
        None,
        description="gap at which they begin to push; default: 0.4 of the shortest edges [m]",
    )
    stiffness: Positive | None = Field(
        None, description="default: twenty contacts carry the heaviest body half-way in [N/m]"
    )
    friction: NotNegative = Field(
        0.0, le=MOST_FRICTION, description="Coulomb's coefficient, 1 for rubber"
    )
    bodies: list[Name] | None = Field(None, min_length=1, description=BODIES)
    push_apart: bool = Field(False, description="move bodies that overlap at the start apart first")


class Support(Place):
    """Particles that are led; their work is added."""

    motion: Motion = Field(description=MOTION)


class Attachment(Place):
    """Particles tied by springs to where they start, to points that move, or to another body."""

    stiffness: Positive = Field(description="[N/m]")
    motion: Motion | None = Field(None, description=MOTION)
    to: Place | None = Field(
        None, description="{ body, particles }: what they are tied to instead: each to its three "
        "nearest there, as far as they are, or to the one at its place; a rigid body as a whole"
    )  # fmt: skip

    @model_validator(mode="after")
    def _check(self) -> Attachment:
        if self.to is not None and self.motion is not None:
            raise refuse("motion", "to and motion are both given: keep one of them")
        if self.to is not None and self.to.body == self.body:
            raise refuse("to", "a body is attached to itself: name another body in to")
        return self


class Spring(Table):
    """Springs between two places: from each particle of the first to the nearest of the second."""

    ends: Annotated[tuple[Place, Place], Strict(False)] = Field(
        description="[{ body, particles }, { body, particles }]"
    )
    stiffness: Positive = Field(description="of each [N/m]")
    length: NotNegative | None = Field(None, description="at rest; default: as at the start [m]")

    @model_validator(mode="after")
    def _check(self) -> Spring:
        first, second = self.ends
        if first == second:
            raise refuse("ends", "both ends are the same particles: name two places")
        return self


class Joint(Table):
    """A small pin, tied to two bodies: best to rigid ones."""

    kind: Literal["ball", "hinge"] = Field(
        description="ball: turns about a point; hinge: about an axis"
    )
    bodies: Annotated[tuple[Name, Name], Strict(False)] = Field(description="names of the two")
    at: Vector = Field(description="where it is [m]")
    axis: Vector | None = Field(None, description="of a hinge: its direction")
    stiffness: Positive | None = Field(
        None, description="of the ties; default: as the braces of a rigid body [N/m]"
    )
    torque: float | None = Field(
        None, description="of a hinge: a motor that turns the second body against the first, about "
        "the axis; its work is added [N m]"
    )  # fmt: skip

    @model_validator(mode="after")
    def _check(self) -> Joint:
        if self.bodies[0] == self.bodies[1]:
            raise refuse("bodies", f"{self.bodies[0]} is joined to itself: name two bodies")
        if self.kind == "hinge" and not any(self.axis or ()):
            raise refuse("axis", "a hinge turns about an axis: give axis = [0, 0, 1], or another")
        for key in ("axis", "torque"):
            if self.kind == "ball" and getattr(self, key) is not None:
                raise refuse(key, f"{key} is for hinges: leave it out, or give kind = 'hinge'")
        return self
