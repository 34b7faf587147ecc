"""A sample of the bad inputs; `python tests/attack/bad_inputs.py` tries all of them."""

import os

import pytest
from bad_inputs import GOOD, attack, sample

pytestmark = pytest.mark.skipif(os.name == "nt", reason="children are forked")


def tried(count):
    said = []
    found = attack(sample(count), said.append)
    bad = [line for line in said if line.partition(":")[0] not in GOOD]
    assert bad == [] and sum(found.values()) == count
    assert found["clear"] > count / 2


def test_bad_inputs_are_told_in_one_line():
    tried(12)


@pytest.mark.slow
def test_many_bad_inputs_are_told_in_one_line():
    tried(150)
