"""Files that the reader takes are good by the published JSON schema too, and bad ones are not."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from stiffly import InputError, cli, scenes
from stiffly.scenes import files

jsonschema = pytest.importorskip("jsonschema")

EXAMPLES = sorted((Path(__file__).parent.parent / "examples" / "scenes").glob("*.toml"))
BODY = """
duration = 1.0
step = 0.01

[[body]]
shape = { kind = "rope", particles = 5 }
elasticity = "springs"
stiffness = 1e4
mass = 1.0

[[load]]
kind = "gravity"
"""


@pytest.fixture(scope="module")
def checker():
    """Of what `stiffly scene schema` prints."""
    schema = json.loads(json.dumps(files.json_schema()))
    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    kind.check_schema(schema)
    return kind(schema)


def complaints(checker, text):
    return [error.message for error in checker.iter_errors(tomllib.loads(text))]


def test_the_command_prints_that_schema(capfd):
    assert cli.main(["scene", "schema"]) == 0
    assert json.loads(capfd.readouterr().out) == files.json_schema()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_are_good(checker, path):
    assert complaints(checker, path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("name", scenes.NAMES)
def test_shown_scenes_are_good(checker, name, capfd):
    assert cli.main(["scene", "show", name]) == 0
    text = capfd.readouterr().out
    assert tomllib.loads(text)["scene"] == name
    assert complaints(checker, text) == []


def test_a_body_is_good(checker, tmp_path):
    assert complaints(checker, BODY) == []
    (tmp_path / "good.toml").write_text(BODY)
    files.parse(tmp_path / "good.toml")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("step = 0.01", "stpe = 0.01"),
        ("step = 0.01", "step = -0.01"),
        ("step = 0.01", 'step = "fast"'),
        ('kind = "rope"', 'kind = "roope"'),
        ("particles = 5", "particles = 5.5"),
        ("particles = 5", "particels = 5"),
        ('elasticity = "springs"', 'elasticity = "sprigns"'),
        ("stiffness = 1e4", ""),
        ("stiffness = 1e4", "stiffness = true"),
        ('kind = "gravity"', 'kind = "gravy"'),
        ("[[load]]", "[[laod]]"),
    ],
)
def test_what_the_reader_refuses_the_schema_refuses(checker, tmp_path, old, new):
    """Rules across keys (a body needs a duration) are the reader's alone."""
    assert old in BODY
    text = BODY.replace(old, new)
    (tmp_path / "bad.toml").write_text(text)
    with pytest.raises(InputError):
        files.parse(tmp_path / "bad.toml")
    assert complaints(checker, text)
