"""Lines of keys in TOML texts, and TOML written from Python values."""

from __future__ import annotations

import datetime
import math
import tomllib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thinned import drawn

from stiffly.scenes.schema.source import key_lines
from stiffly.scenes.schema.write import toml_key, toml_text, toml_value

EXAMPLES = sorted((Path(__file__).parent.parent / "examples" / "scenes").glob("*.toml"))

TORTURE = '''\
# a comment with = and [brackets] and "quotes"
plain = 1            # 2
"quoted key" = 'lit = "x"'
dotted.sub.key = """first
[not a table]
not = 'a key'
"""
after = [             # 8
  1, "two, ]",        # 9
  [3,                 # 10
   4],                # 11
  { a = 5, b.c = 6 }, # 12
]                     # 13
when = 1979-05-27 07:32:00   # 14
half = 1.5e-3         # 15

[table]               # 17
key = "esc \\" ] = "   # 18
[table."sub.dot"]     # 19
x = \'\'\'raw \'\' [
still\'\'\'           # 21
y = -inf              # 22

[[body]]              # 24
name = "a"            # 25
[body.shape]          # 26
kind = "cube"         # 27
[[body.part]]         # 28
n = 1                 # 29
[[body.part]]         # 30
n = 2                 # 31
[[body]]              # 32
pins = [
  "left",             # 34
  { box = [[0, 0, 0],
           [1, 1, 1]] },   # 36
]
[[body.part]]         # 38
"ключ" = 3            # 39
'''
LINES = {
    ("plain",): 2,
    ("quoted key",): 3,
    ("dotted",): 4,
    ("dotted", "sub", "key"): 4,
    ("after",): 8,
    ("after", 0): 9,
    ("after", 1): 9,
    ("after", 2): 10,
    ("after", 2, 1): 11,
    ("after", 3): 12,
    ("after", 3, "a"): 12,
    ("after", 3, "b", "c"): 12,
    ("when",): 14,
    ("half",): 15,
    ("table",): 17,
    ("table", "key"): 18,
    ("table", "sub.dot"): 19,
    ("table", "sub.dot", "x"): 20,
    ("table", "sub.dot", "y"): 22,
    ("body",): 24,
    ("body", 0): 24,
    ("body", 0, "name"): 25,
    ("body", 0, "shape"): 26,
    ("body", 0, "shape", "kind"): 27,
    ("body", 0, "part", 0): 28,
    ("body", 0, "part", 1, "n"): 31,
    ("body", 1): 32,
    ("body", 1, "pins"): 33,
    ("body", 1, "pins", 0): 34,
    ("body", 1, "pins", 1): 35,
    ("body", 1, "pins", 1, "box", 1): 36,
    ("body", 1, "part", 0): 38,
}


def paths(value, path=()):
    """Paths of all keys and elements of a parsed document."""
    pairs = value.items() if isinstance(value, dict) else ()
    pairs = enumerate(value) if isinstance(value, list) else pairs
    for key, item in pairs:
        yield (*path, key)
        yield from paths(item, (*path, key))


def test_lines_of_a_difficult_text():
    data = tomllib.loads(TORTURE)
    assert data["after"][1] == "two, ]" and data["body"][1]["part"][0] == {"ключ": 3}
    lines = key_lines(TORTURE)
    assert {path: lines.get(path) for path in LINES} == LINES
    assert lines[("body", 1, "part", 0, "ключ")] == 39
    assert set(lines) == set(paths(data))  # every key, and nothing else


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_lines_of_the_examples_hold_their_keys(path):
    text = path.read_text(encoding="utf-8")
    rows, lines = text.split("\n"), key_lines(text)
    assert set(lines) == set(paths(tomllib.loads(text)))
    named = {key[-1]: rows[line - 1] for key, line in lines.items() if isinstance(key[-1], str)}
    assert len(named) > 10 and [key for key, row in named.items() if key not in row] == []


def test_windows_line_ends_and_texts_without_an_end():
    assert key_lines("a = 1\r\nb = 2\r\n")[("b",)] == 2
    assert key_lines("") == {} and key_lines("a = 1") == {("a",): 1}


def test_scanner_ends_on_any_text():
    """It runs on texts that tomllib has read; on others it must not hang or raise."""
    for text in ("= 1", "]", "a", "[[", "[", "a = [", "a = {", 'a = "x', "{}", ",", "a = = ]"):
        key_lines(text)


# ------------------------------------------------------------------ writing

names = st.text(min_size=1, max_size=8).filter(lambda t: not _lone_surrogate(t))
scalars = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.text(max_size=12).filter(lambda t: not _lone_surrogate(t)),
    st.dates(),
    st.datetimes(),
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3)
)


def _lone_surrogate(text: str) -> bool:
    return any(0xD800 <= ord(letter) < 0xE000 for letter in text)


def same(a, b) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (math.isnan(a) and math.isnan(b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b and type(a) is type(b)


@drawn(150)
@given(st.dictionaries(names, values, max_size=5))
def test_what_is_written_is_read_back(data):
    text = toml_text(data)
    read = tomllib.loads(text)
    assert same(read, data)
    assert set(key_lines(text)) == set(paths(read))


def test_numpy_values_and_what_toml_cannot_hold():
    assert toml_value(np.float64(0.1)) == "0.1" and toml_value(np.int64(3)) == "3"
    assert toml_value(np.array([1.0, 2.0])) == "[1.0, 2.0]" and toml_value((1, 2)) == "[1, 2]"
    assert toml_value(datetime.date(2024, 5, 6)) == "2024-05-06"
    assert toml_key("a b") == '"a b"' and toml_key("a-b") == "a-b"
    for value in (None, object(), {"a": None}, [None]):
        with pytest.raises(TypeError):
            toml_value(value)
