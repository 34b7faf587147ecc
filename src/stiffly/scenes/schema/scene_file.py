"""A scene file as a whole: what is simulated, how it is run, and what is kept of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from ...errors import InputError
from ...integrators import ADAPTIVE, NAMES, variants
from ...integrators import integrator as find_integrator
from ...integrators.auto import MOST_STEPS
from ...run.simulate import MOST_FRAMES
from .. import VARIANTS, check_variant
from .bodies import Body
from .colliders import Attachment, Collider, Contact, Joint, Spring, Support
from .loads import Load
from .source import REPEATED
from .types import Name, NotNegative, Positive, Share, Table, refuse, require_one_of

LONGEST = 1e9  # [s], thirty years
COMPOSED = (*REPEATED, "contact", "damping")  # tables beside which no built-in scene is named
DEFAULT, ADAPTIVE_DEFAULT = "energy-momentum", "pexprb43"


def _known(name: str | None, check: Callable[[str], Any]) -> str | None:
    """The name, where `check` does not refuse it."""
    if name is not None:
        try:
            check(name)
        except InputError as unknown:
            raise PydanticCustomError("said", "{cause}", {"cause": str(unknown)}) from None
    return name


class Output(Table):
    """What is kept of a run."""

    dtype: Literal["float32", "float64"] = Field(
        default="float32", description="of stored positions and velocities: float32 or float64"
    )
    velocities: bool = Field(default=True, description="keep them, too")
    checkpoint: NotNegative = Field(
        default=10.0,
        description="seconds of computing between checkpoints; 0: after every frame [s]",
    )


class Damping(Table):
    """Of all bodies together."""

    alpha: NotNegative = Field(0.0, description="Rayleigh: alpha M, as in air [1/s]")
    beta: NotNegative = Field(0.0, description="Rayleigh: beta K0, for small rotations [s]")
    rate: NotNegative | None = Field(
        None, description="takes what is not rigid motion; both momenta stay [1/s]"
    )
    per_step: Share | None = Field(None, description="the same as a share per step, instead")

    @model_validator(mode="after")
    def _check(self) -> Damping:
        if self.rate is not None and self.per_step is not None:
            raise refuse("per_step", "rate and per_step are both given: keep one of them")
        return self


class Adjust(Table):
    """The whole scene stiffer or softer, with other damping, under other gravity, in other wind."""

    stiffness: Positive | None = Field(default=None, description="times the scene's own [1]")
    damping: NotNegative | None = Field(
        default=None, description="Rayleigh: beta K0, instead of the scene's own [s]"
    )
    gravity: NotNegative | None = Field(
        default=None,
        description="instead of the scene's own, same direction; down where it has none [m/s^2]",
    )
    wind: NotNegative | None = Field(
        default=None,
        description="instead of the scene's own, same direction; across the body where it has "
        "none [m/s]",
    )


class Method(Table):
    """Options of the integrator; those that it does not have are refused."""

    iterations: int | None = Field(default=None, ge=1, description="of local/global solves")
    tolerance: float | None = Field(
        default=None,
        gt=0.0,
        le=1.0,
        description="of stabilised methods: share of the energy that is free to move",
    )
    budget: Positive | None = Field(
        default=None, description="seconds to compute a step; no two runs are then alike [s]"
    )
    max_steps: int | None = Field(default=None, ge=1, description="of auto: of one of its runs")


class SceneFile(Table):
    """Either `scene` with `parameters`, or bodies with what acts on them."""

    summary: str | None = Field(None, description="what is simulated, in one line")
    folder: Name | None = Field(
        None, description="where mesh files are looked for; default: the folder of this file"
    )

    integrator: str | None = Field(
        None,
        description=f"name of a method (one of your own goes to simulate(integrator=...)); "
        f"default: the built-in scene's own, else {DEFAULT} (with rtol: {ADAPTIVE_DEFAULT})",
        json_schema_extra={"examples": [*NAMES, *variants(), "stabilised:projective-midpoint"]},
    )
    method: Method = Field(Method(), description="options of the integrator")
    step: Positive | None = Field(None, description="size of a fixed step; with rtol the first [s]")
    rtol: Positive | None = Field(
        None, lt=1.0, description="relative tolerance: steps are chosen by their estimated error"
    )
    atol: NotNegative | None = Field(None, description="absolute tolerance beside rtol [m, m/s]")
    duration: Positive | None = Field(None, le=LONGEST, description="time to simulate [s]")
    every: Positive | None = Field(
        None, description="between recorded frames; default: 1/30, but about 200 to 600 frames [s]"
    )
    frames_per_second: Positive | None = Field(None, description="instead of every [1/s]")
    output: Output = Field(Output(), description="what is kept of a run")
    adjust: Adjust = Field(Adjust(), description="changes to the scene as a whole")

    scene: Name | None = Field(None, description="a built-in scene: `stiffly scenes` lists them")
    variant: str | None = Field(
        None,
        description="of the built-in scene: paper, the authors' own method and step where this "
        "file gives none",
        json_schema_extra={"examples": [*VARIANTS]},
    )
    parameters: dict[str, Any] | None = Field(
        None, description="of the built-in scene; what is left out has its default"
    )

    body: list[Body] | None = Field(None, min_length=1, description="what moves")
    load: list[Load] = Field([], description="what acts on the bodies")
    collider: list[Collider] = Field([], description="rigid things that the bodies touch")
    contact: Contact | None = Field(None, description="bodies touch each other and themselves")
    support: list[Support] = Field([], description="particles that are led")
    attachment: list[Attachment] = Field([], description="particles tied by springs to places")
    spring: list[Spring] = Field([], description="springs between bodies")
    joint: list[Joint] = Field([], description="hinges and ball joints between bodies")
    damping: Damping | None = Field(
        None, description="{ alpha = 0.5 }, a share of the velocity a second, or beta, rate, ..."
    )

    @field_validator("integrator")
    @classmethod
    def _check_integrator(cls, name: str | None) -> str | None:
        return _known(name, find_integrator)

    @field_validator("variant")
    @classmethod
    def _check_variant(cls, name: str | None) -> str | None:
        return _known(name, check_variant)

    @model_validator(mode="after")
    def _check(self) -> SceneFile:
        if self.scene is None and self.body is None:
            raise refuse(
                "", "there is nothing to simulate: give scene = 'NAME', or a [[body]] with a shape"
            )
        if self.scene is not None:
            self._refuse_beside_scene()
        else:
            self._require_run()
        if self.every is not None and self.frames_per_second is not None:
            require_one_of(self, "every", "frames_per_second")
        self._check_run()
        return self

    def _refuse_beside_scene(self) -> None:
        """A built-in scene brings its own bodies."""
        for key in COMPOSED:
            if key in self.model_fields_set:
                raise refuse(
                    key, f"scene and {key} are both given: a built-in scene has its own; keep one"
                )

    def _require_run(self) -> None:
        for key in ("parameters", "variant"):
            if getattr(self, key) is not None:
                belongs = "belong" if key == "parameters" else "belongs"
                raise refuse(key, f"{key} {belongs} to a built-in scene: give scene = 'NAME'")
        if self.duration is None:
            raise refuse("", "duration is missing: give the seconds to simulate, duration = 5.0")
        if self.step is None and self.rtol is None:
            raise refuse("", "step is missing: give step = 0.01 (fixed) or rtol = 1e-3 (adaptive)")

    def _check_run(self) -> None:
        name = self.integrator
        if self.rtol is not None and name is not None and not find_integrator(name).adaptive:
            raise refuse(
                "integrator", f"integrator = '{name}' has no error estimate: rtol works with "
                f"{', '.join(ADAPTIVE)}; or give step instead"
            )  # fmt: skip
        if self.atol is not None and self.rtol is None:
            raise refuse("atol", "atol stands beside rtol: give that, too")
        if self.duration is None:
            return
        if self.step is not None and self.duration / self.step > MOST_STEPS:
            raise refuse(
                "step", f"step = {self.step:g} s means {self.duration / self.step:.1e} steps: "
                "choose a larger step or a shorter duration"
            )  # fmt: skip
        every = self.seconds_per_frame
        if every is not None and self.duration / every > MOST_FRAMES:
            raise refuse(
                "every" if self.every is not None else "frames_per_second",
                f"a frame every {every:g} s means {self.duration / every:.1e} frames: record fewer",
            )

    @property
    def seconds_per_frame(self) -> float | None:
        if self.frames_per_second is not None:
            return 1.0 / self.frames_per_second
        return self.every

    @property
    def integrator_name(self) -> str:
        """The integrator of a composed scene."""
        if self.integrator is not None:
            return self.integrator
        return DEFAULT if self.rtol is None else ADAPTIVE_DEFAULT
