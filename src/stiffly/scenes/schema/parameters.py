"""The [parameters] of a built-in scene as a table: types and defaults from its builder."""

from __future__ import annotations

import inspect
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import Field, create_model

from .. import entry
from .types import Table

SCALARS = (int, float, bool, str, NoneType)


def parameters_table(name: str) -> type[Table]:
    """A model with one field per argument of the scene's builder."""
    found = entry(name)
    hints = get_type_hints(found.build)
    fields: dict[str, Any] = {}
    for key, parameter in inspect.signature(found.build).parameters.items():
        hint = hints.get(key, Any)
        meaning = found.parameters.get(key, "")
        # arrays and objects are left to the builder, which knows what it takes
        fields[key] = (
            hint if _is_plain(hint) else Any,
            Field(parameter.default, description=meaning),
        )
    return create_model("Parameters", __base__=Table, **fields)


def _is_plain(hint: Any) -> bool:
    if get_origin(hint) in (Union, UnionType):
        return all(map(_is_plain, get_args(hint)))
    return hint in SCALARS or get_origin(hint) is Literal
