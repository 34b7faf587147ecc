"""A scene file as text: read with care, with other values, and asked for the line of an error."""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from os import PathLike
from pathlib import Path as FilePath
from typing import Any, NamedTuple

from ...errors import InputError
from .write import toml_value

Path = tuple[str | int, ...]  # ("body", 0, "pins", 2): keys, and numbers of elements
LARGEST = 4_000_000  # bytes; large meshes belong into mesh files
MOST_VALUES = 50_000  # in a file: some seconds
_DOTTED = re.compile(r"(?<![\w-])(?:[\w-]++\s*+\.\s*+){50}")
REPEATED = ("body", "load", "collider", "support", "attachment", "spring", "joint")  # [[tables]]
_AT_LINE = re.compile(r"\s*\(at line (\d+), column (\d+)\)|\s*\(at end of document\)")
_BRACES = re.compile(r"\{ ((?:[^{}]|\{[^{}]*\})*) \}")
_TOKEN = re.compile(
    r'''(?P<string>"""(?:\\.|[^\\])*?"""(?:"{0,2})|\'\'\'.*?\'\'\'(?:'{0,2})'''
    r"""|"(?:\\.|[^"\\])*"|'[^']*')"""
    r"|(?P<newline>\n)|(?P<comment>\#[^\n]*)|(?P<space>[^\S\n]+)"
    r"|(?P<mark>[\[\]{},=.])|(?P<word>[^\s\[\]{},=.#\"']+)",
    re.DOTALL,
)


class LocatedError(InputError):
    """Says file, line and key already."""


@dataclass(frozen=True)
class Source:
    """A file's name, its text, the data in it, and which keys came from elsewhere.

    overridden: path -> 'key=value' as it was given beside the file.
    """

    path: FilePath
    text: str
    data: Mapping[str, Any]
    overridden: Mapping[Path, str] = field(default_factory=dict)

    @cached_property
    def lines(self) -> Mapping[Path, int]:
        return key_lines(self.text)

    def line(self, path: Path) -> int | None:
        """Of the key, or of the nearest table around it."""
        for end in range(len(path), 0, -1):
            if path[:end] in self.lines:
                return self.lines[path[:end]]
        return None

    def error(self, path: Path, cause: str) -> InputError:
        """One line: file, line, cause; of a scene that has no text the body, or which table."""
        place = self.path.name
        if not self.text:
            place, cause = place.removesuffix(".toml") + self._table(path), _in_python(cause)
        given = next((text for key, text in self.overridden.items() if path[: len(key)] == key), "")
        line = self.line(path)
        if given:
            place += f" with {given}"
        elif line is not None:
            place += f" line {line}"
        return LocatedError(" ".join(f"{place}: {cause}".split()))

    def _table(self, path: Path) -> str:
        """' (body plank 3)', ' (load walker)', ' (load wind 2)', where there are several."""
        if len(path) < 2 or path[0] not in REPEATED:
            return ""
        key, number = path[0], int(path[1])
        tables: Any = self.value((key,))
        if len(tables) == 1:
            return ""
        kinds = [table.get("kind", "") for table in tables]
        kind, nth = kinds[number], kinds[: number + 1].count(kinds[number])
        count = f"{nth}" if kinds.count(kind) > 1 else ""
        name = tables[number].get("name") or " ".join(filter(None, (kind, count)))
        return f" ({key} {name})"

    @contextmanager
    def at(self, *path: str | int) -> Iterator[None]:
        """What goes wrong inside is the fault of this table, or of a key of it that is named."""
        try:
            yield
        except LocatedError:
            raise
        except InputError as problem:
            where = (*path, *self._key_named_by(str(problem), path))
            said = str(problem).removeprefix(f"{where[-1]}: " if where else "")
            raise self.error(where, f"{shown(where)}: {said}" if where else said) from None
        except MemoryError:
            raise self.error(path, f"{shown(path)} needs more memory than there is") from None
        except (ValueError, ArithmeticError) as problem:  # numbers such as 1e308, deep in a library
            cause = f"cannot be built ({problem}): check the size of its numbers"
            raise self.error(path, f"{shown(path) or 'it'} {cause}") from None

    def _key_named_by(self, message: str, path: Path) -> Path:
        """The first word of the message that is a key here, or in a table right below."""
        table = self.value(path)
        if path and isinstance(table, dict):
            below = [(key,) for key, value in table.items() if isinstance(value, dict)]
            for word in re.findall(r"\w+", message):
                for place in ((), *below):
                    if word in self.value((*path, *place)):
                        return (*place, word)
        return ()

    def value(self, path: Path) -> Any:
        """What stands at a path; None where nothing does."""
        value: Any = self.data
        for key in path:
            try:
                value = value[key]
            except (KeyError, IndexError, TypeError):
                return None
        return value


