"""Matrices on a real card, and exponential steps by them.  `make test-gpu`."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("cupy", reason="no CuPy here: there is nothing to ask a card with")

from stiffly.backends.gpu import gpu
from stiffly.kernels.cuda import layout

sys.path.insert(0, str(Path(__file__).parents[1]))
from cuda_matrix_checks import (
    KINDS,
    METHODS,
    SCENES,
    same_ends,
    same_products,
    same_recurrence,
    same_run,
    same_sums,
)


@pytest.mark.parametrize("lanes", [1, 2, 8])
@pytest.mark.parametrize("kind", KINDS)
def test_products(kind, lanes, monkeypatch):
    monkeypatch.setattr(layout, "LANES", ((10**9, lanes),))
    same_products(kind, gpu())


@pytest.mark.parametrize("terms", [0, 1, 2, 33, 64, 101])
@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_recurrences(kind, columns, terms):
    same_recurrence(kind, columns, terms, gpu())


@pytest.mark.parametrize("columns", [1, 2])
def test_what_a_recurrence_begins_and_ends_with(columns):
    same_ends(columns, gpu())


def test_sums():
    same_sums(gpu())


@pytest.mark.parametrize("integrator", METHODS)
def test_methods(integrator):
    same_run("bunny", integrator, 3)


@pytest.mark.parametrize("name", SCENES)
def test_a_hundred_steps_of_a_small_scene(name):
    same_run(name, "exprb42", 100)
