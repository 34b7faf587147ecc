"""What Windows does not have is done without: pwrite, pread, fcntl, resource, SIGHUP.

No Windows runs here.  A process from which these are taken away records, is resumed, and writes the
same bytes as one that has them.
"""

import subprocess
import sys

import numpy as np
import pytest

import stiffly

WITHOUT = """
import os, signal, sys
for name in ("pwrite", "pread", "posix_fallocate", "O_NONBLOCK"):
    delattr(os, name)
for name in ("SIGHUP", "SIGALRM"):
    delattr(signal, name)
sys.modules["fcntl"] = sys.modules["resource"] = None
"""
RUN = """
import stiffly
from stiffly.recording.check import check

def stop(report):
    if report.frames == 40:
        raise KeyboardInterrupt

scene = stiffly.scenes.load("spinning-cube", small=True)
try:
    stiffly.simulate(scene, out=OUT, dtype="float64", checkpoint=0, progress=stop)
except KeyboardInterrupt:
    pass
assert len(stiffly.Recording(OUT)) == 40
stiffly.resume(OUT)
assert all(one.whole for one in check(OUT))
stiffly.resume(OUT, duration=3.4)
"""


def test_a_run_without_what_windows_lacks_is_the_same(tmp_path):
    folder = tmp_path / "run"
    code = WITHOUT + "OUT = __import__('pathlib').Path(sys.argv[1])\n" + RUN
    subprocess.run([sys.executable, "-c", code, str(folder)], check=True, timeout=300)
    scene = stiffly.scenes.load("spinning-cube", small=True)
    whole = stiffly.simulate(scene)
    again = stiffly.Recording(folder)
    assert again.complete and len(again) > len(whole.times)
    np.testing.assert_array_equal(again.positions[: len(whole.times)], whole.positions)


@pytest.mark.parametrize("hidden", [(), ("pwrite", "pread")])
def test_bytes_at_a_place(hidden, tmp_path, monkeypatch):
    import os

    from stiffly.recording.sums import copy_bytes, read_at, write_at

    for name in hidden:
        monkeypatch.delattr(os, name)
    path = tmp_path / "bytes"
    data = bytes(range(256)) * 8192  # two chunks
    with open(path, "wb+") as file:
        write_at(file.fileno(), data, 1000)
        assert read_at(file.fileno(), 300, 1010) == data[10:310]
        copy_bytes(file.fileno(), 1000, len(data), file.fileno(), 1000 + len(data))
        assert read_at(file.fileno(), 10**7, 0) == bytes(1000) + data + data
