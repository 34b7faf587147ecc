"""Wrong scene files: one line says file, line, key, cause and remedy, and nothing is written."""

from __future__ import annotations

import copy
import os
import random
import sys
import tomllib
import warnings
from pathlib import Path

import pytest

from stiffly import InputError
from stiffly.scenes import files
from stiffly.scenes.schema.source import LARGEST
from stiffly.scenes.schema.write import toml_text

BODY = """\
duration = 1.0
step = 0.01
[[body]]
shape = { kind = "cube", cells = 2, side = 0.2 }
elasticity = "tetrahedra"
young = 1e5
poisson = 0.3
density = 1000.0
"""
ROPE = """\
duration = 1.0
step = 0.01
[[body]]
shape = { kind = "rope", particles = 4 }
elasticity = "springs"
stiffness = 100.0
mass = 0.1
"""
# text, words that the message must hold
BROKEN: dict[str, tuple[str, tuple[str, ...]]] = {
    # ---------------------------------------------------------- no TOML
    "empty": ("", ("is empty", "scene =")),
    "blank": ("\n \n\t\n", ("is empty",)),
    "only comments": ("# nothing\n", ("nothing to simulate", "[[body]]")),
    "syntax": ("duration = 1.0\nstep 0.01\n", ("line 2", "not TOML", "step 0.01")),
    "word without quotes": ("integrator = verlet\n", ("line 1", "quotes")),
    "open string": ('scene = "fput\n', ("line 1", "not TOML")),
    "open bracket at the end": ("scene = 'fput'\nstep = [1, 2\n", ("line", "not TOML")),
    "key twice": ("step = 0.1\nduration = 1\nstep = 0.2\n", ("line 3", "step is given twice")),
    "table twice": ("[output]\n[output]\n", ("line 2", "twice")),
    "nested too deeply": (f"step = {'[' * 5000}{']' * 5000}\n", ("nested too deeply",)),
    "endless number": (f"step = {'9' * 5000}\n", ("too many digits",)),
    # ---------------------------------------------------------- keys
    "misspelled key": (
        ROPE.replace("stiffness", "stifness"),
        ("line 6", "body.stifness is not known", "did you mean stiffness?"),
    ),
    "misspelled table": (BODY + "[contct]\n", ("line 9", "contct", "did you mean contact?")),
    "misspelled option": (BODY.replace("step", "stp"), ("line 2", "stp", "did you mean step?")),
    "key of another elasticity": (
        ROPE + "young = 1e5\n",
        ("line 8", "body.young", '"springs"', "'tetrahedra' or 'fibers'"),
    ),
    "key of another table": (
        ROPE + "friction = 0.5\n",
        ("line 8", "body.friction is not known: it belongs to collider or contact"),
    ),
    "key of a table within": (
        ROPE.replace("[[body]]\n", "[[body]]\nkind = 'cube'\n"),
        ("body.kind is not known: it belongs into shape",),
    ),
    "key of the whole scene": (
        ROPE + "damping = { alpha = 0.5 }\n",
        ("line 8", "damping is the whole scene's, not one body's: { alpha = 0.5 }"),
    ),
    "two loads, each in one pair of brackets": (
        ROPE + "[load]\nkind = 'gravity'\n[load]\nkind = 'wind'\n",
        ("line 10", "[[load]] begins each load"),
    ),
    "the second load in one pair of brackets": (
        ROPE + "[[load]]\nkind = 'gravity'\n[load]\nkind = 'wind'\n",
        ("line 10", "[[load]] begins each load"),
    ),
    "the first load in one pair of brackets": (
        ROPE + "[load]\nkind = 'gravity'\n[[load]]\nkind = 'wind'\n",
        ("line 10", "[[load]] begins each load"),
    ),
    "key unlike any other": (ROPE + "zzz = 1\n", ("line 8", "body.zzz", "choose from")),
    "missing key": (
        ROPE.replace("stiffness = 100.0\n", ""),
        ("line 3", "body.stiffness is missing", "[N/m]"),
    ),
    "missing mass": (ROPE.replace("mass = 0.1", ""), ("line 3", "mass or density", "missing")),
    "a word of another shape's, by chance": (
        BODY.replace("cells = 2", "rows = 2"),
        ("body.shape.rows is not known: choose from", "cells"),
    ),
    "two masses": (BODY + "mass = 1.0\n", ("line 8", "mass and density are both given")),
    "missing duration": (BODY.replace("duration = 1.0\n", ""), ("duration is missing",)),
    "missing step": (BODY.replace("step = 0.01\n", ""), ("step is missing", "rtol")),
    "shape and mesh": (ROPE + 'mesh = "a.obj"\n', ("line 8", "shape and mesh", "keep one")),
    "neither shape nor mesh": (
        ROPE.replace('shape = { kind = "rope", particles = 4 }\n', ""),
        ("line 3", "shape or mesh is missing"),
    ),
    "every and frames per second": (
        "every = 0.1\nframes_per_second = 10\n" + BODY,
        ("line 2", "both given", "keep one"),
    ),
    # ---------------------------------------------------------- types
    "text for a number": (BODY.replace("1e5", '"soft"'), ("line 6", "body.young", "a number")),
    "true for a number": (BODY.replace("1e5", "true"), ("line 6", "must be a number", "true")),
    "number for a text": ("scene = 5\n", ("line 1", "scene must be a text in quotes")),
    "fraction of a cell": (BODY.replace("= 2,", "= 2.5,"), ("line 4", "cells", "whole number")),
    "two numbers for a vector": (
        BODY + "position = [0.0, 1.0]\n",
        ("line 9", "body.position", "too few"),
    ),
    "four numbers for a vector": (
        BODY + "velocity = [0.0, 1.0, 2.0, 3.0]\n",
        ("line 9", "body.velocity", "too many"),
    ),
    "number for a vector": (BODY + "spin = 3.0\n", ("line 9", "body.spin", "[0, 0, 1]")),
    "text in a vector": (BODY + 'spin = [0, "x", 0]\n', ("line 9", "body.spin[1]", "a number")),
    "table for a body": ("duration = 1\nstep = 1\n[body]\n", ("line 3", "write [[body]]")),
    "text for a shape": (
        ROPE.replace('{ kind = "rope", particles = 4 }', '"rope"'),
        ("line 4", "body.shape must be a table", "kind"),
    ),
    "date": (BODY.replace("1.0", "2024-05-06", 1), ("line 1", "duration must be a number")),
    # ---------------------------------------------------------- choices
    "unknown scene": ('scene = "coil-sprig"\n', ("line 1", "did you mean coil-spring?")),
    "unknown parameter": (
        'scene = "coil-spring"\n[parameters]\nvertexes = 320\n',
        ("line 3", "parameters.vertexes", "did you mean vertices?"),
    ),
    "wrong type of parameter": (
        'scene = "coil-spring"\n[parameters]\nvertices = "many"\n',
        ("line 3", "parameters.vertices", "whole number"),
    ),
    "impossible parameter": (
        'scene = "coil-spring"\n\n[parameters]\nvertices = 320\nmass = -1.0\n',
        ("line 5", "mass", "positive"),
    ),
    "both forms": ('scene = "fput"\n' + BODY, ("line 4", "scene and body are both given")),
    "parameters without scene": (BODY + "[parameters]\nm = 3\n", ("line 9", "scene = 'NAME'")),
    "unknown integrator": (
        'integrator = "exprb43"\n' + BODY,
        ("line 1", "did you mean pexprb43?"),
    ),
    "rtol without estimate": (
        'rtol = 1e-3\nintegrator = "verlet"\n' + BODY,
        ("line 2", "no error estimate", "exprb42"),
    ),
    "unknown kind of shape": (
        ROPE.replace('"rope"', '"robe"'),
        ("line 4", "body.shape.kind", "did you mean rope?"),
    ),
    "unknown elasticity": (
        BODY.replace('"tetrahedra"', '"tetrahedron"'),
        ("line 5", "body.elasticity", "did you mean tetrahedra?"),
    ),
    "missing elasticity": (
        BODY.replace('elasticity = "tetrahedra"\n', ""),
        ("line 3", "body.elasticity is missing", "springs"),
    ),
    "misspelled elasticity": (
        BODY.replace("elasticity", "elastisity"),
        ("line 5", "body.elastisity", "did you mean elasticity?"),
    ),
    "unknown material": (
        BODY + 'material = "corotatd"\n',
        ("line 9", "body.material", "did you mean corotated?"),
    ),
    "unknown load": (BODY + '[[load]]\nkind = "gravitee"\n', ("line 10", "mean gravity?")),
    "unknown response": (
        BODY + '[[collider]]\nkind = "plane"\nresponse = "hold"\nstiffness = 1.0\n',
        ("line 11", "collider.response", "did you mean held?"),
    ),
    "unknown group of edges": (
        ROPE.replace("= 100.0", "= { structural = 1.0 }"),
        ("line 6", "body.stiffness", "no groups"),
    ),
    "unknown set of particles": (
        BODY + 'pins = ["topp"]\n',
        ("line 9", "body.pins", "did you mean top?"),
    ),
    "unknown body": (
        BODY + '[[load]]\nkind = "drag"\ncoefficient = 0.1\nbodies = ["cub"]\n',
        ("line 12", "unknown body cub", "did you mean cube?"),
    ),
    "which of two bodies": (
        BODY
        + '[[body]]\nshape = { kind = "rope" }\nelasticity = "none"\nmass = 1.0\n'
        + "[[attachment]]\nparticles = [0]\nstiffness = 1.0\n",
        ("line 13", "several bodies (cube, rope)", "body = 'NAME'"),
    ),
    "name taken": (
        ROPE + "name = 'a'\n" + ROPE.split("\n", 2)[2] + "name = 'a'\n",
        ("line 14", "body.name", "taken"),
    ),
    # ---------------------------------------------------------- numbers
    "negative mass": (ROPE.replace("0.1", "-0.1"), ("line 7", "body.mass", "greater than 0")),
    "no mass": (ROPE.replace("0.1", "0.0"), ("line 7", "body.mass", "greater than 0")),
    "incompressible": (BODY.replace("0.3", "0.5"), ("line 7", "body.poisson", "below 0.5")),
    "no step": (BODY.replace("0.01", "0.0"), ("line 2", "step must be greater than 0")),
    "NaN": (BODY.replace("1e5", "nan"), ("line 6", "body.young must be finite", "nan")),
    "infinity": (BODY.replace("1000.0", "inf"), ("line 8", "body.density must be finite")),
    "infinite vector": (BODY + "spin = [0.0, inf, 0.0]\n", ("line 9", "body.spin[1]", "finite")),
    "endless": (BODY.replace("1.0", "1e30", 1), ("line 1", "duration must be at most 1e+09")),
    "too many steps": (BODY.replace("0.01", "1e-12"), ("line 2", "1.0e+12 steps")),
    "too many frames": ("every = 1e-9\n" + BODY, ("line 1", "1.0e+09 frames")),
    "too many particles": (BODY.replace("= 2,", "= 5000,"), ("line 4", "body.shape", "particles")),
    "far too large a count": (BODY.replace("= 2,", f"= {10**30},"), ("line 4", "particles")),
    "negative side": (BODY.replace("0.2", "-0.2"), ("line 4", "body.shape.side", "positive")),
    "no cells": (BODY.replace("= 2,", "= 0,"), ("line 4", "body.shape.cells", "whole number")),
    "no axis": (
        BODY + "rotation = { axis = [0, 0, 0], degrees = 90.0 }\n",
        ("line 9", "axis is zero"),
    ),
    "times that go back": (
        ROPE + "[[support]]\nparticles = [0]\nmotion = { kind = 'keyframes', times = [0, 2, 1], "
        "offsets = [[0, 0, 0], [1, 0, 0], [0, 0, 0]] }\n",
        ("line 10", "times must increase"),
    ),
    "a walk with a time too many": (
        ROPE + "[[load]]\nkind = 'walker'\nweight = 9.0\ntimes = [0, 1, 2]\n"
        "path = [[0, 0, 0], [1, 0, 0]]\n",
        ("line 12", "path: 2 for 3 times: give one for each"),
    ),
    "friction beyond its share": (
        BODY + "[[collider]]\nkind = 'plane'\nresponse = 'projection'\nfriction = 2.0\n",
        ("line 12", "share", "0 to 1"),
    ),
    "held without stiffness": (
        BODY + "[[collider]]\nkind = 'plane'\nresponse = 'held'\n",
        ("line 9", "stiffness is missing"),
    ),
    # ---------------------------------------------------------- what does not fit together
    "no particles": (
        ROPE.replace('kind = "rope", particles = 4', 'kind = "particles", positions = []'),
        ("line 4", "body.shape.positions", "at least 1"),
    ),
    "edge to nowhere": (
        ROPE.replace(
            'kind = "rope", particles = 4',
            'kind = "particles", positions = [[0, 0, 0], [1, 0, 0]], edges = [[0, 2]]',
        ),
        ("line 4", "edge [0, 2]", "0 to 1"),
    ),
    "no body at all": ("duration = 1.0\nstep = 0.1\nbody = []\n", ("line 3", "body", "at least 1")),
    "pin that is not there": (BODY + "pins = [4000]\n", ("line 9", "body.pins", "the last is 26")),
    "pins that hold nothing": (
        BODY + "pins = [{ box = [[5, 5, 5], [6, 6, 6]] }]\n",
        ("line 9", "body.pins", "selects no particle", "reaches from"),
    ),
    "no pins": (BODY + "pins = []\n", ("line 9", "body.pins", "at least 1")),
    "box inside out": (
        BODY + "pins = [{ box = [[1, 1, 1], [0, 0, 0]] }]\n",
        ("line 9", "body.pins[0]", "lowest corner"),
    ),
    "all pinned": (BODY + 'pins = ["all"]\n', ("every particle is fixed", "leave at least one")),
    "pinned and led": (
        ROPE + "pins = [0]\n[[support]]\nparticles = [0]\n"
        "motion = { kind = 'rotation', axis = [0, 0, 1], rate = 1.0 }\n",
        ("particle 0 is fixed and led",),
    ),
    "tets of a rope": (
        BODY.replace('kind = "cube", cells = 2, side = 0.2', 'kind = "rope"'),
        ("line 8", "density", "tets"),
    ),
    "wind on a rope": (
        ROPE + '[[load]]\nkind = "wind"\nwind = [1, 0, 0]\n',
        ("line 10", "triangles", "drag"),
    ),
    "hair that is no fiber": (ROPE.replace('"rope", particles', '"hair-cap", count'), ("fibers",)),
    "mesh that is not there": (
        BODY.replace('shape = { kind = "cube", cells = 2, side = 0.2 }', 'mesh = "no.obj"'),
        ("line 4", "body.mesh", "no.obj does not exist"),
    ),
    "mesh in a folder that is a file": (
        "folder = 'scene.toml'\n"
        + BODY.replace('shape = { kind = "cube", cells = 2, side = 0.2 }', 'mesh = "no.obj"'),
        ("line 5", "body.mesh", "no.obj"),
    ),
    "unknown format of a mesh": (
        BODY.replace('shape = { kind = "cube", cells = 2, side = 0.2 }', 'mesh = "scene.toml"'),
        ("line 4", "body.mesh", "known mesh formats"),
    ),
    "collider with holes": (
        BODY
        + "[[collider]]\nkind = 'triangle-mesh'\nshape = { kind = 'cloth' }\nstiffness = 1.0\n",
        ("line 9", "collider", "open"),
    ),
    "normal without direction": (
        BODY + "[[collider]]\nkind = 'plane'\nnormal = [0, 0, 0]\nstiffness = 1.0\n",
        ("line 11", "collider.normal", "zero"),
    ),
}


