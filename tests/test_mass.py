"""Masses: every kind against its matrix, and what is refused."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from stiffly.bodies import ConsistentMass, LumpedMass, as_mass
from stiffly.errors import InputError
from stiffly.system.mass import MatvecMass, UnitMass

N = 12
M = sp.csr_matrix(
    sp.diags([np.full(N - 1, 0.5), np.linspace(2.0, 3.0, N), np.full(N - 1, 0.5)], [-1, 0, 1])
)


def test_every_mass_agrees_with_its_matrix():
    rng = np.random.default_rng(0)
    products = LinearOperator((N, N), matvec=lambda v: M @ v, dtype=np.float64)
    for mass, kind in (
        (None, UnitMass),
        (2.5, LumpedMass),
        (rng.uniform(1, 2, N), LumpedMass),
        (np.diag(rng.uniform(1, 2, N)), LumpedMass),
        (M.toarray(), ConsistentMass),
        (M, ConsistentMass),
        (products, MatvecMass),
    ):
        made = as_mass(mass, N)
        assert type(made) is kind and as_mass(made, N) is made
        dense = made.matrix().toarray()
        np.testing.assert_allclose(made.dense, dense)
        for shape in ((N,), (N, 3)):
            a, b = rng.standard_normal((2, *shape))
            np.testing.assert_allclose(made.apply(a), dense @ a)
            np.testing.assert_allclose(made.apply(made.solve(a)), a, atol=1e-11)
            np.testing.assert_allclose(made.dot(a, b), (a * (dense @ b)).sum(axis=0))
    assert hasattr(as_mass(2.5, N), "diagonal") and not hasattr(as_mass(M, N), "diagonal")


def test_consistent_mass_in_space_is_a_kronecker_product():
    mass = ConsistentMass(M, copies=3)
    full = np.kron(M.toarray(), np.eye(3))
    f = np.random.default_rng(0).standard_normal((3 * N, 2))
    np.testing.assert_allclose(mass.matrix().toarray(), full)
    np.testing.assert_allclose(mass.apply(f), full @ f)
    np.testing.assert_allclose(mass.solve(f), np.linalg.solve(full, f))
    np.testing.assert_allclose(mass.solve(f[:, 0]), np.linalg.solve(full, f[:, 0]))


INDEFINITE = np.array([[1.0, 2.0], [2.0, 1.0]])


@pytest.mark.parametrize(
    ("mass", "words"),
    [
        ([1.0, 0.0], r"mass\[1\] = 0"),
        ([1.0, -2.0], r"mass\[1\] = -2"),
        ([np.nan, 1.0], r"mass\[0\] = nan"),
        (-1.0, r"mass\[0\] = -1"),
        ([1.0, 2.0, 3.0], "shape"),
        ("heavy", "number"),
        (INDEFINITE, "positive definite.*coordinate"),
        (sp.csr_matrix(INDEFINITE), "positive definite"),
        (np.array([[1.0, 0.5], [0.0, 1.0]]), "not symmetric at"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), "NaN"),
        (np.array([[1.0, 1.0], [1.0, 1.0]]), "positive definite"),
        (LinearOperator((2, 2), matvec=lambda v: -v, dtype=float), "positive definite"),
        (LinearOperator((2, 2), matvec=lambda v: v[::-1] * [1, 2], dtype=float), "symmetric"),
        (LinearOperator((3, 3), matvec=lambda v: v, dtype=float), "shape"),
    ],
)
def test_bad_masses_are_refused(mass, words):
    with pytest.raises(InputError, match=words) as caught:
        as_mass(mass, 2)
    assert "\n" not in str(caught.value)
