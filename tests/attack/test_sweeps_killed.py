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

    wrong, trial = attack(runs, kills, seed, remote)
    assert wrong == [] and sum(trial.killed.values()) >= 2


def test_a_scheduler_that_is_killed_and_comes_again_at_the_same_address():
    from sweeps import attack

    wrong, trial = attack(16, 2, 0, True, ["scheduler"])
    assert wrong == [] and trial.killed == {"client": 0, "worker": 0, "scheduler": 2}
    assert trial.gave_up.count(1) == 2  # with a line, once for each; then the same command went on