def _in_python(cause: str) -> str:
    """{ axis = [0, 0, 1] } is a table in TOML, {"axis": [0, 0, 1]} in Python."""
    return _BRACES.sub(lambda found: re.sub(r"(\w+) = ", r'"\1": ', f"{{{found[1]}}}"), cause)


def shown(path: Path) -> str:
    """body.shape.side, body.pins[2]; the number of a [[table]] is left out: the line says it."""
    text = ""
    for place, key in enumerate(path):
        if isinstance(key, str):
            text += f".{key}" if text else key
        elif not (place == 1 and path[0] in REPEATED):
            text += f"[{key}]"
    return text


def shown_value(value: Any) -> str:
    """As it would stand in the file, cut to some forty characters."""
    try:
        text = toml_value(value)
    except TypeError:
        text = repr(value)
    return text if len(text) <= 43 else f"{text[:40]}..."


def read_source(path: str | PathLike[str]) -> Source:
    """The file's text and data; InputError where it is no TOML text of a sensible size."""
    path = FilePath(path)
    text = _read_text(path)
    try:
        return Source(path, text, tomllib.loads(text))
    except tomllib.TOMLDecodeError as problem:
        raise _syntax_error(path.name, text, str(problem)) from None
    except RecursionError:
        raise LocatedError(f"{path.name}: brackets are nested too deeply: close them") from None
    except ValueError:  # Python's own limit on the digits of a whole number
        raise LocatedError(f"{path.name}: a number has too many digits: shorten it") from None


def _read_text(path: FilePath) -> str:
    name = path.name or str(path)
    if path.is_dir():
        raise InputError(f"scene file {path} is a folder: give a file in it")
    try:
        if path.exists() and not path.is_file():
            raise InputError(f"scene file {path} is no regular file: give a TOML file")
        with path.open("rb") as file:
            raw = file.read(LARGEST + 1)
    except FileNotFoundError:
        raise InputError(f"scene file {path} does not exist: check the path") from None
    except (OSError, ValueError) as problem:  # ValueError: a path that holds a null character
        reason = getattr(problem, "strerror", None) or problem
        raise InputError(f"scene file {path} cannot be read ({reason}): check it") from None
    if len(raw) > LARGEST:
        raise InputError(
            f"{name} has more than {LARGEST / 1e6:g} MB: put meshes into files of their own and "
            'name them with mesh = "file"'
        )
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = raw[: problem.start].count(b"\n") + 1
        raise InputError(f"{name} line {line}: not a text in UTF-8: give a TOML file") from None
    if "\0" in text:
        raise InputError(f"{name}: it holds null characters, no text: give a TOML file")
    if not text.strip():
        raise InputError(f"{name} is empty: begin with scene = 'NAME', or with a [[body]]")
    _require_few(text, name)
    return text.replace("\r\n", "\n")


def _require_few(text: str, name: str) -> None:
    """What takes long is not the size but how much is in it; dotted keys take their square."""
    values = sum(map(text.count, ",=["))
    if values > MOST_VALUES:
        raise InputError(
            f"{name} holds about {values:,} values, {MOST_VALUES:,} are the most: put meshes into "
            'files of their own and name them with mesh = "file"'
        )
    deep = _DOTTED.search(text)
    if deep is not None:
        line = text.count("\n", 0, deep.start()) + 1
        raise InputError(f"{name} line {line}: a key with so many dots is none: shorten it")


