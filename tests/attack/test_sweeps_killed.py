"""A sample of the sweeps that are killed; `python tests/attack/sweeps.py` kills larger ones."""

import os

import pytest

pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="processes are killed by signals"),
]


@pytest.mark.parametrize("runs, kills, seed, remote", [(24, 4, 1, False), (12, 4, 0, True)])
def test_no_run_is_lost_and_none_comes_twice(runs, kills, seed, remote):
    from sweeps import attack

    wrong, killed = attack(runs, kills, seed, remote)
    assert wrong == [] and sum(killed.values()) >= 2
