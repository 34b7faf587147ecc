"""Scene files: TOML texts that name a built-in scene, or compose one from bodies and forces.

    scene = read("cloth.toml")                          # a Scene, ready for `simulate`
    scene = read("cloth.toml", **{"body.0.shear": 50})  # with other values than the file's
    check("cloth.toml")                                 # everything but the run
    text = show("coil-spring")                          # a built-in scene as a file to start from

What is wrong with a file is said in one line: file, line, key, cause, remedy.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError, create_model

from ..errors import InputError, unknown_name
from ..integrators import integrator as find_integrator
from ..memory import limited
from ..run.simulate import advise
from . import NAMES, RUN_OPTIONS, entry, load, own_integrator, unknown_parameter
from .adjust import adjusted
from .builder import Scene
from .composition import Shelf, compose
from .schema import SceneFile
from .schema.errors import translated
from .schema.show import catalogue_text, parameters_table
from .schema.source import Source, applied, as_value, read_source
from .schema.write import toml_text, toml_value

AnyPath = str | PathLike[str]


@dataclass(frozen=True, eq=False, kw_only=True)
class FileScene(Scene):
    """A Scene that came from a file.

    file: all that it says; output has no place in a Scene.  text: the file's own
    text, or the same with what was overridden, to be kept beside a run; None where parts of it are
    Python's, which no file can hold.
    said: how it is run and adjusted according to that text.
    """

    file: SceneFile = field(repr=False)
    text: str | None = field(repr=False)
    said: Mapping[str, Any] = field(default_factory=dict, repr=False)


def parse(path: AnyPath, /, **overrides: Any) -> SceneFile:
    """What the file says, checked key by key; no body is built and no mesh is read."""
    return validated(_source(path, overrides))


def read(path: AnyPath, /, **overrides: Any) -> FileScene:
    """The scene of a file.

    overrides: values instead of the file's, by dotted key: 'body.0.young', 'step',
    'parameters.vertices', or 'vertices' alone for a built-in scene; texts are read as TOML values,
    bare words as texts.
    """
    source = _source(path, overrides)
    file = validated(source)
    shelf = Shelf(_folder(source, file))
    return scene_of(source, file, _kept_text(source, file), shelf)


def scene_of(
    source: Source, file: SceneFile, text: str | None, shelf: Shelf, own: Sequence[Any] = ()
) -> FileScene:
    """text: that gives it again, None where none could; own: see `compose`."""
    with limited(source.path.name):
        if file.scene is None:
            scene = _composed(source, file, text, shelf, own)
        else:
            scene = _built_in(source, file, text)
    with source.at("adjust"):
        scene = adjusted(scene, **file.adjust.model_dump(exclude_none=True))
    scene = replace(scene, method=file.method.model_dump(exclude_none=True))
    return replace(scene, said=_settings(scene))


def tables(
    name: str, integrator: str, given: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """[adjust] and [method] for a built-in scene, from keys such as 'adjust.stiffness'; checked
    as those of a file are."""
    nothing = Source(Path(name), "", {"scene": name, "integrator": integrator})
    file = validated(applied(nothing, SceneFile.model_fields, given))
    return file.adjust.model_dump(exclude_none=True), file.method.model_dump(exclude_none=True)


def check(path: AnyPath, /, **overrides: Any) -> FileScene:
    """`read`, and everything that a run does before its first step."""
    scene = read(path, **overrides)
    try:
        bound, _ = scene.system.bind(scene.x0, scene.v0)
    except InputError as problem:
        raise InputError(f"{Path(path).name}: {problem}") from None
    if scene.rtol is None:
        advise(bound, scene.step)
    return scene


def show(name: str) -> str:
    """A built-in scene as a file to start from: every option, its default, meaning and unit."""
    found, nothing = entry(name), np.empty(0)  # the full size may take long to build
    run = {**found.run, **found.full}
    scene = Scene(name, found.summary, found.source, None, nothing, nothing, **run)
    text = catalogue_text(scene)
    assert text is not None  # built-in scenes have defaults that TOML can hold: a test sees to it
    return text


def to_toml(scene: Scene) -> str | None:
    """The file that gives this scene again; None where there is none.

    Also one that was changed: `to_toml(replace(adjusted(scene, gravity=1.62), step=0.01))`.
    """
    if not isinstance(scene, FileScene):
        return catalogue_text(scene) if scene.name in NAMES else None
    changed = {k: v for k, v in _settings(scene).items() if v != scene.said.get(k)}
    if not changed or scene.text is None:
        return scene.text
    data = {**tomllib.loads(scene.text), **changed}
    if "every" in changed:
        data.pop("frames_per_second", None)
    return toml_text({key: value for key, value in data.items() if value not in (None, {})})


def _settings(scene: Scene) -> dict[str, Any]:
    """Keys of a file that say how a scene is run and adjusted."""
    return {key: getattr(scene, key) for key in (*RUN_OPTIONS, "adjust", "method")}


def json_schema() -> dict[str, Any]:
    """The JSON schema of scene files, for editors."""
    return {"title": "stiffly scene file", **SceneFile.model_json_schema()}


# ------------------------------------------------------------------ from text to model


def _source(path: AnyPath, overrides: Mapping[str, Any]) -> Source:
    source = read_source(path)
    return applied(source, SceneFile.model_fields, overrides) if overrides else source


def validated(source: Source) -> SceneFile:
    try:
        file = SceneFile.model_validate(source.data)
    except ValidationError as problem:
        raise translated(source, SceneFile, problem) from None
    if file.scene is not None:
        _require_parameters(source, file.scene)
    options = file.method.model_dump(exclude_none=True)
    if options:
        with source.at("method"):
            find_integrator(_integrator(file), **options)
    return file


def _integrator(file: SceneFile) -> str:
    if file.scene is None or file.integrator is not None:
        return file.integrator_name
    return own_integrator(file.scene, False, file.variant, _given(file))


def _given(file: SceneFile) -> dict[str, Any]:
    """What `load` takes, of a file that names a built-in scene."""
    run = {"every": file.seconds_per_frame, **{k: getattr(file, k) for k in RUN_OPTIONS[:3]}}
    own = {key: value for key, value in run.items() if value is not None}
    return {**(file.parameters or {}), **own}


def _require_parameters(source: Source, name: str) -> None:
    if name not in NAMES:
        raise source.error(("scene",), str(unknown_name("scene", name, NAMES)))
    fields: Any = parameters_table(name)
    if "linear" in source.data.get("parameters", {}) and "linear" not in fields.model_fields:
        raise source.error(("parameters", "linear"), str(unknown_parameter(name, "linear", ())))
    table: Any = create_model("Parameters", parameters=(fields, ...))
    try:
        table.model_validate({"parameters": source.data.get("parameters", {})})
    except ValidationError as problem:
        raise translated(source, table, problem) from None


# ------------------------------------------------------------------ from model to scene


def _built_in(source: Source, file: SceneFile, text: str | None) -> FileScene:
    assert file.scene is not None
    with source.at("parameters"):
        scene = load(file.scene, variant=file.variant, **_given(file))
    if file.rtol is not None and not find_integrator(scene.integrator).adaptive:
        cause = f"{scene.integrator}, the scene's integrator, has no error estimate"
        raise source.error(("rtol",), f"rtol: {cause}; give integrator = 'pexprb43', too")
    own = {"summary": file.summary or scene.summary, "rtol": file.rtol, "atol": file.atol or 0.0}
    return FileScene(**{**vars(scene), **own}, file=file, text=text)


def _composed(
    source: Source, file: SceneFile, text: str | None, shelf: Shelf, own: Sequence[Any]
) -> FileScene:
    made = compose(file, source, shelf, own)
    assert file.duration is not None  # the schema asks for it
    overridden = {".".join(map(str, path)): source.value(path) for path in source.overridden}
    return FileScene(
        name=source.path.stem,
        summary=file.summary or f"{len(made.x0)} particles, from {source.path.name}",
        source=source.path.name,
        step=file.step or 1e-3 * file.duration,  # with rtol: the first one tried
        duration=file.duration,
        integrator=file.integrator_name,
        every=file.seconds_per_frame,
        rtol=file.rtol,
        atol=file.atol or 0.0,
        parameters={"file": str(source.path), **overridden},
        file=file,
        text=text,
        **made._asdict(),
    )


def _folder(source: Source, file: SceneFile) -> Path:
    return source.path.parent / (file.folder or "")


def _kept_text(source: Source, file: SceneFile) -> str:
    """The file's text, such that it still finds its meshes from another folder."""
    tables = [*(file.body or ()), *file.collider]
    moved = any(getattr(table, "mesh", None) for table in tables)
    folder = str(_folder(source, file).resolve())
    if not source.overridden and not (moved and file.folder):
        return f"folder = {toml_value(folder)}\n{source.text}" if moved else source.text
    data = {"folder": folder} if moved else {}
    return toml_text({**data, **{k: v for k, v in source.data.items() if k not in data}})


__all__ = [
    "FileScene",
    "as_value",
    "check",
    "json_schema",
    "parse",
    "read",
    "scene_of",
    "show",
    "tables",
    "to_toml",
    "validated",
]
