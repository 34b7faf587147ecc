"""What acts between two steps, on a card made of loops: see tests/cuda_between_checks.py."""

import pytest
from cuda_between_checks import (
    KINDS,
    SCENES,
    same_as_single_steps,
    same_bits_from_a_file,
    same_scene,
)
from cuda_shim import COMPILER, HostBackend

from stiffly.backends import gpu as door
from stiffly.integrators.explicit import SymplecticEuler, Verlet
from stiffly.integrators.runge_kutta import RungeKutta4
from stiffly.kernels.cuda import layout
from stiffly.system import between

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler here")


@pytest.fixture(scope="module")
def card(tmp_path_factory):
    return HostBackend(tmp_path_factory.mktemp("shim"))


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize(
    "method", [Verlet(), SymplecticEuler(), RungeKutta4()], ids=lambda m: m.name
)
@pytest.mark.parametrize("kind", KINDS)
def test_a_card_takes_the_single_steps_of_the_host(kind, method, lanes, card, monkeypatch):
    monkeypatch.setattr(layout, "LANES_OF_STEPS", ((10**9, lanes),))
    same_as_single_steps(kind, method, card)


def test_a_body_of_many_chunks(card, monkeypatch):
    monkeypatch.setattr(between, "CHUNK", 5)
    same_as_single_steps("calm-rubbing", Verlet(), card)


@pytest.mark.parametrize("name", SCENES)
def test_a_run_goes_on_from_a_file(name, card, tmp_path, monkeypatch):
    monkeypatch.setattr(door, "gpu", lambda number: card)
    same_bits_from_a_file(name, tmp_path, "gpu")


@pytest.mark.parametrize("name", SCENES)
def test_scenes_that_touch(name, card, monkeypatch):
    monkeypatch.setattr(door, "gpu", lambda number: card)
    same_scene(name, "gpu")