def refusal(path, **overrides) -> str:
    with pytest.raises(InputError) as caught:
        files.check(path, **overrides)
    message = str(caught.value)
    assert message and "\n" not in message and message == message.strip()
    assert "Traceback" not in message and "pydantic" not in message
    return message


@pytest.mark.parametrize("name", BROKEN)
def test_broken_file(name, tmp_path):
    text, words = BROKEN[name]
    path = tmp_path / "scene.toml"
    path.write_text(text, encoding="utf-8")
    message = refusal(path)
    assert message.startswith("scene.toml")
    assert [word for word in words if word not in message] == []
    assert len(message) < 500
    assert os.listdir(tmp_path) == ["scene.toml"] and path.read_text(encoding="utf-8") == text


def test_what_is_no_text_file(tmp_path):
    missing = tmp_path / "none.toml"
    assert "does not exist" in refusal(missing)
    assert "is a folder" in refusal(tmp_path)
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"scene = 1\n\xff\xfe\x00")
    assert "line 2" in refusal(binary) and "UTF-8" in refusal(binary)
    binary.write_bytes(b"a = 1\n\x00")
    assert "null characters" in refusal(binary)
    assert "cannot be read" in refusal("a\0b.toml")
    assert "no regular file" in refusal(os.devnull)


def test_enormous_files_are_not_read(tmp_path):
    path = tmp_path / "large.toml"
    with path.open("wb") as file:
        file.truncate(LARGEST + 1)  # a hole: no disk space
    assert "MB" in refusal(path)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root reads everything")
