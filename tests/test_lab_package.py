"""The lab is a package of its own: it uses public names alone, and stiffly does without it."""

from __future__ import annotations

import ast
import importlib
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

import stiffly
import stiffly_lab
from stiffly import cli
from stiffly.scenes import cactus, cloth, coil_spring, rope, steel_sphere, tori, two_springs
from stiffly_lab import measures

LAB = Path(stiffly_lab.__file__).parent
ROOT = LAB.parents[1]
PUBLIC = {  # modules for everybody: their `__all__`, or all names without an underscore
    *("stiffly", "stiffly.bodies", "stiffly.collisions", "stiffly.contracts", "stiffly.errors"),
    *("stiffly.integrators", "stiffly.matfun", "stiffly.meshes", "stiffly.run"),
    *("stiffly.recording.plots", "stiffly.recording.provenance", "stiffly.recording.render"),
    *("stiffly.scenes", "stiffly.sweeps.cluster"),
}


def imports(path: Path):
    """(module, name) for every name that a file takes from stiffly."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and not node.level:
            if (node.module or "").split(".")[0] == "stiffly":
                yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((a.name, "") for a in node.names if a.name.split(".")[0] == "stiffly")


def is_public(module: str, name: str) -> bool:
    if module not in PUBLIC or not name:
        return module in PUBLIC
    offered = getattr(importlib.import_module(module), "__all__", None)
    return name in offered if offered is not None else not name.startswith("_")


def test_the_lab_takes_public_names_alone():
    deep = {
        f"{path.name}: {module}.{name}"
        for path in LAB.glob("*.py")
        for module, name in imports(path)
        if not is_public(module, name)
    }
    assert not deep
    assert sum(1 for path in LAB.glob("*.py") for _ in imports(path)) > 100  # the walk sees imports


def test_what_is_not_public_is_seen():
    assert is_public("stiffly", "simulate") and is_public("stiffly.errors", "InputError")
    assert not is_public("stiffly.run.loop", "Loop")
    assert not is_public("stiffly.scenes", "cactus")  # a scene's file
    assert not is_public("stiffly.contracts", "_private")


def test_only_the_command_knows_the_lab():
    rooms = Path(stiffly.__file__).parent
    users = {
        str(path.relative_to(rooms))
        for path in rooms.rglob("*.py")
        if "stiffly_lab" in path.read_text()
    }
    assert users <= {"cli/lab.py", "terminal.py"}
    for name in users:  # and even it imports nothing of it by itself
        names = {
            (node.module or "") if isinstance(node, ast.ImportFrom) else node.names[0].name
            for node in ast.walk(ast.parse((rooms / name).read_text()))
            if isinstance(node, (ast.Import, ast.ImportFrom))
        }
        assert not any(module.startswith("stiffly_lab") for module in names)


def test_two_distributions():
    """Neither contains the other, and the lab asks for the stiffly that it was written with."""
    ours, labs = (tomllib.loads((folder / "pyproject.toml").read_text()) for folder in (ROOT, LAB))
    find = ours["tool"]["setuptools"]["packages"]["find"]
    chosen = [
        package
        for package in ("stiffly", "stiffly.run", "stiffly_lab")
        if any(fnmatch(package, pattern) for pattern in find["include"])
    ]
    assert chosen == ["stiffly", "stiffly.run"]
    assert labs["project"]["name"] == "stiffly-lab"
    assert labs["tool"]["setuptools"]["packages"] == ["stiffly_lab"]
    assert f"stiffly=={stiffly.__version__}" in labs["project"]["dependencies"]
    assert labs["project"]["version"] == ours["project"]["version"] == stiffly.__version__


@pytest.mark.parametrize("words", [["lab"], ["lab", "report"], ["lab", "map", "--quick"]])
def test_without_the_lab_its_command_says_how_to_get_it(words, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "stiffly_lab", None)  # as if it were not installed
    assert cli.main(words) == 2
    said = capfd.readouterr().err.splitlines()
    assert len(said) == 1 and "pip install stiffly-lab" in said[0]
    assert not list(tmp_path.iterdir())


def test_measures_know_the_sizes_of_the_scenes():
    assert measures.CACTUS_HEIGHT == cactus.HEIGHT and measures.COIL_HEIGHT == coil_spring.HEIGHT
    assert (measures.CLOTH_SIDE, measures.CLOTH_DENSITY) == (cloth.SIDE, cloth.DENSITY)
    assert measures.CLOTH_SHAKEN == cloth.SHAKEN and measures.TUBE == tori.TUBE
    assert measures.SPHERE_RADIUS == steel_sphere.RADIUS
    assert measures.ROPE_LENGTH == rope.LENGTH and measures.LONG_REST == two_springs.REST
