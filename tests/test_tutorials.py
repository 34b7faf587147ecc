"""The site's first page and its tutorials run as they are printed, in an empty folder; its
reference is complete."""

import importlib
import inspect
import re
import shlex
from pathlib import Path

import pytest

import stiffly
from stiffly import cli
from stiffly.recording.exports import export
from stiffly.recording.render import render
from stiffly.recording.words import FORMATS
from stiffly.view import View

DOCS = Path(__file__).parent.parent / "docs"
PAGES = ("index.md", "tutorials/artist.md", "tutorials/teacher.md", "tutorials/researcher.md")
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```', flags=re.M | re.S)


def run_page(text):
    """Files are written, commands run, programs executed one after the other; returns how many."""
    names, done = {"__name__": "__main__"}, 0
    for language, title, body in BLOCK.findall(text):
        if title:
            Path(title).write_text(body)
        elif language == "python":
            exec(compile(body, "tutorial", "exec"), names)
        elif language == "sh":
            for line in filter(None, body.splitlines()):
                program, *arguments = shlex.split(line, comments=True)
                assert program == "stiffly" and cli.main(arguments) == 0, line
        done += 1
    return done


def first_screen(text):
    """README's commands as a block, without those that need a browser or a shell."""
    lines = re.findall(r"^    (stiffly (?!view)[^>\n]+)$", text, flags=re.M)
    return "```sh\n" + "\n".join(lines) + "\n```\n", len(lines)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES[:2])
def test_a_page_of_commands_runs_as_printed(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_page((DOCS / page).read_text()) >= 1


@pytest.mark.parametrize("page", PAGES[2:])
@pytest.mark.filterwarnings("ignore::stiffly.errors.StiffWarning")
def test_a_page_of_python_runs_as_printed(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_page((DOCS / page).read_text()) >= 3


@pytest.mark.slow
def test_the_first_screen_of_the_readme_runs_as_printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    block, count = first_screen((DOCS.parent / "README.md").read_text())
    assert count >= 5 and run_page(block) == 1
    assert (tmp_path / "cloth-run" / "cloth.mp4").stat().st_size > 1000


def test_the_page_of_the_live_page_guide_is_served(tmp_path, monkeypatch, capsys):
    pytest.importorskip("viser")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("stiffly.view.View.wait", View.end)  # nobody presses Ctrl-C
    assert run_page((DOCS / "live-page.md").read_text()) == 1
    assert capsys.readouterr().out.startswith("http://127.0.0.1:")


def test_a_wrong_command_would_be_noticed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError, match="nowhere"):
        run_page("```sh\nstiffly run nowhere\n```\n")


# ------------------------------------------------------------------ the reference


def shown():
    """Dotted names that reference.md shows: one by one, of a whole module, or its source."""
    page = (DOCS / "reference.md").read_text()
    found = set(re.findall(r"auto(?:function|class):: (\S+)", page))
    for name, options in re.findall(r"automodule:: (\S+)\n((?:   :.*\n)*)", page):
        listed = re.search(r":members: (.*)", options)
        module = importlib.import_module(name)
        members = listed[1].split(", ") if listed else [n for n in dir(module) if n[0] != "_"]
        assert all(hasattr(module, member) for member in members)
        found |= {name, *(f"{name}.{member}" for member in members)}
    for file, name in re.findall(r"src/(stiffly/\S+)\.py\n   :pyobject: (\S+)", page):
        found.add(f"{file.replace('/', '.')}.{name}")
    return page, found


def test_every_public_name_is_in_the_reference():
    page, found = shown()
    last = {name.rpartition(".")[2] for name in found}
    missing = [n for n in stiffly.__all__ if n not in last and f"stiffly.{n}" not in page]
    assert missing == []
    assert {"stiffly.contracts.Integrator", "stiffly.contracts.Step"} <= found


def options(function):
    return {
        p.name for p in inspect.signature(function).parameters.values() if p.kind.name[0] == "K"
    }


def test_what_a_run_draws_and_writes_names_its_options():
    """Of stills and films together all that there are; `**options` would tell nobody."""
    for short, long in (((stiffly.Run.render, stiffly.Run.film), render),
                        ((stiffly.Run.export,), export)):  # fmt: skip
        told = [set(re.findall(r"\w+", inspect.getdoc(function))) for function in short]
        assert options(long) and options(long) - set().union(*told) == set()
    assert set(FORMATS) <= set(re.findall(r"\w+", inspect.getdoc(stiffly.Run.export)))
