"""An NVIDIA card for many explicit steps at once; everything else stays on the host.

    stiffly.simulate(scene, integrator="verlet", device="gpu")

Positions and velocities go to the card and come back once for each stretch of steps: a frame, or
what lies between two looks at the energy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import cache, cached_property, partial
from importlib import import_module
from itertools import count
from threading import get_ident, local
from typing import Any

import numpy as np

from ..contracts import Array, Pairs
from ..errors import InputError
from ..kernels.cuda import local as local_steps
from ..kernels.cuda import matrix, solve, tree
from ..kernels.cuda.stretch import TEXTS, Steps, source
from .cpu import CPU, CpuBackend

BLOCK = 128  # threads
WITHOUT_ASKING = 48 * 1024  # that threads of a block can share [B]
# kernels with several threads a row
EXPLICIT = ("accelerate", "leap", "book", "power_now", "yield_held", "energies", "displaced")
CROWD = ("crowd_push", "crowd_brake")
BY_LANES = (*EXPLICIT, *CROWD, *matrix.BY_LANES, *solve.BY_LANES, *local_steps.BY_LANES)
TWINS = count(1)
INSTALL = 'pip install "stiffly[gpu]"'


class CardKernels:
    """Those that a card has; the others are the host's."""

    def __init__(self, card: Any, mixed: bool = False) -> None:
        self.explicit_steps = Steps(card, mixed)
        self.nystrom_steps = self.explicit_steps.nystrom
        self.matrices = matrix.Matrices(card)
        self.systems = solve.Systems(card, self.matrices)
        self.trees = tree.Trees(card)
        self.iterations = local_steps.Iterations(card, self.explicit_steps)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.matrices if name in matrix.KERNELS else CPU.kernels, name)


