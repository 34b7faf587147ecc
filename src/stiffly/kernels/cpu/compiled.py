"""The kernels' cache on disk: never stale, and a first run says that it compiles."""

from __future__ import annotations

import contextlib
import hashlib
import logging
from functools import cache
from pathlib import Path

from .jit import FLEETING
from .spectral import stumpff_terms

log = logging.getLogger("stiffly")


def _folder() -> Path:
    """Where numba keeps these kernels."""
    # numba adds _cache, pyright sees a function
    return Path(stumpff_terms._cache.cache_path)  # type: ignore[attr-defined]  # a compiled function


def discard_stale() -> None:
    """Empty the cache when any kernel file has changed.

    numba looks only at the file a kernel is written in; one that takes functions from another
    file, or a material's, would go on using their old versions, after an upgrade as after an edit.
    """
    digest = hashlib.sha256()
    kernels = Path(__file__).parents[1]
    for path in sorted(
        (*kernels.glob("cpu/*.py"), *kernels.glob("materials/*.py"), kernels / "names.py")
    ):
        digest.update(path.read_bytes())
    folder = _folder()
    mark, stamp = folder / "stiffly-kernels.sha256", digest.hexdigest()
    with contextlib.suppress(OSError):  # a cache that cannot be written is not ours to mend
        if mark.exists() and mark.read_text() == stamp:
            return
        for old in (*folder.glob("*.nbi"), *folder.glob("*.nbc")):
            old.unlink(missing_ok=True)
        mark.write_text(stamp)


def cold(file: str = "") -> bool:
    """Nothing of these kernels (of one file's) is in numba's cache on disk yet."""
    return not any(_folder().glob(f"{file}*.nbi"))


@cache
def announce(file: str = "") -> None:
    """One line on the logger 'stiffly', which Python shows on stderr unless told otherwise.

    file: for parts whose own kernels take long to compile, after others may have been cached.
    """
    if cold(file):
        what = f"kernels of {file}" if file else "kernels"
        when = "first run only"
        if FLEETING:
            when = "in every run, since no folder to keep them can be written: set NUMBA_CACHE_DIR"
        log.warning("compiling %s, %s (up to half a minute) ...", what, when)
