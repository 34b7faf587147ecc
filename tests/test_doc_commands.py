"""Every command that a document shows is one: `stiffly ...` is parsed as by the command line, and
its scenes, methods, parameters, experiments and lessons are there; what `make`, `python` and `pip`
name is there, too.  What takes seconds is run as well: tests/test_tutorials.py.
"""

import re
import shlex
import tomllib
from pathlib import Path

import pytest
from typer.main import get_command

import stiffly_lab
from stiffly import scenes
from stiffly.cli import _UsageError, app
from stiffly.cli.inputs import pairs, picture_size
from stiffly.errors import InputError
from stiffly.integrators import integrator
from stiffly.recording.words import COLORS, FORMATS
from stiffly.scenes import request
from stiffly.view import lessons

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("tutorials/*.md"))]
WRONG = AssertionError, InputError, KeyError, _UsageError
PROGRAMS = "stiffly|make|python|pip|uv|pipx"
LINE = re.compile(rf"^(?:    )?((?:{PROGRAMS}) .+)$", flags=re.M)
SPAN = re.compile(rf"`((?:{PROGRAMS}) [^`]+)`")
FENCED = re.compile(r"^```(\w*).*?^```", flags=re.M | re.S)
AFTER = re.compile(r" {2,}| #| > | \| | \[-")  # comments, files, programs, what may be added
PLACE = re.compile(r"[A-Z]+$")  # SCENE, DIR: what a reader puts there
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TARGETS = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.M))


def commands(page):
    text = FENCED.sub(lambda b: b[0] if b[1] == "sh" else "", page.read_text())
    lines = [*LINE.findall(text), *(" ".join(span.split()) for span in SPAN.findall(text))]
    return [AFTER.split(line)[0].strip() for line in lines]


SHOWN = sorted({(page.name, line) for page in PAGES for line in commands(page)})


def look_at(line):
    """An error where something of it is not there."""
    program, *words = shlex.split(line)
    if program == "stiffly":
        look_at_ours(words)
    elif program == "make":
        assert set(words) <= TARGETS
    elif program == "python":
        assert words[0] == "-m" or (ROOT / words[0]).is_file()
    else:
        assert words[0] in ("install", "pip", "tool")
        for extra in re.findall(r"\[(.+?)\]", line):
            assert set(extra.split(",")) <= PROJECT["optional-dependencies"].keys()
        for path in (word for word in words if word.startswith("./")):
            assert (ROOT / path / "pyproject.toml").is_file()


def look_at_ours(words):
    command = get_command(app)
    while hasattr(command, "commands"):
        name, *words = words
        command = command.commands[name]
    if not words:  # a sentence about the command
        return
    given = command.make_context(name, words, resilient_parsing=False).params
    if name == "lab":
        for one in given["names"] if given["names"][0] != "full-size" else given["names"][1:]:
            if one not in ("list", "all", "report") and not PLACE.match(one):
                assert one in {**stiffly_lab.EXPERIMENTS, **dict.fromkeys(scenes.NAMES)}
    if given.get("size"):
        picture_size(given["size"])
    assert given.get("color") in (None, *COLORS) and given.get("to") in (None, *FORMATS)
    if given.get("lesson") not in (None, "list"):
        lessons.lesson(given["lesson"])
    several = given.get("integrators") or []
    for method in several:
        integrator(method)
    scene = given.get("scene") or given.get("what") or ""
    file_or_run = scene.endswith((".toml", "-run"))
    if name in ("run", "sweep", "view") and scene and not PLACE.match(scene) and not file_or_run:
        told = {"small": given["small"], "variant": given["variant"]}
        own = {"integrator": given["integrator"]} if given.get("integrator") else {}
        request.check(scene, given=pairs(given["assignments"]), options=own, **told)


@pytest.mark.parametrize("page, line", SHOWN)
def test_commands_of_documents_are_commands(page, line):
    look_at(line)


def test_the_commands_are_found():
    """At least as many as these pages plainly show."""
    count = {name: sum(page == name for page, _ in SHOWN) for name, _ in SHOWN}
    least = {"README.md": 30, "gallery.md": 80, "live-page.md": 6, "artist.md": 8, "building.md": 4}
    assert {name: count.get(name, 0) >= least[name] for name in least} == dict.fromkeys(least, True)


@pytest.mark.parametrize(
    "line",
    [
        "stiffly film cloth-run",
        "stiffly run clot",
        "stiffly run cloth --set verticies=3",
        "stiffly run cloth --integrator bdf3",
        "stiffly run cloth --durration 2",
        "stiffly view cloth --integrator bdf3",
        "stiffly view --lesson newton",
        "stiffly render run --color heat",
        "stiffly render run --size big",
        "stiffly export run --to abc",
        "stiffly lab everything",
        "stiffly scene showw cloth",
        "make demos",
        "python benchmarks/nothing.py",
        "pip install '.[vew]'",
    ],
)
def test_a_wrong_command_would_be_noticed(line):
    with pytest.raises(WRONG):
        look_at(line)
