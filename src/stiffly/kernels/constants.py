"""Numbers that callers and kernels agree on, on every backend; nothing is compiled here."""

from __future__ import annotations

import numpy as np

NO_SLOT = np.uint32(0xFFFFFFFF)  # in a slot array: this block is not stored (a fixed end)

# which matrix the blocks are: d2E/dx2; K(x) with dE/dx = K(x) x; d2E/dx2 without the negative
# stiffness across compressed springs, which is positive semidefinite
TANGENT, SECANT, CONVEX = 0, 1, 2

# materials of tets
COROTATED, STVK, NEO_HOOKEAN = 0, 1, 2

# tets whose blocks are kept at a time, in the order of parts/tet_sums.py
BLOCK_CHUNK = 8192  # a multiple of the lanes; 720 bytes an element: 6 MB
MEAN_CHUNK = 4096  # 1152 bytes an element: 5 MB

# contact: shapes with a formula; pairs that repel
PLANE, SPHERE, HEMISPHERE = 0, 1, 2
VERTEX_FACE, VERTEX_EDGE, EDGE_EDGE = np.uint8(0), np.uint8(1), np.uint8(2)
TOUCHED = 5  # marks what touches; see collisions/near.py, where marks fade
