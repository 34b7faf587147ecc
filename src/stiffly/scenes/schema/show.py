"""A built-in scene as a scene file: the table of its parameters, the text with all meanings."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from textwrap import wrap
from typing import Any, get_type_hints

from pydantic import Field, create_model

from .. import entry
from ..builder import Scene
from .scene_file import Output, SceneFile
from .types import Table
from .write import toml_value

SCALARS = (int, float, bool, str)
WIDTH = 96
# options that a scene does not set: shown as comments, with a value to start from
UNSET = {
    "variant": "paper", "frames_per_second": 30, "rtol": 1e-3, "atol": 1e-9,
    "summary": "one of my own",
}  # fmt: skip
Row = tuple[str, str]  # code, and what it means


def parameters_table(name: str) -> type[Table]:
    """A model with one field per argument of the scene's builder: its type, default and meaning."""
    found = entry(name)
    hints = get_type_hints(found.build)
    fields: dict[str, Any] = {}
    for key, parameter in inspect.signature(found.build).parameters.items():
        # arrays are left to the builder, which knows what it takes
        hint = hints[key] if hints[key] in SCALARS else Any
        fields[key] = hint, Field(parameter.default, description=found.parameters[key])
    return create_model("Parameters", __base__=Table, **fields)


def catalogue_text(scene: Scene) -> str | None:
    """TOML that gives the scene again; None where a parameter is nothing that TOML can hold."""
    found = entry(scene.name)
    head = [("", scene.summary), ("source: ", scene.source), ("shows: ", found.shows)]
    head += [("note: ", scene.note)] if scene.note else []
    measured = "default measured (stiffly lab full-size): "
    head += [(measured, found.measured)] if found.measured else []
    defaults = inspect.signature(found.build).parameters
    values = {key: scene.parameters.get(key, p.default) for key, p in defaults.items()}
    try:
        parameters = [(f"{k} = {toml_value(v)}", found.parameters[k]) for k, v in values.items()]
    except TypeError:
        return None
    blocks = [
        [line for label, text in head for line in _comment(label, text)],
        [f"{k} = {toml_value(v)}" for k, v in _which(scene).items()],
        _aligned(_run_rows(scene)),
        ["[parameters]", *_aligned(parameters)],
        ["[output]", *_aligned(_rows(Output, Output().model_dump()))],
        *_tables(adjust=scene.adjust, method=scene.method),
    ]
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _which(scene: Scene) -> dict[str, str]:
    return {"scene": scene.name, **({"variant": scene.variant} if scene.variant else {})}


def _run_rows(scene: Scene) -> list[Row]:
    chosen = {key: getattr(scene, key) for key in ("integrator", "step", "duration", "every")}
    unset = {"every": 0.1, **UNSET} if scene.every is None else dict(UNSET)
    if scene.variant:
        del unset["variant"]
    rows = _rows(SceneFile, {k: v for k, v in chosen.items() if v is not None})
    return [*rows, *((f"# {code}", meaning) for code, meaning in _rows(SceneFile, unset))]


def _tables(**tables: Mapping[str, Any]) -> Iterable[list[str]]:
    """Those that say something."""
    for name, table in tables.items():
        if table:
            model: Any = SceneFile.model_fields[name].annotation
            yield [f"[{name}]", *_aligned(_rows(model, table))]


def _rows(model: Any, values: Mapping[str, Any]) -> list[Row]:
    """The values as lines of a table, and what its model says that they mean."""
    fields = model.model_fields
    return [(f"{k} = {toml_value(v)}", fields[k].description or "") for k, v in values.items()]


def _aligned(rows: Iterable[Row]) -> list[str]:
    rows = list(rows)
    width = max((len(code) for code, _ in rows), default=0)
    return [f"{code:<{width}}  # {' '.join(meaning.split())}" for code, meaning in rows]


def _comment(label: str, text: str) -> list[str]:
    return [f"# {line}" for line in wrap(label + " ".join(text.split()), WIDTH)]
