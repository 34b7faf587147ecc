"""Parts in NumPy beside a real card: the steps of the host."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("cupy", reason="no CuPy here: there is nothing to ask a card with")

from stiffly.backends.gpu import gpu
from stiffly.integrators.explicit import Verlet
from stiffly.integrators.runge_kutta import RungeKutta4

sys.path.insert(0, str(Path(__file__).parents[1]))
from guest_checks import WITH, same_beside


@pytest.mark.parametrize("method", [Verlet(), RungeKutta4()], ids=lambda m: m.name)
@pytest.mark.parametrize("guests", WITH)
@pytest.mark.parametrize("kind", ["springs", "turned", "floor", "blown", "wound", "tied-led"])
def test_steps_with_guests_are_those_of_the_host(kind, guests, method):
    same_beside(kind, guests, method, gpu())
