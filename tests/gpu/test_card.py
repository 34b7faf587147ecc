"""On a real card: the steps of the host, the same bits twice, small scenes.  `make test-gpu`."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("cupy", reason="no CuPy here: there is nothing to ask a card with")

from stiffly.backends.gpu import gpu
from stiffly.integrators.explicit import SymplecticEuler, Verlet
from stiffly.integrators.rkn86 import Nystrom86
from stiffly.integrators.runge_kutta import ForwardEuler, RungeKutta4
from stiffly.integrators.splitting import BlanesMoan6
from stiffly.kernels.cuda import layout

sys.path.insert(0, str(Path(__file__).parents[1]))
from cuda_checks import (
    CARD_KINDS,
    KINDS,
    MIXED,
    RECORDED,
    SCENES,
    apart,
    mixed_is_near_double,
    same_bits_when_fetched,
    same_drag,
    same_forces_inside_out,
    same_frames_in_a_file,
    same_hundred_steps,
    same_steps,
)
from test_many import KINDS as JOINED
from test_many import STEPS, of_kind, pendulum, same_run, together_with


@pytest.mark.parametrize("lanes", [1, 2, 8])
@pytest.mark.parametrize("method", [Verlet(), RungeKutta4()], ids=lambda m: m.name)
@pytest.mark.parametrize("kind", (*KINDS, *CARD_KINDS))
def test_a_card_takes_the_steps_of_the_host(kind, method, lanes, monkeypatch):
    monkeypatch.setattr(layout, "LANES_OF_STEPS", ((10**9, lanes),))
    same_steps(kind, method, gpu())


@pytest.mark.parametrize("kind", (*KINDS, *CARD_KINDS))
def test_bodies_that_fit_no_block(kind, monkeypatch):
    apart(monkeypatch)
    same_steps(kind, Verlet(), gpu())


@pytest.mark.parametrize("method", [Verlet(), RungeKutta4()], ids=lambda m: m.name)
@pytest.mark.parametrize("kind", ["shaken", "yielding", "wound", "led", "airy", "tied-led"])
def test_a_state_that_stays_is_the_one_that_is_fetched(kind, method):
    same_bits_when_fetched(kind, method, gpu())


def test_a_hand_pulls_between_stretches():
    same_drag(gpu())


@pytest.mark.parametrize(
    "method", [SymplecticEuler(), BlanesMoan6(), ForwardEuler(), Nystrom86()], ids=lambda m: m.name
)
def test_methods_of_kicks_and_of_stages(method):
    same_steps("faces", method, gpu())


@pytest.mark.parametrize("kind", ["solid", "materials"])
def test_tets_turned_inside_out(kind):
    same_forces_inside_out(kind, gpu())


@pytest.mark.parametrize("name", SCENES)
def test_a_hundred_steps_of_a_small_scene(name):
    same_hundred_steps(name)


@pytest.mark.parametrize("name", MIXED)
def test_elements_in_single_precision(name):
    mixed_is_near_double(name)


@pytest.mark.parametrize("name", RECORDED)
def test_frames_in_a_file_are_those_in_memory(name, tmp_path, monkeypatch):
    same_frames_in_a_file(name, tmp_path, monkeypatch)


@pytest.mark.parametrize("kind", JOINED)
def test_many_runs_in_one_call(kind):
    given = [of_kind(kind, seed) for seed in range(3)]
    given += [(*pendulum(alpha=0.5, g=3.0), None), (*pendulum(alpha=0.1), None)]
    here, there = (together_with(given, device=device, **STEPS) for device in ("cpu", "gpu"))
    for run, wanted in zip(there, here, strict=True):
        same_run(run, wanted)
