"""On a real card: meshes as shapes, and bodies that touch each other."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("cupy", reason="no CuPy here: there is nothing to ask a card with")

from stiffly.backends.gpu import gpu

sys.path.insert(0, str(Path(__file__).parents[1]))
from cuda_crowd_checks import KINDS, same_bits_with_other_lists, same_cut_steps, same_when_resumed
from cuda_crowd_checks import same_run as same_touching
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


@pytest.fixture
def ipctk():
    pytest.importorskip("ipctk", reason="the host's contact between meshes needs it")


@pytest.mark.usefixtures("ipctk")
@pytest.mark.parametrize("kind", KINDS)
def test_a_hundred_steps_in_touch(kind):
    same_touching(kind)


@pytest.mark.usefixtures("ipctk")
def test_lists_change_no_bit(monkeypatch):
    same_bits_with_other_lists(monkeypatch)


@pytest.mark.filterwarnings("ignore::stiffly.errors.StiffWarning")
@pytest.mark.usefixtures("ipctk")
def test_steps_that_might_pass_through_something(monkeypatch):
    same_cut_steps(monkeypatch)


@pytest.mark.usefixtures("ipctk")
def test_resumed_on_the_other_side(tmp_path):
    same_when_resumed(tmp_path)
