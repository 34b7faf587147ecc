"""The CUDA kernels as C++ on the host: a card whose threads are turns of a loop."""

import ctypes
import shutil
import subprocess
from functools import cache
from itertools import count
from pathlib import Path

import numpy as np

from stiffly.backends.gpu import GpuBackend
from stiffly.kernels.cuda import stretch

NVCC = shutil.which("nvcc")
COMPILER = shutil.which("g++") or shutil.which("c++")


@cache
def library(folder, lanes, has, texts, defined):
    made = Path(folder) / f"{'-'.join((Path(texts[-1]).stem, str(lanes), str(has), *defined))}.so"
    text, shim = made.with_suffix(".cpp"), Path(stretch.__file__).with_name("shim.h")
    text.write_text(stretch.source(texts))
    command = [
        COMPILER,
        "-O2",
        f"-DLANES={lanes}",
        f"-DHAS={has}",
        *(f"-D{name}" for name in defined),
        "-ffp-contract=off",
        "-shared",
        "-fPIC",
    ]
    subprocess.run([*command, "-include", str(shim), str(text), "-o", str(made)], check=True)
    return ctypes.CDLL(str(made))


def compiles(text, folder, lanes, *more):
    """By NVIDIA's compiler, without a warning."""
    source = folder / "kernels.cu"
    source.write_text(text)
    options = ("-arch=sm_90", "-cubin", "-Werror", "all-warnings", f"-DLANES={lanes}", *more)
    done = subprocess.run(
        [NVCC, *options, source, "-o", folder / "kernels.cubin"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


class Loaded:
    def __init__(self, library):
        self._library = library

    def define(self, words, name="body"):
        place = (ctypes.c_longlong * words.size).in_dll(self._library, name)
        place[:] = words.tolist()

    def __call__(self, name, rows, *arguments):
        passed = [
            ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray) else ctypes.c_longlong(a)
            for a in arguments
        ]
        getattr(self._library, name)(*passed)

    def blocks(self, name, count, threads, *arguments, shared=0):
        self(name, count, *arguments)


TWINS = count()


class There(np.ndarray):
    """An array on the card: what is not there cannot be added to it, nor it to that."""

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        raise TypeError(f"{ufunc.__name__} of an array on the card, by the host")

    def __array_function__(self, function, types, arguments, options):
        raise TypeError(f"{function.__name__} of an array on the card, by the host")


class HostCard:
    """What backends.gpu.Card is, in main memory; room: bytes that are free, cache: that are
    near."""

    room = 10**12
    cache = 10**6

    def __init__(self, folder):
        self._folder = folder

    def twin(self):
        """With constants of its own, as what is loaded from another folder has."""
        folder = Path(self._folder) / f"twin-{next(TWINS)}"
        folder.mkdir()
        return HostCard(folder)

    def put(self, array):
        return np.array(array).view(There)

    def zeros(self, count):
        return np.zeros(count).view(There)

    def holds(self, array):
        return isinstance(array, There)

    def empty(self, count):
        return np.full(count, np.nan).view(There)

    def copied(self, array):
        return array.copy()

    def free(self):
        return self.room

    def pointer(self, array):
        return array.ctypes.data

    def sent(self, count, dtype, fill):
        made = self.put(np.zeros(count, dtype))
        self.fill(made, fill)
        return made

    def fill(self, device, fill):
        fill(device.view(np.ndarray))

    def copy(self, host, device):
        device.view(np.ndarray)[...] = host

    def host(self, device, stage=""):
        found = device.view(np.ndarray)
        return found.copy() if stage else found

    def hosts(self, wanted):
        return [self.host(device, stage) for device, stage in wanted]

    def loaded(self, lanes, has, texts=stretch.TEXTS, defined=()):
        tells = tuple(name for name in defined if name == "MIXED")  # the others change no result
        return Loaded(library(str(self._folder), lanes, has, texts, tells))

    def recorded(self, job):
        return job


class HostBackend(GpuBackend):
    """As GpuBackend, without a card."""

    name = "shim"
    abreast = 1

    def __init__(self, folder):
        super().__init__(HostCard(folder))
