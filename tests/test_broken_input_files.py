"""Broken scene files on the command line: exit code 2, one line on stderr, nothing written."""

from __future__ import annotations

import pytest
from broken_input import BODY, refused

from stiffly import cli


@pytest.fixture
def work(tmp_path, monkeypatch):
    """An empty folder to be in; files lie beside it."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def with_line(old: str, new: str) -> str:
    assert old in BODY
    return BODY.replace(old, new)


FILES = {
    "empty": ("", "empty"),
    "no TOML": ("duration = ", "line 1"),
    "a bracket left open": ("[[body]\nmass = 1", "line 1"),
    "a key twice": ("step = 1\nstep = 2\n", "twice"),
    "nothing to simulate": ("duration = 1.0\nstep = 0.1\n", "nothing to simulate"),
    "unknown built-in scene": ("scene = 'cactuss'", "did you mean cactus"),
    "unknown parameter": ("scene = 'bar'\n[parameters]\nsells = 3", "cells"),
    "parameter of another kind": ("scene = 'bar'\n[parameters]\ncells = 'many'", "line 3"),
    "parameter out of range": ("scene = 'bar'\n[parameters]\ncells = 0", "cells"),
    "scene and bodies": ("scene = 'bar'\n" + BODY, "both"),
    "unknown key": ("durration = 2\n" + BODY, "duration"),
    "duration missing": (with_line("duration = 1.0", ""), "duration is missing"),
    "duration negative": (with_line("= 1.0\nstep", "= -1.0\nstep"), "line 2"),
    "duration a text": (with_line("= 1.0\nstep", "= 'long'\nstep"), "number"),
    "step missing": (with_line("step = 0.01", ""), "step is missing"),
    "step not finite": (with_line("step = 0.01", "step = nan"), "step"),
    "too many steps": (with_line("step = 0.01", "step = 1e-11"), "steps"),
    "unknown integrator": ("integrator = 'bdf3'\n" + BODY, "bdf"),
    "integrator without estimate": ("rtol = 1e-3\nintegrator = 'bdf1'\n" + BODY, "rtol"),
    "unknown shape": (with_line('"cube"', '"cubus"'), "cube"),
    "shape without cells": (with_line("cells = 2", "cells = 0"), "cells"),
    "shape far too large": (with_line("cells = 2", "cells = 100000"), "shape"),
    "side negative": (with_line("side = 1.0", "side = -1.0"), "side"),
    "unknown elasticity": (with_line('"springs"', '"sprngs"'), "springs"),
    "elasticity missing": (with_line('elasticity = "springs"', ""), "elasticity"),
    "stiffness negative": (with_line("1e4", "-1e4"), "stiffness"),
    "stiffness missing": (with_line("stiffness = 1e4", ""), "stiffness"),
    "mass zero": (with_line("mass = 1.0", "mass = 0.0"), "mass"),
    "mass missing": (with_line("mass = 1.0", ""), "mass"),
    "mass and density": (BODY + "density = 1000.0", "density"),
    "cloth of a cube": (
        with_line('elasticity = "springs"\nstiffness', 'elasticity = "cloth"\nstructural'),
        "structural",
    ),
    "tets with Poisson's ratio 0.5": (
        with_line(
            'elasticity = "springs"\nstiffness = 1e4',
            'elasticity = "tetrahedra"\nyoung = 1e5\npoisson = 0.5',
        ),
        "poisson",
    ),
    "tets of a rope": (
        with_line(
            '{ kind = "cube", cells = 2, side = 1.0 }\nelasticity = "springs"\nstiffness = 1e4',
            '{ kind = "rope", particles = 5, length = 1.0 }\nelasticity = "tetrahedra"\n'
            "young = 1e5\npoisson = 0.3",
        ),
        "tet",
    ),
    "a mesh file that is missing": (
        with_line('shape = { kind = "cube", cells = 2, side = 1.0 }', 'mesh = "nowhere.obj"'),
        "nowhere.obj",
    ),
    "a mesh file that is none": (
        with_line('shape = { kind = "cube", cells = 2, side = 1.0 }', 'mesh = "words.obj"'),
        "words.obj",
    ),
    "a mesh file with a wrong index": (
        with_line('shape = { kind = "cube", cells = 2, side = 1.0 }', 'mesh = "index.obj"'),
        "index.obj",
    ),
    "a mesh file with no number": (
        with_line('shape = { kind = "cube", cells = 2, side = 1.0 }', 'mesh = "nan.obj"'),
        "nan.obj",
    ),
    "pins that are not there": (BODY + "pins = [9999]", "pins"),
    "pins by an unknown name": (BODY + "pins = ['handle']", "handle"),
    "everything is pinned": (BODY + "pins = ['all']", ""),
    "unknown load": (BODY + "[[load]]\nkind = 'gravitty'", "gravity"),
    "load of two numbers": (BODY + "[[load]]\nkind = 'gravity'\ng = [0, 1]", "g"),
    "wind on springs": (BODY + "[[load]]\nkind = 'wind'\nwind = 3", "wind"),
    "sphere of no size": (
        BODY + "[[collider]]\nkind = 'sphere'\ncentre = [0, 0, -9]\nradius = 0\nstiffness = 1e3",
        "radius",
    ),
    "normal of no direction": (
        BODY + "[[collider]]\nkind = 'plane'\nnormal = [0, 0, 0]\nstiffness = 1e3",
        "normal",
    ),
    "negative friction": (
        BODY + "[[collider]]\nkind = 'plane'\nstiffness = 1e3\nfriction = -1",
        "friction",
    ),
    "collider mesh that is missing": (
        BODY + "[[collider]]\nkind = 'triangle-mesh'\nmesh = 'no.obj'\nstiffness = 1e3",
        "collider",
    ),
    "contact of nothing": (BODY + "[contact]\nstiffnes = 1e3", "stiffness"),
    "damping negative": (BODY + "[damping]\nalpha = -1", "alpha"),
    "output of another kind": (BODY + "[output]\ndtype = 'float16'", "float16"),
    "support of an unknown body": (
        BODY + "[[support]]\nbody = 'nobody'\nparticles = ['all']",
        "support",
    ),
}
MESHES = {
    "words.obj": "these are words\n",
    "index.obj": "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n",
    "nan.obj": "v 0 0 nan\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
}


@pytest.mark.parametrize("command", ["run", "scene check"])
@pytest.mark.parametrize("name", FILES)
def test_broken_scene_files(name, command, capfd, work):
    text, words = FILES[name]
    for file, content in MESHES.items():
        (work.parent / file).write_text(content)
    (work.parent / "mine.toml").write_text(text)
    err = refused(capfd, *command.split(), "../mine.toml")
    assert words.lower() in err.lower()
    assert "mine.toml" in err
    assert list(work.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"\xff\xfe\x00s", "UTF-8"), (b"scene = 'bar'\0", "null"), (b"[" * 5000, "line 1")],
)
def test_files_that_are_no_text(content, words, capfd, work):
    (work.parent / "mine.toml").write_bytes(content)
    assert words in refused(capfd, "run", "../mine.toml")
    assert list(work.iterdir()) == []


def test_the_good_file_of_these_tests_is_good(capfd, work):
    """Otherwise every refusal above might have another reason."""
    (work / "good.toml").write_text(BODY)
    assert cli.main(["run", "good.toml", "--quiet"]) == 0, capfd.readouterr().err
    assert (work / "good-run" / "recording.vtkhdf").exists()