def _syntax_error(name: str, text: str, message: str) -> InputError:
    found = _AT_LINE.search(message)
    line = int(found[1]) if found is not None and found[1] else text.count("\n") + 1
    cause = _AT_LINE.sub("", message)
    rows = text.split("\n")
    row = rows[min(line, len(rows)) - 1].strip()
    lower = cause.lower()
    header = row.split("#")[0].strip(" \t[]")
    if row.startswith("[") and header in REPEATED:
        cause = f"[[{header}]] begins each {header}, one or several: two brackets on both sides"
    elif "overwrite" in lower or "twice" in lower:
        cause = f"{row.split('=')[0].strip()} is given twice: keep one of them"
    else:
        inside = f" in {row[:40]!r}" if row else ""
        cause = f"not TOML, {lower[:1]}{cause[1:]}{inside}: {_remedy(lower)}"
    return LocatedError(" ".join(f"{name} line {line}: {cause}".split()))


def _remedy(cause: str) -> str:
    if "'='" in cause:
        return "write key = value"
    if "unclosed" in cause or "illegal" in cause or "expected" in cause:
        return "close quotes and brackets"
    return "texts stand in quotes, numbers have digits around their dot"


# ------------------------------------------------------------------ key=value beside a file


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


# ------------------------------------------------------------------ where each key stands
#
# tomllib tells lines for syntax errors only.  The scanner trusts the text (tomllib has read it
# before), so it only looks for keys, brackets and the ends of values.


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


def key_lines(text: str) -> Mapping[Path, int]:
    """Line (from 1) of every key, table and array element of a TOML text."""
    return _Scanner(text).lines


def _tokens(text: str) -> Iterator[_Token]:
    line = 1
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if kind not in ("space", "comment"):
            yield _Token(kind, match[0], line)
        line += match[0].count("\n")
    yield _Token("end", "", line)


class _Scanner:
    def __init__(self, text: str) -> None:
        self._rest = _tokens(text)
        self._now = next(self._rest)
        self.lines: dict[Path, int] = {}
        self._tables: dict[Path, int] = {}  # number of the last [[name]] so far
        base: Path = ()
        while self._now.kind != "end":
            if self._now.kind == "newline":
                self._take()
            elif self._now.text == "[":
                base = self._header()
            else:
                self._pair(base)

    def _take(self) -> _Token:
        token = self._now
        self._now = next(self._rest, token)  # the end stays
        return token

    def _skip_to(self, *texts: str) -> None:
        while self._now.kind != "end" and self._now.text not in texts:
            self._take()

    def _header(self) -> Path:
        """[table] or [[table]]; the path of what follows."""
        line, repeated = self._take().line, self._now.text == "["
        if repeated:
            self._take()
        path: Path = ()
        for key in self._key():
            if path in self._tables:  # a name of repeated tables means the last of them
                path = (*path, self._tables[path])
            path = (*path, key)
        self._skip_to("\n")
        self.lines.setdefault(path, line)
        if repeated:
            self._tables[path] = self._tables.get(path, -1) + 1
            path = (*path, self._tables[path])
            self.lines[path] = line
        return path

    def _pair(self, path: Path) -> None:
        line = self._now.line
        for key in self._key():
            path = (*path, key)
            self.lines.setdefault(path, line)
        if self._now.text == "=":
            self._take()
        self._value(path)

    def _key(self) -> list[str]:
        keys = []
        while self._now.kind in ("word", "string") or self._now.text == ".":
            token = self._take()
            if token.kind == "string":
                keys.append(tomllib.loads(f"k={token.text}")["k"])
            elif token.text != ".":
                keys.append(token.text)
        if not keys:  # what no valid text holds: go on behind it
            self._take()
        return keys or [""]

    def _value(self, path: Path) -> None:
        if self._now.text == "[":
            for number in self._elements("]"):
                self.lines[(*path, number)] = self._now.line
                self._value((*path, number))
        elif self._now.text == "{":
            for _ in self._elements("}"):
                self._pair(path)
        else:
            self._skip_to("\n", ",", "]", "}")

    def _elements(self, closing: str) -> Iterator[int]:
        """0, 1, ... while there is another element before the closing bracket."""
        self._take()
        for number in count():
            while self._now.text in ("\n", ","):
                self._take()
            if self._now.kind == "end" or self._now.text == closing:
                self._take()
                return
            yield number
