"""[[load]]: what acts on the bodies from outside."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from .types import Name, NotNegative, Place, Positive, Swing, Table, Vector, require_times

BODIES = "names of those that feel it; default: all"
CARRIERS = "names of those that carry it; default: all"
SWING = "{ amplitude = [x, y, z], period = 0.7 }: a sine on top"


class Gravity(Table):
    """Uniform gravity; its energy is stored."""

    kind: Literal["gravity"]
    g: Vector = Field((0.0, 0.0, -9.81), description="[m/s^2]")


class FieldLoad(Table):
    """An acceleration that varies with time, such as a table that shakes; its work is added."""

    kind: Literal["field"]
    acceleration: Vector = Field((0.0, 0.0, 0.0), description="[m/s^2]")
    swing: Swing | None = Field(None, description=SWING)


class Wind(Table):
    """Dynamic pressure on triangles."""

    kind: Literal["wind"]
    wind: Vector = Field(description="velocity of the air [m/s]")
    swing: Swing | None = Field(None, description=SWING)
    coefficient: NotNegative = Field(1.2, description="of drag, of a plate across the flow")
    density: Positive = Field(1.2, description="of the air [kg/m^3]")
    bodies: list[Name] | None = Field(None, min_length=1, description=BODIES)


class Drag(Table):
    """Air drag on particles."""

    kind: Literal["drag"]
    coefficient: NotNegative = Field(description="of every particle [kg/s], with power = 2 [kg/m]")
    power: Literal[1, 2] = Field(1, description="of the speed: 1 (viscous) or 2 (turbulent)")
    wind: Vector = Field((0.0, 0.0, 0.0), description="velocity of the air [m/s]")
    swing: Swing | None = Field(None, description=SWING)
    bodies: list[Name] | None = Field(None, min_length=1, description=BODIES)


class Force(Place):
    """A force on each of some particles."""

    kind: Literal["force"]
    force: Vector = Field((0.0, 0.0, 0.0), description="on each of them [N]")
    swing: Swing | None = Field(None, description=SWING)


class Walker(Table):
    """A weight that walks along a path, from point to point at times; not there before and after.
    Particles near it carry it, the nearest most."""

    kind: Literal["walker"]
    weight: Positive = Field(description="[N], of 70 kg: 690")
    times: list[float] = Field(
        min_length=2, description="when it is at each point, such as [0, 4] [s]"
    )
    path: list[Vector] = Field(
        min_length=2, description="the points, such as [[0, 0, 0], [3, 0, 0]] [m]"
    )
    width: Positive = Field(0.2, description="over which the weight is spread [m]")
    bodies: list[Name] | None = Field(None, min_length=1, description=CARRIERS)

    @model_validator(mode="after")
    def _check(self) -> Walker:
        require_times(self.times, "path", len(self.path))
        return self


class Motor(Table):
    """A torque on one group of particles, and its opposite on another."""

    kind: Literal["motor"]
    torque: float = Field(description="about the axis from counter to base [N m]")
    base: Place = Field(description="{ body, particles }: what is turned")
    counter: Place = Field(description="{ body, particles }: what is turned the other way")


class StokesFluid(Table):
    """A very viscous fluid around everything: what moves in it moves the rest."""

    kind: Literal["stokes-fluid"]
    viscosity: Positive = Field(description="[Pa s]")
    blob: Positive = Field(description="radius over which a particle's force is spread [m]")
    bodies: list[Name] | None = Field(None, min_length=1, description=BODIES)


Load = Annotated[
    Gravity | FieldLoad | Wind | Drag | Force | Walker | Motor | StokesFluid,
    Field(discriminator="kind"),
]
