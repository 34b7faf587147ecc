"""Plain NumPy twins of the compiled kernels: slow, short, and what the tests trust."""

from .blocks import *  # noqa: F403
from .csr import *  # noqa: F403
from .spectral import *  # noqa: F403
from .springs import *  # noqa: F403
