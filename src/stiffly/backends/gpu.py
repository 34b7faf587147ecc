"""An NVIDIA card for many explicit steps at once; everything else stays on the host.

    stiffly.simulate(scene, integrator="verlet", device="gpu")

Positions and velocities go to the card and come back once for each stretch of steps: a frame, or
what lies between two looks at the energy.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from ..errors import InputError
from ..kernels.cuda.stretch import Steps, source
from .cpu import CPU, CpuBackend

BLOCK = 128  # threads
# kernels with several threads a row
BY_LANES = ("accelerate", "book", "power_now", "settle", "energies")
INSTALL = 'pip install "stiffly[gpu]"'


class CardKernels:
    """Those that a card has; the others are the host's."""

    def __init__(self, card: Any) -> None:
        self.explicit_steps = Steps(card)
        self.nystrom_steps = self.explicit_steps.nystrom
        self.energies = self.explicit_steps.energies

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(CPU.kernels, name)


class Loaded:
    """Compiled kernels, launched by name; `body` is the struct that they all read."""

    def __init__(self, cupy: Any, queue: Any, module: Any, lanes: int) -> None:
        self._cupy, self._queue, self._module, self._lanes = cupy, queue, module, lanes
        self._kernels: dict[str, Any] = {}

    def define(self, body: np.ndarray) -> None:
        place = self._module.get_global("body")
        place.copy_from_host_async(body.ctypes.data, body.nbytes, self._queue)
        self._queue.synchronize()  # the host's copy goes

    def __call__(self, name: str, rows: int, *arguments: Any) -> None:
        if rows == 0:
            return
        if name not in self._kernels:
            self._kernels[name] = self._module.get_function(name)
        given = tuple(np.int64(a) if isinstance(a, int) else a for a in arguments)
        blocks = -(-rows * (self._lanes if name in BY_LANES else 1) // BLOCK)
        self._kernels[name]((blocks,), (BLOCK,), given, stream=self._queue)


class Card:
    """Arrays on one card, kernels launched in one queue."""

    def __init__(self, cupy: Any, number: int) -> None:
        self._cupy, self._device = cupy, cupy.cuda.Device(number)
        with self._device:
            self._queue = cupy.cuda.Stream(non_blocking=True)
        self._loaded: dict[tuple[int, int], Loaded] = {}
        self._stage: np.ndarray = np.empty(0, dtype=np.uint8)

    def put(self, array: Any) -> Any:
        with self._device, self._queue:
            return self._cupy.asarray(array)

    def zeros(self, count: int) -> Any:
        with self._device, self._queue:
            return self._cupy.zeros(count)

    def free(self) -> int:
        """Bytes that nobody has taken, or that CuPy keeps and nothing uses."""
        with self._device:
            pool = self._cupy.get_default_memory_pool()
            return int(self._cupy.cuda.runtime.memGetInfo()[0]) + int(pool.free_bytes())

    def pointer(self, array: Any) -> int:
        return int(array.data.ptr)

    def copy(self, host: np.ndarray, device: Any) -> None:
        staged = self._staged(device)
        staged[:] = host
        device.set(staged, stream=self._queue)
        self._queue.synchronize()

    def host(self, device: Any) -> np.ndarray:
        """A copy, until the next one is asked for."""
        device.get(stream=self._queue, out=self._staged(device))
        self._queue.synchronize()
        return self._staged(device)

    def _staged(self, device: Any) -> np.ndarray:
        """Memory that cards reach at full speed, as large as the array on the card (n,)."""
        if self._stage.nbytes < device.nbytes:
            memory = self._cupy.cuda.alloc_pinned_memory(device.nbytes)
            self._stage = np.frombuffer(memory, dtype=np.uint8)
        return self._stage[: device.nbytes].view(device.dtype)

    def loaded(self, lanes: int, has: int) -> Loaded:
        """The kernels, compiled for so many threads a row and what the body has."""
        key = lanes, has
        if key not in self._loaded:
            with self._device:
                options = (f"-DLANES={lanes}", f"-DHAS={has}")
                module = self._cupy.RawModule(code=source(), options=options)
            self._loaded[key] = Loaded(self._cupy, self._queue, module, lanes)
        return self._loaded[key]

    def recorded(self, job: Callable[[], None]) -> Callable[[], None]:
        """What job() launches, as one thing that costs one launch."""
        with self._device, self._queue:
            self._queue.begin_capture()
            try:
                job()
            finally:
                graph = self._queue.end_capture()
        return lambda: graph.launch(self._queue)


class GpuBackend(CpuBackend):
    name = "gpu"
    one_group = True  # of all particles: a thread for each
    abreast = 100  # springs, about: a stretch of steps takes no longer than on a processor

    def __init__(self, card: Any) -> None:
        self.kernels = CardKernels(card)


def cards() -> list[str]:
    """Names of the cards that CuPy finds; InputError where it is missing or finds none."""
    cupy = _cupy()
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as failure:
        raise InputError(
            f"no NVIDIA card answers ({failure}): check the driver with nvidia-smi, or compute on "
            "the CPU (--device cpu)"
        ) from None
    properties = cupy.cuda.runtime.getDeviceProperties
    return [properties(number)["name"].decode() for number in range(count)]


def _cupy() -> Any:
    try:
        return import_module("cupy")
    except ImportError as failure:
        raise InputError(
            f"device gpu needs CuPy, which does not load ({failure}): {INSTALL}, or compute on the "
            "CPU (--device cpu)"
        ) from None


@cache
def gpu(number: int = 0) -> GpuBackend:
    """The card of that number."""
    found = cards()
    if number >= len(found):
        known = ", ".join(f"gpu:{k} ({name})" for k, name in enumerate(found)) or "none"
        raise InputError(f"there is no card {number}: choose one of {known}")
    return GpuBackend(Card(_cupy(), number))
