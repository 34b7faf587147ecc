"""SciPy as this room sees it: it has no type stubs, so for a checker all of it is Any."""

from typing import Any

import scipy  # pyright: ignore[reportMissingTypeStubs]

_scipy: Any = scipy
linalg, sp, dct = _scipy.linalg, _scipy.sparse, _scipy.fft.dct
LinearOperator = sp.linalg.LinearOperator
