"""Plain data as JSON and arrays: the same bits back, and nothing in a file is ever called."""

import math
import os

import numpy as np
import pytest
import scipy.sparse as sp
from runs_to_record import through_json as through

from stiffly.contracts import Bounds, LinearPart, State, Work
from stiffly.integrators import ExponentialRosenbrock, Stabilised
from stiffly.recording.checkpoint import NotPlain, Packed, plain, unpacked
from stiffly.solvers.linear import factorise


@pytest.mark.parametrize(
    "value",
    [None, True, 0, -7, 0.1, -0.0, 5e-324, 1e308, "text", [], (), {}, (1, (2.0, None)), [1, "a"]],
)
def test_simple_things_come_back_alike(value):
    back = through(value)
    assert repr(back) == repr(value) and type(back) is type(value)


def test_numbers_that_are_none():
    assert math.isnan(through(np.nan)) and through([np.inf, -np.inf]) == [np.inf, -np.inf]
    assert through([0.1, np.nan])[0] == 0.1  # a list of numbers goes as an array


@pytest.mark.parametrize("kind", ["f8", "f4", "u4", "i8", "?"])
def test_arrays_keep_their_bits_and_their_sharing(kind):
    a = np.asfortranarray(np.arange(12).reshape(3, 4).astype(kind))
    one, (two,) = through([a, (a,)])
    assert one is two
    assert one.dtype == a.dtype and np.array_equal(one, a)


def test_records_of_ours():
    state = State(0.5, np.arange(3.0), np.ones(3))
    back = through({"s": state, "w": Work(3), "b": Bounds(0.0, 2.0, True)})
    assert np.array_equal(back["s"].x, state.x) and back["s"].t == 0.5
    assert back["w"] == Work(3) and back["b"] == Bounds(0.0, 2.0, True)


def test_methods_with_their_clocks():
    for method in (ExponentialRosenbrock(nodes=(1 / 3, 3 / 4), tol=1e-7), Stabilised()):
        assert through(method) == method
    assert through(Stabilised()).clock is Stabilised().clock


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("form", [np.asarray, sp.csc_matrix])
def test_factors_solve_to_the_same_bits(form, symmetric):
    rng = np.random.default_rng(3)
    A = np.diag(rng.uniform(4.0, 5.0, 40)) + (0.0 if symmetric else 1e-2 * rng.random((40, 40)))
    factor, b = factorise(form(A), symmetric=symmetric), rng.random(40)
    assert np.array_equal(through(factor).solve(b), factor.solve(b))


def test_what_is_made_anew_is_taken_from_a_new_one():
    old, new = (LinearPart(None, np.full(2, k)) for k in (1.0, 2.0))  # type: ignore[arg-type]
    assert through((3, old), like=(0, new))[1] is new
    with pytest.raises(ValueError, match="LinearPart was made"):
        through((3, old), like=(0, None))


class Foreign:
    unsaved = ()


@pytest.mark.parametrize(
    ("thing", "name"), [(Foreign(), "Foreign"), (len, "builtin"), (np.array([None]), "objects")]
)
def test_foreign_things_are_refused_by_name(thing, name):
    assert not plain([thing])
    with pytest.raises(NotPlain, match=name):
        Packed({"deep": (1, thing)})


@pytest.mark.parametrize(
    "code",
    [
        {"record": "os:system", "data": {}},
        {"record": "stiffly.run.simulate:simulate", "data": {}},
        {"record": "stiffly.recording.folder:os", "data": {}},
        {"record": "stiffly.system.system:System", "data": {"size": 3}},
        {"record": "stiffly.contracts:Missing", "data": {}},
        {"call": "os.system"},
    ],
)
def test_files_cannot_name_anything_else(code, monkeypatch):
    monkeypatch.setattr(os, "system", lambda *_: pytest.fail("it was called"))
    with pytest.raises((ValueError, KeyError)):
        unpacked(code, [])
