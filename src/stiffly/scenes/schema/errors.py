"""What pydantic finds wrong with a scene file, said in one line: file, line, key, cause, remedy."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import ValidationError

from ...errors import InputError
from .source import REPEATED, Path, Source, shown, shown_value
from .types import Table

Model = type[Table]
DISCRIMINATORS = ("kind", "elasticity")
EXPECTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "a text in quotes",
    "tuple_type": "an array of numbers, such as [0, 0, 1]",
    "list_type": "an array",
    "dict_type": "a table, such as { name = 1 }",
    "finite_number": "finite",
}
ALIKE = 0.8  # share of letters from which on a key is another one with a typing error
NO_TABLE = ("model_type", "model_attributes_type")
LIMITS = {
    "greater_than": ("greater than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("below", "lt"),
    "less_than_equal": ("at most", "le"),
}


class Finding(NamedTuple):
    """One error: where, what; near: the key that was probably meant; missing: a key is."""

    path: Path
    cause: str
    near: str | None = None
    missing: bool = False


def translated(source: Source, root: Model, problem: ValidationError) -> InputError:
    """The error that explains most, and how many more there are."""
    findings = [_finding(source, root, error) for error in problem.errors()]
    # a misspelled key is missing, too: one cause
    meant = {(*f.path[:-1], f.near) for f in findings if f.near is not None}
    findings = [f for f in findings if f.path not in meant or f.near is not None]
    findings.sort(key=lambda f: (f.near is None, source.line(f.path) or 0))
    first = findings[0]
    told = [first]
    if first.missing:  # what else the same table lacks
        told = [f for f in findings if f.missing and f.path[:-1] == first.path[:-1]]
    more = len({f.path for f in findings} - {f.path for f in told})
    rest = f" (and {more} more mistake{'s'[: more > 1]})" if more else ""
    return source.error(first.path, "; ".join(f.cause for f in told) + rest)


def _finding(source: Source, root: Model, error: Mapping[str, Any]) -> Finding:
    kind, context = error["type"], error.get("ctx", {})
    path = _without_tags(source, error["loc"], kind)
    value = error["input"]
    if kind == "extra_forbidden":
        return _unknown_key(source, root, path)
    if kind == "missing":
        return _missing(source, root, path)
    if kind == "several_keys":
        where = (*path, context["key"]) if context["key"] else path
        name = shown(path)
        return Finding(where, f"{name}: {context['cause']}" if name else context["cause"])
    if kind == "said":
        return Finding(path, context["cause"])
    if kind.startswith("union_tag") or (kind in NO_TABLE and len(siblings(root, path)) > 1):
        return _wrong_kind(source, root, path, value)
    if kind == "literal_error":
        return _wrong_choice(path, value, re.findall(r"'([^']*)'|(\d+)", context["expected"]))
    if kind == "list_type" and path[-1] in REPEATED and len(path) == 1:
        return Finding(path, f"{path[0]} is an array of tables: write [[{path[0]}]]")
    got = f"got {shown_value(value)}{_meaning(source, root, path)}"
    return Finding(path, f"{shown(path)} {_must(kind, context, got, error['msg'])}")


def _must(kind: str, context: Mapping[str, Any], got: str, message: str) -> str:
    if kind in LIMITS:
        word, key = LIMITS[kind]
        return f"must be {word} {context[key]:g}, {got}"
    if kind in EXPECTED:
        return f"must be {EXPECTED[kind]}, {got}"
    if kind in NO_TABLE:
        return f"must be a table, such as {{ key = value }}, {got}"
    if kind == "string_too_short":
        return "is an empty text: give a name"
    if kind == "too_short":
        return f"has {context['actual_length']} elements: give at least {context['min_length']}"
    if kind == "too_long":
        return f"has too many elements: give {context['max_length']}, {got}"
    return f"is wrong ({message[:1].lower()}{message[1:]}), {got}"


def _without_tags(source: Source, loc: Sequence[str | int], kind: str) -> Path:
    """pydantic names the chosen member of a union in the path: ('body', 0, 'springs', 'mass')."""
    path: Path = ()
    value: Any = source.data
    arrived = True  # at a table: the next name may be its tag
    for place, key in enumerate(loc):
        last = place == len(loc) - 1
        if isinstance(value, dict):
            tags = [value.get(name) for name in DISCRIMINATORS]
            if arrived and key in tags and not (last and kind == "missing"):
                arrived = False
                continue
            if key not in value and not (last and kind == "missing"):
                continue
        elif not isinstance(value, list) or not isinstance(key, int):
            continue
        path, arrived = (*path, key), True
        value = source.value(path)
    return path


def _unknown_key(source: Source, root: Model, path: Path) -> Finding:
    key, around = str(path[-1]), path[:-1]
    every = siblings(root, around)
    table = source.value(around)
    fitting = chosen(every, table)
    known = list(dict.fromkeys(name for model in fitting for name in model.model_fields))
    others = (name for model in every for name in model.model_fields)
    # what belongs elsewhere is named only where it is what was written, but for a letter or two
    near = difflib.get_close_matches(key, dict.fromkeys([*known, *others]), n=1, cutoff=0.8)
    near = near or difflib.get_close_matches(key, known, n=1, cutoff=0.6)
    meant = near[0] if near else ""
    if difflib.SequenceMatcher(None, key, meant).ratio() < ALIKE:
        home = _elsewhere(root, around, key)
        if home:
            return Finding(path, f"{shown(path)} is not known: {home}", "")
    if meant in known:
        return Finding(path, f"{shown(path)} is not known: did you mean {meant}?", meant)
    owners = [t for m in every if meant in m.model_fields and (t := tag(m)) is not None]
    if owners:
        choice = " or ".join(f"'{value}'" for _, value in owners[:4])
        mine = shown_value(table.get(owners[0][0]) if isinstance(table, dict) else None)
        it = "it" if meant == key else meant
        cause = f"is not known with {owners[0][0]} = {mine}: {it} belongs to {choice}"
        return Finding(path, f"{shown(path)} {cause}", meant)
    options = ", ".join(name for name in known if name not in (table or {}))
    return Finding(path, f"{shown(path)} is not known: choose from {options}", "")


def _elsewhere(root: Model, around: Path, key: str) -> str:
    """Where in the file the key belongs; "" where nowhere."""
    if around and key in root.model_fields:
        field = root.model_fields[key]
        return f"{key} is the whole scene's, not one {around[0]}'s: {field.description}"
    within = [
        name
        for model in siblings(root, around)
        for name in model.model_fields
        if any(key in inner.model_fields for inner in siblings(root, (*around, name)))
    ]
    if around and within:
        return f"it belongs into {' or '.join(dict.fromkeys(within))}"
    owners = [n for n in root.model_fields for m in siblings(root, (n,)) if key in m.model_fields]
    return f"it belongs to {' or '.join(dict.fromkeys(owners))}" if owners else ""


def _missing(source: Source, root: Model, path: Path) -> Finding:
    key, around = path[-1], path[:-1]
    if isinstance(key, int):  # of an array with a fixed length
        value = source.value(around)
        return Finding(around, f"{shown(around)} has too few numbers, got {shown_value(value)}")
    meaning = _meaning(source, root, path)
    return Finding(path, f"{shown(path)} is missing{meaning}", missing=True)


def _meaning(source: Source, root: Model, path: Path) -> str:
    """What the manual says of the key, or of the array that the element belongs to."""
    while path and isinstance(path[-1], int):
        path = path[:-1]
    models = chosen(siblings(root, path[:-1]), source.value(path[:-1])) if path else []
    field = next((m.model_fields[path[-1]] for m in models if path[-1] in m.model_fields), None)
    return f": {field.description}" if field is not None and field.description else ""


def _wrong_kind(source: Source, root: Model, path: Path, value: Any) -> Finding:
    tags = [t for model in siblings(root, path) if (t := tag(model)) is not None]
    key, known = tags[0][0], [value for _, value in tags]
    if not isinstance(value, dict):
        example = f"{{ {key} = '{value if value in known else known[0]}', ... }}"
        return Finding(path, f"{shown(path)} must be a table, such as {example}")
    where = (*path, key)
    if key not in value:
        near = difflib.get_close_matches(key, list(value), n=1, cutoff=0.6)
        if near:
            wrong = (*path, near[0])
            return Finding(wrong, f"{shown(wrong)} is not known: did you mean {key}?", key)
        return Finding(path, f"{shown(where)} is missing: choose one of {', '.join(known)}")
    return _wrong_choice(where, value[key], [(name, "") for name in known])


def _wrong_choice(path: Path, value: Any, options: Sequence[tuple[str, str]]) -> Finding:
    known = [name or number for name, number in options]
    near = difflib.get_close_matches(str(value), known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(known)}"
    return Finding(path, f"{shown(path)} = {shown_value(value)} is not known: {hint}")


# ------------------------------------------------------------------ models behind tables, by key


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