class Loaded:
    """Compiled kernels, launched by name, and the struct that they all read: `body` or `job`."""

    def __init__(self, cupy: Any, queue: Any, module: Any, lanes: int) -> None:
        self._cupy, self._queue, self._module, self._lanes = cupy, queue, module, lanes
        self._kernels: dict[str, Any] = {}
        self._defined: dict[str, np.ndarray] = {}

    def define(self, words: np.ndarray, name: str = "body") -> None:
        if self._defined.get(name) is words:  # whoever gives them leaves them as they are
            return
        place = self._module.get_global(name)
        place.copy_from_host_async(words.ctypes.data, words.nbytes, self._queue)
        self._queue.synchronize()  # the host's copy goes
        self._defined[name] = words

    def __call__(self, name: str, rows: int, *arguments: Any) -> None:
        if rows:
            lanes = self._lanes if name in BY_LANES else 1
            self.blocks(name, -(-rows * lanes // BLOCK), BLOCK, *arguments)

    def blocks(self, name: str, count: int, threads: int, *arguments: Any, shared: int = 0) -> None:
        """So many blocks of so many threads; shared: what those of a block share [B]."""
        if name not in self._kernels:
            self._kernels[name] = self._module.get_function(name)
        kernel = self._kernels[name]
        if shared > WITHOUT_ASKING and kernel.max_dynamic_shared_size_bytes < shared:
            kernel.max_dynamic_shared_size_bytes = shared
        given = tuple(np.int64(a) if isinstance(a, int) else a for a in arguments)
        kernel((count,), (threads,), given, shared_mem=shared, stream=self._queue)


class Card:
    """Arrays on one card, kernels launched in one queue."""

    def __init__(self, cupy: Any, number: int, twin: int = 0) -> None:
        self._cupy, self._device, self._twin = cupy, cupy.cuda.Device(number), twin
        with self._device:
            self._queue = cupy.cuda.Stream(non_blocking=True)
        self._loaded: dict[Any, Loaded] = {}
        self._stages: dict[str, np.ndarray] = {}

    def twin(self) -> Card:
        """Another queue on the same one, with kernels and staged memory of its own."""
        return Card(self._cupy, self._device.id, next(TWINS))

    def put(self, array: Any) -> Any:
        with self._device, self._queue:
            return self._cupy.asarray(array)

    def zeros(self, count: int) -> Any:
        with self._device, self._queue:
            return self._cupy.zeros(count)

    def empty(self, count: int) -> Any:
        with self._device, self._queue:
            return self._cupy.empty(count)

    def copied(self, array: Any) -> Any:
        with self._device, self._queue:
            return array.copy()

    def free(self) -> int:
        """Bytes that nobody has taken, or that CuPy keeps and nothing uses."""
        with self._device:
            pool = self._cupy.get_default_memory_pool()
            return int(self._cupy.cuda.runtime.memGetInfo()[0]) + int(pool.free_bytes())

    @cached_property
    def cache(self) -> int:
        """Bytes that stay near all multiprocessors."""
        return int(self._device.attributes["L2CacheSize"])

    def holds(self, array: Any) -> bool:
        return isinstance(array, self._cupy.ndarray)

    def pointer(self, array: Any) -> int:
        return int(array.data.ptr)

    def sent(self, count: int, dtype: Any, fill: Callable[[np.ndarray], None]) -> Any:
        """A new array: what fill writes to memory that cards reach at full speed."""
        with self._device, self._queue:
            made = self._cupy.empty(count, dtype)
        if count:
            self.fill(made, fill)
        return made

    def fill(self, device: Any, fill: Callable[[np.ndarray], None]) -> None:
        """The same into an array that is there."""
        staged = self._staged(device)
        fill(staged)
        device.set(staged, stream=self._queue)
        self._queue.synchronize()

    def copy(self, host: np.ndarray, device: Any) -> None:
        self.fill(device, partial(np.copyto, src=host))

    def host(self, device: Any, stage: str = "") -> np.ndarray:
        """A copy, until the next one is asked for by that name."""
        return self.hosts([(device, stage)])[0]

    def hosts(self, wanted: Sequence[tuple[Any, str]]) -> list[np.ndarray]:
        """Of several (array, name), in one go."""
        found: list[np.ndarray] = []
        for device, stage in wanted:
            staged = self._staged(device, stage)
            device.get(stream=self._queue, out=staged, blocking=False)
            found.append(staged)
        self._queue.synchronize()
        return found

    def _staged(self, device: Any, stage: str = "") -> np.ndarray:
        """Memory that cards reach at full speed, as large as the array on the card (n,)."""
        known = self._stages.get(stage)
        if known is None or known.nbytes < device.nbytes:
            memory = self._cupy.cuda.alloc_pinned_memory(device.nbytes)
            known = self._stages[stage] = np.frombuffer(memory, dtype=np.uint8)
        return known[: device.nbytes].view(device.dtype).reshape(device.shape)

    def loaded(
        self, lanes: int, has: int, texts: tuple[str, ...] = TEXTS, defined: tuple[str, ...] = ()
    ) -> Loaded:
        """The kernels of the texts, compiled for so many threads a row, what the body has, and what
        else common.cu asks for: NAME or NAME=value."""
        key = lanes, has, texts, defined
        if key not in self._loaded:
            with self._device:
                options = ("--std=c++17", f"-DLANES={lanes}", f"-DHAS={has}")
                options += tuple(f"-D{name}" for name in defined)
                # CuPy loads a text once for all who give it, and its constants with it
                options += (f"-DTWIN={self._twin}",) if self._twin else ()
                module = self._cupy.RawModule(code=source(texts), options=options)
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

    at_once = 3e10
    iterates = True  # functions of matrices and linear systems by products: factors are the host's

    points: Array | None = None  # (particles, 3) [m], about where those are that move

    def __init__(self, card: Any) -> None:
        self.kernels, self._card = CardKernels(card), card
        self._first, self._others = get_ident(), local()

    def here(self) -> GpuBackend:
        """For runs of this thread: kernels read the body from where the last launch has put it, so
        two threads would take each other's."""
        if get_ident() == self._first:
            return self
        if not hasattr(self._others, "own"):
            self._others.own = GpuBackend(self._card.twin())
        return self._others.own

    def alone(self) -> GpuBackend:
        """The same card, for one run, which may say where its particles are."""
        return copy(self)

    @cached_property
    def mixed(self) -> GpuBackend:
        """The same card, with the elements of explicit steps in single precision."""
        other = self.alone()
        other.kernels, other.precision = CardKernels(self._card, mixed=True), "mixed"
        return other

    def put(self, a: Any) -> Array:
        return self._card.put(super().put(a))

    def host(self, a: Array) -> Array:
        return self._card.host(a).copy() if self._card.holds(a) else a

    def dots(self, pairs: Pairs, weight: Array | None = None) -> list[Any]:
        if not self._card.holds(pairs[0][0]):
            return super().dots(pairs, weight)
        return self.kernels.matrices.dots(pairs, weight)


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
