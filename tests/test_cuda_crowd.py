"""Bodies that touch each other, in the loops of cards compiled as C++ where a compiler is."""

import pytest
from cuda_crowd_checks import (
    KINDS,
    H,
    begun,
    same_bits_with_other_lists,
    same_cut_steps,
    same_run,
    same_when_resumed,
)
from cuda_shim import COMPILER, HostBackend

import stiffly
from stiffly.backends import gpu as door

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler here")


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    return HostBackend(tmp_path_factory.mktemp("shim"))


@pytest.fixture(autouse=True)
def card(there, monkeypatch):
    monkeypatch.setattr(door, "gpu", lambda number: there)


@pytest.mark.parametrize("kind", KINDS)
def test_a_hundred_steps_in_touch(kind):
    same_run(kind)


def test_lists_change_no_bit(monkeypatch):
    same_bits_with_other_lists(monkeypatch)


@pytest.mark.filterwarnings("ignore::stiffly.errors.StiffWarning")
def test_steps_that_might_pass_through_something(monkeypatch):
    same_cut_steps(monkeypatch)


def test_resumed_on_the_other_side(tmp_path):
    same_when_resumed(tmp_path)


def test_methods_of_several_stages_are_refused():
    system, x0, v0 = begun("stack")
    options = {"integrator": "rk4", "step": H, "duration": 2 * H, "device": "gpu"}
    with pytest.raises(stiffly.InputError, match="verlet and symplectic-euler"):
        stiffly.simulate(system, x0, v0, **options)
