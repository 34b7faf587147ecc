"""What a run is asked to be: a built-in scene or a file, with the options of the command line.

Both are kept as the text of a scene file, so that `stiffly run DIR/scene.toml` does it again.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from .inputs import fitting

if TYPE_CHECKING:
    from ..scenes import Scene

# options of the command line -> keys of a scene file
KEYS = {
    "dtype": "output.dtype",
    "keep_velocities": "output.velocities",
    "checkpoint": "output.checkpoint",
}
OF_SCENE = ("integrator", "step", "duration", "every")


@dataclass(frozen=True)
class Request:
    """scene: what to simulate; options: of `simulate`, where they differ from what the scene says;
    toml: both as a scene file."""

    scene: Scene
    options: Mapping[str, Any]
    toml: str | None


def request(
    text: str, *, small: bool, given: Mapping[str, str], options: Mapping[str, Any]
) -> Request:
    """text: SCENE of `stiffly run`; given: of --set; options: other options that were given."""
    from .. import scenes

    path = Path(text)
    if path.suffix == ".toml":
        if small:
            raise InputError(
                f"{path.name} has no small variant, only built-in scenes have: leave --small out, "
                "and ask for less with --duration or --set"
            )
        return _from_file(path, given, options)
    if text not in scenes.NAMES and path.exists():
        kind = "a folder" if path.is_dir() else "no scene file"
        raise InputError(f"{text} is {kind}; name a built-in scene or a file that ends in .toml")
    return _built_in(text, small, given, options)


def _from_file(path: Path, given: Mapping[str, str], options: Mapping[str, Any]) -> Request:
    """Options are overrides of the file's own values, checked as those are."""
    from ..scenes import files

    own = {KEYS.get(key, key): value for key, value in options.items()}
    if "every" in own and files.parse(path).frames_per_second is not None:
        own["frames_per_second"] = 1.0 / own.pop("every")
    scene = files.read(path, **{**given, **own})
    file = scene.file
    taken = {
        "rtol": file.rtol,
        "atol": file.atol,
        "step": file.step,
        "dtype": file.output.dtype,
        "keep_velocities": file.output.velocities,
        "checkpoint": file.output.checkpoint,
    }
    return Request(scene, {k: v for k, v in taken.items() if v is not None}, scene.text)


def _built_in(
    name: str, small: bool, given: Mapping[str, str], options: Mapping[str, Any]
) -> Request:
    from .. import scenes
    from ..integrators import AUTO, integrator
    from ..integrators.auto import RTOL
    from ..scenes import files
    from ..scenes.adjust import adjusted

    entry = scenes.entry(name)
    if "integrator" in options:
        integrator(options["integrator"])  # before the scene is built, which may take a while
    known = inspect.signature(entry.build).parameters
    whole = {key: given[key] for key in given if key.startswith(("adjust.", "method."))}
    adjust, method = files.tables(name, whole) if whole else ({}, {})
    own = {key: given[key] for key in given if key not in whole}
    values = fitting({key: p.default for key, p in known.items()}, name, own)
    try:
        scene = scenes.load(name, small=small, **values)
        scene = replace(adjusted(scene, **adjust), method=method)
    except InputError:
        raise
    except (ArithmeticError, IndexError, MemoryError, OSError, ValueError) as failure:
        said = " ".join(str(failure).split()) or type(failure).__name__
        words = ", ".join(f"{key}={value}" for key, value in given.items()) or "its defaults"
        raise InputError(f"{name} cannot be built with {words}: {said}; try others") from None
    if (
        options.get("integrator", scene.integrator) == AUTO
        and not {"step", "rtol"} & options.keys()
    ):
        options = {**options, "rtol": RTOL}  # in the file, too: the scene's own step is not meant
    return Request(scene, options, as_file(scene, options))


def as_file(scene: Scene, options: Mapping[str, Any]) -> str | None:
    """The text of a scene file; None where a parameter is nothing that TOML can hold."""
    from ..scenes.schema.write import toml_text

    own = {KEYS.get(key, key): value for key, value in options.items()}
    top = {key: value for key, value in own.items() if "." not in key}
    output = {key.split(".")[1]: value for key, value in own.items() if "." in key}
    top = {**{key: getattr(scene, key) for key in OF_SCENE}, **top}
    if "rtol" in options and "step" not in options:
        del top["step"]
    others = {"output": output, "adjust": scene.adjust, "method": scene.method}
    tables = {"parameters": scene.parameters, **{n: t for n, t in others.items() if t}}
    tables = {n: {k: v for k, v in t.items() if v is not None} for n, t in tables.items()}
    plain = {key: value for key, value in top.items() if value is not None}
    try:
        return toml_text({"scene": scene.name, **plain, **tables})
    except TypeError:
        return None
