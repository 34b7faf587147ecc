"""The site's first page and its tutorials run as they are printed, in an empty folder."""

import re
import shlex
from pathlib import Path

import pytest

from stiffly import cli

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


def test_a_wrong_command_would_be_noticed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError, match="nowhere"):
        run_page("```sh\nstiffly run nowhere\n```\n")
