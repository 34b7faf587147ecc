"""On a real card: meshes as shapes."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("cupy", reason="no CuPy here: there is nothing to ask a card with")

from stiffly.backends.gpu import gpu

sys.path.insert(0, str(Path(__file__).parents[1]))
from cuda_mesh_checks import MESHES, MOTIONS, RUNS, forgetful, same_pushes, same_run


@pytest.mark.parametrize("motion", MOTIONS)
@pytest.mark.parametrize("name", MESHES)
def test_what_meshes_push_with(name, motion):
    same_pushes(name, motion, gpu())


@pytest.mark.parametrize("kind", RUNS)
def test_a_hundred_steps_over_meshes(kind):
    same_run(kind)


def test_what_rows_remember_changes_no_bit(monkeypatch):
    forgetful(monkeypatch)
