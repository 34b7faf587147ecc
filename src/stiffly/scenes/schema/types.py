"""What the tables of a scene file share: numbers, vectors, choices of particles, motions."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Strict,
    Tag,
    model_validator,
)
from pydantic_core import PydanticCustomError

Positive = Annotated[float, Field(gt=0.0)]
NotNegative = Annotated[float, Field(ge=0.0)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Index = Annotated[int, Field(ge=-(2**31), lt=2**31)]
# TOML has arrays only: a tuple says how long they are
Coordinate = Annotated[float, Field(gt=-1e150, lt=1e150)]  # its square is still a number
Vector = Annotated[tuple[Coordinate, Coordinate, Coordinate], Strict(False)]
Scale = Annotated[tuple[Positive, Positive, Positive], Strict(False)]
Name = Annotated[str, Field(min_length=1)]


def _color_kind(value: Any) -> str:
    return "name" if isinstance(value, str) else "numbers"


ColorName = Literal[
    "blue", "orange", "green", "sky", "red", "purple", "yellow", "white", "grey", "black"
]
Color = Annotated[
    Annotated[ColorName, Tag("name")]
    | Annotated[Annotated[tuple[Share, Share, Share], Strict(False)], Tag("numbers")],
    Discriminator(_color_kind),
]


class Table(BaseModel):
    """Nothing is guessed: unknown keys, wrong types, NaN and infinity are errors."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, validate_default=False
    )

    def own(self, base: type[Table]) -> dict[str, Any]:
        """What this kind of table adds to its base: arguments of what it makes, by their names."""
        shared = {*base.model_fields, "kind", "elasticity"}
        return {key: getattr(self, key) for key in type(self).model_fields if key not in shared}


def refuse(key: str, cause: str) -> PydanticCustomError:
    """An error of several keys together, to be shown at `key`; cause: what is wrong; remedy."""
    return PydanticCustomError("several_keys", "{cause}", {"key": key, "cause": cause})


def require_one_of(table: Table, *keys: str) -> None:
    """Exactly one of the keys is given."""
    given = [key for key in keys if getattr(table, key) is not None]
    choice = " or ".join(keys)
    if len(given) > 1:
        raise refuse(given[1], f"{' and '.join(given)} are both given: keep one of {choice}")
    if not given:
        raise refuse("", f"{choice} is missing: give one of them")


# ------------------------------------------------------------------ choices of particles


class Plane(Table):
    """Everything on the side that the normal points to."""

    point: Vector = Field(description="a point of the plane [m]")
    normal: Vector = Field(description="towards the chosen side")

    @model_validator(mode="after")
    def _check(self) -> Plane:
        if not any(self.normal):
            raise refuse("normal", "normal is zero: give a direction, such as [0, 0, 1]")
        return self


class Region(Table):
    """Particles that lie in a box, or on one side of a plane, at the body's place at rest."""

    box: Annotated[tuple[Vector, Vector], Strict(False)] | None = Field(
        None, description="lowest and highest corner [m]"
    )
    plane: Plane | None = Field(None, description="everything on the side its normal points to")

    @model_validator(mode="after")
    def _check(self) -> Region:
        require_one_of(self, "box", "plane")
        if self.box is not None and any(low > high for low, high in zip(*self.box, strict=True)):
            raise refuse("box", "box has a lowest corner above its highest: exchange the numbers")
        return self


def _selector_kind(value: Any) -> str:
    if isinstance(value, (dict, Region)):
        return "region"
    return "name" if isinstance(value, str) else "index"


# a union whose member is chosen by what is written: errors then speak of that member alone
Selector = Annotated[
    Annotated[Name, Tag("name")]
    | Annotated[Index, Tag("index")]
    | Annotated[Region, Tag("region")],
    Discriminator(_selector_kind),
]


def _several(value: Any) -> Any:
    return value if isinstance(value, (list, tuple)) else [value]


# one stands for a list of one
Selectors = Annotated[
    list[Selector],
    Field(min_length=1),
    BeforeValidator(_several, json_schema_input_type=Selector | list[Selector]),
]
SELECTORS = (
    "vertex sets by name ('all', those of the shape), numbers (-1 is the last), "
    "{ box = [low, high] } or { plane = { point, normal } }"
)


class Place(Table):
    """Particles of one body."""

    body: Name | None = Field(
        None, description="name of the body; may be left out where there is only one"
    )
    particles: Selectors = Field(description=SELECTORS)


# ------------------------------------------------------------------ motions and what varies


class Keyframes(Table):
    """Shifted by offsets at times, eased in between, at rest before and after."""

    kind: Literal["keyframes"]
    times: list[float] = Field(min_length=2, description="increasing [s]")
    offsets: list[Vector] = Field(min_length=2, description="one for each time [m]")

    @model_validator(mode="after")
    def _check(self) -> Keyframes:
        require_times(self.times, "offsets", len(self.offsets))
        return self


class Rotation(Table):
    """Turned about an axis: with a rate, or through angles at times, eased."""

    kind: Literal["rotation"]
    axis: Vector = Field(description="direction")
    centre: Vector = Field((0.0, 0.0, 0.0), description="a point of the axis [m]")
    rate: float | None = Field(None, description="[rad/s]")
    times: list[float] | None = Field(None, min_length=2, description="increasing [s]")
    angles: list[float] | None = Field(None, min_length=2, description="one for each time [rad]")

    @model_validator(mode="after")
    def _check(self) -> Rotation:
        if not any(self.axis):
            raise refuse("axis", "axis is zero: give a direction, such as [0, 0, 1]")
        require_one_of(self, "rate", "angles")
        if (self.times is None) != (self.angles is None):
            raise refuse("times", "times and angles belong together: give both, or rate alone")
        if self.times is not None and self.angles is not None:
            require_times(self.times, "angles", len(self.angles))
        return self


Motion = Annotated[Keyframes | Rotation, Field(discriminator="kind")]


def require_times(times: list[float], name: str, count: int) -> None:
    if any(late <= early for early, late in pairwise(times)):
        raise refuse("times", "times must increase: sort them and leave repeated ones out")
    if count != len(times):
        raise refuse(name, f"{name}: {count} for {len(times)} times: give one for each")


class Swing(Table):
    """amplitude sin(2 pi t / period) on top of the constant value."""

    amplitude: Vector = Field(description="in the unit of what swings")
    period: float = Field(description="[s]", ge=1e-150)  # times over it are still numbers
