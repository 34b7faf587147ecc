"""On a real card: Rayleigh's beta and linear springs.  `make test-gpu`."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("cupy", reason="no CuPy here: there is nothing to ask a card with")

from stiffly.backends.gpu import gpu

sys.path.insert(0, str(Path(__file__).parents[1]))
from cuda_pairs_checks import (
    ACROSS,
    BETAS,
    UNLED,
    damping_is_the_tangent_at_rest,
    damps_by_where_it_is_bound,
    longest_step_is_stable,
    pull_by_the_slope,
)


@pytest.mark.parametrize("kind", UNLED)
def test_damping_is_minus_beta_times_the_tangent_at_rest(kind):
    damping_is_the_tangent_at_rest(kind, gpu())


def test_a_body_without_a_rest_shape_damps_by_where_it_is_bound():
    damps_by_where_it_is_bound(gpu())


@pytest.mark.parametrize("beta", BETAS)
def test_the_longest_step_is_stable_with_beta_and_a_longer_one_is_not(beta):
    longest_step_is_stable(beta, gpu())


@pytest.mark.parametrize("across", ACROSS)
def test_linear_springs_pull_by_the_slope_of_their_energy(across):
    pull_by_the_slope(across, gpu())
