"""key=value beside a scene file, as the command line's --set gives them."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...errors import InputError
from .lines import Path
from .source import Source, shown_value


def as_value(text: str) -> Any:
    """A TOML value: 20, 1e5, true, [0, 0, 1], { kind = 'cube' }; anything else is a text."""
    try:
        found = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return found["value"] if set(found) == {"value"} else text


def applied(source: Source, known: Mapping[str, Any], overrides: Mapping[str, Any]) -> Source:
    """The same file with other values; a plain key that no file has is the built-in scene's.

    overrides: {'body.0.young': '1e5'}; texts are read as TOML values, other values are taken as
    they are.
    """
    data = copy.deepcopy(dict(source.data))
    paths: dict[Path, str] = {}
    for key, given in overrides.items():
        value = as_value(given) if isinstance(given, str) else given
        steps = key.split(".")
        if len(steps) == 1 and key not in known and "scene" in data:
            steps = ["parameters", key]
        path: Path = tuple(int(step) if step.isdecimal() else step for step in steps)
        _put(data, path, value, key)
        paths[path] = f"{key}={shown_value(value)}"
    return replace(source, data=data, overridden=paths)


def _put(data: dict[str, Any], path: Path, value: Any, key: str) -> None:
    place: Any = data
    for step in path[:-1]:
        _require_step(place, step, key)
        place = place[step] if isinstance(step, int) else place.setdefault(step, {})
    _require_step(place, path[-1], key)
    place[path[-1]] = value


def _require_step(place: Any, step: str | int, key: str) -> None:
    """Numbers lead into arrays that are long enough, names into tables."""
    if isinstance(place, list):
        if not isinstance(step, int) or step >= len(place):
            last = len(place) - 1
            raise InputError(f"{key}: {step} is no number of an element: give 0 to {last}")
    elif not isinstance(place, dict) or not isinstance(step, str) or not step:
        raise InputError(f"{key}: nothing stands at {step}: write it as body.0.young=1e5")
