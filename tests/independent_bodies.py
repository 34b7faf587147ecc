"""Independent bodies for tests: matrices that fall apart, and their functions, body by body."""

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from stiffly.bodies import LumpedMass
from stiffly.matfun import StumpffMap, Term
from stiffly.matfun.components import Components
from stiffly.matfun.operators import BlockOperator, SparseOperator

TERMS = (
    *(Term(0, 0, 0, 1.0), Term(0, 1, 1, 1.0, 0.3)),
    *(Term(1, 0, 1, 1.0, -1.0, 1), Term(1, 1, 0, 1.0)),
    *(Term(2, 0, 3, 0.75, 2.0), Term(2, 1, 4, 0.5)),
)


def request(h):
    """Two columns into three outputs."""
    scaled = (Term(t.row, t.column, t.k, h * t.tau, t.factor * h**t.power, t.power) for t in TERMS)
    return StumpffMap(3, 2, tuple(scaled))


def symmetric(rng, n, low=0.0, high=1.0):
    """Random eigenvectors, spectrum in [low, high] with both ends in it."""
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    lam = np.append(rng.uniform(low, high, max(n - 2, 0)), [high, low][: min(n, 2)])
    return (Q * lam) @ Q.T


class Bodies:
    """Bodies of the given numbers of coordinates, or of particles (width 3), shuffled."""

    def __init__(self, sizes, rng, *, width=1, lumped=True, low=0.0, high=1.0):
        owner = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
        mass = 10.0 ** rng.uniform(-1, 1, owner.size) if lumped else np.ones(owner.size)
        self.mass = np.repeat(mass, width)
        self.coordinates, self.lam, self.U, self.W = [], [], [], []
        self.K = np.zeros((self.mass.size, self.mass.size))
        for body in range(len(sizes)):
            rows = np.flatnonzero(owner == body)
            own = (width * rows[:, None] + np.arange(width)).ravel()
            root = np.sqrt(self.mass[own])
            K = symmetric(rng, own.size, low, high) * np.outer(root, root)
            self.K[np.ix_(own, own)] = K
            self.coordinates.append(own)
            lam, U = scipy.linalg.eigh(K, np.diag(root**2))
            self.lam.append(lam)
            self.U.append(U)
            self.W.append(U.T * root**2)
        self.lumped, self.owner = lumped, owner

    def operator(self, constant=False):
        mass = LumpedMass(self.mass) if self.lumped else None
        if self.owner.size == self.mass.size:
            return SparseOperator(sp.csr_matrix(self.K), mass, constant=constant)
        K = sp.bsr_matrix(self.K, blocksize=(3, 3))
        K.sort_indices()
        mass = LumpedMass(self.mass)
        bodies = Components(self.owner)
        return BlockOperator(K.indptr, K.indices, K.data, mass, constant=constant, bodies=bodies)

    def exact(self, functions, columns):
        value = np.empty((functions.n_out, self.mass.size))
        for own, lam, U, W in zip(self.coordinates, self.lam, self.U, self.W, strict=True):
            c = columns[:, own] @ W.T
            value[:, own] = np.einsum("jim,im->jm", functions(lam), c) @ U.T
        return value

    def norms(self, rows):
        return np.sqrt((self.mass * rows**2).sum(axis=1))

    def errors(self, action, functions, columns, tol):
        """|error_j| / (tol |output_j| + 1e-13 sum_i sup|f_ji| |b_i|): at most 1 is promised."""
        exact = self.exact(functions, columns)
        sup = np.abs(functions(np.concatenate(self.lam))).max(axis=2)
        floor = 1e-13 * (sup @ self.norms(columns))
        return self.norms(action.value - exact) / (tol * self.norms(exact) + floor)


def columns_for(bodies, rng):
    return rng.standard_normal((2, bodies.mass.size))
