"""Where in a TOML text each key stands: tomllib tells lines for syntax errors only.

The scanner trusts the text (tomllib has read it before), so it only looks for keys, brackets and
the ends of values.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import NamedTuple

Path = tuple[str | int, ...]  # ("body", 0, "pins", 2): keys, and numbers of elements

_TOKEN = re.compile(
    r'''(?P<string>"""(?:\\.|[^\\])*?"""(?:"{0,2})|\'\'\'.*?\'\'\'(?:'{0,2})'''
    r"""|"(?:\\.|[^"\\])*"|'[^']*')"""
    r"|(?P<newline>\n)|(?P<comment>\#[^\n]*)|(?P<space>[^\S\n]+)"
    r"|(?P<mark>[\[\]{},=.])|(?P<word>[^\s\[\]{},=.#\"']+)",
    re.DOTALL,
)


class _Token(NamedTuple):
    kind: str
    text: str
    line: int
    start: int


def key_lines(text: str) -> Mapping[Path, int]:
    """Line (from 1) of every key, table and array element of a TOML text."""
    return _Scanner(text).run()


def _tokens(text: str) -> list[_Token]:
    found, line = [], 1
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if kind not in ("space", "comment"):
            found.append(_Token(kind, match[0], line, match.start()))
        line += match[0].count("\n")
    found.append(_Token("end", "", line, len(text)))
    return found


class _Scanner:
    def __init__(self, text: str) -> None:
        self._tokens, self._next = _tokens(text), 0
        self._lines: dict[Path, int] = {}
        self._tables: dict[Path, int] = {}  # how many [[name]] there are so far

    def run(self) -> Mapping[Path, int]:
        base: Path = ()
        while self._peek().kind != "end":
            token = self._peek()
            if token.kind == "newline":
                self._next += 1
            elif token.text == "[":
                base = self._header()
            else:
                self._pair(base)
        return self._lines

    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        token = self._tokens[self._next]
        if token.kind != "end":
            self._next += 1
        return token

    def _header(self) -> Path:
        """[table] or [[table]]; the path of what follows."""
        first = self._take()
        repeated = self._peek().text == "[" and self._peek().start == first.start + 1
        self._next += repeated
        keys = self._key()
        while self._peek().kind not in ("newline", "end"):
            self._next += 1
        path = self._within((), keys[:-1]) + keys[-1:]
        self._lines.setdefault(path, first.line)
        if repeated:
            number = self._tables.get(path, 0)
            self._tables[path] = number + 1
            path = (*path, number)
            self._lines[path] = first.line
        return path

    def _within(self, base: Path, keys: tuple[str, ...]) -> Path:
        """A name of repeated tables means the last of them."""
        for key in keys:
            base = (*base, key)
            if base in self._tables:
                base = (*base, self._tables[base] - 1)
        return base

    def _pair(self, base: Path) -> None:
        line, keys = self._peek().line, self._key()
        for count in range(1, len(keys) + 1):
            self._lines.setdefault((*base, *keys[:count]), line)
        if self._peek().text == "=":
            self._next += 1
        self._value((*base, *keys))

    def _key(self) -> tuple[str, ...]:
        keys = []
        while self._peek().kind in ("word", "string") or self._peek().text == ".":
            token = self._take()
            if token.text != ".":
                quoted = token.kind == "string"
                keys.append(tomllib.loads(f"k={token.text}")["k"] if quoted else token.text)
        if not keys:  # what no valid text holds: go on behind it
            self._take()
            keys.append("")
        return tuple(keys)

    def _value(self, path: Path) -> None:
        opening = self._peek().text
        if opening == "[":
            self._take()
            for number in self._elements("]"):
                self._lines[(*path, number)] = self._peek().line
                self._value((*path, number))
        elif opening == "{":
            self._take()
            for _ in self._elements("}"):
                self._pair(path)
        else:
            while not (self._peek().kind in ("newline", "end") or self._peek().text in {*",]}"}):
                self._next += 1

    def _elements(self, closing: str):
        """0, 1, ... while there is another element before the closing bracket."""
        number = 0
        while True:
            while self._peek().kind == "newline" or self._peek().text == ",":
                self._next += 1
            if self._peek().kind == "end":
                return
            if self._peek().text == closing:
                self._next += 1
                return
            yield number
            number += 1
