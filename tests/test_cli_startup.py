"""Names are loaded when they are used: a help page must not wait for numba."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import stiffly


def modules_after(*command: str) -> set[str]:
    """Names of the modules that a fresh interpreter imports while it runs the command."""
    run = subprocess.run(
        [sys.executable, "-X", "importtime", *command], capture_output=True, text=True, check=True
    )
    lines = (line for line in run.stderr.splitlines() if line.startswith("import time:"))
    return {line.rsplit("|", 1)[1].strip() for line in lines}


# not pydantic: newer versions of typer read arguments with it
HEAVY = {"numpy", "numba", "scipy", "matplotlib", "h5py", "meshio", "pyvista"}


@pytest.mark.parametrize(
    "command",
    [["--help"], ["--version"], ["run", "--help"], ["export", "--help"], ["scene", "--help"]],
    ids=" ".join,
)
def test_help_loads_nothing_heavy(command):
    loaded = modules_after("-m", "stiffly", *command)
    assert "typer" in loaded  # the walk sees what is there
    assert not HEAVY & loaded


def test_importing_the_package_loads_nothing_heavy():
    loaded = modules_after("-c", "import stiffly")
    assert "stiffly" in loaded and not HEAVY & loaded


def test_scenes_are_listed_without_drawing_libraries():
    loaded = modules_after("-m", "stiffly", "scenes")
    assert "stiffly.scenes.builder" in loaded
    assert not {"matplotlib", "h5py", "pyvista", "ipctk"} & loaded


# ------------------------------------------------------------------ the lazy package


def test_every_public_name_has_a_home_and_is_shown_to_type_checkers():
    tree = ast.parse(Path(stiffly.__file__).read_text())
    block = next(n for n in tree.body if isinstance(n, ast.If))
    seen = {alias.name for n in block.body if isinstance(n, ast.ImportFrom) for alias in n.names}
    assert set(stiffly.__all__) == set(stiffly._HOMES) == seen
    assert set(stiffly.__all__) <= set(dir(stiffly))


def test_public_names_are_those_of_their_homes():
    from stiffly import bodies, errors

    assert stiffly.Springs is bodies.Springs and stiffly.InputError is errors.InputError
    assert stiffly.scenes.load.__module__ == "stiffly.scenes"
    everything: dict = {}
    exec("from stiffly import *", everything)
    assert set(stiffly.__all__) <= set(everything)


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'simulat'"):
        stiffly.simulat  # noqa: B018  # looked up for its error
    with pytest.raises(ImportError):
        exec("from stiffly import simulat")


# in one process, which imports the package afresh for each; kernels import nothing else of it
FIRSTS = """
import sys
for first in {firsts}:
    for name in [m for m in sys.modules if m.partition(".")[0] == "stiffly"]:
        if not name.startswith("stiffly.kernels"):
            del sys.modules[name]
    exec(first)
    import stiffly, stiffly.run.loop
    assert callable(stiffly.simulate), first
"""


def test_the_function_simulate_is_not_hidden_by_a_file():
    firsts = (
        "import stiffly.run.simulate",
        "from stiffly.run import simulate",
        "import stiffly.cli",
    )
    subprocess.run([sys.executable, "-c", FIRSTS.format(firsts=firsts)], check=True)
