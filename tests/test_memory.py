"""Too little memory is told in a line, while a scene is built."""

import gc
import resource
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from stiffly import InputError, cli, memory, scenes
from stiffly.bodies import Gravity, System, fibers
from stiffly.solvers.linear import factorise

LIMIT = resource.getrlimit(resource.RLIMIT_AS)
MACHINE = "MemTotal: 9000 kB\nMemFree: 10 kB\nMemAvailable:    7000 kB\n"
V1 = "sys/fs/cgroup/memory"


def tree(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize(
    "files, free",
    [
        ({}, None),
        ({"proc/meminfo": MACHINE}, 7_168_000),
        (
            {
                "proc/meminfo": MACHINE,
                "proc/self/cgroup": "0::/box/inner\n",
                "sys/fs/cgroup/box/inner/memory.max": "max\n",
                "sys/fs/cgroup/box/inner/memory.current": "10\n",
                "sys/fs/cgroup/box/memory.max": "5000000\n",
                "sys/fs/cgroup/box/memory.current": "3000000\n",
                "sys/fs/cgroup/box/memory.stat": "anon 7\ninactive_file 1000\nactive_file 500\n",
            },
            2_001_500,
        ),
        (
            {
                "proc/meminfo": MACHINE,
                "proc/self/cgroup": "5:cpu:/other\n4:memory:/not/seen/from/here\n",
                f"{V1}/memory.limit_in_bytes": "4000000\n",
                f"{V1}/memory.usage_in_bytes": "1000000\n",
                f"{V1}/memory.stat": "total_inactive_file 0\n",
            },
            3_000_000,
        ),
        (
            {
                "proc/meminfo": MACHINE,
                "proc/self/cgroup": "4:memory:/\n",
                f"{V1}/memory.limit_in_bytes": "9223372036854771712\n",
                f"{V1}/memory.usage_in_bytes": "1000000\n",
                f"{V1}/memory.stat": "total_inactive_file 0\n",
            },
            7_168_000,
        ),
    ],
    ids=["unknown", "machine", "container", "older container", "no limit"],
)
def test_what_is_free_is_the_least_that_anything_leaves(tmp_path, monkeypatch, files, free):
    tree(tmp_path, files)
    monkeypatch.setattr(memory, "ROOT", tmp_path)
    assert memory.available() == free


@pytest.fixture
def little(monkeypatch):
    """A quarter of a gigabyte is free, and nothing is left of what this process has had."""
    monkeypatch.setattr(memory, "available", lambda: 250_000_000)
    monkeypatch.setattr(memory, "_kept", lambda: 0)


def test_an_array_too_many_is_refused_where_it_is_asked_for(little):
    with (
        pytest.raises(InputError, match=r"^this needs more than the 0\.2 GB of memory .*3\.73 GiB"),
        memory.limited("this"),
    ):
        np.ones(10**6)  # fits
        np.ones(5 * 10**8)
    assert resource.getrlimit(resource.RLIMIT_AS) == LIMIT
    assert np.ones(5 * 10**7).nbytes == 4 * 10**8  # nothing is limited any more


@pytest.mark.parametrize(
    "size", [{"name": "rope", "particles": 2 * 10**7}, {"name": "cloth", "resolution": 4000}]
)
def test_a_scene_that_does_not_fit_is_refused_by_name(little, size):
    with pytest.raises(InputError, match=rf"^{size['name']} needs more than the 0\.2 GB of memory"):
        scenes.load(**size)


def test_fibers_say_what_they_need_before_they_take_it(little):
    lines = np.zeros((40_000, 10, 3))
    lines[:, :, 2] = np.linspace(0.0, 0.3, 10)
    options = {"thickness": 1e-4, "young": 1e9, "torsional": 1e9, "density": 1000.0}
    with pytest.raises(InputError, match=r"^fibers of 8,160,000 springs need about 1\.0 GB of mem"):
        fibers(lines, **options)
    fibers(lines[:100], **options)


def test_the_command_ends_with_2_and_one_line(little, tmp_path, capsys):
    assert cli.main(["run", "hair", "--out", str(tmp_path / "run")]) == 2
    assert "fibers of 10,920,000 springs need about 1.4 GB of memory" in " ".join(
        capsys.readouterr().err.split()
    )
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "size", [{"name": "hair", "fibers": 10**7}, {"name": "brush", "bristles": 10**7}]
)
def test_scenes_of_fibers_say_so_before_they_lay_out_centrelines(little, size):
    with pytest.raises(
        InputError, match=r"^fibers of [\d,]+ springs need about [\d,.]+ GB of memory"
    ):
        scenes.load(**size)


