"""Meshes as shapes in the loops of cards, compiled as C++ where a compiler is."""

import numpy as np
import pytest
from cuda_mesh_checks import MESHES, MOTIONS, RUNS, forgetful, same_pushes, same_run, scene_of
from cuda_shim import COMPILER, HostBackend

import stiffly
from stiffly.backends import gpu as door
from stiffly.collisions import TriangleMesh

compiled = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler here")


@pytest.fixture(scope="module")
def card(tmp_path_factory):
    return HostBackend(tmp_path_factory.mktemp("shim"))


@compiled
@pytest.mark.parametrize("motion", MOTIONS)
@pytest.mark.parametrize("name", MESHES)
def test_what_meshes_push_with(name, motion, card):
    same_pushes(name, motion, card)


@compiled
@pytest.mark.parametrize("kind", RUNS)
def test_a_hundred_steps_over_meshes(kind, card, monkeypatch):
    monkeypatch.setattr(door, "gpu", lambda number: card)
    same_run(kind)


@compiled
def test_what_rows_remember_changes_no_bit(card, monkeypatch):
    monkeypatch.setattr(door, "gpu", lambda number: card)
    forgetful(monkeypatch)


@compiled
def test_a_mesh_of_the_users_own_is_asked_on_the_host(card, monkeypatch):
    """Beside a card where it only pushes; friction acts between steps, which a host cannot do."""
    monkeypatch.setattr(door, "gpu", lambda number: card)

    class Dented(TriangleMesh):
        def surface(self, t, x, ahead=0.0):
            return super().surface(t, x + 0.1, ahead)

    system, x0, v0 = scene_of("still", Dented)
    options = {"integrator": "verlet", "step": 1e-3, "duration": 0.05}
    host = stiffly.simulate(system, x0, v0, **options)
    with pytest.warns(stiffly.StiffWarning, match="no kernel on a card for contact"):
        there = stiffly.simulate(system, x0, v0, device="gpu", **options)
    assert np.abs(there.positions - host.positions).max() <= 1e-10 * np.abs(host.positions).max()
    system, x0, v0 = scene_of("free", Dented)
    with pytest.raises(stiffly.InputError, match="no compiled loop"):
        stiffly.simulate(system, x0, v0, device="gpu", **options)