def test_files_without_permission(tmp_path):
    path = tmp_path / "secret.toml"
    path.write_text(BODY)
    path.chmod(0)
    assert "cannot be read" in refusal(path)


def test_unreadable_files_say_why(tmp_path, monkeypatch):
    path = tmp_path / "secret.toml"
    path.write_text(BODY)

    def denied(*args, **kwargs):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", denied)
    assert "cannot be read (Permission denied)" in refusal(path)


def test_a_mesh_with_faces_out_of_range(tmp_path):
    (tmp_path / "bad.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n")
    path = tmp_path / "scene.toml"
    path.write_text(ROPE.replace('shape = { kind = "rope", particles = 4 }', 'mesh = "bad.obj"'))
    message = refusal(path)
    assert "scene.toml line 4: body.mesh" in message and "bad.obj" in message and "9" in message


def test_contact_without_ipctk(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ipctk", None)
    path = tmp_path / "scene.toml"
    path.write_text(BODY + "[contact]\nthickness = 0.01\nstiffness = 10.0\n")
    message = refusal(path)
    assert "scene.toml line 9: contact" in message and "stiffly[contact]" in message


def test_several_errors_are_counted(tmp_path):
    path = tmp_path / "scene.toml"
    path.write_text(BODY.replace("1e5", "-1").replace("0.3", "0.7").replace("1000.0", "nan"))
    message = refusal(path)
    assert "line 6" in message and message.endswith("(and 2 more mistakes)")


def test_a_misspelled_key_is_one_error_and_comes_first(tmp_path):
    """The key that was meant is missing, too; and a wrong number stands before it."""
    path = tmp_path / "scene.toml"
    path.write_text(BODY.replace("poisson", "poison").replace("duration = 1.0", "duration = -1.0"))
    message = refusal(path)
    assert "line 7: body.poison is not known" in message
    assert message.endswith("(and 1 more mistake)")


def test_what_was_set_beside_the_file_is_named_instead_of_a_line(tmp_path):
    path = tmp_path / "scene.toml"
    path.write_text(BODY)
    assert refusal(path, **{"body.0.young": "-1"}) == (
        "scene.toml with body.0.young=-1: body.young must be greater than 0, got -1: "
        "Young's modulus [Pa]"
    )
    assert "did you mean young" in refusal(path, **{"body.0.yong": 1})
    assert "give 0 to 0" in refusal(path, **{"body.1.young": 1})
    assert "body.0.young=1e5" in refusal(path, **{"step.x": 1})
    assert "did you mean step" in refusal(path, stp=0.1)


# ------------------------------------------------------------------ thousands more

ODD = [
    -1, 0, 3.5, -1e-300, 1e308, float("nan"), float("inf"), True, "", "x", "all", [], [1],
    [0, 0, 0], [[0, 0, 0]], {}, {"kind": "cube"}, {"a": 1}, 10**25, "../..", [0.0, 1.0], [-1], 7,
]  # fmt: skip


def places(value, path=()):
    """Paths of all keys and elements."""
    pairs = value.items() if isinstance(value, dict) else ()
    for key, item in enumerate(value) if isinstance(value, list) else pairs:
        yield (*path, key)
        yield from places(item, (*path, key))


def spoil(rng: random.Random, data: dict) -> dict:
    """One to three values replaced, keys misspelled, things left out or repeated."""
    for _ in range(rng.choice([1, 1, 2, 3])):
        found = list(places(data))
        if not found:
            break
        *around, key = rng.choice(found)
        place = data
        for step in around:
            place = place[step]
        way = rng.random()
        if way < 0.6:
            place[key] = copy.deepcopy(rng.choice(ODD))
        elif way < 0.75:
            del place[key]
        elif isinstance(place, list):
            place.append(copy.deepcopy(place[key]))
        else:
            place[f"{key}x"] = place.pop(key)
    return data


def spoiled_files(count: int, seed: int, folder: Path) -> tuple[int, int]:
    """How many of the spoiled examples are still fine, and how many are refused."""
    examples = sorted((Path(__file__).parent.parent / "examples" / "scenes").iterdir())
    texts = [BODY, ROPE, *(p.read_text("utf-8") for p in examples if p.suffix == ".toml")]
    for mesh in (p for p in examples if p.suffix == ".obj"):
        (folder / mesh.name).write_text(mesh.read_text())
    rng, fine, refused = random.Random(seed), 0, 0
    path = folder / "scene.toml"
    for _ in range(count):
        path.write_text(toml_text(spoil(rng, tomllib.loads(rng.choice(texts)))), encoding="utf-8")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                files.check(path)
            fine += 1
        except InputError as problem:
            message = str(problem)
            assert message.startswith("scene.toml") and "\n" not in message and len(message) < 600
            refused += 1
    return fine, refused


def test_spoiled_examples_are_refused_or_fine(tmp_path):
    """Whatever is wrong, no other error than InputError comes out."""
    fine, refused = spoiled_files(300, 5, tmp_path)
    assert fine > 10 and refused > 150


@pytest.mark.slow
def test_thousands_of_spoiled_examples(tmp_path):
    fine, refused = spoiled_files(4000, 6, tmp_path)
    assert fine > 100 and refused > 2000
