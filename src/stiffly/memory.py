"""How much memory there is, and how to be told that it is too little: by a line, not by a kill.

Linux promises more memory than it has and ends a process that uses it.  While a scene is built,
bound or laid out, or a checkpoint is read, `limited` lets it have what is free and no more, so that
one array too many is refused where it is asked for.  Elsewhere than on Linux, nothing is known and
nothing is limited.

What large arrays leave goes back to the system at once, which clears every page before it gives it
out again: half of the time in which hair is built and laid out.  `keep` has it kept.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path
from threading import Lock

from .errors import InputError

try:
    import resource
except ImportError:  # no such limits on this system
    resource = None

# of glibc's malloc.h, and the most that they may be
TRIM_THRESHOLD, MMAP_MAX, NEVER = -1, -4, 2**31 - 1
ALLOCATIONS = 100_000  # of containers, until those that nobody holds are looked for
FEW, LITTLE = 20_000, 20_000_000  # particles, bytes: to look costs more than they may do
ROOT = Path("/")
REMEDY = "ask for less (--set, fewer particles), or take a machine that has more"
# of a control group (a container), by the kind that /proc/self/cgroup names
GROUPS = {
    "": ("sys/fs/cgroup", "memory.max", "memory.current", "inactive_file", "active_file"),
    "memory": (
        *("sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
        *("total_inactive_file", "total_active_file"),
    ),
}


def available() -> int | None:
    """Bytes that this process can still take; None where nobody knows."""
    found = [_of_machine(), *_of_groups()]
    return min((free for free in found if free is not None), default=None)


def _of_machine() -> int | None:
    with suppress(OSError, ValueError, IndexError):
        for line in (ROOT / "proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    return None


def _of_groups() -> Iterator[int]:
    """What the limits of the process's control groups, and of those around them, leave."""
    with suppress(OSError, ValueError):
        for line in (ROOT / "proc/self/cgroup").read_text().splitlines():
            _, kind, path = line.split(":", 2)
            if kind not in GROUPS:
                continue
            folder, *names = GROUPS[kind]
            inner = ROOT / folder / path.lstrip("/")
            for place in (inner, *inner.parents):
                if place == ROOT or not place.is_relative_to(ROOT / folder):
                    break
                yield from _left(place, *names)


def _left(place: Path, limit: str, used: str, *cached: str) -> Iterator[int]:
    with suppress(OSError, ValueError):  # the outermost has no limit, or says "max"
        most, now = (int((place / name).read_text()) for name in (limit, used))
        stat = dict(line.split() for line in (place / "memory.stat").read_text().splitlines())
        files = sum(int(stat.get(name, 0)) for name in cached)  # kept for reading, they give way
        yield max(0, most - now + files)


def require(needed: float, what: str) -> None:
    """InputError where `what`, several things, take more bytes than are free."""
    free = available() if needed > LITTLE else None
    if free is not None and needed > (free := free + _kept()):
        raise InputError(
            f"{what} need about {_size(needed)} of memory, but only {_size(free)} are free: "
            f"{REMEDY}"
        )


_inside = Lock()  # of `limited`: what is done within speaks of the whole


@contextmanager
def limited(what: str, particles: float = inf) -> Iterator[None]:
    """What is done inside may take the memory that is free; InputError where it asks for more.

    particles: that it is about; for few nothing is looked at."""
    free = None if particles < FEW else available()
    if resource is None or free is None or not _inside.acquire(blocking=False):
        yield
        return
    kind = resource.RLIMIT_AS
    soft, hard = resource.getrlimit(kind)
    most = _taken() + free
    ceilings = [n for n in (most, soft, hard) if n != resource.RLIM_INFINITY]
    resource.setrlimit(kind, (min(ceilings), hard))
    lack = None
    try:
        yield
    except MemoryError as refused:
        lack = " ".join(str(refused).split()).rstrip(".")
    finally:
        resource.setrlimit(kind, (soft, hard))
        _inside.release()
    if lack is not None:  # with room again for the line itself
        raise InputError(
            f"{what} needs more than the {_size(free)} of memory that were free"
            f"{f' ({lack})' if lack else ''}: {REMEDY}"
        )


def keep() -> bool:
    """From here on the process keeps what its arrays leave for the next ones, to its end, and
    seldom looks for circles, which imports and 60,000 hairs make it do a thousand times: for
    commands, which do one thing.  Whether it keeps memory: only glibc has such a word."""
    gc.set_threshold(ALLOCATIONS)
    with suppress(OSError, AttributeError):
        tune = ctypes.CDLL(None).mallopt
        return bool(tune(MMAP_MAX, 0) and tune(TRIM_THRESHOLD, NEVER))
    return False


class _Heap(ctypes.Structure):
    """glibc's mallinfo2; free: fordblks."""

    _fields_ = (("_", 8 * ctypes.c_size_t), ("free", ctypes.c_size_t), ("top", ctypes.c_size_t))


def _kept() -> int:
    """Bytes that arrays have left and the process has kept for the next ones."""
    with suppress(OSError, AttributeError):
        look = ctypes.CDLL(None).mallinfo2
        look.restype = _Heap
        return int(look().free)
    return 0


def _taken() -> int:
    """Bytes of address space that the process has."""
    assert resource is not None
    pages = int((ROOT / "proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


def _size(count: float) -> str:
    return f"{count / 1e9:,.1f} GB"
