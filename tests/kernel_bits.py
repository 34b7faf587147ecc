"""Digests of what batched kernels compute, as a program: which process computes decides nothing.

    python tests/kernel_bits.py polar bodies blocks tets     # in that order

Says in JSON what kernels are compiled for, and for every group the digests of its results without
threads and with them.
"""

import hashlib
import json
import sys

import numpy as np
from systems import prepared_alone

from stiffly.bodies import Tetrahedra
from stiffly.kernels import cpu
from stiffly.kernels.cpu.jit import Both, processor
from stiffly.meshes.grids import grid_tets


def polar(rng):
    yield from cpu.signed_svd(rng.standard_normal((500, 3, 3)))


def bodies(rng):
    """Eigenbases of bodies of several sizes, and functions of them."""
    sizes = [1] * 20 + [8] * 10 + [30] * 4
    ends = np.concatenate([[0], np.cumsum(sizes)])
    n, first = int(ends[-1]), np.concatenate([[0], np.cumsum(9 * np.square(sizes))])
    indptr = np.concatenate([[0], np.cumsum(np.repeat(sizes, sizes))])
    indices, own = [], []
    for size, start in zip(sizes, ends, strict=False):
        G = rng.standard_normal((3 * size, 3 * size))
        own.append((G @ G.T).reshape(size, 3, size, 3).swapaxes(1, 2).reshape(-1, 3, 3))
        indices.append(np.tile(np.arange(start, start + size), size))
    members, root = np.arange(n), np.ones((n, 3))
    place = members - np.repeat(ends[:-1], sizes)
    lam, Q = np.empty(3 * n), np.empty(int(first[-1]))
    A = indptr, np.concatenate(indices), np.concatenate(own), root
    cpu.body_eigenbases(*A, ends, members, place, first[:-1], lam, Q)
    B, out = rng.standard_normal((1, n, 3)), np.zeros((1, n, 3))
    cpu.body_apply(np.cos(lam)[None, None], root, ends, members, first[:-1], Q, B, out)
    yield from (lam, Q, out)


def blocks(rng):
    n, width = 300, 20
    indptr = width * np.arange(n + 1)
    indices = np.concatenate([np.sort(rng.choice(n, width, replace=False)) for _ in range(n)])
    data = rng.standard_normal((n * width, 3, 3))
    for columns in (1, 2, 3):
        yield cpu.block_apply(indptr, indices, data, rng.standard_normal((3 * n, columns)))
    yield np.array(cpu.block_gershgorin(indptr, indices, data, np.ones(n)))


def tets(rng):
    shape = 5, 5, 5
    X = np.indices(shape).reshape(3, -1).T + 0.1 * rng.standard_normal((125, 3))
    x, b = X + 0.1 * rng.standard_normal(X.shape), rng.standard_normal(X.shape)
    for material in ("corotated", "neo-hookean"):
        part = Tetrahedra(grid_tets(shape), 50.0, 0.3, material, project=True)
        part, pattern = prepared_alone(part, X, rest=X)
        gradient, product = np.zeros_like(x), np.zeros_like(x)
        values = np.zeros((pattern.nnz, 3, 3))
        energy = cpu.tet_energy(x, *part._elements)
        cpu.tet_gradient(x, *part._elements, *part._corners, gradient)
        cpu.tet_blocks(x, *part._elements, part._project, *part._sums, values)
        frames = cpu.tet_frames(x, *part._elements, part._project)
        cpu.tet_product(frames, part._tets, *part._corners, b, product)
        yield from (np.array([energy]), gradient, values, product)


def chosen(threaded):
    """All loops without threads, or all with them, however short."""

    def kernel(self, _):
        return self.parallel if threaded else self.serial

    Both.__getitem__ = kernel
    Both.watched = lambda self, rows, passes, *arguments: kernel(self, None)(*arguments)


GROUPS = {"polar": polar, "bodies": bodies, "blocks": blocks, "tets": tets}

if __name__ == "__main__":
    found = {}
    for name in sys.argv[1:]:
        for threaded in (False, True):
            chosen(threaded)
            digest = hashlib.sha256()
            for array in GROUPS[name](np.random.default_rng(0)):
                digest.update(np.ascontiguousarray(array).tobytes())
            found.setdefault(name, []).append(digest.hexdigest())
    print(json.dumps({"processor": processor(), "bits": found}))
