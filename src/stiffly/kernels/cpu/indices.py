"""Index arrays as the kernels want them."""

from __future__ import annotations

import numpy as np


def unsigned(indptr, indices):
    """Row pointers and indices seen as unsigned integers (see blocks.py for why)."""
    return indptr.view(np.dtype(f"u{indptr.itemsize}")), indices.view(
        np.dtype(f"u{indices.itemsize}")
    )
