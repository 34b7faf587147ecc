"""`stiffly doctor`: what this machine has, and how to get what it lacks."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from contextlib import suppress
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("stiffly", "numpy", "scipy", "numba", "h5py", "pydantic", "matplotlib")
# extra of the package: (what it is for, modules that must load)
EXTRAS = {
    "contact": ("cloth, fibers and meshes against each other", ("ipctk",)),
    "render": ("stills and films", ("pyvista", "imageio_ffmpeg")),
    "view": ("the live page: stiffly view", ("viser",)),
    "usd": ("export --to usd", ("pxr.Usd",)),
    "tets": ("surfaces with fewer vertices", ("fast_simplification",)),
    "molecules": ("PDB and mmCIF files", ("gemmi",)),
    "sweep": ("many runs: stiffly sweep", ("distributed", "cryptography")),
    "gpu": ("runs on an NVIDIA card (CUDA 12; for 13: cupy-cuda13x)", ("cupy",)),
}
SECONDS = 10  # for nvidia-smi to answer


def doctor() -> None:
    """Check this machine and optional parts.

    Versions, threads, kernels, GPU, Blender; what is missing comes with the command that adds it.
    """
    from .. import terminal

    with terminal.passing.status("looking around ..."):
        parts = [(f"stiffly[{extra}]", _state_of(extra), EXTRAS[extra][0]) for extra in EXTRAS]
        rows = [("python", platform.python_version(), platform.platform()), *_versions()]
        rows += [_threads(), _kernels(), _gpu(), _blender()]
    terminal.show_lines([*rows, *parts])


def _versions() -> list[tuple[str, str, str]]:
    rows = []
    for package in PACKAGES:
        try:
            rows.append((package, version(package), ""))
        except PackageNotFoundError:
            rows.append((package, "missing", f"pip install {package}"))
    return rows


def _threads() -> tuple[str, str, str]:
    from numba import get_num_threads

    names = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    given = ", ".join(f"{name}={os.environ[name]}" for name in names if name in os.environ)
    note = f"{os.cpu_count()} processors" + (f"; {given}" if given else "")
    return "threads", f"{get_num_threads()}", note


def _kernels() -> tuple[str, str, str]:
    from ..backends.cpu import compiled

    folder = compiled._folder()
    if compiled.cold():
        return "kernel cache", "cold", f"{folder}: the first run compiles, up to half a minute"
    return "kernel cache", f"warm, {len(list(folder.glob('*.nbi')))} kernels", str(folder)


def _gpu() -> tuple[str, str, str]:
    """Cards that answer, and whether CuPy can use them."""
    from ..backends.gpu import cards
    from ..errors import InputError

    try:
        found = cards()
    except InputError as lack:
        return "GPU", f"found: {', '.join(names)}" if (names := _driver()) else "none", str(lack)
    names = _driver() or found  # with their memory and driver, where that answers
    return "GPU", "ok", f"{'; '.join(names)}: stiffly run SCENE --integrator verlet --device gpu"


def _driver() -> list[str]:
    """Names of the cards, as their driver tells them."""
    tool = shutil.which("nvidia-smi")
    if tool is not None:
        command = [tool, "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
        with suppress(OSError, subprocess.SubprocessError):
            answer = subprocess.check_output(command, stderr=subprocess.PIPE, timeout=SECONDS)
            return answer.decode().strip().splitlines()
    return []


def _blender() -> tuple[str, str, str]:
    """What writes blend files; whether it runs is seen when it does."""
    from ..errors import InputError
    from ..recording.exports.blend import blender

    try:
        return "Blender", "ok", f"{blender()[0]}: stiffly export RUN --to blend"
    except InputError as lack:
        return "Blender", "none", str(lack)


def _state_of(extra: str) -> str:
    """'ok', or the command that adds what is missing: loading finds broken packages too."""
    for module in EXTRAS[extra][1]:
        try:
            import_module(module)
        except (ImportError, OSError):  # OSError: a library of the system is missing
            return f'pip install "stiffly[{extra}]"'
    return "ok"