# in a process of its own: what this one has freed is there for the next array
STAGES = """
import sys
import numpy as np
from pathlib import Path
from stiffly import InputError, memory
from stiffly.bodies import Gravity, Springs, System
from stiffly.recording import checkpoint

count = 2_000_000
x = np.zeros((count, 3))
x[:, 0] = i = np.arange(count)
parts = [Springs(np.stack([i[:-1], i[1:]], axis=1), 1e3, rest_positions=x), Gravity()]

def stages():
    yield "build", lambda: System(np.ones(count), parts, fixed=[0])
    system = System(np.ones(count), parts, fixed=[0])
    yield "bind", lambda: system.bind(x)
    bound, state = system.bind(x)
    yield "steps", lambda: bound.stretcher
    yield "tangent", lambda: bound.tangent(state)
    folder = Path(sys.argv[1])
    checkpoint.write(folder, {"state": {"x": x, "v": x + 1.0}})
    yield "checkpoint", lambda: checkpoint.Checkpoint.read(folder)

free = memory.available
for name, do in stages():
    memory.available = lambda: 40_000_000  # less than one array takes
    try:
        do()
    except InputError as refused:
        print(f"{name}: {refused}")
    memory.available = free
"""


def test_every_way_to_a_first_step_says_what_does_not_fit(tmp_path):
    told = [sys.executable, "-c", STAGES, str(tmp_path)]
    said = subprocess.check_output(told, text=True).splitlines()
    what = {
        "build": "a body of 2,000,000 particles",
        "bind": "a body of 2,000,000 particles",
        "steps": "explicit steps of a body of 2,000,000 particles",
        "tangent": "the tangent of 1,999,999 particles",
        "checkpoint": f"the checkpoint {tmp_path / 'checkpoint.npz'}",
    }
    for line, (name, of) in zip(said, what.items(), strict=True):
        assert line.startswith(f"{name}: {of} needs more than the 0.0 GB of memory that were free")
        assert line.endswith(f": {memory.REMEDY}")


def test_a_factor_says_what_it_needs_before_it_takes_it(monkeypatch):
    near = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(28, 28))
    A = sp.csc_matrix(sp.kronsum(sp.kronsum(near, near), near))
    factorise(A)
    monkeypatch.setattr(memory, "available", lambda: 2_000_000)
    monkeypatch.setattr(memory, "_kept", lambda: 0)
    with pytest.raises(
        InputError, match=r"^[\d,]+ entries of a factor of 21,952 unknowns need about 0\.\d GB"
    ):
        factorise(A)


def test_few_particles_are_not_worth_a_look(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: pytest.fail("looked"))
    System(np.ones(9), [Gravity()]).bind(np.zeros((9, 3)))


def test_what_is_done_within_speaks_of_the_whole(little):
    with (
        pytest.raises(InputError, match=r"^all of it needs more"),
        memory.limited("all of it"),
        memory.limited("a share"),
    ):
        np.ones(5 * 10**8)
    assert resource.getrlimit(resource.RLIMIT_AS) == LIMIT


def test_what_arrays_leave_is_kept_for_the_next_ones():
    """Pages are counted: the second array finds those of the first."""
    code = (
        "import resource, sys; from stiffly import memory\n"
        "kept = memory.keep() if sys.argv[1] == 'keep' else None\n"
        "def faults():\n"
        "    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
        "    array = b'x' * 40_000_000\n"
        "    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before\n"
        "print(kept, *(faults() for _ in range(3)))\n"
    )

    def told(how):
        line = [sys.executable, "-c", code, how]
        kept, *counts = subprocess.check_output(line, text=True).split()
        return kept, [int(count) for count in counts]

    kept, counts = told("keep")
    if kept == "False":
        pytest.skip("the C library has no such word")
    assert counts[0] > 1000 and max(counts[1:]) < counts[0] / 10
    assert min(told("leave")[1]) > 1000  # so that something is measured


def test_what_is_kept_counts_as_free():
    """It would be refused, though the next array takes the place of the last."""
    code = (
        "import numpy as np; from stiffly import memory\n"
        "print(memory.keep())\n"
        "size = 400_000_000\n"
        "array = np.ones(size // 8); del array\n"
        "memory.available = lambda: size // 4\n"
        "memory.require(size, 'arrays')\n"
        "try: memory.require(4 * size, 'arrays')\n"
        "except memory.InputError as told: print(told)\n"
    )
    kept, told = subprocess.check_output([sys.executable, "-c", code], text=True).splitlines()
    if kept == "False":
        pytest.skip("the C library has no such word")
    assert told.startswith("arrays need about 1.6 GB of memory, but only 0.")


def test_limits_of_two_threads_at_once_are_taken_back(monkeypatch):
    """One comes in while the other looks what is free, and leaves first."""
    one = memory.limited("one")

    def looked():
        monkeypatch.setattr(memory, "available", lambda: 250_000_000)
        one.__enter__()
        return 250_000_000

    monkeypatch.setattr(memory, "available", looked)
    with memory.limited("two"):
        one.__exit__(None, None, None)
    assert resource.getrlimit(resource.RLIMIT_AS) == LIMIT


@pytest.fixture
def collected():
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_who_keeps_memory_seldom_looks_for_circles(collected):
    memory.keep()
    assert gc.get_threshold()[0] > 10_000 and gc.isenabled()
