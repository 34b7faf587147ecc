"""What acts between two steps, on a card made of loops: see tests/cuda_between_checks.py."""

import numpy as np
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
from stiffly.bodies import Attachments, MomentumDamping, System
from stiffly.collisions import Contact, Held, Plane, ProjectedContact, keyframes
from stiffly.integrators.explicit import SymplecticEuler, Verlet
from stiffly.integrators.runge_kutta import RungeKutta4
from stiffly.kernels.cuda import layout
from stiffly.system import between

AWAY = keyframes((0.0, 1.0), [(0.0,) * 3, (1.0, 0.0, 0.0)])
FLOOR = Plane((0.0, 0.0, -1.0), (0.0, 0.0, 1.0))
MOVING = Plane((0.0, 0.0, -1.0), (0.0, 0.0, 1.0), AWAY)
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


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ([MomentumDamping(1.0), Contact(FLOOR, 99.0, friction=0.3)], "give it before"),
        ([ProjectedContact(FLOOR), Attachments([0], 9.0, motion=AWAY)], "give it before"),
        ([ProjectedContact(FLOOR), Held(FLOOR, 9.0)], "contact behind projection"),
        ([MomentumDamping(1.0), MomentumDamping(2.0)], "momentum damping behind momentum damping"),
        ([Held(MOVING, None)], "has no compiled loop"),
    ],
)
def test_another_order_is_refused(parts, said, card):
    bound, _ = System(1.0, parts, rest=np.eye(3)).on(card).bind(np.eye(3))
    assert said in str(bound.stretcher)


def test_what_commutes_may_come_in_another_order(card):
    parts = [MomentumDamping(1.0), Contact(FLOOR, 99.0), Attachments([0], 9.0, motion=AWAY)]
    bound, _ = System(1.0, parts, rest=np.eye(3)).on(card).bind(np.eye(3))
    assert bound.stretcher.words == "one call"
