"""The contract of kernels: every backend has each name, with the same parameters, and no other."""

import inspect
from types import ModuleType

import pytest
import reference

from stiffly.kernels import cpu, names
from stiffly.kernels.cpu.compiled import discard_stale


def public(room):
    return {
        name: value
        for name, value in vars(room).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }


KERNELS = {
    name: f
    for name, f in public(names).items()
    if inspect.isfunction(f) and f.__module__ == names.__name__
}
CONSTANTS = {name for name in public(names) if name.isupper()}


def parameters(kernel):
    signature = inspect.signature(getattr(kernel, "py_func", kernel))
    return [(p.name, p.default) for p in signature.parameters.values()]


@pytest.mark.parametrize("room", [cpu, reference])
def test_a_room_has_the_kernels_of_the_contract_and_no_others(room):
    extra = {"discard_stale"} if room is cpu else set()
    assert public(room).keys() - CONSTANTS - extra == KERNELS.keys()
    differ = [n for n, f in KERNELS.items() if parameters(getattr(room, n)) != parameters(f)]
    assert not differ
    assert room is reference or room.discard_stale is discard_stale


def test_constants_are_those_of_the_contract():
    assert len(CONSTANTS) >= 13
    for name in CONSTANTS:
        assert getattr(cpu, name) is getattr(names, name)
