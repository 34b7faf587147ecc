"""The CUDA kernels as C++ on the host: a card whose threads are turns of a loop."""

import ctypes
import shutil
import subprocess
from functools import cache
from pathlib import Path

import numpy as np

from stiffly.backends.cpu import CpuBackend
from stiffly.backends.gpu import CardKernels
from stiffly.kernels.cuda import stretch

NVCC = shutil.which("nvcc")
COMPILER = shutil.which("g++") or shutil.which("c++")


@cache
def library(folder, lanes, has):
    made = Path(folder) / f"kernels-{lanes}-{has}.so"
    text, shim = made.with_suffix(".cpp"), Path(stretch.__file__).with_name("shim.h")
    text.write_text(stretch.source())
    command = [
        COMPILER,
        "-O2",
        f"-DLANES={lanes}",
        f"-DHAS={has}",
        "-ffp-contract=off",
        "-shared",
        "-fPIC",
    ]
    subprocess.run([*command, "-include", str(shim), str(text), "-o", str(made)], check=True)
    return ctypes.CDLL(str(made))


class Loaded:
    def __init__(self, library):
        self._library = library

    def define(self, body):
        place = (ctypes.c_longlong * body.size).in_dll(self._library, "body")
        place[:] = body.tolist()

    def __call__(self, name, rows, *arguments):
        passed = [
            ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray) else ctypes.c_longlong(a)
            for a in arguments
        ]
        getattr(self._library, name)(*passed)


class HostCard:
    """What backends.gpu.Card is, in main memory; room: bytes that are free."""

    room = 10**12

    def __init__(self, folder):
        self._folder = folder

    def put(self, array):
        return np.array(array)

    def zeros(self, count):
        return np.zeros(count)

    def free(self):
        return self.room

    def pointer(self, array):
        return array.ctypes.data

    def copy(self, host, device):
        device[...] = host

    def host(self, device):
        return device

    def loaded(self, lanes, has):
        return Loaded(library(str(self._folder), lanes, has))

    def recorded(self, job):
        return job


class HostBackend(CpuBackend):
    """As GpuBackend, without a card."""

    name = "shim"
    one_group = True

    def __init__(self, folder):
        self.kernels = CardKernels(HostCard(folder))
