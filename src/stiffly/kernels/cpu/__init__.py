"""Compiled kernels (numba), same names and signatures as `kernels.reference`, tested equal."""

from .blocks import *  # noqa: F403
from .csr import *  # noqa: F403
from .spectral import *  # noqa: F403
from .springs import *  # noqa: F403
