"""Say once that the first run compiles, so that it does not look hung."""

from __future__ import annotations

import logging
from functools import cache
from pathlib import Path

from .spectral import stumpff_terms

log = logging.getLogger("stiffly")


def cold() -> bool:
    """Nothing of these kernels is in numba's cache on disk yet."""
    # numba adds _cache, pyright sees a function
    folder = Path(stumpff_terms._cache.cache_path)  # type: ignore[attr-defined]
    return not any(folder.glob("*.nbi"))


@cache
def announce() -> None:
    """One line on the logger 'stiffly', which Python shows on stderr unless told otherwise."""
    if cold():
        log.warning("compiling kernels, first run only (up to half a minute) ...")
