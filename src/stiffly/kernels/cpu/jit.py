"""The decorator of every kernel: it touches arrays only, so other Python threads run meanwhile.

A page that draws while the simulation computes would else wait for every kernel; letting go and
taking back costs 60 ns a call.  Two threads may compute at once, each on arrays of its own; numba's
last resort for teams of threads, `workqueue`, does not allow that and ends the program.
"""

from __future__ import annotations

from functools import partial

import numba

njit = partial(numba.njit, nogil=True)
