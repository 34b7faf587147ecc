"""The cache of compiled kernels is emptied when any of their files changes."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from stiffly.kernels.cpu import compiled, jit


def test_a_changed_kernel_file_empties_the_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(compiled, "_folder", lambda: tmp_path)
    compiled.discard_stale()  # as after this version was first imported
    kept, other = tmp_path / "tets.kernel-1.py311.nbi", tmp_path / "notes.txt"
    kept.touch(), other.touch()
    compiled.discard_stale()
    assert kept.exists()
    mark = next(tmp_path.glob("*.sha256"))
    mark.write_text("another version of the files")
    compiled.discard_stale()
    assert not kept.exists()
    assert other.exists()


def test_a_cache_that_cannot_be_written_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(compiled, "_folder", lambda: tmp_path / "missing")
    compiled.discard_stale()
    assert not Path(tmp_path / "missing").exists()


def test_slow_kernels_are_announced_by_themselves(tmp_path, monkeypatch):
    said = []
    monkeypatch.setattr(compiled.log, "warning", lambda text, *what: said.append(text % what))
    monkeypatch.setattr(compiled, "_folder", lambda: tmp_path)
    (tmp_path / "springs.kernel-1.py311.nbi").touch()
    compiled.announce.cache_clear()
    compiled.announce()
    assert not said
    compiled.announce("tets")
    assert len(said) == 1 and "compiling kernels of tets" in said[0]
    compiled.announce.cache_clear()


TWICE = """
import numpy as np
from numba import prange
from stiffly.kernels.cpu.jit import both

@both()
def double(a):
    for i in prange(a.size):
        a[i] *= 2.0

for threaded in (False, True):
    a = np.ones(3)
    double[threaded](a)
    assert (a == 2.0).all()
print(*(sum(double[t].stats.cache_hits.values()) for t in (False, True)))
"""


def test_a_body_compiled_twice_is_kept_twice(tmp_path):
    """The serial and the threaded version must not overwrite each other on disk."""
    (tmp_path / "double.py").write_text(TWICE)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, str(tmp_path / "double.py")]
    hits = [
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert [line.split() for line in hits] == [["0", "0"], ["1", "1"]]


READ_ONLY = """
import tempfile
from numba.core import caching

real = caching._CacheLocator.ensure_cache_path

def ensure_cache_path(self):
    if not self.get_cache_path().startswith(tempfile.gettempdir()):
        raise OSError(30, "Read-only file system")
    real(self)

