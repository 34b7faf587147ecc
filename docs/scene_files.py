"""Writes the tables of keys into docs/scene-files.md, and docs/scene.schema.json.

python docs/scene_files.py
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic_core import PydanticUndefined

from stiffly.scenes.files import json_schema
from stiffly.scenes.schema import bodies, colliders, loads, scene_file, shapes, types
from stiffly.scenes.schema.errors import members, tag
from stiffly.scenes.schema.write import toml_value

FOLDER = Path(__file__).parent
PAGE, SCHEMA = FOLDER / "scene-files.md", FOLDER / "scene.schema.json"
BEGIN, END = "<!-- keys: begin -->", "<!-- keys: end -->"
TABLES = ("output", "adjust", "method", "body", "load", "collider", "contact", "support",
          "attachment", "spring", "joint", "damping")  # fmt: skip


def row(model: Any, key: str) -> str:
    field = model.model_fields[key]
    default = field.default
    if field.is_required():
        shown = "required"
    elif default is None or default is PydanticUndefined:
        shown = ""
    else:
        shown = f"`{toml_value(default)}`"
    meaning = (field.description or "").replace("|", "\\|")
    return f"| `{key}` | {shown} | {meaning} |"


def table(model: Any, keys: Iterable[str]) -> str:
    return "\n".join(["| key | default | meaning |", "| --- | --- | --- |",
                      *(row(model, key) for key in keys)])  # fmt: skip


def own_keys(model: Any, base: Any) -> list[str]:
    """Keys that the model adds to those of its base, without the one that selects it."""
    selects = tag(model)
    hidden = {*base.model_fields, selects[0] if selects else ""}
    return [key for key in model.model_fields if key not in hidden]


def kinds(models: Iterable[Any], base: Any) -> list[str]:
    """One section for each member of a union: what it is, and its own keys."""
    sections = []
    for model in models:
        key, value = tag(model) or ("", "")
        keys = own_keys(model, base)
        lines = [f'**`{key} = "{value}"`**: {" ".join((model.__doc__ or "").split())}']
        sections.append("\n\n".join([*lines, *([table(model, keys)] if keys else [])]))
    return sections


def titled(**models: Any) -> list[str]:
    """Small tables that stand inside others, under the key that holds them."""
    blocks: list[str] = []
    for key, model in models.items():
        blocks += [f"### `{key} = {{ ... }}`", table(model, model.model_fields)]
    return blocks


def shape_rows() -> str:
    lines = ["| kind | keys and defaults |", "| --- | --- |"]
    for kind, model in sorted(shapes.KINDS.items()):
        cells = []
        for key in own_keys(model, shapes.Shape):
            field = model.model_fields[key]
            value = "" if field.is_required() else f" = {toml_value(field.default)}"
            cells.append(f"`{key}{value}` {field.description}")
        lines.append(f"| `{kind}` | {'; '.join(cells)} |")
    return "\n".join(lines)


def reference() -> str:
    """All keys, section by section."""
    top = [key for key in scene_file.SceneFile.model_fields if key not in TABLES]
    touched = colliders.Touched
    blocks = [
        "### The file",
        table(scene_file.SceneFile, top),
        "### `[output]`",
        table(scene_file.Output, scene_file.Output.model_fields),
        "### `[adjust]`",
        table(scene_file.Adjust, scene_file.Adjust.model_fields),
        "### `[method]`",
        table(scene_file.Method, scene_file.Method.model_fields),
        "### `[[body]]`",
        "Every body:",
        table(bodies.BodyTable, bodies.BodyTable.model_fields),
        "All but fibers, whose mass follows from their density, take one of three masses, and:",
        table(bodies.Weighed, own_keys(bodies.Weighed, bodies.BodyTable)),
        *kinds((m for m in members(bodies.Body) if m is not bodies.Fibers), bodies.Weighed),
        *kinds([bodies.Fibers], bodies.BodyTable),
        "### Shapes",
        shape_rows(),
        "### `[[load]]`",
        *kinds(members(loads.Load), types.Table),
        "### `[[collider]]`",
        "Every collider:",
        table(touched, touched.model_fields),
        *kinds(members(colliders.Collider), touched),
        "### `[contact]`",
        table(colliders.Contact, colliders.Contact.model_fields),
        "### `[[support]]`",
        table(colliders.Support, colliders.Support.model_fields),
        "### `[[attachment]]`",
        table(colliders.Attachment, colliders.Attachment.model_fields),
        "### `[[spring]]`",
        table(colliders.Spring, colliders.Spring.model_fields),
        "### `[[joint]]`",
        table(colliders.Joint, colliders.Joint.model_fields),
        "### `[damping]`",
        table(scene_file.Damping, scene_file.Damping.model_fields),
        "### `motion`",
        *kinds((types.Keyframes, types.Rotation), types.Table),
        *titled(swing=types.Swing, rotation=bodies.Turn, particles=types.Region, plane=types.Plane),
    ]
    return "\n\n".join(blocks)


def page(text: str) -> str:
    """The page with its tables as the schema has them now."""
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n\n{reference()}\n\n{END}{rest.split(END)[1]}"


def schema() -> str:
    return json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    SCHEMA.write_text(schema(), encoding="utf-8")
