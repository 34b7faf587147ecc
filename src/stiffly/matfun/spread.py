"""Sums over the rows of a flow, wherever they lie: here, or on many ranks, each with its own.

A vector z = (w, q) has rows w, which ranks share, and numbers q that all of them have alike.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from ..backends.cpu import CPU
from ..backends.sums import norms
from ..contracts import Array, Backend


class Here:
    """All rows are."""

    def norm(self, z: Array, rows: int) -> float:
        """Of z, of which so many are rows."""
        return norms(CPU, z)[0]

    def project(self, V: Array, z: Array, rows: int) -> Array:
        """V z: z (n,) on the rows of V (m, n)."""
        return CPU.project(V, z)

    def sums(self, values: Array) -> Array:
        return values

    def largest(self, values: Array) -> Array:
        return values

    def every(self, true: bool) -> bool:
        return true


class OverRanks(Here):
    """On the ranks of a backend: one message for each call."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.sums, self.every = backend.sums, backend.every

    def norm(self, z: Array, rows: int) -> float:
        w, q = z[:rows], z[rows:]
        return sqrt(float(self.sums(np.array([w @ w]))[0]) + float(q @ q))

    def project(self, V: Array, z: Array, rows: int) -> Array:
        return self.sums(V[:, :rows] @ z[:rows]) + V[:, rows:] @ z[rows:]

    def largest(self, values: Array) -> Array:
        return np.array(self._backend.largest(*values.tolist()))


HERE = Here()