caching._CacheLocator.ensure_cache_path = ensure_cache_path
from stiffly.kernels.cpu import compiled, jit
compiled.announce()
assert jit.chunks(1000) == 8
"""


def test_nowhere_to_keep_kernels_is_one_line(tmp_path):
    """Neither beside the files nor in the user's folder: they are for the process alone."""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    environment.pop("NUMBA_CACHE_DIR", None)
    done = subprocess.run(
        [sys.executable, "-c", READ_ONLY], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "in every run, since no folder to keep them can be written" in done.stderr
    assert len(done.stderr.splitlines()) == 1 and not list(tmp_path.iterdir())


def told(cache, *groups, **more):
    """What tests/kernel_bits.py says in a process with that cache, on that kind of processor."""
    given = {"NUMBA_CACHE_DIR": str(cache), "NUMBA_NUM_THREADS": "4", **more}
    command = [sys.executable, str(Path(__file__).with_name("kernel_bits.py")), *groups]
    done = subprocess.run(command, env={**os.environ, **given}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def kept(cache):
    return {path.relative_to(cache) for path in cache.rglob("*.nbc")}


ORDER = ("polar", "bodies", "blocks", "tets")


@pytest.mark.slow
def test_company_decides_nothing_about_the_bits(tmp_path):
    """Compiled, loaded, compiled after others and in another order, compiled where parts of it are
    loaded; each without threads and with four."""
    first, other, half = tmp_path / "first", tmp_path / "other", tmp_path / "half"
    bits = told(first, *ORDER)["bits"]
    compiled_first = kept(first)
    assert all(serial == threaded for serial, threaded in bits.values())
    assert told(first, *ORDER[::-1])["bits"] == bits
    assert compiled_first and kept(first) == compiled_first  # that one loaded them all
    assert told(other, *ORDER[::-1])["bits"] == bits
    told(half, *ORDER[::2])
    assert kept(half) and told(half, *ORDER[::-1])["bits"] == bits


VECTORS = [
    {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
    {"NUMBA_ENABLE_AVX": "0"},  # a processor of the same name that lacks them
]


@pytest.mark.slow
def test_other_vectors_give_the_same_bits_or_another_name(tmp_path):
    """By its name `resume` says that last digits may differ (test_another_processor_is_told)."""
    quick = ORDER[:3]
    here = told(tmp_path, *quick)
    for more in VECTORS:
        there = told(tmp_path, *quick, **more)
        assert there["bits"] == here["bits"] or there["processor"] != here["processor"]


@pytest.mark.parametrize("features", ["", "-avx512f", "+avx"])
def test_processors_are_told_apart_by_their_vectors(features, monkeypatch):
    """Two virtual machines of one processor, of which one hides some."""
    monkeypatch.setattr(jit.config, "CPU_FEATURES", None)
    here = jit.processor.__wrapped__()
    monkeypatch.setattr(jit.config, "CPU_FEATURES", features)
    there = jit.processor.__wrapped__()
    assert there != here and there.split()[0] == here.split()[0]


GOES_ON = """
import hashlib, signal, sys, warnings
import numpy as np
import stiffly

what, folder = sys.argv[1:]
mesh = stiffly.meshes.lattice(3, 3, 3, spacing=0.1)

def stop(report):
    if report.frames == 5:
        signal.raise_signal(signal.SIGTERM)

for name, step in (("verlet", 1e-4), ("exprb42", 1e-3), ("energy-momentum", 1e-3)):
    parts = [stiffly.Springs(mesh.edges, 1e3), stiffly.Gravity()]
    system = stiffly.System(0.01, parts, rest=mesh.positions, fixed=[0, 1, 2])
    out, options = f"{folder}/{name}", {"integrator": name, "step": step, "duration": 0.02}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            if what == "resume":
                run = stiffly.resume(out, system)
            else:
                how = {"every": 2e-3, "out": out, "dtype": "float64", "checkpoint": 0}
                run = stiffly.simulate(system, mesh.positions, **options, **how,
                                       progress=stop if what == "begin" else None)
            x = np.array(run.positions)
            digits = hashlib.sha256(x.tobytes()).hexdigest()
            told = any("last digits" in str(w.message) for w in said)
            print(name, digits, told, *x[-1].ravel())
        except stiffly.errors.Terminated:
            print(name, "stopped")
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_run_goes_on_where_kernels_are_loaded_and_on_another_processor(tmp_path):
    """Begun by a process that compiles, ended by one that loads: the same bits as of a process that
    loads all along.  Ended on a processor of narrower vectors: a line, and the same motion."""

    def said(what, folder, **more):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), **more}
        command = [sys.executable, "-c", GOES_ON, what, str(folder)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return [line.split() for line in done.stdout.splitlines()]

    begun, other = tmp_path / "begun", tmp_path / "other"
    assert {line[1] for line in said("begin", begun)} == {"stopped"}
    shutil.copytree(begun, other)
    whole = said("whole", tmp_path / "whole")
    assert len(whole) == 3 and said("resume", begun) == whole
    narrow = said("resume", other, NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="")
    for (_, _, told, *x), (_, _, _, *expected) in zip(narrow, whole, strict=True):
        assert told == "True"
        np.testing.assert_allclose(np.float64(x), np.float64(expected), rtol=0, atol=1e-9)
