"""A sample of the bad inputs; `python tests/attack/bad_inputs.py` tries all of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="children are forked")


def tried(count):
    """In a process of its own, since this one may have threads.  Patient: how much processor time
    is taken depends on the machine, and nothing but a hang takes ten times what is allowed."""
    script = Path(__file__).with_name("bad_inputs.py")
    words = [sys.executable, str(script), str(count), "--patience", "10"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    *_, last = done.stdout.splitlines()
    assert last.startswith(f"{count} inputs: ")
    assert eval(last.partition(": ")[2])["clear"] > count / 2


def test_bad_inputs_are_told_in_one_line():
    tried(12)


@pytest.mark.slow
def test_many_bad_inputs_are_told_in_one_line():
    tried(150)
