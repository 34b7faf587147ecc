"""On a real card: what acts between two steps, as single steps of the host do it."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("cupy", reason="no CuPy here: there is nothing to ask a card with")

from stiffly.backends.gpu import gpu
from stiffly.integrators.explicit import SymplecticEuler, Verlet
from stiffly.integrators.runge_kutta import RungeKutta4
from stiffly.kernels.cuda import layout
from stiffly.system import between

sys.path.insert(0, str(Path(__file__).parents[1]))
from cuda_between_checks import (
    KINDS,
    SCENES,
    same_as_single_steps,
    same_bits_from_a_file,
    same_scene,
)


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize(
    "method", [Verlet(), SymplecticEuler(), RungeKutta4()], ids=lambda m: m.name
)
@pytest.mark.parametrize("kind", KINDS)
def test_a_card_takes_the_single_steps_of_the_host(kind, method, lanes, monkeypatch):
    monkeypatch.setattr(layout, "LANES_OF_STEPS", ((10**9, lanes),))
    same_as_single_steps(kind, method, gpu())


def test_a_body_of_many_chunks(monkeypatch):
    monkeypatch.setattr(between, "CHUNK", 5)
    same_as_single_steps("calm-rubbing", Verlet(), gpu())


@pytest.mark.parametrize("name", SCENES)
def test_a_run_goes_on_from_a_file(name, tmp_path):
    same_bits_from_a_file(name, tmp_path, "gpu")


@pytest.mark.parametrize("name", SCENES)
def test_scenes_that_touch(name):
    same_scene(name, "gpu")
