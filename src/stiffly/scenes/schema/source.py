"""A scene file as text: read with care, and asked for the line that an error speaks of."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path as FilePath
from typing import Any

from ...errors import InputError
from .lines import Path, key_lines
from .write import toml_value

LARGEST = 4_000_000  # bytes; large meshes belong into mesh files
REPEATED = ("body", "load", "collider", "support", "attachment")  # [[tables]]
_AT_LINE = re.compile(r"\s*\(at line (\d+), column (\d+)\)|\s*\(at end of document\)")


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
        """One line: file, line, cause."""
        place = self.path.name
        given = next((text for key, text in self.overridden.items() if path[: len(key)] == key), "")
        line = self.line(path)
        if given:
            place += f" with {given}"
        elif line is not None:
            place += f" line {line}"
        return LocatedError(" ".join(f"{place}: {cause}".split()))

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
    return text.replace("\r\n", "\n")


def _syntax_error(name: str, text: str, message: str) -> InputError:
    found = _AT_LINE.search(message)
    line = int(found[1]) if found is not None and found[1] else text.count("\n") + 1
    cause = _AT_LINE.sub("", message)
    rows = text.split("\n")
    row = rows[min(line, len(rows)) - 1].strip()
    lower = cause.lower()
    if "overwrite" in lower or "twice" in lower:
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
