"""docs/promises.md: its tests exist, its words are said where it says so, and none is missing.

A row names places and, in quotation marks, words that stand there.  A word that promises, in
README, docs/*.md or the docstring of a public name, must lie within such words of some row.
"""

import ast
import importlib
import inspect
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "docs" / "promises.md"
PAGES = {"README": ROOT / "README.md", **{p.name: p for p in ROOT.glob("docs/*.md") if p != TABLE}}
ROOMS = ("", ".bodies", ".collisions", ".integrators", ".matfun", ".meshes", ".scenes")
PROMISING = re.compile(
    r"\b(never|always|whatever|no matter|any|exact(ly)?|every digit|last digits?|same bits|"
    r"bit for bit)\b",
    re.IGNORECASE,
)
PLACE = re.compile(r'(README|[\w-]+\.md|help\([\w.]+\))|"([^"]+)"')
PASSING = "Said in passing"


def plain(text):
    """Without code blocks and marks, on one line."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"\s+", " ", re.sub(r"[*`\\]", "", text))


@cache
def rows():
    """(heading, cells) of all tables."""
    found, heading = [], ""
    for line in TABLE.read_text().splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif line.startswith("|") and not line.startswith(("| promise |", "| why |", "| ---")):
            found.append((heading, [c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]]))
    return found


@cache
def quoted():
    """The words that the table has of each place."""
    found = defaultdict(list)
    for _, cells in rows():
        place = None
        for name, words in PLACE.findall(cells[1]):
            place = name or place
            if words:
                found[place].append(plain(words))
    return found


@cache
def shown():
    """What help() shows of public names and their public methods."""
    found = {"help(stiffly.scipy)": importlib.import_module("stiffly.scipy").__doc__}
    for room in ROOMS:
        module = importlib.import_module(f"stiffly{room}")
        for thing in (getattr(module, name) for name in module.__all__):
            if inspect.isclass(thing) or inspect.isfunction(thing):
                found[f"help({thing.__qualname__})"] = inspect.getdoc(thing)
            if inspect.isclass(thing):
                methods = inspect.getmembers(thing, inspect.isfunction)
                own = [m for name, m in methods if not name.startswith("_")]
                found |= {f"help({m.__qualname__})": inspect.getdoc(m) for m in own}
    return {name: plain(text) for name, text in found.items() if text}


@cache
def places():
    return {**{name: plain(path.read_text()) for name, path in PAGES.items()}, **shown()}


def uncovered(text, words):
    """Promising words of a text, with what stands around them, that no quotation holds."""
    spans = [m.span() for w in words for m in re.finditer(re.escape(w), text)]
    return [
        text[max(0, m.start() - 60) : m.end() + 60]
        for m in PROMISING.finditer(text)
        if not any(a <= m.start() and m.end() <= b for a, b in spans)
    ]


@pytest.mark.parametrize("place", [*PAGES, "help()"])
def test_every_promise_has_a_row(place):
    names = list(shown()) if place == "help()" else [place]
    missing = {n: found for n in names if (found := uncovered(places()[n], quoted()[n]))}
    assert not missing, f"give them a row in docs/promises.md, or take the word back: {missing}"


def test_what_is_quoted_is_said():
    """A sentence that was changed takes its row along."""
    for place, words in quoted().items():
        assert place in places(), f"docs/promises.md quotes {place}, which is not there"
        gone = [w for w in words if w not in places()[place]]
        assert not gone, f"docs/promises.md quotes {place} with words that it does not have: {gone}"


@cache
def named_in(path):
    """Names of the tests in a file, those of classes included."""
    tree = ast.parse((ROOT / path).read_text())
    functions = (n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef))
    return {name for name in functions if name.startswith("test_")}


@pytest.mark.parametrize("cells", [c for h, c in rows() if h != PASSING], ids=lambda c: c[0][:60])
def test_what_holds_a_promise_is_there(cells):
    assert len(cells) == 3
    path, tests = None, 0
    for ticked in re.findall(r"`((?:tests|benchmarks)/[^`]+|::[^`]+)`", cells[2]):
        file, _, name = ticked.partition("::")
        path = file or path
        assert (ROOT / path).is_file(), f"{path} is not there"
        assert not name or name in named_in(path), f"{path} has no {name}"
        tests += bool(name)
    assert tests, "no test is named"


def test_a_new_promise_would_be_missed():
    text = plain("It is **never** wrong,\nat any step.\n```python\nalways = 1\n```\n")
    assert len(uncovered(text, [])) == 2
    assert len(uncovered(text, ["never wrong"])) == 1
    assert uncovered(text, ["It is never", "at any step"]) == []
