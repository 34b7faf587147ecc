"""Linear systems over ranks: MUMPS where PETSc has it and the matrix is not too large, else
conjugate gradients (GMRES where it is not symmetric) with algebraic multigrid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..contracts import Array
from .failures import FactorisationError, NotPositiveDefinite

if TYPE_CHECKING:
    from ..backends.petsc import PetscBackend


DIRECT = 150_000  # coordinates up to which MUMPS factorises; beyond, multigrid takes less memory
ACCURATE = 1e-12  # relative residual of an iterative solve
MOST = 2000  # iterations of it
PREFIX, RIGID = "stiffly_", "rigid_motions"  # of options


class KspFactor:
    """One matrix, rows of all ranks; what -stiffly_ksp_... in PETSC_OPTIONS says goes first.

    With -stiffly_rigid_motions multigrid makes its coarse levels from the six motions of rigid
    bodies instead of three shifts: fewer iterations of long steps, at four times the setting up
    (docs/decisions/0082).
    """

    unsaved = ("_backend", "_solver", "_vectors")

    def __init__(self, backend: PetscBackend, matrix: Any, symmetric: bool) -> None:
        self._backend, self.products = backend, 0
        petsc, mat = backend.ranks.petsc, assembled(backend, matrix)
        if symmetric:
            mat.setOption(petsc.Mat.Option.SYMMETRIC, True)
        self._solver = solver = petsc.KSP().create(petsc.COMM_WORLD)
        solver.setOptionsPrefix(PREFIX)
        solver.setOperators(mat)
        direct = mat.getSize()[0] <= DIRECT and petsc.Sys.hasExternalPackage("mumps")
        if direct:
            solver.setType("preonly")
            solver.getPC().setType("cholesky" if symmetric else "lu")
            solver.getPC().setFactorSolverType("mumps")
        else:
            solver.setType("cg" if symmetric else "gmres")
            solver.getPC().setType("gamg")
            solver.setTolerances(rtol=ACCURATE, atol=0.0, max_it=MOST)
        solver.setFromOptions()
        if backend.points is not None and petsc.Options(PREFIX).getBool(RIGID, False):
            mat.setNearNullSpace(_rigid_motions(petsc, backend.points))
        self._vectors = mat.createVecs()
        self._setup(solver, symmetric)

    def _setup(self, solver: Any, symmetric: bool) -> None:
        petsc, pc = self._backend.ranks.petsc, solver.getPC()
        if pc.getType() == "cholesky" and pc.getFactorSolverType() == "mumps":
            pc.setFactorSetUpSolverType()
            pc.getFactorMatrix().setMumpsIcntl(13, 1)  # else signs of some pivots are not told
        try:
            solver.setUp()
        except petsc.Error as failure:
            raise FactorisationError(f"PETSc: {failure}") from None
        if pc.getType() not in ("cholesky", "lu"):
            return
        factor = pc.getFactorMatrix()
        if pc.getFactorSolverType() != "mumps":
            return
        if factor.getMumpsInfog(1) < 0:
            raise FactorisationError(f"MUMPS gave up with {factor.getMumpsInfog(1)}")
        if symmetric and factor.getMumpsInfog(12):
            raise NotPositiveDefinite("a pivot is not positive")

    def solve(self, b: Array) -> Array:
        """b (n,) or (n, p), its ghosts included, as those of the solution are."""
        if b.ndim == 2:
            columns = [self.solve(np.ascontiguousarray(column)) for column in b.T]
            return np.stack(columns, axis=1)
        left, right = self._vectors
        own = self._backend.owned(len(b))
        right.getArray()[:] = b[:own]
        self._solver.solve(right, left)
        self._check()
        x = np.empty_like(b)
        x[:own] = left.getArray()
        return self._backend.halo(x)

    def _check(self) -> None:
        reason = self._solver.getConvergedReason()
        if self._solver.getType() != "preonly":
            self.products += self._solver.getIterationNumber()
        if reason >= 0:
            return
        kinds = self._backend.ranks.petsc.KSP.ConvergedReason
        indefinite = kinds.DIVERGED_INDEFINITE_MAT, kinds.DIVERGED_INDEFINITE_PC
        if reason in indefinite:
            raise NotPositiveDefinite("conjugate gradients met a negative curvature")
        raise FactorisationError(f"PETSc's solver stopped with reason {reason}")


def assembled(backend: PetscBackend, matrix: Any) -> Any:
    """PETSc's matrix from the rows (n, n) of all ranks, those of ghosts left out."""
    petsc, own = backend.ranks.petsc, backend.owned(matrix.shape[0])
    width = matrix.shape[0] // len(backend.numbers)
    rows: Any = sp.csr_matrix(matrix)[:own]
    if not backend.every(bool(np.isfinite(rows.data).all())):
        raise FactorisationError("the matrix is not finite")
    numbers = (width * backend.numbers[:, None] + np.arange(width)).ravel()
    entries = (rows.indptr, numbers[rows.indices], rows.data)
    index = petsc.IntType
    return petsc.Mat().createAIJ(
        ((own, None), (own, None)),
        bsize=width,
        csr=(entries[0].astype(index), entries[1].astype(index), entries[2]),
        comm=petsc.COMM_WORLD,
    )


def _rigid_motions(petsc: Any, points: Array) -> Any:
    """Three translations and three rotations of own particles at points (own, 3)."""
    places = petsc.Vec().createWithArray(points.ravel(), bsize=3, comm=petsc.COMM_WORLD)
    return petsc.NullSpace().createRigidBody(places)
