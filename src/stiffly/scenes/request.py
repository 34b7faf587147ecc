"""What users type, on the command line and in sweeps, turned into a scene and how it is run."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..integrators import AUTO, integrator
from ..integrators.auto import RTOL
from . import (
    NAMES,
    RUN_OPTIONS,
    Scene,
    check_variant,
    entry,
    load,
    own_integrator,
    unknown_parameter,
)

# options of the command line -> keys of a scene file
KEYS = {
    "dtype": "output.dtype",
    "keep_velocities": "output.velocities",
    "checkpoint": "output.checkpoint",
}
OF_SCENE = ("integrator", "step", "duration", "every")


def _fitting(name: str, given: Mapping[str, str], option: str) -> dict[str, Any]:
    """The values of --set as the kinds that the scene's parameters have."""
    from .files import as_value

    known = inspect.signature(entry(name).build).parameters
    defaults = {key: parameter.default for key, parameter in known.items()}
    values: dict[str, Any] = {}
    for written, text in given.items():
        key = written.replace("-", "_")
        if key in RUN_OPTIONS:
            raise InputError(f"{option} {key}={text}: this has its own option; give --{key} {text}")
        if key not in defaults:
            raise unknown_parameter(name, written, defaults)
        values[key] = _as_kind_of(defaults[key], f"{option} {key}={text}", as_value(text))
    return values


def _as_kind_of(default: Any, where: str, value: Any) -> Any:
    """A whole number where one belongs, even if it was written 1e4; InputError for other kinds."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise InputError(f"{where}: give true or false")
    elif isinstance(default, int):
        if not (is_number and isfinite(value) and value == int(value)):
            raise InputError(f"{where}: give a whole number, as the default {default}")
        return int(value)
    elif isinstance(default, float):
        if not (is_number and isfinite(value)):
            raise InputError(f"{where}: give a number, as the default {default:g}")
        return float(value)
    return value


@dataclass(frozen=True)
class Request:
    """scene: what to simulate; options: of `simulate`, where they differ from what the scene says;
    toml: both as a scene file, so that `stiffly run DIR/scene.toml` does it again."""

    scene: Scene
    options: Mapping[str, Any]
    toml: str | None


def request(
    text: str,
    *,
    small: bool,
    given: Mapping[str, str],
    options: Mapping[str, Any],
    variant: str | None = None,
) -> Request:
    """text: SCENE of `stiffly run`; given: of --set; options: other options that were given."""
    if _is_file(text, small, variant):
        chosen = {"variant": variant} if variant else {}
        return _from_file(Path(text), given, {**options, **chosen})
    return _built_in(text, small, given, options, variant)


def check(
    text: str,
    *,
    small: bool,
    given: Mapping[str, str],
    options: Mapping[str, Any],
    variant: str | None = None,
    option: str = "--set",
) -> None:
    """InputError where names and values of a request are wrong; nothing is built.

    option: of the command line, as messages call it."""
    if _is_file(text, small, variant):
        from .files import parse

        parse(text, **_overrides(Path(text), given, options))
        return
    entry(text)
    _values(text, small, given, options, variant, option)


def _is_file(text: str, small: bool, variant: str | None) -> bool:
    """A scene file, or else a built-in scene."""
    if variant is not None:
        check_variant(variant)
    path = Path(text)
    if path.suffix == ".toml":
        if small:
            raise InputError(
                f"{path.name} has no small variant, only built-in scenes have: leave --small out, "
                "and ask for less with --duration or --set"
            )
        return True
    if text not in NAMES and path.exists():
        kind = "a folder" if path.is_dir() else "no scene file"
        made = f"stiffly.dropped({text!r}).save('{path.stem}.toml')"
        more = "" if path.is_dir() else f"; of a mesh, Python makes one: {made}"
        raise InputError(
            f"{text} is {kind}; name a built-in scene or a file that ends in .toml{more}"
        )
    if text not in NAMES and path.name and path.with_suffix(".toml").is_file():
        raise InputError(f"unknown scene {text}: did you mean {path.with_suffix('.toml')}?")
    return False


def _overrides(path: Path, given: Mapping[str, str], options: Mapping[str, Any]) -> dict[str, Any]:
    """Options are overrides of the file's own values, checked as those are."""
    from . import files

    own = {KEYS.get(key, key): value for key, value in options.items()}
    if "every" in own and files.parse(path).frames_per_second is not None:
        own["frames_per_second"] = 1.0 / own.pop("every")
    return {**given, **own}


def _from_file(path: Path, given: Mapping[str, str], options: Mapping[str, Any]) -> Request:
    from . import files

    scene = files.read(path, **_overrides(path, given, options))
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


def _values(
    name: str,
    small: bool,
    given: Mapping[str, str],
    options: Mapping[str, Any],
    variant: str | None,
    option: str = "--set",
) -> tuple[dict, dict, dict]:
    """Arguments of the scene's builder, and its tables [adjust] and [method]."""
    from . import files

    if "integrator" in options:
        integrator(options["integrator"])
    whole = {key: given[key] for key in given if key.startswith(("adjust.", "method."))}
    own = _fitting(name, {key: given[key] for key in given if key not in whole}, option)
    if not whole:
        return own, {}, {}
    method = options.get("integrator") or own_integrator(name, small, variant, own)
    return own, *files.tables(name, method, whole)


def _built_in(
    name: str,
    small: bool,
    given: Mapping[str, str],
    options: Mapping[str, Any],
    variant: str | None,
) -> Request:
    from .adjust import adjusted

    entry(name)  # an unknown scene is told before a method
    # before the scene is built, which may take a while
    values, adjust, method = _values(name, small, given, options, variant)
    try:
        scene = load(name, small=small, variant=variant, **values)
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
    from .schema.write import toml_text

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
        which = {"scene": scene.name, **({"variant": scene.variant} if scene.variant else {})}
        return toml_text({**which, **plain, **tables})
    except TypeError:
        return None
