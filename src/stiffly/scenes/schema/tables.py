"""The models behind the tables of a scene file, found by key: for error messages and the manual."""

from __future__ import annotations

from collections.abc import Sequence
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from .types import Table

Model = type[Table]
DISCRIMINATORS = ("kind", "elasticity")


def members(annotation: Any) -> list[Model]:
    """The tables that a field may hold: one, the members of a union, those of a list's elements."""
    if isinstance(annotation, type) and issubclass(annotation, Table):
        return [annotation]
    if get_origin(annotation) is Annotated:
        return members(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType, list):
        return [model for part in get_args(annotation) for model in members(part)]
    return []


def tag(model: Model) -> tuple[str, str] | None:
    """('kind', 'cube'): the key that tells a table from its siblings, and its value there."""
    for key in DISCRIMINATORS:
        field = model.model_fields.get(key)
        if field is not None and get_origin(field.annotation) is Literal:
            return key, get_args(field.annotation)[0]
    return None


def siblings(root: Model, path: Sequence[str | int]) -> list[Model]:
    """All tables that may stand at a path of keys and numbers of elements."""
    found = [root]
    for key in path:
        if isinstance(key, int):
            continue
        fields = (model.model_fields.get(key) for model in found)
        found = [m for field in fields if field is not None for m in members(field.annotation)]
    return list(dict.fromkeys(found))


def chosen(models: Sequence[Model], data: Any) -> list[Model]:
    """Those that the table's own `kind` or `elasticity` selects; all where it selects none."""
    values = data if isinstance(data, dict) else {}
    fitting = [m for m in models if (t := tag(m)) is not None and values.get(t[0]) == t[1]]
    return fitting or list(models)
