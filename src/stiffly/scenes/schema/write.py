"""Values and tables as TOML text; the standard library only reads."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import date, time
from typing import Any

import numpy as np

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_value(value: Any) -> str:
    """One line; TypeError for what TOML cannot hold (None, functions, objects)."""
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (date, time)):  # a datetime is a date
        return value.isoformat()
    if isinstance(value, Mapping):
        pairs = [f"{toml_key(key)} = {toml_value(item)}" for key, item in value.items()]
        return f"{{ {', '.join(pairs)} }}" if pairs else "{}"
    if isinstance(value, Sequence):
        return f"[{', '.join(map(toml_value, value))}]"
    raise TypeError(f"TOML cannot hold {type(value).__name__}")


def toml_key(key: str) -> str:
    return key if _BARE.fullmatch(key) else toml_value(key)


def toml_text(data: Mapping[str, Any]) -> str:
    """A document: values first, then [tables] and [[tables]]; deeper tables are written inline."""
    plain = [f"{toml_key(k)} = {toml_value(v)}" for k, v in data.items() if not _headed(v)]
    blocks = ["\n".join(plain)] if plain else []
    for key, value in data.items():
        if _headed(value):
            single = isinstance(value, Mapping)
            header = f"[{toml_key(key)}]" if single else f"[[{toml_key(key)}]]"
            for table in [value] if single else value:
                rows = [f"{toml_key(k)} = {toml_value(v)}" for k, v in table.items()]
                blocks.append("\n".join([header, *rows]))
    return "\n\n".join(blocks) + "\n"


def _headed(value: Any) -> bool:
    if isinstance(value, Mapping):
        return True
    return isinstance(value, list) and bool(value) and all(isinstance(v, Mapping) for v in value)
