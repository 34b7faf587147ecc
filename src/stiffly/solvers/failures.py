"""Why a linear solve failed. Private to the solvers: users meet errors.NotConverged instead."""


class FactorisationError(Exception):
    """The matrix cannot be factorised: singular, or not finite."""


class NotPositiveDefinite(FactorisationError):
    """A Cholesky pivot, or a curvature p^T A p in conjugate gradients, was not positive."""
