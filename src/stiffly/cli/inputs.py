"""What users type, turned into what the library takes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError, unknown_name
from ..recording.folder import check_writable

if TYPE_CHECKING:
    from ..recording.recording import Recording
    from ..scenes import Scene

# options that several commands have
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the run.")]
Step = Annotated[float | None, typer.Option(metavar="H", help="Step [s]. [default: scene's]")]
Small = Annotated[bool, typer.Option("--small", help="The scene's small variant: seconds to run.")]
Device = Annotated[
    str, typer.Option(metavar="cpu|gpu|auto", help="Where to compute; gpu:1: the second card.")
]
Engine = Annotated[
    str, typer.Option(metavar="cpu|petsc", help="petsc: over the ranks that mpiexec has started.")
]
Variant = Annotated[
    str | None, typer.Option(metavar="paper", help="The authors' own method and step.")
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A parameter, e.g. vertices=800; repeatable."),
]
# options of the command line -> keys of a scene file
KEYS = {
    "dtype": "output.dtype",
    "keep_velocities": "output.velocities",
    "checkpoint": "output.checkpoint",
}
OF_SCENE = ("integrator", "step", "duration", "every")


def check_choice(option: str, value: str | None, known: tuple[str, ...]) -> None:
    if value is not None and value not in known:
        raise unknown_name(option, value, known)


def check_device(device: str) -> None:
    from ..run.devices import check_device

    check_device(device)


def check_engine(engine: str, device: str) -> bool:
    """Whether this process is to show anything: of many ranks the first alone is."""
    if engine == "cpu":
        return True
    from ..backends.petsc import silence_others, world
    from ..run.engines import check_engine

    silence_others()
    check_engine(engine, device)
    return world().rank == 0


def on_ranks(engine: str, job: Callable[[], Any]) -> Any:
    """job(), or what is wrong with it on any of the ranks."""
    if engine == "cpu":
        return job()
    from ..backends.petsc import world

    return world().together(job)


def check_positive(option: str, value: float | None, example: str) -> None:
    if value is not None and not (isfinite(value) and value > 0.0):
        raise InputError(f"{option} must be positive, got {value:g}: try {option} {example}")


def frame_interval(every: float | None, fps: float | None) -> float | None:
    """Seconds between frames from --every or --fps."""
    if every is not None and fps is not None:
        raise InputError("--every and --fps both say when to record; give one of them")
    check_positive("--every", every, "0.05")
    check_positive("--fps", fps, "30")
    return every if fps is None else 1.0 / fps


def picture_size(text: str) -> tuple[int, int]:
    """'1280x720' -> (1280, 720)."""
    match = re.fullmatch(r"(\d{1,6})[xX](\d{1,6})", text.strip())
    if match is None:
        raise InputError(f"--size {text}: give width x height in pixels, e.g. --size 1280x720")
    width, height = map(int, match.groups())
    return width, height


def pairs(assignments: list[str] | None) -> dict[str, str]:
    """['vertices=800', ...] -> {'vertices': '800', ...}."""
    found: dict[str, str] = {}
    for text in assignments or []:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not (key and equals and value):
            raise InputError(f"--set {text}: give key=value, e.g. --set vertices=800")
        if key in found:
            raise InputError(f"--set {text}: {key} is given twice; keep one")
        found[key] = value
    return found


def fitting(defaults: Mapping[str, Any], name: str, given: Mapping[str, str]) -> dict[str, Any]:
    """The values of --set as the kinds that the scene's parameters have."""
    from ..scenes import RUN_OPTIONS, unknown_parameter
    from ..scenes.files import as_value

    values: dict[str, Any] = {}
    for written, text in given.items():
        key = written.replace("-", "_")
        if key in RUN_OPTIONS:
            raise InputError(f"--set {key}={text}: this has its own option; give --{key} {text}")
        if key not in defaults:
            raise unknown_parameter(name, written, defaults)
        values[key] = _as_kind_of(defaults[key], f"--set {key}={text}", as_value(text))
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


def require_folder(out: Path, option: str = "--out") -> None:
    """A folder to write into, made if missing: better found out before a minute of computing."""
    check_writable(out, option)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"{option} {out}: {problem.strerror}; name another folder") from None


def open_run(folder: Path) -> Recording:
    """The recording in that folder; what is wrong with its summary is told as a line."""
    from .. import terminal
    from ..recording.recording import Recording

    with terminal.notices():
        return Recording(folder)


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
    from .. import scenes

    if variant is not None:
        scenes.check_variant(variant)

    path = Path(text)
    if path.suffix == ".toml":
        if small:
            raise InputError(
                f"{path.name} has no small variant, only built-in scenes have: leave --small out, "
                "and ask for less with --duration or --set"
            )
        return _from_file(path, given, {**options, **({"variant": variant} if variant else {})})
    if text not in scenes.NAMES and path.exists():
        kind = "a folder" if path.is_dir() else "no scene file"
        raise InputError(f"{text} is {kind}; name a built-in scene or a file that ends in .toml")
    return _built_in(text, small, given, options, variant)


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
    name: str,
    small: bool,
    given: Mapping[str, str],
    options: Mapping[str, Any],
    variant: str | None,
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
        scene = scenes.load(name, small=small, variant=variant, **values)
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
        which = {"scene": scene.name, **({"variant": scene.variant} if scene.variant else {})}
        return toml_text({**which, **plain, **tables})
    except TypeError:
        return None
