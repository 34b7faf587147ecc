"""Lennard-Jones forces in explicit loops on a card: all pairs, cells, and when these are sorted."""

import numpy as np
import pytest
from atom_checks import forces_are_slopes, gas, same_forces, same_wandering
from cuda_shim import COMPILER, HostBackend
from hypothesis import given, settings
from hypothesis import strategies as st

import stiffly
from stiffly import scenes
from stiffly.backends import gpu as door
from stiffly.bodies import LennardJones
from stiffly.errors import Diverged, InputError, StiffWarning
from stiffly.kernels.cuda import layout, stretch

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler here")


@pytest.fixture(scope="module")
def card(tmp_path_factory):
    return HostBackend(tmp_path_factory.mktemp("shim"))


@pytest.mark.parametrize("kind", ["free", "held", "led", "falling"])
def test_all_pairs(kind, card):
    same_wandering(card, None, kind)


@pytest.mark.parametrize("cutoff", [1.2, 1.8, 4.0])
@pytest.mark.parametrize("kind", ["free", "held", "falling"])
def test_with_a_cutoff(kind, cutoff, card):
    """By cells, and where these would have nearly all of the body."""
    same_wandering(card, cutoff, kind)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    count=st.integers(2, 90),
    cutoff=st.sampled_from([None, 0.6, 0.9, 1.3, 40.0]),
    spread=st.floats(1.1, 4.0),
    away=st.sampled_from([0.0, -1e3, 1e7]),
)
def test_forces_of_any_atoms_are_those_of_the_host(card, seed, count, cutoff, spread, away):
    """Also where coordinates have more cells than have names."""
    same_forces(*gas(seed, count, cutoff, spread, away=away), card)


@pytest.mark.parametrize("cutoff", [None, 1.2, 1.8])
def test_forces_are_slopes_of_the_energy(cutoff, card):
    forces_are_slopes(*gas(3, cutoff=cutoff), card)


def test_atoms_are_sorted_again_when_they_have_gone_far(card, monkeypatch):
    """Else pairs are missed: the comparison sees that."""
    fast = {"every": 100, "speed": 10.0, "h": 1e-3}
    there = same_wandering(card, 1.2, "free", **fast)
    moved = np.abs(there.state.x - gas(5)[1].x).max()
    assert moved > 5 * 0.5 * layout.SKIN * 1.2
    sort = stretch._Order._sort
    once = []

    def first_only(order, flip):
        if order not in once:
            once.append(order)
            sort(order, flip)

    monkeypatch.setattr(stretch._Order, "_sort", first_only)
    with pytest.raises(AssertionError):
        same_wandering(card, 1.2, "free", **fast)


@pytest.mark.parametrize("lanes", [1, 8])
def test_with_fewer_threads_a_row(lanes, card, monkeypatch):
    monkeypatch.setattr(layout, "LANES_OF_ATOMS", ((10**9, lanes),))
    for cutoff in (None, 1.2):
        same_wandering(card, cutoff, "held")


def test_buckets_are_no_more_than_rows_ask_for():
    atoms = layout.GroupedAtoms(*4 * [None], cutoff=1.0, extent=50.0)
    for rows, side in ((10, 4), (500, 8), (10**5, 64), (10**8, 64)):
        assert layout.buckets_for(atoms, rows) == side
    assert layout.buckets_for(atoms._replace(extent=1e9), 10**9) == layout.MOST_BUCKETS
    for one_cell in ({"extent": 0.0}, {"extent": 3.5}, {"cutoff": np.inf}):
        assert layout.buckets_for(atoms._replace(**one_cell), 10**9) == 0


# ------------------------------------------------------------------ runs


@pytest.fixture
def chosen(card, monkeypatch):
    monkeypatch.setattr(door, "gpu", lambda number: card)


def molecule_system(cutoff=None, parts=()):
    scene = scenes.load("molecule", small=True)
    given = scene.system.given
    springs, pairs = given.parts
    atoms = LennardJones(pairs.epsilon, pairs.sigma, exclude=pairs.exclude, cutoff=cutoff)
    system = stiffly.System(given.mass, [springs, atoms, *parts], rest=given.rest)
    return system, scene.x0


def molecule(cutoff=None, parts=(), **options):
    system, x0 = molecule_system(cutoff, parts)
    chosen = {"integrator": "verlet", "step": 1e-3, "duration": 0.1, "every": 0.02, **options}
    return stiffly.simulate(system, x0, **chosen)


@pytest.mark.parametrize("cutoff", [None, 4.0])
def test_a_molecule_goes_on_from_a_file_to_the_same_bits(cutoff, chosen, tmp_path):
    system, x0 = molecule_system(cutoff)
    atoms = system.on(door.gpu(0)).bind(x0)[0].stretcher._body.atoms
    assert bool(layout.buckets_for(atoms, 120)) == (cutoff is not None)
    out = {"device": "gpu", "dtype": "float64", "checkpoint": 0.0}
    whole = molecule(cutoff, **out, out=tmp_path / "whole")
    assert whole.stats["loop"] == "compiled stretches: one call"
    host = molecule(cutoff)
    assert np.abs(whole.positions - host.positions).max() <= 1e-10 * np.abs(host.positions).max()
    molecule(cutoff, **out, duration=0.04, out=tmp_path / "half")
    system = molecule_system(cutoff)[0]
    done = stiffly.resume(tmp_path / "half", system, device="gpu", duration=0.1)
    assert np.array_equal(done.positions[:], whole.positions[:])


def test_what_one_loop_cannot_hold_is_the_hosts(chosen):
    """A second part of the kind, and a cutoff beside supports that move."""
    argon = LennardJones(0.5, 1.0, name="argon")
    with pytest.warns(StiffWarning, match="no kernel on a card for argon: the host"):
        card = molecule(parts=[argon], device="gpu", duration=0.02)
    assert card.stats["loop"] == "compiled stretches: one call, argon by the host"
    host = molecule(parts=[argon], duration=0.02)
    assert np.abs(card.positions - host.positions).max() <= 1e-10 * np.abs(host.positions).max()
    for name, line in host.energy.parts.items():
        np.testing.assert_allclose(card.energy.parts[name], line, rtol=1e-9, atol=1e-9)
    for cutoff, guests in ((None, None), (1.8, ["lennard-jones"])):
        system, _ = gas(5, cutoff=cutoff, kind="led")
        found = system.on(door.gpu(0)).stretcher.guests
        assert guests == (found and found.names)
        if guests:
            same_wandering(door.gpu(0), cutoff, "led", guests=guests)


def test_atoms_that_sit_on_each_other_are_named(chosen):
    for device in ("cpu", "gpu"):
        scene = scenes.load("molecule", small=True)
        x0 = scene.x0.copy()
        x0[40] = x0[10] + 1e-3
        with pytest.raises(InputError, match=r"atoms 10 and 40 are .* sigma apart"):
            stiffly.simulate(
                scene.system, x0, integrator="verlet", step=1e-3, duration=0.01, device=device
            )


@pytest.mark.filterwarnings("ignore:verlet. steps of 0.2 s are too long")
def test_a_step_that_is_too_long_diverges_by_name(chosen):
    for cutoff in (None, 6.0):
        with pytest.raises(Diverged, match="diverged at t ="):
            molecule(cutoff, device="gpu", step=0.2, duration=20.0, every=10.0)
