"""A sample of the attack on recordings; STIFFLY_KILLS=300 and STIFFLY_CORRUPTIONS=10000 for all."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")]


@pytest.mark.parametrize("attack, usual", [("kills", 33), ("corruptions", 800)])
def test_what_is_attacked_is_right_or_says_why_not(attack, usual):
    count = os.environ.get(f"STIFFLY_{attack.upper()}", str(usual))
    script = Path(__file__).with_name(f"{attack}.py")
    done = subprocess.run(
        [sys.executable, str(script), "--count", count], capture_output=True, text=True
    )
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{count} trials, 0 violations" in done.stdout
